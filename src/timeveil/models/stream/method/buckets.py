"""Buckets of an l-eligible slot (Anatomy; Xiao and Tao 2006, Figure 3).

Records are grouped by value; while l values are left, one record of each of the l commonest makes a new
bucket. Fewer than l records remain, each of another value; each joins a random bucket that lacks its value.
So every bucket has at least l records and all of its values are different.

Which of several equally common values is drawn from goes by a fixed rule of counts; which record, by chance.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from timeveil.models.stream.method.chance import Draws


def anatomy(values: Sequence[int], l: int, draws: Draws) -> list[int]:
    """The bucket of each record, numbered from 0.

    >>> from timeveil.models.stream.method.chance import BUCKETS
    >>> buckets = anatomy([0, 0, 1, 1, 2], l=2, draws=Draws(1, 0, BUCKETS))
    >>> sorted(buckets.count(b) for b in set(buckets))
    [2, 3]
    """
    order = list(range(len(values)))
    draws.shuffle(order)
    records: dict[int, list[int]] = {}
    for record in order:
        records.setdefault(values[record], []).append(record)
    buckets = [0] * len(values)
    by_value = {value: records[value] for value in sorted(records)}
    for number, bucket in enumerate(bucket_cells(by_value, l, draws)):
        for record in bucket.values():
            buckets[record] = number
    return buckets


def bucket_cells(records: dict[int, list[int]], l: int, draws: Draws) -> list[dict[int, int]]:
    """Buckets as value to record. Takes every record; of equally common values the later ones come first.

    >>> bucket_cells({5: [0, 1], 8: [2, 3], 3: [4]}, l=2, draws=Draws(1, slot=0, stream=0))
    [{5: 1, 8: 3}, {8: 2, 3: 4, 5: 0}]
    """
    buckets = _draw(records, l)
    for value in [value for value, left in records.items() if left]:
        lacking = [bucket for bucket in buckets if value not in bucket]
        lacking[draws.below(len(lacking))][value] = records[value].pop()
    return buckets


def _draw(records: dict[int, list[int]], l: int) -> list[dict[int, int]]:
    """Make buckets while l values have a record left."""
    buckets: list[dict[int, int]] = []
    ranked = sorted(records, key=lambda value: -len(records[value]))
    while len(ranked) >= l and records[ranked[l - 1]]:
        buckets.append({value: records[value].pop() for value in _commonest(ranked, records, l)})
    return buckets


def _commonest(ranked: Sequence[int], records: dict[int, list[int]], l: int) -> list[int]:
    """The l commonest values; of those equally common the last, so that the ranking stays one."""
    least = len(records[ranked[l - 1]])
    above = bisect_left(ranked, -least, key=lambda value: -len(records[value]))
    end = bisect_right(ranked, -least, key=lambda value: -len(records[value]))
    return [*ranked[:above], *ranked[end - (l - above) : end]]
