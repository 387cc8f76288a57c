"""What databases spell in their own ways, for the one text of SQL in `sql`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """What databases spell in their own ways; `{}` stands for operands, names and queries."""

    same: str
    """Equal, or both null, in a form that is joined by hashing."""
    seconds: str
    """Whole seconds since 1970 of a timestamp, rounded down."""
    by_bytes: str
    """A text of a lookup table that is compared by its bytes."""
    table: tuple[str, ...]
    """Make a temporary table of the rows of a query: name and query."""
    view: tuple[str, ...]
    """Make a temporary view."""


POSTGRESQL = Dialect(
    same="(coalesce(CAST({0} AS text), '') COLLATE \"C\" = coalesce(CAST({1} AS text), '') COLLATE \"C\""
    " AND ({0} IS NULL) = ({1} IS NULL))",
    seconds="CAST(date_part('epoch', date_trunc('second', {0})) AS BIGINT)",
    by_bytes='({0} COLLATE "C")',
    table=("DROP TABLE IF EXISTS pg_temp.{0} CASCADE", "CREATE TEMPORARY TABLE {0} AS {1}", "ANALYZE {0}"),
    view=("DROP VIEW IF EXISTS pg_temp.{0} CASCADE", "CREATE TEMPORARY VIEW {0} AS {1}"),
)
DUCKDB = Dialect(
    same="({0} IS NOT DISTINCT FROM {1})",
    seconds=POSTGRESQL.seconds,
    by_bytes="{0}",
    table=("CREATE OR REPLACE TEMPORARY TABLE {0} AS {1}",),
    view=("CREATE OR REPLACE TEMPORARY VIEW {0} AS {1}",),
)
