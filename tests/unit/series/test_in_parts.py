"""Series in parts: the promise holds in each, parts are large, and the order of rows decides nothing."""

from __future__ import annotations

import numpy as np
import pytest

import timeveil as tv
from timeveil import datasets
from timeveil.models.series.method.parts import LEAST_SHARE, cut, part_of
from timeveil.models.series.parameters import SeriesParameters

LOADS = datasets.load_curves(600, seed=5)
HOURS = [name for name in LOADS.column_names if name[1:].isdigit()][::3]
ROLES = tv.Roles(series=HOURS, drop="rest")


@pytest.mark.parametrize(
    "options", [{"k": 5, "p": 2}, {"k": 5, "p": 1}, {"k": 6, "p": 3, "method": "representative"}]
)
def test_groups_of_parts_keep_the_promise(options):
    release, ledger = tv.anonymize_series(LOADS, ROLES, parts=4, effort=0, **options)
    assert ledger.facts["parts"] == 4
    assert tv.verify(release, ledger)
    shuffled = LOADS.take(np.random.default_rng(1).permutation(LOADS.num_rows))
    assert tv.anonymize_series(shuffled, ROLES, parts=4, effort=0, **options)[0].table.equals(release.table)


@pytest.mark.parametrize("parts", [2, 3, 7, 1000])
def test_every_part_has_many_times_k_series(parts):
    matrix = np.column_stack([LOADS[name].to_numpy() for name in HOURS])
    parameters = SeriesParameters(k=5, p=2)
    cuts = cut(matrix, parameters, parts)
    sizes = np.bincount(part_of(matrix, parameters, cuts))
    assert len(sizes) <= parts
    assert len(sizes) > 1
    assert sizes.min() >= LEAST_SHARE * 5
    assert part_of(matrix[:1], parameters, cuts)[0] == part_of(matrix, parameters, cuts)[0]


def test_methods_that_leave_series_out_are_refused():
    """One part may lack p - 1 series, and several would lack p."""
    with pytest.raises(tv.ParameterError):
        tv.anonymize_series(LOADS, ROLES, k=4, p=2, method="kapra", parts=4)


def test_sensitive_values_are_diverse_in_parts():
    roles = tv.Roles(series=HOURS, sensitive=["tariff"], drop="rest")
    release, ledger = tv.anonymize_series(LOADS, roles, k=6, p=3, l=2, parts=3, effort=0, allow_loss=True)
    assert tv.verify(release, ledger)


def test_series_that_are_all_alike_are_not_cut():
    assert cut(np.ones((1000, 3)), SeriesParameters(k=2, p=1), 8) is None


def test_a_person_with_several_series_is_not_cut():
    table = LOADS.append_column("id", [np.arange(600) // 2])
    with pytest.raises(tv.ParameterError):
        tv.anonymize_series(table, tv.Roles(respondent="id", series=HOURS, drop="rest"), k=5, p=2, parts=4)
