"""Questions about series, by value, by shape or by both, answered from a release (Shou et al. 2013, §7.1).

By value: the best guess spreads the series of an envelope evenly over it, or with a published mean evenly
below and evenly above that; an envelope inside all ranges counts in full, one that touches them may count. By
shape: the best guess takes the reconstructed pattern for the shape; where a pattern is that of each series,
the values that its symbols allow show which series surely fit and which may. Suppressed series may fit any
question. An instant left out of a customised release is replaced by what can be estimated of it.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from timeveil.domain.arrays import Flags, Floats, Ints
from timeveil.domain.judgement import Estimate
from timeveil.domain.parameter import Parameter
from timeveil.errors import ParameterError
from timeveil.models.series.evidence import SLACK, Bounds, Cells, Evidence, Published
from timeveil.models.series.judges import estimate
from timeveil.models.series.judges.beside import MeanValue, mean_bounds, mean_of, middles, shares_where
from timeveil.models.series.judges.expressions import Expression, Function, shares
from timeveil.models.series.judges.features import (
    DISTANCES,
    Differences,
    Range,
    bad,
    distance_bounds,
    distances,
    ends,
    feature,
    number,
)
from timeveil.symbols import reconstructed, z_normalised


@dataclass(frozen=True, slots=True)
class RangeCount:
    """How many series have, at each instant named, a value in its range.

    `ranges` has per instant a pair (lo, hi) that includes both ends; `None` leaves a side open. `where` has
    conditions on quasi-identifiers, as `WindowCount` has.

    >>> RangeCount({"2005": (100, 150), "2007": (None, 90)}).ranges["2005"]
    (100, 150)
    """

    ranges: Mapping[str, Range] = field(default_factory=dict)
    where: Any = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PatternRange:
    """How many series have a shape with each feature named in its range (PRQ in the paper).

    By default a feature is a difference of two z-normalised values: `{("2005", "2011"): (None, -1)}` asks for
    series whose value in 2005 is at least one standard deviation of the series below that in 2011.
    `features` selects other ones: `adjacent`, `slope`, `peak-to-trough`.

    >>> PatternRange({("2005", "2011"): (None, -1)}).features
    'differences'
    """

    differences: Mapping[Hashable, Range] = field(default_factory=dict)
    features: str = "differences"


@dataclass(frozen=True, slots=True)
class PatternSimilarity:
    """How many series have a shape like that of `like`, which has a number per instant (PSQ in the paper).

    Shapes are compared by the cosine distance of their features, from 0 to 2; series at most `tolerance`
    away count. For all differences of two instants, the default, the distance is 1 minus the correlation;
    with `features="adjacent"` rises and falls are compared. Other distances compare z-normalised values:
    `"euclidean"`, the root mean square of their differences, and `"dtw"`, which lets instants shift.

    >>> PatternSimilarity(like=[1, 2, 3, 3], tolerance=0.1).tolerance
    0.1
    """

    like: Sequence[float]
    tolerance: float
    features: str = "differences"
    distance: str = "cosine"


@dataclass(frozen=True, slots=True)
class ExpressionRange:
    """How many series have, for each expression of their values, a result in its range.

    An expression has names of instants, numbers, + - * / and parentheses; names that are not words are in
    backquotes. `functions` gives expressions names, to be used in `ranges` instead of them; it also takes
    functions in Python of the arrays of values by instant, which no series is sure to fit. A series for which
    a divisor is 0 fits no range.

    >>> ExpressionRange({"A2 - A1": (None, 50), "A2 / A1": (1.5, None)}).ranges["A2 / A1"]
    (1.5, None)
    """

    ranges: Mapping[str, Range] = field(default_factory=dict)
    functions: Mapping[str, str | Callable[[Mapping[str, Floats]], Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Complex:
    """How many series fit a question about their shape and one about their values.

    >>> Complex(pattern=PatternSimilarity([1, 2], 0.1), range=RangeCount({"a": (0, 1)})).range.ranges
    {'a': (0, 1)}
    """

    pattern: PatternRange | PatternSimilarity
    range: RangeCount | ExpressionRange


SeriesQuery: TypeAlias = MeanValue | RangeCount | ExpressionRange | PatternRange | PatternSimilarity | Complex
QUERIES = (MeanValue, RangeCount, ExpressionRange, PatternRange, PatternSimilarity, Complex)


Fit: TypeAlias = Floats
"""Three numbers per run: the share of its series that is expected to fit, surely fits, and may fit."""


def answer(evidence: Evidence, query: SeriesQuery, *, rows: bool = False) -> Estimate:
    """Answer a question; the truth about all of the original is between `low` and `high`."""
    published = evidence.published
    if isinstance(query, MeanValue):
        instant = published.index_of([query.instant])
        least, most = (side[:, 0] for side in envelopes_at(published, instant))
        for at in np.flatnonzero(published.values == instant[0]):
            least, most = (side[:, at] for side in mean_bounds(published))
        mean = mean_of(published, least, _middles_at(published, instant)[:, 0], most)
        return replace(mean, rows=evidence.release.table if rows else None)
    fits = _fits(published, query)
    counted = query.range if isinstance(query, Complex) else query
    if isinstance(counted, RangeCount) and counted.where:
        fits = fits * shares_where(evidence, counted.where)
    value, low, high = (float(published.rows @ part) for part in fits)
    listed = evidence.release.table.filter(np.repeat(fits[2] > 0, published.rows)) if rows else None
    # A reconstructed shape need not have mean 0 and deviation 1, so it may fit where no series can.
    return Estimate(min(max(value, low), high), low=low, high=high + published.suppressed, rows=listed)


def _fits(published: Published, query: SeriesQuery) -> Fit:
    match query:
        case RangeCount():
            return _in_ranges(published, query)
        case ExpressionRange():
            return _by_expression(published, query)
        case PatternRange():
            fit = _with_features(published, query)
        case PatternSimilarity():
            fit = _similar(published, query)
        case Complex(pattern=PatternRange() | PatternSimilarity(), range=RangeCount() | ExpressionRange()):
            # Taken to be independent within a run.
            return _fits(published, query.pattern) * _fits(published, query.range)
        case _:
            hint = "give pattern=PatternRange(...) or PatternSimilarity(...), and range=RangeCount(...)"
            raise bad("a complex question is one about shapes and one about values", hint)
    if not published.own_patterns:  # nothing is sure of a shape that need not be that of each series
        fit[1], fit[2] = 0.0, 1.0
    return fit


def _in_ranges(published: Published, query: RangeCount) -> Fit:
    Parameter("ranges", "mapping", "A range (lo, hi) per instant.").check(query.ranges)
    instants = published.index_of(list(query.ranges))
    low, high = envelopes_at(published, instants)
    guessed = None if published.mean is None else _middles_at(published, instants)
    extent = estimate.extent_of(published)
    fit = np.ones((3, len(published.rows)))
    for column, (name, span) in enumerate(query.ranges.items()):
        lower, upper = low[:, column], high[:, column]
        middle = None if guessed is None else guessed[:, column]
        limits = ends(f"`{name}`", span)
        _, sure, possible = spread(lower, upper, *limits)
        guess = expected(np.clip(lower, *extent), middle, np.clip(upper, *extent), *limits)
        fit *= np.where(sure, 1.0, guess * possible), sure, possible
    return fit


def _by_expression(published: Published, query: ExpressionRange) -> Fit:
    Parameter("ranges", "mapping", "A range (lo, hi) per expression.").check(query.ranges)
    Parameter("functions", "mapping", "An expression by name.").check(query.functions)
    questions: list[tuple[Expression | Function, float, float]] = []
    every = tuple(published.instants[place] for place in published.values)
    for key, span in query.ranges.items():
        how = query.functions.get(key, key)
        asked = Function(every, how) if callable(how) else Expression(how, published.instants)
        questions.append((asked, *ends(f"`{key}`", span)))
    names = list(dict.fromkeys(name for expression, _, _ in questions for name in expression.instants))
    low, high = envelopes_at(published, published.index_of(names))
    extent, fit = estimate.extent_of(published), np.ones((3, len(published.rows)))
    for expression, least, most in questions:
        columns = [names.index(name) for name in expression.instants]
        under, over, defined = expression.bounds(low[:, columns], high[:, columns])
        fit[1] *= defined & (under >= least) & (over <= most)
        fit[2] *= (under <= most) & (over >= least)
    guess = shares(questions, names, np.clip(low, *extent), np.clip(high, *extent))
    fit[0] = np.where(fit[1] > 0, 1.0, guess * fit[2])
    return fit


def spread(low: Floats, high: Floats, least: Any, most: Any) -> tuple[Floats, Flags, Flags]:
    """Of values spread evenly over [low, high] the share in [least, most]; if all are, and if any may be.

    Where an envelope has no end, there is no width to spread over: half is the guess where some may fit.
    """
    sure, possible = (low >= least) & (high <= most), (low <= most) & (high >= least)
    width = high - low
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip((np.minimum(high, most) - np.maximum(low, least)) / width, 0.0, 1.0)
    share = np.where(np.isfinite(width) & (width > 0), share, (sure.astype(float) + possible) / 2)
    return np.where(sure, 1.0, share * possible), sure, possible


def expected(low: Floats, middle: Floats | None, high: Floats, least: Any, most: Any) -> Floats:
    """Of values of this mean the share in [least, most]: evenly spread below the mean, and above it.

    Without a mean they are evenly spread over [low, high].

    >>> expected(np.array([0.0, 0.0]), np.array([2.0, 1.0]), np.array([4.0, 4.0]), 0.0, 1.0).tolist()
    [0.25, 0.75]
    """
    if middle is None:
        return spread(low, high, least, most)[0]
    # Shares with which the two parts have this mean together; where there is no width, both parts agree.
    below = np.where(high > low, high - middle, 1.0) / np.where(high > low, high - low, 1.0)
    parts = [spread(*ends, least, most)[0] for ends in ((low, middle), (middle, high))]
    return np.asarray(below * parts[0] + (1 - below) * parts[1])


def _middles_at(published: Published, instants: Ints) -> Floats:
    """Per run the best guess at the mean of its group; of estimated envelopes the middle."""
    low, high = (np.clip(side, *estimate.extent_of(published)) for side in envelopes_at(published, instants))
    middle, direct = (low + high) / 2, np.isin(instants, published.values)
    columns = np.searchsorted(published.values, instants[direct])
    middle[:, direct] = middles(published)[:, columns]
    return middle


def envelopes_at(published: Published, instants: Ints) -> Bounds:
    """Per run the envelope at some instants: the published one, or what can be estimated."""
    low, high = np.empty((2, len(published.rows), len(instants)))
    direct = np.isin(instants, published.values)
    columns = np.searchsorted(published.values, instants[direct])
    low[:, direct], high[:, direct] = published.low[:, columns], published.high[:, columns]
    if not direct.all():
        missing = instants[~direct]
        if not (published.own_patterns and len(published.values) and len(published.pattern)):
            raise _not_published("values", published, missing)
        low[:, ~direct], high[:, ~direct] = estimate.estimated_ranges(published, missing)
    return low, high


def shapes_at(published: Published, instants: Ints) -> Floats:
    """Reconstructed z-normalised values, with estimated symbols where these instants have none."""
    z = published.shapes()
    missing = np.setdiff1d(instants, published.pattern)
    if len(missing):
        neither = np.setdiff1d(missing, published.values)
        if len(published.pattern):
            estimate.refuse_borrowed(published)
        if len(neither) or not len(published.pattern):
            raise _not_published("symbols", published, neither if len(neither) else missing)
        symbols, levels = estimate.estimated_symbols(published, missing)
        z[:, missing] = reconstructed(symbols, levels[:, None])
    return z


def _with_features(published: Published, query: PatternRange) -> Fit:
    features, instants = feature(query.features), published.instants
    Parameter("differences", "mapping", "A range (lo, hi) per pair of instants.").check(query.differences)
    for key in query.differences:
        if not features.has(instants, key):
            message = f"the features `{query.features}` of this release have no {_label(key)}"
            raise bad(message, f"ask for {features.keys(instants)}")
    # A difference needs its two instants, every other feature all of them.
    pairs = [key for key in query.differences if isinstance(key, tuple)]
    needed = published.index_of(sorted({str(name) for pair in pairs for name in pair}))
    z = shapes_at(published, needed if isinstance(features, Differences) else np.arange(published.size))
    cells, fit = Cells(published, SLACK), np.ones((3, len(published.rows)))
    for key, span in query.differences.items():
        least, most = ends(_label(key), span)
        value, (under, over) = features.value(instants, key, z), features.bounds(instants, key, cells)
        fits, sure = (value >= least) & (value <= most), (under >= least) & (over <= most)
        fit *= fits, sure, (under <= most) & (over >= least)
    return fit


def _similar(published: Published, query: PatternSimilarity) -> Fit:
    features, tolerance = feature(query.features), number("tolerance", query.tolerance)
    name = query.distance
    if not isinstance(name, str) or name not in DISTANCES:
        raise bad(f"there is no distance called `{name}`", f"use one of {', '.join(DISTANCES)}")
    if name != "cosine" and query.features != "differences":
        message = f"the distance `{name}` compares values, and `features` applies to the cosine only"
        raise bad(message, 'leave {features} out, or use {distance="cosine"}')
    if tolerance < 0:
        message = "`tolerance` is below 0, and no shape is nearer than the same one"
        raise bad(message, "give a number from 0, the same shape")
    if not isinstance(features, Differences):
        message = f"shapes cannot be compared by `{query.features}`, which is a single number"
        raise bad(message, 'use {features="differences"} or {features="adjacent"}')
    items = query.like if isinstance(query.like, Iterable) else [query.like]
    numbers = [number("a number of `like`", item) for item in items]
    finite = int(np.isfinite(numbers).sum())
    if len(numbers) != published.size or finite != published.size:
        raise bad(
            f"`like` has {len(numbers):,} numbers, of which {finite:,} are finite; "
            f"a series of this release has {published.size:,} instants",
            "give one number for each instant, published or not",
        )
    shapes, cells = shapes_at(published, np.arange(published.size)), Cells(published, SLACK)
    if name == "cosine":
        like = features.directions(z_normalised([numbers]))[0]
        distance = features.distances(shapes, like)
        nearest, furthest = features.distance_bounds(cells, like)
    else:
        like = z_normalised([numbers], published.center)[0]
        distance = distances(name, shapes, like)
        nearest, furthest = distance_bounds(name, *cells.values, like)
    return np.where(np.array([distance, furthest, nearest]) <= tolerance, 1.0, 0.0)


def _label(key: Hashable) -> str:
    """A feature in words: `h08` less `h20`, or `slope`."""
    return " less ".join(f"`{name}`" for name in (key if isinstance(key, tuple) else (key,)))


def _not_published(part: str, published: Published, missing: Ints) -> ParameterError:
    names = ", ".join(published.instants[instant] for instant in missing[:12])
    message = f"{part} at {names} were not published and cannot be estimated from this release"
    verb = "values were" if part == "values" else "pattern was"
    return bad(message, f"ask about instants whose {verb} published", "not-published")
