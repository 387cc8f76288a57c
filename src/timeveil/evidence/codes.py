"""Values as small integers, so that judges compare and count with array arithmetic.

This is the judges' own counting: nothing in it is shared with the methods that make releases.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.arrays import Flags, Ints
from timeveil.domain.release import Deferred
from timeveil.domain.stored import Stored
from timeveil.errors import InputError, raising
from timeveil.reading.columns import whole_numbers
from timeveil.reading.files import UNLIMITED, too_large

Codes: TypeAlias = npt.NDArray[np.signedinteger[Any]]
Piece = TypeVar("Piece", bound=tuple[Any, ...])
Sides: TypeAlias = tuple[Ints, Ints, int]
"""Codes of a column of the original, the same of the release, and how many codes there are."""
_ROOM = 2**62
_WORD_BITS = 62
_ROWS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Coded:
    """A column as `values[codes]`; a null is a value like any other and has a code."""

    codes: Ints
    values: pa.Array

    @property
    def size(self) -> int:
        return len(self.values)


def column_of(part: pa.Table | Deferred | Stored, name: str, rooms: int = 1) -> pa.ChunkedArray:
    """One column of a table in memory, deferred or on disk; on disk the others are not read.

    Of a file that someone sent, no more is read than the room for it, or so many times the room.
    """
    if isinstance(part, pa.Table):
        return part.column(name)
    if not isinstance(part, Stored):
        return part.read().column(name)
    if room_for(part) == UNLIMITED:
        return part.read([name]).column(name)
    chunks = within_room(part, ((batch.column(0),) for batch in part.to_batches([name])), rooms)
    return pa.chunked_array([chunk for (chunk,) in chunks], part.schema.field(name).type)


def within_room(part: Any, pieces: Iterable[Piece], rooms: int = 1) -> Iterator[Piece]:
    """The arrays that are kept of a table, piece by piece, as long as there is room for all of them."""
    size = 0
    for piece in pieces:
        size += sum(array.nbytes for array in piece)
        refuse_beyond_room(part, size // rooms)
        yield piece


def room_for(part: object) -> int:
    """Bytes that a judge may hold of a table; only a file that someone sent has a limit."""
    return int(getattr(part, "room", UNLIMITED))


def refuse_beyond_room(part: Any, held: int) -> None:
    """Refuse a small file that would take much memory: honest ones repeat less than this."""
    room = room_for(part)
    if held > room:
        claim = f"would take more than {room:,} bytes in memory, which is far more than on disk"
        raise too_large(part.path.name, claim, "unpacked")


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values, however they are laid out in memory."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    return kind


def encode(column: pa.ChunkedArray | pa.Array) -> Coded:
    """Number the distinct values of a column in order of appearance."""
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    if pa.types.is_dictionary(column.type):
        return _encode_dictionary(column)
    if pa.types.is_null(column.type):
        return Coded(np.zeros(len(column), dtype=np.int64), pa.nulls(1))
    # Arrow cannot encode lists; their text distinguishes them as well.
    if pa.types.is_nested(column.type):
        column = pa.chunked_array([pa.array([repr(v) for v in column.to_pylist()], pa.string())])
    encoded = column.dictionary_encode("encode")
    if not encoded.num_chunks:
        return Coded(np.zeros(0, dtype=np.int64), pa.array([], plain_type(column.type)))
    indices = np.asarray(pa.chunked_array([chunk.indices for chunk in encoded.chunks]))
    # The dictionary of the last chunk has the values of all chunks.
    values = encoded.chunk(encoded.num_chunks - 1).dictionary
    return Coded(indices.astype(np.int64, copy=False), values.cast(plain_type(values.type)))


def encode_people(column: pa.ChunkedArray) -> Coded:
    """The same, but whole numbers are ranked, written as text or not, because to hash them takes long."""
    numbers = whole_numbers(column) or column
    if column.null_count or not pa.types.is_signed_integer(numbers.type):
        return encode(column)
    people, codes = ranked(np.asarray(numbers).astype(np.int64, copy=False))
    first = np.zeros(len(people), np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    order = np.argsort(first)
    number = np.empty(len(people), np.int64)
    number[order] = np.arange(len(people))
    return Coded(number[codes], pa.array(people[order]))


def encode_values(column: pa.ChunkedArray | pa.Array) -> Coded:
    """As `encode`, but values that look the same are one value: 0 and -0, and null and every NaN."""
    kind = plain_type(column.type)
    if not pa.types.is_floating(kind):
        return encode(column)
    numbers = column.cast(kind)
    # Adding 0 turns -0 into 0.
    numbers = pc.add(numbers.cast(pa.float32()) if pa.types.is_float16(kind) else numbers, 0.0)
    coded = encode(pc.if_else(pc.is_nan(numbers), pa.scalar(None, numbers.type), numbers))
    return Coded(coded.codes, coded.values.cast(kind))


def _encode_dictionary(column: pa.ChunkedArray) -> Coded:
    """Two entries of a dictionary may be the same value, and two chunks may have different dictionaries."""
    kind = plain_type(column.type)
    entries = [chunk.dictionary.cast(kind) for chunk in column.chunks]
    distinct = encode(pa.chunked_array([*entries, pa.nulls(1, kind)], kind))
    null = int(distinct.codes[-1])
    offset, parts = 0, [np.zeros(0, dtype=np.int64)]
    for chunk, entry in zip(column.chunks, entries, strict=True):
        # A null index takes the last entry, the code of null.
        lookup = np.append(distinct.codes[offset : offset + len(entry)], null)
        indices = pc.fill_null(chunk.indices.cast(pa.int64()), -1) if chunk.null_count else chunk.indices
        parts.append(lookup.take(np.asarray(indices)))
        offset += len(entry)
    # Entries that no row uses are not values of the column.
    used, codes = ranked(np.concatenate(parts))
    return Coded(codes, distinct.values.take(pa.array(used)))


def mismatch(message: str) -> InputError:
    """The error for a ledger that does not belong to the release."""
    return InputError(
        message, hint="use the ledger that was written with this release", code="ledger-mismatch"
    )


def align(original: Coded, released: Coded) -> tuple[Coded, Coded]:
    """A column of the ledger's original and of the release, under one numbering."""
    values, kind = original.values, released.values.type
    if values.type != kind:
        error = mismatch(f"the ledger holds {values.type} where the release holds {kind}")
        with raising(error, on=(pa.ArrowInvalid, pa.ArrowNotImplementedError)):
            values = original.values.cast(kind)
    joint = encode(pa.chunked_array([values, released.values], kind))
    return (
        Coded(joint.codes[: len(values)].take(original.codes), joint.values),
        Coded(joint.codes[len(values) :].take(released.codes), joint.values),
    )


def same_values(first: pa.ChunkedArray, second: pa.ChunkedArray) -> bool:
    """Whether two columns have every value equally often."""
    left, right = align(encode_values(first), encode_values(second))
    counts = [np.bincount(side.codes, minlength=left.size) for side in (left, right)]
    return np.array_equal(counts[0], counts[1])


def fold(columns: Iterable[tuple[Ints, int]], rows: int) -> tuple[Ints, int]:
    """One code per combination of codes, from 0 without holes, and the number of combinations."""
    folded, space = np.zeros(rows, dtype=np.int64), 1
    for codes, size in columns:
        # Renumber before the product of the sizes leaves int64.
        if space * max(size, 1) >= _ROOM:
            ordered, folded = ranked(folded)
            space = len(ordered)
        folded *= size
        folded += codes
        space *= max(size, 1)
    ordered, folded = ranked(folded)
    return folded, len(ordered)


def fold_both(columns: Iterable[Sides]) -> Sides:
    """Rows of two tables, given column by column, under one numbering."""
    sides = iter(columns)
    first = next(sides)
    rows = len(first[0])
    # Folded as one table, so that equal rows of either get one code; one column at a time is in memory.
    joint = ((np.concatenate([left, right]), size) for left, right, size in chain([first], sides))
    codes, count = fold(joint, rows + len(first[1]))
    return codes[:rows], codes[rows:], count


def differing(columns: Sequence[Sides]) -> tuple[int, int]:
    """How many rows are only in the release, and only in the original."""
    surplus = missing = 0
    # Rows that differ in the first column differ: some of its codes are compared at a time.
    left, right, size = columns[0]
    rows = np.bincount(left, minlength=size) + np.bincount(right, minlength=size)
    part = np.cumsum(rows) // _ROWS_AT_ONCE
    parts = part[left], part[right]
    for number in distinct(part):
        of_part = [np.flatnonzero(side == number) for side in parts]
        sides = [(ours[of_part[0]], theirs[of_part[1]], size) for ours, theirs, size in columns]
        original, released, count = fold_both(sides)
        difference = np.bincount(released, minlength=count) - np.bincount(original, minlength=count)
        surplus += int(np.clip(difference, 0, None).sum())
        missing += int(np.clip(-difference, 0, None).sum())
    return surplus, missing


def example_of(codes: Ints, count: int) -> Ints:
    """A row of each code."""
    example = np.zeros(count, np.int64)
    example[codes] = np.arange(len(codes))
    return example


def ranked(values: Ints) -> tuple[Ints, Ints]:
    """The distinct values in order, and the index of each row's value among them."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    # A table of flags is linear, but only worth it while values are not sparse.
    if high - low <= 4 * len(values) + 1_000_000:
        codes, seen = values - low if low else values, np.zeros(high - low + 1, dtype=bool)
        seen[codes] = True
        number: npt.NDArray[Any] = np.cumsum(seen, dtype=np.int32 if high - low < 2**31 else np.int64)
        number -= 1
        return np.flatnonzero(seen) + low, number.take(codes).astype(np.int64, copy=False)
    bits = len(values).bit_length()
    if (high - low).bit_length() + bits > _WORD_BITS:
        ordered, index = np.unique(values, return_inverse=True)
        return ordered, index.astype(np.int64, copy=False).ravel()
    # Value and row in one word: to sort words is several times faster than to sort rows by their values.
    words = np.sort((values - low) << bits | np.arange(len(values)))
    ordered, rows = words >> bits, words & ((1 << bits) - 1)
    fresh = changes(ordered)
    index = np.empty(len(values), np.int64)
    index[rows] = np.cumsum(fresh) - 1
    return ordered[fresh] + low, index


def distinct(values: Ints) -> Ints:
    """The distinct values, sorted: on a million codes faster than the hashing of `np.unique`."""
    ordered = np.sort(values)
    return ordered[changes(ordered)]


def changes(*columns: Codes) -> Flags:
    """Where a row differs from the one before; the first row does."""
    changed = np.zeros(len(columns[0]), dtype=bool)
    changed[:1] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed


def narrow(codes: Codes, size: int) -> Codes:
    """Codes below `size` in as little memory as they need, to be stored: whoever multiplies widens them."""
    return codes.astype(np.int32 if size < 2**31 else np.int64, copy=False)


def all_zero(count: int) -> Ints:
    """Zeros that take no memory."""
    return np.broadcast_to(np.int64(0), count)


def distinct_pairs(first: Ints, second: Ints, size: int) -> tuple[Ints, Ints, Ints]:
    """Each (first, second) that occurs, sorted, with its count; `size` is above every second."""
    ordered = np.sort(first * size + second)
    heads = np.flatnonzero(changes(ordered))
    pairs = ordered[heads]
    return pairs // max(size, 1), pairs % max(size, 1), np.diff(heads, append=len(ordered))
