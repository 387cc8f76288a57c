"""Columns on their way in: plain types, and one spelling for every person.

One person spelt in two ways would count as two people, and k of them would be fewer than k. Two texts name
the same person if they differ only in blanks, in invisible characters, or in how letters are composed (NFKC).
Letters of another case and leading zeros may well belong to someone else. Most columns contain plain letters
only, which their bytes show at once; of the others, only values that have a plainer spelling are kept, and
searched for among all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.wording import counted
from timeveil.errors import InputError, raising

_DAY_MS = 86_400_000
_PLAIN_EXTENSIONS = ("arrow.json", "arrow.uuid")
_OPAQUE = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
)
_WIDER = {pa.null(): pa.string(), pa.float16(): pa.float32(), pa.time32("s"): pa.time32("ms")}

# Letters that NFKC leaves as they are, whatever is next to them: Latin, Cyrillic, Han, Hangul.
_LETTERS = (
    r"[!-~\x{C0}-\x{131}\x{134}-\x{13E}\x{141}-\x{148}\x{14A}-\x{17E}\x{400}-\x{481}"
    r"\x{4E00}-\x{9FFF}\x{AC00}-\x{D7A3}]"
)
_PLAIN_TEXT = f"^{_LETTERS}+( {_LETTERS}+)*$"
_BLANK, _LAST_ASCII = ord(" "), ord("~")


def refuse_unsupported(
    schema: pa.Schema, *, respondent: str | None, time: str | None, item: str | None = None
) -> None:
    """Refuse types that cannot be published; bytes may be respondents, lists items; time is judged later."""
    for field in schema:
        kind = _innermost_type(field.type)
        if field.name == item and is_list(kind):
            kind = _innermost_type(kind.value_type)
        opaque = any(test(kind) for test in _OPAQUE) and field.name != respondent
        foreign = isinstance(kind, pa.BaseExtensionType)
        span = pa.types.is_duration(kind) or pa.types.is_interval(kind)
        if field.name != time and (pa.types.is_nested(kind) or opaque or foreign or span):
            raise InputError(
                f"column `{field.name}` has the type {kind}, which cannot be published",
                hint="convert it to plain columns of text or numbers, or drop it",
            )


def refuse_invalid_text(name: str, column: pa.ChunkedArray) -> None:
    """Refuse text that is not UTF-8 and codes without a value; files and libraries can call anything text."""
    if pa.types.is_primitive(column.type):
        return  # Arrow would also complain about a time of day in a date64
    error = InputError(
        f"column `{name}` contains bytes that are not UTF-8 text, or codes without a value",
        hint="write it again with the program that made it",
        code="bad-encoding",
        facts={"column": name},
    )
    with raising(error, on=pa.ArrowException):
        column.validate(full=True)


def is_list(kind: pa.DataType) -> bool:
    """Whether cells are lists.

    >>> is_list(pa.large_list(pa.string())), is_list(pa.string())
    (True, False)
    """
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(kind) for test in tests)


def value_type(kind: pa.DataType) -> pa.DataType:
    """The type without its dictionary.

    >>> value_type(pa.dictionary(pa.int8(), pa.string()))
    DataType(string)
    """
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values in a type that every later step supports; types that fit already are not copied."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([c.storage for c in column.chunks], type=column.type.storage_type)
    column = without_views(column)
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _with_used_values(column)
    if pa.types.is_run_end_encoded(kind):
        return plain(pa.chunked_array([pc.run_end_decode(c) for c in column.chunks], type=kind.value_type))
    if pa.types.is_date64(kind):
        return pa.chunked_array([_days(chunk) for chunk in column.chunks], type=pa.date32())
    wider = _WIDER.get(kind)
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        wider = pa.decimal128(kind.precision, kind.scale)
    return column if wider is None else column.cast(wider)


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
    """Empty and blank text becomes null: a missing name must not count as a person."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        blank = [without_blanks(pa.chunked_array([c.dictionary])).null_count for c in column.chunks]
        return without_blanks(_decoded(column)) if any(blank) else column
    if not _is_text(kind):
        return column
    blank = pc.equal(pc.utf8_trim_whitespace(column), pa.scalar("", kind))
    return pc.if_else(blank, pa.scalar(None, kind), column) if pc.any(blank).as_py() else column


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _innermost_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values themselves; a foreign library's own type is left as it is."""
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name in _PLAIN_EXTENSIONS:
        return _innermost_type(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _innermost_type(kind.value_type)
    return kind


def _days(chunk: pa.Array) -> pa.Array:
    """The day of each date, which Arrow stores in milliseconds and allows to have a time of day."""
    missing = pc.is_null(chunk).to_numpy(zero_copy_only=False)
    days = pc.fill_null(chunk.view(pa.int64()), 0).to_numpy(zero_copy_only=False) // _DAY_MS
    if np.abs(days).max(initial=0) > np.iinfo(np.int32).max:
        raise InputError(
            "a column has dates that are millions of years away",
            hint="check that its numbers are milliseconds since 1970",
            code="bad-time",
        )
    return pa.array(days.astype(np.int32), mask=missing).cast(pa.date32())


def _with_used_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dictionary-encoded text with exactly the values that occur; anything else is decoded."""
    values = column.type.value_type
    if not _is_text(values) or column.num_chunks == 0:
        return plain(_decoded(column))
    column = column.unify_dictionaries()
    dictionary = column.chunk(0).dictionary
    # Codes must be values one to one; a dictionary with a null or a repeated entry is not that.
    if dictionary.null_count or len(pc.unique(dictionary)) != len(dictionary):
        return _decoded(column)
    used = np.zeros(len(dictionary), dtype=bool)
    for chunk in column.chunks:
        used[chunk.indices.drop_null().to_numpy(zero_copy_only=False)] = True
    if used.all():
        return column
    positions = pa.array(np.cumsum(used) - 1, type=pa.int32())
    remaining = dictionary.filter(pa.array(used))
    return pa.chunked_array(
        [pa.DictionaryArray.from_arrays(positions.take(c.indices), remaining) for c in column.chunks],
        type=pa.dictionary(pa.int32(), values),
    )


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    values: Any = column.type.value_type
    return pa.chunked_array([c.dictionary_decode() for c in column.chunks], type=values)


class Spellings:
    """Takes the cells of a column with `push`; `refuse` then refuses cells that name a person twice."""

    def __init__(self) -> None:
        self._odd: list[pa.Array] = []

    def push(self, column: pa.ChunkedArray) -> None:
        """Note the values that have a plainer spelling."""
        for texts in _texts(column):
            if _is_plain_ascii(texts):
                continue
            candidates = texts.filter(pc.invert(pc.match_substring_regex(texts, _PLAIN_TEXT)))
            odd = candidates.filter(pc.not_equal(plain_spelling(candidates), candidates)).unique()
            if len(odd):
                self._odd.append(odd)

    def refuse(self, name: str, columns: Iterable[pa.ChunkedArray]) -> None:
        """Refuse the column, whose cells are passed once more, if two of its values are spellings of one."""
        if not self._odd:
            return
        odd = pa.concat_arrays(self._odd).unique()
        keys = plain_spelling(odd).unique()
        matches = [
            texts.filter(pc.is_in(texts, value_set=keys)).unique()
            for column in columns
            for texts in _texts(column)
        ]
        plainly_spelt = pa.concat_arrays(matches).unique() if matches else keys[:0]
        # Each key is one person; every spelling beyond one per key is one too many.
        extra = len(odd) + len(plainly_spelt) - len(keys)
        if extra:
            raise InputError(
                f"column `{name}` spells people in more than one way, {counted(extra, 'time')}: "
                "spellings differ only in blanks, invisible characters or composed letters, "
                "and each would count as a person",
                hint="write every person in one way before reading",
                code="person-twice",
                facts={"column": name, "count": extra},
            )


def plain_spelling(texts: pa.Array) -> pa.Array:
    """Texts with single blanks, none at the ends, without invisible characters, and with composed letters.

    >>> odd = pa.array(["\\u00a0Anna \\t B\\u200b", "Jose\\u0301", "Ａ1"], pa.large_string())
    >>> plain_spelling(odd).to_pylist()
    ['Anna B', 'José', 'A1']
    """
    trimmed = pc.utf8_trim_whitespace(texts)
    odd = pc.invert(pc.match_substring_regex(trimmed, _PLAIN_TEXT))
    # Blanks first, since tabs and line breaks are invisible characters too; and once more after NFKC,
    # which turns some letters into blanks.
    folded = pc.replace_substring_regex(trimmed.filter(odd), r"[\pZ\t\n\v\f\r]+", " ")
    folded = pc.replace_substring_regex(folded, r"[\p{Cc}\p{Cf}]", "")
    folded = pc.replace_substring_regex(pc.utf8_normalize(folded, form="NFKC"), r"\pZ+", " ")
    return pc.replace_with_mask(trimmed, odd, pc.utf8_trim_whitespace(folded))


def _texts(column: pa.ChunkedArray) -> Iterator[pa.Array]:
    """The values of each chunk, if they are text; those of a dictionary once each."""
    for chunk in column.chunks:
        values = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk
        if _is_text(values.type):
            yield values.cast(pa.large_string())


def _is_plain_ascii(texts: pa.Array) -> bool:
    """Whether the bytes are ASCII letters, digits and signs, with single blanks between them only."""
    _, offsets, letters = texts.buffers()
    if letters is None or not len(texts):
        return True
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    marks = np.frombuffer(letters, np.uint8)[ends[0] : ends[-1]]
    if not len(marks) or marks.min() > _BLANK:
        return not len(marks) or bool(marks.max() <= _LAST_ASCII)
    if marks.min() < _BLANK or marks.max() > _LAST_ASCII:
        return False
    # Two blanks that touch belong to one cell, or the first ends and the second begins a cell: both are odd.
    blank, filled = marks == _BLANK, ends[1:] > ends[:-1]
    first, last = (ends[:-1] - ends[0])[filled], (ends[1:] - ends[0] - 1)[filled]
    return not (blank[first].any() or blank[last].any() or (blank[1:] & blank[:-1]).any())
