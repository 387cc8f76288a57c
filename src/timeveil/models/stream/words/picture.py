"""A picture of an attack on a stream: how sure somebody can be of a value, before and after."""

from __future__ import annotations

from xml.sax.saxutils import escape

import numpy as np

from timeveil.evidence.risk import Posterior
from timeveil.models.stream.judges.attack import StreamBreach
from timeveil.page.canvas import BOTTOM, HEIGHT, LEFT, TOP, bars, edge, frame, percent, picture, ticks

_TITLE = "How sure an outsider can be of a person's value"
_KNOWN = {
    "published-slot": "quasi-identifiers and the published slot",
    "true-slot": "quasi-identifiers and the slot it happened in",
    "several-slots": "quasi-identifiers and every published slot",
}
_BINS = 10


def stream_svg(breach: StreamBreach) -> str:
    """The chances given to people's true values before and after as an SVG, with 1/l marked, and 1/l'.

    Each pair of bars is the share of people whose true value is given a chance above the number at its left
    edge, up to the number at its right edge. Bars right of the line at 1/l are people whom the promise
    does not protect from this adversary.
    """
    edges = _edges(breach.l, breach.true_slot)
    before, after = _shares(breach.before, edges), _shares(breach.after, edges)
    top = next(top for top in (0.25, 0.5, 0.75, 1.0) if top >= max((*before, *after)) - 1e-9)
    axis = ticks([f"{chance:.0%}" for chance in edges], "chance given to the person's true value")
    body = [*frame(top), *_head(breach), *axis, *bars(before, after, top), *_marks(breach, edges)]
    return picture(_TITLE, escape(_words(breach)), body)


def _edges(l: int, true_slot: int | None = None) -> list[float]:
    """Chances between bars, about ten; 1/l is one of them, and 1/true_slot.

    >>> [round(edge, 2) for edge in _edges(4)]
    [0.0, 0.12, 0.25, 0.38, 0.5, 0.62, 0.75, 0.88, 1.0]
    """
    if l > 2 * _BINS:
        found = [0.0, 1 / l, *(part / _BINS for part in range(1, _BINS + 1))]
    else:
        parts = l * max(1, round(_BINS / l))
        found = [part / parts for part in range(parts + 1)]
    if true_slot is not None and all(abs(chance - 1 / true_slot) > 1e-9 for chance in found):
        found = sorted([*found, 1 / true_slot])
    return found


def _shares(found: Posterior, edges: list[float]) -> list[float]:
    """Share of people between each two edges; a chance on an edge stands to its left."""
    place = np.searchsorted(np.array(edges[1:-1]) + 1e-9, found.chance, side="left")
    total = found.people
    counts = np.bincount(place, weights=found.weight, minlength=len(edges) - 1)
    return [float(count) / total if total else 0.0 for count in counts]


def _words(breach: StreamBreach) -> str:
    """The picture in a sentence."""
    said = (
        f"Of {breach.people:,} people attacked, {percent(breach.before.certain)} have a value that is "
        f"certain from the original and {percent(breach.certain)} from the release. The release "
        f"gives a true value a chance of at most {percent(breach.worst)} and {percent(breach.mean)} on "
        f"average; {percent(breach.share_above(1 / breach.l))} stand above 1 in {breach.l}."
    )
    return " ".join([said, *(f"{name}: {percent(part.mean)} on average." for name, part in _seen(breach))])


def _seen(breach: StreamBreach) -> list[tuple[str, Posterior]]:
    return [(name, part) for name, part in breach.parts.items() if part.people]


def _head(breach: StreamBreach) -> list[str]:
    parts = ", ".join(f"{name} {percent(part.mean)}" for name, part in _seen(breach))
    told = [f'<text class="soft" x="{LEFT}" y="84">On average: {parts}</text>'] if parts else []
    return [
        f'<text class="head" x="{LEFT}" y="28">{escape(_TITLE)}</text>',
        f'<text class="soft" x="{LEFT}" y="47">Share of {breach.people:,} people. Known of each: '
        f"{_KNOWN[breach.adversary.knows]}.</text>",
        *told,
        f'<rect class="before" x="{LEFT}" y="60" width="11" height="11"/>',
        f'<text x="{LEFT + 17}" y="70">original: {percent(breach.before.certain)} certain</text>',
        f'<rect class="after" x="{LEFT + 215}" y="60" width="11" height="11"/>',
        f'<text x="{LEFT + 232}" y="70">release: {percent(breach.certain)} certain, '
        f"{percent(breach.share_above(1 / breach.l))} above 1/{breach.l}</text>",
    ]


def _marks(breach: StreamBreach, edges: list[float]) -> list[str]:
    marks = [(1 / breach.l, f"1/l = 1/{breach.l}", 2)]
    if breach.true_slot is not None:
        marks.append((1 / breach.true_slot, f"1/l' = 1/{breach.true_slot}", 18))
    return [line for chance, words, down in marks for line in _mark(chance, words, down, edges)]


def _mark(chance: float, words: str, down: int, edges: list[float]) -> list[str]:
    place = min(range(len(edges)), key=lambda number: abs(edges[number] - chance))
    x = edge(place, len(edges))
    return [
        f'<line class="edge" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{HEIGHT - BOTTOM}"/>',
        f'<text x="{x + 6:.1f}" y="{TOP + down}">{words}</text>',
    ]
