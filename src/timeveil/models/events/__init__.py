"""Timestamped rows, published with k people behind every value (Mascetti et al. 2006)."""
