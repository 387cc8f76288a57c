"""Mining where the rows are: two passes over the parts of a table in Spark, and one machine's family exactly.

The first pass mines every part at the same share of its rows. A pattern that is frequent in the table has
that share in one part at least, so it is among the candidates (Savasere, Omiecinski and Navathe, 1995). The
second pass counts every candidate in every part. Candidates and counts pass the driver, and no row does.

A part in which the share is a handful of rows has far too many candidates, so there are at most as many parts
as leave `LEAST_ROWS` rows for a pattern in each.
Cost: rows are read three times and shuffled once, transactions of one row per item twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.arrays import Ints
from timeveil.domain.roles import Roles
from timeveil.errors import ParameterError
from timeveil.models.patterns.method.family import Family, Nodes, mine_family, too_many
from timeveil.models.patterns.method.transactions import (
    NOTHING,
    Sets,
    Source,
    Transactions,
    Values,
    instant_columns,
    packed,
    symbols_of,
)
from timeveil.reading.collection import gather, read_baskets
from timeveil.reading.spark_people import PeopleInSpark, read_people
from timeveil.symbols import z_normalised

LEAST_ROWS = 50
BLOCK_BYTES = 1 << 26  # of the rows that have each candidate, as bits
Levels = list[tuple[Ints, Ints]]
"""Per length of candidates: the number of each one's beginning among the shorter ones, and its last rank."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How executors turn rows into transactions: the symbols of series, or the numbers of frequent items."""

    column: int  # of the items, or the first of the series
    names: tuple[str, ...]
    kinds: int = 1
    values: pa.Array | None = None
    chosen: tuple[str, ...] = ()
    center: Any = None
    instants: Sequence[int] = ()
    series: int = 0

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Transactions:
        """All rows of a part."""
        parts = [self._sets(batch) for batch in batches if batch.num_rows]
        return Transactions(self.names, self.kinds, Sets.joined(parts))

    def _sets(self, batch: pa.RecordBatch) -> Sets:
        if self.values is None:
            columns = batch.columns[self.column : self.column + self.series]
            matrix = np.column_stack([np.asarray(column) for column in columns])
            z = z_normalised(matrix, self.center)[:, list(self.instants)]
            return symbols_of(z, self.chosen, self.kinds).sets
        lists = batch.columns[self.column]
        number = pc.index_in(lists.flatten(), self.values.cast(lists.type.value_type))
        lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64)
        items = np.asarray(pc.fill_null(number, -1)).astype(np.int64)
        frequent = items >= 0
        owner, items = np.repeat(np.arange(len(lists)), lengths)[frequent], items[frequent]
        order = np.lexsort((items, owner))
        return Sets.of_lengths(np.bincount(owner, minlength=len(lists)), items[order])


@dataclass(frozen=True, slots=True)
class RowsInSpark:
    """The transactions of a table in Spark, which `Transactions` has on one machine.

    `counts` has how many people have each item of the encoding.
    """

    people: PeopleInSpark
    encoding: Encoding
    counts: Ints

    @property
    def names(self) -> tuple[str, ...]:
        return self.encoding.names

    @property
    def rows(self) -> int:
        return self.people.relation.rows

    @property
    def instants(self) -> int:
        return len(self.names) // self.encoding.kinds

    @property
    def largest(self) -> int:
        return int(self.counts.max(initial=0))

    def frequent(self, least: int) -> RowsInSpark:
        """The rows without items that fewer than `least` have; series keep all symbols."""
        common = np.flatnonzero(self.counts >= least)
        values = self.encoding.values
        if values is None or len(common) in (0, len(self.counts)):
            return self
        names = tuple(self.names[number] for number in common)
        encoding = replace(self.encoding, names=names, values=values.take(pa.array(common)))
        return replace(self, encoding=encoding, counts=self.counts[common])

    def mined(self, least: int, longest: int, most: int) -> Family:
        """What `mine_family` gives for all rows."""
        people, is_series = self.people, self.encoding.kinds > 1
        item_of = np.arange(len(self.counts)) if is_series else np.argsort(self.counts, kind="stable")
        parts = max(1, min(people.cluster.partitions, least // LEAST_ROWS))
        mined = people.each(partial(_mined, self.encoding, (least, self.rows), longest, most), _LISTS, parts)
        if mined["items"].null_count:
            raise too_many(least, most)
        levels = _levels(mined["items"], np.argsort(item_of))
        support = people.total(partial(_counted, self.encoding, levels, item_of))
        nodes, number = Nodes(self.rows, least, most), np.zeros(1, np.int64)
        for length, (parent, rank) in enumerate(levels, 1):
            size, support = support[: len(rank)], support[len(rank) :]
            frequent = np.flatnonzero(size >= least)
            # The beginning of a frequent pattern is frequent, so that it has a number.
            added = nodes.add(rank[frequent], size[frequent], number[parent[frequent]], length)
            number = np.full(len(rank), -1, np.int64)
            number[frequent] = added
        return nodes.family(item_of, self.encoding.kinds, self.instants)[0]


_LISTS = "items ARRAY<BIGINT>"


def read_in_spark(table: Any, roles: Roles | None, values: Values) -> Source:
    """The transactions of a table in Spark."""
    if roles is None:
        raise ParameterError("with the engine `spark` columns need roles", hint="give {series} or {item}")
    people = read_people(table, roles, repeats=values["repeats"])
    roles, relation = people.relation.roles, people.relation
    first, of_rows = int(roles.respondent is not None), roles.respondent is None
    row_of = np.arange(relation.rows, dtype=np.int64)
    if roles.series:
        columns = instant_columns(values["instants"], roles.series)
        chosen, kinds = tuple(roles.series[column] for column in columns), values["symbols"]
        names = symbols_of(np.zeros((0, len(chosen))), chosen, kinds).names
        encoding = Encoding(first, names, kinds, None, chosen, values["center"], columns, len(roles.series))
        rows = RowsInSpark(people, encoding, people.total(partial(_item_counts, encoding)))
        return Source("series", relation, rows, row_of, NOTHING, of_rows, chosen, values["center"])
    people.cluster.define("people", people.frame)
    query = f"FROM people LATERAL VIEW explode(c{first}) AS item GROUP BY item"
    items, counts = people.cluster.table(f"SELECT item, count(*) AS n {query}").columns
    people.cluster.forget()
    # One transaction for each item, so that items are refused, named and numbered as on one machine.
    bounds, item = np.arange(len(items) + 1, dtype=np.int32), str(roles.item)
    lists = pa.ListArray.from_arrays(bounds, items.combine_chunks())
    baskets = gather(read_baskets(pa.table({item: lists}), Roles(item=item)))
    order = pa.array(np.argsort(baskets.items))
    encoding = Encoding(first, baskets.names, 1, items.combine_chunks().take(order))
    rows = RowsInSpark(people, encoding, np.asarray(counts.take(order)).astype(np.int64))
    facts = NOTHING | {"without_items": int(people.total(partial(_without_items, first))[0])}
    return Source("baskets", relation, rows, row_of, facts, of_rows)


# What executors do with the rows of a part.


def _without_items(column: int, batches: Iterator[pa.RecordBatch]) -> Ints:
    lengths = (pc.list_value_length(batch.columns[column]) for batch in batches)
    return np.array([sum(np.count_nonzero(np.asarray(length) == 0) for length in lengths)])


def _item_counts(encoding: Encoding, batches: Iterator[pa.RecordBatch]) -> Ints:
    return np.bincount(encoding.rows(batches).sets.items, minlength=len(encoding.names))


def _mined(
    encoding: Encoding, support: tuple[int, int], longest: int, most: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The patterns that are as frequent in a part as `least` of all rows are; null if there are too many."""
    rows, (least, people) = encoding.rows(batches), support
    if not rows.rows:
        return
    try:
        sets = mine_family(rows, -(-least * rows.rows // people), longest, most).sets
        lists = pa.ListArray.from_arrays(pa.array(sets.bounds, pa.int32()), pa.array(sets.items))
    except ParameterError:
        lists = pa.nulls(1, pa.list_(pa.int64()))
    yield pa.RecordBatch.from_arrays([lists], ["items"])


def _counted(encoding: Encoding, levels: Levels, item_of: Ints, batches: Iterator[pa.RecordBatch]) -> Ints:
    """How many rows of a part have each candidate."""
    widest = max(len(rank) for _, rank in levels)
    at_once = max(64, BLOCK_BYTES * 8 // (2 * widest + len(item_of)))
    total = np.zeros(sum(len(rank) for _, rank in levels), np.int64)
    for batch in batches:
        for start in range(0, batch.num_rows, at_once):
            flags = encoding.rows(iter([batch.slice(start, at_once)])).sets.flags(len(item_of))
            # A line of bits for each item, in the order of ranks, and one of all rows for the empty pattern.
            bits = packed(flags.T[item_of])
            shorter, counts = packed(np.ones((1, len(flags)), np.bool_)), []
            for parent, rank in levels:
                shorter = shorter[parent] & bits[rank]
                counts.append(np.bitwise_count(shorter).sum(axis=1, dtype=np.int64))
            total += np.concatenate(counts)
    return total


def _levels(candidates: pa.ChunkedArray, rank_of: Ints) -> Levels:
    """The candidates of all parts as a tree: the beginnings of a pattern are candidates of the same part."""
    lists, levels = candidates.combine_chunks(), Levels()
    lengths = np.asarray(pc.list_value_length(lists))
    items = np.asarray(pc.list_flatten(lists))
    sets = Sets.of_lengths(lengths.astype(np.int64), items)
    kinds, keys = len(rank_of), list[Ints]()
    for length in range(1, int(lengths.max(initial=0)) + 1):
        of_length = rank_of[sets.take(np.flatnonzero(lengths == length)).items]
        ranks = np.sort(of_length.reshape(-1, length), axis=1)
        parent = np.zeros(len(ranks), np.int64)
        for shorter, rank in zip(keys, ranks.T, strict=False):
            parent = np.searchsorted(shorter, parent * kinds + rank)
        keys.append(np.unique(parent * kinds + ranks[:, -1]))
        levels.append((keys[-1] // kinds, keys[-1] % kinds))
    return levels
