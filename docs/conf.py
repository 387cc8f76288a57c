"""How the documentation is built: Markdown pages, Sphinx with MyST."""

project = "timeveil"
author = "timeveil contributors"
copyright = "timeveil contributors"  # noqa: A001

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

html_theme = "alabaster"
html_title = "timeveil"
html_theme_options = {
    "description": "Publish temporal data about people without giving them away",
    "fixed_sidebar": True,
}
pygments_style = "friendly"
