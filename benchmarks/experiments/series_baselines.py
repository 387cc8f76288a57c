"""Baselines of the experiments: our reading of what Shou et al. 2013 compare with; not to publish with.

`xu_groups` is the top-down search of Xu et al. (2006), which the paper uses where we use a balanced k-d cut.
`tga` reads Nergiz et al. (2008): groups grown greedily by a cost of log-widths, then every series is
published as a random series inside its group's envelope. `bfp2ka` reads Pensa et al. (2008): a prefix tree of
symbol strings whose branches below k are pruned, each pruned one counted for the frequent one most like it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from timeveil.models.series.method.partition import Labels, Matrix


def xu_groups(matrix: Matrix, minimum: int, seed: int = 0) -> Labels:
    """Parts of [minimum, 2 * minimum) by bisecting from two far seeds.

    >>> xu_groups(np.array([[0.0], [9.0], [1.0], [8.0]]), 2).tolist()
    [0, 1, 0, 1]
    """
    rng = np.random.default_rng(seed)
    labels = np.full(len(matrix), -1, np.int64)
    pending, made = [np.arange(len(matrix))], 0
    while pending:
        rows = pending.pop()
        if len(rows) < 2 * minimum:
            labels[rows] = made
            made += 1
        else:
            pending += reversed(_bisected(matrix, rows, minimum, rng))
    return labels


def _bisected(matrix: Matrix, rows: Labels, minimum: int, rng: np.random.Generator) -> list[Labels]:
    """Two sides: each series goes where the envelope grows least; a side that is too small is filled up."""
    values = matrix[rows]
    one = int(rng.integers(len(rows)))
    for _ in range(3):  # the farthest of the farthest, as in the paper
        other = int(np.argmax(np.square(values - values[one]).sum(axis=1)))
        one, other = other, one
    low, high = values[[one, other]].copy(), values[[one, other]].copy()
    side = np.zeros(len(rows), np.int64)
    side[other] = 1
    for i in rng.permutation(len(rows)).tolist():
        if i in (one, other):
            continue
        wider = np.square(np.maximum(high, values[i]) - np.minimum(low, values[i])).sum(axis=1)
        to = int(np.argmin(wider - np.square(high - low).sum(axis=1)))
        side[i] = to
        low[to], high[to] = np.minimum(low[to], values[i]), np.maximum(high[to], values[i])
    for small, start in ((0, one), (1, other)):
        lacking = minimum - int(np.count_nonzero(side == small))
        if lacking > 0:
            far = np.square(values - values[start]).sum(axis=1)
            far[side == small] = np.inf
            side[np.argsort(far, kind="stable")[:lacking]] = small
    return [rows[side == 0], rows[side == 1]]


def tga(matrix: Matrix, k: int, seed: int = 0) -> tuple[Labels, Matrix]:
    """The group of each series, and the random series published for it.

    >>> group, drawn = tga(np.array([[0.0, 1.0], [9.0, 9.0], [1.0, 0.0], [8.0, 8.0]]), 2)
    >>> group.tolist(), bool((drawn[0] <= 1).all())
    ([0, 1, 0, 1], True)
    """
    rng = np.random.default_rng(seed)
    group = np.full(len(matrix), -1, np.int64)
    spread = np.ptp(matrix, axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    made = 0
    while np.count_nonzero(group < 0) >= k:
        free = np.flatnonzero(group < 0)
        low = high = matrix[free[0]]
        group[free[0]] = made
        for _ in range(k - 1):
            free = np.flatnonzero(group < 0)
            nearest = free[
                np.argmin(_log_width(np.minimum(low, matrix[free]), np.maximum(high, matrix[free]), unit))
            ]
            low, high = np.minimum(low, matrix[nearest]), np.maximum(high, matrix[nearest])
            group[nearest] = made
        made += 1
    lows = np.array([matrix[group == g].min(axis=0) for g in range(made)])
    highs = np.array([matrix[group == g].max(axis=0) for g in range(made)])
    for row in np.flatnonzero(group < 0):
        wider = _log_width(np.minimum(lows, matrix[row]), np.maximum(highs, matrix[row]), unit)
        best = int(np.argmin(wider - _log_width(lows, highs, unit)))
        group[row] = best
        lows[best], highs[best] = np.minimum(lows[best], matrix[row]), np.maximum(highs[best], matrix[row])
    return group, rng.uniform(lows[group], highs[group])


def _log_width(low: Matrix, high: Matrix, unit: Matrix) -> Matrix:
    """Sum over instants of the log of an envelope's share of the whole range."""
    cost: Matrix = np.log1p((high - low) / unit).sum(axis=-1)
    return cost


def bfp2ka(strings: Sequence[str], k: int) -> list[str]:
    """Strings of which each comes at least k times, one for each string; none below k strings.

    >>> bfp2ka(["aab", "aab", "aac", "bbb", "bbb"], 2)
    ['aab', 'aab', 'aab', 'bbb', 'bbb']
    """
    if len(strings) < k:
        return []
    counts = Counter(strings)
    tree: Counter[str] = Counter()
    for string, count in counts.items():
        for end in range(len(string) + 1):
            tree[string[:end]] += count
    frequent = sorted(string for string in counts if tree[string] >= k)
    if not frequent:  # the whole tree is pruned: the commonest path is all that is left
        path = ""
        while len(path) < len(strings[0]):
            path += min((-count, node[-1]) for node, count in tree.items() if node[:-1] == path and node)[1]
        frequent = [path]
    nearest = {
        string: max(frequent, key=lambda other: (_common(string, other), counts[other]))
        for string in counts
        if tree[string] < k
    }
    return [nearest.get(string, string) for string in strings]


def _common(one: str, other: str) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for letter in one:
        before = row
        row = [0]
        for at, theirs in enumerate(other):
            row.append(before[at] + 1 if letter == theirs else max(row[at], before[at + 1]))
    return row[-1]
