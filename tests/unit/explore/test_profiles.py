"""The risk of streams, series and patterns, recounted row by row."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pyarrow as pa

import timeveil as tv
from timeveil.datasets import baskets, daily_cases, load_curves


def test_a_stream_by_l() -> None:
    table = daily_cases(days=20, seed=3)
    roles = tv.Roles(time="day", quasi=["district"], sensitive=["diagnosis"], drop="rest")
    risk = tv.profile(tv.read(table, roles, needs=()), l=3)
    slots: dict[str, Counter[str]] = {}
    groups: dict[tuple[str, str], Counter[str]] = {}
    for row in table.to_pylist():
        slots.setdefault(row["day"], Counter())[row["diagnosis"]] += 1
        groups.setdefault((row["day"], row["district"]), Counter())[row["diagnosis"]] += 1
    for each in risk.by_l:
        fitting = [values for values in slots.values() if max(values.values()) * each.l <= values.total()]
        assert each.slots == len(fitting)
        assert each.share_of_records == sum(values.total() for values in fitting) / table.num_rows
    certain = sum(values.total() for values in groups.values() if len(values) == 1)
    assert risk.certain == certain / table.num_rows
    assert risk.already_diverse == all(max(v.values()) * 3 <= v.total() for v in slots.values())


def test_series_by_known_values() -> None:
    table = load_curves(people=60, instants=6, seed=2)
    names = [name for name in table.column_names if name.startswith("h") and name[1:].isdigit()]
    roles = tv.Roles(series=names, drop="rest")
    risk = tv.profile(tv.read(table, roles, needs=()), k=4)
    rows = [[row[name] for name in names] for row in table.to_pylist()]
    for each in (found for found in risk.known if found.digits is None):
        shares = []
        for start in range(len(names) - each.instants + 1):
            known = [tuple(row[start : start + each.instants]) for row in rows]
            counts = Counter(known)
            shares.append(sum(counts[values] == 1 for values in known) / len(rows))
        assert abs(each.alone - sum(shares) / len(shares)) < 1e-12
    assert not risk.already_anonymous
    one_digit = [found.alone for found in risk.known if found.instants == 1]
    assert one_digit == sorted(one_digit, reverse=True)


def test_patterns_by_small_groups() -> None:
    people = [{"a", "b"}] * 6 + [{"a"}] * 2 + [{"b", "c"}] * 6
    table = pa.table(
        {
            "who": [n for n, items in enumerate(people) for _ in items],
            "what": [i for p in people for i in sorted(p)],
        }
    )
    relation = tv.read(table, tv.Roles(respondent="who", item="what"), needs=())
    risk = tv.profile(relation, k=3, min_support=5)
    counts = {
        items: sum(set(items) <= person for person in people)
        for length in (1, 2)
        for items in combinations("abc", length)
    }
    assert risk.patterns == sum(count >= 5 for count in counts.values())
    assert (risk.small_groups, risk.smallest_group) == (2, 2)  # without b: of all, and of those with a
    assert not risk.already_safe
    assert (
        tv.profile(tv.read(baskets(), tv.Roles(respondent="basket", item="item"), needs=()), k=2).people
        == 1_000
    )
