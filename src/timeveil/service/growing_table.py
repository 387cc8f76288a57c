"""A table of PostgreSQL that grows as source, and a table of slots as sink: `postgresql://host/database#table`.

Rows are read by their primary key, a whole number that increases. Where two transactions insert at once, a
key can show after a larger one. So the largest key is looked at first, then who is writing to the table, and
keys up to it are read once all of those are done. Reading needs no right besides SELECT.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import SplitResult

from timeveil.errors import EngineError, TimeveilError, raising
from timeveil.reading.database import address_of, connect, text
from timeveil.service.ports import BATCH, MOST_BYTES, PART, Batch, Sent, absent, away, refused

_LOOK = 0.2  # seconds between two looks
_KEY = """SELECT attname, atttypid::regtype::text FROM pg_index JOIN pg_attribute
ON attrelid = indrelid AND attnum = indkey[0]
WHERE indrelid = to_regclass($1) AND indisprimary AND indnatts = 1"""
_WRITERS = """SELECT virtualtransaction FROM pg_locks WHERE relation = to_regclass($1)
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND granted AND pid <> pg_backend_pid()
AND mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')"""


class _Connection:
    def __init__(self, address: str, _parts: SplitResult) -> None:
        self._address, self.table = address_of(address)
        self._connection: Any = None

    def run(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a query; what goes wrong is one of our errors, and closes the connection."""
        try:
            with raising(_failure, on=Exception):
                if self._connection is None:
                    self._connection = connect(self._address, autocommit=True)
                    self.opened()
                with self._connection.cursor() as cursor:
                    cursor.execute(query, values or None)
                    return list(cursor.fetchall()) if cursor.description else []
        except TimeveilError:
            self.close()
            raise

    def opened(self) -> None:
        """Look at the table once."""

    def close(self) -> None:
        if self._connection is not None:
            with suppress(Exception):
                self._connection.close()
            self._connection = None


def _failure(cause: Exception) -> TimeveilError:
    if isinstance(cause, TimeveilError) and cause.code != "database-failed":
        return cause
    state = getattr(cause, "sqlstate", None) or ""
    if state.startswith("28") or state == "42501":
        return refused()
    return absent("table") if state in ("42P01", "3F000", "3D000") else away()


class Records(_Connection):
    """The rows of a table by their key, each as JSON."""

    _key = ""
    _bound: tuple[int, set[str]] | None = None
    _limit = PART  # rows of the next page: twice as many as fitted last, as the server makes each row's text

    def opened(self) -> None:
        self.run("SET TIME ZONE 'UTC'")
        if not self.run("SELECT 1 WHERE to_regclass($1) IS NOT NULL", self.table):
            raise absent("table")
        rows = self.run(_KEY, self.table)
        if not rows or rows[0][1] not in ("smallint", "integer", "bigint"):
            message = "the table has no primary key of one whole number"
            hint = "add one: ALTER TABLE ... ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
            raise EngineError(message, hint=hint)
        self._key = '"' + str(rows[0][0]).replace('"', '""') + '"'

    def fetch(self, position: Any, wait: float) -> Batch:
        deadline = time.monotonic() + wait
        while True:
            batch = self._fetch(-(2**63) if position is None else int(position))
            left = deadline - time.monotonic()
            if batch.payloads or left <= 0:
                return batch if batch.payloads else batch._replace(position=position)
            time.sleep(min(left, _LOOK))

    def _fetch(self, position: int) -> Batch:
        if self._connection is None:
            self._bound = None
            self.run("SELECT 1")
        if self._bound is None or self._bound[0] <= position:
            ((largest,),) = self.run(f"SELECT max({self._key}) FROM {self.table}")
            if largest is None or largest <= position:
                return Batch([], [], position, 0)
            self._bound = largest, self._writers()
        largest, writers = self._bound
        if writers and writers & self._writers():
            return Batch([], [], position, None)
        self._bound = largest, set()
        rows = self.run(
            "SELECT key, record FROM (SELECT key, record, sum(octet_length(record)) OVER (ORDER BY key ROWS "
            "BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM "
            f"(SELECT {self._key} AS key, row_to_json(t)::text AS record FROM {self.table} AS t "
            f"WHERE {self._key} > $1 AND {self._key} <= $2 ORDER BY 1 LIMIT {self._limit}) AS page) AS sized "
            f"WHERE before IS NULL OR before < {MOST_BYTES} ORDER BY key",
            *(position, largest),
        )
        keys = [int(key) for key, _ in rows]
        self._limit = min(max(2 * len(keys), PART), BATCH)
        behind = 0
        if keys and keys[-1] < largest:
            behind = self.run(f"SELECT count(*) FROM {self.table} WHERE {self._key} > $1", keys[-1])[0][0]
        payloads = [row.encode() for _, row in rows]
        return Batch(payloads, list(map(str, keys)), keys[-1] if keys else largest, behind)

    def _writers(self) -> set[str]:
        return {str(writer) for (writer,) in self.run(_WRITERS, self.table)}


class Slots(_Connection):
    """Slots as rows of a table, which is made if there is none."""

    def opened(self) -> None:
        self.run(
            f"CREATE TABLE IF NOT EXISTS {self.table} (stream text, slot text, number bigint NOT NULL, "
            "digest text NOT NULL, release text NOT NULL, "
            "PRIMARY KEY (stream, slot), UNIQUE (stream, number))"
        )

    def last(self, stream: str) -> Sent | None:
        query = f"SELECT slot, digest, number FROM {self.table} WHERE stream = {text(stream)}"
        rows = self.run(f"{query} ORDER BY number DESC LIMIT 1")
        return Sent(*rows[0]) if rows else None

    def send(self, stream: str, slots: Sequence[tuple[Sent, bytes]], after: Sent | None) -> list[int]:
        number = 0 if after is None else int(after.at)
        for sent, payload in slots:
            number += 1
            values = (stream, sent.slot, number, sent.digest, payload.decode())
            self.run(f"INSERT INTO {self.table} VALUES ($1, $2, $3, $4, $5)", *values)
        return list(range(number - len(slots) + 1, number + 1))
