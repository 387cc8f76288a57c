"""Everything that defines one run of `generalize_time`, and how to write it down so that it runs again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from timeveil.domain.roles import REST, Derived, Roles

_CYCLIC = {"weekday": "tv.weekday", "hour-of-day": "tv.hour_of_day", "month-of-year": "tv.month_of_year"}
_ARGUMENTS = ("choose", "zone", "unit", "suppress", "gaps", "nulls", "engine", "memory_limit")
"""Parameters that have one name on the command line, in Python and in a job file."""


@dataclass(frozen=True, slots=True)
class Run:
    """A table, its roles and the parameters, with paths as the user wrote them.

    `calendar` is a TOML file with `[granularity.<name>]` tables. `job` is the job file it was read from.

    >>> run = Run("visits.csv", Roles(respondent="who", time="when", quasi=["zip code"]), k=5, out="out")
    >>> print(run.command())
    timeveil generalize-time visits.csv --out out --respondent who --time when --quasi 'zip code' --k 5
    >>> print(run.python())
    import timeveil as tv
    <BLANKLINE>
    roles = tv.Roles(respondent="who", time="when", quasi=["zip code"])
    release, ledger = tv.generalize_time("visits.csv", roles, k=5)
    assert tv.verify(release, ledger)
    tv.write(release, "out")
    """

    source: str
    roles: Roles
    k: int
    out: str
    granularities: tuple[str, ...] | None = None
    choose: str = "groups"
    zone: str | None = None
    unit: str | None = None
    suppress: float = 0.0
    hierarchies: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)
    gaps: str = "error"
    nulls: str = "error"
    engine: str = "memory"
    memory_limit: str | None = None
    calendar: str | None = None
    format: str = "parquet"
    ledger: str | None = None
    job: str | None = None

    def given(self) -> dict[str, Any]:
        """The simple parameters that differ from their defaults."""
        defaults = {f.name: f.default for f in fields(self)}
        values = {name: getattr(self, name) for name in _ARGUMENTS}
        return {name: value for name, value in values.items() if value != defaults[name]}

    @property
    def again(self) -> str:
        """What to say before the command."""
        return "To do it again:"

    def command(self) -> str:
        """The command line, quoted for a shell."""
        if self.job is not None:
            return shlex.join(["timeveil", "run", self.job])
        return shlex.join(["timeveil", "generalize-time", self.source, *self._options()])

    def python(self) -> str:
        """The same as a Python program."""
        given = {name: literal(value) for name, value in self.given().items()}
        if self.granularities is not None:
            given["granularities"] = literal(list(self.granularities))
        if self.hierarchies:
            given["hierarchies"] = literal(dict(self.hierarchies))
        if self.levels:
            given["levels"] = literal(dict(self.levels))
        imports = ["import timeveil as tv"]
        if self.calendar is not None:
            imports = ["import tomllib", "from pathlib import Path", "", *imports]
            given["definitions"] = f'tomllib.loads(Path({literal(self.calendar)}).read_text())["granularity"]'
        arguments = "".join(f", {name}={value}" for name, value in given.items())
        form = "" if self.format == "parquet" else f", format={literal(self.format)}"
        lines = [
            *imports,
            "",
            f"roles = tv.Roles({', '.join(role_arguments(self.roles))})",
            f"release, ledger = tv.generalize_time({literal(self.source)}, roles, k={self.k}{arguments})",
            "assert tv.verify(release, ledger)",
            f"tv.write(release, {literal(self.out)}{form})",
        ]
        if self.ledger is not None:
            lines.append(f"tv.write(ledger, {literal(self.ledger)})")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, str]:
        """Both ways to do it again."""
        return {"command": self.command(), "python": self.python()}

    def _options(self) -> Iterator[str]:
        yield from ("--out", self.out)
        yield from role_options(self.roles)
        yield from ("--k", str(self.k))
        for name in self.granularities or ():
            yield from ("--granularity", name)
        for name, value in self.given().items():
            yield from (f"--{name.replace('_', '-')}", f"{value}")
        for column, rule in self.hierarchies.items():
            yield from ("--hierarchy", f"{column}={rule}")
        for column, level in self.levels.items():
            yield from ("--level", f"{column}={level}")
        for name in ("calendar", "ledger"):
            if getattr(self, name) is not None:
                yield from (f"--{name}", getattr(self, name))
        if self.format != "parquet":
            yield from ("--format", self.format)


def role_options(roles: Roles) -> Iterator[str]:
    """Roles as options of a command."""
    for role in ("respondent", "time", "value", "item"):
        if getattr(roles, role) is not None:
            yield from (f"--{role}", getattr(roles, role))
    for quasi in roles.quasi:
        yield from ("--cyclic", quasi.name) if isinstance(quasi, Derived) else ("--quasi", quasi)
    for role in ("keep", "sensitive"):
        for column in getattr(roles, role):
            yield from (f"--{role}", column)
    if roles.drop == REST:
        yield "--drop-rest"
    else:
        for column in roles.drop:
            yield from ("--drop", column)


def role_arguments(roles: Roles) -> Iterator[str]:
    """Roles as arguments of `Roles`."""
    for role in ("respondent", "time", "value", "item"):
        if getattr(roles, role) is not None:
            yield f"{role}={literal(getattr(roles, role))}"
    if roles.quasi:
        names = [_CYCLIC[q.name] if isinstance(q, Derived) else literal(q) for q in roles.quasi]
        yield f"quasi=[{', '.join(names)}]"
    for role in ("series", "keep", "sensitive", "drop"):
        found = getattr(roles, role)
        if found:
            yield f"{role}={literal(found if found == REST else list(found))}"


def literal(value: Any) -> str:
    """A Python literal with double quotes, as the rest of the page has them."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    return repr(value)
