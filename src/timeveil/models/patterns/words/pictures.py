"""Pictures of a pattern release: the strongest patterns, lengths, small groups and errors.

Patterns of series are shapes over the instants: the cell of each letter, and a line through them that is
dotted where a pattern does not name the instants between. Patterns of baskets are bars with the names of
their items.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from timeveil.errors import ParameterError
from timeveil.models.patterns.evidence import Evidence, Patterns
from timeveil.models.patterns.judges.attack import PatternBreach
from timeveil.models.patterns.judges.measure import PatternLoss
from timeveil.models.patterns.judges.query import TopPatterns, top_patterns
from timeveil.page.charts import Bar, bar_chart, grouped_bars
from timeveil.page.report import Table
from timeveil.page.svg import ORIGINAL, OTHER, Panel, Picture, dot, heading, path, place_axis, rect, text
from timeveil.page.wording import counted, people, share
from timeveil.symbols import LETTERS, borders

SHOWN = 9  # patterns that are drawn unless another number is requested
MOST = 60  # more patterns than this cannot be distinguished
_EDGE = 2.2  # deviations at which the outermost cells, which have no end, are cut off
_MOST_LENGTHS = 20


def release_picture(evidence: Evidence, number: int = SHOWN, longer_than: int | None = None) -> Picture:
    """The `number` patterns that most people have, of those with more items than `longer_than`.

    Short patterns have the most people and say the least: by default, patterns with at least two items and
    half as many as the longest are drawn.
    """
    if not 1 <= number <= MOST:
        hint = f"request {SHOWN}, or others with {{longer_than}}"
        raise ParameterError(f"a picture shows 1 to {MOST} patterns", hint=hint)
    published = evidence.patterns
    longest = int(published.lengths.max())
    usual = max(0, min(longest - 1, max(1, (longest - 1) // 2)))
    shortest = usual if longer_than is None else longer_than
    chosen = top_patterns(published, TopPatterns(number, longer_than=shortest)).to_pylist()
    if not chosen:
        message = f"no pattern has more than {counted(shortest, 'item')}, the longest has {longest}"
        raise ParameterError(message, hint="lower {longer_than}")
    total = int((published.lengths > shortest).sum())
    least = "" if shortest == 0 else f" with {shortest + 1} or more items"
    title = f"The {len(chosen)} strongest of {counted(total, 'pattern')}{least}"
    added = f"Counts include up to {people(published.virtual)} who do not exist."
    virtual = added if published.virtual else ""
    if published.instants:
        return _shapes(published, chosen, title, virtual)
    bars = [Bar(", ".join(row["pattern"]), (row["support"],), (_count(row),)) for row in chosen]
    subtitle = f"Bars: how many of {people(published.people)} have all of the items. {virtual}".rstrip()
    return grouped_bars(title, subtitle, {"": bars})


def _shapes(published: Patterns, chosen: Sequence[Mapping[str, Any]], title: str, virtual: str) -> Picture:
    across, step, height = min(3, len(chosen)), 312, 196
    span = f"from far below a series' own {published.center} to far above it"
    subtitle = f"Bands: {published.kinds} symbols, {span}."
    body = [*heading(title, subtitle, 24), *([text(24, 64, virtual, "soft")] if virtual else [])]
    for index, row in enumerate(chosen):
        left, top = 54 + step * (index % across), 100 + height * (index // across)
        panel = Panel(left, top, step - 62, height - 60, -_EDGE, _EDGE, len(published.instants))
        body.append(text(left - 14, top - 8, _count(row), "strong"))
        body += _shape(published, panel, row["pattern"])
    bottom = 100 + height * math.ceil(len(chosen) / across) - 22
    sentences = (f"{', '.join(row['pattern']) or 'everyone'}: {_count(row)}." for row in chosen)
    words = " ".join([f"Of {people(published.people)}:", *sentences])
    return Picture(title, words, bottom, tuple(body), width=24 + step * max(across, 2))


def _shape(published: Patterns, panel: Panel, items: Sequence[str]) -> Iterator[str]:
    """Bands for the letters, then the cells of a pattern and a line through them."""
    for kind in range(published.kinds):
        low, high = (panel.y(edge) for edge in _cell(kind, published.kinds))
        yield rect(panel.left - 14, high, panel.width + 28, low - high, f"stripe{kind % 2}")
        if published.kinds <= 10 or kind in (0, published.kinds - 1):
            yield text(panel.left - 28, (low + high) / 2 + 4, LETTERS[kind], "soft")
    yield from place_axis(panel, published.instants)
    points = []
    half = min(12.0, 0.42 * panel.width / max(len(published.instants) - 1, 1))
    for number in published.numbers(items):
        instant, kind = divmod(number or 0, published.kinds)
        low, high = (panel.y(edge) for edge in _cell(kind, published.kinds))
        points.append((instant, panel.x(instant), (low + high) / 2))
        yield rect(panel.x(instant) - half, high, 2 * half, low - high, "cell f0")
    for (instant, x, y), (following, next_x, next_y) in pairwise(points):
        kind_of_line = "pattern s0" if following == instant + 1 else "pattern s0 far"
        yield path([(x, y), (next_x, next_y)], kind_of_line)
    for _, x, y in points:
        yield dot(x, y, "f0")


def _cell(kind: int, kinds: int) -> tuple[float, float]:
    """The cell of a letter, cut off where it has no end."""
    low, high = borders([kind, kind + 1], kinds).clip(-_EDGE, _EDGE).tolist()
    return low, high


def _count(row: Mapping[str, Any]) -> str:
    support = people(row["support"])
    return f"{support}, {row['low']:,.0f} at least" if 0 < row["low"] < row["support"] else support


def group_picture(breach: PatternBreach) -> Picture:
    """Small groups that can be computed from the original counts and from the published ones."""
    groups = {"original": breach.channels_before, "release": breach.channels_after}
    subtitle = f"Groups of fewer than {breach.k} people that anyone can compute from the counts."
    return bar_chart("Small groups before and after", subtitle, groups, colours={"original": ORIGINAL})


def length_picture(published: Patterns) -> Picture | None:
    """Patterns by their number of items."""
    numbers = np.bincount(published.lengths)[1:][:_MOST_LENGTHS].tolist()
    lengths = {counted(length, "item"): number for length, number in enumerate(numbers, start=1)}
    subtitle = "Number of patterns by their number of items."
    return bar_chart("Patterns by length", subtitle, lengths) if numbers else None


def error_picture(loss: PatternLoss, alternatives: Table) -> Picture:
    """The errors of counts, in this release and in other ways to publish the same."""
    errors = (loss.mean_error, *(way.mean_error for way in loss.alternatives))
    names = [str(row[0]) for row in alternatives.rows]
    colours = dict.fromkeys(names[1:], OTHER)
    subtitle = "Mean relative error of counts; a pattern that is lost counts as an error of 100 %."
    title = "How far off counts are, compared with other ways"
    lengths = dict(zip(names, errors, strict=True))
    return bar_chart(title, subtitle, lengths, colours=colours, label=share)
