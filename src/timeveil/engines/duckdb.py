"""Counting from disk, for files larger than memory: DuckDB cuts the table into parts, memory counts each.

A part has all rows of some combinations of published quasi-identifiers, so that no group is in two parts, and
parts follow each other in the order of those combinations, as the published rows do. So tallies of parts add
up, and their rows are published one part after the other. All else is the text of `sql`.

Work happens in a private folder that goes with its last reader.
Cost: one external sort of the rows per combination of levels, then what a part of `PART_ROWS` rows costs in
memory; rows that share all published quasi-identifiers are in one part, however many they are.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Timeline
from timeveil.domain.arrays import Codes, Ints
from timeveil.domain.relation import Relation
from timeveil.domain.stored import BATCH_ROWS, PrivateFolder, Stored
from timeveil.engines import Levels, Published, Tally, lookups, total
from timeveil.engines.memory import MemoryEvents
from timeveil.engines.sql import ENTRIES, SqlEvents
from timeveil.errors import EngineError, ParameterError, raising
from timeveil.reading.columns import decoded_fields, is_text
from timeveil.reading.database import text
from timeveil.reading.encoding import with_dictionaries
from timeveil.reading.session import Session, aliases

SORTED_AT_ONCE = 1 << 21  # rows whose times are sorted together
PART_ROWS = 1 << 18  # of a part that has more than one combination of quasi-identifiers
OTHERS_SHARE = 600_000_000  # bytes of a memory limit that Python and Arrow take
LEAST_SHARE = 200_000_000  # bytes that DuckDB gets at least
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(i?)B", re.IGNORECASE)


class DuckDBSession(Session):
    """A database of DuckDB; what it cannot hold in memory goes to the folder `spill`."""

    same = "({0} IS NOT DISTINCT FROM {1})"
    seconds = "CAST((epoch_ms({0}) - (epoch_ms({0}) % 1000 + 1000) % 1000) // 1000 AS BIGINT)"
    full_second = "epoch_ms({0}) % 1000 = 0"
    divided = "{0} // {1}"

    def __init__(self, path: Path | str = ":memory:", spill: Path | None = None) -> None:
        with _explained():
            self.connection = duckdb.connect(str(path))
        if spill is not None:
            self.run(f"SET temp_directory = {text(str(spill))}")
        # Every statement whose order matters says so; the order of insertion would cost memory.
        self.run("SET preserve_insertion_order = false")

    def run(self, statement: str) -> None:
        with _explained():
            self.connection.execute(statement)

    def batches(self, query: str) -> Iterator[pa.Table]:
        with _explained():
            reader = self.connection.sql(query).to_arrow_reader(BATCH_ROWS)
            yield reader.schema.empty_table()
            for batch in reader:
                yield pa.Table.from_batches([batch])

    def upload(self, name: str, table: pa.Table) -> None:
        self.connection.register("incoming", table)
        self.run(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM incoming")
        self.connection.unregister("incoming")


class DuckDBEvents(SqlEvents):
    """The events of a relation as a Parquet file that DuckDB reads."""

    def __init__(self, relation: Relation, memory_limit: str | None = None) -> None:
        self._folder, data = PrivateFolder(), relation.data
        if not isinstance(data, Stored):
            with _explained():
                data = Stored.written(self._folder, "source", data.schema, [data])
        self._source = data
        self._parted_for: tuple[tuple[tuple[str, int], ...], int] | None = None
        # Files that DuckDB makes have the usual rights; the folder lets nobody else in.
        self._work, spill = self._folder.path / "work.duckdb", self._folder.path / "spill"
        spill.mkdir(mode=0o700)
        self._duckdb = DuckDBSession(self._work, spill)
        self._work.chmod(0o600)
        if memory_limit:
            self._duckdb.run(f"SET memory_limit = '{_share(memory_limit)}B'")
        # Columns are renamed: DuckDB does not distinguish upper and lower case in names.
        names = data.schema.names
        columns = [relation.respondent, relation.time, *relation.roles.published]
        aliased = zip(columns, ["person", "time", *aliases(relation.roles).values()], strict=True)
        selected = ", ".join(f"c{names.index(column)} AS {alias}" for column, alias in aliased)
        file = (
            f"read_parquet({text(str(data.path))}) AS file({', '.join(f'c{i}' for i in range(len(names)))})"
        )
        self._duckdb.run(f"CREATE VIEW every_row AS SELECT file_row_number AS row, {selected} FROM {file}")
        super().__init__(relation, self._duckdb)

    def _count_cells(self) -> str:
        self._parted_for = None  # parts have the granules of another base
        return ""  # nothing asks for cells yet

    def _observed(self, _cells: str) -> Ints:
        """The base granules that occur; most may occur once, and SQL groups those slowly."""
        self._granules = self._rows_at = np.empty(0, np.int64)
        waiting = list[Ints]()
        for rows in self._session.batches("SELECT granule FROM events"):
            waiting.append(rows["granule"].to_numpy())
            if sum(map(len, waiting)) > SORTED_AT_ONCE + len(self._granules):
                self._merge(waiting)
                waiting = []
        self._merge(waiting)
        return self._granules

    def _merge(self, waiting: Sequence[Ints]) -> None:
        """Count further base granules, one for each row."""
        granules = np.concatenate([self._granules, *waiting])
        order = np.argsort(granules)
        rows = np.append(self._rows_at, np.ones(len(granules) - len(self._rows_at), np.int64))[order]
        granules = granules[order]
        heads = np.flatnonzero(np.append(True, granules[1:] != granules[:-1])[: len(granules)])
        self._granules = granules[heads]
        self._rows_at = np.diff((np.cumsum(rows) - rows)[heads], append=rows.sum())

    def _number_cells(self) -> None:
        self._session.keep("cells", lookups.CELLS.format(sums=self._sums))
        super()._number_cells()

    def tally(
        self, timeline: Timeline, granularities: Sequence[Granularity], levels: Levels, k: int
    ) -> list[Tally]:
        tallies = [
            part.tally(replace(timeline, granules=part.observe(timeline.base)), granularities, levels, k)
            for part, _ in self._parts(levels, complete=False)
        ]
        return [total(of_parts) for of_parts in zip(*tallies, strict=True)]

    def publish(self, timeline: Timeline, granularity: Granularity, levels: Levels, k: int) -> Published:
        schema, sizes = self._schema(levels), list[tuple[int, int]]()
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
                yield from map(pa.Table.from_batches, ([batch] for batch in published.data.to_batches()))

        def entries() -> Iterator[pa.Table]:
            numbers = pa.array(group_of_row, mask=group_of_row < 0)
            for start in range(0, len(numbers), BATCH_ROWS):
                group = numbers.slice(start, BATCH_ROWS)
                yield pa.table([start + np.arange(len(group)), group], schema=ENTRIES)

        folder = PrivateFolder()
        with _explained():
            data = Stored.written(folder, "data", schema, tables())
            listed = Stored.written(folder, "entries", ENTRIES, entries())
        smallest = min((least for groups, least in sizes if groups), default=0)
        return Published(data, listed, data.num_rows, sum(groups for groups, _ in sizes), smallest)

    def _parts(self, levels: Levels, *, complete: bool) -> Iterator[tuple[MemoryEvents, Ints]]:
        """The parts of the table, in the order of what they publish, and the number of each of their rows.

        Only where they are `complete`, or nothing is generalised, they have the columns that nothing counts.
        """
        columns = ["person", "time", *(self._carried if complete or not levels else [])]
        # Tables of levels are cached by the caller, so their identity distinguishes combinations.
        wanted = tuple(sorted((name, id(level)) for name, level in levels.items())), len(columns)
        if wanted != self._parted_for:
            published, joins = self._published_quasi(levels)
            by = ", ".join(published) or "quasi"
            # How many rows have combinations that come before: rows of one are in one part.
            before = f"sum(rows) OVER (ORDER BY {by}) - sum(rows) OVER (PARTITION BY {by})"
            self._session.keep(
                "combined", f"SELECT quasi, ({before}) // {PART_ROWS} AS part FROM quasis{joins}"
            )
            rows = "coded JOIN combined USING (quasi) ORDER BY part"
            self._session.keep("parts", f"SELECT part, row, quasi, {', '.join(columns)} FROM {rows}")
            self._parted_for = wanted
        roles, quasis = self._relation.roles, self._session.table("SELECT * FROM quasis ORDER BY quasi")
        names = [roles.respondent, roles.time, *roles.published[len(self._quasi) :]][: len(columns)]
        schema = pa.schema(decoded_fields(pa.schema([self._source.schema.field(name) for name in names])))
        # Quasi-identifiers are sorted and moved as the number of their combination.
        quasi = {name: self._cast(quasis.select([self._alias[name]]), name) for name in roles.quasi_columns}
        quasi |= {name: values.dictionary_encode() for name, values in quasi.items() if is_text(values.type)}
        parts = self._session.table("SELECT DISTINCT part FROM parts ORDER BY part")
        for number in parts["part"].to_pylist():
            part = self._session.table(f"SELECT * FROM parts WHERE part = {number}")
            data = pa.table(part.columns[3:], names).cast(schema)
            data = with_dictionaries(data, self._relation.respondent)
            for name, values in quasi.items():
                data = data.append_column(name, values.take(part["quasi"]))
            yield MemoryEvents(replace(self._relation, data=data)), part["row"].to_numpy()

    def _stored(self, ordered: str, schema: pa.Schema, sizes: Sequence[int]) -> Published:
        with _explained():
            return super()._stored(ordered, schema, sizes)

    def close(self) -> None:
        """Close the database; its files go when nothing reads them any more."""
        self._duckdb.connection.close()
        self._work.unlink(missing_ok=True)


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
