"""What attacks find in timestamped rows, what a release lost, the risk of a table, and tables of a report."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from timeveil.domain.relation import Relation
from timeveil.domain.release import Release
from timeveil.domain.wording import Progress
from timeveil.models.events.judges.attack import Adversary, Breach, attack
from timeveil.models.events.judges.measure import Loss, measure
from timeveil.models.events.judges.profile import Profile
from timeveil.models.events.words import Facts
from timeveil.models.events.words.pictures import attack_picture, granularity_picture, size_picture
from timeveil.page import templates
from timeveil.page.charts import candidate_shares, range_names
from timeveil.page.facts import Attempt, attack_table, risk_table
from timeveil.page.markdown import Table
from timeveil.page.report import Summary
from timeveil.page.wording import aligned, counted, joined, name, share

SAMPLE = 2_000
"""People who are tried by outsiders other than the one that the promise covers."""
WINDOWS = 1_000
"""Random window counts that the loss is measured by in a report."""
_MOST_CANDIDATES = 40
_SPANS = (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1))


def attack_summary(breach: Breach, release: Release) -> Summary:
    """An attack as a page."""
    sentences, limits = templates.marked("models/events/words/attack.j2", breach=breach)
    title = f"An outsider knows {knowledge(breach, release)} -> what they find"
    return Summary(sentences, risk_table(breach, "a person"), title, limits)


def knowledge(breach: Breach, release: Release) -> str:
    """What the outsider knows."""
    adversary = breach.adversary
    quasi = [name(column["name"]) for column in release.manifest["columns"] if column["role"] == "quasi"]
    times = f"the time of {counted(adversary.visits, 'visit')}"
    return joined([*quasi, times]) + adversary.within(release.manifest["time"]["unit"] or "second")


def exposed(breach: Breach) -> list[str]:
    """What stays visible inside groups."""
    return templates.marked("models/events/words/attack.j2", breach=breach)[1]


def loss_summary(loss: Loss) -> Summary:
    """The loss as numbered sentences."""
    return Summary(loss_sentences(loss))


def loss_sentences(loss: Loss) -> list[str]:
    """What was published and withheld, and how precise times and counts still are."""
    before, after = (span(width, loss.width_unit) for width in (loss.width_before, loss.width_after))
    return templates.sentences("models/events/words/loss.j2", loss=loss, before=before, after=after)


def span(width: float, unit: str) -> str:
    """A width of time in the largest unit that it fills.

    >>> span(90.0, "second"), span(172_800.0, "second"), span(1.0, "month")
    ('1.5 minutes', '2 days', '1 month')
    """
    label, size = f"{unit}s", 1
    if unit == "second":
        label, size = next((unit for unit in _SPANS if width >= unit[1]), _SPANS[-1])
    number = width / size
    return f"{number:.3g} {label if number != 1 else label[:-1]}"


def profile_lines(profile: Profile, granularities: frozenset[str] | None = None) -> list[str]:
    """The risk of a table as it is, and at each granularity, or at some of them."""
    rows = [
        ("", "people", "people", "of", "smallest", "by counting", ""),
        ("time by", "alone", f"below {profile.k}", "all", "group", "rows", "groups"),
    ]
    for level in (profile.as_it_stands, *profile.granularities):
        if granularities is None or level is profile.as_it_stands or level.granularity in granularities:
            overstated = "" if level.claimed_by_rows == level.smallest_group else " !"
            rows.append(
                (
                    level.granularity,
                    f"{level.people_unique:,}",
                    f"{level.people_below_k:,}",
                    share(level.share_below_k),
                    f"{level.smallest_group:,}",
                    f"{level.claimed_by_rows:,}{overstated}",
                    f"{level.groups:,}",
                )
            )
    legend = "! counting rows instead of people would overstate the smallest group"
    return [*aligned(rows), *([legend] if any("!" in row[5] for row in rows) else [])]


class CandidateRange(NamedTuple):
    """Shares of the people who have a number of candidates in this range."""

    label: str
    before: float
    after: float


def candidate_ranges(breach: Breach) -> list[CandidateRange]:
    """Share of people by their number of candidates, those out of reach first."""
    edges, before, after = candidate_shares(breach, breach.k)
    ranges = map(CandidateRange, range_names(edges), before, after)
    return [CandidateRange("out of reach", breach.before.out_of_reach, breach.after.out_of_reach), *ranges]


def public(f: Facts) -> dict[str, Any]:
    """What the template of a report needs besides the facts."""
    candidates = dict(list(f.allowed.items())[:_MOST_CANDIDATES])
    return {
        "sizes": size_picture(f.evidence.release, f.k),
        "granularities": granularity_picture(candidates, f.granularity),
        "candidates": _candidate_table(f, candidates),
    }


def private(f: Facts, progress: Progress) -> dict[str, Any]:
    """What only the custodian may see: the risk before, the loss, and attacks."""
    release, time = f.evidence.release, f.manifest["time"]
    progress("attacking", 0.2)
    breach = attack(f.evidence, Adversary())
    near = Adversary(tolerance=1 if time["kind"] == "relative" else 86_400, sample=SAMPLE)
    attempts = [
        Attempt(knowledge(tried, release), tried, f.k) for tried in (breach, attack(f.evidence, near))
    ]
    for visits in (2, 3):
        if visits <= max(2, _most_rows(f.original)):
            several = attack(f.evidence, Adversary(visits=visits, sample=SAMPLE))
            attempts.append(Attempt(knowledge(several, release), several, None))
    progress("measuring", 0.7)
    return {
        "breach": breach,
        "knowledge": attempts[0].knows,
        "attacked": attack_picture(breach, time["unit"] or "second"),
        "risks": risk_table(breach, "a person"),
        "attacks": attack_table(attempts),
        "broken": any(attempt.broken for attempt in attempts),
        "losses": loss_sentences(measure(f.evidence, windows=WINDOWS, seed=0)),
    }


def _most_rows(original: Relation) -> int:
    """The rows of the person with the most."""
    people = pa.Table.from_batches(original.batches([original.respondent]))
    counts = people.group_by(original.respondent).aggregate([([], "count_all")])["count_all"]
    return int(np.asarray(counts).max(initial=0))


def _candidate_table(f: Facts, candidates: dict[str, Any]) -> Table | None:
    rows = [
        (
            name(granularity) + (" (chosen)" if granularity == f.granularity else ""),
            *(
                counts[key]
                for key in ("groups", "smallest_group", "groups_below_k", "rows_below_k", "feasible")
            ),
        )
        for granularity, counts in candidates.items()
    ]
    head = ("time by", "groups", "smallest group", "groups below k", "rows below k", "would work")
    return Table("What each granularity gives, before rows are withheld", head, rows) if rows else None
