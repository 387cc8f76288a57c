"""What stays visible inside a group however many people share it."""

from __future__ import annotations

import numpy as np

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.evidence.codes import Integers, column_of, distinct_pairs, encode, fold
from timeveil.evidence.published import columns_of
from timeveil.models.events.judges.linked import Linked


def largest_share(linked: Linked) -> float:
    """The largest part of one group's rows that one person has; 0 where nothing was published."""
    group, groups = _groups(linked)
    return float(
        _largest(group, linked.people.person[linked.published], groups, linked.people.people).max(initial=0.0)
    )


def commonest_sensitive(release: Release, ledger: Ledger, linked: Linked) -> dict[str, dict[str, float]]:
    """Per sensitive column the share of the most common value in a group, worst and mean over groups."""
    group, groups = _groups(linked)
    found = {}
    for name in columns_of(release, "sensitive"):
        values = encode(column_of(ledger.original.data, name))
        shares = _largest(group, values.codes[linked.published], groups, values.size)
        found[name] = {
            "worst": float(shares.max(initial=0.0)),
            "mean": float(shares.mean()) if groups else 0.0,
        }
    return found


def _groups(linked: Linked) -> tuple[Integers, int]:
    shown, place = linked.shown[linked.published], linked.place[linked.published]
    size = int(shown.max(initial=0)) + 1
    return fold([(shown, size), (place, len(linked.granules.start))], len(shown))


def _largest(
    group: Integers, value: Integers, groups: int, size: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Per group the share of its most frequent value."""
    owner, _, often = distinct_pairs(group, value, size)
    most = np.zeros(groups, dtype=np.int64)
    np.maximum.at(most, owner, often)
    return most / np.bincount(group, minlength=groups)
