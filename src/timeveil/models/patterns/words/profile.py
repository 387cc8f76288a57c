"""The risk of the true counts of patterns, as a page."""

from __future__ import annotations

from collections.abc import Sequence

from timeveil.models.patterns.judges.profile import PatternProfile
from timeveil.page.charts import bar_chart
from timeveil.page.markdown import Table
from timeveil.page.report import Summary
from timeveil.page.svg import RISK
from timeveil.page.wording import counted, people, percent


def profile_summary(risk: PatternProfile, source: str, _known: Sequence[str] = ()) -> Summary:
    """The small groups that true counts reveal, and who is alone with some of their items."""
    rows = (
        f"{people(risk.people)} have {counted(risk.items, 'different item')}; "
        f"{counted(risk.patterns, 'pattern')} of {risk.min_support:,} people or more."
    )
    verdict = f"holds: no group of fewer than {risk.k} people follows from the true counts."
    if not risk.already_safe:
        verdict = (
            f"not yet safe: {counted(risk.small_groups, 'group')} of fewer than {risk.k} people follow "
            f"from the true counts by adding and subtracting; the smallest has {people(risk.smallest_group)}."
        )
    table = Table(
        "Share of people who are found by items that somebody knows of them",
        ("items known", "alone", f"in a group under {risk.k}"),
        [(counted(each.items, "item"), each.alone, each.below_k) for each in risk.known],
    )
    title = f"People in a group of fewer than {risk.k}, by known items"
    subtitle = "Share of people with that many items, of whom an outsider knows some items at random."
    shares = {counted(each.items, "item"): each.below_k for each in risk.known}
    picture = bar_chart(title, subtitle, shares, colours=dict.fromkeys(shares, RISK), label=percent)
    head = f"{source} -> what true counts reveal to an outsider"
    return Summary([rows, verdict], table, head, picture=picture)
