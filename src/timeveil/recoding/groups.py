"""Groups of rows with equal quasi-identifiers, by value hierarchies from one star down to the value itself.

The partition is made top-down, as in Mondrian (LeFevre et al. 2006) over value hierarchies (Fung et al.
2005): all rows begin as one group with `*` in every column; a group is divided as long as every part has at
least k rows and no sensitive value in more than 1 in l. Nothing depends on the order of rows or on codes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.arrays import Flags, Ints
from timeveil.errors import InputError, raising
from timeveil.reading.columns import decoded, without_nan
from timeveil.recoding import STAR, Hierarchy, bad_hierarchy, hierarchy_from

EXACT = "value"  # the level of labels that are values
WIDTHS = (5, 10, 20, 100, 1_000, 10_000, 100_000, 1_000_000)
PERIODS = ("month", "year", "decade")
Division: TypeAlias = tuple[float, int, list[Ints], Ints]
"""The bits shown by a division of a group, the column that divides it, its parts, and a rest or nothing."""
_EQUAL = 9  # digits of bits: sums differ in the last ones with the order of parts


class Label(NamedTuple):
    """What a generalised group is published with in one column."""

    level: str
    text: str | None


class Ladder:
    """The labels of one quasi-identifier at every level, from one star down to the value itself."""

    def __init__(self, name: str, hierarchy: Hierarchy) -> None:
        self.name, self._hierarchy = name, hierarchy
        starred = hierarchy.names[-1] == STAR
        # From coarse to fine; the star is the same for every hierarchy, and bounds forbid the value itself.
        self._numbers = range(hierarchy.top - starred, max(hierarchy.finest, 1) - 1, -1)
        exact = () if hierarchy.finest else (EXACT,)
        self.levels = (STAR, *(hierarchy.names[number - 1] for number in self._numbers), *exact)
        self._values: pa.Array | None = None
        self._texts: list[list[str | None]] = [[] for _ in self.levels]
        self._nodes = np.zeros((len(self.levels), 0), np.int64)
        self._labels: list[list[str | None]] = []

    def learn(self, column: pa.ChunkedArray) -> None:
        distinct = without_nan(decoded(column)).unique()
        if self._values is not None:
            distinct = distinct.filter(pc.invert(pc.is_in(distinct, self._values, skip_nulls=False)))
        if not len(distinct):
            return
        message = f"column `{self.name}` has values of the type {distinct.type}, which have no text"
        with raising(InputError(message, hint="leave it out of {quasi}"), on=pa.ArrowException):
            texts = distinct.cast(pa.string()).to_pylist()
        levels = [self._hierarchy.level(n, distinct)["published"].to_pylist() for n in self._numbers]
        exact = [] if self._hierarchy.finest else [texts]
        for level_texts, new in zip(self._texts, [[STAR] * len(texts), *levels, *exact], strict=True):
            level_texts.extend(new)
        self._values = distinct if self._values is None else pa.concat_arrays([self._values, distinct])
        # Nodes are numbered by their texts: the order in which values came must not decide anything.
        self._labels = [sorted(set(level), key=lambda text: (text is None, text)) for level in self._texts]
        index = [{text: number for number, text in enumerate(labels)} for labels in self._labels]
        pairs = zip(index, self._texts, strict=True)
        self._nodes = np.array([[numbers[text] for text in level] for numbers, level in pairs], np.int64)

    def paths(self, column: pa.ChunkedArray) -> Ints:
        """Per level, from the star down, the number of each record's label there."""
        if not len(column):
            return np.zeros((len(self.levels), 0), np.int64)
        index = pc.index_in(without_nan(decoded(column)), self._values, skip_nulls=False)
        return self._nodes[:, index.to_numpy()]

    def label(self, depth: int, node: int) -> Label:
        return Label(self.levels[depth], self._labels[depth][node])

    @property
    def mapping(self) -> pa.Table:
        """A column `value`, and a column per level of the hierarchy below the star."""
        values = pa.array([], pa.string()) if self._values is None else self._values
        columns = {"value": values}
        for number, texts in zip(self._numbers, self._texts[1:], strict=False):
            columns[f"level {number}"] = pa.array(texts, pa.string())
        return pa.table(columns)


def hierarchies_for(columns: Sequence[str], sources: Mapping[str, Any] | None) -> dict[str, Hierarchy]:
    """The hierarchies that a caller gives, each of a quasi-identifier."""
    hierarchies = {column: hierarchy_from(source) for column, source in (sources or {}).items()}
    for column in hierarchies:
        if column not in columns:
            message = f"a hierarchy was given for `{column}`, which is not a quasi-identifier"
            raise bad_hierarchy(message, f"name `{column}` in {{quasi}}, or leave its hierarchy out")
    return hierarchies


def listed_levels(ladder: Ladder, labels: Iterable[Label]) -> dict[str, list[str]]:
    """For a manifest: published labels of a column by level, from coarse to fine.

    A text that is a label of two levels is listed at the coarser one; values are not listed.
    """
    listed, seen, published = dict[str, list[str]](), set[str](), set(labels)
    for level in ladder.levels:
        texts = sorted({t for at, t in published if at == level != EXACT and t is not None} - seen)
        seen.update(texts)
        if texts:
            listed[level] = texts
    return listed


def usual_hierarchy(kind: pa.DataType) -> Hierarchy:
    """How a column is generalised for which no hierarchy is given: by its type, never by its values."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Hierarchy.intervals(WIDTHS)
    if pa.types.is_date(kind):
        return Hierarchy.calendar(PERIODS)
    return Hierarchy.suppression()


def partition(
    paths: Sequence[Ints], codes: Ints, k: int, l: int, turns: Sequence[int]
) -> Iterator[tuple[Ints, list[int]]]:
    """The groups of some records: their members, and how far down the path of each column their label is.

    `paths` have per column and level the label of each record, `codes` the sensitive values. Of columns that
    show equally many bits, the first of `turns` is divided.
    """
    values = np.unique(codes, return_inverse=True)[1].ravel()
    waiting = [(np.arange(len(codes)), [0] * len(paths))] if len(codes) else []
    while waiting:
        members, depth = waiting.pop()
        depth = [deepest(path[:, members], at) for path, at in zip(paths, depth, strict=True)]
        best: Division | None = None
        for column in turns:
            if depth[column] + 1 < len(paths[column]):
                labels = paths[column][depth[column] + 1, members]
                division = _divide(column, labels, values[members], k, l)
                if division and (best is None or division[0] > best[0]):
                    best = division
        if best is None:
            yield members, depth
            continue
        _, divided, parts, rest = best
        finer = [at + (column == divided) for column, at in enumerate(depth)]
        waiting += [(members[part], finer) for part in parts]
        waiting += [(members[rest], depth)] if len(rest) else []


def deepest(path: Ints, depth: int) -> int:
    """The finest level at which all records of a group have one label: to show it divides nothing."""
    same: Flags = (path[depth:] == path[depth:, :1]).all(axis=1)
    return depth + (len(same) if same.all() else int(same.argmin())) - 1


def _divide(column: int, labels: Ints, values: Ints, k: int, l: int) -> Division | None:
    """A group divided by labels into parts that are groups, and a rest that is one or empty; None if not."""
    part = np.unique(labels, return_inverse=True)[1].ravel()  # parts in the order of their labels' texts
    shape = int(part.max()) + 1, int(values.max()) + 1
    counts = np.bincount(part * shape[1] + values, minlength=shape[0] * shape[1]).reshape(shape)
    size = counts.sum(axis=1)
    stays = (size < k) | (counts.max(axis=1) * l > size)
    remainder = counts[stays].sum(axis=0)
    # The smallest parts stay with those that cannot be groups until the rest is one.
    for smallest in np.flatnonzero(~stays)[size[~stays].argsort(kind="stable")].tolist():
        if not stays.any() or (remainder.sum() >= k and remainder.max() * l <= remainder.sum()):
            break
        stays[smallest] = True
        remainder = remainder + counts[smallest]
    if stays.all():
        return None
    sizes = np.append(size[~stays], remainder.sum()) if stays.any() else size
    bits = len(labels) * np.log2(len(labels)) - float(sizes @ np.log2(sizes))
    parts = [np.flatnonzero(part == number) for number in np.flatnonzero(~stays)]
    return round(bits, _EQUAL), column, parts, np.flatnonzero(stays[part])
