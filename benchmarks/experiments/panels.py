"""Small multiples as SVG: many lines in panels that share a legend, legible in light and dark.

Lines differ in colour, dash and marker. Every picture carries its title and a description in words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from benchmarks.experiments.chart import Words

WIDTH = 860
LEFT, TOP, GAP, ABOVE, BELOW = 50, 64, 10, 22, 44
PLOT_HEIGHT = 128
LIGHT = (
    *("#52606d", "#c2410c", "#a16207", "#3b9ae1", "#2563eb", "#1e40af", "#172554", "#7e22ce"),
    *("#7b8794", "#be123c", "#0f766e", "#15803d"),
)
DARK = (
    *("#b8c4d0", "#fb923c", "#fde047", "#3b82f6", "#60a5fa", "#93c5fd", "#dbeafe", "#d8b4fe"),
    *("#9fb3c8", "#fda4af", "#5eead4", "#4ade80"),
)
DASHES = ("", "", "7 4", "2 3", "6 3", "", "9 3 2 3", "", "3 3", "", "5 2", "1 4")


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of one style through points; the style is a number from 0 to 11."""

    name: str
    style: int
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot: its title, its axes, whether each is logarithmic, and its lines."""

    title: str
    x: str
    curves: Sequence[Curve]
    log_x: bool = False
    log_y: bool = False
    top: float | None = None
    ticks: Sequence[float] | None = None


def panels(words: Words, plots: Sequence[Panel], columns: int) -> str:
    """A picture of all plots, row by row, below one legend."""
    names = list({curve.name: curve.style for plot in plots for curve in plot.curves}.items())
    legend, start = _legend(names)
    wide = (WIDTH - 16) / columns
    tall = ABOVE + PLOT_HEIGHT + BELOW + GAP
    rows = -(-len(plots) // columns)
    height = start + rows * tall
    body = [
        f'<rect class="paper" width="{WIDTH}" height="{height:.0f}"/>',
        f'<text class="head" x="16" y="28">{escape(words.title)}</text>',
        f'<text class="soft" x="16" y="48">{escape(words.below)}</text>',
        *legend,
    ]
    for number, plot in enumerate(plots):
        corner = 8 + wide * (number % columns), start + tall * (number // columns)
        body += _panel(plot, corner[0] + LEFT, corner[1] + ABOVE, wide - LEFT - 14)
    return _picture(words, body, height)


def _legend(names: Sequence[tuple[str, int]]) -> tuple[list[str], float]:
    found, x, y = [], 16.0, TOP + 6.0
    for name, style in names:
        wide = 46 + 6.4 * len(name)
        if x + wide > WIDTH:
            x, y = 16.0, y + 18
        found.append(f'<line class="line s{style}" x1="{x}" x2="{x + 24}" y1="{y}" y2="{y}"{_dash(style)}/>')
        found.append(_marker(style, x + 12, y))
        found.append(f'<text x="{x + 30:.0f}" y="{y + 4:.0f}">{escape(name)}</text>')
        x += wide
    return found, y + 16


class _Scale:
    """Numbers to places between two ends."""

    def __init__(
        self, low: float, high: float, ends: tuple[float, float], *, log: bool, ticks: Sequence[float] | None
    ) -> None:
        self._log, self._ends = log, ends
        self.ticks = list(ticks or (_decades(low, high) if log else _round_steps(low, high)))
        near = min(low, self.ticks[0]), max(high, self.ticks[-1])
        self._low, self._high = (math.log10(near[0]), math.log10(near[1])) if log else near

    def place(self, number: float) -> float:
        """Where a number stands."""
        given = math.log10(number) if self._log else number
        share = (given - self._low) / ((self._high - self._low) or 1.0)
        return self._ends[0] + share * (self._ends[1] - self._ends[0])


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten inside, or 1, 2 and 5 times them where there are few, or any round numbers.

    >>> _decades(0.02, 30)
    [0.1, 1.0, 10.0]
    >>> _decades(15, 60)
    [20.0, 50.0]
    >>> _decades(22, 29)
    [22.0, 24.0, 26.0, 28.0]
    """
    for steps in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)):
        found = [
            float(f"{step * 10.0**power:.3g}")
            for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            for step in steps
        ]
        inside = [tick for tick in found if low <= tick <= high]
        if len(inside) >= 2:
            return inside
    return [tick for tick in _round_steps(low, high) if low <= tick <= high]


def _round_steps(low: float, high: float) -> list[float]:
    """Up to six round numbers from at most `low` to at least `high`.

    >>> _round_steps(0, 0.93)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    span = (high - low) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if span / (s * power) <= 5)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{step * n:.6g}") for n in range(first, last + 1)]


def _panel(plot: Panel, x: float, y: float, wide: float) -> list[str]:
    points = [point for curve in plot.curves for point in curve.points]
    if not points:
        return []
    xs, ys = ([point[axis] for point in points] for axis in (0, 1))
    base = y + PLOT_HEIGHT
    floor = min(ys) if plot.log_y else 0.0
    ceiling = max(*ys, plot.top or 0.0)
    across = _Scale(min(xs), max(xs), (x + 6, x + wide - 6), log=plot.log_x, ticks=plot.ticks)
    up = _Scale(floor, ceiling, (base, y + 4), log=plot.log_y, ticks=None)
    found = [f'<text class="name" x="{x - LEFT + 8:.1f}" y="{y - 9:.1f}">{escape(plot.title)}</text>']
    for tick in up.ticks:
        at = up.place(tick)
        found.append(f'<line class="grid" x1="{x:.1f}" x2="{x + wide:.1f}" y1="{at:.1f}" y2="{at:.1f}"/>')
        found.append(
            f'<text class="tick" x="{x - 5:.1f}" y="{at + 3.5:.1f}" text-anchor="end">{_said(tick)}</text>'
        )
    found += [
        f'<text class="tick" x="{across.place(tick):.1f}" y="{base + 15:.1f}" '
        f'text-anchor="middle">{_said(tick)}</text>'
        for tick in across.ticks
    ]
    middle = f'x="{x + wide / 2:.1f}" y="{base + 31:.1f}" text-anchor="middle"'
    found.append(f'<text class="tick" {middle}>{escape(plot.x)}</text>')
    for curve in plot.curves:
        at_points = [(across.place(one), up.place(other)) for one, other in curve.points]
        path = " ".join(f"{one:.1f},{other:.1f}" for one, other in at_points)
        found.append(f'<polyline class="line s{curve.style}" points="{path}"{_dash(curve.style)}/>')
        found += [_marker(curve.style, one, other) for one, other in at_points]
    return found


def _said(tick: float) -> str:
    return f"{tick:,.0f}" if tick >= 1000 else f"{tick:g}"


def _dash(style: int) -> str:
    return f' stroke-dasharray="{DASHES[style]}"' if DASHES[style] else ""


def _marker(style: int, x: float, y: float) -> str:
    name = f'class="dot s{style}"'
    if style % 3 == 0:
        return f'<circle {name} cx="{x:.1f}" cy="{y:.1f}" r="2.7"/>'
    if style % 3 == 1:
        return f'<rect {name} x="{x - 2.5:.1f}" y="{y - 2.5:.1f}" width="5" height="5"/>'
    return f'<path {name} d="M{x:.1f} {y - 3.4:.1f} l3.2 5.7 h-6.4 z"/>'


def _picture(words: Words, body: Sequence[str], height: float) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
            'class="tv-panels" aria-labelledby="tv-title tv-words">',
            f'<title id="tv-title">{escape(words.title)}</title>',
            f'<desc id="tv-words">{escape(words.description)}</desc>',
            f"<style>{_style()}</style>",
            *body,
            "</svg>\n",
        ]
    )


def _style() -> str:
    one = ".tv-panels "
    return "\n".join(
        [
            "",
            one + "text{fill:#1f2933;font-family:system-ui,sans-serif;font-size:12px}",
            one + ".head{font-size:16px;font-weight:600}" + one + ".name{font-weight:600}",
            one + ".tick{font-size:10.5px;fill:#52606d}" + one + ".soft{fill:#52606d}",
            one + ".paper{fill:#ffffff}" + one + ".grid{stroke:#d9e2ec}",
            one + ".line{fill:none;stroke-width:1.8}",
            *_colours(LIGHT),
            "@media (prefers-color-scheme:dark){",
            one + "text{fill:#f0f4f8}" + one + ".tick," + one + ".soft{fill:#b8c4d0}",
            one + ".paper{fill:#12181f}" + one + ".grid{stroke:#33414f}",
            *_colours(DARK),
            "}",
            "",
        ]
    )


def _colours(colours: Sequence[str]) -> list[str]:
    return [
        f".tv-panels .line.s{number}{{stroke:{colour}}}.tv-panels .dot.s{number}{{fill:{colour}}}"
        for number, colour in enumerate(colours)
    ]
