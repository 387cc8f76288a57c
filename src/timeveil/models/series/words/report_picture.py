"""A picture of a series release: envelopes as bands, patterns as lines in them, originals with the ledger.

One group fills the picture; several stand side by side, each on its own scale. Without the ledger it shows
what everybody who has the release can see; with it the picture is as private as the ledger, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from xml.sax.saxutils import escape

import numpy as np

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.models.series.evidence import Evidence
from timeveil.models.series.words.groups import Group, Numbers, groups_of, overview

COLOURS = 6
PRIVATE = "PRIVATE: original series inside; do not pass it on"
_LIGHT = ("#1d6fb8", "#c2410c", "#15803d", "#7c3aed", "#a16207", "#0e7490")
_DARK = ("#60a5fa", "#fb923c", "#4ade80", "#c4b5fd", "#facc15", "#22d3ee")
_DASHES = ("none", "7 3", "2 3", "9 3 2 3", "4 2", "1 2")
_MOST_LISTED = 6
_LETTERS_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Area:
    """Where one group is drawn, and the scale of its values."""

    left: float
    top: float
    width: float
    height: float
    low: float
    high: float
    instants: int

    def x(self, place: int) -> float:
        """Where an instant stands."""
        if self.instants == 1:
            return self.left + self.width / 2
        return self.left + place * self.width / (self.instants - 1)

    def y(self, value: float) -> float:
        """Where a value stands."""
        return self.top + self.height * (1 - (value - self.low) / (self.high - self.low))


def series_svg(release: Release, group: int | None = None, ledger: Ledger | None = None) -> str:
    """A release as SVG: one group, or without a number a few from the narrowest envelope to the widest."""
    _ = Evidence(release).published  # refuses what cannot be drawn
    numbers = [group] if group is not None else overview(release)
    groups = groups_of(release, numbers, ledger)
    private = ledger is not None
    if len(groups) == 1:
        return _one(release, groups[0], private=private)
    return _several(release, groups, private=private)


def _one(release: Release, group: Group, *, private: bool) -> str:
    width, height = 760, 372
    listed = group.subgroups[:_MOST_LISTED]
    instants = release.manifest["series"]["instants"]
    area = _area(group, 64, 84, width - 64 - 24, height - 84 - 46, private=private)
    title = f"Group {group.number} of {release.manifest['counts']['groups']:,}: {group.size} series"
    body = [*_head(title, 64, private=private), *_panel(group, area, instants, ticks=5)]
    top = height + 8
    for place, subgroup in enumerate(listed):
        body += [
            f'<line class="p p{place % COLOURS}" x1="64" x2="94" y1="{top - 4}" y2="{top - 4}"/>',
            f'<text x="102" y="{top}">{subgroup.size} series: {escape(_short(subgroup.letters))}</text>',
        ]
        top += 20
    if len(group.subgroups) > len(listed):
        left = len(group.subgroups) - len(listed)
        body.append(f'<text class="soft" x="102" y="{top}">and {left} more patterns</text>')
        top += 20
    return _picture(width, top + 2, title, _words([group], private=private), body)


def _several(release: Release, groups: Sequence[Group], *, private: bool) -> str:
    across, width, high = 3, 960, 210
    rows = math.ceil(len(groups) / across)
    step = (width - 24) / across
    instants = release.manifest["series"]["instants"]
    counts = release.manifest["counts"]
    title = f"{len(groups)} of {counts['groups']:,} groups, from the narrowest envelope to the widest"
    body = list(_head(title, 24, private=private))
    for place, group in enumerate(groups):
        left, top = 24 + step * (place % across), 104 + high * (place // across)
        area = _area(group, left + 40, top, step - 64, high - 66, private=private)
        many = len(group.subgroups)
        name = f"group {group.number}: {group.size} series, {many} pattern{'s' * (many != 1)}"
        body.append(f'<text class="name" x="{left + 40:.1f}" y="{top - 8}">{name}</text>')
        body += _panel(group, area, instants, ticks=4)
    return _picture(width, 104 + high * rows - 24, title, _words(groups, private=private), body)


def _area(group: Group, left: float, top: float, width: float, height: float, *, private: bool) -> Area:
    shown = [group.low, group.high, *(subgroup.line for subgroup in group.subgroups)]
    if private:
        shown += [subgroup.originals.ravel() for subgroup in group.subgroups]
    values = np.concatenate(shown)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    margin = (high - low) * 0.06 or max(abs(high), 1.0) * 0.05
    return Area(left, top, width, height, low - margin, high + margin, len(group.low))


def _panel(group: Group, area: Area, instants: Sequence[str], ticks: int) -> Iterator[str]:
    yield from _scale(area, ticks)
    yield from instant_names(area, instants)
    yield from _band(group, area)
    for place, subgroup in enumerate(group.subgroups):
        for original in subgroup.originals:
            yield from _line(original, area, f"o p{place % COLOURS}")
    for place, subgroup in enumerate(group.subgroups):
        yield from _line(subgroup.line, area, f"p p{place % COLOURS}")


def _scale(area: Area, ticks: int) -> Iterator[str]:
    right = area.left + area.width
    for value in _round_numbers(area.low, area.high, ticks):
        y = area.y(value)
        yield f'<line class="grid" x1="{area.left:.1f}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield (
            f'<text class="soft" x="{area.left - 7:.1f}" y="{y + 4:.1f}" text-anchor="end">'
            f"{_number(value)}</text>"
        )


def instant_names(area: Area, instants: Sequence[str]) -> Iterator[str]:
    """Names of instants, as many as fit; the first and the last always."""
    base = area.top + area.height
    room = max(len(name) for name in instants) * 6.5 + 14
    every = max(1, math.ceil(len(instants) * room / area.width))
    last = len(instants) - 1
    at_end = "end" if len(instants[last]) > 6 else "middle"
    free = room * (1.5 if at_end == "end" else 1.0)
    places = [place for place in range(0, last, every) if area.x(last) - area.x(place) >= free or not place]
    for place in [*places, last]:
        x = area.x(place)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{base:.1f}" y2="{base + 4:.1f}"/>'
        anchor = at_end if place == last and last else "middle"
        yield (
            f'<text class="soft" x="{x:.1f}" y="{base + 17:.1f}" text-anchor="{anchor}">'
            f"{escape(instants[place])}</text>"
        )


def _band(group: Group, area: Area) -> Iterator[str]:
    for run in _runs(group.low):
        if len(run) == 1:
            x, top, bottom = area.x(run[0]), area.y(group.high[run[0]]), area.y(group.low[run[0]])
            high = max(bottom - top, 1.5)
            yield f'<rect class="band" x="{x - 4:.1f}" y="{top:.1f}" width="8" height="{high:.1f}"/>'
            continue
        upper = [f"{area.x(place):.1f},{area.y(group.high[place]):.1f}" for place in run]
        lower = [f"{area.x(place):.1f},{area.y(group.low[place]):.1f}" for place in reversed(run)]
        yield f'<polygon class="band" points="{" ".join([*upper, *lower])}"/>'


def _line(values: Numbers, area: Area, kind: str) -> Iterator[str]:
    for run in _runs(values):
        if len(run) == 1:
            x, y = area.x(run[0]), area.y(values[run[0]])
            yield f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>'
            continue
        points = " ".join(f"{area.x(place):.1f},{area.y(values[place]):.1f}" for place in run)
        yield f'<polyline class="{kind}" points="{points}"/>'


def _runs(values: Numbers) -> list[list[int]]:
    """Places of values that are known, in runs without a gap."""
    known = groupby(range(len(values)), key=lambda place: bool(np.isnan(values[place])))
    return [list(run) for missing, run in known if not missing]


def _head(title: str, left: int, *, private: bool) -> Iterator[str]:
    yield f'<text class="head" x="{left}" y="28">{title}</text>'
    thin = " Thin lines: original series." if private else ""
    yield (
        f'<text class="soft" x="{left}" y="47">Band: the envelope that all share. Thick lines: patterns of '
        f"subgroups, fitted into it.{thin}</text>"
    )
    if private:
        yield f'<text class="private" x="{left}" y="66">{PRIVATE}</text>'


def _words(groups: Sequence[Group], *, private: bool) -> str:
    """The picture in a sentence for each group."""
    said = []
    for group in groups:
        sizes = ", ".join(str(subgroup.size) for subgroup in group.subgroups)
        wide = float(np.nanmean(group.high - group.low))
        lowest, highest = float(np.nanmin(group.low)), float(np.nanmax(group.high))
        said.append(
            f"Group {group.number} has {group.size} series in an envelope that runs from {lowest:.3g} to "
            f"{highest:.3g} and is {wide:.3g} wide on average, with patterns shared by {sizes}."
        )
    return " ".join([*([PRIVATE + "."] if private else []), *said])


def _picture(width: float, height: float, title: str, words: str, body: Sequence[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            'class="tv-series" aria-labelledby="tv-series-title tv-series-desc">',
            f'<title id="tv-series-title">{escape(title)}</title>',
            f'<desc id="tv-series-desc">{escape(words)}</desc>',
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
        ".private{fill:#b91c1c;font-weight:600}",
        ".grid{stroke:#e4e9ef}",
        ".band{fill:#9fb3c8;fill-opacity:.35;stroke:#829ab1;stroke-width:1}",
        ".p{fill:none;stroke-width:2.4;stroke-linejoin:round}",
        ".o{fill:none;stroke-width:.8;stroke-opacity:.6}",
        *(f".p{place}{{stroke:{colour}}}" for place, colour in enumerate(_LIGHT)),
        *(f".p.p{place}{{stroke-dasharray:{dash}}}" for place, dash in enumerate(_DASHES)),
    ]
    dark = [
        "text{fill:#f0f4f8}",
        ".paper{fill:#12181f}",
        ".soft{fill:#b8c4d0}",
        ".private{fill:#fca5a5}",
        ".grid{stroke:#263442}",
        ".band{fill:#627d98;stroke:#829ab1}",
        *(f".p{place}{{stroke:{colour}}}" for place, colour in enumerate(_DARK)),
    ]
    inside = "\n".join(f"  .tv-series {rule}" for rule in dark)
    outside = "\n".join(f".tv-series {rule}" for rule in light)
    return f"\n{outside}\n@media (prefers-color-scheme:dark){{\n{inside}\n}}\n"


def _round_numbers(low: float, high: float, about: int) -> list[float]:
    """A few round numbers inside a range.

    >>> _round_numbers(0.13, 0.87, 4)
    [0.2, 0.4, 0.6, 0.8]
    """
    rough = (high - low) / about
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * part for part in (1, 2, 5, 10) if size * part >= rough * 0.8)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [float(f"{place * step:.12g}") for place in range(first, last + 1)]


def _number(value: float) -> str:
    """A number in few letters.

    >>> [_number(value) for value in (0.25, 1200.0, 1234567.0, 0.00002)]
    ['0.25', '1,200', '1.23e+06', '2e-05']
    """
    return f"{value:,.6g}" if 1e-4 <= abs(value) < 1e5 or value == 0 else f"{value:.3g}"


def _short(letters: str) -> str:
    return letters if len(letters) <= _LETTERS_SHOWN else f"{letters[:_LETTERS_SHOWN]}…"
