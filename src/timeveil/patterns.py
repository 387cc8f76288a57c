"""Frequent patterns on their own: `timeveil.patterns.mine`."""

from timeveil.models.patterns.method.mining import mine

__all__ = ["mine"]
