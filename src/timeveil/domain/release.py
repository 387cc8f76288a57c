"""The two halves of a result: a release, which may be published, and its ledger, which never may."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
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
