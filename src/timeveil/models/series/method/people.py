"""Several series per person, such as the days of a household: no group may have two of one person.

Then the series of a group are as many people, so that k, p and the chance of an outsider are about people,
and any method will do. The series are dealt to layers: those of a person, from low to high, to one layer
after the other, so that nobody has two in a layer. There are as many layers as anyone has series, and layers
differ in size by at most one; each is published as if it were alone. Nobody may have more than one in k of
all series: a group of k people for each of theirs could not be formed.
Cost: that of the method, and some sorts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from timeveil.domain.release import row_keys
from timeveil.domain.wording import Progress, silent
from timeveil.errors import InfeasibleError
from timeveil.models.series.method.partition import Labels, Matrix, Partition, side_by_side
from timeveil.models.series.method.settling import by_values
from timeveil.reading.collection import Collection

Formed = Callable[[Labels, Progress], Partition]  # the groups of some series alone


def require_k_series(collection: Collection, k: int) -> None:
    """Refuse tables of fewer than k series, or of which one person has too many."""
    series = collection.size
    most = 1 if collection.person is None or not series else int(np.bincount(collection.person).max())
    if most > 1 and series // most < k:
        share = f"one person has {most:,} of {series:,} series, more than 1 in {k}"
        raise InfeasibleError(
            f"{share}, so they cannot all be in groups of {k} different people",
            hint=f"lower {{k}} to at most {series // most}, or leave out some series of that person",
            code="too-few-people",
            facts={"people": series // most, "k": k, "best_k": series // most},
        )
    if series < k:
        count = {0: "no series", 1: "one series"}.get(series, f"{series:,} series")
        hints = {0: "check that it is the right table", 1: "one series alone cannot be protected"}
        message = f"the table holds {count}, so no envelope can be shared by {k}"
        hint = hints.get(series, f"lower {{k}} to at most {series}")
        facts = {"people": series, "k": k, "best_k": series}
        raise InfeasibleError(message, hint=hint, code="too-few-people", facts=facts)


def layers_of(matrix: Matrix, attributes: pa.Table, person: Labels) -> Labels:
    """The layer of each series, from 0; what decides is content, not the order of rows or people.

    >>> layers_of(np.array([[1.0], [2.0], [3.0], [4.0]]), pa.table({}), np.array([0, 1, 0, 2])).tolist()
    [0, 0, 1, 1]
    """
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


def in_layers(layer: Labels, formed: Formed, progress: Progress, noun: str = "layers") -> Partition:
    """The groups of all layers, or other parts, side by side."""
    layers = int(layer.max()) + 1

    def parts() -> Iterator[tuple[Labels, Partition]]:
        for number in range(layers):
            progress("forming groups", number / layers)
            rows = np.flatnonzero(layer == number)
            yield rows, formed(rows, silent)

    return side_by_side(len(layer), parts(), noun)
