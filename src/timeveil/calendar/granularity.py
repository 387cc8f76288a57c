"""A granularity: a named way to cut time into granules, and rules made from plain values.

What a user or a manifest wrote is checked before it becomes a rule: `definitions` and `from_dict` go through
the same functions here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import numpy.typing as npt

from timeveil.calendar.civil import (
    DAY,
    FIRST,
    GAP,
    LAST,
    Clock,
    Ints,
    as_ints,
    bad_calendar,
    civil_second,
    clock_second,
)
from timeveil.calendar.edges import Rule
from timeveil.calendar.rules import (
    MONDAY_TO_FRIDAY,
    WEEKDAYS,
    Boundaries,
    DayParts,
    Everything,
    Groups,
    IsoYears,
    Months,
    Steps,
    Terms,
    WorkingDays,
    WorkingPeriods,
)
from timeveil.errors import raising

__all__ = ["GAP", "Granularity"]

_LONGEST = LAST - FIRST
_MONTH_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_UNTITLED = "a definition"


@dataclass(frozen=True, slots=True)
class Granularity:
    """A name, the convention in words, and the rule that maps instants to granules and back.

    Instants are civil seconds, or seconds or months since a start, whichever `clock` says. A granule is
    half open: start <= t < end. On a table, a `Timeline` looks after zones.

    >>> from timeveil.calendar.catalogue import granularity
    >>> week = granularity("week")
    >>> week.title
    'ISO week, Monday to Sunday'
    >>> week.label(week.index([1_136_073_600]))  # 2006-01-01
    ['2005-W52']
    """

    name: str
    title: str
    rule: Rule

    @property
    def has_gaps(self) -> bool:
        """Whether some instants are in no granule."""
        return self.rule.has_gaps

    @property
    def clock(self) -> Clock:
        """The number line it reads: `civil`, `seconds`, `months` or `any`."""
        return self.rule.clock

    def index(self, instants: npt.ArrayLike) -> Ints:
        """The granule of each instant, `GAP` where there is none."""
        return self.rule.index(as_ints(instants))

    def start(self, index: npt.ArrayLike) -> Ints:
        """First instant of each granule."""
        return self.rule.start(as_ints(index))

    def end(self, index: npt.ArrayLike) -> Ints:
        """First instant after each granule."""
        return self.rule.end(as_ints(index))

    def label(self, index: npt.ArrayLike) -> list[str]:
        """A label for each granule, unique within the granularity."""
        return self.rule.label(as_ints(index).reshape(-1))

    def as_dict(self) -> dict[str, Any]:
        """The whole definition as plain values, as a manifest carries it."""
        return {"name": self.name, "title": self.title, **self.rule.as_dict()}

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> Granularity:
        """The granularity that `as_dict` described.

        >>> from timeveil.calendar.catalogue import granularity
        >>> Granularity.from_dict(granularity("month").as_dict()) == granularity("month")
        True
        """
        if not isinstance(described, Mapping):
            raise bad_calendar("a granularity is not described by a table", "use what `as_dict` returned")
        values = dict(described)
        name, title = values.pop("name", None), values.pop("title", None)
        if not isinstance(name, str) or not name or not isinstance(title, str):
            raise bad_calendar("a granularity has no name or no title", "use what `as_dict` returned")
        return cls(name, title, rule_from(values))

    def __repr__(self) -> str:
        return f"<Granularity {self.name}: {self.title}>"


def rule_from(described: Any) -> Rule:
    """The rule that `Rule.as_dict` described.

    >>> rule_from(Months(3).as_dict())
    Months(length=3, phase=0)
    """
    if not isinstance(described, Mapping):
        raise bad_calendar("a definition is not a table", "describe a granularity by `kind` and its keys")
    values = dict(described)
    kind = values.pop("kind", None)
    if not isinstance(kind, str) or kind not in _READERS:
        raise bad_calendar("a definition has an unknown `kind`", f"use one of {', '.join(_READERS)}")
    error = bad_calendar(
        f"a definition of kind `{kind}` lacks a key, has one too many, or one of the wrong type",
        "see docs/reference/granularities.md for the keys of each kind",
    )
    # Keys become keyword arguments: one missing, too many or of a wrong type ends in one of these.
    with raising(error, on=(TypeError, ValueError, AttributeError, OverflowError)):
        return _READERS[kind](**values)


def day_parts_rule(parts: Any, *, of: str) -> DayParts:
    """Parts of the day, each by the time it starts at."""
    starts = [(clock_second(start, of=label), label) for label, start in _labelled(parts, of=of)]
    return DayParts(tuple((label, second) for second, label in _sorted_apart(starts, of=of)))


def terms_rule(starts: Any, gaps: Any, *, of: str) -> Terms:
    """Terms by the month and day each starts on."""
    cuts = [(_month_day(start, of=label), label) for label, start in _labelled(starts, of=of)]
    terms = tuple((label, month, day) for (month, day), label in _sorted_apart(cuts, of=of))
    gap_labels = tuple(_listed(gaps, of=of))
    if not set(gap_labels) < {label for label, _, _ in terms}:
        raise bad_calendar(
            f"the gaps of `{of}` do not fit its terms", "name some, not all, of the terms as gaps"
        )
    return Terms(terms, gap_labels)


def boundaries_rule(at: Any, labels: Any, clock: Clock, size: int, *, of: str) -> Boundaries:
    """Granules between boundaries in rising order, civil or in whole units of `size`."""
    boundaries = _listed(at, of=of)
    if clock == "civil":
        edges = tuple(civil_second(boundary, of=of) for boundary in boundaries)
    else:
        edges = tuple(whole_number(boundary, of=of) * size for boundary in boundaries)
    if len(edges) < 2 or any(a >= b for a, b in pairwise(edges)):
        raise bad_calendar(
            f"`{of}` needs at least two boundaries, each later than the one before",
            "list the boundaries in order, without repeating one",
        )
    names = tuple(_listed(labels, of=of))
    if names and (len(names) != len(edges) - 1 or len(set(names)) != len(names)):
        raise bad_calendar(
            f"`{of}` has {len(names)} labels for {len(edges) - 1} granules, or one of them twice",
            "give one label for each pair of neighbouring boundaries, all different",
        )
    _check_labels(names, of=of)
    return Boundaries(edges, names, clock)


def working_days_rule(days: Any, holidays: Any, *, of: str) -> WorkingDays:
    """Working days by weekday name, less the holidays."""
    workdays: tuple[int, ...] = MONDAY_TO_FRIDAY
    if days is not None:
        names = [str(day).lower() for day in _listed(days, of=of)]
        if not names or any(name not in WEEKDAYS for name in names):
            raise bad_calendar(f"`{of}` has an unknown weekday", f"use {', '.join(WEEKDAYS)}")
        workdays = tuple(sorted({WEEKDAYS.index(name) for name in names}))
    dates = {civil_second(day, of=of) // DAY for day in _listed(holidays, of=of)}
    return WorkingDays(workdays, tuple(sorted(dates)))


def working_periods_rule(period: Rule, days: WorkingDays, *, of: str) -> WorkingPeriods:
    """The working days of each granule of another rule."""
    if period.clock != "civil" or period.grain % DAY or period.has_gaps:
        raise bad_calendar(
            f"`{of}` takes the business days of something that is not made of whole days",
            "use week, month, quarter, half-year, year or another without gaps",
        )
    return WorkingPeriods(period, days)


def groups_rule(of_rule: Rule, n: Any, anchor: int, *, of: str) -> Rule:
    """Several granules at a time; groups of steps are longer steps, groups of months are more months."""
    count = whole_number(n, of=of, key="n")
    if isinstance(of_rule, Everything):
        raise bad_calendar(f"`{of}` groups `all`, which is one granule", "group a finer granularity")
    if count < 1 or count * of_rule.shortest > _LONGEST:
        raise bad_calendar(
            f"`{of}` groups {count} granules at a time", "group at least 1, and not more than all of time"
        )
    # Steps and months have shorter labels and faster arithmetic than groups of them.
    match of_rule:
        case Steps(width, phase, clock):
            return Steps(width * count, phase + width * (anchor % count), clock)
        case Months(length, phase):
            return Months(length * count, phase + length * (anchor % count))
        case _:
            return _distinct(Groups(of_rule, count, anchor % count), of=of)


def whole_number(value: Any, *, of: str, key: str | None = None) -> int:
    """A whole number, not a truth value; `key` is the key that holds it."""
    if isinstance(value, bool) or not isinstance(value, int):
        subject = "something that" if key is None else f"`{key}`, which"
        raise bad_calendar(
            f"`{of}` has {subject} is not a whole number", "write a whole number, without quotes around it"
        )
    if abs(value) > _LONGEST:
        raise bad_calendar(f"`{of}` has a number too large for a time", "stay within the years 1 to 9999")
    return value


def _distinct(rule: Groups, *, of: str) -> Groups:
    """The groups of a list of boundaries, if no two have the same label."""
    if rule.extent is None:
        return rule
    first, last = rule.index(as_ints([rule.extent[0], rule.extent[1] - 1])).tolist()
    labels = rule.label(as_ints(range(first, last + 1)))
    if len(set(labels)) != len(labels):
        raise bad_calendar(f"two granules of `{of}` have the same label", "choose labels that stay different")
    return rule


def _labelled(parts: Any, *, of: str) -> list[tuple[str, Any]]:
    if not isinstance(parts, Mapping) or not parts:
        raise bad_calendar(f"`{of}` has no parts", "give each part a label and where it starts")
    _check_labels(parts, of=of)
    return list(parts.items())


def _check_labels(labels: Iterable[Any], *, of: str) -> None:
    if not all(isinstance(label, str) and label.strip() for label in labels):
        raise bad_calendar(f"`{of}` has a label that is empty or not text", "give every granule a name")


def _listed(values: Any, *, of: str) -> list[Any]:
    if values is None:
        return []
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise bad_calendar(f"`{of}` has a single value where a list belongs", "write a list, [ ... ]")
    return list(values)


def _sorted_apart(cuts: list[tuple[Any, str]], *, of: str) -> list[tuple[Any, str]]:
    if len({start for start, _ in cuts}) != len(cuts):
        raise bad_calendar(f"two parts of `{of}` start together", "let each part start at a different time")
    return sorted(cuts)


def _month_day(value: Any, *, of: str) -> tuple[int, int]:
    month, dash, day = value.partition("-") if isinstance(value, str) else ("", "", "")
    numbers = dash and month.isdecimal() and day.isdecimal()
    if numbers and 1 <= int(month) <= 12 and 1 <= int(day) <= _MONTH_LENGTHS[int(month) - 1]:
        return int(month), int(day)
    raise bad_calendar(
        f"`{of}` does not start on a day that every year has", "write month and day as MM-DD, such as 09-01"
    )


def _clock(value: Any) -> Clock:
    if value not in ("civil", "seconds", "months"):
        raise bad_calendar("a definition has an unknown clock", "use civil, seconds or months")
    return cast("Clock", value)


def _length(value: Any, unit: int = 1) -> int:
    if not 1 <= whole_number(value, of=_UNTITLED) * unit <= _LONGEST:
        raise bad_calendar("a definition has a length below 1, or too large", "use what `as_dict` returned")
    return int(value)


def _read_steps(width: Any, phase: Any, clock: Any) -> Rule:
    return Steps(_length(width), whole_number(phase, of=_UNTITLED), _clock(clock))


def _read_months(length: Any, phase: Any) -> Rule:
    return Months(_length(length, 28 * DAY), whole_number(phase, of=_UNTITLED))


def _read_groups(of: Any, n: Any, anchor: Any) -> Rule:
    groups = Groups(rule_from(of), _length(n), whole_number(anchor, of=_UNTITLED))
    return _distinct(groups, of=_UNTITLED)


def _read_working_periods(of: Any, days: Any) -> Rule:
    workdays = rule_from(days)
    if not isinstance(workdays, WorkingDays):
        raise bad_calendar("a definition has no working days", "give `days` of kind working-days")
    return working_periods_rule(rule_from(of), workdays, of=_UNTITLED)


_READERS: dict[str, Callable[..., Rule]] = {
    "steps": _read_steps,
    "months": _read_months,
    "iso-years": IsoYears,
    "everything": Everything,
    "day-parts": lambda parts: day_parts_rule(parts, of=_UNTITLED),
    "terms": lambda starts, gaps: terms_rule(starts, gaps, of=_UNTITLED),
    "working-days": lambda days, holidays: working_days_rule(days, holidays, of=_UNTITLED),
    "working-periods": _read_working_periods,
    "boundaries": lambda at, labels, clock: boundaries_rule(at, labels, _clock(clock), 1, of=_UNTITLED),
    "groups": _read_groups,
}
