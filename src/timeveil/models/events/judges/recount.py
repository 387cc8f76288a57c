"""Are the candidates of the manifest those of the original? With the ledger, every one is counted again.

At the published levels, people and rows are counted for each granularity that the run considered, in one pass
each: the group of every row, the different people of every group, and its rows. Which granularities group the
data alike, and which are on the frontier, follows from where each cuts the times that occur. Other levels
cannot be counted, because the ledger has the published ones alone: they must be those that it notes. What
earlier releases cost is counted for the granularity that was published, not for others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from timeveil.calendar.catalogue import available, fit
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Positions, Timeline
from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import Integers, dense, distinct, distinct_pairs, fold, ranked
from timeveil.evidence.published import Mask
from timeveil.models.events.evidence import Evidence, observed
from timeveil.models.events.judges.protected import breaking, promise_of

Cuts: TypeAlias = tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]
Returns: TypeAlias = tuple[Positions, Positions]
_NONE = np.empty(0, np.int32)
_PART_ROWS = 1 << 19  # counted at a time, unless one label has more


def check_candidates(evidence: Evidence, findings: Findings) -> None:
    """Expect the stated numbers, names and frontier of every candidate that can be counted again."""
    findings.check("the candidates are those of the run, with the numbers of the original")
    manifest, facts = evidence.release.manifest, evidence.private.facts
    candidates, calendar = manifest["candidates"], facts.get("calendar")
    if not evidence.people.complete.any():
        return
    levels = _definitions(evidence, calendar)
    timeline, time = observed(evidence.people, list(levels.values()), manifest["parameters"]["gaps"])
    cuts = {name: _cuts(timeline.firsts(level)) for name, level in levels.items()}
    counts, rows_at, wrong = _counted(evidence, timeline, time, levels), np.bincount(time), 0
    for name, level in levels.items():
        counted = counts[name]
        if calendar is not None:  # earlier versions stated those of a granularity that groups alike
            counted["rows_in_gaps"] = int(rows_at[timeline.in_gaps(level)].sum())
        if promise_of(evidence).further and not promise_of(evidence).after:
            counted.update(_short(evidence, timeline.firsts(level).astype(np.int64)[time]))
        wrong += any(candidates[name].get(number) != count for number, count in counted.items())
    findings.expect("candidates:numbers", not wrong, wrong=wrong, candidates=len(candidates))
    if calendar is None:
        return  # an earlier version did not note the calendar: some candidates may not be known
    cuts = {name: cut for name, cut in cuts.items() if candidates[name]["allowed"]}
    base = set(candidates) - set(cuts)
    findings.expect("candidates:run", set(candidates) == set(calendar) and base <= {facts.get("read_at")})
    same_levels = (manifest["levels"], manifest.get("nodes")) == (
        facts.get("levels"),
        facts.get("combinations"),
    )
    findings.expect("candidates:levels", same_levels)
    findings.expect("candidates:alike", _lists_those_alike(candidates, cuts))
    if "nodes" not in manifest:
        named = [name for name in cuts if candidates[name]["feasible"]]
        finer = {name: {n for n in named if _refines(cuts[n], cuts[name])} for name in named}
        least = {name for name in named if all(name in finer[n] for n in finer[name])}
        alike = {name: {name, *candidates[name]["aliases"]} for name in manifest["frontier"]}
        findings.expect("candidates:least", set().union(*alike.values()) == least)


def _definitions(evidence: Evidence, calendar: Mapping[str, Any] | None) -> dict[str, Granularity]:
    """The candidates whose definition is known: from the ledger, or else from the catalogue."""
    manifest, axis = evidence.release.manifest, evidence.people.axis
    if calendar is not None:
        defined = {name: Granularity.from_dict(definition) for name, definition in calendar.items()}
    else:
        chosen = Granularity.from_dict(dict(manifest["granularity_definition"]))
        defined = {**available(axis), manifest["granularity"]: chosen}
    return {name: fit(defined[name], axis) for name in manifest["candidates"] if name in defined}


def _short(evidence: Evidence, granule: Integers) -> dict[str, int]:
    """The groups of k people that break another promise, and their rows; per complete row its granule."""
    inside = granule >= 0
    rows = np.flatnonzero(evidence.people.complete)[inside]
    label = evidence.folded(evidence.stated_labels)[rows]
    sizes = int(label.max(initial=0)) + 1, int(granule.max(initial=0)) + 1
    group, groups = fold(list(zip((label, granule[inside]), sizes, strict=True)), len(rows))
    person = evidence.people.person[rows]
    crowd = np.bincount(distinct_pairs(group, person, evidence.people.people)[0], minlength=groups)
    masks = [breaks for _, breaks in breaking(evidence, rows, group)]
    short = np.logical_or.reduce(masks) & (crowd >= evidence.k)
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
    part = (np.cumsum(np.bincount(label)) // _PART_ROWS).astype(np.int32)[label]
    order = np.argsort(part, kind="stable")

    def count(rows: Integers) -> dict[str, dict[str, int]]:
        times, position = ranked(time[rows])
        local = replace(timeline, granules=timeline.granules[times])
        visits = _Visits.of(label[rows], person[rows], people.people, position, len(times))
        counts = _Counts(visits, local.firsts(levels["day"]) if "day" in levels else None)
        return {name: counts.of(local.firsts(level)).numbers(evidence.k) for name, level in levels.items()}

    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(count, np.split(order, np.flatnonzero(np.diff(part[order])) + 1)))
    return {name: _total([numbers[name] for numbers in parts]) for name in levels}


def _total(parts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """The numbers of all groups, from those of some at a time."""
    smallest = min((part["smallest_group"] for part in parts if part["groups"]), default=0)
    return {name: sum(part[name] for part in parts) for name in parts[0]} | {"smallest_group": smallest}


@dataclass(frozen=True)
class _Visits:
    """The complete rows, sorted once by label, person and time; several rows of a person at a time are one.

    A cell is a label at a time, in `rows` rows. Cells are sorted too, so those of a group follow each other.
    Per visit `cell` is where it is, and `owner` whose.
    """

    label: Positions
    time: Positions
    rows: Integers
    owner: Integers
    cell: Positions

    @classmethod
    def of(cls, label: Integers, person: Integers, people: int, time: Integers, times: int) -> Self:
        sizes = int(label.max(initial=0)) + 1, people
        cells, cell = ranked(label * times + time)
        owner, owners = label * sizes[1] + person, sizes[0] * sizes[1]
        if owners * len(cells) >= 2**62:
            owner, owners = dense(owner, owners)
        # Owners rise with their label, and cells with label and time: one number sorts by all three.
        owner *= len(cells)
        owner += cell
        visits = distinct(owner)
        parts = (cells // times, cells % times, visits % len(cells))
        labels, at, visited = (part.astype(np.int32) for part in parts)
        return cls(labels, at, np.bincount(cell), visits // len(cells), visited)

    @cached_property
    def cells(self) -> _Groups:
        """Each cell as a group of its own."""
        again = ~_changes(self.owner)[1:]
        people = np.bincount(self.cell, minlength=len(self.label))
        times = np.arange(int(self.time.max(initial=-1)) + 1, dtype=np.int32)
        returns = self.cell[1:][again], self.cell[:-1][again]
        return _Groups(self.label, self.time, self.rows, people, times, returns)

    def within(self, inside: Mask) -> Self:
        """The visits at some of the times alone."""
        among = inside[self.time]
        stays, number = among[self.cell], np.cumsum(among, dtype=np.int32) - np.int32(1)
        cells = (self.label[among], self.time[among], self.rows[among])
        return type(self)(*cells, self.owner[stays], number[self.cell[stays]])


@dataclass(frozen=True)
class _Groups:
    """Labels in granules, in this order, with the rows and different people of each.

    `returns` has the visits of people to a group who were in another one before, under the same label: to
    which group, and in which before. `firsts` is the first time in each granule.
    """

    label: Positions
    granule: Positions
    rows: Integers
    people: Integers
    firsts: Positions
    returns: Returns
    joined_returns: Returns = field(default_factory=lambda: (_NONE, _NONE))

    def joined(self, firsts: Positions) -> Self:
        """The groups of a coarser granularity, `firsts` its first time in the granule of each time.

        Who returned to another group of the same new group was counted in both; those are its
        `joined_returns`.
        """
        first = firsts[self.firsts]
        begins = _changes(first)
        if begins.all():
            return self
        granule = _numbers(begins)[self.granule]
        fresh = _changes(self.label, granule)
        heads, group = np.flatnonzero(fresh), _numbers(fresh)
        to, before = (group[side] for side in self.returns)
        stays, moves = np.flatnonzero(to == before), np.flatnonzero(to != before)
        people = _sums(self.people, heads) - np.bincount(to[stays], minlength=len(heads))
        return type(self)(
            self.label[heads],
            granule[heads],
            _sums(self.rows, heads),
            people,
            first[begins],
            (to[moves], before[moves]),
            (self.returns[0][stays], self.returns[1][stays]),
        )

    def numbers(self, k: int) -> dict[str, int]:
        """What a manifest states of the groups of one granularity."""
        below = self.people < k
        return {
            "smallest_group": int(self.people.min()) if len(below) else 0,
            "groups": len(below),
            "group_total": int(self.people.sum()),
            "groups_below_k": int(below.sum()),
            "rows_below_k": int(self.rows[below].sum()),
        }


class _Counts:
    """The groups of one granularity after another, each joined from groups that are counted already."""

    def __init__(self, visits: _Visits, firsts_of_days: Positions | None) -> None:
        self._visits, cells = visits, visits.cells
        self._days = None if firsts_of_days is None else _cuts(firsts_of_days)
        self._latest: dict[str, tuple[_Groups, Cuts]] = {}
        by_day = cells if firsts_of_days is None or firsts_of_days.min() < 0 else cells.joined(firsts_of_days)
        # Nobody returns on another day to a group that is shorter than a day.
        same_day = cells if by_day is cells else replace(cells, returns=by_day.joined_returns)
        self._cells = {"of days": by_day, "shorter": same_day, "other": cells}

    def of(self, firsts: Positions) -> _Groups:
        """The groups of a granularity, `firsts` the first time in the granule of each time."""
        cuts = _cuts(firsts)
        if firsts.min() < 0:
            # Visits in a gap are in no group, and do not interrupt one either.
            return self._visits.within(firsts >= 0).cells.joined(np.maximum.accumulate(firsts))
        kind, days = "other", self._days
        if days is not None and (_refines(days, cuts) or _refines(cuts, days)):
            kind = "of days" if _refines(days, cuts) else "shorter"
        groups, before = self._latest.get(kind, (self._cells[kind], None))
        if before is not None and not _refines(before, cuts):
            groups = self._cells[kind]
        self._latest[kind] = groups.joined(firsts), cuts
        return self._latest[kind][0]


def _sums(counts: Integers, heads: Integers) -> Integers:
    """The sum of each run, by where it begins: many runs are short, so this is faster than `reduceat`."""
    totals: Integers = np.cumsum(counts)[np.append(heads[1:], len(counts)) - 1]
    return np.diff(totals, prepend=0)


def _numbers(begins: Mask) -> Positions:
    """The number of each row's run, by where runs begin."""
    return np.cumsum(begins, dtype=np.int32) - np.int32(1)


def _changes(*columns: Integers | Positions) -> Mask:
    """Where a row differs from the one before; the first row does."""
    changes = np.zeros(len(columns[0]), dtype=bool)
    changes[:1] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return changes


def _cuts(firsts: Positions) -> Cuts:
    """Between which times outside its gaps a granularity cuts, and which are in its gaps: a bit each."""
    return np.packbits(np.diff(firsts[firsts >= 0]) != 0), np.packbits(firsts < 0)


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
