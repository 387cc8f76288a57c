"""`timeveil verify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from timeveil.cli import options as given

if TYPE_CHECKING:
    from timeveil.domain.judgement import Verdict

_SCOPES = {
    ("time", "recipient"): "as far as can be checked without the ledger (people were not counted)",
    ("time", "with ledger"): "checked with the ledger (the people of every group were counted)",
    ("stream", "recipient"): "as far as a recipient can see",
    ("stream", "with ledger"): "by following every record, with the ledger",
    ("series", "recipient"): "as far as a recipient can see",
    ("series", "with ledger"): "by following every series, with the ledger",
    ("patterns", "recipient"): "by computing every group that the counts give; how many are virtual is not "
    "checked",
    ("patterns", "with ledger"): "by counting every pattern and computing every group, with the ledger",
}
_MODELS = {model for model, _ in _SCOPES}


def verify(
    folder: given.Folder,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Private ledger; with it, people are counted, not only rows: --ledger visits.ledger",
        ),
    ] = None,
    rewrite: Annotated[
        str | None,
        typer.Option(
            metavar="NEW",
            help="If it holds, write a clean copy from the cells to a new folder: --rewrite clean",
        ),
    ] = None,
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """Check the tables and the promise of a release, with the ledger in full; exit 0 if it holds, 1 if not.

    Cells, column names and the manifest (release.json) are checked. A file can hide other data; --rewrite
    writes a copy without it.

    Example: timeveil verify published
    """
    from timeveil.cli.files import private_ledger
    from timeveil.cli.output import Output
    from timeveil.cli.streams import note_written
    from timeveil.folder import writing
    from timeveil.folder.opening import judged

    output = Output(as_json=as_json, quiet=quiet)
    evidence, verdict, sound = judged(
        Path(folder), None if ledger is None else private_ledger(ledger, output)
    )
    model = None if evidence is None else str(evidence.release.manifest.get("model"))
    model = model if model in _MODELS else None
    output.result(
        "\n".join(described(verdict, folder, model, output.width)), {"model": model, **verdict.as_dict()}
    )
    if sound and not verdict:
        output.say(
            "As far as a recipient can see, the release is sound: check that the ledger is the one that "
            "was made together with it."
        )
    if verdict and rewrite is not None:
        note_written(writing.rewrite(folder, rewrite))
        output.say(f"A clean copy is in `{rewrite}`.")
    return 0 if verdict else 1


def described(verdict: Verdict, folder: str, model: str | None, width: int) -> list[str]:
    """The verdict, then what was violated or else what was checked."""
    from timeveil.cli.output import one_line
    from timeveil.page.wording import wrapped

    head = "holds" if verdict else "violated"
    scope = _SCOPES[model or "time", verdict.scope]
    lines = wrapped(f"{head}: `{one_line(Path(folder).resolve().name)}`, {scope}", width)
    for violation in verdict.violations:
        lines += wrapped(one_line(violation.message), width, "  ")
    if verdict:
        for number, check in enumerate(verdict.checks, start=1):
            lines += wrapped(check, width, f"{number}. ")
    return lines
