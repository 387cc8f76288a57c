"""The parameters of a run, with the roles, the costs and the secret seed that go with them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

from timeveil.calendar.granularity import Granularity
from timeveil.domain.guarantee import LDiversity
from timeveil.domain.roles import Derived, Roles
from timeveil.errors import RolesError
from timeveil.models.stream.method.costs import Costs, costs_from
from timeveil.models.stream.method.packets import Rules
from timeveil.models.stream.parameters import StreamParameters

RESERVED = ("slot", "bucket", "count")
"""Columns that a release has besides those of the input."""
PRIVATE = ("withhold_cost", "seed", "zone", "unit")
"""Parameters that a manifest does not repeat: secrets, and what its section on time says."""
OF_PACKETS = ("protect_slot", "spread", "fillers")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything besides the records that decides what becomes of them."""

    roles: Roles
    options: StreamParameters
    promise: LDiversity
    costs: Costs
    seed: int = field(repr=False)

    @property
    def l(self) -> int:
        """No value may be held by more than 1 in l records."""
        return self.options.l

    @property
    def window(self) -> int:
        """Slots held at a time."""
        return self.options.window

    @property
    def rules(self) -> Rules | None:
        """The rules of the packet method, if it is the one chosen."""
        options = self.options
        if options.protect_slot is None:
            return None
        return Rules(
            options.l,
            options.protect_slot,
            options.window,
            options.spread,
            options.fillers,
            options.fill_empty,
        )

    @property
    def sensitive(self) -> str:
        """The sensitive column."""
        return self.roles.sensitive[0]

    def published(self) -> dict[str, Any]:
        """The parameters as a manifest has them: no withhold costs, no seed."""
        slot, move_cost = self.options.slot, self.costs.name
        names = [name for name in StreamParameters.table() if name not in PRIVATE]
        if self.options.protect_slot is None:
            names = [name for name in names if name not in OF_PACKETS]
        return {
            **{name: getattr(self.options, name) for name in names},
            "slot": slot.name if isinstance(slot, Granularity) else slot,
            "move_cost": move_cost if isinstance(move_cost, str) else list(move_cost),
        }


def settings_from(roles: Roles, options: StreamParameters) -> Settings:
    """Check roles and costs; draw a seed if none is set."""
    check_roles(roles)
    costs = costs_from(options.move_cost, options.withhold_cost, options.window, options.jitter)
    promise = LDiversity(options.l, options.protect_slot)
    seed = secrets.randbits(128) if options.seed is None else options.seed
    return Settings(roles, options, promise, costs, seed)


def check_roles(roles: Roles) -> None:
    """A stream needs one sensitive column and no time-derived quasi-identifier; reserved names are free."""
    if len(roles.sensitive) != 1:
        raise RolesError(
            f"a stream needs exactly one sensitive column; {len(roles.sensitive)} are named",
            hint="name one {sensitive} column; give others the role {keep}, or {drop} them",
            code="role-missing",
        )
    if any(isinstance(quasi, Derived) for quasi in roles.quasi):
        raise RolesError(
            "a quasi-identifier derived from the time reveals the true slot of a record that was moved",
            hint="leave weekday, hour_of_day and month_of_year out",
        )
    clashes = [name for name in RESERVED if name in roles.published]
    if clashes:
        raise RolesError(
            f"the release has a column {' and '.join(f'`{name}`' for name in clashes)} of its own",
            hint="rename that column before reading",
            code="column-clash",
        )
