"""`timeveil stream-status`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from timeveil.cli import options as given

if TYPE_CHECKING:
    from timeveil.service.status import Status, StreamStatus


def stream_status(
    state: Annotated[
        str, typer.Option(metavar="PATH", help="State file of a stream in service: --state stream.db")
    ],
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """How a stream in service is doing: published, in the window, withheld, behind, and what went wrong.

    It tells how many records were withheld, which is private.

    Example: timeveil stream-status --state stream.db
    """
    from timeveil.cli.output import Output
    from timeveil.service import status

    progress = status(Path(state))
    Output(as_json=as_json, quiet=quiet).result("\n".join(_told(state, progress)), progress.as_dict())
    return 0


def _told(state: str, progress: Status) -> list[str]:
    from timeveil.page.wording import aligned, counted

    lines = [f"{state} -> {counted(len(progress.streams), 'stream')}{', closed' if progress.closed else ''}"]
    files = {
        "taken": progress.files_taken,
        "of these changed since": progress.files_changed,
        "copies of one taken": progress.files_copies,
        "in quarantine": progress.files_quarantined,
    }
    listing = ", ".join(f"{number:,} {what}" for what, number in files.items() if number)
    lines.append(f"files: {listing or 'none taken'}")
    if progress.slots_to_write:
        lines.append(f"{counted(progress.slots_to_write, 'slot')} final, not yet in place")
    if progress.streams:
        lines += ["", *aligned([_HEAD, *map(_row, progress.streams)])]
    for warning in progress.warnings:
        lines += ["", f"warning: {warning}"]
    error = progress.last_error
    if error is not None:
        lines += ["", f"last error, {error['at']}: {error['message']}", f"hint: {error['hint']}"]
    return lines


LONGEST_NAME = 30
_HEAD = ("stream", "published", "in window", "lag", "last slot", "rows", "waiting", "moved", "withheld")


def shortened(name: str) -> str:
    """A name that leaves room for the numbers next to it.

    >>> shortened("a" * 60), shortened("Anna")
    ('aaaaaaaaaaaaaaaaaa...aaaaaaaaa', 'Anna')
    """
    return name if len(name) <= LONGEST_NAME else f"{name[:18]}...{name[-9:]}"


def _row(stream: StreamStatus) -> tuple[str, ...]:
    from timeveil.page.wording import share

    last = "" if stream.last_slot is None else str(stream.last_slot)
    return (
        shortened(stream.folder) or "the stream",
        f"{stream.slots_published:,}",
        f"{stream.slots_in_window:,}",
        f"{stream.lag:,}",
        last,
        f"{stream.rows_read:,}",
        f"{stream.rows_waiting:,}",
        f"{stream.moved:,}",
        f"{stream.withheld:,} ({share(stream.withheld_share)})",
    )
