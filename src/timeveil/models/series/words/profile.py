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
    lines = {each.digits: [each.alone] for each in risk.known if each.instants == instants[0]}
    for each in risk.known:
        if each.instants != instants[0]:
            lines[each.digits].append(each.alone)
    rows_of_table = [(_precision(digits), *shares) for digits, shares in lines.items()]
    head = ("values known", *(counted(number, "instant") for number in instants))
    table = Table("Share of series that are the only one with the values known", head, rows_of_table)
    two = next(each for each in risk.known if each.digits is None and each.instants == instants[-1])
    picture = bar_chart(
        f"Series that fewer than {risk.k} share",
        "Share of series, by how many neighbouring instants are known and how precisely.",
        {
            f"{counted(each.instants, 'instant')}, {_precision(each.digits)}": each.below_k
            for each in risk.known
        },
        colours={f"{counted(e.instants, 'instant')}, {_precision(e.digits)}": RISK for e in risk.known},
        label=percent,
        strong=f"{counted(two.instants, 'instant')}, {_precision(None)}",
    )
    return Summary(
        [rows, verdict], table, f"{source} -> what known values reveal to an outsider", picture=picture
    )


def _precision(digits: int | None) -> str:
    return "exact" if digits is None else f"to {counted(digits, 'digit')}"
