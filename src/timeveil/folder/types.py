"""The column types of a written release, and their names in `release.json`.

A written table knows fewer types than memory does: text is text however it was laid out. Parquet and CSV
files of the same release open with the same types.
"""

from __future__ import annotations

import re
import zoneinfo

import pyarrow as pa

from timeveil.errors import BundleError

_PLAIN = (
    "bool",
    "int8 int16 int32 int64 uint8 uint16 uint32 uint64",
    "halffloat float double string",
    "date32[day] time32[ms] time64[us] time64[ns]",
    "timestamp[ms] timestamp[us] timestamp[ns]",
)
_BY_NAME = {name: pa.type_for_alias(name) for line in _PLAIN for name in line.split()}
_ZONED = re.compile(r"timestamp\[(ms|us|ns), tz=([^\]]+)\]")
_OFFSET = re.compile(r"[+-]\d{2}:?\d{2}", re.ASCII)
_DECIMAL = re.compile(r"decimal(128|256)\((\d+), (-?\d+)\)")
_LIST = re.compile(r"list<(u?int(?:8|16|32|64)|string)>")


def written_type(kind: pa.DataType) -> pa.DataType:
    """The type a column of this type has once written and opened.

    >>> written_type(pa.dictionary(pa.int8(), pa.large_string()))
    DataType(string)
    """
    if pa.types.is_dictionary(kind):
        return written_type(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(written_type(kind.value_type))
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind) and kind.unit == "s":
        return pa.timestamp("ms", kind.tz)
    coarse = {pa.date64(): pa.date32(), pa.time32("s"): pa.time32("ms")}
    return coarse.get(kind, kind)


def is_writable(kind: pa.DataType) -> bool:
    """Whether the type has a name in `release.json`.

    >>> is_writable(pa.int64()), is_writable(pa.list_(pa.int64())), is_writable(pa.list_(pa.float64()))
    (True, True, False)
    """
    name = type_name(kind)
    if zoned := _ZONED.fullmatch(name):
        return _is_zone(zoned[2])
    return name in _BY_NAME or any(form.fullmatch(name) for form in (_DECIMAL, _LIST))


def type_name(kind: pa.DataType) -> str:
    """What `release.json` calls a written type.

    >>> type_name(pa.float64()), type_name(pa.list_(pa.int16()))
    ('double', 'list<int16>')
    """
    return f"list<{kind.value_type}>" if pa.types.is_list(kind) else str(kind)


def type_named(name: str) -> pa.DataType:
    """The type that `release.json` calls so.

    >>> type_named("timestamp[ms, tz=Europe/Berlin]")
    TimestampType(timestamp[ms, tz=Europe/Berlin])
    """
    if name in _BY_NAME:
        return _BY_NAME[name]
    if listed := _LIST.fullmatch(name):
        return pa.list_(_BY_NAME[listed[1]])
    if (zoned := _ZONED.fullmatch(name)) and _is_zone(zoned[2]):
        return pa.timestamp(zoned[1], zoned[2])
    if decimal := _DECIMAL.fullmatch(name):
        make = pa.decimal128 if decimal[1] == "128" else pa.decimal256
        return make(int(decimal[2]), int(decimal[3]))
    raise BundleError(
        "the release states a column type this version does not know",
        hint="open it with the version of timeveil named in its release.json, or a newer one",
        code="folder-damaged",
    )


def _is_zone(name: str) -> bool:
    """Whether a zone is one of the database, or an offset; others are paths to whatever file they name."""
    if _OFFSET.fullmatch(name):
        return True
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
