"""Better and better: rows change places while that lowers width / unit + weight * loss of shape.

A pass looks, for each row, among the rows near it for the best one to swap with or the best subgroup to move
to. Near is who falls into one leaf of a k-d cut; the features are turned at random before each pass, so that
leaves differ. First passes score by the least loss a subgroup can have, with more weight on shape; later ones
score the best two by the loss of the pattern itself. In between whole subgroups change groups. No pass raises
what it scores by, and k and p hold after every change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from timeveil.model.progress import Progress

if TYPE_CHECKING:
    from timeveil.kernels.arrangement import Places, Rows, Rules, State

LEAF = 64
FIRST, THEN = 3, 3
"""Passes by the bound, and exact ones for each unit of effort."""
TRIES = 2
MORE = 1.5
"""How much more shape weighs in the passes by the bound, which do not see all of its loss."""
WORK = 40_000_000
"""Candidates times instants in one call of a kernel, a fraction of a second."""


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
        from timeveil.kernels.arrangement import refresh  # noqa: PLC0415

        for first, last in spans(len(self.places.counts), len(self.rows.u) * self.rows.u.shape[1]):
            refresh(self.rows, self.places, self.state, rules, first, last)

    def objective(self) -> float:
        """Mean width over unit, plus weight times mean loss."""
        width = float(self.places.counts @ self.state.wide) / self.rules.unit
        return (width + self.rules.weight * float(self.state.lost.sum())) / len(self.rows.flat)


def refine(
    held: Arrangement, features: NDArray[Any], effort: int, draw: np.random.Generator, progress: Progress
) -> None:
    """Passes by the bound, then for each unit of effort an exchange of subgroups and exact passes."""
    before, kept = held.objective(), [place.copy() for place in held.places]
    for number in range(FIRST):
        progress("first passes", 0.3 * number / FIRST)
        _pass(held, features, held.rules._replace(weight=MORE * held.rules.weight, tries=0), draw)
    held.update(held.rules)
    if held.objective() > before:  # what the bound promised did not come true
        for place, was in zip(held.places, kept, strict=True):
            place[:] = was
        held.update(held.rules)
    del kept
    for number in range(effort):
        progress("refining", 0.3 + 0.7 * number / effort)
        changed = _exchange(held, features, draw)
        for step in range(THEN):
            changed += _pass(held, features, held.rules, draw)
            progress("refining", 0.3 + 0.7 * (number + (step + 1) / THEN) / effort)
        if changed == 0:
            break


def _pass(held: Arrangement, features: NDArray[Any], rules: Rules, draw: np.random.Generator) -> int:
    from timeveil.kernels.cuts import balanced_cut  # noqa: PLC0415
    from timeveil.kernels.refining import improve  # noqa: PLC0415

    n, d = held.rows.values.shape
    order, offsets, _ = balanced_cut(
        features @ turn(features.shape[1], draw), np.array([0, n]), LEAF, in_place=True
    )
    if rules.tries == 0:
        held.update(rules)
    tally = np.zeros(2, np.int64)
    for first, last in spans(len(offsets) - 1, n * 2 * LEAF * d):
        improve(held.rows, held.places, held.state, rules, order, offsets, first, last, tally)
    held.done["passes"] += 1
    held.done["swaps"] += int(tally[0])
    held.done["moves"] += int(tally[1])
    return int(tally.sum())


def _exchange(held: Arrangement, features: NDArray[Any], draw: np.random.Generator) -> int:
    from timeveil.kernels.arrangement import refresh_group  # noqa: PLC0415
    from timeveil.kernels.cuts import balanced_cut  # noqa: PLC0415
    from timeveil.kernels.exchanging import edges_of, exchange  # noqa: PLC0415

    places = held.places
    edges = np.empty((len(places.size), 2, held.rows.values.shape[1]))
    edges_of(held.rows.values, places, edges)
    order = np.argsort(places.block, kind="stable")
    starts = np.concatenate([[0], np.cumsum(places.size)[:-1]])
    middle = np.add.reduceat(features[order], starts) / places.size[:, None].astype(np.float32)
    turned = (middle @ turn(features.shape[1], draw)).astype(np.float32)
    order, offsets, _ = balanced_cut(turned, np.array([0, len(turned)]), LEAF)
    changed = np.zeros(len(places.counts), np.int64)
    for first, last in spans(len(offsets) - 1, edges.size * LEAF):
        exchange(places, edges, held.state.wide, held.rules.k, order, offsets, first, last, changed)
    for group in np.flatnonzero(changed):
        refresh_group(held.rows.values, places, held.state.reach, held.state.wide, group)
    number = int(changed.sum()) // 2
    held.done["exchanges"] += number
    return number


def turn(width: int, draw: np.random.Generator) -> NDArray[np.float32]:
    """A random rotation."""
    return np.linalg.qr(draw.standard_normal((width, width)))[0].astype(np.float32)


def spans(number: int, work: int) -> Iterator[tuple[int, int]]:
    """Runs of so many things that make so much work, each short enough for an interrupt to be heard."""
    step = max(1, number * WORK // max(work, 1))
    for first in range(0, number, step):
        yield first, min(number, first + step)
