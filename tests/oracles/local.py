"""Local recoding by the book: dictionaries of sets, one gathering at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

Cell = tuple[Any, ...]
Visits = Mapping[Cell, set[str]]
"""The people of each cell."""


def sweep(
    visits: Visits,
    block: Callable[[Cell], Hashable],
    steps: Sequence[Callable[[Cell], Hashable]],
    k: int,
    keeps: Callable[[set[Cell]], bool] = lambda _cells: True,
) -> dict[Cell, int | None]:
    """The step that each cell is published at, None where it is withheld; gatherings in label order.

    A step closes all its gatherings of k people where that leaves nobody or k people open in their block.
    Where it does not, they are closed one after the other, and one that would leave fewer stays open. What
    else is promised, `keeps`, has to hold for gatherings and for what stays open.
    """

    def is_safe(cells: set[Cell]) -> bool:
        return len(_people(visits, cells)) >= k and keeps(cells)

    step_of: dict[Cell, int | None] = dict.fromkeys(visits)
    still_open: dict[Hashable, set[Cell]] = defaultdict(set)
    for cell in visits:
        still_open[block(cell)].add(cell)
    still_open = {name: cells for name, cells in still_open.items() if is_safe(cells)}
    for number, label in enumerate(steps):
        for cells in still_open.values():
            gatherings: dict[Hashable, set[Cell]] = defaultdict(set)
            for cell in cells:
                gatherings[label(cell)].add(cell)
            ready = [g for _, g in sorted(gatherings.items()) if is_safe(g)]
            after = cells.difference(*ready)
            at_once = not after or is_safe(after)
            for gathering in ready:
                if at_once or cells == gathering or is_safe(cells - gathering):
                    cells.difference_update(gathering)
                    step_of |= dict.fromkeys(gathering, number)
    return step_of


def _people(visits: Visits, cells: set[Cell]) -> set[str]:
    return set().union(*(visits[cell] for cell in cells))


def tilings(
    visits: Mapping[int, set[str]], granules: Mapping[str, Callable[[int], Hashable]], k: int
) -> list[dict[int, str | None]]:
    """Every way to cover the days of one place with whole granules of k people that do not overlap."""
    days = sorted(visits)
    valid = []
    for names in product([None, *granules], repeat=len(days)):
        tiling = dict(zip(days, names, strict=True))
        tiles: dict[tuple[str, Hashable], set[int]] = defaultdict(set)
        for day, name in tiling.items():
            if name is not None:
                tiles[name, granules[name](day)].add(day)
        complete = all(
            tile == {day for day in days if granules[name](day) == granule}
            for (name, granule), tile in tiles.items()
        )
        if complete and all(len(set().union(*(visits[d] for d in tile))) >= k for tile in tiles.values()):
            valid.append(tiling)
    return valid


Step = tuple[Callable[[Cell], Hashable], Callable[[Cell], float]]
"""What a cell is published as at a step, and the bits that each of its rows loses there."""


def fewest_bits(visits: Visits, rows: Mapping[Cell, int], steps: Sequence[Step], k: int) -> float:
    """No local recoding that withholds nothing loses fewer bits in all (integer program, HiGHS).

    Every cell goes to one (step, label), and one that is used has k people. That a row is read at the first
    step that covers it is not asked for, so this is a lower bound.
    """
    groups = sorted({(number, label(cell)) for number, (label, _) in enumerate(steps) for cell in visits})
    moves = [(cell, (n, label(cell)), bits(cell)) for cell in visits for n, (label, bits) in enumerate(steps)]
    members = [
        (who, group) for group in groups for who in _people(visits, {c for c, g, _ in moves if g == group})
    ]
    # Columns: a cell goes to a group; a person is counted in a group; a group is used.
    columns: dict[Any, int] = {
        name: place for place, name in enumerate([*((c, g) for c, g, _ in moves), *members, *groups])
    }
    lines: list[tuple[dict[Any, float], float, float]] = [
        ({(c, g): 1.0 for c, g, _ in moves if c == cell}, 1, 1) for cell in visits
    ]
    lines += [({(cell, group): 1.0, group: -1.0}, -1, 0) for cell, group, _ in moves]
    for who, group in members:
        held = {(cell, g): -1.0 for cell, g, _ in moves if g == group and who in visits[cell]}
        lines.append(({(who, group): 1.0, **held}, -len(visits), 0))
    for group in groups:
        lines.append(({group: -k, **{(who, g): 1.0 for who, g in members if g == group}}, 0, len(members)))
    matrix = np.zeros((len(lines), len(columns)))
    for line, (factors, _, _) in enumerate(lines):
        for name, factor in factors.items():
            matrix[line, columns[name]] = factor
    cost = np.zeros(len(columns))
    for cell, group, bits in moves:
        cost[columns[cell, group]] = rows[cell] * bits
    limits = LinearConstraint(matrix, [low for _, low, _ in lines], [high for _, _, high in lines])
    whole = np.ones(len(cost))
    best = milp(cost, constraints=limits, integrality=whole, bounds=Bounds(0, 1), options={"mip_rel_gap": 0})
    assert best.status == 0
    return float(best.fun)
