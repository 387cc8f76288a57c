"""The two ways to publish a stream: a table at once, or a folder in service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from timeveil.cli.output import Output
from timeveil.cli.perform import refuse_early, violated, write_both
from timeveil.errors import InputError, ParameterError

if TYPE_CHECKING:
    from timeveil.report.stream_run import StreamRun
    from timeveil.service import Tally

BAD_INPUT = 2


def once(run: StreamRun, output: Output) -> int:
    """Publish a table, verify it against the original, write and explain. Nothing is written on failure."""
    from timeveil.report.stream import explain_stream  # noqa: PLC0415
    from timeveil.streaming import publish_stream  # noqa: PLC0415
    from timeveil.verify import verify  # noqa: PLC0415

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


def in_service(
    run: StreamRun, state: Path, stream_by: str | None, output: Output, *, poll: float | None, close: bool
) -> int:
    """Work on a folder: once, or with `poll` until a signal comes."""
    from timeveil.service import Parameters, Service  # noqa: PLC0415
    from timeveil.service.interruption import stopped_by_signals  # noqa: PLC0415

    if poll is not None and not 0 < poll <= 86_400:
        raise ParameterError(
            "--poll is not a number of seconds above 0 and up to a day",
            hint="give how often to look for new files: --poll 60",
            code="bad-parameter",
        )
    parameters = Parameters(run.roles, run.options(), stream_by, run.format)
    service = Service(Path(run.source), Path(run.out), state, parameters, seed=run.seed, say=output.say)
    with service:
        if poll is None:
            service.run()
        else:
            with stopped_by_signals() as stop:
                service.follow(stop, poll)
        if close:
            service.close_streams()
        tally = service.tally
    output.result(_told(tally), tally.as_dict())
    return 0 if tally.clean else BAD_INPUT


def _told(tally: Tally) -> str:
    from timeveil.report.wording import counted  # noqa: PLC0415

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
    if tally.found_published:
        lines.append(f"{counted(tally.found_published, 'slot')} stood in place from an earlier run.")
    return "\n".join(lines)
