"""Measurements of the claims timeveil makes about its own speed and memory."""
