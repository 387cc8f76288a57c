"""What a customised release leaves out, worked out from what it has (Shou et al. 2013, §6).

Where the pattern is each series' own, an instant without a published envelope still has a symbol: its
value lies where the symbol and the envelopes of the other instants leave room for it. An instant without a
symbol still has an envelope: its symbol is the one whose values overlap the envelope most.

Where we depart from the print
    A z-normalised value lies within sqrt(n - 1) of 0, not sqrt(n); about the median within one more.
    Each instant has its own level, and its own cell bounds it where that is finite.
    That deviations from a mean add up to 0 narrows ranges further.
    Of symbols that overlap an envelope equally, the one nearest to the middles of all envelopes is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from timeveil.domain.release import Release
from timeveil.errors import ParameterError
from timeveil.evidence.codes import Integers
from timeveil.models.series.judges.published import Floats, Published, Symbols, cell_bounds, published_series
from timeveil.models.series.judges.queries import ends
from timeveil.models.series.judges.scaling import WIDER, Scaling, scaling
from timeveil.symbols.sax import LETTERS, positions, z_normalised

Domain = tuple[float | None, float | None]
_BLOCK = 1 << 18
_ROUNDS = 2


def estimate_ranges(release: Release, domain: Domain = (None, None)) -> pa.Table:
    """Where the values lie that a series release does not publish: `<instant>_lo`, `<instant>_hi`.

    One row per row of the release, in its order. The true value lies in the range. A range without an end is
    infinite; `domain`, what is publicly known of all values, bounds every one.
    """
    known = _estimable(release)
    missing = without_values(known)
    low, high = estimated_ranges(known, missing, domain)
    columns = {}
    for place, instant in enumerate(missing):
        name = known.instants[instant]
        columns[f"{name}_lo"] = np.repeat(low[:, place], known.rows)
        columns[f"{name}_hi"] = np.repeat(high[:, place], known.rows)
    return pa.table(columns)


def estimate_patterns(release: Release, domain: Domain = (None, None)) -> pa.Table:
    """The symbols that a series release does not publish: `<instant>_symbol` and `<instant>_level`.

    One row per row of the release, in its order: the symbol whose values overlap the published envelope
    most. The level is that of the row, or where each instant has its own, the median of the row's.
    """
    known = _estimable(release)
    missing = without_symbols(known)
    symbols, levels = estimated_symbols(known, missing, domain)
    letters = np.array(list(LETTERS))
    columns: dict[str, object] = {}
    for place, instant in enumerate(missing):
        name = known.instants[instant]
        columns[f"{name}_symbol"] = pa.array(letters[np.repeat(symbols[:, place], known.rows)], pa.string())
        columns[f"{name}_level"] = pa.array(np.repeat(levels, known.rows), pa.int16())
    return pa.table(columns)


def without_values(known: Published) -> Integers:
    """The instants whose envelope was not published."""
    return np.setdiff1d(np.arange(known.size), known.values)


def without_symbols(known: Published) -> Integers:
    """The instants whose symbol was not published."""
    return np.setdiff1d(np.arange(known.size), known.pattern)


def estimated_ranges(
    known: Published, instants: Integers, domain: Domain = (None, None)
) -> tuple[Floats, Floats]:
    """Per run and instant the lowest and highest value that fits what was published."""
    low, high = (np.empty((len(known.rows), len(instants))) for _ in range(2))
    for block in _blocks(known, domain):
        low[block.rows], high[block.rows] = block.low[:, instants], block.high[:, instants]
    return low, high


def estimated_symbols(
    known: Published, instants: Integers, domain: Domain = (None, None)
) -> tuple[Symbols, Symbols]:
    """Per run and instant the symbol whose values overlap the envelope most, and per run its level."""
    _refuse_nowhere(known, instants)
    levels = row_levels(known)
    symbols = np.zeros((len(known.rows), len(instants)), dtype=np.int16)
    if not len(instants):
        return symbols, levels
    columns = np.searchsorted(known.values, instants)
    extent = extent_of(known)
    for block in _blocks(known, domain):
        middles = (np.maximum(block.low, extent[0]) + np.minimum(block.high, extent[1])) / 2
        z = z_normalised(middles, "median" if known.center == "median" else "mean")[:, instants]
        low, high = known.low[block.rows][:, columns], known.high[block.rows][:, columns]
        where = positions(z)
        symbols[block.rows] = _most_overlap(block.scale, levels[block.rows], (low, high), where, known.reach)
    return symbols, levels


def extent_of(known: Published) -> tuple[float, float]:
    """Between what values the published envelopes lie: a guess at where values do, not a bound."""
    if not known.low.size:
        return -np.inf, np.inf
    return float(known.low.min()), float(known.high.max())


def row_levels(known: Published) -> Symbols:
    """The level of each run; the median of them where each instant has its own."""
    if not known.levels.shape[1]:
        return np.ones(len(known.rows), dtype=np.int16)
    middle: Symbols = np.median(known.levels, axis=1).astype(np.int16)
    return middle


def _most_overlap(
    scale: Scaling, levels: Symbols, envelope: tuple[Floats, Floats], where: Floats, reach: float
) -> Symbols:
    """Symbols whose values overlap envelopes most; where several do, the one nearest to a position."""
    low, high = envelope
    most, nearest = np.full(where.shape, -np.inf), np.full(where.shape, np.inf)
    chosen, close = np.zeros(where.shape, dtype=np.int16), 1e-6 * (high - low)
    for symbol in range(int(levels.max(initial=1))):
        there = np.minimum(symbol, levels - 1)
        least_value, most_value = scale.between(*cell_bounds(there, levels, reach))
        overlap = np.minimum(most_value[:, None], high) - np.maximum(least_value[:, None], low)
        distance = np.abs(((there + 0.5) / levels)[:, None] - where)
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


def _blocks(known: Published, domain: Domain) -> Iterator[_Block]:
    """Every run, as many at a time as fit well in memory."""
    floor, ceiling = ends("the domain", domain)
    below, above = known.cells()
    step = max(_BLOCK // max(known.size, 1), 1)
    for start in range(0, len(known.rows), step):
        rows = slice(start, start + step)
        shape = below[rows].shape
        low, high = np.full(shape, floor), np.full(shape, ceiling)
        low[:, known.values] = np.maximum(known.low[rows], floor)
        high[:, known.values] = np.minimum(known.high[rows], ceiling)
        yield _Block(rows, *_narrowed(low, high, below[rows], above[rows], known.center))


def _narrowed(
    low: Floats, high: Floats, below: Floats, above: Floats, center: str
) -> tuple[Scaling, Floats, Floats]:
    """The scaling of each run and its values, from one to the other and back, a few times."""
    scale = _scaled(low, high, below, above, center)
    for _ in range(_ROUNDS):
        for instant in range(low.shape[1]):
            found = scale.between(below[:, instant], above[:, instant])
            low[:, instant] = np.maximum(low[:, instant], found[0])
            high[:, instant] = np.minimum(high[:, instant], found[1])
        if center == "mean":
            low, high = _balanced(low, high, below, above, scale)
        scale = _scaled(low, high, below, above, center)
    return scale, low, high


def _scaled(low: Floats, high: Floats, below: Floats, above: Floats, center: str) -> Scaling:
    """The centre lies between that of the lowest and that of the highest values."""
    middle = np.mean if center == "mean" else np.median
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
    with np.errstate(invalid="ignore"):
        under = np.fmax(low - most, np.fmin(shortest[:, None] * below, longest[:, None] * below))
        over = np.fmin(high - least, np.fmax(shortest[:, None] * above, longest[:, None] * above))
        room = WIDER * scale.unit[:, None] + 1e-12 * np.abs(scale.shift)[:, None]
        highest, lowest = most - _others(under) + room, least - _others(over) - room
    possible = scale.possible[:, None]
    return (
        np.where(possible, np.fmax(low, lowest), low),
        np.where(possible, np.fmin(high, highest), high),
    )


def _others(part: Floats) -> Floats:
    """Per row and column the sum of the other columns, which may be infinite."""
    finite = np.isfinite(part)
    endless = ~finite
    total = np.where(finite, part, 0.0).sum(axis=1, keepdims=True)
    elsewhere = endless.sum(axis=1, keepdims=True) - endless
    sums: Floats = total - np.where(finite, part, 0.0)
    return np.where(elsewhere > 0, np.nan, sums)


def _estimable(release: Release) -> Published:
    if release.manifest.get("model") != "series":
        raise ParameterError(
            "only a release of series has ranges and patterns to estimate",
            hint="give a release made by anonymize_series",
            code="bad-parameter",
        )
    known = published_series(release)
    refuse_borrowed(known)
    return known


def refuse_borrowed(known: Published) -> None:
    """Nothing follows from a pattern that need not be the series' own."""
    if not known.own:
        raise ParameterError(
            "patterns of this release need not be each series' own, so nothing left out follows from them",
            hint="ask for a release made with the method adaptive or kapra",
            code="not-published",
        )


def _refuse_nowhere(known: Published, instants: Integers) -> None:
    """An instant with neither an envelope nor a symbol."""
    neither = [known.instants[place] for place in np.setdiff1d(instants, known.values)]
    if neither:
        raise ParameterError(
            f"of {', '.join(neither[:12])} neither values nor symbols were published",
            hint="ask about other instants",
            code="not-published",
        )
