"""Counting in memory: columns become codes, and one sort of the visits serves every granularity."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.axis import instants
from timeveil.calendar.catalogue import CATALOGUE
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Granules, Ticks, Timeline, candidates
from timeveil.domain.ordering import canonical
from timeveil.domain.relation import Relation
from timeveil.domain.release import Deferred
from timeveil.engines.protocol import Extent, Levels, Published, Tally
from timeveil.engines.visits import Cells, Codes, Int64s, Visits
from timeveil.reading.encoding import combine, encode, encode_people, plain, publish_values, whole

DENSE_GRANULES = 50_000_000
SAMPLE_ROWS = 1_000
WORKERS = 2
DAY = CATALOGUE["day"]
DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Ordered:
    """The visits at one combination of hierarchy levels, and the cell of every row."""

    visits: Visits
    cell_of_row: Codes


def open_events(relation: Relation, memory_limit: str | None = None) -> MemoryEvents:  # noqa: ARG001 (one signature for all engines)
    """The events of a relation; a limit of memory has no meaning here."""
    return MemoryEvents(relation)


class MemoryEvents:
    """The events of a relation, encoded. One sort per level combination serves every granularity."""

    def __init__(self, relation: Relation) -> None:
        self._relation = relation
        self._table = relation.table
        self._counted_rows = _countable(self._table, relation.respondent, relation.time)
        counted = self._table
        if self._counted_rows is not None:
            counted = counted.take(pa.array(self._counted_rows))
        self.rows = counted.num_rows
        self._ticks, self._scale = _ticks(relation, counted[relation.time])
        self._person, self._person_room = encode_people(counted[relation.respondent])
        self._quasi = {name: encode(counted[name]) for name in relation.roles.quasi_columns}
        self._position: Codes = np.empty(0, np.int32)
        self._ordered: dict[tuple[tuple[str, int], ...], Ordered] = {}

    @property
    def people(self) -> int:
        """How many different people there are."""
        seen = np.zeros(self._person_room, np.bool_)
        seen[self._person] = True
        return int(seen.sum())

    def extent(self) -> Extent:
        """First and last instant, and the widest tick that divides them all."""
        if self.rows == 0:
            return Extent(0, 0, 1)
        low, high = int(self._ticks.min()) // self._scale, int(self._ticks.max()) // self._scale
        widths = (width for width, _ in candidates(self._relation.clock))
        return Extent(low, high, next((width for width in widths if self._is_divided_by(width)), 1))

    def _is_divided_by(self, width: int) -> bool:
        """Whether every instant is a multiple; a few rows show most of the time that one is not."""
        ticks, divisor = self._ticks, width * self._scale
        return not (ticks[:SAMPLE_ROWS] % divisor).any() and not (ticks % divisor).any()

    def observe(self, base: Ticks) -> Int64s:
        """Fix the base granularity; return the base granules that occur, in order."""
        self._ordered.clear()
        if self.rows == 0:
            return np.empty(0, np.int64)
        # Floor division, so that times before the epoch fall into the right granule too.
        granule = (self._ticks // self._scale + base.phase) // base.width
        low, high = int(granule.min()), int(granule.max())
        # A flag per possible granule is faster than a sort, as long as the span is not absurd.
        if high - low < DENSE_GRANULES:
            granule -= low
            occurs = np.zeros(high - low + 1, np.bool_)
            occurs[granule] = True
            self._position = (np.cumsum(occurs) - 1).astype(np.int32)[granule]
            return np.flatnonzero(occurs) + low
        granules, position = np.unique(granule, return_inverse=True)
        self._position = position.astype(np.int32)
        return granules

    def values(self, column: str) -> pa.Array:
        """The distinct values of a quasi-identifier, null among them if it occurs."""
        return self._quasi[column].values

    def tally(
        self, timeline: Timeline, granularities: Sequence[Granularity], levels: Levels, k: int
    ) -> list[Tally]:
        """Every granularity from one ordering of the rows; coarse ones from first visits per day."""
        visits = self._at(timeline, levels).visits
        whole_days = {g.name for g in granularities if _is_of_whole_days(g, timeline)}
        # Granules of whole days contain days, so a person's later visits on a day can open none of them.
        by_day = visits.opening(timeline.firsts(DAY)) if len(whole_days) > 1 else visits

        def count(granularity: Granularity) -> Tally:
            firsts, gaps = timeline.firsts(granularity), timeline.in_gaps(granularity)
            in_gaps = int(gaps[self._position].sum()) if gaps.any() else 0
            counted = by_day if granularity.name in whole_days else visits
            if (firsts < 0).any():
                # A visit in a gap must not hide that a later one is the person's first in its granule.
                counted = visits.within(firsts >= 0)
            groups = counted.groups(firsts)
            return Tally.of(groups.people, groups.rows, k, in_gaps)

        # Granularities do not depend on each other, and NumPy releases the lock in its array loops.
        with ThreadPoolExecutor(WORKERS) as pool:
            return list(pool.map(count, granularities))

    def publish(self, timeline: Timeline, granularity: Granularity, levels: Levels, k: int) -> Published:
        """Generalise the time, leave out groups below k, order the rows by what they say."""
        ordered = self._at(timeline, levels)
        visits, firsts = ordered.visits, timeline.firsts(granularity)
        inside = firsts[visits.cells.position] >= 0
        groups = visits.within(firsts >= 0).groups(firsts)
        safe = groups.people >= k
        # From groups that are published back to cells, and from cells to rows.
        number = np.where(safe, np.cumsum(safe) - 1, -1).astype(np.int32)
        group_of_cell = np.full(inside.size, -1, np.int32)
        group_of_cell[inside] = number[groups.of_cell]
        group = group_of_cell[ordered.cell_of_row]
        granules = timeline.granules_of(granularity)
        return Published(
            # Rows are built when first read; until then only their group is stored.
            data=Deferred(lambda: self._build(group, granules, levels)),
            entries=self._entries(group),
            rows=int((group >= 0).sum()),
            groups=int(safe.sum()),
            smallest_group=int(groups.people[safe].min()) if safe.any() else 0,
            people=self.people,
        )

    def close(self) -> None:
        """Nothing on disk to let go of."""

    def _at(self, timeline: Timeline, levels: Levels) -> Ordered:
        """The visits at a combination of levels, sorted when first asked for."""
        key = tuple(sorted((name, id(level)) for name, level in levels.items()))
        if key not in self._ordered:
            quasi, _ = combine([coded.at(levels.get(name)) for name, coded in self._quasi.items()], self.rows)
            positions = max(len(timeline), 1)
            cells, cell_of_row = Cells.of(quasi, self._position, positions)
            visits = Visits.of(cells, cell_of_row, self._person, self._person_room)
            self._ordered[key] = Ordered(visits, cell_of_row)
        return self._ordered[key]

    def _entries(self, group: Codes) -> pa.Table:
        """The ledger's table: the group of every input row, null where it was withheld."""
        rows = self._table.num_rows
        if self._counted_rows is not None:
            counted, group = group, np.full(rows, -1, np.int32)
            group[self._counted_rows] = counted
        return pa.table({"row": np.arange(rows, dtype=np.int64), "group": pa.array(group, mask=group < 0)})

    def _build(self, group: Codes, granules: Granules, levels: Levels) -> pa.Table:
        """The published rows, ordered by what they say."""
        roles, time = self._relation.roles, self._relation.time
        published = np.flatnonzero(group >= 0)
        rows = published if self._counted_rows is None else self._counted_rows[published]
        columns: dict[str, pa.Array | pa.ChunkedArray] = {
            name: self._table[name].take(pa.array(rows))
            for name in (*roles.quasi_columns, *roles.keep, *roles.sensitive)
        }
        for name, level in levels.items():
            coded = self._quasi[name]
            columns[name] = publish_values(coded.values, level).take(pa.array(coded.codes[published]))
        code = pa.array(granules.code[self._position[published]])
        columns[time] = pa.DictionaryArray.from_arrays(code, pa.array(granules.label, pa.string()))
        columns[f"{time}_start"] = granules.start.take(code)
        columns[f"{time}_end"] = granules.end.take(code)
        ordered = canonical(pa.table(columns), by=[*roles.quasi_columns, f"{time}_start", time])
        return pa.table({name: plain(ordered[name]) for name in ordered.column_names})


def _is_of_whole_days(granularity: Granularity, timeline: Timeline) -> bool:
    """Whether its groups can be counted from days instead of base granules."""
    civil = timeline.axis.kind != "relative" and timeline.base.width < DAY_SECONDS
    return civil and not granularity.has_gaps and granularity.rule.grain % DAY_SECONDS == 0


def _countable(table: pa.Table, respondent: str, time: str) -> Int64s | None:
    """Numbers of the rows that have a person and a time; None if all have."""
    if not (table[respondent].null_count or table[time].null_count):
        return None
    valid = pc.and_(pc.is_valid(table[respondent]), pc.is_valid(table[time]))
    return np.flatnonzero(valid.to_numpy(zero_copy_only=False))


def _ticks(relation: Relation, column: pa.ChunkedArray) -> tuple[npt.NDArray[np.int64], int]:
    """The time column as whole numbers, and how many of them make one instant."""
    if pa.types.is_timestamp(column.type):
        per_second = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[column.type.unit]
        return whole(column).view(pa.int64()).to_numpy(zero_copy_only=False), per_second
    return instants(relation.clock, column), 1
