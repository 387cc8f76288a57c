"""What a run did, in words and as data, and the report that is filed with a release."""

from timeveil.report.explanation import Explanation, explain
from timeveil.report.exposure import Exposure, exposure
from timeveil.report.filing import report
from timeveil.report.run import Run
from timeveil.report.tree import Report

__all__ = ["Explanation", "Exposure", "Report", "Run", "explain", "exposure", "report"]
