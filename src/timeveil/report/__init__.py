"""What a run did, in words and as data, and the report that is filed with a release."""

from timeveil.models.events.words.explanation import Explanation, explain
from timeveil.models.events.words.exposure import Exposure, exposure
from timeveil.page.tree import Report
from timeveil.report.filing import report

__all__ = ["Explanation", "Exposure", "Report", "explain", "exposure", "report"]
