"""The charts of all models: bars, columns, pairs of columns, candidates; and the order of granularities."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise
from statistics import fmean
from types import MappingProxyType
from typing import Any

import numpy as np

from timeveil.calendar.granularity import Granularity
from timeveil.calendar.order import Order
from timeveil.domain.arrays import Ints
from timeveil.page import svg
from timeveil.page.svg import LEFT, ORIGINAL, RELEASE, RIGHT, WIDTH, Panel, Picture
from timeveil.page.wording import percent, shortened

_MARGIN, _LONGEST_NAME = 24, 44
_DISTINCT_SIZES = 12  # up to so many have a bar each; more are counted in ranges that double
_COLUMNS = 60  # at most this many columns fit side by side; more are added up
_WIDEST, _NUMBERED = 46, 22  # width of a column at most, and from which on it has room for its number
_BOX, _LAYER, _BETWEEN, _AROUND = 30.0, 66.0, 26.0, 28.0
_NOTE = "dashed: with gaps, some times are in no granule"


@dataclass(frozen=True, slots=True)
class Bar:
    """A name, one length per kind, the same as labels, and colours; a strong one is set in bold."""

    name: str
    lengths: tuple[float, ...]
    labels: tuple[str, ...]
    strong: bool = False
    colours: tuple[int, ...] = (RELEASE,)


def bar_chart(
    title: str,
    subtitle: str,
    lengths: Mapping[str, float | Sequence[float]],
    kinds: Mapping[str, int] = MappingProxyType({}),
    *,
    colours: Mapping[str, int] = MappingProxyType({}),
    label: Callable[[float], str] = "{:,.0f}".format,
    strong: str = "",
) -> Picture:
    """A bar for each name, or one for each of `kinds`, which have colours.

    Without kinds, a bar has the colour of the release unless `colours` names another. The one that is called
    `strong` is set in bold.
    """
    bars = []
    for name, length in lengths.items():
        parts = tuple(length) if isinstance(length, Sequence) else (length,)
        fills = tuple(kinds.values()) or (colours.get(name, RELEASE),)
        bars.append(Bar(name, parts, tuple(map(label, parts)), name == strong, fills))
    return grouped_bars(title, subtitle, {"": bars}, kinds)


def grouped_bars(
    title: str,
    subtitle: str,
    groups: Mapping[str, Sequence[Bar]],
    kinds: Mapping[str, int] = MappingProxyType({}),
) -> Picture:
    """Groups of bars below each other, by name and each with a scale of its own."""
    every = [bar for bars in groups.values() for bar in bars]
    names = min(max((svg.text_width(shortened(bar.name, _LONGEST_NAME)) for bar in every), default=0.0), 300)
    start = _MARGIN + names + 14
    labels = max((svg.text_width(label) for bar in every for label in bar.labels), default=0.0)
    room = WIDTH - start - _MARGIN - labels - 8
    step = 14 * max(len(kinds), 1) + 10
    body = [*svg.heading(title, subtitle, _MARGIN), *svg.legend(kinds, _MARGIN)]
    y = 92.0 if kinds else 68.0
    for group, bars in groups.items():
        if group:
            body.append(svg.line(_MARGIN, y, WIDTH - _MARGIN, y, "grid"))
            body.append(svg.text(_MARGIN, y + 18, group, "strong"))
            y += 28
        longest = max((length for bar in bars for length in bar.lengths), default=0.0) or 1.0
        for bar in bars:
            kind = "strong" if bar.strong else ""
            name = shortened(bar.name, _LONGEST_NAME)
            body.append(svg.text(start - 14, y + 7 * len(bar.lengths) + 4, name, kind, "end"))
            parts = zip(bar.lengths, bar.labels, bar.colours, strict=True)
            for index, (length, label, colour) in enumerate(parts):
                top, long = y + 14 * index, max(length * room / longest, 1.0 if length else 0.0)
                body.append(svg.rect(start, top + 1, long, 12, f"f{colour}"))
                body.append(svg.text(start + long + 6, top + 11, label, kind or "soft"))
            y += step
    return Picture(title, f"{subtitle} {_described(groups, [*kinds])}".strip(), y + 10, tuple(body))


def column_chart(
    title: str, subtitle: str, places: Ints, numbers: Ints, ends: tuple[str, str], unit: str
) -> Picture:
    """Numbers at their places from left to right; neighbours are added up where there are too many."""
    first = int(places.min())
    # Columns by place, not by rank: places without a number leave a gap.
    size = math.ceil((int(places.max()) - first + 1) / _COLUMNS)
    sums = np.bincount((places - first) // size, weights=numbers).astype(np.int64)
    most = int(sums.max(initial=1))
    panel = Panel(_MARGIN + 46, 70, WIDTH - 2 * _MARGIN - 46, 160, 0, most, len(sums))
    wide = panel.width / len(sums)
    gap = min(2.0, wide * 0.2)
    marks = (0.0, most / 2, float(most))
    body = [*svg.value_axis(panel, marks, [f"{mark:,.0f}" for mark in marks])]
    for index, number in enumerate(sums.tolist()):
        y = panel.y(number)
        body.append(svg.rect(panel.left + index * wide + gap / 2, y, wide - gap, panel.bottom - y, "f0"))
    body.append(svg.text(panel.left, panel.bottom + 18, ends[0], "soft"))
    body.append(svg.text(WIDTH - _MARGIN, panel.bottom + 18, ends[1], "soft", "end"))
    below = subtitle + ("" if size == 1 else f" Each bar adds up {size} {unit}s.")
    words = f"From {ends[0]} to {ends[1]}, bars of {int(sums.min(initial=most)):,} to {most:,}."
    return Picture(title, f"{below} {words}", 262, (*svg.heading(title, below, _MARGIN), *body))


def pair_chart(
    title: str,
    subtitle: str,
    description: str,
    before: Sequence[float],
    after: Sequence[float],
    names: tuple[str, str],
    *,
    marks: Mapping[str, int],
    ticks: Sequence[str],
    axis: str,
    note: str = "",
) -> Picture:
    """Pairs of columns of shares, before and after, between `ticks`; `marks` are broken lines at some."""
    most = max([*before, *after], default=0.0)
    # A share of 1 may exceed it by rounding.
    top = next(nice for nice in (0.25, 0.5, 0.75, 1.0) if nice >= most - 1e-9)
    panel = Panel(LEFT, 110, WIDTH - LEFT - RIGHT, 230, 0.0, top, len(ticks))
    shares = [part * top / 5 for part in range(6)]
    body = [*svg.heading(title, subtitle), *svg.legend(dict(zip(names, (ORIGINAL, RELEASE), strict=True)))]
    body += [svg.text(LEFT, 86, note, "soft")] if note else []
    body += svg.value_axis(panel, shares, [f"{share:.0%}".replace("%", " %") for share in shares])
    width = min(panel.width / max(len(before), 1) * 0.42, _WIDEST)
    for index, pair in enumerate(zip(before, after, strict=True)):
        middle = panel.x(index + 0.5)
        for share, x, colour in zip(pair, (middle - width, middle), (ORIGINAL, RELEASE), strict=True):
            if share:
                # At least one unit high: a small share is not nothing.
                y = min(panel.y(share), panel.bottom - 1.0)
                body.append(svg.rect(x + 0.5, y, width - 1, panel.bottom - y, f"f{colour}"))
            if share and width >= _NUMBERED:
                body.append(svg.text(x + width / 2, y - 4, percent(share), "num", "middle"))
    for index, tick in enumerate(ticks):
        body.append(svg.line(panel.x(index), panel.bottom, panel.x(index), panel.bottom + 5, "grid"))
        body.append(svg.text(panel.x(index), panel.bottom + 19, tick, "soft", "middle"))
    body.append(svg.text((LEFT + WIDTH - RIGHT) / 2, panel.bottom + 42, axis, "soft", "middle"))
    for row, (label, index) in enumerate(marks.items()):
        body.append(svg.line(panel.x(index), panel.top - 22, panel.x(index), panel.bottom, "edge"))
        body.append(svg.text(panel.x(index) + 6, panel.top - 12 + 16 * row, label))
    return Picture(title, description, 400, tuple(body))


def size_chart(title: str, subtitle: str, sizes: Ints, least: int, unit: str) -> Picture | None:
    """How many groups have each size; where sizes differ widely, ranges from `least` on that double."""
    if not len(sizes):
        return None
    low, high = int(sizes.min()), int(sizes.max())
    edges = list(range(low, high + 2)) if high - low < _DISTINCT_SIZES else _doubling_edges(least, high)
    # Ranges below the smallest size would be empty bars.
    while edges[1] <= low:
        del edges[0]
    # The last bin of a histogram includes its end; half a unit less keeps sizes apart.
    counts, _ = np.histogram(sizes, bins=[*edges[:-1], edges[-1] - 0.5])
    plural = unit if unit.endswith("s") else f"{unit}s"
    names = [f"{spans} {unit if spans == '1' else plural}" for spans in range_names(edges)]
    return bar_chart(title, subtitle, dict(zip(names, counts.tolist(), strict=True)))


def range_names(edges: Sequence[int]) -> list[str]:
    """Names of the ranges between edges."""
    return [f"{low:,}" + (f" to {high - 1:,}" if high > low + 1 else "") for low, high in pairwise(edges)]


def candidate_chart(breach: Any, least: int, mark: str, counted: str, named: str, knows: str) -> Picture:
    """The share of people whose number of candidates is between the edges of columns, with `least` marked.

    `counted` are what fits, such as people; `named` is what a guess is about.
    """
    edges, shares_before, shares_after = candidate_shares(breach, least)
    shares = (breach.before.pinned, breach.after.pinned, breach.after.out_of_reach)
    before, after, reach = map(percent, shares)
    parts = f"{before} with one candidate", f"{after} with one candidate, {reach} out of reach"
    return pair_chart(
        f"How many {counted} fit what an outsider knows",
        f"Share of {breach.people:,} people. Known about each: {knows}",
        f"Of {breach.people:,} people attacked, {before} have a single candidate in the original and {after} "
        f"in the release. In the release, the chance of naming the right {named} is at most "
        f"{percent(breach.worst)}, and {percent(breach.mean)} on average; {reach} are out of reach.",
        shares_before,
        shares_after,
        (f"original: {parts[0]}", f"release: {parts[1]}"),
        marks={f"{mark} = {least}": edges.index(least)},
        ticks=[_short(size) for size in edges],
        axis=f"number of candidates ({counted})",
    )


def candidate_shares(breach: Any, least: int) -> tuple[list[int], list[float], list[float]]:
    """Edges that double, and the share of people with candidates between them, before and after.

    People out of reach, who have no candidate, are in none.
    """
    risks = (breach.before, breach.after)
    edges = _doubling_edges(least, max(int(risk.candidates.max(initial=1)) for risk in risks))
    shares = []
    for risk in risks:
        counts, _ = np.histogram(risk.candidates, bins=edges, weights=risk.weight)
        shares.append([float(count) for count in counts / (risk.weight.sum() or 1.0)])
    return edges, shares[0], shares[1]


def _short(number: int) -> str:
    """A number in few characters."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            scaled = number / size
            return (f"{scaled:.1f}".removesuffix(".0") if scaled < 10 else f"{scaled:.0f}") + letter
    return str(number)


def _doubling_edges(threshold: int, largest: int) -> list[int]:
    """1, 2, 4, … below a threshold, then the threshold, twice, four times, … past the largest."""
    edges = [2**power for power in range(threshold.bit_length()) if 2**power < threshold]
    while not edges or edges[-1] <= max(largest, threshold - 1):
        edges.append(threshold if not edges or edges[-1] < threshold else edges[-1] * 2)
    return edges


def _described(groups: Mapping[str, Sequence[Bar]], kinds: Sequence[str]) -> str:
    sentences = []
    for group, bars in groups.items():
        parts = []
        for bar in bars:
            labels = [f"{kind} {label}" for kind, label in zip(kinds, bar.labels, strict=False)]
            parts.append(f"{bar.name}: {', '.join(labels) or bar.labels[0]}")
        sentences.append((f"{group}: " if group else "") + f"{'; '.join(parts)}.")
    return " ".join(sentences)


def order_picture(granularities: Iterable[Granularity]) -> Picture:
    """The finer-than order of granularities: coarser ones above, a line to each directly coarser."""
    order = Order(granularities)
    coarser = {g.name: [h.name for h in order.directly_coarser(g)] for g in order.granularities}
    row, column = _grid(coarser)
    sizes = {name: svg.text_width(name) + 28 for name in coarser}
    # A column is as wide as its widest box.
    x, right = dict[str, float](), _AROUND
    for number in range(1 + max(column.values(), default=-1)):
        names = [name for name in coarser if column[name] == number]
        widest = max(sizes[name] for name in names)
        x |= dict.fromkeys(names, right + widest / 2)
        right += widest + _BETWEEN
    top = {name: _AROUND + _LAYER * row[name] for name in coarser}
    width, height = right - _BETWEEN + _AROUND, _AROUND + _BOX + max(top.values(), default=_AROUND)
    body = []
    for low, high in ((low, high) for low, highs in coarser.items() for high in highs):
        # Sideways just above the finer one, between two rows, and then straight up to the coarser one.
        ends = (x[low], top[low]), (x[high], top[low] - _LAYER + _BOX), (x[high], top[high] + _BOX)
        body.append(svg.path(ends, "link"))
    for g in order.granularities:
        kind = "stripe1 edge" if g.has_gaps else "stripe1"
        body.append(svg.rect(x[g.name] - sizes[g.name] / 2, top[g.name], sizes[g.name], _BOX, kind))
        body.append(svg.text(x[g.name], top[g.name] + _BOX / 2 + 4.5, g.name, "strong", "middle"))
    if any(g.has_gaps for g in order.granularities):
        body.append(svg.text(_AROUND, height, _NOTE, "soft"))
        width, height = max(width, 2 * _AROUND + svg.text_width(_NOTE)), height + 24
    pairs = [f"{low} is directly finer than {', '.join(highs)}" for low, highs in coarser.items() if highs]
    description = f"{'; '.join(pairs)}."
    return Picture("Which granularity is finer than which", description, height, tuple(body), width)


def _grid(coarser: Mapping[str, list[str]]) -> tuple[dict[str, int], dict[str, int]]:
    """Row and column of each name: right below the lowest that is coarser, and near those that are.

    A name has its column for itself down to the row above the last that is directly finer, so that no box is
    on a line to it.
    """
    row: dict[str, int] = {}
    # The sorter names a granularity after all those that are coarser.
    for name in TopologicalSorter(coarser).static_order():
        row[name] = 1 + max((row[high] for high in coarser[name]), default=-1)
    last = {
        name: max((row[low] - 1 for low in coarser if name in coarser[low]), default=row[name])
        for name in row
    }
    column: dict[str, int] = {}
    taken: list[int] = []  # the last row that is taken, by column
    for name in sorted(coarser, key=row.__getitem__):
        wanted = fmean([column[high] for high in coarser[name]] or [0])
        free = [number for number, below in enumerate([*taken, -1]) if below < row[name]]
        column[name] = min(free, key=lambda number: abs(number - wanted))
        taken[column[name] : column[name] + 1] = [last[name]]
    return row, column
