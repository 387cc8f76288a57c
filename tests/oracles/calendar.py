"""The calendar the slow and obvious way: one `datetime` at a time, by the definitions in words."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from functools import lru_cache
from zoneinfo import ZoneInfo

Span = tuple[dt.datetime, dt.datetime, str]
"""Start, end (excluded) and label of a granule."""

EPOCH = dt.datetime(1970, 1, 1)
ONE_DAY = dt.timedelta(days=1)
CLOCK_MINUTES = {"minute": 1, "5-minutes": 5, "15-minutes": 15, "30-minutes": 30, "hour": 60, "6-hours": 360}
MONTHS = {"month": 1, "quarter": 3, "half-year": 6, "year": 12, "decade": 120}
DAY_PARTS = {"morning": 6, "afternoon": 12, "evening": 18, "night": 22}
SHIFTS = {"early": 7, "late": 15, "night": 23}
TERMS = {"spring": (2, 1), "summer": (7, 1), "autumn": (9, 1)}


def seconds(moment: dt.datetime) -> int:
    """Civil seconds since 1970-01-01."""
    return (moment - EPOCH) // dt.timedelta(seconds=1)


def moment(second: int) -> dt.datetime:
    return EPOCH + dt.timedelta(seconds=second)


@lru_cache(1 << 16)
def granule(name: str, at: dt.datetime) -> Span | None:
    """The granule of a catalogue granularity that holds a moment, None in a gap."""
    return MAKERS[name](at)


def finer(g: str, h: str, moments: Iterator[dt.datetime]) -> bool:
    """Whether the granules of g around these moments all lie in granules of h, day by day."""
    one_each = {granule(g, at): at for at in moments}
    return all(up(g, h, at) is not None for own, at in one_each.items() if own is not None)


def up(g: str, h: str, at: dt.datetime) -> Span | None:
    """The granule of h that holds every moment of the granule of g around `at`, None if there is none."""
    own = granule(g, at)
    assert own is not None
    start, end, _ = own
    probes = {start, end - dt.timedelta(seconds=1)}
    probes |= {start + n * ONE_DAY / 2 for n in range((end - start) * 2 // ONE_DAY + 1)}
    held = {granule(h, probe) for probe in probes if probe < end and granule(g, probe) == own}
    return held.pop() if len(held) == 1 else None


Reading = tuple[dt.datetime, dt.datetime, int]
"""What the wall clock shows, the latest it has shown so far, and how often it was changed."""


def walk(zone: str, instants: list[int]) -> list[Reading]:
    """The wall clock at each instant, walked minute by minute from two days before the first."""
    tz = ZoneInfo(zone)
    latest, changes, offset = dt.datetime.min, 0, None
    readings: dict[int, Reading] = {}
    for second in range(min(instants) - 172_800, max(instants) + 1, 60):
        local = dt.datetime.fromtimestamp(second, tz)
        changes += offset is not None and local.utcoffset() != offset
        offset = local.utcoffset()
        shown = local.replace(tzinfo=None, fold=0)
        latest = max(latest, shown)
        readings[second] = shown, latest, changes
    return [readings[second] for second in instants]


def zoned_key(name: str, reading: Reading) -> tuple[object, ...] | None:
    """Equal for two readings exactly if they share a granule.

    Granules of at most an hour are those of the wall clock between two changes of it; longer ones use
    the latest time it has shown.
    """
    shown, latest, changes = reading
    short = CLOCK_MINUTES.get(name, 999) <= 60
    found = granule(name, shown if short else latest)
    return None if found is None else (*found, changes if short else 0)


def _second(at: dt.datetime) -> Span:
    start = at.replace(microsecond=0)
    return start, start + dt.timedelta(seconds=1), _text(start, "%H:%M:%S")


def _clock(minutes: int) -> Callable[[dt.datetime], Span]:
    def found(at: dt.datetime) -> Span:
        minute = (at.hour * 60 + at.minute) // minutes * minutes
        start = _midnight(at) + dt.timedelta(minutes=minute)
        end = start + dt.timedelta(minutes=minutes)
        if minutes == 1:
            return start, end, _text(start, "%H:%M")
        last = "24:00" if end.hour == end.minute == 0 else f"{end.hour:02}:{end.minute:02}"
        return start, end, f"{_text(start, '%H:%M')} to {last}"

    return found


def _day(at: dt.datetime) -> Span:
    start = _midnight(at)
    return start, start + ONE_DAY, start.date().isoformat()


def _week(at: dt.datetime) -> Span:
    start = _midnight(at) - at.weekday() * ONE_DAY
    year, week, _ = start.isocalendar()
    return start, start + 7 * ONE_DAY, f"{year:04}-W{week:02}"


def _sunday_week(at: dt.datetime) -> Span:
    start = _midnight(at) - (at.weekday() + 1) % 7 * ONE_DAY
    saturday = start + 6 * ONE_DAY
    first = saturday.replace(month=1, day=1)
    week = 1
    while first + ((5 - first.weekday()) % 7 + 7 * (week - 1)) * ONE_DAY < saturday:
        week += 1
    return start, start + 7 * ONE_DAY, f"{saturday.year:04}-week {week}"


def _months(name: str) -> Callable[[dt.datetime], Span]:
    def found(at: dt.datetime) -> Span:
        length = MONTHS[name]
        first = (at.year * 12 + at.month - 1) // length * length
        year, month = divmod(first, 12)
        labels = {
            "month": f"{year:04}-{month + 1:02}",
            "quarter": f"{year:04}-Q{month // 3 + 1}",
            "half-year": f"{year:04}-H{month // 6 + 1}",
            "year": f"{year:04}",
            "decade": f"{year:04}s",
        }
        return _first_of(first), _first_of(first + length), labels[name]

    return found


def _iso_year(at: dt.datetime) -> Span:
    year = at.isocalendar().year
    monday = dt.datetime.fromisocalendar(year, 1, 1)
    return monday, dt.datetime.fromisocalendar(year + 1, 1, 1), f"{year:04} (ISO)"


def _business_day(at: dt.datetime) -> Span | None:
    return _day(at) if at.weekday() < 5 else None


def _business_month(at: dt.datetime) -> Span | None:
    if at.weekday() >= 5:
        return None
    start, end, label = _months("month")(at)
    while start.weekday() >= 5:
        start += ONE_DAY
    while (end - ONE_DAY).weekday() >= 5:
        end -= ONE_DAY
    return start, end, f"{label} (working days)"


def _parts(parts: dict[str, int]) -> Callable[[dt.datetime], Span]:
    def found(at: dt.datetime) -> Span:
        starts = sorted(
            (_midnight(at) + dt.timedelta(days=day, hours=hour), label)
            for day in (-1, 0, 1)
            for label, hour in parts.items()
        )
        number = max(n for n, (start, _) in enumerate(starts) if start <= at)
        start, label = starts[number]
        return start, starts[number + 1][0], f"{start.date().isoformat()} {label}"

    return found


def _term(at: dt.datetime) -> Span:
    starts = sorted(
        (dt.datetime(year, *date), label)
        for year in (at.year - 1, at.year, at.year + 1)
        if 1 <= year <= 9999
        for label, date in TERMS.items()
    )
    number = max(n for n, (start, _) in enumerate(starts) if start <= at)
    start, label = starts[number]
    return start, starts[number + 1][0], f"{start.year:04} {label}"


def _midnight(at: dt.datetime) -> dt.datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _first_of(month: int) -> dt.datetime:
    return dt.datetime(month // 12, month % 12 + 1, 1)


def _text(at: dt.datetime, clock: str) -> str:
    return f"{at.date().isoformat()} {at.strftime(clock)}"


MAKERS: dict[str, Callable[[dt.datetime], Span | None]] = {
    "second": _second,
    **{name: _clock(minutes) for name, minutes in CLOCK_MINUTES.items()},
    "day": _day,
    "week": _week,
    "week-sunday": _sunday_week,
    **{name: _months(name) for name in MONTHS},
    "iso-year": _iso_year,
    "business-day": _business_day,
    "business-month": _business_month,
    "day-part": _parts(DAY_PARTS),
    "shift": _parts(SHIFTS),
    "academic-term": _term,
}
"""Every granularity of the catalogue but `all`, which has neither start nor end."""
