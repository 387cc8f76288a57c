"""The state file: one SQLite database with everything a stream must not lose.

    meta      parameters, seed, last error, whether the stream is closed, the last slot's digest by stream
    streams   per stream: the publisher's state, numbers for its operator, how many slots were published
    files     every file of the inbox that was dealt with: name, size, digest, what became of it
    outbox    slots that are final and not yet known to be in their folder
    held      records of a broker whose slot is still open
    rejected  records of a broker on their way to the quarantine

It is private, because it holds records: only its owner may read it, and what is deleted is overwritten.
SQLite checks its integrity when it is opened. Files of version 2 also have a column `seal`, which is ignored;
those before version 4 get the tables for records of a broker when a publisher opens them.
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from timeveil.domain.stored import lock_or_fail
from timeveil.errors import BundleError, InternalError, TimeveilError, raising, spell
from timeveil.reading.files import sync_folder, translate_os_errors

APPLICATION = 0x74765354
VERSION = 4
READABLE = (2, 3, 4)
SPARE_BYTES = 1 << 20
MOST_BYTES = 1 << 22  # of slots that are published together
_PRAGMAS = ("journal_mode = wal", "synchronous = full", "secure_delete = on", "temp_store = memory")
_TABLES = """
create table meta (key text primary key, value text) without rowid;
create table streams (
    id integer primary key, name text unique not null, state blob not null, facts text not null,
    published integer not null default 0, last_published text
);
create table files (
    name text primary key, size integer not null, changed_at integer not null, sha256 text not null,
    rows integer not null, outcome text not null, note text
) without rowid;
create index files_by_content on files (sha256);
create table outbox (
    stream integer not null, slot integer not null, label text not null, manifest text not null,
    tables blob not null, primary key (stream, slot)
) without rowid;
"""


_FEED_TABLES = """
create table if not exists held (id integer primary key, slot integer not null, name text not null, raw blob);
create index if not exists held_by_slot on held (slot);
create table if not exists rejected (id integer primary key, name text not null, raw blob, reason text);
"""


class FileRecord(NamedTuple):
    """A file of the inbox as it was when it was dealt with; `outcome` is taken, copy, changed or bad."""

    name: str
    size: int
    changed_at: int
    sha256: str
    rows: int = 0
    outcome: str = "taken"
    note: str | None = None


class StreamRecord(NamedTuple):
    """A stream as it was last committed. `facts` are private numbers for the operator.

    `digest` is that of the manifest of the last slot; None before the first, and where a version before this
    one published it.
    """

    id: int
    name: str
    facts: dict[str, Any]
    published: int
    last_published: str | None
    digest: str | None


class Pending(NamedTuple):
    """A final slot on its way to its folder."""

    stream: int
    name: str
    slot: int
    label: str | int
    manifest: dict[str, Any]
    tables: bytes


class StateFile:
    """An open state file. Everything that changes it happens inside `transaction`."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        # By device and inode: the same path may later be another file, such as a restored copy.
        self._file = self._identity()
        with sqlite_errors(path.name):
            self._base = sqlite3.connect(self.path.as_uri() + "?mode=rw", uri=True, isolation_level=None)
            application, self._version, integrity = (
                self._base.execute(f"pragma {name}").fetchone()[0]
                for name in ("application_id", "user_version", "quick_check(1)")
            )
            # Checked before anything is changed.
            if application != APPLICATION or self._version not in READABLE or integrity != "ok":
                self._base.close()
                raise damaged(path.name)
            # Readers do not block the writer, commits are on the disk, and deleted records are overwritten.
            # What is rearranged stays in memory, as no private record may go to another folder.
            for pragma in _PRAGMAS:
                self._base.execute(f"pragma {pragma}")
        self._revision = self.meta("revision") or 0
        if self.meta("parameters") is None or self.meta("seed") is None:
            self._base.close()
            raise damaged(path.name)

    def close(self) -> None:
        with sqlite_errors(self.path.name):
            self._base.close()

    def _identity(self) -> tuple[int, int]:
        """Which file it is. Under two names it would have two locks and two write-ahead logs."""
        with translate_os_errors(self.path.name):
            stat = self.path.stat()
        if not stat.st_size:  # opening it would delete the write-ahead log, which may have all of it
            raise damaged(self.path.name)
        if stat.st_nlink > 1:
            names = f"{stat.st_nlink} names (hard links)"
            hint = "remove the other names; a copy or a symbolic link is fine"
            raise _locked(f"`{self.path.name}` has {names}: each could have a publisher", hint)
        return stat.st_dev, stat.st_ino

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, and on the disk when it ends."""
        with sqlite_errors(self.path.name):
            # The write lock at once: a later upgrade could fail after half of the work.
            self._base.execute("begin immediate")
            try:
                # What is in memory follows from what was committed last, by this process only.
                if self._identity() != self._file or (self.meta("revision") or 0) != self._revision:
                    change = "was changed by another program since this publisher started"
                    hint = "make sure that no other publisher or program writes to it, then start again"
                    raise _locked(f"`{self.path.name}` {change}", hint)
                yield
                # In the same transaction as the change, so that both or neither are on the disk.
                self.set_meta("revision", self._revision + 1)
                if self._version != VERSION:
                    self._base.execute(f"pragma user_version = {VERSION}")
                self._base.execute("commit")
                self._revision, self._version = self._revision + 1, VERSION
            except BaseException:
                if self._base.in_transaction:
                    self._base.execute("rollback")
                raise

    def upgrade(self) -> None:
        """Bring a file of an earlier version to this one, whole or not at all."""
        if self._version != VERSION:
            with self.transaction():
                for command in filter(str.strip, _FEED_TABLES.split(";")):
                    self._rows(command)

    def shrink(self) -> None:
        """Give back the room of a large slot, once most of the file is empty; not while somebody reads it."""
        names = ("page_count", "freelist_count", "page_size")
        pages, empty, size = (self._value(f"pragma {name}") for name in names)
        if empty * size > SPARE_BYTES and 2 * empty > pages:
            with suppress(BundleError):
                self._rows("vacuum")
                self._rows("pragma wal_checkpoint(truncate)")

    def meta(self, key: str) -> Any:
        text = self._value("select value from meta where key = ?", key)
        return None if text is None else self._json(text)

    def set_meta(self, key: str, value: Any) -> None:
        self._rows("insert or replace into meta values (?, ?)", key, json.dumps(value))

    def note_error(self, error: Exception | None) -> None:
        """Keep the last error for the operator; as well as a disk in trouble allows."""
        note = None
        if error is not None:
            if not isinstance(error, TimeveilError):  # its text could carry data
                hint = "start again; if it happens again, please report it with the output of the command"
                error = InternalError(f"an unexpected error ({type(error).__name__})", hint=hint)
            hint = spell(error.template, "command")
            note = {"at": now(), "code": error.code, "message": error.message, "hint": hint}
        # The error that is being noted matters more than a failure to note it.
        with suppress(BundleError), self.transaction():
            self.set_meta("last_error", note)

    def state(self, name: str) -> bytes | None:
        state: bytes | None = self._value("select state from streams where name = ?", name)
        return state

    def streams(self, number: int | None = None) -> list[StreamRecord]:
        rows = self._rows(
            "select id, name, facts, published, last_published, json_extract(value, '$') from streams "
            "left join meta on key = 'digest ' || id where id = coalesce(?, id) order by name",
            number,
        )
        records = map(StreamRecord._make, rows)
        return [record._replace(facts=self._json(record.facts)) for record in records]

    def put_stream(self, name: str, state: bytes, facts: dict[str, Any]) -> int:
        """Keep the state of a stream; its number."""
        command = """insert into streams (name, state, facts) values (?, ?, ?) on conflict (name)
        do update set state = excluded.state, facts = excluded.facts returning id"""
        return int(self._value(command, name, state, json.dumps(facts)))

    def looks(self) -> dict[str, tuple[str, int, int]]:
        """Names, sizes and times of the files that were taken, or are copies of one that was."""
        query = "select name, size, changed_at from files where outcome in ('taken', 'copy')"
        return {look[0]: look for look in self._rows(query)}

    def file(self, name: str) -> FileRecord | None:
        query = "select name, size, changed_at, sha256, rows, outcome, note from files where name = ?"
        rows = self._rows(query, name)
        return FileRecord(*rows[0]) if rows else None

    def name_of_content(self, sha256: str) -> str | None:
        """Name of a file of this content that was taken and had any rows."""
        query = "select name from files where sha256 = ? and rows and outcome in ('taken', 'changed') limit 1"
        name: str | None = self._value(query, sha256)
        return name

    def put_file(self, record: FileRecord) -> None:
        self._rows(
            "insert or replace into files (name, size, changed_at, sha256, rows, outcome, note) "
            "values (?, ?, ?, ?, ?, ?, ?)",
            *record,
        )

    def outcomes(self) -> dict[str, int]:
        return dict(self._rows("select outcome, count(*) from files group by outcome"))

    def add_pending(self, stream: int, slot: int, label: str | int, manifest: Any, tables: bytes) -> None:
        command = "insert into outbox (stream, slot, label, manifest, tables) values (?, ?, ?, ?, ?)"
        self._rows(command, stream, slot, json.dumps(label), json.dumps(manifest), tables)

    def pending(self, most: int, least_values: int = 0, stream: int | None = None) -> list[Pending]:
        """The next slots of one stream: of this, or of the first with at least this many values so far."""
        query = """select stream, name, slot, label, manifest, tables from outbox join streams on id = stream
        where json_extract(facts, '$.values') >= ? and stream = coalesce(?, stream)
        order by stream, slot limit ?"""
        found, size = list[Pending](), 0
        with sqlite_errors(self.path.name):
            for slot in map(Pending._make, self._base.execute(query, (least_values, stream, most))):
                size += len(slot.tables)
                if found and (slot.stream != found[0].stream or size > MOST_BYTES):
                    break
                found.append(slot._replace(label=self._json(slot.label), manifest=self._json(slot.manifest)))
        return found

    def pending_by_stream(self) -> dict[int, int]:
        return dict(self._rows("select stream, count(*) from outbox group by stream"))

    def mark_published(self, pending: Sequence[Pending], sha256: str) -> None:
        """The next slots of a stream are where they belong; the digest is that of the last."""
        last = pending[-1]
        self._rows("delete from outbox where stream = ? and slot <= ?", last.stream, last.slot)
        command = "update streams set published = published + ?, last_published = ? where id = ?"
        self._rows(command, len(pending), str(last.label), last.stream)
        self.set_meta(f"digest {last.stream}", sha256)

    def held(self) -> list[tuple[int, str, bytes]]:
        """Slot, name and content of the records whose slot is open, as they came."""
        return self._rows("select slot, name, raw from held order by id")

    def add_held(self, records: Iterable[tuple[int, str, bytes]]) -> None:
        with sqlite_errors(self.path.name):
            self._base.executemany("insert into held (slot, name, raw) values (?, ?, ?)", records)

    def drop_held(self, slot: int) -> None:
        """Forget the records of slots up to this one, which were pushed."""
        self._rows("delete from held where slot <= ?", slot)

    def rejected(self) -> list[tuple[int, str, bytes, str]]:
        return self._rows("select id, name, raw, reason from rejected order by id")

    def add_rejected(self, records: Iterable[tuple[str, bytes, str]]) -> None:
        with sqlite_errors(self.path.name):
            self._base.executemany("insert into rejected (name, raw, reason) values (?, ?, ?)", records)

    def forget_rejected(self, number: int) -> None:
        self._rows("delete from rejected where id <= ?", number)

    def _rows(self, command: str, *values: Any) -> list[Any]:
        with sqlite_errors(self.path.name):
            return self._base.execute(command, values).fetchall()

    def _value(self, query: str, *values: Any) -> Any:
        rows = self._rows(query, *values)
        return rows[0][0] if rows else None

    def _json(self, text: Any) -> Any:
        with raising(damaged(self.path.name), on=ValueError):
            return json.loads(text)


def make_state_file(path: Path, parameters: dict[str, Any], seed: int) -> None:
    """A new state file that only its owner may read; it appears complete or not at all."""
    hidden = path.with_name(f".{path.name}.partial")
    if path.with_name(f"{path.name}-wal").exists():  # what is left of a state file whose main part is gone
        raise damaged(path.name)
    with translate_os_errors(path.name):
        hidden.unlink(missing_ok=True)
        os.close(os.open(hidden, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with sqlite_errors(path.name):
        base = sqlite3.connect(hidden, isolation_level=None)
        try:
            base.execute("pragma journal_mode = memory")  # leaves no file behind if it is interrupted
            base.execute("pragma synchronous = full")
            base.executescript(f"begin; {_TABLES} {_FEED_TABLES} commit;")
            meta = {"parameters": parameters, "seed": str(seed), "made": now(), "closed": False}
            for key, value in meta.items():
                base.execute("insert into meta values (?, ?)", (key, json.dumps(value)))
            base.execute(f"pragma user_version = {VERSION}")
            # Last: a file without it was not finished, and `StateFile` refuses it.
            base.execute(f"pragma application_id = {APPLICATION}")
        finally:
            base.close()
    with translate_os_errors(path.name):
        # The name appears when the file is complete; then the folder is synced, so that the name lasts.
        hidden.rename(path)
        sync_folder(path.absolute().parent)


def now() -> str:
    """The time, for an operator."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def locked(state: Path) -> Iterator[None]:
    """One publisher at a time for each state file, until the block or the process ends.

    The lock is a file of its own next to the state file, because closing any handle of a file that SQLite has
    open would release SQLite's own locks. It is next to the file that a symbolic link leads to, so that one
    file has one lock.
    """
    state = state.resolve()
    path = state.with_name(f"{state.name}.lock")
    with translate_os_errors(path.name):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with raising(_locked(f"another publisher is using `{state.name}`"), on=OSError):
            lock_or_fail(handle)
        yield
    finally:
        os.close(handle)


def _locked(message: str, hint: str = "") -> BundleError:
    hint = hint or "stop the other one first, or use another {state} file for this stream"
    return BundleError(message, hint=hint, code="state-locked")


def sqlite_errors(name: str) -> raising:
    """Turn errors of SQLite, whose text could carry data, into ours."""
    return raising(lambda cause: _error(name, cause), on=(sqlite3.Error, UnicodeDecodeError))


def damaged(name: str) -> BundleError:
    """The file is not a state file, or not a complete one."""
    message = f"`{name}` is damaged, or is not a state file of this version"
    guide = "`Recover` in `Run a stream in service` of the documentation"
    hint = f"leave it as it is and follow {guide}; nothing was published"
    return BundleError(message, hint=hint, code="state-damaged")


def _error(name: str, cause: Exception) -> BundleError:
    match getattr(cause, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_FULL:
            hint = "free some space and start again; the stream resumes where it was"
            return BundleError(f"the disk is full: `{name}` was not changed", hint=hint, code="disk-full")
        case sqlite3.SQLITE_CANTOPEN:
            message = f"`{name}`, or a file that belongs to it, cannot be opened"
            hint = "keep it in a folder that you own, and raise the number of open files if it is low"
            return BundleError(message, hint=hint, code="no-permission")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            message = f"no permission to read and write `{name}` and to create files in its folder"
            return BundleError(message, hint="keep it in a folder that you own", code="no-permission")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return _locked(f"another program is using `{name}`")
        case sqlite3.SQLITE_IOERR:
            hint = "check that the disk is mounted, healthy and not full, and start again"
            return BundleError(f"`{name}` could not be read or written", hint=hint, code="not-written")
    return damaged(name)
