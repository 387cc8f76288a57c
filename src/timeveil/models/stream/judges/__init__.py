"""Judges."""
