"""Series with k to an envelope and P to a pattern: the whole way (Shou et al. 2013).

One series per person. The values of a group of at least k series are published as one envelope, the lowest
and highest at each instant, and the shape of a subgroup of at least P of them as one pattern, a symbol per
instant: whoever knows somebody's values, shape or both finds them among P at least.

Where we depart from the print
    Bounds are rounded outward by default: at the attained value a member would learn another's.
    The level of a pattern is published; without it no pattern can be read.
Cost: that of the method; reading, envelopes and ordering are a few sorts of the series.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from timeveil.domain.guarantee import KPAnonymity
from timeveil.domain.ledger import Ledger
from timeveil.domain.progress import Progress, silent
from timeveil.domain.release import Release
from timeveil.domain.roles import Roles
from timeveil.models.series.method.diversity import check_numbers
from timeveil.models.series.method.order import placed_back, settled_order
from timeveil.models.series.method.outcome import assemble
from timeveil.models.series.method.partition import Matrix, Partition
from timeveil.models.series.method.settings import (
    Settings,
    check_names,
    check_sensitive,
    enough,
    parts,
    settings_from,
)
from timeveil.reading.collection import collect, read_series, refuse_rare

FROM, TO = 0.1, 0.85
"""The share of all work that lies in the method."""


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
    exact: bool = False,
    adoption: bool = True,
    fill: str | None = None,
    zone: str | None = None,
    unit: str | None = None,
    seed: int | None = None,
    progress: Progress = silent,
) -> tuple[Release, Ledger]:
    """Publish series so that k share every envelope of values, and p of them the pattern in it.

    `method` is `"adaptive"`, `"kapra"` or `"naive"` (both of the paper), or `"representative"`, whose
    patterns are not each member's own. `shape_weight` says what matters: 2 for values, 10 for both, 50 and
    up for the shape; `effort` how long groups are improved. `round_outward` is how many significant digits
    bounds keep.
    With `l`, sensitive numbers become others nearby where one stands in more than one row in l of a cell.
    `publish_values` and `publish_pattern` name the instants to publish, all by default. `fill` says what a
    missing value becomes: `"forward"`, `"linear"`, or `"drop"` the person. `exact` and `adoption` are for
    `"kapra"`.

    >>> import pyarrow as pa
    >>> loads = pa.table({"night": [1.0, 2.0, 8.0, 9.0], "noon": [5.0, 7.0, 3.0, 4.0]})
    >>> release, ledger = anonymize_series(loads, Roles(series=["night", "noon"]), k=2, p=2, effort=0)
    >>> release.table.select(["group", "night_lo", "night_hi"]).to_pylist()[0]
    {'group': 1, 'night_lo': 1.0, 'night_hi': 2.0}
    """
    settings = settings_from(
        KPAnonymity(k, p, l),
        method=method,
        shape_weight=shape_weight,
        effort=effort,
        max_level=max_level,
        center=center,
        round_outward=round_outward,
        publish_values=publish_values,
        publish_pattern=publish_pattern,
        exact=exact,
        adoption=adoption,
        fill=fill,
    )
    check_sensitive(settings.promise, roles)
    progress("reading", 0.0)
    relation = read_series(table, roles, zone=zone, unit=unit)
    collection = collect(relation, settings.fill)
    refuse_rare(collection, k)
    enough(collection.size, k)
    parts(settings, collection.instants)
    check_names(collection.instants, relation.roles)
    if l is not None:
        check_numbers(collection.attributes, tuple(relation.roles.sensitive), l)
    order = settled_order(collection.matrix, collection.attributes, tuple(relation.roles.sensitive))
    partition = partitioned(
        collection.matrix[order], settings, lambda doing, share: progress(doing, FROM + (TO - FROM) * share)
    )
    progress("publishing", TO)
    pair = assemble(settings, relation, collection, placed_back(partition, order), seed)
    progress("done", 1.0)
    return pair


def partitioned(matrix: Matrix, settings: Settings, progress: Progress = silent) -> Partition:
    """Groups, subgroups and patterns by the method asked for."""
    k, p = settings.promise.k, settings.promise.p
    form: dict[str, Any] = {"max_level": settings.max_level, "center": settings.center, "progress": progress}
    weight: dict[str, Any] = {"shape_weight": settings.shape_weight, "effort": settings.effort}
    match settings.method:
        case "naive":
            from timeveil.models.series.method.naive import naive  # noqa: PLC0415

            return naive(matrix, k, p, **form)
        case "kapra":
            from timeveil.models.series.method.kapra import kapra  # noqa: PLC0415

            return kapra(matrix, k, p, exact=settings.exact, adoption=settings.adoption, **form)
        case "representative":
            from timeveil.models.series.method.representative import representative  # noqa: PLC0415

            return representative(matrix, k, p, **weight, **form)
        case "adaptive":
            from timeveil.models.series.method.adaptive import adaptive  # noqa: PLC0415

            return adaptive(matrix, k, p, **weight, **form)
