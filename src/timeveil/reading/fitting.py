"""Do the roles fit the table's columns?"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from timeveil.domain.roles import REST, Derived, Roles
from timeveil.errors import RolesError
from timeveil.reading.looks import alike, shortened, spelt


@dataclass(frozen=True, slots=True)
class Fitted:
    """Roles that were found to fit: the columns to read, those to compute, those left out."""

    roles: Roles
    resolved: Roles
    columns: tuple[str, ...]
    derived: tuple[Derived, ...]
    dropped: tuple[str, ...]


def fit(roles: Roles, names: Sequence[str], needs: Sequence[str] = ("respondent", "time")) -> Fitted:
    """Hold roles against the names of a table's columns."""
    _refuse_missing_roles(roles, needs)
    _refuse_missing(roles, names)
    _refuse_twice(names)
    dropped = _dropped(roles, names)
    _refuse_clash(roles, dropped)
    derived = tuple(q for q in roles.quasi if isinstance(q, Derived))
    resolved = replace(roles, quasi=roles.quasi_columns, drop=dropped)
    return Fitted(roles, resolved, roles.columns, derived, dropped)


def listed(names: Sequence[str], most: int = 8) -> str:
    """Column names for a message.

    >>> listed(["a", "b"])
    '`a`, `b`'
    """
    shown = ", ".join(f"`{shortened(str(name))}`" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _refuse_twice(names: Sequence[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise RolesError(
            f"the table has more than one column named {listed(twice)}",
            hint="rename the columns so that each name is there once",
            code="column-twice",
        )
    pair = alike(names)
    if pair is not None:
        raise RolesError(
            f"the table has two columns whose names look the same: `{spelt(pair[0])}` and `{spelt(pair[1])}`",
            hint="rename one of them, so that nobody gives the role of one to the other",
            code="column-twice",
        )


def _refuse_missing_roles(roles: Roles, needs: Sequence[str]) -> None:
    if any(name == "" for name in roles.columns):
        raise RolesError(
            "a role names a column without a name", hint="name that column first", code="empty-name"
        )
    needed = () if roles.series or roles.item else needs
    missing = [role for role in needed if not getattr(roles, role)]
    if roles.time is None and any(isinstance(q, Derived) for q in roles.quasi):
        missing = [*missing, "time"] if "time" not in missing else missing
    if missing:
        raise RolesError(
            f"no column has the role {listed(missing)}",
            hint=f"name it: Roles({missing[0]}=...), or --{missing[0]} on the command line",
            code="role-missing",
        )


def _refuse_missing(roles: Roles, names: Sequence[str]) -> None:
    dropped = () if roles.drop == REST else roles.drop
    missing = [column for column in (*roles.columns, *dropped) if column not in names]
    if not missing:
        return
    near = list(dict.fromkeys(n for m in missing for n in difflib.get_close_matches(m, names, 1)))
    nothing_fits = len(missing) == len({*roles.columns, *dropped})
    if nothing_fits:  # what stands for names may be values then: tell none but those that were asked for
        near = [name for name in near if name.casefold() in {wanted.casefold() for wanted in missing}]
    if names and nothing_fits and not near:
        raise RolesError(
            f"the table has {len(names)} columns, and none is called {listed(missing)}",
            hint="see that its first line has the names of the columns: is the header missing?",
            code="column-missing",
            facts={"missing": missing, "near": []},
        )
    hint = f"did you mean {listed(near)}?" if near else f"the table has {listed(names)}"
    twins = [pair for name in missing for other in near if (pair := alike([name, other]))]
    if twins:
        hint = f"what is asked for is spelt `{spelt(twins[0][0])}`, the column `{spelt(twins[0][1])}`"
    raise RolesError(
        f"the table has no column {listed(missing)}",
        hint=hint if names else "the table has no columns at all",
        code="column-missing",
        facts={"missing": missing, "near": near},
    )


def _dropped(roles: Roles, names: Sequence[str]) -> tuple[str, ...]:
    named = set(roles.columns)
    rest = tuple(name for name in names if name not in named)
    if roles.drop == REST:
        return rest
    unnamed = [name for name in rest if name not in roles.drop]
    if unnamed:
        raise RolesError(
            f"{len(unnamed)} columns have no role: {listed(unnamed)}"
            if len(unnamed) > 1
            else f"column {listed(unnamed)} has no role",
            hint='give each a role, or leave them out with drop=[...] or drop="rest" (--drop, --drop-rest)',
            code="column-without-role",
            facts={"columns": unnamed},
        )
    return tuple(name for name in names if name in roles.drop)


def _refuse_clash(roles: Roles, dropped: tuple[str, ...]) -> None:
    """The published names of the time and of derived columns must be free."""
    if roles.time is None:
        return
    derived = Counter(q.column(roles.time) for q in roles.quasi if isinstance(q, Derived))
    spans = {f"{roles.time}_start", f"{roles.time}_end"}
    known = {*roles.columns, *dropped}
    clashes = [name for name, count in derived.items() if count > 1 or name in known]
    clashes += sorted(spans & {*roles.columns, *derived})
    if clashes:
        raise RolesError(
            f"the release needs the name {listed(clashes)} for a column of its own",
            hint="rename that column before reading",
            code="column-clash",
        )
