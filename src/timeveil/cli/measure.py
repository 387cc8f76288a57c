"""`timeveil measure`."""

from __future__ import annotations

from typing import Annotated

import typer

from timeveil.cli import options as given


def measure(
    folder: given.Folder,
    ledger: given.LedgerIn,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="On patterns of series: a release of the same series to read counts off: --against curves",
        ),
    ] = None,
    as_json: given.Json = False,
    quiet: given.Quiet = False,
) -> int:
    """Say what the release lost against the original.

    Example: timeveil measure published --ledger visits.ledger
    """
    from timeveil.cli.files import private_ledger
    from timeveil.cli.output import Output
    from timeveil.folder import open_release
    from timeveil.judging import measure as compare
    from timeveil.models import part

    output = Output(as_json=as_json, quiet=quiet)
    release, private = open_release(folder), private_ledger(ledger, output)
    table = None if against is None else open_release(against)
    with output.progress() as progress:
        loss = compare(release, private, against=table, progress=progress)
    model = release.manifest["model"]
    lines = part(model, "words.results").loss_summary(loss).lines(output.width)
    output.result("\n".join(lines), {"model": model, **loss.as_dict()})
    return 0
