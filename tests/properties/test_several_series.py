"""Several series per person: k and p count people, whoever has how many."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.effort import some
from tests.properties.test_series import KINDS, METHODS, series

import timeveil as tv

NAMES = ["a", "b", "c", "d"]
ROLES = tv.Roles(respondent="who", series=NAMES, sensitive=["ill"])


def panel(seed: int) -> tuple[pa.Table, dict]:
    """People with different numbers of series, near each other; nobody has too many."""
    chance = np.random.default_rng(seed)
    k, kind = int(chance.integers(2, 6)), KINDS[seed % len(KINDS)]
    counts = chance.integers(1, 5, int(chance.integers(4 * k, 8 * k)))
    who = np.repeat(np.arange(len(counts)), counts)
    matrix = series(kind, len(counts), 4, chance)[who]
    if kind not in ("ties", "one", "copies"):
        matrix = matrix * chance.uniform(0.9, 1.1, matrix.shape)
    order = chance.permutation(len(who))
    columns = {name: matrix[order, n] for n, name in enumerate(NAMES)}
    table = pa.table(
        {"who": [f"p{n}" for n in who[order]], **columns, "ill": chance.integers(0, 3, len(who))}
    )
    method = METHODS[seed // 3 % len(METHODS)]
    p = 3 if method == "representative" else int(chance.integers(2, k + 1))
    return table, {"k": max(k, p), "p": p, "method": method, "effort": seed % 2, "allow_loss": True}


def people_of(table: pa.Table, ledger: tv.Ledger, column: str) -> dict[int, list[str]]:
    found = defaultdict(list)
    for who, number in zip(table["who"].to_pylist(), ledger.table[column].to_pylist(), strict=True):
        if number is not None:
            found[number].append(who)
    return found


@pytest.mark.parametrize("seed", range(some(50)))
def test_groups_and_patterns_are_shared_by_different_people(seed):
    table, how = panel(seed)
    release, ledger = tv.anonymize_series(table, ROLES, **how)
    for column, least in (("group", how["k"]), ("subgroup", how["p"])):
        for people in people_of(table, ledger, column).values():
            assert len(set(people)) == len(people) >= least
    assert release.manifest["series"]["several"] is True
    assert "rows" not in release.manifest["guarantee"]
    assert tv.verify(release), tv.verify(release)
    assert tv.verify(release, ledger), tv.verify(release, ledger)


@pytest.mark.parametrize("seed", range(some(20)))
def test_neither_rows_nor_names_decide(seed):
    table, how = panel(seed)
    release, _ = tv.anonymize_series(table, ROLES, **how)
    other = table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)))
    names = pa.array([f"q{hash(who) % 10**9}.{who}" for who in other["who"].to_pylist()])
    again, _ = tv.anonymize_series(other.set_column(0, "who", names), ROLES, **how)
    assert again.table.equals(release.table)


@pytest.mark.parametrize("seed", range(some(20)))
def test_an_attack_counts_rows_per_row_of_the_person(seed):
    """By the slow way: of all rows whose cell holds the known series, those of the person."""
    table, how = panel(seed)
    how |= {"method": "adaptive", "round_outward": None}
    if KINDS[seed % len(KINDS)] == "huge":
        return
    release, ledger = tv.anonymize_series(table, ROLES, **how)
    breach = tv.attack(release, ledger, tv.SeriesAdversary("all", tolerance=1e-12))
    shown = {line["group"]: line for line in release.table.to_pylist()}
    groups = people_of(table, ledger, "group")
    expected = []
    for row in table.to_pylist():
        fits = [
            number
            for number, line in shown.items()
            if all(line[f"{n}_lo"] - 1e-12 <= row[n] <= line[f"{n}_hi"] + 1e-12 for n in NAMES)
        ]
        rows = [who for number in fits for who in groups[number]]
        expected.append(len(rows) // rows.count(row["who"]))
    assert sorted(breach.after.candidates.tolist()) == sorted(expected)
    assert breach.worst <= 1 / how["k"]
    known = tv.attack(release, ledger, tv.SeriesAdversary("all", pattern=True))
    assert known.worst <= 1 / how["p"]


@pytest.mark.parametrize("seed", range(some(12)))
def test_one_person_short_although_rows_suffice(seed):
    """The sabotage: a group of k rows has two of one person, and only the ledger shows it."""
    table, how = panel(seed)
    release, ledger = tv.anonymize_series(table, ROLES, **how)
    numbers = ledger.table["group"].to_pylist()
    first = next(number for number in numbers if number is not None)
    one, other = [n for n, number in enumerate(numbers) if number == first][:2]
    who = table["who"].to_pylist()
    who[other] = who[one]
    original = ledger.original
    data = original.data.set_column(original.data.schema.get_field_index("who"), "who", pa.array(who))
    forged = replace(ledger, original=replace(original, data=data))
    assert tv.verify(release)
    found = [(v.code, v.message) for v in tv.verify(release, forged).violations]
    assert found == [("person-twice", "1 series in a group that has another one of the same person")]


def test_a_person_with_too_many_series_is_refused():
    table = pa.table({"who": ["x"] * 5 + list("abcdefg"), **{name: np.arange(12.0) for name in NAMES}})
    roles = tv.Roles(respondent="who", series=NAMES)
    with pytest.raises(tv.InfeasibleError, match="one person has 5 of 12 series, more than 1 in 3") as caught:
        tv.anonymize_series(table, roles, k=3, p=2)
    assert caught.value.facts["best_k"] == 2
    release, ledger = tv.anonymize_series(table, roles, k=2, p=2)
    assert tv.verify(release, ledger)


def test_several_series_of_nobody_contradict_each_other():
    table, how = panel(1)
    release, _ = tv.anonymize_series(table, ROLES, **how)
    promise = replace(release.guarantee, rows=True)
    manifest = {**release.manifest, "guarantee": promise.as_dict()}
    codes = [v.code for v in tv.verify(replace(release, guarantee=promise, manifest=manifest)).violations]
    assert codes == ["statements"]


def test_patterns_still_count_one_series_per_person():
    table, _ = panel(1)
    with pytest.raises(tv.InputError) as caught:
        tv.sanitize_patterns(
            table, tv.Roles(respondent="who", series=NAMES, drop=["ill"]), k=3, min_support=3
        )
    assert caught.value.code == "person-twice"


@pytest.mark.parametrize("seed", range(some(15)))
def test_what_all_series_of_a_person_show_together(seed):
    """By the slow way: shares multiplied value by value, for people with one value."""
    table, how = panel(seed)
    ill = [hash((seed, who[-1])) % 3 if seed % 2 else n % 3 for n, who in enumerate(table["who"].to_pylist())]
    table = table.set_column(table.schema.get_field_index("ill"), "ill", pa.array(ill))
    release, ledger = tv.anonymize_series(table, ROLES, **how)
    if KINDS[seed % len(KINDS)] == "huge":
        return
    number = ledger.table["subgroup"].to_pylist()
    cells, series = defaultdict(list), defaultdict(list)
    for cell, who, value in zip(number, table["who"].to_pylist(), ill, strict=True):
        if cell is not None:
            cells[cell].append(value)
            series[who].append((cell, value))
    expected = []
    for mine in series.values():
        if len({value for _, value in mine}) > 1:
            continue
        chance = {
            value: np.prod([cells[cell].count(value) / len(cells[cell]) for cell, _ in mine])
            for value in range(3)
        }
        expected.append(chance[mine[0][1]] / sum(chance.values()))
    together = tv.attack(release, ledger, tv.SeriesAdversary("all", pattern=True)).together["ill"]
    assert sorted(together.chance) == pytest.approx(sorted(expected))


@pytest.mark.parametrize("seed", [0, 1, 3, 7])
def test_categories_that_must_differ_leave_everyone_once_in_a_group(seed):
    table, how = panel(seed)
    words = pa.array(["abc"[value] for value in table["ill"].to_pylist()])
    table = table.set_column(table.schema.get_field_index("ill"), "ill", words)
    how |= {"k": max(how["k"], 4), "p": max(how["p"], 3), "l": 2, "method": "adaptive"}
    release, ledger = tv.anonymize_series(table, ROLES, **how)
    assert tv.verify(release, ledger), tv.verify(release, ledger)
    for people in people_of(table, ledger, "group").values():
        assert len(set(people)) == len(people) >= how["k"]
