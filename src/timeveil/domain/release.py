"""The two halves of a result: a release, which may be published, and its ledger, which never may.

The order of published rows follows from what is published and from nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.guarantee import Guarantee
from timeveil.domain.relation import Relation
from timeveil.domain.stored import Stored


def decode_dictionaries(table: pa.Table) -> pa.Table:
    """The table without dictionaries, which may contain values that no row has, and without metadata.

    >>> coded = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["published", "withheld"]))
    >>> decode_dictionaries(pa.table({"a": coded}))["a"].type
    DataType(string)
    """
    kinds = [f.type.value_type if pa.types.is_dictionary(f.type) else f.type for f in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


def _copied(table: pa.Table) -> pa.Table:
    """The rows in new buffers: a slice would take all rows of its buffers along."""
    return decode_dictionaries(table.take(pa.array(np.arange(table.num_rows))))


class Deferred:
    """A table that is made when it is first read."""

    def __init__(self, make: Callable[[], pa.Table]) -> None:
        self._make = make

    @cached_property
    def _table(self) -> pa.Table:
        return self._make()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy or pickle the table, and nothing that it is made from."""
        return decode_dictionaries, (_copied(self._table),)

    def read(self) -> pa.Table:
        return self._table

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        return iter(self._table.to_batches())


@dataclass(frozen=True, slots=True)
class Release:
    """Tables to publish, the promise they keep, and a manifest that describes them.

    The order of the rows follows from the published values alone. There is no respondent, no dropped column
    and no original time in it.
    """

    guarantee: Guarantee
    manifest: Mapping[str, Any]
    parts: Mapping[str, pa.Table | Deferred | Stored]

    @property
    def table(self) -> pa.Table:
        """The main table."""
        return self._read("data")

    @property
    def tables(self) -> dict[str, pa.Table]:
        """Every table by name."""
        return {name: self._read(name) for name in self.parts}

    def batches(self, name: str = "data") -> Iterator[pa.RecordBatch]:
        """One table, a batch at a time, so that a release larger than memory can be read."""
        return iter(self.parts[name].to_batches())

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy or pickle the rows, and nothing that they were made from."""
        tables = {name: _copied(table) for name, table in self.tables.items()}
        return Release, (self.guarantee, self.manifest, tables)

    def _read(self, name: str) -> pa.Table:
        part = self.parts[name]
        return part if isinstance(part, pa.Table) else part.read()

    def __repr__(self) -> str:
        return f"<Release: {self.guarantee.sentence}; tables {', '.join(self.parts)}>"


@dataclass(frozen=True, slots=True)
class Ledger:
    """Which input row went into which group. Private: it identifies people.

    `table` has one row per input row, in input order; for the time model `row` and `group` (null where the
    row was withheld). `original` is the relation that was read. `mappings` has a table `value`, `published`
    for each generalised quasi-identifier. `facts` are plain numbers about the run. `after` has the ledgers of
    earlier releases of the same table; a file does not have them.
    """

    model: str
    entries: pa.Table | Stored
    original: Relation
    mappings: Mapping[str, pa.Table] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    after: Sequence[Ledger] = field(default=(), compare=False)

    @property
    def fingerprint(self) -> str:
        """A number that tells this ledger from others: which row went into which group, and after what."""
        groups = np.asarray(pc.fill_null(self.table["group"].cast(pa.int64()), -1))
        before = "".join(self.facts.get("after", ()))  # a corrected table may have the groups of the last
        return hashlib.sha256(before.encode() + groups.tobytes()).hexdigest()[:16]

    @property
    def table(self) -> pa.Table:
        """One row per input row, in input order."""
        return self.entries.read() if isinstance(self.entries, Stored) else self.entries

    @property
    def virtual(self) -> pa.Table | None:
        """The virtual people added to patterns, `pattern` and `copies`; None for other models."""
        return self.mappings.get("virtual")

    def __repr__(self) -> str:
        return f"<Ledger of a {self.model} release, {self.entries.num_rows} rows, private>"


Ints = npt.NDArray[np.int64]

ROOM = 2**62  # keys are compacted before they would exceed this


def canonical(table: pa.Table, by: Sequence[str]) -> pa.Table:
    """Rows sorted by the columns of `by`, then by all others, nulls last.

    Equal tables give equal orders, whatever order their rows came in, so the input's order does not show.

    >>> canonical(pa.table({"a": [2, None, 1], "b": ["x", "y", "z"]}), by=["a"])["b"].to_pylist()
    ['z', 'x', 'y']
    """
    if table.num_rows == 0:
        return table
    return table.take(pa.array(np.argsort(row_keys(table, by))))  # rows with the same key are equal


def row_keys(table: pa.Table, by: Sequence[str] = ()) -> Ints:
    """A number for each row in that order; rows have the same number if and only if they are equal.

    >>> row_keys(pa.table({"a": [2, 1, 2], "b": [[1, 3], [9], [1]]})).argsort().tolist()
    [1, 2, 0]
    """
    key, size = np.zeros(table.num_rows, np.int64), 1
    if table.num_rows == 0:
        return key
    for name in [*by, *(name for name in table.column_names if name not in by)]:
        for ranks, bound in _all_ranks(table[name]):
            rank, count = ranks, bound
            if size * count > ROOM and count > table.num_rows:
                rank, count = _dense(rank)
            if size * count > ROOM:
                key, size = _dense(key)
            key, size = key * count + rank, size * count
    return key


def _all_ranks(column: pa.ChunkedArray) -> Iterator[tuple[Ints, int]]:
    """The ranks of a column; of lists, those of each position in turn, a shorter list before a longer one."""
    if not pa.types.is_list(column.type):
        yield _ranks(column)
        return
    yield pc.is_null(column).to_numpy().astype(np.int64), 2
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy().astype(np.int64)
    starts, items = np.cumsum(lengths) - lengths, pc.list_flatten(column)
    for position in range(int(lengths.max(initial=0))):
        reaches = lengths > position
        rank, count = _ranks(items.take(pa.array(starts[reaches] + position)))
        spread = np.zeros(len(lengths), np.int64)
        spread[reaches] = rank + 1
        yield spread, count + 1


def _dense(key: Ints) -> tuple[Ints, int]:
    """Keys in the same order as the smallest numbers from 0 on, and how many there are."""
    order = np.argsort(key)
    steps = np.concatenate([[0], np.cumsum(np.diff(key[order]) != 0)])
    dense = np.empty_like(key)
    dense[order] = steps
    return dense, int(steps[-1]) + 1


def _ranks(column: pa.ChunkedArray) -> tuple[Ints, int]:
    """Whole numbers in the order of the values, null last, and a bound on them."""
    kind = column.type
    is_float = pa.types.is_float64(kind) or pa.types.is_float32(kind)
    if not is_float and (not pa.types.is_integer(kind) or pa.types.is_uint64(kind)):
        return _dictionary_ranks(column)
    values = (pc.fill_null(column, 0) if column.null_count else column).to_numpy(zero_copy_only=False)
    if is_float:  # the bits of floats sort like whole numbers, once those of negative ones are turned
        bits = np.where(np.isnan(values), np.nan, values.astype(np.float64)).view(np.int64)
        values = np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if high - low + 2 > ROOM:
        values, low = _dense(values.astype(np.int64))[0], 0
        high = int(values.max(initial=0))
    rank = values.astype(np.int64, copy=False) - low
    if column.null_count:
        rank[pc.is_null(column).to_numpy(zero_copy_only=False)] = high - low + 1
    return rank, high - low + 2


def _dictionary_ranks(column: pa.ChunkedArray) -> tuple[Ints, int]:
    """The rank of each value among the distinct ones, null last, and how many ranks there are."""
    is_coded = pa.types.is_dictionary(column.type)
    encoded = column.unify_dictionaries() if is_coded else column.dictionary_encode()
    values = encoded.chunks[-1].dictionary  # that of all chunks
    rank = np.empty(len(values) + 1, np.int64)
    rank[:-1] = pc.rank(values, tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.int64) - 1
    rank[-1] = len(values)
    codes = [pc.fill_null(chunk.indices.cast(pa.int64()), len(values)) for chunk in encoded.chunks]
    return rank[np.concatenate([code.to_numpy(zero_copy_only=False) for code in codes])], len(values) + 1
