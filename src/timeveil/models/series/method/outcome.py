"""From a partition to a release and its ledger, in an order that does not show how the rows came in.

Methods settle ties by row, so they see series sorted by their values. Of series with the same values, those
with different sensitive values take turns: no subgroup fills up with one sensitive value while others are at
hand. In the release groups are numbered in the order of their envelopes, and rows sorted by what they show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.domain.guarantee import KPAnonymity
from timeveil.domain.ordering import row_keys
from timeveil.domain.relation import Relation
from timeveil.domain.release import Ledger, Release, decode_dictionaries
from timeveil.domain.version import TOOL
from timeveil.models.series.method.diversity import diversified
from timeveil.models.series.method.partition import (
    Labels,
    Matrix,
    Partition,
    Symbols,
    equal_before,
    numbered_as_met,
    runs_of,
)
from timeveil.models.series.parameters import SeriesParameters
from timeveil.reading.collection import Collection
from timeveil.symbols import LETTERS, envelopes, rounded_outward

ASCII = np.frombuffer(LETTERS.encode(), np.uint8)


@dataclass(frozen=True, slots=True)
class Instants:
    """All instants, and the positions of those whose values and whose pattern are published."""

    names: tuple[str, ...]
    values: list[int]
    pattern: list[int]

    def named(self, positions: list[int]) -> list[str]:
        """The names of the instants at these positions."""
        return [self.names[position] for position in positions]


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows that look alike: the cell of each series, -1 if it is suppressed, and what each cell shows.

    Cells are numbered from 0 in the order of their letters and levels; `rank` is the place of a cell's
    letters and levels in that order, which cells of different groups may share.
    """

    of: Labels
    letters: Symbols
    levels: Symbols
    rank: Labels


def assemble(
    parameters: SeriesParameters,
    relation: Relation,
    collection: Collection,
    instants: Instants,
    partition: Partition,
    seed: int | None,
) -> tuple[Release, Ledger]:
    """The pair that a method returns."""
    low, high = envelopes(collection.matrix[:, instants.values], partition.group)
    if parameters.round_outward is not None:
        low, high = rounded_outward(low, high, parameters.round_outward)
    cells = _cells(partition, instants.pattern)
    attributes, perturbed = collection.attributes, dict[str, int]()
    if parameters.l is not None:
        sensitive = tuple(relation.roles.sensitive)
        attributes, perturbed = diversified(attributes, sensitive, cells.of, parameters.l, seed)
    # A number for each series in the order of what its row shows apart from the envelope.
    ranks = pa.array(np.append(cells.rank, -1)[cells.of])
    shown = [ranks, *attributes.columns]
    content = row_keys(pa.table(shown, names=[f"{position}" for position in range(len(shown))]))
    number = _group_numbers(low, high, partition.group, content)
    series = np.flatnonzero(partition.group >= 0)
    order = series[np.lexsort((content[series], number[partition.group[series]]))]
    group, cell = number[partition.group[order]], cells.of[order]
    columns: dict[str, Any] = {"group": pa.array(group + 1, pa.int32())}
    by_number = np.argsort(number)
    for column, name in enumerate(instants.named(instants.values)):
        for end, bounds in (("lo", low), ("hi", high)):
            columns[f"{name}_{end}"] = pa.array(bounds[by_number, column][group])
    columns["pattern"] = _texts(cells.letters).take(pa.array(cell))
    one_level = parameters.method != "adaptive"
    columns["level"] = _level_column(cells.levels[cell], one_level=one_level)
    columns |= {name: attributes[name].take(pa.array(order)) for name in attributes.column_names}
    data = decode_dictionaries(pa.table(columns))
    subgroup, first = numbered_as_met(cell)
    promise = KPAnonymity(parameters.k, parameters.p, parameters.l)
    manifest = {
        "format": 1,
        "model": "series",
        "tool": TOOL,
        "guarantee": promise.as_dict(),
        "series": {
            "instants": list(instants.names),
            "values": instants.named(instants.values),
            "pattern": instants.named(instants.pattern),
            "center": parameters.center,
            "levels": "one" if one_level else "each",
            "own_patterns": partition.own and parameters.method in ("adaptive", "kapra"),
            "perturbed": list(perturbed),
        },
        "columns": _columns(instants, relation, data.schema),
        "parameters": _published_parameters(parameters, instants),
        "counts": {
            "rows": len(order),
            "groups": len(low),
            "cells": len(first),
            "suppressed": collection.size - len(order),
        },
    }
    facts = {
        "series": collection.size,
        "instants": len(collection.instants),
        "filled": collection.filled,
        "left_out": collection.dropped,
        "perturbed": perturbed,
        "dropped": list(relation.dropped),
        **partition.facts,
    }
    ledger = Ledger("series", _entries(collection, order, group, subgroup), relation, facts=facts)
    return Release(promise, manifest, {"data": data}), ledger


def settled_order(matrix: Matrix, attributes: pa.Table, sensitive: tuple[str, ...]) -> Labels:
    """Rows sorted by their values; equal series take turns by what is sensitive.

    >>> ill = pa.table({"ill": ["a", "a", "b", "b"]})
    >>> settled_order(np.array([[1.0], [1.0], [1.0], [0.0]]), ill, ("ill",)).tolist()
    [3, 0, 2, 1]
    """
    order, runs = _by_values(matrix)
    tied = np.flatnonzero(np.bincount(runs)[runs] > 1)
    if len(tied) and attributes.num_columns:
        rows = attributes.take(pa.array(order[tied]))
        secret, content = row_keys(rows.select(list(sensitive))), row_keys(rows, sensitive)
        by_secret = np.lexsort((content, secret, runs[tied]))
        # The first of each sensitive value, the second of each, and so on.
        differs = [np.diff(keys[by_secret], prepend=-1) != 0 for keys in (secret, runs[tied])]
        value = np.cumsum(differs[0] | differs[1])
        turn = np.empty(len(tied), np.int64)
        turn[by_secret] = equal_before(value)
        order[tied] = order[tied][np.lexsort((content, turn, runs[tied]))]
    return order


def _by_values(rows: Matrix) -> tuple[Labels, Labels]:
    """Rows sorted from the first column to the last, and numbers that equal neighbours share."""
    order = np.argsort(rows[:, 0])
    runs = _equal_runs(rows[order, :1])
    # The first column settles nearly all; only rows that tie there are sorted by every column.
    tied = np.flatnonzero(np.bincount(runs)[runs] > 1)
    if len(tied) == 0:
        return order, runs
    # In the order of the input, so that the stable sort leaves equal rows in it.
    unsettled = np.sort(order[tied])
    order[tied] = unsettled[np.lexsort(rows[unsettled].T[::-1])]
    return order, _equal_runs(rows[order])


def _equal_runs(rows: Matrix) -> Labels:
    """Sorted rows numbered so that equal ones share a number."""
    return np.append(0, np.cumsum((rows[1:] != rows[:-1]).any(axis=1)))


def _cells(partition: Partition, pattern: list[int]) -> Cells:
    """Subgroups of one group that show the same are one cell: fewer instants distinguish fewer."""
    letters, levels = ASCII[partition.symbols[:, pattern]], partition.levels[:, pattern]
    group = np.full(len(letters), -1, np.int64)
    inside = partition.subgroup >= 0
    group[partition.subgroup[inside]] = partition.group[inside]
    used = np.flatnonzero(group >= 0)
    # Each row of bytes as one item, which sorts from its first byte on.
    shown = np.ascontiguousarray(np.hstack([letters, levels])[used])
    items = shown.view(np.dtype((np.void, shown.shape[1]))).ravel()
    rank = np.unique(items, return_inverse=True)[1].astype(np.int64)
    packed = rank * (int(group.max(initial=0)) + 1) + group[used]
    _, first, number = np.unique(packed, return_index=True, return_inverse=True)
    cell = np.full(len(letters) + 1, -1, np.int64)  # a suppressed series, -1, reads the last
    cell[used] = number
    return Cells(cell[partition.subgroup], letters[used[first]], levels[used[first]], rank[first])


def _group_numbers(low: Matrix, high: Matrix, group: Labels, content: Labels) -> Labels:
    """The rank of each group by its envelope; equal envelopes by what their rows show."""
    bounds = np.stack([low, high], axis=2).reshape(len(low), -1)
    order, runs = _by_values(bounds)
    if len(runs) and runs[-1] + 1 < len(runs):
        rows, begins = runs_of(group)
        contents = [sorted(content[part].tolist()) for part in np.split(rows, begins[1:-1])]
        ranked = sorted(zip(runs.tolist(), order.tolist(), strict=True), key=lambda g: (g[0], contents[g[1]]))
        order = np.array([number for _, number in ranked], np.int64)
    return np.argsort(order)


def _texts(letters: Symbols) -> pa.Array:
    """One text per row of letters."""
    count, width = letters.shape
    ends = np.arange(count + 1, dtype=np.int32) * width
    return pa.StringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(letters.tobytes()))


def _level_column(levels: Symbols, *, one_level: bool) -> pa.Array:
    if one_level:
        return pa.array(levels[:, 0].astype(np.int16))
    ends = np.arange(len(levels) + 1, dtype=np.int32) * levels.shape[1]
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(levels.reshape(-1).astype(np.int16)))


def _columns(instants: Instants, relation: Relation, schema: pa.Schema) -> list[dict[str, str]]:
    """Name, role and type of every published column; group, pattern and level are named after their role."""
    roles = {f"{name}_lo": "low" for name in instants.names} | {
        f"{name}_hi": "high" for name in instants.names
    }
    roles |= dict.fromkeys(relation.roles.sensitive, "sensitive") | dict.fromkeys(relation.roles.keep, "keep")
    columns = []
    for field in schema:
        listed = pa.types.is_list(field.type)
        text = f"list<{field.type.value_type}>" if listed else str(field.type)
        columns.append({"name": field.name, "role": roles.get(field.name, field.name), "type": text})
    return columns


def _published_parameters(parameters: SeriesParameters, instants: Instants) -> dict[str, Any]:
    """What the manifest states of the parameters; null where the method does not use one."""
    stated: dict[str, Any] = {"k": parameters.k, "p": parameters.p, "l": parameters.l}
    for name, line in SeriesParameters.table().items():
        if name not in ("zone", "unit"):
            applies = not line.methods or parameters.method in line.methods
            stated[name] = getattr(parameters, name) if applies else None
    for name, positions in (("publish_values", instants.values), ("publish_pattern", instants.pattern)):
        # Named in the order of time, whatever order they were asked for in.
        stated[name] = None if stated.pop(name) is None else instants.named(positions)
    return stated


def _entries(collection: Collection, order: Labels, group: Labels, subgroup: Labels) -> pa.Table:
    """One row per input row: the group and the subgroup its series was published in, from 1."""
    rows = collection.series_of_row
    columns: dict[str, Any] = {"row": pa.array(np.arange(len(rows), dtype=np.int64))}
    for name, numbers in (("group", group), ("subgroup", subgroup)):
        of_series = np.full(collection.size + 1, -1, np.int64)
        of_series[order] = numbers + 1
        columns[name] = pa.array(of_series[rows], pa.int32(), mask=of_series[rows] < 0)
    return pa.table(columns)
