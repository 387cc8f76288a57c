"""Pictures of a release of timestamped rows: an attack, group sizes, and granularities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from timeveil.domain.release import Release
from timeveil.evidence.published import classes_of, columns_of
from timeveil.models.events.judges.attack import Breach
from timeveil.page.attacks import candidate_shares
from timeveil.page.charts import Bar, Mark, bar_chart, doubling_edges, pair_chart, size_bars
from timeveil.page.svg import Picture
from timeveil.page.wording import percent


def attack_picture(breach: Breach, unit: str = "second") -> Picture:
    """How many people have how many candidates, in the original and in the release, with k marked.

    A pair of columns is the share of people whose number of candidates is at least the number at its left
    edge and below the number at its right edge. `unit` is what the adversary's tolerance counts.
    """
    largest = max(int(risk.candidates.max(initial=1)) for risk in (breach.before, breach.after))
    edges = doubling_edges(breach.k, largest)
    visits = "one visit" if breach.adversary.visits == 1 else f"{breach.adversary.visits} visits"
    knows = f"quasi-identifiers and {visits}{breach.adversary.within(unit)}"
    before, after, reach = breach.pinned_before, breach.pinned_after, breach.after.out_of_reach
    return pair_chart(
        "How many people fit what an outsider knows",
        f"Share of {breach.people:,} people. Known about each: {knows}",
        f"Of {breach.people:,} people attacked, {percent(before)} have a single candidate in the original "
        f"and {percent(after)} in the release. In the release, the chance of naming the right person is at "
        f"most {percent(breach.worst)}, and {percent(breach.mean)} on average; {percent(reach)} are out of "
        "reach because what is known about them was withheld.",
        candidate_shares(breach.before, edges),
        candidate_shares(breach.after, edges),
        (
            f"original: {percent(before)} with one candidate",
            f"release: {percent(after)} with one candidate, {percent(reach)} withheld",
        ),
        [Mark(f"k = {breach.k}", edges.index(breach.k))],
        ticks=[_short(size) for size in edges],
        axis="people who fit (candidates)",
    )


def size_picture(release: Release, k: int) -> Picture | None:
    """Groups by their number of rows, which anyone can count."""
    keys = [*columns_of(release, "quasi"), *columns_of(release, "time")]
    sizes = np.asarray(classes_of(release, keys)["rows"]).astype(np.int64)
    if not len(sizes):
        return None
    subtitle = f"Number of groups by their number of rows. Each group has at least {k} people."
    return bar_chart("Groups by size", subtitle, size_bars(sizes, k, "row", "rows"))


def granularity_picture(candidates: Mapping[str, Mapping[str, Any]], chosen: str) -> Picture | None:
    """The groups that each granularity would give."""
    if not candidates:
        return None
    bars = [
        Bar(name, (float(counts["groups"]),), (f"{counts['groups']:,}",), strong=name == chosen)
        for name, counts in candidates.items()
    ]
    subtitle = (
        "Groups of the same quasi-identifiers and time: more groups are finer. In bold: the chosen one."
    )
    return bar_chart("How precise times could be", subtitle, bars)


def _short(number: int) -> str:
    """A number in few characters.

    >>> [_short(n) for n in (640, 1280, 20480, 2621440)]
    ['640', '1.3k', '20k', '2.6M']
    """
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            scaled = number / size
            return (f"{scaled:.1f}".removesuffix(".0") if scaled < 10 else f"{scaled:.0f}") + letter
    return str(number)
