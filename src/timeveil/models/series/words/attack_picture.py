"""A picture of an attack on series: how many rows fit, before and after."""

from __future__ import annotations

from xml.sax.saxutils import escape

import numpy as np

from timeveil.evidence.risk import Risk
from timeveil.models.series.judges.attack import SeriesBreach
from timeveil.page.canvas import BOTTOM, HEIGHT, LEFT, TOP, bars, edge, frame, percent, picture, ticks

_TITLE = "How many series fit what an outsider knows"


def series_svg(breach: SeriesBreach) -> str:
    """The sizes of the candidate sets before and after as an SVG, with P marked.

    Each pair of bars is the share of people whose candidate set has a size from the number at its left edge
    up to, but without, the number at its right edge. Left of the line at P stand those whom fewer than P fit.
    """
    edges = _edges(breach)
    before, after = _shares(breach.before, edges), _shares(breach.after, edges)
    top = next(top for top in (0.25, 0.5, 0.75, 1.0) if top >= max((*before, *after)) - 1e-9)
    axis = ticks([f"{size:,}" for size in edges], "series that fit (candidates)")
    body = [*frame(top), *_head(breach), *axis, *bars(before, after, top), *_mark(breach.p, edges)]
    return picture(_TITLE, escape(_words(breach)), body)


def _edges(breach: SeriesBreach) -> list[int]:
    """1, 2, 4, … below P, then P, 2P, 4P, … past the largest set."""
    largest = max(int(risk.candidates.max(initial=1)) for risk in (breach.before, breach.after))
    edges = [2**power for power in range(breach.p.bit_length()) if 2**power < breach.p]
    size = breach.p
    while size <= largest:
        edges.append(size)
        size *= 2
    return [*edges, size]


def _shares(risk: Risk, edges: list[int]) -> list[float]:
    """Share of all people per bin; those out of reach are in none."""
    counts, _ = np.histogram(risk.candidates, bins=edges, weights=risk.weight)
    total = float(risk.weight.sum())
    return [float(count) / total if total else 0.0 for count in counts]


def _words(breach: SeriesBreach) -> str:
    return (
        f"Of {breach.people:,} people attacked, {percent(breach.unique_before)} are alone on the original "
        f"and {percent(breach.unique_after)} on the release. On the release the chance of naming the right "
        f"row is at most {percent(breach.worst)} and {percent(breach.mean)} on average; "
        f"{percent(breach.after.out_of_reach)} are out of reach."
    )


def _head(breach: SeriesBreach) -> list[str]:
    return [
        f'<text class="head" x="{LEFT}" y="28">{_TITLE}</text>',
        f'<text class="soft" x="{LEFT}" y="47">Share of {breach.people:,} people. '
        f"Known of each: {escape(breach.adversary.words)}</text>",
        f'<rect class="before" x="{LEFT}" y="60" width="11" height="11"/>',
        f'<text x="{LEFT + 17}" y="70">original: {percent(breach.unique_before)} alone</text>',
        f'<rect class="after" x="{LEFT + 215}" y="60" width="11" height="11"/>',
        f'<text x="{LEFT + 232}" y="70">release: {percent(breach.unique_after)} alone, '
        f"{percent(breach.after.out_of_reach)} out of reach</text>",
    ]


def _mark(p: int, edges: list[int]) -> list[str]:
    x = edge(edges.index(p), len(edges))
    return [
        f'<line class="edge" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{HEIGHT - BOTTOM}"/>',
        f'<text x="{x + 6:.1f}" y="{TOP + 2}">P = {p}</text>',
    ]
