"""Where the nodes of a layered graph go: few crossings, straight lines, nothing overlapping.

The usual four steps (Sugiyama, Tagawa, Toda 1981): layers by longest path, way points where an edge
passes a layer, a few sweeps that order each layer by the mean place of its neighbours, then places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

_SWEEPS, _PULLS = 24, 120
_STIFF = 8
"""How much straighter an edge keeps between way points than at its ends."""

Node = str | tuple[str, str, int]
"""A name, or the way point of an edge in a layer."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The layer of every node from the bottom, its place along it, and the way points of each edge."""

    layer: Mapping[Node, int]
    place: Mapping[Node, float]
    paths: Mapping[tuple[str, str], tuple[Node, ...]]


def layered(edges: Mapping[str, Sequence[str]], widths: Mapping[str, float], gap: float) -> Layout:
    """Lay out a graph without cycles, its edges pointing upwards.

    >>> found = layered({"day": ["week", "month"], "week": [], "month": []}, {}, 10)
    >>> [found.layer[name] for name in ("day", "week", "month")]
    [0, 1, 1]
    """
    layer: dict[Node, int] = {name: at for name, at in _layers(edges).items()}  # noqa: C416 - widens the key
    paths: dict[tuple[str, str], tuple[Node, ...]] = {}
    for low, highs in edges.items():
        for high in highs:
            between: list[Node] = [(low, high, at) for at in range(layer[low] + 1, layer[high])]
            layer.update({point: layer[low] + 1 + n for n, point in enumerate(between)})
            paths[low, high] = (low, *between, high)
    above: dict[Node, list[Node]] = {node: [] for node in layer}
    below: dict[Node, list[Node]] = {node: [] for node in layer}
    for path in paths.values():
        for a, b in pairwise(path):
            above[a].append(b)
            below[b].append(a)
    rows = _ordered(layer, above, below)
    return Layout(layer, _placed(rows, above, below, widths, gap), paths)


def _layers(edges: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The longest path down from each node; what is not above the deepest one hangs from what is above it."""
    below: dict[str, list[str]] = {node: [] for node in edges}
    for low, highs in edges.items():
        for high in highs:
            below[high].append(low)
    layer: dict[str, int] = {}

    def depth(node: str) -> int:
        if node not in layer:
            layer[node] = 1 + max((depth(low) for low in below[node]), default=-1)
        return layer[node]

    for node in edges:
        depth(node)
    top = max(layer.values(), default=0)
    deepest = next((node for node in edges if layer[node] == 0 and _length(node, edges) == top), None)
    standing = _reached(deepest, edges)
    for node in sorted(edges, key=layer.__getitem__, reverse=True):
        if node not in standing and edges[node]:
            layer[node] = min(layer[high] for high in edges[node]) - 1
    return layer


def _length(node: str, edges: Mapping[str, Sequence[str]]) -> int:
    return 1 + max((_length(high, edges) for high in edges[node]), default=-1)


def _reached(node: str | None, edges: Mapping[str, Sequence[str]]) -> set[str]:
    return set() if node is None else {node}.union(*(_reached(high, edges) for high in edges[node]))


def _ordered(
    layer: Mapping[Node, int], above: Mapping[Node, list[Node]], below: Mapping[Node, list[Node]]
) -> list[list[Node]]:
    rows: list[list[Node]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for node, at in layer.items():
        rows[at].append(node)
    best, fewest = [list(row) for row in rows], _crossings(rows, above)
    for sweep in range(_SWEEPS):
        upwards = sweep % 2 == 0
        neighbours = below if upwards else above
        for at in range(1, len(rows)) if upwards else range(len(rows) - 2, -1, -1):
            beside = rows[at - 1] if upwards else rows[at + 1]
            spot = {node: n / max(1, len(beside) - 1) for n, node in enumerate(beside)}
            own = {node: n / max(1, len(rows[at]) - 1) for n, node in enumerate(rows[at])}
            rows[at].sort(key=lambda node: _mean(neighbours[node], spot, own[node]))
        crossings = _crossings(rows, above)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _mean(neighbours: Sequence[Node], spot: Mapping[Node, float], otherwise: float) -> float:
    known = [spot[node] for node in neighbours if node in spot]
    return fmean(known) if known else otherwise


def _pull(node: Node, neighbours: Sequence[Node], place: Mapping[Node, float]) -> float:
    """The mean place of the neighbours; between two way points of one edge the pull is stronger."""
    if not neighbours:
        return place[node]
    stiff = [1 if isinstance(node, str) or isinstance(other, str) else _STIFF for other in neighbours]
    return sum(place[other] * s for other, s in zip(neighbours, stiff, strict=True)) / sum(stiff)


def _crossings(rows: Sequence[Sequence[Node]], above: Mapping[Node, list[Node]]) -> int:
    count = 0
    for low, high in pairwise(rows):
        spot = {node: n for n, node in enumerate(high)}
        lines = [(n, spot[up]) for n, node in enumerate(low) for up in above[node]]
        count += sum((a - c) * (b - d) < 0 for n, (a, b) in enumerate(lines) for c, d in lines[:n])
    return count


def _placed(
    rows: Sequence[Sequence[Node]],
    above: Mapping[Node, list[Node]],
    below: Mapping[Node, list[Node]],
    widths: Mapping[str, float],
    gap: float,
) -> dict[Node, float]:
    """Centres, pulled to the mean of the neighbours while keeping the order and the distance."""
    size = {node: widths.get(node, gap) if isinstance(node, str) else gap / 2 for row in rows for node in row}
    place: dict[Node, float] = {}
    for row in rows:
        place.update(_spread(row, [0.0] * len(row), size, gap))
    for sweep in range(_PULLS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            wanted = [_pull(node, [*above[node], *below[node]], place) for node in row]
            place.update(_spread(row, wanted, size, gap))
    return place


def _spread(
    row: Sequence[Node], wanted: Sequence[float], size: Mapping[Node, float], gap: float
) -> dict[Node, float]:
    """The places nearest to those wanted with enough room: neighbours that collide move as one block."""
    offset, run = [], 0.0
    for n, node in enumerate(row):
        run += (size[row[n - 1]] + size[node]) / 2 + gap if n else 0.0
        offset.append(run)
    blocks: list[tuple[float, int]] = []
    for n in range(len(row)):
        blocks.append((wanted[n] - offset[n], 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, many), (b, more) = blocks[-2], blocks[-1]
            blocks[-2:] = [((a * many + b * more) / (many + more), many + more)]
    shifts = [shift for shift, count in blocks for _ in range(count)]
    return {node: shift + at for node, shift, at in zip(row, shifts, offset, strict=True)}
