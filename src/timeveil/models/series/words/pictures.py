"""Pictures of a series release: groups with their envelopes and patterns, attacks, sizes, widths and errors.

A pattern says how a series runs, not how high: of all heights and depths that fit into the envelope, the
middle is drawn. With the ledger a picture also shows the originals, is private, and says so.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

import numpy as np

from timeveil.domain.arrays import Floats
from timeveil.errors import ParameterError
from timeveil.models.series.evidence import Evidence, Published
from timeveil.models.series.judges.attack import SeriesBreach
from timeveil.models.series.judges.measure import SeriesLoss, widths
from timeveil.page import svg
from timeveil.page.charts import bar_chart, candidate_chart, size_chart
from timeveil.page.report import Table
from timeveil.page.svg import DASHES, ORIGINAL, SHADES, Panel, Picture
from timeveil.page.wording import counted, share, shortened
from timeveil.symbols import to_letters

PRIVATE = "PRIVATE: contains original series; do not pass it on"
_LISTED, _LETTERS, _ACROSS = 6, 40, 3
_WIDTH_STEPS = 8
_DEPTHS = 257  # depths that are tried when a pattern is fitted into an envelope


class Subgroup:
    """Series that share a pattern: how many, its letters, where it runs, and maybe the originals."""

    def __init__(self, evidence: Evidence, run: int, low: Floats, high: Floats, *, private: bool) -> None:
        published = evidence.published
        self.size, self.letters = int(published.rows[run]), to_letters(published.symbols[run])
        self.line = fitted(published.shapes([run])[0], low, high)
        self.originals = evidence.matrix[evidence.run == run] if private else np.empty((0, published.size))


class Group:
    """An envelope over all instants, NaN where it is not published, and the patterns in it.

    If `private`, with the original series.
    """

    def __init__(self, evidence: Evidence, number: int, *, private: bool) -> None:
        published, self.number = evidence.published, number
        runs = np.flatnonzero(published.group == number)
        if not len(runs):
            total = evidence.release.manifest["counts"]["groups"]
            message = f"there is no group {number}; the release has groups 1 to {total:,}"
            raise ParameterError(message, hint=f"give --group 1 to {total}, or leave it out")
        self.size = int(published.rows[runs].sum())
        self.low, self.high = np.full((2, published.size), np.nan)
        self.low[published.values], self.high[published.values] = (
            published.low[runs[0]],
            published.high[runs[0]],
        )
        ends = self.low, self.high
        self.subgroups = [Subgroup(evidence, run, *ends, private=private) for run in runs.tolist()]


def release_picture(evidence: Evidence, group: int | None = None, *, private: bool = False) -> Picture:
    """One group, or without a number a few groups, narrow to wide; if `private`, with the original series."""
    published = evidence.published  # refuses what cannot be drawn
    numbers = overview(published) if group is None else [group]
    groups = [Group(evidence, number, private=private) for number in numbers]
    total = f"{evidence.release.manifest['counts']['groups']:,}"
    if len(groups) == 1:
        title, left, width = f"Group {groups[0].number} of {total}: {groups[0].size} series", 64, 760
        body, bottom = _single(groups[0], published.instants)
    else:
        title, left = f"{len(groups)} of {total} groups, from the narrowest envelope to the widest", 24
        (body, bottom), width = _several(groups, published.instants), 960
    thin = " Thin lines: original series." if private else ""
    thick = " Thick lines: patterns of subgroups, fitted into it." if len(published.pattern) else ""
    subtitle = f"Band: the envelope that all share.{thick}{thin}"
    warning = [svg.text(left, 66, PRIVATE, "private")] if private else []
    head = [*svg.heading(title, subtitle, left), *warning]
    return Picture(title, _words(groups, private=private), bottom, (*head, *body), width=width)


def overview(published: Published, most: int = 6) -> list[int]:
    """Numbers of a few groups, from the narrowest envelope to the widest."""
    groups, first = np.unique(published.group, return_index=True)
    width = (published.high - published.low).sum(axis=1)[first]
    by_width = groups[np.argsort(width, kind="stable")]
    chosen = np.linspace(0, len(by_width) - 1, min(most, len(by_width))).round().astype(int)
    return [int(group) for group in by_width[chosen]]


def fitted(shape: Floats, low: Floats, high: Floats) -> Floats:
    """The shape, moved and stretched into the middle of what an envelope leaves it.

    Every depth that fits has a span of heights; the mean over all of them is taken. Where none fits, since a
    symbol is not a value, it is the depth that fits best.
    """
    published = ~(np.isnan(shape) | np.isnan(low))
    if not published.any():
        return np.full(len(shape), np.nan)
    z, lo, hi = shape[published], low[published], high[published]
    span = float(np.ptp(z))
    deepest = (hi.max() - lo.min()) / span if span else 0.0
    depth = np.linspace(0.0, deepest, _DEPTHS)[:, None]
    bottom, top = (lo - depth * z).max(axis=1), (hi - depth * z).min(axis=1)
    room, height = top - bottom, (top + bottom) / 2
    weight = np.maximum(room, 0.0)
    if weight.sum() <= 0:
        weight = (room == room.max()).astype(np.float64)
    weight /= weight.sum()
    line: Floats = weight @ height + float(weight @ depth[:, 0]) * shape
    return line


def _single(group: Group, instants: Sequence[str]) -> tuple[list[str], float]:
    """A large group and, below it, its patterns; and where they end."""
    body, y = [*_drawn(group, instants, (64, 84, 672, 242), 5)], 380.0
    listed = [subgroup for subgroup in group.subgroups if subgroup.letters]
    for index, subgroup in enumerate(listed[:_LISTED]):
        body.append(svg.line(64, y - 4, 94, y - 4, _dashed(index)))
        body.append(svg.text(102, y, f"{subgroup.size} series: {shortened(subgroup.letters, _LETTERS)}"))
        y += 20
    if len(listed) > _LISTED:
        body.append(svg.text(102, y, f"and {len(listed) - _LISTED} more patterns", "soft"))
        y += 20
    return body, y + 2


def _several(groups: Sequence[Group], instants: Sequence[str]) -> tuple[list[str], float]:
    """Small groups side by side, and where they end."""
    step, height, body = 312, 210, []
    for index, group in enumerate(groups):
        left, top = 64 + step * (index % _ACROSS), 104 + height * (index // _ACROSS)
        label = f"group {group.number}: {group.size} series"
        if group.subgroups[0].letters:
            label += f", {counted(len(group.subgroups), 'pattern')}"
        body.append(svg.text(left, top - 8, label, "strong"))
        body += _drawn(group, instants, (left, top, step - 64, height - 66), 4)
    return body, 104 + height * math.ceil(len(groups) / _ACROSS) - 24


def _words(groups: Sequence[Group], *, private: bool) -> str:
    sentences = [f"{PRIVATE}."] if private else []
    for group in groups:
        sizes = ", ".join(str(subgroup.size) for subgroup in group.subgroups if subgroup.letters)
        patterns = f", with patterns shared by {sizes}" if sizes else ""
        wide = float(np.nanmean(group.high - group.low))
        lowest, highest = float(np.nanmin(group.low)), float(np.nanmax(group.high))
        sentences.append(
            f"Group {group.number} has {group.size} series in an envelope from {lowest:.3g} to {highest:.3g} "
            f"that is {wide:.3g} wide on average{patterns}."
        )
    return " ".join(sentences)


def _drawn(
    group: Group, instants: Sequence[str], box: tuple[float, float, float, float], ticks: int
) -> Iterator[str]:
    """A group: the scale, the envelope, then originals, then patterns on top."""
    lines = [subgroup.line for subgroup in group.subgroups]
    originals = [subgroup.originals.ravel() for subgroup in group.subgroups]
    values = np.concatenate([group.low, group.high, *lines, *originals])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    margin = (high - low) * 0.06 or max(abs(high), 1.0) * 0.05
    panel = Panel(*box, low - margin, high + margin, len(group.low))
    marks = svg.round_numbers(panel.low, panel.high, ticks)
    yield from svg.value_axis(panel, marks, [f"{mark:,.6g}" for mark in marks])
    yield from svg.place_axis(panel, instants)
    for run in _runs(group.low):
        upper, lower = panel.points(run, group.high), panel.points(run, group.low)
        if len(run) == 1:
            (x, top), (_, bottom) = upper[0], lower[0]
            yield svg.rect(x - 4, top, 8, max(bottom - top, 1.5), "band")
        else:
            yield svg.path([*upper, *reversed(lower)], "band", closed=True)
    for index, subgroup in enumerate(group.subgroups):
        for original in subgroup.originals:
            yield from _curve(original, panel, f"original s{ORIGINAL} d{index % DASHES}")
    for index, subgroup in enumerate(group.subgroups):
        yield from _curve(subgroup.line, panel, _dashed(index))


def _dashed(index: int) -> str:
    """How the line of a pattern is drawn: always in blue, and told apart from its neighbours."""
    return f"pattern b{index % SHADES} d{index % DASHES}"


def _curve(values: Floats, panel: Panel, kind: str) -> Iterator[str]:
    for run in _runs(values):
        yield svg.path(panel.points(run, values), kind)


def _runs(values: Floats) -> list[list[int]]:
    """Indices of known values, in runs without a gap."""
    stretches = groupby(range(len(values)), key=lambda index: bool(np.isnan(values[index])))
    return [list(run) for missing, run in stretches if not missing]


def attack_picture(breach: SeriesBreach) -> Picture:
    """How many published series fit what an outsider knows."""
    return candidate_chart(breach, breach.p, "P", "series", "row", breach.adversary.words)


def size_picture(published: Published, k: int, p: int) -> Picture | None:
    """Groups by their number of series."""
    pattern = f", {p} a pattern" if len(published.pattern) else ""
    subtitle = f"Number of groups by their number of series. At least {k} share an envelope{pattern}."
    return size_chart("Groups by size", subtitle, published.group_sizes[1], k, "series")


def width_picture(published: Published) -> Picture | None:
    """How many series are in envelopes of which width."""
    wide = widths(published.low, published.high)
    if not len(wide) or not np.isfinite(wide).all():
        return None
    top = float(wide.max()) or 1.0
    counts, edges = np.histogram(wide, bins=_WIDTH_STEPS, range=(0.0, top), weights=published.rows)
    ranges = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
    subtitle = "Number of series by the mean width of their envelope, in the units of the values."
    return bar_chart("How precise values are", subtitle, dict(zip(ranges, counts.tolist(), strict=True)))


def error_picture(loss: SeriesLoss, queries: Table | None) -> Picture | None:
    """The errors of random questions, which `queries` names."""
    if queries is None:
        return None
    errors = {str(row[0]): error.mean for row, error in zip(queries.rows, loss.query_errors, strict=True)}
    number = loss.query_errors[0].queries
    subtitle = f"Mean error of {number:,} random counts of each kind, relative to the true count."
    return bar_chart("How far off answers are", subtitle, errors, label=share)
