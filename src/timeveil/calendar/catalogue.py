"""The granularities that come with timeveil, and how names are looked up."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import pyarrow as pa

from timeveil.calendar import rules
from timeveil.calendar.civil import DAY, HOUR, MINUTE, UNITS, WEEK, Clock
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.rules import MONDAY, SUNDAY, Months, Steps
from timeveil.domain.relation import TimeAxis
from timeveil.errors import ParameterError

_ALL = Granularity("all", "all of time in one granule", rules.Everything())
_DAY_PARTS = (("morning", 6 * HOUR), ("afternoon", 12 * HOUR), ("evening", 18 * HOUR), ("night", 22 * HOUR))
_SHIFTS = (("early", 7 * HOUR), ("late", 15 * HOUR), ("night", 23 * HOUR))
_TERMS = (("spring", 2, 1), ("summer", 7, 1), ("autumn", 9, 1))
_BUSINESS_MONTH = rules.WorkingPeriods(Months(1), rules.WorkingDays())

_DEFAULT = (
    Granularity("second", "second", Steps(1)),
    Granularity("minute", "minute", Steps(MINUTE)),
    Granularity("5-minutes", "5 minutes from the full hour", Steps(5 * MINUTE)),
    Granularity("15-minutes", "quarter of an hour", Steps(15 * MINUTE)),
    Granularity("30-minutes", "half an hour", Steps(30 * MINUTE)),
    Granularity("hour", "hour", Steps(HOUR)),
    Granularity("6-hours", "6 hours from midnight", Steps(6 * HOUR)),
    Granularity("day", "day, midnight to midnight", Steps(DAY)),
    Granularity("week", "ISO week, Monday to Sunday", Steps(WEEK, MONDAY)),
    Granularity("week-sunday", "week, Sunday to Saturday; week 1 has 1 January", Steps(WEEK, SUNDAY)),
    Granularity("month", "calendar month", Months(1)),
    Granularity("quarter", "calendar quarter", Months(3)),
    Granularity("half-year", "half of a calendar year", Months(6)),
    Granularity("year", "calendar year", Months(12)),
    Granularity("iso-year", "ISO year, 52 or 53 whole ISO weeks", rules.IsoYears()),
    Granularity("decade", "decade, from a year that ends in 0", Months(120)),
    _ALL,
)
_ON_REQUEST = (
    Granularity("business-day", "business day, Monday to Friday", rules.WorkingDays()),
    Granularity(
        "business-month", "the business days, Monday to Friday, of a calendar month", _BUSINESS_MONTH
    ),
    Granularity("day-part", "morning 6h, afternoon 12h, evening 18h, night 22h", rules.DayParts(_DAY_PARTS)),
    Granularity("shift", "hospital shift: early 7h, late 15h, night 23h", rules.DayParts(_SHIFTS)),
    Granularity("academic-term", "spring 1 February, summer 1 July, autumn 1 September", rules.Terms(_TERMS)),
)
CATALOGUE: Mapping[str, Granularity] = {g.name: g for g in (*_DEFAULT, *_ON_REQUEST)}
"""Every granularity of the civil calendar by name."""
FIXED = frozenset(g.name for g in _DEFAULT)  # those whose bounds are not a matter of choice

_OFFSETS: Mapping[Clock, tuple[tuple[str, str, int], ...]] = {
    "seconds": (
        ("second", "second since the start", 1),
        ("minute", "minute since the start", MINUTE),
        ("5-minutes", "5 minutes at a time since the start", 5 * MINUTE),
        ("15-minutes", "15 minutes at a time since the start", 15 * MINUTE),
        ("30-minutes", "30 minutes at a time since the start", 30 * MINUTE),
        ("hour", "hour since the start", HOUR),
        ("6-hours", "6 hours at a time since the start", 6 * HOUR),
        ("day", "day of 24 hours since the start", DAY),
        ("week", "7 days at a time since the start", WEEK),
        ("4-weeks", "28 days at a time since the start", 4 * WEEK),
    ),
    "months": (
        ("month", "month since the start", 1),
        ("quarter", "3 months at a time since the start", 3),
        ("half-year", "6 months at a time since the start", 6),
        ("year", "12 months at a time since the start", 12),
        ("decade", "120 months at a time since the start", 120),
    ),
}
_RELATIVE: Mapping[Clock, Mapping[str, Granularity]] = {
    clock: {name: Granularity(name, title, Steps(width, 0, clock)) for name, title, width in rows}
    | {"all": _ALL}
    for clock, rows in _OFFSETS.items()
}
_YEARS = re.compile(r"([2-9]|[1-9]\d{1,2})-years")
_NAMES = {*CATALOGUE, *(name for family in _RELATIVE.values() for name in family)}

_OTHER_NAMES = {
    "week": ("iso-week", "week-iso", "week-monday", "monday-week"),
    "week-sunday": ("sunday-week", "us-week"),
    "15-minutes": ("quarter-hour",),
    "30-minutes": ("half-hour",),
    "half-year": ("halfyear", "semester"),
    "iso-year": ("year-iso", "isoyear"),
    "business-day": ("working-day", "workday"),
    "business-month": ("working-month",),
    "shift": ("hospital-shift",),
    "day-part": ("daypart",),
    "academic-term": ("term",),
    "all": ("everything",),
}
_ALIASES = {alias: name for name, aliases in _OTHER_NAMES.items() for alias in aliases}


def canonical(name: str) -> str:
    """A name as the catalogue writes it: `ISO week`, `15_minutes` and `months` are understood."""
    plain = _plain(name)
    single = plain.removesuffix("s")
    for spelling in (plain, single, f"{plain}s", plain.removeprefix("1-"), single.removeprefix("1-")):
        if spelling in _NAMES:
            return spelling
        if spelling in _ALIASES:
            return _ALIASES[spelling]
    return plain


def granularity(name: str) -> Granularity:
    """A granularity of the civil calendar by its name.

    >>> granularity("month").label([2006 * 12])
    ['2006-01']
    """
    return _look_up(name, CATALOGUE)


def of_dates(name: str) -> Granularity:
    """A granularity for dates other than the time: of whole days without gaps, or of years: `5-years`."""
    if years := _YEARS.fullmatch(name):
        title = f"{years[1]} calendar years, the first a multiple of {years[1]}"
        return Granularity(name, title, Months(12 * int(years[1])))
    dated = {g.name: g for g in _DEFAULT if g.rule.grain % DAY == 0 and g is not _ALL}
    match = _look_up(name, dated)
    if match.name not in dated:
        hint = f"use one of {', '.join(dated)}, or some years, such as 5-years"
        raise ParameterError(f"dates cannot be generalised to `{name}`", hint=hint, code="bad-hierarchy")
    return match


def available(axis: TimeAxis) -> dict[str, Granularity]:
    """Every granularity of the catalogue for an axis, by name."""
    return {g.name: g for g in _family(axis)} if axis.kind == "relative" else dict(CATALOGUE)


def resolve(
    names: Iterable[str | Granularity] | str | Granularity | None,
    axis: TimeAxis,
    definitions: Iterable[Granularity] | None = None,
) -> tuple[Granularity, ...]:
    """The granularities to consider: those named, or without names the default ones and the user's own."""
    defined = _listed(definitions, "definitions", names=False)
    if names is None:
        relative = axis.kind == "relative"
        default = _family(axis) if relative else [g for g in _DEFAULT if not _cuts_days(g, axis)]
        chosen = [*default, *(fit(g, axis) for g in defined)]
    else:
        requested = _listed([names] if isinstance(names, str) else names, "granularities", names=True)
        by_name = {**available(axis), **{g.name: g for g in defined}}
        chosen = [fit(_look_up(g, by_name) if isinstance(g, str) else g, axis) for g in requested]
    if not chosen:
        hint = "name at least one, or leave out {granularities}"
        raise ParameterError("no granularity was named", hint=hint)
    return tuple({g.name: g for g in chosen}.values())


def fit(granularity: Granularity, axis: TimeAxis) -> Granularity:
    """The granularity as it reads on an axis, or a clear error if it has no meaning there."""
    relative = axis.kind == "relative"
    clock, size = unit_of(axis) if relative else ("civil", 1)
    fitted = granularity
    if relative and granularity.clock not in (clock, "any"):
        fitted = _on_relative(granularity, clock) or granularity
    if fitted.clock not in (clock, "any"):
        subject = "counts from a start; the time column has calendar dates"
        if relative:
            subject = f"needs calendar dates; the time column counts {axis.unit}s"
    elif fitted.rule.grain % size:
        subject = f"is finer than the time column, which counts in {axis.unit}s"
    elif _cuts_days(fitted, axis):
        message = f"granularity `{granularity.name}` cuts days into parts, and the time column has dates"
        raise ParameterError(message, hint="use day or a coarser one, or give the time of day, too")
    else:
        return fitted
    hint = f"use one of {', '.join(available(axis))}"
    raise ParameterError(f"granularity `{granularity.name}` {subject}", hint=hint)


def unit_of(axis: TimeAxis) -> tuple[Clock, int]:
    """The number line of a relative axis and the size of its unit there."""
    hint = f"use one of {', '.join(UNITS)}"
    if axis.unit is None:
        raise ParameterError("relative time needs a unit", hint=hint, code="unit-missing")
    if axis.unit not in UNITS:
        raise ParameterError(f"`{axis.unit}` is not a unit of time", hint=hint)
    return UNITS[axis.unit]


def _listed(values: Any, parameter: str, *, names: bool) -> list[Any]:
    """What a parameter lists, if it is a list of granularities or of their names."""
    items = [] if values is None else list(values) if isinstance(values, Iterable) else [values]
    if not all(isinstance(item, Granularity) or (names and isinstance(item, str)) for item in items):
        or_names, or_name = (" or their names", " or a name such as 'week'") if names else ("", "")
        each = f"each made by a function of timeveil.calendar.definitions{or_name}"
        hint = f"write {{{parameter}=[...]}}, {each}"
        raise ParameterError(f"`{parameter}` is not a list of granularities{or_names}", hint=hint)
    return items


def _family(axis: TimeAxis) -> list[Granularity]:
    clock, size = unit_of(axis)
    return [g for g in _RELATIVE[clock].values() if g.rule.shortest >= size]


def _cuts_days(granularity: Granularity, axis: TimeAxis) -> bool:
    """Whether a column of dates cannot tell its granules apart."""
    return pa.types.is_date32(axis.type) and granularity.rule.grain % DAY != 0


def _on_relative(granularity: Granularity, clock: Clock) -> Granularity | None:
    """A catalogue name, or a grouping without an anchor, reads on a relative axis as well."""
    if CATALOGUE.get(granularity.name) == granularity:
        return _RELATIVE[clock].get(granularity.name)
    match granularity.rule, clock:
        case Steps(width, phase, "civil"), "seconds" if phase in (0, MONDAY, SUNDAY):
            return replace(granularity, rule=Steps(width, 0, "seconds"))
        case Months(length, 0), "months":
            return replace(granularity, rule=Steps(length, 0, "months"))
    return None


def _look_up(name: str, by_name: Mapping[str, Granularity]) -> Granularity:
    plain = {_plain(spelling): g for spelling, g in by_name.items()}
    alias = canonical(name)
    match = by_name.get(name) or plain.get(_plain(name)) or plain.get(alias) or CATALOGUE.get(alias)
    if match is None:
        near = get_close_matches(alias, [*by_name, *_ALIASES], n=3, cutoff=0.5)
        near = list(dict.fromkeys(_ALIASES.get(n, n) for n in near))
        guess = f"did you mean {' or '.join(f'`{n}`' for n in near)}?"
        hint, facts = guess if near else f"use one of {', '.join(by_name)}", {"nearest": near}
        message = f"`{name}` is not a granularity"
        raise ParameterError(message, hint=hint, code="unknown-granularity", facts=facts)
    return match


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "-", name.strip().lower())
