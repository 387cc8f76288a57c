"""The other way to close channels: leave rows or patterns out. Kept to compare with; both lose patterns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from timeveil.errors import InfeasibleError
from timeveil.models.patterns.method.channels import maximal_channels
from timeveil.models.patterns.method.completing import Completed, completed
from timeveil.models.patterns.method.family import Family, mine_family
from timeveil.models.patterns.method.transactions import Ints, Sets, Transactions


@dataclass(frozen=True, slots=True)
class Suppressed:
    """What is left: patterns, the rows that they count, and how many rounds it took."""

    family: Family
    gone: NDArray[np.bool_] | None
    rounds: int


def suppress_rows(
    rows: Transactions,
    family: Family,
    least: int,
    k: int,
    *,
    longest: int,
    most: int,
    structural: bool = True,
) -> Suppressed:
    """Delete the rows of small cells, count again and drop what became rare, until no channel is left."""
    from timeveil.models.patterns.kernels.virtual import rows_of_cells  # noqa: PLC0415

    gone, left, rounds = np.zeros(rows.rows, np.bool_), rows, 0
    while True:
        channels = maximal_channels(family, left, k, most, structural=structural)
        if len(channels) == 0:
            return Suppressed(family, gone, rounds)
        cells = (*channels.present, *channels.absent)
        hit, _ = rows_of_cells(left.holders(), left.rows, *cells)
        gone[np.flatnonzero(~gone)[hit]] = True
        left, rounds = left.without(hit), rounds + 1
        family = _something(mine_family(left, least, longest, most), "row", int(gone.sum()), rows.rows)


def suppress_patterns(
    rows: Transactions, family: Family, k: int, *, most: int, structural: bool = True
) -> Suppressed:
    """Unpublish maximal patterns with a small cell until no channel is left; counts stay exact.

    Of a box that holds several patterns one is taken out, the least supported, which ends the box. If that
    one is not published but follows, one goes that it follows from.
    """
    rounds, total = 0, len(family.item) - 1
    while True:
        channels = maximal_channels(family, rows, k, most, structural=structural)
        if len(channels) == 0:
            return Suppressed(family, None, rounds)
        known = completed(family, most) if structural else Completed.only(family)
        doomed = [_least_supported(known, channels.boxes, int(box)) for box in np.unique(channels.box)]
        left = family.without(np.array(doomed))
        rounds += 1
        family = _something(left, "pattern", total - len(left.item) + 1, total)


def _least_supported(known: Completed, boxes: Sets, box: int) -> int:
    """The node of the rarest way to take one item of every instant of a box."""
    family = known.family
    items = boxes[1][boxes[0][box] : boxes[0][box + 1]]
    nodes: Ints = np.zeros(1, np.int64)
    for instant in np.unique(items // family.kinds):
        here = items[items // family.kinds == instant]
        nodes = np.array([family.child(int(node), int(item)) for node in nodes for item in here])
    return known.source(int(nodes[np.argmin(family.support[nodes])]))


def _something(family: Family, what: str, lost: int, total: int) -> Family:
    if len(family.item) > 1:
        return family
    raise InfeasibleError(
        f"no pattern is left when {lost:,} of {total:,} {what}s are suppressed",
        hint="use method='additive', which loses no pattern, or raise min_support",
        code="no-frequent-pattern",
        facts={"suppressed": lost, "of": total},
    )
