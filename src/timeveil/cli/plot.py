"""`timeveil plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from timeveil.cli import options as given
from timeveil.errors import ParameterError


def plot(
    folder: given.Folder,
    out: Annotated[str, typer.Option(metavar="FILE", help="New SVG file to draw to: --out picture.svg")],
    group: Annotated[
        int | None,
        typer.Option(metavar="N", help="Draw this group; default: several, narrow to wide: --group 7"),
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="With it the original series are drawn, and the picture is private: --ledger loads.ledger",
        ),
    ] = None,
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """Draw a release of series: envelopes as bands, and the patterns of their subgroups in them.

    Example: timeveil plot published --group 7 --out picture.svg
    """
    from timeveil.bundle import open_release  # noqa: PLC0415
    from timeveil.bundle.writing import refuse_taken  # noqa: PLC0415
    from timeveil.cli.files import private_ledger, write_new  # noqa: PLC0415
    from timeveil.cli.output import Output  # noqa: PLC0415
    from timeveil.report.series_picture import series_svg  # noqa: PLC0415

    path, output = Path(out), Output(as_json=as_json, quiet=quiet)
    if path.resolve().is_relative_to(Path(folder).resolve()):
        raise ParameterError(
            "the picture would lie in the release folder, which holds the release and nothing else",
            hint="draw it to a file outside of the folder",
            code="bad-parameter",
        )
    refuse_taken(path)
    release = open_release(folder)
    if release.manifest["model"] != "series":
        raise ParameterError(
            "only a release of series can be drawn",
            hint="name a folder that `timeveil anonymize-series` wrote",
            code="bad-parameter",
        )
    private = None if ledger is None else private_ledger(ledger, output)
    write_new(path, series_svg(release, group, private), private=private is not None)
    output.result(f"{out}: drawn", {"picture": out, "private": private is not None})
    if private is not None:
        output.say(f"`{out}` shows original series: keep it to yourself.")
    return 0
