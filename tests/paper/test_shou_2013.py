"""The tables, the figure and the errata of Shou, Shang, Chen, Chen and Zhang 2013, as far as methods go."""

from __future__ import annotations

import numpy as np
from benchmarks.experiments.series_baselines import xu_groups
from benchmarks.experiments.series_calls import kapra, naive
from tests.oracles import series as oracle

from timeveil.models.series.method.paper import Leaves, form_groups, patterns_in, recycle, splitting_tree
from timeveil.models.series.method.partition import presplit
from timeveil.models.series.parameters import SeriesParameters
from timeveil.symbols import (
    envelopes,
    pattern_distance,
    positions,
    reconstructed,
    symbols_at,
    to_letters,
    z_normalised,
)

TABLE_1 = np.array(
    [
        [170, 175, 188, 197, 213, 221],
        [145, 157, 165, 177, 204, 196],
        [176, 181, 147, 134, 125, 112],
        [98, 120, 125, 132, 151, 161],
        [117, 107, 87, 74, 51, 56],
        [32, 54, 59, 67, 96, 101],
        [88, 93, 56, 43, 20, 25],
        [71, 63, 47, 38, 43, 20],
    ],
    dtype=np.float64,
)
TABLE_2 = {
    (1, 2, 3, 4): ([98, 120, 125, 132, 125, 112], [176, 181, 188, 197, 213, 221]),
    (5, 6, 7, 8): ([32, 54, 47, 38, 20, 20], [117, 107, 87, 74, 96, 101]),
}
TABLE_3 = {
    (1, 2, 3, 5): ([117, 107, 87, 74, 51, 56], [176, 181, 188, 197, 213, 221]),
    (4, 6, 7, 8): ([32, 54, 47, 38, 20, 20], [98, 120, 125, 132, 151, 161]),
}
ONE = np.zeros(8, np.int64)


def members(labels: np.ndarray) -> set[tuple[int, ...]]:
    """Tuple numbers of the paper, from 1, by label."""
    return {tuple((np.flatnonzero(labels == label) + 1).tolist()) for label in set(labels.tolist()) - {-1}}


def positions_of(matrix: np.ndarray, center: str = "mean") -> np.ndarray:
    return positions(z_normalised(matrix, center))  # type: ignore[arg-type]


def leaves_of(leaves: Leaves) -> set[oracle.Leaf]:
    found = set()
    for number in range(leaves.of.max() + 1):
        rows = np.flatnonzero(leaves.of == number)
        (level,), (undersized,) = (set(side[rows].tolist()) for side in (leaves.level, leaves.undersized))
        found.add((tuple(rows.tolist()), level, undersized))
    return found


def test_figure_3_the_splitting_tree() -> None:
    leaves = splitting_tree(positions_of(TABLE_1, "median"), ONE, 2, 3)
    assert {(m, bad) for m, _, bad in leaves_of(leaves)} == {
        ((0, 1), False),
        ((3, 5), False),
        ((2, 4, 6), False),
        ((7,), True),
    }
    assert leaves.level.tolist() == [3] * 8


def test_figure_3_the_subgroups_after_post_processing() -> None:
    found = patterns_in(ONE, TABLE_1, SeriesParameters(k=2, p=2, max_level=3, center="median"))
    assert members(found.subgroup) == {(1, 2), (4, 6), (3, 5, 7, 8)}
    letters = [to_letters(found.symbols[s]) for s in found.subgroup]
    assert letters == ["aabbcc"] * 2 + ["ccbbaa", "abbbcc"] * 2 + ["ccbbaa"] * 2
    assert not found.own


def test_the_mean_does_not_give_figure_3() -> None:
    leaves = splitting_tree(positions_of(TABLE_1, "mean"), ONE, 2, 3)
    assert members(leaves.of) != {(1, 2), (4, 6), (3, 5, 7), (8,)}


def test_table_2_the_groups_of_four() -> None:
    for groups in (presplit(TABLE_1, ONE, 4), xu_groups(TABLE_1, 4), naive(TABLE_1, 4, 2).group):
        assert members(groups) == set(TABLE_2)
    low, high = envelopes(TABLE_1, presplit(TABLE_1, ONE, 4))
    assert {(tuple(a), tuple(b)) for a, b in zip(low.tolist(), high.tolist(), strict=True)} == {
        (tuple(map(float, a)), tuple(map(float, b))) for a, b in TABLE_2.values()
    }


def test_table_3_group_formation() -> None:
    subgroup = np.array([0, 0, 1, 2, 1, 2, 3, 3])
    low, high = envelopes(TABLE_1, subgroup)
    group = form_groups(low, high, np.bincount(subgroup), 4)[subgroup]
    assert members(group) == set(TABLE_3)
    low, high = envelopes(TABLE_1, group)
    for number, tuples in enumerate(sorted(members(group))):
        assert (low[number].tolist(), high[number].tolist()) == TABLE_3[tuples]


def test_table_3_is_what_kapra_finds_below_level_3() -> None:
    parts = kapra(TABLE_1, 4, 2, max_level=2, center="median")
    assert members(parts.subgroup) == {(1, 2), (3, 5), (4, 6), (7, 8)}
    assert members(parts.group) == set(TABLE_3)


def test_a_higher_level_may_lose_more() -> None:
    """The pattern loss of tuple 5 at levels 4 and 7."""
    jane = TABLE_1[[4]]
    losses = [
        pattern_distance(jane, reconstructed(symbols_at(positions_of(jane), level), level))[0]
        for level in (4, 7)
    ]
    assert np.round(losses, 3).tolist() == [0.010, 0.016]


def test_the_floor_in_the_proof_of_section_5_4() -> None:
    """It equals the quotient where l divides the size; x is between 0 and the class all the same."""
    for size, diversity in ((6, 3), (7, 3)):
        floor = size // diversity
        assert (floor < size / diversity) == (size % diversity > 0)
        for alike in range(floor + 1, size + 1):
            assert 0 < alike - floor < alike


def test_algorithm_1_as_printed_calls_an_undersized_node_good() -> None:
    """Lines 4 and 5 stand unchained after lines 2 and 3: at the last level any node ends as a good leaf."""

    def printed(size: int, level: int, p: int, max_level: int) -> str:
        label = "bad" if size < p else "none"
        if level == max_level:
            label = "good"
        return label

    assert printed(1, 3, 2, 3) == "good"
    leaves = splitting_tree(positions_of(TABLE_1, "median"), ONE, 2, 3)
    assert leaves.undersized[7]


def test_levels_do_not_nest() -> None:
    """All agree at level 3 and not at 2: to stop at the first level that fails is to stop too early."""
    u = np.array([[0.45, 0.9], [0.55, 0.9], [0.45, 0.95]])
    assert not (symbols_at(u, 2) == symbols_at(u, 2)[0]).all()
    assert (symbols_at(u, 3) == symbols_at(u, 3)[0]).all()
    assert splitting_tree(u, np.zeros(3, np.int64), 3, 3).level.tolist() == [3] * 3


def test_a_split_into_one_child_raises_the_level() -> None:
    u = np.array([[0.1, 0.9]] * 4 + [[0.1, 0.6]] * 4)
    leaves = splitting_tree(u, ONE, 2, 4)
    assert leaves.of.tolist() == [0] * 4 + [1] * 4


def test_small_children_merged_are_a_leaf_at_once() -> None:
    """Split again, as printed, they part into nodes below P and are a good leaf at the old level."""
    u = np.array([[0.1, 0.1]] * 4 + [[0.1, 0.9], [0.9, 0.1], [0.9, 0.9]])
    small = u[4:]
    assert len({tuple(row) for row in symbols_at(small, 2).tolist()}) == len(small)
    leaves = splitting_tree(u, np.zeros(7, np.int64), 2, 2)
    assert leaves.of.tolist() == [0] * 4 + [1] * 3
    assert leaves.level.tolist() == [2] * 4 + [1] * 3
    assert not leaves.undersized.any()


def test_small_children_merged_take_the_highest_level_at_which_they_agree() -> None:
    """Five that part at level 2 agree at 3, where the print leaves them at level 1."""
    small = [[0.45, 0.45], [0.55, 0.45], [0.45, 0.55], [0.55, 0.55], [0.45, 0.45]]
    u = np.array([[0.1, 0.1, 0.9]] * 6 + [[*pair, 0.1] for pair in small])
    leaves = splitting_tree(u, np.zeros(11, np.int64), 3, 3)
    assert leaves.of.tolist() == [0] * 6 + [1] * 5
    assert leaves.level.tolist() == [3] * 11


def test_recycling_regroups_records_not_leaves() -> None:
    """Two agree at level 3 and part at level 2: relabelled by its first row, a leaf would lie about one."""
    u = np.array([[0.45], [0.55], [0.40], [0.60]])
    leaves = Leaves(np.array([0, 0, 1, 2]), np.full(4, 3), np.ones(4, np.bool_))
    found = recycle(u, leaves, 4)
    own = symbols_at(u, found.level[:, None])
    assert all(len(set(own[found.of == leaf, 0].tolist())) == 1 for leaf in set(found.of.tolist()))
    as_printed = symbols_at(u[[0]], 2)[0, 0]
    assert symbols_at(u[[1]], 2)[0, 0] != as_printed


def test_equal_leaves_of_different_branches_are_one() -> None:
    u = np.array([[0.1, 0.9]] * 4)
    leaves = Leaves(np.array([0, 0, 1, 1]), np.full(4, 3), np.zeros(4, np.bool_))
    assert recycle(u, leaves, 2).of.tolist() == [0, 0, 0, 0]


def test_fewer_than_p_are_suppressed() -> None:
    u = positions_of(TABLE_1, "median")
    for p in (2, 3, 4):
        found = recycle(u, splitting_tree(u, ONE, p, 20), p)
        assert np.count_nonzero(found.of < 0) < p


def test_suppression_never_leaves_fewer_than_k() -> None:
    """Ten series of which two stay alone would leave eight; all are one subgroup instead."""
    matrix = np.array([[1.0, 2, 3]] * 8 + [[3.0, 1, 2], [2, 3, 1]])
    leaves = recycle(positions_of(matrix), splitting_tree(positions_of(matrix), np.zeros(10, int), 3, 20), 3)
    assert np.count_nonzero(leaves.of >= 0) == 8
    found = kapra(matrix, 10, 3)
    assert (found.group == 0).all()


def test_naive_gives_a_record_a_pattern_that_is_not_its_own() -> None:
    found = patterns_in(ONE, TABLE_1, SeriesParameters(k=2, p=2, max_level=3, center="median"))
    own = symbols_at(positions_of(TABLE_1, "median"), 3)
    assert to_letters(own[7]) != to_letters(found.symbols[found.subgroup[7]])
    assert not found.own


def test_value_loss_of_a_group_is_a_total() -> None:
    """By width alone a group would take the large far subgroup that costs more."""
    low = np.array([[0.0], [1.0], [-1.1]])
    size = np.array([2, 6, 2])
    widths = [1.0, 1.1]
    totals = [8 * 1.0, 4 * 1.1]
    assert np.argmin(widths) != np.argmin(totals)
    group = form_groups(low, low, size, 4)
    assert group[0] == group[2]


def test_remaining_counts_series_not_subgroups() -> None:
    """|X| is "the number of records contained in X": two subgroups of two make a group of four."""
    low = np.array([[0.0], [1.0]])
    assert form_groups(low, low, np.array([2, 2]), 4).tolist() == [0, 0]


def test_a_leftover_joins_where_the_total_grows_least() -> None:
    low = np.array([[0.0], [0.5], [100.0], [101.0], [90.0]])
    group = form_groups(low, low, np.array([2, 2, 2, 2, 2]), 4)
    assert group.tolist() == [0, 0, 1, 1, 1]


def test_equal_series_are_taken_in_their_order() -> None:
    same = np.zeros((6, 3))
    found = kapra(same, 2, 2)
    assert found.group.tolist() == sorted(found.group.tolist())
    assert (naive(same, 2, 2).group == found.group).all()


def test_the_balanced_cut_loses_less_than_the_top_down_search() -> None:
    rng = np.random.default_rng(3)
    for matrix in (rng.random((1500, 6)), np.cumsum(rng.normal(size=(1500, 6)), axis=1)):
        loss = []
        for parts in (presplit(matrix, np.zeros(1500, np.int64), 10), xu_groups(matrix, 10)):
            sizes = np.bincount(parts)
            assert sizes.min() >= 10
            assert sizes.max() < 20
            low, high = envelopes(matrix, parts)
            loss.append(float((sizes * np.sqrt(np.square(high - low).mean(axis=1))).sum()))
        assert loss[0] < loss[1]


def test_a_constant_series_has_one_pattern_at_odd_and_even_levels() -> None:
    u = positions_of(np.full((1, 3), 7.0))
    assert symbols_at(u, 2).tolist() == [[1, 1, 1]]
    assert symbols_at(u, 3).tolist() == [[1, 1, 1]]
    assert pattern_distance([[1.0, 1.0]], [[2.0, 2.0]]).tolist() == [0.0]
    assert pattern_distance([[1.0, 1.0]], [[1.0, 2.0]]).tolist() == [1.0]
