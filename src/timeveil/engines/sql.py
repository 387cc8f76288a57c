"""Counting where the table is, by SQL: one text of statements; a `Session` has what databases spell apart.

`lag` gives each visit the granule of the same person's visit before. A person is new in a granule exactly
when the one before is ahead of its first base granule, so one ordering of the visits serves every
granularity: `fresh` has a bit for each. With gaps, the visit before is the last one outside of them. Only
tallies, lookups and what is published leave the database; where rows are made coarser one by one, so do the
cells, which hold people by number.

Cost: one grouping of the rows by quasi-identifiers, person and base granule; per combination of levels one
ordering of these, then a grouping per granularity, most of them of few groups of finer granules; one join of
all rows where they are published.
"""

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.civil import UNITS
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Ticks, Timeline, candidates
from timeveil.domain.arrays import Codes, Ints
from timeveil.domain.relation import Relation
from timeveil.domain.release import decode_dictionaries
from timeveil.domain.stored import PrivateFolder, Stored
from timeveil.engines import Cells, Held, Levels, Published, Recoded, Step, Tally, lookups, published_schema
from timeveil.reading.columns import is_text
from timeveil.reading.risks import Occurrences
from timeveil.reading.session import Session, aliases

AT_ONCE = 60  # granularities that are counted in one statement: bits of a whole number
MOST_VALUES = 10_000
ENTRIES = pa.schema({"row": pa.int64(), "group": pa.int32()})


class SqlEvents:
    """The events of a relation whose rows are in a database."""

    def __init__(self, relation: Relation, session: Session) -> None:
        roles = relation.roles
        self._relation, self._session = relation, session
        self._alias = aliases(roles)
        self._quasi = [self._alias[name] for name in roles.quasi_columns]
        self._carried = list(self._alias.values())[len(self._quasi) :]
        self._granules = self._rows_at = np.empty(0, np.int64)
        self._values: dict[str, pa.Array] = {}
        complete = "person IS NOT NULL AND time IS NOT NULL"
        self._session.view(
            "source", f"SELECT *, {self._instant()} AS instant FROM every_row WHERE {complete}"
        )
        counted = "SELECT person, count(*) AS rows FROM source GROUP BY person"
        self.rows, self.people = self._session.row(
            f"SELECT CAST(coalesce(sum(rows), 0) AS BIGINT) AS n, count(*) AS people FROM ({counted}) AS c"
        )
        # Sums of short numbers are far faster where those of long ones may be longer still.
        self._sums = "INTEGER" if self.rows < 1 << 31 else "BIGINT"

    def _instant(self) -> str:
        """The time of a row as a whole number of instants."""
        axis = self._relation.clock
        if axis.kind == "relative":
            return f"CAST(time AS BIGINT) * {UNITS[axis.unit or 'second'][1]}"
        if pa.types.is_date(axis.type):
            return f"{self._session.days.format('time')} * 86400"
        return self._session.seconds.format("time")

    def extent(self) -> tuple[int, int, int]:
        if self.rows == 0:
            return 0, 0, 1
        widths = [width for width, _ in candidates(self._relation.clock)]
        is_timestamp = pa.types.is_timestamp(self._relation.clock.type)
        condition = f"{self._session.full_second.format('time')} AND " if is_timestamp else ""
        divides = ", ".join(f"bool_and({condition}instant % {width} = 0) AS w{width}" for width in widths)
        ends = "min(instant) AS low, max(instant) AS high"
        low, high, *fits = self._session.row(f"SELECT {ends}, {divides} FROM source")
        return low, high, next((w for w, fit in zip(widths, fits, strict=True) if fit), 1)

    def observe(self, base: Ticks) -> Ints:
        granule = self._session.floored(f"(instant + {base.phase})", base.width)
        self._session.view("events", f"SELECT *, {granule} AS granule FROM source")
        order = ", ".join(f"{name} NULLS LAST" for name in self._quasi)
        by = ", ".join(self._quasi)
        counted = f"SELECT {by or '1 AS all_rows'}, count(*) AS rows FROM events GROUP BY {by or 'all_rows'}"
        numbers = f"row_number() OVER (ORDER BY {order or 'all_rows'}) - 1 AS quasi"
        self._session.keep("quasis", f"SELECT *, {numbers} FROM ({counted}) AS d")
        self._session.view(
            "coded", f"SELECT events.*, quasi FROM events JOIN quasis ON {self._same_quasi('events')}"
        )
        return self._observed(self._count_cells())

    def _count_cells(self) -> str:
        """Count the rows of each cell, and say from where their sums by granule come."""
        self._session.keep("cells", lookups.CELLS.format(sums=self._sums))
        return "cells"

    def _observed(self, cells: str) -> Ints:
        sums = f"SELECT granule, CAST(sum(rows) AS BIGINT) AS rows FROM {cells} GROUP BY granule"
        counted = self._session.table(f"{sums} ORDER BY granule")
        self._granules, self._rows_at = (counted[name].to_numpy() for name in ("granule", "rows"))
        return self._granules

    def values(self, column: str) -> pa.Array:
        if column not in self._values:
            quasi = self._alias[column]
            values = self._session.table(f"SELECT DISTINCT {quasi} FROM quasis ORDER BY {quasi}")
            self._values[column] = self._cast(values, column)
        return self._values[column]

    def _cast(self, values: pa.Table, column: str) -> pa.Array:
        return values.column(0).combine_chunks().cast(self._schema().field(column).type)

    def _schema(self, generalised: Collection[str] = (), *, stepped: bool = False) -> pa.Schema:
        return published_schema(self._relation, generalised, stepped=stepped)

    def occurrences(self, column: str) -> Occurrences:
        carried = self._alias[column]
        rows, sole = self._session.row(lookups.OCCURRENCES.format(column=carried))
        kind = self._schema().field(column).type
        values = pa.array([], kind)
        if is_text(kind) or pa.types.is_integer(kind):  # other types say whether they are times
            distinct = f"SELECT DISTINCT {carried} FROM source ORDER BY {carried} LIMIT {MOST_VALUES}"
            values = self._cast(self._session.table(distinct), column)
        return Occurrences(values, rows, sole)

    def tally(
        self, timeline: Timeline, granularities: Sequence[Granularity], levels: Levels, k: int
    ) -> list[Tally]:
        tallies = list[Tally]()
        for start in range(0, len(granularities), AT_ONCE):
            batch = granularities[start : start + AT_ONCE]
            firsts = [timeline.firsts(granularity) for granularity in batch]
            counted = self._session.table(self._tallied(firsts, levels, k)).to_pydict().values()
            by_number = {g: counts for g, *counts in zip(*counted, strict=True)}
            for number, granularity in enumerate(batch):
                counts, gaps = by_number.get(number, [0] * 7), self.rows_in_gaps(timeline, granularity)
                tallies.append(Tally(*[*counts[:5], gaps, *counts[5:]]))
        return tallies

    def _tallied(self, firsts: Sequence[Codes], levels: Levels, k: int) -> str:
        """A query for the numbers of tallies, by the number `g` of the granularity."""
        tiers, groups = self._counted(firsts, levels)
        queries = [f"SELECT {i} AS g, {lookups.sums(k)} FROM ({query}) AS t" for i, query in groups.items()]
        return f"WITH {tiers} {' UNION ALL '.join(queries)}"

    def _counted(self, firsts: Sequence[Codes], levels: Levels) -> tuple[str, dict[int, str]]:
        """Tables that queries share, and per granularity a query for its groups: `combination`, `first`.

        Each has its people in `n` and its number, and so those of what is summed up from it. Groups of coarse
        granules are summed up from those of finer ones that never cross them.
        """
        finer, names = lookups.finer(firsts), dict[int | None, str]({None: "base"})
        is_base = [np.array_equal(first, np.arange(len(self._granules))) for first in firsts]
        under = [None if parent is None or is_base[parent] else parent for parent in finer]
        sums, groups = {number: {number} for number in range(len(firsts))}, dict[int, str]()
        order = sorted(sums, key=lambda n: lookups.fineness(firsts[n], n))
        for number in order:  # from coarse to fine
            if (parent := under[number]) is not None:
                sums[parent] |= sums[number]

        def summed(numbers: Iterable[int]) -> str:
            named = ["rows", *(f"n{number}" for number in sorted(numbers))]
            return ", ".join(f"CAST(sum({name}) AS {self._sums}) AS {name}" for name in named)

        # What is summed up from the base granules, which are many, finds its granules there.
        heads = [f"min(f{number}) AS f{number}" for number in order if under[number] is None]
        tiers = f"""{self._marked(firsts, levels)},
            base AS (
                SELECT combination, granule AS first, {", ".join([summed(order), *heads])}
                FROM marked GROUP BY combination, granule
            )"""
        for number in reversed(order):
            parent, head = under[number], f"f{number}"
            lookup = "" if parent is None else " JOIN spans ON first = granule"
            names[number] = "base" if is_base[number] else f"tier{number}"
            if not is_base[number]:
                tiers += f""",
            tier{number} AS (
                SELECT combination, {head} AS first, {summed(sums[number])}
                FROM {names[parent]}{lookup} WHERE {head} IS NOT NULL GROUP BY combination, {head}
            )"""
            groups[number] = f"SELECT combination, first, rows, n{number} AS people FROM {names[number]}"
        return tiers, groups

    def _marked(self, firsts: Sequence[Codes], levels: Levels) -> str:
        """Tables up to `marked`: visits, and the granularities that each is `new` in, by number: 1 or 0."""
        befores = lookups.befores(firsts)
        self._upload("spans", pa.table({
            "granule": self._granules,
            # The first base granule in the same granule, null in a gap.
            **{f"f{i}": pa.array(self._granules[np.maximum(f, 0)], mask=f < 0) for i, f in enumerate(firsts)},
            **{f"inside{number}": pa.array(firsts[number] >= 0) for number in set(befores)},
        }))  # fmt: skip
        window = "PARTITION BY combination, person ORDER BY cells.granule"
        outside = f"{window} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
        windows, gapped = list[str](), ""
        for number in sorted(set(befores)):
            windows.append(f"lag(cells.granule, 1, {lookups.FIRST_EVER}) OVER ({window}) AS b{number}")
            if (firsts[number] < 0).any():
                inside = f"max(CASE WHEN inside{number} THEN cells.granule END) OVER ({outside})"
                windows[-1] = f"coalesce({inside}, {lookups.FIRST_EVER}) AS b{number}"
                gapped = " JOIN spans ON cells.granule = spans.granule"
        # A first that is null, in a gap, is ahead of nothing.
        new = [f"CASE WHEN b{b} < f{i} THEN 1 ELSE 0 END AS n{i}" for i, b in enumerate(befores)]
        heads = [f"f{number}" for number in range(len(firsts))]
        return f"""
            ordered AS (
                SELECT combination, cells.granule AS granule, rows, {", ".join(windows)}
                FROM {self._combined(levels)}{gapped}
            ),
            marked AS (
                SELECT combination, ordered.granule AS granule, rows, {", ".join([*new, *heads])}
                FROM ordered JOIN spans ON ordered.granule = spans.granule
            )"""

    def _combined(self, levels: Levels) -> str:
        """The cells with their `combination`: the number of the one of values that is published."""
        if not levels:
            self._session.keep("combined", "SELECT quasi, quasi AS combination FROM quasis")
            return "(SELECT quasi AS combination, person, granule, rows FROM cells) AS cells"
        columns, joins = self._published_quasi(levels)
        number = f"dense_rank() OVER (ORDER BY {', '.join(columns) or 'quasi'}) AS combination"
        self._session.keep("combined", f"SELECT quasi, {number} FROM quasis{joins}")
        return "cells JOIN combined ON cells.quasi = combined.quasi"

    def _published_quasi(self, levels: Levels) -> tuple[list[str], str]:
        """What each quasi-identifier of `quasis` is published as, and the lookups to join for it."""
        columns, joins = list[str](), ""
        for name, quasi in zip(self._relation.roles.quasi_columns, self._quasi, strict=True):
            columns.append(f"quasis.{quasi}")
            if name in levels:
                level = f"level_{quasi}"
                self._upload(level, levels[name])
                columns[-1] = self._session.by_bytes.format(f"{level}.published")
                joins += f" LEFT JOIN {level} ON {self._same(f'quasis.{quasi}', f'{level}.value')}"
        return columns, joins

    def rows_in_gaps(self, timeline: Timeline, granularity: Granularity) -> int:
        return int(self._rows_at[timeline.in_gaps(granularity)].sum())

    def publish(self, timeline: Timeline, granularity: Granularity, levels: Levels, k: int) -> Published:
        self._number_cells()
        sizes = self._keep_groups(timeline.firsts(granularity), levels, k, ["combination"])
        self._session.keep(
            "cell_steps",
            "SELECT cell, 0 AS step, number FROM numbered JOIN combined ON numbered.quasi = combined.quasi "
            "JOIN spans ON numbered.granule = spans.granule "
            "JOIN kept ON kept.combination = combined.combination AND kept.first = spans.f0",
        )
        return self._published(timeline, [(granularity, levels)], sizes, numbered=False)

    def _keep_groups(self, firsts: Codes, levels: Levels, k: int, order: Sequence[str]) -> tuple[int, int]:
        """Name the groups of k people `kept`, numbered in this order; how many they are, and the smallest."""
        tiers, groups = self._counted([firsts], levels)
        numbers = f"row_number() OVER (ORDER BY {', '.join([*order, 'first'])}) - 1 AS number"
        rows = f"({groups[0]}) AS t WHERE people >= {k}"
        self._session.keep("kept", f"WITH {tiers} SELECT *, {numbers} FROM {rows}")
        count, smallest = self._session.row(lookups.SIZES)
        return count, smallest

    def cells(self, sensitive: Collection[str] = ()) -> Cells:
        self._number_cells()
        self._session.keep("persons", lookups.PERSONS)
        self._session.keep("visits", lookups.VISITS)
        cells = self._session.table("SELECT quasi, granule, rows FROM numbered ORDER BY cell")
        visits = self._session.table("SELECT cell, number, rows FROM visits ORDER BY visit")
        combinations = self._session.table("SELECT * FROM quasis ORDER BY quasi")
        values = {}
        for name in self._relation.roles.quasi_columns:
            distinct = self.values(name)
            combined = combinations[self._alias[name]].cast(distinct.type)
            values[name] = pc.index_in(combined, distinct, skip_nulls=False).to_numpy().astype(np.int32)
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
        carried = self._alias[column]
        self._session.keep("held_values", lookups.HELD_VALUES.format(column=carried))
        same = self._same(f"coded.{carried}", "held_values.value")
        held = self._session.table(f"{lookups.HELD.format(same=same)} ORDER BY visit, code")
        values = self._cast(self._session.table("SELECT value FROM held_values ORDER BY code"), column)
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
        self._session.keep("numbered", lookups.NUMBERED_CELLS)

    def _published(
        self, timeline: Timeline, steps: Sequence[Step], sizes: Sequence[int], *, numbered: bool
    ) -> Published:
        """The rows of all cells in `cell_steps` as their step says, ordered by what they say."""
        self._place(
            f"SELECT every.*, step, number FROM ({self._every_row(timeline.base)}) AS every "
            f"LEFT JOIN quasis ON {self._same_quasi('every')} "
            f"LEFT JOIN numbered ON numbered.quasi = quasis.quasi AND numbered.granule = every.granule "
            f"LEFT JOIN cell_steps ON cell_steps.cell = numbered.cell",
        )  # fmt: skip
        return self._as_published(timeline, steps, sizes, numbered=numbered)

    def _every_row(self, base: Ticks) -> str:
        """All rows, those that are counted with their base granule."""
        granule = self._session.floored(f"({self._instant()} + {base.phase})", base.width)
        complete = f"CASE WHEN person IS NOT NULL AND time IS NOT NULL THEN {granule} END AS granule"
        return f"SELECT {self._session.row_number}every_row.*, {complete} FROM every_row"

    def _as_published(
        self, timeline: Timeline, steps: Sequence[Step], sizes: Sequence[int], *, numbered: bool
    ) -> Published:
        """Store what is published of `placed`, in its order."""
        self._upload("labels", lookups.labels_by_step(timeline, steps))
        generalised = {name for _, levels in steps for name in levels}
        columns, joins, text = list[str](), "", self._session.by_bytes
        for name, quasi in zip(self._relation.roles.quasi_columns, self._quasi, strict=True):
            columns.append(f"placed.{quasi} AS {quasi}")
            if name in generalised:
                level = f"level_{quasi}"
                self._upload(level, lookups.values_by_step(self.values(name), name, steps))
                columns[-1] = f"{text.format(f'{level}.published')} AS {quasi}"
                joins += f" JOIN {level} ON placed.step = {level}.step"
                joins += f" AND {self._same(f'placed.{quasi}', f'{level}.value')}"
        columns += [*self._carried, f"{text.format('label')} AS label", "start", "end_"]
        columns += ["placed.step + 1 AS step"] if numbered else []
        at = "placed.granule = labels.granule AND placed.step = labels.step"
        rows = f"SELECT {', '.join(columns)} FROM placed JOIN labels ON {at}{joins}"
        order = [*self._quasi, "start", "label", *self._carried, "end_", *(["step"] if numbered else [])]
        ordered = f"SELECT * FROM ({rows}) AS r ORDER BY {', '.join(f'{c} NULLS LAST' for c in order)}"
        return self._stored(ordered, self._schema(generalised, stepped=numbered), sizes)

    def _stored(self, ordered: str, schema: pa.Schema, sizes: Sequence[int]) -> Published:
        folder = PrivateFolder()
        data = Stored.written(folder, "data", schema, self._session.batches(ordered))
        listed = self._session.batches("SELECT row, number FROM placed ORDER BY row")
        entries = Stored.written(folder, "entries", ENTRIES, listed)
        return Published(data, entries, data.num_rows, *sizes)

    def close(self) -> None:
        """Temporary tables go with the connection, which the ledger may still need."""

    def _same(self, one: str, another: str) -> str:
        return self._session.same.format(one, another)

    def _same_quasi(self, rows: str) -> str:
        return " AND ".join(self._same(f"{rows}.{q}", f"quasis.{q}") for q in self._quasi) or "1 = 1"

    def _place(self, query: str) -> None:
        """Name all rows with their group `placed`."""
        self._session.keep("placed", query)

    def _upload(self, name: str, table: pa.Table) -> None:
        self._session.upload(name, decode_dictionaries(table))
