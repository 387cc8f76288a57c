"""Every score of a change equals what working everything out anew gives; no pass raises the loss."""

from __future__ import annotations

import numpy as np
from tests.unit.kernels.arranged import LEVELS, copied, drawn, sound, total, worked_out
from tests.unit.kernels.parts import in_python

from timeveil.models.series.kernels import arrangement as a
from timeveil.models.series.kernels import refining as r
from timeveil.models.series.kernels.exchanging import edges_of, exchange


def neighbours(rows: a.Rows, places: a.Places, state: a.State) -> tuple[np.ndarray, ...]:
    n, d = rows.values.shape
    near = (
        rows.values.copy(),
        rows.shapes.astype(float),
        *(np.empty((n, d)) for _ in range(3)),
        np.arange(n),
    )
    for row in range(n):
        in_python(r.without)(rows, places, state, row, near[2][row], near[3][row], near[4][row])
    return near


def test_a_swap_and_a_move_are_scored_as_if_worked_out_anew() -> None:
    rng = np.random.default_rng(1)
    swaps = moves = 0
    for _ in range(300):
        rows, places, rules = drawn(rng, int(rng.integers(0, 2)), int(rng.choice([0, 5])))
        state = worked_out(rows, places, rules)
        near, desk = neighbours(rows, places, state), a.desk_of(rows.values.shape[1], LEVELS + 1)
        one, other = (int(x) for x in rng.choice(len(rows.flat), 2, replace=False))
        b, c = int(places.block[one]), int(places.block[other])
        if b == c:
            continue
        may_move = places.size[b] > rules.p and places.size[c] < places.members.shape[1]
        kinds = ["swap", "move"] if may_move else ["swap"]
        for kind in kinds:
            after = copied(places)
            if kind == "swap":
                mine, theirs, wide = in_python(r._swapped)(rows, places, state, near, one, other)
                gone = np.int64(other)
                in_python(r.swap)(after, one, other)
                swaps += 1
            else:
                mine, theirs, wide = in_python(r._moved)(rows, places, state, near, one, other)
                gone = np.int64(-1)
                in_python(r.move)(after, one, c)
                moves += 1
            anew = worked_out(rows, after, rules)
            assert np.allclose([mine, theirs], anew.bound[[b, c]], atol=1e-6)
            g, h = places.group[b], places.group[c]
            if g != h:
                assert np.isclose(wide, after.counts[g] * anew.wide[g] + after.counts[h] * anew.wide[h])
            if rules.tries:
                exact = [
                    in_python(r.changed)(rows, places, state, rules, np.int64(one), gone, b, desk),
                    in_python(r.changed)(rows, places, state, rules, gone, np.int64(one), c, desk),
                ]
                assert np.allclose(exact, anew.lost[[b, c]], atol=1e-9)
    assert swaps > 200
    assert moves > 50


def test_no_pass_raises_the_loss_and_promises_hold() -> None:
    rng = np.random.default_rng(2)
    changed = np.zeros(2, np.int64)
    for number in range(400):
        rows, places, rules = drawn(rng, number % 3, int(rng.choice([0, 5])))
        state = worked_out(rows, places, rules)
        loss = state.lost if rules.tries else state.bound
        before = total(places, state, rules, loss)
        n = len(rows.flat)
        order = rng.permutation(n)
        r.improve(rows, places, state, rules, order, np.array([0, n // 2, n]), 0, 2, changed)
        now = total(places, state, rules, loss)
        assert now <= before + 1e-9
        sound(places, n, rules)
        anew = worked_out(rows, places, rules)
        for kept, fresh in zip(state, anew, strict=True):
            assert np.array_equal(kept, fresh)
    assert (changed > 100).all()


def test_whole_blocks_change_groups_only_where_that_helps() -> None:
    rng = np.random.default_rng(3)
    done = 0
    for _ in range(300):
        rows, places, rules = drawn(rng, 0)
        state = worked_out(rows, places, rules)
        before = places.counts @ state.wide
        shapes = state.lost.sum()
        edges = np.empty((len(places.size), 2, rows.values.shape[1]))
        edges_of(rows.values, places, edges)
        number = len(places.size)
        changed = np.zeros(len(places.counts), np.int64)
        exchange(
            places, edges, state.wide, rules.k, rng.permutation(number), np.array([0, number]), 0, 1, changed
        )
        sound(places, len(rows.flat), rules)
        anew = worked_out(rows, places, rules)
        assert np.allclose(state.wide, anew.wide)
        assert places.counts @ anew.wide <= before + 1e-9
        assert np.isclose(shapes, anew.lost.sum())
        done += int(changed.sum()) // 2
    assert done > 100
