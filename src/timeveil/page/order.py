"""The finer-than order of granularities as a picture: coarser ones above, a line to each directly coarser."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import TopologicalSorter
from itertools import pairwise
from math import inf
from statistics import fmean

from timeveil.calendar.granularity import Granularity
from timeveil.calendar.order import Order
from timeveil.page.svg import Picture, path, rect, text, text_width

_HEIGHT, _ROW, _GAP, _MARGIN = 30.0, 66.0, 26.0, 28.0
_SWEEPS = 80
_NOTE = "dashed: with gaps, some times are in no granule"
_Node = str | tuple[str, str, int]  # a granularity's name, or the way point of a line in a row


def order_picture(granularities: Iterable[Granularity]) -> Picture:
    """The picture of an order.

    >>> from timeveil.calendar.catalogue import CATALOGUE
    >>> order_picture([CATALOGUE["day"], CATALOGUE["week"]]).description
    'day is directly finer than week.'
    """
    order = Order(granularities)
    coarser = {g.name: [h.name for h in order.directly_coarser(g)] for g in order.granularities}
    rows, lines = _layers(coarser)
    sizes = {node: text_width(node) + 28 if isinstance(node, str) else 0.0 for row in rows for node in row}
    x = _positions(rows, lines, sizes)
    left = min((x[node] - size / 2 for node, size in sizes.items()), default=0.0) - _MARGIN
    right = max((x[node] + size / 2 for node, size in sizes.items()), default=0.0) + _MARGIN
    width, height = right - left, 2 * _MARGIN + _HEIGHT + _ROW * (max(len(rows), 1) - 1)
    y = {node: _MARGIN + _HEIGHT / 2 + depth * _ROW for depth, row in enumerate(rows) for node in row}
    body = [path([(x[node] - left, y[node]) for node in nodes], "link") for nodes in lines]
    # Boxes are drawn over the ends of lines.
    for g in order.granularities:
        middle, size = x[g.name] - left, sizes[g.name]
        kind = "stripe1 edge" if g.has_gaps else "stripe1"
        body.append(rect(middle - size / 2, y[g.name] - _HEIGHT / 2, size, _HEIGHT, kind))
        body.append(text(middle, y[g.name] + 4.5, g.name, "strong", "middle"))
    if any(g.has_gaps for g in order.granularities):
        body.append(text(_MARGIN, height, _NOTE, "soft"))
        width, height = max(width, 2 * _MARGIN + text_width(_NOTE)), height + 24
    pairs = [f"{low} is directly finer than {', '.join(highs)}" for low, highs in coarser.items() if highs]
    description = f"{'; '.join(pairs)}."
    return Picture("Which granularity is finer than which", description, height, tuple(body), width)


def _layers(coarser: Mapping[str, list[str]]) -> tuple[list[list[_Node]], list[list[_Node]]]:
    """Rows from the top, each node right below the lowest that is coarser, and the nodes of each line.

    A line has a way point in each row that it passes, so that it goes between boxes.
    """
    depth: dict[str, int] = {}
    # The sorter names a granularity after all those that are coarser.
    for name in TopologicalSorter(coarser).static_order():
        depth[name] = 1 + max((depth[high] for high in coarser[name]), default=-1)
    rows: list[list[_Node]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name in coarser:
        rows[depth[name]].append(name)
    lines: list[list[_Node]] = []
    for low, high in ((low, high) for low, highs in coarser.items() for high in highs):
        way_points = [(low, high, row) for row in range(depth[low] - 1, depth[high], -1)]
        for point in way_points:
            rows[point[-1]].append(point)
        lines.append([low, *way_points, high])
    return rows, lines


def _positions(
    rows: list[list[_Node]], lines: list[list[_Node]], sizes: Mapping[_Node, float]
) -> dict[_Node, float]:
    """The middle of each node: rows in turn are pulled to the mean of their neighbours, without overlap."""
    neighbours: dict[_Node, list[_Node]] = {node: [] for node in sizes}
    for low, high in (pair for line in lines for pair in pairwise(line)):
        neighbours[low].append(high)
        neighbours[high].append(low)
    x = {node: 100.0 * rank for row in rows for rank, node in enumerate(row)}
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 else rows[::-1]:
            centres = {node: fmean(x[other] for other in neighbours[node] or [node]) for node in row}
            row.sort(key=centres.__getitem__)
            edge = -inf
            for node in row:
                x[node] = max(centres[node], edge + sizes[node] / 2)
                edge = x[node] + sizes[node] / 2 + _GAP
            # Pushing to the right moved the row; on average it stays where it was wanted.
            moved = fmean(x[node] - centres[node] for node in row)
            for node in row:
                x[node] -= moved
    return x
