"""The definition itself, with the ledger: distinct people per published class.

Every original row that was not withheld is placed by the published intervals and values. Then people
are counted per class, and the placed rows must be the published rows, one for one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.errors import InputError
from timeveil.evidence.codes import Coded, Integers, align, column_of, distinct, distinct_pairs, encode, fold
from timeveil.evidence.findings import Findings
from timeveil.evidence.published import axis_of, bounds_of, columns_of, promised
from timeveil.models.events.judges.linked import groups_of, people_of, published_granules, shown_as


def check_definition(release: Release, ledger: Ledger, findings: Findings) -> None:
    """Judge the release against the rows that it was made from."""
    if not (_check_roles(release, ledger, findings) and _check_rows(release, ledger, findings)):
        return
    try:
        placed = _place(release, ledger, findings)
    except InputError as error:
        findings.refuse("ledger", error.message)
        return
    _check_people(release, placed, findings)
    _check_same_rows(release, ledger, placed, findings)
    _check_groups(placed, findings)


def _check_roles(release: Release, ledger: Ledger, findings: Findings) -> bool:
    findings.check("the published columns are those of the original, and no respondent is among them")
    roles, before = ledger.original.roles, len(findings.violations)
    published = [column["name"] for column in release.manifest["columns"]]
    if roles.respondent in published:
        findings.refuse("columns", "the respondent is among the published columns")
    expected = {"quasi": roles.quasi_columns, "keep": roles.keep, "sensitive": roles.sensitive}
    for role, names in expected.items():
        if columns_of(release, role) != list(names):
            findings.refuse("columns", f"the {role} columns are not those of the original")
    whole = [*roles.published, roles.time, f"{roles.time}_start", f"{roles.time}_end"]
    if published != whole and len(findings.violations) == before:
        findings.refuse("columns", "the published columns are not those of the original and its time")
    if ledger.model != "time" or release.manifest["time"]["column"] != roles.time:
        findings.refuse("ledger", "the ledger is not that of this release")
    return len(findings.violations) == before


def _check_rows(release: Release, ledger: Ledger, findings: Findings) -> bool:
    findings.check("the ledger notes every original row, in order, and what was withheld")
    counts, rows = release.manifest["counts"], ledger.original.rows
    if not {"row", "group"} <= set(ledger.table.column_names):
        findings.refuse("ledger", "the ledger has no row or no group column")
        return False
    numbers = np.asarray(ledger.table.column("row"))
    if not np.array_equal(numbers, np.arange(rows)):
        findings.refuse(
            "ledger-rows",
            f"the ledger notes {len(numbers):,} rows, not the {rows:,} of the original in order",
        )
    if counts["rows_read"] != rows:
        findings.refuse(
            "counts", f"the manifest states {counts['rows_read']:,} rows read; the original has {rows:,}"
        )
    withheld = int((~groups_of(ledger)[0]).sum())
    if withheld != counts["withheld"]:
        findings.refuse(
            "withheld", f"{counted(withheld, 'row')} withheld; the manifest states {counts['withheld']:,}"
        )
    return len(numbers) == rows


@dataclass(frozen=True, slots=True)
class Placed:
    """Rows kept by the ledger and rows of the release, their classes under one numbering."""

    kept: Integers
    person: Integers
    people: int
    group: Integers
    original: Integers
    released: Integers
    classes: int


def _place(release: Release, ledger: Ledger, findings: Findings) -> Placed:
    """The class of every row on both sides; rows without person, time or granule are refused here."""
    findings.check("every row that was not withheld is in a published group")
    people, granules = people_of(ledger.original), published_granules(release)
    noted, group = groups_of(ledger)
    incomplete = int((noted & ~people.whole).sum())
    if incomplete:
        findings.refuse(
            "incomplete-rows", f"{counted(incomplete, 'row')} without person or time not withheld"
        )
    place = np.where(people.whole, granules.containing(people.moment), -1)
    kept = np.flatnonzero(noted & (place >= 0))
    lost = int((noted & people.whole).sum()) - len(kept)
    if lost:
        findings.refuse("no-class", f"{counted(lost, 'row')} not withheld, but in no published granule")
    columns = [(place[kept], _released_place(release), len(granules.start))]
    for name in columns_of(release, "quasi"):
        original = shown_as(ledger, name, encode(column_of(ledger.original.data, name)))
        columns.append(_side_by_side(release, name, original, kept))
    ours, theirs, classes = fold_both(columns)
    return Placed(kept, people.person[kept], people.people, group[kept], ours, theirs, classes)


def _released_place(release: Release) -> Integers:
    """Per published row the place of its granule in time, which is how `Granules` numbers them."""
    start_name, end_name = columns_of(release, "start", "end")
    start = encode(column_of(release.parts["data"], start_name))
    end = encode(column_of(release.parts["data"], end_name))
    pairs, distinct = fold([(start.codes, start.size), (end.codes, end.size)], len(start.codes))
    _, example = np.unique(pairs, return_index=True)
    starts = pa.chunked_array([start.values.take(start.codes[example])])
    ends = pa.chunked_array([end.values.take(end.codes[example])])
    first, last = bounds_of(axis_of(release), starts, ends)
    places = np.empty(distinct, dtype=np.int64)
    places[np.lexsort((last, first))] = np.arange(distinct)
    return places[pairs]


def _side_by_side(
    release: Release, name: str, original: Coded, kept: Integers
) -> tuple[Integers, Integers, int]:
    ours, theirs = align(original, encode(column_of(release.parts["data"], name)))
    return ours.codes[kept], theirs.codes, ours.size


def fold_both(columns: list[tuple[Integers, Integers, int]]) -> tuple[Integers, Integers, int]:
    """Rows of two tables, given column by column, as one code each under one numbering."""
    rows = len(columns[0][0])
    both = [(np.concatenate([ours, theirs]), size) for ours, theirs, size in columns]
    codes, count = fold(both, len(both[0][0]))
    return codes[:rows], codes[rows:], count


def _check_people(release: Release, placed: Placed, findings: Findings) -> None:
    k, stated = promised(release, "k"), release.manifest["counts"]["smallest_group"]
    findings.check(f"every published value is shared by at least {k} different people")
    members, _, _ = distinct_pairs(placed.original, placed.person, placed.people)
    people = np.bincount(members, minlength=placed.classes)
    people = people[np.bincount(placed.released, minlength=placed.classes) > 0]
    if not len(people):
        return
    below, smallest = int((people < k).sum()), int(people.min())
    if below:
        verb = "holds" if below == 1 else "hold"
        findings.refuse(
            "people-below-k",
            f"{counted(below, 'group')} {verb} fewer than {k} people; the smallest holds {smallest}",
        )
    if stated != smallest:
        findings.refuse(
            "smallest-group",
            f"the smallest group holds {smallest:,} people where the manifest states {stated:,}",
        )


def _check_same_rows(release: Release, ledger: Ledger, placed: Placed, findings: Findings) -> None:
    findings.check("the published rows are the original rows that were not withheld, one for one")
    ours = np.bincount(placed.original, minlength=placed.classes)
    theirs = np.bincount(placed.released, minlength=placed.classes)
    unpublished = int(ours[theirs == 0].sum())
    if unpublished:
        findings.refuse("no-class", f"{counted(unpublished, 'row')} not withheld, but in no published group")
    unequal = int((ours != theirs).sum())
    if unequal:
        findings.refuse(
            "class-rows",
            f"{counted(unequal, 'group')} with another number of rows than the original has there",
        )
    columns = [(placed.original, placed.released, placed.classes)]
    for name in columns_of(release, "keep", "sensitive"):
        try:
            original = encode(column_of(ledger.original.data, name))
            columns.append(_side_by_side(release, name, original, placed.kept))
        except InputError:
            findings.refuse("row-values", f"column `{name}` cannot be compared with the original's")
    left, right, count = fold_both(columns)
    differing = np.bincount(left, minlength=count) - np.bincount(right, minlength=count)
    surplus = int(np.clip(-differing, 0, None).sum())
    if differing.any():
        findings.refuse(
            "row-values",
            f"{counted(surplus, 'published row')} not in the original, "
            f"{counted(int(np.clip(differing, 0, None).sum()), 'original row')} not in the release",
        )


def _check_groups(placed: Placed, findings: Findings) -> None:
    findings.check("the groups of the ledger are those of the release")
    _, group = np.unique(placed.group, return_inverse=True)
    groups = int(group.max()) + 1 if len(group) else 0
    _, inside = np.unique(placed.original, return_inverse=True)
    classes = int(inside.max()) + 1 if len(inside) else 0
    pairs = len(distinct(group.astype(np.int64) * max(classes, 1) + inside))
    if not groups == classes == pairs:
        findings.refuse(
            "ledger-groups",
            f"the ledger has {counted(groups, 'group')}, the release has {counted(classes, 'group')} of the "
            f"same rows; {counted(pairs, 'pair')} of them overlap",
        )
