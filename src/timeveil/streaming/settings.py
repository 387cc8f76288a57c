"""The parameters of a stream, checked before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from timeveil.calendar.granularity import Granularity
from timeveil.errors import ParameterError, RolesError
from timeveil.model.guarantee import LDiversity
from timeveil.model.roles import Derived, Roles
from timeveil.streaming.chance import secret_seed
from timeveil.streaming.costs import Costs, MoveCost, WithholdCost, costs_from
from timeveil.streaming.reposition import Filler

FirstWindow = Literal["grow", "exact"]
Buckets = Literal["anatomy", "none"]
Late = Literal["refuse", "move"]
Nulls = Literal["error", "withhold"]

MOST_SLOTS = 10_000
"""No window and no jitter is longer: a week of minutes, a year of hours, a generation of days."""
OWN_COLUMNS = ("slot", "bucket", "count")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that decides what a stream's records become, besides the records."""

    roles: Roles
    promise: LDiversity
    window: int
    slot: str | Granularity
    costs: Costs
    seed: int = field(repr=False)
    first_window: FirstWindow
    fill_empty: bool
    filler: Filler
    jitter: int
    buckets: Buckets
    late: Late
    nulls: Nulls
    zone: str | None
    unit: str | None

    @property
    def l(self) -> int:  # noqa: E743
        """No value may be held by more than 1 in l records."""
        return self.promise.l

    @property
    def sensitive(self) -> str:
        """The sensitive column."""
        return self.roles.sensitive[0]

    def published(self) -> dict[str, Any]:
        """What a manifest tells of the parameters: no withhold costs, no seed."""
        return {
            "l": self.l,
            "window": self.window,
            "slot": self.slot if isinstance(self.slot, str) else self.slot.name,
            "move_cost": self.costs.name if isinstance(self.costs.name, str) else list(self.costs.name),
            "first_window": self.first_window,
            "filler": self.filler,
            "jitter": self.jitter,
            "buckets": self.buckets,
            "late": self.late,
            "fill_empty": self.fill_empty,
            "nulls": self.nulls,
        }


def settings_from(
    roles: Roles,
    l: int,  # noqa: E741
    window: int,
    slot: str | Granularity,
    *,
    move_cost: MoveCost,
    withhold_cost: WithholdCost,
    seed: int | None,
    first_window: FirstWindow,
    fill_empty: bool,
    filler: Filler,
    jitter: int,
    buckets: Buckets,
    late: Late,
    nulls: Nulls,
    zone: str | None,
    unit: str | None,
) -> Settings:
    """Check every parameter."""
    check_roles(roles)
    promise = LDiversity(l)
    meaning = "it is how many slots a record may wait, its own included; 7 is usual"
    whole_number("window", window, 1, meaning, MOST_SLOTS)
    meaning = "it is by how many slots everybody may be delayed at random; 0 for none"
    whole_number("jitter", jitter, 0, meaning, MOST_SLOTS)
    if not isinstance(slot, str | Granularity):
        raise ParameterError(
            f"`slot` is neither the name of a granularity nor one, but {type(slot).__name__}",
            hint="use a name such as `day`; `timeveil granularities` lists them",
            code="bad-parameter",
        )
    _one_of("first_window", first_window, get_args(FirstWindow))
    _one_of("filler", filler, get_args(Filler))
    _one_of("buckets", buckets, get_args(Buckets))
    _one_of("late", late, get_args(Late))
    _one_of("nulls", nulls, get_args(Nulls))
    costs = costs_from(move_cost, withhold_cost, window, jitter)
    return Settings(
        roles,
        promise,
        window,
        slot,
        costs,
        secret_seed(seed),
        first_window,
        bool(fill_empty),
        filler,
        jitter,
        buckets,
        late,
        nulls,
        zone,
        unit,
    )


def check_roles(roles: Roles) -> None:
    """A stream needs a time and one sensitive column; its own names must be free."""
    if len(roles.sensitive) != 1:
        raise RolesError(
            f"a stream has one sensitive column; {len(roles.sensitive)} are named",
            hint="name it with sensitive=[...] (--sensitive), and give others the role `keep` or drop them",
            code="role-missing",
        )
    if any(isinstance(quasi, Derived) for quasi in roles.quasi):
        raise RolesError(
            "a quasi-identifier derived from the time tells the true slot of a record that was moved",
            hint="leave weekday, hour_of_day and month_of_year out",
            code="bad-parameter",
        )
    taken = [name for name in OWN_COLUMNS if name in roles.published]
    if taken:
        raise RolesError(
            f"the release needs the name {', '.join(f'`{name}`' for name in taken)} for a column of its own",
            hint="rename that column before reading",
            code="column-clash",
        )


def whole_number(name: str, given: Any, least: int, meaning: str, most: int | None = None) -> None:
    """Refuse what is no whole number in its range."""
    if isinstance(given, bool) or not isinstance(given, int) or given < least:
        shown = given if isinstance(given, int) else type(given).__name__
        message = f"`{name}` must be a whole number of at least {least}, got {shown}"
    elif most is not None and given > most:
        message = f"`{name}` must be at most {most:,}, got {given:,}"
    else:
        return
    raise ParameterError(message, hint=meaning, code="bad-parameter")


def _one_of(name: str, given: Any, allowed: Sequence[str]) -> None:
    if not isinstance(given, str) or given not in allowed:
        raise ParameterError(
            f"`{name}` is one of {', '.join(allowed)}",
            hint=f"use {name}={allowed[0]!r}",
            code="bad-parameter",
        )
