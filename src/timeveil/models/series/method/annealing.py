"""With more effort than is usual: rows are shaken at random, less and less, and refined again.

Refining takes only what helps, and soon no single change does, however long it looks. Shaking takes changes
for the worse, too, often while it is hot and hardly ever when it has cooled down (simulated annealing). What
it leaves, refined, is better than what refining alone ends with. A row changes places with any member of the
subgroup of a row near it; near is who is nearest within one leaf of a k-d cut, another in every round. Cost:
O(n) times the instants for a unit of effort.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timeveil.domain.progress import Progress
from timeveil.models.series.method.refining import Arrangement, refine, spans, turn

ROUNDS, TIMES = 30, 10
"""Rounds for a unit of effort, and tries per row in each."""
LEAF, NEAR = 64, 10
HOT, COLD = 0.36, 0.036
"""The first and the last heat, in mean losses of a row as they are before."""
SHAKING = 0.9
"""The share of the time that goes into it; the rest is refining."""


def anneal(
    held: Arrangement, features: NDArray[Any], effort: int, draw: np.random.Generator, progress: Progress
) -> None:
    """Shake while it cools down, refine, and put everybody back where that did not help."""
    before, kept = held.objective(), held.kept()
    rounds = ROUNDS * effort
    chance = draw.integers(0, 2**64, 1, np.uint64)
    for number, heat in enumerate(before * np.geomspace(HOT, COLD, rounds)):
        progress("shaking", SHAKING * number / rounds)
        _shake(held, features, heat, draw, chance)
    refine(held, features, draw, lambda doing, part: progress(doing, SHAKING + (1 - SHAKING) * part))
    if held.objective() > before:
        held.put_back(kept)


def _shake(
    held: Arrangement,
    features: NDArray[Any],
    heat: float,
    draw: np.random.Generator,
    chance: NDArray[np.uint64],
) -> None:
    from timeveil.models.series.kernels.annealing import shake  # noqa: PLC0415
    from timeveil.models.series.kernels.cuts import balanced_cut  # noqa: PLC0415

    n, d = held.rows.values.shape
    order, offsets, _ = balanced_cut(
        features @ turn(features.shape[1], draw), np.array([0, n]), LEAF, in_place=True
    )
    tally = np.zeros(2, np.int64)
    for first, last in spans(len(offsets) - 1, n * (2 * LEAF + TIMES) * d):
        state = (held.rows, held.places, held.state, held.rules)
        shake(*state, features, NEAR, heat, TIMES, order, offsets, first, last, chance, tally)
    held.done["swaps"] += int(tally[0])
    held.done["moves"] += int(tally[1])
