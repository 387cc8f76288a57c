"""What a run did, in words and as data; pictures of it."""

from timeveil.report.explanation import Explanation, explain
from timeveil.report.exposure import Exposure, exposure
from timeveil.report.run import Run

__all__ = ["Explanation", "Exposure", "Run", "explain", "exposure"]
