"""Releases of the same data side by side: what each promises, publishes, loses and risks."""

from timeveil.compare.compare_comparison import Comparison, Line
from timeveil.compare.side_by_side import compare

__all__ = ["Comparison", "Line", "compare"]
