"""Granularities that users define, in Python or in the `[granularity.<name>]` tables of a job file.

A definition may take a name of the catalogue whose bounds are a matter of choice (`day-part`, `shift`,
`academic-term`, `business-day`, `business-month`); it then replaces it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from timeveil.calendar.catalogue import CATALOGUE, FIXED, UNITS, canonical
from timeveil.calendar.civil import GAP, bad_calendar, civil_second
from timeveil.calendar.edges import Rule
from timeveil.calendar.granularity import (
    Granularity,
    boundaries_rule,
    day_parts_rule,
    groups_rule,
    terms_rule,
    whole_number,
    working_days_rule,
    working_periods_rule,
)

Date = str | dt.date | dt.datetime


def boundaries(
    name: str,
    at: Sequence[Date | int],
    labels: Sequence[str] | None = None,
    *,
    title: str | None = None,
    unit: str | None = None,
) -> Granularity:
    """Granules between boundaries in rising order; before the first and after the last is a gap.

    With `unit` the boundaries are whole numbers of it, for a relative time column.

    >>> waves = boundaries("wave", ["2020-03-01", "2020-07-01", "2021-01-01"], ["first", "second"])
    >>> waves.label([0, 1])
    ['first', 'second']
    """
    if unit is not None and unit not in UNITS:
        raise bad_calendar(f"`{name}` has an unknown unit", f"use one of {', '.join(UNITS)}")
    rule = boundaries_rule(at, labels, *(("civil", 1) if unit is None else UNITS[unit]), of=name)
    return _named(name, title or f"{len(rule.at) - 1} granules between listed boundaries", rule)


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
    rule = groups_rule(of.rule, n, _anchor(anchor, of, name=name), of=name)
    return _named(name, title or f"{n} at a time of: {of.title}", rule)


def day_parts(name: str, parts: Mapping[str, str | dt.time], *, title: str | None = None) -> Granularity:
    """Parts of the day, each by the time it starts at; the last runs past midnight.

    >>> half = day_parts("half-day", {"first": "00:00", "second": "12:00"})
    >>> half.label(half.index([0, 50_000]))
    ['1970-01-01 first', '1970-01-01 second']
    """
    rule = day_parts_rule(parts, of=name)
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
    rule = terms_rule(starts, gaps, of=name)
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
    rule = working_days_rule(days, holidays, of=name)
    return _named(name, title or f"business day, {len(rule.holidays)} holidays left out", rule)


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
    rule = working_periods_rule(period.rule, working_days_rule(days, holidays, of=name), of=name)
    return _named(name, title or f"the business days of: {period.title}", rule)


def from_toml(tables: Mapping[str, Any]) -> list[Granularity]:
    """The granularities of the `[granularity.<name>]` tables of a job file, which may build on each other.

    >>> from_toml({"fortnight": {"kind": "groups", "of": "week", "n": 2}})
    [<Granularity fortnight: 2 at a time of: ISO week, Monday to Sunday>]
    """
    defined: dict[str, Granularity] = {}
    pending = {name: _checked(name, table) for name, table in tables.items()}
    while pending:
        # Definitions that build on none of the pending ones; each round defines at least one.
        ready = [name for name, table in pending.items() if table.get("of") not in pending]
        if not ready:
            raise bad_calendar(
                f"the definitions of {', '.join(f'`{n}`' for n in pending)} build on each other in a circle",
                "let one of them build on a granularity of the catalogue",
            )
        for name in ready:
            defined[name] = _define(name, pending.pop(name), defined)
    return [defined[name] for name in tables]


_KINDS: dict[str, tuple[Callable[..., Granularity], set[str], set[str]]] = {
    "boundaries": (boundaries, {"at"}, {"labels", "unit"}),
    "groups": (groups_of, {"of", "n"}, {"anchor"}),
    "day-parts": (day_parts, {"parts"}, set()),
    "shifts": (shifts, {"parts"}, set()),
    "terms": (terms, {"starts"}, {"gaps"}),
    "business-days": (business_days, set(), {"days", "holidays"}),
    "business-periods": (business_periods, {"of"}, {"days", "holidays"}),
}
"""The function of each kind of definition, and the keys it must and may have besides `kind` and `title`."""


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
            near = get_close_matches(str(key), keys, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"its keys are {', '.join(sorted(keys))}"
            raise bad_calendar(f"`granularity.{name}` has an unknown key `{key}`", hint)
    missing = sorted(needed - set(table))
    if missing:
        raise bad_calendar(f"`granularity.{name}` lacks `{missing[0]}`", f"add `{missing[0]}` to the table")
    if not isinstance(table.get("title", ""), str):
        raise bad_calendar(f"the title of `granularity.{name}` is not text", "write it in quotes")
    return dict(table)


def _define(name: str, table: dict[str, Any], defined: Mapping[str, Granularity]) -> Granularity:
    define, _, _ = _KINDS[table.pop("kind")]
    if "of" in table:
        table["granularity" if define is groups_of else "of"] = _look_up(table.pop("of"), defined, of=name)
    return define(name, **table)


def _named(name: str, title: str, rule: Rule) -> Granularity:
    if not isinstance(name, str) or not name.strip():
        raise bad_calendar("a granularity has no name", "give it a name")
    if canonical(name) in FIXED:
        raise bad_calendar(
            f"`{name}` is a granularity of the catalogue with one fixed meaning", "choose another name"
        )
    return Granularity(name, title, rule)


def _look_up(name: Any, defined: Mapping[str, Granularity], *, of: str) -> Granularity:
    if isinstance(name, Granularity):
        return name
    if not isinstance(name, str):
        raise bad_calendar(
            f"the key `of` of `{of}` is not the name of a granularity", f"use one of {', '.join(CATALOGUE)}"
        )
    match = defined.get(name) or CATALOGUE.get(canonical(name))
    if match is None:
        names = [*defined, *CATALOGUE]
        near = get_close_matches(canonical(name), names, n=1)
        raise bad_calendar(
            f"`{of}` builds on `{name}`, which is not a granularity",
            f"did you mean `{near[0]}`?" if near else f"use one of {', '.join(names)}",
        )
    return match


def _anchor(anchor: Any, of: Granularity, *, name: str) -> int:
    if anchor is None or (isinstance(anchor, int) and not isinstance(anchor, bool)):
        return whole_number(anchor or 0, of=name)
    if of.clock != "civil":
        raise bad_calendar(f"the anchor of `{name}` is not a whole number", "give the number of a granule")
    index = int(of.index(civil_second(anchor, of=name)))
    if index == GAP:
        raise bad_calendar(f"the anchor of `{name}` is in a gap", "anchor it at a date inside a granule")
    return index
