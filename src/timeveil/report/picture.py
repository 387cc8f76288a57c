"""A picture of an attack: how many candidates are left for each person, before and after."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np

from timeveil.attack import Breach, Risk
from timeveil.report.wording import share

WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 56, 64
BEFORE, AFTER = "#c0392b", "#2874a6"
EDGES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000)


def candidates_svg(breach: Breach) -> str:
    """Share of people by the number of candidates left: the original beside the release."""
    edges = [edge for edge in EDGES if edge <= _largest(breach)]
    before, after = _shares(breach.before, edges), _shares(breach.after, edges)
    labels = ["out of reach", *_labels(edges)]
    title = "How many people fit what the outsider knows"
    said = (
        f"{share(breach.pinned_before)} of the people are pinned down in the original, "
        f"{share(breach.pinned_after)} in the release; k is {breach.k}."
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)}" font-family="system-ui, sans-serif" font-size="11">',
        f"<title>{escape(title)}</title><desc>{escape(said)}</desc>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="14" font-weight="600">{escape(title)}</text>',
        f'<text x="{LEFT}" y="38" fill="#555">{escape(said)}</text>',
        *_grid(),
        *_bars(before, after, labels),
        *_legend(),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _largest(breach: Breach) -> int:
    return max(1, int(breach.before.candidates.max(initial=1)), int(breach.after.candidates.max(initial=1)))


def _shares(risk: Risk, edges: list[int]) -> list[float]:
    """Share of people out of reach, then per range of candidates."""
    total = float(risk.weight.sum())
    place = np.searchsorted(edges, risk.candidates, side="right")
    weight = np.bincount(place, weights=risk.weight, minlength=len(edges) + 1)
    return [float(part) / total if total else 0.0 for part in weight]


def _labels(edges: list[int]) -> Iterator[str]:
    for low, high in zip(edges, [*edges[1:], None], strict=True):
        if high is None:
            yield f"{low:,}+" if low > 1 else "1"
        else:
            yield f"{low:,}" if high - low == 1 else f"{low:,}–{high - 1:,}"


def _height(part: float) -> float:
    return part * (HEIGHT - TOP - BOTTOM)


def _grid() -> Iterator[str]:
    for step in range(5):
        part = step / 4
        y = HEIGHT - BOTTOM - _height(part)
        yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{share(part)}</text>'


def _bars(before: list[float], after: list[float], labels: list[str]) -> Iterator[str]:
    step = (WIDTH - LEFT - RIGHT) / len(labels)
    base = HEIGHT - BOTTOM
    for place, label in enumerate(labels):
        x = LEFT + place * step
        for offset, part, colour in ((0.12, before[place], BEFORE), (0.5, after[place], AFTER)):
            high = _height(part)
            yield (
                f'<rect x="{x + offset * step:.1f}" y="{base - high:.1f}" width="{0.38 * step:.1f}" '
                f'height="{high:.1f}" fill="{colour}"><title>{escape(label)}: {share(part)}</title></rect>'
            )
        yield (
            f'<text x="{x + step / 2:.1f}" y="{base + 16}" text-anchor="middle" fill="#333">'
            f"{escape(label)}</text>"
        )


def _legend() -> Iterator[str]:
    y = HEIGHT - 14
    yield f'<text x="{WIDTH - RIGHT}" y="{y}" text-anchor="end" fill="#555">people who fit</text>'
    for x, name, colour in ((LEFT, "original", BEFORE), (LEFT + 90, "release", AFTER)):
        yield f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{colour}"/>'
        yield f'<text x="{x + 18}" y="{y}">{name}</text>'
