"""`timeveil measure`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from timeveil.cli import options as given

if TYPE_CHECKING:
    from timeveil.measure import Loss

_SPANS = (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1))


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
    from timeveil.bundle import open_release  # noqa: PLC0415
    from timeveil.cli.files import private_ledger  # noqa: PLC0415
    from timeveil.cli.output import Output  # noqa: PLC0415
    from timeveil.measure import Loss, PatternLoss, SeriesLoss  # noqa: PLC0415
    from timeveil.measure import measure as compare  # noqa: PLC0415
    from timeveil.report.pattern_loss import described as described_patterns  # noqa: PLC0415
    from timeveil.report.series_loss import described as described_series  # noqa: PLC0415
    from timeveil.report.stream_loss import described as described_stream  # noqa: PLC0415
    from timeveil.report.wording import wrapped  # noqa: PLC0415

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


def described(loss: Loss) -> list[str]:
    """The loss in sentences."""
    from timeveil.report.wording import counted, people, share  # noqa: PLC0415

    rows = loss.rows + loss.suppressed
    withheld = (
        f"{counted(loss.suppressed, 'row')} withheld ({share(loss.suppressed / rows if rows else 0.0)})"
    )
    lost = f"{people(loss.suppressed_people)} of {loss.people:,} without any row left"
    return [
        f"{counted(loss.rows, 'row')} published in {counted(loss.groups, 'group')}: "
        f"{loss.rows_per_group:,.1f} rows and {loss.people_per_group:,.1f} people to a group.",
        f"{withheld}, {lost}.",
        f"Time was told to {_span(loss.width_before, loss.width_unit)} and is now told to "
        f"{_span(loss.width_after, loss.width_unit)} on average.",
        f"{counted(loss.windows, 'random window count')} answered from the release: off by "
        f"{share(loss.window_error_median)} in the median, {share(loss.window_error_mean)} on average.",
    ]


def _span(width: float, unit: str) -> str:
    """A width of time in the largest unit that it fills.

    >>> _span(90.0, "second"), _span(172_800.0, "second"), _span(1.0, "month")
    ('1.5 minutes', '2 days', '1 month')
    """
    name, size = f"{unit}s", 1
    if unit == "second":
        name, size = next((found for found in _SPANS if width >= found[1]), _SPANS[-1])
    number = width / size
    return f"{number:.3g} {name if number != 1 else name[:-1]}"
