"""Counting in memory: codes, one sort, and the kernels of `timeveil.models.events.kernels.occurrences`."""

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
from timeveil.calendar.ticks import candidates
from timeveil.calendar.timeline import Granules, Ticks, Timeline
from timeveil.domain.ordering import canonical
from timeveil.domain.relation import Relation
from timeveil.domain.release import Deferred
from timeveil.engines.protocol import Extent, Levels, Published, Tally
from timeveil.models.events.kernels import occurrences
from timeveil.reading.encoding import Codes, combine, encode, encode_people, plain, publish_values, whole

DENSE_GRANULES = 50_000_000
KEY_BITS = 62
WORKERS = 2
DAY = CATALOGUE["day"]
DAY_SECONDS = 86_400

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cells:
    """The (quasi code, position) pairs that occur, in order; see `kernels.occurrences`."""

    quasi: Codes
    position: Codes
    rows: Codes
    begin: Int64s
    before: Codes

    def sizes(self, firsts: Codes) -> tuple[Int64s, Int64s, Codes]:
        """People and rows of every group, and the group of each cell."""
        found: tuple[Int64s, Int64s, Codes] = occurrences.group_sizes(
            self.quasi, self.position, self.rows, self.begin, self.before, firsts
        )
        return found

    def coarsened(self, firsts: Codes) -> Cells:
        """The groups under `firsts` as cells."""
        group_of = self.sizes(firsts)[2]
        return Cells(
            *occurrences.coarsen(self.quasi, self.position, self.rows, self.begin, self.before, group_of)
        )


class MemoryEvents:
    """The events of a relation, encoded. One sort per level combination serves every granularity."""

    def __init__(self, relation: Relation) -> None:
        roles = relation.roles
        self._relation = relation
        self._axis = relation.clock
        self._table = relation.table
        self._rows_taken = _countable(self._table, relation.respondent, relation.time)
        counted = self._table if self._rows_taken is None else self._table.take(pa.array(self._rows_taken))
        self.rows = counted.num_rows
        self._ticks, self._scale = _ticks(relation, counted[relation.time])
        self._person, self._person_room = encode_people(counted[relation.respondent])
        self._quasi = {name: encode(counted[name]) for name in roles.quasi_columns}
        self._position: Codes = np.empty(0, np.int32)
        self._cells: dict[tuple[tuple[str, int], ...], tuple[Cells, Codes, int]] = {}

    @property
    def people(self) -> int:
        """How many different people there are."""
        seen = np.zeros(self._person_room, np.bool_)
        seen[self._person] = True
        return int(seen.sum())

    def extent(self) -> Extent:
        """Where the events lie in time."""
        if self.rows == 0:
            return Extent(0, 0, 1)
        widths = np.array([width for width, _ in candidates(self._axis)], np.int64)
        low, high, divides = occurrences.extent_of(self._ticks, self._scale, widths)
        fitting = widths[divides]
        return Extent(int(low), int(high), int(fitting[0]) if fitting.size else 1)

    def observe(self, base: Ticks) -> Int64s:
        """Fix the base granularity; return the base granules that occur, in order."""
        self._cells.clear()
        if self.rows == 0:
            return np.empty(0, np.int64)
        low = (int(self._ticks.min()) // self._scale + base.phase) // base.width
        high = (int(self._ticks.max()) // self._scale + base.phase) // base.width
        if high - low < DENSE_GRANULES:
            seen = np.zeros(high - low + 1, np.bool_)
            occurrences.mark_granules(self._ticks, self._scale, base.phase, base.width, low, seen)
            granules = np.flatnonzero(seen)
            place = (np.cumsum(seen) - 1).astype(np.int32)
            self._position = occurrences.positions_of(
                self._ticks, self._scale, base.phase, base.width, low, place
            )
            return granules + low
        every = (self._ticks // self._scale + base.phase) // base.width
        granules, position = np.unique(every, return_inverse=True)
        self._position = position.astype(np.int32)
        return granules

    def values(self, column: str) -> pa.Array:
        """The distinct values of a quasi-identifier, null among them if it occurs."""
        return self._quasi[column].values

    def tally(
        self, timeline: Timeline, granularities: Sequence[Granularity], levels: Levels, k: int
    ) -> list[Tally]:
        """Every granularity from one ordering of the rows; coarse ones from days, not base granules."""
        cells, quasi, quasi_size = self._ordered(timeline, levels)
        whole_days = {g.name for g in granularities if _is_of_whole_days(g, timeline)}
        days = cells.coarsened(timeline.firsts(DAY)) if len(whole_days) > 1 else cells

        def one(granularity: Granularity) -> Tally:
            firsts = timeline.firsts(granularity)
            lost = timeline.in_gaps(granularity)
            in_gaps = int(lost[self._position].sum()) if lost.any() else 0
            counted = days if granularity.name in whole_days else cells
            if (firsts < 0).any():
                counted = self._cells_of(quasi, quasi_size, timeline, firsts[self._position] >= 0)
            people, rows, _ = counted.sizes(firsts)
            return Tally.of(people, rows, k, in_gaps)

        with ThreadPoolExecutor(WORKERS) as pool:
            return list(pool.map(one, granularities))

    def publish(self, timeline: Timeline, granularity: Granularity, levels: Levels, k: int) -> Published:
        """Generalise the time, leave out groups below k, order the rows by what they say."""
        cells, quasi, quasi_size = self._ordered(timeline, levels)
        granules = timeline.granules_of(granularity)
        firsts = timeline.firsts(granularity)
        gaps = firsts < 0
        if gaps.any():
            cells = self._cells_of(quasi, quasi_size, timeline, ~gaps[self._position])
        people, _, group_of = cells.sizes(firsts)
        number = np.where(people >= k, np.cumsum(people >= k) - 1, -1).astype(np.int32)
        group = _group_of_rows(cells, group_of, number, quasi, granules.code, self._position)
        entries = self._entries(group)
        kept = people[people >= k]
        return Published(
            data=Deferred(lambda: self._build(group, granules, levels)),
            entries=entries,
            rows=int((group >= 0).sum()),
            groups=int(kept.size),
            smallest_group=int(kept.min()) if kept.size else 0,
            people=self.people,
        )

    def close(self) -> None:
        """Nothing on disk to let go of."""

    def _ordered(self, timeline: Timeline, levels: Levels) -> tuple[Cells, Codes, int]:
        key = tuple(sorted((name, id(level)) for name, level in levels.items()))
        if key not in self._cells:
            parts = [coded.at(levels.get(name)) for name, coded in self._quasi.items()]
            quasi, size = combine(parts, self.rows)
            self._cells[key] = (self._cells_of(quasi, size, timeline, None), quasi, size)
        return self._cells[key]

    def _cells_of(
        self, quasi: Codes, quasi_size: int, timeline: Timeline, only: npt.NDArray[np.bool_] | None
    ) -> Cells:
        position, person = self._position, self._person
        if only is not None:
            quasi, position, person = quasi[only], position[only], person[only]
        positions = max(int(timeline.granules.size), 1)
        person_bits = max(self._person_room - 1, 1).bit_length()
        if (quasi_size * positions).bit_length() + person_bits <= KEY_BITS:
            key = occurrences.pack_keys(quasi, position, person, positions, person_bits)
            key.sort()
            return Cells(*occurrences.cells_of(key, person_bits, positions, self._person_room)[:5])
        cell = quasi.astype(np.int64) * positions + position
        distinct, rank = np.unique(cell, return_inverse=True)
        key = occurrences.pack_keys(rank.astype(np.int32), np.zeros_like(position), person, 1, person_bits)
        key.sort()
        found = occurrences.cells_of(key, person_bits, 1, self._person_room)
        return Cells(
            (distinct // positions).astype(np.int32), (distinct % positions).astype(np.int32), *found[2:5]
        )

    def _entries(self, group: Codes) -> pa.Table:
        rows = self._table.num_rows
        whole = group
        if self._rows_taken is not None:
            whole = np.full(rows, -1, np.int32)
            whole[self._rows_taken] = group
        withheld = whole < 0
        column = pa.array(whole, mask=withheld) if withheld.any() else pa.array(whole)
        return pa.table({"row": np.arange(rows, dtype=np.int64), "group": column})

    def _build(self, group: Codes, granules: Granules, levels: Levels) -> pa.Table:
        roles = self._relation.roles
        time = self._relation.time
        kept = np.flatnonzero(group >= 0)
        rows = kept if self._rows_taken is None else self._rows_taken[kept]
        taken = self._table.take(pa.array(rows))
        columns: dict[str, pa.Array | pa.ChunkedArray] = {}
        for name in roles.quasi_columns:
            if name in levels:
                coded = self._quasi[name]
                columns[name] = publish_values(coded.values, levels[name]).take(pa.array(coded.codes[kept]))
            else:
                columns[name] = taken[name]
        for name in (*roles.keep, *roles.sensitive):
            columns[name] = taken[name]
        code = pa.array(granules.code[self._position[kept]])
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


def _ticks(relation: Relation, column: pa.ChunkedArray) -> tuple[Int64s, int]:
    """The time column as whole numbers, and how many of them make one instant."""
    if pa.types.is_timestamp(column.type):
        per_second = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[column.type.unit]
        return whole(column).view(pa.int64()).to_numpy(zero_copy_only=False), per_second
    return instants(relation.clock, column), 1


def _group_of_rows(
    cells: Cells, group_of: Codes, number: Codes, quasi: Codes, code: Codes, position: Codes
) -> Codes:
    """The published group of each row, -1 if none: rows and groups meet at (quasi code, granule)."""
    granules = int(code.max(initial=0)) + 1
    heads = np.flatnonzero(np.diff(group_of, prepend=-1))
    keys = cells.quasi[heads].astype(np.int64) * granules + code[cells.position[heads]]
    room = (int(quasi.max(initial=0)) + 1) * granules
    out: Codes
    if room <= max(4 * quasi.size, 1_000_000):
        place = np.full(room, -1, np.int32)
        place[keys] = number
        out = occurrences.look_up(quasi, position, code, granules, place)
        return out
    row_code = code[position]
    row_keys = quasi.astype(np.int64) * granules + row_code
    at = np.searchsorted(keys, row_keys)
    at[at == keys.size] = 0
    out = np.where((keys[at] == row_keys) & (row_code >= 0), number[at], np.int32(-1))
    return out
