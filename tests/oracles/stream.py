"""Slow, obvious twins of the stream method: programs that solve, and a brute force that tries.

`one_step` is Definition 2 as an integer program over records as they stand: every group of records (value,
origin, where it stands) goes on to a later slot, stays, or is withheld; counts of earlier slots do not
change and the last slot is l-eligible. `brute_force` tries every such choice record by record. `offline`
solves a whole stream at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_matrix

from timeveil.models.stream.method.reposition import Window

Group = tuple[int, int, int | None]
"""Value, origin, the slot it stands in or none if it is withheld."""


def groups_of(window: Window) -> Counter[Group]:
    """The records of a window, alike ones counted together."""
    found: Counter[Group] = Counter()
    for number, slot in window.slots.items():
        for value, cell in slot.published.items():
            for origin, count in cell.items():
                found[value, origin, number] += count
        for value, count in slot.withheld.items():
            found[value, number, None] += count
    return found


def _targets(group: Group, window: Window) -> Iterator[int | None]:
    """Where a record may go: forward only, never further than the window is wide."""
    _, origin, here = group
    begin = origin if here is None else here
    yield from (
        slot for slot in range(begin, window.last + 1) if slot == here or slot - origin < window.width
    )
    if here is None or here == window.last:
        yield None


def _cost(value: int, origin: int, slot: int | None, window: Window) -> int:
    return window.withhold(value) if slot is None else window.move[slot - origin]


def loss(window: Window) -> int:
    """Information loss of a window (eqs. 1 and 2)."""
    groups = groups_of(window).items()
    return sum(count * _cost(value, origin, slot, window) for (value, origin, slot), count in groups)


def one_step(window: Window, l: int) -> int:
    """The least information loss that Definition 2 allows, by HiGHS."""
    groups = groups_of(window)
    if not groups:
        return 0
    choices = [(group, target) for group in groups for target in _targets(group, window)]
    rows: list[int] = []
    columns: list[int] = []
    entries: list[float] = []
    low: list[float] = []
    high: list[float] = []

    def constrain(terms: Mapping[int, float], at_least: float, at_most: float) -> None:
        for column, factor in terms.items():
            rows.append(len(low))
            columns.append(column)
            entries.append(factor)
        low.append(at_least)
        high.append(at_most)

    for group, count in groups.items():
        constrain({i: 1 for i, (own, _) in enumerate(choices) if own == group}, count, count)
    for slot in window.slots:
        if slot == window.last:
            continue
        for value in {group[0] for group in groups}:
            now = sum(window.slots[slot].published.get(value, {}).values())
            constrain(
                {i: 1 for i, (own, to) in enumerate(choices) if to == slot and own[0] == value}, now, now
            )
    into_last = [i for i, (_, to) in enumerate(choices) if to == window.last]
    for value in {group[0] for group in groups}:
        constrain({i: l * (choices[i][0][0] == value) - 1.0 for i in into_last}, -np.inf, 0)
    return _solve([_cost(g[0], g[1], to, window) for g, to in choices], rows, columns, entries, low, high)


def _solve(
    costs: Sequence[int],
    rows: Sequence[int],
    columns: Sequence[int],
    entries: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
) -> int:
    matrix = coo_matrix((entries, (rows, columns)), shape=(len(low), len(costs))).tocsr()
    found = milp(
        np.asarray(costs, float),
        constraints=LinearConstraint(matrix, low, high),
        integrality=np.ones(len(costs)),
        bounds=Bounds(0, np.inf),
        options={"mip_rel_gap": 0},
    )
    assert found.success, found.message
    return round(found.fun)


def brute_force(window: Window, l: int) -> int:
    """The same by trying every target of every record."""
    records = [group for group, count in groups_of(window).items() for _ in range(count)]
    fixed = {n: Counter(slot.counts) for n, slot in window.slots.items() if n != window.last}
    best: int | None = None
    for targets in product(*(tuple(_targets(record, window)) for record in records)):
        stands: dict[int, Counter[int]] = {slot: Counter() for slot in window.slots}
        for (value, _, _), target in zip(records, targets, strict=True):
            if target is not None:
                stands[target][value] += 1
        last = stands.pop(window.last)
        if stands != fixed or max(last.values(), default=0) * l > last.total():
            continue
        cost = sum(_cost(r[0], r[1], to, window) for r, to in zip(records, targets, strict=True))
        best = cost if best is None else min(best, cost)
    assert best is not None
    return best


def offline(
    snapshots: Sequence[Mapping[int, int]],
    l: int,
    width: int,
    move: Sequence[int],
    withhold: Callable[[int], int],
) -> int:
    """The least information loss of a whole stream that is known in advance."""
    choices = [
        (value, origin, slot)
        for origin, counts in enumerate(snapshots)
        for value in counts
        for slot in range(origin, min(origin + width, len(snapshots)))
    ]
    if not choices:
        return 0
    rows: list[int] = []
    columns: list[int] = []
    entries: list[float] = []
    high: list[float] = []
    for origin, counts in enumerate(snapshots):
        for value, count in counts.items():
            for i, (v, t, _) in enumerate(choices):
                if (v, t) == (value, origin):
                    rows.append(len(high))
                    columns.append(i)
                    entries.append(1)
            high.append(count)
    for slot in range(len(snapshots)):
        here = [i for i, (_, _, j) in enumerate(choices) if j == slot]
        for value in {choices[i][0] for i in here}:
            for i in here:
                rows.append(len(high))
                columns.append(i)
                entries.append(l * (choices[i][0] == value) - 1.0)
            high.append(0)
    all_withheld = sum(count * withhold(value) for counts in snapshots for value, count in counts.items())
    saved = [move[slot - origin] - withhold(value) for value, origin, slot in choices]
    return all_withheld + _solve(saved, rows, columns, entries, [-np.inf] * len(high), high)
