"""Dates as offices write them, each column in one way.

| way | such as |
|---|---|
| year first | 2024-03-31, 2024/3/31 2:05 PM, 2024-03-31T14:05:00+02:00 |
| day.month.year | 31.03.2024, 31.3.2024 14:05 |
| day month year | 31 Mar 2024, 31-Mar-2024, March 31, 2024 |
| day/month/year or month/day/year | 31/03/2024, 3/31/2024 2:05:00 pm, 31-03-2024 |

With a point the day is first everywhere. With a slash or a hyphen the column decides: a day above 12 shows
the order, and where none does, nothing can. Such dates are kept as digits, YYYYMMDD, until the last row is
read. Or the user says how dates are written, with a format such as `%d/%m/%y`; a clock time after it needs no
directive.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.civil import DAY, days_of_month
from timeveil.domain.arrays import Flags, Ints
from timeveil.errors import ParameterError

DAY_MS = DAY * 1000
UNDECIDED = "day/month/year or month/day/year"
DAY_FIRST, MONTH_FIRST = "day/month/year", "month/day/year"
FORMATS = {DAY_FIRST: "%d/%m/%Y", MONTH_FIRST: "%m/%d/%Y"}
FIRST_COMPACT, LAST_COMPACT = 19_000_101, 21_001_231

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<b>(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?))"
)
_HALF = r"(?P<p>[AaPp])\.?[Mm]\.?"
_CLOCK = (
    rf"(?:T|,? +)(?P<H>\d{{1,2}}):(?P<M>\d{{2}})(?::(?P<S>\d{{2}})(?:[.,](?P<f>\d{{1,9}}))?)?(?: ?{_HALF})?"
)
_OFFSET = r"(?: ?(?P<z>Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?))?"
_DAY, _MONTH_NUMBER, _YEAR = r"(?P<d>\d{1,2})", r"(?P<m>\d{1,2})", r"(?P<Y>\d{4})"
_WAYS = {
    "": (rf"{_YEAR}[-/.]{_MONTH_NUMBER}[-/.]{_DAY}(?:{_CLOCK}{_OFFSET})?",),
    "day.month.year": (rf"{_DAY}\. ?{_MONTH_NUMBER}\. ?{_YEAR}",),
    "day month year": (rf"{_DAY}[-./ ]+{_MONTH}[-./, ]+{_YEAR}", rf"{_MONTH}\.? +{_DAY},? +{_YEAR}"),
    UNDECIDED: (rf"{_MONTH_NUMBER}[-/]{_DAY}[-/]{_YEAR}",),
}
"""What precedes the clock time; the undecided as if the month came first."""
_DIRECTIVES = dict.fromkeys("bB", _MONTH) | dict.fromkeys("HI", r"(?P<H>\d{1,2})")
_DIRECTIVES |= {"d": _DAY, "m": _MONTH_NUMBER, "Y": _YEAR, "y": r"(?P<y>\d{2})", "p": _HALF}
_DIRECTIVES |= {"M": r"(?P<M>\d{2})", "S": r"(?P<S>\d{2})", "f": r"(?P<f>\d{1,9})"}


class Dates(NamedTuple):
    """Texts that are written in one way: which they are, their milliseconds or digits, and what they show."""

    way: str
    rows: Ints
    values: Ints
    has_clock: Flags
    has_offset: Flags
    not_day_first: Flags
    not_month_first: Flags
    differs: Flags  # another date if the day comes first than if the month does


def read_dates(texts: pa.Array, form: str | None) -> Iterator[Dates]:
    """The texts that are dates, way by way; with `form`, those in the user's own way only."""
    ways = _WAYS if form is None else {f"`{form}`": (pattern_of(form),)}
    unread = np.arange(len(texts))
    for way, patterns in ways.items():
        for pattern in patterns:
            if not len(unread):
                return
            end = "" if "?P<H>" in pattern else f"(?:{_CLOCK})?"
            written = _read(texts.take(pa.array(unread)), f"^{pattern}{end}$", way)
            if len(written.rows):
                yield written._replace(rows=unread[written.rows])
                unread = np.delete(unread, written.rows)


@lru_cache(maxsize=32)
def pattern_of(form: str) -> str:
    """The pattern of texts in a format like that of `strftime`."""
    parts = re.split("%(.)", form)
    directives, pattern = parts[1::2], re.escape(parts[0])
    for letter, text in zip(directives, parts[2::2], strict=True):
        pattern += _DIRECTIVES.get(letter, "") + re.escape(text).replace("\\ ", " +")
    groups = re.findall(r"\?P<(\w)>", pattern)
    is_complete = "d" in groups and len({"m", "b"} & {*groups}) == 1 == len({"Y", "y"} & {*groups})
    has_clock = "M" in groups if "H" in groups else not {*"MSfp"} & {*groups}
    is_known, is_unique = {*directives} <= _DIRECTIVES.keys(), len({*groups}) == len(groups)
    if not (is_known and is_unique and is_complete and has_clock):
        hint = 'write {time_format="%d/%m/%Y"}; there are %d, %m or %b, %Y or %y, %H or %I, %M, %S, %f and %p'
        raise ParameterError("`time_format` does not say where day, month and year are", hint=hint)
    # Numbers that touch have two digits, or nobody could say where one ends.
    return pattern.replace("{1,2}", "{2}") if re.search("%[dmyHI]%", form) else pattern


def _read(texts: pa.Array, pattern: str, way: str) -> Dates:
    """The texts that match and are days of the calendar."""
    fields = pc.extract_regex(texts, pattern)
    rows = np.flatnonzero(fields.is_valid().to_numpy(zero_copy_only=False))
    if len(rows) < len(texts):
        fields = fields.take(pa.array(rows))
    present = {field.name for field in fields.type}

    def number(name: str, missing: int = 0) -> Ints:
        if name not in present:
            return np.full(len(rows), missing, np.int64)
        digits = fields.field(name)
        digits = pc.if_else(pc.equal(digits, ""), str(missing), digits)
        return np.asarray(digits.cast(pa.int64()).to_numpy(zero_copy_only=False))

    year = number("Y")
    if "y" in present:  # as Python and most offices read them
        year = number("y") + np.where(number("y") < 69, 2000, 1900)
    month, day = number("m"), number("d")
    if "b" in present:
        names = pc.utf8_slice_codeunits(pc.utf8_lower(fields.field("b")), 0, 3)
        month = pc.index_in(names, pa.array(_MONTHS, names.type)).to_numpy(zero_copy_only=False) + 1
    clock, is_clock = _milliseconds(fields, number, present)
    month_first, is_month_first = days_of(year, month, day)
    if way != UNDECIDED:
        is_date, values = is_month_first, month_first * DAY_MS + clock
        is_day_first = is_month_first
    else:
        day_first, is_day_first = days_of(year, day, month)
        is_date, values = is_day_first | is_month_first, ((year * 100 + month) * 100 + day) * DAY_MS + clock
        month_first = np.where(is_day_first & is_month_first, month_first - day_first, 1)
    good, none = is_date & is_clock, pa.array([""] * len(rows))
    clocks, offsets = (fields.field(name) if name in present else none for name in "Hz")
    has_clock, has_offset = (np.asarray(pc.not_equal(part, "")) for part in (clocks, offsets))
    if has_offset.any():
        coded = offsets.dictionary_encode()
        values -= np.array(list(map(_offset, coded.dictionary.to_pylist())))[np.asarray(coded.indices)]
    flags = (has_clock, has_offset, ~is_day_first, ~is_month_first, month_first != 0)
    return Dates(way, rows[good], values[good], *(flag[good] for flag in flags))


def _offset(text: str) -> int:
    """The milliseconds by which clocks with this offset are ahead: `Z`, `+02`, `-0330` or `-03:30`."""
    digits = text.strip("Z+-").replace(":", "").ljust(4, "0")
    return (int(digits[:2]) * 60 + int(digits[2:])) * (-60_000 if text.startswith("-") else 60_000)


def _milliseconds(fields: pa.StructArray, number: Any, present: set[str]) -> tuple[Ints, Flags]:
    """Milliseconds since midnight, and whether a clock shows such a time; midnight where none is written."""
    hour, minute, second, thousandths = number("H"), number("M"), number("S"), np.int64(0)
    exists = (hour < 24) & (minute < 60) & (second < 60)
    if "p" in present:
        half = pc.utf8_lower(fields.field("p"))
        is_12, is_pm = (np.asarray(test) for test in (pc.not_equal(half, ""), pc.equal(half, "p")))
        exists &= ~is_12 | ((hour >= 1) & (hour <= 12))
        hour = np.where(is_12, hour % 12 + 12 * is_pm, hour)
    if "f" in present:
        digits = pc.utf8_slice_codeunits(pc.utf8_rpad(fields.field("f"), 3, "0"), 0, 3)
        thousandths = digits.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return ((hour * 60 + minute) * 60 + second) * 1000 + thousandths, exists


def days_of(year: Ints, month: Ints, day: Ints) -> tuple[Ints, Flags]:
    """Days since 1970, and whether the calendar has such a day in the years 1 to 9999."""
    start, end = (days_of_month(year * 12 + number) for number in (month - 1, month))
    exists = (year >= 1) & (year <= 9999) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= end - start)
    return start + day - 1, exists


def is_compact(numbers: Ints) -> Flags:
    """Whether whole numbers are days from 1900 to 2100, written YYYYMMDD."""
    near = (numbers >= FIRST_COMPACT) & (numbers <= LAST_COMPACT)
    if not near.any():  # as most columns of numbers are
        return near
    clipped = np.where(near, numbers, 0)
    return near & days_of(clipped // 10_000, clipped // 100 % 100, clipped % 100)[1]


def from_digits(column: pa.ChunkedArray, *, day_first: bool = False) -> pa.ChunkedArray:
    """Milliseconds since 1970 of days written YYYYMMDD, or YYYYDDMM, times the milliseconds of a day."""
    chunks = []
    for chunk in column.chunks:
        missing = chunk.is_null().to_numpy(zero_copy_only=False)
        digits, clock = np.divmod(pc.fill_null(chunk, 0).to_numpy(zero_copy_only=False), DAY_MS)
        second, third = digits // 100 % 100, digits % 100
        days, _ = days_of(digits // 10_000, *((third, second) if day_first else (second, third)))
        chunks.append(pa.array(days * DAY_MS + clock, pa.int64(), mask=missing))
    return pa.chunked_array(chunks, pa.int64())
