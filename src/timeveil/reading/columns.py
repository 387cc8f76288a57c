"""Columns as they go on: plain types, no unused dictionary values, no NaN beside null."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.errors import InputError, instead_of

_DAY_MS = 86_400_000
_KNOWN_EXTENSIONS = ("arrow.json", "arrow.uuid")
_OPAQUE = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
)


def refuse_unsupported(
    schema: pa.Schema, *, respondent: str | None, time: str | None, item: str | None = None
) -> None:
    """Binary columns come in as the respondent only, lists as items only; `Moments` judges the time."""
    for field in schema:
        kind = _value_type(field.type)
        if field.name == item and is_list(kind):
            kind = _value_type(kind.value_type)
        opaque = any(test(kind) for test in _OPAQUE) and field.name != respondent
        no_fit = pa.types.is_duration(kind) or pa.types.is_interval(kind) or _is_foreign(kind)
        if field.name != time and (pa.types.is_nested(kind) or opaque or no_fit):
            raise InputError(
                f"column `{field.name}` has the type {kind}, which cannot be published",
                hint="turn it into plain columns of text or numbers, or drop it",
                code="unsupported-input",
            )


def refuse_no_text(name: str, column: pa.ChunkedArray) -> None:
    """Text is UTF-8, and a code stands for a value; files and other libraries can say so of anything."""
    if pa.types.is_primitive(column.type):
        return  # numbers and dates are what they are; Arrow also minds a time of day in a date64
    error = InputError(
        f"column `{name}` holds bytes that are no UTF-8 text, or codes without a value",
        hint="write it again with the program that made it",
        code="bad-encoding",
        facts={"column": name},
    )
    instead_of(pa.ArrowException, lambda _: error, lambda: column.validate(full=True))


def is_list(kind: pa.DataType) -> bool:
    """Whether cells hold lists.

    >>> is_list(pa.large_list(pa.string())), is_list(pa.string())
    (True, False)
    """
    kinds = ("is_list", "is_large_list", "is_fixed_size_list")
    return any(getattr(pa.types, test)(kind) for test in kinds)


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values in a type that every later step knows; types that fit already are not copied."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([c.storage for c in column.chunks], type=column.type.storage_type)
    column = without_views(column)
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _compact(column)
    if pa.types.is_run_end_encoded(kind):
        return plain(pa.chunked_array([pc.run_end_decode(c) for c in column.chunks], type=kind.value_type))
    if pa.types.is_date64(kind):
        return pa.chunked_array([_days(c) for c in column.chunks], type=pa.date32())
    wider = _WIDER.get(kind)
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        wider = pa.decimal128(kind.precision, kind.scale)
    return column if wider is None else column.cast(wider)


_WIDER = {pa.null(): pa.string(), pa.float16(): pa.float32(), pa.time32("s"): pa.time32("ms")}


def _days(chunk: pa.Array) -> pa.Array:
    """The day of each date, which Arrow keeps in milliseconds and lets have a time of day."""
    missing = pc.is_null(chunk).to_numpy(zero_copy_only=False)
    days = pc.fill_null(chunk.view(pa.int64()), 0).to_numpy(zero_copy_only=False) // _DAY_MS
    if np.abs(days).max(initial=0) > np.iinfo(np.int32).max:
        raise InputError(
            "a column has dates that are millions of years away",
            hint="see that its numbers are milliseconds since 1970",
            code="bad-time",
        )
    return pa.array(days.astype(np.int32), mask=missing).cast(pa.date32())


def without_views(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text and bytes in the layout that pyarrow can compute with, plain or as values of a dictionary."""
    kind = column.type
    if pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    if pa.types.is_binary_view(kind):
        return column.cast(pa.large_binary())
    if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
        chunks = [
            pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(pa.large_string()))
            for chunk in column.chunks
        ]
        return pa.chunked_array(chunks, type=pa.dictionary(kind.index_type, pa.large_string()))
    return column


def without_nan(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """NaN becomes null and minus zero zero, so that equal means the same in every engine."""
    if not pa.types.is_floating(column.type):
        return column
    column = pc.add(column, pa.scalar(0.0, column.type))
    nan = pc.is_nan(column)
    return pc.if_else(nan, pa.scalar(None, column.type), column) if pc.any(nan).as_py() else column


def without_blanks(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Empty and blank text becomes null: nobody is called nothing, and nothing must not count as a person."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        blank = [without_blanks(pa.chunked_array([c.dictionary])).null_count for c in column.chunks]
        return without_blanks(_decoded(column)) if any(blank) else column
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    blank = pc.equal(pc.utf8_trim_whitespace(column), pa.scalar("", kind))
    return pc.if_else(blank, pa.scalar(None, kind), column) if pc.any(blank).as_py() else column


def _is_foreign(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.BaseExtensionType)


def _value_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values themselves; that of a foreign library's own type is not looked into."""
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name in _KNOWN_EXTENSIONS:
        return _value_type(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _value_type(kind.value_type)
    return kind


def _compact(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dictionary-encoded text with exactly the values that occur; anything else is decoded."""
    values = column.type.value_type
    if not (pa.types.is_string(values) or pa.types.is_large_string(values)) or column.num_chunks == 0:
        return plain(_decoded(column))
    column = column.unify_dictionaries()
    dictionary = column.chunk(0).dictionary
    if dictionary.null_count or len(pc.unique(dictionary)) != len(dictionary):
        return _decoded(column)
    used = np.zeros(len(dictionary), dtype=bool)
    for chunk in column.chunks:
        used[chunk.indices.drop_null().to_numpy(zero_copy_only=False)] = True
    if used.all():
        return column
    places = pa.array(np.cumsum(used) - 1, type=pa.int32())
    kept = dictionary.filter(pa.array(used))
    return pa.chunked_array(
        [pa.DictionaryArray.from_arrays(places.take(c.indices), kept) for c in column.chunks],
        type=pa.dictionary(pa.int32(), values),
    )


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    values: Any = column.type.value_type
    return pa.chunked_array([c.dictionary_decode() for c in column.chunks], type=values)
