"""The best that anybody could do who knew the whole stream in advance (integer program, HiGHS).

Whole numbers x[value, origin, slot] say how many records of a value go from their origin to a slot at most
`window` - 1 later. Every slot is l-eligible; moving by d slots costs d, withholding costs `window`, as in
`publish_stream` by default. The program sees the future and may rearrange everything, so it is a
bound that no publisher can meet who has to decide slot by slot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_matrix

Counts = Sequence[Mapping[int, int]]
"""Per slot, how many records have each value."""


@dataclass(frozen=True, slots=True)
class Optimum:
    """What the program found: the loss, the records withheld and moved, and whether it proved it."""

    information_loss: float
    withheld: int
    moved: int
    proved: bool


def offline(snapshots: Counts, l: int, window: int, seconds: float = 20.0) -> Optimum:
    """Solve a whole stream at once; after `seconds` the best found so far is taken."""
    flows = [
        (value, origin, slot)
        for origin, counts in enumerate(snapshots)
        for value in counts
        for slot in range(origin, min(origin + window, len(snapshots)))
    ]
    origin, slot = np.array([flow[1:] for flow in flows]).T
    matrix, high = _constraints(snapshots, flows, l)
    found = milp(
        (slot - origin - window).astype(float),
        constraints=LinearConstraint(matrix, -np.inf, high),
        integrality=np.ones(len(flows)),
        bounds=Bounds(0, np.inf),
        options={"mip_rel_gap": 0, "time_limit": seconds},
    )
    amounts = np.rint(found.x).astype(int)
    total = sum(sum(counts.values()) for counts in snapshots)
    moved = int(amounts[slot > origin].sum())
    loss = float(window * total + ((slot - origin - window) * amounts).sum())
    return Optimum(loss, total - int(amounts.sum()), moved, bool(found.status == 0))


def _constraints(
    snapshots: Counts, flows: Sequence[tuple[int, int, int]], l: int
) -> tuple[coo_matrix, list[int]]:
    """Nobody goes twice, and l times a value is never more than all."""
    entries: list[tuple[int, int, float]] = []
    row_of: dict[tuple[int, int], int] = {}
    high: list[int] = []
    for column, (value, origin, _) in enumerate(flows):
        if (value, origin) not in row_of:
            row_of[value, origin] = len(high)
            high.append(snapshots[origin][value])
        entries.append((row_of[value, origin], column, 1.0))
    into: list[list[tuple[int, int]]] = [[] for _ in snapshots]
    for column, (value, _, slot) in enumerate(flows):
        into[slot].append((column, value))
    for here in into:
        for value in sorted({value for _, value in here}):
            entries += [(len(high), column, l * (other == value) - 1.0) for column, other in here]
            high.append(0)
    rows, columns, factors = zip(*entries, strict=True)
    return coo_matrix((factors, (rows, columns)), shape=(len(high), len(flows))).tocsr(), high


def snapshots_of(slot: np.ndarray, value: np.ndarray) -> list[dict[int, int]]:
    """Counts per slot, slots numbered from 0."""
    found: list[dict[int, int]] = [{} for _ in range(int(slot.max()) + 1)]
    for place, code in zip(slot.tolist(), value.tolist(), strict=True):
        found[place][code] = found[place].get(code, 0) + 1
    return found
