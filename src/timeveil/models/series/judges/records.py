"""Original series side by side with what was published for each. Needs the private ledger."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.evidence.codes import Integers
from timeveil.evidence.published import mismatch
from timeveil.models.series.judges.published import Floats, Published, published_series
from timeveil.reading.collection import Collection, collect

SUPPRESSED = -1


@dataclass(frozen=True, slots=True)
class Records:
    """All series of the original, one row each, and the run of `published` that each is in, or -1.

    Subgroups of a ledger are numbered as the cells of the release follow each other.
    """

    collection: Collection
    run: Integers
    published: Published

    @property
    def matrix(self) -> Floats:
        """The values, a row per series."""
        return self.collection.matrix

    @property
    def kept(self) -> Integers:
        """The series that were published, those of a run together."""
        order = np.argsort(self.run, kind="stable")
        return order[np.searchsorted(self.run[order], 0) :]


def records_of(release: Release, ledger: Ledger) -> Records:
    """Find what was published for each series."""
    known = published_series(release)
    if ledger.model != "series" or not {"group", "subgroup"} <= set(ledger.table.column_names):
        raise mismatch("the ledger is that of another kind of release")
    found = collect(ledger.original, fill=release.manifest["parameters"].get("fill"))
    if found.instants != known.instants or len(found.series_of_row) != ledger.table.num_rows:
        raise mismatch("the series of the ledger's original do not have the instants of the release")
    place = [np.asarray(ledger.table[name].fill_null(SUPPRESSED)) for name in ("group", "subgroup")]
    row = np.zeros(found.size, dtype=np.int64)
    inside = np.flatnonzero(found.series_of_row >= 0)[::-1]
    row[found.series_of_row[inside]] = inside
    group, subgroup = (numbers.astype(np.int64)[row] for numbers in place)
    numbers, run = np.unique(subgroup, return_inverse=True)
    run = run.ravel() - int(bool(len(numbers)) and numbers[0] == SUPPRESSED)
    kept = run >= 0
    same = int(run.max(initial=-1)) + 1 == len(known.rows)
    same = same and np.array_equal(np.bincount(run[kept], minlength=len(known.rows)), known.rows)
    if not same or (known.group[run[kept]] != group[kept]).any():
        raise mismatch(f"the ledger places {int(kept.sum()):,} series, and not as the release has them")
    return Records(found, run, known)
