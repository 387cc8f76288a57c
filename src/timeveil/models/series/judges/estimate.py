"""What a customised release leaves out, estimated from what it publishes (Shou et al. 2013, §6).

Where a pattern is that of each series, an instant without a published envelope still has a symbol: its value
is where the symbol and the envelopes of the other instants leave room for it. An instant without a symbol
still has an envelope: its symbol is the one whose values overlap the envelope most.

Where we depart from the print
    A z-normalised value is within sqrt(n - 1) of 0, not sqrt(n); about the median within one more.
    Each instant has a level, and its cell bounds it where that is finite.
    That deviations from a mean add up to 0 narrows ranges further.
    Of symbols that overlap an envelope equally, the one nearest to the middles of all envelopes is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from timeveil.domain.release import Release
from timeveil.errors import ParameterError
from timeveil.evidence.codes import Integers
from timeveil.models.series.evidence import LETTERS, Evidence, Published, Symbols, cell_bounds
from timeveil.models.series.judges.scaling import WIDER, Scaling, scaling
from timeveil.models.series.original import Floats
from timeveil.symbols import positions, z_normalised

Range: TypeAlias = tuple[float | None, float | None]
"""The two ends of a range, both included; None leaves a side open."""
_BLOCK = 1 << 18
_ROUNDS = 2


def estimate_ranges(release: Release, domain: Range = (None, None)) -> pa.Table:
    """Ranges of the values that a series release does not publish: `<instant>_lo`, `<instant>_hi`.

    One row per row of the release, in its order. The true value is in the range. A range without an end is
    infinite; `domain`, what is publicly known of all values, bounds every range.
    """
    published = _estimable(release)
    missing = without_values(published)
    low, high = estimated_ranges(published, missing, domain)
    columns = {}
    for column, instant in enumerate(missing):
        name = published.instants[instant]
        columns[f"{name}_lo"] = np.repeat(low[:, column], published.rows)
        columns[f"{name}_hi"] = np.repeat(high[:, column], published.rows)
    return pa.table(columns)


def estimate_patterns(release: Release, domain: Range = (None, None)) -> pa.Table:
    """The symbols that a series release does not publish: `<instant>_symbol` and `<instant>_level`.

    One row per row of the release, in its order: the symbol whose values overlap the published envelope
    most. The level is that of the row, or where each instant has one, the median of the row's.
    """
    published = _estimable(release)
    missing = without_symbols(published)
    symbols, levels = estimated_symbols(published, missing, domain)
    letters = np.array(list(LETTERS))
    columns: dict[str, object] = {}
    for column, instant in enumerate(missing):
        name, symbol = published.instants[instant], np.repeat(symbols[:, column], published.rows)
        columns[f"{name}_symbol"] = pa.array(letters[symbol], pa.string())
        columns[f"{name}_level"] = pa.array(np.repeat(levels, published.rows), pa.int16())
    return pa.table(columns)


def without_values(published: Published) -> Integers:
    """The instants whose envelope was not published."""
    return np.setdiff1d(np.arange(published.size), published.values)


def without_symbols(published: Published) -> Integers:
    """The instants whose symbol was not published."""
    return np.setdiff1d(np.arange(published.size), published.pattern)


def estimated_ranges(
    published: Published, instants: Integers, domain: Range = (None, None)
) -> tuple[Floats, Floats]:
    """Per run and instant the lowest and highest value that fits what was published."""
    low, high = (np.empty((len(published.rows), len(instants))) for _ in range(2))
    for block in _blocks(published, domain):
        low[block.rows], high[block.rows] = block.low[:, instants], block.high[:, instants]
    return low, high


def estimated_symbols(
    published: Published, instants: Integers, domain: Range = (None, None)
) -> tuple[Symbols, Symbols]:
    """Per run and instant the symbol whose values overlap the envelope most, and per run its level."""
    neither = [published.instants[instant] for instant in np.setdiff1d(instants, published.values)]
    if neither:
        raise ParameterError(
            f"neither values nor symbols of {', '.join(neither[:12])} were published",
            hint="ask about other instants",
            code="not-published",
        )
    levels = row_levels(published)
    symbols = np.zeros((len(published.rows), len(instants)), dtype=np.int16)
    if not len(instants):
        return symbols, levels
    columns = np.searchsorted(published.values, instants)
    extent = extent_of(published)
    for block in _blocks(published, domain):
        middles = (np.maximum(block.low, extent[0]) + np.minimum(block.high, extent[1])) / 2
        z = z_normalised(middles, "median" if published.center == "median" else "mean")[:, instants]
        low, high = published.low[block.rows][:, columns], published.high[block.rows][:, columns]
        symbols[block.rows] = _most_overlap(
            block.scale, levels[block.rows], (low, high), positions(z), published.reach
        )
    return symbols, levels


def extent_of(published: Published) -> tuple[float, float]:
    """The lowest and the highest published bound: a guess at where values are, not a bound of them."""
    if not published.low.size:
        return -np.inf, np.inf
    return float(published.low.min()), float(published.high.max())


def row_levels(published: Published) -> Symbols:
    """The level of each run; the median of its levels where each instant has one."""
    if not published.levels.shape[1]:
        return np.ones(len(published.rows), dtype=np.int16)
    middle: Symbols = np.median(published.levels, axis=1).astype(np.int16)
    return middle


def _most_overlap(
    scale: Scaling, levels: Symbols, envelope: tuple[Floats, Floats], position: Floats, reach: float
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


@dataclass(frozen=True, slots=True)
class _Block:
    """Some runs, what is known of their scaling, and of their value at each instant."""

    rows: slice
    scale: Scaling
    low: Floats
    high: Floats


def _blocks(published: Published, domain: Range) -> Iterator[_Block]:
    """Every run, as many at a time as fit well in memory."""
    floor, ceiling = ends("the domain", domain)
    below, above = published.cells()
    step = max(_BLOCK // max(published.size, 1), 1)
    for start in range(0, len(published.rows), step):
        rows = slice(start, start + step)
        # At instants without an envelope only the domain bounds the value.
        shape = below[rows].shape
        low, high = np.full(shape, floor), np.full(shape, ceiling)
        low[:, published.values] = np.maximum(published.low[rows], floor)
        high[:, published.values] = np.minimum(published.high[rows], ceiling)
        yield _Block(rows, *_narrowed(low, high, below[rows], above[rows], published.center))


def _narrowed(
    low: Floats, high: Floats, below: Floats, above: Floats, center: str
) -> tuple[Scaling, Floats, Floats]:
    """The scaling of each run and its values, from one to the other and back, a few times."""
    scale = _scaled(low, high, below, above, center)
    # Ranges only ever narrow and always contain the truth, so any number of rounds is safe.
    for _ in range(_ROUNDS):
        for instant in range(low.shape[1]):
            lowest, highest = scale.between(below[:, instant], above[:, instant])
            low[:, instant] = np.maximum(low[:, instant], lowest)
            high[:, instant] = np.minimum(high[:, instant], highest)
        if center == "mean":
            low, high = _balanced(low, high, below, above, scale)
        scale = _scaled(low, high, below, above, center)
    return scale, low, high


def _scaled(low: Floats, high: Floats, below: Floats, above: Floats, center: str) -> Scaling:
    """The centre is between that of the lowest and that of the highest values."""
    middle = np.mean if center == "mean" else np.median
    # The centre itself is one more instant, at which z is 0.
    nil = np.zeros((len(low), 1))
    return scaling(
        np.hstack([low, middle(low, axis=1, keepdims=True)]),
        np.hstack([high, middle(high, axis=1, keepdims=True)]),
        np.hstack([below, nil]),
        np.hstack([above, nil]),
        span=high.max(axis=1) - low.min(axis=1),
    )


def _balanced(
    low: Floats, high: Floats, below: Floats, above: Floats, scale: Scaling
) -> tuple[Floats, Floats]:
    """Values as far from the mean as all others together can make up for."""
    nil = np.zeros(len(low))
    least, most = (bound[:, None] for bound in scale.between(nil, nil))
    shortest, longest = (scale.unit * part for part in (scale.least, scale.most))
    # Deviations from the mean, from the values and from the cells; they add up to 0.
    with np.errstate(invalid="ignore"):
        under = np.fmax(low - most, np.fmin(shortest[:, None] * below, longest[:, None] * below))
        over = np.fmin(high - least, np.fmax(shortest[:, None] * above, longest[:, None] * above))
        room = WIDER * scale.unit[:, None] + 1e-12 * np.abs(scale.shift)[:, None]
        highest, lowest = most - _others(under) + room, least - _others(over) - room
    possible = scale.possible[:, None]
    return (np.where(possible, np.fmax(low, lowest), low), np.where(possible, np.fmin(high, highest), high))


def _others(part: Floats) -> Floats:
    """Per row and column the sum of the other columns, which may be infinite."""
    finite = np.isfinite(part)
    endless = ~finite
    total = np.where(finite, part, 0.0).sum(axis=1, keepdims=True)
    elsewhere = endless.sum(axis=1, keepdims=True) - endless
    sums: Floats = total - np.where(finite, part, 0.0)
    # An infinite sum bounds nothing, and `fmin` and `fmax` pass over nan.
    return np.where(elsewhere > 0, np.nan, sums)


def _estimable(release: Release) -> Published:
    if release.manifest.get("model") != "series":
        raise ParameterError(
            "only a release of series has ranges and patterns to estimate",
            hint="give a release made by anonymize_series",
        )
    published = Evidence(release).published
    refuse_borrowed(published)
    return published


def refuse_borrowed(published: Published) -> None:
    """Nothing follows from a pattern that need not be that of each series."""
    if not published.own_patterns:
        raise ParameterError(
            "patterns of this release need not be those of each series, so nothing follows from them",
            hint="ask for a release made with the method adaptive or kapra",
            code="not-published",
        )


def ends(name: str, span: object) -> tuple[float, float]:
    """The two ends of a range, an open side at infinity.

    >>> ends("a", (None, 3))
    (-inf, 3.0)
    """
    if not isinstance(span, tuple | list) or len(span) != 2:
        raise ParameterError(
            f"the range for {name} is not a pair", hint="give (lo, hi), None for an open side"
        )
    low, high = (
        open_side if bound is None else number(f"an end of the range for {name}", bound)
        for bound, open_side in zip(span, (-math.inf, math.inf), strict=True)
    )
    if low > high:
        raise ParameterError(f"the range for {name} ends before it starts", hint="give the lower end first")
    return low, high


def number(name: str, value: object) -> float:
    """A number that is not NaN.

    >>> number("tolerance", 1)
    1.0
    """
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
        actual = "NaN" if isinstance(value, float) else f"a {type(value).__name__}"
        raise ParameterError(f"{name} is not a number but {actual}", hint="give a number")
    return float(value)
