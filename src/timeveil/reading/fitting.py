"""Do the roles fit the table's columns?"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from timeveil.domain.roles import REST, Derived, Roles
from timeveil.domain.wording import counted, listed
from timeveil.errors import RolesError


@dataclass(frozen=True, slots=True)
class Fitted:
    """Roles that fit a table, with the columns to read, to compute and to leave out."""

    roles: Roles
    resolved: Roles
    columns: tuple[str, ...]
    derived: tuple[Derived, ...]
    dropped: tuple[str, ...]


def fit(roles: Roles, names: Sequence[str], needs: Sequence[str] = ("respondent", "time")) -> Fitted:
    """Compare roles with the names of a table's columns."""
    _refuse_missing_roles(roles, needs)
    _refuse_missing_columns(roles, names)
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise RolesError(
            f"the table has more than one column named {listed(repeated)}",
            hint="give every column a name of its own",
            code="column-twice",
        )
    dropped = _dropped(roles, names)
    _refuse_clash(roles, dropped)
    derived = tuple(quasi for quasi in roles.quasi if isinstance(quasi, Derived))
    resolved = replace(roles, quasi=roles.quasi_columns, drop=dropped)
    return Fitted(roles, resolved, roles.columns, derived, dropped)


def _refuse_missing_roles(roles: Roles, needs: Sequence[str]) -> None:
    if any(name == "" for name in roles.columns):
        raise RolesError(
            "a role refers to a column without a name", hint="name that column first", code="empty-name"
        )
    needed = [] if roles.series or roles.item else list(needs)
    if any(isinstance(quasi, Derived) for quasi in roles.quasi) and "time" not in needed:
        needed.append("time")
    missing = [role for role in needed if not getattr(roles, role)]
    if missing:
        raise RolesError(
            f"no column has the role {listed(missing)}",
            hint=f"name the column with {{{missing[0]}}}",
            code="role-missing",
        )


def _refuse_missing_columns(roles: Roles, names: Sequence[str]) -> None:
    dropped = () if roles.drop == REST else roles.drop
    requested = dict.fromkeys((*roles.columns, *dropped))
    missing = [column for column in requested if column not in names]
    if not missing:
        return
    near = list(dict.fromkeys(n for name in missing for n in difflib.get_close_matches(name, names, 1)))
    message = f"the table has no column {listed(missing)}"
    hint = f"did you mean {listed(near)}?" if near else f"the table has {listed(names)}"
    if not names:
        hint = "the table has no columns at all"
    elif len(missing) == len(requested):
        # Without a header the first line is a person's record: show only names that differ in case.
        folded = {name.casefold() for name in missing}
        near = [name for name in near if name.casefold() in folded]
        hint = f"did you mean {listed(near)}?"
        if not near:
            message = f"the table has {counted(len(names), 'column')}, and none is called {listed(missing)}"
            hint = "check that its first line contains the column names: is the header missing?"
    raise RolesError(message, hint=hint, code="column-missing", facts={"missing": missing, "near": near})


def _dropped(roles: Roles, names: Sequence[str]) -> tuple[str, ...]:
    unused = tuple(name for name in names if name not in set(roles.columns))
    if roles.drop == REST:
        return unused
    without_role = [name for name in unused if name not in roles.drop]
    if without_role:
        raise RolesError(
            f"{len(without_role)} columns have no role: {listed(without_role)}"
            if len(without_role) > 1
            else f"column {listed(without_role)} has no role",
            hint='give each a role, or leave columns out with {drop} or {drop="rest"}',
            code="column-without-role",
            facts={"columns": without_role},
        )
    return tuple(name for name in names if name in roles.drop)


def _refuse_clash(roles: Roles, dropped: tuple[str, ...]) -> None:
    """The published names of the time and of derived columns must be free."""
    if roles.time is None:
        return
    derived = Counter(quasi.column(roles.time) for quasi in roles.quasi if isinstance(quasi, Derived))
    spans = {f"{roles.time}_start", f"{roles.time}_end"}
    clashes = [name for name, count in derived.items() if count > 1 or name in {*roles.columns, *dropped}]
    clashes += sorted(spans & {*roles.columns, *derived})
    if clashes:
        raise RolesError(
            f"the release needs the name {listed(clashes)} for a column of its own",
            hint="rename that column before reading",
            code="column-clash",
        )
