"""Pictures of a series release: groups with their envelopes and patterns, attacks, sizes, widths and errors.

A group is drawn as a band, its envelope, with the pattern of each subgroup as a line. Without the ledger a
picture shows what everyone who has the release can see; with it, it also shows the originals, is private, and
says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from timeveil.domain.release import Ledger, Release
from timeveil.models.series.evidence import Evidence, Published
from timeveil.models.series.judges.attack import SeriesBreach
from timeveil.models.series.judges.measure import SeriesLoss, widths
from timeveil.models.series.words.groups import Group, Numbers, groups_of, overview
from timeveil.models.series.words.results import query_table
from timeveil.page.attacks import candidate_shares
from timeveil.page.charts import Bar, Mark, bar_chart, doubling_edges, pair_chart, size_bars
from timeveil.page.svg import (
    PALETTE,
    Panel,
    Picture,
    heading,
    line,
    path,
    place_axis,
    rect,
    round_numbers,
    shortened,
    text,
    value_axis,
)
from timeveil.page.wording import counted, percent, share

PRIVATE = "PRIVATE: contains original series; do not pass it on"
_LISTED, _LETTERS, _ACROSS = 6, 40, 3
_WIDTH_STEPS = 8


def release_picture(release: Release, group: int | None = None, ledger: Ledger | None = None) -> Picture:
    """One group, or without a number a few groups from the narrowest envelope to the widest."""
    _ = Evidence(release).published  # refuses what cannot be drawn
    numbers = [group] if group is not None else overview(release)
    groups = groups_of(release, numbers, ledger)
    private = ledger is not None
    draw = _single if len(groups) == 1 else _several
    return draw(release, groups, private=private)


def _single(release: Release, groups: Sequence[Group], *, private: bool) -> Picture:
    [group] = groups
    title = f"Group {group.number} of {release.manifest['counts']['groups']:,}: {group.size} series"
    panel = _panel(group, 64, 84, 672, 242, private=private)
    body = [
        *_head(title, 64, private=private),
        *_drawn(group, panel, release.manifest["series"]["instants"], 5),
    ]
    y = 380.0
    for index, subgroup in enumerate(group.subgroups[:_LISTED]):
        body.append(line(64, y - 4, 94, y - 4, f"pattern s{index % PALETTE}"))
        body.append(text(102, y, f"{subgroup.size} series: {shortened(subgroup.letters, _LETTERS)}"))
        y += 20
    if len(group.subgroups) > _LISTED:
        body.append(text(102, y, f"and {len(group.subgroups) - _LISTED} more patterns", "soft"))
        y += 20
    return Picture(title, _words(groups, private=private), y + 2, tuple(body), width=760)


def _several(release: Release, groups: Sequence[Group], *, private: bool) -> Picture:
    step, height = 312, 210
    total = release.manifest["counts"]["groups"]
    title = f"{len(groups)} of {total:,} groups, from the narrowest envelope to the widest"
    body = [*_head(title, 24, private=private)]
    for index, group in enumerate(groups):
        left, top = 64 + step * (index % _ACROSS), 104 + height * (index // _ACROSS)
        patterns = counted(len(group.subgroups), "pattern")
        body.append(text(left, top - 8, f"group {group.number}: {group.size} series, {patterns}", "strong"))
        panel = _panel(group, left, top, step - 64, height - 66, private=private)
        body += _drawn(group, panel, release.manifest["series"]["instants"], 4)
    bottom = 104 + height * math.ceil(len(groups) / _ACROSS) - 24
    return Picture(title, _words(groups, private=private), bottom, tuple(body), width=960)


def _panel(group: Group, left: float, top: float, width: float, height: float, *, private: bool) -> Panel:
    parts = [group.low, group.high, *(subgroup.line for subgroup in group.subgroups)]
    if private:
        parts += [subgroup.originals.ravel() for subgroup in group.subgroups]
    values = np.concatenate(parts)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    margin = (high - low) * 0.06 or max(abs(high), 1.0) * 0.05
    return Panel(left, top, width, height, low - margin, high + margin, len(group.low))


def _drawn(group: Group, panel: Panel, instants: Sequence[str], ticks: int) -> Iterator[str]:
    """A group: the scale, the envelope, then originals, then patterns on top."""
    marks = round_numbers(panel.low, panel.high, ticks)
    yield from value_axis(panel, marks, [_number(mark) for mark in marks])
    yield from place_axis(panel, instants)
    yield from _band(group, panel)
    for index, subgroup in enumerate(group.subgroups):
        for original in subgroup.originals:
            yield from _curve(original, panel, f"original s{index % PALETTE}")
    for index, subgroup in enumerate(group.subgroups):
        yield from _curve(subgroup.line, panel, f"pattern s{index % PALETTE}")


def _band(group: Group, panel: Panel) -> Iterator[str]:
    for run in _runs(group.low):
        upper, lower = panel.points(run, group.high), panel.points(run, group.low)
        if len(run) == 1:
            (x, top), (_, bottom) = upper[0], lower[0]
            yield rect(x - 4, top, 8, max(bottom - top, 1.5), "band")
        else:
            yield path([*upper, *reversed(lower)], "band", closed=True)


def _curve(values: Numbers, panel: Panel, kind: str) -> Iterator[str]:
    for run in _runs(values):
        yield path(panel.points(run, values), kind)


def _runs(values: Numbers) -> list[list[int]]:
    """Places of known values, in runs without a gap."""
    known = groupby(range(len(values)), key=lambda index: bool(np.isnan(values[index])))
    return [list(run) for missing, run in known if not missing]


def _head(title: str, left: int, *, private: bool) -> list[str]:
    thin = " Thin lines: original series." if private else ""
    subtitle = f"Band: the envelope that all share. Thick lines: patterns of subgroups, fitted into it.{thin}"
    return [*heading(title, subtitle, left), *([text(left, 66, PRIVATE, "private")] if private else [])]


def _words(groups: Sequence[Group], *, private: bool) -> str:
    """The picture in a sentence for each group."""
    sentences = [f"{PRIVATE}."] if private else []
    for group in groups:
        sizes = ", ".join(str(subgroup.size) for subgroup in group.subgroups)
        wide = float(np.nanmean(group.high - group.low))
        lowest, highest = float(np.nanmin(group.low)), float(np.nanmax(group.high))
        sentences.append(
            f"Group {group.number} has {group.size} series in an envelope from {lowest:.3g} to {highest:.3g} "
            f"that is {wide:.3g} wide on average, with patterns shared by {sizes}."
        )
    return " ".join(sentences)


def _number(value: float) -> str:
    """A number in few characters.

    >>> [_number(value) for value in (0.25, 1200.0, 1234567.0, 0.00002)]
    ['0.25', '1,200', '1.23e+06', '2e-05']
    """
    return f"{value:,.6g}" if 1e-4 <= abs(value) < 1e5 or value == 0 else f"{value:.3g}"


def attack_picture(breach: SeriesBreach) -> Picture:
    """How many people have how many candidate series, in the original and in the release, with P marked.

    A pair of columns is the share of people whose number of candidates is at least the number at its left
    edge and below the number at its right edge.
    """
    largest = max(int(risk.candidates.max(initial=1)) for risk in (breach.before, breach.after))
    edges = doubling_edges(breach.p, largest)
    before, after, reach = breach.unique_before, breach.unique_after, breach.after.out_of_reach
    return pair_chart(
        "How many series fit what an outsider knows",
        f"Share of {breach.people:,} people. Known about each: {breach.adversary.words}",
        f"Of {breach.people:,} people attacked, {percent(before)} have a single candidate in the original "
        f"and {percent(after)} in the release. In the release, the chance of naming the right row is at most "
        f"{percent(breach.worst)}, and {percent(breach.mean)} on average; {percent(reach)} are out of reach.",
        candidate_shares(breach.before, edges),
        candidate_shares(breach.after, edges),
        (
            f"original: {percent(before)} with one candidate",
            f"release: {percent(after)} with one candidate, {percent(reach)} out of reach",
        ),
        [Mark(f"P = {breach.p}", edges.index(breach.p))],
        ticks=[f"{size:,}" for size in edges],
        axis="series that fit (candidates)",
    )


def size_picture(published: Published, k: int, p: int) -> Picture | None:
    """Groups by their number of series."""
    if not len(published.group):
        return None
    groups = np.bincount(np.unique(published.group, return_inverse=True)[1].ravel(), weights=published.rows)
    subtitle = f"Number of groups by their number of series. At least {k} share an envelope, {p} a pattern."
    return bar_chart("Groups by size", subtitle, size_bars(groups.astype(np.int64), k, "series", "series"))


def width_picture(published: Published) -> Picture | None:
    """How many series are in envelopes of which width."""
    wide = widths(published.low, published.high)
    if not len(wide) or not np.isfinite(wide).all():
        return None
    top = float(wide.max()) or 1.0
    counts, edges = np.histogram(wide, bins=_WIDTH_STEPS, range=(0.0, top), weights=published.rows)
    bars = [
        Bar(f"{low:.3g} to {high:.3g}", (float(count),), (f"{count:,.0f}",))
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    subtitle = "Number of series by the mean width of their envelope, in the units of the values."
    return bar_chart("How precise values are", subtitle, bars)


def error_picture(loss: SeriesLoss) -> Picture:
    """The errors of random questions."""
    table = query_table(loss)
    bars = [
        Bar(row[0], (error.mean,), (share(error.mean),))
        for row, error in zip(table.rows, loss.query_errors, strict=True)
    ]
    number = loss.query_errors[0].queries
    subtitle = f"Mean error of {number:,} random counts of each kind, relative to the true count."
    return bar_chart("How far off answers are", subtitle, bars)
