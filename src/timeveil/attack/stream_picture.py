"""A picture of an attack on a stream: how sure somebody can be of a value, before and after."""

from __future__ import annotations

from xml.sax.saxutils import escape

import numpy as np

from timeveil.attack.canvas import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    bars,
    frame,
    percent,
    picture,
    ticks,
)
from timeveil.attack.posterior import Posterior
from timeveil.attack.stream_breach import StreamBreach

_TITLE = "How sure an outsider can be of a person's value"
_KNOWN = {
    "published-slot": "quasi-identifiers and the published slot",
    "true-slot": "quasi-identifiers and the slot it happened in",
    "several-slots": "quasi-identifiers and every published slot",
}
_BINS = 10


def stream_svg(breach: StreamBreach) -> str:
    """The chances given to people's true values before and after as an SVG, with 1/l marked.

    Each pair of bars is the share of people whose true value is given a chance above the number at its left
    edge, up to the number at its right edge. Bars right of the line at 1/l are people whom the promise
    does not protect from this adversary.
    """
    before, after = shares(breach.before), shares(breach.after)
    top = next(top for top in (0.25, 0.5, 0.75, 1.0) if top >= max((*before, *after)) - 1e-9)
    marks = [f"{edge / _BINS:.0%}" for edge in range(_BINS + 1)]
    axis = ticks(marks, "chance given to the person's true value")
    body = [*frame(top), *_head(breach), *axis, *bars(before, after, top), *_mark(breach.l)]
    return picture(_TITLE, escape(_words(breach)), body)


def shares(found: Posterior) -> list[float]:
    """Share of people per tenth; a chance on an edge belongs to the tenth below."""
    place = np.clip(np.ceil(found.chance * _BINS - 1e-9).astype(np.int64) - 1, 0, _BINS - 1)
    total = found.people
    counts = np.bincount(place, weights=found.weight, minlength=_BINS)
    return [float(count) / total if total else 0.0 for count in counts]


def _words(breach: StreamBreach) -> str:
    """The picture in a sentence."""
    said = (
        f"Of {breach.people:,} people attacked, {percent(breach.before.certain)} have a value that is certain "
        f"from the original and {percent(breach.certain)} from the release. The release gives a true value a "
        f"chance of at most {percent(breach.worst)} and {percent(breach.mean)} on average; "
        f"{percent(breach.share_above(1 / breach.l))} stand above 1 in {breach.l}."
    )
    return " ".join([said, *(f"{name}: {percent(part.mean)} on average." for name, part in _seen(breach))])


def _seen(breach: StreamBreach) -> list[tuple[str, Posterior]]:
    return [(name, part) for name, part in breach.parts.items() if part.people]


def _head(breach: StreamBreach) -> list[str]:
    parts = ", ".join(f"{name} {percent(part.mean)}" for name, part in _seen(breach))
    told = f" On average: {parts}" if parts else ""
    return [
        f'<text class="head" x="{LEFT}" y="28">{escape(_TITLE)}</text>',
        f'<text class="soft" x="{LEFT}" y="47">Share of {breach.people:,} people. Known of each: '
        f"{_KNOWN[breach.adversary.knows]}.{told}</text>",
        f'<rect class="before" x="{LEFT}" y="60" width="11" height="11"/>',
        f'<text x="{LEFT + 17}" y="70">original: {percent(breach.before.certain)} certain</text>',
        f'<rect class="after" x="{LEFT + 215}" y="60" width="11" height="11"/>',
        f'<text x="{LEFT + 232}" y="70">release: {percent(breach.certain)} certain, '
        f"{percent(breach.share_above(1 / breach.l))} above 1/{breach.l}</text>",
    ]


def _mark(l: int) -> list[str]:  # noqa: E741
    x = LEFT + (WIDTH - LEFT - RIGHT) / l
    return [
        f'<line class="edge" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{HEIGHT - BOTTOM}"/>',
        f'<text x="{x + 6:.1f}" y="{TOP + 2}">1/l = 1/{l}</text>',
    ]
