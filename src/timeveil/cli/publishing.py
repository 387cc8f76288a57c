"""Commands that publish: one per method, made from its table, `run`, `serve`, `stream-status` and `demo`."""

from __future__ import annotations

import inspect
import shutil
import sys
import tempfile
from dataclasses import replace
from inspect import Parameter as Argument
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import timeveil as tv
from timeveil.cli import options
from timeveil.cli.options import Command
from timeveil.cli.output import Output, as_json, begin, note_written, refuse_file, to_stderr
from timeveil.domain.parameter import Parameter, Parameters, optional, parameter
from timeveil.domain.roles import Roles
from timeveil.domain.run import DRY_RUN, NOT_WRITTEN, Files, Run
from timeveil.errors import ParameterError, raising
from timeveil.jobs.request import read_job, read_question, run_from_options, service_table
from timeveil.models.events.parameters import EventParameters
from timeveil.page.wording import aligned, counted, numbered, share

if TYPE_CHECKING:
    from timeveil.jobs.publish import Outcome
    from timeveil.service.status import Status, StreamStatus

VIOLATED, BAD_INPUT = 1, 2
NO_LEDGER = (
    "No ledger was written, so `measure` and `attack` cannot judge this release, `verify` and `report` check "
    "only what a recipient can see, and you cannot look up who is in it. --ledger keeps one."
)
_K, _SHOWN = 5, ("day", "week", "month", "quarter")
_VISITS = Roles(
    respondent="patient", time="taken_at", quasi=("zip",), sensitive=("result",), keep=("exam",), drop="rest"
)
"""What the demo publishes."""
_EXPLAIN = Parameter("explain", "flag", "Also list small groups that the true counts reveal.", default=False)


def publishing_command(table: type[Parameters]) -> options.Function:
    """The command of a method, with an option for every line of its table."""

    def publish(output: Output, **typed: Any) -> int:
        return perform(run_from_options(table, typed), output)

    def arguments() -> list[Argument]:
        files = Files.table()
        return [
            options.source(table.reads),
            options.argument(files["out"]),
            *options.columns((*table.needs, *table.roles), table.needs),
            *map(options.argument, table.table().values()),
            *map(options.argument, service_table(table).values()),
            *([options.argument(_EXPLAIN)] if table.model == "patterns" else []),
            *(options.argument(declared) for name, declared in files.items() if name != "out"),
            options.argument(DRY_RUN),
        ]

    publish.__name__, publish.__doc__ = table.command.replace("-", "_"), inspect.getdoc(table)
    return options.Function(publish, arguments)


class SavedJob(Command):
    """Run a saved job: a TOML file with the options of a command that publishes, or of `query`.

    Paths in it are relative to the file, and unknown keys are refused.

    Example: timeveil run job.toml
    """

    command = "run"
    job: str = parameter("Job file, such as job.toml.", metavar="JOB", positional=True)
    settings: list[str] | None = optional(
        "Key of the job to set for this run; levels.age is the key age of the table levels",
        ["k=10", "out=next"],
        "KEY=VALUE",
        option="--set",
    )
    dry_run: bool = parameter(DRY_RUN.meaning, default=False)

    def run(self, output: Output) -> int:
        job, settings = Path(self.job), self.settings or ()
        if (saved := read_question(job, settings)) is None:
            return perform(replace(read_job(job, settings), dry_run=self.dry_run), output)
        folder, question = saved
        output.result(*question.answer(tv.open_release(folder), output.say))
        return 0


class Schema(Command):
    """Print the JSON schema of job files, by which editors complete and check them.

    Example: timeveil schema > job.schema.json
    """

    def run(self, output: Output) -> None:
        from timeveil.jobs.schema import job_schema

        schema = job_schema()
        output.result(as_json(schema), schema)


def perform(run: Run, output: Output) -> int:
    """Do what a run says, print what came of it, and return the exit code."""
    from timeveil.jobs.publish import publish
    from timeveil.service import is_service, serve, tally_text

    if is_service(run):
        with output.progress() as progress:
            tally = serve(run, output.say, note_written, progress)
        output.result(tally_text(tally), tally.as_dict())
        if output.quiet and not tally.clean:
            to_stderr(f"{tally_text(tally)}\n")
        return 0 if tally.clean else BAD_INPUT
    with output.progress() as progress:
        outcome = publish(run, progress, note_written)
    if outcome.explanation is None:
        problems = "\n".join(f"  {violation.message}" for violation in outcome.verdict.violations)
        text = f"violated: the release does not keep its promise, so nothing was written\n{problems}\n"
        output.result(text, {"verified": outcome.verdict.as_dict()})
        return VIOLATED
    output.result(outcome.explanation.text(output.width), outcome.explanation.as_dict())
    if output.as_json or not sys.stdout.isatty():  # nobody sees the text on a terminal
        for warning in outcome.explanation.facts.get("warnings", ()):
            output.say(f"warning: {warning}")
    if run.dry_run:
        output.say(NOT_WRITTEN)
    elif run.ledger is not None:
        output.say(f"The ledger `{run.ledger}` identifies people: keep it private.")
    elif not output.as_json:
        output.say(NO_LEDGER)
    return 0


class ServiceStatus(Command):
    """Show the state of a stream in service: records published, waiting and withheld, delays, and errors.

    It shows how many records were withheld, which is private.

    Example: timeveil stream-status --state stream.db
    """

    command = "stream-status"
    state: str = parameter("State file of a stream in service.", example="stream.db", metavar="PATH")

    def run(self, output: Output) -> None:
        from timeveil.service import status

        state = status(Path(self.state))
        output.result("\n".join(_status_lines(self.state, state)), state.as_dict())


class Serve(Command):
    """Publish and judge in a browser on this machine: the same jobs as the other commands.

    Prints an address that works once. Only this machine can open it. Nothing is uploaded: tables are read,
    and releases written, below the folder served.

    Example: timeveil serve --root data
    """

    root: str = parameter("Folder to read tables from and to write releases to.", default=".", metavar="DIR")
    port: int = parameter("Port to listen on.", default=8765, at_least=1, at_most=65_535, metavar="N")
    host: str = parameter("Address to listen on, one of this machine's own.", default="127.0.0.1")
    expose_private_data_to_the_network: bool = parameter(
        "Allow another address: everybody who can reach it and has the link sees private data.", default=False
    )
    jobs: int = parameter(
        "Most tasks at a time, each in a process of its own.", default=3, at_least=1, at_most=64
    )
    stop_after: float | None = optional(
        "Stop after this many minutes without a request.", 30, "MINUTES", above=0
    )

    def run(self, output: Output) -> None:
        hint = "install what it needs: pip install 'timeveil[web]'"
        with raising(ParameterError("the web app is not installed", hint=hint), on=ModuleNotFoundError):
            from timeveil.web.app import Settings, serve

        settings = Settings(Path(self.root), self.host, self.port, self.jobs, self.stop_after)
        serve(settings, output.say, expose=self.expose_private_data_to_the_network)


def _status_lines(path: str, state: Status) -> list[str]:
    files = {
        "taken": state.files_taken,
        "of these changed since": state.files_changed,
        "copies of one taken": state.files_copies,
        "in quarantine": state.files_quarantined,
    }
    listing = ", ".join(f"{number:,} {what}" for what, number in files.items() if number)
    lines = [
        f"{path} -> {counted(len(state.streams), 'stream')}{', closed' if state.closed else ''}",
        f"files: {listing or 'none taken'}" if state.source is None else f"source: {state.source}",
    ]
    if state.feed is not None:
        feed = state.feed
        behind = "" if feed["behind"] is None else f", {feed['behind']:,} not read yet"
        lines.append(
            f"records: {feed['records']:,} came, {feed['rejected']:,} in quarantine, "
            f"{feed['held']:,} of open slots{behind}"
        )
    if state.slots_to_write:
        lines.append(f"{counted(state.slots_to_write, 'slot')} final, not yet in place")
    if state.streams:
        counts = ("published", "in window", "lag", "last slot", "rows", "waiting", "moved", "withheld")
        lines += ["", *aligned([("stream", *counts, "last 30 slots"), *map(_status_row, state.streams)])]
    for warning in state.warnings:
        lines += ["", f"warning: {warning}"]
    error = state.last_error
    if error is not None:
        lines += ["", f"last error, {error['at']}: {error['message']}", f"hint: {error['hint']}"]
    return lines


def _status_row(stream: StreamStatus) -> tuple[str, ...]:
    name = stream.folder or "the stream"
    name = name if len(name) <= 30 else f"{name[:18]}...{name[-9:]}"
    last = "" if stream.last_slot is None else str(stream.last_slot)
    before = (stream.slots_published, stream.slots_in_window, stream.lag)
    after = (stream.rows_read, stream.rows_waiting, stream.moved)
    withheld = f"{stream.withheld:,} ({share(stream.withheld_share)})"
    counts = (*(f"{n:,}" for n in before), last, *(f"{n:,}" for n in after))
    return (name, *counts, withheld, share(stream.recent_withheld_share))


def demo(
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="New folder to leave the files in: --out demo")
    ] = None,
) -> int:
    """Make up a clinic, look at its risk, publish a year of visits, check and attack the release.

    Example: timeveil demo
    """
    import pyarrow.csv

    from timeveil.datasets import clinic_visits
    from timeveil.jobs.publish import publish
    from timeveil.models.events import words
    from timeveil.models.events.words.pictures import attack_picture
    from timeveil.reading.files import temporary_file_error, translate_os_errors

    output = Output()
    if out is None:
        with raising(temporary_file_error, on=OSError):
            folder = Path(tempfile.mkdtemp(prefix="timeveil-demo-"))
    else:
        folder = Path(out)
        refuse_file(out, "the demo, with a ledger,", private=True)
        with translate_os_errors(folder.name):
            folder.mkdir()
    source, release, ledger = (str(folder / name) for name in ("visits.csv", "release", "visits.ledger"))
    run = Run(EventParameters, source, _VISITS, {"k": _K, "suppress": 0.01}, out=release, ledger=ledger)
    try:
        pyarrow.csv.write_csv(clinic_visits(rows=5_000, seed=0), source)
        risk: Any = tv.profile(tv.read(source, _VISITS), _K, _SHOWN)
        page = words.profile_summary(risk, "visits.csv", ["zip", "taken_at"])
        start = "A clinic wants to publish a year of exams, all made up. How coarse must time be?\n"
        output.print("\n".join([start, *page.lines(output.width), "", ""]))
        outcome = publish(run)
        breach = tv.attack(tv.open_release(release), outcome.ledger, tv.Adversary())
        (folder / "attack.svg").write_text(attack_picture(breach).svg(), encoding="utf-8")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        begin()
        raise
    output.print(_release_page(outcome, output.width))
    output.print(_attack_page(breach, outcome.release, folder, output.width))
    return 0 if outcome.verdict else 1


def _release_page(outcome: Outcome, width: int) -> str:
    table = outcome.release.table
    step = max(1, table.num_rows // 4)
    sample = table.take(list(range(step // 2, table.num_rows, step))[:4]).to_pylist()
    names = [name for name in table.column_names if not name.endswith(("_start", "_end"))]
    rows = aligned([names, *([str(row[name]) for name in names] for row in sample)], left=len(names))
    steps = numbered(outcome.explanation.sentences, width) if outcome.explanation else []
    start = f"Published so that every zip code and time is shared by {_K} people, withholding at most 1 %:"
    return "\n".join([start, *steps, "", "What a recipient sees:", *(f"  {row}" for row in rows), "", ""])


def _attack_page(breach: tv.Breach, release: tv.Release, folder: Path, width: int) -> str:
    from timeveil.models.events.words import attack_summary

    title = "Attacked by someone who knows a zip code and the time of one visit:"
    page = replace(attack_summary(breach, release), title=title)
    lines = "\n".join(page.lines(width))
    return f"""\
{lines}

Look around in {folder}, or in the browser with `timeveil serve --root {folder}`:
  visits.csv     the table it began with
  release/       what may leave the building: data.parquet, release.json, README.txt
  visits.ledger  who is in which group; private
  attack.svg     the attack as a picture
"""
