"""The words about a release of timestamped rows: facts, templates, tables and pictures."""
