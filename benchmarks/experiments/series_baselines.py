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

from timeveil.domain.arrays import Ints
from timeveil.models.series.method.partition import Matrix
from timeveil.symbols import envelopes

_STRINGS = 256


def xu_groups(matrix: Matrix, minimum: int, seed: int = 0) -> Ints:
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


def _bisected(matrix: Matrix, rows: Ints, minimum: int, rng: np.random.Generator) -> list[Ints]:
    """Two sides: each series goes where the envelope grows least; a side that is too small is filled up."""
    values = matrix[rows]
    one = int(rng.integers(len(rows)))
    for _ in range(3):  # the farthest of the farthest, as in the paper
        other = int(np.argmax(np.square(values - values[one]).sum(axis=1)))
        one, other = other, one
    low, high = values[[one, other]].copy(), values[[one, other]].copy()
    side = np.zeros(len(rows), np.int64)
    side[other] = 1
    order = rng.permutation(len(rows))
    order = order[(order != one) & (order != other)]
    start, step = 0, 8
    while start < len(order):
        # One after the other; but until one of them widens its side, all see the same two envelopes.
        some = order[start : start + step]
        block = values[some]
        wider = np.square(np.maximum(high[:, None], block) - np.minimum(low[:, None], block)).sum(axis=2)
        to = np.argmin(wider - np.square(high - low).sum(axis=1)[:, None], axis=0)
        widens = ((block < low[to]) | (block > high[to])).any(axis=1)
        settled = int(np.argmax(widens)) + 1 if widens.any() else len(some)
        side[some[:settled]] = to[:settled]
        last, wide = block[settled - 1], to[settled - 1]
        low[wide], high[wide] = np.minimum(low[wide], last), np.maximum(high[wide], last)
        start, step = start + settled, min(max(2 * settled, 8), 4096)
    for small, start in ((0, one), (1, other)):
        lacking = minimum - int(np.count_nonzero(side == small))
        if lacking > 0:
            far = np.square(values - values[start]).sum(axis=1)
            far[side == small] = np.inf
            side[np.argsort(far, kind="stable")[:lacking]] = small
    return [rows[side == 0], rows[side == 1]]


def tga(matrix: Matrix, k: int, seed: int = 0) -> tuple[Ints, Matrix]:
    """The group of each series, and the random series published for it.

    >>> group, drawn = tga(np.array([[0.0, 1.0], [9.0, 9.0], [1.0, 0.0], [8.0, 8.0]]), 2)
    >>> group.tolist(), bool((drawn[0] <= 1).all())
    ([0, 1, 0, 1], True)
    """
    rng = np.random.default_rng(seed)
    group = np.full(len(matrix), -1, np.int64)
    spread = np.ptp(matrix, axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    free, made = _Free(matrix / unit), 0
    while free.number >= k:
        group[free.gathered(k)] = made
        made += 1
    lows, highs = envelopes(matrix, group)
    for row in np.flatnonzero(group < 0):
        wider = _log_width(np.minimum(lows, matrix[row]), np.maximum(highs, matrix[row]), unit)
        best = int(np.argmin(wider - _log_width(lows, highs, unit)))
        group[row] = best
        lows[best], highs[best] = np.minimum(lows[best], matrix[row]), np.maximum(highs[best], matrix[row])
    return group, rng.uniform(lows[group], highs[group])


class _Free:
    """Series that have no group yet, one row per instant, in units of the whole range.

    A sum of logs of 1 + width is least where the product of 1 + width is. An envelope only grows, and no cost
    falls with it: while the best of the nearest few costs no more than any other did before, it is the best.
    """

    NEAREST = 512

    def __init__(self, matrix: Matrix) -> None:
        self._columns, self._row = np.ascontiguousarray(matrix.T), np.arange(len(matrix))
        self._taken = np.zeros(len(matrix), bool)
        self.number = len(matrix)

    def gathered(self, k: int) -> Ints:
        """The rows of a new group: the first free series, and k - 1 times the one that costs least."""
        self._compact()
        first = int(np.argmin(self._taken))
        members, (low, high) = [first], (self._columns[:, first], self._columns[:, first])
        near, others = self._nearest(low, high, members)
        while len(members) < k:
            costs = _widths(self._columns[:, near], low, high)
            costs[self._taken[near]] = np.inf
            best = int(np.argmin(costs))
            if costs[best] > others:
                near, others = self._nearest(low, high, members)
                continue
            chosen = int(near[best])
            self._taken[chosen] = True
            members.append(chosen)
            low, high = (
                np.minimum(low, self._columns[:, chosen]),
                np.maximum(high, self._columns[:, chosen]),
            )
        self.number -= k
        return self._row[members]

    def _nearest(self, low: Matrix, high: Matrix, members: list[int]) -> tuple[Ints, float]:
        """The series that cost least, in their order, and a cost that no other is below."""
        self._taken[members] = True
        costs = _widths(self._columns, low, high)
        costs[self._taken] = np.inf
        if len(costs) <= self.NEAREST:
            return np.arange(len(costs)), np.inf
        near = np.argpartition(costs, self.NEAREST)[: self.NEAREST]
        return np.sort(near), float(costs[near].max())

    def _compact(self) -> None:
        if 8 * np.count_nonzero(self._taken) > len(self._taken):
            left = ~self._taken
            self._columns, self._row = np.ascontiguousarray(self._columns[:, left]), self._row[left]
            self._taken = np.zeros(len(self._row), bool)


def _widths(columns: Matrix, low: Matrix, high: Matrix) -> Matrix:
    """The product over instants of 1 + the width of an envelope with each series added."""
    cost = np.ones(columns.shape[1])
    for column, least, most in zip(columns, low, high, strict=True):
        cost *= np.maximum(column, most) - np.minimum(column, least) + 1.0
    return cost


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
    rare = [string for string in counts if tree[string] < k]
    numbers = np.array([counts[string] for string in frequent])
    nearest: dict[str, str] = {}
    for start in range(0, len(rare), _STRINGS):
        some = rare[start : start + _STRINGS]
        # The longest common subsequence decides, then the count; of equals the first.
        best = np.argmax(_common(some, frequent) * (len(strings) + 1) + numbers, axis=1)
        nearest |= {string: frequent[at] for string, at in zip(some, best.tolist(), strict=True)}
    return [nearest.get(string, string) for string in strings]


def _common(some: Sequence[str], others: Sequence[str]) -> Ints:
    """The length of the longest common subsequence of every string with every other."""
    mine, theirs = (np.array([list(string) for string in part]) for part in (some, others))
    row = np.zeros((theirs.shape[1] + 1, len(some), len(others)), np.int64)
    for letter in mine.T:
        before, row = row, np.zeros_like(row)
        for at, other in enumerate(theirs.T):
            same = letter[:, None] == other[None, :]
            row[at + 1] = np.where(same, before[at] + 1, np.maximum(row[at], before[at + 1]))
    lengths: Ints = row[-1]
    return lengths
