"""The rows of a series release as arrays: groups with their envelopes, cells with their patterns.

A cell is what an outsider cannot look into: the rows of one group with one pattern at one level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.release import Release
from timeveil.domain.stored import Stored
from timeveil.domain.wording import counted
from timeveil.evidence.codes import Integers, column_of, encode, fold
from timeveil.evidence.findings import Findings
from timeveil.evidence.published import columns_of
from timeveil.models.series.judges.manifest import GROUP, LEVEL, PATTERN
from timeveil.models.series.judges.shape import MOST_LEVELS

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
_SYMBOLS = np.full(256, 255, dtype=np.uint8)
_SYMBOLS[np.frombuffer(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", np.uint8)] = np.arange(
    MOST_LEVELS
)


@dataclass(frozen=True, slots=True)
class Cells:
    """Per row its group (the published number) and its cell; per cell its group, symbols and levels.

    Cells are numbered from 0 as rows first name them. `example` is the first row of each.
    """

    group: Integers
    cell: Integers
    example: Integers
    symbols: npt.NDArray[np.uint8]
    levels: npt.NDArray[np.uint8]

    @property
    def cell_group(self) -> Integers:
        """The group of each cell."""
        return self.group[self.example]

    @property
    def sizes(self) -> Integers:
        """How many rows each cell has."""
        return np.bincount(self.cell, minlength=len(self.example))


def cells_of(release: Release, findings: Findings) -> Cells | None:
    """Groups and cells, where patterns and levels can be read at all."""
    findings.check("every row has a group, and a letter within its level for every instant of the pattern")
    part, instants = release.parts["data"], len(release.manifest["series"]["pattern"])
    group, text, level = (column_of(part, name) for name in (GROUP, PATTERN, LEVEL))
    missing = [_has_none(group, "group", findings), _has_none(text, "pattern", findings)]
    levels = levels_of(level, instants)
    if levels is None:
        findings.refuse(
            "pattern", f"some levels are not {counted(instants, 'number')} from 1 to {MOST_LEVELS}"
        )
    coded = encode(text)
    symbols = symbols_of(coded.values, instants)
    if symbols is None:
        findings.refuse(
            "pattern", f"some patterns are not {counted(instants, 'letter')} from a to z or A to Z"
        )
    if any(missing) or levels is None or symbols is None:
        return None
    numbers = np.asarray(group).astype(np.int64)
    dense = encode(pa.array(numbers))
    columns = [(levels[:, place].astype(np.int64), MOST_LEVELS + 1) for place in range(levels.shape[1])]
    folded, count = fold([(dense.codes, dense.size), (coded.codes, coded.size), *columns], len(numbers))
    cell, example = _by_appearance(folded, count)
    found = Cells(numbers, cell, example, symbols[coded.codes[example]], _spread(levels[example], instants))
    beyond = (found.symbols >= found.levels).any(axis=1)
    if beyond.any():
        rows = int(found.sizes[beyond].sum())
        findings.refuse("pattern", f"{counted(rows, 'row')} with a letter beyond the level of its instant")
        return None
    return found


def levels_of(column: pa.ChunkedArray, instants: int) -> npt.NDArray[np.uint8] | None:
    """One level per row, or one per row and instant; None where that is not what they are.

    >>> levels_of(pa.chunked_array([[[3, 4], [2, 2]]]), 2).tolist(), levels_of(pa.chunked_array([[3, 0]]), 2)
    ([[3, 4], [2, 2]], None)
    """
    if column.null_count:
        return None
    width = 1
    if pa.types.is_list(column.type):
        lengths = np.asarray(pc.list_value_length(column))
        if (lengths != instants).any():
            return None
        column, width = pc.list_flatten(column), instants
    if column.null_count:
        return None
    numbers = np.asarray(column).astype(np.int64)
    if ((numbers < 1) | (numbers > MOST_LEVELS)).any():
        return None
    return numbers.astype(np.uint8).reshape(-1, width)


def symbols_of(patterns: pa.Array, instants: int) -> npt.NDArray[np.uint8] | None:
    """Letters as numbers from 0, a line per pattern; None where one has another length or no letter.

    >>> symbols_of(pa.array(["abC"]), 3).tolist(), symbols_of(pa.array(["é."]), 2)
    ([[0, 1, 28]], None)
    """
    texts = patterns.to_pylist()
    joined = "".join(text or "" for text in texts)
    if not joined.isascii() or any(len(text or "") != instants for text in texts):
        return None
    symbols = _SYMBOLS[np.frombuffer(joined.encode("ascii"), np.uint8)].reshape(-1, instants)
    return None if (symbols == 255).any() else symbols


def envelopes_of(release: Release) -> tuple[Floats, Floats]:
    """The lower and the upper bounds of every row, not a number where one is missing."""
    part, names = release.parts["data"], columns_of(release, "low", "high")
    table = part.read(names) if isinstance(part, Stored) else release.table  # a file is read once

    def matrix(role: str) -> Floats:
        columns = [pc.fill_null(table.column(name), np.nan) for name in columns_of(release, role)]
        return np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])

    return matrix("low"), matrix("high")


def _has_none(column: pa.ChunkedArray, code: Literal["group", "pattern"], findings: Findings) -> bool:
    if column.null_count:
        findings.refuse(code, f"{counted(column.null_count, 'row')} without a {code}")
    return bool(column.null_count)


def _spread(levels: npt.NDArray[np.uint8], instants: int) -> npt.NDArray[np.uint8]:
    return np.broadcast_to(levels, (len(levels), instants))


def _by_appearance(codes: Integers, count: int) -> tuple[Integers, Integers]:
    """Codes numbered by where they first stand, and where that is."""
    first = np.full(count, len(codes), dtype=np.int64)
    np.minimum.at(first, codes, np.arange(len(codes)))
    order = np.argsort(first)
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    return place[codes], first[order]
