"""A pattern release against the rows that it was made from, with the ledger.

Every person is counted once, or withheld where the method withholds. Each published support is the number of
people with the pattern, plus as many copies of virtual ones as the ledger notes. Where nothing may be lost,
every pattern that enough people have is published.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.release import Ledger
from timeveil.errors import InputError
from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import Integers
from timeveil.models.patterns.evidence import Evidence
from timeveil.models.patterns.evidence.counting import Baskets, missed, supports
from timeveil.models.patterns.evidence.family import NONE, Family, Flags
from timeveil.models.patterns.evidence.original import Original
from timeveil.models.patterns.evidence.table import ADDING, MOST_PEOPLE, Table

Copies = list[tuple[int, Baskets]]
"""Virtual people by the number of copies of each."""


def check_definition(evidence: Evidence, ledger: Ledger, family: Family, findings: Findings) -> None:
    """Judge the release against the rows that it was made from."""
    if not _check_ledger(ledger, findings):
        return
    try:
        original = evidence.original
    except InputError as error:
        findings.expect("ledger:original", False, problem=error.message)
        return
    parameters = evidence.release.manifest["parameters"]
    counted = _check_people(ledger, original, parameters["method"], findings)
    virtual = _virtual(ledger, evidence.release.manifest["counts"]["virtual"], evidence.table, findings)
    if counted is None or virtual is None:
        return
    rows = original.rows if counted.all() else original.rows.take(counted)
    real = _check_supports(family, rows, virtual, original.doubtful, findings)
    least = parameters["min_support"]
    if parameters["method"] in ADDING:
        findings.check(f"at least {least:,} people have every pattern, virtual ones not counted")
        rare = int((real[1:] + original.doubtful < least).sum())
        findings.expect("min-support:real", not rare, rare=rare, least=least)
    if parameters["method"] != "itemset":
        findings.check(f"no pattern that {least:,} people have is missing")
        lost = _lost(family, rows, least + original.doubtful, parameters["max_len"])
        findings.expect("lost", not lost, lost=lost, least=least)


def _check_ledger(ledger: Ledger, findings: Findings) -> bool:
    findings.check("the ledger notes every original row, in order")
    roles = ledger.original.roles
    long = roles.respondent and roles.time and roles.value
    has_roles = roles.item or roles.series or long
    if not findings.expect("ledger:model", ledger.model == "patterns" and has_roles):
        return False
    columns = {"row", "transaction"} <= set(ledger.entries.schema.names)
    if not findings.expect("ledger:columns", columns and "virtual" in ledger.mappings):
        return False
    rows, numbers = ledger.original.rows, np.asarray(ledger.table.column("row"))
    in_order = np.array_equal(numbers, np.arange(rows))
    findings.expect("ledger-rows", in_order, noted=len(numbers), rows=rows)
    return len(numbers) == rows


def _check_people(ledger: Ledger, original: Original, method: str, findings: Findings) -> Flags | None:
    """Which of the rows of items are counted."""
    findings.check("everybody is counted once, with all of their items, or withheld where that is the method")
    findings.expect("person-twice", not original.repeated, repeated=original.repeated)
    noted = np.asarray(pc.fill_null(ledger.table.column("transaction"), NONE)).astype(np.int64)
    inside = original.row_of >= 0
    number = np.full(original.rows.rows, NONE, dtype=np.int64)
    # One note per person; rows of a person that disagree show up as a split.
    number[original.row_of[inside]] = noted[inside]
    split = (noted[inside] != number[original.row_of[inside]]).any() or (noted[~inside] != NONE).any()
    counted: Flags = number != NONE
    distinct = len(np.unique(number[counted])) == int(counted.sum())
    if not findings.expect("ledger-rows:people", distinct and not split):
        return None
    withheld = int((~counted).sum())
    findings.expect("conservation:withheld", not withheld or method == "suppressive", withheld=withheld)
    return counted


def _virtual(ledger: Ledger, stated: int, release_table: Table, findings: Findings) -> Copies | None:
    """The virtual people that the ledger notes."""
    findings.check("the virtual people are as many as the manifest states")
    table = ledger.mappings["virtual"]
    if not {"pattern", "copies"} <= set(table.column_names) or not table.num_rows:
        return [] if findings.expect("virtual:none", not (stated or table.num_rows), stated=stated) else None
    copies = np.asarray(pc.fill_null(table.column("copies"), 0)).astype(np.int64)
    possible = bool(((copies >= 1) & (copies <= MOST_PEOPLE)).all())
    findings.expect("virtual", possible and int(copies.sum()) == stated, stated=stated)
    if not possible:
        return None
    patterns = table.column("pattern")
    number = {name: index for index, name in enumerate(release_table.names)}
    lengths = np.asarray(pc.fill_null(pc.list_value_length(patterns), 0)).astype(np.int64)
    texts = pc.list_flatten(patterns).cast(pa.string()).to_pylist()
    items = np.array([number.get(text, NONE) for text in texts], dtype=np.int64)
    rows = Baskets(np.concatenate([[0], np.cumsum(lengths)]), items)
    if release_table.kinds > 1:
        odd = _without_one_symbol(rows, len(number) // release_table.kinds, release_table.kinds)
        findings.expect("virtual:instants", not odd, kinds=odd)
    return [(int(count), rows.take(copies == count)) for count in np.unique(copies)]


def _without_one_symbol(rows: Baskets, instants: int, kinds: int) -> int:
    """Number of rows that do not have exactly one symbol at every instant, as everybody has."""
    inside = rows.items >= 0
    occupied = np.unique(rows.owners[inside] * instants + rows.items[inside] // kinds)
    complete = np.bincount(occupied // instants, minlength=rows.rows) == instants
    return int((~complete | (np.diff(rows.starts) != instants)).sum())


def _check_supports(
    family: Family, rows: Baskets, virtual: Copies, doubtful: int, findings: Findings
) -> Integers:
    """The supports without virtual people."""
    findings.check(
        "every support is the number of people, and virtual people, with the pattern: data have them all"
    )
    real = supports(family, rows)
    total = real + sum(copies * supports(family, people) for copies, people in virtual)
    wrong = np.abs(total - family.support) > doubtful
    stated, people = int(family.support[0]), int(total[0])
    findings.expect("conservation:empty", stated == people, stated=stated, people=people)
    differing = int(wrong[1:].sum())
    findings.expect("wrong-support", not differing, wrong=differing, patterns=family.number - 1)
    return real


def _lost(family: Family, rows: Baskets, least: int, longest: int | None) -> int:
    """Number of patterns just outside the published ones that enough rows have."""
    counts = np.bincount(rows.items[rows.items >= 0], minlength=family.size)
    # Single items that are not published; `missed` looks at combinations of those that are.
    counts[family.singles] = 0
    return int((counts >= least).sum()) + missed(family, rows, least, longest or len(family.levels))
