"""Where counting runs. An engine speaks a handful of domain operators, not a dataframe language.

Each engine is a module of this package, imported only when asked for: `open_events`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Protocol, TypeAlias

import pyarrow as pa

from timeveil.calendar.catalogue import CATALOGUE
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Ticks, Timeline
from timeveil.domain.arrays import Codes, Ints
from timeveil.domain.relation import Relation
from timeveil.domain.release import Deferred
from timeveil.domain.stored import Stored
from timeveil.reading.columns import value_type
from timeveil.reading.risks import Occurrences

ENGINES = {
    "memory": "MemoryEvents",
    "duckdb": "DuckDBEvents",
    "postgres": "PostgresEvents",
    "spark": "SparkEvents",
}
"""The engines by the name of their module, which `EventParameters.engine` takes, and their classes."""

DAY = CATALOGUE["day"]
DAY_SECONDS = 86_400

Levels = Mapping[str, pa.Table]
"""Per generalised quasi-identifier a table `value`, `published`, one row per distinct value."""


@dataclass(frozen=True, slots=True)
class Tally:
    """One granularity's groups, counted in people.

    `smallest_group` is gen_m and `group_total` gen_s of the paper. `groups_short` have k people and break a
    promise about sensitive values; no engine counts them. The `kept_` numbers leave both kinds out.
    After earlier releases, `rows_short` are withheld from groups of k people; `rows_waiting` are those of all
    omitted rows that came late.
    """

    smallest_group: int
    groups: int
    group_total: int
    groups_below_k: int
    rows_below_k: int
    rows_in_gaps: int
    kept_smallest: int
    kept_total: int
    groups_short: int = 0
    rows_short: int = 0
    rows_waiting: int = 0

    @property
    def kept_groups(self) -> int:
        return self.groups - self.groups_below_k - self.groups_short

    @property
    def rows_omitted(self) -> int:
        return self.rows_below_k + self.rows_short

    @property
    def rows_spent(self) -> int:
        """The rows that `suppress` has to allow."""
        return self.rows_omitted - self.rows_waiting


def total(parts: Sequence[Tally]) -> Tally:
    """The groups of all parts."""
    summed = (sum(getattr(part, name) for part in parts) for name in (field.name for field in fields(Tally)))
    return replace(
        Tally(*summed),
        smallest_group=min((part.smallest_group for part in parts if part.groups), default=0),
        kept_smallest=min((part.kept_smallest for part in parts if part.kept_groups), default=0),
    )


@dataclass(frozen=True, slots=True)
class Published:
    """The rows to publish and, per input row, the group it went to (null: withheld)."""

    data: pa.Table | Deferred | Stored
    entries: pa.Table | Stored
    rows: int
    groups: int
    smallest_group: int


@dataclass(frozen=True, slots=True)
class Held:
    """The values of a sensitive column that people hold in their visits: distinct (`visit`, `value`).

    `value` is an index into `values`, which has no order; null is a value.
    """

    visit: Ints
    value: Codes
    values: pa.Array


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of a table: quasi-identifiers at a position in time that occur together, and who was in them.

    Per cell: the number of its combination of quasi-identifiers, its position, its rows. A visit is a person
    in a cell: `cell`, `person` and `visit_rows` have one entry per visit, sorted by cell. `values` has per
    column the index of each combination's value in what `Events.values` gives; `held` has the sensitive
    columns that were asked for.
    """

    quasi: Codes
    position: Codes
    rows: Ints
    cell: Codes
    person: Codes
    visit_rows: Ints
    values: Mapping[str, Codes]
    held: Mapping[str, Held]

    def __len__(self) -> int:
        return len(self.quasi)


@dataclass(frozen=True, slots=True)
class Recoded:
    """The step and the group of each cell, both -1 where it is withheld, and the people of each group."""

    step: Codes
    group: Codes
    people: Ints


Step: TypeAlias = tuple[Granularity, Levels]
"""One way to generalise: a granularity, and what each generalised quasi-identifier is published as."""


class Events(Protocol):
    """The events of one relation, open for counting. Rows without a person or time are not counted."""

    rows: int
    people: int

    def extent(self) -> tuple[int, int, int]:
        """First and last instant, and the widest tick (in instants) that divides them all."""

    def observe(self, base: Ticks) -> Ints:
        """Fix the base granularity; return the base granules that occur, in order."""

    def values(self, column: str) -> pa.Array:
        """The distinct values of a quasi-identifier, null among them if it occurs, in any order."""

    def occurrences(self, column: str) -> Occurrences:
        """The values of a kept or sensitive column, and how many rows have one that only one person has."""

    def tally(
        self, timeline: Timeline, granularities: Sequence[Granularity], levels: Levels, k: int
    ) -> list[Tally]:
        """Frequency sets (Definition 2) of every granularity, summed up, from one ordering of the rows."""

    def rows_in_gaps(self, timeline: Timeline, granularity: Granularity) -> int:
        """How many rows are in no granule, under every policy for gaps."""

    def publish(self, timeline: Timeline, granularity: Granularity, levels: Levels, k: int) -> Published:
        """Generalise the time, leave out groups below k, order the rows by what they say."""

    def cells(self, sensitive: Collection[str] = ()) -> Cells:
        """The cells at the values themselves and the base granularity, with some sensitive columns."""

    def publish_steps(
        self, timeline: Timeline, steps: Sequence[Step], recoded: Recoded, *, numbered: bool = True
    ) -> Published:
        """Publish every cell at its step; where `numbered`, the column `<time>_step` has it, from 1."""

    def close(self) -> None:
        """Let go of temporary files."""


def open_events(engine: str, relation: Relation, memory_limit: str | None = None) -> Events:
    """Open a relation with the engine of that name; only one that works from disk takes a `memory_limit`."""
    opened = getattr(import_module(f"timeveil.engines.{engine}"), ENGINES[engine])
    events: Events = opened(relation) if memory_limit is None else opened(relation, memory_limit)
    return events


def of_whole_days(granularities: Sequence[Granularity], timeline: Timeline) -> set[str]:
    """The names of those that are counted from days instead of base granules; none if that saves nothing."""
    if timeline.axis.kind == "relative" or timeline.base.width >= DAY_SECONDS:
        return set()
    names = {g.name for g in granularities if not g.has_gaps and g.rule.grain % DAY_SECONDS == 0}
    return names if len(names) > 1 else set()


def published_schema(relation: Relation, generalised: Collection[str], *, stepped: bool = False) -> pa.Schema:
    """The published columns: values without dictionaries, then label, start, end and, if `stepped`, step."""
    kinds = {field.name: value_type(field.type) for field in relation.data.schema}
    kinds |= dict.fromkeys(generalised, pa.string())
    time, instant = relation.time, relation.clock.type
    columns = [(name, kinds[name]) for name in relation.roles.published]
    columns += [(time, pa.string()), (f"{time}_start", instant), (f"{time}_end", instant)]
    return pa.schema([*columns, (f"{time}_step", pa.int32())] if stepped else columns)
