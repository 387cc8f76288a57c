"""The pair that a method returns: groups, patterns and attributes as a release and its ledger."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.domain.arrays import Ints
from timeveil.domain.guarantee import KPAnonymity
from timeveil.domain.lines import refuse_loss
from timeveil.domain.relation import Relation
from timeveil.domain.release import Ledger, Release, decode_dictionaries, row_keys
from timeveil.domain.roles import Roles
from timeveil.domain.version import TOOL
from timeveil.errors import RolesError
from timeveil.models.series.method.diversity import diversified
from timeveil.models.series.method.partition import Matrix, Partition, Symbols, group_numbers, numbered_as_met
from timeveil.models.series.method.parts import Quasi
from timeveil.models.series.parameters import SeriesParameters
from timeveil.reading.collection import Collection
from timeveil.symbols import LETTERS, envelopes, representation_of, rounded_outward

ASCII = np.frombuffer(LETTERS.encode(), np.uint8)
OUTER_STEPS = 2  # of a mean, at both ends
Customised = tuple[tuple[str, ...], tuple[str, ...]]
"""The instants whose values, and those whose pattern, are published."""


def ends_of(parameters: SeriesParameters) -> dict[str, str]:
    """The ends of the names of an instant's columns, with their roles."""
    return {"lo": "low", "hi": "high"} | ({"mean": "mean"} if parameters.means else {})


def require_free_names(instants: Sequence[str], roles: Roles, ends: Iterable[str]) -> None:
    """The columns that the release adds must not be the caller's."""
    added = {"group", "pattern", "level", *(f"{name}_{end}" for name in instants for end in ends)}
    clashing = [name for name in (*roles.sensitive, *roles.quasi_columns, *roles.keep) if name in added]
    if clashing:
        names = ", ".join(f"`{name}`" for name in clashing)
        message = f"the release needs the name {names} for its own column"
        raise RolesError(message, hint="rename that column before reading", code="column-clash")


def assemble(
    parameters: SeriesParameters,
    relation: Relation,
    collection: Collection,
    published: Customised,
    partition: Partition,
    grouped: tuple[str, ...],
    seed: int | None,
) -> tuple[Release, Ledger]:
    """The pair that a method returns."""
    instants, (values, pattern) = collection.instants, published
    features = representation_of(parameters.as_arguments(), len(instants)).names(instants)
    matrix = collection.matrix[:, [instants.index(name) for name in values]]
    low, high = envelopes(matrix, partition.group)
    if parameters.round_outward is not None:
        low, high = rounded_outward(low, high, parameters.round_outward)
    statistics = [low, high]
    if parameters.means:
        statistics.append(group_means(matrix, partition.group, low, high))
    cell_of, letters, levels, rank = _cells(partition, [features.index(name) for name in pattern])
    attributes, perturbed = collection.attributes, dict[str, int]()
    if parameters.l is not None:
        moved = [name for name in relation.roles.sensitive if name not in grouped]
        attributes, perturbed = diversified(attributes, moved, cell_of, parameters, seed)
    quasi = Quasi(attributes, relation.roles.quasi_columns, parameters.hierarchies)
    attributes, label_levels = quasi.labelled(attributes, partition.group)
    # A number for each series in the order of what its row shows apart from the envelope.
    ranks = pa.array(np.append(rank, -1)[cell_of])
    visible = [ranks, *attributes.columns]
    content = row_keys(pa.table(visible, names=[f"{position}" for position in range(len(visible))]))
    number = group_numbers(statistics, partition.group, content)
    series = np.flatnonzero(partition.group >= 0)
    order = series[np.lexsort((content[series], number[partition.group[series]]))]
    group, cell = number[partition.group[order]], cell_of[order]
    columns: dict[str, Any] = {"group": pa.array(group + 1, pa.int32())}
    by_number = np.argsort(number)
    for column, name in enumerate(values):
        for end, numbers in zip(ends_of(parameters), statistics, strict=True):
            columns[f"{name}_{end}"] = pa.array(numbers[by_number, column][group], from_pandas=True)
    width, one_level = len(pattern), parameters.method != "adaptive"
    if pattern:
        texts = pa.array(letters.view(f"S{width}").ravel()).cast(pa.string())
        columns["pattern"] = texts.take(pa.array(cell))
        columns["level"] = pa.array(levels[cell, : 1 if one_level else width].ravel().astype(np.int16))
        if not one_level:
            lists = pa.FixedSizeListArray.from_arrays(columns["level"], width)
            columns["level"] = lists.cast(pa.list_(pa.int16()))
    columns |= {name: attributes[name].take(pa.array(order)) for name in attributes.column_names}
    data = decode_dictionaries(pa.table(columns))
    hint = 'withhold nobody with {method="adaptive"}'
    if grouped:
        hint = "lower {l}" if (parameters.l or 0) > 2 else "leave {l} out"
    if collection.dropped > collection.size - len(order):
        hint = 'fill in missing readings with {fill="linear"}'
    everyone = collection.size + collection.dropped
    refuse_loss(parameters, everyone - len(order), everyone, "series", hint)
    subgroup, first = numbered_as_met(cell)
    promise = KPAnonymity(parameters.k, parameters.p, parameters.l, rows=relation.roles.respondent is None)
    manifest = {
        "format": 1,
        "model": "series",
        "tool": TOOL,
        "guarantee": promise.as_dict(),
        "series": {
            "instants": list(instants),
            "values": list(values),
            "pattern": list(pattern),
            "center": parameters.center,
            "levels": "one" if one_level else "each",
            "own_patterns": partition.own and parameters.method in ("adaptive", "kapra"),
            "perturbed": list(perturbed),
            **({"grouped": list(grouped)} if grouped else {}),
            **({} if collection.person is None else {"several": True}),
        },
        **({"levels": label_levels} if label_levels else {}),
        "columns": _columns(values, relation, data.schema, ends_of(parameters)),
        "parameters": _published_parameters(parameters, published),
        "counts": {
            "rows": len(order),
            "groups": len(low),
            "cells": len(first),
            "suppressed": collection.size - len(order),
        },
    }
    facts = {
        "parameters": manifest["parameters"],
        "series": collection.size,
        "instants": len(instants),
        "filled": collection.filled,
        "left_out": collection.dropped,
        "perturbed": perturbed,
        "dropped": list(relation.dropped),
        **relation.exceptions,
        **partition.facts,
    }
    entries = _entries(collection, order, group, subgroup)
    ledger = Ledger("series", entries, relation, {each.name: each.mapping for each in quasi.ladders}, facts)
    return Release(promise, manifest, {"data": data}), ledger


def group_means(matrix: Matrix, group: Ints, low: Matrix, high: Matrix) -> Matrix:
    """Per group and instant the rounded mean, nan where it is not published; -1 is in no group.

    A mean of n values shows the last one to anyone who knows the others, so it is rounded to the nearest of
    n + 1 steps from the lowest to the highest bound: then the others learn at most on which side of one point
    the last value is. The first and the last two steps are not published (dominance): there one member could
    have most of the distance of all from a bound. Where both bounds are equal the mean adds nothing.
    """
    size = np.bincount(group[group >= 0])
    starts, means = np.cumsum(size) - size, np.full(low.shape, np.nan)
    for instant in range(matrix.shape[1]) if len(size) else ():
        # Sorted by value: a sum of floats depends on their order, and that of the rows must not show.
        order = np.lexsort((matrix[:, instant], group))
        order = order[np.searchsorted(group[order], 0) :]
        bottom, width = low[:, instant], high[:, instant] - low[:, instant]
        flat = width == 0
        share = (matrix[order, instant] - bottom[group[order]]) / np.where(flat, 1.0, width)[group[order]]
        step = np.floor(np.add.reduceat(share, starts) + 0.5)
        inner = (step >= OUTER_STEPS) & (step <= size - OUTER_STEPS)
        means[:, instant] = np.where(flat, bottom, np.where(inner, bottom + width * (step / size), np.nan))
    return means


def _cells(partition: Partition, pattern: list[int]) -> tuple[Ints, Symbols, Symbols, Ints]:
    """The cell of each series, -1 if suppressed; letters, levels and rank of each cell, in that order.

    Subgroups of one group that show the same are one cell: fewer instants distinguish fewer. Cells of
    different groups may share a rank.
    """
    letters, levels = ASCII[partition.symbols[:, pattern]], partition.levels[:, pattern]
    used, member = np.unique(partition.subgroup, return_index=True)
    used, group = used[used >= 0], partition.group[member[used >= 0]]
    rank = np.zeros(len(used), np.int64)
    if pattern:
        visible = np.hstack([letters, levels])[used]
        rank = np.unique(visible, axis=0, return_inverse=True)[1].astype(np.int64).ravel()
    packed = rank * (int(group.max(initial=0)) + 1) + group
    _, first, number = np.unique(packed, return_index=True, return_inverse=True)
    cell = np.full(len(letters) + 1, -1, np.int64)  # a suppressed series, -1, reads the last
    cell[used] = number
    return cell[partition.subgroup], letters[used[first]], levels[used[first]], rank[first]


def _columns(
    values: Sequence[str], relation: Relation, schema: pa.Schema, ends: dict[str, str]
) -> list[dict[str, str]]:
    """Name, role and type of every published column; group, pattern and level are named after their role."""
    roles = {f"{name}_{end}": role for name in values for end, role in ends.items()}
    roles |= dict.fromkeys(relation.roles.sensitive, "sensitive") | dict.fromkeys(relation.roles.keep, "keep")
    roles |= dict.fromkeys(relation.roles.quasi_columns, "quasi")
    columns = []
    for field in schema:
        listed = pa.types.is_list(field.type)
        text = f"list<{field.type.value_type}>" if listed else str(field.type)
        columns.append({"name": field.name, "role": roles.get(field.name, field.name), "type": text})
    return columns


def _published_parameters(parameters: SeriesParameters, published: Customised) -> dict[str, Any]:
    """What the manifest states of the parameters; null where the method does not use one."""
    stated = parameters.as_stated()
    for name, line in SeriesParameters.table().items():
        if line.methods and parameters.method not in line.methods:
            stated[name] = None
    for name, instants in zip(("publish_values", "publish_pattern"), published, strict=True):
        # Named in the order of time, whatever order they were asked for in; without patterns, none.
        stated[name] = None if stated[name] is None and instants else list(instants)
    return stated


def _entries(collection: Collection, order: Ints, group: Ints, subgroup: Ints) -> pa.Table:
    """One row per input row: the group and the subgroup its series was published in, from 1."""
    rows = collection.series_of_row
    columns: dict[str, Any] = {"row": pa.array(np.arange(len(rows), dtype=np.int64))}
    for name, numbers in (("group", group), ("subgroup", subgroup)):
        of_series = np.full(collection.size + 1, -1, np.int64)
        of_series[order] = numbers + 1
        columns[name] = pa.array(of_series[rows], pa.int32(), mask=of_series[rows] < 0)
    return pa.table(columns)
