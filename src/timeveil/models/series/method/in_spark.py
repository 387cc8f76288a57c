"""The parts of series, grouped by the executors of Spark.

Executors cut the series, read from the files of the cluster, into the parts that the driver found, bring each
part together by one shuffle, and run the method on it. The driver has the series in memory to publish them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.domain.roles import Roles
from timeveil.models.series.method.partition import Labels, Partition
from timeveil.models.series.method.parts import Cut, part_of
from timeveil.models.series.parameters import SeriesParameters
from timeveil.reading.collection import collect, read_series
from timeveil.reading.spark_people import PeopleInSpark

_RESULT = "file STRING, position BIGINT, part INT, grouped BIGINT, shaped BIGINT, symbols BINARY, own BOOLEAN"


def grouped(
    people: PeopleInSpark, cuts: Cut, parameters: SeriesParameters, form: Callable[[Any], Partition]
) -> Iterator[tuple[Labels, Partition]]:
    """The rows of each part and their groups, which executors form with `form` of a collection."""
    roles, names = people.relation.roles, people.relation.data.schema.names
    first = int(roles.respondent is not None)
    with people.cluster.explained():
        files = people.cluster.files(people.files).select("*", "_metadata.file_name", "_metadata.row_index")
        numbered = files.toDF(*(f"c{number}" for number in range(len(names))), "file", "position")
        series = slice(first, first + len(roles.series))
        described = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in numbered.schema)
        labelled = numbered.mapInArrow(partial(_labelled, series, parameters, cuts), f"{described}, part INT")
        work = _grouped  # Spark looks at the signature of what it is given: one argument, and no types
        table = (
            labelled.groupBy("part").applyInArrow(lambda r: work(names, roles, form, r), _RESULT).toArrow()
        )
    starts = np.cumsum([0, *(file.rows for file in people.files)])
    start_of = dict(zip((file.path.name for file in people.files), starts.tolist(), strict=False))
    start = np.array([start_of[name] for name in table["file"].to_pylist()])
    rows, part = start + np.asarray(table["position"]), np.asarray(table["part"])
    for number in np.unique(part):
        lines = table.filter(pa.array(part == number))
        shaped = np.asarray(lines["shaped"])
        texts = b"".join(filter(None, lines["symbols"].to_pylist()))
        symbols, levels = (
            np.frombuffer(texts, np.uint8).reshape(int(shaped.max()) + 1, 2, -1).transpose(1, 0, 2)
        )
        grouped, own = np.asarray(lines["grouped"]), all(lines["own"].to_pylist())
        yield rows[part == number], Partition(grouped, shaped, symbols.copy(), levels.copy(), own)


def _labelled(
    series: slice, parameters: SeriesParameters, cuts: Cut, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        matrix = np.column_stack([np.asarray(column) for column in batch.columns[series]])
        part = pa.array(part_of(matrix, parameters, cuts), pa.int32())
        yield pa.RecordBatch.from_arrays([*batch.columns, part], [*batch.schema.names, "part"])


def _grouped(
    names: Sequence[str], roles: Roles, form: Callable[[Any], Partition], rows: pa.Table
) -> pa.Table:
    """The groups of one part; the first series of each subgroup, in order, has its symbols and levels."""
    table = rows.select(range(len(names))).rename_columns(list(names))
    partition = form(collect(read_series(table, roles), several=True))
    # Rows by subgroup, so that symbols come in its order; those that are suppressed first.
    order = np.argsort(partition.subgroup, kind="stable")
    shaped, texts = partition.subgroup[order], [None] * len(order)
    described = np.stack([partition.symbols, partition.levels], axis=1)
    for number, row in zip(*np.unique(shaped, return_index=True), strict=True):
        if number >= 0:
            texts[row] = described[number].astype(np.uint8).tobytes()
    return pa.table({
        "file": rows["file"].take(pa.array(order)),
        "position": rows["position"].take(pa.array(order)),
        "part": rows["part"].cast(pa.int32()),
        "grouped": partition.group[order],
        "shaped": shaped,
        "symbols": pa.array(texts, pa.binary()),
        "own": pa.array([partition.own] * len(order)),
    })  # fmt: skip
