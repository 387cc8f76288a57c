"""Answering questions about series from envelopes and patterns (Shou et al. 2013, §7.1).

By value: the best guess spreads the series of an envelope evenly over it (one that was estimated, over what
of it lies between the lowest and the highest published bound); an envelope wholly inside the
ranges counts in full, one that touches them may (`low` and `high`). By shape: the best guess takes the
reconstructed pattern for the shape; where a pattern is each series' own, the values that its symbols stand
for say which series surely fit and which may. Series that were suppressed may fit any question.

An instant left out of a customised release is taken from what can be estimated of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from timeveil.domain.estimate import Estimate
from timeveil.domain.release import Release
from timeveil.errors import ParameterError
from timeveil.evidence.codes import Integers
from timeveil.models.series.judges.estimating import (
    estimated_ranges,
    estimated_symbols,
    extent_of,
    refuse_borrowed,
    without_symbols,
)
from timeveil.models.series.judges.features import Feature, feature, told
from timeveil.models.series.judges.published import Floats, Published, published_series
from timeveil.models.series.judges.queries import (
    Complex,
    PatternRange,
    PatternSimilarity,
    RangeCount,
    SeriesQuery,
    ends,
    number,
)
from timeveil.symbols.sax import reconstructed, z_normalised


@dataclass(frozen=True, slots=True)
class Fit:
    """Per run the share of its series that fit: expected, surely, and possibly."""

    share: Floats
    sure: Floats
    possible: Floats

    def and_also(self, other: Fit) -> Fit:
        """Both, taken to have nothing to do with each other within a run."""
        return Fit(self.share * other.share, self.sure * other.sure, self.possible * other.possible)


def count_series(release: Release, query: SeriesQuery) -> Estimate:
    """Answer a question about series; the truth about all of the original lies between `low` and `high`."""
    known = published_series(release)
    fit = fits(known, query)
    value, low, high = (float(known.rows @ part) for part in (fit.share, fit.sure, fit.possible))
    # a reconstructed shape need not have mean 0 and deviation 1, so that it may fit where no series can
    return Estimate(min(max(value, low), high), low=low, high=high + known.suppressed)


def fits(known: Published, query: SeriesQuery) -> Fit:
    """How far each run fits a question."""
    match query:
        case RangeCount():
            return _in_ranges(known, query)
        case PatternRange():
            return _with_features(known, query)
        case PatternSimilarity():
            return _alike(known, query)
        case Complex(pattern=PatternRange() | PatternSimilarity(), range=RangeCount()):
            return fits(known, query.pattern).and_also(fits(known, query.range))
        case _:
            raise ParameterError(
                "a complex question is one about shapes and one about values",
                hint="give pattern=PatternRange(...) or PatternSimilarity(...), and range=RangeCount(...)",
                code="bad-parameter",
            )


def _in_ranges(known: Published, query: RangeCount) -> Fit:
    names = list(query.ranges)
    places, extent = known.places(names), extent_of(known)
    low, high = envelopes_at(known, places)
    share = np.ones(len(known.rows))
    sure, possible = share.copy(), share.copy()
    for place, name in enumerate(names):
        least, most = ends(f"`{name}`", query.ranges[name])
        part = spread(low[:, place], high[:, place], least, most)
        inner_low, inner_high = (np.clip(side[:, place], *extent) for side in (low, high))
        guess = spread(inner_low, inner_high, least, most).share
        guess = np.where(part.sure > 0, 1.0, guess * part.possible)
        share, sure, possible = share * guess, sure * part.sure, possible * part.possible
    return Fit(share, sure, possible)


def spread(low: Floats, high: Floats, least: float | Floats, most: float | Floats) -> Fit:
    """Of values spread evenly over [low, high], those in [least, most].

    Where an envelope has no end, there is no width to spread over: half is the guess where some may fit.

    >>> found = spread(np.array([0.0, 3.0]), np.array([4.0, 3.0]), 1.0, 3.0)
    >>> found.share.tolist(), found.sure.tolist(), found.possible.tolist()
    ([0.5, 1.0], [0.0, 1.0], [1.0, 1.0])
    """
    sure, possible = (low >= least) & (high <= most), (low <= most) & (high >= least)
    width = high - low
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip((np.minimum(high, most) - np.maximum(low, least)) / width, 0.0, 1.0)
    share = np.where(np.isfinite(width) & (width > 0), share, (sure.astype(float) + possible) / 2)
    return Fit(np.where(sure, 1.0, share * possible), sure.astype(float), possible.astype(float))


def envelopes_at(known: Published, places: Integers) -> tuple[Floats, Floats]:
    """Per run the envelope at some instants: the published one, or else what can be estimated."""
    low, high = (np.empty((len(known.rows), len(places))) for _ in range(2))
    there = np.isin(places, known.values)
    columns = np.searchsorted(known.values, places[there])
    low[:, there], high[:, there] = known.low[:, columns], known.high[:, columns]
    if not there.all():
        _refuse_values(known, places[~there])
        low[:, ~there], high[:, ~there] = estimated_ranges(known, places[~there])
    return low, high


def shapes_at(known: Published, places: Integers) -> Floats:
    """Reconstructed z-normalised values, with estimated symbols for those of `places` not published."""
    z = known.shapes()
    missing = np.intersect1d(without_symbols(known), places)
    if len(missing):
        _refuse_symbols(known, missing)
        symbols, levels = estimated_symbols(known, missing)
        z[:, missing] = reconstructed(symbols, levels[:, None])
    return z


def _with_features(known: Published, query: PatternRange) -> Fit:
    asked = feature(query.features)
    places = _places_asked(known, query, asked)
    z = shapes_at(known, places)
    low, high = known.wide_cells()
    share = np.ones(len(known.rows))
    sure, possible = share.copy(), share.copy()
    for key, wanted in query.differences.items():
        least, most = ends(told(key), wanted)
        found = asked.value(known.instants, key, z)
        share = share * ((found >= least) & (found <= most))
        under, over = asked.bounds(known.instants, key, low, high)
        sure = sure * ((under >= least) & (over <= most))
        possible = possible * ((under <= most) & (over >= least))
    return _as_far_as_own(known, Fit(share, sure, possible))


def _places_asked(known: Published, query: PatternRange, asked: Feature) -> Integers:
    for key in query.differences:
        if not asked.knows(known.instants, key):
            raise ParameterError(
                f"the features `{query.features}` of this release have no {told(key)}",
                hint=f"ask for {asked.keys(known.instants)}",
                code="bad-parameter",
            )
    if asked.angle is None:
        return np.arange(known.size)
    return known.places(sorted({name for pair in query.differences for name in pair}))  # type: ignore[attr-defined]


def _alike(known: Published, query: PatternSimilarity) -> Fit:
    asked, tolerance = feature(query.features), number("tolerance", query.tolerance)
    if tolerance < 0:
        raise ParameterError(
            "`tolerance` is below 0, and no shape is nearer than the same one",
            hint="give a number from 0, the same shape, to 2, the opposite one",
            code="bad-parameter",
        )
    if asked.angle is None:
        raise ParameterError(
            f"shapes cannot be compared by `{query.features}`, which is a single number",
            hint='take features="differences" or "adjacent"',
            code="bad-parameter",
        )
    like = asked.angle.directions(z_normalised(_numbers(known, query.like)))[0]
    found = asked.angle.distances(shapes_at(known, np.arange(known.size)), like)
    nearest, furthest = asked.angle.distance_bounds(*known.wide_cells(), like)
    fit = Fit(
        *(part.astype(float) for part in (found <= tolerance, furthest <= tolerance, nearest <= tolerance))
    )
    return _as_far_as_own(known, fit)


def _numbers(known: Published, like: Any) -> Floats:
    given = [number("a number of `like`", one) for one in like]
    if len(given) != known.size or not np.isfinite(given).all():
        raise ParameterError(
            f"`like` has {len(given):,} numbers, of which {int(np.isfinite(given).sum()):,} are finite; "
            f"a series of this release has {known.size:,} instants",
            hint="give one number for each instant, published or not",
            code="bad-parameter",
        )
    return np.array([given])


def _as_far_as_own(known: Published, fit: Fit) -> Fit:
    """Nothing is sure of a shape where the pattern need not be its own."""
    if known.own:
        return fit
    return Fit(fit.share, np.zeros(len(known.rows)), np.ones(len(known.rows)))


def _refuse_values(known: Published, missing: Integers) -> None:
    """Values can be estimated only from a pattern that is the series' own, and only where there is one."""
    names = ", ".join(known.instants[place] for place in missing[:12])
    if not known.own or not len(known.values):
        raise ParameterError(
            f"values at {names} were not published and cannot be estimated from this release",
            hint="ask about instants whose values were published",
            code="not-published",
        )


def _refuse_symbols(known: Published, missing: Integers) -> None:
    refuse_borrowed(known)
    neither = np.setdiff1d(missing, known.values)
    if len(neither) or not len(known.pattern):
        names = ", ".join(known.instants[place] for place in (neither if len(neither) else missing)[:12])
        raise ParameterError(
            f"symbols at {names} were not published and cannot be estimated from this release",
            hint="ask about instants whose pattern was published",
            code="not-published",
        )
