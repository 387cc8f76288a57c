"""Sensitive numbers of a cell differ, by moving as few as can be, and to values that do not stand out."""

from __future__ import annotations

import decimal
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import timeveil as tv
from timeveil.domain.roles import Roles
from timeveil.errors import ParameterError
from timeveil.judging import verify
from timeveil.models.series.method import anonymize_series
from timeveil.models.series.method.diversity import columns_to_group, diversified
from timeveil.models.series.parameters import SeriesParameters


def asked(l: int, **options: object) -> SeriesParameters:
    return SeriesParameters(k=max(l, 2), p=max(l, 2), l=l, **options)  # type: ignore[arg-type]


def changed(values: object, cell: list[int], l: int, seed: int | None = 1, **options: object) -> list[float]:
    table, _ = diversified(pa.table({"s": values}), ("s",), np.array(cell), asked(l, **options), seed)
    return table["s"].to_pylist()


def with_many(values: list[float], other: list[float]) -> tuple[list[float], list[int]]:
    """Values of one cell, and others, each in a cell of its own kind, so that the column has many."""
    return [*values, *other], [*[0] * len(values), *[1] * len(other)]


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("l", [2, 3, 5])
def test_no_value_stands_in_more_than_one_row_in_l(seed: int, l: int) -> None:
    chance = np.random.default_rng(seed)
    cell = np.repeat(np.arange(12), chance.integers(5, 9, 12))
    values = chance.choice([1.0, 1.5, 7.25], len(cell))
    others = np.arange(40) * 0.25
    values, cell = np.concatenate([values, others]), np.concatenate([cell, np.full(40, 12)])
    found = np.array(changed(pa.array(values), cell.tolist(), l, seed))
    for number in range(13):
        inside = cell == number
        most = inside.sum() // l
        assert max(Counter(found[inside].tolist()).values()) <= most
        needed = sum(max(count - most, 0) for count in Counter(values[inside].tolist()).values())
        assert (found[inside] != values[inside]).sum() == needed


@pytest.mark.parametrize("seed", range(20))
def test_a_moved_value_is_one_that_somebody_has_and_near_in_rank(seed: int) -> None:
    """No negative amounts, nothing off the column's steps, nothing that rounding would bring back."""
    chance = np.random.default_rng(seed)
    amounts = np.where(chance.random(600) < 0.7, 0, chance.integers(5, 400, 600) * 1000)
    cell = np.repeat(np.arange(100), 6)
    found = np.array(changed(pa.array(amounts), cell.tolist(), 2, seed))
    assert set(found.tolist()) <= set(amounts.tolist())
    known = np.unique(amounts)
    apart = np.abs(np.searchsorted(known, found) - np.searchsorted(known, amounts))
    assert 0 < apart.max() <= 4 * max(4, np.ceil(0.05 * len(known)))


def test_rows_in_no_cell_stay_and_lend_nothing() -> None:
    assert changed([4, 4, 4, 4], [-1, -1, -1, -1], 2) == [4, 4, 4, 4]
    assert changed([1, 2, 3, 4], [0, 0, 0, 0], 2) == [1, 2, 3, 4]
    values = [*[10] * 8, *range(30), *range(100, 130)]
    found = changed(values, [*[0] * 8, *[1] * 30, *[-1] * 30], 4)
    assert max(found[:8]) < 30
    nearer = [10 + step / 1000 for step in range(1, 900)]  # than any value that was published
    found = changed([*[10.0] * 8, *np.arange(30.0), *nearer], [*[0] * 8, *[1] * 30, *[-1] * 899], 4)
    assert set(found[:8]) <= set(range(30))
    assert max(Counter(found[:8]).values()) <= 2


@pytest.mark.parametrize("l", [2, 5, 9])
def test_one_cell_of_all_and_no_more_values_than_must_be(l: int) -> None:
    several = max(20, 4 * l)
    values = [*[3] * 5000, *range(several)]
    found = changed(values, [0] * len(values), l)
    assert max(Counter(found).values()) <= len(values) // l


@pytest.mark.parametrize(
    "column",
    [
        pa.array([0, 1] * 40),
        pa.array([7] * 80),
        pa.array([1.0, 2.0, 3.0] * 16),
        pa.array([str(place % 3) for place in range(80)]),
    ],
)
def test_few_different_values_behave_like_categories(column: pa.Array) -> None:
    """Zero and one moved to 0.04 and 0.97 are zero and one to everybody who can round."""
    assert columns_to_group(pa.table({"s": column}), ("s",), asked(2)) == ("s",)
    assert columns_to_group(pa.table({"s": range(10)}), ("s",), asked(5)) == ()
    assert columns_to_group(pa.table({"s": range(10)}), ("s",), asked(6)) == ("s",)
    assert columns_to_group(pa.table({"s": range(10)}), ("s",), asked(5, l_method="group")) == ("s",)


def test_a_column_with_many_values_may_have_few_that_are_published() -> None:
    """Six numbers fit many of the column, but all series with the others were withheld."""
    with pytest.raises(ParameterError, match="1 different value among the published series") as caught:
        changed([1.0] * 4 + [float(row) for row in range(10)], [0] * 4 + [-1] * 10, 2)
    assert "l_method" in str(caught.value.hint)


@pytest.mark.parametrize(
    "column",
    [
        pa.array((np.arange(60) % 25 / 10).astype(np.float32)),
        pa.array((np.arange(60) % 25).astype(np.int8)),
        pa.array([decimal.Decimal(row % 25) / 4 for row in range(60)]),
        pa.array([f"{row % 25:03}" for row in range(60)]),
        pa.array([f"{row % 25}.50" for row in range(60)]).dictionary_encode(),
    ],
)
def test_a_moved_value_is_written_as_the_others_are(column: pa.Array) -> None:
    column = column.take(pa.array([*[0] * 6, *range(60)]))
    table, count = diversified(
        pa.table({"s": column, "t": range(66)}), ("s",), np.array([*[0] * 6, *[1] * 60]), asked(3), 1
    )
    assert table["s"].type == column.type
    assert table.column_names == ["s", "t"]
    assert count == {"s": 4}
    assert set(table["s"].to_pylist()) <= set(column.to_pylist())


def test_a_release_with_l_holds_and_keeps_its_type() -> None:
    chance = np.random.default_rng(4)
    series = {f"t{place}": chance.normal(70, 10, 120).round(1) for place in range(4)}
    wage = pa.array(
        (np.where(chance.random(120) < 0.6, 0, chance.integers(1, 60, 120)) * 1000).astype(np.int32)
    )
    roles = Roles(series=list(series), sensitive=["wage"])
    release, ledger = anonymize_series(
        pa.table({**series, "wage": wage}), roles, k=6, p=3, l=3, method="kapra", seed=1
    )
    assert release.manifest["series"]["perturbed"] == ["wage"]
    assert release.table["wage"].type == pa.int32()
    assert set(release.table["wage"].to_pylist()) <= set(wage.to_pylist())
    assert verify(release, ledger)


def test_without_a_seed_nobody_can_draw_again() -> None:
    values, cell = with_many([1.0] * 200, [float(place) for place in range(400)])
    draws = {tuple(changed(values, cell, 100, None)) for _ in range(3)}
    assert len(draws) == 3
    assert changed(values, cell, 100, 5) == changed(values, cell, 100, 5)


def test_who_is_moved_does_not_follow_from_the_order() -> None:
    values, cell = with_many([1.0] * 10, [float(place) for place in range(40)])
    found = [np.flatnonzero(np.array(changed(values, cell, 2, seed))[:10] != 1) for seed in range(40)]
    assert len({tuple(places) for places in found}) > 20


@pytest.mark.parametrize("values", [["a", "b"], [True, False]])
def test_categories_are_never_moved(values: list[object]) -> None:
    table = pa.table({"s": values})
    assert columns_to_group(table, ("s",), asked(2, l_method="swap")) == ("s",)
    with pytest.raises(ParameterError, match="different numbers to perturb"):
        columns_to_group(table, ("s",), asked(2, l_method="perturb", epsilon=1))


@pytest.mark.parametrize("seed", range(20))
def test_a_perturbed_number_is_near_and_nobodys(seed: int) -> None:
    """Section 5.4 as printed: x_i rows of each value that is too frequent, within epsilon, all different."""
    chance = np.random.default_rng(seed)
    cell = np.repeat(np.arange(30), 7)
    values = chance.choice([1.5, 2.0, 8.25, *np.arange(40) / 4], len(cell), p=[0.3, 0.2, 0.1, *[0.01] * 40])
    after = np.array(changed(pa.array(values), cell.tolist(), 3, seed, l_method="perturb", epsilon=4.0))
    moved = after != values
    assert moved.any()
    assert (np.abs(after - values) <= 4.0).all()
    assert not set(after[moved].tolist()) & set(values.tolist())
    assert len(set(after[moved].tolist())) == moved.sum()
    assert (after == np.round(after, 2)).all(), "no more decimals than the column has"
    for number in range(30):
        before = Counter(values[cell == number].tolist())
        assert max(Counter(after[cell == number].tolist()).values()) <= 7 // 3
        assert moved[cell == number].sum() == sum(max(count - 7 // 3, 0) for count in before.values())


@pytest.mark.parametrize(
    "column",
    [
        pa.array((np.arange(60) % 25).astype(np.int16) * 100),
        pa.array([decimal.Decimal(row % 25) * 100 for row in range(60)]),
        pa.array([f"{row % 25 * 100}" for row in range(60)]).dictionary_encode(),
    ],
)
def test_a_perturbed_number_keeps_the_type_of_its_column(column: pa.Array) -> None:
    column = column.take(pa.array([*[0] * 6, *range(60)]))
    cell, how = [*[0] * 6, *[1] * 60], asked(3, l_method="perturb", epsilon=60)
    table, count = diversified(pa.table({"s": column}), ("s",), np.array(cell), how, 1)
    assert table["s"].type == column.type
    assert count == {"s": 4}
    assert all(abs(float(value)) <= 60 for value in table["s"].to_pylist()[:6])


def test_too_small_an_epsilon_is_refused_with_no_value() -> None:
    with pytest.raises(ParameterError, match="too few numbers within") as caught:
        changed([7001] * 8 + list(range(30)), [0] * 8 + [1] * 30, 2, l_method="perturb", epsilon=0.5)
    assert "7001" not in str(caught.value)
    assert caught.value.hint == "raise epsilon"


def test_texts_cannot_be_perturbed() -> None:
    """A manifest would state an epsilon that nothing was drawn within."""
    table = pa.table({"a": [1.0, 2.0, 3.0, 4.0], "ill": ["x", "y", "x", "y"]})
    roles = tv.Roles(series=["a"], sensitive=["ill"])
    with pytest.raises(tv.ParameterError, match="to perturb"):
        tv.anonymize_series(table, roles, k=2, p=2, l=2, l_method="perturb", epsilon=1)
