"""A table that stays where it is, in its database or in Spark: typed by its columns, and checked by SQL.

What `read` checks row by row is counted there. Of people and sensitive values, only texts that are not
plainly written come to the client, which compares their spellings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from timeveil.calendar.civil import UNITS
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.domain.roles import Roles, require_roles
from timeveil.domain.stored import BATCH_ROWS, Part, Stored
from timeveil.domain.wording import counted, listed
from timeveil.errors import ErrorCode, InputError, ParameterError
from timeveil.reading.database import DatabaseTable, Server, is_address
from timeveil.reading.sources import Form
from timeveil.reading.spark import Cluster, SparkTable, is_frame
from timeveil.reading.spellings import PLAIN_TEXT, Spellings, normal_form, without_nameless
from timeveil.reading.table import TypedReader, fit
from timeveil.reading.times import TimeColumn

ROWS = "every_row"
"""The temporary view of all rows: `person`, `time`, quasi-identifiers `q0` …, further columns `p0` …."""
_TIMES = {"date", "timestamp", "timestamptz", "int2", "int4", "int8"}
_FLOATS = {"float4", "float8", "numeric"}
_PLAIN = re.sub(r"\\x\{(\w+)\}", lambda match: rf"\u{match[1]:0>4}", PLAIN_TEXT)
_ELSEWHERE = "make it in a view of the table, or leave {engine} out: then rows are read and counted here"
IN_PLACE = {
    "postgres": "name one, postgresql://host/database#schema.table, or leave {engine} out",
    "spark": "give a DataFrame of Spark, the name of a table or a path, or leave {engine} out",
}
"""The engines that count tables where they are, and what they take."""


class _RowsThere(Stored):
    """The rows of a table that stays where it is, read when a judge asks for them."""

    def __init__(self, schema: pa.Schema, rows: int, aliases: dict[str, str]) -> None:
        self.schema, self.num_rows, self._aliases = schema, rows, aliases

    def _selected(self, names: list[str]) -> Iterator[pa.Table]:
        raise NotImplementedError

    def to_batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        schema = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        for table in self._selected([self._aliases[name] for name in schema.names]):
            yield from table.rename_columns(schema.names).cast(schema).to_batches()

    def read(self, columns: list[str] | None = None) -> pa.Table:
        schema = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        return pa.Table.from_batches(self.to_batches(columns), schema)


class ServerRows(_RowsThere):
    """Rows on a server, which keep the connection open."""

    def __init__(self, server: Server, schema: pa.Schema, rows: int, aliases: dict[str, str]) -> None:
        super().__init__(schema, rows, aliases)
        self.server, self.origin = server, ROWS
        """What they are selected from: once rows are numbered, in the order of their numbers."""

    def _selected(self, names: list[str]) -> Iterator[pa.Table]:
        yield from self.server.batches(f"SELECT {', '.join(names)} FROM {self.origin}")
        if self.origin != ROWS:
            self.server.commit()  # nothing of the database is held any longer than needed


class ClusterRows(_RowsThere):
    """Rows in Spark, read from files that the executors wrote: `parts`, once it is known where each row went.

    A row is known by the file that it is in and its position there.
    """

    def __init__(self, cluster: Cluster, schema: pa.Schema, rows: int, aliases: dict[str, str]) -> None:
        super().__init__(schema, rows, aliases)
        self.cluster, self.parts = cluster, list[Part]()

    def _selected(self, names: list[str]) -> Iterator[pa.Table]:
        if not self.parts:
            self.parts = self.cluster.write(f"SELECT * FROM {ROWS}", "rows")
        for part in self.parts:
            with pq.ParquetFile(part.path, pre_buffer=False) as file:
                for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=names):
                    yield pa.Table.from_batches([batch]).select(names)


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
    Form(form.pop("delimiter", None), form.pop("encoding", None), form.pop("sheet", None)).among(
        set(), "a table that stays where it is"
    )
    place = SparkTable.place if engine == "spark" else DatabaseTable.place
    stated = {name: value for name, value in form.items() if value}
    roles_made = {
        "until": roles.until,
        "event": roles.event,
        "cyclic": len(roles.quasi) > len(_plain_quasi(roles)),
    }
    if made := [*stated, *(name for name, value in roles_made.items() if value)]:
        message = f"{listed(made)} needs rows to be read, and with the engine `{engine}` they stay in {place}"
        raise ParameterError(message, hint=_ELSEWHERE)
    opened = SparkTable(table) if engine == "spark" else DatabaseTable(str(table), reads_only=False)
    return _Reading(opened, roles, zone, unit).relation(nulls)


def _plain_quasi(roles: Roles) -> list[str]:
    return [name for name in roles.quasi if isinstance(name, str)]


class _Reading:
    """One table and its roles on their way to a relation."""

    def __init__(
        self, table: DatabaseTable | SparkTable, roles: Roles, zone: str | None, unit: str | None
    ) -> None:
        self._table, self._server, self._roles = table, table.server, roles
        self._zone, self._unit = zone, unit
        self._fitted = fit(roles, table.names)
        self._person, self._time = str(roles.respondent), str(roles.time)
        if (kind := table.kinds[self._time]) not in _TIMES:
            message = (
                f"column `{self._time}` has the type {kind}, which {table.place} does not count as a time"
            )
            raise InputError(message, hint=f"cast it to a date or timestamp: {_ELSEWHERE}", code="bad-time")
        table.require_comparable(roles.columns)
        table.stage(roles.columns)

    def relation(self, nulls: str) -> Relation:
        schema, axis = self._typed()
        published = self._fitted.published
        quasi = len(self._fitted.quasi_columns)
        aliases = {self._person: "person", self._time: "time"}
        aliases |= {name: f"q{i}" if i < quasi else f"p{i - quasi}" for i, name in enumerate(published)}
        table, columns = self._table, {name: self._table.expression(name) for name in aliases}
        for name in (self._person, *self._fitted.quasi_columns):
            if table.kinds[name] in _FLOATS:
                columns[name] = table.without_nan(columns[name])  # equal means the same in every engine
        normal = [name for name in (self._person, *self._fitted.sensitive) if self._is_normal(name, columns)]
        rows = self._checked(columns, axis, refuses_nulls=nulls == "error")
        columns = {
            name: table.in_type(name, column, schema.field(name).type) for name, column in columns.items()
        }
        selected = ", ".join(f"{columns[name]} AS {alias}" for name, alias in aliases.items())
        data = self._rows(f"SELECT {selected} FROM {self._server.source}", schema, rows, aliases)
        dropped = tuple(self._fitted.drop)
        return Relation(self._fitted, data, axis, dropped, self._table.name, normal=frozenset(normal))

    def _rows(self, query: str, schema: pa.Schema, rows: int, aliases: dict[str, str]) -> Stored:
        if isinstance(self._server, Cluster):
            self._server.define(ROWS, query)
            return ClusterRows(self._server, schema, rows, aliases)
        self._server.run(f"CREATE TEMPORARY VIEW {ROWS} AS {query}")
        return ServerRows(self._server, schema, rows, aliases)

    def _typed(self) -> tuple[pa.Schema, TimeAxis]:
        """The types that the columns would have if they were read, and what the time column means."""
        time = TimeColumn(self._time, self._zone, self._unit)
        reader = TypedReader(self._roles, [time], None, refuses_nulls=False, fold=False)
        empty = reader.push(self._table.empty(reader.columns))
        axis = time.axis()
        return reader.complete(empty, axis).schema, axis

    def _is_normal(self, name: str, columns: dict[str, str]) -> bool:
        """Whether all texts are in their normal form; two spellings of one are refused.

        A person whose name shows nothing becomes null.
        """
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
        far = {
            name: table.outside(name, column, self._zone)
            for name, column in columns.items()
            if table.kinds[name] in dates
        }
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
                raise _refused(name, count, ("null", "nulls"), hint, "nulls")
        for name, count in zip(far, faults[len(missing) :], strict=True):
            if count:
                what = ("date or time", "dates or times")
                hint = "check for wrong dates; the years 1 to 9999 can be published"
                raise _refused(name, count, what, hint, "bad-time", " out of range")
        return int(rows)


def _refused(
    name: str, count: int, what: tuple[str, str], hint: str, code: ErrorCode, how: str = ""
) -> InputError:
    message = f"column `{name}` has {counted(count, *what)}{how}"
    return InputError(message, hint=hint, code=code, facts={"column": name, "count": count})
