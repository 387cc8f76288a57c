"""From a partition to a release and its ledger.

Groups are numbered in the order of their envelopes and rows are sorted by what they show, so that neither
reveals how the rows came in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeveil.domain.guarantee import KPAnonymity
from timeveil.domain.ordering import row_keys
from timeveil.domain.relation import Relation
from timeveil.domain.release import Ledger, Release, decode_dictionaries
from timeveil.domain.version import TOOL
from timeveil.models.series.method.diversity import diversified
from timeveil.models.series.method.partition import Labels, Matrix, Partition, Symbols, by_values, runs_of
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


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows that look alike: of each series its group and its cell, of each cell letters and levels.

    Groups and cells are numbered from 0, cells in the order of their letters and levels; -1 is suppressed.
    """

    group: Labels
    cell: Labels
    letters: Symbols
    levels: Symbols


def assemble(
    promise: KPAnonymity,
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
        attributes, perturbed = diversified(attributes, sensitive, cells.cell, parameters.l, seed)
    content = _contents(cells, attributes)
    number = _group_numbers(low, high, cells.group, content)
    series = np.flatnonzero(cells.group >= 0)
    order = series[np.lexsort((content[series], number[cells.group[series]]))]
    group, cell = number[cells.group[order]], cells.cell[order]
    columns: dict[str, Any] = {"group": pa.array(group + 1, pa.int32())}
    by_number = np.argsort(number)
    for column, position in enumerate(instants.values):
        for end, bounds in (("lo", low), ("hi", high)):
            columns[f"{instants.names[position]}_{end}"] = pa.array(bounds[by_number, column][group])
    columns["pattern"] = _texts(cells.letters).take(pa.array(cell))
    one_level = parameters.method != "adaptive"
    columns["level"] = _level_column(cells.levels[cell], one_level=one_level)
    columns |= {name: attributes[name].take(pa.array(order)) for name in attributes.column_names}
    data = decode_dictionaries(pa.table(columns))
    subgroup = _numbered_as_met(cell)
    manifest = {
        "format": 1,
        "model": "series",
        "tool": TOOL,
        "guarantee": promise.as_dict(),
        "series": {
            "instants": list(instants.names),
            "values": [instants.names[position] for position in instants.values],
            "pattern": [instants.names[position] for position in instants.pattern],
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
            "cells": int(subgroup.max(initial=-1)) + 1,
            "suppressed": collection.size - len(order),
        },
    }
    entries = _entries(collection, order, group, subgroup)
    ledger = Ledger("series", entries, relation, facts=_facts(collection, partition, relation, perturbed))
    return Release(promise, manifest, {"data": data}), ledger


def _cells(partition: Partition, pattern: list[int]) -> Cells:
    """Subgroups of one group that show the same are one cell: fewer instants distinguish fewer."""
    letters = ASCII[partition.symbols[:, pattern]]
    levels = np.ascontiguousarray(partition.levels[:, pattern])
    group = np.full(len(letters), -1, np.int64)
    inside = partition.subgroup >= 0
    group[partition.subgroup[inside]] = partition.group[inside]
    used = np.flatnonzero(group >= 0)
    rank = _row_ranks(np.hstack([letters, levels])[used])
    packed = rank * (int(group.max(initial=0)) + 1) + group[used]
    _, first, number = np.unique(packed, return_index=True, return_inverse=True)
    cell = np.full(len(letters) + 1, -1, np.int64)  # -1 points to the last
    cell[used] = number.ravel()
    return Cells(partition.group, cell[partition.subgroup], letters[used[first]], levels[used[first]])


def _row_ranks(rows: NDArray[np.uint8]) -> Labels:
    """Dense ranks of rows of bytes, compared from the first byte on."""
    if rows.size == 0:
        return np.zeros(len(rows), np.int64)
    packed = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1]))).ravel()
    return np.unique(packed, return_inverse=True)[1].ravel().astype(np.int64)


def _contents(cells: Cells, attributes: pa.Table) -> Labels:
    """A number for each series in the order of what its row shows apart from the envelope."""
    rank = np.append(_row_ranks(np.hstack([cells.letters, cells.levels])), -1)[cells.cell]
    names = [f"{position}" for position in range(attributes.num_columns)]
    return row_keys(pa.table([pa.array(rank), *attributes.columns], names=["", *names]))


def _group_numbers(low: Matrix, high: Matrix, group: Labels, content: Labels) -> Labels:
    """The rank of each group by its envelope; equal envelopes by what their rows show."""
    bounds = np.empty((len(low), 2 * low.shape[1]))
    bounds[:, 0::2], bounds[:, 1::2] = low, high
    order, runs = by_values(bounds)
    if len(runs) and runs[-1] + 1 < len(runs):
        rows, begins = runs_of(group)
        contents = [sorted(content[part].tolist()) for part in np.split(rows, begins[1:-1])]
        ranked = sorted(zip(runs.tolist(), order.tolist(), strict=True), key=lambda g: (g[0], contents[g[1]]))
        order = np.array([number for _, number in ranked], np.int64)
    number = np.empty(len(low), np.int64)
    number[order] = np.arange(len(low))
    return number


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
    """Name, role and type of every published column."""
    names = [instants.names[position] for position in instants.values]
    roles = {
        "group": "group",
        **{f"{name}_{end}": role for name in names for end, role in (("lo", "low"), ("hi", "high"))},
        "pattern": "pattern",
        "level": "level",
        **dict.fromkeys(relation.roles.sensitive, "sensitive"),
        **dict.fromkeys(relation.roles.keep, "keep"),
    }
    kinds = {name: schema.field(name).type for name in roles}
    texts = {name: f"list<{t.value_type}>" if pa.types.is_list(t) else str(t) for name, t in kinds.items()}
    return [{"name": name, "role": role, "type": texts[name]} for name, role in roles.items()]


def _published_parameters(parameters: SeriesParameters, instants: Instants) -> dict[str, Any]:
    """What the manifest states of the parameters; null where the method does not use one."""
    weighed = parameters.method in ("adaptive", "representative")
    published = {
        name: None if chosen is None else [instants.names[position] for position in positions]
        for name, chosen, positions in (
            ("publish_values", parameters.publish_values, instants.values),
            ("publish_pattern", parameters.publish_pattern, instants.pattern),
        )
    }
    return {
        "k": parameters.k,
        "p": parameters.p,
        "l": parameters.l,
        "method": parameters.method,
        "shape_weight": parameters.shape_weight if weighed else None,
        "effort": parameters.effort if weighed else None,
        "max_level": parameters.max_level,
        "center": parameters.center,
        "round_outward": parameters.round_outward,
        "fill": parameters.fill,
        **published,
    }


def _numbered_as_met(cell: Labels) -> Labels:
    """Cells numbered from 0 in the order they first come."""
    _, first, number = np.unique(cell, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number.ravel()]


def _entries(collection: Collection, order: Labels, group: Labels, subgroup: Labels) -> pa.Table:
    """One row per input row: the group and the subgroup its series was published in, from 1."""
    rows = collection.series_of_row
    columns: dict[str, Any] = {"row": pa.array(np.arange(len(rows), dtype=np.int64))}
    for name, numbers in (("group", group), ("subgroup", subgroup)):
        of_series = np.full(collection.size + 1, -1, np.int64)
        of_series[order] = numbers + 1
        columns[name] = pa.array(of_series[rows], pa.int32(), mask=of_series[rows] < 0)
    return pa.table(columns)


def _facts(
    collection: Collection, partition: Partition, relation: Relation, perturbed: Mapping[str, int]
) -> dict[str, Any]:
    return {
        "series": collection.size,
        "instants": len(collection.instants),
        "filled": collection.filled,
        "left_out": collection.dropped,
        "perturbed": dict(perturbed),
        "dropped": list(relation.dropped),
        **partition.facts,
    }
