"""Small charts as SVG: lines and grouped bars, legible in light and dark, in colour and without.

Every picture carries its title and a description in words. Lines differ in colour, dash and marker and are
named at their end; bars carry their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 760, 440
LEFT, TOP, BOTTOM = 62, 106, 62
ROOM_FOR_NAMES = 178
LIGHT = ("#1d4ed8", "#c2410c", "#047857", "#7e22ce", "#a16207", "#be123c", "#0f766e")
DARK = ("#7cb3ff", "#fdba74", "#6ee7b7", "#d8b4fe", "#fde047", "#fda4af", "#5eead4")
DASHES = ("", "7 4", "2 3", "10 3 2 3", "5 2", "1 4", "12 4")
LINE_HEIGHT = 16


@dataclass(frozen=True, slots=True)
class Series:
    """A name and a number per place on the x axis; None leaves a gap."""

    name: str
    numbers: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Words:
    """What a picture says: title, a line below it, axes, and a description for those who cannot see it."""

    title: str
    below: str
    x: str
    description: str


def lines(words: Words, places: Sequence[str], series: Sequence[Series], top: float) -> str:
    """Shares from 0 to `top` over places."""
    right = WIDTH - ROOM_FOR_NAMES
    step = (right - LEFT - 24) / max(len(places) - 1, 1)
    xs = [LEFT + 12 + step * place for place in range(len(places))]
    body = [*_frame(words, top, right), *_ticks(places, xs, words.x, (LEFT + right) / 2)]
    for number, one in enumerate(series):
        points = [(x, _y(n, top), n) for x, n in zip(xs, one.numbers, strict=True) if n is not None]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
        dash = f' stroke-dasharray="{DASHES[number]}"' if DASHES[number] else ""
        body.append(f'<polyline class="line s{number}" points="{path}"{dash}/>')
        body += [_marker(number, x, y) for x, y, _ in points]
    return _picture(words, [*body, *_names(series, top, right)])


def bars(
    words: Words,
    groups: Sequence[str],
    series: Sequence[Series],
    top: float,
    mark: tuple[float, str] | None = None,
) -> str:
    """A group of bars per place, with a dashed line at `mark`; None shows as a dash."""
    right = WIDTH - (56 if mark else 24)
    step = (right - LEFT) / len(groups)
    width = min(step * 0.8 / len(series), 46)
    middles = [LEFT + step * (place + 0.5) for place in range(len(groups))]
    body = [*_frame(words, top, right), *_ticks(groups, middles, words.x, (LEFT + right) / 2)]
    if mark:
        y = _y(mark[0], top)
        body.append(f'<line class="mark" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        body.append(f'<text x="{right + 8}" y="{y + 4:.1f}">{escape(mark[1])}</text>')
    parts = [
        _bar(number, middle + (number - len(series) / 2) * width, width, share, top)
        for number, one in enumerate(series)
        for middle, share in zip(middles, one.numbers, strict=True)
    ]
    layers = [part for layer in zip(*parts, strict=True) for part in layer]
    return _picture(words, [*body, *layers, *_legend(series)])


def _bar(number: int, x: float, width: float, share: float | None, top: float) -> tuple[str, str, str]:
    """Paper behind its number, the bar, the number."""
    centre, base = x + width / 2, HEIGHT - BOTTOM
    y = min(_y(share, top), base - 1) if share else base
    said = "–" if share is None else short(share)
    wide = 6.2 * len(said) + 2
    return (
        f'<rect class="paper" x="{centre - wide / 2:.1f}" y="{y - 14:.1f}" width="{wide:.1f}" height="13"/>',
        f'<rect class="bar s{number}" x="{x + 0.75:.1f}" y="{y:.1f}" width="{width - 1.5:.1f}" '
        f'height="{base - y:.1f}"/>',
        f'<text class="num" x="{centre:.1f}" y="{y - 4:.1f}" text-anchor="middle">{said}</text>',
    )


def _frame(words: Words, top: float, right: float) -> list[str]:
    found = [
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text class="head" x="20" y="30">{escape(words.title)}</text>',
        f'<text class="soft" x="20" y="50">{escape(words.below)}</text>',
    ]
    for part in range(6):
        share = top * part / 5
        y = _y(share, top)
        found.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        found.append(
            f'<text class="soft" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{100 * share:g}%</text>'
        )
    return found


def _ticks(places: Sequence[str], xs: Sequence[float], name: str, middle: float) -> list[str]:
    base = HEIGHT - BOTTOM
    found = [
        f'<text class="soft" x="{x:.1f}" y="{base + 20}" text-anchor="middle">{escape(place)}</text>'
        for place, x in zip(places, xs, strict=True)
    ]
    return [
        *found,
        f'<text class="soft" x="{middle}" y="{base + 46}" text-anchor="middle">{escape(name)}</text>',
    ]


def _names(series: Sequence[Series], top: float, right: float) -> list[str]:
    """Names at the ends of lines, pushed apart where they would overlap."""
    ends = sorted(
        (_y(next(n for n in reversed(one.numbers) if n is not None), top), number)
        for number, one in enumerate(series)
    )
    heights: list[float] = []
    for y, _ in ends:
        heights.append(max(y, heights[-1] + LINE_HEIGHT) if heights else y)
    excess = max(0.0, heights[-1] - (HEIGHT - BOTTOM + 4))
    lowest = HEIGHT - BOTTOM + 4.0
    for place in reversed(range(len(heights))) if excess else ():
        heights[place] = min(heights[place], lowest)
        lowest = heights[place] - LINE_HEIGHT
    return [
        part
        for height, (y, number) in zip(heights, ends, strict=True)
        for part in (
            f'<polyline class="lead" points="{right - 6},{y:.1f} {right + 6},{height:.1f}"/>',
            _marker(number, right + 13, height),
            f'<text x="{right + 22}" y="{height + 4:.1f}">{escape(series[number].name)}</text>',
        )
    ]


def _legend(series: Sequence[Series]) -> list[str]:
    found, x = [], 20.0
    for number, one in enumerate(series):
        found.append(f'<rect class="bar s{number}" x="{x:.0f}" y="62" width="11" height="11"/>')
        found.append(f'<text x="{x + 17:.0f}" y="72">{escape(one.name)}</text>')
        x += 44 + 6.6 * len(one.name)
    return found


def _marker(number: int, x: float, y: float) -> str:
    name = f'class="dot s{number}"'
    if number % 3 == 0:
        return f'<circle {name} cx="{x:.1f}" cy="{y:.1f}" r="3.6"/>'
    if number % 3 == 1:
        return f'<rect {name} x="{x - 3.3:.1f}" y="{y - 3.3:.1f}" width="6.6" height="6.6"/>'
    return f'<path {name} d="M{x:.1f} {y - 4.4:.1f} l4.2 7.4 h-8.4 z"/>'


def _y(share: float, top: float) -> float:
    return HEIGHT - BOTTOM - share / top * (HEIGHT - BOTTOM - TOP)


def short(share: float) -> str:
    """A share for the top of a bar.

    >>> [short(share) for share in (0, 0.0004, 0.034, 0.278, 1)]
    ['0%', '0.04%', '3.4%', '28%', '100%']
    """
    digits = 2 if 0 < share < 0.001 else 1 if 0 < share < 0.0995 else 0
    return f"{100 * share:.{digits}f}%"


def _picture(words: Words, body: Sequence[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            'class="tv-chart" aria-labelledby="tv-title tv-words">',
            f'<title id="tv-title">{escape(words.title)}</title>',
            f'<desc id="tv-words">{escape(words.description)}</desc>',
            f"<style>{_style()}</style>",
            *body,
            "</svg>\n",
        ]
    )


def _style() -> str:
    return "\n".join(
        [
            "",
            ".tv-chart text{fill:#1f2933;font-family:system-ui,sans-serif;font-size:12.5px}",
            ".tv-chart .head{font-size:16px;font-weight:600}",
            ".tv-chart .num{font-size:10.5px}",
            ".tv-chart .paper{fill:#ffffff}.tv-chart .soft{fill:#52606d}.tv-chart .grid{stroke:#d9e2ec}",
            ".tv-chart .mark{stroke:#1f2933;stroke-width:1.5;stroke-dasharray:6 4}",
            ".tv-chart .lead{fill:none;stroke:#829ab1;stroke-width:.8}",
            ".tv-chart .line{fill:none;stroke-width:2}",
            *_colours(LIGHT),
            "@media (prefers-color-scheme:dark){",
            ".tv-chart text{fill:#f0f4f8}.tv-chart .soft{fill:#b8c4d0}",
            ".tv-chart .paper{fill:#12181f}.tv-chart .grid{stroke:#33414f}.tv-chart .mark{stroke:#f0f4f8}",
            *_colours(DARK),
            "}",
            "",
        ]
    )


def _colours(colours: Sequence[str]) -> list[str]:
    return [
        f".tv-chart .line.s{number}{{stroke:{colour}}}"
        f".tv-chart .dot.s{number},.tv-chart .bar.s{number}{{fill:{colour}}}"
        for number, colour in enumerate(colours)
    ]
