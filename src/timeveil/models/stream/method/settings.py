"""The parameters of a stream, checked before anything is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from timeveil.calendar.granularity import Granularity
from timeveil.domain.guarantee import LDiversity
from timeveil.domain.roles import Derived, Roles
from timeveil.errors import ParameterError, RolesError
from timeveil.models.stream.method.chance import secret_seed
from timeveil.models.stream.method.costs import Costs, MoveCost, WithholdCost, costs_from
from timeveil.models.stream.method.packets import Rules
from timeveil.models.stream.method.reposition import Filler

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
    spread: int = 1
    fillers: int = 0

    @property
    def l(self) -> int:
        """No value may be held by more than 1 in l records."""
        return self.promise.l

    @property
    def rules(self) -> Rules | None:
        """The rules of the packet method, if it is the one that was asked for."""
        size = self.promise.true_slot
        if size is None:
            return None
        return Rules(self.l, size, self.window, self.spread, self.fillers, self.fill_empty)

    @property
    def sensitive(self) -> str:
        """The sensitive column."""
        return self.roles.sensitive[0]

    def published(self) -> dict[str, Any]:
        """What a manifest tells of the parameters: no withhold costs, no seed."""
        told = {
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
        if self.rules is not None:
            told |= {"protect_slot": self.rules.size, "spread": self.spread, "fillers": self.fillers}
        return told


def settings_from(
    roles: Roles,
    l: int,
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
    protect_slot: int | None = None,
    spread: int = 1,
    fillers: int = 0,
) -> Settings:
    """Check every parameter."""
    check_roles(roles)
    promise = LDiversity(l, protect_slot)
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
    others = {
        "filler": filler,
        "jitter": jitter,
        "first_window": first_window,
        "buckets": buckets,
        "late": late,
    }
    _check_packets(protect_slot, window, spread, fillers, others)
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
        spread,
        fillers,
    )


WITH_PACKETS = {
    "filler": ("never", "fillers of the packet method are a number: fillers=... (--fillers)"),
    "jitter": (0, "packets are spread over later slots with spread=... (--spread)"),
    "first_window": ("grow", "packets need no first window"),
    "buckets": ("anatomy", "a packet holds because its records share a bucket"),
    "late": ("refuse", "a packet holds records of one true slot; put late records into the next stream"),
}
"""What the packet method needs of other parameters, and why."""


def _check_packets(
    protect_slot: int | None, window: int, spread: int, fillers: int, others: Mapping[str, Any]
) -> None:
    if protect_slot is None:
        for name, given, usual in (("spread", spread, 1), ("fillers", fillers, 0)):
            if given != usual:
                raise ParameterError(
                    f"`{name}` goes with `protect_slot` only",
                    hint=f"give protect_slot=... (--protect-slot) too, or leave `{name}` out",
                    code="bad-parameter",
                )
        return
    meaning = "packets must have a later slot to go to; 7 is usual, 14 for slots below 50 records"
    whole_number("window", window, 2, meaning)
    meaning = (
        "it is over how many later slots, fewer than the window has, held packets are spread; 1 is usual"
    )
    whole_number("spread", spread, 1, meaning, window - 1)
    meaning = "it is how many packets may wait for the sake of others; 0 is usual"
    whole_number("fillers", fillers, 0, meaning, MOST_SLOTS)
    for name, (needed, why) in WITH_PACKETS.items():
        if others[name] != needed:
            raise ParameterError(
                f"`protect_slot` and `{name}` do not go together",
                hint=f"leave `{name}` out: {why}",
                code="bad-parameter",
                facts={"parameter": name},
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
