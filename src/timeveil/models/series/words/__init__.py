"""The words about a series release: facts, templates, tables and pictures."""
