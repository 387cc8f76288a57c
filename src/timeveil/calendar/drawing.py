"""The order of granularities as a picture: the finest at the bottom, a line up to each directly coarser."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from timeveil.calendar.granularity import Granularity
from timeveil.calendar.layout import Layout, Node, layered
from timeveil.calendar.order import Order

_HEIGHT, _ROW, _GAP, _MARGIN, _LETTER = 30.0, 66.0, 26.0, 28.0, 7.6

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


def order_svg(granularities: Iterable[Granularity]) -> str:
    """The finer-than order as a stand-alone SVG picture, for light and dark surroundings.

    >>> from timeveil.calendar.catalogue import CATALOGUE
    >>> order_svg([CATALOGUE["day"], CATALOGUE["week"]]).startswith("<svg ")
    True
    """
    order = Order(granularities)
    edges = {g.name: [h.name for h in order.directly_coarser(g)] for g in order.granularities}
    widths = {name: len(name) * _LETTER + 28 for name in edges}
    layout = layered(edges, widths, _GAP)
    spots, width, height = _spots(layout, widths)
    lines = [_line([spots[node] for node in path]) for path in layout.paths.values()]
    boxes = [_box(g, *spots[g.name], widths[g.name]) for g in order.granularities]
    note = _note(height) if any(g.has_gaps for g in order.granularities) else ""
    if note:
        width, height = max(width, 370.0), height + 24
    names = {low: ", ".join(highs) for low, highs in edges.items() if highs}
    told = "; ".join(f"{low} is directly finer than {highs}" for low, highs in names.items())
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" role="img" aria-labelledby="order-title order-desc">',
            '<title id="order-title">Which granularity is finer than which</title>',
            f'<desc id="order-desc">{escape(told)}.</desc>',
            f"<style>{_STYLE}</style>",
            f'<rect class="back" width="{width:.0f}" height="{height:.0f}" rx="8"/>',
            *lines,
            *boxes,
            *([note] if note else []),
            "</svg>\n",
        ]
    )


def _spots(layout: Layout, widths: dict[str, float]) -> tuple[dict[Node, tuple[float, float]], float, float]:
    """The centre of every node and way point, and the size of the picture."""
    half = {node: widths.get(node, 0.0) / 2 if isinstance(node, str) else 0.0 for node in layout.place}
    left = min((x - half[node] for node, x in layout.place.items()), default=0.0)
    right = max((x + half[node] for node, x in layout.place.items()), default=0.0)
    top = max(layout.layer.values(), default=0)
    spots = {
        node: (x - left + _MARGIN, (top - layout.layer[node]) * _ROW + _MARGIN + _HEIGHT / 2)
        for node, x in layout.place.items()
    }
    return spots, right - left + 2 * _MARGIN, top * _ROW + _HEIGHT + 2 * _MARGIN


def _line(points: list[tuple[float, float]]) -> str:
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
    kind = ' class="gaps"' if granularity.has_gaps else ""
    return (
        f"<g{kind}><title>{escape(granularity.title)}</title>"
        f'<rect class="box" x="{x - width / 2:.1f}" y="{y - _HEIGHT / 2:.1f}" width="{width:.1f}" '
        f'height="{_HEIGHT:.0f}" rx="7"/>'
        f'<text x="{x:.1f}" y="{y + 4.5:.1f}">{escape(granularity.name)}</text></g>'
    )


def _note(height: float) -> str:
    words = "dashed: with gaps, some times lie in no granule"
    return f'<text class="note" x="{_MARGIN:.0f}" y="{height:.0f}">{words}</text>'
