"""Counting in DuckDB, for files larger than memory: one LAG statement per combination of levels.

Every calendar is a lookup table joined on the base granule, so no date arithmetic of the engine's own is
used beyond truncating an instant. What is specific to DuckDB: how it opens a file, reads a time and takes an
Arrow table; every other statement is SQL that other engines share. Work happens in a private folder that
goes with its last reader.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from timeveil.calendar.civil import UNITS
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Ticks, Timeline, candidates
from timeveil.domain.relation import Relation
from timeveil.domain.stored import BATCH_ROWS, PrivateFolder, Stored, private_file
from timeveil.engines import (
    DAY,
    Cells,
    Held,
    Int64s,
    Levels,
    Published,
    Recoded,
    Step,
    Tally,
    lookups,
    of_whole_days,
    published_schema,
)
from timeveil.errors import EngineError, ParameterError, raising
from timeveil.reading.columns import is_text
from timeveil.reading.risks import Occurrences

_CELLS = "SELECT quasi, person, granule, count(*) AS rows FROM coded GROUP BY quasi, person, granule"
_LAST_VISIT = "lag(granule) OVER (PARTITION BY quasi, person ORDER BY granule) AS before"
# Summed over people, because every granularity needs only where they came from.
_STEPS = f"""
    SELECT quasi, granule, before, count(*) AS people, CAST(sum(rows) AS BIGINT) AS rows
    FROM (SELECT quasi, granule, rows, {_LAST_VISIT} FROM cells) GROUP BY quasi, granule, before
"""
# Granules of whole days contain days: which day was the visit before on?
_DAY_STEPS = """
    SELECT quasi, days.first AS granule, befores.first AS before,
        CAST(sum(people) AS BIGINT) AS people, CAST(sum(rows) AS BIGINT) AS rows
    FROM steps JOIN lookup AS days ON days.granule = steps.granule
        LEFT JOIN lookup AS befores ON befores.granule = steps.before
    GROUP BY quasi, days.first, befores.first
"""
# A visit in a gap is published nowhere, so the visit before must be looked for among the others.
_STEPS_OUTSIDE_GAPS = f"""
    (SELECT quasi, granule, 1 AS people, rows, {_LAST_VISIT} FROM cells SEMI JOIN lookup USING (granule))
"""
# Procedure 2: a person counts where no earlier visit is in the same granule.
_GROUPS = """
    SELECT quasi, first, CAST(sum(rows) AS BIGINT) AS rows,
        CAST(sum(CASE WHEN before IS NULL OR before < first THEN people ELSE 0 END) AS BIGINT) AS people
    FROM {steps} AS steps JOIN lookup USING (granule) GROUP BY quasi, first
"""
_TALLY = """
    SELECT coalesce(min(people), 0), count(*), coalesce(sum(people), 0), count(*) FILTER (people < {k}),
        coalesce(sum(rows) FILTER (people < {k}), 0), {in_gaps},
        coalesce(min(people) FILTER (people >= {k}), 0), coalesce(sum(people) FILTER (people >= {k}), 0)
    FROM groups
"""
MOST_VALUES = 10_000  # values that are looked at to find out whether they read as times


class DuckDBEvents:
    """The events of a relation as a Parquet file that DuckDB reads."""

    def __init__(self, relation: Relation, memory_limit: str | None = None) -> None:
        roles = relation.roles
        self._relation, self._source, self._folder = relation, relation.data, PrivateFolder()
        if not isinstance(relation.data, Stored):
            self._source = self._write("source.parquet", relation.data.schema, [relation.data])
        self._quasi = [f"q{i}" for i in range(len(roles.quasi_columns))]
        self._carried = [f"p{i}" for i in range(len(roles.keep) + len(roles.sensitive))]
        self._counted_for: tuple[tuple[str, int], ...] | None = None
        self._rows_at: Int64s = np.empty(0, np.int64)
        self._granules: Int64s = np.empty(0, np.int64)
        # Files that DuckDB makes have the usual rights; the folder lets nobody else in.
        self._work, spill = self._folder.path / "work.duckdb", self._folder.path / "spill"
        spill.mkdir(mode=0o700)
        with _explained():
            self._database = duckdb.connect(str(self._work))
        self._work.chmod(0o600)
        self._run(f"SET temp_directory = {_text(spill)}")
        # Every statement whose order matters says so; the order of insertion would cost memory.
        self._run("SET preserve_insertion_order = false")
        if memory_limit:
            if not re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", memory_limit, re.IGNORECASE):
                raise ParameterError("the memory limit is not a size", hint="write it as 500MB or 2GB")
            self._run(f"SET memory_limit = {_text(memory_limit)}")
        self._run(f"CREATE VIEW source AS {self._source_query()}")
        self.rows, self.people = self._row("SELECT count(*), count(DISTINCT person) FROM source")

    def extent(self) -> tuple[int, int, int]:
        if self.rows == 0:
            return 0, 0, 1
        widths = [width for width, _ in candidates(self._relation.clock)]
        divides = ", ".join(f"bool_and(milli % {width * 1000} = 0)" for width in widths)
        low, high, *fits = self._row(f"SELECT min(instant), max(instant), {divides} FROM source")
        return low, high, next((w for w, fit in zip(widths, fits, strict=True) if fit), 1)

    def observe(self, base: Ticks) -> Int64s:
        self._counted_for = None
        granule = _floor_divide(f"(instant + {base.phase})", base.width)
        self._run(f"CREATE OR REPLACE VIEW events AS SELECT *, {granule} AS granule FROM source")
        with _explained():
            columns = self._database.execute(
                "SELECT granule, count(*) AS rows FROM events GROUP BY granule ORDER BY granule"
            ).fetchnumpy()
        self._rows_at = np.asarray(columns["rows"], np.int64)
        self._granules = np.asarray(columns["granule"], np.int64)
        return self._granules

    def values(self, column: str) -> pa.Array:
        return self._distinct(self._quasi[self._relation.roles.quasi_columns.index(column)], column)

    def _distinct(self, stored: str, column: str, limit: str = "") -> pa.Array:
        with _explained():
            query = f"SELECT DISTINCT {stored} FROM source ORDER BY ALL {limit}"
            values = self._database.sql(query).to_arrow_table()
        kind = published_schema(self._relation, {}).field(column).type
        return values.column(0).combine_chunks().cast(kind)

    def occurrences(self, column: str) -> Occurrences:
        carried = self._carried_as(column)
        rows, sole = self._row(lookups.OCCURRENCES.format(column=carried))
        kind = published_schema(self._relation, {}).field(column).type
        # Other types say whether they are times.
        written = is_text(kind) or pa.types.is_integer(kind)
        values = self._distinct(carried, column, f"LIMIT {MOST_VALUES}") if written else pa.array([], kind)
        return Occurrences(values, rows, sole)

    def tally(
        self, timeline: Timeline, granularities: Sequence[Granularity], levels: Levels, k: int
    ) -> list[Tally]:
        self._count_cells(levels)
        tallies, whole_days = [], of_whole_days(granularities, timeline)
        if whole_days:
            self._look_up(timeline, DAY)
            self._run(f"CREATE OR REPLACE TABLE day_steps AS {_DAY_STEPS}")
        for granularity in granularities:
            self._group(timeline, granularity, by_day=granularity.name in whole_days)
            in_gaps = self.rows_in_gaps(timeline, granularity)
            tallies.append(Tally(*map(int, self._row(_TALLY.format(k=k, in_gaps=in_gaps)))))
        return tallies

    def rows_in_gaps(self, timeline: Timeline, granularity: Granularity) -> int:
        return int(self._rows_at[timeline.in_gaps(granularity)].sum())

    def publish(self, timeline: Timeline, granularity: Granularity, levels: Levels, k: int) -> Published:
        self._count_cells(levels)
        self._group(timeline, granularity)
        granules = timeline.granules_of(granularity)
        code = pa.array(granules.code[granules.code >= 0])
        bounds = {"start": granules.start.take(code), "end_": granules.end.take(code)}
        label = pa.array(granules.label, pa.string()).take(code)
        granule = timeline.granules[granules.code >= 0]
        self._table("labels", pa.table({"granule": granule, "label": label, **bounds}))
        self._run(f"CREATE OR REPLACE TABLE large_groups AS {lookups.LARGE_GROUPS.format(k=k)}")
        self._run(f"CREATE OR REPLACE VIEW placed AS {lookups.PLACED}")
        groups, smallest = self._row("SELECT count(*), coalesce(min(people), 0) FROM large_groups")
        columns = ", ".join([*self._quasi, *self._carried, "label", "start", "end_"])
        order = ", ".join(f"{c} NULLS LAST" for c in [*self._quasi, "start", "label", *self._carried, "end_"])
        rows = f"SELECT {columns} FROM placed JOIN labels USING (granule) ORDER BY {order}"
        data = self._stored("data.parquet", rows, published_schema(self._relation, levels))
        return Published(data, self._entries(), data.num_rows, groups, smallest)

    def cells(self, sensitive: Collection[str] = ()) -> Cells:
        self._number_cells()
        self._run(f"CREATE OR REPLACE TABLE persons AS {lookups.PERSONS}")
        self._run(f"CREATE OR REPLACE TABLE visits AS {lookups.VISITS}")
        with _explained():
            cells = self._database.sql("SELECT * FROM numbered ORDER BY cell").fetchnumpy()
            visits = self._database.sql("SELECT * FROM visits ORDER BY visit").fetchnumpy()
            combinations = self._database.sql("SELECT * FROM quasis ORDER BY quasi").to_arrow_table()
        values = {}
        for name, quasi in zip(self._relation.roles.quasi_columns, self._quasi, strict=True):
            distinct = self.values(name)
            index = pc.index_in(combinations[quasi].cast(distinct.type), distinct, skip_nulls=False)
            values[name] = index.to_numpy().astype(np.int32)
        return Cells(
            quasi=cells["quasi"].astype(np.int32) - np.int32(1),
            position=np.searchsorted(self._granules, cells["granule"]).astype(np.int32),
            rows=np.asarray(cells["rows"], np.int64),
            cell=visits["cell"].astype(np.int32),
            person=visits["number"].astype(np.int32),
            visit_rows=np.asarray(visits["rows"], np.int64),
            values=values,
            held={name: self._held(name) for name in sensitive},
        )

    def _held(self, column: str) -> Held:
        """The values of a sensitive column by visit."""
        carried = self._carried_as(column)
        self._run(f"CREATE OR REPLACE TABLE held_values AS {lookups.HELD_VALUES.format(column=carried)}")
        with _explained():
            values = self._database.sql("SELECT value FROM held_values ORDER BY code").to_arrow_table()
            held = self._database.sql(
                f"{lookups.HELD.format(column=carried)} ORDER BY visit, code"
            ).fetchnumpy()
        kind = published_schema(self._relation, {}).field(column).type
        distinct = values.column(0).combine_chunks().cast(kind)
        return Held(np.asarray(held["visit"], np.int64), held["code"].astype(np.int32), distinct)

    def _carried_as(self, column: str) -> str:
        roles = self._relation.roles
        return self._carried[[*roles.keep, *roles.sensitive].index(column)]

    def publish_steps(
        self, timeline: Timeline, steps: Sequence[Step], recoded: Recoded, *, numbered: bool = True
    ) -> Published:
        self._number_cells()
        published = np.flatnonzero(recoded.step >= 0)
        step, group = recoded.step[published], recoded.group[published]
        self._table("cell_steps", pa.table({"cell": published, "step": step, "number": group}))
        self._table("labels", lookups.labels_by_step(timeline, steps))
        generalised = {name for _, levels in steps for name in levels}
        columns, joins = [], ""
        for name, quasi in zip(self._relation.roles.quasi_columns, self._quasi, strict=True):
            columns.append(f"placed.{quasi}")
            if name in generalised:
                self._table(f"level_{quasi}", lookups.values_by_step(self.values(name), name, steps))
                columns[-1] = f"level_{quasi}.published AS {quasi}"
                joins += f" JOIN level_{quasi} ON placed.step = level_{quasi}.step"
                joins += f" AND placed.{quasi} IS NOT DISTINCT FROM level_{quasi}.value"
        self._run(f"CREATE OR REPLACE VIEW placed AS {lookups.PLACED_AT_STEPS}")
        number = ["placed.step + 1 AS step"] if numbered else []
        shown = ", ".join([*columns, *self._carried, "label", "start", "end_", *number])
        rows = f"SELECT {shown} FROM placed JOIN labels USING (granule, step){joins}"
        order = [*self._quasi, "start", "label", *self._carried, "end_", *(["step"] if numbered else [])]
        ordered = f"SELECT * FROM ({rows}) ORDER BY {', '.join(f'{c} NULLS LAST' for c in order)}"
        schema = published_schema(self._relation, generalised, stepped=numbered)
        data = self._stored("data.parquet", ordered, schema)
        smallest = int(recoded.people.min()) if len(recoded.people) else 0
        return Published(data, self._entries(), data.num_rows, len(recoded.people), smallest)

    def _number_cells(self) -> None:
        """Number the cells at the values themselves, by content, so that the numbers are always the same."""
        self._count_cells({})
        self._run(f"CREATE OR REPLACE TABLE numbered AS {lookups.NUMBERED_CELLS}")

    def _entries(self) -> Stored:
        """The ledger's table: the group of every input row, null where it was withheld."""
        every = f"(SELECT file_row_number AS row FROM {self._file()}) AS every"
        listed = f"SELECT every.row, number FROM {every} LEFT JOIN placed USING (row) ORDER BY every.row"
        return self._stored("entries.parquet", listed, pa.schema({"row": pa.int64(), "group": pa.int32()}))

    def close(self) -> None:
        """Close the database; its files go when nothing reads them any more."""
        self._database.close()
        self._work.unlink(missing_ok=True)

    def _source_query(self) -> str:
        """Person, instant and published columns of every row that has a person and a time."""
        relation, axis = self._relation, self._relation.clock
        person, time = self._file_column(relation.respondent), self._file_column(relation.time)
        if axis.kind == "relative":
            milli = f"CAST({time} AS BIGINT) * {UNITS[axis.unit or 'second'][1] * 1000}"
        elif pa.types.is_date(axis.type):
            milli = f"CAST(date_diff('day', DATE '1970-01-01', {time}) AS BIGINT) * 86400000"
        else:
            milli = f"epoch_ms({time})"
        aliases = zip(relation.roles.published, [*self._quasi, *self._carried], strict=True)
        published = "".join(f", {self._file_column(column)} AS {alias}" for column, alias in aliases)
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
        columns, joins = ["row", "person", "granule", *self._carried], ""
        for name, quasi in zip(self._relation.roles.quasi_columns, self._quasi, strict=True):
            published = f"events.{quasi}"
            if name in levels:
                self._table(f"level_{quasi}", levels[name])
                published = f"level_{quasi}.published AS {quasi}"
                joins += (
                    f" LEFT JOIN level_{quasi} ON events.{quasi} IS NOT DISTINCT FROM level_{quasi}.value"
                )
            columns.append(published)
        self._run(f"CREATE OR REPLACE VIEW generalised AS SELECT {', '.join(columns)} FROM events{joins}")
        distinct = f"SELECT DISTINCT {', '.join(self._quasi)} FROM generalised" if self._quasi else "SELECT 1"
        order = f"ORDER BY {', '.join(self._quasi)}" if self._quasi else ""
        numbered = f"SELECT *, row_number() OVER ({order}) AS quasi FROM ({distinct})"
        self._run(f"CREATE OR REPLACE TABLE quasis AS {numbered}")
        same = [f"generalised.{q} IS NOT DISTINCT FROM quasis.{q}" for q in self._quasi]
        joined = f"generalised JOIN quasis ON {' AND '.join(same) or 'true'}"
        self._run(f"CREATE OR REPLACE VIEW coded AS SELECT generalised.*, quasi FROM {joined}")
        self._run(f"CREATE OR REPLACE TABLE cells AS {_CELLS}")
        self._run(f"CREATE OR REPLACE TABLE steps AS {_STEPS}")
        self._counted_for = key

    def _group(self, timeline: Timeline, granularity: Granularity, *, by_day: bool = False) -> None:
        """Make `groups`: people and rows per quasi combination and granule."""
        without_gaps = self._look_up(timeline, granularity, by_day=by_day)
        steps = "day_steps" if by_day else "steps" if without_gaps else _STEPS_OUTSIDE_GAPS
        self._run(f"CREATE OR REPLACE TABLE groups AS {_GROUPS.format(steps=steps)}")

    def _look_up(self, timeline: Timeline, granularity: Granularity, *, by_day: bool = False) -> bool:
        """Make `lookup`: the first granule of the granularity's, of each or of each day; False at a gap."""
        firsts = timeline.firsts(granularity)
        inside = firsts >= 0
        chosen = timeline.firsts(DAY) == np.arange(len(timeline)) if by_day else inside
        lookup = {"granule": timeline.granules[chosen], "first": timeline.granules[firsts[chosen]]}
        self._table("lookup", pa.table(lookup))
        return bool(inside.all())

    def _stored(self, name: str, query: str, schema: pa.Schema) -> Stored:
        """The rows of a query as a file with exactly the names and types of a schema, a batch at a time."""
        with _explained():
            batches = self._database.sql(query).to_arrow_reader(BATCH_ROWS)
        tables = (pa.table(batch.columns, names=schema.names).cast(schema) for batch in batches)
        return self._write(name, schema, tables)

    def _write(self, name: str, schema: pa.Schema, tables: Iterable[pa.Table]) -> Stored:
        """Tables of one schema as a private file."""
        path = self._folder.path / name
        path.unlink(missing_ok=True)
        with (
            _explained(),
            private_file(path) as target,
            pq.ParquetWriter(target, schema, compression="zstd") as file,
        ):
            for table in tables:
                file.write_table(table)
        return Stored(path, self._folder)

    def _table(self, name: str, table: pa.Table) -> None:
        self._database.register("incoming", table)
        self._run(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM incoming")
        self._database.unregister("incoming")

    def _run(self, statement: str) -> list[tuple[Any, ...]]:
        with _explained():
            rows: list[tuple[Any, ...]] = self._database.execute(statement).fetchall()
        return rows

    def _row(self, query: str) -> tuple[Any, ...]:
        return self._run(query)[0]


def _explained() -> raising:
    """A block in which DuckDB's own errors, which may quote data, are replaced and leave no trace."""
    return raising(_failure, on=(duckdb.Error, pa.ArrowException, OSError, RuntimeError))


def _failure(error: Exception) -> Exception:
    if isinstance(error, duckdb.OutOfMemoryException):
        return EngineError(
            "DuckDB ran out of memory or of space for temporary files",
            hint="raise {memory_limit}, or free space on the disk of the temporary folder",
        )
    if isinstance(error, duckdb.Error | pa.ArrowException | OSError):
        return EngineError(
            f"DuckDB could not finish ({type(error).__name__})",
            hint="check {memory_limit}, and the free space and permissions of the temporary folder",
        )
    if "interrupt" in str(error).lower():
        raise KeyboardInterrupt from None
    return error


def _floor_divide(number: str, width: int) -> str:
    """Division that rounds down for negative numbers too, in any SQL."""
    return f"CAST(({number} - ((({number}) % {width}) + {width}) % {width}) / {width} AS BIGINT)"


def _text(value: str | Path) -> str:
    return "'" + str(value).replace("'", "''") + "'"
