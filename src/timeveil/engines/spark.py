"""Counting inside Apache Spark; see `sql` for the statements that it shares with databases.

A combination of quasi-identifiers is a structure of their values here: none is numbered, which one task would
have to do alone. Raw rows are moved between executors once, to where their combination belongs or, if one has
too many for a task, their combination and person; all granularities are counted in one statement. Executors
publish the rows, after one sort of what is published.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Ticks, Timeline
from timeveil.domain.arrays import Codes, Ints
from timeveil.domain.relation import Relation
from timeveil.domain.stored import Parts
from timeveil.engines import Levels, Published, lookups
from timeveil.engines.sql import ENTRIES, SqlEvents
from timeveil.errors import EngineError, ParameterError
from timeveil.reading.in_place import ClusterRows

CELLS = """
    SELECT structure, person, granule, count(*) AS rows
    FROM gathered GROUP BY structure, person, granule
"""


class SparkEvents(SqlEvents):
    """The events of a table in Spark."""

    def __init__(self, relation: Relation) -> None:
        if not isinstance(relation.data, ClusterRows):
            message = "the engine `spark` counts tables of Spark, and this one was read into memory"
            raise ParameterError(message, hint="give the DataFrame itself, or leave {engine} out")
        self._stay, self._cluster, self._are_numbered = relation.data, relation.data.server, False
        super().__init__(relation, self._cluster)

    def observe(self, base: Ticks) -> Ints:
        granule = self._session.floored(f"(instant + {base.phase})", base.width)
        self._session.view(
            "events", f"SELECT *, {granule} AS granule, {self._structure()} AS structure FROM source"
        )
        counted = "SELECT structure, count(*) AS n FROM events GROUP BY structure"
        (most,) = self._session.row(f"SELECT coalesce(max(n), 0) AS most FROM ({counted}) AS s")
        # Where no combination has more rows than a task, its groups need not be moved after its rows.
        self._in_one_task = most * self._cluster.partitions <= self.rows
        # The one move of raw rows: what is grouped by these and more is in one place already.
        rows = self._cluster.frame("SELECT structure, person, granule FROM events")
        keys = ["structure"] if self._in_one_task else ["structure", "person"]
        self._cluster.define("gathered", rows.repartition(*keys))
        self._session.keep("gathered_cells", CELLS)
        names = ", ".join(["structure", *(f"structure.{quasi} AS {quasi}" for quasi in self._quasi)])
        self._session.keep(
            "quasis", f"SELECT {names} FROM (SELECT DISTINCT structure FROM gathered_cells) AS d"
        )
        self._are_numbered = False
        return self._observed("gathered_cells")

    def _structure(self, values: Sequence[str] | None = None) -> str:
        """The values of quasi-identifiers as one value; a number where there are none."""
        pairs = zip(self._quasi, self._quasi if values is None else values, strict=True)
        listed = ", ".join(f"'{quasi}', {value}" for quasi, value in pairs)
        return f"named_struct({listed})" if listed else "0"

    def _tallied(self, firsts: Sequence[Codes], levels: Levels, k: int) -> str:
        # The granularities that a visit is new in, as bits.
        fresh = " + ".join(f"{1 << number} * CAST(n{number} AS BIGINT)" for number in range(len(firsts)))
        base = self._cluster.frame(f"""
            WITH {self._marked(firsts, levels)}
            SELECT combination, granule AS first, fresh, count(*) AS visitors, sum(rows) AS rows
            FROM (SELECT combination, granule, rows, {fresh} AS fresh FROM marked) AS m
            GROUP BY combination, granule, fresh
        """)
        if levels or not self._in_one_task:
            # Few by now: with those of a combination together, no granularity moves its groups again.
            base = base.repartition("combination")
        self._cluster.define("based", base)
        stacked = [
            pa.table({
                "g": pa.array(np.full(len(inside), number, np.int32)),
                "granule": self._granules[inside],
                "head": self._granules[first[inside]],
                "bit": pa.array(np.full(len(inside), 1 << number, np.int64)),
            })
            for number, first in enumerate(firsts)
            for inside in [np.flatnonzero(first >= 0)]
        ]  # fmt: skip
        self._upload("stacked", pa.concat_tables(stacked))
        return f"""
            SELECT g, {lookups.sums(k)} FROM (
                SELECT g, combination, head, sum(rows) AS rows,
                    sum(CASE WHEN fresh & bit <> 0 THEN visitors ELSE 0 END) AS people
                FROM based JOIN stacked ON based.first = stacked.granule GROUP BY g, combination, head
            ) AS t GROUP BY g
        """

    def _combined(self, levels: Levels) -> str:
        if not levels:
            return "(SELECT structure AS combination, person, granule, rows FROM gathered_cells) AS cells"
        columns, joins = self._published_quasi(levels)
        self._session.view(
            "combined", f"SELECT structure, {self._structure(columns)} AS combination FROM quasis{joins}"
        )
        return (
            "(SELECT combination, person, granule, rows FROM gathered_cells "
            f"JOIN combined ON {self._same('gathered_cells.structure', 'combined.structure')}) AS cells"
        )

    def publish(self, timeline: Timeline, granularity: Granularity, levels: Levels, k: int) -> Published:
        order = [f"combination.{quasi} NULLS LAST" for quasi in self._quasi]
        sizes = self._keep_groups(timeline.firsts(granularity), levels, k, order)
        every = f"SELECT *, {self._structure()} AS structure FROM ({self._every_row(timeline.base)}) AS r"
        combination, joins = "every.structure", ""
        if levels:
            combination = "combined.combination"
            joins = f"LEFT JOIN combined ON {self._same('every.structure', 'combined.structure')} "
        columns = ["person", "time", *self._quasi, *self._carried]
        self._place(
            f"SELECT {', '.join(f'every.{c}' for c in columns)}, every.granule, "
            "CASE WHEN number IS NOT NULL THEN 0 END AS step, number "
            f"FROM ({every}) AS every {joins}LEFT JOIN spans ON every.granule = spans.granule "
            f"LEFT JOIN kept ON {self._same(combination, 'kept.combination')} AND kept.first = spans.f0"
        )
        return self._as_published(timeline, [(granularity, levels)], sizes, numbered=False)

    def _number_cells(self) -> None:
        """Number combinations and cells, where the cells come here, or the groups from here."""
        if not self._are_numbered:
            order = ", ".join(f"{quasi} NULLS LAST" for quasi in self._quasi) or "structure"
            numbers = f"row_number() OVER (ORDER BY {order}) - 1 AS quasi"
            self._session.keep("numbered_quasis", f"SELECT *, {numbers} FROM quasis")
            self._session.view("quasis", "SELECT * FROM numbered_quasis")
            same = self._same("gathered_cells.structure", "quasis.structure")
            self._session.view(
                "cells", f"SELECT quasi, person, granule, rows FROM gathered_cells JOIN quasis ON {same}"
            )
            same = self._same("events.structure", "quasis.structure")
            self._session.view("coded", f"SELECT events.*, quasi FROM events JOIN quasis ON {same}")
            self._are_numbered = True
        super()._number_cells()

    def _stored(self, ordered: str, schema: pa.Schema, sizes: Sequence[int]) -> Published:
        folder = self._cluster.folder
        data = Parts(self._cluster.write(ordered, "data", schema), schema, folder)
        return Published(data, _Entries(self._stay.parts, ENTRIES, folder), data.num_rows, *sizes)

    def _place(self, query: str) -> None:
        # The only place where a row and its group are together: from now on a row is its place in a file.
        self._stay.parts = self._cluster.write(query, "placed")
        rows = sum(part.rows for part in self._stay.parts)
        if rows != self._stay.num_rows:
            message = f"{self._stay.num_rows:,} rows were copied, and {rows:,} were placed"
            raise EngineError(message, hint="run it again: nothing was published")
        self._cluster.define("placed", self._cluster.files(self._stay.parts))

    def close(self) -> None:
        """Files stay as long as the release or the ledger does."""
        self._cluster.forget()


class _Entries(Parts):
    """The group of every row, in the order of the files that it is read from."""

    def stored_as(self, column: str) -> str:
        return {"group": "number"}.get(column, "")

    def to_batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        row = 0
        groups = Parts(self.parts, pa.schema({"number": pa.int32()}), self.folder)
        for batch in groups.to_batches(["number"]):
            arrays: list[Any] = [np.arange(row, row + batch.num_rows), batch.column(0)]
            row += batch.num_rows
            entries = pa.RecordBatch.from_arrays([pa.array(a) for a in arrays], schema=ENTRIES)
            yield entries if columns is None else entries.select(columns)
