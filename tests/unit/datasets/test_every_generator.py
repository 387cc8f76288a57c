"""What all generators promise alike."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from benchmarks import generated

from timeveil import datasets
from timeveil.datasets import skewed, with_repeats
from timeveil.errors import ParameterError

GENERATORS: dict[str, Callable[..., pa.Table]] = {
    "clinic_visits": lambda seed: datasets.clinic_visits(400, seed=seed),
    "hospital_stays": lambda seed: datasets.hospital_stays(400, seed=seed),
    "clinic_visits in a zone": lambda seed: datasets.clinic_visits(400, seed=seed, zone="Europe/Berlin"),
    "daily_cases": lambda seed: datasets.daily_cases(30, seed=seed),
    "load_curves": lambda seed: datasets.load_curves(50, seed=seed),
    "load_curves, long": lambda seed: datasets.load_curves(50, seed=seed, long=True),
    "baskets": lambda seed: datasets.baskets(100, seed=seed),
    "events": lambda seed: generated.events(400, people=50, days=30, seed=seed),
    "walk": lambda seed: generated.walk(50, seed=seed),
    "uniform": lambda seed: generated.uniform(50, seed=seed),
    "strings": lambda seed: generated.strings(50, seed=seed),
}
EMPTY: dict[str, Callable[[], pa.Table]] = {
    "clinic_visits": lambda: datasets.clinic_visits(0),
    "hospital_stays": lambda: datasets.hospital_stays(0),
    "daily_cases": lambda: datasets.daily_cases(0),
    "load_curves": lambda: datasets.load_curves(0),
    "load_curves, long": lambda: datasets.load_curves(0, long=True),
    "baskets": lambda: datasets.baskets(0),
    "events": lambda: generated.events(0),
    "walk": lambda: generated.walk(0),
    "uniform": lambda: generated.uniform(0),
    "strings": lambda: generated.strings(0),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_the_same_seed_gives_the_same_table(name: str) -> None:
    make = GENERATORS[name]
    assert make(7).equals(make(7))


@pytest.mark.parametrize("name", GENERATORS)
def test_another_seed_gives_another_table(name: str) -> None:
    make = GENERATORS[name]
    assert not make(7).equals(make(8))


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_may_be_passed_and_moves_on(name: str) -> None:
    make = GENERATORS[name]
    draw = np.random.default_rng(7)
    first, second = make(draw), make(draw)
    assert first.equals(make(7))
    assert not first.equals(second)


@pytest.mark.parametrize("name", GENERATORS)
def test_global_random_state_is_neither_read_nor_changed(name: str) -> None:
    np.random.seed(1)
    before = np.random.get_state()[1].tolist()
    GENERATORS[name](7)
    assert np.random.get_state()[1].tolist() == before


@pytest.mark.parametrize("name", GENERATORS)
def test_no_cell_is_null(name: str) -> None:
    assert all(column.null_count == 0 for column in GENERATORS[name](7).columns)


@pytest.mark.parametrize("name", EMPTY)
def test_nothing_asked_for_is_an_empty_table_with_the_same_columns(name: str) -> None:
    table = EMPTY[name]()
    assert table.num_rows == 0
    full = GENERATORS[name](0)
    assert table.schema.equals(full.schema)


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: datasets.clinic_visits(-1), "rows"),
        (lambda: datasets.hospital_stays(-1), "stays"),
        (lambda: datasets.clinic_visits(2.5), "rows"),  # type: ignore[arg-type]
        (lambda: datasets.clinic_visits(10, people=0), "people"),
        (lambda: datasets.clinic_visits(10, seed=-1), "seed"),
        (lambda: datasets.clinic_visits(10, zone="Mars/Olympus"), "Mars/Olympus"),
        (lambda: datasets.daily_cases(-1), "days"),
        (lambda: datasets.load_curves(True), "people"),
        (lambda: datasets.load_curves(instants=0), "instants"),
        (lambda: datasets.baskets(-3), "transactions"),
        (lambda: generated.events(10, people=0), "people"),
        (lambda: generated.events(10, days=0), "days"),
        (lambda: generated.walk(-1), "rows"),
        (lambda: generated.walk(instants=0), "instants"),
        (lambda: generated.uniform(instants=0), "instants"),
        (lambda: generated.strings(symbols=1), "symbols"),
    ],
)
def test_a_size_that_makes_no_sense_is_refused_by_name(call: Callable[[], pa.Table], parameter: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.code == "bad-parameter"
    assert f"`{parameter}`" in caught.value.message


def test_skewed_codes_grow_rarer_by_zipfs_law() -> None:
    counts = np.bincount(skewed(np.random.default_rng(0), 3, 100_000, 1.0))
    assert counts / 100_000 == pytest.approx([6 / 11, 3 / 11, 2 / 11], abs=0.01)


def test_repeats_replace_about_the_share_asked_for() -> None:
    rows = with_repeats(np.random.default_rng(0), 100_000, 0.1)
    replaced = (rows != np.arange(100_000)).mean()
    assert 0.09 < replaced < 0.11
