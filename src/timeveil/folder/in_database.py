"""A release or a ledger in PostgreSQL: a schema of tables that appears in one transaction, or not at all.

Manifest and README of a release are in the table `release`; a ledger has the tables `entries` and `ledger`.
Only plain tables with columns of the stated types are opened, because a view, a policy or a type of somebody
else's would run their statements with our rights.
"""

import base64
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pyarrow as pa

from timeveil.domain.guarantee import guarantee_from
from timeveil.domain.judgement import Violation
from timeveil.domain.release import Ledger, Release
from timeveil.domain.stored import PrivateFolder, Stored, private_file
from timeveil.errors import BundleError, EngineError, PrivateArtifactError, raising
from timeveil.folder.ledger_file import KEY, ledger_rows, opened_ledger, write_rows
from timeveil.folder.manifest import DATABASE, as_json, damaged, describe, parsed, schema_of, written_schema
from timeveil.folder.tables import cells_digest, have_same_rows, written_rows
from timeveil.models import words
from timeveil.page.templates import letter
from timeveil.reading import database
from timeveil.reading.database import LONGEST_NAME, Server, quote, text
from timeveil.reading.files import limits, too_large

RELEASE, ENTRIES, LEDGER = "release", "entries", "ledger"
_TEXTS = {RELEASE: ("manifest", "readme"), LEDGER: ("description", "columns")}
"""Tables of one row, and their columns, which are texts."""
_KINDS = {"int8": "int2", "uint8": "int2", "int16": "int2", "uint16": "int4", "int32": "int4", "bool": "bool"}
_KINDS |= {"uint32": "int8", "int64": "int8", "uint64": "int8", "halffloat": "float4", "float": "float4"}
_KINDS |= {"double": "float8", "date32[day]": "date", "string": "text"}
TABLES = (
    "every table exists, the schema has no other, cells have their stated hash, and the manifest its one "
    "spelling; rights on tables, indexes and the words of the README are not judged"
)


class Schema:
    """A schema of a database, in one transaction that sees one state of it."""

    def __init__(self, address: str, *, reads_only: bool = True) -> None:
        where, self.name = database.schema_of(address)
        self.server = Server(where, reads_only=reads_only)

    def relations(self) -> dict[str, dict[str, str] | None]:
        """What it has, by name: of a plain table its columns and their types, of anything else None."""
        rows = self.server.table(
            f"""SELECT relname AS name, relkind = 'r' AND NOT (relrowsecurity OR relhasrules) AS plain,
            attname AS column, CASE WHEN t.typnamespace = 'pg_catalog'::regnamespace THEN typname END AS kind
            FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace AND nspname = {text(self.name)}
            LEFT JOIN pg_attribute AS a ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped
            LEFT JOIN pg_type AS t ON t.oid = atttypid WHERE relkind NOT IN ('i', 'I', 't')
            ORDER BY relname, attnum"""
        ).to_pylist()
        relations: dict[str, dict[str, str] | None] = {}
        for row in rows:
            columns = relations.setdefault(row["name"], {} if row["plain"] else None)
            if columns is not None and row["column"] is not None:
                columns[row["column"]] = row["kind"] or ""
        return relations

    def refuse_taken(self, *, overwrite: bool = False) -> dict[str, dict[str, str] | None]:
        """Refuse a schema that has tables already; to overwrite, one that has any but those of a release."""
        relations = self.relations()
        if not relations:
            return {}
        if overwrite and RELEASE in relations:
            manifest, _ = parsed(self.texts(RELEASE, relations)[0], (DATABASE,))
            if relations.keys() == {RELEASE, *manifest["tables"]}:
                return relations
        why = " and is not a release, so it is not replaced" if overwrite else ""
        message = f"the schema `{self.name}` of the database is not empty{why}"
        raise BundleError(message, hint="name a new or an empty schema", code="folder-exists")

    def prepare(self, *, overwrite: bool = False) -> None:
        """Make an empty schema, unless somebody has made one for the user."""
        for table in self.refuse_taken(overwrite=overwrite):
            self.server.run(f"DROP TABLE {self._quoted(table)}")
        named = f"SELECT count(*) AS n FROM pg_namespace WHERE nspname = {text(self.name)}"
        if self.server.row(named) == (0,):
            self.server.run(f"CREATE SCHEMA {quote(self.name)}")

    def create(self, table: str, columns: pa.Schema, rows: Iterable[pa.Table]) -> None:
        for name in columns.names:
            if len(name.encode()) > LONGEST_NAME:
                message = f"column `{name}` has a name of more than {LONGEST_NAME} bytes, which is too long"
                hint = "give it a shorter name before reading"
                raise BundleError(message, hint=hint, code="unsupported-input")
        batches = (batch for table in rows for batch in table.to_batches())
        self.server.create(self.name, table, pa.RecordBatchReader.from_batches(columns, batches))

    def create_texts(self, table: str, *texts: str) -> None:
        row = pa.table([[value] for value in texts], _TEXTS[table])
        self.create(table, row.schema, [row])

    def texts(self, table: str, relations: dict[str, dict[str, str] | None]) -> list[bytes]:
        """The texts of a table of one row."""
        what = "release" if table == RELEASE else "ledger"
        if relations.get(table) != dict.fromkeys(_TEXTS[table], "text"):
            message = f"the schema `{self.name}` of the database has no {what}"
            hint = f"name the schema that a {what} was written to"
            raise BundleError(message, hint=hint, code="folder-missing")
        sizes = " + ".join(f"coalesce(octet_length({name}), 0)" for name in _TEXTS[table])
        source = f"FROM ONLY {self._quoted(table)}"
        size, rows = self.server.row(f"SELECT coalesce(max({sizes}), 0) AS size, count(*) AS n {source}")
        if table == RELEASE and size > limits().description:
            most = limits().description
            raise too_large(table, f"has {size:,} bytes; at most {most:,} are read", "description")
        values: list[Any] = list(self.server.row(f"SELECT * {source}")) if rows == 1 else [None]
        if None in values:
            raise damaged(table, f"does not describe one {what}")
        return [value.encode() for value in values]

    def rows(self, table: str, columns: pa.Schema, kinds: dict[str, str] | None) -> Iterator[pa.RecordBatch]:
        """The rows of a table in these types, in the order in which they were written."""
        if kinds != {field.name: _kind(field.type) for field in columns}:
            raise damaged(table, "is missing, or is not a plain table of the stated columns and types")
        unfit = damaged(table, "has values that do not fit the stated types")
        for rows in self.server.batches(f"SELECT * FROM ONLY {self._quoted(table)}"):
            with raising(unfit, on=(pa.ArrowException, ValueError)):
                typed = rows.cast(columns)
            yield from typed.to_batches()

    def commit(self) -> None:
        """Let it appear. Where the connection is lost at this very moment, nobody knows whether it did."""
        try:
            self.server.commit()
        except EngineError as error:
            hint = f"check whether the schema `{self.name}` has appeared, and run it again if not"
            message = f"{error.message} at the last step"
            raise EngineError(message, hint=hint, code=error.code, facts={"appeared": None}) from None

    def remove(self) -> None:
        """Take back a ledger that was just committed."""
        for table in (ENTRIES, LEDGER):
            self.server.run(f"DROP TABLE {self._quoted(table)}")
        self.server.commit()

    def _quoted(self, table: str) -> str:
        return f"{quote(self.name)}.{quote(table)}"


@contextmanager
def filled(
    release: Release, address: str, *, overwrite: bool
) -> Iterator[tuple[Release, dict[str, Any], Callable[[], None]]]:
    """A release in a schema that nobody else sees yet: as read back, its manifest, and what commits it."""
    schema = Schema(address, reads_only=False)
    with closing(schema.server):
        schema.prepare(overwrite=overwrite)
        manifest: dict[str, Any] = {**release.manifest, "tables": {}}
        for name, part in release.parts.items():
            columns = written_schema(part)
            schema.create(name, columns, written_rows(release.batches(name), columns))
            rows = sum(batch.num_rows for batch in release.batches(name))
            hashed = cells_digest(release.batches(name), columns)
            describe(manifest, name, columns, DATABASE, rows, hashed)
        readme = letter(words(manifest["model"]), release.guarantee, manifest)
        schema.create_texts(RELEASE, as_json(manifest).decode(), readme)
        yield _read(schema, judges=False)[0], manifest, schema.commit


def opened(address: str, *, judges: bool) -> tuple[Release, tuple[Violation, ...]]:
    """The release in a schema and, if it `judges`, what is wrong with its tables."""
    schema = Schema(address)
    with closing(schema.server):
        return _read(schema, judges=judges)


def _read(schema: Schema, *, judges: bool) -> tuple[Release, tuple[Violation, ...]]:
    relations = schema.relations()
    content, _ = schema.texts(RELEASE, relations)
    manifest, violations = parsed(content, (DATABASE,))
    parts = dict[str, pa.Table | Stored]()
    for name, entry in manifest["tables"].items():
        columns = schema_of(manifest, name)
        rows = schema.rows(name, columns, relations.get(name))
        tables = (pa.Table.from_batches([batch], columns) for batch in rows)
        parts[name] = Stored.written(PrivateFolder(), "rows", columns, tables)
        stated, batches = (entry["rows"], entry["sha256"]), parts[name].to_batches()
        if judges and (parts[name].num_rows, cells_digest(batches, columns)) != stated:
            message = f"the table `{name}` has changed since it was written"
            violations.append(Violation("file-changed", message))
    for name in relations.keys() - {RELEASE, *parts}:
        violations.append(Violation("file-extra", f"`{name}` does not belong to the release"))
    return Release(guarantee_from(manifest["guarantee"]), manifest, parts), tuple(violations)


@contextmanager
def ledger_filled(ledger: Ledger, address: str) -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    """A ledger in a private schema that nobody else sees yet: what commits it, and what takes it back."""
    schema = Schema(address, reads_only=False)
    with closing(schema.server):
        schema.prepare()
        (others,) = schema.server.row(
            f"""SELECT count(*) AS n FROM pg_namespace, aclexplode(nspacl) AS a WHERE nspname =
            {text(schema.name)} AND grantee NOT IN (nspowner, to_regrole(quote_ident(current_user)))"""
        )
        if others:
            message = f"other users have rights on the schema `{schema.name}`, and a ledger identifies people"
            raise PrivateArtifactError(message, hint="revoke them, or name another schema for the ledger")
        columns, rows = ledger_rows(ledger)
        described = base64.b64encode(columns.remove_metadata().serialize()).decode()
        schema.create(ENTRIES, columns.remove_metadata(), rows)
        schema.create_texts(LEDGER, columns.metadata[KEY].decode(), described)
        written = schema.rows(ENTRIES, columns, schema.relations()[ENTRIES])
        original = (batch for table in ledger_rows(ledger)[1] for batch in table.to_batches())
        if not have_same_rows(original, written, columns.remove_metadata()):
            message = "the ledger reads back from the database differently from what was written"
            hint = "write it to a file instead: name a path with {ledger}"
            raise BundleError(message, hint=hint, code="not-verified")
        yield schema.commit, schema.remove


def ledger_in(address: str) -> Ledger:
    """Open a ledger in a schema; a long one is copied to a private file, which goes with it."""
    schema, folder = Schema(address), PrivateFolder()
    path = folder.path / "ledger.parquet"
    with closing(schema.server):
        relations = schema.relations()
        description, described = schema.texts(LEDGER, relations)
        with raising(damaged(LEDGER, "does not describe one ledger"), on=(pa.ArrowException, ValueError)):
            columns = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(described)))
        rows = schema.rows(ENTRIES, columns, relations.get(ENTRIES))
        columns = columns.with_metadata({KEY: description})
        with private_file(path) as file:
            write_rows(columns, (pa.Table.from_batches([batch], columns) for batch in rows), file)
    return opened_ledger(path, schema.name, folder)


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"_{_kind(kind.value_type)}"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamptz"
    if pa.types.is_decimal(kind):
        return "numeric"
    return "time" if pa.types.is_time(kind) else _KINDS.get(str(kind).removeprefix("large_"), "bytea")
