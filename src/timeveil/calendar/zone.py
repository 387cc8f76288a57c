"""The clocks of a time zone: which offset from UTC holds when.

The zone database is read through `zoneinfo`. Offsets change a few times a year at most, so they are
kept as segments and looked up for whole arrays at once.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np

from timeveil.calendar import civil
from timeveil.calendar.civil import AFTER, BEFORE, DAY, FIRST, LAST, Ints
from timeveil.errors import ParameterError, raising

_HALF_DAY = DAY // 2
_CYCLE_YEARS, _CYCLE = 400, 146_097 * DAY
# Before the first zones were defined local mean time held; long after the last decree the rules repeat.
_RULES_BEGIN, _RULES_REPEAT = 1835, 2100
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Offsets:
    """Segments of constant offset: segment k begins at UTC second `begins[k]` with `seconds[k]`.

    The first segment has no beginning. `reached[k]` is the first civil second that no clock has shown
    by the end of segment k.
    """

    begins: Ints
    seconds: Ints
    reached: Ints

    def segment(self, instants: Ints) -> Ints:
        """The segment of each UTC second."""
        found: Ints = np.searchsorted(self.begins, instants, side="right") - 1
        return found

    def civil(self, instants: Ints) -> Ints:
        """What the wall clock shows."""
        one = len(self.seconds) == 1
        shown: Ints = instants + (self.seconds[0] if one else self.seconds[self.segment(instants)])
        return shown

    def settled(self, instants: Ints) -> Ints:
        """The latest time the wall clock has shown so far: it never goes back.

        The hour that autumn repeats stands still at its last second, so a day, or a quarter of one, is
        one stretch of time even where the clocks go back across its beginning.
        """
        segment = self.segment(instants)
        shown = instants + self.seconds[segment]
        before = np.concatenate(([BEFORE], self.reached[:-1]))
        settled: Ints = np.maximum(shown, before[segment] - 1)
        return settled

    def first_instant(self, shown: Ints) -> Ints:
        """The first UTC second at which the clock shows this civil second or a later one."""
        segment = np.minimum(np.searchsorted(self.reached, shown, side="right"), len(self.seconds) - 1)
        first: Ints = np.maximum(self.begins[segment], shown - self.seconds[segment])
        return first

    def ends(self) -> Ints:
        """First UTC second after each segment."""
        return np.concatenate((self.begins[1:], [AFTER]))


@lru_cache(maxsize=64)
def offsets(zone: str, low: int, high: int) -> Offsets:
    """The segments of a zone around the UTC seconds from `low` to `high`.

    >>> offsets("Europe/Rome", 1_136_073_600, 1_160_000_000).seconds
    array([3600, 7200])
    """
    check_zone(zone)
    low, high = max(low, FIRST) - 2 * DAY, min(high, LAST) + 2 * DAY
    years = civil.month_of_days(civil.as_ints([low // DAY, high // DAY])) // 12
    changes = [c for year in range(int(years[0]), int(years[1]) + 1) for c in _changes(zone, year)]
    inside = [(at, offset) for at, offset in changes if low < at <= high]
    begins = civil.as_ints([BEFORE, *(at for at, _ in inside)])
    seconds = civil.as_ints([_offset(zone, low), *(offset for _, offset in inside)])
    reached = np.maximum.accumulate(np.append(begins[1:], AFTER) + seconds)
    return Offsets(begins, seconds, reached)


def check_zone(zone: str | None) -> None:
    """Refuse a name that the zone database does not have."""
    error = ParameterError(
        "the zone is not in the time zone database",
        hint="use a name such as Europe/Rome, America/New_York or UTC",
        code="bad-parameter",
    )
    if not zone:
        raise error
    with raising(error, on=(KeyError, ValueError, OSError)):
        ZoneInfo(zone)


def _changes(zone: str, year: int) -> tuple[tuple[int, int], ...]:
    """The UTC seconds of a year at which the offset changes, each with the new offset."""
    if year < _RULES_BEGIN:
        return ()
    cycles = max(0, (year - _RULES_REPEAT) // _CYCLE_YEARS)
    near = _changes_looked_up(zone, year - cycles * _CYCLE_YEARS)
    return tuple((at + cycles * _CYCLE, offset) for at, offset in near)


@lru_cache(maxsize=16_384)
def _changes_looked_up(zone: str, year: int) -> tuple[tuple[int, int], ...]:
    first, last = (civil.year_start(civil.as_ints([year, year + 1])) * DAY).tolist()
    marks = range(first, last + 1, _HALF_DAY)
    shown = [_offset(zone, mark) for mark in marks]
    pairs = zip(marks, shown, shown[1:], strict=False)
    return tuple((_change_after(zone, mark, new), new) for mark, old, new in pairs if old != new)


def _change_after(zone: str, mark: int, new: int) -> int:
    """The first second of the half day from `mark` that has the new offset."""
    low, high = mark, mark + _HALF_DAY
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _offset(zone, middle) == new else (middle, high)
    return high


def _offset(zone: str, second: int) -> int:
    cycles = max(0, (second - _repeat_begins()) // _CYCLE)
    moment = _EPOCH + dt.timedelta(seconds=max(second - cycles * _CYCLE, FIRST + 3 * DAY))
    offset = moment.astimezone(ZoneInfo(zone)).utcoffset()
    return round(offset.total_seconds()) if offset is not None else 0


@lru_cache(maxsize=1)
def _repeat_begins() -> int:
    return int(civil.year_start(civil.as_ints([_RULES_REPEAT]))[0]) * DAY
