"""Counting where the table is, by SQL: one text of statements, and a dialect for what databases spell apart.

`lag` gives each visit the granule of the same person's visit before. A person is new in a granule exactly
when the one before is ahead of its first base granule, so one ordering of the visits serves every
granularity: a bit of `fresh` for each. For a granularity with gaps, the visit before is the last one outside
of them, which a second window expression finds in the same ordering. Calendars and hierarchies are lookup
tables to join. Only tallies, lookups and what is published leave the database; where rows are made coarser
one by one, so do the cells, which hold people by number.

Cost: one grouping of the rows by quasi-identifiers, person and base granule; per combination of levels one
ordering of these, then two groupings; one join of all rows where they are published.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from timeveil.calendar.civil import UNITS
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Ticks, Timeline, candidates
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.domain.release import decode_dictionaries
from timeveil.domain.stored import PrivateFolder, Stored, private_file
from timeveil.engines import (
    DAY,
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
    of_whole_days,
    published_schema,
)
from timeveil.reading.columns import is_text
from timeveil.reading.risks import Occurrences

AT_ONCE = 60
"""Granularities that are counted in one statement: bits of a whole number."""
MOST_VALUES = 10_000
_ENTRIES = pa.schema({"row": pa.int64(), "group": pa.int32()})


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
    table=("DROP TABLE IF EXISTS {0} CASCADE", "CREATE TEMPORARY TABLE {0} AS {1}", "ANALYZE {0}"),
    view=("DROP VIEW IF EXISTS {0} CASCADE", "CREATE TEMPORARY VIEW {0} AS {1}"),
)
DUCKDB = Dialect(
    same="({0} IS NOT DISTINCT FROM {1})",
    seconds=POSTGRESQL.seconds,
    by_bytes="{0}",
    table=("CREATE OR REPLACE TEMPORARY TABLE {0} AS {1}",),
    view=("CREATE OR REPLACE TEMPORARY VIEW {0} AS {1}",),
)


class Session(Protocol):
    """Where statements run. It has the table `every_row`: `person`, `time`, `q0` …, `p0` …."""

    def run(self, statement: str) -> None:
        """Run a statement that gives no rows."""

    def batches(self, query: str) -> Iterator[pa.Table]:
        """The rows of a query, after a table without rows."""

    def upload(self, name: str, table: pa.Table) -> None:
        """Make a temporary table, in place of one of this name."""


class SqlEvents:
    """The events of a relation whose rows are in a database."""

    def __init__(self, relation: Relation, session: Session, dialect: Dialect) -> None:
        roles = relation.roles
        self._relation, self._session, self._dialect = relation, session, dialect
        self._quasi = [f"q{i}" for i in range(len(roles.quasi_columns))]
        self._carried = [f"p{i}" for i in range(len(roles.keep) + len(roles.sensitive))]
        self._granules = self._rows_at = np.empty(0, np.int64)
        self._values: dict[str, pa.Array] = {}
        complete = "person IS NOT NULL AND time IS NOT NULL"
        self._view("source", f"SELECT *, {self._instant()} AS instant FROM every_row WHERE {complete}")
        counted = "SELECT person, count(*) AS rows FROM source GROUP BY person"
        self.rows, self.people = self._row(
            f"SELECT CAST(coalesce(sum(rows), 0) AS BIGINT) AS n, count(*) AS people FROM ({counted}) AS c"
        )

    def _instant(self) -> str:
        """The time of a row as a whole number of instants."""
        axis = self._relation.clock
        if axis.kind == "relative":
            return f"CAST(time AS BIGINT) * {UNITS[axis.unit or 'second'][1]}"
        if pa.types.is_date(axis.type):
            return "CAST(time - DATE '1970-01-01' AS BIGINT) * 86400"
        return self._dialect.seconds.format("time")

    def extent(self) -> tuple[int, int, int]:
        if self.rows == 0:
            return 0, 0, 1
        widths = [width for width, _ in candidates(self._relation.clock)]
        whole = "time = date_trunc('second', time) AND " if _has_clock(self._relation.clock) else ""
        divides = ", ".join(f"bool_and({whole}instant % {width} = 0) AS w{width}" for width in widths)
        query = f"SELECT min(instant) AS low, max(instant) AS high, {divides} FROM source"
        low, high, *fits = self._row(query)
        return low, high, next((w for w, fit in zip(widths, fits, strict=True) if fit), 1)

    def observe(self, base: Ticks) -> Int64s:
        granule = _floor_divide(f"(instant + {base.phase})", base.width)
        self._view("events", f"SELECT *, {granule} AS granule FROM source")
        keys = ", ".join([*self._quasi, "person", "granule"])
        self._table("visited", f"SELECT {keys}, count(*) AS rows FROM events GROUP BY {keys}")
        order = ", ".join(f"{name} NULLS LAST" for name in self._quasi)
        distinct = f"SELECT DISTINCT {', '.join(self._quasi) or '1 AS all_rows'} FROM visited"
        numbers = f"row_number() OVER ({f'ORDER BY {order}' if order else ''}) - 1 AS quasi"
        self._table("quasis", f"SELECT *, {numbers} FROM ({distinct}) AS d")
        rows = (
            "SELECT granule, CAST(sum(rows) AS BIGINT) AS rows FROM visited GROUP BY granule ORDER BY granule"
        )
        counted = self._fetch(rows)
        self._granules, self._rows_at = (counted[name].to_numpy() for name in ("granule", "rows"))
        return self._granules

    def values(self, column: str) -> pa.Array:
        if column not in self._values:
            quasi = self._quasi[self._relation.roles.quasi_columns.index(column)]
            values = self._fetch(f"SELECT DISTINCT {quasi} FROM visited ORDER BY {quasi}")
            self._values[column] = self._cast(values, column)
        return self._values[column]

    def _cast(self, values: pa.Table, column: str) -> pa.Array:
        return values.column(0).combine_chunks().cast(published_schema(self._relation, {}).field(column).type)

    def occurrences(self, column: str) -> Occurrences:
        carried = self._carried_as(column)
        rows, sole = self._row(lookups.OCCURRENCES.format(column=carried))
        kind = published_schema(self._relation, {}).field(column).type
        values = pa.array([], kind)
        if is_text(kind) or pa.types.is_integer(kind):  # other types say whether they are times
            distinct = f"SELECT DISTINCT {carried} FROM source ORDER BY {carried} LIMIT {MOST_VALUES}"
            values = self._cast(self._fetch(distinct), column)
        return Occurrences(values, rows, sole)

    def _carried_as(self, column: str) -> str:
        roles = self._relation.roles
        return self._carried[[*roles.keep, *roles.sensitive].index(column)]

    def tally(
        self, timeline: Timeline, granularities: Sequence[Granularity], levels: Levels, k: int
    ) -> list[Tally]:
        tallies = list[Tally]()
        for start in range(0, len(granularities), AT_ONCE):
            some = granularities[start : start + AT_ONCE]
            large = [f"CASE WHEN people >= {k} THEN people END", f"CASE WHEN people < {k} THEN 1 ELSE 0 END"]
            large.append(f"CASE WHEN people < {k} THEN rows ELSE 0 END")
            numbers = ["min(people)", "count(*)", "sum(people)", f"sum({large[1]})", f"sum({large[2]})"]
            numbers += [f"coalesce(min({large[0]}), 0)", f"coalesce(sum({large[0]}), 0)"]
            listed = ", ".join(f"CAST({number} AS BIGINT) AS n{i}" for i, number in enumerate(numbers))
            query = f"SELECT g, {listed} FROM ({self._counted(timeline, some, levels)}) AS t GROUP BY g"
            by_number = {g: n for g, *n in zip(*self._fetch(query).to_pydict().values(), strict=True)}
            for number, granularity in enumerate(some):
                smallest, groups, total, small, rows, kept, kept_total = by_number.get(number, [0] * 7)
                gaps = self.rows_in_gaps(timeline, granularity)
                tallies.append(Tally(smallest, groups, total, small, rows, gaps, kept, kept_total))
        return tallies

    def _counted(self, timeline: Timeline, granularities: Sequence[Granularity], levels: Levels) -> str:
        """A query for the people and rows of every group: `g`, the published `q0` …, `first`."""
        whole_days = of_whole_days(granularities, timeline)
        days = timeline.firsts(DAY) if whole_days else np.arange(len(timeline), dtype=np.int32)
        spans, stacked, fresh = {"granule": self._granules, "day": self._first(days)}, [], []
        befores = dict[str, bytes]()  # names of columns, and which positions they leave out
        for number, granularity in enumerate(granularities):
            firsts = timeline.firsts(granularity)
            first, inside = self._first(firsts), firsts >= 0
            spans[f"f{number}"] = first
            gaps = inside.tobytes() if not inside.all() else b""
            if gaps not in befores.values():
                befores[f"b{number}"] = gaps
            before = next(name for name, pattern in befores.items() if pattern == gaps)
            # A first that is null, in a gap, is ahead of nothing.
            fresh.append(f"CASE WHEN {before} < f{number} OR ({before} IS NULL AND f{number} IS NOT NULL) "
                         f"THEN {1 << number} ELSE 0 END")  # fmt: skip
            by_day = granularity.name in whole_days
            heads = inside & (days == np.arange(len(days))) if by_day else inside
            stacked.append(pa.table({
                "g": np.full(int(heads.sum()), number, np.int32), "granule": self._granules[heads],
                "first": first.filter(pa.array(heads)), "by_day": np.full(int(heads.sum()), int(by_day)),
                "bit": np.full(int(heads.sum()), 1 << number, np.int64),
            }))  # fmt: skip
        self._upload("spans", pa.table(spans))
        self._upload("stacked", pa.concat_tables(stacked))
        columns, joins = self._generalised("visited", levels)
        keys, ahead = (
            "".join(f"{name}, " for name in self._quasi),
            "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
        )
        window = f"PARTITION BY {keys}person ORDER BY granule"
        windows = [
            f"max(CASE WHEN f{name[1:]} IS NOT NULL THEN granule END) OVER ({window} {ahead}) AS {name}"
            if gaps
            else f"lag(granule) OVER ({window}) AS {name}"
            for name, gaps in befores.items()
        ]
        visits = f"SELECT visited.granule AS granule, person, rows, {''.join(columns)}" + ", ".join(
            name for name in spans if name != "granule"
        )
        visits += f" FROM visited{joins} JOIN spans ON visited.granule = spans.granule"
        # The groups of whole days are summed up by day first: there are far fewer.
        return f"""
            WITH visits AS ({visits}),
            ordered AS (SELECT visits.*, {", ".join(windows)} FROM visits),
            marked AS (
                SELECT {keys}granule, day, rows, CAST({" + ".join(fresh)} AS BIGINT) AS fresh FROM ordered
            ),
            fine AS (
                SELECT {keys}granule, day, fresh, count(*) AS visitors, sum(rows) AS rows
                FROM marked GROUP BY {keys}granule, day, fresh
            ),
            tiers AS (
                SELECT {keys}granule, fresh, visitors, rows, 0 AS by_day FROM fine
                UNION ALL
                SELECT {keys}day, fresh, sum(visitors), sum(rows), 1 FROM fine GROUP BY {keys}day, fresh
            )
            SELECT g, {keys}first, sum(CASE WHEN fresh & bit <> 0 THEN visitors ELSE 0 END) AS people,
                sum(rows) AS rows
            FROM tiers JOIN stacked ON tiers.granule = stacked.granule AND tiers.by_day = stacked.by_day
            GROUP BY g, {keys}first
        """

    def _first(self, firsts: Codes) -> pa.Array:
        """The first base granule in the same granule, null in a gap."""
        return pa.array(self._granules[np.maximum(firsts, 0)], mask=firsts < 0)

    def _generalised(self, table: str, levels: Levels) -> tuple[list[str], str]:
        """Columns of a table as they are published, each with a comma after it, and the joins for them."""
        columns, joins = list[str](), ""
        for name, quasi in zip(self._relation.roles.quasi_columns, self._quasi, strict=True):
            published = f"{table}.{quasi}"
            if name in levels:
                self._upload(f"level_{quasi}", levels[name])
                published = self._dialect.by_bytes.format(f"level_{quasi}.published")
                joins += (
                    f" LEFT JOIN level_{quasi} ON {self._same(f'{table}.{quasi}', f'level_{quasi}.value')}"
                )
            columns.append(f"{published} AS {quasi}, ")
        return columns, joins

    def rows_in_gaps(self, timeline: Timeline, granularity: Granularity) -> int:
        return int(self._rows_at[timeline.in_gaps(granularity)].sum())

    def publish(self, timeline: Timeline, granularity: Granularity, levels: Levels, k: int) -> Published:
        self._number_cells()
        order = ", ".join([*self._quasi, "first"])
        counted = self._counted(timeline, [granularity], levels)
        self._table(
            "kept", f"SELECT *, row_number() OVER (ORDER BY {order}) - 1 AS number FROM ({counted}) AS c "
            f"WHERE people >= {k}",
        )  # fmt: skip
        columns, joins = self._generalised("quasis", levels)
        labelled = f"SELECT {''.join(columns)}quasi FROM quasis{joins}"
        same = "".join(f" AND {self._same(f'kept.{quasi}', f'labelled.{quasi}')}" for quasi in self._quasi)
        self._table(
            "cell_steps", f"SELECT cell, 0 AS step, number FROM numbered JOIN ({labelled}) AS labelled "
            f"ON numbered.quasi = labelled.quasi JOIN spans ON numbered.granule = spans.granule "
            f"JOIN kept ON kept.first = spans.f0{same}",
        )  # fmt: skip
        groups, smallest = self._row(
            "SELECT count(*) AS n, CAST(coalesce(min(people), 0) AS BIGINT) AS m FROM kept"
        )
        return self._published(timeline, [(granularity, levels)], (groups, smallest), numbered=False)

    def cells(self, sensitive: Collection[str] = ()) -> Cells:
        self._number_cells()
        self._table("persons", lookups.PERSONS)
        self._table("visits", lookups.VISITS)
        cells = self._fetch("SELECT quasi, granule, rows FROM numbered ORDER BY cell")
        visits = self._fetch("SELECT cell, number, rows FROM visits ORDER BY visit")
        combinations = self._fetch("SELECT * FROM quasis ORDER BY quasi")
        values = {}
        for name, quasi in zip(self._relation.roles.quasi_columns, self._quasi, strict=True):
            distinct = self.values(name)
            index = pc.index_in(combinations[quasi].cast(distinct.type), distinct, skip_nulls=False)
            values[name] = index.to_numpy().astype(np.int32)
        return Cells(
            quasi=cells["quasi"].to_numpy().astype(np.int32),
            position=np.searchsorted(self._granules, cells["granule"].to_numpy()).astype(np.int32),
            rows=cells["rows"].to_numpy(),
            cell=visits["cell"].to_numpy().astype(np.int32),
            person=visits["number"].to_numpy().astype(np.int32),
            visit_rows=visits["rows"].to_numpy(),
            values=values,
            held={name: self._held(name) for name in sensitive},
        )

    def _held(self, column: str) -> Held:
        """The values of a sensitive column by visit."""
        carried = self._carried_as(column)
        coded = f"SELECT events.*, quasi FROM events JOIN quasis ON {self._same_quasi('events', 'quasis')}"
        self._view("coded", coded)
        self._table("held_values", lookups.HELD_VALUES.format(column=carried))
        same = self._same(f"coded.{carried}", "held_values.value")
        held = self._fetch(f"{lookups.HELD.format(same=same)} ORDER BY visit, code")
        values = self._cast(self._fetch("SELECT value FROM held_values ORDER BY code"), column)
        return Held(held["visit"].to_numpy(), held["code"].to_numpy().astype(np.int32), values)

    def publish_steps(
        self, timeline: Timeline, steps: Sequence[Step], recoded: Recoded, *, numbered: bool = True
    ) -> Published:
        self._number_cells()
        published = np.flatnonzero(recoded.step >= 0)
        step, group = recoded.step[published], recoded.group[published]
        self._upload("cell_steps", pa.table({"cell": published, "step": step, "number": group}))
        smallest = int(recoded.people.min()) if len(recoded.people) else 0
        return self._published(timeline, steps, (len(recoded.people), smallest), numbered=numbered)

    def _number_cells(self) -> None:
        """Number the cells at the values themselves, by content, so that the numbers are always the same."""
        joined = f"visited JOIN quasis ON {self._same_quasi('visited', 'quasis')}"
        self._table("cells", f"SELECT quasi, person, granule, rows FROM {joined}")
        self._table("numbered", lookups.NUMBERED_CELLS)

    def _published(
        self, timeline: Timeline, steps: Sequence[Step], sizes: tuple[int, int], *, numbered: bool
    ) -> Published:
        """The rows of all cells in `cell_steps` as their step says, ordered by what they say."""
        base = timeline.base
        granule = _floor_divide(f"({self._instant()} + {base.phase})", base.width)
        complete = f"CASE WHEN person IS NOT NULL AND time IS NOT NULL THEN {granule} END AS granule"
        every = f"SELECT row_number() OVER () - 1 AS row, every_row.*, {complete} FROM every_row"
        self._table(
            "placed", f"SELECT every.*, step, number FROM ({every}) AS every "
            f"LEFT JOIN quasis ON {self._same_quasi('every', 'quasis')} "
            f"LEFT JOIN numbered ON numbered.quasi = quasis.quasi AND numbered.granule = every.granule "
            f"LEFT JOIN cell_steps ON cell_steps.cell = numbered.cell",
        )  # fmt: skip
        self._upload("labels", lookups.labels_by_step(timeline, steps))
        generalised = {name for _, levels in steps for name in levels}
        columns, joins, text = list[str](), "", self._dialect.by_bytes
        for name, quasi in zip(self._relation.roles.quasi_columns, self._quasi, strict=True):
            columns.append(f"placed.{quasi} AS {quasi}")
            if name in generalised:
                self._upload(f"level_{quasi}", lookups.values_by_step(self.values(name), name, steps))
                columns[-1] = f"{text.format(f'level_{quasi}.published')} AS {quasi}"
                joins += f" JOIN level_{quasi} ON placed.step = level_{quasi}.step"
                joins += f" AND {self._same(f'placed.{quasi}', f'level_{quasi}.value')}"
        columns += [*self._carried, f"{text.format('label')} AS label", "start", "end_"]
        columns += ["placed.step + 1 AS step"] if numbered else []
        at = "placed.granule = labels.granule AND placed.step = labels.step"
        rows = f"SELECT {', '.join(columns)} FROM placed JOIN labels ON {at}{joins}"
        order = [*self._quasi, "start", "label", *self._carried, "end_", *(["step"] if numbered else [])]
        ordered = f"SELECT * FROM ({rows}) AS r ORDER BY {', '.join(f'{c} NULLS LAST' for c in order)}"
        folder = PrivateFolder()
        schema = published_schema(self._relation, generalised, stepped=numbered)
        data = _stored(folder, "data.parquet", schema, self._session.batches(ordered))
        listed = self._session.batches("SELECT row, number FROM placed ORDER BY row")
        entries = _stored(folder, "entries.parquet", _ENTRIES, listed)
        return Published(data, entries, data.num_rows, *sizes)

    def close(self) -> None:
        """Temporary tables go with the connection, which the ledger may still need."""

    def _same(self, left: str, right: str) -> str:
        return self._dialect.same.format(left, right)

    def _same_quasi(self, left: str, right: str) -> str:
        return " AND ".join(self._same(f"{left}.{q}", f"{right}.{q}") for q in self._quasi) or "1 = 1"

    def _table(self, name: str, query: str) -> None:
        for statement in self._dialect.table:
            self._session.run(statement.format(name, query))

    def _view(self, name: str, query: str) -> None:
        for statement in self._dialect.view:
            self._session.run(statement.format(name, query))

    def _upload(self, name: str, table: pa.Table) -> None:
        self._session.upload(name, decode_dictionaries(table))

    def _fetch(self, query: str) -> pa.Table:
        return pa.concat_tables(self._session.batches(query))

    def _row(self, query: str) -> tuple[int, ...]:
        return tuple(column[0].as_py() for column in self._fetch(query).columns)


def _has_clock(axis: TimeAxis) -> bool:
    return bool(pa.types.is_timestamp(axis.type))


def _floor_divide(number: str, width: int) -> str:
    """Division that rounds down for negative numbers too, in any SQL."""
    return f"CAST(({number} - ((({number}) % {width}) + {width}) % {width}) / {width} AS BIGINT)"


def _stored(folder: PrivateFolder, name: str, schema: pa.Schema, tables: Iterable[pa.Table]) -> Stored:
    """Rows as a private file with exactly the names and types of a schema, as they arrive."""
    path = folder.path / name
    with private_file(path) as target, pq.ParquetWriter(target, schema, compression="lz4") as file:
        for table in tables:
            file.write_table(table.rename_columns(schema.names).cast(schema))
    return Stored(path, folder)
