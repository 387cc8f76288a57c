"""Series published so that k share an envelope and P of them a pattern (Shou et al. 2013).

One series per person. The values of a group of at least k series are published as one envelope, the lowest
and highest at each instant, and the shape of a subgroup of at least P of them as one pattern, a symbol per
instant: anyone who knows a person's values, shape or both finds at least P series that fit.

Where we depart from the print
    Bounds are rounded outward by default: at the attained value a member would learn another's.
    The level of a pattern is published; without it no pattern can be read.
Cost: that of the method; reading, envelopes and ordering are a few sorts of the series.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from timeveil.domain.release import Ledger, Release
from timeveil.domain.roles import Roles
from timeveil.domain.wording import Progress, silent
from timeveil.errors import InfeasibleError, ParameterError, RolesError
from timeveil.models.series.method.adaptive import adaptive, representative
from timeveil.models.series.method.diversity import check_numbers
from timeveil.models.series.method.kapra import kapra
from timeveil.models.series.method.naive import naive
from timeveil.models.series.method.outcome import Instants, assemble, settled_order
from timeveil.models.series.method.partition import Matrix, Partition
from timeveil.models.series.parameters import SeriesParameters
from timeveil.reading.collection import collect, read_series, refuse_rare

METHODS = {"adaptive": adaptive, "kapra": kapra, "naive": naive, "representative": representative}
METHOD_FROM, METHOD_TO = 0.1, 0.85
"""The share of all work that is behind before and after the method."""


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
    center: str = "mean",
    round_outward: int | None = 3,
    l: int | None = None,
    publish_values: Sequence[str] | None = None,
    publish_pattern: Sequence[str] | None = None,
    fill: str | None = None,
    zone: str | None = None,
    unit: str | None = None,
    seed: int | None = None,
    progress: Progress = silent,
    **removed: Any,
) -> tuple[Release, Ledger]:
    """Publish series so that k share every envelope of values, and p of them the pattern in it.

    `method` is `"adaptive"`, `"kapra"` or `"naive"` (both from the paper), or `"representative"`, whose
    patterns are not each member's own. `shape_weight` is 2 for narrow envelopes, 10 for both, 50 and up for
    the shape; `effort` is how long groups are improved; `round_outward` is the number of significant digits
    of bounds. With `l`, sensitive numbers are exchanged for others nearby where more than one row in l of a
    cell has the same. `publish_values` and `publish_pattern` name the instants to publish, by default all.
    `fill` says what a missing value becomes: `"forward"`, `"linear"`, or `"drop"` the person. `seed` repeats
    the draws of `l` and nothing else; anyone who knows it can undo them.

    >>> import pyarrow as pa
    >>> loads = pa.table({"night": [1.0, 2.0, 8.0, 9.0], "noon": [5.0, 7.0, 3.0, 4.0]})
    >>> release, ledger = anonymize_series(loads, Roles(series=["night", "noon"]), k=2, p=2, effort=0)
    >>> release.table.select(["group", "night_lo", "night_hi"]).to_pylist()[0]
    {'group': 1, 'night_lo': 1.0, 'night_hi': 2.0}
    """
    SeriesParameters.refuse_unknown(removed)
    parameters = SeriesParameters.from_call(locals())
    if parameters.l is not None and not roles.sensitive:
        raise RolesError(
            f"l is {parameters.l}, and no column is sensitive",
            hint="name a column with {sensitive}, or leave {l} out",
            code="role-missing",
        )
    progress("reading", 0.0)
    relation = read_series(table, roles, zone=zone, unit=unit)
    collection = collect(relation, parameters.fill)
    sensitive = tuple(relation.roles.sensitive)
    refuse_rare(collection, parameters.k)
    _require_k_series(collection.size, parameters.k)
    instants = published_instants(parameters, collection.instants)
    _require_free_names(collection.instants, relation.roles)
    if parameters.l is not None:
        check_numbers(collection.attributes, sensitive, parameters.l)
    order = settled_order(collection.matrix, collection.attributes, sensitive)
    span = METHOD_TO - METHOD_FROM
    partition = partitioned(
        collection.matrix[order], parameters, lambda doing, share: progress(doing, METHOD_FROM + span * share)
    )
    progress("publishing", METHOD_TO)
    pair = assemble(parameters, relation, collection, instants, partition.back_from(order), seed)
    progress("done", 1.0)
    return pair


def partitioned(matrix: Matrix, parameters: SeriesParameters, progress: Progress = silent) -> Partition:
    """Groups, subgroups and patterns by the method of the parameters."""
    options: dict[str, Any] = {"max_level": parameters.max_level, "center": parameters.center}
    # The parameters that only some methods have are declared with those methods.
    for name, line in SeriesParameters.table().items():
        if parameters.method in line.methods:
            options[name] = getattr(parameters, name)
    return METHODS[parameters.method](matrix, parameters.k, parameters.p, progress=progress, **options)


def published_instants(parameters: SeriesParameters, instants: Sequence[str]) -> Instants:
    """Where the instants are whose values, and those whose pattern, are published (§6.1).

    Groups are formed on all instants whatever is published of them, so what is left out costs no promise.
    """
    values = _positions("publish_values", parameters.publish_values, instants)
    pattern = _positions("publish_pattern", parameters.publish_pattern, instants)
    if not set(values) & set(pattern):
        raise ParameterError(
            "`publish_values` and `publish_pattern` have no instant in common, so nobody could estimate what "
            "is left out: a pattern says nothing about values without an instant that has both",
            hint="name at least one instant in both; two that differ much are better",
        )
    return Instants(tuple(instants), values, pattern)


def _positions(name: str, chosen: tuple[str, ...] | None, instants: Sequence[str]) -> list[int]:
    if chosen is None:
        return list(range(len(instants)))
    unknown = [instant for instant in chosen if instant not in instants]
    if unknown:
        raise ParameterError(
            f"`{name}` names {', '.join(f'`{instant}`' for instant in unknown[:8])}, which is not an instant",
            hint="name columns of a wide table, or times of a long one as they are written there",
            code="column-missing",
        )
    return [position for position, instant in enumerate(instants) if instant in chosen]


def _require_k_series(series: int, k: int) -> None:
    if series < k:
        count = {0: "no series", 1: "one series"}.get(series, f"{series:,} series")
        hints = {0: "check that it is the right table", 1: "one series alone cannot be protected"}
        raise InfeasibleError(
            f"the table holds {count}, so no envelope can be shared by {k}",
            hint=hints.get(series, f"lower {{k}} to at most {series}"),
            code="too-few-people",
            facts={"people": series, "k": k, "best_k": series},
        )


def _require_free_names(instants: Sequence[str], roles: Roles) -> None:
    """The columns that the release adds must not be the caller's."""
    added = {"group", "pattern", "level", *(f"{name}_{end}" for name in instants for end in ("lo", "hi"))}
    clashing = [name for name in (*roles.sensitive, *roles.keep) if name in added]
    if clashing:
        raise RolesError(
            f"the release needs the name {', '.join(f'`{name}`' for name in clashing)} for its own column",
            hint="rename that column before reading",
            code="column-clash",
        )
