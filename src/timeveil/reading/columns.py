"""Columns on their way in: their roles, plain types, decimal commas, and rows with a fault."""

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.civil import DAY, FIRST, LAST, PER_SECOND, is_zone
from timeveil.domain.roles import REST, Derived, Roles
from timeveil.domain.wording import counted, listed
from timeveil.errors import ErrorCode, InputError, RolesError, raising

_PLAIN_EXTENSIONS = ("arrow.json", "arrow.uuid")
_TYPES = pa.types
_BYTES = (_TYPES.is_binary, _TYPES.is_large_binary, _TYPES.is_binary_view, _TYPES.is_fixed_size_binary)
_DIGITS_128, _DIGITS_256 = 38, 76
_UNPUBLISHABLE = (
    *(pa.types.is_nested, pa.types.is_duration, pa.types.is_interval),
    # No decimal has room for the zeros that a negative scale leaves out.
    lambda kind: pa.types.is_decimal(kind) and kind.precision - kind.scale > _DIGITS_256,
)
_OFFSET = re.compile(r"[+-]\d\d(:?\d\d)?")
_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
_VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
_WIDER = {pa.null(): pa.string(), pa.float16(): pa.float32(), pa.time32("s"): pa.time32("ms")}
_ZERO, _NINE = b"09"
_GROUPS = r"[.' \x{a0}\x{202f}]"
_POWER = r"[eE][+-]?\d+"
_NUMBER = rf"^\s*[+-]?(?:(?:\d+|\d{{1,3}}(?:{_GROUPS}\d{{3}})+)?(?:,\d+)?|\d+(?:,\d+)?{_POWER})\s*$"
_GROUPED = rf"\d{_GROUPS}\d{{3}}"
_DECIMALS = rf",(?:\d{{1,2}}|\d{{4,}}|\d+{_POWER})\s*$"


class FaultyRows:
    """How many rows have each kind of fault, and the first of them."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._first: dict[str, int] = {}

    def add(self, fault: str, mask: Any, rows_before: int) -> None:
        """Note the rows of a mask, the first of which has so many rows before it."""
        if mask.any():
            self.counts[fault] += int(np.count_nonzero(mask))
            self._first.setdefault(fault, rows_before + int(np.argmax(mask)) + 1)

    def error(
        self, column: str, *faults: str, what: tuple[str, str], hint: str, code: ErrorCode, **facts: Any
    ) -> InputError:
        """The error for a column with any of these faults; `what` names one row of them, and several."""
        count = sum(self.counts[fault] for fault in faults)
        row = min(self._first[fault] for fault in faults if fault in self._first)
        fault = f"has {counted(count, *what)}, the first in data row {row:,}"
        return column_error(column, fault, hint, code, count=count, row=row, **facts)


def refuse_rows(
    column: str, mask: Any, what: tuple[str, str], hint: str, code: ErrorCode, **facts: Any
) -> None:
    """Refuse the column if any row has a fault; `what` names one such row, and several."""
    rows = FaultyRows()
    rows.add("bad", mask, 0)
    if rows.counts:
        raise rows.error(column, "bad", what=what, hint=hint, code=code, **facts)


def column_error(column: str, fault: str, hint: str, code: ErrorCode, **facts: Any) -> InputError:
    """The error for what is wrong with a column."""
    return InputError(f"column `{column}` {fault}", hint=hint, code=code, facts={"column": column, **facts})


@lru_cache(maxsize=32)  # the snapshots of a stream all have the same types
def refuse_unsupported(
    schema: pa.Schema, *, respondent: str | None, time: str | None, item: str | None = None
) -> None:
    """Refuse types that cannot be published; bytes may be respondents, lists items; time is judged later."""
    for field in schema:
        kind = _innermost_type(field.type)
        if field.name == item and is_list(kind):
            kind = _innermost_type(kind.value_type)
        refused = _UNPUBLISHABLE if field.name == respondent else (*_UNPUBLISHABLE, *_BYTES)
        is_foreign = isinstance(kind, pa.BaseExtensionType)
        if pa.types.is_timestamp(kind) and kind.tz and not (_OFFSET.fullmatch(kind.tz) or is_zone(kind.tz)):
            hint = "convert it to a zone of the IANA database, such as UTC"
            raise InputError(f"column `{field.name}` has times of an unknown time zone", hint=hint)
        if field.name != time and (is_foreign or any(test(kind) for test in refused)):
            message = f"column `{field.name}` has the type {kind}, which cannot be published"
            raise InputError(message, hint="convert it to plain columns of text or numbers, or drop it")


def refuse_invalid_text(name: str, column: pa.ChunkedArray) -> None:
    """Refuse text that is not UTF-8 and codes without a value; files and libraries can call anything text."""
    # Of primitive types, Arrow would only complain about a time of day in a date64.
    if pa.types.is_primitive(column.type):
        return
    fault = "contains bytes that are not UTF-8 text, or codes without a value"
    hint = "write it again with the program that made it"
    with raising(lambda _: column_error(name, fault, hint, "bad-encoding"), on=pa.ArrowException):
        column.validate(full=True)


def is_list(kind: pa.DataType) -> bool:
    """Whether cells are lists."""
    return any(test(kind) for test in _LISTS)


def is_text(kind: pa.DataType) -> bool:
    """Whether cells are text, plain or with a dictionary."""
    kind = value_type(kind)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def value_type(kind: pa.DataType) -> pa.DataType:
    """The type without its dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column without a dictionary, which may hold values that no row has, in the order they came in."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def decoded_fields(schema: pa.Schema, prefix: str = "") -> list[pa.Field]:
    """The fields of a schema without dictionaries and metadata."""
    return [pa.field(prefix + field.name, value_type(field.type)) for field in schema]


def plain(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values in a type that every later step supports, each with one pattern of bits."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    column = without_wrapping(column)
    kind = column.type
    if pa.types.is_dictionary(kind):
        return with_used_values(column) if is_text(kind) else plain(name, decoded(column))
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _within_years(name, column)
    if pa.types.is_decimal(kind) and (kind.bit_width < 128 or kind.scale < 0):
        # Arrow cannot compare decimals of a negative scale.
        digits = max(kind.precision, kind.precision - kind.scale)
        wide = pa.decimal128 if digits <= _DIGITS_128 else pa.decimal256
        return column.cast(wide(digits, max(kind.scale, 0)))
    column = column.cast(_WIDER[kind]) if kind in _WIDER else column
    return plain_floats(column) if pa.types.is_floating(column.type) else column


def plain_floats(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Minus zero as zero, which engines take for equal, and NaN without the number that its bits can hide."""
    column = pc.add(column, pa.scalar(0.0, column.type))
    nan = pc.is_nan(column)
    return pc.if_else(nan, pa.scalar(float("nan"), column.type), column) if pc.any(nan).as_py() else column


def without_wrapping(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column without run ends, and with text and bytes in a layout that pyarrow can compute with."""
    if pa.types.is_run_end_encoded(column.type):
        return without_wrapping(pc.run_end_decode(column))
    kind = column.type
    if pa.types.is_dictionary(kind):
        return column.cast(pa.dictionary(kind.index_type, _VIEWS.get(kind.value_type, kind.value_type)))
    return column.cast(_VIEWS[kind]) if kind in _VIEWS else column


def without_nan(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """NaN becomes null, so that equal means the same in every engine."""
    if not pa.types.is_floating(column.type):
        return column
    nan = pc.is_nan(column)
    return emptied(column, nan) if pc.any(nan).as_py() else column


def emptied(column: pa.ChunkedArray, rows: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with nulls in the rows that are true."""
    # An array of nulls: up to pyarrow 23, `if_else` with a null scalar gives wrong texts for sliced columns.
    return pc.if_else(rows, pa.nulls(len(column), column.type), column)


def _innermost_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values themselves; a foreign library's own type is left as it is."""
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name in _PLAIN_EXTENSIONS:
        return _innermost_type(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _innermost_type(kind.value_type)
    return kind


def _within_years(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dates and times inside the years 1 to 9999, outside which Python and CSV files have none."""
    is_date64 = pa.types.is_date64(column.type)  # milliseconds, which Arrow allows to have a time of day
    if is_date64:
        column = column.cast(pa.timestamp("ms"))
    unit = 1 if pa.types.is_date32(column.type) else DAY * PER_SECOND[column.type.unit]
    ends = pc.min_max(column.cast(pa.int32() if unit == 1 else pa.int64())).as_py()
    low, limit = (edge // DAY * unit for edge in (FIRST, LAST + 1))
    if ends["min"] is not None and not low <= ends["min"] <= ends["max"] < limit:
        fault = "has dates or times outside the years 1 to 9999"
        raise column_error(name, fault, "check for wrong dates", "bad-time")
    return column.cast(pa.date32()) if is_date64 else column


def with_used_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column with a dictionary of exactly the values that occur, or without one if it cannot be used."""
    if column.num_chunks == 0:
        return decoded(column)
    try:
        coded = column.combine_chunks()  # with one dictionary for all chunks
    except pa.ArrowInvalid:  # theirs make none: it would have a null in it, or more values than codes
        return decoded(column)
    codes, dictionary = coded.indices, coded.dictionary
    # Codes must be values one to one; a dictionary with a null or a repeated entry is not that.
    if dictionary.null_count or len(pc.unique(dictionary)) != len(dictionary):
        return decoded(column)
    used = np.zeros(len(dictionary), dtype=bool)
    used[codes.drop_null().to_numpy(zero_copy_only=False)] = True
    if not used.all():
        positions = pa.array(np.cumsum(used) - 1, type=pa.int32())
        coded = pa.DictionaryArray.from_arrays(positions.take(codes), dictionary.filter(pa.array(used)))
    return pa.chunked_array([coded])


def taken(column: pa.ChunkedArray, rows: Any) -> pa.ChunkedArray:
    """The column in another order of its rows, not copied if it is the same."""
    return column if np.array_equal(rows, np.arange(len(column))) else column.take(pa.array(rows))


def text_bytes(texts: pa.Array) -> tuple[Any, Any]:
    """The bytes of all texts, and where each text begins and ends in them."""
    _, offsets, letters = texts.buffers()
    if letters is None or not len(texts):
        return np.zeros(0, np.uint8), np.zeros(len(texts) + 1, np.int64)
    width = np.int64 if texts.type in (pa.large_string(), pa.large_binary()) else np.int32
    ends = np.frombuffer(offsets, width)[texts.offset : texts.offset + len(texts) + 1]
    return np.frombuffer(letters, np.uint8)[ends[0] : ends[-1]], ends - ends[0]


def whole_numbers(texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """The numbers from 0 on that all texts of a column are, each written in the one usual way."""
    if not pa.types.is_string(texts.type) or texts.null_count or not len(texts):
        return None
    letters = [text_bytes(chunk)[0] for chunk in texts.chunks]
    if any(part.min(initial=_NINE) < _ZERO or part.max(initial=_ZERO) > _NINE for part in letters):
        return None
    with suppress(pa.ArrowInvalid):
        numbers = texts.cast(pa.int64())
        longer = (pc.greater_equal(numbers, 10**n) for n in range(1, len(str(pc.max(numbers).as_py()))))
        # All texts together are no longer than their numbers: 007 is not 7.
        if sum(map(len, letters)) == len(texts) + sum(pc.sum(rows).as_py() for rows in longer):
            return numbers
    return None


class DecimalCommas:
    """Decimal commas: `12,5` and `1.234,50` in a column of text become `12.5` and `1234.50`, and stay text.

    The whole column decides: every cell must be such a number. In a file that is cut at semicolons one comma
    is enough. Elsewhere a comma may also group thousands, so one must have other than three digits after it.
    Where a column has decimal commas, points group thousands in those that are numbers by their role. If the
    user says `decimal="comma"`, each cell decides for itself.
    """

    def __init__(self, roles: Roles, *, stated: bool, surely: bool | None) -> None:
        self._stated = stated
        self._mark = "comma" if surely else "decimals"
        self._numbers = (*roles.series, *([] if roles.value is None else [roles.value]))
        categories = [name for name in (*roles.quasi, *roles.sensitive, *roles.keep) if isinstance(name, str)]
        self._seen: dict[str, set[str]] = {name: set() for name in (*self._numbers, *categories)}

    def push(self, name: str, column: pa.ChunkedArray) -> None:
        if column.null_count == len(column) or name not in self._seen:
            return
        seen = self._seen[name]
        if not is_text(column.type):
            seen.add("other")
        if self._stated or "other" in seen:
            return
        texts = decoded(column)
        if not pc.all(pc.match_substring_regex(texts, _NUMBER)).as_py():
            seen.add("other")
        for mark, shape in {"comma": ",", "grouped": _GROUPED, "decimals": _DECIMALS}.items():
            if pc.any(pc.match_substring_regex(texts, shape)).as_py():
                seen.add(mark)

    @property
    def columns(self) -> list[str]:
        """The columns in which a comma is a decimal comma, once all rows are read."""
        numeric = {name: seen for name, seen in self._seen.items() if "other" not in seen}
        if self._stated:
            return list(numeric)
        commas = [name for name, seen in numeric.items() if self._mark in seen]
        grouped = [name for name in self._numbers if "grouped" in numeric.get(name, ())]
        return [*commas, *(name for name in grouped if commas and name not in commas)]


def with_points(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers with a decimal point instead of a comma, and without marks between thousands."""
    column = decoded(column)
    points = pc.replace_substring(pc.replace_substring_regex(column, _GROUPS, ""), ",", ".")
    return pc.if_else(pc.match_substring_regex(column, _NUMBER), points, column)


@lru_cache(maxsize=32)  # the snapshots of a stream all have the same columns
def fit(
    roles: Roles,
    names: Sequence[str],
    needs: Sequence[str] = ("respondent", "time"),
    sheet: str | None = None,
) -> Roles:
    """Roles that fit a table: derived ones by name, dropped ones listed; `sheet` is one that nobody named."""
    if "" in roles.columns:
        message = "a role refers to a column without a name"
        raise RolesError(message, hint="name that column first", code="empty-name")
    is_derived = any(isinstance(quasi, Derived) for quasi in roles.quasi)
    needed = [*([] if roles.series or roles.item else needs), *(["time"] if is_derived else [])]
    if missing := [role for role in dict.fromkeys(needed) if not getattr(roles, role)]:
        message = f"no column has the role {listed(missing)}"
        raise RolesError(message, hint=f"name the column with {{{missing[0]}}}", code="role-missing")
    _refuse_missing_columns(roles, names, sheet)
    used = set(roles.columns)
    if repeated := [name for name, count in Counter(names).items() if count > 1 and name in used]:
        message = f"the table has more than one column named {listed(repeated)}"
        raise RolesError(message, hint="give each of them a name of its own", code="column-twice")
    unused = tuple(dict.fromkeys(name for name in names if name not in used))
    if roles.drop != REST and (without_role := [name for name in unused if name not in roles.drop]):
        several = f"{len(without_role)} columns have no role: {listed(without_role)}"
        message = several if len(without_role) > 1 else f"column {listed(without_role)} has no role"
        hint = 'give each a role, or leave columns out with {drop} or {drop="rest"}'
        raise RolesError(message, hint=hint, code="column-without-role", facts={"columns": without_role})
    _refuse_clash(roles, unused)
    return replace(roles, quasi=roles.quasi_columns, drop=unused)


def _refuse_missing_columns(roles: Roles, names: Sequence[str], sheet: str | None) -> None:
    dropped = () if roles.drop == REST else roles.drop
    requested = dict.fromkeys((*roles.columns, *dropped))
    missing = [column for column in requested if column not in names]
    if not missing:
        return
    near = list(dict.fromkeys(n for name in missing for n in difflib.get_close_matches(name, names, 1)))
    message = f"the table has no column {listed(missing)}"
    hint = f"did you mean {listed(near)}?" if near else f"the table has {listed(names)}"
    if not names:
        hint = "the table has no columns at all"
    elif len(missing) == len(requested):
        # Without a header the first line is a person's record: show only names that differ in case.
        folded = {name.casefold() for name in missing}
        near = [name for name in near if name.casefold() in folded]
        hint = f"did you mean {listed(near)}?"
        if not near:
            message = f"the table has {counted(len(names), 'column')}, and none is called {listed(missing)}"
            hint = "check that its first line contains the column names: is the header missing?"
    if sheet and not near:
        hint = f"name the sheet with {{sheet}}: `{sheet}` was read, the first of several"
    raise RolesError(message, hint=hint, code="column-missing", facts={"missing": missing, "near": near})


def _refuse_clash(roles: Roles, dropped: tuple[str, ...]) -> None:
    """The published names of the time and of derived columns must be free."""
    if roles.time is None:
        return
    derived = Counter(quasi.column(str(roles.time)) for quasi in roles.quasi if isinstance(quasi, Derived))
    derived.update(roles.durations.keys())
    spans = {f"{roles.time}_{part}" for part in ("start", "end", "step")}
    clashes = [name for name, count in derived.items() if count > 1 or name in {*roles.columns, *dropped}]
    clashes += sorted(spans & {*roles.columns, *derived})
    if clashes:
        message = f"the release needs the name {listed(clashes)} for a column of its own"
        raise RolesError(message, hint="rename that column before reading", code="column-clash")
