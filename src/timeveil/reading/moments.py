"""What the time column holds: dates, clock readings, instants, or whole numbers.

| in the column | on the axis | Arrow type |
|---|---|---|
| dates | civil | date32 |
| timestamps without a zone, or a mix of them and dates | civil | timestamp[ms] |
| timestamps with a zone or offset, with `zone` given | zoned | timestamp[ms, zone] |
| whole numbers, with `unit` given or slots themselves | relative | int64 |

Text is parsed in `timeveil.reading.texts`. Finer than a millisecond is cut off, towards the past.
"""

from __future__ import annotations

import difflib
import zoneinfo
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.relation import TimeAxis
from timeveil.domain.wording import counted
from timeveil.errors import InputError, ParameterError, instead_of
from timeveil.reading.columns import without_views
from timeveil.reading.texts import FIRST_MS, LIMIT_MS, Kind, is_text, parse

SLICE_ROWS = 1 << 20
DAY_MS = 86_400_000
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
UNIT_SIZE = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800, "month": 1, "year": 12}

Time = Literal["date", "naive", "aware", "number"]


class Moments:
    """Takes the time column in order and notes what it holds; nothing is said before the last row."""

    def __init__(
        self, column: str, zone: str | None, unit: str | None, *, slot_numbers: bool = False
    ) -> None:
        self.column = column
        self._zone = None if zone is None else known_zone(zone)
        self._unit = None if unit is None else known_unit(unit)
        self._slot_numbers = slot_numbers
        self._counts: dict[Kind, int] = dict.fromkeys(("date", "naive", "aware", "number", "bad"), 0)
        self._firsts: dict[Kind, int] = {}
        self.nulls = 0
        self.first_null = 0
        self.settled: TimeAxis | None = None

    def push(self, column: pa.ChunkedArray, rows_before: int) -> pa.ChunkedArray:
        """The next values: typed, or as whole numbers (milliseconds) while text leaves the type open."""
        column = _unwrapped(column)
        row = rows_before
        done = []
        text = is_text(column.type)
        if not text and self.settled is None:
            self.settled = self._settle(_kind_of(self.column, column.type), column.type)
        for chunk in _slices(column) if text else column.chunks:
            values = self._text(chunk, row) if text else self._typed(chunk, row)
            self._note_nulls(values, row)
            row += len(chunk)
            done.append(values)
        kind = pa.int64() if text or self.settled is None else self.settled.type
        return pa.chunked_array(done, type=kind)

    def axis(self) -> TimeAxis:
        """What it all was."""
        counts = self._counts
        self._refuse_bad()
        naive = counts["date"] + counts["naive"]
        if counts["aware"] and naive:
            raise InputError(
                f"column `{self.column}` mixes {counted(counts['aware'], 'time')} with an offset "
                f"and {naive:,} without",
                hint="write all of them with an offset, or none",
                code="mixed-zones",
            )
        return self.settled if self.settled is not None else self._settle(self._kind())

    def _refuse_bad(self) -> None:
        """Whole numbers are a time only where all are."""
        bad: list[Kind] = ["bad"]
        if any(self._counts[kind] for kind in ("date", "naive", "aware")):
            bad.append("number")
        count = sum(self._counts[kind] for kind in bad)
        if count:
            row = min(self._firsts[kind] for kind in bad if kind in self._firsts)
            which = "that is" if count == 1 else "that are"
            raise InputError(
                f"column `{self.column}` has {counted(count, 'value')} {which} not a time, "
                f"the first in data row {row:,}",
                hint="write times like 2024-03-31, 2024-03-31 14:05 or 2024-03-31T14:05:00+02:00 "
                "(years 1 to 9999), or as whole numbers with a unit",
                code="bad-time",
                facts={"column": self.column, "count": count, "row": row},
            )

    def complete(self, draft: pa.ChunkedArray, axis: TimeAxis) -> pa.ChunkedArray:
        """Values that `push` gave, in the final type of the axis."""
        if draft.type == axis.type:
            return draft
        if pa.types.is_date32(axis.type):
            return pc.divide(draft, DAY_MS).cast(pa.int32()).cast(pa.date32())  # whole days only
        return draft.cast(axis.type)

    def _kind(self) -> Time:
        for kind in ("aware", "naive", "date", "number"):
            if self._counts[kind]:
                return kind
        return "aware" if self._zone else "number" if self._unit else "date"

    def _settle(self, kind: Time, arrow: pa.DataType | None = None) -> TimeAxis:
        if kind == "number":
            return self._relative()
        if self._unit is not None:
            raise ParameterError(
                f"column `{self.column}` holds dates or timestamps, and a unit was given",
                hint="leave `unit` out; it is for whole numbers",
                code="bad-parameter",
            )
        if kind == "aware":
            if self._zone is None:
                stated = "" if arrow is None else f" ({arrow.tz})"
                raise InputError(
                    f"column `{self.column}` holds times with an offset{stated}, and no zone was given",
                    hint='say on which clocks to read them: zone="Europe/Berlin" (--zone Europe/Berlin)',
                    code="zone-missing",
                )
            return TimeAxis("zoned", pa.timestamp("ms", self._zone), zone=self._zone)
        if self._zone is not None:
            raise ParameterError(
                f"column `{self.column}` holds times without an offset, and a zone was given",
                hint="leave `zone` out: such times are taken as they are",
                code="bad-parameter",
            )
        return TimeAxis("civil", pa.date32() if kind == "date" else pa.timestamp("ms"))

    def _relative(self) -> TimeAxis:
        if self._unit is None and not self._slot_numbers:
            raise InputError(
                f"column `{self.column}` holds whole numbers, and no unit was given",
                hint=f'say what they count: unit="minute" (one of {", ".join(UNIT_SIZE)})',
                code="unit-missing",
            )
        if self._zone is not None:
            raise ParameterError(
                f"column `{self.column}` holds whole numbers, and a zone was given",
                hint="leave `zone` out; offsets from a start have none",
                code="bad-parameter",
            )
        return TimeAxis("relative", pa.int64(), unit=self._unit)

    def _text(self, chunk: pa.Array, row: int) -> pa.Array:
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
            return self._bounded(chunk, pa.int32(), FIRST_MS // DAY_MS, LIMIT_MS // DAY_MS, row)
        if pa.types.is_date64(kind):
            chunk = self._bounded(chunk, pa.int64(), FIRST_MS, LIMIT_MS, row)
            return _floored(chunk, DAY_MS).cast(pa.int32()).cast(pa.date32())
        if pa.types.is_timestamp(kind):
            return self._timestamps(chunk, row)
        return self._numbers(chunk, row)

    def _timestamps(self, chunk: pa.Array, row: int) -> pa.Array:
        unit = chunk.type.unit
        low, limit = _bounds(self._zone if chunk.type.tz else None)
        if unit != "ns":  # nanoseconds in 64 bits reach from 1677 to 2262
            per = PER_SECOND[unit]
            chunk = self._bounded(chunk, pa.int64(), low * per // 1000, limit * per // 1000, row)
        target = pa.timestamp("ms", self._zone if chunk.type.tz else None)
        if unit == "ms":
            return chunk.cast(target)
        if unit == "s":
            return pc.multiply(chunk.view(pa.int64()), 1000).cast(target)
        return _floored(chunk, PER_SECOND[unit] // 1000).cast(target)

    def _bounded(self, chunk: pa.Array, raw: pa.DataType, low: int, limit: int, row: int) -> pa.Array:
        """The chunk itself if every value lies in [low, limit), else with nulls there, and noted."""
        ends = pc.min_max(chunk.view(raw)).as_py()
        if ends["min"] is None or (low <= ends["min"] and ends["max"] < limit):
            return chunk
        values = chunk.view(raw)
        out = pc.or_(pc.less(values, pa.scalar(low, raw)), pc.greater_equal(values, pa.scalar(limit, raw)))
        out = pc.fill_null(out, False)
        self._note("bad", out.to_numpy(zero_copy_only=False), row)
        return pc.if_else(out, pa.scalar(None, chunk.type), chunk)

    def _numbers(self, chunk: pa.Array, row: int) -> pa.Array:
        limit = self._limit
        if pa.types.is_floating(chunk.type):
            return self._whole(chunk.cast(pa.float64()), limit, row)
        if pa.types.is_uint64(chunk.type):
            return self._bounded(chunk, pa.uint64(), 0, limit, row).cast(pa.int64())
        return self._bounded(chunk.cast(pa.int64()), pa.int64(), -limit, limit, row)

    def _whole(self, chunk: pa.Array, limit: int, row: int) -> pa.Array:
        values = chunk.to_numpy(zero_copy_only=False)
        missing = np.isnan(values)
        with np.errstate(invalid="ignore"):
            bad = ~missing & ((np.floor(values) != values) | (np.abs(values) > min(limit, 2**53)))
        self._note("bad", bad, row)
        whole = np.where(missing | bad, 0, values).astype(np.int64)
        return pa.array(whole, mask=missing | bad)

    @property
    def _limit(self) -> int:
        return int(2**59 // UNIT_SIZE[self._unit or "second"])

    def _note(self, kind: Kind, mask: Any, row: int) -> None:
        if not mask.any():
            return
        self._counts[kind] += int(np.count_nonzero(mask))
        self._firsts.setdefault(kind, row + int(np.argmax(mask)) + 1)

    def _note_nulls(self, values: pa.Array, row: int) -> None:
        if values.null_count == 0:
            return
        if self.nulls == 0:
            self.first_null = row + position_of_first(pc.is_null(values)) + 1
        self.nulls += values.null_count


def known_zone(zone: str) -> str:
    """The zone, if the time zone database has it."""
    causes = (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError)
    instead_of(causes, lambda _: _no_zone(zone), lambda: zoneinfo.ZoneInfo(zone))
    return zone


def _no_zone(zone: str) -> ParameterError:
    near = difflib.get_close_matches(zone, sorted(zoneinfo.available_timezones()), 3)
    return ParameterError(
        f"`{zone}` is not a time zone of the IANA database",
        hint=f"did you mean {', '.join(near)}?" if near else "use a name like Europe/Berlin or UTC",
        code="bad-parameter",
    )


def known_unit(unit: str) -> str:
    """The unit, if it is one."""
    if unit not in UNIT_SIZE:
        raise ParameterError(
            f"`{unit}` is not a unit of relative time",
            hint=f"use one of {', '.join(UNIT_SIZE)}",
            code="bad-parameter",
        )
    return unit


def position_of_first(mask: pa.Array | pa.ChunkedArray) -> int:
    """Where the first true value stands."""
    return int(pc.index(mask, value=True).as_py())


def _bounds(zone: str | None) -> tuple[int, int]:
    """The instants, in milliseconds, at which the years 1 to 9999 begin and end on the zone's clocks."""
    if zone is None:
        return FIRST_MS, LIMIT_MS
    clocks = zoneinfo.ZoneInfo(zone)
    begin = clocks.utcoffset(datetime(1, 1, 2))  # noqa: DTZ001
    end = clocks.utcoffset(datetime(9999, 12, 30))  # noqa: DTZ001
    shift = [0 if offset is None else int(offset.total_seconds()) * 1000 for offset in (begin, end)]
    return FIRST_MS - shift[0], LIMIT_MS - shift[1]


def _floored(chunk: pa.Array, by: int) -> pa.Array:
    whole = chunk.view(pa.int64())
    if whole.null_count == 0:
        return pa.array(whole.to_numpy() // by)
    missing = pc.is_null(whole).to_numpy(zero_copy_only=False)
    return pa.array(pc.fill_null(whole, 0).to_numpy(zero_copy_only=False) // by, mask=missing)


def _outside(values: pa.Array, low: int, limit: int) -> Any:
    known = pc.fill_null(values, low).to_numpy(zero_copy_only=False)
    return (known < low) | (known >= limit)


def _slices(column: pa.ChunkedArray) -> Iterator[pa.Array]:
    """Chunks of a bounded size, since parsing text takes many times its size."""
    for chunk in column.chunks:
        for start in range(0, len(chunk), SLICE_ROWS):
            yield chunk.slice(start, SLICE_ROWS)


def _unwrapped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    column = without_views(column)
    if pa.types.is_null(column.type):
        return column.cast(pa.string())
    if pa.types.is_dictionary(column.type) and not is_text(column.type):
        return pa.chunked_array([c.dictionary_decode() for c in column.chunks], type=column.type.value_type)
    if pa.types.is_run_end_encoded(column.type):
        chunks = [pc.run_end_decode(c) for c in column.chunks]
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
        hint="give dates, timestamps, text like 2024-03-31 14:05, or whole numbers with a unit",
        code="unsupported-input",
    )
