"""Commands that publish: one per method, made from its table of parameters, `run` and `stream-status`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timeveil.cli import options
from timeveil.cli.options import Command
from timeveil.cli.output import Output, note_written
from timeveil.domain.parameter import Parameter, Parameters, parameter
from timeveil.domain.run import Files
from timeveil.jobs.request import read_job, run_from_options, service_table

if TYPE_CHECKING:
    from timeveil.domain.run import Run
    from timeveil.service.status import Status, StreamStatus

VIOLATED, BAD_INPUT = 1, 2
SOURCE = "Table to read: CSV, TSV or Parquet, such as visits.csv."
_SOURCES = {
    "stream": "Table to read, such as cases.csv; or, with --state, an inbox folder of snapshot files.",
    "patterns": "Table to read: CSV, TSV or Parquet, such as baskets.csv, or a series release folder.",
}
_EXPLAIN = Parameter("explain", "flag", "Also list small groups that the true counts reveal.", default=False)
DESCRIPTIONS = {
    "generalize-time": """Publish events so that every (quasi-identifiers, time) value is shared by k people.

    Finds the finest time granularity that keeps the promise, leaves out who the rows are about, checks the
    result, and writes a complete folder or none.

    Example: timeveil generalize-time visits.csv --out published --respondent patient --time taken_at
    --quasi zip --sensitive result --drop-rest --k 5
    """,
    "publish-stream": """Publish small snapshots so that no sensitive value can be guessed better than 1 in l.

    Holds a window of slots, moves a few records to a later slot, withholds as few as it can, and publishes
    every slot in order. With a folder for IN and --state it runs as a service: each file is a
    snapshot, each final slot becomes a folder, and after an interruption it continues where it was.

    Example: timeveil publish-stream cases.csv --out published --time day --sensitive disease --quasi age
    --drop-rest --l 3 --window 7
    """,
    "anonymize-series": """Publish series so that k share every envelope, and p of them every pattern in it.

    One row per series with --series, or one row per reading with --respondent, --time and --value. Checks
    the result, and writes a complete folder or none.

    Example: timeveil anonymize-series loads.csv --out published --respondent household --series h00..h23
    --sensitive tariff --k 10 --p 5
    """,
    "sanitize-patterns": """Publish frequent patterns so that no group below k can be computed.

    Patterns of transactions with --item, of series with --series or with --respondent, --time and --value, or
    of a series release. Checks the result, and writes a complete folder or none.

    Example: timeveil sanitize-patterns baskets.csv --out published --respondent customer --item product
    --k 10 --min-support 0.02
    """,
}


def publishing_command(table: type[Parameters]) -> Callable[..., int | None]:
    """The command of a method, with an option for every line of its table."""
    files = Files.table()

    def publish(output: Output, **given: Any) -> int:
        return perform(run_from_options(table, given), output)

    publish.__name__ = table.command.replace("-", "_")
    publish.__doc__ = DESCRIPTIONS[table.command]
    arguments = [
        options.source(_SOURCES.get(table.model, SOURCE)),
        options.argument(files["out"]),
        *options.columns((*table.needs, *table.roles), table.needs),
        *map(options.argument, table.table().values()),
        *map(options.argument, service_table(table).values()),
        *([options.argument(_EXPLAIN)] if table.model == "patterns" else []),
        *(options.argument(declared) for name, declared in files.items() if name != "out"),
    ]
    return options.takes(arguments)(publish)


class SavedJob(Command):
    """Run a saved job: a TOML file with the options of a command.

    Paths in it are relative to the file, and unknown keys are refused.

    Example: timeveil run job.toml
    """

    command = "run"
    job: str = parameter("Job file, such as job.toml.", metavar="JOB", positional=True)

    def run(self, output: Output) -> int:
        return perform(read_job(Path(self.job)), output)


def perform(run: Run, output: Output) -> int:
    """Do what a run says, print what came of it, and return the exit code."""
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


class ServiceStatus(Command):
    """How a stream in service is doing: published, in the window, withheld, behind, and what went wrong.

    It shows how many records were withheld, which is private.

    Example: timeveil stream-status --state stream.db
    """

    command = "stream-status"
    state: str = parameter("State file of a stream in service.", example="stream.db", metavar="PATH")

    def run(self, output: Output) -> None:
        from timeveil.service import status

        state = status(Path(self.state))
        output.result("\n".join(_status_lines(self.state, state)), state.as_dict())


def _status_lines(path: str, state: Status) -> list[str]:
    from timeveil.page.wording import aligned, counted

    files = {
        "taken": state.files_taken,
        "of these changed since": state.files_changed,
        "copies of one taken": state.files_copies,
        "in quarantine": state.files_quarantined,
    }
    listing = ", ".join(f"{number:,} {what}" for what, number in files.items() if number)
    lines = [
        f"{path} -> {counted(len(state.streams), 'stream')}{', closed' if state.closed else ''}",
        f"files: {listing or 'none taken'}",
    ]
    if state.slots_to_write:
        lines.append(f"{counted(state.slots_to_write, 'slot')} final, not yet in place")
    if state.streams:
        lines += ["", *aligned([_HEAD, *map(_status_row, state.streams)])]
    for warning in state.warnings:
        lines += ["", f"warning: {warning}"]
    error = state.last_error
    if error is not None:
        lines += ["", f"last error, {error['at']}: {error['message']}", f"hint: {error['hint']}"]
    return lines


LONGEST_NAME = 30
_HEAD = ("stream", "published", "in window", "lag", "last slot", "rows", "waiting", "moved", "withheld")


def _status_row(stream: StreamStatus) -> tuple[str, ...]:
    from timeveil.page.wording import share

    name = stream.folder or "the stream"
    name = name if len(name) <= LONGEST_NAME else f"{name[:18]}...{name[-9:]}"
    last = "" if stream.last_slot is None else str(stream.last_slot)
    before = (stream.slots_published, stream.slots_in_window, stream.lag)
    after = (stream.rows_read, stream.rows_waiting, stream.moved)
    withheld = f"{stream.withheld:,} ({share(stream.withheld_share)})"
    return (name, *(f"{n:,}" for n in before), last, *(f"{n:,}" for n in after), withheld)
