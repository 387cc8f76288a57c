"""Are the candidates and the computed times those of the original? With the ledger, all are counted again.

At the published levels, people and rows are counted for each granularity that the run considered. Which
granularities group the data alike, and which are on the frontier, follows from where each cuts the times that
occur. Other levels cannot be counted, because the ledger has the published ones alone: they must be those
that it notes. What earlier releases cost is counted for the granularity that was published, not for others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.axis import instants
from timeveil.calendar.catalogue import available, fit
from timeveil.calendar.civil import DAY, MINUTE
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Bits, Gaps, Timeline
from timeveil.domain.arrays import Ints
from timeveil.domain.relation import TimeAxis
from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import (
    Codes,
    changes,
    column_of,
    distinct,
    distinct_pairs,
    example_of,
    fold,
    narrow,
    ranked,
)
from timeveil.models.events.evidence import Evidence, observed
from timeveil.models.events.judges.protected import breaking, promise_of
from timeveil.reading.table import moments

Cuts: TypeAlias = tuple[Bits, Bits]
SUMS = ("smallest_group", "groups", "group_total", "groups_below_k", "rows_below_k")
_PART_ROWS = 1 << 19  # counted at a time, unless one label has more

SENTENCES = {
    "durations:rows": "{rows:row} with another duration in `{name}` than between its times in the original",
    "durations:stated": "the durations, or their units, are not those of the original",
    "origin:rows": "{rows:row} with another time since the origin than in the original",
    "origin:stated": "the origin that times are counted from, or their unit, is not that of the original",
}


class Recount(NamedTuple):
    """The times that occur, how many rows have each, and per granularity the numbers of its groups."""

    timeline: Timeline
    rows_at: Ints
    numbers: Mapping[str, dict[str, int]]


def check_candidates(
    evidence: Evidence, count: Callable[[Mapping[str, Granularity], Gaps], Recount], findings: Findings
) -> None:
    """Expect the stated numbers, names and frontier of every candidate that can be counted again."""
    findings.check("the candidates are those of the run, with the numbers of the original")
    manifest, facts = evidence.release.manifest, evidence.private.facts
    candidates, calendar = manifest["candidates"], facts.get("calendar")
    # The candidates whose definition is known: from the ledger, or else from the catalogue.
    axis = evidence.private.original.clock
    chosen = {manifest["granularity"]: manifest["granularity_definition"]}
    defined = dict(available(axis)) if calendar is None else {}
    for name, definition in (chosen if calendar is None else calendar).items():
        defined[name] = Granularity.from_dict(dict(definition))
    levels = {name: fit(defined[name], axis) for name in candidates if name in defined}
    timeline, rows_at, numbers = count(levels, manifest["parameters"]["gaps"])
    if not len(rows_at):
        return
    cuts, wrong = dict[str, Cuts](), 0
    for name, level in levels.items():
        counted, cuts[name] = dict(numbers[name]), timeline.cuts(level)
        if calendar is not None:  # earlier versions stated those of a granularity that groups alike
            counted["rows_in_gaps"] = timeline.rows_in_gaps(level, rows_at)
        wrong += any(candidates[name].get(number) != count for number, count in counted.items())
    findings.expect("candidates:numbers", not wrong, wrong=wrong, candidates=len(candidates))
    if calendar is None:
        return  # an earlier version did not note the calendar: some candidates may not be known
    cuts = {name: cut for name, cut in cuts.items() if candidates[name]["allowed"]}
    base = set(candidates) - set(cuts)
    findings.expect("candidates:run", set(candidates) == set(calendar) and base <= {facts.get("read_at")})
    stated = manifest["levels"], manifest.get("nodes")
    findings.expect("candidates:levels", stated == (facts.get("levels"), facts.get("combinations")))
    findings.expect("candidates:alike", _lists_those_alike(candidates, cuts))
    if "nodes" not in manifest:
        named = [name for name in cuts if candidates[name]["feasible"]]
        finer = {name: {n for n in named if _refines(cuts[n], cuts[name])} for name in named}
        least = {name for name in named if all(name in finer[n] for n in finer[name])}
        alike = {name: {name, *candidates[name]["aliases"]} for name in manifest["frontier"]}
        findings.expect("candidates:least", set().union(*alike.values()) == least)


def _short(evidence: Evidence, granule: Ints) -> dict[str, int]:
    """The groups of k people that break another promise, and their rows; per complete row its granule."""
    inside = granule >= 0
    rows = np.flatnonzero(evidence.people.complete)[inside]
    label = evidence.folded(evidence.stated_labels)[rows]
    sizes = int(label.max(initial=0)) + 1, int(granule.max(initial=0)) + 1
    group, groups = fold(zip((label, granule[inside]), sizes, strict=True), len(rows))
    members = distinct_pairs(group, evidence.people.person[rows], evidence.people.people)[0]
    masks = [breaks for _, breaks in breaking(evidence, rows, group)]
    short = np.logical_or.reduce(masks) & (np.bincount(members, minlength=groups) >= evidence.k)
    return {"groups_short": int(short.sum()), "rows_short": int(short[group].sum())}


def recounted(evidence: Evidence, levels: Mapping[str, Granularity], gaps: Gaps) -> Recount:
    """Count in memory."""
    timeline, time = observed(evidence.people, list(levels.values()), gaps)
    if not len(time):
        return Recount(timeline, time, {})
    numbers, promise = _counted(evidence, timeline, time, levels), promise_of(evidence)
    for name in levels if promise.further and not promise.after else ():
        numbers[name] |= _short(evidence, timeline.firsts(levels[name]).astype(np.int64)[time])
    return Recount(timeline, np.bincount(time), numbers)


def _counted(
    evidence: Evidence, timeline: Timeline, time: Ints, levels: Mapping[str, Granularity]
) -> dict[str, dict[str, int]]:
    """What a manifest states of the groups of each granularity, by its name; `time` is that of each row.

    No group has rows of two labels, so some labels are counted at a time, which takes less memory.
    """
    people = evidence.people
    label = evidence.folded(evidence.stated_labels)[people.complete]
    person = people.person[people.complete]
    part = (np.cumsum(np.bincount(label)) // _PART_ROWS).astype(np.int16)[label]  # which sorts fastest
    order = np.argsort(part, kind="stable")

    def count(rows: Ints) -> list[tuple[int, ...]]:
        times, position = ranked(time[rows])
        local = replace(timeline, granules=timeline.granules[times])
        counted, numbers = [visits_of(label[rows], person[rows], position, len(times))], []
        for level in levels.values():
            firsts = local.firsts(level)
            # Granules that are made of others, as they begin where these do, are counted from them.
            begins = np.flatnonzero(changes(firsts))
            finer = next(v for v in reversed(counted) if np.array_equal(v.granules[begins], begins))
            visits = finer.at(firsts)
            smaller = len(visits.cell) + len(visits.rows) < 0.8 * (len(finer.cell) + len(finer.rows))
            if smaller and firsts.min() >= 0:
                counted.append(visits)
            numbers.append(_numbers(visits.people, visits.rows, evidence.k))
        return numbers

    with ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(count, np.split(order, np.flatnonzero(np.diff(part[order])) + 1)))
    return {
        name: dict(zip(SUMS, map(sum, zip(*numbers, strict=True)), strict=True))
        | {"smallest_group": min((smallest for smallest, groups, *_ in numbers if groups), default=0)}
        for name, numbers in zip(levels, zip(*counts, strict=True), strict=True)
    }


def _numbers(people: Ints, rows: Ints, k: int) -> tuple[int, ...]:
    """The sums of some groups."""
    below = people < k
    smallest = people.min() if len(below) else 0
    return tuple(map(int, (smallest, len(below), people.sum(), below.sum(), rows[below].sum())))


@dataclass(frozen=True, slots=True)
class Visits:
    """Labels in granules, in order, and who visited each.

    Per combination of label and granule, a *cell*, there are its number of rows and the first time in its
    granule. Per visit, a person in a cell, there are the cell and the person; those of an `owner`, a person
    with a label, follow each other. `granules` has the first time in the granule of each time.
    """

    granules: Codes
    label: Codes
    time: Codes
    rows: Ints
    cell: Codes
    owner: Codes
    person: Codes

    @property
    def people(self) -> Ints:
        """The different people of each cell."""
        return np.bincount(self.cell, minlength=len(self.rows))

    def at(self, firsts: Codes) -> Visits:
        """The visits to the granules of a coarser granularity; what is in one of its gaps is left out."""
        granule, cell, owner = firsts.take(self.time), self.cell, self.owner
        label, rows = self.label, self.rows
        if granule.min(initial=0) < 0:  # before visits are compared with the one before
            inside = granule >= 0
            stays = inside[cell]
            cell, owner = (np.cumsum(inside, dtype=np.int32) - 1)[cell[stays]], owner[stays]
            granule, label, rows = granule[inside], label[inside], rows[inside]
        begins = changes(label, granule)
        heads, number = np.flatnonzero(begins), np.cumsum(begins, dtype=np.int32) - 1
        cell = number.take(cell)
        first = changes(owner, cell)
        rows = np.diff((np.cumsum(rows) - rows).take(heads), append=rows.sum())
        return Visits(firsts, label[heads], granule[heads], rows, cell[first], owner[first], self.person)


def visits_of(label: Ints, person: Ints, time: Ints, times: int) -> Visits:
    """The visits to every time, sorted once by label, person and time."""
    cells, cell = ranked(label * times + time)
    sizes = (int(codes.max(initial=0)) + 1 for codes in (label, person))
    owner, owners = fold(zip((label, person), sizes, strict=True), len(label))
    # Owners rise with their label, and cells with label and time: one number sorts by all three.
    visits = distinct(owner * len(cells) + cell)
    at_label, at_time = (narrow(part, len(cells)) for part in (cells // times, cells % times))
    by_owner = narrow(visits // max(len(cells), 1), owners), narrow(person[example_of(owner, owners)], 0)
    in_cell = narrow(visits % max(len(cells), 1), len(cells))
    return Visits(np.arange(times), at_label, at_time, np.bincount(cell), in_cell, *by_owner)


def _refines(finer: Cuts, coarser: Cuts) -> bool:
    """Whether the coarser cuts only where the finer does, and leaves out the same times."""
    return np.array_equal(finer[1], coarser[1]) and not (coarser[0] & ~finer[0]).any()


def _lists_those_alike(candidates: Mapping[str, Any], cuts: Mapping[str, Cuts]) -> bool:
    """Whether of the granularities that cut alike one lists all the others, and they list none."""
    for cut in cuts.values():
        alike = {name for name in cuts if _refines(cut, cuts[name]) and _refines(cuts[name], cut)}
        listed = {name: sorted(candidates[name]["aliases"]) for name in alike if candidates[name]["aliases"]}
        complete = all(aliases == sorted(alike - {name}) for name, aliases in listed.items())
        if not complete or len(listed) != (len(alike) > 1):
            return False
    return True


# Times that were computed from others: durations, and time since an origin.


def check_durations(evidence: Evidence, findings: Findings) -> None:
    """Expect durations that are the time between two times of the original."""
    original, units = evidence.private.original, {}
    names = original.roles.durations
    if names:
        findings.check("durations are those between the times of the original")
    for name, until in names.items():
        rows = evidence.retained & evidence.people.complete
        columns = (column_of(original.data, column) for column in (original.time, until, name))
        start, end, stated = (column.filter(pa.array(rows)) for column in columns)
        if evidence.axis.unit:
            units[name], length = evidence.axis.unit, np.asarray(pc.subtract(end, start))
        elif pa.date32() in (start.type, end.type):
            days = pc.days_between(start.cast(pa.date32()), end.cast(pa.date32()))
            units[name], length = "day", np.asarray(days)
        else:
            first, last = (np.asarray(column.cast(pa.int64())) // 1000 for column in (start, end))
            units[name], length = "hour", (last - first) // 3600
        findings.expect_none("durations:rows", rows=np.asarray(stated) != length, name=name)
    findings.expect("durations:stated", units == evidence.release.manifest.get("durations", {}))


def check_origin(evidence: Evidence, findings: Findings) -> None:
    """Expect times since the first row of a person, or since the date in a column, if that is stated."""
    original, origin = evidence.private.original, evidence.release.manifest["parameters"].get("origin")
    calendar = f"{original.time} (calendar)"
    agrees = findings.expect(
        "origin:stated", (calendar in original.data.schema.names) == (origin is not None)
    )
    if origin is None or not agrees:
        return
    findings.check("times are those since the stated origin")
    rows = np.asarray(column_of(original.data, original.time).is_valid())
    times = column_of(original.data, calendar).filter(pa.array(rows))
    dates, counted = pa.types.is_date32(times.type), pa.types.is_integer(times.type)
    if origin == "first":
        person = evidence.people.person[rows]
        since = np.asarray(times if counted else instants(TimeAxis("civil", times.type), times)).copy()
        order = np.lexsort((since, person))
        begins = np.flatnonzero(np.diff(person[order], prepend=-1))
        since[order] -= np.repeat(since[order][begins], np.diff(begins, append=len(order)))
        size, unit = (1, evidence.axis.unit) if counted else (MINUTE, "minute")
        size, unit = (DAY, "day") if dates else (size, unit)
        since //= size
    else:
        column = column_of(original.data, origin) if original.roles.event == origin else None
        starts = None if column is None else moments(column.combine_chunks())
        if not findings.expect("origin:stated", starts is not None) or starts is None:
            return
        start, zoned = starts[0][rows], getattr(times.type, "tz", None)
        local = pc.local_timestamp(times) if zoned else times
        size, unit = (DAY, "day") if dates or not (start % DAY).any() else (MINUTE, "minute")
        since = instants(TimeAxis("civil", local.type), local) // size - start // size
    findings.expect("origin:stated", unit == evidence.axis.unit)
    stated = np.asarray(column_of(original.data, original.time).filter(pa.array(rows)))
    findings.expect_none("origin:rows", rows=stated != since)
