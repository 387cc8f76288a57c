"""A picture of a pattern release: the strongest patterns, each with its count.

Patterns of series are shapes over the instants: the cell of each letter, and a line through them that is
dotted where a pattern says nothing of the instants between. Patterns of baskets are bars with the names of
their items. It shows what everybody who has the release can see.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import escape

from timeveil.domain.release import Release
from timeveil.errors import ParameterError
from timeveil.models.patterns.evidence import Evidence
from timeveil.models.patterns.evidence.table import Patterns
from timeveil.models.patterns.judges.query import TopPatterns, top_patterns
from timeveil.models.series.words.report_picture import Area, instant_names
from timeveil.page.wording import counted, people
from timeveil.symbols.sax import LETTERS, cell

SHOWN = 9
"""So many patterns are drawn unless another number is asked for."""
MOST = 60
"""More than so many cannot be told apart."""
_EDGE = 2.2
"""Deviations at which the outermost cells, which have no end, are cut off."""
_LONGEST_NAME = 64


def pattern_svg(release: Release, number: int = SHOWN, longer_than: int | None = None) -> str:
    """The `number` patterns that most people have as SVG, of those with more items than `longer_than`.

    Short patterns have the most people and tell the least: unless said otherwise, those with at least two
    items and half as many as the longest are drawn.
    """
    if not 1 <= number <= MOST:
        raise _bad(f"a picture has 1 to {MOST} patterns", f"ask for {SHOWN}, or for others with longer_than")
    known = Evidence(release).patterns
    longest = int(known.lengths.max())
    beyond = _usual(longest) if longer_than is None else longer_than
    chosen = top_patterns(known, TopPatterns(number, longer_than=beyond)).to_pylist()
    if not chosen:
        raise _bad(
            f"no pattern has more than {counted(beyond, 'item')}, the longest has {longest}",
            "ask for shorter ones",
        )
    of = int((known.lengths > beyond).sum())
    least = "" if beyond == 0 else f" with {beyond + 1} items and more"
    title = f"The {len(chosen)} strongest of {counted(of, 'pattern')}{least}"
    draw = _shapes if known.instants else _bars
    return draw(known, chosen, title)


def _usual(longest: int) -> int:
    """Patterns with more items than that are drawn.

    >>> [_usual(longest) for longest in (0, 1, 2, 5, 10)]
    [0, 0, 1, 2, 4]
    """
    return max(0, min(longest - 1, max(1, (longest - 1) // 2)))


def _shapes(known: Patterns, chosen: Sequence[Mapping[str, Any]], title: str) -> str:
    across = min(3, len(chosen))
    step, high = 312, 196
    width, rows = 24 + step * max(across, 2), math.ceil(len(chosen) / across)
    below = f"Bands: {known.kinds} letters, from far below a series' own {known.center} to far above it."
    body = list(_head(title, below, known))
    for place, row in enumerate(chosen):
        left, top = 24 + step * (place % across), 100 + high * (place // across)
        area = Area(left + 30, top, step - 62, high - 60, -_EDGE, _EDGE, len(known.instants))
        body.append(f'<text class="name" x="{area.left - 14}" y="{top - 8}">{escape(_count(row))}</text>')
        body += _panel(known, area, row["pattern"])
    return _picture(width, 100 + high * rows - 22, title, _words(known, chosen), body)


def _panel(known: Patterns, area: Area, items: Sequence[str]) -> Iterator[str]:
    for kind in range(known.kinds):
        low, high = _span(kind, known.kinds)
        yield _rect(f"stripe s{kind % 2}", area.left - 14, area.y(high), area.width + 28, area.y(low))
        middle = (area.y(low) + area.y(high)) / 2 + 4
        if known.kinds <= 10 or kind in (0, known.kinds - 1):
            yield f'<text class="soft" x="{area.left - 28}" y="{middle:.1f}">{LETTERS[kind]}</text>'
    yield from instant_names(area, known.instants)
    points = []
    half = min(12.0, 0.42 * area.width / max(len(known.instants) - 1, 1))
    for number in known.numbers(items):
        instant, kind = divmod(number or 0, known.kinds)
        low, high = _span(kind, known.kinds)
        points.append((instant, area.x(instant), (area.y(low) + area.y(high)) / 2))
        yield _rect("cell", points[-1][1] - half, area.y(high), 2 * half, area.y(low))
    for (one, x, y), (next_one, next_x, next_y) in pairwise(points):
        kind_of_line = "line" if next_one == one + 1 else "line far"
        yield f'<polyline class="{kind_of_line}" points="{x:.1f},{y:.1f} {next_x:.1f},{next_y:.1f}"/>'
    for _, x, y in points:
        yield f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.8"/>'


def _span(kind: int, kinds: int) -> tuple[float, float]:
    """The cell of a letter, cut off where it has no end."""
    low, high = cell(kind, kinds)
    return max(low, -_EDGE), min(high, _EDGE)


def _bars(known: Patterns, chosen: Sequence[Mapping[str, Any]], title: str) -> str:
    width, left, step = 760, 24, 40
    most = max(row["support"] for row in chosen)
    body = list(_head(title, "Bars: how many people have all of the items.", known))
    for place, row in enumerate(chosen):
        y = 92 + step * place
        long = (width - 2 * left - 190) * row["support"] / most
        name = _short(", ".join(row["pattern"]))
        body.append(f'<text class="name" x="{left}" y="{y}">{escape(name)}</text>')
        body.append(_rect("cell", left, y + 6, long, y + 18))
        body.append(f'<text class="soft" x="{left + long + 8:.1f}" y="{y + 16}">{escape(_count(row))}</text>')
    return _picture(width, 92 + step * len(chosen), title, _words(known, chosen), body)


def _head(title: str, below: str, known: Patterns) -> Iterator[str]:
    yield f'<text class="head" x="24" y="28">{escape(title)}</text>'
    yield f'<text class="soft" x="24" y="47">{escape(below)}</text>'
    if known.virtual:
        added = counted(known.virtual, "person", "people")
        yield f'<text class="soft" x="24" y="64">Counts hold up to {added} who do not exist.</text>'


def _count(row: Mapping[str, Any]) -> str:
    """How many people, and how many at least."""
    said = people(row["support"])
    return said if row["low"] >= row["support"] else f"{said}, {row['low']:,.0f} at least"


def _words(known: Patterns, chosen: Sequence[Mapping[str, Any]]) -> str:
    """The picture in a sentence for each pattern."""
    said = (f"{', '.join(row['pattern']) or 'all'}: {_count(row)}." for row in chosen)
    return " ".join([f"Of {people(known.people)}:", *said])


def _rect(kind: str, x: float, top: float, width: float, bottom: float) -> str:
    return f'<rect class="{kind}" x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" height="{bottom - top:.1f}"/>'


def _picture(width: float, height: float, title: str, words: str, body: Sequence[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            'class="tv-patterns" aria-labelledby="tv-patterns-title tv-patterns-desc">',
            f'<title id="tv-patterns-title">{escape(title)}</title>',
            f'<desc id="tv-patterns-desc">{escape(words)}</desc>',
            f"<style>{_style()}</style>",
            f'<rect class="paper" width="{width}" height="{height}"/>',
            *body,
            "</svg>\n",
        ]
    )


def _style() -> str:
    light = [
        "text{fill:#1f2933;font-family:system-ui,sans-serif;font-size:12px}",
        ".paper{fill:#ffffff}",
        ".head{font-size:16px;font-weight:600}",
        ".name{font-weight:600}",
        ".soft{fill:#52606d}",
        ".grid{stroke:#cbd5e1}",
        ".s0{fill:#f1f5f9}",
        ".s1{fill:#e4e9ef}",
        ".cell{fill:#1d6fb8;fill-opacity:.4;stroke:#1d6fb8;stroke-width:1}",
        ".line{fill:none;stroke:#123a63;stroke-width:2}",
        ".far{stroke-dasharray:2 4}",
        ".dot{fill:#123a63}",
    ]
    dark = [
        "text{fill:#f0f4f8}",
        ".paper{fill:#12181f}",
        ".soft{fill:#b8c4d0}",
        ".grid{stroke:#33414f}",
        ".s0{fill:#19222c}",
        ".s1{fill:#212d39}",
        ".cell{fill:#60a5fa;stroke:#60a5fa}",
        ".line{stroke:#dbeafe}",
        ".dot{fill:#dbeafe}",
    ]
    outside = "\n".join(f".tv-patterns {rule}" for rule in light)
    inside = "\n".join(f"  .tv-patterns {rule}" for rule in dark)
    return f"\n{outside}\n@media (prefers-color-scheme:dark){{\n{inside}\n}}\n"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _bad(message: str, hint: str) -> ParameterError:
    return ParameterError(message, hint=hint, code="bad-parameter")
