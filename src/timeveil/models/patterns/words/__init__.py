"""The words about a pattern release: facts, templates, tables and pictures."""
