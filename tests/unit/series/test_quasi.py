"""Quasi-identifiers beside series: recounted by hand from the release, the original and the ledger."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.effort import some
from tests.sabotage.tampering import section, with_values

import timeveil as tv

Pair = tuple[tv.Release, tv.Ledger]
NAMES = ["t0", "t1", "t2", "t3"]


def table_of(seed: int, people: int = 90) -> pa.Table:
    chance = np.random.default_rng(seed)
    walk = chance.normal(size=(people, len(NAMES))).cumsum(axis=1).round(2)
    columns: dict[str, Any] = {name: walk[:, place] for place, name in enumerate(NAMES)}
    columns["age"] = pa.array([None if a == 40 else int(a) for a in chance.integers(18, 95, people)])
    columns["sex"] = chance.choice(["f", "m"], people)
    columns["ill"] = chance.choice(["a", "b", "c", "d"], people)
    columns["who"] = np.arange(people)
    return pa.table(columns)


def roles(**more: Any) -> tv.Roles:
    return tv.Roles(series=NAMES, respondent="who", quasi=["age", "sex"], sensitive=["ill"], **more)


def holds(label: str | None, value: Any) -> bool:
    """Whether a label contains a value, read off its text."""
    if label == "*" or label is value is None:
        return True
    if label is None or value is None:
        return False
    interval = re.fullmatch(r"\[(-?\d+), (-?\d+)\)", label)
    return int(interval[1]) <= value < int(interval[2]) if interval else label == str(value)


def published(seed: int, **options: Any) -> tuple[pa.Table, Pair]:
    table, chance = table_of(seed), np.random.default_rng(seed)
    usual: dict[str, Any] = {
        "k": int(chance.integers(2, 7)),
        "method": str(chance.choice(["adaptive", "kapra", "naive"])),
        "effort": int(chance.integers(0, 2)),
    }
    usual["p"] = int(chance.integers(1, usual["k"] + 1))
    return table, tv.anonymize_series(table, roles(), **(usual | options))


@pytest.mark.parametrize("seed", range(some(12)))
def test_all_of_a_group_show_one_label_that_contains_them(seed: int) -> None:
    options: dict[str, Any] = {"l": 2} if seed % 3 == 0 else {}
    if seed % 4 == 0:
        options["hierarchies"] = {"age": "intervals:10,30"}
    if "l" in options:
        options["p"] = options["k"] = 4
    table, (release, ledger) = published(seed, **options)
    assert tv.verify(release)
    assert tv.verify(release, ledger), tv.verify(release, ledger)
    k, shown = release.guarantee.k, defaultdict(set)
    for row in release.table.to_pylist():
        shown[row["group"]].add((row["age"], row["sex"]))
    assert {len(labels) for labels in shown.values()} == {1}
    groups = ledger.table["group"].to_pylist()
    for person, group in zip(table.to_pylist(), groups, strict=True):
        if group is not None:
            ((age, sex),) = shown[group]
            assert holds(age, person["age"])
            assert holds(sex, person["sex"])
    assert min(count for group, count in Counter(groups).items() if group is not None) >= k


@pytest.mark.parametrize("seed", range(some(4)))
def test_an_outsider_who_knows_the_labels_too_finds_p_rows(seed: int) -> None:
    """Candidates are those rows whose labels contain the person's values and whose envelope holds theirs."""
    table, (release, ledger) = published(seed, method="kapra", k=4, p=2)
    lines, people = release.table.to_pylist(), table.to_pylist()
    found = tv.attack(release, ledger, tv.SeriesAdversary(["t0", "t2"])).after.candidates.tolist()
    group = ledger.table["group"].to_pylist()
    for person, candidates, is_in in zip(people, found, group, strict=True):
        fits = [
            holds(line["age"], person["age"])
            and holds(line["sex"], person["sex"])
            and all(line[f"{t}_lo"] <= person[t] <= line[f"{t}_hi"] for t in ("t0", "t2"))
            for line in lines
        ]
        assert candidates == (sum(fits) if is_in is not None else 0)
    assert tv.attack(release, ledger).worst <= 1 / 2


def test_answers_about_labels_hold() -> None:
    table, (release, _) = published(3, method="adaptive", p=2)
    people, chance = table.to_pylist(), np.random.default_rng(1)
    for _ in range(60):
        low, width = int(chance.integers(18, 90)), int(chance.integers(0, 40))
        where: dict[str, Any] = {"age": (low, low + width)}
        if chance.random() < 0.5:
            where["sex"] = str(chance.choice(["f", "m"]))
        span = sorted(chance.normal(size=2).tolist())
        estimate = tv.answer(release, tv.RangeCount({"t0": (span[0], span[1])}, where=where))
        truth = sum(
            span[0] <= person["t0"] <= span[1]
            and person["age"] is not None
            and low <= person["age"] <= low + width
            and person["sex"] == where.get("sex", person["sex"])
            for person in people
        )
        assert estimate.low <= truth <= estimate.high
        assert estimate.low <= estimate.value <= estimate.high
    with pytest.raises(tv.RolesError, match="no column `ill`"):
        tv.answer(release, tv.RangeCount({}, where={"ill": "a"}))


def test_finer_groups_lose_fewer_bits_than_one_region() -> None:
    """Those of categories have one region, so their labels are coarser."""
    _, fine = published(5, k=2, p=2, method="kapra")
    _, coarse = published(5, k=2, p=2, l=2, method="kapra")
    assert tv.measure(*fine, queries=0).bits["age"] < tv.measure(*coarse, queries=0).bits["age"]


def test_a_wrong_label_is_noticed() -> None:
    table, (release, ledger) = published(2, k=4, p=2, method="kapra")
    lines = release.table.to_pylist()
    number = lines[0]["group"]
    rows = [row for row, line in enumerate(lines) if line["group"] == number]

    def forged(label: str, which: list[int]) -> set[str]:
        changed = with_values(release.table, "age", dict.fromkeys(which, label))
        pair = tv.Release(release.guarantee, release.manifest, {"data": changed}), ledger
        return {violation.code for violation in tv.verify(*pair).violations}

    assert "group-labels" in forged("[0, 5)", rows[:1])
    assert "labels" in forged("[0, 5)", rows)
    assert "labels" in forged("17", rows)
    strangers = {"age": {**release.manifest["levels"]["age"], "5 wide": ["[200, 205)"]}}
    manifest = section(release, "levels", **strangers)
    assert "levels" in {violation.code for violation in tv.verify(manifest).violations}
    assert table.num_rows == 90


def test_the_order_of_rows_decides_nothing() -> None:
    table = table_of(7)
    turned = table.take(pa.array(np.random.default_rng(1).permutation(table.num_rows)))
    one, other = (tv.anonymize_series(rows, roles(), k=4, p=2, effort=0)[0].table for rows in (table, turned))
    assert one.equals(other)


def test_several_series_per_person_and_long_tables() -> None:
    table = table_of(8)
    twice = pa.concat_tables([table, table])
    release, ledger = tv.anonymize_series(twice, roles(), k=3, p=2, effort=0)
    assert tv.verify(release, ledger)
    rows = [
        {"who": row["who"], "age": row["age"], "time": t, "value": row[name]}
        for row in table.to_pylist()
        for t, name in enumerate(NAMES)
    ]
    long = tv.Roles(respondent="who", time="time", value="value", quasi=["age"])
    release, ledger = tv.anonymize_series(pa.Table.from_pylist(rows), long, k=3, p=2, effort=0)
    assert tv.verify(release, ledger)


def test_patterns_have_no_quasi_identifiers() -> None:
    with pytest.raises(tv.RolesError, match="cannot be quasi-identifiers of patterns"):
        tv.sanitize_patterns(table_of(1), roles(), k=4, min_support=0.5)
    with pytest.raises(tv.ParameterError, match="not a quasi-identifier"):
        published(1, hierarchies={"ill": "prefixes:1"})
