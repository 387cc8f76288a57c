"""Losses and promises by plain NumPy alone, with nothing from the code that they judge."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Whole = npt.NDArray[np.integer[Any]]
_BLOCK = 2048
_CLOSE = 1e-9


def value_loss(low: Numbers, high: Numbers) -> Numbers:
    """Per row eq. 2: the root of the mean squared width of its envelope."""
    losses: Numbers = np.sqrt(((high - low) ** 2).mean(axis=1))
    return losses


def pattern_loss(original: Numbers, published: Numbers) -> Numbers:
    """Per row eq. 3 to the letter: the cosine distance of the vectors of all differences of two instants."""
    first, second = np.triu_indices(original.shape[1], 1)
    out = np.empty(len(original))
    for start in range(0, len(out), _BLOCK):
        rows = slice(start, start + _BLOCK)
        one = original[rows][:, first] - original[rows][:, second]
        other = published[rows][:, first] - published[rows][:, second]
        length = np.sqrt((one**2).sum(axis=1)), np.sqrt((other**2).sum(axis=1))
        flat = np.array([scale <= _CLOSE for scale in length])
        cosine = (one * other).sum(axis=1) / np.where(flat.any(axis=0), 1.0, length[0] * length[1])
        out[rows] = np.where(flat.all(axis=0), 0.0, np.where(flat.any(axis=0), 1.0, 1.0 - cosine))
    return out


def drawn_shapes(symbols: Whole, levels: Whole) -> Numbers:
    """What symbols stand for: the value that halves the cell under the normal curve."""
    meaning = np.zeros((256, 256))
    for level in np.unique(levels).tolist():
        for symbol in range(level):
            meaning[level, symbol] = NormalDist().inv_cdf((symbol + 0.5) / level)
    shapes: Numbers = meaning[levels, symbols]
    return shapes


def kept(group: Whole, subgroup: Whole, k: int, p: int) -> bool:
    """Whether every group has k and every subgroup p, each in one group; the same are left out of both."""
    inside = group >= 0
    pairs = np.unique(np.column_stack([group[inside], subgroup[inside]]), axis=0)
    return bool(
        np.array_equal(inside, subgroup >= 0)
        and (np.unique(group[inside], return_counts=True)[1] >= k).all()
        and (np.unique(subgroup[inside], return_counts=True)[1] >= p).all()
        and len(np.unique(pairs[:, 1])) == len(pairs)
    )
