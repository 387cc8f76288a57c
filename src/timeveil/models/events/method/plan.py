"""What one run may choose from: parameters checked, and a calendar compiled against the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from timeveil.calendar.catalogue import resolve
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Timeline, at_least, base_for
from timeveil.domain.relation import Relation
from timeveil.engines import Events
from timeveil.errors import InputError
from timeveil.models.events.parameters import EventParameters


@dataclass(frozen=True, slots=True)
class Plan:
    """The calendar of one run: which granularities may be chosen, compiled against the data.

    `base` is the granularity time was read at. It is always counted, and chosen only if allowed.
    `named` is the one that must be chosen, if `choose` names one. `limited_to` has the names that the
    caller allowed, `skipped` the reason for each granularity that was left out.
    """

    timeline: Timeline
    allowed: tuple[Granularity, ...]
    base: Granularity
    named: str | None
    limited_to: tuple[str, ...] | None
    skipped: Mapping[str, str]

    def by_name(self, name: str) -> Granularity:
        """The granularity of that name."""
        return next(g for g in (*self.allowed, self.base) if g.name == name)


def make_plan(
    events: Events, relation: Relation, parameters: EventParameters, definitions: Iterable[Granularity] | None
) -> Plan:
    """Fix the base granularity, look at which granules occur, and settle what may be chosen."""
    axis = relation.clock
    allowed = resolve(parameters.granularities, axis, definitions)
    named = resolve([parameters.choose], axis, definitions)[0] if parameters.chooses_by_name else None
    if named and named.name not in {g.name for g in allowed}:
        allowed = (*allowed, named)
    names = None if parameters.granularities is None else tuple(g.name for g in allowed)
    extent = events.extent()
    ticks = base_for(axis, allowed, extent.low, extent.high, extent.resolution)
    (base,) = resolve([ticks.name], axis)
    timeline = Timeline(axis, ticks, events.observe(ticks), parameters.gaps)
    if parameters.granularities is None:
        # Granularities below the base would cut the data no finer than it does.
        allowed = tuple(g for g in allowed if g == named or at_least([g], ticks))
    usable, skipped = _without_gaps(timeline, allowed, named, parameters.gaps)
    return Plan(timeline, usable, base, named.name if named else None, names, skipped)


def _without_gaps(
    timeline: Timeline, allowed: Sequence[Granularity], named: Granularity | None, policy: str
) -> tuple[tuple[Granularity, ...], dict[str, str]]:
    """Apply the policies that need no counting: refuse, or skip the granularity."""
    if policy not in ("error", "skip"):
        return tuple(allowed), {}
    gapped = [g for g in allowed if timeline.in_gaps(g).any()]
    usable = tuple(g for g in allowed if g not in gapped)
    if gapped and (policy == "error" or named in gapped or not usable):
        worst = named if named in gapped else gapped[0]
        lost = int(timeline.in_gaps(worst).sum())
        raise InputError(
            f"{lost} of the {len(timeline)} times that occur, counted by {timeline.base.name}, belong to no "
            f"granule of `{worst.name}`, which has gaps",
            hint='withhold such rows with {gaps="suppress"}, or move them on with {gaps="next"}',
            code="gap",
            facts={"granularity": worst.name, "granules": lost},
        )
    return usable, {g.name: "rows fall into its gaps" for g in gapped}
