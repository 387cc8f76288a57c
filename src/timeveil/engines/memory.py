"""Counting in memory: distinct people per group under any granularity, from one sort of the rows.

A *cell* is a pair (quasi code, position in time) that occurs. A *visit* is a person in a cell. Visits are
sorted by quasi code, person and position, and each remembers the position of the visit before it. A visit
is the first of its person in a granule exactly when the one before is ahead of the granule's first
position. So a distinct count is a sum, and one sort serves every granularity (Procedure 2 of the paper).

Cost: one sort of the rows; then per granularity two look-ups per cell and return: where granules are shorter
than a day, only returns on the same day, and where they are longer, one visit a day.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.axis import instants
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Granules, Ticks, Timeline, candidates
from timeveil.domain.arrays import Codes, Flags, Ints
from timeveil.domain.relation import Relation
from timeveil.domain.release import SAMPLE_ROWS, Deferred, decode_dictionaries, row_keys, row_order
from timeveil.engines import DAY, Cells, Held, Levels, Published, Recoded, Step, Tally, of_whole_days
from timeveil.reading.encoding import combine, distinct, encode, encode_people, publish_values, whole
from timeveil.reading.risks import Occurrences, occurrences

KEY_BITS = 62
NEVER = np.int32(-1)  # the position before a person's first visit
Part = tuple[Ints, Granules, Levels]
"""Rows to publish, with their granules and levels."""
Returns = tuple[Codes, Codes]
"""Visits that have one before: the cell of each, and the position of the one before."""


class MemoryEvents:
    """The events of a relation, encoded. One sort per level combination serves every granularity."""

    def __init__(self, relation: Relation) -> None:
        self._relation, self._table = relation, relation.table
        counted, person, time = self._table, relation.respondent, relation.time
        self._counted_rows: Ints | None = None
        if counted[person].null_count or counted[time].null_count:
            valid = pc.and_(counted[person].is_valid(), counted[time].is_valid())
            self._counted_rows = np.flatnonzero(valid)
            counted = counted.take(pa.array(self._counted_rows))
        self.rows = counted.num_rows
        # The time column as whole numbers, and how many of them make one instant.
        self._ticks_per_instant, times = 1, counted[time]
        if pa.types.is_timestamp(times.type):
            self._ticks_per_instant = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[times.type.unit]
            self._ticks: Ints = whole(times).view(pa.int64()).to_numpy(zero_copy_only=False)
        else:
            self._ticks = instants(relation.clock, times)
        self._person, self._person_room = encode_people(counted[person])
        self.people = int(np.count_nonzero(np.bincount(self._person)))
        self._quasi = {
            name: encode(counted[name]) for name in (*relation.roles.quasi_columns, *relation.hidden)
        }
        self._position: Codes = np.empty(0, np.int32)
        self._rows_at: Ints = np.empty(0, np.int64)
        self._visits: dict[tuple[tuple[str, int], ...], tuple[Visits, Codes]] = {}

    def extent(self) -> tuple[int, int, int]:
        if self.rows == 0:
            return 0, 0, 1
        ticks, per_instant = self._ticks, self._ticks_per_instant

        def divides(width: int) -> bool:
            # A few rows show most of the time that a width does not divide all; 1 does.
            return width * per_instant == 1 or not any(
                (part % (width * per_instant)).any() for part in (ticks[:SAMPLE_ROWS], ticks)
            )

        widths = (width for width, _ in candidates(self._relation.clock))
        low, high = int(ticks.min()) // per_instant, int(ticks.max()) // per_instant
        return low, high, next(filter(divides, widths), 1)

    def observe(self, base: Ticks) -> Ints:
        self._visits.clear()
        granule = base.granule(self._ticks // self._ticks_per_instant)
        granules, self._position, self._rows_at = _numbered(granule)
        return granules

    def values(self, column: str) -> pa.Array:
        return self._quasi[column].values

    def occurrences(self, column: str) -> Occurrences:
        return occurrences(self._counted(column), self._person)

    def _counted(self, column: str) -> pa.ChunkedArray:
        """A column of the rows that have a person and a time."""
        values = self._table[column]
        return values if self._counted_rows is None else values.take(pa.array(self._counted_rows))

    def tally(
        self, timeline: Timeline, granularities: Sequence[Granularity], levels: Levels, k: int
    ) -> list[Tally]:
        visits, _ = self._sorted(levels)
        whole_days = of_whole_days(granularities, timeline)
        days = timeline.firsts(DAY) if whole_days else None
        by_day, same_day = visits.by(days) if days is not None else (visits, visits.returning)

        def count(granularity: Granularity) -> Tally:
            firsts = timeline.firsts(granularity)
            if granularity.name in whole_days:
                groups = by_day.groups(firsts, by_day.returning)
            elif (days is None or (days <= firsts).all()) and (firsts >= 0).all():
                # Where no granule is of two days, only those who return on the same day can be in it already.
                groups = visits.groups(firsts, same_day)
            else:
                groups = visits.within(firsts >= 0).groups(firsts)
            return groups.tally(k, self.rows_in_gaps(timeline, granularity))

        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(count, granularities))

    def rows_in_gaps(self, timeline: Timeline, granularity: Granularity) -> int:
        return timeline.rows_in_gaps(granularity, self._rows_at)

    def publish(self, timeline: Timeline, granularity: Granularity, levels: Levels, k: int) -> Published:
        visits, cell_of_row = self._sorted(levels)
        firsts = timeline.firsts(granularity)
        inside = firsts[visits.position] >= 0
        groups = visits.within(firsts >= 0).groups(firsts)
        safe = groups.people >= k
        # From groups that are published back to cells, and from cells to rows.
        number = np.where(safe, np.cumsum(safe) - 1, -1).astype(np.int32)
        group_of_cell = np.full(inside.size, -1, np.int32)
        group_of_cell[inside] = number[groups.of_cells(int(inside.sum()))]
        group = group_of_cell.take(cell_of_row)
        granules = timeline.granules_of(granularity)
        return self._published(group, [(np.flatnonzero(group >= 0), granules, levels)], groups.people[safe])

    def cells(self, sensitive: Collection[str] = ()) -> Cells:
        visits, cell_of_row = self._sorted({})
        combinations, quasi = np.unique(visits.quasi, return_inverse=True)
        # One row of each combination shows its values.
        example = np.zeros(len(combinations), np.int64)
        example[quasi.ravel()[cell_of_row]] = np.arange(self.rows)
        # Distinct (cell, person), in this order.
        pairs, visit, visit_rows = np.unique(
            cell_of_row * np.int64(self._person_room) + self._person, return_inverse=True, return_counts=True
        )
        held = {}
        for name in sensitive:
            coded = encode(self._counted(name))
            holdings = distinct(visit.ravel() * len(coded.values) + coded.codes)
            values = (holdings % len(coded.values)).astype(np.int32)
            held[name] = Held(holdings // len(coded.values), values, coded.values)
        return Cells(
            quasi=quasi.ravel().astype(np.int32),
            position=visits.position,
            rows=visits.rows,
            cell=(pairs // self._person_room).astype(np.int32),
            person=(pairs % self._person_room).astype(np.int32),
            visit_rows=visit_rows,
            held=held,
            values={name: coded.codes[example] for name, coded in self._quasi.items()},
        )

    def publish_steps(
        self, timeline: Timeline, steps: Sequence[Step], recoded: Recoded, *, numbered: bool = True
    ) -> Published:
        _, cell_of_row = self._sorted({})
        group, step = recoded.group[cell_of_row], recoded.step[cell_of_row]
        parts = [
            (np.flatnonzero(step == number), timeline.granules_of(granularity), levels)
            for number, (granularity, levels) in enumerate(steps)
        ]
        return self._published(group, parts, recoded.people, stepped=numbered)

    def _published(
        self, group: Codes, parts: Sequence[Part], people: Ints, *, stepped: bool = False
    ) -> Published:
        """What is published of rows whose group is known; `people` has those of each group."""
        listed = group
        if self._counted_rows is not None:
            listed = np.full(self._table.num_rows, -1, np.int32)
            listed[self._counted_rows] = group
        return Published(
            # Rows are built when first read; until then only their group is stored.
            data=Deferred(lambda: self._build(parts, stepped=stepped)),
            entries=pa.table({"row": np.arange(len(listed)), "group": pa.array(listed, mask=listed < 0)}),
            rows=int(np.count_nonzero(group >= 0)),
            groups=len(people),
            smallest_group=int(people.min()) if len(people) else 0,
        )

    def close(self) -> None:
        """Nothing on disk to let go of."""

    def _sorted(self, levels: Levels) -> tuple[Visits, Codes]:
        """The visits at a combination of levels and the cell of each row, sorted when first asked for."""
        # Tables of levels are cached by the caller, so their identity distinguishes combinations.
        key = tuple(sorted((name, id(level)) for name, level in levels.items()))
        if key not in self._visits:
            quasi, _ = combine([coded.at(levels.get(name)) for name, coded in self._quasi.items()], self.rows)
            self._visits[key] = Visits.of(quasi, self._position, self._person, self._person_room)
        return self._visits[key]

    def _build(self, parts: Sequence[Part], *, stepped: bool = False) -> pa.Table:
        """The published rows, ordered by what they say; each part has rows of one granularity and level."""
        roles, time = self._relation.roles, self._relation.time
        start, end = f"{time}_start", f"{time}_end"
        generalised = {name for _, _, levels in parts for name in levels}
        tables, periods = [], list[pa.Table]()
        for number, (published, granules, levels) in enumerate(parts, start=1):
            rows = pa.array(published if self._counted_rows is None else self._counted_rows[published])
            columns = {name: self._table[name].take(rows) for name in roles.published}
            for name in generalised:
                coded, level = self._quasi[name], levels.get(name)
                values = publish_values(coded.values, level) if level else coded.values.cast(pa.string())
                columns[name] = values.dictionary_encode().take(pa.array(coded.codes[published]))
            # Until rows are in order, one number stands for label, start, end and step.
            columns[time] = granules.code[self._position[published]] + sum(map(len, periods))
            tables.append(pa.table(columns))
            period = {time: pa.array(granules.label, pa.string()), start: granules.start, end: granules.end}
            if stepped:
                period[f"{time}_step"] = pa.array(np.full(len(granules.start), number, np.int32))
            periods.append(pa.table(period))
        data, period_of = pa.concat_tables(tables), pa.concat_tables(periods)
        code = data[time].combine_chunks()
        sorted_by = dict(zip(data.column_names, data.columns, strict=True))
        # Times sort by start and label, and last by end and step, which of one granularity follow from these.
        for name, by in {time: [start, time], end: period_of.column_names[2:]}.items():
            if name == time or len(parts) > 1:
                sorted_by[name] = pa.array(_numbered(row_keys(period_of.select(by)))[1]).take(code)
        order = pa.array(row_order(pa.table(sorted_by), by=[*roles.quasi_columns, time]))
        columns = {name: data[name].take(order) for name in roles.published}
        code = code.take(order)
        columns |= {name: period_of[name].combine_chunks().take(code) for name in period_of.column_names}
        return decode_dictionaries(pa.table(columns))


@dataclass(frozen=True, slots=True)
class Groups:
    """People and rows of every group in the order of (quasi code, granule), and the first cell of each."""

    people: Ints
    rows: Ints
    heads: Ints

    def of_cells(self, cells: int) -> Codes:
        """The group of each cell."""
        return np.repeat(np.arange(self.heads.size, dtype=np.int32), np.diff(self.heads, append=cells))

    def tally(self, k: int, rows_in_gaps: int = 0) -> Tally:
        below = self.people < k
        large = self.people[~below]
        return Tally(
            smallest_group=int(self.people.min()) if self.people.size else 0,
            groups=int(self.people.size),
            group_total=int(self.people.sum()),
            groups_below_k=int(below.sum()),
            rows_below_k=int(self.rows[below].sum()),
            rows_in_gaps=rows_in_gaps,
            kept_smallest=int(large.min()) if large.size else 0,
            kept_total=int(large.sum()),
        )


@dataclass(frozen=True)
class Visits:
    """Cells in order, with their `rows` and `visitors`; per visit its `cell` and the position `before` it.

    `before` is the position of the same person's visit before, with the same quasi code.
    """

    quasi: Codes
    position: Codes
    rows: Ints
    visitors: Ints
    cell: Codes
    before: Codes

    @classmethod
    def of(cls, quasi: Codes, position: Codes, person: Codes, people: int) -> tuple[Visits, Codes]:
        """The visits of rows, and the cell of each row; `people` is above every person."""
        positions = int(position.max(initial=0)) + 1
        pairs, cell_of_row, rows = _numbered(quasi * np.int64(positions) + position)
        quasi_of, position_of = (pairs // positions).astype(np.int32), (pairs % positions).astype(np.int32)
        key = quasi * np.int64(people) + person
        cell_bits = max(len(pairs) - 1, 1).bit_length()
        if int(key.max(initial=0)).bit_length() + cell_bits > KEY_BITS:
            key = _numbered(key)[1].astype(np.int64)
        # Owner and cell in one word: a plain sort of numbers instead of a sort by two keys.
        key = np.sort(key << cell_bits | cell_of_row)
        visitors, repeats = rows, np.flatnonzero(key[1:] == key[:-1]) + 1
        if repeats.size:  # several rows of one person in one cell are one visit
            visitors = rows - np.bincount(key[repeats] & ((1 << cell_bits) - 1), minlength=rows.size)
            key = np.delete(key, repeats)
        cell = (key & ((1 << cell_bits) - 1)).astype(np.int32)
        before = _previous(position_of.take(cell), key >> cell_bits)
        return cls(quasi_of, position_of, rows, visitors, cell, before), cell_of_row

    @cached_property
    def returning(self) -> Returns:
        """The visits that have one before."""
        returning = self.before != NEVER
        return self.cell[returning], self.before[returning]

    def groups(self, firsts: Codes, returns: Returns | None = None) -> Groups:
        """The groups under one granularity; `firsts` has the first position in the same granule.

        `returns` has all visits, or at least those that follow one in the same granule.
        """
        first, heads = self._runs(firsts)
        if not heads.size:
            return Groups(self.visitors, self.rows, heads)
        # Procedure 2: a person counts where no earlier visit is in the same granule.
        cell, before = returns or (self.cell, self.before)
        repeated = np.bincount(cell[before >= first.take(cell)], minlength=first.size)
        # A sum of each group: running totals at its last cell, less those of the group before.
        lasts = np.append(heads[1:], first.size) - 1
        totals = (np.cumsum(counts).take(lasts) for counts in (self.visitors - repeated, self.rows))
        people, rows = (np.diff(total, prepend=0) for total in totals)
        return Groups(people, rows, heads)

    def by(self, firsts: Codes) -> tuple[Visits, Returns]:
        """The first visits to each granule, which are its cells, and the returns to the same granule.

        The first are enough to count whatever is coarser, the second whatever is finer.
        """
        first, heads = self._runs(firsts)
        fresh = self.before < first.take(self.cell)
        returns = self.cell[~fresh], self.before[~fresh]
        groups = self.groups(firsts, returns)
        cell, before = groups.of_cells(first.size).take(self.cell[fresh]), self.before[fresh]
        coarser = Visits(self.quasi[heads], first[heads], groups.rows, groups.people, cell, before)
        return coarser, returns

    def _runs(self, firsts: Codes) -> tuple[Codes, Ints]:
        """The first position of each cell's granule, and the first cell of each group."""
        first = firsts.take(self.position)
        # Cells are in the order of (quasi code, position), so a group is a run of them.
        begins = np.ones(first.size, np.bool_)
        begins[1:] = (first[1:] != first[:-1]) | (self.quasi[1:] != self.quasi[:-1])
        return first, np.flatnonzero(begins)

    def within(self, inside: Flags) -> Visits:
        """Only visits at positions that are `inside`, as if nobody had come at another time."""
        if inside.all():
            return self
        remain = inside[self.position]
        number, position = (np.cumsum(remain) - 1).astype(np.int32), self.position[remain]
        # A person's visits under one quasi code are a run that starts where nothing came before.
        owner = np.cumsum(self.before == NEVER)
        stays = remain[self.cell]
        cell = number[self.cell[stays]]
        before = _previous(position[cell], owner[stays])
        return Visits(self.quasi[remain], position, self.rows[remain], self.visitors[remain], cell, before)


def _previous(position: Codes, owner: Ints) -> Codes:
    """The position one visit earlier, `NEVER` at the first visit of an owner."""
    before = np.full(position.size, NEVER, np.int32)
    before[1:] = np.where(owner[1:] == owner[:-1], position[:-1], NEVER)
    return before


def _numbered(numbers: Ints) -> tuple[Ints, Codes, Ints]:
    """The distinct numbers in order, the index of each among them, and how often each occurs."""
    low, high = (int(numbers.min()), int(numbers.max())) if numbers.size else (0, 0)
    if high - low < numbers.size:  # a table over their range is no larger than they are
        counts = np.bincount(numbers - low)
        number = np.cumsum(counts > 0, dtype=np.int32) - np.int32(1)
        return np.flatnonzero(counts) + low, number.take(numbers - low), counts[counts > 0]
    row_bits = max(numbers.size - 1, 1).bit_length()
    if (high - low).bit_length() + row_bits > KEY_BITS:
        distinct, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
        return distinct, inverse.astype(np.int32), counts
    # Number and row in one word: a plain sort of words is several times faster than one that moves rows.
    words = np.sort((numbers - low) << row_bits | np.arange(numbers.size))
    ordered = words >> row_bits
    begins = np.ones(numbers.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    heads = np.flatnonzero(begins)
    index: Codes = np.empty(numbers.size, np.int32)
    index[words & ((1 << row_bits) - 1)] = np.cumsum(begins, dtype=np.int32) - np.int32(1)
    return ordered[heads] + low, index, np.diff(heads, append=numbers.size)
