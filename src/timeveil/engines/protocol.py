"""The operators every engine offers, and the values they exchange."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Ticks, Timeline
from timeveil.domain.release import Deferred
from timeveil.domain.stored import Stored

Levels = Mapping[str, pa.Table]
"""Per generalised quasi-identifier a table `value`, `published`, one row per distinct value."""


@dataclass(frozen=True, slots=True)
class Extent:
    """First and last instant, and the widest tick (in instants) that all of them are multiples of."""

    low: int
    high: int
    resolution: int


@dataclass(frozen=True, slots=True)
class Tally:
    """One granularity's groups, counted in people.

    `smallest_group` is gen_m and `group_total` gen_s of the paper. The `kept_` numbers leave the groups
    below k out.
    """

    smallest_group: int
    groups: int
    group_total: int
    groups_below_k: int
    rows_below_k: int
    rows_in_gaps: int
    kept_smallest: int
    kept_total: int

    @property
    def kept_groups(self) -> int:
        """Groups of at least k people."""
        return self.groups - self.groups_below_k

    @classmethod
    def of(
        cls, people: npt.NDArray[np.int64], rows: npt.NDArray[np.int64], k: int, rows_in_gaps: int
    ) -> Tally:
        """From the people and rows of every group."""
        below = people < k
        published = people[~below]
        return cls(
            smallest_group=int(people.min(initial=np.iinfo(np.int64).max)) if people.size else 0,
            groups=int(people.size),
            group_total=int(people.sum()),
            groups_below_k=int(below.sum()),
            rows_below_k=int(rows[below].sum()),
            rows_in_gaps=rows_in_gaps,
            kept_smallest=int(published.min()) if published.size else 0,
            kept_total=int(published.sum()),
        )


@dataclass(frozen=True, slots=True)
class Published:
    """The rows to publish and, per input row, the group it went to (null: withheld)."""

    data: pa.Table | Deferred | Stored
    entries: pa.Table | Stored
    rows: int
    groups: int
    smallest_group: int
    people: int


class Events(Protocol):
    """The events of one relation, open for counting. Rows without a person or time are not counted."""

    @property
    def rows(self) -> int:
        """How many rows are counted."""

    @property
    def people(self) -> int:
        """How many different people they are about."""

    def extent(self) -> Extent:
        """First and last instant, and the widest tick that divides them all."""

    def observe(self, base: Ticks) -> npt.NDArray[np.int64]:
        """Fix the base granularity; return the base granules that occur, in order."""

    def values(self, column: str) -> pa.Array:
        """The distinct values of a quasi-identifier, null among them if it occurs, in any order."""

    def tally(
        self, timeline: Timeline, granularities: Sequence[Granularity], levels: Levels, k: int
    ) -> list[Tally]:
        """Frequency sets (Definition 2) of every granularity, summed up, from one ordering of the rows."""

    def publish(self, timeline: Timeline, granularity: Granularity, levels: Levels, k: int) -> Published:
        """Generalise the time, leave out groups below k, order the rows by what they say."""

    def close(self) -> None:
        """Let go of temporary files."""
