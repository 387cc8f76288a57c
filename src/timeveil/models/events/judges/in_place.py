"""What `verify` counts of events by SQL, where release and ledger are."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Gaps
from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import plain_type
from timeveil.evidence.published import RowOrder, schema_of
from timeveil.models.events.evidence import Evidence
from timeveil.models.events.judges.counts import Counts, Labels, Numbers
from timeveil.models.events.judges.recount import SUMS, Recount
from timeveil.models.events.judges.tables import Tables, tables_of, where, whole


def counts_of(evidence: Evidence) -> Counts:
    """What counts a release: SQL where its rows are, or else memory."""
    tables = tables_of(evidence)
    return CountsInPlace(evidence, tables) if tables else Counts(evidence)


class CountsInPlace(Counts):
    """The same numbers by SQL."""

    def __init__(self, evidence: Evidence, tables: Tables) -> None:
        super().__init__(evidence)
        self._tables, self._k = tables, evidence.k

    def _row(self, numbers: Mapping[str, str], source: str) -> Numbers:
        """Some numbers of a table, by name."""
        selected = ", ".join(f"{number} AS {name}" for name, number in numbers.items())
        return dict(zip(numbers, self._tables.session.row(f"SELECT {selected} FROM {source}"), strict=True))

    def sizes(self) -> Numbers:
        by = ", ".join([*self._tables.quasi.values(), "label", "first", "last"])
        counted = f"(SELECT count(*) AS n FROM judged_rows GROUP BY {by}) AS classes"
        numbers = {"total": whole("sum(n)"), "classes": "count(*)", "below": where(f"n < {self._k}")}
        return self._row(numbers | {"smallest": whole("min(n)")}, counted)

    def granules(self) -> Iterator[tuple[Mapping[str, Any], pa.Table]]:
        yield self._evidence.release.manifest, self._tables.typed_granules

    @cached_property
    def order(self) -> RowOrder:
        session, evidence = self._tables.session, self._evidence
        schema = schema_of(evidence.release)
        order = RowOrder(schema.names, [*evidence.columns("quasi", "start"), *evidence.columns("time")])
        columns = [self._tables.columns[name] for name in order.names]
        texts = [pa.types.is_string(plain_type(schema.field(name).type)) for name in order.names]
        values = [session.by_bytes.format(c) if text else c for c, text in zip(columns, texts, strict=True)]
        line = session.record.format(", ".join(f"{value} IS NULL, {value}" for value in values))
        lines = f"(SELECT file_number, at_row, {line} AS line FROM judged_rows) AS lines"
        inside = "lag(line) OVER (PARTITION BY file_number ORDER BY at_row) AS before"
        # The last row of each file, and the first of the next.
        edges = "SELECT file_number AS file, min(at_row) AS low, max(at_row) AS high FROM judged_rows"
        ends = f"{lines} JOIN ({edges} GROUP BY file_number) AS edges ON file_number = file"
        across = "at_row, low, line, lag(line) OVER (ORDER BY file_number, at_row) AS before"
        outside = f"(SELECT {across} FROM {ends} WHERE at_row = low OR at_row = high) AS e WHERE at_row = low"
        counted = {"n": where("before > line")}
        within = f"(SELECT line, {inside} FROM {lines}) AS l"
        order.wrong = sum(self._row(counted, source)["n"] for source in (within, outside))
        return order

    # With the ledger.

    def listed(self) -> Numbers:
        misplaced = where("coalesce(numbered, -1) <> at_row")
        numbers = {"unlisted": where("grouped IS NULL"), "misplaced": misplaced}
        return self._row({"listed": "count(*)", **numbers}, "judged_visits")

    def placed(self) -> Numbers:
        outside = where("complete = 1 AND granule IS NULL")
        rows = f"{self._tables.placed} WHERE grouped IS NOT NULL"
        return self._row({"incomplete": where("complete = 0"), "outside": outside}, rows)

    @cached_property
    def _sums(self) -> Numbers:
        """Sums over classes, all at once."""
        numbers = {
            "published": where("released > 0"),
            "below": where(f"released > 0 AND people < {self._k}"),
            "smallest": whole("min(CASE WHEN released > 0 THEN people END)"),
            "unpublished": where("released = 0", "original"),
            "differ": where("released <> original"),
            "classes": where("original > 0"),
        }
        counted = "sum(shown) AS released, sum(1 - shown) AS original, count(DISTINCT person) AS people"
        by = f"{self._tables.sides} GROUP BY {self._tables.classed}"
        return self._row(numbers, f"(SELECT {counted} FROM {by}) AS classes")

    def people(self) -> Numbers:
        return {name: self._sums[name] for name in ("published", "below", "smallest")}

    def check_further(self, findings: Findings) -> None:
        """Nothing more is promised."""

    def shown(self, name: str, step: int) -> Labels:  # noqa: ARG002 (there is one)
        return self._tables.labels[name]

    def rows_of_classes(self) -> Numbers:
        return {name: self._sums[name] for name in ("unpublished", "differ")}

    def row_values(self) -> tuple[Numbers, list[str]]:
        by = ", ".join([self._tables.classed, *self._tables.carried.values()])
        lines = f"(SELECT sum(2 * shown - 1) AS n FROM {self._tables.sides} GROUP BY {by}) AS lines"
        return self._row({"surplus": where("n > 0", "n"), "missing": where("n < 0", "-n")}, lines), []

    def groups(self) -> Numbers:
        pairs = f"SELECT DISTINCT grouped, {self._tables.classed} FROM {self._tables.sides} WHERE shown = 0"
        numbers = {"groups": "count(DISTINCT grouped)", "pairs": "count(*)"}
        return {"classes": self._sums["classes"], **self._row(numbers, f"({pairs}) AS pairs")}

    def candidates(self, levels: Mapping[str, Granularity], gaps: Gaps) -> Recount:
        tables, k = self._tables, self._k
        timeline, rows_at = tables.observed(list(levels.values()), gaps)
        if not len(rows_at):
            return Recount(timeline, rows_at, {})
        calendar = []
        for number, firsts in enumerate(map(timeline.firsts, levels.values())):
            inside = np.flatnonzero(firsts >= 0)
            head, moment = timeline.granules[firsts[inside]], timeline.granules[inside]
            columns = {"number": np.full(len(inside), number), "moment": moment, "head": head}
            calendar.append(pa.table(columns))
        tables.session.upload("judged_calendar", pa.concat_tables(calendar))
        person = ", ".join([*tables.quasi.values(), "person"])
        visits = f"SELECT {person}, base, count(*) AS n FROM ({tables.labelled('judged_based', 'base')}) AS b"
        tables.session.keep("judged_people", f"{visits} GROUP BY {person}, base")
        sums = ["min(people)", "count(*)", "sum(people)", where(f"people < {k}"), where(f"people < {k}", "n")]
        selected = ", ".join(f"{whole(sum_)} AS n{place}" for place, sum_ in enumerate(sums))
        by = ", ".join(["number", *tables.quasi.values(), "head"])
        # Rows of a person are together by now: people are counted without moving them again.
        members = f"SELECT {by}, person, sum(n) AS n FROM judged_people JOIN judged_calendar ON base = moment"
        classes = f"SELECT {by}, count(*) AS people, sum(n) AS n FROM ({members} GROUP BY {by}, person) AS m"
        counted = f"SELECT number, {selected} FROM ({classes} GROUP BY {by}) AS c GROUP BY number"
        lines = zip(*tables.session.table(counted).to_pydict().values(), strict=True)
        by_number = {number: numbers for number, *numbers in lines}
        numbers = (by_number.get(number, [0] * len(SUMS)) for number in range(len(levels)))
        named = {name: dict(zip(SUMS, line, strict=True)) for name, line in zip(levels, numbers, strict=True)}
        return Recount(timeline, rows_at, named)
