"""A pattern release against the rows that it was made from, with the ledger.

Every person is counted once, or withheld where the method withholds. Each published support is how many of
them have the pattern, and of the virtual ones as many copies as the ledger notes. Where nothing may be lost,
every pattern that enough people have is there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.errors import InputError
from timeveil.evidence.codes import Integers
from timeveil.evidence.findings import Findings
from timeveil.models.patterns.judges.counting import Baskets, missed, supports
from timeveil.models.patterns.judges.family import Family
from timeveil.models.patterns.judges.shape import ADDING
from timeveil.models.patterns.judges.verify_original import Rows, rows_of
from timeveil.models.patterns.judges.verify_table import MOST, Known

_NONE = -1
Mask = npt.NDArray[np.bool_]


def check_definition(
    release: Release, ledger: Ledger, known: Known, family: Family, findings: Findings
) -> None:
    """Judge the release against the rows that it was made from."""
    if not _check_ledger(ledger, findings):
        return
    try:
        rows = rows_of(ledger, release.manifest, known)
    except InputError as error:
        findings.refuse("ledger", error.message)
        return
    kept = _check_people(release, ledger, rows, findings)
    virtual = _virtual(release, ledger, known, findings)
    if kept is None or virtual is None:
        return
    counted_rows = rows.baskets if kept.all() else rows.baskets.chosen(kept)
    _check_supports(release, family, counted_rows, virtual, rows.doubt, findings)
    _check_lost(release, family, counted_rows, rows.doubt, findings)


def _check_ledger(ledger: Ledger, findings: Findings) -> bool:
    findings.check("the ledger notes every original row, in order")
    names, roles = ledger.entries.schema.names, ledger.original.roles
    long = roles.respondent and roles.time and roles.value
    if ledger.model != "patterns" or not (roles.item or roles.series or long):
        findings.refuse("ledger", "the ledger is not that of this release")
        return False
    if not {"row", "transaction"} <= set(names) or "virtual" not in ledger.mappings:
        findings.refuse("ledger", "the ledger lacks a column or a table of a pattern release's ledger")
        return False
    rows, numbers = ledger.original.rows, np.asarray(ledger.table.column("row"))
    if not np.array_equal(numbers, np.arange(rows)):
        findings.refuse(
            "ledger-rows",
            f"the ledger notes {len(numbers):,} rows, not the {rows:,} of the original in order",
        )
    return len(numbers) == rows


def _check_people(release: Release, ledger: Ledger, rows: Rows, findings: Findings) -> Mask | None:
    """Which of the rows of items are counted."""
    findings.check("everybody is counted once, with all of their items, or withheld where that is the method")
    if rows.twice:
        findings.refuse(
            "person-twice", f"{counted(rows.twice, 'row')} or items of somebody who has it already"
        )
    noted = np.asarray(pc.fill_null(ledger.table.column("transaction"), _NONE)).astype(np.int64)
    inside = rows.of_row >= 0
    number = np.full(rows.baskets.rows, _NONE, dtype=np.int64)
    number[rows.of_row[inside]] = noted[inside]
    split = int((noted[inside] != number[rows.of_row[inside]]).sum() + (noted[~inside] != _NONE).sum())
    kept: Mask = number != _NONE
    if split or len(np.unique(number[kept])) != int(kept.sum()):
        findings.refuse("ledger-rows", "the transactions of the ledger are not the people of the original")
        return None
    withheld = int((~kept).sum())
    if withheld and release.manifest["parameters"]["method"] != "suppressive":
        findings.refuse(
            "conservation", f"{counted(withheld, 'person', 'people')} withheld, which the method does not do"
        )
    return kept


def _virtual(
    release: Release, ledger: Ledger, known: Known, findings: Findings
) -> list[tuple[int, Baskets]] | None:
    """The virtual people by how many copies there are of each."""
    findings.check("the virtual people are as many as the manifest states")
    table, stated = ledger.mappings["virtual"], release.manifest["counts"]["virtual"]
    if not {"pattern", "copies"} <= set(table.column_names) or not table.num_rows:
        if stated or table.num_rows:
            findings.refuse("virtual", f"the ledger notes no virtual people where {stated:,} are stated")
        return [] if not (stated or table.num_rows) else None
    copies = np.asarray(pc.fill_null(table.column("copies"), 0)).astype(np.int64)
    possible = bool(((copies >= 1) & (copies <= MOST)).all())
    if not possible or int(copies.sum()) != stated:
        findings.refuse(
            "virtual", f"the ledger does not note the {stated:,} virtual people that the manifest states"
        )
    if not possible:
        return None
    patterns, places = table.column("pattern"), known.places()
    lengths = np.asarray(pc.fill_null(pc.list_value_length(patterns), 0)).astype(np.int64)
    texts = pc.list_flatten(patterns).cast(pa.string()).to_pylist()
    items = np.array([places.get(text, _NONE) for text in texts], dtype=np.int64)
    every = Baskets(np.concatenate([[0], np.cumsum(lengths)]), items)
    _check_instants(every, known, findings)
    return [(int(number), every.chosen(copies == number)) for number in np.unique(copies)]


def _check_instants(every: Baskets, known: Known, findings: Findings) -> None:
    """A virtual person of series has one symbol at every instant, as everybody has."""
    if known.kinds == 1:
        return
    instants = len(known.names) // known.kinds
    row = np.repeat(np.arange(every.rows), np.diff(every.starts))[every.items >= 0]
    there = np.unique(row * instants + every.items[every.items >= 0] // known.kinds)
    fits = np.bincount(there // instants, minlength=every.rows) == instants
    odd = int((~fits | (np.diff(every.starts) != instants)).sum())
    if odd:
        findings.refuse(
            "virtual",
            f"{counted(odd, 'kind')} of virtual people without one symbol at every instant",
        )


def _check_supports(
    release: Release,
    family: Family,
    rows: Baskets,
    virtual: list[tuple[int, Baskets]],
    doubt: int,
    findings: Findings,
) -> None:
    findings.check(
        "every support is how many people, and virtual people, have the pattern: some data have them all"
    )
    base = supports(family, rows)
    total = base.copy()
    for copies, some in virtual:
        total += copies * supports(family, some)
    off = np.abs(total - family.support) > doubt
    if off[0] or total[0] != family.support[0]:
        findings.refuse(
            "conservation",
            f"the empty pattern counts {int(family.support[0]):,} people where {int(total[0]):,} are there",
        )
    wrong = int(off[1:].sum())
    if wrong:
        findings.refuse(
            "wrong-support", f"{counted(wrong, 'pattern')} of {family.number - 1:,} not as often as stated"
        )
    asked = release.manifest["parameters"]
    if asked["method"] in ADDING:
        _check_common(base, asked["min_support"], doubt, findings)


def _check_common(base: Integers, least: int, doubt: int, findings: Findings) -> None:
    findings.check(f"every pattern is one that at least {least:,} people have, virtual ones aside")
    rare = int((base[1:] + doubt < least).sum())
    if rare:
        findings.refuse(
            "min-support",
            f"{counted(rare, 'pattern')} that fewer than {least:,} people have, virtual ones aside",
        )


def _check_lost(release: Release, family: Family, rows: Baskets, doubt: int, findings: Findings) -> None:
    asked = release.manifest["parameters"]
    if asked["method"] == "itemset":
        return
    least, longest = asked["min_support"], asked["max_len"]
    findings.check(f"no pattern that {least:,} people have is missing")
    enough = least + doubt
    singles = np.zeros(0, dtype=np.int64)
    if len(family.levels) > 1:
        singles = family.levels[1][:, 0]
    often = np.bincount(rows.items[rows.items >= 0], minlength=1)
    often[singles[singles < len(often)]] = 0
    lost = int((often >= enough).sum())
    lost += missed(family, rows, enough, longest or len(family.levels))
    if lost:
        findings.refuse("lost", f"{counted(lost, 'pattern')} that at least {least:,} people have not there")
