"""Recoding."""
