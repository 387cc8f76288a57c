"""What a run did, in words and as data."""

from timeveil.report.explanation import Explanation, explain
from timeveil.report.exposure import Exposure, exposure
from timeveil.report.run import Run

__all__ = ["Explanation", "Exposure", "Run", "explain", "exposure"]
