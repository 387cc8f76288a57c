"""Are the candidates of the manifest those of the original? With the ledger, every one is counted again.

At the published levels, people and rows are counted for each granularity that the run considered, in one pass
each: the group of every row, the different people of every group, and its rows. Which granularities group the
data alike, and which are on the frontier, follows from where each cuts the times that occur. Other levels
cannot be counted, because the ledger has the published ones alone: they must be those that it notes. What
earlier releases cost is counted for the granularity that was published, not for others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from timeveil.calendar.catalogue import available, fit
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Positions, Timeline
from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import Integers, dense, distinct, distinct_pairs, fold, ranked
from timeveil.evidence.row_order import Mask
from timeveil.models.events.evidence import Evidence, observed
from timeveil.models.events.judges.protected import breaking, promise_of

Cuts: TypeAlias = tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]
Returns: TypeAlias = tuple[Positions, Positions]


def check_candidates(evidence: Evidence, findings: Findings) -> None:
    """Expect the stated numbers, names and frontier of every candidate that can be counted again."""
    findings.check("the candidates are those of the run, with the numbers of the original")
    manifest, facts = evidence.release.manifest, evidence.private.facts
    candidates, calendar = manifest["candidates"], facts.get("calendar")
    if not evidence.people.complete.any():
        return
    levels = _definitions(evidence, calendar)
    timeline, time = observed(evidence.people, list(levels.values()), manifest["parameters"]["gaps"])
    visits, wrong, rows_at = _Visits.of(evidence, len(timeline), time), 0, np.bincount(time)
    cuts = {name: _cuts(timeline, level) for name, level in levels.items()}
    days, by_day, same_day = cuts.get("day"), visits, visits.returns
    if days is not None and not days[1].any():
        by_day, same_day = visits.by(timeline.firsts(levels["day"]))

    def count(name: str) -> dict[str, int]:
        firsts = timeline.firsts(levels[name])
        # What cuts only where days do is counted from one visit a day. Nobody returns to a group that is
        # shorter than a day on another day.
        if days is not None and _refines(days, cuts[name]):
            return by_day.count(firsts, evidence.k, by_day.returns)
        is_shorter = days is not None and _refines(cuts[name], days)
        return visits.count(firsts, evidence.k, same_day if is_shorter else visits.returns)

    for name, level in levels.items():
        counted = count(name)
        if calendar is not None:  # earlier versions stated those of a granularity that groups alike
            counted["rows_in_gaps"] = int(rows_at[timeline.in_gaps(level)].sum())
        if promise_of(evidence).further:
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
    def of(cls, evidence: Evidence, times: int, time: Integers) -> Self:
        people, complete = evidence.people, np.flatnonzero(evidence.people.complete)
        label, person = evidence.folded(evidence.stated_labels)[complete], people.person[complete]
        sizes = int(label.max(initial=0)) + 1, people.people
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
    def returns(self) -> Returns:
        """Visits of people who came before, under the same label: to which cell, and to which before."""
        again = ~_changes(self.owner)[1:]
        return self.cell[1:][again], self.cell[:-1][again]

    @cached_property
    def visitors(self) -> Integers:
        """How many people visited each cell."""
        return np.bincount(self.cell, minlength=len(self.label))

    def within(self, inside: Mask) -> Self:
        """The visits to some of the cells alone."""
        stays, number = inside[self.cell], np.cumsum(inside, dtype=np.int32) - np.int32(1)
        cells = (self.label[inside], self.time[inside], self.rows[inside])
        return type(self)(*cells, self.owner[stays], number[self.cell[stays]])

    def by(self, firsts: Positions) -> tuple[Self, Returns]:
        """One visit of each person to each group, the new cells, and the returns to the same group.

        The first is enough to count what is coarser, the second to count what is finer.
        """
        granule, heads, group = self._groups(firsts)
        joined = group[self.cell]
        fresh = _changes(self.owner, joined)
        cells = (self.label[heads], granule[heads], np.add.reduceat(self.rows, heads))
        return type(self)(*cells, self.owner[fresh], joined[fresh]), _staying(self.returns, group)

    def count(self, firsts: Positions, k: int, returns: Returns) -> dict[str, int]:
        """What a manifest states of the groups of one granularity, `firsts` its granule at each time."""
        if firsts.min() < 0 and (firsts[self.time] < 0).any():  # visits in a gap are in no group
            among = self.within(firsts[self.time] >= 0)
            return among.count(firsts, k, among.returns)
        _, heads, group = self._groups(firsts)
        # Who returns to a group is in it already.
        crowd = np.add.reduceat(self.visitors, heads) if len(heads) else self.visitors
        crowd -= np.bincount(group[_staying(returns, group)[0]], minlength=len(heads))
        rows = np.add.reduceat(self.rows, heads) if len(heads) else self.rows
        below = crowd < k
        return {
            "smallest_group": int(crowd.min()) if len(crowd) else 0,
            "groups": len(crowd),
            "group_total": int(crowd.sum()),
            "groups_below_k": int(below.sum()),
            "rows_below_k": int(rows[below].sum()),
        }

    def _groups(self, firsts: Positions) -> tuple[Positions, Integers, Positions]:
        """The granule of each cell, the first cell of each group, and the group of each cell."""
        granule = firsts[self.time]
        begins = _changes(self.label, granule)
        return granule, np.flatnonzero(begins), np.cumsum(begins, dtype=np.int32) - np.int32(1)


def _staying(returns: Returns, group: Positions) -> Returns:
    """The returns from a cell to one of the same group."""
    cell, before = returns
    stays = group[cell] == group[before]
    return cell[stays], before[stays]


def _changes(*columns: Integers | Positions) -> Mask:
    """Where a row differs from the one before; the first row does."""
    changes = np.zeros(len(columns[0]), dtype=bool)
    changes[:1] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return changes


def _cuts(timeline: Timeline, level: Granularity) -> Cuts:
    """Between which times outside its gaps a granularity cuts, and which are in its gaps: a bit each."""
    firsts = timeline.firsts(level)
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
