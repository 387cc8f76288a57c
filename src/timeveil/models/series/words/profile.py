"""The risk of series, as a page."""

from __future__ import annotations

from collections.abc import Sequence

from timeveil.models.series.judges.profile import SeriesProfile
from timeveil.page.charts import bar_chart
from timeveil.page.markdown import Table
from timeveil.page.report import Summary
from timeveil.page.svg import RISK
from timeveil.page.wording import counted, percent


def profile_summary(risk: SeriesProfile, source: str, _known: Sequence[str] = ()) -> Summary:
    """Which series are alone with what an outsider knows of them."""
    instants = list(dict.fromkeys(each.instants for each in risk.known))
    rows = f"{counted(risk.series, 'series', 'series')} of {counted(risk.instants, 'instant')}."
    if risk.left_out:
        rows += f" {counted(risk.left_out, 'series', 'series')} with gaps left out."
    verdict = f"holds: {risk.k} series share every value at every instant."
    if not risk.already_anonymous:
        verdict = f"not yet {risk.k}-anonymous: the table shows how many series are alone or nearly so."
    lines = {each.digits: list[float]() for each in risk.known}
    for each in risk.known:
        lines[each.digits].append(each.alone)
    rows_of_table = [(_precision(digits), *shares) for digits, shares in lines.items()]
    head = ("values known", *(counted(number, "instant") for number in instants))
    table = Table("Share of series that are the only one with the values known", head, rows_of_table)
    below = {(each.instants, each.digits): each.below_k for each in risk.known}
    bars = {f"{counted(number, 'instant')}, {_precision(digits)}": b for (number, digits), b in below.items()}
    picture = bar_chart(
        f"Series that fewer than {risk.k} share",
        "Share of series, by how many neighbouring instants are known and how precisely.",
        bars,
        colours=dict.fromkeys(bars, RISK),
        label=percent,
        strong=f"{counted(instants[-1], 'instant')}, {_precision(None)}",
    )
    return Summary(
        [rows, verdict], table, f"{source} -> what known values reveal to an outsider", picture=picture
    )


def _precision(digits: int | None) -> str:
    return "exact" if digits is None else f"to {counted(digits, 'digit')}"
