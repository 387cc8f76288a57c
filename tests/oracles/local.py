"""Local recoding by the book: dictionaries of sets, one gathering at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import product

Cell = tuple[Hashable, ...]
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
        tiles: dict[Hashable, set[int]] = defaultdict(set)
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
