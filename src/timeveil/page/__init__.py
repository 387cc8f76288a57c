"""How words and pictures become pages: wording, templates, Markdown, SVG."""
