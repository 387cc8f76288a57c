"""The first window solved exactly (Wang et al. 2010, §III: "the more expensive integer linear program").

Whole numbers x[value, origin, slot] say how many records of a value go from their origin to a slot. HiGHS
finds the cheapest that leave every slot l-eligible. Records of a value are then matched to places in order
of time, which costs no more (Theorem 1) and is what relays start from.

Cost: integer programming; seconds for hundreds of values. `first_window="grow"` does without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from timeveil.errors import EngineError
from timeveil.models.stream.method.window import Published

Flow = tuple[int, int, int]
"""Value, origin, slot."""


def solve_window(
    first: int,
    snapshots: Sequence[Mapping[int, int]],
    l: int,
    move: Sequence[int],
    withhold: Callable[[int], int],
) -> tuple[dict[int, Published], dict[int, dict[int, int]]]:
    """What to publish, by slot, and what to withhold, by origin, for snapshots from slot `first` on."""
    flows = [
        (value, origin, slot)
        for origin, counts in enumerate(snapshots)
        for value in sorted(counts)
        for slot in range(origin, len(snapshots))
    ]
    amounts = _solve(flows, snapshots, l, [move[j - t] - withhold(v) for v, t, j in flows]) if flows else []
    published: dict[int, Published] = {first + slot: {} for slot in range(len(snapshots))}
    withheld = {first + slot: dict(counts) for slot, counts in enumerate(snapshots)}
    for value in sorted({value for value, _, _ in flows}):
        own = [(t, j, n) for (v, t, j), n in zip(flows, amounts, strict=True) if v == value]
        origins = sorted(t for t, _, n in own for _ in range(n))
        places = sorted(j for _, j, n in own for _ in range(n))
        for origin, slot in zip(origins, places, strict=True):
            cell = published[first + slot].setdefault(value, {})
            cell[first + origin] = cell.get(first + origin, 0) + 1
            withheld[first + origin][value] -= 1
    kept = {slot: {value: n for value, n in counts.items() if n} for slot, counts in withheld.items()}
    return published, kept


def _solve(
    flows: Sequence[Flow],
    snapshots: Sequence[Mapping[int, int]],
    l: int,
    costs: Sequence[int],
) -> list[int]:
    import numpy as np  # noqa: PLC0415
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415
    from scipy.sparse import coo_matrix  # noqa: PLC0415

    entries: list[tuple[int, int, float]] = []
    high: list[int] = []
    row_of: dict[tuple[int, int], int] = {}
    for column, (value, origin, _) in enumerate(flows):
        if (value, origin) not in row_of:
            row_of[value, origin] = len(high)
            high.append(snapshots[origin][value])
        entries.append((row_of[value, origin], column, 1.0))
    for slot in range(len(snapshots)):
        here = [(column, flow[0]) for column, flow in enumerate(flows) if flow[2] == slot]
        for value in sorted({value for _, value in here}):
            entries += [(len(high), column, l * (other == value) - 1.0) for column, other in here]
            high.append(0)
    rows, columns, factors = zip(*entries, strict=True)
    matrix = coo_matrix((factors, (rows, columns)), shape=(len(high), len(flows))).tocsr()
    found = milp(
        np.asarray(costs, float) / max(1, *map(abs, costs)),
        constraints=LinearConstraint(matrix, -np.inf, high),
        integrality=np.ones(len(flows)),
        bounds=Bounds(0, np.inf),
        options={"mip_rel_gap": 0},
    )
    if found.x is None:
        raise EngineError(
            f"the integer program of the first window, {len(flows)} variables, was not solved",
            hint='use {first_window="grow"}, which needs no program',
            code="engine-failed",
        )
    return [round(amount) for amount in found.x]
