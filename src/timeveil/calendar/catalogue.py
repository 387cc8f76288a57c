"""The granularities that come with timeveil, and how names are looked up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import pyarrow as pa

from timeveil.calendar.business import WorkingDays, WorkingPeriods
from timeveil.calendar.civil import DAY, HOUR, MINUTE, WEEK
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.months import IsoYears, Months
from timeveil.calendar.parts import DayParts, Terms
from timeveil.calendar.rule import Clock
from timeveil.calendar.steps import MONDAY, SUNDAY, Everything, Steps
from timeveil.domain.relation import TimeAxis
from timeveil.errors import ParameterError

UNITS: dict[str, tuple[Clock, int]] = {
    "second": ("seconds", 1),
    "minute": ("seconds", MINUTE),
    "hour": ("seconds", HOUR),
    "day": ("seconds", DAY),
    "week": ("seconds", WEEK),
    "month": ("months", 1),
    "year": ("months", 12),
}
"""Units of a relative time column: the number line each stands on and its size there."""

_ALL = Granularity("all", "all of time in one granule", Everything())
_DAY_PARTS = (("morning", 6 * HOUR), ("afternoon", 12 * HOUR), ("evening", 18 * HOUR), ("night", 22 * HOUR))
_SHIFTS = (("early", 7 * HOUR), ("late", 15 * HOUR), ("night", 23 * HOUR))
_TERMS = (("spring", 2, 1), ("summer", 7, 1), ("autumn", 9, 1))

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
    Granularity("iso-year", "ISO year, 52 or 53 whole ISO weeks", IsoYears()),
    Granularity("decade", "decade, from a year that ends in 0", Months(120)),
    _ALL,
)
_FURTHER = (
    Granularity("business-day", "business day, Monday to Friday", WorkingDays()),
    Granularity(
        "business-month",
        "the business days, Monday to Friday, of a calendar month",
        WorkingPeriods(Months(1), WorkingDays()),
    ),
    Granularity("day-part", "morning 6h, afternoon 12h, evening 18h, night 22h", DayParts(_DAY_PARTS)),
    Granularity("shift", "hospital shift: early 7h, late 15h, night 23h", DayParts(_SHIFTS)),
    Granularity("academic-term", "spring 1 February, summer 1 July, autumn 1 September", Terms(_TERMS)),
)
CATALOGUE: Mapping[str, Granularity] = {g.name: g for g in (*_DEFAULT, *_FURTHER)}
"""Every granularity of the civil calendar by name."""
FIXED = frozenset(g.name for g in _DEFAULT)
"""Those whose bounds are not a matter of choice."""


def _offset(name: str, title: str, width: int, clock: Clock) -> Granularity:
    return Granularity(name, title, Steps(width, 0, clock))


_RELATIVE: Mapping[str, tuple[Granularity, ...]] = {
    "seconds": (
        _offset("second", "second since the start", 1, "seconds"),
        _offset("minute", "minute since the start", MINUTE, "seconds"),
        _offset("5-minutes", "5 minutes at a time since the start", 5 * MINUTE, "seconds"),
        _offset("15-minutes", "15 minutes at a time since the start", 15 * MINUTE, "seconds"),
        _offset("30-minutes", "30 minutes at a time since the start", 30 * MINUTE, "seconds"),
        _offset("hour", "hour since the start", HOUR, "seconds"),
        _offset("6-hours", "6 hours at a time since the start", 6 * HOUR, "seconds"),
        _offset("day", "day of 24 hours since the start", DAY, "seconds"),
        _offset("week", "7 days at a time since the start", WEEK, "seconds"),
        _offset("4-weeks", "28 days at a time since the start", 4 * WEEK, "seconds"),
        _ALL,
    ),
    "months": (
        _offset("month", "month since the start", 1, "months"),
        _offset("quarter", "3 months at a time since the start", 3, "months"),
        _offset("half-year", "6 months at a time since the start", 6, "months"),
        _offset("year", "12 months at a time since the start", 12, "months"),
        _offset("decade", "120 months at a time since the start", 120, "months"),
        _ALL,
    ),
}

_ALIASES = {
    "iso-week": "week",
    "week-monday": "week",
    "monday-week": "week",
    "week-iso": "week",
    "sunday-week": "week-sunday",
    "us-week": "week-sunday",
    "quarter-hour": "15-minutes",
    "half-hour": "30-minutes",
    "halfyear": "half-year",
    "semester": "half-year",
    "year-iso": "iso-year",
    "isoyear": "iso-year",
    "working-day": "business-day",
    "workday": "business-day",
    "working-month": "business-month",
    "hospital-shift": "shift",
    "daypart": "day-part",
    "term": "academic-term",
    "everything": "all",
}


def canonical(name: str) -> str:
    """A name as the catalogue writes it: `ISO week`, `15_minutes` and `months` are understood.

    >>> [canonical(name) for name in ("ISO week", "15_minutes", "Half-Years", "6 hours", "1 hour")]
    ['week', '15-minutes', 'half-year', '6-hours', 'hour']
    """
    known = {**CATALOGUE, **{g.name: g for family in _RELATIVE.values() for g in family}}
    plain = _plain(name)
    for candidate in _spellings(plain):
        if candidate in known:
            return candidate
        if candidate in _ALIASES:
            return _ALIASES[candidate]
    return plain


def granularity(name: str) -> Granularity:
    """A granularity of the civil calendar by its name.

    >>> granularity("month").label([2006 * 12])
    ['2006-01']
    """
    found = CATALOGUE.get(canonical(name))
    if found is None:
        raise _unknown(name, CATALOGUE)
    return found


def available(axis: TimeAxis, definitions: Iterable[Granularity] | None = None) -> dict[str, Granularity]:
    """Every granularity that fits an axis by name, the user's own included."""
    named = {g.name: g for g in _family(axis)} if axis.kind == "relative" else dict(CATALOGUE)
    for own in definitions or ():
        named[own.name] = fit(own, axis) if _fits(own, axis) else own
    return named


def resolve(
    names: Iterable[str | Granularity] | str | Granularity | None,
    axis: TimeAxis,
    definitions: Iterable[Granularity] | None = None,
) -> tuple[Granularity, ...]:
    """The granularities to consider: those named, or without names the default ones and the user's own.

    >>> import pyarrow as pa
    >>> axis = TimeAxis("relative", pa.int64(), unit="day")
    >>> [g.name for g in resolve(None, axis)]
    ['day', 'week', '4-weeks', 'all']
    """
    own = _granularities(definitions, "definitions", Granularity)
    if names is None:
        default = _family(axis) if axis.kind == "relative" else [g for g in _DEFAULT if _fits(g, axis)]
        chosen = {g.name: g for g in (*default, *(fit(g, axis) for g in own))}
        return tuple(chosen.values())
    named = [names] if isinstance(names, str | Granularity) else names
    wanted = _granularities(named, "granularities", Granularity, str)
    if not wanted:
        raise ParameterError(
            "no granularity was named", hint="name at least one, or leave it out", code="bad-parameter"
        )
    known = available(axis, own)
    found = [fit(_look_up(name, known) if isinstance(name, str) else name, axis) for name in wanted]
    return tuple({g.name: g for g in found}.values())


def fit(granularity: Granularity, axis: TimeAxis) -> Granularity:
    """The granularity as it reads on an axis, or a clear error if it has no meaning there."""
    clock: Clock = "civil" if axis.kind != "relative" else unit_of(axis)[0]
    rebound = granularity
    if granularity.clock not in (clock, "any") and axis.kind == "relative":
        rebound = _on_relative(granularity, axis) or granularity
    if rebound.clock not in (clock, "any"):
        raise _misplaced(granularity, axis)
    if axis.kind == "relative" and rebound.rule.grain % unit_of(axis)[1]:
        raise ParameterError(
            f"granularity `{granularity.name}` is finer than the time column, which counts in {axis.unit}s",
            hint=f"use one of {', '.join(g.name for g in _family(axis))}",
            code="bad-parameter",
        )
    if pa.types.is_date32(axis.type) and rebound.rule.grain % DAY:
        raise ParameterError(
            f"granularity `{granularity.name}` cuts days into parts, and the time column has dates",
            hint="use day or a coarser one, or give the time of day, too",
            code="bad-parameter",
        )
    return rebound


def _granularities(given: Any, parameter: str, *kinds: type) -> list[Any]:
    """What a parameter lists, if it is a list of granularities or of their names."""
    listed = [] if given is None else list(given) if isinstance(given, Iterable) else [given]
    if not all(isinstance(one, kinds) for one in listed):
        raise ParameterError(
            f"`{parameter}` is not a list of granularities{' or their names' if str in kinds else ''}",
            hint=f"write {parameter}=[...], each {' or '.join(_MEANT[kind] for kind in kinds)}",
            code="bad-parameter",
        )
    return listed


_MEANT: Mapping[type, str] = {
    Granularity: "made by a function of timeveil.calendar.definitions",
    str: "a name such as 'week'",
}


def unit_of(axis: TimeAxis) -> tuple[Clock, int]:
    """The number line of a relative axis and the size of its unit there."""
    if axis.unit not in UNITS:
        raise ParameterError(
            "relative time needs a unit" if axis.unit is None else f"`{axis.unit}` is not a unit of time",
            hint=f"use one of {', '.join(UNITS)}",
            code="unit-missing" if axis.unit is None else "bad-parameter",
        )
    return UNITS[axis.unit]


def _family(axis: TimeAxis) -> tuple[Granularity, ...]:
    clock, size = unit_of(axis)
    return tuple(g for g in _RELATIVE[clock] if g.rule.shortest >= size)


def _fits(granularity: Granularity, axis: TimeAxis) -> bool:
    try:
        fit(granularity, axis)
    except ParameterError:
        return False
    return True


def _on_relative(granularity: Granularity, axis: TimeAxis) -> Granularity | None:
    """A catalogue name, or a grouping without an anchor, reads on a relative axis as well."""
    if CATALOGUE.get(granularity.name) == granularity:
        return {g.name: g for g in _RELATIVE[unit_of(axis)[0]]}.get(granularity.name)
    match granularity.rule, unit_of(axis)[0]:
        case Steps(width, phase, "civil"), "seconds" if phase in (0, MONDAY, SUNDAY):
            return replace(granularity, rule=Steps(width, 0, "seconds"))
        case Months(length, 0), "months":
            return replace(granularity, rule=Steps(length, 0, "months"))
    return None


def _look_up(name: str, known: Mapping[str, Granularity]) -> Granularity:
    own = {_plain(other): g for other, g in known.items()}
    found = (
        known.get(name) or own.get(_plain(name)) or own.get(canonical(name)) or CATALOGUE.get(canonical(name))
    )
    if found is None:
        raise _unknown(name, known)
    return found


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "-", name.strip().lower())


def _spellings(plain: str) -> Iterable[str]:
    """The name itself, without a plural s, and without a leading 1."""
    yield plain
    single = plain.removesuffix("s")
    yield single
    yield f"{plain}s"
    yield plain.removeprefix("1-")
    yield single.removeprefix("1-")


def _unknown(name: str, known: Mapping[str, Granularity]) -> ParameterError:
    near = get_close_matches(canonical(name), [*known, *_ALIASES], n=3, cutoff=0.5)
    near = list(dict.fromkeys(_ALIASES.get(n, n) for n in near))
    hint = (
        f"did you mean {' or '.join(f'`{n}`' for n in near)}?" if near else f"use one of {', '.join(known)}"
    )
    return ParameterError(
        f"`{name}` is not a granularity", hint=hint, code="unknown-granularity", facts={"nearest": near}
    )


def _misplaced(granularity: Granularity, axis: TimeAxis) -> ParameterError:
    if axis.kind == "relative":
        return ParameterError(
            f"granularity `{granularity.name}` needs calendar dates; the time column counts {axis.unit}s",
            hint=f"use one of {', '.join(g.name for g in _family(axis))}",
            code="bad-parameter",
        )
    return ParameterError(
        f"granularity `{granularity.name}` counts from a start; the time column has calendar dates",
        hint=f"use one of {', '.join(CATALOGUE)}",
        code="bad-parameter",
    )
