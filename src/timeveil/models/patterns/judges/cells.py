"""What follows from the counts of a box: how many people are in each of its cells.

A cell says of every instant of a box which of its items a person has, or that it is none of them. With the
counts of all sets at hand, the people who have none are all less those who have one; one pass per instant
turns counts into cells, whatever the number of people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from timeveil.evidence.codes import Integers
from timeveil.models.patterns.judges.boxes import Boxes, boxes_of, maximal_only
from timeveil.models.patterns.judges.family import NONE, Family

AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class Channels:
    """Groups that can be computed: `size` people have all of `present` and none of `absent`.

    Items stand in lines, with -1 where there is no further one.
    """

    present: Integers
    absent: Integers
    size: Integers

    def __len__(self) -> int:
        return len(self.size)


def cells_of(family: Family, boxes: Boxes) -> Integers:
    """The cells of boxes of one form, an axis per instant: 0 for none of its items, then one per item."""
    here = np.zeros(len(boxes), dtype=np.int64)
    for axis in boxes.axes:
        items = axis.reshape(len(axis), *[1] * (here.ndim - 1), axis.shape[1])
        further = family.extended(here[..., None], items)
        here = np.concatenate([here[..., None], further], axis=-1)
    cells = family.support[here]
    for place in range(1, cells.ndim):
        along = np.moveaxis(cells, place, 0)
        along[0] -= along[1:].sum(axis=0)
    return cells


def pieces(boxes: Boxes) -> Iterator[Boxes]:
    """Boxes, as many at a time as fit well in memory."""
    step = max(1, AT_ONCE // boxes.cells)
    for start in range(0, len(boxes), step):
        yield boxes.part(slice(start, start + step))


def channels_of(family: Family, k: int, *, structural: bool, maximal: bool = True) -> Channels:
    """All cells of more than nobody and fewer than k; with `maximal`, of maximal boxes alone."""
    found: list[tuple[Integers, Integers, Integers]] = []
    for boxes in boxes_of(family, structural=structural):
        for some in pieces(boxes):
            chosen = maximal_only(family, some) if maximal and structural else some
            if len(chosen):
                found.append(small_cells(family, chosen, lambda cells: (cells > 0) & (cells < k)))
    return _joined(found)


def small_cells(
    family: Family, boxes: Boxes, wanted: Callable[[Integers], np.ndarray]
) -> tuple[Integers, Integers, Integers]:
    """Of some boxes the cells that are wanted: present items, absent items, people."""
    cells = cells_of(family, boxes)
    where = np.nonzero(wanted(cells))
    box, places = where[0], where[1:]
    present = np.full((len(box), len(boxes.axes)), NONE, dtype=np.int64)
    absent = []
    for place, axis in enumerate(boxes.axes):
        some = places[place] > 0
        present[some, place] = axis[box[some], places[place][some] - 1]
        absent.append(np.where(some[:, None], NONE, axis[box]))
    lacking = np.concatenate(absent, axis=1) if absent else np.zeros((len(box), 0), dtype=np.int64)
    return present, lacking, cells[where]


def _joined(found: list[tuple[Integers, Integers, Integers]]) -> Channels:
    """All lines under each other, items first; no line twice."""
    width, wide = (max((part[n].shape[1] for part in found), default=0) for n in (0, 1))
    lines = [np.zeros((0, width + wide + 1), dtype=np.int64)]
    for present, absent, size in found:
        line = np.full((len(size), width + wide + 1), NONE, dtype=np.int64)
        line[:, : present.shape[1]] = -np.sort(-present, axis=1)
        line[:, width : width + absent.shape[1]] = -np.sort(-absent, axis=1)
        line[:, -1] = size
        lines.append(line)
    every = np.unique(np.concatenate(lines), axis=0)
    return Channels(every[:, :width], every[:, width:-1], every[:, -1])
