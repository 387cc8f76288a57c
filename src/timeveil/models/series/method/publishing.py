"""Series published so that k share an envelope and P of them a pattern (Shou et al. 2013).

One series per person. The values of a group of at least k series are published as one envelope, the lowest
and highest at each instant, and the shape of a subgroup of at least P of them as one pattern, a symbol per
instant: anyone who knows a person's values, shape or both finds at least P series that fit.

Nothing shows how the rows came in. Methods settle ties by row, so they see series sorted by their values; of
series with the same values, those with different sensitive values take turns, so that no subgroup fills up
with one sensitive value while others are at hand. In the release groups are numbered in the order of their
envelopes, and rows sorted by what they show.

Where we depart from the print
    Bounds are rounded outward by default: at the attained value a member would learn another's.
    The level of a pattern is published; without it no pattern can be read.
Cost: that of the method; reading, envelopes and ordering are a few sorts of the series.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.domain.guarantee import KPAnonymity
from timeveil.domain.lines import SEED, Decimal, Delimiter, refuse_loss
from timeveil.domain.relation import Relation
from timeveil.domain.release import Ledger, Release, decode_dictionaries, row_keys
from timeveil.domain.roles import Roles, require_roles
from timeveil.domain.version import TOOL
from timeveil.domain.wording import Progress, silent
from timeveil.errors import ParameterError, RolesError
from timeveil.models.series.method.adaptive import adaptive, representative
from timeveil.models.series.method.diversity import columns_to_group, diversified
from timeveil.models.series.method.grouping import categories_of, eligible, regrouped
from timeveil.models.series.method.means import group_means
from timeveil.models.series.method.paper import kapra, naive
from timeveil.models.series.method.partition import Labels, Matrix, Partition, Symbols, numbered_as_met
from timeveil.models.series.method.people import in_layers, layers_of, require_k_series
from timeveil.models.series.method.quasi import Quasi
from timeveil.models.series.method.settling import group_numbers, settled_order
from timeveil.models.series.parameters import SeriesParameters
from timeveil.reading.collection import Collection, collect, read_series, refuse_rare
from timeveil.reading.risks import refuse_repetition, with_risks
from timeveil.symbols import LETTERS, envelopes, representation_of, rounded_outward

ASCII = np.frombuffer(LETTERS.encode(), np.uint8)
Customised = tuple[tuple[str, ...], tuple[str, ...]]
"""The instants whose values, and those whose pattern, are published."""
METHODS = {"adaptive": adaptive, "kapra": kapra, "naive": naive, "representative": representative}


def anonymize_series(
    table: Any,
    roles: Roles,
    *,
    k: int,
    p: int,
    method: str = "adaptive",
    shape_weight: float = 50,
    effort: int = 1,
    max_level: int = 20,
    representation: str = "sax",
    segment: int | None = None,
    center: str = "mean",
    round_outward: int | None = 3,
    means: bool = False,
    l: int | None = None,
    l_method: str = "swap",
    epsilon: float | None = None,
    publish_values: Sequence[str] | None = None,
    publish_pattern: Sequence[str] | None = None,
    fill: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    zone: str | None = None,
    unit: str | None = None,
    time_format: str | None = None,
    decimal: Decimal | None = None,
    delimiter: Delimiter | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    fold_spellings: bool = False,
    accept_risk: Sequence[str] = (),
    allow_loss: bool = False,
    after: Sequence[Ledger] = (),
    force: bool = False,
    seed: int | None = None,
    progress: Progress = silent,
    **removed: Any,
) -> tuple[Release, Ledger]:
    """Publish series so that k share every envelope of values, and p of them the pattern in it.

    `method` is `"adaptive"`, `"kapra"` or `"naive"` (both from the paper), or `"representative"`, whose
    patterns are not each member's own. `shape_weight` is 2 for narrow envelopes, 10 for both, 50 and up for
    the shape; `effort` is how long groups are improved; `round_outward` is the number of significant digits
    of bounds. `means` adds the rounded mean of each group. With `p=1`, or `publish_pattern=[]`, envelopes are
    published and no pattern: k-anonymity. With `l`, at most one row in l of a cell has the same sensitive
    value: categories have cells formed so, numbers are exchanged for others nearby, or by `l_method` drawn
    within `epsilon`, or grouped. `publish_values` and `publish_pattern` name the instants to publish, by
    default all. `fill` says what a missing value becomes: `"forward"`, `"linear"`, or `"drop"` the person.
    `after` has ledgers of earlier releases, which are refused if they show the same people, unless `force` is
    set. `seed` repeats the draws of `l` and nothing else; anyone who knows it can undo them.

    >>> import pyarrow as pa
    >>> loads = pa.table({"night": [1.0, 2.0, 8.0, 9.0], "noon": [5.0, 7.0, 3.0, 4.0]})
    >>> release, ledger = anonymize_series(loads, Roles(series=["night", "noon"]), k=2, p=2, effort=0)
    >>> release.table.select(["group", "night_lo", "night_hi"]).to_pylist()[0]
    {'group': 1, 'night_lo': 1.0, 'night_hi': 2.0}
    """
    SeriesParameters.refuse_unknown(removed)
    if isinstance(publish_pattern, list | tuple) and not publish_pattern:
        if method == "representative":
            message = (
                "the method `representative` publishes shared patterns, and `publish_pattern` names none"
            )
            raise ParameterError(message, hint='name instants, or use {method="adaptive"}')
        p, publish_pattern = 1, None
    parameters = SeriesParameters.from_call(locals())
    seed = None if seed is None else SEED.check(seed)
    require_roles(roles)
    if parameters.l is not None and not roles.sensitive:
        hint = "name a column with {sensitive}, or leave {l} out"
        raise RolesError(f"l is {parameters.l}, and no column is sensitive", hint=hint, code="role-missing")
    progress("reading", 0.0)
    relation = read_series(table, roles, quasi=True, **parameters.reading("fold_spellings"))
    relation = with_risks(relation, parameters.accept_risk)
    refuse_repetition(relation, parameters)
    collection = collect(relation, parameters.fill, several=True)
    sensitive = tuple(relation.roles.sensitive)
    refuse_rare(collection, parameters.k)
    require_k_series(collection, parameters.k)
    published = published_instants(parameters, collection.instants)
    _require_free_names(collection.instants, relation.roles, _ends(parameters))
    grouped = columns_to_group(collection.attributes, sensitive, parameters)
    quasi = Quasi(collection.attributes, relation.roles.quasi_columns, parameters.hierarchies)
    # Of all work a tenth is behind before the method, and 85 % after it.
    ahead: Progress = lambda doing, share: progress(doing, 0.1 + 0.75 * share)  # noqa: E731 as short as it can be
    partition = _partition(collection, sensitive, grouped, quasi, parameters, ahead)
    progress("publishing", 0.85)
    pair = assemble(parameters, relation, collection, published, partition, grouped, quasi, seed)
    progress("done", 1.0)
    return pair


def _partition(
    collection: Collection,
    sensitive: tuple[str, ...],
    grouped: tuple[str, ...],
    quasi: Quasi,
    parameters: SeriesParameters,
    progress: Progress,
) -> Partition:
    """The partition of the series; nobody is twice in a group."""
    matrix, attributes = collection.matrix, collection.attributes
    categories = categories_of(attributes, grouped, len(matrix))

    def formed(rows: Labels, progress: Progress) -> Partition:
        """Groups of these series alone."""
        order = settled_order(matrix[rows], attributes.take(pa.array(rows)), sensitive)
        order = eligible(order, categories[rows], parameters)
        values, settled = matrix[rows[order]], categories[rows[order]]
        partition = partitioned(values, parameters, progress)
        return regrouped(partition, values, settled, parameters).back_from(order, len(rows))

    def in_regions(rows: Labels, progress: Progress) -> Partition:
        """Groups of these series with near quasi-identifiers."""
        region = quasi.regions(rows, parameters.k)
        if grouped or not region.any():
            return formed(rows, progress)
        return in_layers(region, lambda part, _: formed(rows[part], silent), progress, "regions")

    if collection.person is None:
        return in_regions(np.arange(len(matrix)), progress)
    return in_layers(layers_of(matrix, attributes, collection.person), in_regions, progress)


def partitioned(matrix: Matrix, parameters: SeriesParameters, progress: Progress = silent) -> Partition:
    """Groups, subgroups and patterns by the method of the parameters."""
    options: dict[str, Any] = {"max_level": parameters.max_level, "center": parameters.center}
    options["representation"] = representation_of(parameters.as_arguments(), matrix.shape[1])
    # The parameters that only some methods have are declared with those methods.
    for name, line in SeriesParameters.table().items():
        if parameters.method in line.methods:
            options[name] = getattr(parameters, name)
    if parameters.p == 1 and "shape_weight" in options:
        options["shape_weight"] = 0.0  # no shape is published
    return METHODS[parameters.method](matrix, parameters.k, parameters.p, progress=progress, **options)


def published_instants(parameters: SeriesParameters, instants: Sequence[str]) -> Customised:
    """The instants whose values, and the features whose symbols, are published, in order of time (§6.1).

    Groups are formed on all instants whatever is published of them, so what is left out costs no promise.
    """
    published = []
    for name in ("publish_values", "publish_pattern"):
        chosen = getattr(parameters, name)
        if chosen is None:
            chosen = instants if name == "publish_values" or parameters.p > 1 else ()
        unknown = [instant for instant in chosen if instant not in instants]
        if unknown:
            listed = ", ".join(f"`{instant}`" for instant in unknown[:8])
            message = f"`{name}` names {listed}, which is not an instant"
            hint = "name columns of a wide table, or times of a long one as they are written there"
            raise ParameterError(message, hint=hint, code="column-missing")
        published.append(tuple(instant for instant in instants if instant in chosen))
    values, pattern = published
    if pattern and not set(values) & set(pattern):
        raise ParameterError(
            "`publish_values` and `publish_pattern` have no instant in common, so nobody could estimate what "
            "is left out: a pattern says nothing about values without an instant that has both",
            hint="name at least one instant in both; two that differ much are better",
        )
    if parameters.representation != "sax" and pattern:
        pattern = representation_of(parameters.as_arguments(), len(instants)).names(instants)
    return values, pattern


def _ends(parameters: SeriesParameters) -> dict[str, str]:
    """The ends of the names of an instant's columns, with their roles."""
    return {"lo": "low", "hi": "high"} | ({"mean": "mean"} if parameters.means else {})


def _require_free_names(instants: Sequence[str], roles: Roles, ends: Iterable[str]) -> None:
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
    quasi: Quasi,
    seed: int | None,
) -> tuple[Release, Ledger]:
    """The pair that a method returns."""
    instants, (values, pattern) = collection.instants, published
    places = representation_of(parameters.as_arguments(), len(instants)).names(instants)
    matrix = collection.matrix[:, [instants.index(name) for name in values]]
    low, high = envelopes(matrix, partition.group)
    if parameters.round_outward is not None:
        low, high = rounded_outward(low, high, parameters.round_outward)
    statistics = [low, high]
    if parameters.means:
        statistics.append(group_means(matrix, partition.group, low, high))
    cell_of, letters, levels, rank = _cells(partition, [places.index(name) for name in pattern])
    attributes, perturbed = collection.attributes, dict[str, int]()
    if parameters.l is not None:
        moved = [name for name in relation.roles.sensitive if name not in grouped]
        attributes, perturbed = diversified(attributes, moved, cell_of, parameters, seed)
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
        for end, numbers in zip(_ends(parameters), statistics, strict=True):
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
        "columns": _columns(values, relation, data.schema, _ends(parameters)),
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
    ledger = Ledger("series", entries, relation, quasi.mappings, facts)
    return Release(promise, manifest, {"data": data}), ledger


def _cells(partition: Partition, pattern: list[int]) -> tuple[Labels, Symbols, Symbols, Labels]:
    """The cell of each series, -1 if suppressed; letters, levels and rank of each cell, in that order.

    Subgroups of one group that show the same are one cell: fewer instants distinguish fewer. Cells of
    different groups may share a rank.
    """
    letters, levels = ASCII[partition.symbols[:, pattern]], partition.levels[:, pattern]
    group = np.full(len(letters), -1, np.int64)
    inside = partition.subgroup >= 0
    group[partition.subgroup[inside]] = partition.group[inside]
    used = np.flatnonzero(group >= 0)
    rank = np.zeros(len(used), np.int64)
    if pattern:
        # Each row of bytes as one item, which sorts from its first byte on.
        visible = np.ascontiguousarray(np.hstack([letters, levels])[used])
        items = visible.view(np.dtype((np.void, visible.shape[1]))).ravel()
        rank = np.unique(items, return_inverse=True)[1].astype(np.int64)
    packed = rank * (int(group.max(initial=0)) + 1) + group[used]
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


def _entries(collection: Collection, order: Labels, group: Labels, subgroup: Labels) -> pa.Table:
    """One row per input row: the group and the subgroup its series was published in, from 1."""
    rows = collection.series_of_row
    columns: dict[str, Any] = {"row": pa.array(np.arange(len(rows), dtype=np.int64))}
    for name, numbers in (("group", group), ("subgroup", subgroup)):
        of_series = np.full(collection.size + 1, -1, np.int64)
        of_series[order] = numbers + 1
        columns[name] = pa.array(of_series[rows], pa.int32(), mask=of_series[rows] < 0)
    return pa.table(columns)
