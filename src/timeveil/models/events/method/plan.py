"""What a run may choose from: the granularities that fit the data, and those that are left out for gaps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from timeveil.calendar.catalogue import resolve
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Timeline, at_least, base_for
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.engines import Events
from timeveil.errors import InputError, ParameterError
from timeveil.models.events.parameters import CHOICES, EventParameters


@dataclass(frozen=True, slots=True)
class Plan:
    """What one run may choose from: the calendar, compiled against the data.

    `base` is the granularity time was read at. It is always counted, and chosen only if `allowed`.
    `named` is the one that must be chosen, if `choose` names one. `limited_to` has the names that the
    caller allowed, `skipped` the reason for each granularity that was left out.
    """

    relation: Relation
    parameters: EventParameters
    timeline: Timeline
    allowed: tuple[Granularity, ...]
    base: Granularity
    named: str | None
    limited_to: list[str] | None
    skipped: Mapping[str, str]

    def by_name(self, name: str) -> Granularity:
        return next(g for g in (*self.allowed, self.base) if g.name == name)


def make_plan(
    events: Events,
    relation: Relation,
    parameters: EventParameters,
    definitions: Iterable[Granularity] | None,
    *,
    by_rule: bool = False,
    only: Granularity | None = None,
) -> Plan:
    """Fix the base granularity, look at which granules occur, and settle what may be chosen.

    `choose` is a rule, one of those with a name or `by_rule`, or else the name of a granularity. `only` is
    the one granularity that may be chosen, if another release is continued.
    """
    axis, names = relation.clock, parameters.granularities if only is None else [only]
    limited = names is not None
    allowed = resolve(names, axis, definitions)
    named = None
    if not by_rule and parameters.choose not in CHOICES:
        (named,) = _named(parameters.choose, axis, definitions)
        allowed = allowed if named.name in {g.name for g in allowed} else (*allowed, named)
    limited_to = [g.name for g in allowed] if limited else None
    ticks = base_for(axis, allowed, *events.extent())
    (base,) = resolve([ticks.name], axis)
    timeline = Timeline(axis, ticks, events.observe(ticks), parameters.gaps)
    if not limited:
        # Granularities below the base would cut the data no finer than it does.
        allowed = tuple(g for g in allowed if g == named or at_least([g], ticks))
    skipped = _gapped(timeline, allowed, named, parameters.gaps)
    allowed = tuple(g for g in allowed if g.name not in skipped)
    must = named.name if named else None
    return Plan(relation, parameters, timeline, allowed, base, must, limited_to, skipped)


def _gapped(
    timeline: Timeline, allowed: Sequence[Granularity], named: Granularity | None, policy: str
) -> dict[str, str]:
    """The granularities to skip because of their gaps; a policy that withholds rows skips none."""
    if policy == "suppress":
        return {}
    where, hint = "belong to no granule of `{}`, which has gaps", ', or move them on with {gaps="next"}'
    skipped, outside = "rows fall into its gaps", {g.name: timeline.in_gaps(g) for g in allowed}
    if policy == "next":  # rows after the last granule have no next one
        outside = {g.name: timeline.firsts(g) < 0 for g in allowed if outside[g.name].any()}
        where, hint = "are after the last granule of `{}`, so that there is no next one", ""
        skipped = "rows are after its last granule"
    gapped = [g for g in allowed if g.name in outside and outside[g.name].any()]
    if gapped and (policy == "error" or named in gapped or len(gapped) == len(allowed)):
        worst = named if named in gapped else gapped[0]
        lost = int(outside[worst.name].sum())
        raise InputError(
            f"{lost} of the {len(timeline)} times that occur, counted by {timeline.base.name}, "
            + where.format(worst.name),
            hint=f'withhold such rows with {{gaps="suppress"}}{hint}',
            code="gap",
            facts={"granularity": worst.name, "granules": lost},
        )
    return {g.name: skipped for g in gapped}


def _named(name: str, axis: TimeAxis, definitions: Iterable[Granularity] | None) -> tuple[Granularity, ...]:
    """The granularity that `choose` names; what is nearly one of its rules is taken for a typing error."""
    try:
        return resolve([name], axis, definitions)
    except ParameterError as error:
        near = get_close_matches(name, CHOICES, 1)
        if not near:
            raise
        hint = f'did you mean {{choose="{near[0]}"}}?'
        raise ParameterError(f"{error.message}, and no rule to choose by", hint=hint) from None
