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
    from timeveil.judging.measure import measure as compare
    from timeveil.models.events.judges.measure import Loss
    from timeveil.models.events.words.loss import described
    from timeveil.models.patterns.judges.measure import PatternLoss
    from timeveil.models.patterns.words.loss import described as described_patterns
    from timeveil.models.series.judges.measure import SeriesLoss
    from timeveil.models.series.words.loss import described as described_series
    from timeveil.models.stream.words.loss import described as described_stream
    from timeveil.page.wording import wrapped

    output = Output(as_json=as_json, quiet=quiet)
    release, private = open_release(folder), private_ledger(ledger, output)
    table = None if against is None else open_release(against)
    with output.progress() as progress:
        loss = compare(release, private, against=table, progress=progress)
    if isinstance(loss, Loss):
        lines = [
            line
            for number, sentence in enumerate(described(loss), start=1)
            for line in wrapped(sentence, output.width, f"{number}. ")
        ]
    elif isinstance(loss, SeriesLoss):
        lines = described_series(loss, output.width)
    elif isinstance(loss, PatternLoss):
        lines = described_patterns(loss, output.width)
    else:
        lines = described_stream(loss)
    output.result("\n".join(lines), {"model": release.manifest["model"], **loss.as_dict()})
    return 0
