"""A table that stays where it is, in its database or in Spark: typed by its columns, and checked by SQL.

What `read` checks row by row is counted there. Of people and sensitive values, only texts that are not
plainly written come to the client, which compares their spellings.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from timeveil.calendar.civil import UNITS
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.domain.roles import Roles, require_roles
from timeveil.domain.stored import Batches, Parts, Stored
from timeveil.domain.wording import counted, listed
from timeveil.errors import InputError, ParameterError
from timeveil.reading.columns import column_error, fit
from timeveil.reading.database import DatabaseTable, Server, is_address
from timeveil.reading.session import aliases
from timeveil.reading.sources import Form
from timeveil.reading.spark import Cluster, SparkTable, is_frame
from timeveil.reading.spellings import PLAIN_TEXT, Spellings, normal_form, without_nameless
from timeveil.reading.table import TypedReader
from timeveil.reading.times import TimeColumn

ROWS = "every_row"
"""The temporary view of all rows: `person`, `time` and the `aliases` of published columns."""
_TIMES = {"date", "timestamp", "timestamptz", "int2", "int4", "int8"}
_FLOATS = {"float4", "float8", "numeric"}
_PLAIN = re.sub(r"\\x\{(\w+)\}", lambda match: rf"\u{match[1]:0>4}", PLAIN_TEXT)
_ELSEWHERE = "make it in a view of the table, or leave {engine} out: then rows are read and counted here"
IN_PLACE = {
    "postgres": "name one, postgresql://host/database#schema.table, or leave {engine} out",
    "spark": "give a DataFrame of Spark, the name of a table or a path, or leave {engine} out",
}
"""The engines that count tables where they are, and what they take."""


class ServerRows(Batches):
    """Rows on a server, read when a judge asks for them, which keep the connection open."""

    origin = ROWS
    """What they are selected from: once rows are numbered, in the order of their numbers."""

    def __init__(self, server: Server, schema: pa.Schema, rows: int, alias_of: dict[str, str]) -> None:
        self.server, self.schema, self.num_rows, self._aliases = server, schema, rows, alias_of

    def to_batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        schema = self.chosen(columns)
        names = ", ".join(self._aliases[name] for name in schema.names)
        for table in self.server.batches(f"SELECT {names} FROM {self.origin}"):
            yield from table.rename_columns(schema.names).cast(schema).to_batches()
        if self.origin != ROWS:
            self.server.commit()  # nothing of the database is held any longer than needed


class ClusterRows(Parts):
    """Rows in Spark, in files that executors write: a row is known by its file and its position there."""

    def __init__(self, server: Cluster, schema: pa.Schema, rows: int, alias_of: dict[str, str]) -> None:
        self.server, self.schema, self.num_rows, self._aliases = server, schema, rows, alias_of
        self.parts = ()

    @property
    def files(self) -> list[Path]:
        if not self.parts:
            self.parts = self.server.write(f"SELECT * FROM {ROWS}", "rows")
        return super().files

    def stored_as(self, column: str) -> str:
        return self._aliases[column]


def read_in_place(
    table: object,
    roles: Roles,
    engine: str,
    *,
    zone: str | None = None,
    unit: str | None = None,
    nulls: str = "error",
    **form: Any,
) -> Relation:
    """As `read`, of a table whose rows stay in the database or in Spark."""
    require_roles(roles)
    by_name = isinstance(table, str) and is_address(table) == (engine == "postgres")
    if not by_name and not (engine == "spark" and (is_frame(table) or isinstance(table, Path))):
        message = f"the engine `{engine}` counts tables where they are, and another table was given"
        raise ParameterError(message, hint=IN_PLACE[engine])
    about_files = Form(*(form.pop(name, None) for name in Form._fields))
    about_files.among(set(), "a table that stays where it is")
    is_cyclic = not all(isinstance(name, str) for name in roles.quasi)
    unfit = form | {"until": roles.until, "event": roles.event, "cyclic": is_cyclic}
    if named := [name for name, value in unfit.items() if value]:
        site = SparkTable.site if engine == "spark" else DatabaseTable.site
        message = f"{listed(named)} needs rows to be read, and with the engine `{engine}` they stay in {site}"
        raise ParameterError(message, hint=_ELSEWHERE)
    opened = SparkTable(table) if engine == "spark" else DatabaseTable(str(table), reads_only=False)
    return _Reading(opened, roles, zone, unit).relation(nulls)


def require_time(table: DatabaseTable | SparkTable, column: str) -> None:
    """Refuse a column whose type is not that of times."""
    if (kind := table.kinds[column]) not in _TIMES:
        message = f"column `{column}` has the type {kind}, which {table.site} does not count as a time"
        raise InputError(message, hint=f"cast it to a date or timestamp: {_ELSEWHERE}", code="bad-time")


class _Reading:
    def __init__(
        self, table: DatabaseTable | SparkTable, roles: Roles, zone: str | None, unit: str | None
    ) -> None:
        self._table, self._server, self._roles = table, table.server, roles
        self._zone, self._unit = zone, unit
        self._fitted = fit(roles, table.names)
        self._person, self._time = str(roles.respondent), str(roles.time)
        require_time(table, self._time)
        table.stage(roles.columns)

    def relation(self, nulls: str) -> Relation:
        # The types that the columns would have if they were read, and what the time column means.
        time = TimeColumn(self._time, self._zone, self._unit)
        reader = TypedReader(self._roles, [time], None, refuses_nulls=False, fold=False)
        empty = reader.push(self._table.empty(reader.columns))
        axis = time.axis()
        schema = reader.complete(empty, axis).schema
        alias_of = {self._person: "person", self._time: "time", **aliases(self._fitted)}
        table, columns = self._table, {name: self._table.expression(name) for name in alias_of}
        for name in (self._person, *self._fitted.quasi_columns):
            if table.kinds[name] in _FLOATS:
                columns[name] = table.server.without_nan.format(
                    columns[name]
                )  # equal means the same in every engine
        normal = [name for name in (self._person, *self._fitted.sensitive) if self._is_normal(name, columns)]
        rows = self._checked(columns, axis, refuses_nulls=nulls == "error")
        selected = ", ".join(
            f"{table.in_type(name, columns[name], schema.field(name).type)} AS {alias}"
            for name, alias in alias_of.items()
        )
        query = f"SELECT {selected} FROM {self._server.source}"
        if isinstance(self._server, Cluster):
            self._server.define(ROWS, query)
            data: Stored = ClusterRows(self._server, schema, rows, alias_of)
        else:
            self._server.run(f"CREATE TEMPORARY VIEW {ROWS} AS {query}")
            data = ServerRows(self._server, schema, rows, alias_of)
        dropped = tuple(self._fitted.drop)
        return Relation(self._fitted, data, axis, dropped, self._table.name, normal=frozenset(normal))

    def _is_normal(self, name: str, columns: dict[str, str]) -> bool:
        """Whether all texts are in normal form; two spellings are refused, and people without a name null."""
        table, column, source = self._table, columns[name], self._server.source
        if not table.is_text(name):
            return True
        distinct = f"(SELECT DISTINCT {column} AS value FROM {source}) AS texts"
        unlike = table.is_unlike("value", _PLAIN)
        odd = self._server.table(f"SELECT value FROM {distinct} WHERE {unlike}")["value"]
        spellings = Spellings(name, "respondent" if name == self._person else "sensitive")
        if name == self._person and len(odd):
            nameless = odd.filter(without_nameless(odd).is_null())
            odd = without_nameless(odd).drop_null()
            if len(nameless):
                texts = ", ".join(map(table.text, nameless.to_pylist()))
                columns[name] = f"(CASE WHEN {column} IN ({texts}) THEN NULL ELSE {column} END)"
        spellings.note(odd)
        if not spellings.all_normal:
            forms = ", ".join(sorted({table.text(normal_form(value)) for value in odd.to_pylist()}))
            plain = self._server.table(f"SELECT value FROM {distinct} WHERE value IN ({forms})")["value"]
            spellings.refuse([pa.chunked_array([*odd.chunks, *plain.chunks], odd.type)])
        return spellings.all_normal

    def _checked(self, columns: dict[str, str], axis: TimeAxis, *, refuses_nulls: bool) -> int:
        """How many rows there are; an error if one lacks a person or a time, or is out of all calendars."""
        table, dates = self._table, ("date", "timestamp", "timestamptz")
        dated = [name for name in columns if table.kinds[name] in dates]
        far = {name: table.outside(name, columns[name], self._zone) for name in dated}
        if axis.kind == "relative":
            limit = 2**59 // UNITS[axis.unit or "second"][1]
            far[self._time] = f"{columns[self._time]} NOT BETWEEN -{limit} AND {limit - 1}"
        missing = {name: f"{columns[name]} IS NULL" for name in (self._person, self._time)}
        tests = [*missing.values(), *far.values()]
        counts = ", ".join(f"count(*) FILTER (WHERE {test}) AS c{i}" for i, test in enumerate(tests))
        rows, *faults = self._server.row(f"SELECT count(*) AS n, {counts} FROM {self._server.source}")
        for name, count in zip(missing, faults, strict=False):
            if refuses_nulls and count:
                hint = 'fill them in, or withhold those rows with {nulls="withhold"}'
                raise column_error(name, f"has {counted(count, 'null')}", hint, "nulls", count=count)
        for name, count in zip(far, faults[len(missing) :], strict=True):
            if count:
                fault = f"has {counted(count, 'date or time', 'dates or times')} out of range"
                hint = "check for wrong dates; the years 1 to 9999 can be published"
                raise column_error(name, fault, hint, "bad-time", count=count)
        return int(rows)
