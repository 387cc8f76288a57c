"""Counting in DuckDB, for files larger than memory: one LAG statement per combination of levels.

Every calendar is a lookup table joined on the base granule, so no date arithmetic of the engine's own
is used beyond truncating an instant. Work happens in a private folder that goes with its last reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from timeveil.calendar.catalogue import UNITS
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Ticks, Timeline, candidates
from timeveil.domain.relation import Relation
from timeveil.domain.stored import BATCH_ROWS, PrivateFolder, Stored, private_file
from timeveil.engines.protocol import Extent, Levels, Published, Tally
from timeveil.errors import EngineError, ParameterError

Int64s = npt.NDArray[np.int64]
T = TypeVar("T")


def open_events(relation: Relation, memory_limit: str | None = None) -> DuckDBEvents:
    """The events of a relation, with a database in a private folder."""
    return DuckDBEvents(relation, memory_limit)


class DuckDBEvents:
    """The events of a relation as a Parquet file that DuckDB reads."""

    def __init__(self, relation: Relation, memory_limit: str | None = None) -> None:
        self._relation = relation
        self._folder = PrivateFolder()
        self._source = relation.data if isinstance(relation.data, Stored) else self._store(relation.data)
        self._quasi = [f"q{i}" for i in range(len(relation.roles.quasi_columns))]
        self._carried = [f"p{i}" for i in range(len(relation.roles.keep) + len(relation.roles.sensitive))]
        self._counted_for: tuple[tuple[str, int], ...] | None = None
        self._database = self._connected()
        # Every statement whose order matters says so; the order of insertion would cost memory.
        self._run("SET preserve_insertion_order = false")
        if memory_limit:
            self._run(f"SET memory_limit = {_size(memory_limit)}")
        self._run(f"CREATE VIEW source AS {self._source_query()}")
        self.rows, self.people = self._row("SELECT count(*), count(DISTINCT person) FROM source")

    def extent(self) -> Extent:
        """First and last instant, and the widest tick that divides them all."""
        if self.rows == 0:
            return Extent(0, 0, 1)
        widths = [width for width, _ in candidates(self._relation.clock)]
        divides = ", ".join(f"bool_and(milli % {width * 1000} = 0)" for width in widths)
        low, high, *fits = self._row(f"SELECT min(instant), max(instant), {divides} FROM source")
        return Extent(low, high, next((w for w, fit in zip(widths, fits, strict=True) if fit), 1))

    def observe(self, base: Ticks) -> Int64s:
        """Fix the base granularity; return the base granules that occur, in order."""
        self._counted_for = None
        granule = _floor_divide(f"(instant + {base.phase})", base.width)
        self._run(f"CREATE OR REPLACE VIEW events AS SELECT *, {granule} AS granule FROM source")
        query = "SELECT DISTINCT granule FROM events ORDER BY granule"
        columns = _explained(lambda: self._database.execute(query).fetchnumpy())
        return np.asarray(columns["granule"], np.int64)

    def values(self, column: str) -> pa.Array:
        """The distinct values of a quasi-identifier, null among them if it occurs."""
        quasi = self._quasi[self._relation.roles.quasi_columns.index(column)]
        distinct = _explained(
            lambda: self._database.sql(f"SELECT DISTINCT {quasi} FROM source ORDER BY ALL").to_arrow_table()
        )
        return distinct.column(0).combine_chunks().cast(self._plain_type(column))

    def tally(
        self, timeline: Timeline, granularities: Sequence[Granularity], levels: Levels, k: int
    ) -> list[Tally]:
        """Frequency sets of every granularity from one ordering of the rows."""
        self._count_cells(levels)
        return [self._tally(timeline, granularity, k) for granularity in granularities]

    def publish(self, timeline: Timeline, granularity: Granularity, levels: Levels, k: int) -> Published:
        """Generalise the time, leave out groups below k, order the rows by what they say."""
        self._count_cells(levels)
        self._group(timeline, granularity)
        granules = timeline.granules_of(granularity)
        inside = granules.code >= 0
        lookup = pa.table({
            "granule": timeline.granules[inside],
            "label": pa.array(granules.label, pa.string()).take(pa.array(granules.code[inside])),
            "start": granules.start.take(pa.array(granules.code[inside])),
            "end_": granules.end.take(pa.array(granules.code[inside])),
        })  # fmt: skip
        self._table("labels", lookup)
        self._run(
            "CREATE OR REPLACE TABLE kept AS SELECT quasi, first, people, "
            "CAST(row_number() OVER (ORDER BY quasi, first) - 1 AS INTEGER) AS number "
            f"FROM groups WHERE people >= {k}"
        )
        self._run(
            "CREATE OR REPLACE VIEW placed AS SELECT coded.*, number FROM coded JOIN lookup USING (granule) "
            "JOIN kept ON kept.quasi = coded.quasi AND kept.first = lookup.first"
        )
        groups, smallest = self._row("SELECT count(*), coalesce(min(people), 0) FROM kept")
        data, entries = self._publish_rows(levels), self._publish_entries()
        return Published(data, entries, data.num_rows, groups, smallest, self.people)

    def close(self) -> None:
        """Close the database; its files go when nothing reads them any more."""
        self._database.close()
        (self._folder.path / "work.duckdb").unlink(missing_ok=True)

    def _connected(self) -> Any:
        """A new database. Files that DuckDB makes have the usual rights; the folder lets nobody else in."""
        work, spill = self._folder.path / "work.duckdb", self._folder.path / "spill"
        spill.mkdir(mode=0o700)
        database = _explained(lambda: duckdb.connect(str(work)))
        work.chmod(0o600)
        database.execute(f"SET temp_directory = {_text(spill)}")
        return database

    def _source_query(self) -> str:
        relation, axis = self._relation, self._relation.clock
        time = self._file_column(relation.time)
        if axis.kind == "relative":
            milli = f"CAST({time} AS BIGINT) * {UNITS[axis.unit or 'second'][1] * 1000}"
        elif pa.types.is_date(axis.type):
            milli = f"CAST(date_diff('day', DATE '1970-01-01', {time}) AS BIGINT) * 86400000"
        else:
            milli = f"epoch_ms({time})"
        roles = relation.roles
        aliases = [*self._quasi, *self._carried]
        named = zip((*roles.quasi_columns, *roles.keep, *roles.sensitive), aliases, strict=True)
        published = "".join(f", {self._file_column(column)} AS {alias}" for column, alias in named)
        person = self._file_column(relation.respondent)
        return (
            f"SELECT *, {_floor_divide('milli', 1000)} AS instant FROM (SELECT file_row_number AS row, "
            f"{person} AS person, {milli} AS milli{published} FROM {self._file()} "
            f"WHERE {person} IS NOT NULL AND {time} IS NOT NULL)"
        )

    def _file(self) -> str:
        """The file with its columns renamed: DuckDB does not distinguish upper and lower case in names."""
        names = ", ".join(f"c{i}" for i in range(len(self._source.schema.names)))
        return f"read_parquet({_text(self._source.path)}) AS file({names})"

    def _file_column(self, column: str) -> str:
        return f"c{self._source.schema.names.index(column)}"

    def _count_cells(self, levels: Levels) -> None:
        """Number the quasi-identifier combinations; per cell and person, the granule they were in before."""
        # Tables of levels are cached by the caller, so their identity distinguishes combinations.
        key = tuple(sorted((name, id(level)) for name, level in levels.items()))
        if key == self._counted_for:
            return
        self._generalise(levels)
        self._run(
            "CREATE OR REPLACE TABLE cells AS "
            "SELECT quasi, person, granule, count(*) AS rows FROM coded GROUP BY quasi, person, granule"
        )
        self._run(
            # Summed over people, because every granularity needs only where they came from.
            "CREATE OR REPLACE TABLE steps AS SELECT quasi, granule, before, count(*) AS people, "
            "CAST(sum(rows) AS BIGINT) AS rows FROM (SELECT quasi, granule, rows, "
            "lag(granule) OVER (PARTITION BY quasi, person ORDER BY granule) AS before FROM cells) "
            "GROUP BY quasi, granule, before"
        )
        self._counted_for = key

    def _generalise(self, levels: Levels) -> None:
        """Views of the events with published quasi-identifiers, and a number for each combination."""
        columns, joins = [], ""
        for name, quasi in zip(self._relation.roles.quasi_columns, self._quasi, strict=True):
            if name in levels:
                self._table(f"level_{quasi}", levels[name])
                columns.append(f"level_{quasi}.published AS {quasi}")
                joins += (
                    f" LEFT JOIN level_{quasi} ON events.{quasi} IS NOT DISTINCT FROM level_{quasi}.value"
                )
            else:
                columns.append(f"events.{quasi}")
        chosen = ", ".join(["row", "person", "granule", *self._carried, *columns])
        self._run(f"CREATE OR REPLACE VIEW generalised AS SELECT {chosen} FROM events{joins}")
        distinct = f"SELECT DISTINCT {', '.join(self._quasi)} FROM generalised" if self._quasi else "SELECT 1"
        self._run(
            f"CREATE OR REPLACE TABLE quasis AS SELECT *, row_number() OVER () AS quasi FROM ({distinct})"
        )
        match = (
            " AND ".join(f"generalised.{q} IS NOT DISTINCT FROM quasis.{q}" for q in self._quasi) or "true"
        )
        self._run(
            "CREATE OR REPLACE VIEW coded AS SELECT generalised.*, quasi "
            f"FROM generalised JOIN quasis ON {match}"
        )

    def _tally(self, timeline: Timeline, granularity: Granularity, k: int) -> Tally:
        self._group(timeline, granularity)
        in_gaps = self._rows_in_gaps(timeline, granularity)
        numbers = self._row(
            "SELECT coalesce(min(people), 0), count(*), coalesce(sum(people), 0), "
            f"count(*) FILTER (people < {k}), coalesce(sum(rows) FILTER (people < {k}), 0), {in_gaps}, "
            f"coalesce(min(people) FILTER (people >= {k}), 0), "
            f"coalesce(sum(people) FILTER (people >= {k}), 0) FROM groups"
        )
        return Tally(*(int(number) for number in numbers))

    def _rows_in_gaps(self, timeline: Timeline, granularity: Granularity) -> int:
        lost = timeline.in_gaps(granularity)
        if not lost.any():
            return 0
        self._table("lost", pa.table({"granule": timeline.granules[lost]}))
        (rows,) = self._row("SELECT coalesce(sum(rows), 0) FROM cells SEMI JOIN lost USING (granule)")
        return int(rows)

    def _group(self, timeline: Timeline, granularity: Granularity) -> None:
        """Make `groups`: people and rows per quasi combination and granule."""
        firsts = timeline.firsts(granularity)
        inside = firsts >= 0
        lookup = {"granule": timeline.granules[inside], "first": timeline.granules[firsts[inside]]}
        self._table("lookup", pa.table(lookup))
        steps = "steps"
        # A visit in a gap is published nowhere, so the visit before must be looked for among the others.
        if not inside.all():
            steps = (
                "(SELECT quasi, granule, 1 AS people, rows, lag(granule) OVER "
                "(PARTITION BY quasi, person ORDER BY granule) AS before "
                "FROM cells SEMI JOIN lookup USING (granule))"
            )
        self._run(
            "CREATE OR REPLACE TABLE groups AS SELECT quasi, first, CAST(sum(rows) AS BIGINT) AS rows, "
            "CAST(sum(CASE WHEN before IS NULL OR before < first THEN people ELSE 0 END) AS BIGINT) "
            f"AS people FROM {steps} JOIN lookup USING (granule) GROUP BY quasi, first"
        )

    def _publish_rows(self, levels: Levels) -> Stored:
        columns = [*self._quasi, *self._carried, "label", "start", "end_"]
        order = ", ".join(f"{c} NULLS LAST" for c in [*self._quasi, "start", "label", *self._carried, "end_"])
        query = f"SELECT {', '.join(columns)} FROM placed JOIN labels USING (granule) ORDER BY {order}"
        return self._write("data.parquet", query, self._published_schema(levels))

    def _publish_entries(self) -> Stored:
        query = (
            f"SELECT every.row, number FROM (SELECT file_row_number AS row FROM {self._file()}) AS every "
            "LEFT JOIN placed ON placed.row = every.row ORDER BY every.row"
        )
        schema = pa.schema([("row", pa.int64()), ("group", pa.int32())])
        return self._write("entries.parquet", query, schema)

    def _published_schema(self, levels: Levels) -> pa.Schema:
        roles, axis = self._relation.roles, self._relation.clock
        fields = [(c, pa.string() if c in levels else self._plain_type(c)) for c in roles.published]
        times = [
            (roles.time, pa.string()),
            (f"{roles.time}_start", axis.type),
            (f"{roles.time}_end", axis.type),
        ]
        return pa.schema([*fields, *times])

    def _plain_type(self, column: str) -> pa.DataType:
        declared = self._relation.data.schema.field(column).type
        return declared.value_type if pa.types.is_dictionary(declared) else declared

    def _store(self, table: pa.Table) -> Stored:
        path = self._folder.path / "source.parquet"

        def write() -> None:
            with private_file(path) as file:
                pq.write_table(table, file, compression="zstd")

        _explained(write)
        return Stored(path, self._folder)

    def _write(self, name: str, query: str, schema: pa.Schema) -> Stored:
        """The rows of a query as a private file, with exactly the types of a schema."""
        path = self._folder.path / name
        path.unlink(missing_ok=True)

        def write() -> None:
            with private_file(path) as target, pq.ParquetWriter(target, schema, compression="zstd") as file:
                for batch in self._database.sql(query).to_arrow_reader(BATCH_ROWS):
                    columns = [c.cast(field.type) for c, field in zip(batch.columns, schema, strict=True)]
                    file.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))

        _explained(write)
        return Stored(path, self._folder)

    def _table(self, name: str, table: pa.Table) -> None:
        self._database.register("incoming", table)
        self._run(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM incoming")
        self._database.unregister("incoming")

    def _run(self, statement: str) -> None:
        _explained(lambda: self._database.execute(statement).fetchall())

    def _row(self, query: str) -> tuple[Any, ...]:
        row: tuple[Any, ...] = _explained(lambda: self._database.execute(query).fetchall())[0]
        return row


def _explained(work: Callable[[], T]) -> T:
    """Do some work; replace DuckDB's own errors, which may quote data, and keep no trace of them."""
    try:
        return work()
    except duckdb.OutOfMemoryException:
        failure = EngineError(
            "DuckDB ran out of memory or of space for temporary files",
            hint="raise {memory_limit}, or free space on the disk of the temporary folder",
        )
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        failure = EngineError(
            f"DuckDB could not finish ({type(error).__name__})",
            hint="check {memory_limit}, and the free space and permissions of the temporary folder",
        )
    except RuntimeError as error:
        if "interrupt" not in str(error).lower():
            raise
        raise KeyboardInterrupt from None
    raise failure


def _size(memory_limit: str) -> str:
    if not re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", memory_limit, re.IGNORECASE):
        raise ParameterError("the memory limit is not a size", hint="write it as 500MB or 2GB")
    return _text(memory_limit)


def _floor_divide(number: str, width: int) -> str:
    """Division that rounds down for negative numbers too, in any SQL."""
    return f"CAST(({number} - ((({number}) % {width}) + {width}) % {width}) / {width} AS BIGINT)"


def _text(value: str | Path) -> str:
    return "'" + str(value).replace("'", "''") + "'"
