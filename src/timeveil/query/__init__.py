"""Answering questions from a release alone, as anyone who receives it can."""

from timeveil.query.answers import answer
from timeveil.query.window import WindowCount

__all__ = ["WindowCount", "answer"]
