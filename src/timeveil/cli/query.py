"""`timeveil query`."""

from __future__ import annotations

import timeveil as tv
from timeveil.cli.options import ReleaseCommand
from timeveil.cli.output import Output
from timeveil.jobs.query import Question


class Query(Question, ReleaseCommand):
    """Estimate from the release alone how many rows are in a window of time, or how many series match.

    Questions about values and about the shape of series may be combined. On patterns: how many people
    have one, how often a rule holds, or the strongest ones.

    Example: timeveil query published --between 2024-03-01 2024-04-01 --where zip=04103
    """

    def run(self, output: Output) -> None:
        release = tv.open_release(self.folder)
        with output.progress() as progress:
            progress("counting", 0.5)
            text, data = self.answer(release, output.say)
        output.result(text, data)
