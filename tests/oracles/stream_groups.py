"""Generalised groups of a stream, recounted one record at a time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def contains(label: str | None, value: Any) -> bool:
    """Whether a label stands for a value: a star, an interval, a prefix, or the value itself."""
    if label == "*":
        return True
    if label is None or value is None:
        return label is value
    if label.startswith("["):
        low, high = label[1:-1].split(", ")
        return float(low) <= float(value) < float(high)
    for words, fits in (("below ", lambda bound: value < bound), (" or more", lambda bound: value >= bound)):
        if words in label:
            return bool(fits(float(label.replace(words, ""))))
    text = str(value)
    return len(text) == len(label) and all(a in (b, "*") for a, b in zip(label, text, strict=True))


def faults(published: Sequence[Row], quasi: Sequence[str], sensitive: str, k: int, l: int) -> list[str]:
    """What is wrong with the groups of a release, as anyone can count it."""
    groups: dict[tuple[Any, int], list[Row]] = {}
    for row in published:
        groups.setdefault((row["slot"], row["group"]), []).append(row)
    wrong = []
    for rows in groups.values():
        if len({tuple(row[name] for name in quasi) for row in rows}) != 1:
            wrong.append("labels")
        if len(rows) < k:
            wrong.append("size")
        if max(Counter(row[sensitive] for row in rows).values()) * l > len(rows):
            wrong.append("value")
    for slot in {slot for slot, _ in groups}:
        numbers = sorted(number for at, number in groups if at == slot)
        if numbers != list(range(len(numbers))):
            wrong.append("numbers")
    return wrong


def outside(
    published: Sequence[Row], entries: Sequence[Row], records: Sequence[Row], quasi: Sequence[str]
) -> int:
    """How many records lie under no label of the group that a ledger lists for them."""
    labels = {(row["slot"], row["group"]): row for row in published}
    pairs = [
        (labels[e["slot"], e["group"]], r)
        for e, r in zip(entries, records, strict=True)
        if e["slot"] is not None
    ]
    return sum(not contains(row[name], record[name]) for row, record in pairs for name in quasi)


def bits(published: Sequence[Row], entries: Sequence[Row], records: Sequence[Row], name: str) -> float:
    """-log2 P(value | label) of a column, on average over published records."""
    labels, total, number = {(row["slot"], row["group"]): row[name] for row in published}, 0.0, 0
    for entry, record in zip(entries, records, strict=True):
        if entry["slot"] is not None:
            label = labels[entry["slot"], entry["group"]]
            under = sum(contains(label, other[name]) for other in records)
            alike = sum(other[name] == record[name] for other in records)
            total, number = total + math.log2(under / alike), number + 1
    return total / number


def group_chances(entries: Sequence[Row], records: Sequence[Row], sensitive: str) -> list[float]:
    """Per published record the share of its group that has its value."""
    groups: dict[tuple[Any, int], Counter[Any]] = {}
    pairs = [(e, r) for e, r in zip(entries, records, strict=True) if e["slot"] is not None]
    for entry, record in pairs:
        groups.setdefault((entry["slot"], entry["group"]), Counter())[record[sensitive]] += 1
    found = []
    for entry, record in pairs:
        values = groups[entry["slot"], entry["group"]]
        found.append(values[record[sensitive]] / values.total())
    return found


def worlds(values: Sequence[int]) -> list[tuple[int, ...]]:
    """Every way to hand the values of a slot to its records."""
    if not values:
        return [()]
    found = []
    for first in sorted(set(values)):
        others = [*values]
        others.remove(first)
        found += [(first, *rest) for rest in worlds(others)]
    return found
