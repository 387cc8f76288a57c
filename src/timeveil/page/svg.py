"""Pictures as SVG: one kit and one stylesheet for everything the package draws.

A picture is an object with a title, a description for people who cannot see it, and a body of elements. It is
rendered once: alone, with the stylesheet inside, or inside a page that has the stylesheet already. All text
passes through `text`, `Picture` or `title`, which escape it; no script, font or address is ever needed.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from timeveil.page.wording import visible, wrapped

WIDTH, LEFT, RIGHT = 720, 56, 28
LETTER = 6.6  # average width of a character, in the units of the pictures
RELEASE, ORIGINAL, OTHER, OTHER_TOO, RISK, LOSS = range(6)
"""What a colour means, in every picture: blue is what is published, orange the original, grey and green are
other ways to publish the same, violet is a risk, and ochre a loss. Everything else is ink, band or grid.
`f0` to `f5` fill, `s0` to `s5` are of lines."""
SHADES, DASHES = 3, 6
"""Patterns of a group differ by shades of the release's blue, `b0` to `b2`, and by dashes, `d0` to `d5`."""
COLOURS = {
    "ink": ("#1f2933", "#f0f4f8"),
    "paper": ("#ffffff", "#12181f"),
    "soft": ("#52606d", "#b8c4d0"),
    "panel": ("#f4f6f8", "#1b242e"),
    "line": ("#cbd2d9", "#3a4856"),
    "link": ("#1d5f9e", "#8ec5ff"),
    "good": ("#0b5d33", "#8ce0ae"),
    "good-paper": ("#e3f4ea", "#12301f"),
    "bad": ("#b91c1c", "#fca5a5"),
    "bad-paper": ("#fdeaea", "#421616"),
    "grid": ("#d5dde6", "#33414f"),
    "band": ("#9fb3c8", "#627d98"),
    "stripe0": ("#f1f5f9", "#19222c"),
    "stripe1": ("#e4e9ef", "#212d39"),
}
"""The colours of pages and pictures, light and dark."""
_PALETTE = {
    RELEASE: ("#1d6fb8", "#60a5fa"),
    ORIGINAL: ("#c2410c", "#fb923c"),
    OTHER: ("#5b6674", "#9ca3af"),
    OTHER_TOO: ("#15803d", "#4ade80"),
    RISK: ("#7c3aed", "#c4b5fd"),
    LOSS: ("#a16207", "#facc15"),
}
_SHADES = (_PALETTE[RELEASE], ("#0b2f55", "#dbeafe"), ("#3f9be8", "#2f7fe0"))
_DASHES = ("none", "7 3", "2 3", "9 3 2 3", "4 2", "1 2")
# Colours are filled in: programs that convert pictures know no variables.
_RULES = """text{fill:%(ink)s;font-family:system-ui,sans-serif;font-size:12px}
.paper{fill:%(paper)s}
.head{font-size:16px;font-weight:600}
.strong{font-weight:600}
.soft{fill:%(soft)s}
.num{font-size:10px}
.private{fill:%(bad)s;font-weight:600}
.grid{stroke:%(grid)s}
.edge{stroke:%(ink)s;stroke-width:1.5;stroke-dasharray:5 4}
.band{fill:%(band)s;fill-opacity:.35;stroke:#829ab1}
.stripe0{fill:%(stripe0)s}
.stripe1{fill:%(stripe1)s}
.pattern{fill:none;stroke-width:2.4;stroke-linejoin:round}
.original{fill:none;stroke-width:.8;stroke-opacity:.6}
.link{fill:none;stroke:%(soft)s}
.cell{fill-opacity:.4}
.far{stroke-dasharray:2 4}"""


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn: a title, the same in words, a size, and elements."""

    title: str
    description: str
    height: float
    body: tuple[str, ...]
    width: float = WIDTH
    role: str = "img"  # or group, if there are links in it

    def svg(self, number: int | None = None) -> str:
        """The picture alone, or as picture `number` of a page that has the stylesheet."""
        alone, name = number is None, "tv" if number is None else f"p{number}"
        head = ' xmlns="http://www.w3.org/2000/svg"' if alone else ""
        size = f'viewBox="0 0 {self.width:g} {self.height:.0f}"'
        lines = [
            f'<svg{head} {size} role="{self.role}" class="tv" aria-labelledby="{name}-title {name}-desc">',
            f'<title id="{name}-title">{escape(visible(self.title))}</title>',
            f'<desc id="{name}-desc">{escape(visible(self.description))}</desc>',
            *([f"<style>\n{stylesheet()}\n</style>"] if alone else []),
            f'<rect class="paper" width="{self.width:g}" height="{self.height:.0f}"/>',
            *self.body,
            "</svg>",
        ]
        return "\n".join(lines) + "\n"

    def html(self, number: int) -> str:
        return f'<figure tabindex="0">\n{self.svg(number)}</figure>'

    def text(self, width: int) -> list[str]:
        words = f"[Picture] {visible(self.title)}. {visible(self.description)}"
        return wrapped(words, width, indent="  ")

    def data(self) -> dict[str, Any]:
        words = {"title": visible(self.title), "words": visible(self.description)}
        return {"kind": "picture", **words, "svg": self.svg()}


def stylesheet() -> str:
    """The rules of all pictures, in light and dark colours; paper is always light."""
    light, dark = _themed(0), _themed(1).replace("\n", "\n  ")
    dashes = "\n".join(f".tv .d{n}{{stroke-dasharray:{dash}}}" for n, dash in enumerate(_DASHES))
    return f"{light}\n{dashes}\n@media screen and (prefers-color-scheme:dark){{\n  {dark}\n}}"


def _themed(theme: int) -> str:
    rules = (_RULES % {name: pair[theme] for name, pair in COLOURS.items()}).splitlines()
    for letter, property_name in (("f", "fill"), ("s", "stroke")):
        rules += [f".{letter}{n}{{{property_name}:{pair[theme]}}}" for n, pair in _PALETTE.items()]
    rules += [f".b{n}{{stroke:{pair[theme]}}}" for n, pair in enumerate(_SHADES)]
    return "\n".join(f".tv {rule}" for rule in rules)


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
        return self.top + self.height

    def x(self, index: float) -> float:
        """Where a place is, the first and last on the edges."""
        return self.left + self.width * (0.5 if self.count == 1 else index / (self.count - 1))

    def y(self, value: float) -> float:
        return self.top + self.height * (1 - (value - self.low) / (self.high - self.low))

    def points(self, indices: Sequence[int], values: Any) -> list[tuple[float, float]]:
        return [(self.x(index), self.y(float(values[index]))) for index in indices]


def heading(title: str, subtitle: str, left: float = LEFT) -> list[str]:
    """A title and a line of explanation."""
    return [text(left, 28, title, "head"), text(left, 47, subtitle, "soft")]


def legend(kinds: Mapping[str, int], left: float = LEFT) -> Iterator[str]:
    """Coloured squares with their meaning, side by side."""
    for name, colour in kinds.items():
        yield rect(left, 60, 11, 11, f"f{colour}")
        yield text(left + 17, 70, name)
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
    """A few round numbers inside a range."""
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
