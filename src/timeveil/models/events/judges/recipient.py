"""What anyone who receives the release can check: its rows, classes and granules."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.catalogue import fit
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Ticks, Timeline
from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.errors import TimeveilError
from timeveil.evidence.codes import Integers
from timeveil.evidence.findings import Findings
from timeveil.evidence.published import HIGHEST, LOWEST, axis_of, bounds_of, classes_of, columns_of, promised
from timeveil.evidence.row_order import check_row_order


def check_tables(release: Release, findings: Findings) -> None:
    """Read the table once, a batch at a time, and judge its classes and granules."""
    classes = classes_of(release, columns_of(release, "quasi", "time", "start", "end"))
    _check_sizes(release, classes, findings)
    places = classes.column_names[-4:-1]
    if classes.num_rows:
        _check_granules(release, classes.group_by(places).aggregate([]).select(places), findings)
    check_row_order(release, columns_of(release, "quasi", "start") + columns_of(release, "time"), findings)


def _check_sizes(release: Release, classes: pa.Table, findings: Findings) -> None:
    k, counts = promised(release, "k"), release.manifest["counts"]
    sizes = np.asarray(classes["rows"])
    findings.check("row and group counts are those of the manifest")
    if sizes.sum() != counts["rows"]:
        findings.refuse(
            "row-count", f"the table has {sizes.sum():,} rows where the manifest states {counts['rows']:,}"
        )
    if len(sizes) != counts["groups"]:
        findings.refuse(
            "counts", f"the table has {len(sizes):,} groups where the manifest states {counts['groups']:,}"
        )
    findings.check(
        f"every published value stands in at least {k} rows (people cannot be counted from the outside)"
    )
    if not len(sizes):
        return
    below, smallest = int((sizes < k).sum()), int(sizes.min())
    if below:
        findings.refuse(
            "rows-below-k",
            f"{counted(below, 'group')} with fewer than {k} rows, hence fewer than {k} people; "
            f"the smallest has {counted(smallest, 'row')}",
        )
    findings.check("the stated smallest group is possible")
    if counts["smallest_group"] < k:
        findings.refuse(
            "smallest-group", f"the manifest states a group of {counts['smallest_group']:,} where k is {k}"
        )
    if counts["smallest_group"] > smallest:
        findings.refuse(
            "smallest-group",
            f"the manifest states that the smallest group holds {counts['smallest_group']:,} people, "
            f"but one has {counted(smallest, 'row')}",
        )


def _check_granules(release: Release, found: pa.Table, findings: Findings) -> None:
    """Every label with its start and end is one granule of the stated calendar, and each granule has one."""
    findings.check("every label, start and end is a granule of the stated granularity")
    label, (start, end) = found.column(0), bounds_of(axis_of(release), found.column(1), found.column(2))
    if label.null_count:
        findings.refuse("label", f"{counted(label.null_count, 'granule')} without a label")
    if pc.count_distinct(label, "all").as_py() != len(found) or len(np.unique(start)) != len(found):
        findings.refuse(
            "label", f"the {len(found):,} granules do not each have a label and a start of their own"
        )
    try:
        wrong = _not_granules(release, label, start, end)
    except (TimeveilError, ArithmeticError, LookupError, TypeError, ValueError):  # whatever it was made of
        findings.refuse("granule", "the stated granularity cannot be rebuilt from its definition")
        return
    if wrong:
        findings.refuse(
            "granule",
            f"{counted(wrong, 'label')} of {len(found):,} not a granule of the stated granularity "
            "with its start and end",
        )


def _not_granules(release: Release, label: pa.ChunkedArray, start: Integers, end: Integers) -> int:
    """How many differ from the granule that holds their first instant (or last, or any, where unbounded)."""
    axis = axis_of(release)
    granularity = fit(Granularity.from_dict(dict(release.manifest["granularity_definition"])), axis)
    inside = np.where(start > LOWEST, start, np.where(end < HIGHEST, end - 1, 0))
    probes, place = np.unique(inside, return_inverse=True)
    timeline = Timeline(axis, Ticks(width=1, phase=0, name="second"), probes, gaps="skip")
    true = timeline.granules_of(granularity)
    code = np.asarray(true.code, dtype=np.int64)[place.ravel()]
    true_start, true_end = bounds_of(axis, pa.chunked_array([true.start]), pa.chunked_array([true.end]))
    labels = np.array([*true.label, None], dtype=object)  # -1, outside of every granule, takes the last
    fits = (code >= 0) & (labels[code] == np.array(label.to_pylist(), dtype=object))
    for ours, theirs, missing in ((true_start, start, LOWEST), (true_end, end, HIGHEST)):
        fits &= np.append(ours, missing)[code] == theirs
    return int((~fits).sum())
