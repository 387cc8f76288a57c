"""The nouns: frozen values that every other part speaks about."""
