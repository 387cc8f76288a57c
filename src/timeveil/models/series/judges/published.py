"""What a series release says: envelopes and patterns, read from its table and manifest alone.

Rows that say the same follow each other, as equal rows of a release do; a run of them is one row here, with
how many it stands for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.release import Release
from timeveil.errors import BundleError, ParameterError, raising
from timeveil.evidence.codes import Integers
from timeveil.evidence.published import columns_of
from timeveil.symbols.sax import LETTERS, reconstructed

Floats: TypeAlias = npt.NDArray[np.float64]
Symbols: TypeAlias = npt.NDArray[np.int16]
SLACK = 1e-9
"""What rounding may have moved a z-normalised value by; a cell is taken to be wider by so much."""
_UNFIT = "the manifest of this release and its table do not fit each other"
_PLACE = np.full(256, -1, dtype=np.int16)
_PLACE[np.frombuffer(LETTERS.encode(), np.uint8)] = np.arange(len(LETTERS))


@dataclass(frozen=True, slots=True)
class Published:
    """The rows of a series release, each run of equal ones once.

    `instants` are all of a series; `values` and `pattern` are the places of those whose envelope and whose
    symbol were published, in the order of the columns of `low` and `high`, and of `symbols` and `levels`.
    `rows` is how many published rows a run stands for, `own` whether a pattern is each one's own.
    """

    instants: tuple[str, ...]
    values: Integers
    pattern: Integers
    center: str
    own: bool
    suppressed: int
    group: Integers
    rows: Integers
    low: Floats
    high: Floats
    symbols: Symbols
    levels: Symbols

    @property
    def size(self) -> int:
        """How many instants a series has."""
        return len(self.instants)

    @property
    def reach(self) -> float:
        """How far from 0 a z-normalised value can be.

        One value of n lies at most sqrt(n - 1) deviations from their mean, and the median at most one.
        """
        return math.sqrt(max(self.size - 1, 0)) + (self.center == "median")

    def places(self, names: Sequence[str]) -> Integers:
        """Where among all instants those of these names stand."""
        known = {name: place for place, name in enumerate(self.instants)}
        for name in names:
            if name not in known:
                raise ParameterError(
                    f"the release has no instant `{name}`",
                    hint=f"it has {', '.join(self.instants[:12])}{', ...' if self.size > 12 else ''}",
                    code="column-missing",
                )
        return np.array([known[name] for name in names], dtype=np.int64)

    def cells(self) -> tuple[Floats, Floats]:
        """Per run and instant the z-normalised values that its symbol stands for; all of them without one."""
        low = np.full((len(self.rows), self.size), -self.reach)
        high = -low
        if self.own and len(self.pattern):
            low[:, self.pattern], high[:, self.pattern] = cell_bounds(self.symbols, self.levels, self.reach)
        return low, high

    def wide_cells(self) -> tuple[Floats, Floats]:
        """The same with room for rounding."""
        low, high = self.cells()
        return low - SLACK, high + SLACK

    def shapes(self) -> Floats:
        """Per run and instant the reconstructed z-normalised value; nan where no symbol was published."""
        out = np.full((len(self.rows), self.size), np.nan)
        out[:, self.pattern] = reconstructed(self.symbols, self.levels)
        return out


def cell_bounds(symbols: Symbols, levels: Symbols, reach: float) -> tuple[Floats, Floats]:
    """The z-normalised values that symbols stand for, at most `reach` from 0.

    >>> low, high = cell_bounds(np.array([[0, 1]]), np.array([[2, 2]]), reach=3.0)
    >>> low.round(6).tolist(), high.round(6).tolist()
    ([[-3.0, 0.0]], [[0.0, 3.0]])
    """
    from scipy.special import ndtri  # noqa: PLC0415

    low, high = ndtri(symbols / levels), ndtri((symbols + 1) / levels)
    return np.maximum(low, -reach), np.minimum(high, reach)


def published_series(release: Release) -> Published:
    """Read a series release, a batch at a time; one whose manifest and table do not fit is refused."""
    with raising(
        _damaged(_UNFIT), on=(LookupError, TypeError, ValueError, AttributeError, NotImplementedError)
    ):
        return _read(release)


def _read(release: Release) -> Published:
    about = release.manifest["series"]
    instants = tuple(str(name) for name in about["instants"])
    place = {name: number for number, name in enumerate(instants)}
    values, pattern = (
        np.array([place[name] for name in about[part]], dtype=np.int64) for part in ("values", "pattern")
    )
    names = [columns_of(release, role) for role in ("low", "high")]
    if not _fit(about, names):
        raise _damaged(_UNFIT)
    by_place = np.argsort(values), np.argsort(pattern)
    parts = [_of_batch(batch, names, len(pattern)) for batch in release.batches()]
    whole = parts or [_nothing(len(values), len(pattern))]
    joined = tuple(np.concatenate(found) for found in zip(*whole, strict=True))
    group, rows, low, high, symbols, levels = _runs(*joined)
    if not (np.isfinite(low) & np.isfinite(high) & (low <= high)).all():
        raise _damaged("envelopes of this release have bounds that are not finite, or a low above its high")
    return Published(
        instants,
        values[by_place[0]],
        pattern[by_place[1]],
        str(about["center"]),
        bool(about["own_patterns"]),
        int(release.manifest["counts"]["suppressed"]),
        group,
        rows,
        low[:, by_place[0]],
        high[:, by_place[0]],
        symbols[:, by_place[1]],
        levels[:, by_place[1]],
    )


def _fit(about: Mapping[str, Any], names: Sequence[Sequence[str]]) -> bool:
    """Whether no instant stands twice, and every one with values has its two bounds, in order."""
    return all(len(set(about[part])) == len(about[part]) for part in ("instants", "values", "pattern")) and [
        list(ends) for ends in names
    ] == [[f"{name}_{end}" for name in about["values"]] for end in ("lo", "hi")]


_Run: TypeAlias = tuple[Integers, Integers, Floats, Floats, Symbols, Symbols]


def _of_batch(batch: pa.RecordBatch, names: Sequence[Sequence[str]], width: int) -> _Run:
    low, high = (_numbers(batch, columns) for columns in names)
    group = np.asarray(batch.column("group").cast(pa.int64())).astype(np.int64, copy=False)
    return _runs(group, np.ones(len(group), dtype=np.int64), low, high, *patterns_of(batch, width))


def _runs(
    group: Integers, rows: Integers, low: Floats, high: Floats, symbols: Symbols, levels: Symbols
) -> _Run:
    """Equal rows that follow each other as one, by everything but the sensitive and the kept columns."""
    fresh = np.ones(len(group), dtype=bool)
    fresh[1:] = group[1:] != group[:-1]
    for part in (low, high, symbols, levels):
        fresh[1:] |= (part[1:] != part[:-1]).any(axis=1)
    first = np.flatnonzero(fresh)
    total = np.add.reduceat(rows, first) if len(first) else rows
    return group[first], total, low[first], high[first], symbols[first], levels[first]


def _nothing(values: int, width: int) -> _Run:
    none, nowhere = np.zeros(0, dtype=np.int64), np.zeros((0, width), dtype=np.int16)
    return none, none, np.zeros((0, values)), np.zeros((0, values)), nowhere, nowhere


def _numbers(batch: pa.RecordBatch, names: Sequence[str]) -> Floats:
    out = np.empty((batch.num_rows, len(names)))
    for place, name in enumerate(names):
        out[:, place] = np.asarray(batch.column(name).cast(pa.float64()))
    return out


def patterns_of(batch: pa.RecordBatch, width: int) -> tuple[Symbols, Symbols]:
    """Per row and instant of the pattern the symbol, from 0, and of how many it is."""
    rows = batch.num_rows
    if not width:
        return np.zeros((rows, 0), dtype=np.int16), np.zeros((rows, 0), dtype=np.int16)
    text = batch.column("pattern").cast(pa.binary())
    letters = np.frombuffer(b"".join(text.to_pylist()), dtype=np.uint8)
    level = batch.column("level")
    listed = pa.types.is_nested(level.type)
    flat = np.asarray(pc.list_flatten(level) if listed else level).astype(np.int16)
    if len(letters) != rows * width or len(flat) != rows * (width if listed else 1):
        raise _damaged(f"patterns of this release are not {width:,} symbols long")
    symbols = _PLACE[letters].reshape(rows, width)
    levels = flat.reshape(rows, width) if listed else np.repeat(flat[:, None], width, axis=1)
    if (symbols < 0).any() or (symbols >= levels).any():
        raise _damaged("patterns of this release have symbols beyond their level")
    return symbols, levels


def _damaged(said: str) -> BundleError:
    return BundleError(said, hint="run verify on the release, and ask whoever made it", code="folder-damaged")
