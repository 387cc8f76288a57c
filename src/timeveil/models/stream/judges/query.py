"""Counting the records of a stream release in a window of slots.

Quasi-identifiers and kept columns are published as they were, so they are counted exactly. Which record
of a bucket has which sensitive value is not published: of m records that fit otherwise, in a bucket of n
where c have the value, m * c / n are expected (Xiao and Tao 2006), at least m + c - n and at most the smaller
of m and c have it, whatever the assignment.

All numbers, bounds too, are about the published records. One may stand some slots after the slot it belongs
to, and those that were withheld stand in none, so the truth about the original can lie outside.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.estimate import Estimate
from timeveil.domain.release import Release
from timeveil.errors import ParameterError
from timeveil.evidence.codes import Integers, plain_type
from timeveil.evidence.published import check_conditions, classes_of, columns_of, mask_of, matches
from timeveil.evidence.window import Moment, WindowCount, instant_of
from timeveil.models.stream.evidence import Evidence
from timeveil.models.stream.judges.buckets import (
    BUCKET,
    SLOT,
    bucketed,
    buckets_of,
    matched,
    records_of,
    sensitive_column,
    slot_runs,
)
from timeveil.models.stream.judges.slots import NOWHERE, SlotLine, line_of

_FIRST, _LAST = -(2**62), 2**62


def count_in_slots(release: Release, query: WindowCount) -> Estimate:
    """Answer a window count from what was published, a batch at a time."""
    line, secret = line_of(release), sensitive_column(release)
    open_columns = columns_of(release, "quasi", "keep", "sensitive")
    check_conditions(release, query.where, list(dict.fromkeys([*open_columns, secret])))
    inside = _inside(release, line, query.between)
    hidden = bucketed(release) and secret in query.where
    where = {name: wanted for name, wanted in query.where.items() if not (hidden and name == secret)}

    def among(batch: pa.RecordBatch) -> pa.Array:
        slots = batch.column(SLOT)
        asked = pc.is_in(slots.cast(plain_type(slots.type)), value_set=inside)
        fits = mask_of(batch, where)
        return asked if fits is None else pc.and_(asked, fits)

    if not hidden:
        rows = float(pc.sum(classes_of(release, [], among=among)["rows"]).as_py() or 0)
        return Estimate(rows, low=rows, high=rows)
    return _through_buckets(release, line, classes_of(release, [SLOT, BUCKET], among=among), query.where)


def _through_buckets(
    release: Release, line: SlotLine, counted: pa.Table, where: Mapping[str, Any]
) -> Estimate:
    secret = sensitive_column(release)
    buckets, records = buckets_of(release, line), records_of(release, line, counted)
    wanted = np.asarray(matches(secret, buckets.value.values, where[secret]))[buckets.value.codes]
    holders = np.bincount(buckets.owner[wanted], weights=buckets.often[wanted], minlength=len(buckets.size))
    ours, theirs = matched(records, buckets)
    value, low, high = share_of_bucket(records.rows[ours], holders[theirs], buckets.size[theirs])
    return Estimate(value, low=low, high=high)


def share_of_bucket(fit: Integers, holders: Any, size: Integers) -> tuple[float, float, float]:
    """Of `fit` records per bucket of `size`, how many are among the `holders`: expected, least, most.

    >>> share_of_bucket(np.array([3]), np.array([2]), np.array([4]))
    (1.5, 1.0, 2.0)
    """
    expected = fit * holders / np.maximum(size, 1)
    least, most = np.clip(fit + holders - size, 0, None), np.minimum(fit, holders)
    return float(expected.sum()), float(least.sum()), float(most.sum())


def _inside(release: Release, line: SlotLine, between: tuple[Moment, Moment]) -> pa.Array:
    """The published slots from that of the first bound up to, but without, that of the second."""
    if not isinstance(between, tuple | list) or len(between) != 2:
        raise ParameterError("a window is a pair of slots", hint="write between=(a, b)", code="bad-parameter")
    low = _FIRST if between[0] is None else place_of(line, between[0])
    high = _LAST if between[1] is None else place_of(line, between[1])
    if low > high:
        raise ParameterError(
            "the window ends before it starts", hint="give the earlier slot first", code="bad-parameter"
        )
    slots = slot_runs(release).unique()
    place = line.places(slots)
    return slots.filter(pa.array((place >= low) & (place < high) & (place != NOWHERE)))


def place_of(line: SlotLine, slot: Moment) -> int:
    """The slot that a label, a date, a time or a whole number means.

    A date or time stands for the slot that it lies in.

    >>> from timeveil.calendar.catalogue import granularity
    >>> from timeveil.domain.relation import TimeAxis
    >>> weeks = SlotLine(granularity("week"), TimeAxis("civil", pa.date32()))
    >>> place_of(weeks, "1970-W02"), place_of(weeks, "1970-01-07")
    (1, 1)
    """
    if line.granularity is None:
        if isinstance(slot, bool) or not isinstance(slot, int | np.integer):
            raise ParameterError(
                "a bound of the window is not a slot of this release",
                hint="the window takes slot numbers",
                code="bad-time",
            )
        return int(slot)
    if isinstance(slot, str):
        found = int(line.places(pa.array([slot]))[0])
        if found != NOWHERE:
            return found
    holding = line.holding(math.floor(instant_of(line.axis, slot)))
    return _LAST if holding == NOWHERE else holding  # after the last slot that the calendar has


QUERIES = (WindowCount,)


def answer(evidence: Evidence, query: WindowCount) -> Estimate:
    """Answer a window count."""
    return count_in_slots(evidence.release, query)
