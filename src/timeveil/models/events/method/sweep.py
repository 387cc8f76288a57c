"""Local recoding: every row as fine as the people around it allow, by one sweep over the steps.

Steps, each a level per quasi-identifier and a granularity, are tried from fine to coarse. At each, cells
(quasi-identifiers at a base granule) that are not published yet and read alike are gathered; a gathering of
at least k people is published under the label of its step and closed. A row is thus read at the first step
whose labels cover it, so anyone who knows a person's quasi-identifiers and one time finds one group of k.

The *rest rule* keeps a way out for everybody: what stays open inside a block, the coarsest label that its
cells may get, is nobody or at least k people. A gathering that would break the rule stays open. Where more is
promised than k people, gatherings and what stays open have to keep that as well.

Anyone who knows the method can tell that a gathering of k people that is missing broke the promise. *Decoys*
are gatherings that keep it and stay open all the same, chosen at random, until all that are missing at a step
keep the promise together. That bounds the pool, not each gathering in it.

Cost: per step one sort of the visits still open in gatherings of at least k visits. Blocks whose rest would
be too small are settled one gathering at a time.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from timeveil.domain.arrays import Codes, Flags, Ints
from timeveil.engines import Cells
from timeveil.models.events.method.protect import Guard, Remainder
from timeveil.reading.encoding import distinct

Labels: TypeAlias = Callable[[Codes], Ints]
WITHHELD = -1


@dataclass
class Decoys:
    """Who is held back: the draw, and how many gatherings it held back."""

    draw: np.random.Generator
    held: int = 0


def sweep(
    cells: Cells,
    block: Ints,
    labels: Iterable[Labels],
    k: int,
    guard: Guard | None = None,
    decoys: Decoys | None = None,
) -> Codes:
    """The step that each cell is published at; `WITHHELD` where its whole block does not keep the promise.

    `labels` has per step, from fine to coarse, a function of cells: a number for what each would be published
    as. Steps refine `block`, which is also the label of the last one; cells without one, -1, are withheld.
    """
    state = _Open(cells, block, k, guard, decoys)
    for step, label in enumerate(labels):
        state.publish(step, label)
    return state.step


class _Open:
    """What is not published yet: cells, their visits, and the people left in each block."""

    def __init__(self, cells: Cells, block: Ints, k: int, guard: Guard | None, decoys: Decoys | None) -> None:
        # What has no block is withheld already.
        self._guard, self._decoys, self._visit = guard, decoys, np.flatnonzero(block[cells.cell] >= 0)
        self.k, self.step = k, np.full(len(cells), WITHHELD, np.int32)
        # An owner is a person in a block: a block has as many people left as owners with an open visit.
        self._cell, person = cells.cell[self._visit], cells.person[self._visit]
        blocks, people = np.unique(block, return_inverse=True)[1].ravel(), int(person.max(initial=0)) + 1
        owners, owner = np.unique(blocks[self._cell] * people + person, return_inverse=True)
        self._owner = owner.ravel()
        self._left, self._block_of_owner = np.bincount(self._owner, minlength=len(owners)), owners // people
        self._people = np.bincount(self._block_of_owner, minlength=int(blocks.max(initial=-1)) + 1)
        # Blocks that break the promise are withheld as they are: nothing more is asked about their visits.
        keeps = self._people >= k
        if guard:
            keeps &= guard.keeps(self._visit, self._block_of_owner[self._owner], len(keeps))
        self._retain(keeps[self._block_of_owner[self._owner]])

    def _retain(self, visits: Flags) -> None:
        """Only these visits stay open."""
        self._cell, self._owner, self._visit = self._cell[visits], self._owner[visits], self._visit[visits]

    def publish(self, step: int, label: Labels) -> None:
        """Close every gathering of k people, as far as the rest rule allows."""
        if not len(self._cell):
            return
        gathering = np.unique(label(self._cell), return_inverse=True)[1].ravel()
        # Fewer than k visits cannot be those of k people; most gatherings of a fine step end here.
        large = np.bincount(gathering)[gathering] >= self.k
        visits = np.flatnonzero(large)
        if not len(visits):
            return
        # Distinct (gathering, owner): steps refine blocks, so an owner is a person here.
        owners = len(self._left)
        pairs, often = np.unique(gathering[visits] * owners + self._owner[visits], return_counts=True)
        crowd, owner = pairs // owners, pairs % owners
        people = np.bincount(crowd, minlength=int(gathering.max()) + 1)
        crowded = people >= self.k
        ready = crowded.copy()
        if self._guard and ready.any():
            candidates = ready[gathering]
            ready &= self._guard.keeps(self._visit[candidates], gathering[candidates], len(ready))

        def settled(ready: Flags) -> Flags:
            """Without those that the rest rule keeps open."""
            chosen, ready = ready[crowd], ready.copy()
            ready[self._refused(crowd[chosen], owner[chosen], often[chosen], gathering)] = False
            return ready

        closed = settled(ready)
        if self._guard and self._decoys:
            good, order, number = int(closed.sum()), self._decoys.draw.permutation(np.flatnonzero(ready)), 0
            while number < len(order) and not self._guard.keeps_as_one(
                self._visit[(crowded & ~closed)[gathering]]
            ):
                number += 1 + number // 2  # few more than needed, and few tries
                ready[order[:number]] = False
                closed = settled(ready)
            self._decoys.held += good - int(closed.sum())
        closing = closed[gathering]
        if not closing.any():
            return
        np.subtract.at(self._left, self._owner[closing], 1)
        gone = distinct(self._owner[closing])
        gone = gone[self._left[gone] == 0]
        self._people -= np.bincount(self._block_of_owner[gone], minlength=len(self._people))
        self.step[self._cell[closing]] = step
        self._retain(~closing)

    def _refused(self, crowd: Ints, owner: Ints, often: Ints, gathering: Ints) -> list[int]:
        """The gatherings that stay open because closing them would leave too few people, or a broken promise.

        Per distinct (gathering, owner) of those that may be closed: both, and how many visits there are.
        """
        closed = np.bincount(owner, weights=often, minlength=len(self._left))
        gone = distinct(owner)
        gone = gone[self._left[gone] == closed[gone]]
        left = self._people - np.bincount(self._block_of_owner[gone], minlength=len(self._people))
        tight = (left > 0) & (left < self.k)
        block, closing = self._block_of_owner[self._owner], np.isin(gathering, crowd)
        if self._guard and len(crowd):
            # The blocks in which people would stay open, and break a promise, if all gatherings were closed.
            stays = ~closing & np.isin(block, block[closing])
            if stays.any():
                numbers, number = np.unique(block[stays], return_inverse=True)
                keeps = self._guard.keeps(self._visit[stays], number.ravel(), len(numbers))
                tight[numbers[~keeps]] = True
        inside = tight[self._block_of_owner[owner]]
        if not inside.any():
            return []
        remainder = None
        if self._guard:
            at = tight[block]
            ready = np.where(closing, gathering, -1)[at]
            remainder = Remainder(self._guard, self._visit[at], self._owner[at], ready, self._block_of_owner)
        # Few blocks are tight: go through their gatherings in the order of their labels.
        crowd, owner, often = crowd[inside], owner[inside], often[inside]
        heads = np.flatnonzero(np.diff(crowd, prepend=-1))
        refused, visits_left, people = [], self._left.copy(), self._people.copy()
        for begin, end in zip(heads, [*heads[1:], len(crowd)], strict=True):
            who, visits = owner[begin:end], often[begin:end]
            number = self._block_of_owner[who[0]]
            after = people[number] - int((visits_left[who] == visits).sum())
            if 0 < after < self.k or not (
                remainder is None or remainder.close(int(crowd[begin]), int(number), int(after))
            ):
                refused.append(int(crowd[begin]))
            else:
                visits_left[who] -= visits
                people[number] = after
        return refused
