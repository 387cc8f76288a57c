"""Everything that judges of series read: the release, its ledger, and the link between the two.

Each part is read when first needed, and once. Equal rows of a release follow each other; a run of them is one
row here, with its number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.release import Ledger, Release
from timeveil.domain.wording import counted
from timeveil.errors import BundleError, ParameterError, raising
from timeveil.evidence.codes import Integers, encode
from timeveil.evidence.published import columns_of, mismatch, promised
from timeveil.models.series.original import ABSENT, Floats, Series, has_instants, series_of
from timeveil.symbols import reconstructed

Mask: TypeAlias = npt.NDArray[np.bool_]
Symbols: TypeAlias = npt.NDArray[np.int16]
GROUP, PATTERN, LEVEL = "group", "pattern", "level"
"""Names of the published columns that every series release has."""
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_LEVELS = len(LETTERS)
SLACK = 1e-9
"""The rounding error of a z-normalised value; cells are taken to be this much wider."""

_SYMBOLS = np.full(256, -1, dtype=np.int16)
_SYMBOLS[np.frombuffer(LETTERS.encode(), np.uint8)] = np.arange(MOST_LEVELS)


@dataclass(frozen=True, slots=True)
class Published:
    """The rows of a series release, each run of equal ones once.

    `instants` are all of a series; `values` and `pattern` index those whose envelope and whose symbol were
    published, in the order of the columns of `low` and `high`, and of `symbols` and `levels`. `rows` is the
    number of published rows in a run. `own_patterns` means that a pattern is that of each of its series.
    """

    instants: tuple[str, ...]
    values: Integers
    pattern: Integers
    center: str
    own_patterns: bool
    suppressed: int
    group: Integers
    rows: Integers
    low: Floats
    high: Floats
    symbols: Symbols
    levels: Symbols

    @property
    def size(self) -> int:
        """The number of instants of a series."""
        return len(self.instants)

    @property
    def reach(self) -> float:
        """How far from 0 a z-normalised value can be.

        One value of n is at most sqrt(n - 1) deviations from their mean, and the median at most one.
        """
        return math.sqrt(max(self.size - 1, 0)) + (self.center == "median")

    def index_of(self, names: Sequence[str]) -> Integers:
        """The index of each of these instants."""
        index = {name: number for number, name in enumerate(self.instants)}
        for name in names:
            if name not in index:
                raise ParameterError(
                    f"the release has no instant `{name}`",
                    hint=f"use {', '.join(self.instants[:12])}{', ...' if self.size > 12 else ''}",
                    code="column-missing",
                )
        return np.array([index[name] for name in names], dtype=np.int64)

    def cells(self) -> tuple[Floats, Floats]:
        """Per run and instant the z-normalised values that its symbol allows; all of them without one."""
        low = np.full((len(self.rows), self.size), -self.reach)
        high = -low
        if self.own_patterns and len(self.pattern):
            low[:, self.pattern], high[:, self.pattern] = cell_bounds(self.symbols, self.levels, self.reach)
        return low, high

    def wide_cells(self) -> tuple[Floats, Floats]:
        """The cells with room for rounding."""
        low, high = self.cells()
        return low - SLACK, high + SLACK

    def shapes(self) -> Floats:
        """Per run and instant the reconstructed z-normalised value; nan where no symbol was published."""
        shapes = np.full((len(self.rows), self.size), np.nan)
        shapes[:, self.pattern] = reconstructed(self.symbols, self.levels)
        return shapes


@dataclass(frozen=True, slots=True)
class Records:
    """All series of the original, and the run of `published` that holds each, `ABSENT` if suppressed."""

    series: Series
    run: Integers
    published: Published

    @property
    def matrix(self) -> Floats:
        """The values, a row per series."""
        return self.series.matrix

    @property
    def released(self) -> Integers:
        """The series that were published, those of a run together."""
        order = np.argsort(self.run, kind="stable")
        return order[np.searchsorted(self.run[order], 0) :]


class Evidence:
    """A release of series and its ledger, read once for all judges."""

    def __init__(self, release: Release, ledger: Ledger | None = None) -> None:
        self.release, self.ledger = release, ledger

    @cached_property
    def k(self) -> int:
        """The promised number of series per envelope."""
        return promised(self.release, "k")

    @cached_property
    def p(self) -> int:
        """The promised number of series per pattern."""
        return promised(self.release, "p")

    @cached_property
    def runs(self) -> Published:
        """The rows of the release; envelopes may be anything."""
        damaged = _damaged("the manifest of this release and its table do not fit each other")
        with raising(damaged, on=(LookupError, TypeError, ValueError, AttributeError, NotImplementedError)):
            return _read(self.release)

    @cached_property
    def published(self) -> Published:
        """The rows of the release; one whose envelopes are impossible is refused."""
        runs = self.runs
        if not (np.isfinite(runs.low) & np.isfinite(runs.high) & (runs.low <= runs.high)).all():
            raise _damaged("envelopes of this release have bounds that are not finite, or low above high")
        return runs

    @cached_property
    def private(self) -> Ledger:
        """The ledger; judges that need one are not asked without it."""
        if self.ledger is None:
            raise mismatch("there is no ledger")
        return self.ledger

    @cached_property
    def series(self) -> Series:
        """The series of the original, gaps filled as stated."""
        return series_of(self.private.original, self.release.manifest["parameters"].get("fill"))

    def noted(self, name: str) -> Integers:
        """A column of numbers in the ledger, `ABSENT` where it is null."""
        return np.asarray(self.private.table.column(name).fill_null(ABSENT)).astype(np.int64)

    @cached_property
    def records(self) -> Records:
        """Each series with its published row; a ledger of another release is refused.

        Subgroups of a ledger are numbered in the order in which the cells of the release appear.
        """
        published = self.published
        if self.private.model != "series" or not {GROUP, "subgroup"} <= set(self.private.table.column_names):
            raise mismatch("the ledger is that of another kind of release")
        series = self.series
        if not has_instants(series, published.instants) or len(series.of_row) != self.private.table.num_rows:
            raise mismatch("the series of the ledger's original do not have the instants of the release")
        group, subgroup = (self.noted(name)[series.row] for name in (GROUP, "subgroup"))
        numbers, run = np.unique(subgroup, return_inverse=True)
        # ABSENT sorts first, so its number 0 becomes -1 and runs begin at 0.
        run = run.ravel() - int(bool(len(numbers)) and numbers[0] == ABSENT)
        inside, count = run >= 0, len(published.rows)
        same = int(run.max(initial=-1)) + 1 == count
        same = same and np.array_equal(np.bincount(run[inside], minlength=count), published.rows)
        if not same or (published.group[run[inside]] != group[inside]).any():
            raise mismatch(f"the ledger places {int(inside.sum()):,} series, and not as the release has them")
        return Records(series, run, published)


def cell_bounds(symbols: Symbols, levels: Symbols, reach: float) -> tuple[Floats, Floats]:
    """The z-normalised values that symbols allow, at most `reach` from 0.

    >>> low, high = cell_bounds(np.array([[0, 1]]), np.array([[2, 2]]), reach=3.0)
    >>> low.round(6).tolist(), high.round(6).tolist()
    ([[-3.0, 0.0]], [[0.0, 3.0]])
    """
    from scipy.special import ndtri  # noqa: PLC0415 - scipy is heavy

    low, high = ndtri(symbols / levels), ndtri((symbols + 1) / levels)
    return np.maximum(low, -reach), np.minimum(high, reach)


# The release.

_Run: TypeAlias = tuple[Integers, Integers, Floats, Floats, Symbols, Symbols]


def _read(release: Release) -> Published:
    stated = release.manifest["series"]
    instants = tuple(str(name) for name in stated["instants"])
    index = {name: number for number, name in enumerate(instants)}
    values, pattern = (
        np.array([index[name] for name in stated[part]], dtype=np.int64) for part in ("values", "pattern")
    )
    names = [columns_of(release, role) for role in ("low", "high")]
    if names != [[f"{name}_{end}" for name in stated["values"]] for end in ("lo", "hi")] or any(
        len(set(stated[part])) != len(stated[part]) for part in ("instants", "values", "pattern")
    ):
        raise ValueError
    empty = np.zeros(0, np.int64), np.zeros((0, len(values))), np.zeros((0, len(pattern)), np.int16)
    parts: list[_Run] = [(empty[0], empty[0], empty[1], empty[1], empty[2], empty[2])]
    parts += [_batch_runs(batch, names, len(pattern)) for batch in release.batches()]
    # Once more over all batches: a run may continue from one to the next.
    group, rows, low, high, symbols, levels = _runs(*map(np.concatenate, zip(*parts, strict=True)))
    # Columns are published in any order of instants; here they are in the order of time.
    by_value, by_symbol = np.argsort(values), np.argsort(pattern)
    return Published(
        instants=instants,
        values=values[by_value],
        pattern=pattern[by_symbol],
        center=str(stated["center"]),
        own_patterns=bool(stated["own_patterns"]),
        suppressed=int(release.manifest["counts"]["suppressed"]),
        group=group,
        rows=rows,
        low=low[:, by_value],
        high=high[:, by_value],
        symbols=symbols[:, by_symbol],
        levels=levels[:, by_symbol],
    )


def _batch_runs(batch: pa.RecordBatch, names: Sequence[Sequence[str]], width: int) -> _Run:
    if batch.column(GROUP).null_count:
        raise _damaged(f"{counted(batch.column(GROUP).null_count, 'row')} without a group", "group")
    group = np.asarray(batch.column(GROUP).cast(pa.int64())).astype(np.int64, copy=False)
    low, high = (
        np.array([batch.column(name).cast(pa.float64()) for name in ends], np.float64)
        .reshape(-1, len(group))
        .T
        for ends in names
    )
    patterns = patterns_of(batch.column(PATTERN), batch.column(LEVEL), width)
    return _runs(group, np.ones(len(group), dtype=np.int64), low, high, *patterns)


def _runs(*columns: Any) -> _Run:
    """Equal rows that follow each other as one, by everything but the sensitive and the kept columns."""
    group, rows, *matrices = columns
    fresh = np.ones(len(group), dtype=bool)
    fresh[1:] = group[1:] != group[:-1]
    for matrix in matrices:
        fresh[1:] |= (matrix[1:] != matrix[:-1]).any(axis=1)
    first = np.flatnonzero(fresh)
    total = np.add.reduceat(rows, first) if len(first) else rows
    low, high, symbols, levels = (matrix[first] for matrix in matrices)
    return group[first], total, low, high, symbols, levels


def patterns_of(text: pa.Array, level: pa.Array, width: int) -> tuple[Symbols, Symbols]:
    """Per row and instant of the pattern the symbol, from 0, and its level.

    >>> symbols, levels = patterns_of(pa.array(["aC"]), pa.array([29]), 2)
    >>> symbols.tolist(), levels.tolist()
    ([[0, 28]], [[29, 29]])
    """
    if text.null_count:
        raise _damaged(f"{counted(text.null_count, 'row')} without a pattern", "pattern")
    if not width:
        return np.zeros((len(text), 0), np.int16), np.zeros((len(text), 0), np.int16)
    coded = encode(text)
    letters = coded.values.to_pylist()
    if any(len(word) != width or not word.isascii() for word in letters):
        raise _damaged(f"some patterns are not {width:,} letters from a to z or A to Z", "pattern")
    symbols = _SYMBOLS[np.frombuffer("".join(letters).encode(), np.uint8)].reshape(len(letters), width)
    if (symbols < 0).any():
        raise _damaged(f"some patterns are not {width:,} letters from a to z or A to Z", "pattern")
    symbols = symbols[coded.codes]
    flat, listed = level, pa.types.is_list(level.type)
    if listed:
        flat = pc.list_flatten(level)
        fits = not level.null_count and bool((np.asarray(pc.list_value_length(level)) == width).all())
    if flat.null_count or (listed and not fits):
        raise _damaged(f"some levels are not {width:,} numbers from 1 to {MOST_LEVELS}", "pattern")
    numbers = np.asarray(flat).astype(np.int64)
    if ((numbers < 1) | (numbers > MOST_LEVELS)).any():
        raise _damaged(f"some levels are not {width:,} numbers from 1 to {MOST_LEVELS}", "pattern")
    levels = np.broadcast_to(numbers.astype(np.int16).reshape(len(text), -1), symbols.shape)
    beyond = int((symbols >= levels).any(axis=1).sum())
    if beyond:
        raise _damaged(f"{counted(beyond, 'row')} with a letter beyond the level of its instant", "pattern")
    return symbols, levels


def _damaged(message: str, finding: str = "columns") -> BundleError:
    return BundleError(
        message,
        hint="run verify on the release, and ask the sender for a new copy",
        facts={"finding": finding},
    )
