"""Where statements in SQL run: in a database, or in Spark."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa


class Session:
    """A connection, or its like. Rows that are to be counted are in the table `every_row`: see `in_place`."""

    def run(self, statement: str) -> None:
        """Run a statement that gives no rows."""
        raise NotImplementedError

    def batches(self, query: str) -> Iterator[pa.Table]:
        """The rows of a query as they arrive, after a table without rows."""
        raise NotImplementedError

    def upload(self, name: str, table: pa.Table) -> None:
        """Make a temporary table, in place of one of this name."""
        raise NotImplementedError

    def table(self, query: str) -> pa.Table:
        """All rows of a query, of which there are few."""
        return pa.concat_tables(self.batches(query))

    def row(self, query: str) -> tuple[Any, ...]:
        return tuple(column[0].as_py() for column in self.table(query).columns)
