"""`timeveil compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from timeveil.cli import options as given
from timeveil.errors import BundleError, ParameterError

if TYPE_CHECKING:
    from timeveil.cli.output import Output
    from timeveil.domain.release import Ledger, Release

DAMAGED = "A release that is not as it was written is no choice, and nothing is compared."


def compare(
    folders: Annotated[
        list[str],
        typer.Argument(metavar="DIR DIR...", help="Release folders of the same data, such as k5 k10."),
    ],
    ledger: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="Private ledger of a release, one for each folder in the same order; with them loss and "
            "risk are measured: --ledger k5.ledger --ledger k10.ledger",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="New SVG file to draw losses and risks to: --out compared.svg"),
    ] = None,
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """Put releases of the same data side by side: what each promises, publishes, loses and risks.

    Exits with 1 if one of them does not keep its promise, or is not as it was written, which `verify` tells.

    Example: timeveil compare k5 k10 --ledger k5.ledger --ledger k10.ledger --out compared.svg
    """
    from timeveil.cli.files import write_new
    from timeveil.cli.output import Output
    from timeveil.compare import compare as put
    from timeveil.compare.words import comparison_lines, comparison_picture
    from timeveil.folder.new_files import refuse_taken

    output = Output(as_json=as_json, quiet=quiet)
    if out is not None:
        _refuse_inside(Path(out), folders)
        refuse_taken(Path(out))
    _refuse_twice(folders)
    names = _named(folders)
    releases = _opened(folders)
    if releases is None:
        return _told_damaged(names, folders, output)
    private = None if not ledger else _ledgers(ledger, names, output)
    with output.progress() as progress:
        comparison = put(dict(zip(names, releases, strict=True)), private, progress=progress)
    if out is not None:
        write_new(Path(out), comparison_picture(comparison).svg(), private=private is not None)
    output.result("\n".join(comparison_lines(comparison, output.width)), comparison.as_dict())
    if private is not None:
        output.say("Losses and chances were measured with the ledgers: keep these numbers to yourself.")
    return 0 if comparison.holds else 1


def _opened(folders: Sequence[str]) -> list[Release] | None:
    """The releases; None if a folder is not as it was written."""
    from timeveil.folder import open_release

    try:
        return [open_release(folder) for folder in folders]
    except BundleError as error:
        if error.code != "folder-damaged":
            raise
    return None


def _told_damaged(names: Sequence[str], folders: Sequence[str], output: Output) -> int:
    """What is wrong, as `verify` says it, and no number that rests on such files."""
    from timeveil.compare.comparison import Comparison
    from timeveil.compare.words import comparison_lines
    from timeveil.folder.opening import judged

    judgements = [judged(Path(folder)) for folder in folders]
    models = tuple(
        "" if judgement.evidence is None else str(judgement.evidence.release.manifest["model"])
        for judgement in judgements
    )
    verdicts = tuple(judgement.verdict for judgement in judgements)
    comparison = Comparison(tuple(names), models, verdicts, (), "assumed", (DAMAGED,))
    output.result("\n".join(comparison_lines(comparison, output.width)), comparison.as_dict())
    return 1


def _ledgers(paths: Sequence[str], names: Sequence[str], output: Output) -> dict[str, Ledger]:
    from timeveil.cli.files import private_ledger

    if len(paths) != len(names):
        raise ParameterError(
            f"there are {len(names)} folders and {len(paths)} ledgers",
            hint="give one --ledger for each folder, in the same order, or none",
        )
    return {name: private_ledger(path, output) for name, path in zip(names, paths, strict=True)}


def _named(folders: Sequence[str]) -> list[str]:
    """The last part of each path, or the path as it was typed where two end alike."""
    short = [Path(folder).resolve().name for folder in folders]
    return short if len(set(short)) == len(short) else [folder.rstrip("/") for folder in folders]


def _refuse_twice(folders: Sequence[str]) -> None:
    paths = [Path(folder).resolve() for folder in folders]
    for index, folder in enumerate(folders):
        if paths[index] in paths[:index]:
            raise ParameterError(f"`{folder}` is given twice", hint="name different release folders")


def _refuse_inside(path: Path, folders: Sequence[str]) -> None:
    if any(path.resolve().is_relative_to(Path(folder).resolve()) for folder in folders):
        raise ParameterError(
            "the picture would lie in a release folder, which holds the release and nothing else",
            hint="draw it to a file outside of the folders",
        )
