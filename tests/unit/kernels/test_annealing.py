"""Random changes: scored as if worked out anew, taken as often as their chance says, within every promise."""

from __future__ import annotations

import numpy as np
from tests.unit.kernels.arranged import LEVELS, copied, drawn, sound, total, worked_out
from tests.unit.kernels.parts import in_python

from timeveil.models.series.kernels import annealing as shaking
from timeveil.models.series.kernels import arrangement as a
from timeveil.models.series.kernels import refining as r


def test_a_change_is_scored_as_if_worked_out_anew() -> None:
    rng = np.random.default_rng(1)
    score, may_move = in_python(shaking.change), in_python(shaking.may_move)
    swaps = moves = cut_short = 0
    for _ in range(150):
        rows, places, rules = drawn(rng, 1, int(rng.choice([0, 5])))
        state = worked_out(rows, places, rules)
        desk = a.desk_of(rows.values.shape[1], LEVELS + 1)
        one, other = (int(x) for x in rng.choice(len(rows.flat), 2, replace=False))
        b, c = int(places.block[one]), int(places.block[other])
        if b == c:
            continue
        before = total(places, state, rules, state.lost)
        for come in (other, -1) if may_move(places, rules, b, c) else (other,):
            after = copied(places)
            if come >= 0:
                in_python(r.swap)(after, one, come)
                swaps += 1
            else:
                in_python(r.move)(after, one, c)
                moves += 1
            sound(after, len(rows.flat), rules)
            anew = worked_out(rows, after, rules)
            truth = total(after, anew, rules, anew.lost) - before
            given = (rows, places, state, rules, one, np.int64(come), c)
            assert np.isclose(score(*given, np.inf, desk), truth, atol=1e-5)
            early = score(*given, -np.inf, desk)
            bound = total(after, anew, rules, anew.bound) - total(places, state, rules, state.bound)
            assert np.isclose(early, bound, atol=1e-5)
            cut_short += not np.isclose(early, truth, atol=1e-5)
    assert swaps > 100
    assert moves > 10
    assert cut_short > 50


def test_shaking_keeps_every_promise_and_the_state_up_to_date() -> None:
    rng = np.random.default_rng(2)
    taken = np.zeros(2, np.int64)
    for number in range(300):
        rows, places, rules = drawn(rng, 1, int(rng.choice([0, 5])))
        state = worked_out(rows, places, rules)
        n = len(rows.flat)
        features = rng.standard_normal((n, 3)).astype(np.float32)
        heat = float(rng.choice([1e-9, 0.5, 1e9]))
        leaves = np.array([0, n // 2, n - 1, n])
        chance = np.array([number], np.uint64)
        before = total(places, state, rules, state.lost)
        args = (features, 4, heat, 3, rng.permutation(n), leaves, 0, 3, chance, taken)
        shaking.shake(rows, places, state, rules, *args)
        sound(places, n, rules)
        anew = worked_out(rows, places, rules)
        for kept, fresh in zip(state, anew, strict=True):
            assert np.array_equal(kept, fresh)
        if heat < 1e-6:
            assert total(places, state, rules, state.lost) <= before + 1e-5
    assert (taken > 100).all()


def test_a_change_for_the_worse_is_taken_as_often_as_its_chance_says() -> None:
    """Of two groups of two, {0, 1} and {10, 11}: any swap widens them by 36 in all.

    A leaf of two rows is two tries. At a heat at which 36 is taken with chance one half, both are
    refused with chance one quarter.
    """
    matrix = np.array([[0.0], [1.0], [10.0], [11.0]])
    rows = a.Rows(matrix, np.zeros((4, 1), np.float32), np.full((4, 1), 0.5), np.ones(4, np.int64))
    rules = a.Rules(2, 2, 1.0, 1.0, 1, 0, np.zeros((3, 3)))
    bounds = np.array([0, 2, 4])
    refused, chance = 0, np.array([3], np.uint64)
    for _ in range(2000):
        places = a.places_of(bounds, bounds, np.array([0, 1]), 2, 2)
        state = worked_out(rows, places, rules)
        tally = np.zeros(2, np.int64)
        leaf = (np.array([0, 2]), np.array([0, 2]), 0, 1)
        args = (matrix.astype(np.float32), 1, 36 / np.log(2), 1, *leaf, chance, tally)
        shaking.shake(rows, places, state, rules, *args)
        refused += int(tally[0] == 0)
    assert abs(refused - 500) < 80


def test_only_the_nearest_of_a_leaf_are_asked() -> None:
    rng = np.random.default_rng(4)
    for size in (2, 5, 30):
        features = rng.integers(0, 9, (40, 3)).astype(np.float32)
        leaf = rng.permutation(40)[:size]
        number = min(size - 1, 6)
        room = np.full((size, 7), -1, np.int64), np.empty(7)
        in_python(shaking._nearest)(features, leaf, number, room)
        for i, row in enumerate(leaf):
            far = {int(other): float(((features[row] - features[other]) ** 2).sum()) for other in leaf}
            found = room[0][i, :number].tolist()
            assert row not in found
            assert len(set(found)) == number
            nearest = sorted(length for other, length in far.items() if other != row)[:number]
            assert sorted(far[other] for other in found) == nearest


def test_draws_fill_their_range_evenly() -> None:
    chance = np.array([1], np.uint64)
    below, unit = in_python(shaking.below), in_python(shaking.unit)
    with np.errstate(over="ignore"):
        whole = np.bincount([below(chance, 5) for _ in range(5000)], minlength=5)
        parts = np.array([unit(chance) for _ in range(5000)])
    assert len(whole) == 5
    assert (abs(whole - 1000) < 150).all()
    assert ((parts >= 0) & (parts < 1)).all()
    assert abs(parts.mean() - 0.5) < 0.02
