"""Pictures as SVG: one kit and one stylesheet for everything the package draws.

A picture is an object with a title, a description for people who cannot see it, and a body of elements. It is
rendered once: alone, with the stylesheet inside, or inside a page that has the stylesheet already. All text
passes through `text`, `Picture` or `title`, which escape it; no script, font or address is ever needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from timeveil.page.wording import visible

WIDTH, LEFT, RIGHT = 720, 56, 28
LETTER = 6.6
"""Average width of a character, in the units of the pictures."""
PALETTE = 6

_LIGHT = ("#1d6fb8", "#c2410c", "#5b6674", "#15803d", "#7c3aed", "#a16207")
_DARK = ("#60a5fa", "#fb923c", "#9ca3af", "#4ade80", "#c4b5fd", "#facc15")
_DASHES = ("none", "7 3", "2 3", "9 3 2 3", "4 2", "1 2")
_RULES = """text{fill:INK;font-family:system-ui,sans-serif;font-size:12px}
.paper{fill:PAPER}
.head{font-size:16px;font-weight:600}
.strong{font-weight:600}
.soft{fill:SOFT}
.num{font-size:10px}
.private{fill:BAD;font-weight:600}
.grid{stroke:GRID}
.edge{stroke:INK;stroke-width:1.5;stroke-dasharray:5 4}
.band{fill:BAND;fill-opacity:.35;stroke:#829ab1}
.stripe0{fill:STRIPE0}
.stripe1{fill:STRIPE1}
.pattern{fill:none;stroke-width:2.4;stroke-linejoin:round}
.original{fill:none;stroke-width:.8;stroke-opacity:.6}
.cell{fill-opacity:.4}
.far{stroke-dasharray:2 4}"""
_COLOURS = {
    "light": {
        "INK": "#1f2933",
        "PAPER": "#ffffff",
        "SOFT": "#52606d",
        "GRID": "#d5dde6",
        "BAND": "#9fb3c8",
        "STRIPE0": "#f1f5f9",
        "STRIPE1": "#e4e9ef",
        "BAD": "#b91c1c",
    },
    "dark": {
        "INK": "#f0f4f8",
        "PAPER": "#12181f",
        "SOFT": "#b8c4d0",
        "GRID": "#33414f",
        "BAND": "#627d98",
        "STRIPE0": "#19222c",
        "STRIPE1": "#212d39",
        "BAD": "#fca5a5",
    },
}


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn: a title, the same in words, a size, and elements."""

    title: str
    description: str
    height: float
    body: tuple[str, ...]
    width: float = WIDTH

    def svg(self, number: int | None = None) -> str:
        """The picture alone, or as picture `number` of a page that has the stylesheet."""
        name = "tv" if number is None else f"p{number}"
        size = f'viewBox="0 0 {self.width:g} {self.height:.0f}"'
        alone = number is None
        head = ' xmlns="http://www.w3.org/2000/svg"' if alone else ""
        lines = [
            f'<svg{head} {size} role="img" class="tv" aria-labelledby="{name}-title {name}-desc">',
            f'<title id="{name}-title">{escape(visible(self.title))}</title>',
            f'<desc id="{name}-desc">{escape(visible(self.description))}</desc>',
            *([f"<style>\n{stylesheet()}\n</style>"] if alone else []),
            f'<rect class="paper" width="{self.width:g}" height="{self.height:.0f}"/>',
            *self.body,
            "</svg>",
        ]
        return "\n".join(lines) + "\n"


def stylesheet() -> str:
    """The rules of all pictures, in light and dark colours; paper is always light."""
    dark = _themed("dark", _DARK).replace("\n", "\n  ")
    dashes = "\n".join(f".tv .pattern.s{n}{{stroke-dasharray:{dash}}}" for n, dash in enumerate(_DASHES))
    return (
        f"{_themed('light', _LIGHT)}\n{dashes}\n@media screen and (prefers-color-scheme:dark){{\n  {dark}\n}}"
    )


def _themed(theme: str, palette: Sequence[str]) -> str:
    rules = "\n".join(f".tv {rule}" for rule in _RULES.splitlines())
    # In reverse order, so that no name is replaced inside a longer one.
    for name, colour in sorted(_COLOURS[theme].items(), reverse=True):
        rules = rules.replace(name, colour)
    fills = [f".tv .f{n}{{fill:{colour}}}" for n, colour in enumerate(palette)]
    strokes = [f".tv .s{n}{{stroke:{colour}}}" for n, colour in enumerate(palette)]
    return "\n".join([rules, *fills, *strokes])


@dataclass(frozen=True, slots=True)
class Panel:
    """A rectangle with `count` places from left to right and values from `low` to `high` upward."""

    left: float
    top: float
    width: float
    height: float
    low: float
    high: float
    count: int

    @property
    def bottom(self) -> float:
        """Where the lowest value is."""
        return self.top + self.height

    def x(self, index: float) -> float:
        """Where a place is, the first and last on the edges."""
        return self.left + self.width * (0.5 if self.count == 1 else index / (self.count - 1))

    def y(self, value: float) -> float:
        """Where a value is."""
        return self.top + self.height * (1 - (value - self.low) / (self.high - self.low))

    def points(self, places: Sequence[int], values: Any) -> list[tuple[float, float]]:
        """Where values at places are."""
        return [(self.x(place), self.y(float(values[place]))) for place in places]


def heading(title: str, subtitle: str, left: float = LEFT) -> list[str]:
    """A title and a line of explanation."""
    return [text(left, 28, title, "head"), text(left, 47, subtitle, "soft")]


def legend(
    names: Sequence[str], colours: Sequence[int], left: float = LEFT, top: float = 60
) -> Iterator[str]:
    """Coloured squares with their meaning, side by side."""
    for name, colour in zip(names, colours, strict=True):
        yield rect(left, top, 11, 11, f"f{colour}")
        yield text(left + 17, top + 10, name)
        left += 41 + text_width(name)


def value_axis(panel: Panel, values: Sequence[float], labels: Sequence[str]) -> Iterator[str]:
    """Lines across the panel at some values, labelled on the left."""
    for value, label in zip(values, labels, strict=True):
        y = panel.y(value)
        yield line(panel.left, y, panel.left + panel.width, y, "grid")
        yield text(panel.left - 7, y + 4, label, "soft", "end")


def place_axis(panel: Panel, names: Sequence[str]) -> Iterator[str]:
    """Names of the places below the panel, as many as fit; the first and the last always."""
    room = max(text_width(name) for name in names) + 14
    # Every n-th name, so that neighbours have room; the last needs more where it ends at the edge.
    every, last = max(1, math.ceil(len(names) * room / panel.width)), len(names) - 1
    last_anchor = "end" if len(names[last]) > 6 else "middle"
    free = room * (1.5 if last_anchor == "end" else 1.0)
    fitting = [n for n in range(0, last, every) if not n or panel.x(last) - panel.x(n) >= free]
    for index in [*fitting, last]:
        x = panel.x(index)
        anchor = last_anchor if index == last and last else "middle"
        yield line(x, panel.bottom, x, panel.bottom + 4, "grid")
        yield text(x, panel.bottom + 17, names[index], "soft", anchor)


def round_numbers(low: float, high: float, about: int) -> list[float]:
    """A few round numbers inside a range.

    >>> round_numbers(0.13, 0.87, 4)
    [0.2, 0.4, 0.6, 0.8]
    """
    rough = (high - low) / about
    size = 10.0 ** math.floor(math.log10(rough))
    # A step somewhat below the rough one is fine: a few more lines are better than too few.
    step = next(size * part for part in (1, 2, 5, 10) if size * part >= rough * 0.8)
    # Twelve digits remove what multiplication adds, such as the end of 0.30000000000000004.
    return [float(f"{n * step:.12g}") for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """One line of text, escaped."""
    named = f' class="{kind}"' if kind else ""
    aligned = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text{named} x="{x:.1f}" y="{y:.1f}"{aligned}>{escape(visible(words))}</text>'


def rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    """A filled rectangle."""
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def line(x: float, y: float, to_x: float, to_y: float, kind: str) -> str:
    """A straight line."""
    return f'<line class="{kind}" x1="{x:.1f}" x2="{to_x:.1f}" y1="{y:.1f}" y2="{to_y:.1f}"/>'


def path(points: Sequence[tuple[float, float]], kind: str, *, closed: bool = False) -> str:
    """A line through points, or the area they enclose; a single point is a dot."""
    if len(points) == 1 and not closed:
        return dot(*points[0], kind)
    pairs = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<{"polygon" if closed else "polyline"} class="{kind}" points="{pairs}"/>'


def dot(x: float, y: float, kind: str) -> str:
    """A dot."""
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>'


def text_width(words: str) -> float:
    """About how wide a text is."""
    return LETTER * len(words)


def shortened(words: str, longest: int) -> str:
    """A text cut to a number of characters.

    >>> shortened("abcdef", 4)
    'abc…'
    """
    return words if len(words) <= longest else f"{words[: longest - 1]}…"
