"""The original as one series per person, read anew: the verifier's own pivot, z-normalisation and cells.

Nothing here is shared with the methods. A symbol is checked by the borders of its cell, taken from the
standard library's normal curve, not by the product that methods use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.relation import Relation
from timeveil.errors import InputError
from timeveil.evidence.codes import Integers, column_of, encode
from timeveil.models.series.judges.cells import Floats, Mask
from timeveil.models.series.judges.shape import MOST_LEVELS

_CLOSE = 1e-9
"""A z-normalised value this near to a border may stand on either side of it."""
_AT_ONCE = 1 << 16
_SCALES = {32: 9, 64: 18, 128: 38, 256: 76}  # beyond them decimals cannot be written as text
_ZEROS = re.compile(r"(?<=:\d\d)\.0+")
"""The end of a time of whole seconds; it may be left out of an instant's name."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line per series; `of_row` says which series an input row belongs to, -1 where it is in none.

    `row` is one input row of each series, where its other attributes stand; `instants` their names.
    """

    matrix: Floats
    of_row: Integers
    row: Integers
    instants: tuple[str, ...]


def series_of(original: Relation, fill: str | None) -> Series:
    """The series of the original, gaps filled as stated; who was dropped for a gap has none."""
    roles = original.roles
    try:
        if roles.series:
            found = [_floats(column_of(original.data, name)) for name in roles.series]
            matrix, of_row, instants = np.column_stack(found), np.arange(original.rows), tuple(roles.series)
        else:
            matrix, of_row, instants = _pivoted(original)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        matrix = None
    if matrix is None:
        raise _unreadable("a column of the original does not hold numbers")
    if len(matrix) and fill in ("forward", "linear"):
        matrix = _filled(matrix, fill)
    whole = np.isfinite(matrix).all(axis=1)
    if fill is None and not whole.all():
        raise _unreadable(
            f"{int((~whole).sum()):,} series of the original have gaps, and no way to fill them is stated"
        )
    place = np.where(whole, np.cumsum(whole) - 1, -1)
    of_row = np.where(of_row >= 0, place[of_row], -1) if len(place) else np.full(len(of_row), -1)
    row = np.zeros(int(whole.sum()), dtype=np.int64)
    row[of_row[of_row >= 0]] = np.flatnonzero(of_row >= 0)
    return Series(matrix[whole], of_row, row, instants)


def _pivoted(original: Relation) -> tuple[Floats, Integers, tuple[str, ...]]:
    """Long rows as a matrix: people as they appear, times in order, not a number where a row is missing."""
    roles = original.roles
    person = encode(column_of(original.data, str(roles.respondent)))
    moment = encode(column_of(original.data, str(roles.time)))
    value = _floats(column_of(original.data, str(roles.value)))
    known = np.asarray(moment.values.is_valid())
    rank = np.full(moment.size, -1, dtype=np.int64)
    order = np.asarray(pc.sort_indices(moment.values.filter(pa.array(known)))).astype(np.int64)
    rank[np.flatnonzero(known)[order]] = np.arange(len(order))
    when = rank[moment.codes]
    named = np.asarray(person.values.is_valid())[person.codes] & (when >= 0)
    place = person.codes[named] * max(len(order), 1) + when[named]
    if len(np.unique(place)) != len(place):
        raise _unreadable("a person of the original has two values at one time")
    matrix = np.full(person.size * len(order), np.nan)
    matrix[place] = value[named]
    names = moment.values.take(pa.array(np.flatnonzero(known)[order])).cast(pa.string()).to_pylist()
    of_row = np.where(named, person.codes, -1)
    return matrix.reshape(person.size, len(order)), of_row, tuple(_ZEROS.sub("", name) for name in names)


def _floats(column: pa.ChunkedArray) -> Floats:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    column = column.cast(kind)
    if pa.types.is_decimal(kind) and abs(kind.scale) <= _SCALES[kind.bit_width]:
        column = column.cast(pa.string())  # which gives the nearest float; Arrow's own way may miss it
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = pc.utf8_trim_whitespace(column)
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, kind), column)
    values = np.asarray(pc.fill_null(column.cast(pa.float64(), safe=False), np.nan), dtype=np.float64)
    if not pa.types.is_floating(kind):
        large = np.abs(values) >= 2.0**53
        said = column.filter(pa.array(large)).cast(pa.string()).to_pylist()
        if any(text.strip().lstrip("+-").isdigit() and int(text) != float(text) for text in said):
            raise _unreadable("a column of the original has whole numbers that no float can hold exactly")
    return values


def _filled(matrix: Floats, fill: str) -> Floats:
    """Gaps take the value before (`forward`), or lie on the line between their neighbours (`linear`)."""
    known = np.isfinite(matrix)
    columns = np.arange(matrix.shape[1])
    before = np.maximum.accumulate(np.where(known, columns, -1), axis=1)
    after = np.minimum.accumulate(np.where(known, columns, matrix.shape[1])[:, ::-1], axis=1)[:, ::-1]
    line = np.arange(len(matrix))[:, None]
    left = np.where(before >= 0, matrix[line, np.maximum(before, 0)], np.nan)
    right = np.where(after < matrix.shape[1], matrix[line, np.minimum(after, matrix.shape[1] - 1)], np.nan)
    if fill == "forward":
        return np.where(before >= 0, left, right)
    share = (columns - before) / np.maximum(after - before, 1)
    between = left * (1 - share) + right * share
    between = np.where(before < 0, right, np.where(after >= matrix.shape[1], left, between))
    return np.where(known, matrix, between)


def same_instants(series: Series, stated: list[str]) -> bool:
    """Whether these are the names of the instants, in order."""
    return [_ZEROS.sub("", name) for name in stated] == list(series.instants)


def not_own(matrix: Floats, center: str, part: Integers, symbols: npt.NDArray[np.uint8],
            levels: npt.NDArray[np.uint8], cell: Integers) -> Mask:  # fmt: skip
    """Which series have a symbol of their cell that is not their own; `part` are the pattern's instants."""
    wrong = np.zeros(len(matrix), dtype=bool)
    for start in range(0, len(matrix), _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        z = _normalised(matrix[rows], center)
        symbol, level = symbols[cell[rows]].astype(np.int64), levels[cell[rows]].astype(np.int64)
        below = z[:, part] < _BORDERS[level, symbol] - _CLOSE
        above = z[:, part] >= _BORDERS[level, symbol + 1] + _CLOSE
        wrong[rows] = (below | above).any(axis=1)
    return wrong


def _normalised(matrix: Floats, center: str) -> Floats:
    """Values less the centre in population deviations, 0 where a series is constant.

    The least value is taken off first, in halves that cannot overflow: differences of near values are exact,
    and the deviation of n values is at least their range by the root of 2n. Rounding stays far below `_CLOSE`
    wherever a series lies.
    """
    halves = matrix / 2
    least = halves.min(axis=1, keepdims=True)
    rise = halves - least
    reach = rise.max(axis=1, keepdims=True)
    flat = reach == 0
    rise = rise / np.where(flat, 1.0, reach)
    middle = (
        np.median(rise, axis=1, keepdims=True) if center == "median" else rise.mean(axis=1, keepdims=True)
    )
    z = (rise - middle) / np.where(flat, 1.0, rise.std(axis=1, keepdims=True))
    return np.where(flat, 0.0, z)


def _borders() -> Floats:
    """Per level the lower border of every symbol, then the upper of the last; infinite at the ends."""
    normal = NormalDist()
    table = np.full((MOST_LEVELS + 1, MOST_LEVELS + 1), np.inf)
    for level in range(1, MOST_LEVELS + 1):
        table[level, 0] = -np.inf
        table[level, 1:level] = [normal.inv_cdf(step / level) for step in range(1, level)]
    return table


_BORDERS = _borders()


def _unreadable(message: str) -> InputError:
    return InputError(
        message, hint="give the ledger that was made together with this release", code="ledger-mismatch"
    )
