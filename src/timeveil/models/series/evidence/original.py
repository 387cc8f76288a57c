"""The series of an original, read anew: nothing here is shared with the methods."""

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.arrays import Floats, Ints
from timeveil.domain.relation import Relation
from timeveil.errors import raising
from timeveil.evidence.codes import Coded, column_of, encode, encode_values, mismatch

ABSENT = -1  # in place of a group, a cell, a run or a series: there is none
_UNCAST = (pa.ArrowInvalid, pa.ArrowNotImplementedError)
_DECIMAL_SCALES = {32: 9, 64: 18, 128: 38, 256: 76}  # beyond them decimals cannot be written as text


class Series:
    """The series of an original, one row each; people dropped for a gap have none.

    `of_row` is the series of each input row, `ABSENT` where it belongs to none; `row` is one input row of
    each series, where its attributes are.
    """

    def __init__(self, original: Relation, fill: str | None) -> None:
        names = original.roles.series
        with raising(mismatch("a column of the original does not hold numbers"), on=_UNCAST):
            if names:
                columns = [floats_of(column_of(original.data, name)) for name in names]
                matrix, of_row = np.column_stack(columns), np.arange(original.rows)
                self.instants = tuple(names)
            else:
                matrix, of_row, self.instants = _pivoted(original)
        if len(matrix) and fill in ("forward", "linear"):
            matrix = _filled(matrix, fill)
        complete = np.isfinite(matrix).all(axis=1)
        if fill is None and not complete.all():
            gaps = int((~complete).sum())
            raise mismatch(f"{gaps:,} series of the original have gaps, and no way to fill them is stated")
        number = np.where(complete, np.cumsum(complete) - 1, ABSENT)
        self.matrix: Floats = matrix[complete]
        self.of_row: Ints = np.append(number, ABSENT)[of_row]  # a row of no series, -1, reads the last
        self.row: Ints = np.zeros(len(self.matrix), dtype=np.int64)
        self.row[self.of_row[self.of_row >= 0]] = np.flatnonzero(self.of_row >= 0)

    def has_instants(self, names: Sequence[str]) -> bool:
        return [without_zeros(name) for name in names] == list(self.instants)


def without_zeros(name: str) -> str:
    """The name of an instant, which may lack the end of a time of whole seconds."""
    return re.sub(r"(?<=:\d\d)\.0+", "", name)


def encode_numbers(column: pa.ChunkedArray) -> Coded:
    """As `encode`, but equal numbers are one value however they are written: "7" and "7.0", 0 and -0."""
    with raising(mismatch("a column does not hold numbers"), on=_UNCAST):
        return encode_values(pa.chunked_array([floats_of(column)]))


def floats_of(column: pa.ChunkedArray) -> Floats:
    """Numbers, or texts that are numbers, as floats; nan where there is none."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    column = column.cast(kind)
    if pa.types.is_decimal(kind) and abs(kind.scale) <= _DECIMAL_SCALES[kind.bit_width]:
        column = column.cast(pa.string())  # through text the float is the nearest one; directly it may not be
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = pc.replace_substring_regex(pc.utf8_trim_whitespace(column), r"^\+", "")
        # An array of nulls: up to pyarrow 23, a null scalar gives wrong texts for sliced columns.
        column = pc.if_else(pc.equal(column, ""), pa.nulls(len(column), kind), column)
    values = np.asarray(pc.fill_null(column.cast(pa.float64(), safe=False), np.nan), dtype=np.float64)
    if not pa.types.is_floating(kind):
        large = column.filter(pa.array(np.abs(values) >= 2.0**53)).cast(pa.string()).to_pylist()
        if any(text.strip().lstrip("+-").isdigit() and int(text) != float(text) for text in large):
            raise mismatch("a column of the original has whole numbers that no float can hold exactly")
    return values


def _pivoted(original: Relation) -> tuple[Floats, Ints, tuple[str, ...]]:
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
    return matrix.reshape(person.size, len(order)), of_row, tuple(map(without_zeros, names))


def _filled(matrix: Floats, fill: str) -> Floats:
    """Gaps take the value before (`forward`), or are on the line between their neighbours (`linear`)."""
    valid, width = np.isfinite(matrix), matrix.shape[1]
    columns = np.arange(width)
    before = np.maximum.accumulate(np.where(valid, columns, -1), axis=1)
    after = np.minimum.accumulate(np.where(valid, columns, width)[:, ::-1], axis=1)[:, ::-1]
    # Before the first and after the last value there is one neighbour; a series without a value stays empty.
    before, after = np.where(before < 0, after, before), np.where(after == width, before, after)
    left, right = (np.take_along_axis(matrix, side.clip(0, width - 1), axis=1) for side in (before, after))
    if fill == "forward":
        return left
    share = (columns - before) / np.maximum(after - before, 1)
    return np.where(before == after, left, left * (1 - share) + right * share)
