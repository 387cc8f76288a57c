"""Columns as arrays: measured values as floats, all other values as small whole numbers (codes)."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeveil.domain.arrays import Codes, Flags, Floats, Ints
from timeveil.domain.wording import counted, listed
from timeveil.errors import InputError
from timeveil.reading import columns
from timeveil.reading.columns import decoded, is_text, refuse_rows, whole_numbers

CODE_ROOM = 2**31 - 1
_SAMPLE_ROWS = 1_000

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_NOT_FINITE = r"(?i)^[+-]?(nan|inf|infinity)$"
_DECIMAL_SCALES = {32: 9, 64: 18, 128: 38, 256: 76}
"""The largest scale of decimals, by their bits, that Arrow can write as text."""
_EXACT = 2.0**53  # every whole number smaller than this has a float of its own


@dataclass(frozen=True, slots=True)
class Coded:
    """A column as codes into the distinct values that occur; `values` holds null last, if it does."""

    codes: Codes
    values: pa.Array

    def at(self, level: pa.Table | None) -> tuple[Codes, int]:
        """Codes and how many there are, with values replaced by what `level` publishes for them."""
        if level is None:
            return self.codes, len(self.values)
        published = publish_values(self.values, level).dictionary_encode(null_encoding="encode")
        return published.indices.to_numpy().astype(np.int32)[self.codes], len(published.dictionary)


def with_dictionaries(table: pa.Table, respondent: str) -> pa.Table:
    """The table with its texts as numbers and a dictionary: what compares and copies them does it quickly.

    People who are numbered stay as they are, as nothing compares them but `encode_people`.
    """
    names = [field.name for field in table.schema if pa.types.is_string(field.type)]
    names = [n for n in names if n != respondent or not whole_numbers(table[n].slice(0, _SAMPLE_ROWS))]
    with ThreadPoolExecutor(2) as pool:
        encoded = pool.map(pc.dictionary_encode, [table[name] for name in names])
    for name, column in zip(names, encoded, strict=True):
        table = table.set_column(table.column_names.index(name), name, column.combine_chunks())
    return table


def encode(column: pa.ChunkedArray) -> Coded:
    """Codes of a column. Null is a value of its own."""
    if pa.types.is_dictionary(column.type):
        column = columns.with_used_values(column)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    coded = column.combine_chunks()
    codes, values = coded.indices, coded.dictionary
    if codes.null_count:
        # Null gets the last code, so that rows without a value are a group like any other.
        codes = pc.fill_null(codes, len(values))
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
    return Coded(codes.to_numpy().astype(np.int32, copy=False), values)


def encode_people(column: pa.ChunkedArray) -> tuple[Codes, int]:
    """Codes of respondents and a bound on them. Dense whole numbers, also as texts, need no hashing."""
    if len(column) > _SAMPLE_ROWS and (numbers := whole_numbers(column)):  # for fewer, to look takes longer
        codes, room = encode_people(numbers)
        # Numbered as texts are, in the order in which they first occur.
        first = np.full(room, len(codes))
        first[codes[::-1]] = np.arange(len(codes))[::-1]
        number = np.empty(room, np.int32)
        number[np.argsort(first)] = np.arange(room)
        return number.take(codes), int(np.count_nonzero(first < len(codes)))
    if pa.types.is_integer(column.type) and len(column):
        low, high = pc.min(column).as_py(), pc.max(column).as_py()
        # Numbers are their own codes where a table over their range is no larger than a few columns.
        if high - low < min(4 * len(column) + 1_000_000, CODE_ROOM) and high <= np.iinfo(np.int64).max:
            numbers = whole(column).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
            return (numbers - low).astype(np.int32), high - low + 1
    coded = encode(column)
    return coded.codes, len(coded.values)


def distinct(numbers: Ints) -> Ints:
    """The different numbers, sorted; on many, a fraction of what the hash table of `np.unique` takes."""
    ordered = np.sort(numbers)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def combine(parts: list[tuple[Codes, int]], rows: int) -> tuple[Codes, int]:
    """One code for several columns; only equality of their combinations matters."""
    code: NDArray[Any] = np.zeros(rows, np.int32)
    size = 1
    for codes, count in parts:
        if size * count > CODE_ROOM:
            code, size = _compact(code)
        # After compacting, at most rows times count combinations: that fits in 64 bits, if not in 32.
        code = code.astype(np.int64 if size * count > CODE_ROOM else np.int32, copy=False)
        code = codes if size == 1 else code * code.dtype.type(count) + codes
        size *= count
    if size > CODE_ROOM:
        code, size = _compact(code)
    return code.astype(np.int32, copy=False), size


def _compact(code: NDArray[Any]) -> tuple[NDArray[Any], int]:
    distinct, codes_of = np.unique(code, return_inverse=True)
    return codes_of, len(distinct)


def publish_values(values: pa.Array, level: pa.Table) -> pa.Array:
    """What a level publishes for each value."""
    index = pc.index_in(values, level["value"].combine_chunks(), skip_nulls=False)
    return level["published"].combine_chunks().take(index)


def whole(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece, not copied if it is."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


class Numbers(NamedTuple):
    """The values of a column, 0 where one is missing, and which are missing."""

    values: Floats
    missing: Flags

    @property
    def not_finite(self) -> int:
        return int(np.count_nonzero(~np.isfinite(self.values)))


def numbers(name: str, column: pa.ChunkedArray) -> Numbers:
    """The column's values as numbers; empty text is a missing value."""
    column = parsed = decoded(columns.without_wrapping(column))
    kind = column.type
    if is_text(kind):
        parsed = _parsed(name, column)
    elif pa.types.is_decimal(kind):
        if abs(kind.scale) <= _DECIMAL_SCALES[kind.bit_width]:
            parsed = column.cast(pa.string())  # Arrow's direct way to a float misses the nearest one
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
        message = f"column `{name}` has the type {kind}, which is not numeric"
        hint = "a series consists of numbers; name another column, or convert this one to numbers"
        raise InputError(message, hint=hint, code="bad-number", facts={"column": name})
    values = np.asarray(pc.fill_null(parsed.cast(pa.float64(), safe=False), 0.0).to_numpy(), np.float64)
    _refuse_inexact(name, column, values)
    return Numbers(values + 0.0, _mask(pc.is_null(parsed)))


def refuse_unusable(instants: Mapping[str, Numbers]) -> None:
    """Refuse values that are not finite, or too small or too large to calculate with."""
    infinite = {name: column.not_finite for name, column in instants.items()}
    hint = "correct them; where nothing is known, leave the cell empty and set {fill}"
    _refuse_any(infinite, "that are not finite (NaN or infinite)", hint)
    sizes = {name: np.abs(column.values) for name, column in instants.items()}
    # Between these, digits can be rounded and squared differences scaled.
    extreme = {name: int(((s > 1e300) | ((s < 1e-300) & (s > 0))).sum()) for name, s in sizes.items()}
    hint = "give the series in another unit, or correct those values"
    _refuse_any(extreme, "smaller than 1e-300 or larger than 1e300 in size", hint)


def _refuse_any(counts: Mapping[str, int], fault: str, hint: str) -> None:
    if total := sum(counts.values()):
        faulty = {name: count for name, count in counts.items() if count}
        message = f"{counted(total, 'value')} {fault}, in {listed(list(faulty))}"
        facts = {"columns": faulty, "count": total}
        raise InputError(message, hint=hint, code="bad-number", facts=facts)


def _parsed(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = pc.utf8_trim_whitespace(column)
    text = columns.emptied(text, pc.equal(text, pa.scalar("", text.type)))
    fits = pc.or_(pc.match_substring_regex(text, _NUMBER), pc.match_substring_regex(text, _NOT_FINITE))
    what = ("value that is not a number", "values that are not a number")
    hint = "write numbers like 12, -3.5 or 2e3, without units; "
    hint += 'numbers like 3,5 are read with {decimal="comma"}'
    refuse_rows(name, ~_mask(pc.fill_null(fits, True)), what, hint, "bad-number")
    return pc.replace_substring_regex(text, r"^\+", "").cast(pa.float64())


def _refuse_inexact(name: str, column: pa.ChunkedArray, values: Floats) -> None:
    """Numbers beyond 2^53 share floats: another value would be published, or lie outside its envelope."""
    if pa.types.is_floating(column.type):
        return
    long = (np.abs(values) >= _EXACT) & np.isfinite(values)
    if long.any() and is_text(column.type):
        text = pc.utf8_trim_whitespace(column.filter(pa.array(long))).to_pylist()
        # Written as a power of ten, a number may have few digits: 9e18 is what it is as a float.
        pairs = zip(text, values[long].tolist(), strict=True)
        long[long] = [cell.lstrip("+-").isdigit() or Decimal(cell) != Decimal(str(v)) for cell, v in pairs]
    fault = "of more than 15 digits, which cannot be stored exactly"
    hint = "give them in a larger unit, or subtract an offset that all share"
    refuse_rows(name, long, (f"number {fault}", f"numbers {fault}"), hint, "bad-number", long=True)


def _mask(values: Any) -> Flags:
    return np.asarray(values.to_numpy(), dtype=bool)
