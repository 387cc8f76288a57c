"""Rules made from what a user or a manifest wrote, each checked before it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any, cast

from timeveil.calendar.business import MONDAY_TO_FRIDAY, WEEKDAYS, WorkingDays, WorkingPeriods
from timeveil.calendar.civil import DAY, FIRST, LAST, as_ints, bad_calendar, civil_second, clock_second
from timeveil.calendar.custom import Boundaries, Groups
from timeveil.calendar.months import IsoYears, Months
from timeveil.calendar.parts import DayParts, Terms
from timeveil.calendar.rule import Clock, Rule
from timeveil.calendar.steps import Everything, Steps
from timeveil.errors import raising

_LONGEST = LAST - FIRST
_LENGTH_OF_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


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
        raise bad_calendar("a definition has a `kind` that is not known", f"use one of {', '.join(_READERS)}")
    error = bad_calendar(
        f"a definition of kind `{kind}` lacks a key, has one too many, or one of the wrong type",
        "see docs/reference/granularities.md for the keys of each kind",
    )
    causes = (TypeError, ValueError, AttributeError, OverflowError)
    with raising(error, on=causes):
        return _READERS[kind](**values)


def day_parts_rule(parts: Any, *, of: str) -> DayParts:
    """Parts of the day by the time each starts at."""
    named = _labelled(parts, of=of)
    cuts = sorted((clock_second(start, of=label), label) for label, start in named.items())
    _refuse_equal([second for second, _ in cuts], of=of)
    return DayParts(tuple((label, second) for second, label in cuts))


def terms_rule(starts: Any, gaps: Any, *, of: str) -> Terms:
    """Terms by the month and day each starts on."""
    named = _labelled(starts, of=of)
    cuts = sorted((*_month_day(start, of=label), label) for label, start in named.items())
    _refuse_equal([(month, day) for month, day, _ in cuts], of=of)
    left_out = _listed(gaps, of=of)
    if not set(left_out) < set(named):
        raise bad_calendar(
            f"the gaps of `{of}` do not fit its terms", "name some, not all, of the terms as gaps"
        )
    return Terms(tuple((label, month, day) for month, day, label in cuts), tuple(left_out))


def boundaries_rule(at: Any, labels: Any, clock: Clock, size: int, *, of: str) -> Boundaries:
    """Granules between boundaries in rising order, civil or in whole units of `size`."""
    given = _listed(at, of=of)
    if clock == "civil":
        edges = [civil_second(edge, of=of) for edge in given]
    else:
        edges = [whole(edge, of=of) * size for edge in given]
    if len(edges) < 2 or any(a >= b for a, b in pairwise(edges)):
        raise bad_calendar(
            f"`{of}` needs at least two boundaries, each later than the one before",
            "list the boundaries in order, without repeating one",
        )
    named = tuple(_listed(labels, of=of))
    if named and (len(named) != len(edges) - 1 or len(set(named)) != len(named)):
        raise bad_calendar(
            f"`{of}` has {len(named)} labels for {len(edges) - 1} granules, or one of them twice",
            "give one label for each pair of neighbouring boundaries, all different",
        )
    _check_labels(named, of=of)
    return Boundaries(tuple(edges), named, clock)


def working_days_rule(days: Any, holidays: Any, *, of: str) -> WorkingDays:
    """Working days by weekday name, less the holidays."""
    workdays: tuple[int, ...] = MONDAY_TO_FRIDAY
    if days is not None:
        names = [str(day).lower() for day in _listed(days, of=of)]
        if not names or any(name not in WEEKDAYS for name in names):
            raise bad_calendar(f"`{of}` has a weekday that is not known", f"use {', '.join(WEEKDAYS)}")
        workdays = tuple(sorted({WEEKDAYS.index(name) for name in names}))
    free = {civil_second(day, of=of) // DAY for day in _listed(holidays, of=of)}
    return WorkingDays(workdays, tuple(sorted(free)))


def groups_rule(of_rule: Rule, count: Any, anchor: int, *, of: str) -> Rule:
    """Several granules at a time; groups of steps are longer steps, groups of months are more months."""
    count = whole(count, of=of, key="n")
    if isinstance(of_rule, Everything):
        raise bad_calendar(f"`{of}` groups `all`, which is one granule", "group a finer granularity")
    if count < 1 or count * of_rule.shortest > _LONGEST:
        raise bad_calendar(
            f"`{of}` groups {count} granules at a time", "group at least 1, and not more than all of time"
        )
    match of_rule:
        case Steps(width, phase, clock):
            return Steps(width * count, phase + width * (anchor % count), clock)
        case Months(length, phase):
            return Months(length * count, phase + length * (anchor % count))
        case _:
            return _told_apart(Groups(of_rule, count, anchor % count), of=of)


def _told_apart(rule: Groups, *, of: str) -> Groups:
    """The groups of a list of boundaries, if no two have the same label."""
    if rule.extent is None:
        return rule
    first, last = rule.index(as_ints([rule.extent[0], rule.extent[1] - 1])).tolist()
    labels = rule.label(as_ints(range(first, last + 1)))
    if len(set(labels)) != len(labels):
        raise bad_calendar(
            f"two granules of `{of}` have the same label", "choose labels that cannot be mistaken"
        )
    return rule


def whole(value: Any, *, of: str, key: str | None = None) -> int:
    """A whole number, not a truth value; `key` is the one that holds it."""
    if isinstance(value, bool) or not isinstance(value, int):
        what = "something that" if key is None else f"`{key}`, which"
        raise bad_calendar(
            f"`{of}` has {what} is not a whole number", "write a whole number, without quotes around it"
        )
    if abs(value) > _LONGEST:
        raise bad_calendar(f"`{of}` has a number too large for a time", "stay within the years 1 to 9999")
    return value


def _labelled(parts: Any, *, of: str) -> dict[str, Any]:
    if not isinstance(parts, Mapping) or not parts:
        raise bad_calendar(f"`{of}` has no parts", "give each part a label and where it starts")
    _check_labels(parts, of=of)
    return dict(parts)


def _check_labels(labels: Iterable[Any], *, of: str) -> None:
    if not all(isinstance(label, str) and label.strip() for label in labels):
        raise bad_calendar(f"`{of}` has a label that is empty or not text", "give every granule a name")


def _listed(values: Any, *, of: str) -> list[Any]:
    if values is None:
        return []
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise bad_calendar(f"`{of}` has a single value where a list belongs", "write a list, [ ... ]")
    return list(values)


def _refuse_equal(cuts: list[Any], *, of: str) -> None:
    if len(set(cuts)) != len(cuts):
        raise bad_calendar(f"two parts of `{of}` start together", "give each part a start of its own")


def _month_day(value: Any, *, of: str) -> tuple[int, int]:
    month, dash, day = value.partition("-") if isinstance(value, str) else ("", "", "")
    numbers = dash and month.isdecimal() and day.isdecimal()
    if numbers and 1 <= int(month) <= 12 and 1 <= int(day) <= _LENGTH_OF_MONTH[int(month) - 1]:
        return int(month), int(day)
    raise bad_calendar(
        f"`{of}` does not start on a day that every year has", "write month and day as MM-DD, such as 09-01"
    )


def _clock(value: Any) -> Clock:
    if value not in ("civil", "seconds", "months"):
        raise bad_calendar("a definition has a clock that is not known", "use civil, seconds or months")
    return cast("Clock", value)


def _length(value: Any, unit: int = 1) -> int:
    if not 1 <= whole(value, of="a definition") * unit <= _LONGEST:
        raise bad_calendar("a definition has a length below 1, or too large", "use what `as_dict` gave")
    return int(value)


def _read_steps(width: Any, phase: Any, clock: Any) -> Rule:
    return Steps(_length(width), whole(phase, of="a definition"), _clock(clock))


def _read_months(length: Any, phase: Any) -> Rule:
    return Months(_length(length, 28 * DAY), whole(phase, of="a definition"))


def _read_groups(of: Any, n: Any, anchor: Any) -> Rule:
    grouped = Groups(rule_from(of), _length(n), whole(anchor, of="a definition"))
    return _told_apart(grouped, of="a definition")


def _read_working_periods(of: Any, days: Any) -> Rule:
    workdays = rule_from(days)
    if not isinstance(workdays, WorkingDays):
        raise bad_calendar("a definition has no working days", "give `days` of kind working-days")
    return WorkingPeriods(rule_from(of), workdays)


_READERS: dict[str, Callable[..., Rule]] = {
    "steps": _read_steps,
    "months": _read_months,
    "iso-years": IsoYears,
    "everything": Everything,
    "day-parts": lambda parts: day_parts_rule(parts, of="a definition"),
    "terms": lambda starts, gaps: terms_rule(starts, gaps, of="a definition"),
    "working-days": lambda days, holidays: working_days_rule(days, holidays, of="a definition"),
    "working-periods": _read_working_periods,
    "boundaries": lambda at, labels, clock: boundaries_rule(at, labels, _clock(clock), 1, of="a definition"),
    "groups": _read_groups,
}
