"""The four publishing commands, made from their tables of parameters, and `timeveil run`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from timeveil.cli import options
from timeveil.domain.parameter import Parameters
from timeveil.domain.run import Files

if TYPE_CHECKING:
    from timeveil.cli.output import Output
    from timeveil.domain.run import Run

VIOLATED, BAD_INPUT = 1, 2
_SOURCES = {
    "stream": "Table to read, such as cases.csv; or, with --state, an inbox folder of snapshot files.",
    "patterns": "Table to read: CSV, TSV or Parquet, such as baskets.csv, or a series release folder.",
}
_EXPLAIN = options.switch(
    "explain",
    Annotated[
        bool, typer.Option("--explain", help="Also list small groups that the true counts reveal: --explain")
    ],
)
DESCRIPTIONS = {
    "generalize-time": """Publish events so that every (quasi-identifiers, time) value is shared by k people.

    Finds the finest time granularity that keeps the promise, leaves the person out, checks the result, and
    writes a folder that appears complete or not at all.

    Example: timeveil generalize-time visits.csv --out published --respondent patient --time taken_at
    --quasi zip --sensitive result --drop-rest --k 5
    """,
    "publish-stream": """Publish small snapshots so that no sensitive value can be guessed better than 1 in l.

    Holds a window of slots, moves a few records to a later slot, withholds as few as it can, and publishes
    every slot in order. With a folder for IN and --state it works in service: every file is a snapshot,
    every final slot a folder, and after an interruption it continues where it was.

    Example: timeveil publish-stream cases.csv --out published --time day --sensitive disease --quasi age
    --drop-rest --l 3 --window 7
    """,
    "anonymize-series": """Publish series so that k share every envelope of values, and p of them the pattern.

    One row per series with --series, or one row per reading with --respondent, --time and --value. Checks
    the result, and writes a folder that appears complete or not at all.

    Example: timeveil anonymize-series loads.csv --out published --respondent household --series h00..h23
    --sensitive tariff --k 10 --p 5
    """,
    "sanitize-patterns": """Publish frequent patterns so that no group below k follows from counts.

    Patterns of transactions with --item, of series with --series or with --respondent, --time and --value, or
    of a series release. Checks the result, and writes a folder that appears complete or not at all.

    Example: timeveil sanitize-patterns baskets.csv --out published --respondent customer --item product
    --k 10 --min-support 0.02
    """,
}


def publishing_command(table: type[Parameters]) -> Callable[..., int]:
    """The command of a method, with an option for every line of its table."""
    from timeveil.jobs.request import service_table

    def command(**given: Any) -> int:
        from timeveil.cli.output import Output
        from timeveil.errors import TimeveilError
        from timeveil.jobs.columns import lists_hint
        from timeveil.jobs.request import run_from_options

        try:
            run = run_from_options(table, given)
            return perform(run, Output(as_json=given["as_json"], quiet=given["quiet"]))
        except TimeveilError as error:
            raise lists_hint(error, given) from None

    files = Files.table()
    source = typer.Argument(
        metavar="IN",
        help=_SOURCES.get(table.model, "Table to read: CSV, TSV or Parquet, such as visits.csv."),
    )
    command.__name__ = table.command.replace("-", "_")
    command.__doc__ = DESCRIPTIONS[table.command]
    return options.takes(
        command,
        [
            options.switch("source", Annotated[str, source], default=options.NO_DEFAULT),
            options.argument(files["out"]),
            *options.columns((*table.needs, *table.roles), table.needs),
            *map(options.argument, table.table().values()),
            *map(options.argument, service_table(table).values()),
            *([_EXPLAIN] if table.model == "patterns" else []),
            *(options.argument(declared) for name, declared in files.items() if name != "out"),
            *options.SPEECH,
        ],
    )


def run(
    job: Annotated[str, typer.Argument(metavar="JOB", help="Job file, such as job.toml.")],
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """Run a saved job: a TOML file with the options of a command.

    Paths in it are relative to the file, and unknown keys are refused.

    Example: timeveil run job.toml
    """
    from timeveil.cli.output import Output
    from timeveil.jobs.request import read_job

    return perform(read_job(Path(job)), Output(as_json=as_json, quiet=quiet))


def perform(run: Run, output: Output) -> int:
    """Do what a run says, print what came of it, and return the exit code."""
    from timeveil.cli.streams import note_written
    from timeveil.jobs.publish import publish
    from timeveil.service.command import is_service, serve, tally_text

    if is_service(run):
        tally = serve(run, output.say)
        output.result(tally_text(tally), tally.as_dict())
        return 0 if tally.clean else BAD_INPUT
    with output.progress() as progress:
        outcome = publish(run, progress, note_written)
    if outcome.explanation is None:
        problems = "\n".join(f"  {violation.message}" for violation in outcome.verdict.violations)
        text = f"violated: the release does not keep its promise, so nothing was written\n{problems}\n"
        output.result(text, {"verified": outcome.verdict.as_dict()})
        return VIOLATED
    output.result(outcome.explanation.text(output.width), outcome.explanation.as_dict())
    for warning in outcome.explanation.facts.get("warnings", ()):
        output.say(f"warning: {warning}")
    if run.ledger is not None:
        output.say(f"The ledger `{run.ledger}` identifies people: keep it private.")
    return 0
