"""Releases of the same data side by side: what each promises, publishes, loses and risks."""

from timeveil.compare.comparison import Comparison, Line
from timeveil.compare.releases import compare

__all__ = ["Comparison", "Line", "compare"]
