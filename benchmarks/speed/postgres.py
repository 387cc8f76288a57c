"""Counting inside PostgreSQL against one `count(distinct)` by day there, and reading against the bare driver.

Claims: counting people under fifteen granularities takes at most three times what the server takes to count
them under one, and reading a table or writing one takes at most 1.5 times as long as the driver alone.
Writing a release also hashes, reads back and verifies it, which is timed beside it.

Seconds of counting are those of the server's process, so that other work on the machine counts less;
reading and writing are timed by the clock. The server runs a statement in one process for that. Runs
alternate, and the fastest of each counts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.postgres import database

import timeveil as tv
from benchmarks.speed.whole_catalogue import DUCKDB_GRANULES, ROLES, K, make
from timeveil.calendar.catalogue import resolve
from timeveil.calendar.timeline import Timeline, base_for
from timeveil.engines import open_events
from timeveil.folder.in_database import Schema
from timeveil.folder.manifest import written_schema
from timeveil.folder.tables import written_rows
from timeveil.reading.database import DatabaseTable
from timeveil.reading.in_place import ServerRows, read_in_place

ONE = """SELECT count(*) AS n, min(people) AS m FROM (SELECT zip, sex, date_trunc('day', happened_at) AS day,
    count(DISTINCT person) AS people FROM {} GROUP BY 1, 2, 3) AS g"""


def run(rows: int, repeat: int) -> dict[str, float]:
    """Seconds of the processor by what they were spent on."""
    table = make(rows)
    address = database().load(table)
    name = address.partition("#")[2]
    database().run(f"ANALYZE {name}")
    seconds: dict[str, list[float]] = {}
    for _ in range(repeat):
        relation = read_in_place(address, ROLES, "postgres")
        assert isinstance(relation.data, ServerRows)
        server = relation.data.server
        server.run("SET max_parallel_workers_per_gather = 0")
        (process,) = server.row("SELECT pg_backend_pid() AS pid")
        events = open_events("postgres", relation)
        granularities = resolve(list(DUCKDB_GRANULES), relation.clock)
        ticks = base_for(relation.clock, granularities, *events.extent())

        def count() -> None:
            timeline = Timeline(relation.clock, ticks, events.observe(ticks))  # noqa: B023
            events.tally(timeline, granularities, {}, K)  # noqa: B023

        def read() -> pa.Table:
            source = DatabaseTable(address)
            return pa.concat_tables(source.batches(source.names))

        def read_bare() -> pa.Table:
            with database().connect() as connection, connection.cursor() as cursor:
                cursor.execute(f"SELECT * FROM {name}")
                return cursor.fetch_arrow_table()

        def write_bare() -> None:
            with database().connect() as connection, connection.cursor() as cursor:
                cursor.adbc_ingest("bare_copy", table, mode="create")

        def write() -> None:
            schema = Schema(f"{database().uri}#copied", reads_only=False)
            schema.prepare()
            columns = written_schema(table.schema)
            schema.create("data", columns, written_rows(table.to_batches(), columns))
            schema.commit()
            schema.server.close()

        works: dict[str, tuple[Callable[[], Any], Callable[[], float]]] = {
            "one count(distinct)": (lambda: server.row(ONE.format(name)), lambda: of_process(process)),  # noqa: B023
            "fifteen granularities": (count, lambda: of_process(process)),  # noqa: B023
            "bare transfer": (read_bare, time.perf_counter),
            "read": (read, time.perf_counter),
            "bare write": (write_bare, time.perf_counter),
            "write": (write, time.perf_counter),
        }
        for what, (work, clock) in works.items():
            begin = clock()
            work()
            seconds.setdefault(what, []).append(clock() - begin)
        database().run("DROP TABLE bare_copy", "DROP SCHEMA copied CASCADE")
        begin = time.perf_counter()
        release, _ = tv.generalize_time(
            address, ROLES, K, granularities=list(DUCKDB_GRANULES), suppress=0.05, engine="postgres"
        )
        seconds.setdefault("whole call, by the clock", []).append(time.perf_counter() - begin)
        assert release.manifest["counts"]["rows"] > 0
        begin = time.perf_counter()
        tv.write(release, f"{database().uri}#benchmark")
        seconds.setdefault("whole release written and verified", []).append(time.perf_counter() - begin)
        database().run("DROP SCHEMA benchmark CASCADE")
    return {what: min(runs) for what, runs in seconds.items()}


def of_process(process: int) -> float:
    """Seconds of the processor that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def table(rows: int, results: dict[str, float]) -> str:
    """The numbers as text."""
    lines = [f"PostgreSQL, {rows:,} rows, 15 granularities, 2 quasi-identifiers"]
    lines += [f"{what:>34} {seconds:>8.2f}s" for what, seconds in results.items()]
    counted = results["fifteen granularities"] / results["one count(distinct)"]
    read = results["read"] / results["bare transfer"]
    written = results["write"] / results["bare write"]
    lines.append(f"fifteen / one = {counted:.2f}, read / bare = {read:.2f}, write / bare = {written:.2f}")
    return "\n".join(lines)
