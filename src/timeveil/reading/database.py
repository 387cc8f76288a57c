"""PostgreSQL: a table `postgresql://host/database#schema.table`, which a view may be as well, or a schema.

Columns stream out as Arrow in one transaction that sees one state of the database and changes nothing. The
password comes from PGPASSWORD, ~/.pgpass or a service, never from the address: that is shown in reports and
saved in jobs. The server's own messages quote data and are replaced.
"""

import re
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, TypeGuard
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow as pa

from timeveil.domain.wording import counted
from timeveil.errors import EngineError, InputError, ParameterError, TimeveilError, raising
from timeveil.reading.columns import column_error
from timeveil.reading.files import Source
from timeveil.reading.session import Session
from timeveil.reading.times import bounds_of

SCHEMES = ("postgresql://", "postgres://")
_NAME = re.compile(r'(?:"((?:[^"]|"")+)"|([^".]+))(?:\.(?:"((?:[^"]|"")+)"|([^".]+)))?')
_SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
LONGEST_NAME = 63  # bytes; the server cuts longer names off
_AS_THEY_ARE = ("bool", "int2", "int4", "int8", "date", "timestamp", "timestamptz", "time", "bytea")
_NUMBERS = {"float4": "real", "float8": "double precision", "numeric": "double precision"}
_SETTINGS = (
    *("client_encoding = 'UTF8'", "standard_conforming_strings = on", "TIME ZONE 'UTC'"),
    # Rows come in one order, however often they are read.
    *("synchronize_seqscans = off", "max_parallel_workers_per_gather = 0"),
    "lock_timeout = '60s'",  # of a table that another user has locked
)
_EXAMPLE = "postgresql://host/database#schema"


def is_address(table: object) -> TypeGuard[str]:
    """Whether it is the address of something in a database."""
    return isinstance(table, str) and table.lower().startswith(SCHEMES)


def address_of(address: str) -> tuple[str, str]:
    """What connects to the database, and the name of the table as SQL writes it."""
    database, names = _parsed(address, "table")
    return database, ".".join(map(quote, names))


def schema_of(address: str) -> tuple[str, str]:
    """What connects to the database, and the name of the schema."""
    database, names = _parsed(address, "schema")
    if len(names) > 1 or len(names[0].encode()) > LONGEST_NAME or names[0].startswith("pg_"):
        hint = f"end it with the name of a schema alone: {_EXAMPLE}"
        raise ParameterError("the address of a database does not name a schema", hint=hint)
    return database, names[0]


def _parsed(address: str, what: str) -> tuple[str, list[str]]:
    example = _EXAMPLE if what == "schema" else f"{_EXAMPLE}.table"
    error = ParameterError("the address of a database cannot be read", hint=f"write it as {example}")
    with raising(error, on=ValueError):
        parts = urlsplit(address)
        secret = parts.password or any(name.lower() in _SECRETS for name, _ in parse_qsl(parts.query))
        name = unquote(parts.fragment, errors="strict")
    if secret:
        message = "the address of a database contains a password, which reports and jobs would show"
        hint = "remove it from the address, and set the variable PGPASSWORD or use ~/.pgpass"
        raise ParameterError(message, hint=hint)
    named = _NAME.fullmatch(name)
    if named is None:
        message = f"a {what}'s name cannot be read" if name else f"the address of a database names no {what}"
        raise ParameterError(message, hint=f"end it with the name of a {what}: {example}")
    groups = named.groups()
    words = (groups[i].replace('""', '"') if groups[i] else groups[i + 1] for i in (0, 2))
    return address.partition("#")[0], [word for word in words if word]


def quote(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


class Server(Session):
    """A connection in one transaction that sees one state of the database; closed with its last user."""

    same = (
        "(coalesce(CAST({0} AS text), '') COLLATE \"C\" = coalesce(CAST({1} AS text), '') COLLATE \"C\""
        " AND ({0} IS NULL) = ({1} IS NULL))"
    )
    seconds = "CAST(date_part('epoch', date_trunc('second', {0})) AS BIGINT)"
    full_second = "{0} = date_trunc('second', {0})"
    divided = "{0} / {1}"
    row_number = "row_number() OVER () - 1 AS row, "
    by_bytes = '({0} COLLATE "C")'
    without_nan = "NULLIF({0}, 'NaN')"
    making_table = (
        "DROP TABLE IF EXISTS pg_temp.{0} CASCADE",
        "CREATE TEMPORARY TABLE {0} AS {1}",
        "ANALYZE {0}",
    )
    making_view = ("DROP VIEW IF EXISTS pg_temp.{0} CASCADE", "CREATE TEMPORARY VIEW {0} AS {1}")
    source: str
    """The table that is read, as SQL writes its name."""

    def __init__(self, database: str, *, reads_only: bool) -> None:
        self.connection = connect(database)
        self._close = weakref.finalize(self, _closed, self.connection)
        self.run(f"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ{', READ ONLY' * reads_only}")
        for setting in _SETTINGS:
            self.run(f"SET {setting}")

    def find(self, table: str) -> None:
        names = "SELECT nspname, relname FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace"
        rows = self.table(f"{names} WHERE pg_class.oid = to_regclass({text(table)})").to_pylist()
        if not rows:
            message = "the database has no table or view of the name in the address"
            hint = "check its spelling and its schema; letters of another case are another name"
            raise InputError(message, hint=hint, code="file-missing")
        # With its schema: a name alone could come to mean a temporary table of ours.
        self.source = ".".join(quote(name) for name in rows[0].values())

    def run(self, statement: str) -> None:
        with self.explained(), self.connection.cursor() as cursor:
            cursor.execute(statement)

    def batches(self, query: str) -> Iterator[pa.Table]:
        with self.explained(), self.connection.cursor() as cursor:
            cursor.execute(query)
            reader = cursor.fetch_record_batch()
            yield reader.schema.empty_table()
            for batch in reader:
                yield pa.Table.from_batches([batch])

    def upload(self, name: str, table: pa.Table) -> None:
        self.run(f"DROP TABLE IF EXISTS pg_temp.{name}")  # never one of the database
        with self.explained(), self.connection.cursor() as cursor:
            cursor.adbc_ingest(name, table, mode="create", temporary=True)
        self.run(f"ANALYZE {name}")

    def create(self, schema: str, name: str, rows: pa.RecordBatchReader) -> None:
        with self.explained(), self.connection.cursor() as cursor:
            cursor.adbc_ingest(name, rows, mode="create", db_schema_name=schema)

    def commit(self) -> None:
        with self.explained():
            self.connection.commit()

    def close(self) -> None:
        self._close()

    def explained(self) -> raising:
        """A block in which errors of the server and its driver are replaced and leave no trace."""
        return raising(self._failure, on=Exception)

    def _failure(self, cause: Exception) -> Exception:
        state = getattr(cause, "sqlstate", None) or ""
        if isinstance(cause, TimeveilError | MemoryError):
            return cause
        if state in ("42501", "25006"):
            message = (
                "the user may not read the table, or may not create what is to be made, in this database"
            )
            hint = "ask for SELECT to read, TEMPORARY to count in the database, and CREATE to write to it"
            return EngineError(message, hint=hint, code="no-permission")
        again = "and run it again: nothing was written"
        if state.startswith(("08", "57P")) or not self._is_alive():
            message, hint = "the connection to the database was lost", f"check the server, {again}"
        elif state == "55P03":
            message = "other users of the database had locked a table for more than a minute"
            hint = f"wait until they are done, {again}"
        elif state.startswith("53"):
            message = "the database ran out of space, memory or connections"
            hint = f"free space or memory on the server, {again}"
        else:
            stated = f" (SQLSTATE {state})" if re.fullmatch("[0-9A-Z]{5}", state) else ""
            message = f"the database could not finish{stated}"
            hint = "look for the reason in the log of the server"
        return EngineError(message, hint=hint, code="database-failed")

    def _is_alive(self) -> bool:
        """Whether the server still answers; the transaction, which has failed, is ended."""
        with suppress(Exception), self.connection.cursor() as cursor:
            self.connection.rollback()
            cursor.execute("SELECT 1")
            return True
        return False


def connect(address: str, *, autocommit: bool = False) -> Any:
    """A connection to a database."""
    hint = "install it with `pip install timeveil[postgres]`"
    error = InputError("PostgreSQL is reached with the driver of ADBC, which is missing", hint=hint)
    with raising(error, on=ImportError):
        driver = import_module("adbc_driver_postgresql.dbapi")
    message = "the database cannot be reached, or does not let the user in"
    hint = "check host, port, database and user; a password comes from PGPASSWORD, ~/.pgpass or a service"
    with raising(InputError(message, hint=hint, code="database-failed"), on=Exception):
        return driver.connect(address, autocommit=autocommit)


def _closed(connection: Any) -> None:
    with suppress(Exception):
        connection.close()


class DatabaseTable(Source):
    """A table or view whose columns are read on demand, all of one state of the database."""

    site = "the database"

    def __init__(self, address: str, *, reads_only: bool = True) -> None:
        database, table = address_of(address)
        self.server = Server(database, reads_only=reads_only)
        self.server.find(table)
        self.name = unquote(urlsplit(address).fragment)
        self.kinds = {
            field.name: (field.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
            for field in self.server.table(f"SELECT * FROM {self.server.source} LIMIT 0").schema
        }
        self.names = tuple(self.kinds)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        self.refuse_rounding(columns)
        yield from self.server.batches(self._query(columns))

    def _query(self, columns: Sequence[str]) -> str:
        listed = ", ".join(f"{self.expression(name)} AS {quote(name)}" for name in columns)
        return f"SELECT {listed} FROM {self.server.source}"

    def expression(self, column: str) -> str:
        """A column in a type that Arrow has, any other as text; equal texts have the same bytes."""
        name, kind = quote(column), self.kinds[column]
        if kind in _AS_THEY_ARE or kind.startswith("_"):
            return name
        if number := _NUMBERS.get(kind):
            return f"(CAST({name} AS {number}) + CAST(0 AS {number}))"  # minus zero is zero
        return f'(CAST({name} AS text) COLLATE "C")'

    # What is asked of a table whose rows stay where they are; `expression` is a column as SQL writes it.

    def empty(self, columns: Sequence[str]) -> pa.Table:
        """Some columns in the types that they would be read in, without rows."""
        return self.server.table(f"{self._query(columns)} LIMIT 0")

    def is_text(self, column: str) -> bool:
        return self.expression(column).startswith("(CAST") and self.kinds[column] not in _NUMBERS

    def in_type(self, column: str, expression: str, kind: pa.DataType) -> str:
        """A time at the precision of its type."""
        is_time = "timestamp" in self.kinds[column] and getattr(kind, "unit", "") == "ms"
        return f"date_trunc('milliseconds', {expression})" if is_time else expression

    def is_unlike(self, expression: str, pattern: str) -> str:
        return f"{expression} !~ {text(pattern)}"

    def text(self, value: str) -> str:
        return text(value)

    def outside(self, column: str, expression: str, zone: str | None) -> str:
        """Whether a time is outside the years 1 to 9999 on the clocks of a zone; infinity is."""
        kind = self.kinds[column]
        if kind == "date":
            return f"{expression} NOT BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
        low, limit = bounds_of(zone if kind == "timestamptz" else None)
        first, end = (f"{kind} 'epoch' + INTERVAL '{bound} milliseconds'" for bound in (low, limit))
        return f"({expression} < {first} OR {expression} >= {end})"

    def stage(self, columns: Sequence[str]) -> None:
        """Refuse texts in another encoding than UTF-8, and numbers that would be rounded."""
        (encoding,) = self.server.row("SELECT current_setting('server_encoding') AS encoding")
        if encoding != "UTF8":
            fault = "are not encoded in UTF-8, so that they cannot be compared in it"
            message = f"the texts of the database {fault}"
            raise InputError(message, hint="leave {engine} out", code="bad-encoding")
        self.refuse_rounding(columns)

    def refuse_rounding(self, columns: Sequence[str]) -> None:
        for column in filter(lambda name: self.kinds[name] == "numeric", columns):
            rounded = f"CAST(CAST({quote(column)} AS double precision) AS numeric) <> {quote(column)}"
            (count,) = self.server.row(f"SELECT count(*) FROM {self.server.source} WHERE {rounded}")
            if count:
                fault = f"has {counted(count, 'number')} of more than 15 digits"
                hint = "read it as bigint or as text, from a view that casts it"
                raise column_error(column, fault, hint, "bad-number", count=count)
