"""`timeveil plot`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from timeveil.cli import options as given
from timeveil.errors import ParameterError

if TYPE_CHECKING:
    from timeveil.domain.release import Ledger, Release


def plot(
    folder: given.Folder,
    out: Annotated[str, typer.Option(metavar="FILE", help="New SVG file to draw to: --out picture.svg")],
    group: Annotated[
        int | None,
        typer.Option(metavar="N", help="Series: this group; default: several, narrow to wide: --group 7"),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Series: draw the originals, too, which makes the picture private: --ledger loads.ledger",
        ),
    ] = None,
    top: Annotated[
        int | None, typer.Option(metavar="N", help="Patterns: so many, the strongest; default 9: --top 12")
    ] = None,
    longer_than: Annotated[
        int | None,
        typer.Option(metavar="N", help="Patterns: only those of more items than that: --longer-than 3"),
    ] = None,
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """Draw a release: the envelopes and patterns of series, or the strongest patterns.

    Example: timeveil plot published --group 7 --out picture.svg
    """
    from timeveil.cli.files import private_ledger, write_new
    from timeveil.cli.output import Output
    from timeveil.folder import open_release
    from timeveil.folder.new_files import refuse_taken

    path, output = Path(out), Output(as_json=as_json, quiet=quiet)
    if path.resolve().is_relative_to(Path(folder).resolve()):
        raise ParameterError(
            "the picture would lie in the release folder, which holds the release and nothing else",
            hint="draw it to a file outside of the folder",
        )
    refuse_taken(path)
    release = open_release(folder)
    match release.manifest["model"]:
        case "series":
            _refuse({"--top": top, "--longer-than": longer_than}, "patterns")
            private = None if ledger is None else private_ledger(ledger, output)
            picture = _series(release, group, private)
        case "patterns":
            _refuse({"--group": group, "--ledger": ledger}, "series")
            private, picture = None, _patterns(release, top, longer_than)
        case _:
            raise ParameterError(
                "only a release of series or of patterns can be drawn",
                hint="name a folder that `anonymize-series` or `sanitize-patterns` wrote",
            )
    write_new(path, picture, private=private is not None)
    output.result(f"{out}: drawn", {"picture": out, "private": private is not None})
    if private is not None:
        output.say(f"`{out}` shows original series: keep it to yourself.")
    return 0


def _series(release: Release, group: int | None, ledger: Ledger | None) -> str:
    from timeveil.models.series.words.pictures import release_picture

    return release_picture(release, group, ledger).svg()


def _patterns(release: Release, top: int | None, longer_than: int | None) -> str:
    from timeveil.models.patterns.evidence import Evidence
    from timeveil.models.patterns.words.pictures import SHOWN, release_picture

    return release_picture(Evidence(release), SHOWN if top is None else top, longer_than).svg()


def _refuse(given_options: dict[str, object], model: str) -> None:
    """An option of the other model would be ignored."""
    for name, value in given_options.items():
        if value is not None:
            raise ParameterError(
                f"`{name}` is about a release of {model}, and this is none", hint=f"leave `{name}` out"
            )
