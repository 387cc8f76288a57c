"""The data as read, typed and with its roles."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import pyarrow as pa

from timeveil.domain.roles import Roles
from timeveil.domain.stored import Stored
from timeveil.errors import RolesError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """How the time column is read.

    `civil`: dates or timestamps without a zone, taken as they are. `zoned`: instants, read on the clocks of
    one `zone`. `relative`: whole numbers of `unit` since a start that each row has for itself. `type` is the
    Arrow type of the column, and of the published start and end of a granule.
    """

    kind: Literal["civil", "zoned", "relative"]
    type: pa.DataType
    zone: str | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """A table of events with the roles of its columns; made by `read`, never by hand.

    `data` has the role columns only, in the order of `roles.columns`, then derived quasi-identifiers. It is
    an Arrow table, or a `Stored` one that may be larger than memory. Rows are in input order. `folded` counts
    the cells of each column that were read in another spelling; in columns of `normal` no text has another.
    `risks` has what kept and sensitive columns give away by themselves, `decided` what was found out about
    the file and its dates. Columns of `hidden` come last: they count as quasi-identifiers and are published
    by nothing.
    """

    roles: Roles
    data: pa.Table | Stored
    axis: TimeAxis | None = None
    dropped: tuple[str, ...] = ()
    source: str | None = field(default=None, compare=False)
    folded: Mapping[str, int] = field(default_factory=dict, compare=False)
    normal: frozenset[str] = field(default=frozenset(), compare=False)
    risks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, compare=False)
    decided: Mapping[str, str] = field(default_factory=dict, compare=False)
    hidden: tuple[str, ...] = ()

    @property
    def respondent(self) -> str:
        """The column of the person a row is about."""
        return self.needed(self.roles.respondent, "respondent")

    @property
    def time(self) -> str:
        """The time column."""
        return self.needed(self.roles.time, "time")

    @property
    def clock(self) -> TimeAxis:
        """How the time column is read."""
        return self.needed(self.axis, "time")

    @property
    def durations(self) -> dict[str, str]:
        """The unit in which each duration is published: hours where both times have a time of day."""
        dates, schema = pa.types.is_date32, self.data.schema
        units = {}
        for column, until in self.roles.durations.items():
            dated = dates(schema.field(self.time).type) or dates(schema.field(until).type)
            units[column] = self.clock.unit or ("day" if dated else "hour")
        return units

    @property
    def rows(self) -> int:
        """How many rows were read."""
        return int(self.data.num_rows)

    @property
    def table(self) -> pa.Table:
        """All rows in memory."""
        return self.data.read() if isinstance(self.data, Stored) else self.data

    @property
    def exceptions(self) -> dict[str, Any]:
        """What the facts of a run state of the reading, only where there is something to state."""
        stated = {"decided": self.decided, "folded": self.folded, "risks": self.risks}
        return {name: dict(columns) for name, columns in stated.items() if columns}

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Some columns, a batch at a time, in input order."""
        if isinstance(self.data, Stored):
            return self.data.to_batches(columns)
        return iter(self.data.select(columns).to_batches())

    def needed(self, column: T | None, role: str) -> T:
        """The column, or an error if the role has none."""
        if column is None:
            hint = f"name one with {{{role}}}"
            raise RolesError(f"no column has the role `{role}`", hint=hint, code="role-missing")
        return column

    def __repr__(self) -> str:
        return f"<Relation {self.rows} rows, columns {', '.join(self.data.schema.names)}>"
