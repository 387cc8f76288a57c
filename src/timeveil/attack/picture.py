"""A picture of an attack: how many people fit, before and after."""

from __future__ import annotations

from xml.sax.saxutils import escape

import numpy as np

from timeveil.attack.breach import Breach, Risk

_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 28, 96, 60
_STYLE = """
  .tv-breach text{fill:#1f2933;font-family:system-ui,sans-serif;font-size:12px}
  .tv-breach .paper{fill:#ffffff}
  .tv-breach .head{font-size:16px;font-weight:600}
  .tv-breach .soft{fill:#52606d}
  .tv-breach .num{font-size:10px}
  .tv-breach .grid{stroke:#d9e2ec}
  .tv-breach .edge{stroke:#1f2933;stroke-width:1.5;stroke-dasharray:5 4}
  .tv-breach .before{fill:#c2410c}
  .tv-breach .after{fill:#1d6fb8}
  @media (prefers-color-scheme:dark){
    .tv-breach text{fill:#f0f4f8}
    .tv-breach .paper{fill:#12181f}
    .tv-breach .soft{fill:#b8c4d0}
    .tv-breach .grid{stroke:#33414f}
    .tv-breach .edge{stroke:#f0f4f8}
    .tv-breach .before{fill:#fb923c}
    .tv-breach .after{fill:#60a5fa}
  }
"""


def breach_svg(breach: Breach, unit: str = "second") -> str:
    """The sizes of the candidate sets before and after as an SVG, with k marked.

    Each pair of bars is the share of people whose candidate set has a size from the number at its left
    edge up to, but without, the number at its right edge. Bars left of the line at k are people that
    fewer than k fit. `unit` is what the adversary's tolerance counts.
    """
    edges = _edges(breach)
    before, after = _shares(breach.before, edges), _shares(breach.after, edges)
    top = next(top for top in (0.25, 0.5, 0.75, 1.0) if top >= max((*before, *after)) - 1e-9)
    body = [
        *_frame(top),
        *_head(breach, unit),
        *_axis(edges),
        *_bars(before, after, top),
        *_mark(breach.k, edges),
    ]
    title = "How many people fit what an outsider knows"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
            'class="tv-breach" aria-labelledby="tv-breach-title tv-breach-desc">',
            f'<title id="tv-breach-title">{title}</title>',
            f'<desc id="tv-breach-desc">{escape(_words(breach))}</desc>',
            f"<style>{_STYLE}</style>",
            *body,
            "</svg>",
        ]
    )


def _words(breach: Breach) -> str:
    """The picture in a sentence."""
    return (
        f"Of {breach.people:,} people attacked, {_percent(breach.pinned_before)} are pinned down to one "
        f"candidate on the original and {_percent(breach.pinned_after)} on the release. On the release the "
        f"chance of naming the right person is at most {_percent(breach.worst)} and "
        f"{_percent(breach.mean)} on average; {_percent(breach.after.out_of_reach)} are out of reach "
        "because what is known of them was withheld."
    )


def _edges(breach: Breach) -> list[int]:
    """Where bins begin: 1, 2, 4, … below k, then k, 2k, 4k, … past the largest set; k is always an edge."""
    largest = max(int(risk.candidates.max(initial=1)) for risk in (breach.before, breach.after))
    edges = [2**power for power in range(breach.k.bit_length()) if 2**power < breach.k]
    edge = breach.k
    while edge <= largest:
        edges.append(edge)
        edge *= 2
    return [*edges, edge]


def _shares(risk: Risk, edges: list[int]) -> list[float]:
    """Share of all people per bin; those out of reach are in none."""
    counts, _ = np.histogram(risk.candidates, bins=edges, weights=risk.weight)
    total = float(risk.weight.sum())
    return [float(count) / total if total else 0.0 for count in counts]


def _frame(top: float) -> list[str]:
    lines = [f'<rect class="paper" width="{_WIDTH}" height="{_HEIGHT}"/>']
    for share in (part * top / 5 for part in range(6)):
        y = _y(share, top)
        lines.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(
            f'<text class="soft" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>'
        )
    return lines


def _head(breach: Breach, unit: str) -> list[str]:
    visits = breach.adversary.visits
    known = "one visit" if visits == 1 else f"{visits} visits"
    within = escape(breach.adversary.within(unit))
    return [
        f'<text class="head" x="{_LEFT}" y="28">How many people fit what an outsider knows</text>',
        f'<text class="soft" x="{_LEFT}" y="47">Share of {breach.people:,} people. '
        f"Known of each: quasi-identifiers and {known}{within}</text>",
        f'<rect class="before" x="{_LEFT}" y="60" width="11" height="11"/>',
        f'<text x="{_LEFT + 17}" y="70">original: {_percent(breach.pinned_before)} pinned down</text>',
        f'<rect class="after" x="{_LEFT + 215}" y="60" width="11" height="11"/>',
        f'<text x="{_LEFT + 232}" y="70">release: {_percent(breach.pinned_after)} pinned down, '
        f"{_percent(breach.after.out_of_reach)} withheld</text>",
    ]


def _axis(edges: list[int]) -> list[str]:
    lines = []
    base = _HEIGHT - _BOTTOM
    for place, edge in enumerate(edges):
        x = _x(place, edges)
        lines.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{base}" y2="{base + 5}"/>')
        lines.append(
            f'<text class="soft" x="{x:.1f}" y="{base + 19}" text-anchor="middle">{_short(edge)}</text>'
        )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    name = "people who fit (candidates)"
    lines.append(f'<text class="soft" x="{middle}" y="{base + 42}" text-anchor="middle">{name}</text>')
    return lines


def _bars(before: list[float], after: list[float], top: float) -> list[str]:
    lines, base = [], _HEIGHT - _BOTTOM
    step = (_WIDTH - _LEFT - _RIGHT) / len(before)
    width = min(step * 0.42, 46)
    for place, pair in enumerate(zip(before, after, strict=True)):
        middle = _LEFT + (place + 0.5) * step
        for name, x, share in (("before", middle - width, pair[0]), ("after", middle, pair[1])):
            if not share:
                continue
            y = min(_y(share, top), base - 1.0)
            lines.append(
                f'<rect class="{name}" x="{x + 0.5:.1f}" y="{y:.1f}" width="{width - 1:.1f}" '
                f'height="{base - y:.1f}"/>'
            )
            if width >= 22:
                lines.append(
                    f'<text class="num" x="{x + width / 2:.1f}" y="{y - 4:.1f}" text-anchor="middle">'
                    f"{_percent(share)}</text>"
                )
    return lines


def _mark(k: int, edges: list[int]) -> list[str]:
    x = _x(edges.index(k), edges)
    return [
        f'<line class="edge" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 8}" y2="{_HEIGHT - _BOTTOM}"/>',
        f'<text x="{x + 6:.1f}" y="{_TOP + 2}">k = {k}</text>',
    ]


def _x(place: int, edges: list[int]) -> float:
    return _LEFT + place * (_WIDTH - _LEFT - _RIGHT) / (len(edges) - 1)


def _y(share: float, top: float) -> float:
    return _HEIGHT - _BOTTOM - share / top * (_HEIGHT - _BOTTOM - _TOP - 14)


def _percent(share: float) -> str:
    """A share in words that never rounds something to nothing or all.

    >>> [_percent(share) for share in (0, 0.00001, 0.0123, 0.5, 0.99999, 1)]
    ['0%', '≈0%', '1.2%', '50%', '≈100%', '100%']
    """
    if 0 < share < 0.001:
        return "≈0%"
    if 0.999 < share < 1:
        return "≈100%"
    return f"{100 * share:.1f}".removesuffix(".0") + "%"


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
