"""Does a release keep its promise? Judged from what was written, by none of the method's own code."""

from timeveil.judging.verify_judge import verify

__all__ = ["verify"]
