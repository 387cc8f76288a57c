"""Series published so that k share an envelope and P of them a pattern (Shou et al. 2013).

The values of a group of at least k series are published as one envelope, the lowest and highest at each
instant, and the shape of a subgroup of at least P of them as one pattern, a symbol per instant. Nothing shows
how the rows came in: methods see series sorted by their values, and of equal series those with different
sensitive values take turns, so that no subgroup fills up with one sensitive value while others are at hand.

Bounds are rounded outward by default: at the attained value a member would learn another's.
Cost: that of the method; reading, envelopes and ordering are a few sorts of the series.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.domain.arrays import Ints
from timeveil.domain.lines import SEED, Decimal, Delimiter
from timeveil.domain.release import Ledger, Release
from timeveil.domain.roles import Roles, require_roles
from timeveil.domain.wording import Progress, silent
from timeveil.errors import ParameterError, RolesError
from timeveil.models.series.method.adaptive import adaptive
from timeveil.models.series.method.assembling import Customised, assemble, ends_of, require_free_names
from timeveil.models.series.method.diversity import categories_of, columns_to_group, eligible, regrouped
from timeveil.models.series.method.paper import kapra, naive
from timeveil.models.series.method.partition import Matrix, Partition, settled_order, side_by_side
from timeveil.models.series.method.parts import (
    Quasi,
    cut,
    each_alone,
    in_spark,
    layers_of,
    part_of,
    require_k_series,
)
from timeveil.models.series.parameters import SeriesParameters
from timeveil.reading.collection import Collection, collect, read_series, refuse_rare
from timeveil.reading.risks import refuse_repetition, with_risks
from timeveil.symbols import representation_of

METHODS = {"adaptive": adaptive, "kapra": kapra, "naive": naive, "representative": adaptive}


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
    engine: str = "memory",
    parts: int | None = None,
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
    set. `seed` repeats the draws of `l` and nothing else; anyone who knows it can undo them. `parts` cuts
    many series into so many parts of similar ones, each grouped alone; with `engine="spark"` the table is a
    DataFrame of Spark, the name of a table or a path, and executors group the parts.

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
    people = None
    if parameters.engine == "spark":
        if roles.quasi:
            message = "quasi-identifiers beside series are generalised in memory, not in Spark"
            raise RolesError(message, hint="leave {engine} out, or the quasi-identifiers")
        people = import_module("timeveil.reading.spark_people").read_people(table, roles)
        table, roles = people.relation.data.read(), people.relation.roles
    relation = read_series(table, roles, quasi=True, **parameters.reading("fold_spellings"))
    if people is not None:
        relation = replace(relation, dropped=people.relation.dropped, source=people.relation.source)
    relation = with_risks(relation, parameters.accept_risk)
    refuse_repetition(relation, parameters)
    collection = collect(relation, parameters.fill, several=True)
    sensitive = tuple(relation.roles.sensitive)
    refuse_rare(collection, parameters.k)
    require_k_series(collection, parameters.k)
    published = published_instants(parameters, collection.instants)
    require_free_names(collection.instants, relation.roles, ends_of(parameters))
    grouped = columns_to_group(collection.attributes, sensitive, parameters)
    form = partial(_partition, roles=relation.roles, grouped=grouped, parameters=parameters)
    # Of all work a tenth is behind before the method, and 85 % after it.
    ahead: Progress = lambda doing, share: progress(doing, 0.1 + 0.75 * share)  # noqa: E731 as short as it can be
    partition = _in_parts(collection, form, parameters, people, ahead)
    progress("publishing", 0.85)
    pair = assemble(parameters, relation, collection, published, partition, grouped, seed)
    progress("done", 1.0)
    return pair


def _in_parts(
    collection: Collection,
    form: Callable[..., Partition],
    parameters: SeriesParameters,
    people: Any,
    progress: Progress,
) -> Partition:
    """The partition of the series, part by part if they are many; of `people` in Spark, by its executors."""
    parts = parameters.parts or (1 if people is None else people.cluster.partitions)
    if collection.person is not None and parts > 1:
        message = "a person has several series, and no group may have two of one person"
        raise ParameterError(f"series in parts: {message}", hint="leave {parts} out")
    cuts = cut(collection.matrix, parameters, parts)
    if people is not None:
        return side_by_side(collection.size, in_spark(people, cuts, parameters, form), "parts")
    if cuts is None:
        return form(collection, progress=progress)

    def formed(rows: Ints, _: Progress) -> Partition:
        attributes = collection.attributes.take(pa.array(rows))
        return form(replace(collection, matrix=collection.matrix[rows], attributes=attributes))

    return each_alone(part_of(collection.matrix, parameters, cuts), formed, "parts", progress)


def _partition(
    collection: Collection,
    *,
    roles: Roles,
    grouped: tuple[str, ...],
    parameters: SeriesParameters,
    progress: Progress = silent,
) -> Partition:
    """The partition of the series; nobody is twice in a group."""
    matrix, attributes = collection.matrix, collection.attributes
    quasi = Quasi(attributes, roles.quasi_columns, parameters.hierarchies)
    categories = categories_of(attributes, grouped, len(matrix))

    def formed(rows: Ints, progress: Progress) -> Partition:
        """Groups of these series alone."""
        order = settled_order(matrix[rows], attributes.take(pa.array(rows)), tuple(roles.sensitive))
        order = eligible(order, categories[rows], parameters)
        values, settled = matrix[rows[order]], categories[rows[order]]
        partition = partitioned(values, parameters, progress)
        return regrouped(partition, values, settled, parameters).back_from(order, len(rows))

    def in_regions(rows: Ints, progress: Progress) -> Partition:
        """Groups of these series with near quasi-identifiers."""
        region = quasi.regions(rows, parameters.k)
        if grouped or not region.any():
            return formed(rows, progress)
        return each_alone(region, lambda part, _: formed(rows[part], silent), "regions", progress)

    if collection.person is None:
        return in_regions(np.arange(len(matrix)), progress)
    return each_alone(layers_of(matrix, attributes, collection.person), in_regions, "layers", progress)


def partitioned(matrix: Matrix, parameters: SeriesParameters, progress: Progress = silent) -> Partition:
    """Groups, subgroups and patterns by the method of the parameters."""
    return METHODS[parameters.method](matrix, parameters, progress)


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
