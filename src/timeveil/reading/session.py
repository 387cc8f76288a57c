"""Where statements in SQL run: in a database, or in Spark; and what each spells in its own ways."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from timeveil.domain.roles import Roles


def aliases(roles: Roles) -> dict[str, str]:
    """What the published columns are called in `every_row`: quasi-identifiers `q0` …, further ones `p0` …."""
    quasi = len(roles.quasi_columns)
    return {name: f"q{i}" if i < quasi else f"p{i - quasi}" for i, name in enumerate(roles.published)}


class Session:
    """A connection, or its like. Rows that are to be counted are in the table `every_row`: see `in_place`.

    Texts are what it spells in its own way; `{}` stands for operands, names and queries.
    """

    same: str
    """Equal, or both null, in a form that is joined by hashing."""
    seconds: str
    """Whole seconds since 1970 of a timestamp, rounded down."""
    full_second: str
    """Whether a timestamp is of a whole second."""
    days = "CAST({0} - DATE '1970-01-01' AS BIGINT)"
    """Days since 1970 of a date."""
    divided: str
    """A whole number divided by one that divides it."""
    row_number = ""
    """The number of a row as the first column, if `every_row` has none and rows need one."""
    by_bytes = "{0}"
    """A text of a lookup table that is compared by its bytes."""
    without_nan: str
    """A float, null where it is no number."""
    record = "row({})"
    """Some values as one, which is compared from the first to the last."""
    making_table: tuple[str, ...] = ("CREATE OR REPLACE TABLE {0} AS {1}",)
    """Make a temporary table of the rows of a query: name and query."""
    making_view: tuple[str, ...] = ("CREATE OR REPLACE VIEW {0} AS {1}",)

    def run(self, statement: str) -> None:
        raise NotImplementedError

    def batches(self, query: str) -> Iterator[pa.Table]:
        """The rows of a query as they arrive, after a table without rows."""
        raise NotImplementedError

    def upload(self, name: str, table: pa.Table) -> None:
        """Make a temporary table, in place of one of this name."""
        raise NotImplementedError

    def keep(self, name: str, query: str) -> None:
        """Name the rows of a query, which is computed once."""
        for statement in self.making_table:
            self.run(statement.format(name, query))

    def view(self, name: str, query: str) -> None:
        for statement in self.making_view:
            self.run(statement.format(name, query))

    def name_stored(self, name: str, table: Any, columns: Mapping[str, str]) -> None:
        """Name the rows of a table in files, and by their aliases its columns; times as whole numbers.

        `file_number` and `at_row` are where a row is.
        """
        raise NotImplementedError

    def forget(self) -> None:
        """Let go of everything that is named; that of a connection goes with it."""

    def table(self, query: str) -> pa.Table:
        """All rows of a query, of which there are few."""
        return pa.concat_tables(self.batches(query))

    def row(self, query: str) -> tuple[Any, ...]:
        return tuple(column[0].as_py() for column in self.table(query).columns)

    def floored(self, number: str, width: int) -> str:
        """Division that rounds down for negative numbers too."""
        below = f"{number} - ((({number}) % {width}) + {width}) % {width}"
        return f"CAST({self.divided.format(f'({below})', width)} AS BIGINT)"
