"""What a run did, in words and as data, and the report that is filed with a release."""

from timeveil.page.report import Explanation, Report
from timeveil.report.explain import explain
from timeveil.report.filing import report

__all__ = ["Explanation", "Report", "explain", "report"]
