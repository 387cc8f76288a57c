"""The risk of a table of events, as a page."""

from __future__ import annotations

from collections.abc import Sequence

from timeveil.models.events.judges.profile import Profile
from timeveil.page.charts import bar_chart
from timeveil.page.markdown import Table
from timeveil.page.report import Summary
from timeveil.page.svg import RISK
from timeveil.page.wording import counted, people, percent, quoted


def profile_summary(risk: Profile, source: str, known: Sequence[str]) -> Summary:
    """Who is unique at which granularity, in a table, sentences and a picture."""
    k, spread, levels = risk.k, risk.rows_per_person, (risk.as_it_stands, *risk.granularities)
    rows = (
        f"{counted(risk.rows, 'row')} of {people(risk.people)}: a median of "
        f"{counted(round(spread['median']), 'row')} per person, {spread['max']:,.0f} at most."
    )
    if risk.rows_incomplete:
        rows += f" {counted(risk.rows_incomplete, 'row')} without a person or a time left out."
    verdict = f"holds: the table is already {k}-anonymous."
    if not risk.already_anonymous:
        verdict = (
            f"not yet {k}-anonymous: {risk.as_it_stands.people_below_k:,} of {people(risk.people)} are in a "
            f"group of fewer than {k}."
        )
    head = ("time by", "people alone", f"in groups under {k}", "share of people", "smallest group", "groups")
    numbers = ("people_below_k", "share_below_k", "smallest_group", "groups")
    table = Table(
        "Who would be found if only the person were left out",
        head,
        [
            (each.granularity, each.people_unique, *(getattr(each, number) for number in numbers))
            for each in levels
        ],
    )
    picture = bar_chart(
        f"People in a group of fewer than {k}",
        "Share of people, if times were published as they are or at a granularity.",
        {level.granularity: level.share_below_k for level in levels},
        colours=dict.fromkeys((level.granularity for level in levels), RISK),
        label=percent,
        strong=risk.as_it_stands.granularity,
    )
    title = f"{source} -> what {quoted(known)} reveal to an outsider"
    return Summary([rows, verdict], table, title, picture=picture)
