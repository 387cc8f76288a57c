"""Each kernel against its slow twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import occurrences as oracle

from timeveil.models.events.kernels import occurrences

POSITIONS = 12
row_lists = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, POSITIONS - 1), st.integers(0, 5)), min_size=1, max_size=60
)


def cells_of(rows):
    quasi, position, person = (np.array(column, np.int32) for column in zip(*rows, strict=True))
    key = occurrences.pack_keys(quasi, position, person, POSITIONS, 3)
    key.sort()
    return occurrences.cells_of(key, 3, POSITIONS, 6)


def firsts_of(width):
    """Position -> first position of its granule, for granules of a width, all positions observed."""
    return (np.arange(POSITIONS) // width * width).astype(np.int32)


@given(row_lists)
def test_last_seen_cells_equal_the_twin(rows):
    """`before` is, per person and cell, where the person was last."""
    quasi, position, count, begin, before, people = cells_of(rows)
    assert before.tolist() == oracle.before(rows)
    assert people == len({person for _, _, person in rows})
    assert sum(count) == len(rows)
    assert list(zip(quasi, position, strict=True)) == sorted({row[:2] for row in rows})
    assert begin[-1] == len(before)


@given(row_lists, st.integers(1, POSITIONS))
def test_group_sizes_equal_the_twin(rows, width):
    """Distinct people and rows per group, for granules of any width."""
    people, count, group_of = occurrences.group_sizes(*cells_of(rows)[:5], firsts_of(width))
    expected = oracle.group_sizes(rows, lambda position: position // width)
    assert (people.tolist(), count.tolist()) == expected
    assert group_of[-1] + 1 == len(people)


@given(row_lists, st.sampled_from([1, 2, 3, 6]), st.integers(1, 4))
def test_coarsened_cells_count_the_same(rows, width, times):
    """Counting from the groups of a finer granularity changes nothing."""
    cells = cells_of(rows)[:5]
    group_of = occurrences.group_sizes(*cells, firsts_of(width))[2]
    coarse = occurrences.coarsen(*cells, group_of)
    wide = firsts_of(width * times)
    direct, through = (occurrences.group_sizes(*c, wide)[:2] for c in (cells, coarse))
    assert [a.tolist() for a in direct] == [a.tolist() for a in through]


@given(
    st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=30),
    st.sampled_from([1, 1000]),
    st.sampled_from([(1, 0), (60, 0), (3600, 1800), (86_400, -3600)]),
)
def test_positions_are_places_among_the_granules_that_occur(ticks, scale, tick):
    """Floor division, negative instants included."""
    width, phase = tick
    array = np.array(ticks, np.int64)
    granules = [(t // scale + phase) // width for t in ticks]
    low = min(granules)
    if max(granules) - low > 10**6:
        return
    seen = np.zeros(max(granules) - low + 1, np.bool_)
    occurrences.mark_granules(array, scale, phase, width, low, seen)
    assert (np.flatnonzero(seen) + low).tolist() == sorted(set(granules))
    place = (np.cumsum(seen) - 1).astype(np.int32)
    found = occurrences.positions_of(array, scale, phase, width, low, place)
    assert found.tolist() == [sorted(set(granules)).index(g) for g in granules]


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=20), st.sampled_from([60, 1800, 86_400]))
def test_extent_says_where_and_how_coarse(instants, unit):
    """Bounds, and which widths divide every instant."""
    values = [i * unit for i in instants]
    widths = np.array([86_400, 3600, 1800, 60], np.int64)
    low, high, divides = occurrences.extent_of(np.array(values, np.int64) * 1000, 1000, widths)
    assert (low, high) == (min(values), max(values))
    assert divides.tolist() == [all(v % w == 0 for v in values) for w in widths]


def test_a_fraction_of_a_second_is_not_divided():
    """A tick between whole instants has no coarser resolution."""
    _, _, divides = occurrences.extent_of(np.array([60_000, 120_001]), 1000, np.array([60, 1]))
    assert divides.tolist() == [False, False]


@pytest.mark.parametrize("granule", [-1, 0])
def test_look_up_leaves_rows_in_gaps_out(granule):
    """A row in no granule has no group."""
    code = np.array([granule], np.int32)
    zero = np.zeros(1, np.int32)
    found = occurrences.look_up(zero, zero, code, 1, np.array([7], np.int32))
    assert found.tolist() == [7 if granule == 0 else -1]
