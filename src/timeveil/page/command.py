"""How the roles of an original are typed again in a command."""

from __future__ import annotations

from dataclasses import replace

from timeveil.calendar.axis import CYCLIC
from timeveil.domain.release import Ledger
from timeveil.domain.roles import REST, Derived, Roles


def typed_roles(ledger: Ledger) -> Roles:
    """The roles as they were given: columns that were derived from the time go by their option."""
    original = ledger.original
    roles, time = original.roles, original.roles.time
    derived = {} if time is None else {Derived(name).column(time): Derived(name) for name in CYCLIC}
    quasi = tuple(derived.get(name, name) if isinstance(name, str) else name for name in roles.quasi)
    return replace(roles, quasi=quasi, drop=REST if original.dropped else ())
