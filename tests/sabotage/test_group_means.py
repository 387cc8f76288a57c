"""Nobody spoils the means of groups unnoticed."""

from __future__ import annotations

import math
from dataclasses import replace

import pyarrow as pa
import pytest

import timeveil as tv
from timeveil.datasets import load_curves

HOURS = [f"h{hour:02}" for hour in range(6)]


@pytest.fixture(scope="module")
def pair():
    """Six hours of load curves: in the last, nearly everybody uses nothing."""
    table = load_curves(people=90, instants=6)
    last = [load if n % 9 == 0 else 0.0 for n, load in enumerate(table["h05"].to_pylist())]
    table = table.set_column(table.schema.get_field_index("h05"), "h05", pa.array(last))
    roles = tv.Roles(respondent="household", series=HOURS, drop=["tariff"])
    release, ledger = tv.anonymize_series(table, roles, k=8, p=4, means=True)
    assert tv.verify(release, ledger)
    return release, ledger


def changed(release, name, change, groups=None):
    """The release with the mean of a column changed in some groups, the first if not named."""
    table = release.table
    chosen = groups or [next(row["group"] for row in table.to_pylist() if row[name] is not None)]
    values = [change(row) if row["group"] in chosen else row[name] for row in table.to_pylist()]
    at = table.schema.get_field_index(name)
    return replace(release, parts={"data": table.set_column(at, name, pa.array(values, pa.float64()))})


def codes(release, ledger=None):
    return [violation.code for violation in tv.verify(release, ledger).violations]


def test_a_mean_moved_by_the_last_digit(pair):
    release, _ = pair
    assert codes(changed(release, "h00_mean", lambda row: math.nextafter(row["h00_mean"], 9))) == ["mean"]


def test_a_mean_beyond_its_envelope(pair):
    release, _ = pair
    assert "mean" in codes(changed(release, "h00_mean", lambda row: row["h00_hi"] * 2))


def test_a_mean_moved_by_a_step(pair):
    """It could be true: only the series show that it is not."""
    release, ledger = pair
    sizes = [row["group"] for row in release.table.to_pylist()]

    def next_step(row):
        size = sizes.count(row["group"])
        width = row["h00_hi"] - row["h00_lo"]
        step = round((row["h00_mean"] - row["h00_lo"]) / width * size)
        return row["h00_lo"] + width * ((step + (1 if step < size - 2 else -1)) / size)

    spoilt = changed(release, "h00_mean", next_step)
    assert codes(spoilt) == []
    assert codes(spoilt, ledger) == ["mean-differs"]


def test_a_mean_that_had_to_be_held_back(pair):
    release, ledger = pair
    held_back = [row for row in release.table.to_pylist() if row["h05_mean"] is None]
    assert held_back
    size = sum(row["group"] == held_back[0]["group"] for row in release.table.to_pylist())

    def first_step(row):
        return row["h05_lo"] + (row["h05_hi"] - row["h05_lo"]) * (1 / size)

    spoilt = changed(release, "h05_mean", first_step, [held_back[0]["group"]])
    assert "mean" in codes(spoilt)
    assert "mean" in codes(spoilt, ledger)


def test_a_mean_held_back_without_need(pair):
    release, ledger = pair
    spoilt = changed(release, "h00_mean", lambda row: None)
    assert codes(spoilt) == []
    assert codes(spoilt, ledger) == ["mean-missing"]


@pytest.mark.parametrize("odd", [math.inf, math.nan])
def test_a_mean_that_is_no_number(pair, odd):
    release, _ = pair
    assert codes(changed(release, "h00_mean", lambda row: odd)) == ["mean"]


def test_a_mean_of_one_row_alone(pair):
    release, _ = pair
    row = release.table.to_pylist()[0]
    values = release.table["h00_mean"].to_pylist()
    assert values[0] is not None
    at = release.table.schema.get_field_index("h00_mean")
    table = release.table.set_column(at, "h00_mean", pa.array([None, *values[1:]], pa.float64()))
    assert row["group"] == 1
    assert "envelope-differs" in codes(replace(release, parts={"data": table}))


def test_means_that_the_manifest_does_not_state(pair):
    release, _ = pair
    parameters = {name: value for name, value in release.manifest["parameters"].items() if name != "means"}
    assert "columns" in codes(replace(release, manifest={**release.manifest, "parameters": parameters}))


def test_equal_bounds_without_their_mean():
    table = pa.table({"a": [1.0] * 8, "b": [float(n) for n in range(8)]})
    release, ledger = tv.anonymize_series(table, tv.Roles(series=["a", "b"]), k=8, p=4, means=True)
    assert set(release.table["a_mean"].to_pylist()) == {1.0}
    assert codes(release, ledger) == []
    assert codes(changed(release, "a_mean", lambda row: None)) == ["mean"]
