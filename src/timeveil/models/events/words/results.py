"""What attacks find in timestamped rows, what a release lost, and the risk of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from timeveil.domain.release import Release
from timeveil.evidence.risk import Risk
from timeveil.models.events.judges.attack import Breach
from timeveil.models.events.judges.measure import Loss
from timeveil.models.events.judges.profile import Profile
from timeveil.page.attacks import risk_table
from timeveil.page.summary import Summary
from timeveil.page.wording import aligned, counted, joined, name, people, share

_SPANS = (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1))
_CANDIDATES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000)


def attack_summary(breach: Breach, release: Release) -> Summary:
    """An attack as a page."""
    sentences = []
    if breach.people < breach.everyone:
        sentences.append(f"{people(breach.people)} of {breach.everyone:,} were attacked, drawn at random.")
    above = breach.share_above(1 / breach.k + 1e-12)
    sentences.append(
        f"In the release, {share(above)} of the people can be named with a chance above 1 in {breach.k}."
        if above
        else "In the release, a blind guess among the candidates names nobody with a chance above "
        f"1 in {breach.k}."
    )
    sentences.append("Shares of people are means over each person's visits.")
    title = f"An outsider knows {knowledge(breach, release)} -> what they find"
    return Summary(sentences, risk_table(breach.before, breach.after, "a person"), title, exposed(breach))


def knowledge(breach: Breach, release: Release) -> str:
    """What the outsider knows."""
    adversary = breach.adversary
    quasi = [name(column["name"]) for column in release.manifest["columns"] if column["role"] == "quasi"]
    times = f"the time of {counted(adversary.visits, 'visit')}"
    return joined([*quasi, times]) + adversary.within(release.manifest["time"]["unit"] or "second")


def exposed(breach: Breach) -> list[str]:
    """What stays visible inside groups."""
    sentences = [f"One person has up to {share(breach.largest_share)} of the rows of a group."]
    for column, shares in breach.commonest_sensitive.items():
        sentences.append(
            f"The commonest value of {name(column)} makes up {share(shares['mean'])} of a group on average "
            f"and {share(shares['worst'])} of the worst group."
        )
    return sentences


def loss_summary(loss: Loss) -> Summary:
    """The loss as numbered sentences."""
    return Summary(loss_sentences(loss))


def loss_sentences(loss: Loss) -> list[str]:
    """What was published and withheld, and how precise times and counts still are."""
    rows = loss.rows + loss.suppressed
    withheld = share(loss.suppressed / rows if rows else 0.0)
    return [
        f"{counted(loss.rows, 'row')} published in {counted(loss.groups, 'group')}: on average "
        f"{loss.rows_per_group:,.1f} rows and {loss.people_per_group:,.1f} people per group.",
        f"{counted(loss.suppressed, 'row')} withheld ({withheld}); {people(loss.suppressed_people)} of "
        f"{loss.people:,} have no row left.",
        f"Times were precise to {span(loss.width_before, loss.width_unit)}; they are now precise to "
        f"{span(loss.width_after, loss.width_unit)} on average.",
        f"{counted(loss.windows, 'random window count')} answered from the release: the median error is "
        f"{share(loss.window_error_median)}, the mean error {share(loss.window_error_mean)}.",
    ]


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
    head = (
        ("", "people", "people", "of", "smallest", "by counting", ""),
        ("time by", "alone", f"below {profile.k}", "all", "group", "rows", "groups"),
    )
    rows = []
    allowed = [
        level
        for level in profile.granularities
        if granularities is None or level.granularity in granularities
    ]
    for level in (profile.as_it_stands, *allowed):
        wrong = "" if level.claimed_by_rows == level.smallest_group else " !"
        rows.append(
            (
                level.granularity,
                f"{level.people_unique:,}",
                f"{level.people_below_k:,}",
                share(level.share_below_k),
                f"{level.smallest_group:,}",
                f"{level.claimed_by_rows:,}{wrong}",
                f"{level.groups:,}",
            )
        )
    legend = "! counting rows instead of people would overstate the smallest group"
    return [*aligned([*head, *rows]), *([legend] if any("!" in row[5] for row in rows) else [])]


@dataclass(frozen=True, slots=True)
class CandidateRange:
    """Shares of the people who have a number of candidates in this range."""

    label: str
    before: float
    after: float


def candidate_ranges(breach: Breach) -> list[CandidateRange]:
    """Share of people by their number of candidates, those out of reach first."""
    largest = max(int(risk.candidates.max(initial=1)) for risk in (breach.before, breach.after))
    edges = [edge for edge in _CANDIDATES if edge <= largest]
    labels = ["out of reach", *_range_labels(edges)]
    before, after = (_range_shares(risk, edges) for risk in (breach.before, breach.after))
    return [CandidateRange(*parts) for parts in zip(labels, before, after, strict=True)]


def _range_shares(risk: Risk, edges: list[int]) -> list[float]:
    total = float(risk.weight.sum())
    index = np.searchsorted(edges, risk.candidates, side="right")
    weight = np.bincount(index, weights=risk.weight, minlength=len(edges) + 1)
    return [float(part) / total if total else 0.0 for part in weight]


def _range_labels(edges: list[int]) -> Iterator[str]:
    """Names of the ranges.

    >>> list(_range_labels([1, 2, 5]))
    ['1', '2 to 4', '5 or more']
    """
    for low, high in zip(edges, [*edges[1:], None], strict=True):
        if high is None:
            yield f"{low:,} or more" if low > 1 else "1"
        else:
            yield f"{low:,}" if high - low == 1 else f"{low:,} to {high - 1:,}"
