"""The risk of a table before anything is done to it; of events, also by every way of recoding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from timeveil.calendar.granularity import Granularity
from timeveil.domain.relation import Relation
from timeveil.errors import InfeasibleError
from timeveil.evidence.published import require
from timeveil.judging import gather, measure
from timeveil.models import method_of, part
from timeveil.models.events.parameters import EventParameters
from timeveil.recoding.groups import hierarchies_for

if TYPE_CHECKING:
    from timeveil.models.events.judges.profile import Profile
    from timeveil.models.patterns.judges.profile import PatternProfile
    from timeveil.models.series.judges.profile import SeriesProfile
    from timeveil.models.stream.judges.profile import StreamProfile

    AnyProfile: TypeAlias = Profile | StreamProfile | SeriesProfile | PatternProfile

MOST_ROWS = 50_000  # up to here, all ways of recoding a table together take some seconds


def profile(
    relation: Relation,
    k: int | None = None,
    granularities: Iterable[str | Granularity] | str | Granularity | None = None,
    definitions: Iterable[Granularity] | None = None,
    *,
    ways: bool = False,
    hierarchies: Mapping[str, Any] | None = None,
    l: int | None = None,
    slot: str | Granularity = "day",
    min_support: float | None = None,
    max_len: int | None = None,
) -> AnyProfile:
    """Show the risk of a table before anything is done to it.

    Of events: people and rows per group, at the table's resolution and at each granularity. Granularities
    finer than the resolution of the times are left out: they separate nothing. With `ways` or `hierarchies`,
    every way of recoding is tried as well, unless the table has more than 50,000 rows. With `l`, the table is
    a stream of slots. A table of series or of items has a profile of its own; with `min_support`, that of
    patterns.
    """
    require(Relation, relation)
    values = {"k": k, "l": l, "min_support": min_support, "max_len": max_len}
    values = {name: value for name, value in values.items() if value is not None}
    roles, model = relation.roles, "stream" if l is not None else "time"
    if roles.item or roles.series or roles.value:
        model = "patterns" if roles.item or min_support is not None else "series"
    judges = part(model, "judges.profile")
    if model != EventParameters.model:
        other: AnyProfile = judges.profile(relation, {**values, "slot": slot})
        return other
    promised = EventParameters.table()["k"].check(k)
    named = [granularities] if isinstance(granularities, str | Granularity) else granularities
    allowed = None if named is None else list(named)
    defined = None if definitions is None else list(definitions)
    risk: Profile = judges.profile(relation, promised, allowed, defined)
    checked = hierarchies_for(roles.quasi_columns, hierarchies)
    if not (ways or checked):
        return risk
    if relation.rows > MOST_ROWS:
        return replace(risk, ways_left_out=f"the table has more than {MOST_ROWS:,} rows")
    results, method = [], method_of(EventParameters)
    limits: Any = {"granularities": allowed, "definitions": defined, "gaps": "skip", "hierarchies": checked}
    try:
        for recode in ("global", "tiling", "refined", "local"):
            evidence = gather(*method(relation, roles, promised, recode=recode, **limits))
            loss: Any = measure(evidence, windows=0)
            alone = part(model, "judges.attack").singled_out(evidence)
            results.append(judges.Way(recode, loss.bits_per_row, alone))
    except InfeasibleError as error:
        return replace(risk, ways_left_out=error.message)
    return replace(risk, ways=tuple(results))
