"""What holds for every stream in generalised groups, recounted without the package's code."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.effort import some
from tests.oracles import stream_groups as oracle

import timeveil as tv
from timeveil.recoding.groups import partition

QUASI = ("age", "zip")
HIERARCHIES = (None, {"age": "intervals:5,20"}, {"age": "intervals:10:20..60", "zip": "prefixes:2,1"})


@st.composite
def cases(draw: Any) -> tuple[list[dict[str, Any]], tv.Roles, dict[str, Any]]:
    """Records of a few days, and parameters to publish them with."""
    l, values = draw(st.integers(2, 3)), draw(st.integers(3, 5))
    record = st.tuples(
        st.integers(0, 2),
        st.integers(0, 79),
        st.sampled_from(["111", "112", "121", "205", None]),
        st.integers(0, values - 1),
    )
    rows = draw(st.lists(record, min_size=6, max_size=60))
    assume(len({value for *_, value in rows}) >= l)
    records = [
        {"who": n, "day": day, "age": age, "zip": code, "ill": f"v{value}"}
        for n, (day, age, code, value) in enumerate(rows)
    ]
    who = draw(st.booleans())
    roles = tv.Roles(
        respondent="who" if who else None, time="day", quasi=list(QUASI), sensitive=["ill"], drop="rest"
    )
    options = {
        "l": l,
        "window": draw(st.integers(1, 3)),
        "seed": draw(st.integers(0, 2**64)),
        "k": draw(st.sampled_from([None, l, 5])),
        "groups": "generalize",
        "hierarchies": draw(st.sampled_from(HIERARCHIES)),
        "allow_loss": True,
    }
    return records, roles, options


def table_of(records: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(
        records,
        pa.schema(
            [
                ("who", pa.int64()),
                ("day", pa.int64()),
                ("age", pa.int64()),
                ("zip", pa.string()),
                ("ill", pa.string()),
            ]
        ),
    )


@settings(max_examples=some(150))
@given(cases())
def test_every_group_keeps_the_promise(case: tuple[list[dict[str, Any]], tv.Roles, dict[str, Any]]) -> None:
    records, roles, options = case
    release, ledger = tv.publish_stream(table_of(records), roles, **options)
    published, entries = release.table.to_pylist(), ledger.table.to_pylist()
    k = options["k"] or options["l"]
    assert release.guarantee == tv.LDiversity(options["l"], k=k)
    assert oracle.faults(published, QUASI, "ill", k, options["l"]) == []
    assert oracle.outside(published, entries, records, QUASI) == 0
    values = Counter(
        (e["slot"], e["group"], r["ill"])
        for e, r in zip(entries, records, strict=True)
        if e["slot"] is not None
    )
    assert values == Counter((row["slot"], row["group"], row["ill"]) for row in published)
    assert tv.verify(release)
    assert tv.verify(release, ledger)


@settings(max_examples=some(60))
@given(cases())
def test_attack_and_measure_agree_with_the_oracle(
    case: tuple[list[dict[str, Any]], tv.Roles, dict[str, Any]],
) -> None:
    records, roles, options = case
    release, ledger = tv.publish_stream(table_of(records), roles, **options)
    entries, published = ledger.table.to_pylist(), release.table.to_pylist()
    assume(published)
    breach = tv.attack(release, ledger)
    # Records with equal quasi-identifiers are in one group, so that no mixture of groups is left.
    assert sorted(breach.after.chance) == pytest.approx(sorted(oracle.group_chances(entries, records, "ill")))
    assert breach.worst <= 1 / options["l"] + 1e-9
    lost = tv.measure(release, ledger, windows=20).bits
    assert lost == {name: pytest.approx(oracle.bits(published, entries, records, name)) for name in QUASI}


@settings(max_examples=some(60))
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(
    case: tuple[list[dict[str, Any]], tv.Roles, dict[str, Any]], chance: Any
) -> None:
    """In a slot of which nothing moves, groups follow from the records and the seed alone."""
    records, roles, options = case
    eligible = [r for r in records if r["day"] == 0]
    most = Counter(r["ill"] for r in eligible)
    assume(most and max(most.values()) * options["l"] <= len(eligible))
    assume(len(most) >= options["l"])
    mixed = eligible[:]
    chance.shuffle(mixed)
    first, second = (tv.publish_stream(table_of(rows), roles, **options)[0] for rows in (eligible, mixed))
    assert first.table.equals(second.table)
    assert first.manifest == second.manifest


def test_a_larger_k_tells_less_to_someone_who_knows_all_quasi_identifiers_and_the_method() -> None:
    """Every way to hand the values of small slots to their records, and what the groups say about each.

    The promise is about someone who finds a group. Someone who knows everybody's quasi-identifiers and how
    groups are made can rule out the ways that would have been divided otherwise.
    """
    above = {2: 0, 3: 0}
    rng = np.random.default_rng(3)
    for _ in range(4):
        columns, values = [rng.integers(0, 8, 7) for _ in range(2)], rng.integers(0, 4, 7).tolist()
        if max(Counter(values).values()) * 2 > 7:
            continue
        paths = [np.stack([ages * 0, ages // 4, ages // 2, ages]) for ages in columns]
        worlds = oracle.worlds(values)
        for k in above:
            alike: dict[Any, list[tuple[int, ...]]] = {}
            for world in worlds:
                groups = [members for members, _ in partition(paths, np.array(world), k, 2, [0, 1])]
                seen = tuple(sorted((*members, *sorted(np.array(world)[members])) for members in groups))
                alike.setdefault(seen, []).append(world)
            for same in alike.values():
                most = [max(Counter(held).values()) for held in zip(*same, strict=True)]
                above[k] += sum(2 * often > len(same) for often in most) * len(same)
    assert above[2] > above[3]
