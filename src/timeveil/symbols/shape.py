"""How far two shapes are apart (Shou et al. 2013, eq. 3).

The paper compares two sequences by the cosine distance of the vectors of all differences between two of their
instants. That is one minus the correlation of the sequences: with unit centred shapes, half the squared
distance between them.

Where we depart from the print
    A constant sequence has no direction: two of them are 0 apart, one and another that is not constant 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from timeveil.symbols.sax import above_lowest

Numbers = NDArray[np.float64]


def unit_shapes(matrix: ArrayLike) -> Numbers:
    """Each row centred on its mean and of length 1; a constant row is 0 everywhere.

    >>> unit_shapes([[0.0, 3.0, 0.0, 3.0], [7.0, 7.0, 7.0, 7.0]]).tolist()
    [[-0.5, 0.5, -0.5, 0.5], [0.0, 0.0, 0.0, 0.0]]
    """
    rows = np.ascontiguousarray(matrix, dtype=np.float64)
    low, high = rows.min(axis=-1, keepdims=True), rows.max(axis=-1, keepdims=True)
    shapes = above_lowest(rows, low, high)
    shapes -= shapes.mean(axis=-1, keepdims=True)
    length = np.sqrt(np.square(shapes).sum(axis=-1, keepdims=True))
    flat = (low == high) | (length == 0)
    shapes /= np.where(flat, 1.0, length)
    shapes[np.broadcast_to(flat, shapes.shape)] = 0.0
    return shapes


def pattern_distance(matrix: ArrayLike, other: ArrayLike) -> Numbers:
    """How far each row of one matrix is from that of another in shape, between 0 and 2.

    >>> rising = [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    >>> pattern_distance(rising, [[2.0, 4.0, 6.0], [3.0, 2.0, 1.0]]).round(6).tolist()
    [0.0, 2.0]
    >>> pattern_distance([[4.0, 4.0], [4.0, 4.0]], [[1.0, 1.0], [1.0, 2.0]]).tolist()
    [0.0, 1.0]
    """
    first, second = unit_shapes(matrix), unit_shapes(other)
    distance: Numbers = np.square(first - second).sum(axis=-1) / 2
    # Exactly one of the two constant: by convention 1 apart. Two constant ones are 0 apart as they are.
    flat = ~first.any(axis=-1) ^ ~second.any(axis=-1)
    return np.where(flat, 1.0, distance)


def difference_vectors(matrix: ArrayLike) -> Numbers:
    """All differences between two instants of each row, the earlier less the later.

    >>> difference_vectors([[5.0, 3.0, 2.0]]).tolist()
    [[2.0, 3.0, 1.0]]
    """
    rows = np.asarray(matrix, dtype=np.float64)
    earlier, later = np.triu_indices(rows.shape[-1], 1)
    vectors: Numbers = rows[..., earlier] - rows[..., later]
    return vectors
