"""The balanced k-d cut the slow and obvious way: sort, halve, and go on with each half."""

from __future__ import annotations

import itertools
from typing import Any


def balanced_cut(features: Any, segments: Any, minimum: int) -> tuple[list[int], list[int], list[int]]:
    """Rows part by part, the bounds of the parts, and the segment of each."""
    order: list[int] = []
    offsets: list[int] = [0]
    came: list[int] = []
    for number, (begin, end) in enumerate(itertools.pairwise(segments)):
        for part in _parts(features, list(range(begin, end)), minimum):
            order += part
            offsets.append(len(order))
            came.append(number)
    return order, offsets, came


def _parts(features: Any, rows: list[int], minimum: int) -> list[list[int]]:
    if len(rows) < 2 * minimum:
        return [rows] if rows else []
    columns = range(features.shape[1])
    across = max(columns, key=lambda j: (features[rows, j].max() - features[rows, j].min(), -j))
    pieces = len(rows) // minimum
    left = len(rows) * (pieces // 2) // pieces
    smallest = set(sorted(rows, key=lambda row: (features[row, across], row))[:left])
    front = [row for row in rows if row in smallest]
    back = [row for row in rows if row not in smallest]
    return _parts(features, front, minimum) + _parts(features, back, minimum)


def nearest(features: Any, segments: list[int], size: int) -> list[list[int]]:
    """In each segment the row farthest from the middle with those nearest to it, again and again."""
    groups = []
    for begin, end in itertools.pairwise(segments):
        left = list(range(begin, end))
        while len(left) >= 2 * size:
            middle = features[left].mean(axis=0)
            far = max(left, key=lambda row: ((features[row] - middle) ** 2).sum())
            near = sorted(left, key=lambda row: ((features[row] - features[far]) ** 2).sum())[:size]
            groups.append(sorted(near))
            left = [row for row in left if row not in near]
        if left:
            groups.append(left)
    return groups
