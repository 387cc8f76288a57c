"""Granularities that users define, in Python or in the `[granularity.<name>]` tables of a job file.

A definition may take a name of the catalogue whose bounds are a matter of choice (`day-part`, `shift`,
`academic-term`, `business-day`, `business-month`); it then replaces it. What a manifest describes is read and
checked by the same functions (`rule_from`).
"""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any, cast

from timeveil.calendar import civil, rules
from timeveil.calendar.catalogue import CATALOGUE, FIXED, canonical
from timeveil.calendar.civil import DAY, GAP, LONGEST, Clock, as_ints, bad_calendar, listed, whole_number
from timeveil.calendar.granularity import Granularity, Rule
from timeveil.errors import raising

Date = str | dt.date | dt.datetime

_UNTITLED = "a definition"  # what a rule read from a manifest is called in messages
# The unit in which a manifest counts on each clock; none on the civil one.
_UNITS: Mapping[Clock, str | None] = {"civil": None, "seconds": "second", "months": "month"}


def boundaries(
    name: str,
    at: Sequence[Date | int],
    labels: Sequence[str] | None = None,
    *,
    title: str | None = None,
    unit: str | None = None,
    coded: bool = False,
) -> Granularity:
    """Granules between boundaries in rising order; before the first and after the last is a gap.

    With `unit` the boundaries are whole numbers of it, for a relative time column. If `coded`, everything
    before the first boundary is a granule too, and everything from the last one on.

    >>> waves = boundaries("wave", ["2020-03-01", "2020-07-01", "2021-01-01"], ["first", "second"])
    >>> waves.label([0, 1])
    ['first', 'second']
    """
    if unit is not None and unit not in civil.UNITS:
        raise bad_calendar(f"`{name}` has an unknown unit", f"use one of {', '.join(civil.UNITS)}")
    clock, size = civil.UNITS.get(unit or "", ("civil", 1))
    instant = civil.civil_second if clock == "civil" else whole_number
    edges = tuple(instant(boundary, of=name) * size for boundary in listed(at, of=name))
    if not isinstance(coded, bool):
        raise bad_calendar(f"`coded` of `{name}` is neither true nor false", "write coded = true")
    if len(edges) < 2 - coded or any(a >= b for a, b in pairwise(edges)):
        number = "one boundary" if coded else "two boundaries"
        message = f"`{name}` needs at least {number}, each later than the one before"
        raise bad_calendar(message, "list the boundaries in order, without repeating one")
    names, granules = tuple(listed(labels, of=name)), len(edges) - 1 + 2 * coded
    if names and (len(names) != granules or len(set(names)) != len(names)):
        message = f"`{name}` has {len(names)} labels for {granules} granules, or one of them twice"
        ends = ", and for both ends" if coded else ""
        hint = f"give one label for each pair of neighbouring boundaries{ends}, all different"
        raise bad_calendar(message, hint)
    civil.check_labels(names, of=name)
    rule = rules.Boundaries(edges, names, clock, coded)
    return _named(name, title or f"{granules} granules between listed boundaries", rule)


def groups_of(
    name: str,
    granularity: str | Granularity,
    n: int,
    anchor: Date | int | None = None,
    *,
    title: str | None = None,
) -> Granularity:
    """Granules of another granularity, n at a time.

    A group begins with the granule that holds the date `anchor`, or that has the number `anchor`.

    >>> groups_of("fortnight", "week", 2, anchor="2006-01-02").label([937, 938])
    ['2005-12-05 to 2005-12-18', '2005-12-19 to 2006-01-01']
    """
    of = _look_up(granularity, {}, of=name)
    count = whole_number(n, of=name, subject="`n`, which")
    first = _anchor(anchor, of, name=name)
    if isinstance(of.rule, rules.Everything):
        raise bad_calendar(f"`{name}` groups `all`, which is one granule", "group a finer granularity")
    if count < 1 or count * of.rule.shortest > LONGEST:
        hint = "group at least 1, and not more than all of time"
        raise bad_calendar(f"`{name}` groups {count} granules at a time", hint)
    rule: Rule
    match of.rule:
        # Steps and months have shorter labels and faster arithmetic than groups of them.
        case rules.Steps(width, phase, clock):
            rule = rules.Steps(width * count, phase + width * (first % count), clock)
        case rules.Months(length, phase):
            rule = rules.Months(length * count, phase + length * (first % count))
        case _:
            rule = _distinct(rules.Groups(of.rule, count, first % count), of=name)
    return _named(name, title or f"{n} at a time of: {of.title}", rule)


def day_parts(name: str, parts: Mapping[str, str | dt.time], *, title: str | None = None) -> Granularity:
    """Parts of the day, each by the time it starts at; the last runs past midnight.

    >>> half = day_parts("half-day", {"first": "00:00", "second": "12:00"})
    >>> half.label(half.index([0, 50_000]))
    ['1970-01-01 first', '1970-01-01 second']
    """
    cuts = civil.sorted_parts(parts, civil.clock_second, of=name)
    rule = rules.DayParts(tuple((label, second) for second, label in cuts))
    return _named(name, title or ", ".join(f"{k} {v}" for k, v in rule.as_dict()["parts"].items()), rule)


shifts = day_parts


def terms(
    name: str, starts: Mapping[str, str], gaps: Iterable[str] = (), *, title: str | None = None
) -> Granularity:
    """Terms of the year, each by the month and day it starts on; those in `gaps` are no granules.

    >>> term = terms("term", {"autumn": "09-15", "spring": "02-01", "break": "07-01"}, gaps=["break"])
    >>> term.has_gaps
    True
    """
    cuts = tuple((label, *start) for start, label in civil.sorted_parts(starts, civil.month_day, of=name))
    gap_labels = tuple(listed(gaps, of=name))
    if not set(gap_labels) < set(starts):
        hint = "name some, not all, of the terms as gaps"
        raise bad_calendar(f"the gaps of `{name}` do not fit its terms", hint)
    rule = rules.Terms(cuts, gap_labels)
    return _named(name, title or ", ".join(f"{k} {v}" for k, v in rule.as_dict()["starts"].items()), rule)


def business_days(
    name: str = "business-day",
    *,
    days: Iterable[str] | None = None,
    holidays: Iterable[Date] = (),
    title: str | None = None,
) -> Granularity:
    """Working days: Monday to Friday or the `days` named, less the holidays.

    >>> business_days(holidays=["2006-12-25"]).index([1_167_004_800]) == GAP  # 2006-12-25
    array([ True])
    """
    workdays: tuple[int, ...] = rules.MONDAY_TO_FRIDAY
    if days is not None:
        names = [str(day).lower() for day in listed(days, of=name)]
        if not names or any(day not in rules.WEEKDAYS for day in names):
            raise bad_calendar(f"`{name}` has an unknown weekday", f"use {', '.join(rules.WEEKDAYS)}")
        workdays = tuple(sorted({rules.WEEKDAYS.index(day) for day in names}))
    dates = {civil.civil_second(day, of=name) // DAY for day in listed(holidays, of=name)}
    rule = rules.WorkingDays(workdays, tuple(sorted(dates)))
    return _named(name, title or f"business day, {len(dates)} holidays left out", rule)


def business_periods(
    name: str,
    of: str | Granularity = "month",
    *,
    days: Iterable[str] | None = None,
    holidays: Iterable[Date] = (),
    title: str | None = None,
) -> Granularity:
    """The working days of each granule of another granularity, such as those of a month.

    >>> business_periods("business-week", "week").label([0])
    ['1970-W01 (working days)']
    """
    period = _look_up(of, {}, of=name)
    workdays = business_days(name, days=days, holidays=holidays).rule
    rule = _working_periods(period.rule, workdays, of=name)
    return _named(name, title or f"the business days of: {period.title}", rule)


_KINDS: dict[str, tuple[Callable[..., Granularity], set[str], set[str]]] = {
    "boundaries": (boundaries, {"at"}, {"labels", "unit", "coded"}),
    "groups": (groups_of, {"of", "n"}, {"anchor"}),
    "day-parts": (day_parts, {"parts"}, set()),
    "shifts": (shifts, {"parts"}, set()),
    "terms": (terms, {"starts"}, {"gaps"}),
    "business-days": (business_days, set(), {"days", "holidays"}),
    "business-periods": (business_periods, {"of"}, {"days", "holidays"}),
}
"""The function of each kind of definition, and the keys it must and may have besides `kind` and `title`."""


def from_toml(tables: Mapping[str, Any]) -> list[Granularity]:
    """The granularities of the `[granularity.<name>]` tables of a job file, which may build on each other."""
    defined: dict[str, Granularity] = {}
    checked = {name: _checked(name, table) for name, table in tables.items()}
    builds_on = {name: [of for of in checked if of == table.get("of")] for name, table in checked.items()}
    try:
        order = list(TopologicalSorter(builds_on).static_order())
    except CycleError as cycle:
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(cycle.args[1]))
        message = f"the definitions of {names} build on each other in a circle"
        hint = "let one of them build on a granularity of the catalogue"
        raise bad_calendar(message, hint) from None
    for name in order:
        table = checked[name]
        define, _, _ = _KINDS[table.pop("kind")]
        if "of" in table:
            key = "granularity" if define is groups_of else "of"
            table[key] = _look_up(table.pop("of"), defined, of=name)
        defined[name] = define(name, **table)
    return [defined[name] for name in tables]


def _checked(name: str, table: Any) -> dict[str, Any]:
    if not isinstance(table, Mapping):
        raise bad_calendar(f"`granularity.{name}` is not a table", f"write [granularity.{name}] and its keys")
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise bad_calendar(f"`granularity.{name}` has no known `kind`", f"use one of {', '.join(_KINDS)}")
    _, needed, optional = _KINDS[kind]
    keys = needed | optional | {"kind", "title"}
    for key in table:
        if key not in keys:
            message = f"`granularity.{name}` has an unknown key `{key}`"
            raise bad_calendar(message, _nearest(str(key), sorted(keys)))
    for key in sorted(needed - set(table)):
        raise bad_calendar(f"`granularity.{name}` lacks `{key}`", f"add `{key}` to the table")
    if not isinstance(table.get("title", ""), str):
        raise bad_calendar(f"the title of `granularity.{name}` is not text", "write it in quotes")
    return dict(table)


def rule_from(described: Any) -> Rule:
    """The rule that `Rule.as_dict` described."""
    if not isinstance(described, Mapping):
        raise bad_calendar("a definition is not a table", "describe a granularity by `kind` and its keys")
    values = dict(described)
    kind = values.pop("kind", None)
    if not isinstance(kind, str) or kind not in _READERS:
        raise bad_calendar("a definition has an unknown `kind`", f"use one of {', '.join(_READERS)}")
    message = f"a definition of kind `{kind}` lacks a key, has one too many, or one of the wrong type"
    error = bad_calendar(message, "see docs/reference/granularities.md for the keys of each kind")
    # Keys become keyword arguments: one missing, too many or of a wrong type ends in one of these.
    with raising(error, on=(TypeError, ValueError, AttributeError, OverflowError)):
        return _READERS[kind](**values)


_READERS: dict[str, Callable[..., Rule]] = {
    "steps": lambda width, phase, clock: rules.Steps(_length(width), _number(phase), _clock(clock)),
    "months": lambda length, phase: rules.Months(_length(length, 28 * DAY), _number(phase)),
    "iso-years": rules.IsoYears,
    "everything": rules.Everything,
    "day-parts": lambda parts: day_parts(_UNTITLED, parts).rule,
    "terms": lambda starts, gaps: terms(_UNTITLED, starts, gaps).rule,
    "working-days": lambda days, holidays: business_days(_UNTITLED, days=days, holidays=holidays).rule,
    "working-periods": lambda of, days: _working_periods(rule_from(of), rule_from(days), of=_UNTITLED),
    "boundaries": lambda at, labels, clock, coded=False: (
        boundaries(_UNTITLED, at, labels, unit=_UNITS[_clock(clock)], coded=coded).rule
    ),
    "groups": lambda of, n, anchor: _distinct(rules.Groups(rule_from(of), _length(n), _number(anchor))),
}


def _clock(value: Any) -> Clock:
    if value not in _UNITS:
        raise bad_calendar("a definition has an unknown clock", "use civil, seconds or months")
    return cast("Clock", value)


def _number(value: Any) -> int:
    return whole_number(value, of=_UNTITLED)


def _length(value: Any, unit: int = 1) -> int:
    if not 1 <= _number(value) * unit <= LONGEST:
        raise bad_calendar("a definition has a length below 1, or too large", "use what `as_dict` returned")
    return int(value)


def _working_periods(period: Rule, days: Rule, *, of: str) -> rules.WorkingPeriods:
    if not isinstance(days, rules.WorkingDays):
        raise bad_calendar("a definition has no working days", "give `days` of kind working-days")
    if period.clock != "civil" or period.grain % DAY or period.has_gaps:
        message = f"`{of}` takes the business days of something that is not made of whole days"
        raise bad_calendar(message, "use week, month, quarter, half-year, year or another without gaps")
    return rules.WorkingPeriods(period, days)


def _distinct(rule: rules.Groups, *, of: str = _UNTITLED) -> rules.Groups:
    """The groups of a list of boundaries, if no two have the same label."""
    if rule.extent is None:
        return rule
    first, last = rule.index(as_ints([rule.extent[0], rule.extent[1] - 1])).tolist()
    labels = rule.label(as_ints(range(first, last + 1)))
    if len(set(labels)) != len(labels):
        raise bad_calendar(f"two granules of `{of}` have the same label", "choose labels that stay different")
    return rule


def _named(name: str, title: str, rule: Rule) -> Granularity:
    if not isinstance(name, str) or not name.strip():
        raise bad_calendar("a granularity has no name", "give it a name")
    if canonical(name) in FIXED:
        message = f"`{name}` is a granularity of the catalogue with one fixed meaning"
        raise bad_calendar(message, "choose another name")
    return Granularity(name, title, rule)


def _look_up(name: Any, defined: Mapping[str, Granularity], *, of: str) -> Granularity:
    if isinstance(name, Granularity):
        return name
    match = (defined.get(name) or CATALOGUE.get(canonical(name))) if isinstance(name, str) else None
    if match is None:
        hint = _nearest(str(name), [*defined, *CATALOGUE])
        raise bad_calendar(f"`{of}` builds on `{name}`, which is not a granularity", hint)
    return match


def _nearest(word: str, names: Iterable[str]) -> str:
    near = get_close_matches(word, names, n=1)
    return f"did you mean `{near[0]}`?" if near else f"use one of {', '.join(names)}"


def _anchor(anchor: Any, of: Granularity, *, name: str) -> int:
    """The number of the granule that a group begins with."""
    if anchor is None or (isinstance(anchor, int) and not isinstance(anchor, bool)):
        return whole_number(anchor or 0, of=name)
    if of.clock != "civil":
        raise bad_calendar(f"the anchor of `{name}` is not a whole number", "give the number of a granule")
    index = int(of.index(civil.civil_second(anchor, of=name)))
    if index == GAP:
        raise bad_calendar(f"the anchor of `{name}` is in a gap", "anchor it at a date inside a granule")
    return index
