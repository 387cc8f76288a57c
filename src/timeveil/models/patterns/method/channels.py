"""Which small groups can be computed from the counts of frequent patterns?

From the supports of all sets between I and J anyone computes how many rows have exactly I of J. That is a
channel, and a threat if the number is above 0 and below k. The maximal channels are the small cells of the
maximal sets (cell theorem): no channel is left exactly if the rows, projected on any maximal set, are
k-anonymous. In series everybody has one symbol at every instant, and a reader knows that. So counts that
follow from it are added first, and boxes take the place of sets, because a reader adds up what cannot overlap
(`structure`).

Not searched: groups of another form than "has these items and none of those", such as all or none of three
items; and what takes a system of equations to solve.

Cost: one transform over the cells of each maximal box, whatever the number of rows. Every cell is a counted
set of its own, so a box has no more cells than the family has sets.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from timeveil.models.patterns.method.family import Family
from timeveil.models.patterns.method.structure import Boxes, Completed, completed, maximal_boxes
from timeveil.models.patterns.method.transactions import Ints, Sets

MOST_BOXES = 500_000  # judges examine no more: a release that nobody can verify is not made
LISTED = 1000  # groups that the ledger lists


@dataclass(frozen=True)
class Groups:
    """Small groups: what they have, what they lack, and how many rows they are."""

    present: Sets
    absent: Sets
    size: Ints

    def __len__(self) -> int:
        return len(self.size)


@dataclass(frozen=True)
class Channels(Groups):
    """Maximal channels: `size` rows have all of `present` and none of `absent`, which together are a box.

    `boxes` are all maximal boxes of the family, which has what is `published` and what follows; those with a
    channel are `threatened`.
    """

    boxes: tuple[Boxes, ...]
    threatened: tuple[Boxes, ...]
    completed: Completed
    published: Family

    @property
    def family(self) -> Family:
        return self.completed.family

    @cached_property
    def groups(self) -> Groups:
        """The groups that channels are about, each once however many boxes it follows from.

        Those with the most items come first, then they are in the order of items.
        """
        kinds, instants, items = self.family.kinds, self.family.instants, len(self.family.item_of)
        lacks = self.absent
        if kinds > 1:  # where the few have a symbol, it goes without saying that they have no other
            occupied = self.present.owners * instants + self.present.items // kinds
            lacked = self.absent.owners * instants + self.absent.items // kinds
            lacks = self.absent.where(~np.isin(lacked, occupied))
        have, lack, full = (sets.keys(items) for sets in (self.present, lacks, self.absent))
        # equal groups become neighbours; the first of each stays
        order = np.lexsort([*full[::-1], *lack[::-1], *have[::-1]])
        sides = np.stack([*have, *lack])[:, order]
        fresh = (sides[:, 1:] != sides[:, :-1]).any(axis=0)
        first = np.concatenate([order[:1], order[1:][fresh]])
        by_items = [key[first] for key in (*full[::-1], *have[::-1])]
        first = first[np.lexsort([*by_items, -self.present.lengths[first]])]
        return Groups(self.present.take(first), lacks.take(first), self.size[first])


def maximal_channels(family: Family, k: int, most: int, *, structural: bool = True) -> Channels:
    """All maximal channels of more than none and fewer than k rows; more than `most` boxes are refused."""
    completion = completed(family, most, structural=structural)
    complete = completion.family
    if family.kinds == 1 or not structural:
        # maximal sets are boxes with one symbol at every instant
        levels = np.split(complete.maximal, complete.levels[1:-1])
        chosen = [paths[maximal] for paths, maximal in zip(complete.links[0], levels, strict=True)]
        forms = tuple(Boxes((1,) * ranks.shape[1], ranks) for ranks in chosen if len(ranks))
    else:
        forms = maximal_boxes(complete, min(most, MOST_BOXES))
    sizes, presents, absents, threatened = [], [], [], []
    for block in (block for form in forms for block in form.blocks()):
        box, size, flags = block.small(complete, k)
        # ranks may have another order than the items that they are the ranks of
        items = complete.item_of[block.ranks[box]]
        ascending = np.argsort(items, axis=1)
        items = np.take_along_axis(items, ascending, axis=1)
        flags = np.take_along_axis(flags, ascending, axis=1)
        sizes.append(size)
        presents.append(Sets.of_lengths(flags.sum(axis=1), items[flags]))
        absents.append(Sets.of_lengths((~flags).sum(axis=1), items[~flags]))
        threatened.append(Boxes(block.widths, block.ranks[np.unique(box)]))
    present, absent = (Sets.joined(parts) for parts in (presents, absents))
    return Channels(present, absent, np.concatenate(sizes), forms, tuple(threatened), completion, family)


def listed(channels: Channels, names: tuple[str, ...]) -> pa.Table:
    """The groups for the ledger: those that follow from the fewest counts, and of fewest people, first."""
    groups = channels.groups
    order = np.lexsort([groups.present.lengths, groups.size, groups.absent.lengths])[:LISTED]
    sides = {"present": groups.present, "absent": groups.absent}
    lists = {side: sets.take(order).as_lists(names) for side, sets in sides.items()}
    return pa.table({**lists, "people": groups.size[order]})
