"""All but one of a subgroup put together what they know: how near do they come to the shape of the last?

They know their own series and the published pattern. A pattern that stands for all is near the direction of
the sum of their shapes, so what is missing from it tells of the last. How much it tells is learned on half of
the subgroups, as the best mixture of the pattern and the sum of the known shapes, and judged on the others.
Where a pattern is everybody's own, the last lies in its cells, too. Errors are root mean squares over
instants, in deviations of the last series, and means over one series of each subgroup of exactly P.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.experiments.series_judging import Numbers, drawn_shapes
from benchmarks.experiments.series_methods import METHODS
from timeveil.models.series.method.partition import Matrix, Partition
from timeveil.symbols import z_normalised

K, P = 10, 5
COMPARED = ("adaptive 10", "adaptive 50", "representative 10")


def collusion(matrix: Matrix) -> dict[str, dict[str, float]]:
    """Per method the error of the pattern taken as the shape, and that of the P - 1 others."""
    return {name: _errors(matrix, METHODS[name](matrix, K, P)) for name in COMPARED}


def _errors(matrix: Matrix, partition: Partition) -> dict[str, float]:
    z = z_normalised(matrix)
    shown = drawn_shapes(partition.symbols, partition.levels)
    shown -= shown.mean(axis=1, keepdims=True)
    blocks = [
        (number, np.flatnonzero(partition.subgroup == number))
        for number in np.flatnonzero((np.bincount(partition.subgroup) == P) & (shown.std(axis=1) > 0))
    ]
    number = np.array([block for block, _ in blocks])
    members = np.array([rows for _, rows in blocks])
    pattern = shown[number] / shown[number].std(axis=1, keepdims=True)
    last, others = z[members[:, 0]], z[members[:, 1:]].sum(axis=1)
    guess = _mixed(np.stack([pattern, others]), last)
    if partition.own:
        guess = _in_cells(guess, partition.symbols[number], partition.levels[number])
    return {
        "subgroups": len(blocks),
        "pattern_alone": _error(pattern, last),
        "with_the_others": _error(guess, last),
    }


def _mixed(parts: Numbers, truth: Numbers) -> Numbers:
    """The best sum of multiples of the parts, learned on every other row for those between."""
    guess: Numbers = np.empty_like(truth)
    for mine in (slice(0, None, 2), slice(1, None, 2)):
        theirs = slice(1 - (mine.start or 0), None, 2)
        learned = np.linalg.lstsq(
            parts[:, theirs].reshape(len(parts), -1).T, truth[theirs].ravel(), rcond=None
        )
        guess[mine] = np.tensordot(learned[0], parts[:, mine], 1)
    return guess


def _in_cells(guess: Numbers, symbols: Any, levels: Any) -> Numbers:
    """Each value brought into the cell of its symbol."""
    from scipy.special import ndtri

    ends = ndtri(symbols / levels), ndtri((symbols + 1) / levels)
    inside: Numbers = np.clip(guess, *ends)
    return inside


def _error(guess: Numbers, truth: Numbers) -> float:
    return float(f"{np.sqrt(np.mean((guess - truth) ** 2, axis=1)).mean():.3g}")
