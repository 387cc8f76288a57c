"""What the time column contains: dates, clock readings, instants, or whole numbers.

| in the column | on the axis | Arrow type |
|---|---|---|
| dates | civil | date32 |
| timestamps without a zone, or a mix of them and dates | civil | timestamp[ms] |
| timestamps with a zone or offset, with `zone` set | zoned | timestamp[ms, zone] |
| whole numbers, with `unit` set or as slot numbers | relative | int64 |

Anything finer than a millisecond is cut off, towards the past. Text is written as whole numbers or in one of
the ways of `dates`. Whole numbers without a unit are dates if all of them are, written YYYYMMDD.
"""

from contextlib import suppress
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.axis import offsets
from timeveil.calendar.civil import FIRST, LAST, PER_SECOND, UNITS, as_ints, check_zone
from timeveil.domain.relation import TimeAxis
from timeveil.domain.wording import counted
from timeveil.errors import InputError, ParameterError
from timeveil.reading import dates
from timeveil.reading.columns import FaultyRows, column_error, decoded, is_text, without_wrapping
from timeveil.reading.dates import DAY_FIRST, DAY_MS, FORMATS, MONTH_FIRST, UNDECIDED

FIRST_MS, LIMIT_MS = FIRST * 1000, (LAST + 1) * 1000
_SLICE_ROWS = 1 << 20  # parsing text takes many times its size
_SAMPLE_ROWS = 4096
_IN_ONE_WAY = "write all of them in one way, such as 2024-03-31"
WAY = "dates as "  # how the count of dates written in one way is called

Kind = Literal["date", "naive", "aware", "number"]
_NUMBER = r"^[+-]?\d{1,18}$"
# What Arrow reads at once, and from which length on it is that: it also reads hours without minutes.
_AT_ONCE: dict[Kind, tuple[int, pa.DataType]] = {
    "date": (len("2024-03-31"), pa.timestamp("us")),
    "naive": (len("2024-03-31 14:05"), pa.timestamp("us")),
    "aware": (len("2024-03-31 14:05:00Z"), pa.timestamp("us", "UTC")),
}


class TimeColumn:
    """Takes the time column in order and notes what it contains; errors are raised after the last row."""

    def __init__(
        self,
        column: str,
        zone: str | None,
        unit: str | None,
        *,
        form: str | None = None,
        slot_numbers: bool = False,
    ) -> None:
        self.column = column
        if form is not None:
            dates.pattern_of(form)
        if zone is not None:
            check_zone(zone)
        if unit is not None and not (isinstance(unit, str) and unit in UNITS):
            hint = f"use one of {', '.join(UNITS)}"
            raise ParameterError(f"`{unit}` is not a unit of relative time", hint=hint)
        self._zone, self._unit, self._form = zone, unit, form
        self._slot_numbers, self._is_numeric = slot_numbers, False
        self._noted = FaultyRows()
        self.settled: TimeAxis | None = None
        """The axis, once the column's type decides it; text and numbers without a unit leave it open."""
        self.way = ""
        """How dates are written, once all rows are read, if it is not with the year first."""

    def push(self, column: pa.ChunkedArray, rows_before: int) -> pa.ChunkedArray:
        """The next values, typed, or in milliseconds (or numbers) while text leaves the type open."""
        column = without_wrapping(column)
        if pa.types.is_null(column.type):
            column = column.cast(pa.string())
        elif not is_text(column.type):
            column = decoded(column)
        kind: Kind | None = None if is_text(column.type) else _kind_of(self.column, column.type)
        if kind == "number" and self._form is not None:
            kind, column = None, column.cast(pa.string())
        if kind is None:
            return self._parsed(column, rows_before)
        if self._form is not None:
            raise self._not_needed("time_format", "dates or timestamps", "it is for text")
        self._is_numeric = kind == "number"
        if self.settled is None and (kind != "number" or self._unit is not None):
            self.settled = self._settle(kind, column.type)
        chunks, row = [], rows_before
        for chunk in column.chunks:
            chunks.append(self._typed(chunk, row))
            if self.settled is None:
                present = chunks[-1].is_valid().to_numpy(zero_copy_only=False)
                self._noted.add("number", present, row)
                self._note_numbers(chunks[-1], present, row)
            row += len(chunk)
        return pa.chunked_array(chunks, type=pa.int64() if self.settled is None else self.settled.type)

    def axis(self) -> TimeAxis:
        counts = self._noted.counts
        without_offset = counts["date"] + counts["naive"]
        # Whole numbers are times only where all values are.
        bad = ["bad", "number"] if without_offset or counts["aware"] else ["bad"]
        if any(counts[kind] for kind in bad):
            hint = "write times like 2024-03-31, 2024-03-31 14:05 or 2024-03-31T14:05:00+02:00 "
            hint += "(years 1 to 9999), or as whole numbers with {unit}"
            if self._form is None:
                hint += '; another way to write dates is stated like {time_format="%d/%m/%y"}'
            what = ("value that is not a time", "values that are not a time")
            raise self._noted.error(self.column, *bad, what=what, hint=hint, code="bad-time")
        if counts["aware"] and without_offset:
            mix = f"{counted(counts['aware'], 'time')} with an offset and {without_offset:,} without"
            hint = "write all of them with an offset, or none"
            raise InputError(f"column `{self.column}` mixes {mix}", hint=hint, code="mixed-zones")
        if self.settled is not None:
            return self.settled
        self.way = self._one_way(without_offset + counts["aware"])
        if counts["number"] and not counts["not compact"] and self._unit is None:
            self.way = "YYYYMMDD"
            return self._settle("date")
        kinds: tuple[Kind, ...] = ("aware", "naive", "date", "number")
        empty: Kind = "aware" if self._zone else "number" if self._unit or self._is_numeric else "date"
        return self._settle(next((kind for kind in kinds if counts[kind]), empty))

    def complete(self, pushed: pa.ChunkedArray, axis: TimeAxis) -> pa.ChunkedArray:
        """Values that `push` returned, in the final type of the axis."""
        if pushed.type == axis.type:
            return pushed
        if self.way == "YYYYMMDD":
            pushed = dates.from_digits(pc.multiply(pushed, DAY_MS))
        elif self.way in FORMATS:
            pushed = dates.from_digits(pushed, day_first=self.way == DAY_FIRST)
        if pa.types.is_date32(axis.type):
            return pc.divide(pushed, DAY_MS).cast(pa.int32()).cast(pa.date32())  # whole days only
        return pushed.cast(axis.type)

    def _settle(self, kind: Kind, arrow: pa.DataType | None = None) -> TimeAxis:
        if kind != "number" and self._unit is not None:
            raise self._not_needed("unit", "dates or timestamps", "it is for whole numbers")
        if kind in ("date", "naive"):
            if self._zone is not None:
                raise self._not_needed("zone", "times without an offset", "such times are read as they are")
            return TimeAxis("civil", pa.date32() if kind == "date" else pa.timestamp("ms"))
        if kind == "aware":
            if self._zone is None:
                stated = "" if arrow is None else f" ({arrow.tz})"
                message = f"column `{self.column}` has times with an offset{stated}, but no zone is set"
                hint = 'name the clocks to read them on with {zone="Europe/Berlin"}'
                raise InputError(message, hint=hint, code="zone-missing")
            return TimeAxis("zoned", pa.timestamp("ms", self._zone), zone=self._zone)
        if self._unit is None and not self._slot_numbers:
            message = f"column `{self.column}` has whole numbers, but no unit is set"
            hint = f'say what they count with {{unit="minute"}}; the units are {", ".join(UNITS)}'
            raise InputError(message, hint=hint, code="unit-missing")
        if self._zone is not None:
            raise self._not_needed("zone", "whole numbers", "numbers counted from a start have none")
        return TimeAxis("relative", pa.int64(), unit=self._unit)

    def _one_way(self, dates: int) -> str:
        """The one way in which all dates are written, of those that do not begin with the year."""
        ways = {name: count for name, count in self._noted.counts.items() if name.startswith(WAY)}
        if (iso := dates - sum(ways.values())) and ways:
            ways[f"{WAY}year-month-day"] = iso
        if len(ways) > 1:
            written = " and ".join(f"{count:,} as {name.removeprefix(WAY)}" for name, count in ways.items())
            fault = f"has dates written in more than one way: {written}"
            raise column_error(self.column, fault, _IN_ONE_WAY, "bad-time")
        way = next(iter(ways), "").removeprefix(WAY)
        return self._order() if way == UNDECIDED else way

    def _order(self) -> str:
        """Whether the day or the month comes first, if the column shows it."""
        counts = self._noted.counts
        only = {DAY_FIRST: counts["not month first"], MONTH_FIRST: counts["not day first"]}
        possible = [way for way, against in zip(only, reversed(only.values()), strict=True) if not against]
        if len(possible) == 1 or (possible and not counts["differs"]):
            return possible[0]
        hint, readings = _IN_ONE_WAY, " and ".join(f"{count:,} only as {way}" for way, count in only.items())
        if possible:
            readings = f"as {' and as '.join(possible)}"
            hint = "say which with " + " or ".join(f'{{time_format="{FORMATS[way]}"}}' for way in possible)
        fault = f"has dates that can be read {readings}"
        raise column_error(self.column, fault, hint, "bad-time", ways=possible)

    def _not_needed(self, parameter: str, content: str, reason: str) -> ParameterError:
        message = f"column `{self.column}` has {content}, but a {parameter} is set"
        return ParameterError(message, hint=f"remove {{{parameter}}}: {reason}")

    def _parsed(self, column: pa.ChunkedArray, rows_before: int) -> pa.ChunkedArray:
        chunks, row = [], rows_before
        bounds = {"aware": bounds_of(self._zone), "number": (-self._limit, self._limit)}
        for chunk in column.chunks:
            for start in range(0, len(chunk), _SLICE_ROWS):
                values, kinds = parse(chunk.slice(start, _SLICE_ROWS), self._form)
                for kind, mask in kinds.items():
                    self._noted.add(kind, mask, row)
                for kind in bounds.keys() & kinds.keys():
                    low, limit = bounds[kind]
                    present = pc.fill_null(values, low).to_numpy(zero_copy_only=False)
                    outside = (present < low) | (present >= limit)
                    self._noted.add("bad", kinds[kind] & outside, row)
                if "number" in kinds and self._unit is None:
                    self._note_numbers(values, kinds["number"], row)
                row += len(values)
                chunks.append(values)
        return pa.chunked_array(chunks, type=pa.int64())

    def _note_numbers(self, values: pa.Array, are_numbers: Any, row: int) -> None:
        """Note which whole numbers are not days written YYYYMMDD."""
        numbers = (pc.fill_null(values, 0) if values.null_count else values).to_numpy(zero_copy_only=False)
        self._noted.add("not compact", are_numbers & ~dates.is_compact(numbers), row)

    def _typed(self, chunk: pa.Array, row: int) -> pa.Array:
        kind = chunk.type
        if pa.types.is_date32(kind):
            return self._bounded(chunk, pa.int32(), FIRST_MS // DAY_MS, LIMIT_MS // DAY_MS, row)
        if pa.types.is_date64(kind):
            inside = self._bounded(chunk, pa.int64(), FIRST_MS, LIMIT_MS, row)
            return inside.view(pa.timestamp("ms")).cast(pa.date32())
        if pa.types.is_timestamp(kind):
            return self._timestamps(chunk, row)
        if pa.types.is_floating(kind):
            return self._whole_floats(chunk.cast(pa.float64()), row)
        wide, low = (pa.uint64(), 0) if pa.types.is_uint64(kind) else (pa.int64(), -self._limit)
        return self._bounded(chunk.cast(wide), wide, low, self._limit, row).cast(pa.int64())

    def _timestamps(self, chunk: pa.Array, row: int) -> pa.Array:
        unit, zone = chunk.type.unit, self._zone if chunk.type.tz else None
        if unit != "ns":  # nanoseconds in 64 bits reach from 1677 to 2262
            low, limit = (bound * PER_SECOND[unit] // 1000 for bound in bounds_of(zone))
            chunk = self._bounded(chunk, pa.int64(), low, limit, row)
        return _milliseconds(chunk).view(pa.timestamp("ms", zone))

    def _bounded(self, chunk: pa.Array, raw: pa.DataType, low: int, limit: int, row: int) -> pa.Array:
        """The chunk with nulls for values outside [low, limit), which are noted."""
        values = chunk.view(raw)
        present = (values.drop_null() if values.null_count else values).to_numpy()
        if not len(present) or (low <= int(present.min()) and int(present.max()) < limit):
            return chunk
        out = pc.or_(pc.less(values, pa.scalar(low, raw)), pc.greater_equal(values, pa.scalar(limit, raw)))
        out = pc.fill_null(out, False)
        self._noted.add("bad", out.to_numpy(zero_copy_only=False), row)
        return pc.if_else(out, pa.scalar(None, chunk.type), chunk)

    def _whole_floats(self, chunk: pa.Array, row: int) -> pa.Array:
        values = chunk.to_numpy(zero_copy_only=False)
        missing = np.isnan(values)
        with np.errstate(invalid="ignore"):
            # Above 2**53 doubles skip whole numbers, so the number meant is not certain.
            bad = ~missing & ((np.floor(values) != values) | (np.abs(values) > min(self._limit, 2**53)))
        self._noted.add("bad", bad, row)
        return pa.array(np.where(missing | bad, 0, values).astype(np.int64), mask=missing | bad)

    @property
    def _limit(self) -> int:
        # Numbers times their unit stay far inside 64 bits, whatever is added to them later.
        return int(2**59 // UNITS[self._unit or "second"][1])


def parse(texts: pa.Array, form: str | None = None) -> tuple[pa.Array, dict[str, Any]]:
    """Milliseconds since 1970 (or the whole number itself) per text, and a mask of the texts of each kind.

    Bad texts become null; so do empty ones, which are of no kind. With `form`, texts are written in that way
    only. Dates whose order is not decided are digits: see `from_digits`.
    """
    if not pa.types.is_dictionary(texts.type):
        sample = texts.slice(0, _SAMPLE_ROWS)
        if 2 * len(pc.unique(sample)) > len(sample):  # mostly distinct: a dictionary would not help
            return _parse(texts, form)
        texts = texts.dictionary_encode()
    values, kinds = _parse(texts.dictionary, form)
    codes = pc.fill_null(texts.indices.cast(pa.int64()), len(values)).to_numpy(zero_copy_only=False)
    return values.take(texts.indices), {kind: np.append(mask, False)[codes] for kind, mask in kinds.items()}


def _parse(texts: pa.Array, form: str | None) -> tuple[pa.Array, dict[str, Any]]:
    if form is None and (parsed := _written_alike(texts)):
        return parsed
    texts = pc.ascii_trim_whitespace(texts.cast(pa.large_string()))
    values, missing = np.zeros(len(texts), dtype=np.int64), np.ones(len(texts), dtype=bool)
    kinds: dict[str, Any] = {}
    unread = np.flatnonzero(pc.fill_null(pc.not_equal(texts, ""), False).to_numpy(zero_copy_only=False))

    def note(rows: Any, **flags: Any) -> None:
        for kind, mask in flags.items():
            if np.any(mask):
                kinds.setdefault(kind, np.zeros(len(texts), dtype=bool))[rows] = mask

    if form is None:
        numeric = np.asarray(pc.match_substring_regex(texts.take(pa.array(unread)), _NUMBER))
        rows, unread = unread[numeric], unread[~numeric]
        values[rows] = pc.ascii_ltrim(texts.take(pa.array(rows)), "+").cast(pa.int64())
        missing[rows] = False
        note(rows, number=True)
    for written in dates.read_dates(texts.take(pa.array(unread)), form) if len(unread) else ():
        rows = unread[written.rows]
        values[rows], missing[rows] = written.values, False
        has_clock, has_offset = written.has_clock, written.has_offset
        note(rows, date=~has_clock, naive=has_clock & ~has_offset, aware=has_offset)
        if written.way:
            note(rows, **{WAY + written.way: True})
        if written.way == UNDECIDED:
            orders = {"not day first": written.not_day_first, "not month first": written.not_month_first}
            note(rows, **orders, differs=written.differs)
    kinds["bad"] = np.zeros(len(texts), dtype=bool)
    kinds["bad"][unread] = missing[unread]
    return pa.array(values, mask=missing), kinds


def _written_alike(texts: pa.Array) -> tuple[pa.Array, dict[str, Any]] | None:
    """As `_parse`, of texts of one kind that are written as Arrow reads them: most columns; else None."""
    lengths = pc.min_max(pc.binary_length(texts)).as_py()
    for kind, (shortest, arrow) in _AT_ONCE.items():
        if lengths["min"] and lengths["min"] >= shortest and (kind != "date" or lengths["max"] == shortest):
            with suppress(pa.ArrowInvalid):
                texts.slice(0, 100).cast(arrow)  # to fail takes longer than to succeed
                values = _milliseconds(texts.cast(arrow)).view(pa.int64())
                if pc.min(values).as_py() >= FIRST_MS:
                    return values, {kind: np.asarray(texts.is_valid()), "bad": np.zeros(len(texts), bool)}
    return None


def _milliseconds(instants: pa.Array) -> pa.Array:
    """Timestamps without their zone in milliseconds, cut off towards the past."""
    instants = instants.view(pa.timestamp(instants.type.unit))
    if instants.type.unit in ("us", "ns"):  # a cast alone would round towards 1970
        instants = pc.floor_temporal(instants, unit="millisecond")
    return instants.cast(pa.timestamp("ms"))


def bounds_of(zone: str | None) -> tuple[int, int]:
    """The instants, in milliseconds, at which the years 1 to 9999 begin and end on the zone's clocks."""
    if zone is None:
        return FIRST_MS, LIMIT_MS
    low, limit = (offsets(zone, at, at).first_instant(as_ints(at)) for at in (FIRST, LAST + 1))
    return int(low) * 1000, int(limit) * 1000


def _kind_of(column: str, kind: pa.DataType) -> Kind:
    if pa.types.is_timestamp(kind):
        return "aware" if kind.tz else "naive"
    if pa.types.is_date(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "date" if pa.types.is_date(kind) else "number"
    hint = "use dates, timestamps, text like 2024-03-31 14:05, or whole numbers with {unit}"
    raise InputError(f"column `{column}` has the type {kind}, which is not a time", hint=hint)
