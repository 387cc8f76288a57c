"""Small pictures of the report: bars from left to right, alone or side by side, and bars over time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape

import numpy as np

from timeveil.evidence.codes import Integers

WIDTH, LEFT = 720, 24
_LONGEST_NAME = 44
_FEW = 12
"""So many different sizes have a bar each."""
_COLUMNS = 60
"""So many bars stand beside each other; more of them are drawn together."""
_STYLE = """
  .tv-bars text{fill:#1f2933;font-family:system-ui,sans-serif;font-size:12px}
  .tv-bars .paper{fill:#ffffff}
  .tv-bars .head{font-size:16px;font-weight:600}
  .tv-bars .soft{fill:#52606d}
  .tv-bars .grid{stroke:#cbd5e1}
  .tv-bars .b0{fill:#1d6fb8}
  .tv-bars .b1{fill:#c2410c}
  .tv-bars .b2{fill:#6b7280}
  .tv-bars .mark{font-weight:600}
  @media (prefers-color-scheme:dark){
    .tv-bars text{fill:#f0f4f8}
    .tv-bars .paper{fill:#12181f}
    .tv-bars .soft{fill:#b8c4d0}
    .tv-bars .grid{stroke:#33414f}
    .tv-bars .b0{fill:#60a5fa}
    .tv-bars .b1{fill:#fb923c}
    .tv-bars .b2{fill:#9ca3af}
  }
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """A name, one length for each kind, and the same in words; a marked one is set off."""

    name: str
    lengths: tuple[float, ...]
    told: tuple[str, ...]
    marked: bool = False


def bars_svg(title: str, below: str, bars: Sequence[Bar], kinds: Sequence[str] = ()) -> str:
    """Bars from left to right with their names at the left; `kinds` names those that stand together."""
    many = max(len(kinds), 1)
    step = 14 * many + 12
    top = 68 if not kinds else 92
    name = max((_wide(bar.name) for bar in bars), default=0)
    start = LEFT + min(name, 300) + 14
    longest = max((length for bar in bars for length in bar.lengths), default=0.0) or 1.0
    room = WIDTH - start - LEFT - max((_wide(told) for bar in bars for told in bar.told), default=0) - 8
    body = list(_legend(kinds))
    for place, bar in enumerate(bars):
        body += _bar(bar, top + step * place, start, room / longest)
    words = " ".join(f"{bar.name}: {_said(bar, kinds)}." for bar in bars)
    return _picture(title, below, words, body, top + step * len(bars) + 10)


def columns_svg(
    title: str, below: str, places: Integers, numbers: Integers, ends: tuple[str, str], unit: str
) -> str:
    """Numbers at their places from left to right, so many to a bar that all find room; `ends` names both."""
    first = int(places.min())
    size = math.ceil((int(places.max()) - first + 1) / _COLUMNS)
    sums = np.bincount((places - first) // size, weights=numbers).astype(np.int64)
    top, base, left = 70, 230, LEFT + 46
    most = int(sums.max(initial=1))
    wide = (WIDTH - LEFT - left) / max(len(sums), 1)
    body = []
    for part in (0.0, 0.5, 1.0):
        y = base - part * (base - top)
        body.append(f'<line class="grid" x1="{left}" x2="{WIDTH - LEFT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        body.append(_text("soft", left - 6, y + 4, f"{most * part:,.0f}", "end"))
    for place, number in enumerate(sums.tolist()):
        high = number / most * (base - top)
        x, gap = left + place * wide, min(2.0, wide * 0.2)
        body.append(_rect(0, x + gap / 2, base - high, wide - gap, high))
    body += [_text("soft", left, base + 18, ends[0]), _text("soft", WIDTH - LEFT, base + 18, ends[1], "end")]
    together = "" if size == 1 else f" Each bar is {size} {unit}s together."
    words = f"From {ends[0]} to {ends[1]}, bars of {int(sums.min(initial=most)):,} to {most:,}."
    return _picture(title, below + together, words, body, base + 32)


def by_size(sizes: Integers, least: int, one: str, many: str) -> list[Bar]:
    """How many there are of each size; where sizes differ much, from `least` on in steps that double.

    >>> [(bar.name, *bar.told) for bar in by_size(np.array([2, 2, 3]), 2, "row", "rows")]
    [('2 rows', '2'), ('3 rows', '1')]

    >>> [(bar.name, *bar.told) for bar in by_size(np.array([5, 6, 11, 30]), 5, "row", "rows")]
    [('5 to 9 rows', '2'), ('10 to 19 rows', '1'), ('20 to 39 rows', '1')]
    """
    if not len(sizes):
        return []
    low, high = int(sizes.min()), int(sizes.max())
    edges = list(range(low, high + 2)) if high - low < _FEW else [max(least, 1)]
    while edges[-1] <= high:
        edges.append(edges[-1] * 2)
    if low < edges[0]:
        edges.insert(0, low)
    while edges[1] <= low:
        del edges[0]
    counts, _ = np.histogram(sizes, bins=[*edges[:-1], edges[-1] - 0.5])
    names = [_range(low, high - 1, one, many) for low, high in pairwise(edges)]
    return [
        Bar(name, (float(count),), (f"{count:,}",))
        for name, count in zip(names, counts.tolist(), strict=True)
    ]


def _range(low: int, high: int, one: str, many: str) -> str:
    if low == high:
        return f"{low:,} {one if low == 1 else many}"
    return f"{low:,} to {high:,} {many}"


def _bar(bar: Bar, top: float, start: float, scale: float) -> Iterator[str]:
    middle = top + 7 * len(bar.lengths) + 4
    kind = "mark" if bar.marked else ""
    yield _text(kind, start - 14, middle, _short(bar.name), "end")
    for place, (length, told) in enumerate(zip(bar.lengths, bar.told, strict=True)):
        y, long = top + 14 * place, max(length * scale, 1.0 if length else 0.0)
        yield _rect(place, start, y + 1, long, 12)
        yield _text(kind or "soft", start + long + 6, y + 11, told)


def _legend(kinds: Sequence[str]) -> Iterator[str]:
    x: float = LEFT
    for place, kind in enumerate(kinds):
        yield _rect(place, x, 60, 11, 11)
        yield _text("", x + 17, 70, kind)
        x += 17 + _wide(kind) + 24


def _said(bar: Bar, kinds: Sequence[str]) -> str:
    if not kinds:
        return bar.told[0]
    return ", ".join(f"{kind} {told}" for kind, told in zip(kinds, bar.told, strict=False))


def _picture(title: str, below: str, words: str, body: Sequence[str], height: float) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
            'class="tv-bars" aria-labelledby="tv-bars-title tv-bars-desc">',
            f'<title id="tv-bars-title">{escape(title)}</title>',
            f'<desc id="tv-bars-desc">{escape(f"{below} {words}")}</desc>',
            f"<style>{_STYLE}</style>",
            f'<rect class="paper" width="{WIDTH}" height="{height:.0f}"/>',
            _text("head", LEFT, 28, title),
            _text("soft", LEFT, 47, below),
            *body,
            "</svg>",
        ]
    )


def _rect(kind: int, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="b{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def _text(kind: str, x: float, y: float, text: str, anchor: str = "start") -> str:
    named = f' class="{kind}"' if kind else ""
    turned = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text{named} x="{x:.1f}" y="{y:.1f}"{turned}>{escape(text)}</text>'


def _wide(text: str) -> float:
    return 6.6 * len(_short(text))


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
