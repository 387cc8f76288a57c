"""`timeveil verify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from timeveil.cli import options as given
from timeveil.errors import BundleError

if TYPE_CHECKING:
    from timeveil.model.verdict import Verdict

_SCOPES = {
    ("time", "recipient"): "as far as a recipient can see; people cannot be counted from the outside",
    ("time", "with ledger"): "by counting the people of every group, with the ledger",
    ("stream", "recipient"): "as far as a recipient can see",
    ("stream", "with ledger"): "by following every record, with the ledger",
}


def verify(
    folder: given.Folder,
    ledger: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="With it, people are counted: --ledger visits.ledger"),
    ] = None,
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """Check that a release is as it was written and keeps its promise; exit 0 if so, 1 if not.

    Example: timeveil verify published
    """
    from timeveil.cli.output import Output  # noqa: PLC0415

    verdict = judge(Path(folder), None if ledger is None else Path(ledger))
    head = "holds" if verdict else "violated"
    lines = [f"{head}: `{Path(folder).name}`, {_SCOPES[_model(Path(folder)), verdict.scope]}"]
    lines += [f"  {violation.message}" for violation in verdict.violations]
    if verdict:
        lines += [f"{number}. {check}" for number, check in enumerate(verdict.checks, start=1)]
    Output(as_json=as_json, quiet=quiet).result("\n".join(lines), verdict.as_dict())
    return 0 if verdict else 1


def _model(folder: Path) -> str:
    from timeveil.bundle import open_release  # noqa: PLC0415

    try:
        return "stream" if open_release(folder, check=False).manifest.get("model") == "stream" else "time"
    except BundleError:
        return "time"


def judge(folder: Path, ledger: Path | None) -> Verdict:
    """What is wrong with the files of a release, and with what they say."""
    from timeveil.bundle import damage, open_ledger, open_release  # noqa: PLC0415
    from timeveil.model.verdict import Verdict, Violation  # noqa: PLC0415
    from timeveil.verify import verify as check  # noqa: PLC0415

    private = None if ledger is None else open_ledger(ledger)
    found = damage(folder)
    files = ("every file is there and as it was written",)
    try:
        verdict = check(open_release(folder, check=False), private)
    except BundleError as error:
        if error.code != "folder-damaged" or not found:
            raise
        scope = "recipient" if private is None else "with ledger"
        return Verdict(scope, files, (*found, Violation("file-unreadable", error.message)))
    return Verdict(verdict.scope, (*files, *verdict.checks), (*found, *verdict.violations))
