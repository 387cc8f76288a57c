"""From a partition to a release and its ledger.

Groups are numbered in the order of their envelopes and rows stand in the order of what they say, so that
neither tells how the rows came in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeveil.domain.ledger import Ledger
from timeveil.domain.ordering import ROOM, row_keys
from timeveil.domain.relation import Relation
from timeveil.domain.release import Release, decode_dictionaries
from timeveil.domain.version import TOOL
from timeveil.models.series.method.diversity import diversified
from timeveil.models.series.method.order import by_values
from timeveil.models.series.method.partition import Labels, Matrix, Partition
from timeveil.models.series.method.settings import Settings, parts
from timeveil.reading.collection import Collection
from timeveil.symbols.envelope import envelopes, rounded_outward
from timeveil.symbols.sax import LETTERS

_ASCII = np.frombuffer(LETTERS.encode(), np.uint8)


@dataclass(frozen=True, slots=True)
class Cells:
    """What cannot be told apart: of each series its group and its cell, of each cell letters and levels.

    Groups and cells are numbered from 0, cells in the order of their letters and levels; -1 is suppressed.
    """

    group: Labels
    cell: Labels
    letters: NDArray[np.uint8]
    levels: NDArray[np.uint8]


def assemble(
    settings: Settings, relation: Relation, collection: Collection, partition: Partition, seed: int | None
) -> tuple[Release, Ledger]:
    """The pair that a method returns."""
    values, pattern = parts(settings, collection.instants)
    low, high = envelopes(collection.matrix[:, values], partition.group)
    if settings.round_outward is not None:
        low, high = rounded_outward(low, high, settings.round_outward)
    cells = _cells(partition, pattern)
    attributes, perturbed = collection.attributes, dict[str, int]()
    if settings.promise.l is not None:
        sensitive = tuple(relation.roles.sensitive)
        attributes, perturbed = diversified(attributes, sensitive, cells.cell, settings.promise.l, seed)
    content = _contents(cells, attributes)
    number = _numbered(low, high, cells.group, content)
    series = np.flatnonzero(cells.group >= 0)
    order = series[_sorted_by(number[cells.group[series]], content[series])]
    names = [collection.instants[place] for place in values]
    data = _table(settings, names, (low, high), cells, number, attributes, order)
    manifest = _manifest(settings, relation, collection, data.schema, partition, perturbed)
    shown = _appearance(cells.cell[order])
    manifest["counts"] = {
        "rows": len(order),
        "groups": len(low),
        "cells": int(shown.max(initial=-1)) + 1,
        "suppressed": collection.size - len(order),
    }
    entries = _entries(collection, order, number[cells.group[order]], shown)
    facts = _facts(collection, partition, relation, perturbed)
    return Release(settings.promise, manifest, {"data": data}), Ledger(
        "series", entries, relation, facts=facts
    )


def _sorted_by(number: Labels, content: Labels) -> Labels:
    """Places by number, then by content."""
    low = int(content.min(initial=0))
    size = int(content.max(initial=0)) - low + 1
    if (int(number.max(initial=0)) + 1) * size < ROOM:
        return np.argsort(number * size + (content - low))
    return np.lexsort((content, number))


def _cells(partition: Partition, pattern: list[int]) -> Cells:
    """Subgroups of one group that show the same become one cell: fewer instants tell fewer apart."""
    letters = _ASCII[partition.symbols[:, pattern]]
    levels = np.ascontiguousarray(partition.levels[:, pattern])
    group = np.full(len(letters), -1, np.int64)
    group[partition.subgroup[partition.subgroup >= 0]] = partition.group[partition.subgroup >= 0]
    used = np.flatnonzero(group >= 0)
    shown = np.hstack([letters, levels])[used]
    rank = _row_ranks(shown)
    _, first, inverse = np.unique(
        rank * (int(group.max(initial=0)) + 1) + group[used], return_index=True, return_inverse=True
    )
    cell = np.full(len(letters) + 1, -1, np.int64)
    cell[used] = inverse.ravel()
    kept = used[first]
    return Cells(partition.group, cell[partition.subgroup], letters[kept], levels[kept])


def _row_ranks(rows: NDArray[np.uint8]) -> Labels:
    """Dense ranks of rows of bytes, compared from the first byte on."""
    if len(rows) == 0 or rows.shape[1] == 0:
        return np.zeros(len(rows), np.int64)
    packed = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1]))).ravel()
    _, rank = np.unique(packed, return_inverse=True)
    return rank.ravel().astype(np.int64)


def _contents(cells: Cells, attributes: pa.Table) -> Labels:
    """A number for each series in the order of what its row says beside the envelope."""
    rank = _row_ranks(np.hstack([cells.letters, cells.levels]))
    shown = np.append(rank, -1)[cells.cell]
    names = [f"{place}" for place in range(attributes.num_columns)]
    return row_keys(pa.table([pa.array(shown), *attributes.columns], names=["", *names]))


def _numbered(low: Matrix, high: Matrix, group: Labels, content: Labels) -> Labels:
    """The place of each group in the order of envelopes; equal ones by what their rows say."""
    bounds = np.empty((len(low), 2 * low.shape[1]))
    bounds[:, 0::2], bounds[:, 1::2] = low, high
    order, runs = by_values(bounds)
    if len(runs) and runs[-1] + 1 < len(runs):
        order = _by_content(order, runs, group, content)
    number = np.empty(len(low), np.int64)
    number[order] = np.arange(len(low))
    return number


def _by_content(order: Labels, runs: Labels, group: Labels, content: Labels) -> Labels:
    tied = set(order[np.bincount(runs)[runs] > 1].tolist())
    rows: dict[int, list[int]] = {number: [] for number in tied}
    for series in np.flatnonzero(np.isin(group, list(tied))).tolist():
        rows[int(group[series])].append(int(content[series]))
    keys = {number: sorted(found) for number, found in rows.items()}
    ranked = sorted(zip(runs.tolist(), order.tolist(), strict=True), key=lambda r: (r[0], keys.get(r[1], [])))
    return np.array([number for _, number in ranked], np.int64)


def _table(
    settings: Settings,
    names: list[str],
    bounds: tuple[Matrix, Matrix],
    cells: Cells,
    number: Labels,
    attributes: pa.Table,
    order: Labels,
) -> pa.Table:
    group, cell = cells.group[order], cells.cell[order]
    columns: dict[str, Any] = {"group": pa.array(number[group] + 1, pa.int32())}
    sizes, by_number = np.bincount(number[group], minlength=len(number)), np.argsort(number)
    for place, name in enumerate(names):
        columns[f"{name}_lo"] = pa.array(np.repeat(bounds[0][by_number, place], sizes))
        columns[f"{name}_hi"] = pa.array(np.repeat(bounds[1][by_number, place], sizes))
    width = cells.letters.shape[1]
    texts = cells.letters.tobytes().decode("ascii")
    patterns = pa.array([texts[at : at + width] for at in range(0, len(texts), width)], pa.string())
    columns["pattern"] = patterns.take(pa.array(cell))
    columns["level"] = _levels(settings, cells.levels[cell])
    for name in attributes.column_names:
        columns[name] = attributes[name].take(pa.array(order))
    return decode_dictionaries(pa.table(columns))


def _levels(settings: Settings, levels: NDArray[np.uint8]) -> pa.Array:
    if settings.one_level:
        return pa.array(levels[:, 0].astype(np.int16))
    ends = np.arange(len(levels) + 1, dtype=np.int32) * levels.shape[1]
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(levels.reshape(-1).astype(np.int16)))


def _manifest(
    settings: Settings,
    relation: Relation,
    collection: Collection,
    schema: pa.Schema,
    partition: Partition,
    perturbed: Mapping[str, int],
) -> dict[str, Any]:
    values, pattern = parts(settings, collection.instants)
    instants, roles, parameters = collection.instants, relation.roles, settings.published()
    for name, part in (("publish_values", values), ("publish_pattern", pattern)):
        if parameters[name] is not None:  # in the order of instants, each once, however they were asked for
            parameters[name] = [instants[place] for place in part]
    by_role = [
        ("group", "group"),
        *((f"{instants[v]}_{end}", role) for v in values for end, role in (("lo", "low"), ("hi", "high"))),
        ("pattern", "pattern"),
        ("level", "level"),
        *((name, "sensitive") for name in roles.sensitive),
        *((name, "keep") for name in roles.keep),
    ]
    return {
        "format": 1,
        "model": "series",
        "tool": TOOL,
        "guarantee": settings.promise.as_dict(),
        "series": {
            "instants": list(instants),
            "values": [instants[place] for place in values],
            "pattern": [instants[place] for place in pattern],
            "center": settings.center,
            "levels": "one" if settings.one_level else "each",
            "own_patterns": partition.own and settings.own_patterns,
            "perturbed": list(perturbed),
        },
        "columns": [
            {"name": name, "role": role, "type": _type_name(schema.field(name).type)}
            for name, role in by_role
        ],
        "parameters": parameters,
    }


def _type_name(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"list<{kind.value_type}>"
    return str(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _appearance(cell: Labels) -> Labels:
    """Cells numbered from 0 as they first come."""
    _, first, inverse = np.unique(cell, return_index=True, return_inverse=True)
    place = np.empty(len(first), np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return place[inverse.ravel()]


def _entries(collection: Collection, order: Labels, group: Labels, cell: Labels) -> pa.Table:
    """One row per input row: the group and the subgroup its series was published in."""
    rows = collection.series_of_row
    columns: dict[str, Any] = {"row": pa.array(np.arange(len(rows), dtype=np.int64))}
    for name, numbers in (("group", group), ("subgroup", cell)):
        place = np.full(collection.size + 1, -1, np.int64)
        place[order] = numbers + 1
        found = place[rows]
        columns[name] = pa.array(found, pa.int32(), mask=found < 0)
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
