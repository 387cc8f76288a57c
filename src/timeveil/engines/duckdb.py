"""Counting from disk, for files larger than memory: DuckDB cuts the table into parts, memory counts each.

A part has all rows of some combinations of published quasi-identifiers, so that no group is in two parts, and
parts follow each other in the order of those combinations, as the published rows do. So tallies of parts add
up, and their rows are published one part after the other.

Work happens in a private folder that goes with its last reader.
Cost: one external sort of the rows per combination of levels, then what a part of `PART_ROWS` rows costs in
memory; rows that share all published quasi-identifiers are in one part, however many they are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
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
    Cells,
    Codes,
    Held,
    Int64s,
    Levels,
    Published,
    Recoded,
    Step,
    Tally,
    lookups,
    published_schema,
    total,
)
from timeveil.engines.memory import MemoryEvents
from timeveil.errors import EngineError, ParameterError, raising
from timeveil.reading.columns import decoded_fields, is_text
from timeveil.reading.encoding import with_dictionaries
from timeveil.reading.risks import Occurrences

PART_ROWS = 1 << 18  # of a part that has more than one combination of quasi-identifiers
OTHERS_SHARE = 600_000_000  # bytes of a memory limit that Python and Arrow take
LEAST_SHARE = 200_000_000  # bytes that DuckDB gets at least
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(i?)B", re.IGNORECASE)
_ENTRIES = pa.schema({"row": pa.int64(), "group": pa.int32()})
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
        self._combined_for: tuple[tuple[str, int], ...] | None = None
        self._parted_for: tuple[Any, int] | None = None
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
            self._run(f"SET memory_limit = '{_share(memory_limit)}B'")
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
        self._combined_for = self._parted_for = None
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
        tallies = [
            part.tally(replace(timeline, granules=part.observe(timeline.base)), granularities, levels, k)
            for part, _ in self._parts(levels, complete=False)
        ]
        return [total(of_parts) for of_parts in zip(*tallies, strict=True)]

    def rows_in_gaps(self, timeline: Timeline, granularity: Granularity) -> int:
        return int(self._rows_at[timeline.in_gaps(granularity)].sum())

    def publish(self, timeline: Timeline, granularity: Granularity, levels: Levels, k: int) -> Published:
        schema, sizes = published_schema(self._relation, levels), list[tuple[int, int]]()
        group_of_row: Codes = np.full(self._source.num_rows, -1, np.int32)

        def tables() -> Iterator[pa.Table]:
            for part, rows in self._parts(levels, complete=True):
                local = replace(timeline, granules=part.observe(timeline.base))
                published = part.publish(local, granularity, levels, k)
                entries = pa.Table.from_batches(published.entries.to_batches())
                group = pc.fill_null(entries["group"], -1).to_numpy()
                # Groups are numbered on from those of the parts before.
                group_of_row[rows] = np.where(group < 0, -1, group + sum(groups for groups, _ in sizes))
                sizes.append((published.groups, published.smallest_group))
                for batch in published.data.to_batches():
                    yield pa.Table.from_batches([batch]).cast(schema)

        data = self._write("data.parquet", schema, tables())
        smallest = min((least for groups, least in sizes if groups), default=0)
        entries = self._listed(group_of_row)
        return Published(data, entries, data.num_rows, sum(groups for groups, _ in sizes), smallest)

    def _listed(self, group: Codes) -> Stored:
        """The ledger's table, from the group of every row."""
        starts = range(0, len(group), BATCH_ROWS)
        numbers = pa.array(group, mask=group < 0)
        pieces = ((start, numbers.slice(start, BATCH_ROWS)) for start in starts)
        tables = (pa.table([start + np.arange(len(p)), p], schema=_ENTRIES) for start, p in pieces)
        return self._write("entries.parquet", _ENTRIES, tables)

    def _parts(self, levels: Levels, *, complete: bool) -> Iterator[tuple[MemoryEvents, Int64s]]:
        """The parts of the table, in the order of what they publish, and the number of each of their rows.

        Only where they are `complete`, or nothing is generalised, they have the columns that nothing counts.
        """
        self._combine(levels)
        carried = self._carried if complete or not levels else []
        columns = ["person", "time", *(f"original_{quasi}" for quasi in self._quasi), *carried]
        if (self._combined_for, len(columns)) != self._parted_for:
            query = f"SELECT part, row, {', '.join(columns)} FROM coded ORDER BY part"
            self._run(f"CREATE OR REPLACE TABLE parts AS {query}")
            self._parted_for = self._combined_for, len(columns)
        roles = self._relation.roles
        names = [roles.respondent, roles.time, *roles.published][: len(columns)]
        schema = pa.schema(decoded_fields(pa.schema([self._source.schema.field(name) for name in names])))
        for (number,) in self._run("SELECT DISTINCT part FROM parts ORDER BY part"):
            with _explained():
                part = self._database.sql(f"SELECT * FROM parts WHERE part = {number}").to_arrow_table()
            data = pa.table(part.columns[2:], names).cast(schema)
            yield MemoryEvents(replace(self._relation, data=with_dictionaries(data))), part["row"].to_numpy()

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
                f"{lookups.HELD.format(same=f'{carried} IS NOT DISTINCT FROM held_values.value')} "
                "ORDER BY visit, code"
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
        selected = ", ".join([*columns, *self._carried, "label", "start", "end_", *number])
        rows = f"SELECT {selected} FROM placed JOIN labels USING (granule, step){joins}"
        order = [*self._quasi, "start", "label", *self._carried, "end_", *(["step"] if numbered else [])]
        ordered = f"SELECT * FROM ({rows}) ORDER BY {', '.join(f'{c} NULLS LAST' for c in order)}"
        schema = published_schema(self._relation, generalised, stepped=numbered)
        data = self._stored("data.parquet", ordered, schema)
        smallest = int(recoded.people.min()) if len(recoded.people) else 0
        return Published(data, self._entries(), data.num_rows, len(recoded.people), smallest)

    def _number_cells(self) -> None:
        """Number the cells at the values themselves, by content, so that the numbers are always the same."""
        self._combine({})
        self._run(f"CREATE OR REPLACE TABLE cells AS {lookups.CELLS}")
        self._run(f"CREATE OR REPLACE TABLE numbered AS {lookups.NUMBERED_CELLS}")

    def _entries(self) -> Stored:
        """The ledger's table: the group of every input row, null where it was withheld."""
        every = f"(SELECT file_row_number AS row FROM {self._file()}) AS every"
        listed = f"SELECT every.row, number FROM {every} LEFT JOIN placed USING (row) ORDER BY every.row"
        return self._stored("entries.parquet", listed, _ENTRIES)

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
            f"{person} AS person, {time} AS time, {milli} AS milli{published} FROM {self._file()} "
            f"WHERE {person} IS NOT NULL AND {time} IS NOT NULL)"
        )

    def _file(self) -> str:
        """The file with its columns renamed: DuckDB does not distinguish upper and lower case in names."""
        names = ", ".join(f"c{i}" for i in range(len(self._source.schema.names)))
        return f"read_parquet({_text(self._source.path)}) AS file({names})"

    def _file_column(self, column: str) -> str:
        return f"c{self._source.schema.names.index(column)}"

    def _combine(self, levels: Levels) -> None:
        """Make `coded`: every row with the number of its published quasi-identifiers, and with its part."""
        # Tables of levels are cached by the caller, so their identity distinguishes combinations.
        key = tuple(sorted((name, id(level)) for name, level in levels.items()))
        if key == self._combined_for:
            return
        columns, joins = ["row", "person", "time", "granule", *self._carried], ""
        for name, quasi in zip(self._relation.roles.quasi_columns, self._quasi, strict=True):
            published = f"events.{quasi}"
            if name in levels:
                self._table(f"level_{quasi}", levels[name])
                published = f"level_{quasi}.published AS {quasi}"
                joins += (
                    f" LEFT JOIN level_{quasi} ON events.{quasi} IS NOT DISTINCT FROM level_{quasi}.value"
                )
            columns += [published, f"events.{quasi} AS original_{quasi}"]
        self._run(f"CREATE OR REPLACE VIEW generalised AS SELECT {', '.join(columns)} FROM events{joins}")
        by, order = ", ".join(self._quasi), f"ORDER BY {', '.join(self._quasi)}" if self._quasi else ""
        counted = f"SELECT {by or '1 AS all_rows'}, count(*) AS rows FROM generalised GROUP BY ALL"
        self._run(
            f"CREATE OR REPLACE TABLE quasis AS SELECT *, row_number() OVER ({order}) AS quasi, "
            f"CAST((sum(rows) OVER ({order}) - rows) // {PART_ROWS} AS BIGINT) AS part FROM ({counted})"
        )
        same = [f"generalised.{q} IS NOT DISTINCT FROM quasis.{q}" for q in self._quasi]
        joined = f"generalised JOIN quasis ON {' AND '.join(same) or 'true'}"
        self._run(f"CREATE OR REPLACE VIEW coded AS SELECT generalised.*, quasi, part FROM {joined}")
        self._combined_for = key

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
            pq.ParquetWriter(target, schema, compression="lz4") as file,
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


def _share(memory_limit: str) -> int:
    """The bytes of a memory limit that are left for DuckDB."""
    written = _SIZE.fullmatch(memory_limit)
    if not written:
        raise ParameterError("the memory limit is not a size", hint="write it as 500MB or 2GB")
    number, unit, is_binary = written.groups()
    size = int(float(number) * (1024 if is_binary else 1000) ** ("KMGT".index(unit.upper()) + 1))
    return max(size - OTHERS_SHARE, min(size, LEAST_SHARE))


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
