"""The order of granularities as a picture: the finest at the bottom, a line up to each directly coarser.

The layout has the usual four steps (Sugiyama, Tagawa, Toda 1981): layers by longest path, way points where
a line passes a layer, a few sweeps that order each layer by the mean position of its neighbours, and then
horizontal positions without overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from statistics import fmean

from timeveil.calendar.granularity import Granularity
from timeveil.calendar.order import Order

_HEIGHT, _ROW, _GAP, _MARGIN, _LETTER = 30.0, 66.0, 26.0, 28.0, 7.6
_SWEEPS, _PULLS = 24, 120
_STIFF = 8
"""How much more two way points of one line pull at each other than at a box."""

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

Node = str | tuple[str, str, int]
"""A granularity's name, or the way point of a line in a layer."""
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Graph:
    """The nodes of every layer from the bottom, with the neighbours of each, and the nodes of each line."""

    layers: list[list[Node]]
    above: Mapping[Node, list[Node]]
    below: Mapping[Node, list[Node]]
    lines: list[list[Node]]


def order_svg(granularities: Iterable[Granularity]) -> str:
    """The finer-than order as a stand-alone SVG picture, for light and dark surroundings.

    >>> from timeveil.calendar.catalogue import CATALOGUE
    >>> order_svg([CATALOGUE["day"], CATALOGUE["week"]]).startswith("<svg ")
    True
    """
    order = Order(granularities)
    coarser = {g.name: [h.name for h in order.directly_coarser(g)] for g in order.granularities}
    widths = {name: len(name) * _LETTER + 28 for name in coarser}
    graph = _fewest_crossings(_layered(coarser))
    points, width, height = _points(graph, widths)
    boxes = [_box(g, *points[g.name], widths[g.name]) for g in order.granularities]
    note = []
    if any(g.has_gaps for g in order.granularities):
        words = "dashed: with gaps, some times are in no granule"
        note = [f'<text class="note" x="{_MARGIN:.0f}" y="{height:.0f}">{words}</text>']
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
            *(_line([points[node] for node in line]) for line in graph.lines),
            *boxes,
            *note,
            "</svg>\n",
        ]
    )


def _layered(coarser: Mapping[str, Sequence[str]]) -> Graph:
    """Each node right below the lowest that is coarser, with a way point in each layer a line passes."""
    depth: dict[str, int] = {}

    def depth_of(name: str) -> int:
        if name not in depth:
            depth[name] = 1 + max((depth_of(high) for high in coarser[name]), default=-1)
        return depth[name]

    bottom = max((depth_of(name) for name in coarser), default=-1)
    layer = {name: bottom - depth[name] for name in coarser}
    layers: list[list[Node]] = [[name for name in coarser if layer[name] == n] for n in range(bottom + 1)]
    lines: list[list[Node]] = []
    for low, highs in coarser.items():
        for high in highs:
            way_points: list[Node] = [(low, high, n) for n in range(layer[low] + 1, layer[high])]
            for n, node in enumerate(way_points, layer[low] + 1):
                layers[n].append(node)
            lines.append([low, *way_points, high])
    above: dict[Node, list[Node]] = {node: [] for nodes in layers for node in nodes}
    below: dict[Node, list[Node]] = {node: [] for node in above}
    for line in lines:
        for a, b in pairwise(line):
            above[a].append(b)
            below[b].append(a)
    return Graph(layers, above, below, lines)


def _fewest_crossings(graph: Graph) -> Graph:
    """The graph with its layers in the best order met in some sweeps up and down."""
    layers = [list(nodes) for nodes in graph.layers]
    best, fewest = [list(nodes) for nodes in layers], _crossings(layers, graph.above)
    for sweep in range(_SWEEPS):
        upwards = sweep % 2 == 0
        neighbours = graph.below if upwards else graph.above
        # Each layer in turn is sorted by the mean rank of its neighbours in the layer before.
        rows = layers if upwards else layers[::-1]
        for fixed, row in pairwise(rows):
            rank = {node: n / max(1, len(fixed) - 1) for n, node in enumerate(fixed)}
            current = {node: n / max(1, len(row) - 1) for n, node in enumerate(row)}
            means = {
                node: fmean(rank[other] for other in neighbours[node]) if neighbours[node] else current[node]
                for node in row
            }
            row.sort(key=means.__getitem__)
        crossings = _crossings(layers, graph.above)
        if crossings < fewest:
            best, fewest = [list(nodes) for nodes in layers], crossings
    return Graph(best, graph.above, graph.below, graph.lines)


def _crossings(layers: Sequence[Sequence[Node]], above: Mapping[Node, list[Node]]) -> int:
    count = 0
    for low, high in pairwise(layers):
        rank = {node: n for n, node in enumerate(high)}
        lines = [(n, rank[up]) for n, node in enumerate(low) for up in above[node]]
        count += sum((a - c) * (b - d) < 0 for n, (a, b) in enumerate(lines) for c, d in lines[:n])
    return count


def _points(graph: Graph, widths: Mapping[str, float]) -> tuple[dict[Node, Point], float, float]:
    """The centre of every box and way point, and the size of the picture.

    Nodes are pulled to the mean of their neighbours, in the order of their layer and without overlap.
    """
    size = {node: widths[node] if isinstance(node, str) else _GAP / 2 for node in graph.above}
    x: dict[Node, float] = {}
    for row in graph.layers:
        x.update(_spread(row, [0.0] * len(row), size))
    for pull in range(_PULLS):
        for row in graph.layers if pull % 2 == 0 else graph.layers[::-1]:
            x.update(_spread(row, [_pull(node, graph, x) for node in row], size))
    left = min((x[node] - size[node] / 2 for node in x), default=0.0)
    right = max((x[node] + size[node] / 2 for node in x), default=0.0)
    top = max(len(graph.layers) - 1, 0)
    points = {
        node: (x[node] - left + _MARGIN, (top - layer) * _ROW + _MARGIN + _HEIGHT / 2)
        for layer, row in enumerate(graph.layers)
        for node in row
    }
    return points, right - left + 2 * _MARGIN, top * _ROW + _HEIGHT + 2 * _MARGIN


def _pull(node: Node, graph: Graph, x: Mapping[Node, float]) -> float:
    neighbours = [*graph.above[node], *graph.below[node]]
    if not neighbours:
        return x[node]
    pulls = [1 if isinstance(node, str) or isinstance(other, str) else _STIFF for other in neighbours]
    return sum(x[other] * pull for other, pull in zip(neighbours, pulls, strict=True)) / sum(pulls)


def _spread(row: Sequence[Node], centres: Sequence[float], size: Mapping[Node, float]) -> dict[Node, float]:
    """The positions nearest to the centres with enough room: neighbours that collide move as one block."""
    offset, run = [], 0.0
    for n, node in enumerate(row):
        run += (size[row[n - 1]] + size[node]) / 2 + _GAP if n else 0.0
        offset.append(run)
    blocks: list[tuple[float, int]] = []
    for centre, before in zip(centres, offset, strict=True):
        blocks.append((centre - before, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, many), (b, more) = blocks[-2], blocks[-1]
            blocks[-2:] = [((a * many + b * more) / (many + more), many + more)]
    shifts = [shift for shift, count in blocks for _ in range(count)]
    return {node: shift + at for node, shift, at in zip(row, shifts, offset, strict=True)}


def _line(points: list[Point]) -> str:
    """A smooth line from the top of one box, upright at both ends, through the way points."""
    (x, y), (last_x, last_y) = points[0], points[-1]
    points = [(x, y - _HEIGHT / 2), *points[1:-1], (last_x, last_y + _HEIGHT / 2)]
    beyond = [(x, y + _ROW), *points, (last_x, last_y - _ROW)]
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for n in range(1, len(points)):
        (before_x, _), (x, y), (to_x, to_y), (after_x, _) = beyond[n - 1 : n + 3]
        lean = 0.0 if n == 1 else (to_x - before_x) / 6
        to_lean = 0.0 if n == len(points) - 1 else (after_x - x) / 6
        reach = (to_y - y) / 2
        path.append(
            f"C{x + lean:.1f} {y + reach:.1f} {to_x - to_lean:.1f} {to_y - reach:.1f} {to_x:.1f} {to_y:.1f}"
        )
    return f'<path class="line" d="{" ".join(path)}"/>'


def _box(granularity: Granularity, x: float, y: float, width: float) -> str:
    group = '<g class="gaps">' if granularity.has_gaps else "<g>"
    return (
        f"{group}<title>{escape(granularity.title)}</title>"
        f'<rect class="box" x="{x - width / 2:.1f}" y="{y - _HEIGHT / 2:.1f}" width="{width:.1f}" '
        f'height="{_HEIGHT:.0f}" rx="7"/>'
        f'<text x="{x:.1f}" y="{y + 4.5:.1f}">{escape(granularity.name)}</text></g>'
    )
