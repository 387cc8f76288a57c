"""Do k series share every envelope, and p of them every pattern in it? (Shou et al. 2013, Definition 5)

Any recipient can count; the ledger shows also that each row is one series, as it was before (`definition`).
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from timeveil.domain.arrays import Ints
from timeveil.domain.judgement import Verdict
from timeveil.domain.release import Release
from timeveil.errors import BundleError, InputError
from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import changes, column_of, distinct_pairs, encode
from timeveil.evidence.published import check_row_order, columns_of, compared_rows
from timeveil.models.series.evidence import GROUP, LEVEL, PATTERN, Evidence, Published, encode_numbers
from timeveil.models.series.judges import beside, definition
from timeveil.models.series.judges.definition import Cells, check_definition, too_long
from timeveil.models.series.judges.manifest import check_columns, check_shape, check_statements

_SMALLEST, _LARGEST = 1e-300, 1e300
SENTENCES: Mapping[str, str] = {
    **definition.SENTENCES,
    **beside.SENTENCES,
    **{f"{part}:unreadable": "{fault}" for part in ("columns", "group", "mean", "pattern")},
    "cell-below-p": "{below:cell} with fewer than {least} rows; the smallest has {smallest}",
    "columns:group": f"column `{GROUP}` is not stated to hold whole numbers of 32 bits",
    "columns:head": "the first columns are not group, bounds of each instant, pattern and level",
    "columns:level": f"column `{LEVEL}` does not hold {{expected}} per row, as stated",
    "columns:labels": "column `{name}` does not hold labels",
    "columns:letters": f"column `{PATTERN}` does not hold letters",
    "columns:numbers": "column `{name}` does not hold numbers",
    "columns:tail": "the other columns are not the sensitive ones and then those to keep",
    "counts": "the table has {count} {name}; the manifest states {stated}",
    "envelope": "{rows:row} with a missing, infinite or tiny bound, or a low above its high",
    "envelope-differs": "{groups:group} whose rows show more than one envelope or mean",
    "group:numbers": "the {groups} groups are not numbered from 1 without a hole",
    "group:order": "{groups:group} not numbered in the order of its envelope",
    "group:ties": "{groups:group} with the envelope of another not in the order of rows",
    "group-below-k": "{below:group} with fewer than {least} rows; the smallest has {smallest}",
    "guarantee:parameter": "`parameters.{name}` of the manifest is not the {name} of the promise",
    "pattern:level": "{rows:row} with a level above {most}, the highest stated",
    "rounding": "{rows:row} with a bound of more than {digits} significant digits",
    "row-count": "the table has {rows:row}; the manifest states {stated}",
    "statements:both": "the manifest states that values of a column were changed and that none was",
    "statements:center": "the manifest states two centres",
    "statements:epsilon": "the manifest states perturbed numbers without an epsilon, or one without them",
    "statements:instants": "the manifest has no instants, or one of them twice",
    "statements:levels-of": "the manifest lists levels of labels for columns that are not quasi-identifiers",
    "statements:levels": "the manifest states {stated}, unlike its method",
    "statements:own": "the manifest {stated} each series' own, unlike its method",
    "statements:parameter": "the manifest states `{name}`, or leaves it out, unlike its method",
    "statements:part": "`series.{name}` of the manifest is not a part of its instants, in order",
    "statements:perturbed": "the manifest states what l changed of columns for which no l is promised",
    "statements:published": "`series.{name}` of the manifest is not what `publish_{name}` selects",
    "statements:segment": "the manifest states segments without a length, or a length without them",
    "statements:several": "the manifest states several series of a person, and that nobody is named",
    "suppressed:stated": "the manifest states {stated} withheld series, and p is {p}",
    "values-below-l:missing": "{values:value} of `{name}` missing, and l needs all",
    "values-below-l:numbers": "column `{name}` does not hold numbers, and only numbers are changed for l",
    "values-below-l": "{cells:cell} with a value of `{name}` in more than 1 row in {l}",
}
"""A message for every expectation of the judges of series."""


def check(evidence: Evidence) -> Verdict:
    """Every check of series, as far as each makes sense after the one before."""
    release, ledger = evidence.release, evidence.ledger
    findings = Findings("recipient" if ledger is None else "with ledger", SENTENCES)
    if check_shape(release, findings) and check_columns(release, findings):
        consistent = check_statements(evidence, findings)
        evidence.progress("checking groups", 0.1)
        cells = _check_tables(evidence, findings)
        if ledger is not None and cells is not None and consistent:
            evidence.progress("comparing with the original", 0.4)
            findings.open_ledger(release, ledger)
            check_definition(evidence, cells, findings)
    return findings.verdict()


def _check_tables(evidence: Evidence, findings: Findings) -> Cells | None:
    """Judge the table; its cells, if it can be read and every envelope is possible."""
    release = evidence.release
    letters = ", and a letter within its level for every instant of the pattern"
    findings.check(f"every row has a group{letters if release.manifest['series']['pattern'] else ''}")
    try:
        runs = evidence.runs
    except BundleError as error:
        if "finding" not in error.facts:  # the file itself is damaged
            raise
        findings.expect(f"{error.facts['finding']}:unreadable", False, fault=error.message)
        return None
    possible = _check_envelopes(release.manifest["parameters"]["round_outward"], runs, findings)
    if possible:
        beside.check_steps(runs, findings)
    cells = Cells(runs)
    _check_counts(evidence, runs, cells, findings)
    _check_groups(release, runs, findings)
    beside.check_shown(evidence, findings)
    _check_values(release, cells, findings)
    check_row_order(release, [GROUP], findings)
    return cells if possible else None


def _check_envelopes(digits: int | None, runs: Published, findings: Findings) -> bool:
    findings.check("every envelope has finite bounds, low <= high")
    sound = np.isfinite(runs.low) & np.isfinite(runs.high) & (runs.low <= runs.high)
    # A zero has no sign, and the smallest floats have few digits: both could carry a message.
    for bound in (runs.low, runs.high):
        size = np.abs(bound)
        sound &= np.where(size == 0, ~np.signbit(bound), (size >= _SMALLEST) & (size <= _LARGEST))
    possible = findings.expect_none("envelope", rows=runs.rows[~sound.all(axis=1)].sum())
    if digits is not None and possible:
        findings.check(f"no bound has more than {digits} significant digits")
        long = too_long(runs.low, digits) | too_long(runs.high, digits)
        findings.expect_none("rounding", rows=runs.rows[long.any(axis=1)].sum(), digits=digits)
    return possible


def _check_counts(evidence: Evidence, runs: Published, cells: Cells, findings: Findings) -> None:
    k, p, manifest = evidence.k, evidence.p, evidence.release.manifest
    most, counts, rows = manifest["parameters"]["max_level"], manifest["counts"], len(cells.of_row)
    has_patterns = bool(manifest["series"]["pattern"])
    if has_patterns:
        findings.check(f"no level is above {most}")
    above = cells.rows[(cells.levels > most).any(axis=1)].sum()
    findings.expect_none("pattern:level", rows=above, most=most)
    findings.check("row, group and cell counts are those of the manifest")
    findings.expect("row-count", rows == counts["rows"], rows=rows, stated=counts["rows"])
    sizes = runs.group_sizes[1]
    for name, count in (("groups", len(sizes)), ("cells", len(cells.rows))):
        findings.expect("counts", count == counts[name], count=count, name=name, stated=counts[name])
    stated, several = counts["suppressed"], manifest["series"].get("several")
    # Layers, regions of quasi-identifiers and cells of categories may need more.
    if not (several or manifest["series"].get("grouped") or "levels" in manifest):
        findings.check(f"fewer than {p} series are stated to be withheld")
        findings.expect("suppressed:stated", stated < p, stated=stated, p=p)
    findings.check(f"every envelope is shared by at least {k} rows")
    if has_patterns:
        findings.check(f"every pattern of a group is shared by at least {p} of its rows")
    for code, shared, least in (("group-below-k", sizes, k), ("cell-below-p", cells.rows, p)):
        smallest = int(shared.min(initial=least))
        findings.expect_none(code, below=shared < least, least=least, smallest=smallest)


def _check_groups(release: Release, runs: Published, findings: Findings) -> None:
    findings.check("all rows of a group show one envelope")
    order = np.argsort(runs.group, kind="stable")
    group = runs.group[order]
    begins = np.flatnonzero(changes(group))
    first = np.repeat(begins, np.diff(np.append(begins, len(group))))
    differs, falls = np.zeros(len(order), dtype=bool), np.zeros(max(len(begins) - 1, 0), dtype=bool)
    tied, sides = ~falls, [runs.low, runs.high]
    if runs.mean is not None:
        sides.append(np.nan_to_num(runs.mean, nan=-np.inf))
    # A bound at a time, as both sides of all instants would be a second copy of the table.
    for instant in range(runs.low.shape[1]):
        for side in sides:
            bound = side[order, instant]
            differs |= bound != bound[first]
            before, after = bound[begins[:-1]], bound[begins[1:]]
            falls |= tied & (before > after)
            tied &= before == after
    findings.expect_none("envelope-differs", groups=len(np.unique(group[differs])))
    findings.check("groups are numbered from 1 in the order of their envelopes")
    numbered = np.array_equal(group[begins], np.arange(1, len(begins) + 1))
    findings.expect("group:numbers", numbered, groups=len(begins))
    findings.expect_none("group:order", groups=falls)
    turned = _turned(release, np.repeat(runs.group, runs.rows), np.flatnonzero(tied)) if tied.any() else 0
    findings.expect_none("group:ties", groups=turned)


def _turned(release: Release, group: Ints, tied: Ints) -> int:
    """How many groups with the envelope of the next sort after it by the first row that differs.

    If all rows of the smaller group are equal, it comes first.
    """
    order = np.argsort(group, kind="stable")
    begins = np.flatnonzero(changes(group[order]))
    sizes = np.diff(np.append(begins, len(order)))
    shared = np.minimum(sizes[tied], sizes[tied + 1])
    # Rows of each pair of groups side by side, as many as the smaller has.
    pair = np.repeat(np.arange(len(tied)), shared)
    step = np.arange(len(pair)) - np.repeat(np.cumsum(shared) - shared, shared)
    names = [*columns_of(release, "pattern", "level"), *columns_of(release, "sensitive", "quasi", "keep")]
    rows = release.table.select(names)
    before, after = (rows.take(pa.array(order[begins[which][pair] + step])) for which in (tied, tied + 1))
    falls, same = compared_rows(before, after, names)
    differing = np.flatnonzero(~same)
    first = np.full(len(tied), len(pair), dtype=np.int64)
    np.minimum.at(first, pair[differing], differing)
    equal = first == len(pair)
    longer = equal & (sizes[tied] > sizes[tied + 1])
    return int(longer.sum() + falls[first[~equal]].sum())


def _check_values(release: Release, cells: Cells, findings: Findings) -> None:
    """No value is a better guess than one in l; hence every cell also has l different values."""
    l = release.guarantee.as_dict()["l"]
    for name in columns_of(release, "sensitive") if l is not None else ():
        findings.check(f"in every cell no value of `{name}` is in more than 1 row in {l}")
        column = column_of(release.parts["data"], name)
        findings.expect_none("values-below-l:missing", values=column.null_count, name=name)
        try:
            values = encode_numbers(column)
        except InputError:
            grouped = name in release.manifest["series"].get("grouped", ())
            if not findings.expect("values-below-l:numbers", grouped, name=name):
                continue
            values = encode(column)
        cell, _, rows = distinct_pairs(cells.of_row, values.codes, max(values.size, 1))
        wrong = len(np.unique(cell[rows > cells.rows[cell] // l]))
        findings.expect_none("values-below-l", cells=wrong, name=name, l=l)
