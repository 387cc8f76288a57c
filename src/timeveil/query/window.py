"""Counting the rows of a release in a window of time.

A published row says which granule its time lay in, not where. Granules wholly inside the window count
in full, granules that touch it may count in full or not at all (`low` and `high`), and the best guess
spreads the rows of a granule evenly over it. A granule without a start or an end, such as that of
`all`, has no width to spread over: where the window takes only a part of it, half of its rows are
the guess.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.axis import instants
from timeveil.errors import ParameterError, RolesError, instead_of
from timeveil.model.estimate import Estimate
from timeveil.model.relation import TimeAxis
from timeveil.model.release import Release
from timeveil.query.codes import Integers, plain_type
from timeveil.query.published import (
    HIGHEST,
    LOWEST,
    Granules,
    axis_of,
    bounds_of,
    classes_of,
    columns_of,
    granules_of,
)

Moment: TypeAlias = dt.date | dt.datetime | str | int | None
Instant: TypeAlias = int | Fraction
Floats: TypeAlias = npt.NDArray[np.float64]
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001


@dataclass(frozen=True, slots=True)
class WindowCount:
    """How many rows have a time in `between` and the values in `where`.

    `between=(a, b)` is half open: a is in, b is not; `None` leaves a side open. Dates, datetimes and
    ISO strings on a calendar, whole numbers in the release's own unit on relative time. On a release with a
    time zone, a time without one is read on that zone's clocks. `where` gives per column a value,
    `None` for missing, or a pair (lo, hi) with both ends in. A generalised column is asked for by the
    label it was published with.

    >>> WindowCount(between=("2024-03-01", "2024-04-01"), where={"sex": "f", "age": (30, 39)}).where["sex"]
    'f'
    """

    between: tuple[Moment, Moment] = (None, None)
    where: Mapping[str, Any] = field(default_factory=dict)


def count_in_window(release: Release, query: WindowCount) -> Estimate:
    """Answer a window count from what was published, a batch at a time."""
    axis, where = axis_of(release), _Filter(release, query.where)
    low, high = window_of(axis, query.between)
    start_name, end_name = columns_of(release, "start", "end")
    counts = classes_of(release, [start_name, end_name], among=where.mask)
    start, end = bounds_of(axis, counts.column(0), counts.column(1))
    granules = granules_of(release, start, end)
    order = np.lexsort((end, start))
    rows = np.asarray(counts["rows"])[order]
    value, sure, possible = (float(part @ rows) for part in shares(granules, low, high))
    withheld = release.manifest["counts"]["withheld"] if low < high else 0
    return Estimate(value, low=sure, high=possible + withheld)


def shares(granules: Granules, low: Instant, high: Instant) -> tuple[Floats, Floats, Floats]:
    """Per granule the share of its rows in [low, high): expected, sure and possible.

    Granules begin and end with whole seconds; a window may do so within one.
    """
    if low >= high:
        nothing = np.zeros(len(granules.start))
        return nothing, nothing, nothing
    first, last = math.floor(low), math.ceil(high)
    sure = (granules.reach >= math.ceil(low)) & (granules.end <= math.floor(high))
    possible = (granules.reach < last) & (granules.end > first)
    overlap = (np.minimum(granules.end, last) - np.maximum(granules.start, first)).astype(float)
    overlap -= float(low - first) * (granules.start <= first) + float(last - high) * (granules.end >= last)
    width = granules.end - granules.start
    expected = np.clip(overlap, 0, None) / np.maximum(width, 1)
    endless = (granules.start == LOWEST) | (granules.end == HIGHEST)
    expected = np.where(endless, (sure.astype(float) + possible) / 2, expected)
    return np.where(sure, 1.0, expected), sure.astype(float), possible.astype(float)


def window_of(axis: TimeAxis, between: tuple[Moment, Moment]) -> tuple[Instant, Instant]:
    """A window as instants, with fractions of a second.

    >>> import pyarrow as pa
    >>> window_of(TimeAxis("civil", pa.date32()), ("1970-01-02", None))[0]
    86400
    """
    if not isinstance(between, tuple | list) or len(between) != 2:
        raise ParameterError("a window is a pair of times", hint="write between=(a, b)", code="bad-parameter")
    low = LOWEST if between[0] is None else _instant(axis, between[0])
    high = HIGHEST if between[1] is None else _instant(axis, between[1])
    if low > high:
        raise ParameterError(
            "the window ends before it starts", hint="give the earlier time first", code="bad-parameter"
        )
    return low, high


def _instant(axis: TimeAxis, moment: Moment) -> Instant:
    if axis.kind == "relative":
        if isinstance(moment, bool) or not isinstance(moment, int | np.integer):
            raise _unreadable(f"whole numbers of {axis.unit}, as the release has relative time")
        return int(instants(axis, pa.array([int(moment)], pa.int64()))[0])
    if isinstance(moment, str):
        text, takes = moment, "dates or times such as 2024-03-01 or 2024-03-01T08:30"
        moment = instead_of(ValueError, lambda _: _unreadable(takes), lambda: dt.datetime.fromisoformat(text))
    if isinstance(moment, dt.date) and not isinstance(moment, dt.datetime):
        moment = dt.datetime.combine(moment, dt.time())
    if not isinstance(moment, dt.datetime):
        raise _unreadable("dates, datetimes or ISO strings")
    if axis.kind == "civil" and moment.tzinfo is not None:
        raise _unreadable("times without a zone, as the release has none")
    if axis.kind == "zoned":
        local = moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(str(axis.zone)))
        moment = local.astimezone(dt.UTC).replace(tzinfo=None)
    seconds = Fraction((moment - _EPOCH) // dt.timedelta(microseconds=1), 1_000_000)
    return int(seconds) if seconds.denominator == 1 else seconds


def _unreadable(takes: str) -> ParameterError:
    return ParameterError(
        "a bound of the window cannot be read as a time of this release",
        hint=f"the window takes {takes}",
        code="bad-time",
    )


class _Filter:
    """Which rows of a batch have the values asked for."""

    def __init__(self, release: Release, where: Mapping[str, Any]) -> None:
        published = columns_of(release, "quasi", "keep", "sensitive")
        for column, wanted in where.items():
            if column not in published:
                raise RolesError(
                    f"the release has no column `{column}` to ask about",
                    hint=f"it has {', '.join(published) or 'none beside the time'}",
                    code="column-missing",
                )
            if isinstance(wanted, tuple | list) and column in release.manifest.get("levels", {}):
                raise ParameterError(
                    f"column `{column}` is generalised, so it takes no range",
                    hint="ask for one of its published labels",
                    code="bad-parameter",
                )
        self._where = where

    def mask(self, batch: pa.RecordBatch) -> pa.Array | None:
        """True for the rows to count; None if every row is."""
        found = None
        for name, wanted in self._where.items():
            kind = plain_type(batch.schema.field(name).type)
            one = _matches(name, batch.column(name).cast(kind), kind, wanted)
            found = one if found is None else pc.and_(found, one)
        return found


def _matches(name: str, column: pa.Array, kind: pa.DataType, wanted: object) -> pa.Array:
    if wanted is None:
        return column.is_null()
    if not isinstance(wanted, tuple | list):
        return pc.fill_null(pc.equal(column, _scalar(name, kind, wanted)), False)
    if len(wanted) != 2:
        raise ParameterError(
            f"a range on column `{name}` has {len(wanted)} ends", hint="give (lo, hi)", code="bad-parameter"
        )
    inside = column.is_valid()
    for compare, bound in ((pc.greater_equal, wanted[0]), (pc.less_equal, wanted[1])):
        if bound is not None:
            inside = pc.and_(inside, pc.fill_null(compare(column, _scalar(name, kind, bound)), False))
    return inside


def _scalar(name: str, kind: pa.DataType, wanted: object) -> pa.Scalar:
    error = ParameterError(
        f"column `{name}` holds {kind}, which cannot be compared with a {type(wanted).__name__}",
        hint=f"ask for a value that reads as {kind}",
        code="bad-parameter",
    )
    causes = (pa.ArrowException, TypeError, ValueError, OverflowError)
    return instead_of(causes, lambda _: error, lambda: _as_kind(kind, pa.scalar(wanted)))


def _as_kind(kind: pa.DataType, scalar: pa.Scalar) -> pa.Scalar:
    whole_or_not = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    return scalar if whole_or_not and pa.types.is_floating(scalar.type) else scalar.cast(kind)


__all__ = ["Integers", "Moment", "WindowCount", "count_in_window", "shares", "window_of"]
