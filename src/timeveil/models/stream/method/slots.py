"""From times to slots: whole numbers without holes, each with a label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from timeveil.calendar.axis import clocks, instants
from timeveil.calendar.catalogue import resolve
from timeveil.calendar.granularity import GAP, Granularity
from timeveil.domain.relation import TimeAxis
from timeveil.errors import InputError

Ints = npt.NDArray[np.int64]
END_OF_TIME = 253_402_300_799
"""The last second of the year 9999."""


@dataclass(frozen=True, slots=True)
class Slots:
    """How times are cut into slots: by a granularity, or not at all where times are slot numbers.

    >>> days = slots_of("day", TimeAxis("civil", pa.date32()))
    >>> days.labels([19_723, 19_724]).to_pylist()
    ['2024-01-01', '2024-01-02']
    >>> slots_of("day", TimeAxis("relative", pa.int64())).labels([4]).to_pylist()
    [4]
    """

    axis: TimeAxis
    granularity: Granularity | None

    @property
    def type(self) -> pa.DataType:
        """The type that slots are published in."""
        return pa.int64() if self.granularity is None else pa.string()

    def index(self, times: pa.ChunkedArray) -> Ints:
        """The slot of each time. Where the clocks go back, the hour that repeats stands still at its end."""
        if self.granularity is None:
            return np.asarray(times.to_numpy(), np.int64)
        moments = instants(self.axis, times)
        if self.axis.kind == "zoned":
            moments = clocks(self.axis, moments).settled(moments)
        found = self.granularity.index(moments)
        outside = int(np.count_nonzero(found == GAP)) if self.granularity.has_gaps else 0
        if outside:
            raise InputError(
                f"{outside} of {len(found)} times lie in no granule of `{self.granularity.name}`",
                hint="choose slots without gaps, such as hour, day, week or month",
                code="gap",
            )
        return found

    def refuse_beyond(self, last: int) -> None:
        """Dates have four digits for the year; a slot after the last of them has no label."""
        if self.granularity is None or self.axis.kind == "relative":
            return
        end = int(self.granularity.index(np.array([END_OF_TIME]))[0])
        if end != GAP and last > end:
            raise InputError(
                "records would be published after the year 9999",
                hint="see that no date is wrong, or choose less jitter",
                code="bad-time",
            )

    def labels(self, slots: Sequence[int] | Ints) -> pa.Array:
        """Slots as they are published."""
        numbers = np.asarray(slots, np.int64)
        if self.granularity is None:
            return pa.array(numbers)
        return pa.array(self.granularity.label(numbers), pa.string())

    def label(self, slot: int) -> str | int:
        """One slot as it is published."""
        shown: str | int = self.labels([slot])[0].as_py()
        return shown


def slots_of(slot: str | Granularity, axis: TimeAxis) -> Slots:
    """The slots of an axis; a granularity that does not fit it is refused."""
    if axis.kind == "relative" and axis.unit is None:
        resolve([slot], TimeAxis("civil", pa.timestamp("s")))  # a misspelt name is told, needed or not
        return Slots(axis, None)
    return Slots(axis, resolve([slot], axis)[0])
