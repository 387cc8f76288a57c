"""How the suite runs an engine: PostgreSQL and Spark on tables that were loaded there, and a quick double.

The double runs the same text of SQL in DuckDB, in its dialect, so that most faults of a statement are found
without a server.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.postgres import database
from tests.spark import frame

import timeveil as tv
from timeveil.domain.relation import Relation
from timeveil.domain.release import decode_dictionaries
from timeveil.domain.stored import Stored
from timeveil.engines.duckdb import DuckDBSession
from timeveil.engines.sql import SqlEvents, aliases

DOUBLE = "double"
OWN_ORDER = "row"  # a table in a database has no first row


def open_double(engine: str, relation: Relation, memory_limit: str | None = None) -> SqlEvents:
    roles, session = relation.roles, DuckDBSession()
    columns = [roles.respondent, roles.time, *roles.published]
    table = decode_dictionaries(relation.table.select(columns))
    table = table.rename_columns(["person", "time", *aliases(roles).values()])
    session.upload("every_row", table.append_column("row", pa.array(range(table.num_rows))))
    return SqlEvents(relation, session)


def generalized(engine: str, table: Any, roles: tv.Roles, k: int, **options: Any) -> Any:
    if engine != DOUBLE:
        return tv.generalize_time(table, roles, k, engine=engine, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("timeveil.models.events.method.generalize.open_events", open_double)
        return tv.generalize_time(table, roles, k, **options)


def groups_of(ledger: tv.Ledger) -> list[list[str]]:
    """The partition of the rows, whatever their order, and the withheld ones as a group of their own."""
    found: dict[object, list[str]] = {}
    rows = ledger.original.data.read() if isinstance(ledger.original.data, Stored) else ledger.original.data
    for entry, row in zip(ledger.table.to_pylist(), decode_dictionaries(rows).to_pylist(), strict=True):
        found.setdefault(entry["group"], []).append(repr(row))
    return sorted(sorted(rows) for rows in found.values())


def outcome_of(engine: str, table: Any, roles: tv.Roles, k: int, **options: Any) -> Any:
    """What a run comes to: what it publishes and what it notes, or why it is refused."""
    try:
        release, ledger = generalized(engine, table, roles, k, **options)
    except tv.TimeveilError as error:
        facts = {name: fact for name, fact in error.facts.items() if name != OWN_ORDER}
        return type(error), error.code, facts
    assert release.table.schema.remove_metadata().names == release.table.column_names
    assert tv.verify(release, ledger)
    return release.manifest, release.table.to_pylist(), groups_of(ledger), ledger.facts


def assert_agree(table: Any, roles: tv.Roles, k: int, engine: str, **options: Any) -> Any:
    """Same manifest, same rows in the same order, same groups, or the same refusal, as in memory."""
    if engine == "postgres":
        table = database().load(table)
    expected = outcome_of("memory", table, roles, k, **options)
    there = frame(table) if engine == "spark" else table
    assert outcome_of(engine, there, roles, k, **options) == expected
    return expected
