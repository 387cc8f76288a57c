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
    full_second: str
    """Whether a timestamp is of a whole second."""
    days: str
    """Days since 1970 of a date."""
    divided: str
    """A whole number divided by one that divides it."""
    row: str
    """The number of a row as the first column, if `every_row` has none and rows need one."""
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
    full_second="{0} = date_trunc('second', {0})",
    days="CAST({0} - DATE '1970-01-01' AS BIGINT)",
    divided="{0} / {1}",
    row="row_number() OVER () - 1 AS row, ",
    by_bytes='({0} COLLATE "C")',
    table=("DROP TABLE IF EXISTS pg_temp.{0} CASCADE", "CREATE TEMPORARY TABLE {0} AS {1}", "ANALYZE {0}"),
    view=("DROP VIEW IF EXISTS pg_temp.{0} CASCADE", "CREATE TEMPORARY VIEW {0} AS {1}"),
)
DUCKDB = Dialect(
    same="({0} IS NOT DISTINCT FROM {1})",
    seconds="CAST((epoch_ms({0}) - (epoch_ms({0}) % 1000 + 1000) % 1000) // 1000 AS BIGINT)",
    full_second="epoch_ms({0}) % 1000 = 0",
    days=POSTGRESQL.days,
    divided="{0} // {1}",
    row="",
    by_bytes="{0}",
    table=("CREATE OR REPLACE TABLE {0} AS {1}",),
    view=("CREATE OR REPLACE VIEW {0} AS {1}",),
)
# Times are whole numbers: milliseconds, or days. Names belong to the session, which makes tables and views.
SPARK = Dialect(
    same="({0} <=> {1})",
    seconds="(({0} - pmod({0}, 1000)) div 1000)",
    full_second="{0} % 1000 = 0",
    days="CAST({0} AS BIGINT)",
    divided="{0} div {1}",
    row="",
    by_bytes="{0}",
    table=(),
    view=(),
)
