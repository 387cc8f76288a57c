"""How many rows of a release are in a window of time?

A published row shows the granule that its time is in. Granules inside the window count in full; those that
only overlap it may count in full or not at all (`low` and `high`), and the best guess spreads the rows of a
granule evenly over it. A granule without a start or an end has no width: half of its rows are the guess.
A label of a generalised column may or may not contain what is asked for, taken to be independent of the time.
"""

import math
from functools import partial

import numpy as np
import pyarrow as pa

from timeveil.domain.arrays import Floats
from timeveil.domain.judgement import Estimate
from timeveil.evidence.conditions import EXACT, Alternatives
from timeveil.evidence.published import Instant, WindowCount, classes_of, instant_of, marked_rows, window_of
from timeveil.models.events.evidence import HIGHEST, LOWEST, Evidence, Granules, bounds_of, granules_of

QUERIES = (WindowCount,)


def answer(evidence: Evidence, query: WindowCount, *, rows: bool = False) -> Estimate:
    """Answer a window count from what was published, a batch at a time.

    Any withheld row may have been in the window, so `high` includes all of them.
    """
    release, axis = evidence.release, evidence.axis
    conditions = Alternatives(release, query.where, evidence.columns("quasi", "keep", "sensitive"))
    ends: tuple[Instant, Instant] = (LOWEST, HIGHEST)
    low, high = window_of(query.between, "time", partial(instant_of, axis), ends)
    keys = [*evidence.columns("start", "end"), *conditions.labelled, *evidence.columns("step")]
    classes = classes_of(release, keys, conditions.mark, each=rows)
    share = np.zeros((3, len(classes)))
    for number, step in enumerate(evidence.steps):
        part = np.arange(len(classes))
        if evidence.stepped:
            part = np.flatnonzero(np.asarray(classes.column(-3)) == number + 1)
        inside = classes.take(pa.array(part))
        granules, granule = granules_of(release, *bounds_of(axis, inside.column(0), inside.column(1)))
        names = conditions.labelled if evidence.stepped else ()
        levels = {name: step["levels"].get(name, {"name": EXACT})["name"] for name in names}
        labels = dict(zip(conditions.labelled, inside.columns[2:], strict=False))
        met = conditions.shares(labels, np.asarray(inside.column(-2)), levels)
        share[:, part] = met * np.array(shares(granules, low, high))[:, granule]
    expected, certain, possible = (share @ np.asarray(classes["rows"])).tolist()
    # An empty window contains no row, withheld or not.
    withheld = release.manifest["counts"]["withheld"] if low < high else 0
    listed = marked_rows(release, conditions.mark, share[2] > 0) if rows else None
    return Estimate(expected, low=certain, high=possible + withheld, unknown=conditions.unknown, rows=listed)


def shares(granules: Granules, low: Instant, high: Instant) -> tuple[Floats, Floats, Floats]:
    """Per granule the share of its rows in [low, high): expected, certain and possible.

    Granules begin and end on whole seconds; a window may begin and end within one.
    """
    if low >= high:
        empty = np.zeros(len(granules.start))
        return empty, empty, empty
    first, last = math.floor(low), math.ceil(high)
    certain = (granules.reach >= math.ceil(low)) & (granules.end <= math.floor(high))
    possible = (granules.reach < last) & (granules.end > first)
    # Overlap in whole seconds, less the fractions that the window leaves out at its ends.
    overlap = (np.minimum(granules.end, last) - np.maximum(granules.start, first)).astype(float)
    overlap -= float(low - first) * (granules.start <= first) + float(last - high) * (granules.end >= last)
    width = granules.end - granules.start
    expected = np.clip(overlap, 0, None) / np.maximum(width, 1)
    endless = (granules.start == LOWEST) | (granules.end == HIGHEST)
    expected = np.where(endless, (certain.astype(float) + possible) / 2, expected)
    return np.where(certain, 1.0, expected), certain.astype(float), possible.astype(float)
