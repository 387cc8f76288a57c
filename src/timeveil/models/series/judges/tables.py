"""What anyone who receives a series release can check: group and cell sizes, envelopes, patterns, order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from timeveil.domain.guarantee import KPAnonymity
from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.evidence.codes import Integers, column_of, distinct_pairs, encode
from timeveil.evidence.findings import Findings
from timeveil.evidence.published import columns_of
from timeveil.evidence.row_order import check_row_order, compared_rows
from timeveil.models.series.judges.bounds import too_long
from timeveil.models.series.judges.cells import Cells, Floats, Mask, cells_of, envelopes_of
from timeveil.models.series.judges.manifest import GROUP

_SMALLEST, _LARGEST = 1e-300, 1e300


def check_tables(release: Release, promise: KPAnonymity, findings: Findings) -> Cells | None:
    """Judge the table; its cells, where they can be read and every envelope is one."""
    whole = _check_envelopes(release, findings)
    cells = cells_of(release, findings)
    if cells is None:
        return None
    _check_levels(release, cells, findings)
    _check_counts(release, promise, cells, findings)
    _check_sizes(promise, cells, findings)
    _check_numbers(release, cells, findings)
    if promise.l is not None:
        _check_values(release, promise.l, cells, findings)
    check_row_order(release, [GROUP], findings)
    return cells if whole else None


def _check_envelopes(release: Release, findings: Findings) -> bool:
    findings.check("every envelope has finite bounds, none below above the other")
    low, high = envelopes_of(release)
    sound = np.isfinite(low) & np.isfinite(high) & (low <= high)
    for bound in (low, high):  # a zero has no sign, and the smallest floats have few digits to look at
        size = np.abs(bound)
        sound &= np.where(size == 0, ~np.signbit(bound), (size >= _SMALLEST) & (size <= _LARGEST))
    wrong = int((~sound.all(axis=1)).sum())
    if wrong:
        findings.refuse(
            "envelope", f"{counted(wrong, 'row')} with a bound that is none, or a low above its high"
        )
    digits = release.manifest["parameters"]["round_outward"]
    if digits is not None and not wrong:
        findings.check(f"no bound has more than {digits} significant digits")
        long = int((too_long(low, digits) | too_long(high, digits)).any(axis=1).sum())
        if long:
            findings.refuse(
                "rounding", f"{counted(long, 'row')} with a bound of more than {digits} significant digits"
            )
    return not wrong


def _check_levels(release: Release, cells: Cells, findings: Findings) -> None:
    most = release.manifest["parameters"]["max_level"]
    findings.check(f"no level is above {most}")
    above = int(cells.sizes[(cells.levels > most).any(axis=1)].sum())
    if above:
        findings.refuse("pattern", f"{counted(above, 'row')} with a level above {most}, the highest stated")


def _check_counts(release: Release, promise: KPAnonymity, cells: Cells, findings: Findings) -> None:
    findings.check("row, group and cell counts are those of the manifest")
    counts = release.manifest["counts"]
    if len(cells.group) != counts["rows"]:
        findings.refuse(
            "row-count",
            f"the table has {len(cells.group):,} rows where the manifest states {counts['rows']:,}",
        )
    groups = len(np.unique(cells.group))
    for name, found in (("groups", groups), ("cells", len(cells.example))):
        if found != counts[name]:
            findings.refuse(
                "counts", f"the table has {found:,} {name} where the manifest states {counts[name]:,}"
            )
    findings.check(f"fewer than {promise.p} series are stated to be suppressed")
    if counts["suppressed"] >= promise.p:
        findings.refuse(
            "suppressed",
            f"{counts['suppressed']:,} series are stated to be suppressed where P is {promise.p}",
        )


def _check_sizes(promise: KPAnonymity, cells: Cells, findings: Findings) -> None:
    findings.check(f"every envelope is shared by at least {promise.k} rows")
    _, sizes = np.unique(cells.group, return_counts=True)
    for noun, found, least, code in (
        ("group", sizes, promise.k, "group-below-k"),
        ("cell", cells.sizes, promise.p, "cell-below-p"),
    ):
        if noun == "cell":
            findings.check(f"every pattern of a group is shared by at least {promise.p} of its rows")
        below = int((found < least).sum())
        if below:
            findings.refuse(
                code,
                f"{counted(below, noun)} with fewer than {least} rows; the smallest has {int(found.min()):,}",
            )


def _check_numbers(release: Release, cells: Cells, findings: Findings) -> None:
    """Groups are numbered from 1 in the order of their envelopes, and each has one."""
    findings.check("all rows of a group show one envelope")
    low, high = envelopes_of(release)
    order = np.argsort(cells.group, kind="stable")
    group = cells.group[order]
    begins = np.flatnonzero(np.diff(group, prepend=group[0] - 1)) if len(group) else np.zeros(0, np.int64)
    bounds = np.empty((len(order), 2 * low.shape[1]))
    bounds[:, 0::2], bounds[:, 1::2] = low[order], high[order]
    first = np.repeat(begins, np.diff(np.append(begins, len(group))))
    apart = (bounds != bounds[first]).any(axis=1)
    if apart.any():
        many = len(np.unique(group[apart]))
        findings.refuse(
            "envelope-differs", f"{counted(many, 'group')} whose rows show more than one envelope"
        )
    findings.check("groups are numbered from 1 in the order of their envelopes")
    if not np.array_equal(group[begins], np.arange(1, len(begins) + 1)):
        findings.refuse("group", f"the {len(begins):,} groups are not numbered from 1 without a hole")
    falling = int(_descents(bounds[begins]).sum())
    if falling:
        findings.refuse("group", f"{counted(falling, 'group')} not numbered in the order of its envelope")
    tied = np.flatnonzero((bounds[begins][:-1] == bounds[begins][1:]).all(axis=1))
    if len(tied):
        free = _turned(release, order, begins, tied)
        if free:
            findings.refuse(
                "group", f"{counted(free, 'group')} with the envelope of another not in the order of rows"
            )


def _turned(release: Release, order: Integers, begins: Integers, tied: Integers) -> int:
    """How many groups with the envelope of the next come after it by their first row that differs.

    If all rows of the smaller one are the same, it comes first.
    """
    sizes = np.diff(np.append(begins, len(order)))
    shared = np.minimum(sizes[tied], sizes[tied + 1])
    pair = np.repeat(np.arange(len(tied)), shared)
    step = np.arange(len(pair)) - np.repeat(np.cumsum(shared) - shared, shared)
    names = [*columns_of(release, "pattern", "level"), *columns_of(release, "sensitive", "keep")]
    rows = release.table.select(names)
    before, after = (rows.take(pa.array(order[begins[which][pair] + step])) for which in (tied, tied + 1))
    falls, same = compared_rows(before, after, names)
    first = np.full(len(tied), len(pair), dtype=np.int64)
    apart = np.flatnonzero(~same)
    np.minimum.at(first, pair[apart], apart)
    alike = first == len(pair)
    longer = alike & (sizes[tied] > sizes[tied + 1])
    return int(longer.sum() + falls[first[~alike]].sum())


def _descents(rows: Floats) -> Mask:
    """Where a row comes before the one that it stands after, from the first column to the last."""
    before, after = rows[:-1], rows[1:]
    differs = before != after
    place = differs.argmax(axis=1) if rows.shape[1] else np.zeros(len(before), np.int64)
    line = np.arange(len(before))
    return np.asarray(before[line, place] > after[line, place])


def _check_values(release: Release, l: int, cells: Cells, findings: Findings) -> None:
    """No value often enough to be a better guess than one in l; then every cell also has l different ones."""
    for name in columns_of(release, "sensitive"):
        findings.check(f"in every cell no value of `{name}` stands in more than 1 row in {l}")
        value = encode(column_of(release.parts["data"], name))
        owner, _, often = distinct_pairs(cells.cell, value.codes, max(value.size, 1))
        many = len(np.unique(owner[often > cells.sizes[owner] // l]))
        if many:
            findings.refuse(
                "values-below-l",
                f"{counted(many, 'cell')} with a value of `{name}` in more than 1 row in {l}",
            )
