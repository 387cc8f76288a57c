"""Counting inside PostgreSQL, in one transaction; see `sql` for the statements."""

from collections.abc import Sequence

import pyarrow as pa

from timeveil.domain.relation import Relation
from timeveil.engines import Published
from timeveil.engines.sql import SqlEvents
from timeveil.errors import ParameterError
from timeveil.reading.in_place import ServerRows

SETTINGS = (
    "enable_nestloop = off",  # all joins are by equality, and lookups are small
    "enable_mergejoin = off",
    "work_mem = '64MB'",
    "jit = off",  # compiling a statement takes longer than most of them do
)


class PostgresEvents(SqlEvents):
    """The events of a table in PostgreSQL; numbered rows stay there as long as the ledger lives."""

    def __init__(self, relation: Relation) -> None:
        if not isinstance(relation.data, ServerRows):
            message = "the engine `postgres` counts tables of a database, and this one is not in it"
            raise ParameterError(message, hint="give the address of the table, or leave {engine} out")
        self._stay = relation.data
        for setting in SETTINGS:
            self._stay.server.run(f"SET {setting}")
        # Temporary tables come before those of the database that have the same names.
        path = "set_config('search_path', 'pg_temp, ' || current_setting('search_path'), false)"
        self._stay.server.row(f"SELECT {path} AS path")
        super().__init__(relation, self._stay.server)

    def _stored(self, ordered: str, schema: pa.Schema, sizes: Sequence[int]) -> Published:
        published = super()._stored(ordered, schema, sizes)
        self._stay.origin = "(SELECT * FROM placed ORDER BY row) AS numbered_rows"
        # What is left depends on nothing of the database, and holds no state of it.
        self._stay.server.run("DROP VIEW pg_temp.every_row CASCADE")
        self._stay.server.commit()
        return published
