"""A series release against the series that it was made from, with the ledger.

Every series is either suppressed or published once: in one group, whose envelope holds it and is no wider
than its members and the stated rounding explain, and in one cell, whose pattern is its own where so stated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.errors import InputError
from timeveil.evidence.codes import Integers, column_of, encode
from timeveil.evidence.findings import Findings
from timeveil.evidence.published import columns_of
from timeveil.models.series.judges.bounds import is_nearest_below
from timeveil.models.series.judges.cells import Cells, envelopes_of
from timeveil.models.series.judges.original import Series, not_own, same_instants, series_of
from timeveil.models.series.judges.values import check_values

_NONE = -1


@dataclass(frozen=True, slots=True)
class _Placed:
    """The series of the original, and per series its published group and its cell, -1 for none.

    `matched` says whether the subgroups of the ledger are the published cells.
    """

    series: Series
    group: Integers
    cell: Integers
    matched: bool


def check_definition(release: Release, ledger: Ledger, cells: Cells, findings: Findings) -> None:
    """Judge the release against the series that it was made from."""
    if not (_check_roles(release, ledger, findings) and _check_ledger(ledger, findings)):
        return
    try:
        series = series_of(ledger.original, release.manifest["parameters"].get("fill"))
    except InputError as error:
        findings.refuse("ledger", error.message)
        return
    if not same_instants(series, release.manifest["series"]["instants"]):
        findings.refuse("columns", "the instants are not those of the original")
        return
    placed = _place(ledger, series, cells, findings)
    _check_suppressed(release, placed, findings)
    _check_envelopes(release, cells, placed, findings)
    if placed.matched and release.manifest["series"]["own_patterns"]:
        _check_patterns(release, cells, placed, findings)
    if placed.matched:
        there = np.flatnonzero(placed.cell != _NONE)
        check_values(release, ledger, cells, series.row[there], placed.cell[there], findings)


def _check_roles(release: Release, ledger: Ledger, findings: Findings) -> bool:
    findings.check(
        "the published columns are those of the original, and no respondent, time or value is among them"
    )
    roles, before = ledger.original.roles, len(findings.violations)
    published = [column["name"] for column in release.manifest["columns"]]
    for role in ("respondent", "time", "value"):
        if getattr(roles, role) in published:
            findings.refuse("columns", f"the {role} is among the published columns")
    for role, names in {"sensitive": roles.sensitive, "keep": roles.keep}.items():
        if columns_of(release, role) != list(names):
            findings.refuse("columns", f"the {role} columns are not those of the original")
    if ledger.model != "series" or not (roles.series or (roles.respondent and roles.time and roles.value)):
        findings.refuse("ledger", "the ledger is not that of this release")
    return len(findings.violations) == before


def _check_ledger(ledger: Ledger, findings: Findings) -> bool:
    findings.check("the ledger notes every original row, in order")
    if not {"row", "group", "subgroup"} <= set(ledger.entries.schema.names):
        findings.refuse("ledger", "the ledger lacks a column of a series' ledger")
        return False
    rows, numbers = ledger.original.rows, np.asarray(ledger.table.column("row"))
    if not np.array_equal(numbers, np.arange(rows)):
        findings.refuse(
            "ledger-rows",
            f"the ledger notes {len(numbers):,} rows, not the {rows:,} of the original in order",
        )
    return len(numbers) == rows


def _place(ledger: Ledger, series: Series, cells: Cells, findings: Findings) -> _Placed:
    """Where the ledger puts every series; the subgroups of a ledger are numbered as cells are published."""
    findings.check("every series is in one group and one subgroup, or suppressed")
    noted = [_numbers(ledger, name) for name in ("group", "subgroup")]
    outside = int(((series.of_row == _NONE) & (noted[0] != _NONE)).sum())
    if outside:
        findings.refuse("incomplete-rows", f"{counted(outside, 'row')} of a dropped person not suppressed")
    inside = series.of_row != _NONE
    place, split = [], np.zeros(len(series.row), dtype=bool)
    for numbers in noted:
        place.append(numbers[series.row])
        np.logical_or.at(split, series.of_row[inside], numbers[inside] != place[-1][series.of_row[inside]])
    split |= (place[0] == _NONE) != (place[1] == _NONE)
    if split.any():
        findings.refuse(
            "person-twice", f"{counted(int(split.sum()), 'series', 'series')} in more than one place"
        )
    _check_people(ledger, findings)
    cell, matched = _cells(place[0], place[1], cells, findings)
    return _Placed(series, place[0], cell, matched)


def _numbers(ledger: Ledger, name: str) -> Integers:
    return np.asarray(ledger.table.column(name).fill_null(_NONE)).astype(np.int64)


def _check_people(ledger: Ledger, findings: Findings) -> None:
    """In wide form nobody has two rows."""
    roles = ledger.original.roles
    if roles.series and roles.respondent is not None:
        findings.check("nobody has two series")
        people = encode(column_of(ledger.original.data, roles.respondent))
        again = len(people.codes) - people.size
        if again:
            findings.refuse(
                "person-twice", f"{counted(again, 'series', 'series')} of somebody who has one already"
            )


def _cells(group: Integers, subgroup: Integers, cells: Cells, findings: Findings) -> tuple[Integers, bool]:
    """The published cell of every series."""
    findings.check("the groups and subgroups of the ledger are the groups and cells of the release")
    kept = subgroup != _NONE
    numbers, dense = np.unique(subgroup[kept], return_inverse=True)
    cell = np.full(len(subgroup), _NONE, dtype=np.int64)
    cell[kept] = dense.ravel()
    apart = not np.array_equal(numbers, np.arange(1, len(cells.example) + 1))
    if not apart:
        sizes = np.bincount(dense.ravel(), minlength=len(numbers))
        elsewhere = cells.cell_group[cell[kept]] != group[kept]
        apart = bool(elsewhere.any() or (sizes != cells.sizes).any())
    if apart:
        findings.refuse(
            "ledger-groups",
            f"the {counted(len(numbers), 'subgroup')} of the ledger are not the "
            f"{counted(len(cells.example), 'cell')} of the release, each with its group and rows",
        )
        cell[:] = _NONE
    return cell, not apart


def _check_suppressed(release: Release, placed: _Placed, findings: Findings) -> None:
    findings.check("as many series are suppressed as is stated, and the others are the published rows")
    suppressed, stated = int((placed.group == _NONE).sum()), release.manifest["counts"]
    if suppressed != stated["suppressed"]:
        findings.refuse(
            "suppressed",
            f"{suppressed:,} series suppressed where the manifest states {stated['suppressed']:,}",
        )
    if len(placed.group) - suppressed != stated["rows"]:
        findings.refuse(
            "conservation",
            f"{len(placed.group) - suppressed:,} series not suppressed, and {stated['rows']:,} rows stated",
        )


def _check_envelopes(release: Release, cells: Cells, placed: _Placed, findings: Findings) -> None:
    findings.check(
        "every envelope holds its series and is no wider than they and the stated rounding explain"
    )
    instants = release.manifest["series"]["instants"]
    part = [instants.index(name) for name in release.manifest["series"]["values"]]
    groups, example = np.unique(cells.group, return_index=True)
    low, high = (bound[example] for bound in envelopes_of(release))
    member = np.flatnonzero(np.isin(placed.group, groups))
    place = np.searchsorted(groups, placed.group[member])
    order = np.argsort(place, kind="stable")
    member, place = member[order], place[order]
    begins = np.flatnonzero(np.diff(place, prepend=_NONE))
    if not len(begins):
        return
    found, digits = place[begins], release.manifest["parameters"]["round_outward"]
    outside = np.zeros(len(member), dtype=bool)
    loose = np.zeros(len(found), dtype=bool)
    for column, instant in enumerate(part):
        values = placed.series.matrix[member, instant]
        outside |= (values < low[place, column]) | (values > high[place, column])
        least, most = np.minimum.reduceat(values, begins), np.maximum.reduceat(values, begins)
        loose |= ~is_nearest_below(low[found, column], least, digits) & (low[found, column] <= least)
        loose |= ~is_nearest_below(-high[found, column], -most, digits) & (high[found, column] >= most)
    if outside.any():
        findings.refuse(
            "outside-envelope",
            f"{counted(int(outside.sum()), 'series', 'series')} not within the envelope of its group",
        )
    if loose.any():
        findings.refuse(
            "envelope-wide",
            f"{counted(int(loose.sum()), 'group')} with a wider envelope than series and rounding explain",
        )


def _check_patterns(release: Release, cells: Cells, placed: _Placed, findings: Findings) -> None:
    findings.check("every pattern is, at every instant, that of each of its series")
    stated = release.manifest["series"]
    part = np.array([stated["instants"].index(name) for name in stated["pattern"]], dtype=np.int64)
    there = np.flatnonzero(placed.cell != _NONE)
    wrong = not_own(
        placed.series.matrix[there], stated["center"], part, cells.symbols, cells.levels, placed.cell[there]
    )
    if wrong.any():
        findings.refuse(
            "pattern-not-own",
            f"{counted(int(wrong.sum()), 'series', 'series')} under a pattern that is not its own",
        )
