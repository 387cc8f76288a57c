"""`timeveil report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from timeveil.cli import options as given
from timeveil.errors import ParameterError, PrivateArtifactError

if TYPE_CHECKING:
    from timeveil.report import Report

VIOLATED = 1


def report(
    folder: given.Folder,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="With it, the report tells risk before, loss and attacks, and is private: --ledger "
            "visits.ledger",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="New HTML file; without it, text is printed: --out report.html"),
    ] = None,
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """Write a report to keep with a release: what was published and guaranteed, its cost and its limits.

    Without a ledger it is public. Exits with 1 if the guarantee is violated; the report is written all the
    same, and says so.

    Example: timeveil report published --ledger visits.ledger --out report.html
    """
    from timeveil.cli.files import private_ledger, write_new
    from timeveil.cli.output import Output
    from timeveil.report import report as make

    output = Output(as_json=as_json, quiet=quiet)
    if out is not None:
        _refuse(Path(out), Path(folder), private=ledger is not None)
    private = None if ledger is None else private_ledger(ledger, output)
    with output.progress() as progress:
        filed = make(folder, private, progress=progress)
    if out is not None:
        write_new(Path(out), filed.html, private=private is not None)
    output.result(str(filed) if out is None else _written(filed, out), filed.as_dict())
    if out is not None and private is not None:
        output.say(f"`{out}` tells what the release hides: keep it to yourself.")
    return 0 if filed.holds else VIOLATED


def _written(filed: Report, out: str) -> str:
    return f"{out}: {filed.kind} report written. {filed.summary[0]}"


def _refuse(path: Path, folder: Path, *, private: bool) -> None:
    """Refuse a report inside of the release that it is about, and a private one inside of any release."""
    from timeveil.folder.new_files import refuse_taken

    if path.resolve().is_relative_to(folder.resolve()):
        raise ParameterError(
            "the report would lie in the release folder, which holds the release and nothing else",
            hint="write it to a file outside of the folder",
        )
    inside = [parent.name for parent in path.resolve().parents if (parent / "release.json").exists()]
    if private and inside:
        raise PrivateArtifactError(
            f"the report would lie in the release folder `{inside[0]}`, and it tells what a release hides",
            hint="write it outside of every folder that is published",
        )
    refuse_taken(path)
