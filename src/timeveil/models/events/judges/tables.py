"""A release of events and its ledger where they are, for judges that count by SQL.

Only tallies and lookups come here: calendars, labels, the times that occur. The statements are others than
those that made the release: both tables are put under each other and grouped, people are `count(DISTINCT …)`,
and no order of visits is used. What was not made there is judged in memory: rows at several steps, and
promises beyond k people.

Cost: `sides` is a join of lookups; each grouping of it moves rows once, those of the candidates once more.
"""

import weakref
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.calendar.catalogue import unit_of
from timeveil.calendar.civil import DAY, PER_SECOND
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Gaps, Timeline, base_for
from timeveil.domain.arrays import Ints
from timeveil.domain.relation import TimeAxis
from timeveil.domain.stored import Stored
from timeveil.evidence.codes import Coded, plain_type
from timeveil.evidence.published import schema_of
from timeveil.models.events.evidence import WIDTHS, Evidence, Granules, bounds_of, granules_of, roles_of
from timeveil.models.events.judges.protected import promise_of
from timeveil.reading.session import Session
from timeveil.reading.spark import Cluster

_ROLES = ("quasi", "keep", "sensitive")
_IN_MEMORY = ("origin", "decoys", "append", "recode")
"""Parameters of runs that are judged in memory."""
_KINDS = (
    *(pa.types.is_string, pa.types.is_integer, pa.types.is_date32),
    *(pa.types.is_boolean, pa.types.is_float64),
)
_ODD = "{0} = 0 AND concat('', {0}) LIKE '-%' OR {0} > 1.7976931348623157e308 AND concat('', {0}) LIKE '%a%'"
"""Minus zero or NaN, which in SQL is larger than every number; so is infinity, which has no a."""


def tables_of(evidence: Evidence) -> "Tables | None":
    """The tables, if a session sees their files and they can be judged by SQL."""
    if not (_is_plain(evidence) and (evidence.ledger is None or _agrees(evidence))):
        return None
    session = session_of(evidence)
    tables = None if session is None else Tables(evidence, session)
    return None if tables is None or tables.have_odd_numbers else tables


def session_of(evidence: Evidence) -> Session | None:
    """The session of Spark that has the original, or that is in use here, if files are in parts."""
    data: Any = evidence.release.parts["data"]
    ledger = evidence.ledger
    if not (isinstance(data, Stored) and data.in_parts):
        return None
    if ledger is None:
        return Cluster.of_this_process()
    original, entries = ledger.original.data, ledger.entries
    if not (isinstance(original, Stored) and isinstance(entries, Stored) and original.files == entries.files):
        return None
    server = getattr(original, "server", None)
    return Cluster(server.spark) if server else Cluster.of_this_process()


def _is_plain(evidence: Evidence) -> bool:
    """Whether a release promises k people and no more, at one step, in columns that sessions can compare."""
    promise, parameters = promise_of(evidence), evidence.release.manifest["parameters"]
    if promise.further or promise.after or evidence.stepped or any(map(parameters.get, _IN_MEMORY)):
        return False
    schema = schema_of(evidence.release)
    are_distinct = len({name.lower() for name in schema.names}) == len(schema)
    return are_distinct and all(_is_comparable(schema.field(name).type) for name in evidence.columns(*_ROLES))


def _agrees(evidence: Evidence) -> bool:
    """Whether the original has the columns of the release, in their types, and nothing that was computed."""
    ledger, published = evidence.private, schema_of(evidence.release)
    original, kinds = ledger.original, ledger.original.data.schema
    if ledger.model != "time" or None in (original.axis, original.roles.respondent, original.roles.time):
        return False
    named = {role: evidence.columns(role) for role in (*_ROLES, "time")}
    is_computed = original.roles.durations or f"{original.time} (calendar)" in kinds.names
    if is_computed or ledger.after or ledger.facts.get("after") or roles_of(original) != named:
        return False
    if not {*evidence.release.manifest["levels"]} <= {*ledger.mappings}:
        return False
    for name in evidence.columns(*_ROLES):
        mapping = ledger.mappings.get(name)
        if mapping is not None and "published" not in mapping.column_names:
            return False
        kind = (kinds.field(name) if mapping is None else mapping.schema.field("published")).type
        if plain_type(kind) != plain_type(published.field(name).type):
            return False
    person = plain_type(kinds.field(original.respondent).type)
    listed = [field.type for field in ledger.entries.schema if field.name in {"row", "group"}]
    is_listed = len(listed) == 2 and all(map(pa.types.is_integer, listed))
    return is_listed and _is_comparable(person) and not pa.types.is_floating(person)


def _is_comparable(kind: pa.DataType) -> bool:
    """Whether every session compares the values alike; times are whole numbers there."""
    kind = plain_type(kind)
    is_time = pa.types.is_timestamp(kind) and kind.unit in ("ms", "us")
    return is_time or any(test(kind) for test in _KINDS)


def whole(expression: str) -> str:
    """A number as one that Arrow has, and 0 for none."""
    return f"CAST(coalesce({expression}, 0) AS BIGINT)"


def where(condition: str, number: str = "1") -> str:
    """The sum of a number over the rows that meet a condition."""
    return whole(f"sum(CASE WHEN {condition} THEN {number} END)")


class Tables:
    """Both tables in a session, under names of ours.

    `judged_rows` has what is published, `judged_visits` the original: `k0` … are quasi-identifiers, `p0` …
    further columns. `judged_labelled` has the original as it would be published, in the `granule` that admits
    it, if one does.
    """

    def __init__(self, evidence: Evidence, session: Session) -> None:
        self.evidence, self.session = evidence, session
        self.quasi = {name: f"k{number}" for number, name in enumerate(evidence.columns("quasi"))}
        carried = evidence.columns("keep", "sensitive")
        self.carried = {name: f"p{number}" for number, name in enumerate(carried)}
        ends = zip(evidence.columns("time", "start", "end"), ("label", "first", "last"), strict=True)
        self.columns = self.quasi | self.carried | dict(ends)
        self.classed = ", ".join(["granule", *self.quasi.values()])
        weakref.finalize(self, session.forget)
        self._name_stored("judged_rows", evidence.release.parts["data"], self.columns)
        if evidence.ledger is not None:
            self._name_original(evidence.private.original.clock)

    def _name_stored(self, name: str, table: Any, columns: dict[str, str], **others: str) -> None:
        stored = {alias: table.stored_as(column) for column, alias in columns.items()}
        self.session.name_stored(name, table, stored | {alias: at for alias, at in others.items() if at})

    def _name_original(self, axis: TimeAxis) -> None:
        original, entries = self.evidence.private.original, self.evidence.private.entries
        named = {original.respondent: "person", original.time: "time", **self.quasi, **self.carried}
        listed, grouped = (entries.stored_as(name) for name in ("row", "group"))
        self._name_stored("judged_original", original.data, named, grouped=grouped, listed=listed)
        tick, self.per_instant = "CAST(time AS BIGINT)", 1
        if axis.kind == "relative":
            tick += f" * {unit_of(axis)[1]}"
        elif pa.types.is_date32(axis.type):
            tick += f" * {DAY}"
        else:
            self.per_instant = PER_SECOND[axis.type.unit]
        # Where the ledger has no numbers, a row is known by its place.
        self.session.view(
            "judged_visits",
            f"SELECT judged_original.*, {'listed' if listed else 'at_row'} AS numbered, {tick} AS tick, "
            f"{self.session.floored(f'({tick})', self.per_instant)} AS moment, CASE WHEN person IS NOT NULL "
            "AND time IS NOT NULL THEN 1 ELSE 0 END AS complete FROM judged_original",
        )

    @property
    def have_odd_numbers(self) -> bool:
        """Whether a number is -0.0 or NaN, whose bits differ where SQL sees equal numbers."""
        values, evidence = self.quasi | self.carried, self.evidence
        schemas = {"judged_rows": schema_of(evidence.release)}
        if evidence.ledger is not None:
            schemas["judged_original"] = evidence.private.original.data.schema
        for table, schema in schemas.items():
            kinds = {column: plain_type(schema.field(name).type) for name, column in values.items()}
            floats = [column for column, kind in kinds.items() if pa.types.is_floating(kind)]
            odd = " OR ".join(map(_ODD.format, floats))
            if odd and self.session.row(f"SELECT {where(odd)} AS n FROM {table}")[0]:
                return True
        return False

    @cached_property
    def listed_granules(self) -> pa.Table:
        """The distinct labels, starts and ends, as numbers."""
        return self.session.table("SELECT DISTINCT label, first, last FROM judged_rows")

    @cached_property
    def typed_granules(self) -> pa.Table:
        """The same in their types."""
        evidence, columns = self.evidence, self.listed_granules.columns
        names, schema = evidence.columns("time", "start", "end"), schema_of(evidence.release)
        types = [plain_type(schema.field(name).type) for name in names]
        return pa.table([typed(column, kind) for column, kind in zip(columns, types, strict=True)], names)

    @cached_property
    def granules(self) -> tuple[Granules, Ints]:
        """The granules of the release, and the index of each line of `listed_granules` among them."""
        bounds = bounds_of(self.evidence.axis, *self.typed_granules.columns[1:])
        return granules_of(self.evidence.release, *bounds)

    @cached_property
    def labels(self) -> dict[str, tuple[pa.Array, Ints, list[str | None]]]:
        """Per generalised column its values, and which of them are published, under which labels."""
        labels, evidence = {}, self.evidence
        for name in [name for name in self.quasi if name in evidence.private.mappings]:
            column, level = self.quasi[name], evidence.release.manifest["levels"].get(name)
            marked = "max(CASE WHEN grouped IS NOT NULL THEN 1 ELSE 0 END) AS kept"
            listed = self.session.table(f"SELECT {column}, {marked} FROM judged_original GROUP BY {column}")
            kind = evidence.private.original.data.schema.field(name).type
            values = typed(listed.column(0).combine_chunks(), plain_type(kind))
            kept = np.asarray(listed["kept"]) == 1
            coded = evidence.labels_at(name, level, (Coded(np.arange(len(values)), values), kept))
            shown, used = coded.values.take(pa.array(coded.codes)), np.flatnonzero(kept)
            self.session.upload(f"judged_{column}", pa.table({"value": listed.column(0), "shown": shown}))
            labels[name] = values, used, shown.take(pa.array(used)).to_pylist()
        return labels

    def labelled(self, source: str, *more: str) -> str:
        """Original rows with their published labels, and further columns of theirs."""
        columns, joins = [*more, "person", "grouped", "complete", *self.carried.values()], ""
        for name, column in self.quasi.items():
            columns.append(f"judged_{column}.shown AS {column}" if name in self.labels else column)
            if name in self.labels:
                same = self.session.same.format(f"{source}.{column}", f"judged_{column}.value")
                joins += f" LEFT JOIN judged_{column} ON {same}"
        return f"SELECT {', '.join(columns)} FROM {source}{joins}"

    @cached_property
    def placed(self) -> str:
        """The original rows, each with the granule that admits it or none."""
        granules, session = self.granules[0], self.session
        of_granules = granules.stretches
        stretch = session.floored(f"(moment + {of_granules.phase})", of_granules.width)
        session.view("judged_stretches", f"SELECT *, {stretch} AS stretch FROM judged_visits")
        occurring = session.table("SELECT DISTINCT stretch FROM judged_stretches WHERE complete = 1")
        stretches = occurring["stretch"].to_numpy()
        granule = granules.containing(of_granules.start(stretches))
        times = {"within": stretches[granule >= 0], "granule": granule[granule >= 0]}
        session.upload("judged_times", pa.table(times))
        session.view(
            "judged_placed", "SELECT * FROM judged_stretches LEFT JOIN judged_times ON stretch = within"
        )
        return "judged_placed"

    @cached_property
    def sides(self) -> str:
        """The original rows that were not withheld, and all published ones, by class."""
        number = pa.array(self.granules[1])
        bounds = self.listed_granules.append_column("granule", number).group_by(["first", "last"])
        names = ["starts", "ends", "granule"]
        self.session.upload("judged_bounds", bounds.aggregate([("granule", "min")]).rename_columns(names))
        pairs = (("judged_rows.first", "starts"), ("judged_rows.last", "ends"))
        same = " AND ".join(self.session.same.format(*pair) for pair in pairs)
        columns = ", ".join([self.classed, *self.carried.values()])
        self.session.view("judged_labelled", self.labelled(self.placed, "granule", "tick"))
        self.session.view(
            "judged_sides",
            f"SELECT {columns}, 0 AS shown, person, grouped FROM judged_labelled "
            "WHERE grouped IS NOT NULL AND complete = 1 AND granule IS NOT NULL "
            f"UNION ALL SELECT {columns}, 1 AS shown, NULL AS person, NULL AS grouped "
            f"FROM judged_rows JOIN judged_bounds ON {same}",
        )
        return "judged_sides"

    def observed(self, levels: Sequence[Granularity], gaps: Gaps) -> tuple[Timeline, Ints]:
        """The times that occur, as finely as the granularities need, and how many rows have each.

        `judged_based` has the complete rows with their base granule.
        """
        divided = (f"bool_and(tick % {width * self.per_instant} = 0) AS d{width}" for width in WIDTHS)
        low, high, *fits = self.session.row(
            f"SELECT {whole('min(moment)')} AS low, {whole('max(moment)')} AS high, {', '.join(divided)} "
            "FROM judged_visits WHERE complete = 1"
        )
        axis = self.evidence.private.original.clock
        resolution = next((width for width, fit in zip(WIDTHS, fits, strict=True) if fit), 1)
        resolution = unit_of(axis)[1] if axis.kind == "relative" else resolution
        base = base_for(axis, levels, low, high, resolution)
        granule = self.session.floored(f"(moment + {base.phase})", base.width)
        self.session.view(
            "judged_based", f"SELECT *, {granule} AS base FROM judged_visits WHERE complete = 1"
        )
        counted = "SELECT base, count(*) AS n FROM judged_based GROUP BY base ORDER BY base"
        times, rows = (column.to_numpy() for column in self.session.table(counted).columns)
        return Timeline(axis, base, times, gaps), rows


def typed(column: Any, kind: pa.DataType) -> Any:
    """Values from the whole numbers that times are in a session."""
    if pa.types.is_timestamp(kind):
        return column.cast(pa.int64()).cast(kind)
    return column.cast(pa.int32()).cast(kind) if pa.types.is_date32(kind) else column.cast(kind)
