"""The two halves of a result: a release, which may be published, and its ledger, which never may.

The order of published rows follows from what is published and from nothing else.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.arrays import Ints
from timeveil.domain.guarantee import Guarantee
from timeveil.domain.judgement import Shown
from timeveil.domain.relation import Relation
from timeveil.domain.stored import Stored
from timeveil.errors import EngineError, ParameterError, raising

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl


def decode_dictionaries(table: pa.Table) -> pa.Table:
    """The table without dictionaries, which may contain values that no row has, and without metadata."""
    kinds = [f.type.value_type if pa.types.is_dictionary(f.type) else f.type for f in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


def _library(name: str) -> Any:
    """Another library, or a clear error where it is not installed."""
    error = EngineError(f"`{name}` is not installed", hint=f"install it with `pip install {name}`")
    with raising(error, on=ImportError):
        return import_module(name)


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

    def forget(self) -> None:
        """Let go of the table, which is made again if it is read again."""
        vars(self).pop("_table", None)

    @property
    def num_rows(self) -> int:
        return int(self._table.num_rows)

    @property
    def schema(self) -> pa.Schema:
        return self._table.schema

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        return iter(self._table.to_batches())


class Facts(Mapping[str, Any]):
    """Facts about a run by name; those of `later` take long, and are computed when they are first read."""

    def __init__(self, ready: Mapping[str, Any], later: Mapping[str, Callable[[], Any]]) -> None:
        self._ready, self._later, self._lock = dict(ready), dict(later), threading.Lock()

    def __getitem__(self, name: str) -> Any:
        with self._lock:  # a ledger is written while others read it
            if name in self._later:
                self._ready[name] = self._later.pop(name)()
        return self._ready[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ready)

    def __len__(self) -> int:
        return len(self._ready)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy or pickle the facts, and nothing that they are computed from."""
        return dict, (dict(self),)


@dataclass(frozen=True, slots=True)
class Release(Shown):
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

    def to_pandas(self, name: str = "data") -> pd.DataFrame:
        """One table as a pandas data frame."""
        _library("pandas")
        return self._read(name).to_pandas()

    def to_polars(self, name: str = "data") -> pl.DataFrame:
        """One table as a polars data frame."""
        return _library("polars").from_arrow(self._read(name))

    def to_duckdb(self, name: str = "data") -> duckdb.DuckDBPyRelation:
        """One table as a DuckDB relation, on DuckDB's default connection."""
        return _library("duckdb").from_arrow(self._read(name))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy or pickle the rows, and nothing that they were made from."""
        tables = {name: _copied(table) for name, table in self.tables.items()}
        return Release, (self.guarantee, self.manifest, tables)

    def _read(self, name: str) -> pa.Table:
        if name not in self.parts:
            hint = f"there are {', '.join(f'`{part}`' for part in self.parts)}"
            raise ParameterError("the release has no table of this name", hint=hint)
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


WORD_BITS = 62  # of a number that rows are sorted by
SAMPLE_ROWS = 1_000


def canonical(table: pa.Table, by: Sequence[str]) -> pa.Table:
    """Rows sorted by the columns of `by`, then by all others, nulls last.

    Equal tables give equal orders, whatever order their rows came in, so the input's order does not show.
    """
    return table.take(pa.array(row_order(table, by)))


def row_order(table: pa.Table, by: Sequence[str] = ()) -> Ints:
    """The numbers of the rows in that order; among equal rows any is first."""
    if table.num_rows == 0:
        return np.zeros(0, np.int64)
    row_bits = table.num_rows.bit_length()
    first, *more_words = _words(table, by, WORD_BITS - row_bits)
    # Word and row in one number: a plain sort of numbers is several times faster than one that moves rows.
    numbers = np.sort(first << row_bits | np.arange(table.num_rows))
    order: Ints = numbers & ((1 << row_bits) - 1)
    if more_words:
        numbers >>= row_bits
        same = np.concatenate([[False], numbers[1:] == numbers[:-1], [False]])
        tied = np.flatnonzero(same[1:] | same[:-1])
        rows = order[tied]
        order[tied] = rows[np.lexsort((*(word[rows] for word in reversed(more_words)), numbers[tied]))]
    return order


def row_keys(table: pa.Table, by: Sequence[str] = ()) -> Ints:
    """A number for each row in that order; rows have the same number if and only if they are equal."""
    if table.num_rows == 0:
        return np.zeros(0, np.int64)
    key, *more_words = _words(table, by, WORD_BITS)
    for word in more_words:
        # As the smallest numbers from 0 on, both fit into one.
        major, minor = (np.unique(part, return_inverse=True)[1] for part in (key, word))
        key = major * table.num_rows + minor
    return key


def _words(table: pa.Table, by: Sequence[str], bits: int) -> Iterator[Ints]:
    """Numbers of so many bits that sort rows like their columns do, the first one before the others."""
    word, free = np.zeros(table.num_rows, np.int64), bits
    for name in [*by, *(name for name in table.column_names if name not in by)]:
        for ranks, rank_bits in _ranks(table[name]):
            rank, width = ranks, rank_bits
            while width > free:  # the leading bits fill this word, and the others begin the next
                width -= free
                yield word << free | rank >> width
                word, free, rank = np.zeros_like(word), bits, rank & ((1 << width) - 1)
            word, free = word << width | rank, free - width
    yield word


def _ranks(column: pa.ChunkedArray) -> Iterator[tuple[Ints, int]]:
    """Whole numbers from 0 on that sort a column, the first of them first, and the bits that each takes."""
    kind = column.type
    if column.null_count:  # last
        yield np.asarray(pc.is_null(column)).astype(np.int64), 1
    if pa.types.is_list(kind):
        yield from _list_ranks(column)
    elif pa.types.is_float64(kind) or pa.types.is_float32(kind):
        values = np.asarray(pc.fill_null(column, 0)).astype(np.float64)
        # The bits of floats sort like whole numbers, once those of negative ones are turned.
        bits = np.where(np.isnan(values), np.nan, values).view(np.int64)
        yield from _whole_ranks(np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits))
    elif pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        yield from _whole_ranks(np.asarray(pc.fill_null(column, 0)).astype(np.int64, copy=False))
    else:
        yield _dictionary_ranks(column)


def _list_ranks(column: pa.ChunkedArray) -> Iterator[tuple[Ints, int]]:
    """The ranks of each position of lists in turn, a shorter list before a longer one."""
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy().astype(np.int64)
    starts, items = np.cumsum(lengths) - lengths, pc.list_flatten(column)
    for position in range(int(lengths.max(initial=0))):
        reaches = lengths > position
        yield reaches.astype(np.int64), 1
        for rank, bits in _ranks(items.take(pa.array(starts[reaches] + position))):
            spread = np.zeros(len(lengths), np.int64)
            spread[reaches] = rank
            yield spread, bits


def _whole_ranks(values: Ints) -> Iterator[tuple[Ints, int]]:
    """Whole numbers less the lowest; those far apart of which a few recur by their rank."""
    low, bits = int(values.min()), (int(values.max()) - int(values.min())).bit_length()
    if bits > SAMPLE_ROWS.bit_length() and recur(values):
        yield _dictionary_ranks(pa.chunked_array([values]))
        return
    above = values.view(np.uint64) - np.uint64(low % 2**64)
    if bits > WORD_BITS:
        yield (above >> np.uint64(32)).view(np.int64), bits - 32
        above, bits = above & np.uint64(2**32 - 1), 32
    yield above.view(np.int64), bits


def recur(values: Ints) -> bool:
    """Whether, as far as the first rows show, most values occur several times."""
    sample = values[:SAMPLE_ROWS]
    return 2 * len(np.unique(sample)) < len(sample)


def _dictionary_ranks(column: pa.ChunkedArray) -> tuple[Ints, int]:
    """The rank of each value among the distinct ones, and its bits."""
    is_coded = pa.types.is_dictionary(column.type)
    encoded = (column if is_coded else column.dictionary_encode()).combine_chunks()
    values = encoded.dictionary
    ranks = pc.rank(values, tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.int64)
    # A null has no code, and another rank before this one.
    codes = np.asarray(pc.fill_null(encoded.indices, 0))
    return (np.append(ranks, 1) - 1)[codes], len(values).bit_length()
