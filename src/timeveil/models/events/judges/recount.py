"""Are the candidates of the manifest those of the original? With the ledger, every one is counted again.

At the published levels, people and rows are counted for each granularity that the run considered, in one pass
each: the group of every row, the different people of every group, and its rows. Which granularities group the
data alike, and which are on the frontier, follows from where each cuts the times that occur. Other levels
cannot be counted, because the ledger has the published ones alone: they must be those that it notes.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from timeveil.calendar.catalogue import available, fit
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Timeline
from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import Integers, distinct, fold
from timeveil.evidence.row_order import Mask
from timeveil.models.events.evidence import Evidence, observed


def check_candidates(evidence: Evidence, findings: Findings) -> None:
    """Expect the stated numbers, names and frontier of every candidate that can be counted again."""
    findings.check("the candidates are those of the run, with the numbers of the original")
    manifest, facts = evidence.release.manifest, evidence.private.facts
    candidates, calendar = manifest["candidates"], facts.get("calendar")
    if not evidence.people.complete.any():
        return
    levels = _definitions(evidence, calendar)
    timeline, time = observed(evidence.people, list(levels.values()), manifest["parameters"]["gaps"])
    visits, wrong = _Visits.of(evidence, len(timeline), time), 0

    def count(level: Granularity) -> dict[str, int]:
        return visits.count(timeline.firsts(level).astype(np.int64), evidence.k)

    with ThreadPoolExecutor(2) as pool:  # NumPy releases the lock in its array loops
        counts = list(pool.map(count, levels.values()))
    for (name, level), counted in zip(levels.items(), counts, strict=True):
        if calendar is not None:  # earlier versions stated those of a granularity that groups alike
            counted["rows_in_gaps"] = int(timeline.in_gaps(level)[time].sum())
        wrong += any(candidates[name][number] != count for number, count in counted.items())
    findings.expect("candidates:numbers", not wrong, wrong=wrong, candidates=len(candidates))
    if calendar is None:
        return  # an earlier version did not note the calendar: some candidates may not be known
    cuts = {name: _cuts(timeline, levels[name]) for name in levels if candidates[name]["allowed"]}
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


@dataclass(frozen=True)
class _Visits:
    """The complete rows, sorted once by label, person and time; several rows of a person at a time are one.

    A cell is a label at a time, in `rows` rows. Cells are sorted too, so those of a group follow each other.
    Per visit `cell` is where it is, and `owner` whose.
    """

    label: Integers
    time: Integers
    rows: Integers
    owner: Integers
    cell: Integers

    @classmethod
    def of(cls, evidence: Evidence, times: int, time: Integers) -> Self:
        people, complete = evidence.people, np.flatnonzero(evidence.people.complete)
        label, person = evidence.folded(evidence.stated_labels)[complete], people.person[complete]
        sizes = int(label.max(initial=0)) + 1, people.people
        cells, cell, rows = np.unique(label * times + time, return_inverse=True, return_counts=True)
        owner, _ = fold([(label, sizes[0]), (person, sizes[1])], len(label))
        # Owners rise with their label, and cells with label and time: one number sorts by all three.
        visits = distinct(owner * len(cells) + cell.ravel())
        return cls(cells // times, cells % times, rows, visits // len(cells), visits % len(cells))

    @cached_property
    def newcomer(self) -> Mask:
        """The first visit of each owner."""
        return _changes(self.owner)

    def within(self, inside: Mask) -> Self:
        """The visits to some of the cells alone."""
        stays, number = inside[self.cell], np.cumsum(inside) - 1
        cells = (self.label[inside], self.time[inside], self.rows[inside])
        return type(self)(*cells, self.owner[stays], number[self.cell[stays]])

    def count(self, firsts: Integers, k: int) -> dict[str, int]:
        """What a manifest states of the groups of one granularity, `firsts` its granule at each time."""
        granule = firsts[self.time]
        if (granule < 0).any():  # visits in a gap are in no group
            return self.within(granule >= 0).count(firsts, k)
        group = np.cumsum(_changes(self.label, granule)) - 1
        joined = group[self.cell]
        # A person is new to a group where the visit before was another's, or was in another group.
        crowd = np.bincount(joined[self.newcomer | _changes(joined)])
        below = crowd < k
        return {
            "smallest_group": int(crowd.min()) if len(crowd) else 0,
            "groups": len(crowd),
            "group_total": int(crowd.sum()),
            "groups_below_k": int(below.sum()),
            "rows_below_k": int(self.rows[below[group]].sum()),
        }


def _changes(*columns: Integers) -> Mask:
    """Where a row differs from the one before; the first row does."""
    changes = np.zeros(len(columns[0]), dtype=bool)
    changes[:1] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return changes


def _cuts(timeline: Timeline, level: Granularity) -> tuple[Mask, Mask]:
    """Between which times outside its gaps a granularity cuts, and which times are in its gaps."""
    firsts = timeline.firsts(level)
    return np.diff(firsts[firsts >= 0]) != 0, firsts < 0


def _refines(finer: tuple[Mask, Mask], coarser: tuple[Mask, Mask]) -> bool:
    """Whether the coarser cuts only where the finer does, and leaves out the same times."""
    return np.array_equal(finer[1], coarser[1]) and not (coarser[0] & ~finer[0]).any()


def _lists_those_alike(candidates: Mapping[str, Any], cuts: Mapping[str, tuple[Mask, Mask]]) -> bool:
    """Whether of the granularities that cut alike one lists all the others, and they list none."""
    for cut in cuts.values():
        alike = {name for name in cuts if _refines(cut, cuts[name]) and _refines(cuts[name], cut)}
        listed = {name: sorted(candidates[name]["aliases"]) for name in alike if candidates[name]["aliases"]}
        complete = all(aliases == sorted(alike - {name}) for name, aliases in listed.items())
        if not complete or len(listed) != (len(alike) > 1):
            return False
    return True
