"""A table that stays in its database: typed by its columns there, and checked by statements.

What `read` checks row by row is counted on the server. Of people and sensitive values, only texts that are
not plainly written come to the client, which compares their spellings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from timeveil.calendar.civil import UNITS
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.domain.roles import Roles, require_roles
from timeveil.domain.stored import Stored
from timeveil.domain.wording import counted, listed
from timeveil.errors import ErrorCode, InputError, ParameterError
from timeveil.reading.database import DatabaseTable, Server, is_address, quote, text
from timeveil.reading.sources import Form
from timeveil.reading.spellings import PLAIN_TEXT, Spellings, normal_form, without_nameless
from timeveil.reading.table import TypedReader, fit
from timeveil.reading.times import TimeColumn, bounds_of

ROWS = "every_row"
"""The temporary view of all rows: `person`, `time`, quasi-identifiers `q0` …, further columns `p0` …."""
_TIMES = {"date", "timestamp", "timestamptz", "int2", "int4", "int8"}
_PLAIN = re.sub(r"\\x\{(\w+)\}", lambda match: rf"\u{match[1]:0>4}", PLAIN_TEXT)
_ELSEWHERE = "make it in a view of the database, or leave {engine} out: then rows are read and counted here"


class ServerRows(Stored):
    """The rows of a table on a server, read when a judge asks for them; they keep the connection open."""

    def __init__(self, server: Server, schema: pa.Schema, rows: int, aliases: dict[str, str]) -> None:
        self.server, self.schema, self.num_rows, self._aliases = server, schema, rows, aliases
        self.origin = ROWS
        """What they are selected from: once rows are numbered, in the order of their numbers."""

    def to_batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        schema = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        names = ", ".join(self._aliases[name] for name in schema.names)
        for table in self.server.batches(f"SELECT {names} FROM {self.origin}"):
            yield from table.rename_columns(schema.names).cast(schema).to_batches()
        if self.origin != ROWS:
            self.server.commit()  # nothing of the database is held any longer than needed

    def read(self, columns: list[str] | None = None) -> pa.Table:
        schema = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        return pa.Table.from_batches(self.to_batches(columns), schema)


def read_in_place(
    table: object,
    roles: Roles,
    *,
    zone: str | None = None,
    unit: str | None = None,
    nulls: str = "error",
    **form: Any,
) -> Relation:
    """As `read`, of a table in a database whose rows stay there."""
    require_roles(roles)
    if not isinstance(table, str) or not is_address(table):
        message = "the engine `postgres` counts tables of a database, and another table was given"
        raise ParameterError(
            message, hint="name one, postgresql://host/database#schema.table, or leave {engine} out"
        )
    Form(form.pop("delimiter", None), form.pop("encoding", None), form.pop("sheet", None)).among(
        set(), "a table of a database"
    )
    stated = {name: value for name, value in form.items() if value}
    roles_made = {
        "until": roles.until,
        "event": roles.event,
        "cyclic": len(roles.quasi) > len(_plain_quasi(roles)),
    }
    if made := [*stated, *(name for name, value in roles_made.items() if value)]:
        message = (
            f"{listed(made)} needs rows to be read, and with the engine `postgres` they stay in the database"
        )
        raise ParameterError(message, hint=_ELSEWHERE)
    return _Reading(DatabaseTable(table, reads_only=False), roles, zone, unit).relation(nulls)


def _plain_quasi(roles: Roles) -> list[str]:
    return [name for name in roles.quasi if isinstance(name, str)]


class _Reading:
    """One table and its roles on their way to a relation."""

    def __init__(self, table: DatabaseTable, roles: Roles, zone: str | None, unit: str | None) -> None:
        self._table, self._server, self._roles, self._zone, self._unit = (
            table,
            table.server,
            roles,
            zone,
            unit,
        )
        self._fitted = fit(roles, table.names)
        self._person, self._time = str(roles.respondent), str(roles.time)
        if (kind := table.kinds[self._time]) not in _TIMES:
            message = (
                f"column `{self._time}` has the type {kind}, which the database does not count as a time"
            )
            raise InputError(message, hint=f"cast it to a date or timestamp: {_ELSEWHERE}", code="bad-time")
        (encoding,) = self._server.row("SELECT current_setting('server_encoding') AS encoding")
        if encoding != "UTF8":
            message = (
                "the texts of the database are not encoded in UTF-8, so that they cannot be compared in it"
            )
            raise InputError(message, hint="leave {engine} out", code="bad-encoding")
        table.refuse_rounding(roles.columns)

    def relation(self, nulls: str) -> Relation:
        schema, axis = self._typed()
        published = self._fitted.published
        quasi = len(self._fitted.quasi_columns)
        aliases = {self._person: "person", self._time: "time"}
        aliases |= {name: f"q{i}" if i < quasi else f"p{i - quasi}" for i, name in enumerate(published)}
        kinds, columns = self._table.kinds, {name: self._table.expression(name) for name in aliases}
        for name in (self._person, *self._fitted.quasi_columns):
            if kinds[name] in ("float4", "float8", "numeric"):
                columns[name] = f"NULLIF({columns[name]}, 'NaN')"  # equal means the same in every engine
        normal = [name for name in (self._person, *self._fitted.sensitive) if self._is_normal(name, columns)]
        rows = self._checked(columns, axis, refuses_nulls=nulls == "error")
        if "timestamp" in kinds[self._time]:
            columns[self._time] = f"date_trunc('milliseconds', {columns[self._time]})"
        listed_columns = ", ".join(f"{columns[name]} AS {alias}" for name, alias in aliases.items())
        self._server.run(
            f"CREATE TEMPORARY VIEW {ROWS} AS SELECT {listed_columns} FROM {self._server.source}"
        )
        data = ServerRows(self._server, schema, rows, aliases)
        dropped = tuple(self._fitted.drop)
        return Relation(self._fitted, data, axis, dropped, self._table.name, normal=frozenset(normal))

    def _typed(self) -> tuple[pa.Schema, TimeAxis]:
        """The types that the columns would have if they were read, and what the time column means."""
        time = TimeColumn(self._time, self._zone, self._unit)
        reader = TypedReader(self._roles, [time], None, refuses_nulls=False, fold=False)
        columns = ", ".join(f"{self._table.expression(name)} AS {quote(name)}" for name in reader.columns)
        empty = reader.push(self._server.table(f"SELECT {columns} FROM {self._server.source} LIMIT 0"))
        axis = time.axis()
        return reader.complete(empty, axis).schema, axis

    def _is_normal(self, name: str, columns: dict[str, str]) -> bool:
        """Whether all texts are in their normal form; two spellings of one are refused.

        A person whose name shows nothing becomes null.
        """
        column, source = columns[name], self._server.source
        if not column.startswith("(CAST") or self._table.kinds[name] in ("float4", "float8", "numeric"):
            return True
        distinct = f"(SELECT DISTINCT {column} AS value FROM {source}) AS texts"
        odd = self._server.table(f"SELECT value FROM {distinct} WHERE value !~ {text(_PLAIN)}")["value"]
        spellings = Spellings(name, "respondent" if name == self._person else "sensitive")
        if name == self._person and len(odd):
            nameless = odd.filter(without_nameless(odd).is_null())
            odd = without_nameless(odd).drop_null()
            if len(nameless):
                texts = ", ".join(map(text, nameless.to_pylist()))
                columns[name] = f"(CASE WHEN {column} IN ({texts}) THEN NULL ELSE {column} END)"
        spellings.note(odd)
        if not spellings.all_normal:
            forms = ", ".join(sorted({text(normal_form(value)) for value in odd.to_pylist()}))
            plain = self._server.table(f"SELECT value FROM {distinct} WHERE value IN ({forms})")["value"]
            spellings.refuse([pa.chunked_array([*odd.chunks, *plain.chunks], odd.type)])
        return spellings.all_normal

    def _checked(self, columns: dict[str, str], axis: TimeAxis, *, refuses_nulls: bool) -> int:
        """How many rows there are; an error if one lacks a person or a time, or is out of all calendars."""
        kinds = self._table.kinds
        dated = {
            name: columns[name] for name in columns if kinds[name] in ("date", "timestamp", "timestamptz")
        }
        far = {name: _outside(column, kinds[name], self._zone) for name, column in dated.items()}
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


def _outside(column: str, kind: str, zone: str | None) -> str:
    """Whether a time is outside the years 1 to 9999 on the clocks of a zone; infinity is."""
    if kind == "date":
        return f"{column} NOT BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
    low, limit = bounds_of(zone if kind == "timestamptz" else None)
    first, end = (f"{kind} 'epoch' + INTERVAL '{bound} milliseconds'" for bound in (low, limit))
    return f"({column} < {first} OR {column} >= {end})"
