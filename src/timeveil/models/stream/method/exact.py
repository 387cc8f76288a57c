"""The first window solved exactly (Wang et al. 2010, §III: "the more expensive integer linear program").

Whole numbers x[value, origin, slot] say how many records of a value go from their origin to a slot. HiGHS
finds the cheapest that leave every slot l-eligible. The records of a value are then assigned to slots in
order of time, which costs no more (Theorem 1) and is what relays start from.

Cost: integer programming; seconds for hundreds of values. `first_window="grow"` does without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

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
    # A published record costs its move and saves its withholding: the loss of eq. 1, less a constant.
    amounts = _solve(flows, snapshots, l, [move[j - t] - withhold(v) for v, t, j in flows]) if flows else []
    origins: dict[int, list[int]] = {}
    targets: dict[int, list[int]] = {}
    for (value, origin, slot), amount in zip(flows, amounts, strict=True):
        origins.setdefault(value, []).extend([origin] * amount)
        targets.setdefault(value, []).extend([slot] * amount)
    published: dict[int, Published] = {first + slot: {} for slot in range(len(snapshots))}
    withheld = {first + slot: dict(counts) for slot, counts in enumerate(snapshots)}
    for value in sorted(origins):
        # The i-th origin goes to the i-th slot: in order of time, at no greater cost (Theorem 1).
        for origin, slot in zip(sorted(origins[value]), sorted(targets[value]), strict=True):
            cell = published[first + slot].setdefault(value, {})
            cell[first + origin] = cell.get(first + origin, 0) + 1
            withheld[first + origin][value] -= 1
    return published, {slot: {v: n for v, n in counts.items() if n} for slot, counts in withheld.items()}


def _solve(
    flows: Sequence[Flow], snapshots: Sequence[Mapping[int, int]], l: int, costs: Sequence[int]
) -> list[int]:
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 slow to import, rarely used
    from scipy.sparse import coo_matrix  # noqa: PLC0415 slow to import, rarely used

    entries: list[tuple[int, int, float]] = []
    high: list[int] = []
    # No more records of a value leave their origin than arrived there.
    row_of: dict[tuple[int, int], int] = {}
    for column, (value, origin, _) in enumerate(flows):
        if (value, origin) not in row_of:
            row_of[value, origin] = len(high)
            high.append(snapshots[origin][value])
        entries.append((row_of[value, origin], column, 1.0))
    # In every slot, l times the records of a value are at most all records.
    for slot in range(len(snapshots)):
        entering = [(column, flow[0]) for column, flow in enumerate(flows) if flow[2] == slot]
        for value in sorted({value for _, value in entering}):
            entries += [(len(high), column, l * (other == value) - 1.0) for column, other in entering]
            high.append(0)
    rows, columns, factors = zip(*entries, strict=True)
    matrix = coo_matrix((factors, (rows, columns)), shape=(len(high), len(flows))).tocsr()
    solution = milp(
        # Costs count a small unit and can be huge; the solver's tolerances suit numbers near 1.
        np.asarray(costs, float) / max(1, *map(abs, costs)),
        constraints=LinearConstraint(matrix, -np.inf, high),
        integrality=np.ones(len(flows)),
        bounds=Bounds(0, np.inf),
        options={"mip_rel_gap": 0},
    )
    if solution.x is None:
        raise EngineError(
            f"the integer program of the first window was not solved ({len(flows)} variables)",
            hint='use {first_window="grow"}, which needs no program',
        )
    # Whole numbers up to the tolerance of the solver.
    return [round(amount) for amount in solution.x]
