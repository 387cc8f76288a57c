"""What may leave the building."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from timeveil.model.guarantee import Guarantee
from timeveil.model.stored import Stored


class Deferred:
    """A table made when first looked at, then kept."""

    def __init__(self, make: Callable[[], pa.Table]) -> None:
        self._make = make

    @cached_property
    def _table(self) -> pa.Table:
        return self._make()

    def read(self) -> pa.Table:
        """The table."""
        return self._table

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The table, a batch at a time."""
        return iter(self._table.to_batches())


@dataclass(frozen=True, slots=True)
class Release:
    """Tables to publish, the promise they keep, and a manifest that describes them.

    Rows stand in an order that follows from the published values alone. No respondent, no dropped
    column and no original time is in it.
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

    def _read(self, name: str) -> pa.Table:
        part = self.parts[name]
        return part if isinstance(part, pa.Table) else part.read()

    def __repr__(self) -> str:
        return f"<Release: {self.guarantee.sentence}; tables {', '.join(self.parts)}>"
