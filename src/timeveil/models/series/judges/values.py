"""Do the sensitive and kept values of a series release stand where those of the original do?

Where values were changed for l, no more may differ than l made necessary: in a cell of n rows, of each value
as many as it stands there more often than n / l (Shou et al. 2013, §5.4).
"""

from __future__ import annotations

import numpy as np

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.errors import InputError
from timeveil.evidence.codes import Coded, Integers, align, column_of, distinct_pairs, encode, fold_both
from timeveil.evidence.findings import Findings
from timeveil.evidence.published import columns_of
from timeveil.models.series.judges.cells import Cells

Sides = tuple[Integers, Integers, int]
"""A column of the original and the same of the release, under one numbering of so many values."""


def check_values(
    release: Release, ledger: Ledger, cells: Cells, row: Integers, cell: Integers, findings: Findings
) -> None:
    """Compare published rows with original ones; `row` is where each series stands, `cell` its cell."""
    findings.check("the sensitive and kept values of every cell are those of its series, row by row")
    count, perturbed = len(cells.example), set(release.manifest["series"]["perturbed"])
    kept: list[Sides] = [(cell, cells.cell, count)]
    changed: dict[str, Sides] = {}
    for name in columns_of(release, "sensitive", "keep"):
        try:
            original = encode(column_of(ledger.original.data, name))
            published = encode(column_of(release.parts["data"], name))
            ours, theirs = align(Coded(original.codes[row], original.values), published)
        except InputError:
            findings.refuse("row-values", f"column `{name}` cannot be compared with the original's")
            return
        sides = (ours.codes, theirs.codes, max(ours.size, 1))
        kept.append(sides) if name not in perturbed else changed.setdefault(name, sides)
    made_up, lost = _apart(kept)
    if made_up or lost:
        findings.refuse(
            "row-values",
            f"{counted(made_up, 'published row')} not in the original, "
            f"{counted(lost, 'original series', 'original series')} not in the release",
        )
    elif changed:
        _check_changed(release, cells, kept, changed, findings)


def _apart(columns: list[Sides]) -> tuple[int, int]:
    """How many rows stand on the published side only, and on the original side only."""
    left, right, count = fold_both(columns)
    differing = np.bincount(right, minlength=count) - np.bincount(left, minlength=count)
    return int(np.clip(differing, 0, None).sum()), int(np.clip(-differing, 0, None).sum())


def _check_changed(
    release: Release, cells: Cells, kept: list[Sides], changed: dict[str, Sides], findings: Findings
) -> None:
    findings.check("no more values differ from the original than l makes necessary")
    l, allowed = release.manifest["guarantee"]["l"], 0
    for name, sides in changed.items():
        needed = _needed(kept[0][0], sides, cells.sizes, l)
        differ = _new(kept[0], sides, len(needed))
        over = int((differ > needed).sum())
        allowed += int(needed.sum())
        if over:
            findings.refuse(
                "changed-values",
                f"{counted(over, 'cell')} in which more values of `{name}` differ than l = {l} needs",
            )
    moved, _ = _apart([*kept, *changed.values()])
    if moved > allowed:
        findings.refuse("changed-values", f"{counted(moved, 'row')} changed where {allowed:,} had to be")


def _needed(cell: Integers, sides: Sides, sizes: Integers, l: int) -> Integers:
    """Per cell how many values stand there more often than one in l."""
    owner, _, often = distinct_pairs(cell, sides[0], sides[2])
    excess = np.clip(often - sizes[owner] // l, 0, None)
    return np.bincount(owner, weights=excess, minlength=len(sizes)).astype(np.int64)


def _new(cell: Sides, sides: Sides, count: int) -> Integers:
    """Per cell how many published values are not among the original ones."""
    left, right, keys = fold_both([cell, sides])
    extra = np.clip(np.bincount(right, minlength=keys) - np.bincount(left, minlength=keys), 0, None)
    owner = np.zeros(keys, dtype=np.int64)
    owner[left], owner[right] = cell[0], cell[1]
    return np.bincount(owner, weights=extra, minlength=count).astype(np.int64)
