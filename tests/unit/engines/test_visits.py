"""Counting by first visits against sets and dictionaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import occurrences as oracle

from timeveil.engines import memory
from timeveil.engines.memory import Visits

POSITIONS = 12
row_lists = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, POSITIONS - 1), st.integers(0, 5)), min_size=1, max_size=60
)


def visits_of(rows):
    quasi, position, person = (np.array(column, np.int32) for column in zip(*rows, strict=True))
    return Visits.of(quasi, position, person, people=6)[0]


def firsts_of(width):
    """Position -> first position of its granule, for granules of a width, all positions observed."""
    return (np.arange(POSITIONS) // width * width).astype(np.int32)


@given(row_lists, st.integers(1, POSITIONS))
def test_people_and_rows_equal_the_twin(rows, width):
    groups = visits_of(rows).groups(firsts_of(width))
    expected = oracle.group_sizes(rows, lambda position: position // width)
    assert (groups.people.tolist(), groups.rows.tolist()) == expected


@given(row_lists, st.sampled_from([1, 2, 3, 6]), st.integers(1, 4))
def test_first_visits_are_enough_for_what_is_coarser(rows, width, times):
    visits, wide = visits_of(rows), firsts_of(width * times)
    direct, opening = visits.groups(wide), visits.by(firsts_of(width))[0].groups(wide)
    assert direct.people.tolist() == opening.people.tolist()
    assert direct.rows.tolist() == opening.rows.tolist()


@given(row_lists, st.sampled_from([1, 2, 3, 6]), st.integers(1, 4))
def test_returns_to_a_granule_are_enough_for_what_is_finer(rows, width, times):
    visits, narrow = visits_of(rows), firsts_of(width)
    direct, returning = visits.groups(narrow), visits.groups(narrow, visits.by(firsts_of(width * times))[1])
    assert direct.people.tolist() == returning.people.tolist()


@given(row_lists, st.sets(st.integers(0, POSITIONS - 1)), st.integers(1, POSITIONS))
def test_rows_in_gaps_are_as_if_they_were_not_there(rows, gaps, width):
    inside = np.array([position not in gaps for position in range(POSITIONS)])
    remaining = [row for row in rows if row[1] not in gaps]
    groups = visits_of(rows).within(inside).groups(firsts_of(width))
    expected = oracle.group_sizes(remaining, lambda position: position // width)
    assert (groups.people.tolist(), groups.rows.tolist()) == expected


@given(row_lists)
def test_keys_too_wide_to_pack_count_the_same(rows):
    expected = visits_of(rows).groups(firsts_of(4)).people.tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "KEY_BITS", 1)
        assert visits_of(rows).groups(firsts_of(4)).people.tolist() == expected
