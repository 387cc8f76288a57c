"""The words about a stream release: facts, templates, tables and pictures."""
