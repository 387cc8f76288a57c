"""Which granularity is finer than which, exactly, and how granules nest.

G is finer than H if every granule of G is inside a granule of H. The order is partial: weeks and months
cross. A granularity without gaps is finer than H exactly if H has no gaps either and each boundary of H is
one of its own; otherwise each uninterrupted stretch of G is looked up in H. Both are checked over the time
after which the two repeat together, at most one Gregorian cycle of 400 years and ten years on either side;
lists of boundaries are compared over their own range, and holidays are always within it. Answers are cached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from graphlib import TopologicalSorter
from html import escape
from itertools import pairwise
from math import inf, lcm
from statistics import fmean

import numpy as np
import numpy.typing as npt

from timeveil.calendar.civil import AFTER, DAY, GAP, Ints, as_ints, year_start
from timeveil.calendar.granularity import Granularity, Rule
from timeveil.calendar.rules import Everything

_WINDOW = (int(year_start(as_ints(1990))) * DAY, int(year_start(as_ints(2410))) * DAY)
_YEAR = 366 * DAY
_GLANCE = 64
"""A look at the first few granules refutes most pairs."""


def is_finer_than(g: Granularity, h: Granularity) -> bool:
    """Whether every granule of g is inside a granule of h.

    >>> from timeveil.calendar.catalogue import CATALOGUE as c
    >>> is_finer_than(c["day"], c["month"]), is_finer_than(c["week"], c["month"])
    (True, False)
    >>> is_finer_than(c["business-day"], c["day"]), is_finer_than(c["day"], c["business-day"])
    (True, False)
    """
    return _finer(g.rule, h.rule)


def up(z: int, g: Granularity, h: Granularity) -> int | None:
    """The granule of h that holds granule z of g, or None where there is none.

    >>> from timeveil.calendar.catalogue import CATALOGUE as c
    >>> up(2006 * 12 + 1, c["month"], c["quarter"]) == 2006 * 4
    True
    """
    if isinstance(h.rule, Everything):
        return 0
    if isinstance(g.rule, Everything) or g.clock != h.clock:
        return None
    start, end = int(g.start(z)), int(g.end(z))
    if start >= end:
        return None
    starts, ends, granules = g.rule.stretches(start, end)
    parts = granules == z
    if not np.any(parts) or not _inside(starts[parts], ends[parts], granules[parts], h.rule):
        return None
    return int(h.index(start))


class Order:
    """The finer-than order of some granularities.

    >>> from timeveil.calendar.catalogue import CATALOGUE as c
    >>> order = Order([c["day"], c["week"], c["month"], c["all"]])
    >>> [g.name for g in order.directly_coarser(c["day"])]
    ['week', 'month']
    """

    def __init__(self, granularities: Iterable[Granularity]) -> None:
        self.granularities = tuple({g.name: g for g in granularities}.values())
        self._position = {g.name: i for i, g in enumerate(self.granularities)}

    def directly_coarser(self, g: Granularity) -> tuple[Granularity, ...]:
        """Those coarser than g with nothing strictly between."""
        return tuple(self.granularities[j] for j in np.flatnonzero(self._edges[self._position[g.name]]))

    def coarser(self, g: Granularity) -> tuple[Granularity, ...]:
        """All those coarser than g."""
        return tuple(self.granularities[j] for j in np.flatnonzero(self._below[self._position[g.name]]))

    @cached_property
    def _below(self) -> npt.NDArray[np.bool_]:
        """Strictly finer; of two that cut time in the same way the one named first counts as the finer."""
        finer = np.array(
            [[g is not h and is_finer_than(g, h) for h in self.granularities] for g in self.granularities],
            dtype=np.bool_,
        ).reshape(len(self.granularities), -1)
        # The upper triangle breaks ties between equals by position, so that the order has no cycle.
        below: npt.NDArray[np.bool_] = finer & (~finer.T | np.triu(np.ones_like(finer), 1))
        return below

    @cached_property
    def _edges(self) -> npt.NDArray[np.bool_]:
        """The transitive reduction."""
        # An edge that two steps can replace has something between its ends.
        steps = self._below.astype(np.int64)
        edges: npt.NDArray[np.bool_] = self._below & (steps @ steps == 0)
        return edges


@lru_cache(maxsize=8_192)
def _finer(g: Rule, h: Rule) -> bool:
    if g == h or isinstance(h, Everything):
        return True
    if isinstance(g, Everything) or g.clock != h.clock or (h.extent and not g.extent):
        return False
    low, high = _window(g, h)
    # A granule of g may have gaps inside: each of its stretches has to be in the same granule of h.
    if g.has_gaps:
        starts, ends, granules = g.stretches(low, high)
        parts = (slice(_GLANCE), slice(None))
        return all(_inside(starts[part], ends[part], granules[part], h) for part in parts)
    if h.has_gaps:
        return False
    # Neither has gaps: every boundary of h has to be one of g, until both repeat.
    high = min(high, low + lcm(g.edges.period * g.least, h.edges.period * h.least))
    first, last = h.index(as_ints([low, high])).tolist()
    counts = (min(_GLANCE, last - first), last - first)
    return all(_has_edges(g, h.start(np.arange(first, first + count + 1))) for count in counts)


def _has_edges(g: Rule, edges: Ints) -> bool:
    """Whether a rule without gaps has a boundary at each of these."""
    return np.array_equal(g.start(g.index(edges)), edges)


def _inside(starts: Ints, ends: Ints, granules: Ints, h: Rule) -> bool:
    """Whether h holds each stretch in one granule, the same for all stretches of one granule of g."""
    first = h.index(starts)
    same = granules[1:] == granules[:-1]
    crosses = (first != h.index(ends - 1)).any() or (first[1:] != first[:-1])[same].any()
    if crosses or np.any(first == GAP):
        return False
    if not h.has_gaps or not len(starts):
        return True
    # A gap of h may be inside a stretch whose ends are in one granule.
    h_starts, h_ends, _ = h.stretches(int(starts[0]), int(ends[-1]))
    gaps = h_ends[:-1] < h_starts[1:]
    # A gap at the end of time, so that every stretch has a next one.
    gap_starts, gap_ends = np.append(h_ends[:-1][gaps], AFTER), np.append(h_starts[1:][gaps], AFTER)
    next_gap = np.searchsorted(gap_ends, starts, side="right")
    return bool(np.all(gap_starts[next_gap] >= ends))


def _window(g: Rule, h: Rule) -> tuple[int, int]:
    """The range of a list of boundaries, or the cycle with a year around each holiday in it."""
    if g.extent:
        return g.extent
    holidays = np.concatenate((g.edges.exceptions, h.edges.exceptions)).tolist()
    low, high = _WINDOW
    return min([low, *(day - _YEAR for day in holidays)]), max([high, *(day + _YEAR for day in holidays)])


_HEIGHT, _ROW, _GAP, _MARGIN, _LETTER = 30.0, 66.0, 26.0, 28.0, 7.6
_SWEEPS = 40
_NOTE = "dashed: with gaps, some times are in no granule"
_STYLE = """
  .back { fill: #ffffff } .line { fill: none; stroke: #9aa5b1; stroke-width: 1.6 }
  .box { fill: #eef3f8; stroke: #5b7a99; stroke-width: 1.2 } .gaps .box { stroke-dasharray: 5 3 }
  text { fill: #1d2b3a; font: 500 13px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif; text-anchor: middle }
  .note { fill: #52606d; font-size: 12px; font-weight: 400; text-anchor: start }
  @media (prefers-color-scheme: dark) {
    .back { fill: #14191f } .line { stroke: #6b7a8a } .box { fill: #22303d; stroke: #8fb0d0 }
    text { fill: #e6edf3 } .note { fill: #a9b5c0 }
  }
"""
_Node = str | tuple[str, str, int]
"""A granularity's name, or the way point of a line in a row."""


def order_svg(granularities: Iterable[Granularity]) -> str:
    """The finer-than order as a stand-alone SVG picture: coarser ones above, a line to each directly coarser.

    >>> from timeveil.calendar.catalogue import CATALOGUE
    >>> order_svg([CATALOGUE["day"], CATALOGUE["week"]]).startswith("<svg ")
    True
    """
    order = Order(granularities)
    coarser = {g.name: [h.name for h in order.directly_coarser(g)] for g in order.granularities}
    rows, lines = _layers(coarser)
    sizes = {node: len(node) * _LETTER + 28 if isinstance(node, str) else 0.0 for row in rows for node in row}
    x = _positions(rows, lines, sizes)
    left = min((x[node] - size / 2 for node, size in sizes.items()), default=0.0) - _MARGIN
    right = max((x[node] + size / 2 for node, size in sizes.items()), default=0.0) + _MARGIN
    points = {
        node: (x[node] - left, _MARGIN + _HEIGHT / 2 + depth * _ROW)
        for depth, row in enumerate(rows)
        for node in row
    }
    boxes = [_box(g, *points[g.name], sizes[g.name]) for g in order.granularities]
    width, height = right - left, 2 * _MARGIN + _HEIGHT + _ROW * (max(len(rows), 1) - 1)
    if any(g.has_gaps for g in order.granularities):
        boxes.append(f'<text class="note" x="{_MARGIN:.0f}" y="{height:.0f}">{_NOTE}</text>')
        width, height = max(width, 370.0), height + 24
    pairs = {low: ", ".join(highs) for low, highs in coarser.items() if highs}
    description = "; ".join(f"{low} is directly finer than {highs}" for low, highs in pairs.items())
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" role="img" aria-labelledby="order-title order-desc">',
            '<title id="order-title">Which granularity is finer than which</title>',
            f'<desc id="order-desc">{escape(description)}.</desc>',
            f"<style>{_STYLE}</style>",
            f'<rect class="back" width="{width:.0f}" height="{height:.0f}" rx="8"/>',
            *(_line([points[node] for node in line]) for line in lines),
            *boxes,
            "</svg>\n",
        ]
    )


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
    """The middle of each node: rows in turn are pulled to the mean of their neighbours, without overlap.

    At first only neighbours in the row before pull, and nodes may change places; later all neighbours do.
    """
    above: dict[_Node, list[_Node]] = {node: [] for node in sizes}
    below: dict[_Node, list[_Node]] = {node: [] for node in sizes}
    for low, high in (pair for line in lines for pair in pairwise(line)):
        above[low].append(high)
        below[high].append(low)
    x = {node: 100.0 * rank for row in rows for rank, node in enumerate(row)}
    for sweep in range(2 * _SWEEPS):
        upwards, ordering = sweep % 2 == 0, sweep < _SWEEPS
        for row in rows[::-1] if upwards else rows:
            wanted = {}
            for node in row:
                pulling = (below if upwards else above)[node] if ordering else above[node] + below[node]
                wanted[node] = fmean(x[other] for other in pulling or [node])
            if ordering:
                row.sort(key=wanted.__getitem__)
            edge = -inf
            for node in row:
                x[node] = max(wanted[node], edge + sizes[node] / 2)
                edge = x[node] + sizes[node] / 2 + _GAP
            # Pushing to the right moved the row; on average it stays where it was wanted.
            moved = fmean(x[node] - wanted[node] for node in row)
            for node in row:
                x[node] -= moved
    return x


def _line(points: list[tuple[float, float]]) -> str:
    """A smooth line through points, upright at each; boxes are drawn over its ends."""
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for (x, y), (to_x, to_y) in pairwise(points):
        middle = (y + to_y) / 2
        path.append(f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
    return f'<path class="line" d="{" ".join(path)}"/>'


def _box(granularity: Granularity, x: float, y: float, width: float) -> str:
    group = '<g class="gaps">' if granularity.has_gaps else "<g>"
    return (
        f"{group}<title>{escape(granularity.title)}</title>"
        f'<rect class="box" x="{x - width / 2:.1f}" y="{y - _HEIGHT / 2:.1f}" width="{width:.1f}" '
        f'height="{_HEIGHT:.0f}" rx="7"/>'
        f'<text x="{x:.1f}" y="{y + 4.5:.1f}">{escape(granularity.name)}</text></g>'
    )
