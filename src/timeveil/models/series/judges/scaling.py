"""What is known of the centre and the deviation of series, and of values that follow from them.

A value is centre + deviation * z. Of some instants the value is known to be in [low, high] and z in
[below, above]; so, for each,

    low <= centre + deviation * above      and      centre + deviation * below <= high,

with a deviation of at least 0, and at most half of the span of all values: a linear program in two
variables (Shou et al. 2013, §6.2), solved exactly.
For a given deviation the highest centre is the least of some straight lines, so that the highest value is a
concave function of the deviation alone. Its top is found between two of its lines, each step replacing one
of them. The crossing of the two lines is never below the top: stopped at any step, the answer holds.

Where we depart from the print
    The constraints are multiplied by the deviation, which the print divides by.
    The cell of an instant is on both sides, which implies the bounds of Lemma 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from timeveil.models.series.original import Floats

_STEPS = 200
_TINY = 1e-11
WIDER = 1e-9
"""Bounds are widened by this share of their spread: rounding must not exclude the truth."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """What is known of each series, on one scale: value = `shift` + `unit` * scaled value.

    The deviation is between `least` and `most`; where `possible` is false, the release contradicts itself.
    """

    low: Floats
    high: Floats
    below: Floats
    above: Floats
    shift: Floats
    unit: Floats
    least: Floats
    most: Floats
    possible: npt.NDArray[np.bool_]

    def between(self, below: Floats, above: Floats) -> tuple[Floats, Floats]:
        """The lowest and highest value of each series where z is in [below, above]."""
        highest = _highest(self.high, self.below, above, self.least, self.most)
        lowest = -_highest(-self.low, -self.above, -below, self.least, self.most)
        return self._wider(lowest, -1.0), self._wider(highest, 1.0)

    def _wider(self, scaled: Floats, side: float) -> Floats:
        """A bound on the scale of the values, with room for rounding."""
        bound = self.shift + self.unit * scaled
        room = WIDER * self.unit + 1e-12 * np.abs(self.shift) + 1e-11 * np.abs(bound)
        return np.where(self.possible, bound + side * room, side * np.inf)


def scaling(low: Floats, high: Floats, below: Floats, above: Floats, span: Floats) -> Scaling:
    """The scaling of series: one row per series, one column per instant; bounds may be infinite.

    All values of a series are within a stretch of length `span`.

    >>> sides = [np.array([row]) for row in ([0.0, 9.0], [1.0, 10.0], [-1.0, 1.0], [-1.0, 1.0])]
    >>> known = scaling(*sides, span=np.array([np.inf]))
    >>> [np.round(bound, 6).tolist() for bound in known.between(np.array([0.0]), np.array([0.0]))]
    [[4.5], [5.5]]
    """
    bounds = np.concatenate([low, high], axis=1)
    finite = np.isfinite(bounds)
    number = np.maximum(finite.sum(axis=1), 1)
    shift = np.where(finite, bounds / number[:, None], 0.0).sum(axis=1)
    unit = np.where(finite, np.abs(bounds - shift[:, None]), 0.0).max(axis=1, initial=0.0)
    unit = np.where(unit > 0, unit, np.maximum(np.abs(shift), 1.0))
    # On this scale bounds are of size 1, so that one tolerance fits all series.
    low, high = ((part - shift[:, None]) / unit[:, None] for part in (low, high))
    low, high = low - _TINY, high + _TINY
    least, possible = _least(low, high, below, above)
    most = np.minimum(_most(low, high, below, above), span / 2 / unit + _TINY)
    most = np.maximum(most, least)
    return Scaling(low, high, below, above, shift, unit, least, most, possible)


def _gap(low: Floats, high: Floats, below: Floats, above: Floats, deviation: Floats) -> tuple[Floats, Floats]:
    """The room left for the centre at a deviation, and how it changes with the deviation."""
    rows = np.arange(len(low))
    tops, floors = high - deviation[:, None] * below, low - deviation[:, None] * above
    top, floor = tops.argmin(axis=1), floors.argmax(axis=1)
    gap: Floats = tops[rows, top] - floors[rows, floor]
    slope: Floats = above[rows, floor] - below[rows, top]
    return gap, slope


def _least(low: Floats, high: Floats, below: Floats, above: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The least deviation that leaves room for a centre, from below (Newton), and whether there is one."""
    deviation, possible = np.zeros(len(low)), np.ones(len(low), dtype=bool)
    at_work = np.arange(len(low))
    for _ in range(_STEPS):
        gap, slope = _gap(*(part[at_work] for part in (low, high, below, above, deviation)))
        # Too little room: a larger deviation gives more, unless the slope says that none does.
        short = gap < -_TINY
        possible[at_work[short & (slope <= 0)]] = False
        go_on = short & (slope > 0)
        at_work, gap, slope = at_work[go_on], gap[go_on], slope[go_on]
        if not len(at_work):
            break
        deviation[at_work] -= gap / slope
    return deviation, possible


def _most(low: Floats, high: Floats, below: Floats, above: Floats) -> Floats:
    """The largest deviation that leaves room for a centre, from above (Newton); infinite if any does."""
    rows = np.arange(len(low))
    steepest_top = np.where(np.isfinite(high), below, -np.inf)
    steepest_floor = np.where(np.isfinite(low), above, np.inf)
    top, floor = steepest_top.argmax(axis=1), steepest_floor.argmin(axis=1)
    slope = steepest_floor[rows, floor] - steepest_top[rows, top]
    bounded = slope < -_TINY
    deviation = np.full(len(low), np.inf)
    first = high[rows, top][bounded] - low[rows, floor][bounded]
    deviation[bounded] = np.maximum(first / -slope[bounded], 0.0)
    at_work = np.flatnonzero(bounded)
    for _ in range(_STEPS):
        gap, change = _gap(*(part[at_work] for part in (low, high, below, above, deviation)))
        go_on = (gap < -_TINY) & (change < 0) & (deviation[at_work] > 0)
        at_work, gap, change = at_work[go_on], gap[go_on], change[go_on]
        if not len(at_work):
            break
        deviation[at_work] = np.maximum(deviation[at_work] - gap / change, 0.0)
    return deviation


def _highest(high: Floats, below: Floats, above: Floats, least: Floats, most: Floats) -> Floats:
    """The top of min_j (high_j + deviation * (above - below_j)), which is concave, between two deviations."""
    slopes = above[:, None] - below
    left, left_slope = _line(high, slopes, least)
    endless = ~np.isfinite(most)
    right, right_slope = _line(high, slopes, np.where(endless, 0.0, most))
    last, last_slope = _last_line(high, slopes)
    right, right_slope = np.where(endless, last, right), np.where(endless, last_slope, right_slope)
    with np.errstate(invalid="ignore"):
        best = np.where(left_slope <= 0, left + left_slope * least, right + right_slope * most)
    # A deviation without limit: the value levels off, or grows without end.
    best = np.where((left_slope > 0) & endless & (right_slope == 0), right, best)
    best = np.where((left_slope > 0) & endless & (right_slope > 0), np.inf, best)
    best = np.where(np.isfinite(left), best, np.inf)
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


def _line(high: Floats, slopes: Floats, deviation: Floats) -> tuple[Floats, Floats]:
    """The lowest line at a deviation: its value at 0 and its slope."""
    rows = np.arange(len(high))
    lowest = (high + deviation[:, None] * slopes).argmin(axis=1)
    return high[rows, lowest], slopes[rows, lowest]


def _last_line(high: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """The lowest line beyond every crossing."""
    rows = np.arange(len(high))
    steepness = np.where(np.isfinite(high), slopes, np.inf)
    flattest = steepness.min(axis=1, keepdims=True)
    lowest = np.where(steepness == flattest, high, np.inf).argmin(axis=1)
    return high[rows, lowest], steepness[rows, lowest]
