"""Every score of a change equals what working everything out anew gives; no pass raises the loss."""

from __future__ import annotations

import itertools

import numpy as np
from tests.unit.kernels.parts import in_python

from timeveil.kernels import arrangement as a
from timeveil.kernels import refining as r
from timeveil.kernels.exchanging import edges_of, exchange
from timeveil.symbols.sax import positions, reconstructed, z_normalised
from timeveil.symbols.shape import unit_shapes

LEVELS = 7


def drawn(rng: np.random.Generator, tries: int, level: int = 0) -> tuple[a.Rows, a.Places, a.Rules]:
    """Rows in random places that respect k and p, with ties, equal rows and constant ones."""
    k, p = 4, 2
    n, d = int(rng.integers(8, 40)), int(rng.integers(1, 5))
    matrix = rng.integers(0, rng.choice([2, 5, 1000]), (n, d)).astype(float)
    matrix[rng.random(n) < 0.2] = 1.0
    shapes = unit_shapes(matrix).astype(np.float32)
    flat = (~shapes.any(axis=1)).astype(np.int64)
    groups = _bounds(rng, n, k)
    blocks = np.concatenate(
        [[0], *(_bounds(rng, int(b - c), p)[1:] + c for c, b in itertools.pairwise(groups))]
    )
    came = np.searchsorted(groups, blocks[:-1], side="right") - 1
    table = np.zeros((LEVELS + 1, LEVELS + 1))
    for one in range(1, LEVELS + 1):
        table[one, :one] = reconstructed(np.arange(one), one)
    rows = a.Rows(matrix, shapes, positions(z_normalised(matrix)), flat)
    return rows, a.places_of(groups, blocks, came, k, p), a.Rules(k, p, 1.5, 3.0, tries, level, table)


def _bounds(rng: np.random.Generator, n: int, least: int) -> np.ndarray:
    ends = [0]
    while n - ends[-1] >= 2 * least:
        ends.append(ends[-1] + int(rng.integers(least, min(2 * least - 1, n - ends[-1] - least) + 1)))
    return np.array([*ends, n])


def worked_out(rows: a.Rows, places: a.Places, rules: a.Rules) -> a.State:
    state = a.state_of(places, rows.values.shape[1])
    a.refresh(rows, places, state, rules, 0, len(places.counts))
    return state


def total(places: a.Places, state: a.State, rules: a.Rules, loss: np.ndarray) -> float:
    return float(places.counts @ state.wide / rules.unit + rules.weight * loss.sum())


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


def copied(places: a.Places) -> a.Places:
    return a.Places(*(place.copy() for place in places))


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
                    in_python(r._changed)(rows, places, state, rules, np.int64(one), gone, b, desk),
                    in_python(r._changed)(rows, places, state, rules, gone, np.int64(one), c, desk),
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


def sound(places: a.Places, n: int, rules: a.Rules) -> None:
    """Everybody is in one place, and nobody in too small a one."""
    members = [places.members[b, : places.size[b]] for b in range(len(places.size))]
    assert sorted(np.concatenate(members).tolist()) == list(range(n))
    for b, rows in enumerate(members):
        assert (places.block[rows] == b).all()
    listed = [places.blocks[g, : places.held[g]] for g in range(len(places.held))]
    assert sorted(np.concatenate(listed).tolist()) == list(range(len(places.size)))
    for g, blocks in enumerate(listed):
        assert (places.group[blocks] == g).all()
        assert places.size[blocks].sum() == places.counts[g]
    assert (places.size >= rules.p).all()
    assert (places.counts >= rules.k).all()
