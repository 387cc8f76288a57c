"""How many records of a stream release are in a window of slots?

Quasi-identifiers and kept columns are published unchanged, so they are counted exactly. Which record of a
bucket has which sensitive value is not published: of m records that fit otherwise, in a bucket of n where c
have the value, m * c / n are expected (Xiao and Tao 2006), and at least m + c - n and at most the smaller of
m and c have it.

All numbers and bounds are about the published records. A record may be published some slots after its own,
and withheld ones in none, so the truth about the original can be outside the bounds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.judgement import Estimate
from timeveil.evidence.codes import Integers, plain_type
from timeveil.evidence.published import (
    Moment,
    WindowCount,
    check_conditions,
    check_forward,
    check_pair,
    classes_of,
    instant_of,
    mask_of,
    matches,
    unreadable,
)
from timeveil.models.stream.evidence import BUCKET, SLOT, Evidence, whole_numbers
from timeveil.models.stream.slots import NOWHERE, SlotLine

QUERIES = (WindowCount,)
_FIRST, _LAST = -(2**62), 2**62


def answer(evidence: Evidence, query: WindowCount) -> Estimate:
    """Answer a window count from what was published, a batch at a time."""
    release, secret = evidence.release, evidence.sensitive_column
    columns = evidence.columns("quasi", "keep", "sensitive")
    check_conditions(release, query.where, list(dict.fromkeys([*columns, secret])))
    window = _slots_in(evidence, query.between)
    hidden = evidence.bucketed and secret in query.where
    visible = {name: condition for name, condition in query.where.items() if not hidden or name != secret}

    def among(batch: pa.RecordBatch) -> pa.Array:
        slots = batch.column(SLOT)
        inside = pc.is_in(slots.cast(plain_type(slots.type)), value_set=window)
        fits = mask_of(batch, visible)
        return inside if fits is None else pc.and_(inside, fits)

    if not hidden:
        rows = float(pc.sum(classes_of(release, [], among=among)["rows"]).as_py() or 0)
        return Estimate(rows, low=rows, high=rows)
    classes, buckets = classes_of(release, [SLOT, BUCKET], among=among), evidence.buckets
    index = buckets.index(evidence.line.numbers(classes.column(0)), whole_numbers(classes.column(1)))
    sought = np.asarray(matches(secret, buckets.value.values, query.where[secret]))[buckets.value.codes]
    holders = np.bincount(buckets.owner[sought], weights=buckets.often[sought], minlength=len(buckets.size))
    # A bucket that only the table `data` has, in a damaged release, holds nobody.
    listed = buckets.listed[index]
    fit, index = np.asarray(classes["rows"])[listed], index[listed]
    value, low, high = share_of_bucket(fit, holders[index], buckets.size[index])
    return Estimate(value, low=low, high=high)


def share_of_bucket(fit: Integers, holders: Any, size: Integers) -> tuple[float, float, float]:
    """Of `fit` records per bucket of `size`, the number among the `holders`: expected, least, most.

    >>> share_of_bucket(np.array([3]), np.array([2]), np.array([4]))
    (1.5, 1.0, 2.0)
    """
    expected = fit * holders / np.maximum(size, 1)
    least, most = np.clip(fit + holders - size, 0, None), np.minimum(fit, holders)
    return float(expected.sum()), float(least.sum()), float(most.sum())


def _slots_in(evidence: Evidence, between: tuple[Moment, Moment]) -> pa.Array:
    """The published slots from that of the first bound to before that of the second."""
    check_pair(between, "slots")
    low = _FIRST if between[0] is None else slot_number(evidence.line, between[0])
    high = _LAST if between[1] is None else slot_number(evidence.line, between[1])
    check_forward(low, high, "slot")
    slots = evidence.slot_runs().unique()
    numbers = evidence.line.numbers(slots)
    return slots.filter(pa.array((numbers >= low) & (numbers < high) & (numbers != NOWHERE)))


def slot_number(line: SlotLine, slot: Moment) -> int:
    """The slot that a label, a date, a time or a whole number means; a date or time means the slot it is in.

    >>> from timeveil.calendar.catalogue import granularity
    >>> from timeveil.domain.relation import TimeAxis
    >>> weeks = SlotLine(granularity("week"), TimeAxis("civil", pa.date32()))
    >>> slot_number(weeks, "1970-W02"), slot_number(weeks, "1970-01-07")
    (1, 1)
    """
    if line.granularity is None:
        if isinstance(slot, bool) or not isinstance(slot, int | np.integer):
            raise unreadable("give slot numbers", "slot")
        return int(slot)
    if isinstance(slot, str):
        number = int(line.numbers(pa.array([slot]))[0])
        if number != NOWHERE:
            return number
    number = line.holding(math.floor(instant_of(line.axis, slot)))
    return _LAST if number == NOWHERE else number  # after the last slot of the calendar
