"""The original as one series per person, read anew: nothing here is shared with the methods."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.relation import Relation
from timeveil.errors import raising
from timeveil.evidence.codes import Integers, column_of, encode
from timeveil.evidence.published import mismatch

Floats: TypeAlias = npt.NDArray[np.float64]
ABSENT = -1
"""In place of a group, a cell, a run or a series: there is none."""
_DECIMAL_SCALES = {32: 9, 64: 18, 128: 38, 256: 76}  # beyond them decimals cannot be written as text
_ZEROS = re.compile(r"(?<=:\d\d)\.0+")
"""The end of a time of whole seconds; an instant's name may lack it."""


@dataclass(frozen=True, slots=True)
class Series:
    """The series of an original, one row each.

    `of_row` is the series of each input row, `ABSENT` where it belongs to none; `row` is one input row of
    each series, where its attributes are.
    """

    matrix: Floats
    of_row: Integers
    row: Integers
    instants: tuple[str, ...]


def series_of(original: Relation, fill: str | None) -> Series:
    """The series of an original; people dropped for a gap have none."""
    roles = original.roles
    error = mismatch("a column of the original does not hold numbers")
    with raising(error, on=(pa.ArrowInvalid, pa.ArrowNotImplementedError)):
        if roles.series:
            columns = [floats_of(column_of(original.data, name)) for name in roles.series]
            matrix, of_row, instants = np.column_stack(columns), np.arange(original.rows), tuple(roles.series)
        else:
            matrix, of_row, instants = _pivoted(original)
    if len(matrix) and fill in ("forward", "linear"):
        matrix = _filled(matrix, fill)
    complete = np.isfinite(matrix).all(axis=1)
    if fill is None and not complete.all():
        gaps = int((~complete).sum())
        raise mismatch(f"{gaps:,} series of the original have gaps, and no way to fill them is stated")
    number = np.where(complete, np.cumsum(complete) - 1, ABSENT)
    of_row = np.where(of_row >= 0, number[of_row], ABSENT) if len(number) else np.full(len(of_row), ABSENT)
    row = np.zeros(int(complete.sum()), dtype=np.int64)
    row[of_row[of_row >= 0]] = np.flatnonzero(of_row >= 0)
    return Series(matrix[complete], of_row, row, instants)


def has_instants(series: Series, names: Sequence[str]) -> bool:
    """Whether these are the names of the instants, in order."""
    return [_ZEROS.sub("", name) for name in names] == list(series.instants)


def floats_of(column: pa.ChunkedArray) -> Floats:
    """Numbers, or texts that are numbers, as floats; nan where there is none."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    column = column.cast(kind)
    if pa.types.is_decimal(kind) and abs(kind.scale) <= _DECIMAL_SCALES[kind.bit_width]:
        column = column.cast(pa.string())  # through text the float is the nearest one; directly it may not be
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = pc.utf8_trim_whitespace(column)
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, kind), column)
    values = np.asarray(pc.fill_null(column.cast(pa.float64(), safe=False), np.nan), dtype=np.float64)
    if not pa.types.is_floating(kind):
        large = column.filter(pa.array(np.abs(values) >= 2.0**53)).cast(pa.string()).to_pylist()
        if any(text.strip().lstrip("+-").isdigit() and int(text) != float(text) for text in large):
            raise mismatch("a column of the original has whole numbers that no float can hold exactly")
    return values


def _pivoted(original: Relation) -> tuple[Floats, Integers, tuple[str, ...]]:
    """Long rows as a matrix: people by appearance, times in order, nan where a row is missing."""
    roles = original.roles
    person = encode(column_of(original.data, str(roles.respondent)))
    time = encode(column_of(original.data, str(roles.time)))
    value = floats_of(column_of(original.data, str(roles.value)))
    valid = np.flatnonzero(time.values.is_valid())
    order = valid[np.asarray(pc.sort_indices(time.values.take(pa.array(valid)))).astype(np.int64)]
    rank = np.full(time.size, ABSENT, dtype=np.int64)
    rank[order] = np.arange(len(order))
    instant = rank[time.codes]
    named = np.asarray(person.values.is_valid())[person.codes] & (instant >= 0)
    cell = person.codes[named] * max(len(order), 1) + instant[named]
    if len(np.unique(cell)) != len(cell):
        raise mismatch("a person of the original has two values at one time")
    matrix = np.full(person.size * len(order), np.nan)
    matrix[cell] = value[named]
    names = time.values.take(pa.array(order)).cast(pa.string()).to_pylist()
    of_row = np.where(named, person.codes, ABSENT)
    return matrix.reshape(person.size, len(order)), of_row, tuple(_ZEROS.sub("", name) for name in names)


def _filled(matrix: Floats, fill: str) -> Floats:
    """Gaps take the value before (`forward`), or are on the line between their neighbours (`linear`)."""
    valid, columns = np.isfinite(matrix), np.arange(matrix.shape[1])
    before = np.maximum.accumulate(np.where(valid, columns, -1), axis=1)
    after = np.minimum.accumulate(np.where(valid, columns, matrix.shape[1])[:, ::-1], axis=1)[:, ::-1]
    line = np.arange(len(matrix))[:, None]
    left = np.where(before >= 0, matrix[line, np.maximum(before, 0)], np.nan)
    right = np.where(after < matrix.shape[1], matrix[line, np.minimum(after, matrix.shape[1] - 1)], np.nan)
    if fill == "forward":
        return np.where(before >= 0, left, right)
    share = (columns - before) / np.maximum(after - before, 1)
    between = left * (1 - share) + right * share
    between = np.where(before < 0, right, np.where(after >= matrix.shape[1], left, between))
    return np.where(valid, matrix, between)
