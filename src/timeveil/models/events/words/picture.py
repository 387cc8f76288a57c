"""A picture of an attack: how many people fit, before and after."""

from __future__ import annotations

from xml.sax.saxutils import escape

import numpy as np

from timeveil.evidence.risk import Risk
from timeveil.models.events.judges.attack import Breach
from timeveil.models.series.judges.attack import SeriesBreach
from timeveil.models.series.words.attack_picture import series_svg
from timeveil.models.stream.judges.attack import StreamBreach
from timeveil.models.stream.words.picture import stream_svg
from timeveil.page.canvas import BOTTOM, HEIGHT, LEFT, TOP, bars, edge, frame, percent, picture, ticks

_TITLE = "How many people fit what an outsider knows"


def breach_svg(breach: Breach | StreamBreach | SeriesBreach, unit: str = "second") -> str:
    """An attack as an SVG: by how many people or series fit, or on a stream by chances of values."""
    match breach:
        case StreamBreach():
            return stream_svg(breach)
        case SeriesBreach():
            return series_svg(breach)
        case Breach():
            return _people_svg(breach, unit)


def _people_svg(breach: Breach, unit: str) -> str:
    """The sizes of the candidate sets before and after, with k marked.

    Each pair of bars is the share of people whose candidate set has a size from the number at its left
    edge up to, but without, the number at its right edge. Bars left of the line at k are people that
    fewer than k fit. `unit` is what the adversary's tolerance counts.
    """
    edges = _edges(breach)
    before, after = _shares(breach.before, edges), _shares(breach.after, edges)
    top = next(top for top in (0.25, 0.5, 0.75, 1.0) if top >= max((*before, *after)) - 1e-9)
    axis = ticks([_short(size) for size in edges], "people who fit (candidates)")
    body = [*frame(top), *_head(breach, unit), *axis, *bars(before, after, top), *_mark(breach.k, edges)]
    return picture(_TITLE, escape(_words(breach)), body)


def _words(breach: Breach) -> str:
    """The picture in a sentence."""
    return (
        f"Of {breach.people:,} people attacked, {percent(breach.pinned_before)} are pinned down to one "
        f"candidate on the original and {percent(breach.pinned_after)} on the release. On the release the "
        f"chance of naming the right person is at most {percent(breach.worst)} and "
        f"{percent(breach.mean)} on average; {percent(breach.after.out_of_reach)} are out of reach "
        "because what is known of them was withheld."
    )


def _edges(breach: Breach) -> list[int]:
    """Where bins begin: 1, 2, 4, … below k, then k, 2k, 4k, … past the largest set; k is always an edge."""
    largest = max(int(risk.candidates.max(initial=1)) for risk in (breach.before, breach.after))
    edges = [2**power for power in range(breach.k.bit_length()) if 2**power < breach.k]
    size = breach.k
    while size <= largest:
        edges.append(size)
        size *= 2
    return [*edges, size]


def _shares(risk: Risk, edges: list[int]) -> list[float]:
    """Share of all people per bin; those out of reach are in none."""
    counts, _ = np.histogram(risk.candidates, bins=edges, weights=risk.weight)
    total = float(risk.weight.sum())
    return [float(count) / total if total else 0.0 for count in counts]


def _head(breach: Breach, unit: str) -> list[str]:
    visits = breach.adversary.visits
    known = "one visit" if visits == 1 else f"{visits} visits"
    within = escape(breach.adversary.within(unit))
    return [
        f'<text class="head" x="{LEFT}" y="28">{_TITLE}</text>',
        f'<text class="soft" x="{LEFT}" y="47">Share of {breach.people:,} people. '
        f"Known of each: quasi-identifiers and {known}{within}</text>",
        f'<rect class="before" x="{LEFT}" y="60" width="11" height="11"/>',
        f'<text x="{LEFT + 17}" y="70">original: {percent(breach.pinned_before)} pinned down</text>',
        f'<rect class="after" x="{LEFT + 215}" y="60" width="11" height="11"/>',
        f'<text x="{LEFT + 232}" y="70">release: {percent(breach.pinned_after)} pinned down, '
        f"{percent(breach.after.out_of_reach)} withheld</text>",
    ]


def _mark(k: int, edges: list[int]) -> list[str]:
    x = edge(edges.index(k), len(edges))
    return [
        f'<line class="edge" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{HEIGHT - BOTTOM}"/>',
        f'<text x="{x + 6:.1f}" y="{TOP + 2}">k = {k}</text>',
    ]


def _short(number: int) -> str:
    """A number in few letters.

    >>> [_short(n) for n in (640, 1280, 20480, 2621440)]
    ['640', '1.3k', '20k', '2.6M']
    """
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            scaled = number / size
            return (f"{scaled:.1f}".removesuffix(".0") if scaled < 10 else f"{scaled:.0f}") + letter
    return str(number)
