"""Means of groups: those of a slow twin, whatever the series; and bounds that hold the truth."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean

import numpy as np
import pyarrow as pa
import pytest
from tests.effort import some
from tests.oracles.series import shares_above, stepped, stepped_mean
from tests.properties.test_series import KINDS, METHODS, series

import timeveil as tv
from timeveil.models.series.evidence import Evidence
from timeveil.models.series.judges.beside import left_to_the_last


def made(seed: int, **options):
    chance = np.random.default_rng(seed)
    kind, method = KINDS[seed % len(KINDS)], METHODS[seed // 2 % len(METHODS)]
    matrix = np.abs(series(kind, int(chance.integers(14, 60)), 4, chance))
    if chance.random() < 0.5:
        matrix[:, 1] = np.where(chance.random(len(matrix)) < 0.8, 0.0, matrix[:, 1])
    table = pa.table({f"t{n}": matrix[:, n] for n in range(4)})
    how = {"k": int(chance.integers(4, 8)), "p": 3, "method": method, "effort": int(chance.integers(0, 2))}
    how |= {"round_outward": [None, 2, 3][seed % 3], "means": True, "allow_loss": True, **options}
    release, ledger = tv.anonymize_series(table, tv.Roles(series=[f"t{n}" for n in range(4)]), **how)
    return table, release, ledger


def members(table, ledger):
    """The rows of each group, by its number."""
    groups: dict[int, list[dict]] = {}
    for row, number in zip(table.to_pylist(), ledger.table["group"].to_pylist(), strict=True):
        groups.setdefault(number, []).append(row)
    groups.pop(None, None)
    return groups


@pytest.mark.parametrize("seed", range(some(60)))
def test_means_are_those_of_the_slow_twin(seed):
    table, release, ledger = made(seed)
    assert tv.verify(release), tv.verify(release)
    assert tv.verify(release, ledger), tv.verify(release, ledger)
    groups = members(table, ledger)
    for line in release.table.to_pylist():
        for name in table.column_names:
            low, high, mean = (line[f"{name}_{end}"] for end in ("lo", "hi", "mean"))
            values = [row[name] for row in groups[line["group"]]]
            if low < high:  # the twin is exact: a sum of floats may round to the other side of a tie
                share = sum((value - low) / (high - low) for value in values)
                if abs(share % 1 - 0.5) < 1e-9:
                    continue
            assert mean == stepped_mean(values, low, high)
            assert mean is None or low <= mean <= high


@pytest.mark.parametrize("seed", range(some(40)))
def test_the_mean_of_everybody_is_within_its_bounds(seed):
    table, release, ledger = made(seed)
    published = [row for rows in members(table, ledger).values() for row in rows]
    without_means = made(seed, means=False)[1]
    for name in table.column_names:
        found = tv.answer(release, tv.MeanValue(name))
        truth = fmean(row[name] for row in published)
        assert found.low <= truth * (1 + 1e-12)
        assert truth <= found.high * (1 + 1e-12)
        assert found.low <= found.value <= found.high
        wide = tv.answer(without_means, tv.MeanValue(name))
        assert found.high - found.low <= (wide.high - wide.low) * (1 + 1e-9) + 1e-300


@pytest.mark.parametrize("seed", range(some(20)))
def test_the_order_of_rows_changes_nothing(seed):
    table, release, _ = made(seed)
    order = np.random.default_rng(seed).permutation(table.num_rows)
    stated = release.manifest["parameters"]
    how = {name: stated[name] for name in ("k", "p", "method", "round_outward", "means")}
    how |= {"effort": stated["effort"]} if stated["effort"] is not None else {}
    again, _ = tv.anonymize_series(
        table.take(pa.array(order)), tv.Roles(series=table.column_names), allow_loss=True, **how
    )
    assert again.table.equals(release.table)


def fitting(values, others, low, high, mean):
    """For each value whether the published mean fits the others and it."""
    shares, size = shares_above(others, low, high), len(others) + 1
    return [stepped(shares + shares_above([value], low, high), size, low, high) == mean for value in values]


@pytest.mark.parametrize("seed", range(some(20)))
def test_those_who_know_all_others_learn_at_most_a_side_of_one_point(seed):
    """By trying: of all values that the last member could have, those that give the published mean."""
    table, release, ledger = made(seed)
    shares, known, groups = [], [], members(table, ledger)
    occurring = {name: {row[name] for rows in groups.values() for row in rows} for name in table.column_names}
    shown = {line["group"]: line for line in release.table.to_pylist()}
    for number, rows in groups.items():
        for name in table.column_names:
            low, high, mean = (shown[number][f"{name}_{end}"] for end in ("lo", "hi", "mean"))
            if low == high or not math.isfinite(high - low):
                continue
            for last in range(len(rows)):
                others = [other[name] for n, other in enumerate(rows) if n != last]
                tried = [low + (high - low) * part / 64 for part in range(65)]
                fits = fitting(tried, others, low, high, mean)
                # Values that fit are on one side of a point, or all: as seen from 64 steps.
                changes = sum(one != other for one, other in pairwise(fits))
                assert changes <= 1
                if mean is not None:
                    shares.append(sum(fits) / 65)
                    possible = [value for value in occurring[name] if low <= value <= high]
                    known.append(sum(fitting(possible, others, low, high, mean)) <= 1)
    left = left_to_the_last(Evidence(release, ledger))
    if shares:
        assert left["mean"] == pytest.approx(fmean(shares), abs=0.03)
        assert left["known"] == pytest.approx(fmean(known), abs=0.03)


def test_of_two_values_the_last_one_is_known():
    """Half of the envelope is left, and nothing but the value itself is in it."""
    bits = np.random.default_rng(0).integers(0, 2, (80, 3)).astype(float)
    table = pa.table({f"t{n}": bits[:, n] for n in range(3)})
    pair = tv.anonymize_series(table, tv.Roles(series=table.column_names), k=8, p=4, means=True)
    assert tv.attack(*pair).left == {"mean": 0.5, "below_a_tenth": 0.0, "known": 1.0}
