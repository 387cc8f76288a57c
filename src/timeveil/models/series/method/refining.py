"""Better and better: rows change places while that lowers width / unit + weight * loss of shape.

A pass looks, for each row, among the rows near it for the best one to swap with or the best subgroup to move
to. Near is who falls into one leaf of a k-d cut; the features are turned at random before each pass, so that
leaves differ. First passes score by the least loss a subgroup can have; later ones score the best two by the
loss of the pattern itself. In between whole subgroups change groups. No pass raises what it scores by, and k
and p hold after every change.

How far it goes depends on how many numbers there are: few are looked at often and in large leaves, within
seconds; many in fewer passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from timeveil.domain.progress import Progress

if TYPE_CHECKING:
    from timeveil.models.series.kernels.arrangement import Places, Rows, Rules, State

FEW = 500_000
"""Up to so many numbers, series times instants, refining goes as far as it does."""
TRIES = 2
WORK = 40_000_000
"""Candidates times instants in one call of a kernel, a fraction of a second."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How far refining goes: the size of leaves, passes by the bound, and exact passes."""

    leaf: int
    first: int
    then: int


def reach_of(numbers: int) -> Reach:
    """By the number of series times instants.

    >>> reach_of(20_000 * 10), reach_of(1_000_000 * 10)
    (Reach(leaf=128, first=4, then=10), Reach(leaf=64, first=3, then=3))
    """
    if numbers <= FEW:
        return Reach(128, 4, 10)
    return Reach(64, 3, max(3, 10 * FEW // numbers))


@dataclass(slots=True)
class Arrangement:
    """Rows, where they are, and what follows from it."""

    rows: Rows
    places: Places
    state: State
    rules: Rules
    done: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("passes", "swaps", "moves", "exchanges"), 0)
    )

    def update(self, rules: Rules) -> None:
        """Work out everything anew, to be judged by other rules."""
        from timeveil.models.series.kernels.arrangement import refresh  # noqa: PLC0415

        for first, last in spans(len(self.places.counts), len(self.rows.u) * self.rows.u.shape[1]):
            refresh(self.rows, self.places, self.state, rules, first, last)

    def kept(self) -> list[NDArray[np.int64]]:
        """The places as they are, to be put back."""
        return [place.copy() for place in self.places]

    def put_back(self, kept: list[NDArray[np.int64]]) -> None:
        """Everybody back to where they were."""
        for place, was in zip(self.places, kept, strict=True):
            place[:] = was
        self.update(self.rules)

    def objective(self) -> float:
        """Mean width over unit, plus weight times mean loss."""
        width = float(self.places.counts @ self.state.wide) / self.rules.unit
        return (width + self.rules.weight * float(self.state.lost.sum())) / len(self.rows.flat)


def refine(held: Arrangement, features: NDArray[Any], draw: np.random.Generator, progress: Progress) -> None:
    """Passes by the bound, then an exchange of subgroups and exact passes."""
    reach = reach_of(held.rows.values.size)
    before, kept = held.objective(), held.kept()
    for number in range(reach.first):
        progress("first passes", 0.3 * number / reach.first)
        _pass(held, features, held.rules._replace(tries=0), reach.leaf, draw)
    held.update(held.rules)
    if held.objective() > before:  # what the bound promised did not come true
        held.put_back(kept)
    del kept
    _exchange(held, features, reach.leaf, draw)
    for number in range(reach.then):
        progress("refining", 0.3 + 0.7 * number / reach.then)
        _pass(held, features, held.rules, reach.leaf, draw)


def _pass(
    held: Arrangement, features: NDArray[Any], rules: Rules, leaf: int, draw: np.random.Generator
) -> None:
    from timeveil.models.series.kernels.cuts import balanced_cut  # noqa: PLC0415
    from timeveil.models.series.kernels.refining import improve  # noqa: PLC0415

    n, d = held.rows.values.shape
    order, offsets, _ = balanced_cut(
        features @ turn(features.shape[1], draw), np.array([0, n]), leaf, in_place=True
    )
    if rules.tries == 0:
        held.update(rules)
    tally = np.zeros(2, np.int64)
    for first, last in spans(len(offsets) - 1, n * 2 * leaf * d):
        improve(held.rows, held.places, held.state, rules, order, offsets, first, last, tally)
    held.done["passes"] += 1
    held.done["swaps"] += int(tally[0])
    held.done["moves"] += int(tally[1])


def _exchange(held: Arrangement, features: NDArray[Any], leaf: int, draw: np.random.Generator) -> None:
    from timeveil.models.series.kernels.arrangement import refresh_group  # noqa: PLC0415
    from timeveil.models.series.kernels.cuts import balanced_cut  # noqa: PLC0415
    from timeveil.models.series.kernels.exchanging import edges_of, exchange  # noqa: PLC0415

    places = held.places
    edges = np.empty((len(places.size), 2, held.rows.values.shape[1]))
    edges_of(held.rows.values, places, edges)
    order = np.argsort(places.block, kind="stable")
    starts = np.concatenate([[0], np.cumsum(places.size)[:-1]])
    middle = np.add.reduceat(features[order], starts) / places.size[:, None].astype(np.float32)
    turned = (middle @ turn(features.shape[1], draw)).astype(np.float32)
    order, offsets, _ = balanced_cut(turned, np.array([0, len(turned)]), leaf)
    changed = np.zeros(len(places.counts), np.int64)
    for first, last in spans(len(offsets) - 1, edges.size * leaf):
        exchange(places, edges, held.state.wide, held.rules.k, order, offsets, first, last, changed)
    for group in np.flatnonzero(changed):
        refresh_group(held.rows.values, places, held.state.reach, held.state.wide, group)
    held.done["exchanges"] += int(changed.sum()) // 2


def turn(width: int, draw: np.random.Generator) -> NDArray[np.float32]:
    """A random rotation."""
    return np.linalg.qr(draw.standard_normal((width, width)))[0].astype(np.float32)


def spans(number: int, work: int) -> Iterator[tuple[int, int]]:
    """Runs of so many things that make so much work, each short enough for an interrupt to be heard."""
    step = max(1, number * WORK // max(work, 1))
    for first in range(0, number, step):
        yield first, min(number, first + step)
