"""The data as it came in, typed and with its roles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import pyarrow as pa

from timeveil.domain.roles import Roles
from timeveil.domain.stored import Stored
from timeveil.errors import RolesError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """How the time column is to be understood.

    `civil`: dates or timestamps without a zone, taken as they are. `zoned`: instants, read on the
    clocks of one `zone`. `relative`: whole numbers of `unit` since some start of each row's own.
    `type` is the Arrow type that the published start and end of a granule have, too.
    """

    kind: Literal["civil", "zoned", "relative"]
    type: pa.DataType
    zone: str | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """A table of events with the roles of its columns; made by `read`, never by hand.

    `data` holds the role columns only, in the order of `roles.columns`, then derived quasi-identifiers.
    It is an Arrow table, or a `Stored` one when it is too large for memory. Rows are in input order.
    """

    roles: Roles
    data: pa.Table | Stored
    axis: TimeAxis | None = None
    dropped: tuple[str, ...] = ()
    source: str | None = field(default=None, compare=False)

    @property
    def respondent(self) -> str:
        """The column that says whom a row is about."""
        return self._needed(self.roles.respondent, "respondent")

    @property
    def time(self) -> str:
        """The column that says when it happened."""
        return self._needed(self.roles.time, "time")

    @property
    def clock(self) -> TimeAxis:
        """How that column is to be understood."""
        return self._needed(self.axis, "time")

    @property
    def rows(self) -> int:
        """How many rows came in."""
        return int(self.data.num_rows)

    @property
    def table(self) -> pa.Table:
        """All rows in memory."""
        return self.data.read() if isinstance(self.data, Stored) else self.data

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Some columns, a batch at a time, in input order."""
        if isinstance(self.data, Stored):
            return self.data.to_batches(columns)
        return iter(self.data.select(columns).to_batches())

    def _needed(self, found: T | None, role: str) -> T:
        if found is None:
            raise RolesError(
                f"no column has the role `{role}`", hint=f"name one with {role}=...", code="role-missing"
            )
        return found

    def __repr__(self) -> str:
        return f"<Relation {self.rows} rows, columns {', '.join(self.data.schema.names)}>"
