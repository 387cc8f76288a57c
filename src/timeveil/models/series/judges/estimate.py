"""What a customised release leaves out, estimated from what it publishes (Shou et al. 2013, §6).

Where a pattern is that of each series, an instant without a published envelope still has a symbol: its value
is where the symbol and the envelopes of the other instants leave room for it. An instant without a symbol
takes the one whose values overlap its envelope most.

A value is centre + deviation * z. Of some instants the value is known to be in [low, high] and z in
[below, above]; so low <= centre + deviation * above and centre + deviation * below <= high for each, with a
deviation of at least 0, and at most half of the span of all values: a linear program in two variables (§6.2).
For a given deviation the highest centre is the least of some straight lines, so that the highest value is a
concave function of the deviation alone. Its top is found between two of its lines, each step replacing one of
them. The crossing of the two lines is never below the top: stopped at any step, the answer holds.

Unlike the print, the constraints are multiplied by the deviation, not divided; the cell of an instant is on
both sides, which implies the bounds of Lemma 1; and deviations from a mean, which add up to 0, narrow ranges
further. Of symbols that overlap an envelope equally, that nearest to the middles of all envelopes is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from timeveil.domain.arrays import Flags, Floats, Ints
from timeveil.domain.release import Release
from timeveil.evidence.published import require
from timeveil.models.series.evidence import Bounds, Cells, Evidence, Published, Symbols, cell_bounds
from timeveil.models.series.judges.features import Range, bad, ends
from timeveil.symbols import LETTERS, positions, z_normalised

_BLOCK = 1 << 18
_ROUNDS, _STEPS = 2, 200
_TINY = 1e-11
_WIDER = 1e-9  # bounds are widened by this share of their spread: rounding must not exclude the truth
_ENDLESS = 1e6  # in spreads of the bounds: a deviation that may be as large as this may be of any size


def estimate_ranges(release: Release | Evidence, domain: Range = (None, None)) -> pa.Table:
    """Ranges of the values that a series release does not publish: `<instant>_lo`, `<instant>_hi`.

    One row per row of the release, in its order. The true value is in the range. A range without an end is
    infinite; `domain`, what is publicly known of all values, bounds every range.
    """
    published = _estimable(release)
    missing, columns = published.others(published.values), dict[str, Floats]()
    low, high = estimated_ranges(published, missing, domain)
    for column, instant in enumerate(missing):
        for end, bound in (("lo", low), ("hi", high)):
            columns[f"{published.instants[instant]}_{end}"] = np.repeat(bound[:, column], published.rows)
    return pa.table(columns)


def estimate_patterns(release: Release | Evidence, domain: Range = (None, None)) -> pa.Table:
    """The symbols that a series release does not publish: `<instant>_symbol` and `<instant>_level`.

    One row per row of the release, in its order: the symbol whose values overlap the published envelope
    most. The level is that of the row, or where each instant has one, the median of the row's.
    """
    published = _estimable(release)
    missing, columns = published.others(published.pattern), dict[str, pa.Array]()
    symbols, levels = estimated_symbols(published, missing, domain)
    letters = np.array(list(LETTERS))[np.repeat(symbols, published.rows, axis=0)]
    for column, instant in enumerate(missing):
        columns[f"{published.instants[instant]}_symbol"] = pa.array(letters[:, column], pa.string())
        columns[f"{published.instants[instant]}_level"] = np.repeat(levels, published.rows)
    return pa.table(columns)


def _estimable(case: Release | Evidence) -> Published:
    release = case.release if isinstance(case, Evidence) else case
    require(Release, release)
    if release.manifest.get("model") != "series":
        message = "only a release of series has ranges and patterns to estimate"
        raise bad(message, "give a release made by anonymize_series")
    published = (case if isinstance(case, Evidence) else Evidence(release)).published
    if not len(published.pattern):
        hint = "ask for a release with patterns, that is, with a p above 1"
        raise bad("this release has no patterns, and values alone say nothing more", hint, "not-published")
    refuse_borrowed(published)
    return published


def refuse_borrowed(published: Published) -> None:
    """Nothing follows from a pattern that need not be that of each series."""
    if not published.own_patterns:
        message = "patterns of this release need not be those of each series, so nothing follows from them"
        raise bad(message, "ask for a release made with the method adaptive or kapra", "not-published")


def estimated_ranges(published: Published, instants: Ints, domain: Range = (None, None)) -> Bounds:
    """Per run and instant the lowest and highest value that fits what was published."""
    low, high = np.empty((2, len(published.rows), len(instants)))
    for rows, _, lowest, highest in _narrowed(published, domain):
        low[rows], high[rows] = lowest[:, instants], highest[:, instants]
    return low, high


def estimated_symbols(
    published: Published, instants: Ints, domain: Range = (None, None)
) -> tuple[Symbols, Symbols]:
    """Per run and instant the symbol whose values overlap the envelope most, and per run its level."""
    neither = [published.instants[instant] for instant in np.setdiff1d(instants, published.values)]
    if neither:
        message = f"neither values nor symbols of {', '.join(neither[:12])} were published"
        raise bad(message, "ask about other instants", "not-published")
    levels: Symbols = np.ones(len(published.rows), dtype=np.int16)
    if published.levels.shape[1]:
        levels = np.median(published.levels, axis=1).astype(np.int16)
    symbols = np.zeros((len(published.rows), len(instants)), dtype=np.int16)
    columns, extent = np.searchsorted(published.values, instants), extent_of(published)
    for rows, scale, lowest, highest in _narrowed(published, domain) if len(instants) else ():
        middles = (np.maximum(lowest, extent[0]) + np.minimum(highest, extent[1])) / 2
        position = positions(z_normalised(middles, published.center)[:, instants])
        envelope = published.low[rows][:, columns], published.high[rows][:, columns]
        symbols[rows] = _overlapping(scale, levels[rows], envelope, position, published.reach)
    return symbols, levels


def extent_of(published: Published) -> tuple[float, float]:
    """The lowest and the highest published bound: a guess at where values are, not a bound of them."""
    if not published.low.size:
        return -np.inf, np.inf
    return float(published.low.min()), float(published.high.max())


def _overlapping(
    scale: Scaling, levels: Symbols, envelope: Bounds, position: Floats, reach: float
) -> Symbols:
    """Symbols whose values overlap envelopes most; where several do, the one nearest to a position."""
    low, high = envelope
    most, nearest = np.full(position.shape, -np.inf), np.full(position.shape, np.inf)
    chosen, close = np.zeros(position.shape, dtype=np.int16), 1e-6 * (high - low)
    # Symbols from the lowest up; a run has only those below its level.
    for symbol in range(int(levels.max(initial=1))):
        tried = np.minimum(symbol, levels - 1)
        least_value, most_value = scale.between(*cell_bounds(tried, levels, reach))
        overlap = np.minimum(most_value[:, None], high) - np.maximum(least_value[:, None], low)
        distance = np.abs(((tried + 0.5) / levels)[:, None] - position)
        better = (overlap > most + close) | ((overlap >= most - close) & (distance < nearest))
        better &= (symbol < levels)[:, None]
        most, nearest = np.where(better, overlap, most), np.where(better, distance, nearest)
        chosen[better] = symbol
    return chosen


def _narrowed(published: Published, domain: Range) -> Iterator[tuple[slice, Scaling, Floats, Floats]]:
    """Every run, as many at a time as fit well in memory: its scaling, and its value at each instant.

    One narrows the other, a few times. Ranges always contain the truth, so any number of rounds is safe.
    """
    floor, ceiling = ends("the domain", domain)
    lowest_z, highest_z = Cells(published).values
    step = max(_BLOCK // max(published.size, 1), 1)
    for start in range(0, len(published.rows), step):
        rows = slice(start, start + step)
        below, above = lowest_z[rows], highest_z[rows]
        # At instants without an envelope only the domain bounds the value.
        low, high = np.full_like(below, floor), np.full_like(below, ceiling)
        low[:, published.values] = np.maximum(published.low[rows], floor)
        high[:, published.values] = np.minimum(published.high[rows], ceiling)
        scale = _scaled(low, high, below, above, published.center)
        for _ in range(_ROUNDS):
            for instant in range(published.size):
                lowest, highest = scale.between(below[:, instant], above[:, instant])
                low[:, instant] = np.maximum(low[:, instant], lowest)
                high[:, instant] = np.minimum(high[:, instant], highest)
            if published.center == "mean":
                low, high = _balanced(low, high, below, above, scale)
            scale = _scaled(low, high, below, above, published.center)
        yield rows, scale, low, high


def _scaled(low: Floats, high: Floats, below: Floats, above: Floats, center: str) -> Scaling:
    """The centre, between that of the lowest and that of the highest values, is one more instant of z = 0."""
    middle = np.mean if center == "mean" else np.median
    added = middle(low, axis=1), middle(high, axis=1), np.zeros(len(low)), np.zeros(len(low))
    low, high, below, above = map(np.column_stack, zip((low, high, below, above), added, strict=True))
    return Scaling(low, high, below, above, span=high.max(axis=1) - low.min(axis=1))


def _balanced(low: Floats, high: Floats, below: Floats, above: Floats, scale: Scaling) -> Bounds:
    """Values as far from the mean as all others together can make up for."""
    nil = np.zeros(len(low))
    least, most = (bound[:, None] for bound in scale.between(nil, nil))
    shortest, longest = (scale.unit * part for part in (scale.least, scale.most))
    # Deviations from the mean, from the values and from the cells; they add up to 0.
    with np.errstate(invalid="ignore"):
        under = np.fmax(low - most, np.fmin(shortest[:, None] * below, longest[:, None] * below))
        over = np.fmin(high - least, np.fmax(shortest[:, None] * above, longest[:, None] * above))
        room = _WIDER * scale.unit[:, None] + 1e-12 * np.abs(scale.shift)[:, None]
        highest, lowest = most - _others(under) + room, least - _others(over) - room
    possible = scale.possible[:, None]
    return (np.where(possible, np.fmax(low, lowest), low), np.where(possible, np.fmin(high, highest), high))


def _others(part: Floats) -> Floats:
    """Per row and column the sum of the others; nan, which `fmin` and `fmax` pass over, where infinite."""
    finite = np.isfinite(part)
    parts = np.where(finite, part, 0.0)
    endless = (~finite).sum(axis=1, keepdims=True) - ~finite
    return np.where(endless > 0, np.nan, parts.sum(axis=1, keepdims=True) - parts)


class Scaling:
    """What is known of each series, on one scale: value = `shift` + `unit` * scaled value.

    The values of a series are within a stretch of length `span`; bounds may be infinite. The deviation is
    between `least` and `most`; where `possible` is false, the release contradicts itself.
    """

    def __init__(self, low: Floats, high: Floats, below: Floats, above: Floats, span: Floats) -> None:
        bounds = np.concatenate([low, high], axis=1)
        finite = np.isfinite(bounds)
        number = np.maximum(finite.sum(axis=1), 1)
        self.shift = np.where(finite, bounds / number[:, None], 0.0).sum(axis=1)
        unit = np.where(finite, np.abs(bounds - self.shift[:, None]), 0.0).max(axis=1, initial=0.0)
        self.unit = np.where(unit > 0, unit, np.maximum(np.abs(self.shift), 1.0))
        # On this scale bounds are of size 1, so that one tolerance fits all series.
        low, high = ((part - self.shift[:, None]) / self.unit[:, None] for part in (low, high))
        self.low, self.high, self.below, self.above = low - _TINY, high + _TINY, below, above
        self.least, self.possible = _newton(self.low, self.high, below, above, 0.0)
        most, _ = _newton(self.low, self.high, below, above, _ENDLESS)
        most = np.where(most < _ENDLESS, most, np.inf)
        self.most = np.maximum(np.minimum(most, span / 2 / self.unit + _TINY), self.least)

    def between(self, below: Floats, above: Floats) -> Bounds:
        """The lowest and highest value of each series where z is in [below, above], rounding allowed for."""
        highest = _highest(self.high, self.below, above, self.least, self.most)
        lowest = -_highest(-self.low, -self.above, -below, self.least, self.most)
        bounds = self.shift + self.unit * np.stack([lowest, highest])
        room = _WIDER * self.unit + 1e-12 * np.abs(self.shift) + 1e-11 * np.abs(bounds)
        side = np.array([[-1.0], [1.0]])
        least, most = np.where(self.possible, bounds + side * room, side * np.inf)
        return least, most


def _newton(low: Floats, high: Floats, below: Floats, above: Floats, start: float) -> tuple[Floats, Flags]:
    """The first deviation, up from 0 or down from another, with room for a centre, and if there is one."""
    deviation, way = np.full(len(low), start), -1 if start else 1
    waiting, possible = np.arange(len(low)), np.ones(len(low), dtype=bool)
    for _ in range(_STEPS):
        rows, at = np.arange(len(waiting)), deviation[waiting, None]
        tops, floors = high[waiting] - at * below[waiting], low[waiting] - at * above[waiting]
        top, floor = tops.argmin(axis=1), floors.argmax(axis=1)
        # The room left for the centre, and how it changes with the deviation.
        gap, slope = tops[rows, top] - floors[rows, floor], above[waiting, floor] - below[waiting, top]
        # Too little room: going on gives more, unless the slope says that it does not.
        short = gap < -_TINY
        possible[waiting[short & (slope * way <= 0)]] = False
        go_on = short & (slope * way > 0) & ((way > 0) | (deviation[waiting] > 0))
        waiting, gap, slope = waiting[go_on], gap[go_on], slope[go_on]
        if not len(waiting):
            break
        # A little short of the goal: rounding must not carry a step past it.
        deviation[waiting] = np.maximum(deviation[waiting] - (1 - _WIDER) * gap / slope, 0.0)
    return deviation, possible


def _highest(high: Floats, below: Floats, above: Floats, least: Floats, most: Floats) -> Floats:
    """The top of min_j (high_j + deviation * (above - below_j)), which is concave, between two deviations."""
    slopes, last = above[:, None] - below, np.where(np.isinf(most), _ENDLESS, most)
    left, left_slope = _line(high, slopes, least)
    right, right_slope = _line(high, slopes, last)
    best = np.where(left_slope <= 0, left + left_slope * least, right + right_slope * last)
    # A deviation without limit: the value levels off, or grows without end.
    best[~np.isfinite(left) | ((right_slope > 0) & np.isinf(most))] = np.inf
    at_work = np.flatnonzero((left_slope > 0) & (right_slope < 0) & np.isfinite(left))
    for _ in range(_STEPS):
        if not len(at_work):
            break
        a, b, s, t = left[at_work], right[at_work], left_slope[at_work], right_slope[at_work]
        # Cutting planes: the lowest line at the crossing replaces the left or the right one.
        crossing = (b - a) / (s - t)
        best[at_work] = a + s * crossing
        height, slope = _line(high[at_work], slopes[at_work], crossing)
        go_on = height + slope * crossing < best[at_work] - _TINY
        rising = go_on & (slope > 0)
        falling = go_on & (slope <= 0)
        left[at_work[rising]], left_slope[at_work[rising]] = height[rising], slope[rising]
        right[at_work[falling]], right_slope[at_work[falling]] = height[falling], slope[falling]
        level = falling & (slope == 0)
        best[at_work[level]] = height[level]
        at_work = at_work[go_on & ~level]
    return best


def _line(high: Floats, slopes: Floats, deviation: Floats) -> Bounds:
    """The lowest line at a deviation: its value at 0 and its slope."""
    rows = np.arange(len(high))
    lowest = (high + deviation[:, None] * slopes).argmin(axis=1)
    return high[rows, lowest], slopes[rows, lowest]
