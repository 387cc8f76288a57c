"""Parts of the series that are grouped alone; whatever a method promises of its groups holds in each.

Layers: no group may have two series of one person, such as the days of a household. Series are dealt to as
many layers as anyone has series: those of a person, from low to high, to one layer after the other.

Regions: a group shows, column by column, the finest label of quasi-identifiers that contains the values of
all members. Series are divided by these into regions of several times k, so that labels stay fine while
groups can be near in value. Cells of categories need the whole table, so that with those there is one region.

Parts: all series are halved at the instant at which they vary most, and each half again, until there are as
many parts as asked for (a coarse k-d tree). Shapes are cut where patterns are published, values where none
are. A part has at least `LEAST_SHARE` times k series, so that few are far from all others of their part.
In Spark, executors cut the series, read from files of the cluster, into the parts that the driver found,
bring each together by one shuffle, and run the method on it. The driver publishes what is in its memory.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from timeveil.domain.arrays import Ints
from timeveil.domain.release import row_keys
from timeveil.domain.roles import Roles
from timeveil.domain.wording import Progress, silent
from timeveil.errors import InfeasibleError
from timeveil.models.series.method.partition import (
    Floats,
    Matrix,
    Partition,
    by_values,
    runs_of,
    side_by_side,
)
from timeveil.models.series.parameters import SeriesParameters
from timeveil.reading.collection import Collection, collect, read_series
from timeveil.recoding import groups
from timeveil.recoding.groups import Ladder
from timeveil.symbols import z_normalised

if TYPE_CHECKING:
    from timeveil.reading.spark_people import PeopleInSpark

REGION = 8  # series of a region at least, in multiples of k
LEAST_SHARE = 20
_RESULT = "file STRING, position BIGINT, part INT, grouped BIGINT, shaped BIGINT, shapes BINARY, own BOOLEAN"
Cut = tuple[int, float, Any, Any] | None
"""An instant, a bound, and the cuts of those up to it and of those above; None where nothing is cut."""
Formed = Callable[[Ints, Progress], Partition]  # the groups of some series alone


def require_k_series(collection: Collection, k: int) -> None:
    """Refuse tables of fewer than k series, or of which one person has too many."""
    series, most = collection.size, 1
    if series and collection.person is not None:
        most = int(np.bincount(collection.person).max())
    people = series // most
    if people >= k:
        return
    count = {0: "no series", 1: "one series"}.get(series, f"{series:,} series")
    hints = {0: "check that it is the right table", 1: "one series alone cannot be protected"}
    message = f"the table holds {count}, so no envelope can be shared by {k}"
    hint = hints.get(series, f"lower {{k}} to at most {people}")
    if most > 1:
        share = f"one person has {most:,} of {series:,} series, more than 1 in {k}"
        message = f"{share}, so they cannot all be in groups of {k} different people"
        hint = f"lower {{k}} to at most {people}, or leave out some series of that person"
    facts = {"people": people, "k": k, "best_k": people}
    raise InfeasibleError(message, hint=hint, code="too-few-people", facts=facts)


def layers_of(matrix: Matrix, attributes: pa.Table, person: Ints) -> Ints:
    """The layer of each series, from 0; what decides is content, not the order of rows or people."""
    order, runs = by_values(matrix)
    content = np.empty(len(matrix), np.int64)
    content[order] = runs
    if attributes.num_columns:
        pairs = np.column_stack([content, row_keys(attributes)])
        content = np.unique(pairs, axis=0, return_inverse=True)[1].ravel()
    # The series of each person follow each other, from low to high; equal ones are interchangeable.
    rows = np.lexsort((content, matrix.mean(axis=1), person))
    series = np.split(rows, np.flatnonzero(np.diff(person[rows])) + 1)
    series.sort(key=lambda members: content[members].tolist())
    layer = np.empty(len(matrix), np.int64)
    layer[np.concatenate(series)] = np.arange(len(matrix)) % max(map(len, series))
    return layer


def each_alone(part: Ints, formed: Formed, noun: str, progress: Progress) -> Partition:
    """The groups of all parts side by side; `noun` is what the facts call the parts."""
    partitions, parts = list[tuple[Ints, Partition]](), int(part.max()) + 1
    for number in range(parts):
        progress("forming groups", number / parts)
        rows = np.flatnonzero(part == number)
        partitions.append((rows, formed(rows, silent)))
    return side_by_side(len(part), partitions, noun)


class Quasi:
    """The quasi-identifiers of some series, with their labels at every level."""

    def __init__(
        self, attributes: pa.Table, names: tuple[str, ...], sources: Mapping[str, Any] | None
    ) -> None:
        hierarchies = groups.hierarchies_for(names, sources)
        self.ladders, self._paths = list[Ladder](), list[Ints]()
        for name in names:
            usual = groups.usual_hierarchy(attributes.schema.field(name).type)
            ladder = Ladder(name, hierarchies.get(name) or usual)
            ladder.learn(attributes[name])
            self.ladders.append(ladder)
            self._paths.append(ladder.paths(attributes[name]))

    def regions(self, rows: Ints, k: int) -> Ints:
        region = np.zeros(len(rows), np.int64)
        paths = [path[:, rows] for path in self._paths]
        parts = groups.partition(paths, region, REGION * k, 1, range(len(paths))) if paths else ()
        for number, (members, _) in enumerate(parts):
            region[members] = number
        return region

    def labelled(self, attributes: pa.Table, group: Ints) -> tuple[pa.Table, dict[str, Any]]:
        """The attributes with the labels of groups in place of values; the labels by column and level."""
        levels, (rows, bounds) = {}, runs_of(group)
        for ladder, path in zip(self.ladders, self._paths, strict=True):
            labels, texts = [], np.full(len(group), None, object)
            for members in np.split(rows, bounds[1:-1]):
                depth = groups.deepest(path[:, members], 0)
                labels.append(ladder.label(depth, path[depth, members[0]]))
                texts[members] = labels[-1].text
            index = attributes.column_names.index(ladder.name)
            attributes = attributes.set_column(index, ladder.name, pa.array(texts, pa.string()))
            levels[ladder.name] = groups.listed_levels(ladder, labels)
        return attributes, levels


def cut(matrix: Matrix, parameters: SeriesParameters, parts: int) -> Cut:
    """How series are cut into so many parts, or fewer if they would be too small."""
    least = LEAST_SHARE * parameters.k

    def halved(features: Floats, parts: int) -> Cut:
        if parts == 1 or len(features) < 2 * least:
            return None
        below = parts // 2
        instant = int(np.argmax(features.std(axis=0)))
        bound = float(np.quantile(features[:, instant], below / parts, method="lower"))
        low = features[:, instant] <= bound
        if min(np.count_nonzero(low), np.count_nonzero(~low)) < least:
            return None
        return instant, bound, halved(features[low], below), halved(features[~low], parts - below)

    return halved(_features(matrix, parameters), parts)


def part_of(matrix: Matrix, parameters: SeriesParameters, cuts: Cut) -> Ints:
    """The part of each series, from 0."""
    features, part, parts = _features(matrix, parameters), np.zeros(len(matrix), np.int64), 0
    waiting = [(np.arange(len(matrix)), cuts)]
    while waiting:
        rows, cuts = waiting.pop()
        if cuts is None:
            part[rows], parts = parts, parts + 1
            continue
        instant, bound, low, high = cuts
        above = features[rows, instant] > bound
        waiting += [(rows[above], high), (rows[~above], low)]
    return part


def _features(matrix: Matrix, parameters: SeriesParameters) -> Floats:
    return matrix if parameters.p == 1 else z_normalised(matrix, parameters.center)


def in_spark(
    people: "PeopleInSpark", cuts: Cut, parameters: SeriesParameters, form: Callable[[Any], Partition]
) -> Iterator[tuple[Ints, Partition]]:
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
        grouped, shaped = np.asarray(lines["grouped"]), np.asarray(lines["shaped"])
        patterns = np.frombuffer(b"".join(filter(None, lines["shapes"].to_pylist())), np.uint8)
        symbols, levels = patterns.reshape(2, int(shaped.max()) + 1, -1)
        yield rows[part == number], Partition(grouped, shaped, symbols, levels, lines["own"][0].as_py())


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
    """The groups of one part; its first row has the symbols and levels of all subgroups."""
    table = rows.select(range(len(names))).rename_columns(list(names))
    partition = form(collect(read_series(table, roles), several=True))
    patterns = np.stack([partition.symbols, partition.levels]).astype(np.uint8).tobytes()
    return pa.table({
        "file": rows["file"],
        "position": rows["position"],
        "part": rows["part"].cast(pa.int32()),
        "grouped": partition.group,
        "shaped": partition.subgroup,
        "shapes": pa.array([patterns, *[None] * (len(rows) - 1)], pa.binary()),
        "own": [partition.own] * len(rows),
    })  # fmt: skip
