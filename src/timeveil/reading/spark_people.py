"""A table about people in Spark: series in columns, or transactions, one row per person after reading.

Executors copy the columns that are needed into files, as `spark` says, which all that follows reads. What
`read` refuses row by row is counted by statements. Executors run the code of the methods, so that timeveil is
installed on their machines, too.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from timeveil.domain.arrays import Ints
from timeveil.domain.relation import Relation
from timeveil.domain.roles import Roles, require_roles
from timeveil.domain.stored import Part, Parts
from timeveil.domain.wording import counted, listed
from timeveil.errors import InputError, RolesError
from timeveil.reading.columns import column_error, fit
from timeveil.reading.spark import Cluster, SparkTable, numbered
from timeveil.reading.spellings import PLAIN_TEXT

_NUMBERS = ("int2", "int4", "int8", "float4", "float8", "decimal")
Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class PeopleInSpark:
    """One row per person in files of the cluster, whose columns are `c0`, `c1` … in statements."""

    cluster: Cluster
    files: Sequence[Part]
    relation: Relation

    @property
    def frame(self) -> Any:
        return numbered(self.cluster.files(self.files))

    def each(self, work: Work, result: str, parts: int | None = None) -> pa.Table:
        """What executors make of the rows, in so many parts; `result` has the columns and types."""
        with self.cluster.explained():
            frame = self.frame if parts is None else self.frame.repartition(parts)
            return frame.mapInArrow(work, result).toArrow()

    def total(self, work: Callable[[Iterator[pa.RecordBatch]], Ints]) -> Ints:
        """The sum of the numbers that executors make of each part of the rows."""
        sums = self.each(partial(_as_bytes, work), "numbers BINARY")["numbers"].to_pylist()
        added: Ints = np.sum([np.frombuffer(numbers, np.int64) for numbers in sums], axis=0)
        return added


def _as_bytes(
    work: Callable[[Iterator[pa.RecordBatch]], Ints], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"numbers": [work(batches).astype(np.int64).tobytes()]})


def read_people(table: object, roles: Roles, *, repeats: str = "error") -> PeopleInSpark:
    """Copy series or transactions to where all executors see them, and check them."""
    require_roles(roles)
    source = SparkTable(table)
    roles = fit(roles, source.names, ())
    if not roles.series and roles.item is None:
        message = "the engine `spark` takes series in columns, or transactions"
        hint = "give one row per series, with {series} of columns: pivot the table first"
        raise RolesError(message, hint=hint, code="role-missing")
    names = [*filter(None, (roles.respondent, roles.item)), *roles.series, *roles.sensitive, *roles.keep]
    if len({name.lower() for name in names}) < len(names):
        message = "the names of two columns differ in case alone, which Spark does not tell apart"
        raise InputError(message, hint="give them other names", code="column-twice")
    try:
        files = source.server.write(_prepared(source, roles, names, repeats), "people")
        if not files:
            raise InputError("the table has no rows", hint="check that it is the right table")
        data = Parts(files, pq.read_schema(files[0].path), source.server.folder)
        # The files have no column to drop.
        relation = Relation(replace(roles, drop=()), data, None, tuple(roles.drop), source.name)
        people = PeopleInSpark(source.server, files, relation)
        source.server.define("people", people.frame)
        if roles.respondent is not None:
            _refuse_people(source, people, roles.respondent)
        if roles.series:
            _refuse_gaps(people)
        return people
    finally:
        source.server.forget()  # what follows reads the files


def _prepared(source: SparkTable, roles: Roles, names: Sequence[str], repeats: str) -> Any:
    """One row per person: the person if there is one, then the items, or the series and further columns."""
    columns = {name: f"c{source.names.index(name)}" for name in names}
    if odd := [name for name in roles.series if source.kinds[name] not in _NUMBERS]:
        message = f"the type of {listed(odd[:8])} is not that of numbers"
        raise InputError(message, hint="cast it to double in Spark", code="bad-number")
    cluster, item, origin = source.server, columns.get(str(roles.item), ""), "all_rows"
    with cluster.explained():
        cluster.define(origin, numbered(source.frame))
    if item and not source.kinds[str(roles.item)].startswith("_array<"):
        person = columns[str(roles.respondent)]
        nulls = int(cluster.row(f"SELECT count_if({person} IS NULL OR {item} IS NULL) FROM {origin}")[0])
        if nulls:
            message = f"{counted(nulls, 'row')} without a person or an item"
            hint = "fill them in, or filter them out in Spark"
            raise InputError(message, hint=hint, code="nulls", facts={"count": nulls})
        origin = f"(SELECT {person}, collect_list({item}) AS {item} FROM {origin} GROUP BY {person})"
    if item:
        query = f"SELECT coalesce(sum(size({item}) - size(array_distinct({item}))), 0) FROM {origin}"
        repeated = int(cluster.row(query)[0])
        if repeated and repeats == "error":
            message = f"column `{roles.item}` repeats an item within a transaction"
            message += f", {counted(repeated, 'time')}"
            hint = 'count each item once per person with {repeats="once"}'
            raise InputError(message, hint=hint, code="item-twice")
    columns |= {name: f"CAST({columns[name]} AS DOUBLE)" for name in roles.series}
    columns |= {str(roles.item): f"array_distinct({item})"} if item else {}
    with cluster.explained():
        return cluster.frame(f"SELECT {', '.join(columns.values())} FROM {origin}").toDF(*names)


def _refuse_people(source: SparkTable, people: PeopleInSpark, column: str) -> None:
    """Refuse people without a name, with several rows, or spelt so that two may look alike."""
    unlike = source.is_unlike("CAST(c0 AS STRING)", PLAIN_TEXT)
    query = f"SELECT count_if(c0 IS NULL), count(c0) - count(DISTINCT c0), count_if({unlike}) FROM people"
    nulls, repeated, odd = people.cluster.row(query)
    hint = "clean it in Spark first, or leave {engine} out"
    if nulls:
        raise column_error(column, f"has {counted(nulls, 'null')}", hint, "nulls", count=nulls)
    if repeated:
        message = f"{counted(repeated, 'row')} too many: people have several, by `{column}`"
        raise InputError(message, hint=hint, code="person-twice", facts={"count": repeated})
    if odd:
        fault = f"has {counted(odd, 'name')} with characters that can be spelt in two ways"
        raise column_error(column, fault, hint, "person-twice", count=odd)


def _refuse_gaps(people: PeopleInSpark) -> None:
    roles, first = people.relation.roles, int(people.relation.roles.respondent is not None)
    columns = [f"c{first + number}" for number in range(len(roles.series))]
    missing = " OR ".join(f"{name} IS NULL OR abs({name}) >= double('Infinity')" for name in columns)
    (series,) = people.cluster.row(f"SELECT count_if({missing}) FROM people")  # to Spark, NaN is above all
    if series:
        message = f"{series:,} of {people.relation.rows:,} series have a value that is missing or not finite"
        hint = "fill them in, or filter them out, in Spark"
        raise InputError(message, hint=hint, code="series-gap", facts={"series": series})
