"""The state file: one SQLite database with everything a stream must not lose.

    meta      parameters, seed, last error, whether the stream is closed
    streams   per stream: the publisher's state, numbers for its operator, how many slots were published
    files     every file of the inbox that was dealt with: name, size, digest, what became of it
    outbox    slots that are final and not yet known to stand in their folder

Every row carries the digest of what it holds, its seal, and `meta` that of all seals together: a row that is
changed, lost or added by anything but a transaction of ours is noticed before it is used.

It is private: it holds records. Only its owner may read it, and what is deleted is overwritten.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from timeveil.errors import BundleError, TimeveilError
from timeveil.folder.writing import sync_folder
from timeveil.service.trouble import damaged, said_plainly, sqlite_plainly

APPLICATION = 0x74765354
VERSION = 2
_TABLES = """
create table meta (key text primary key, value text) without rowid;
create table streams (
    id integer primary key, name text unique not null, state blob not null, facts text not null,
    published integer not null default 0, last_published text, seal text not null default ''
);
create table files (
    name text primary key, size integer not null, changed_at integer not null, sha256 text not null,
    rows integer not null, outcome text not null, note text, seal text not null default ''
) without rowid;
create index files_by_content on files (sha256);
create table outbox (
    stream integer not null, slot integer not null, label text not null, manifest text not null,
    tables blob not null, seal text not null default '', primary key (stream, slot)
) without rowid;
"""
_HOLDS = {
    "streams": "id, name, state, facts, published, last_published",
    "files": "name, size, changed_at, sha256, rows, outcome, note",
    "outbox": "stream, slot, label, manifest, tables",
}
_MODULUS = 1 << 256
_VALUES_OF_STREAMS = "select json_extract(facts, '$.values') from streams"


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file of the inbox as it was when it was dealt with; `outcome` is taken, copy, changed or bad."""

    name: str
    size: int
    changed_at: int
    sha256: str
    rows: int = 0
    outcome: str = "taken"
    note: str | None = None


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """A stream as it was last committed. `facts` are private numbers for the operator."""

    id: int
    name: str
    state: bytes
    facts: dict[str, Any]
    published: int
    last_published: str | None


@dataclass(frozen=True, slots=True)
class Pending:
    """A final slot on its way to its folder."""

    stream: int
    name: str
    slot: int
    label: str | int
    manifest: dict[str, Any]
    tables: bytes


class Store:
    """An open state file. Everything that changes it happens inside `transaction`."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self._file = self._its_file()
        with sqlite_plainly(path.name):
            self._base = sqlite3.connect(self.path.as_uri() + "?mode=rw", uri=True, isolation_level=None)
            self._prepare()
            self._seals = self._checked()
            self._revision = self.meta("revision") or 0

    def _prepare(self) -> None:
        """Look at what it is before anything is changed."""
        self._base.execute("pragma busy_timeout = 5000")
        found = self._base.execute("pragma application_id").fetchone()[0]
        version = self._base.execute("pragma user_version").fetchone()[0]
        sound = self._base.execute("pragma quick_check(1)").fetchone()[0] == "ok"
        if found != APPLICATION or version != VERSION or not sound:
            self._base.close()
            raise damaged(self.path.name)
        for pragma in ("journal_mode = wal", "synchronous = full", "secure_delete = on"):
            self._base.execute(f"pragma {pragma}")

    def _checked(self) -> int:
        """The sum of all seals, after looking at every row as it is at one moment."""
        self._base.execute("begin")
        total, sound = 0, True
        for table, holds in _HOLDS.items():
            for *content, seal in self._base.execute(f"select {holds}, seal from {table}"):  # noqa: S608
                sound = sound and seal == _seal(table, *content)
                total += int(seal, 16) if sound else 0
        kept = self._base.execute("select value from meta where key = 'seal'").fetchone()
        sound = sound and kept is not None and kept[0] == _seal_of_all(self._base, total % _MODULUS)
        self._base.execute("rollback")
        if not sound:
            self._base.close()
            raise damaged(self.path.name)
        return total % _MODULUS

    def close(self) -> None:
        """Bring everything into the one file."""
        with sqlite_plainly(self.path.name):
            self._base.close()

    def _its_file(self) -> tuple[int, int]:
        """Which file it is. Under two names it would have two locks and two write-ahead logs."""
        with said_plainly(self.path.name):
            found = self.path.stat()
        if found.st_nlink > 1:
            raise BundleError(
                f"`{self.path.name}` is one file with {found.st_nlink} names (hard links), and under each "
                "of them a publisher could be at work",
                hint="take the other names away; a copy or a symbolic link is fine",
                code="state-locked",
            )
        return found.st_dev, found.st_ino

    def _refuse_changed(self) -> None:
        """What is in memory follows from what was stored last, by nobody but us."""
        if self._its_file() == self._file and (self.meta("revision") or 0) == self._revision:
            return
        raise BundleError(
            f"`{self.path.name}` was changed by somebody else since this publisher began",
            hint="see that no other publisher or program writes to it, then start again",
            code="state-locked",
        )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, and on the disk when it ends."""
        with sqlite_plainly(self.path.name):
            self._base.execute("begin immediate")
            before = self._seals
            try:
                self._refuse_changed()
                yield
                self.set_meta("revision", self._revision + 1)
                self._run(
                    "insert or replace into meta values ('seal', ?)", _seal_of_all(self._base, self._seals)
                )
                self._base.execute("commit")
                self._revision += 1
            except BaseException:
                self._seals = before
                if self._base.in_transaction:
                    self._base.execute("rollback")
                raise

    def meta(self, key: str) -> Any:
        """A value by its key, None if there is none."""
        found = self._one("select value from meta where key = ?", key)
        return None if found is None else json.loads(found[0])

    def set_meta(self, key: str, value: Any) -> None:
        """Keep a plain value."""
        self._run("insert or replace into meta values (?, ?)", key, json.dumps(value))

    def note_error(self, error: TimeveilError | None) -> None:
        """Keep what went wrong last, for the operator; as well as a disk in trouble allows."""
        told = None
        if error is not None:
            told = {"at": now(), "code": error.code, "message": error.message, "hint": error.hint}
        try:
            with self.transaction():
                self.set_meta("last_error", told)
        except BundleError:
            return

    def stream(self, name: str) -> StreamRecord | None:
        """A stream by the value that tells it apart."""
        found = self._one(f"select {_HOLDS['streams']} from streams where name = ?", name)  # noqa: S608
        return None if found is None else _stream(found)

    def streams(self) -> list[StreamRecord]:
        """Every stream, by name, without its state."""
        wanted = "select id, name, x'', facts, published, last_published from streams order by name"
        return [_stream(row) for row in self._all(wanted)]

    def put_stream(self, name: str, state: bytes, facts: dict[str, Any]) -> int:
        """Keep the state of a stream; returns its number."""
        self._change(
            ("streams", "name = ?", (name,)),
            "insert into streams (name, state, facts) values (?, ?, ?) on conflict (name) "
            "do update set state = excluded.state, facts = excluded.facts",
            name,
            state,
            json.dumps(facts),
        )
        return int(self._one("select id from streams where name = ?", name)[0])

    def file(self, name: str) -> FileRecord | None:
        """What became of a file."""
        found = self._one(f"select {_HOLDS['files']} from files where name = ?", name)  # noqa: S608
        return None if found is None else FileRecord(*found)

    def taken_content(self, sha256: str) -> str | None:
        """Name of a file of this content that was taken, and that had any rows."""
        wanted = (
            "select name from files where sha256 = ? and rows and outcome in ('taken', 'changed') limit 1"
        )
        found = self._one(wanted, sha256)
        return None if found is None else str(found[0])

    def put_file(self, record: FileRecord) -> None:
        """Keep what became of a file."""
        self._change(
            ("files", "name = ?", (record.name,)),
            "insert or replace into files values (?, ?, ?, ?, ?, ?, ?, '')",
            record.name,
            record.size,
            record.changed_at,
            record.sha256,
            record.rows,
            record.outcome,
            record.note,
        )

    def outcomes(self) -> dict[str, int]:
        """How many files came to what."""
        return dict(self._all("select outcome, count(*) from files group by outcome"))

    def add_pending(self, stream: int, slot: int, label: str | int, manifest: Any, tables: bytes) -> None:
        """A slot is final and must be published."""
        self._change(
            ("outbox", "stream = ? and slot = ?", (stream, slot)),
            "insert into outbox values (?, ?, ?, ?, ?, '')",
            stream,
            slot,
            json.dumps(label),
            json.dumps(manifest),
            tables,
        )

    def pending(self, least_values: int = 0) -> Pending | None:
        """The next slot to publish, of a stream that so many values have come in."""
        found = self._one(
            "select stream, name, slot, label, manifest, tables from outbox join streams on id = stream "
            "where json_extract(facts, '$.values') >= ? order by stream, slot limit 1",
            least_values,
        )
        if found is None:
            return None
        stream, name, slot, label, manifest, tables = found
        return Pending(stream, name, slot, json.loads(label), json.loads(manifest), tables)

    def values(self) -> list[int]:
        """How many sensitive values have come in each stream that has any record."""
        return [int(row[0]) for row in self._all(_VALUES_OF_STREAMS) if row[0]]

    def pending_by_stream(self) -> dict[int, int]:
        """How many slots of each stream are final and not yet known to stand in their folder."""
        return dict(self._all("select stream, count(*) from outbox group by stream"))

    def mark_published(self, pending: Pending) -> None:
        """A slot stands in its folder."""
        self._change(
            ("outbox", "stream = ? and slot = ?", (pending.stream, pending.slot)),
            "delete from outbox where stream = ? and slot = ?",
            pending.stream,
            pending.slot,
        )
        self._change(
            ("streams", "id = ?", (pending.stream,)),
            "update streams set published = published + 1, last_published = ? where id = ?",
            str(pending.label),
            pending.stream,
        )

    def _change(self, row: tuple[str, str, tuple[Any, ...]], command: str, *values: Any) -> None:
        """Change one row, named by table, condition and key, and seal it anew."""
        table, where, key = row
        old = self._one(f"select seal from {table} where {where}", *key)  # noqa: S608
        self._run(command, *values)
        new = self._one(f"select {_HOLDS[table]} from {table} where {where}", *key)  # noqa: S608
        seal = "0" if new is None else _seal(table, *new)
        self._run(f"update {table} set seal = ? where {where}", seal, *key)  # noqa: S608
        self._seals = (self._seals + int(seal, 16) - int("0" if old is None else old[0], 16)) % _MODULUS

    def _run(self, command: str, *values: Any) -> None:
        with sqlite_plainly(self.path.name):
            self._base.execute(command, values)

    def _one(self, query: str, *values: Any) -> Any:
        with sqlite_plainly(self.path.name):
            return self._base.execute(query, values).fetchone()

    def _all(self, query: str) -> list[Any]:
        with sqlite_plainly(self.path.name):
            return self._base.execute(query).fetchall()


def make_store(path: Path, parameters: dict[str, Any], seed: int) -> None:
    """A new state file that only its owner may read; it appears whole or not at all."""
    hidden = path.with_name(f".{path.name}.partial")
    if path.with_name(f"{path.name}-wal").exists():  # the rest of a state file whose main part is gone
        raise damaged(path.name)
    with said_plainly(path.name):
        hidden.unlink(missing_ok=True)
        os.close(os.open(hidden, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with sqlite_plainly(path.name):
        base = sqlite3.connect(hidden, isolation_level=None)
        try:
            base.execute("pragma journal_mode = memory")  # leaves no file behind if it is cut short
            base.execute("pragma synchronous = full")
            base.executescript(f"begin; {_TABLES} commit;")
            known = {"parameters": parameters, "seed": str(seed), "made": now(), "closed": False}
            for key, value in known.items():
                base.execute("insert into meta values (?, ?)", (key, json.dumps(value)))
            base.execute("insert into meta values ('seal', ?)", (_seal_of_all(base, 0),))
            base.execute(f"pragma user_version = {VERSION}")
            base.execute(f"pragma application_id = {APPLICATION}")
        finally:
            base.close()
    with said_plainly(path.name):
        hidden.rename(path)
        sync_folder(path.absolute().parent)


def _seal(*content: Any) -> str:
    """The digest of a row."""
    digest = hashlib.sha256()
    for value in content:
        part = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _seal_of_all(base: sqlite3.Connection, seals: int) -> str:
    """The digest of `meta` and of the sum of all seals."""
    told = base.execute("select key, value from meta where key <> 'seal' order by key").fetchall()
    return _seal(seals, *(part for row in told for part in row))


def now() -> str:
    """The time, for an operator."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _stream(row: Any) -> StreamRecord:
    number, name, state, facts, published, last = row
    return StreamRecord(number, name, state, json.loads(facts), published, last)
