"""The two ways to publish a stream: a table at once, or a folder in service."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timeveil.cli.output import Output
from timeveil.errors import InputError, ParameterError
from timeveil.jobs.perform import refuse_early, violated, write_both

if TYPE_CHECKING:
    from timeveil.models.stream.words.run import StreamRun
    from timeveil.service import Tally

BAD_INPUT = 2
POLL = 5.0


def perform_stream(run: StreamRun, output: Output) -> int:
    """Do what a run says: publish a table, or work on a folder in service."""
    return _in_service(run, output) if _is_service(run) else _once(run, output)


def _is_service(run: StreamRun) -> bool:
    """Whether a folder is watched over; options that belong to the other way of working are refused."""
    serving, folder = run.serving, Path(run.source).is_dir()
    used = [f.name for f in fields(serving) if getattr(serving, f.name) not in (None, False)]
    if not folder and used:
        raise ParameterError(
            f"--{used[0].replace('_', '-')} goes with a folder that snapshots come in by, and IN is not a "
            "folder",
            hint="name that folder, or leave the option out to publish one table at once",
            code="bad-parameter",
        )
    if not folder:
        return False
    if serving.state is None:
        raise ParameterError(
            "IN is a folder, and --state is missing",
            hint="name a private file that remembers where the stream is: --state stream.db",
            code="bad-parameter",
        )
    if run.ledger is not None:
        raise ParameterError(
            "a stream in service has no ledger; its state file is what is private",
            hint="leave --ledger out",
            code="bad-parameter",
        )
    if serving.follow and serving.close:
        raise ParameterError(
            "--follow waits for more and --close ends the stream",
            hint="stop the one that follows, then run once with --close",
            code="bad-parameter",
        )
    if serving.poll is not None and not serving.follow:
        raise ParameterError(
            "--poll says how often to look, and without --follow the folder is looked at once",
            hint="add --follow, or leave --poll out",
            code="bad-parameter",
        )
    return True


def _once(run: StreamRun, output: Output) -> int:
    """Publish a table, verify it against the original, write and explain. Nothing is written on failure."""
    from timeveil.judging.verify import verify
    from timeveil.models.stream.method import publish_stream
    from timeveil.models.stream.words.report import explain_stream

    refuse_early(run)
    with output.progress() as progress:
        release, ledger = publish_stream(
            run.source,
            run.roles,
            **run.options(),
            seed=run.seed,
            progress=lambda doing, share: progress(doing, share * 0.5),
        )
        if ledger.original.rows == 0:
            raise InputError(
                f"`{ledger.original.source}` has no rows",
                hint="see that it is the right file",
                code="file-unreadable",
            )
        progress("verifying", 0.5)
        verdict = verify(release, ledger)
        if verdict:
            progress("writing", 0.7)
            write_both(run, release, ledger)
        progress("explaining", 0.9)
        explanation = explain_stream(release, ledger, verdict=verdict, run=run) if verdict else None
    if explanation is None:
        return violated(verdict, output)
    output.result(explanation.text(output.width), explanation.as_dict())
    for warning in explanation.facts["warnings"]:
        output.say(f"warning: {warning}")
    if run.ledger is not None:
        output.say(f"The ledger `{run.ledger}` says who was moved and withheld: keep it to yourself.")
    return 0


def _in_service(run: StreamRun, output: Output) -> int:
    """Work on a folder: once, or until a signal comes."""
    from timeveil.service import Parameters, Service
    from timeveil.service.interruption import stopped_by_signals

    serving = run.serving
    poll = POLL if serving.poll is None else serving.poll
    if not 0 < poll <= 86_400:
        raise ParameterError(
            "--poll is not a number of seconds above 0 and up to a day",
            hint="give how often to look for new files: --poll 60",
            code="bad-parameter",
        )
    parameters = Parameters(run.roles, run.options(), serving.stream_by, run.format)
    state = Path(str(serving.state))
    service = Service(
        Path(run.source),
        Path(run.out),
        state,
        parameters,
        seed=run.seed,
        max_gap=serving.max_gap,
        say=output.say,
    )
    with service:
        if serving.follow:
            with stopped_by_signals() as stop:
                service.follow(stop, poll)
        else:
            service.run()
        if serving.close:
            service.close_streams()
        tally = service.tally
    output.result(_told(tally), tally.as_dict())
    return 0 if tally.clean else BAD_INPUT


def _told(tally: Tally) -> str:
    from timeveil.page.wording import counted

    lines = [
        f"{counted(tally.taken, 'file')} taken, {counted(tally.published, 'slot')} published"
        + (", the stream is closed." if tally.closed else ".")
    ]
    others: dict[str, Any] = {
        "taken before": tally.already_taken,
        "the same as one taken before": tally.copies,
        "put into quarantine": tally.quarantined,
        "changed after it was taken": tally.changed,
        "left for the next look": tally.left,
        "neither CSV nor Parquet by name, left alone": tally.not_snapshots,
    }
    lines += [f"{counted(number, 'file')} {what}." for what, number in others.items() if number]
    if tally.held:
        lines.append(f"{counted(tally.held, 'slot')} held back.")
    if tally.found_published:
        lines.append(f"{counted(tally.found_published, 'slot')} stood in place from an earlier run.")
    return "\n".join(lines)
