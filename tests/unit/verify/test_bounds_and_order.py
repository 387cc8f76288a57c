"""The edges of what judges compare: the next decimal, zeros and numbers that are none, items of lists."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.folder.making import plain_release

import timeveil as tv
from timeveil.errors import BundleError
from timeveil.evidence.checks import faults
from timeveil.evidence.published import compared_rows
from timeveil.judging import is_well_formed
from timeveil.models.events.judges.manifest import MANIFEST as EVENTS_MANIFEST
from timeveil.models.patterns.judges.manifest import MANIFEST as PATTERN_MANIFEST
from timeveil.models.series.evidence import patterns_of
from timeveil.models.series.judges.definition import is_nearest_below, too_long
from timeveil.models.series.judges.manifest import MANIFEST as SERIES_MANIFEST
from timeveil.models.stream.judges.manifest import MANIFEST


@pytest.mark.parametrize(
    ("bound", "value", "nearest"),
    [
        (0.122, 0.122, True),
        (0.122, np.nextafter(0.123, 0), True),
        (0.122, 0.123, False),
        (999.0, 999.5, True),
        (999.0, 1000.0, False),
        (-100.0, -99.95, True),
        (-100.0, -99.9, False),
        (-99.9, -99.85, True),
        (-101.0, -100.0, False),
        (-101.0, -100.5, True),
        (-1.0, -0.9995, True),
        (0.0, 0.0, True),
        (0.0, 1e-9, False),
    ],
)
def test_a_bound_is_nearest_if_the_next_decimal_lies_above_the_value(bound, value, nearest):
    assert is_nearest_below(np.array([bound]), np.array([value]), 3).tolist() == [nearest]


def test_without_rounding_a_bound_is_the_value():
    found = is_nearest_below(np.array([1.0, 1.0]), np.array([1.0, np.nextafter(1.0, 2)]), None)
    assert found.tolist() == [True, False]


@pytest.mark.parametrize("digits", [1, 2, 15])
def test_a_number_has_so_many_digits_and_no_more(digits):
    exact = float("1." + "1" * (digits - 1) if digits > 1 else "1")
    assert too_long(np.array([[exact], [np.nextafter(exact, 2)]]), digits).tolist() == [[False], [True]]


def compared(before: list, after: list, kind: pa.DataType) -> list[tuple[bool, bool]]:
    """Where the first comes after the second, and where both say the same."""
    tables = [pa.table({"x": pa.array(values, kind)}) for values in (before, after)]
    falls, same = compared_rows(*tables, ["x"])
    return list(zip(falls.tolist(), same.tolist(), strict=True))


def test_numbers_nulls_zeros_and_what_is_no_number():
    nan = math.nan
    before = [2.0, 1.0, 1.0, None, None, 1.0, 0.0, -0.0, 0.0, nan, 1.0, nan, None]
    after = [1.0, 2.0, 1.0, 1.0, None, None, -0.0, 0.0, 0.0, 1.0, nan, nan, nan]
    falls, fine, same = (True, False), (False, False), (False, True)
    assert compared(before, after, pa.float64()) == [
        falls, fine, same, falls, same, fine, fine, fine, same, falls, fine, same, falls,
    ]  # fmt: skip
    assert compared([nan], [None], pa.float64()) == [fine]


def test_lists_are_compared_from_the_first_item_and_the_shorter_comes_first():
    kind = pa.list_(pa.int16())
    found = compared([[1, 2], [2, 1], [1, 1], [1, 2]], [[1, 1], [1, 9], [1, 2], [1, 2]], kind)
    assert found == [(True, False), (True, False), (False, False), (False, True)]
    assert compared([[]], [[]], kind) == [(False, True)]


def test_the_first_column_that_differs_decides():
    before = pa.table({"x": [1, 1, 2], "y": [2, 1, 1]})
    after = pa.table({"x": [1, 1, 1], "y": [1, 1, 9]})
    falls, same = compared_rows(before, after, ["x", "y"])
    assert (falls.tolist(), same.tolist()) == ([True, False, True], [False, True, False])


def test_levels_go_from_1_to_52_and_letters_from_a_to_capital_z():
    symbols, levels = patterns_of(pa.array(["aZ", "zA"]), pa.array([52, 52]), 2)
    assert (symbols.tolist(), levels.tolist()) == ([[0, 51], [25, 26]], [[52, 52], [52, 52]])
    each = pa.array([[1, 52], [2, 3]], pa.list_(pa.int16()))
    assert patterns_of(pa.array(["aZ", "bc"]), each, 2)[1].tolist() == [[1, 52], [2, 3]]
    for level in ([0], [53], [None], [[1]], [[1, 2, 3]], [[1, 53]], [[0, 1]], [[None, 1]], [None, [1, 1]]):
        with pytest.raises(BundleError):
            patterns_of(pa.array(["aa"] * len(level)), pa.array(level), 2)
    for text in ("a", "aaa", "a@", "a[", "a`", "a{", "aé", None):
        with pytest.raises(BundleError):
            patterns_of(pa.array([text], pa.string()), pa.array([52]), 2)


def kind_at(shape, path):
    """The shape of a place in a manifest: `*` is any name, or any item of a list."""
    for key in path.split("."):
        if key == "*":
            shape = shape[0] if isinstance(shape, list) else shape.of
        else:
            shape = shape[key] if key in shape else shape[f"{key}?"]
    return shape


@pytest.mark.parametrize(
    ("manifest", "path", "least", "most"),
    [
        (EVENTS_MANIFEST, "levels.*.level", 1, 1_000),
        (EVENTS_MANIFEST, "counts.rows", 0, 2**53),
        (SERIES_MANIFEST, "parameters.max_level", 1, 52),
        (SERIES_MANIFEST, "parameters.round_outward", 1, 15),
        (SERIES_MANIFEST, "parameters.shape_weight", 0, 1_000_000),
        (SERIES_MANIFEST, "parameters.effort", 0, 1_000),
        (SERIES_MANIFEST, "parameters.segment", 2, 100_000),
        (SERIES_MANIFEST, "parameters.epsilon", 0, 10**300),
        (MANIFEST, "parameters.l", 1, 2**53),
        (MANIFEST, "parameters.window", 1, 10_000),
        (MANIFEST, "parameters.jitter", 0, 10_000),
        (MANIFEST, "parameters.spread", 0, 10_000),
        (MANIFEST, "parameters.fillers", 0, 10_000),
        (MANIFEST, "guarantee.forget_after", 2, 10_000),
        (PATTERN_MANIFEST, "parameters.max_len", 1, 1_000_000),
        (PATTERN_MANIFEST, "patterns.symbols", 2, 52),
    ],
)
def test_numbers_of_a_manifest_have_bounds(manifest, path, least, most):
    """One without could carry a message."""
    kind = kind_at(manifest, path)
    for number in (least, most):
        assert list(faults(number, kind)) == []
    for number in (least - 1, most + 1, True, "1"):
        assert len(list(faults(number, kind))) == 1


@pytest.mark.parametrize(
    ("manifest", "path", "fine", "odd"),
    [
        (EVENTS_MANIFEST, "tool", ["timeveil 0.1.0", "timeveil 12.3.456rc1"], ["timeveil 0.1", "0.1.0", 1]),
        (EVENTS_MANIFEST, "parameters.suppress", [0, 0.999], [1, 1.0, -1e-9, True, "0"]),
        (EVENTS_MANIFEST, "parameters.granularities", [None, [], ["day"]], [["day", 1], "day", {}]),
        (EVENTS_MANIFEST, "parameters.fold_spellings", [True], [False, 1, "true"]),
        (EVENTS_MANIFEST, "parameters.accept_risk", [[], ["k"]], ["k", {}, [1]]),
        (EVENTS_MANIFEST, "candidates.*.feasible", [True, False], [0, 1, None]),
        (EVENTS_MANIFEST, "durations.*", ["hour", "day"], ["moon", None]),
        (EVENTS_MANIFEST, "time.zone", [None, "UTC"], [1, []]),
        (EVENTS_MANIFEST, "format", [1], [True, 1.0, 2, "1"]),
        (MANIFEST, "counts.first_slot", [None, 0, -3, "2024-03-04"], [True, 1.5, []]),
        (MANIFEST, "parameters.move_cost", ["linear", [0, 1.5]], ["cubic", [], None, 7, {0: 1}, [1e300]]),
        (SERIES_MANIFEST, "parameters.shape_weight", [None, 0.5], [-0.5, 1e6 + 0.5, float("nan")]),
        (SERIES_MANIFEST, "levels", [{}, {"zip": {"1": ["a"]}}], [[], {"zip": ["a"]}, {"zip": {"1": [1]}}]),
    ],
)  # fmt: skip
def test_what_a_manifest_states_is_of_one_kind(manifest, path, fine, odd):
    kind = kind_at(manifest, path)
    assert [list(faults(value, kind)) for value in fine] == [[]] * len(fine)
    assert [len(list(faults(value, kind))) for value in odd] == [1] * len(odd)


def test_a_manifest_is_whole_with_every_section_of_its_model_and_nothing_else():
    release = plain_release()
    manifest = dict(release.manifest)
    assert is_well_formed(release)
    other_time = {**manifest["time"], "column": "other"}
    for odd in (
        {**manifest, "more": 1},
        {**manifest, "model": "stream"},
        {**manifest, "model": "other"},
        {**manifest, "time": other_time},
        {},
    ):
        assert not is_well_formed(replace(release, manifest=odd))


def test_rows_behind_a_nan_are_in_order_too():
    """Two rows that agree up to a NaN are ordered by the columns after it, as all rows are."""
    visits = pa.table(
        {
            "who": [f"p{n}" for n in range(4)],
            "at": ["2024-03-04"] * 4,
            "dose": [math.nan, -math.nan, 1.0, None],
            "ward": [1, 2, 3, 4],
        }
    )
    roles = tv.Roles(respondent="who", time="at", keep=["dose", "ward"])
    release, ledger = tv.generalize_time(visits, roles, k=2)
    assert release.table["ward"].to_pylist() == [3, 1, 2, 4]
    assert tv.verify(release, ledger)
    for order in ([0, 2, 1, 3], [1, 0, 2, 3], [0, 3, 1, 2]):
        shuffled = replace(release, parts={"data": release.table.take(order)})
        assert [violation.code for violation in tv.verify(shuffled).violations] == ["row-order"]
