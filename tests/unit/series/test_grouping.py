"""Cells of different categories: formed so, with as few series withheld as can be."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.series import most_that_can_differ

from timeveil.domain.release import Release
from timeveil.domain.roles import Roles
from timeveil.errors import InfeasibleError, InputError
from timeveil.judging import attack, measure, verify
from timeveil.models.series.method import anonymize_series
from timeveil.models.series.method.diversity import _half, categories_of, eligible, holds
from timeveil.models.series.parameters import SeriesAdversary, SeriesParameters

METHODS = ("adaptive", "kapra", "naive", "representative")


def table_of(series: int, shares: list[float], seed: int = 0, linked: bool = False) -> tuple[pa.Table, Roles]:
    """Random walks with a category, which may follow from their level."""
    chance = np.random.default_rng(seed)
    matrix = chance.normal(size=(series, 5)).cumsum(axis=1) + chance.normal(0, 5, (series, 1))
    code = chance.choice(len(shares), series, p=shares)
    if linked:
        code = np.sort(code)[np.argsort(np.argsort(matrix.mean(axis=1)))]
    columns = {f"t{number}": matrix[:, number] for number in range(5)}
    names = np.array([f"tariff {number}" for number in range(len(shares))])
    roles = Roles(series=list(columns), sensitive=["tariff"])
    return pa.table({**columns, "tariff": names[code]}), roles


def cells_of(release: Release, name: str = "tariff") -> list[list[object]]:
    """The sensitive values of each cell, read from the rows one at a time."""
    cells = defaultdict(list)
    for row in release.table.to_pylist():
        cells[row["group"], row.get("pattern"), str(row.get("level"))].append(row[name])
    return list(cells.values())


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("l", [2, 3])
@pytest.mark.parametrize("method", METHODS)
def test_every_cell_has_l_different_values_and_none_too_often(method: str, l: int, linked: bool) -> None:
    table, roles = table_of(160, [0.25] * 4, seed=l, linked=linked)
    release, ledger = anonymize_series(table, roles, k=8, p=4, l=l, method=method)
    assert release.manifest["series"]["grouped"] == ["tariff"]
    assert verify(release)
    assert verify(release, ledger)
    for values in cells_of(release):
        assert max(Counter(values).values()) <= len(values) // l
        assert len(set(values)) >= l
    assert Counter(release.table["tariff"].to_pylist()) == Counter(table["tariff"].to_pylist()) - Counter(
        table["tariff"].to_pylist()[row]
        for row, group in enumerate(ledger.table["group"].to_pylist())
        if group is None
    )
    told = attack(release, ledger, SeriesAdversary(pattern=True)).told["tariff"]
    assert told.worst <= 1 / l or not release.manifest["series"]["own_patterns"]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=12, max_size=40), st.integers(2, 3), st.integers(0, 99))
def test_as_few_as_can_be_are_withheld(codes: list[int], l: int, seed: int) -> None:
    """Against a search of all ways to leave rows out; who is left out does not follow from the codes."""
    categories = np.array(codes)[:, None]
    parameters = SeriesParameters(k=2 if l == 2 else 3, p=l, l=l)
    order = np.random.default_rng(seed).permutation(len(codes))
    most = most_that_can_differ(Counter(codes), l)
    if most < parameters.k:
        with pytest.raises(InfeasibleError):
            eligible(order, categories, parameters)
        return
    rows = eligible(order, categories, parameters)
    assert holds(categories[rows], l)
    assert len(rows) == most
    renamed = np.array([7, 2, 9, 4])[categories]
    assert rows.tolist() == eligible(order, renamed, parameters).tolist()


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(2, 4), st.integers(0, 3), st.integers(0, 999))
def test_one_column_can_always_be_cut(data: st.DataObject, l: int, extra: int, seed: int) -> None:
    """Any rows that hold l, at least l more than twice the minimum, are cut into two sides that hold it."""
    minimum = l + extra
    size = data.draw(st.integers(2 * minimum + 2 * l, 6 * minimum + 2 * l))
    chance = np.random.default_rng(seed)
    # As unequal as they may be: full values first, then whatever is left.
    full, codes = size // l, list[int]()
    while len(codes) < size:
        often = min(full, size - len(codes)) if chance.random() < 0.7 else int(chance.integers(1, full + 1))
        codes += [len(codes)] * min(often, size - len(codes))
    _, categories = np.unique(np.array(codes), return_inverse=True)
    features = np.column_stack([categories + chance.normal(size=size), chance.normal(size=size)])
    left = _half(features, categories[:, None], minimum, l)
    assert left is not None
    for side in (left, ~left):
        assert side.sum() >= minimum
        assert max(Counter(categories[side].tolist()).values()) <= side.sum() // l


def test_two_columns_and_a_number_that_is_swapped() -> None:
    table, roles = table_of(200, [0.25] * 4, seed=3)
    chance = np.random.default_rng(5)
    table = table.append_column("town", pa.array(chance.choice(["x", "y", "z", "w"], 200)))
    table = table.append_column(
        "wage", pa.array(np.where(chance.random(200) < 0.5, 0, chance.integers(1, 90, 200)))
    )
    roles = Roles(series=roles.series, sensitive=["tariff", "town", "wage"])
    release, ledger = anonymize_series(table, roles, k=8, p=4, l=2, method="kapra", seed=1)
    assert release.manifest["series"]["grouped"] == ["tariff", "town"]
    assert release.manifest["series"]["perturbed"] == ["wage"]
    assert verify(release, ledger)
    for name in roles.sensitive:
        assert all(max(Counter(values).values()) <= len(values) // 2 for values in cells_of(release, name))


def test_a_missing_category_is_refused_and_seen() -> None:
    """It would hide nobody: who is known to have a value is not among those who lack it."""
    table, roles = table_of(120, [0.3, 0.3, 0.4], seed=3)
    release, _ = anonymize_series(table, roles, k=8, p=4, l=2, effort=0)
    tariff = pa.array([None, *table["tariff"].to_pylist()[1:]])
    lacking = table.set_column(table.column_names.index("tariff"), "tariff", tariff)
    for options in ({}, {"l_method": "group"}):
        with pytest.raises(InputError, match="`tariff` has 1 value missing"):
            anonymize_series(lacking, roles, k=8, p=4, l=2, effort=0, **options)
    shown = release.table
    cells = pa.array([None, *shown["tariff"].to_pylist()[1:]])
    forged = shown.set_column(shown.column_names.index("tariff"), "tariff", cells)
    spoilt = replace(release, parts={"data": forged})
    assert "1 value of `tariff` missing, and l needs all" in [v.message for v in verify(spoilt).violations]


def test_envelopes_alone_and_parts_of_a_pattern() -> None:
    table, roles = table_of(120, [0.5, 0.3, 0.2], seed=8)
    for options in ({"p": 1}, {"p": 4, "publish_pattern": ["t1", "t4"]}):
        release, ledger = anonymize_series(table, roles, k=8, l=2, method="kapra", allow_loss=True, **options)
        assert verify(release, ledger)
        assert all(max(Counter(values).values()) <= len(values) // 2 for values in cells_of(release))


def test_a_value_that_most_have_is_withheld_in_part_or_refused() -> None:
    table, roles = table_of(200, [0.7, 0.3], seed=2)
    common = Counter(table["tariff"].to_pylist())
    with pytest.raises(InfeasibleError, match="would be withheld") as caught:
        anonymize_series(table, roles, k=8, p=4, l=2, method="kapra")
    assert "leave l out" in str(caught.value.hint)
    release, ledger = anonymize_series(table, roles, k=8, p=4, l=2, method="kapra", allow_loss=True)
    loss = measure(release, ledger, queries=0)
    assert loss.suppressed == common["tariff 0"] - common["tariff 1"]
    assert verify(release, ledger)
    with pytest.raises(InfeasibleError, match="no more than 0 series could share cells"):
        anonymize_series(table, roles, k=8, p=4, l=3, method="kapra", allow_loss=True)


def test_rows_in_another_order_give_the_same_release() -> None:
    table, roles = table_of(120, [0.5, 0.2, 0.3], seed=4)
    shuffled = table.take(pa.array(np.random.default_rng(0).permutation(120)))
    made = [anonymize_series(part, roles, k=8, p=4, l=2, effort=0)[0].table for part in (table, shuffled)]
    assert made[0].equals(made[1])


def test_numbers_are_one_value_however_they_are_written() -> None:
    table = pa.table({"a": ["7", "7.0", "8", " 7"], "b": ["x", None, "x", None]})
    codes = categories_of(table, ("a", "b"), 4)
    assert codes[:, 0].tolist() == [codes[0, 0], codes[0, 0], codes[2, 0], codes[0, 0]]
    assert codes[1, 1] == codes[3, 1] != codes[0, 1]
