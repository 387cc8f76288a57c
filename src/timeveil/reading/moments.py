"""Dates in a column that is not the time, such as birth dates, read in every way that times are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.axis import instants
from timeveil.calendar.civil import Ints
from timeveil.errors import TimeveilError
from timeveil.reading.times import TimeColumn


def moments(values: pa.Array) -> tuple[Ints, npt.NDArray[np.bool_]] | None:
    """Civil seconds of dates or clock readings, and which are missing; None if not all of them are dates.

    >>> moments(pa.array(["31.12.1969", None]))
    (array([-86400,      0]), array([False,  True]))
    """
    column = TimeColumn("", zone=None, unit=None)
    try:
        pushed = column.push(pa.chunked_array([values]), 0)
        axis = column.axis()
        times = column.complete(pushed, axis)
    except TimeveilError:  # not dates, in two orders, or with an offset
        return None
    if times.null_count > values.null_count:  # a text without letters
        return None
    return instants(axis, pc.fill_null(times, pa.scalar(0, times.type))), np.asarray(times.is_null())
