"""Frequent patterns on their own: `timeveil.patterns.mine`."""

from timeveil.models.patterns.method.publishing import mine

__all__ = ["mine"]
