"""From a time column to whole numbers and back.

An instant is an integer: civil seconds for dates and timestamps without a zone, UTC seconds for zoned
ones, seconds or months since the start for relative time.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.catalogue import unit_of
from timeveil.calendar.civil import DAY, FIRST, LAST, Ints
from timeveil.calendar.zone import Offsets, offsets
from timeveil.domain.relation import TimeAxis
from timeveil.errors import InputError

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def instants(axis: TimeAxis, column: pa.ChunkedArray | pa.Array) -> Ints:
    """A time column as instants, fractions of a second cut off. Nulls are refused.

    >>> import datetime
    >>> instants(TimeAxis("civil", pa.date32()), pa.array([datetime.date(1970, 1, 2)]))
    array([86400])
    """
    if column.null_count:
        raise InputError(
            f"the time column has {column.null_count} nulls",
            hint="remove them, or withhold those rows",
            code="nulls",
        )
    if axis.kind == "relative":
        return _numbers(pc.cast(column, pa.int64())) * unit_of(axis)[1]
    if pa.types.is_date32(column.type):
        return _numbers(pc.cast(pc.cast(column, pa.int32()), pa.int64())) * DAY
    per_second = _PER_SECOND[column.type.unit]
    ticks = _numbers(pc.cast(column, pa.int64()))
    return ticks if per_second == 1 else np.floor_divide(ticks, per_second)


def civil(axis: TimeAxis, instants: Ints) -> Ints:
    """What the wall clock shows at each instant.

    >>> axis = TimeAxis("zoned", pa.timestamp("ms", tz="Asia/Kolkata"), zone="Asia/Kolkata")
    >>> civil(axis, np.array([0]))
    array([19800])
    """
    if axis.kind != "zoned":
        return instants
    return clocks(axis, instants).civil(instants)


def clocks(axis: TimeAxis, instants: Ints, margin: int = 0) -> Offsets:
    """The offsets that hold in the zone around some instants."""
    low, high = (int(instants.min()), int(instants.max())) if len(instants) else (0, 0)
    return offsets(axis.zone or "", low - margin, high + margin)


def published(axis: TimeAxis, instants: Ints, *, round_up: bool = False) -> pa.Array:
    """Instants as values of the axis's own type, null where they leave the years 1 to 9999.

    Dates of instants within a day are that day's, or with `round_up` the next day's.
    """
    if axis.kind == "relative":
        outside = np.abs(instants) >= 2**60
        values = np.where(outside, 0, instants)
        size = unit_of(axis)[1]
        return pa.array(values // size, pa.int64(), mask=outside)
    outside = (instants < FIRST) | (instants > LAST)
    values = np.where(outside, 0, instants)
    if pa.types.is_date32(axis.type):
        days = -(-values // DAY) if round_up else values // DAY
        return pa.array(days.astype(np.int32), pa.int32(), mask=outside).cast(pa.date32())
    return pa.array(values * _PER_SECOND[axis.type.unit], pa.int64(), mask=outside).cast(axis.type)


def _numbers(column: pa.ChunkedArray | pa.Array) -> Ints:
    numbers: Ints = np.asarray(column.to_numpy(), dtype=np.int64)
    return numbers
