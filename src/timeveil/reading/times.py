"""What the time column contains: dates, clock readings, instants, or whole numbers.

| in the column | on the axis | Arrow type |
|---|---|---|
| dates | civil | date32 |
| timestamps without a zone, or a mix of them and dates | civil | timestamp[ms] |
| timestamps with a zone or offset, with `zone` set | zoned | timestamp[ms, zone] |
| whole numbers, with `unit` set or as slot numbers | relative | int64 |

Anything finer than a millisecond is cut off, towards the past.
"""

from __future__ import annotations

import difflib
import zoneinfo
from datetime import datetime
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.relation import TimeAxis
from timeveil.domain.wording import counted
from timeveil.errors import InputError, ParameterError, raising
from timeveil.reading.columns import value_type, without_views
from timeveil.reading.time_texts import Kind, parse

FIRST_MS = -62_135_596_800_000  # 0001-01-01
LIMIT_MS = 253_402_300_800_000  # 10000-01-01
_SLICE_ROWS = 1 << 20  # parsing text takes many times its size
_DAY_MS = 86_400_000
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_UNIT_SIZE = {
    "second": 1,
    "minute": 60,
    "hour": 3_600,
    "day": 86_400,
    "week": 604_800,
    "month": 1,
    "year": 12,
}

Time = Literal["date", "naive", "aware", "number"]


class TimeColumn:
    """Takes the time column in order and notes what it contains; errors are raised after the last row."""

    def __init__(
        self, column: str, zone: str | None, unit: str | None, *, slot_numbers: bool = False
    ) -> None:
        self.column = column
        self._zone = None if zone is None else _checked_zone(zone)
        self._unit = None if unit is None else _checked_unit(unit)
        self._slot_numbers = slot_numbers
        self._counts: dict[Kind, int] = dict.fromkeys(("date", "naive", "aware", "number", "bad"), 0)
        self._first_rows: dict[Kind, int] = {}
        self.nulls = 0
        self.first_null = 0
        self.settled: TimeAxis | None = None
        """The axis, once the column's type decides it; text leaves it open."""

    def push(self, column: pa.ChunkedArray, rows_before: int) -> pa.ChunkedArray:
        """The next values, typed, or in milliseconds (or numbers) while text leaves the type open."""
        column = _unwrapped(column)
        is_text = _is_text(column.type)
        if not is_text and self.settled is None:
            # The type settles a typed column; text stays open until the last row, when its kinds are known.
            self.settled = self._settle(_kind_of(self.column, column.type), column.type)
        chunks, row = [], rows_before
        for chunk in column.chunks:
            for start in range(0, len(chunk), _SLICE_ROWS if is_text else max(len(chunk), 1)):
                piece = chunk.slice(start, _SLICE_ROWS) if is_text else chunk
                values = self._parsed(piece, row) if is_text else self._typed(piece, row)
                if values.null_count and not self.nulls:
                    self.first_null = row + int(pc.index(pc.is_null(values), value=True).as_py()) + 1
                self.nulls += values.null_count
                row += len(piece)
                chunks.append(values)
        return pa.chunked_array(chunks, type=pa.int64() if self.settled is None else self.settled.type)

    def axis(self) -> TimeAxis:
        """The time axis, after the last row."""
        self._refuse_bad()
        without_offset = self._counts["date"] + self._counts["naive"]
        if self._counts["aware"] and without_offset:
            raise InputError(
                f"column `{self.column}` mixes {counted(self._counts['aware'], 'time')} with an offset "
                f"and {without_offset:,} without",
                hint="write all of them with an offset, or none",
                code="mixed-zones",
            )
        if self.settled is not None:
            return self.settled
        kinds: tuple[Time, ...] = ("aware", "naive", "date", "number")
        empty: Time = "aware" if self._zone else "number" if self._unit else "date"
        return self._settle(next((kind for kind in kinds if self._counts[kind]), empty))

    def complete(self, pushed: pa.ChunkedArray, axis: TimeAxis) -> pa.ChunkedArray:
        """Values that `push` returned, in the final type of the axis."""
        if pushed.type == axis.type:
            return pushed
        if pa.types.is_date32(axis.type):
            return pc.divide(pushed, _DAY_MS).cast(pa.int32()).cast(pa.date32())  # whole days only
        return pushed.cast(axis.type)

    def _refuse_bad(self) -> None:
        """Whole numbers are times only where all values are."""
        bad: list[Kind] = ["bad"]
        if any(self._counts[kind] for kind in ("date", "naive", "aware")):
            bad.append("number")
        count = sum(self._counts[kind] for kind in bad)
        if count:
            row = min(self._first_rows[kind] for kind in bad if kind in self._first_rows)
            verb = "is" if count == 1 else "are"
            raise InputError(
                f"column `{self.column}` has {counted(count, 'value')} that {verb} not a time, "
                f"the first in data row {row:,}",
                hint="write times like 2024-03-31, 2024-03-31 14:05 or 2024-03-31T14:05:00+02:00 "
                "(years 1 to 9999), or as whole numbers with {unit}",
                code="bad-time",
                facts={"column": self.column, "count": count, "row": row},
            )

    def _settle(self, kind: Time, arrow: pa.DataType | None = None) -> TimeAxis:
        if kind != "number" and self._unit is not None:
            raise self._not_needed("unit", "dates or timestamps", "it is for whole numbers")
        if kind in ("date", "naive"):
            if self._zone is not None:
                raise self._not_needed("zone", "times without an offset", "such times are read as they are")
            return TimeAxis("civil", pa.date32() if kind == "date" else pa.timestamp("ms"))
        if kind == "aware":
            if self._zone is None:
                stated = "" if arrow is None else f" ({arrow.tz})"
                raise InputError(
                    f"column `{self.column}` has times with an offset{stated}, but no zone is set",
                    hint='name the clocks to read them on with {zone="Europe/Berlin"}',
                    code="zone-missing",
                )
            return TimeAxis("zoned", pa.timestamp("ms", self._zone), zone=self._zone)
        if self._unit is None and not self._slot_numbers:
            raise InputError(
                f"column `{self.column}` has whole numbers, but no unit is set",
                hint=f'say what they count with {{unit="minute"}}; the units are {", ".join(_UNIT_SIZE)}',
                code="unit-missing",
            )
        if self._zone is not None:
            raise self._not_needed("zone", "whole numbers", "numbers counted from a start have none")
        return TimeAxis("relative", pa.int64(), unit=self._unit)

    def _not_needed(self, parameter: str, content: str, reason: str) -> ParameterError:
        return ParameterError(
            f"column `{self.column}` has {content}, but a {parameter} is set",
            hint=f"remove {{{parameter}}}: {reason}",
        )

    def _parsed(self, chunk: pa.Array, row: int) -> pa.Array:
        values, kinds = parse(chunk)
        for kind, mask in kinds.items():
            self._note(kind, mask, row)
        if "aware" in kinds:
            self._note("bad", kinds["aware"] & _outside(values, *_bounds(self._zone)), row)
        if "number" in kinds:
            self._note("bad", kinds["number"] & _outside(values, -self._limit, self._limit), row)
        return values

    def _typed(self, chunk: pa.Array, row: int) -> pa.Array:
        kind = chunk.type
        if pa.types.is_date32(kind):
            return self._bounded(chunk, pa.int32(), FIRST_MS // _DAY_MS, LIMIT_MS // _DAY_MS, row)
        if pa.types.is_date64(kind):
            chunk = self._bounded(chunk, pa.int64(), FIRST_MS, LIMIT_MS, row)
            return _floored(chunk, _DAY_MS).cast(pa.int32()).cast(pa.date32())
        if pa.types.is_timestamp(kind):
            return self._timestamps(chunk, row)
        if pa.types.is_floating(kind):
            return self._whole_floats(chunk.cast(pa.float64()), row)
        if pa.types.is_uint64(kind):
            return self._bounded(chunk, pa.uint64(), 0, self._limit, row).cast(pa.int64())
        return self._bounded(chunk.cast(pa.int64()), pa.int64(), -self._limit, self._limit, row)

    def _timestamps(self, chunk: pa.Array, row: int) -> pa.Array:
        unit, zone = chunk.type.unit, self._zone if chunk.type.tz else None
        per_second, target = _PER_SECOND[unit], pa.timestamp("ms", zone)
        if unit != "ns":  # nanoseconds in 64 bits reach from 1677 to 2262
            low, limit = (bound * per_second // 1000 for bound in _bounds(zone))
            chunk = self._bounded(chunk, pa.int64(), low, limit, row)
        if unit == "ms":
            return chunk.cast(target)
        if unit == "s":
            return pc.multiply(chunk.view(pa.int64()), 1000).cast(target)
        return _floored(chunk, per_second // 1000).cast(target)

    def _bounded(self, chunk: pa.Array, raw: pa.DataType, low: int, limit: int, row: int) -> pa.Array:
        """The chunk with nulls for values outside [low, limit), which are noted."""
        values = chunk.view(raw)
        ends = pc.min_max(values).as_py()
        if ends["min"] is None or (low <= ends["min"] and ends["max"] < limit):
            return chunk
        out = pc.or_(pc.less(values, pa.scalar(low, raw)), pc.greater_equal(values, pa.scalar(limit, raw)))
        out = pc.fill_null(out, False)
        self._note("bad", out.to_numpy(zero_copy_only=False), row)
        return pc.if_else(out, pa.scalar(None, chunk.type), chunk)

    def _whole_floats(self, chunk: pa.Array, row: int) -> pa.Array:
        values = chunk.to_numpy(zero_copy_only=False)
        missing = np.isnan(values)
        with np.errstate(invalid="ignore"):
            # Above 2**53 doubles skip whole numbers, so the number meant is not certain.
            bad = ~missing & ((np.floor(values) != values) | (np.abs(values) > min(self._limit, 2**53)))
        self._note("bad", bad, row)
        return pa.array(np.where(missing | bad, 0, values).astype(np.int64), mask=missing | bad)

    @property
    def _limit(self) -> int:
        # Numbers times their unit stay far inside 64 bits, whatever is added to them later.
        return int(2**59 // _UNIT_SIZE[self._unit or "second"])

    def _note(self, kind: Kind, mask: Any, row: int) -> None:
        if mask.any():
            self._counts[kind] += int(np.count_nonzero(mask))
            self._first_rows.setdefault(kind, row + int(np.argmax(mask)) + 1)


def _checked_zone(zone: str) -> str:
    def unknown(_: Exception) -> ParameterError:
        near = difflib.get_close_matches(zone, sorted(zoneinfo.available_timezones()), 3)
        return ParameterError(
            f"`{zone}` is not a time zone of the IANA database",
            hint=f"did you mean {', '.join(near)}?" if near else "use a name like Europe/Berlin or UTC",
        )

    with raising(unknown, on=(zoneinfo.ZoneInfoNotFoundError, ValueError, OSError)):
        zoneinfo.ZoneInfo(zone)
    return zone


def _checked_unit(unit: str) -> str:
    if unit not in _UNIT_SIZE:
        raise ParameterError(
            f"`{unit}` is not a unit of relative time", hint=f"use one of {', '.join(_UNIT_SIZE)}"
        )
    return unit


def _bounds(zone: str | None) -> tuple[int, int]:
    """The instants, in milliseconds, at which the years 1 to 9999 begin and end on the zone's clocks."""
    if zone is None:
        return FIRST_MS, LIMIT_MS
    clocks = zoneinfo.ZoneInfo(zone)
    # A day inside the range, so that subtracting the offset stays in it.
    begin = clocks.utcoffset(datetime(1, 1, 2))  # noqa: DTZ001 (a clock reading)
    end = clocks.utcoffset(datetime(9999, 12, 30))  # noqa: DTZ001 (a clock reading)
    shift = [0 if offset is None else int(offset.total_seconds()) * 1000 for offset in (begin, end)]
    return FIRST_MS - shift[0], LIMIT_MS - shift[1]


def _floored(chunk: pa.Array, by: int) -> pa.Array:
    whole = chunk.view(pa.int64())
    missing = pc.is_null(whole).to_numpy(zero_copy_only=False)
    # NumPy's division rounds down, Arrow's towards zero: times before 1970 would move forward.
    return pa.array(pc.fill_null(whole, 0).to_numpy(zero_copy_only=False) // by, mask=missing)


def _outside(values: pa.Array, low: int, limit: int) -> Any:
    present = pc.fill_null(values, low).to_numpy(zero_copy_only=False)
    return (present < low) | (present >= limit)


def _is_text(kind: pa.DataType) -> bool:
    kind = value_type(kind)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _unwrapped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column without views, run ends, and dictionaries of anything but text."""
    column = without_views(column)
    if pa.types.is_null(column.type):
        return column.cast(pa.string())
    if pa.types.is_dictionary(column.type) and not _is_text(column.type):
        return pa.chunked_array([c.dictionary_decode() for c in column.chunks], type=column.type.value_type)
    if pa.types.is_run_end_encoded(column.type):
        chunks = [pc.run_end_decode(chunk) for chunk in column.chunks]
        return _unwrapped(pa.chunked_array(chunks, type=column.type.value_type))
    return column


def _kind_of(column: str, kind: pa.DataType) -> Time:
    if pa.types.is_date(kind):
        return "date"
    if pa.types.is_timestamp(kind):
        return "aware" if kind.tz else "naive"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "number"
    raise InputError(
        f"column `{column}` has the type {kind}, which is not a time",
        hint="use dates, timestamps, text like 2024-03-31 14:05, or whole numbers with {unit}",
    )
