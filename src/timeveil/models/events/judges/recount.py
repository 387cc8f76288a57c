"""Are the candidates and the computed times those of the original? With the ledger, all are counted again.

At the published levels, people and rows are counted for each granularity that the run considered. Which
granularities group the data alike, and which are on the frontier, follows from where each cuts the times that
occur. Other levels cannot be counted, because the ledger has the published ones alone: they must be those
that it notes. What earlier releases cost is counted for the granularity that was published, not for others.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.catalogue import available, fit
from timeveil.calendar.civil import DAY, MINUTE
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Positions, Timeline
from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import Codes, Integers, column_of, distinct, distinct_pairs, fold, narrow, ranked
from timeveil.evidence.published import Mask
from timeveil.models.events.evidence import Evidence, example_of, observed
from timeveil.models.events.judges.protected import breaking, promise_of
from timeveil.reading.table import moments

Cuts: TypeAlias = tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]
_SUMS = ("smallest_group", "groups", "group_total", "groups_below_k", "rows_below_k")
_PART_ROWS = 1 << 19  # counted at a time, unless one label has more

SENTENCES = {
    "durations:rows": "{rows:row} with another duration in `{name}` than between its times in the original",
    "durations:stated": "the durations, or their units, are not those of the original",
    "origin:rows": "{rows:row} with another time since the origin than in the original",
    "origin:stated": "the origin that times are counted from, or their unit, is not that of the original",
}


def check_candidates(evidence: Evidence, findings: Findings) -> None:
    """Expect the stated numbers, names and frontier of every candidate that can be counted again."""
    findings.check("the candidates are those of the run, with the numbers of the original")
    manifest, facts = evidence.release.manifest, evidence.private.facts
    candidates, calendar = manifest["candidates"], facts.get("calendar")
    if not evidence.people.complete.any():
        return
    # The candidates whose definition is known: from the ledger, or else from the catalogue.
    axis, chosen = evidence.people.axis, {manifest["granularity"]: manifest["granularity_definition"]}
    defined = dict(available(axis)) if calendar is None else {}
    for name, definition in (chosen if calendar is None else calendar).items():
        defined[name] = Granularity.from_dict(dict(definition))
    levels = {name: fit(defined[name], axis) for name in candidates if name in defined}
    timeline, time = observed(evidence.people, list(levels.values()), manifest["parameters"]["gaps"])
    counts, cuts = _counted(evidence, timeline, time, levels), dict[str, Cuts]()
    rows_at, wrong = np.bincount(time), 0
    for name, level in levels.items():
        counted, firsts = counts[name], timeline.firsts(level)
        # Between which times outside its gaps it cuts, and which are in its gaps: a bit each.
        cuts[name] = np.packbits(np.diff(firsts[firsts >= 0]) != 0), np.packbits(firsts < 0)
        if calendar is not None:  # earlier versions stated those of a granularity that groups alike
            counted["rows_in_gaps"] = int(rows_at[timeline.in_gaps(level)].sum())
        if promise_of(evidence).further and not promise_of(evidence).after:
            counted.update(_short(evidence, firsts.astype(np.int64)[time]))
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


def _short(evidence: Evidence, granule: Integers) -> dict[str, int]:
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


def _counted(
    evidence: Evidence, timeline: Timeline, time: Integers, levels: Mapping[str, Granularity]
) -> dict[str, dict[str, int]]:
    """What a manifest states of the groups of each granularity, by its name; `time` is that of each row.

    No group has rows of two labels, so some labels are counted at a time, which takes less memory.
    """
    people = evidence.people
    label = evidence.folded(evidence.stated_labels)[people.complete]
    person = people.person[people.complete]
    part = (np.cumsum(np.bincount(label)) // _PART_ROWS).astype(np.int16)[label]  # which sorts fastest
    order = np.argsort(part, kind="stable")

    def count(rows: Integers) -> list[tuple[int, ...]]:
        times, position = ranked(time[rows])
        local = replace(timeline, granules=timeline.granules[times])
        visits = Visits(label[rows], person[rows], position, len(times))
        cells, numbers = [visits.cells(len(times))], []
        for level in levels.values():
            firsts = local.firsts(level)
            if (firsts < 0).any():
                groups = visits.groups(firsts)
                numbers.append(_numbers(groups.people, groups.rows, evidence.k))
                continue
            # Granules that are made of others are counted from these, where that saves much.
            finer = next(c for c in reversed(cells) if np.array_equal(firsts[c.granules], firsts))
            crowd, rows_of, coarser = finer.at(firsts)
            cells += [coarser] if coarser else []
            numbers.append(_numbers(crowd, rows_of, evidence.k))
        return numbers

    with ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(count, np.split(order, np.flatnonzero(np.diff(part[order])) + 1)))
    return {
        name: dict(zip(_SUMS, map(sum, zip(*numbers, strict=True)), strict=True))
        | {"smallest_group": min((smallest for smallest, groups, *_ in numbers if groups), default=0)}
        for name, numbers in zip(levels, zip(*counts, strict=True), strict=True)
    }


def _numbers(people: Integers, rows: Integers, k: int) -> tuple[int, ...]:
    """The sums of some groups."""
    below = people < k
    smallest = people.min() if len(below) else 0
    return tuple(map(int, (smallest, len(below), people.sum(), below.sum(), rows[below].sum())))


@dataclass(frozen=True, slots=True)
class Groups:
    """The rows and the different people of each group, and every member: of which group, and who."""

    rows: Integers
    people: Integers
    group: Positions
    person: Codes


@dataclass(frozen=True, slots=True)
class Cells:
    """Labels at times, or in granules, in order, with their rows and visits; and all returns, soonest first.

    A return is a visit by somebody whose `previous` visit to the same label was a `delay` ago. `granules` has
    the first time in the granule of each time.
    """

    granules: Codes
    label: Codes
    time: Codes
    rows: Integers
    visits: Integers
    cell: Codes
    previous: Codes
    delay: Codes

    def at(self, firsts: Codes) -> tuple[Integers, Integers, Cells | None]:
        """People and rows per granule of a granularity that cuts no cell; granules as cells, if far fewer."""
        first = firsts[self.time]
        begins = _changes(self.label, first)
        heads, number = np.flatnonzero(begins), np.cumsum(begins, dtype=np.int32) - np.int32(1)
        rows, visits = (np.add.reduceat(each, heads) for each in (self.rows, self.visits))
        # A person counts once: at the first visit, and not at returns, which come before the granule is over.
        returns = np.searchsorted(self.delay, (np.arange(len(firsts)) - firsts).max(), side="right")
        cell = self.cell[:returns]
        inside = self.previous[:returns] >= first[cell]
        people = visits - np.bincount(number[cell[inside]], minlength=len(heads))
        if len(heads) >= len(self.rows) // 2:
            return people, rows, None
        granules = self.label[heads], first[heads], rows, visits, number[self.cell], self.previous, self.delay
        return people, rows, Cells(firsts, *granules)


class Visits:
    """Rows sorted once by label, person and time; several rows of a person at a time are one visit.

    A cell is a label at a time. Cells are sorted too, so those of a group follow each other.
    """

    def __init__(self, label: Integers, person: Integers, time: Integers, times: int) -> None:
        cells, cell = ranked(label * times + time)
        self._rows = np.bincount(cell)
        self._label, self._time = (narrow(part, len(cells)) for part in (cells // times, cells % times))
        sizes = (int(codes.max(initial=0)) + 1 for codes in (label, person))
        owner, owners = fold(zip((label, person), sizes, strict=True), len(label))
        self._person = narrow(person[example_of(owner, owners)], 0)
        # Owners rise with their label, and cells with label and time: one number sorts by all three.
        visits = distinct(owner * len(cells) + cell)
        self._owner = narrow(visits // max(len(cells), 1), owners)
        self._cell = narrow(visits % max(len(cells), 1), len(cells))

    def cells(self, times: int) -> Cells:
        """The cells of all times."""
        returns = np.flatnonzero(self._owner[1:] == self._owner[:-1]) + 1
        time, previous = (self._time[self._cell[visits]] for visits in (returns, returns - 1))
        order, visits = np.argsort(time - previous), np.bincount(self._cell, minlength=len(self._rows))
        columns = (column[order] for column in (self._cell[returns], previous, time - previous))
        return Cells(np.arange(times), self._label, self._time, self._rows, visits, *columns)

    def groups(self, firsts: Codes) -> Groups:
        """The groups of a granularity, `firsts` the first time in the granule of each time, -1 in a gap.

        The visits of a person to a group follow each other, as what is in a gap is left out before.
        """
        granule = firsts[self._time]
        inside = granule >= 0
        number = np.full(len(granule), -1, np.int32)
        number[inside] = np.cumsum(_changes(self._label[inside], granule[inside])) - 1
        group, person = number[self._cell], self._person[self._owner]
        if not inside.all():
            group, person = group[group >= 0], person[group >= 0]
        member = _changes(person, group)
        group, count = group[member], int(number.max(initial=-1)) + 1
        rows = np.bincount(number[inside], weights=self._rows[inside], minlength=count).astype(np.int64)
        return Groups(rows, np.bincount(group, minlength=count), group, person[member])


def _changes(*columns: Codes) -> Mask:
    """Where a row differs from the one before; the first row does."""
    changes = np.zeros(len(columns[0]), dtype=bool)
    changes[:1] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return changes


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
    names, times = original.roles.durations, column_of(original.data, original.time)
    if names:
        findings.check("durations are those between the times of the original")
    rows = evidence.retained & evidence.people.complete
    for name, until in names.items():
        columns = (times, column_of(original.data, until), column_of(original.data, name))
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
    dates = pa.types.is_date32(times.type)
    if origin == "first":
        person, since = evidence.people.person[rows], _seconds(times)
        order = np.lexsort((since, person))
        begins = np.flatnonzero(np.diff(person[order], prepend=-1))
        since[order] -= np.repeat(since[order][begins], np.diff(begins, append=len(order)))
        size, unit = (1, evidence.axis.unit) if pa.types.is_integer(times.type) else (MINUTE, "minute")
        size, unit = (DAY, "day") if dates else (size, unit)
        since //= size
    else:
        column = column_of(original.data, origin) if original.roles.event == origin else None
        starts = None if column is None else moments(column.combine_chunks())
        if not findings.expect("origin:stated", starts is not None) or starts is None:
            return
        start, zoned = starts[0][rows], getattr(times.type, "tz", None)
        size, unit = (DAY, "day") if dates or not (start % DAY).any() else (MINUTE, "minute")
        since = _seconds(pc.local_timestamp(times) if zoned else times) // size - start // size
    findings.expect("origin:stated", unit == evidence.axis.unit)
    stated = np.asarray(column_of(original.data, original.time).filter(pa.array(rows)))
    findings.expect_none("origin:rows", rows=stated != since)


def _seconds(times: pa.ChunkedArray) -> Integers:
    """Times as whole seconds, or whole numbers as they are."""
    kind = times.type
    if pa.types.is_date32(kind):
        return np.asarray(times.cast(pa.int32()).cast(pa.int64())) * DAY
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
    steps = per_second[kind.unit] if pa.types.is_timestamp(kind) else 1
    return np.array(times.cast(pa.int64())) // steps
