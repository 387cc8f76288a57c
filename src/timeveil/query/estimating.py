"""What a customised release leaves out, worked out from what it has (Shou et al. 2013, §6).

Where the pattern is each series' own, an instant without a published envelope still has a symbol: its
value lies where the symbol and the envelopes of the other instants leave room for it. An instant without a
symbol still has an envelope: its symbol is the one whose values overlap the envelope most.

Where we depart from the print
    A z-normalised value lies within sqrt(n - 1) of 0, not sqrt(n); about the median within one more.
    Each instant has its own level, and its own cell bounds it where that is finite.
    Of symbols that overlap an envelope equally, the one with the narrowest range is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from timeveil.errors import ParameterError
from timeveil.model.release import Release
from timeveil.query.codes import Integers
from timeveil.query.scaling import Scaling, scaling
from timeveil.query.series_published import Floats, Published, Symbols, cell_bounds, published_series
from timeveil.query.series_queries import ends
from timeveil.symbols.sax import LETTERS

Domain = tuple[float | None, float | None]
_BLOCK = 1 << 18


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
    floor, ceiling = ends("the domain", domain)
    low, high = (np.empty((len(known.rows), len(instants))) for _ in range(2))
    for block in _blocks(known, domain):
        for place, instant in enumerate(instants):
            found = block.scale.between(block.below[:, instant], block.above[:, instant])
            low[block.rows, place], high[block.rows, place] = found
    return np.maximum(low, floor), np.minimum(high, ceiling)


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
    for block in _blocks(known, domain):
        low, high = known.low[block.rows][:, columns], known.high[block.rows][:, columns]
        symbols[block.rows] = _most_overlap(block.scale, levels[block.rows], low, high, known.reach)
    return symbols, levels


def row_levels(known: Published) -> Symbols:
    """The level of each run; the median of them where each instant has its own."""
    if not known.levels.shape[1]:
        return np.ones(len(known.rows), dtype=np.int16)
    middle: Symbols = np.median(known.levels, axis=1).astype(np.int16)
    return middle


def _most_overlap(scale: Scaling, levels: Symbols, low: Floats, high: Floats, reach: float) -> Symbols:
    best, chosen = np.full((*low.shape, 2), -np.inf), np.zeros(low.shape, dtype=np.int16)
    for symbol in range(int(levels.max(initial=1))):
        there = np.minimum(symbol, levels - 1)
        below, above = cell_bounds(there, levels, reach)
        least, most = (bound[:, None] for bound in scale.between(below, above))
        overlap = np.minimum(most, high) - np.maximum(least, low)
        with np.errstate(invalid="ignore"):
            narrow = -(most - least) + np.zeros_like(low)
        better = overlap > best[..., 0]
        better |= (overlap == best[..., 0]) & (narrow > best[..., 1])
        better &= (symbol < levels)[:, None]
        best[..., 0], best[..., 1] = (
            np.where(better, overlap, best[..., 0]),
            np.where(better, narrow, best[..., 1]),
        )
        chosen[better] = symbol
    return chosen


@dataclass(frozen=True, slots=True)
class _Block:
    """Some runs, what is known of their scaling, and the cells of their symbols."""

    rows: slice
    scale: Scaling
    below: Floats
    above: Floats


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
        middle = np.mean if known.center == "mean" else np.median
        center = middle(low, axis=1, keepdims=True), middle(high, axis=1, keepdims=True)
        nil = np.zeros((shape[0], 1))
        scale = scaling(
            np.hstack([low, center[0]]),
            np.hstack([high, center[1]]),
            np.hstack([below[rows], nil]),
            np.hstack([above[rows], nil]),
            span=high.max(axis=1) - low.min(axis=1),
        )
        yield _Block(rows, scale, below[rows], above[rows])


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
