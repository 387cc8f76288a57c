"""The risk of a stream, as a page."""

from __future__ import annotations

from collections.abc import Sequence

from timeveil.models.stream.judges.profile import StreamProfile
from timeveil.page.charts import bar_chart
from timeveil.page.markdown import Table
from timeveil.page.report import Summary
from timeveil.page.svg import RELEASE
from timeveil.page.wording import counted, name, percent, quoted, share


def profile_summary(risk: StreamProfile, source: str, known: Sequence[str]) -> Summary:
    """Which slots could be published as they are, by l."""
    rows = f"{counted(risk.rows, 'record')} in {counted(risk.slots, 'slot')} by the {risk.slot}, "
    rows += f"{risk.records_per_slot:.1f} on average."
    if risk.rows_incomplete:
        rows += f" {counted(risk.rows_incomplete, 'record')} without a time or a sensitive value left out."
    fits = next(each for each in risk.by_l if each.l == risk.l)
    verdict = f"not yet {risk.l}-diverse: {fits.slots:,} of {counted(risk.slots, 'slot')} are as they are."
    if risk.already_diverse:
        verdict = f"holds: every slot is already {risk.l}-diverse."
    knows = f"anyone who knows the slot{f' and {quoted(known)}' if known else ''}"
    certain = f"Of {share(risk.certain)} of the records, {knows} knows the sensitive value for certain."
    caption, head = "Slots that could be published as they are", ("l", "slots", "share of slots")
    rows_by_l = [(f"1 in {by.l}", by.slots, by.share_of_slots, by.share_of_records) for by in risk.by_l]
    table = Table(caption, (*head, "share of records"), rows_by_l)
    picture = bar_chart(
        caption,
        f"Share of slots in which no value of a record is held by more than 1 in l. In bold: l = {risk.l}.",
        {f"l = {each.l}": each.share_of_slots for each in risk.by_l},
        colours=dict.fromkeys((f"l = {each.l}" for each in risk.by_l), RELEASE),
        label=percent,
        strong=f"l = {risk.l}",
    )
    title = f"{source} -> what a {name(risk.slot)} reveals to an outsider"
    return Summary([rows, certain, verdict], table, title, picture=picture)
