"""The other way to close channels: leave rows or patterns out. Kept for comparison; both lose patterns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timeveil.errors import InfeasibleError
from timeveil.models.patterns.method.channels import Boxes, Channels, maximal_channels
from timeveil.models.patterns.method.completing import Completed, completed
from timeveil.models.patterns.method.family import Family, mine_family
from timeveil.models.patterns.method.sanitizing import members_of
from timeveil.models.patterns.method.transactions import Flags, Ints, Transactions


@dataclass(frozen=True, slots=True)
class Suppressed:
    """What remains: patterns, flags of the rows that are withheld (None if all count), and rounds taken."""

    family: Family
    withheld: Flags | None
    rounds: int


def suppress_rows(
    rows: Transactions, channels: Channels, least: int, k: int, *, longest: int, most: int, structural: bool
) -> Suppressed:
    """Withhold the rows of small cells, count again and drop what became rare, until no channel is left."""
    counted, rounds = np.arange(rows.rows), 0
    # Withholding rows changes every count, so new small cells may appear: again until there are none.
    while len(channels):
        rounds += 1
        remaining = rows.take(counted)
        small = np.zeros(len(counted), np.bool_)
        for members in members_of(channels.groups, remaining):
            small |= members
        counted = counted[~small]
        remaining = rows.take(counted)
        family = mine_family(remaining, least, longest, most)
        _require_patterns(family, "row", rows.rows - len(counted), rows.rows)
        channels = maximal_channels(family, remaining, k, most, structural=structural)
    withheld = np.ones(rows.rows, np.bool_)
    withheld[counted] = False
    return Suppressed(channels.published, withheld, rounds)


def suppress_patterns(
    rows: Transactions, channels: Channels, k: int, *, most: int, structural: bool
) -> Suppressed:
    """Unpublish maximal patterns with a small cell until no channel is left; counts stay exact.

    Of a box that holds several patterns the least supported one goes, which ends the box. If that one is not
    published but follows, one goes that it follows from.
    """
    family, rounds = channels.published, 0
    total = len(family) - 1
    while len(channels):
        rounds += 1
        completion = completed(family, most) if structural else Completed.unchanged(family)
        # Every box with a channel must end, and unpublishing one of its patterns ends it.
        doomed = [
            _least_supported(completion, channels.one_box(box)) for box in np.unique(channels.box).tolist()
        ]
        family = family.without(np.array(doomed))
        _require_patterns(family, "pattern", total - len(family) + 1, total)
        channels = maximal_channels(family, rows, k, most, structural=structural)
    return Suppressed(family, None, rounds)


def _least_supported(completion: Completed, box: Boxes) -> int:
    """The node of the rarest way to take one item of every instant of a box."""
    family = completion.family
    nodes: Ints = np.zeros(1, np.int64)
    for column, width, _ in box.units():
        # All ways to take one item of each instant so far; the family has every one, as this is a box.
        nodes = np.concatenate([family.child(nodes, rank) for rank in box.ranks[0, column : column + width]])
    return completion.source(int(nodes[np.argmin(family.support[nodes])]))


def _require_patterns(family: Family, what: str, lost: int, total: int) -> None:
    if len(family) == 1:
        raise InfeasibleError(
            f"no pattern is left when {lost:,} of {total:,} {what}s are suppressed",
            hint='use {method="additive"}, which loses no pattern, or raise {min_support}',
            code="no-frequent-pattern",
            facts={"suppressed": lost, "of": total},
        )
