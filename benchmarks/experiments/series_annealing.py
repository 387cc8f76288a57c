"""How narrow envelopes of k series can be made when nothing else counts: groups by simulated annealing.

Far too slow to publish with, and blind to shapes. It shows what a target for the value loss can ask for.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from timeveil.models.series.method.partition import Matrix

PROPOSALS = 30_000_000
NEAR = 40
HOT, COLD = 2.0, 0.05  # in widths of envelopes of the start, for a group of k


def annealed(matrix: Matrix, k: int, proposals: int = PROPOSALS, seed: int = 1) -> float:
    """The mean value loss of groups of k to 2k - 1 series, after so many proposals to swap or move one."""
    rows = np.ascontiguousarray(matrix, dtype=np.float64)
    near = cKDTree(rows).query(rows, k=min(NEAR + 1, len(rows)))[1][:, 1:].astype(np.int64)
    members, size = _start(rows, k)
    group, place = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    for number, count in enumerate(size):
        group[members[number, :count]] = number
        place[members[number, :count]] = np.arange(count)
    width = np.mean([_loss(rows, members, size, number, -1, -1) for number in range(len(size))]) / k
    _anneal(rows, near, group, place, members, size, k, proposals, HOT * width, COLD * width, seed)
    assert size.min() >= k
    assert sorted(np.concatenate([members[n, :c] for n, c in enumerate(size)])) == list(range(len(rows)))
    envelopes = [np.ptp(rows[members[number, :count]], axis=0) for number, count in enumerate(size)]
    return float(np.average([np.sqrt(np.mean(np.square(one))) for one in envelopes], weights=size))


def _start(rows: Matrix, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Halved where they are widest until fewer than 2k are left."""
    whole, groups = [np.arange(len(rows))], []
    while whole:
        some = whole.pop()
        if len(some) < 2 * k:
            groups.append(some)
            continue
        order = some[np.argsort(rows[some, np.ptp(rows[some], axis=0).argmax()], kind="stable")]
        half = len(some) // k // 2 * k
        whole += [order[:half], order[half:]]
    members = np.full((len(groups), 2 * k), -1, np.int64)
    for number, some in enumerate(groups):
        members[number, : len(some)] = some
    return members, np.array([len(some) for some in groups], np.int64)


@njit(cache=True)
def _loss(rows, members, size, group, without, beside):  # type: ignore[no-untyped-def]
    """The value loss of a group's members together, `without` one and with another `beside`; -1 is none."""
    total = 0.0
    for instant in range(rows.shape[1]):
        low, high = np.inf, -np.inf
        for place in range(size[group]):
            row = members[group, place]
            if row != without:
                low, high = min(low, rows[row, instant]), max(high, rows[row, instant])
        if beside >= 0:
            low, high = min(low, rows[beside, instant]), max(high, rows[beside, instant])
        total += (high - low) ** 2
    count = size[group] - (without >= 0) + (beside >= 0)
    return count * np.sqrt(total / rows.shape[1])


@njit(cache=True)
def _anneal(rows, near, group, place, members, size, k, proposals, hot, cold, seed):  # type: ignore[no-untyped-def]
    np.random.seed(seed)
    loss = np.array([_loss(rows, members, size, number, -1, -1) for number in range(len(size))])
    warmth = hot
    for step in range(proposals):
        if step % 1024 == 0:
            warmth = hot * (cold / hot) ** (step / proposals)
        one = np.random.randint(len(rows))
        here, there = group[one], group[near[one, np.random.randint(near.shape[1])]]
        if here == there:
            continue
        other = -1
        if size[here] == k or size[there] == 2 * k - 1 or np.random.random() < 0.5:
            other = members[there, np.random.randint(size[there])]
        left = _loss(rows, members, size, here, one, other)
        joined = _loss(rows, members, size, there, other, one)
        change = left + joined - loss[here] - loss[there]
        if change > 0 and np.random.random() >= np.exp(-change / warmth):
            continue
        loss[here], loss[there] = left, joined
        gap = place[one]
        if other >= 0:
            members[there, place[other]], place[one] = one, place[other]
            members[here, gap], place[other], group[other] = other, gap, here
        else:
            last = members[here, size[here] - 1]
            members[here, gap], place[last] = last, gap
            members[there, size[there]], place[one] = one, size[there]
            size[here] -= 1
            size[there] += 1
        group[one] = there
