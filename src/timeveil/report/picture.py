"""A picture of an attack: how many candidates are left for each person, before and after."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from timeveil.attack import Breach
from timeveil.report.spread import Range, spread
from timeveil.report.wording import share

WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 56, 64
BEFORE, AFTER = "#c0392b", "#2874a6"
TITLE = "How many people fit what the outsider knows"


def candidates_svg(breach: Breach) -> str:
    """Share of people by the number of candidates left: the original beside the release."""
    said = (
        f"{share(breach.pinned_before)} of the people are pinned down in the original, "
        f"{share(breach.pinned_after)} in the release; k is {breach.k}."
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{TITLE}" font-family="system-ui, sans-serif" font-size="11">',
        f"<title>{TITLE}</title><desc>{escape(said)}</desc>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="14" font-weight="600">{TITLE}</text>',
        f'<text x="{LEFT}" y="38" fill="#555">{escape(said)}</text>',
        *_grid(),
        *_bars(spread(breach)),
        *_legend(),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _height(part: float) -> float:
    return part * (HEIGHT - TOP - BOTTOM)


def _grid() -> Iterator[str]:
    for step in range(5):
        part = step / 4
        y = HEIGHT - BOTTOM - _height(part)
        yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{share(part)}</text>'


def _bars(ranges: list[Range]) -> Iterator[str]:
    step = (WIDTH - LEFT - RIGHT) / len(ranges)
    base = HEIGHT - BOTTOM
    for place, found in enumerate(ranges):
        x = LEFT + place * step
        for offset, part, colour in ((0.12, found.before, BEFORE), (0.5, found.after, AFTER)):
            high = _height(part)
            yield (
                f'<rect x="{x + offset * step:.1f}" y="{base - high:.1f}" width="{0.38 * step:.1f}" '
                f'height="{high:.1f}" fill="{colour}"><title>{found.label}: {share(part)}</title></rect>'
            )
        middle = f'x="{x + step / 2:.1f}" y="{base + 16}" text-anchor="middle"'
        yield f'<text {middle} fill="#333">{found.label}</text>'


def _legend() -> Iterator[str]:
    y = HEIGHT - 14
    yield f'<text x="{WIDTH - RIGHT}" y="{y}" text-anchor="end" fill="#555">people who fit</text>'
    for x, name, colour in ((LEFT, "original", BEFORE), (LEFT + 90, "release", AFTER)):
        yield f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{colour}"/>'
        yield f'<text x="{x + 18}" y="{y}">{name}</text>'
