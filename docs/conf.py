"""How the documentation is built: Markdown pages, Sphinx with MyST and the theme furo."""

project = "timeveil"
author = "timeveil contributors"
copyright = "timeveil contributors"  # noqa: A001

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton", "sphinx_design"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
toc_object_entries = False
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
default_role = "code"  # docstrings write names in single backticks

copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

html_theme = "furo"
html_title = "timeveil"
html_static_path = ["_static"]
html_css_files = ["timeveil.css"]
html_copy_source = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def setup(app):  # noqa: D103
    app.connect("autodoc-process-docstring", keep_the_summary)


def keep_the_summary(app, kind, name, value, options, lines):  # noqa: ARG001
    """Keep the first paragraph of a docstring: the page continues with tables and examples that run."""
    if kind in ("function", "class", "exception") and "" in lines:
        del lines[lines.index("") :]
