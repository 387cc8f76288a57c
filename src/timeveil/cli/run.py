"""`timeveil run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from timeveil.cli import options as given


def run(
    job: Annotated[str, typer.Argument(metavar="JOB", help="Job file, such as job.toml.")],
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """Run a saved job: a TOML file with the options of a command.

    Paths in it are relative to the file, and keys that are not known are refused.

    Example: timeveil run job.toml
    """
    from timeveil.cli.output import Output
    from timeveil.jobs.job import read_job
    from timeveil.jobs.patterns import perform_patterns
    from timeveil.jobs.perform import perform
    from timeveil.jobs.series import perform_series
    from timeveil.jobs.stream import perform_stream
    from timeveil.models.patterns.words.run import PatternRun
    from timeveil.models.series.words.run import SeriesRun
    from timeveil.models.stream.words.run import StreamRun

    saved, output = read_job(Path(job)), Output(as_json=as_json, quiet=quiet)
    match saved:
        case StreamRun():
            return perform_stream(saved, output)
        case SeriesRun():
            return perform_series(saved, output)
        case PatternRun():
            return perform_patterns(saved, output)
        case _:
            return perform(saved, output)
