"""Everything that defines one run of `sanitize_patterns`, and how to write it down so that it runs again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from timeveil.domain.roles import Roles
from timeveil.models.events.words.run import literal, role_arguments, role_options

_ARGUMENTS = (
    "method",
    "symbols",
    "structural",
    "center",
    "instants",
    "max_len",
    "published",
    "cap",
    "fill",
    "zone",
    "unit",
    "force",
)
"""Parameters of `sanitize_patterns` that may be left out and are written as they are."""


@dataclass(frozen=True, slots=True)
class PatternRun:
    """A table or a series release, the roles and the parameters, with paths as the user wrote them.

    Without roles `source` is the folder of a series release.

    >>> roles = Roles(respondent="who", item="what")
    >>> run = PatternRun("baskets.csv", roles, k=10, min_support=0.05, out="out")
    >>> print(run.command())
    timeveil sanitize-patterns baskets.csv --out out --respondent who --item what --k 10 --min-support 0.05
    >>> print(run.python())
    import timeveil as tv
    <BLANKLINE>
    roles = tv.Roles(respondent="who", item="what")
    release, ledger = tv.sanitize_patterns("baskets.csv", roles, k=10, min_support=0.05)
    assert tv.verify(release, ledger)
    tv.write(release, "out")
    """

    source: str
    roles: Roles | None
    k: int
    min_support: float
    out: str
    method: str = "additive"
    symbols: int = 6
    structural: bool = True
    center: str = "mean"
    instants: tuple[str, ...] | None = None
    max_len: int | None = None
    published: str = "frequent"
    cap: int = 5_000_000
    fill: str | None = None
    zone: str | None = None
    unit: str | None = None
    beside: str | None = None
    force: bool = False
    format: str = "parquet"
    ledger: str | None = None
    job: str | None = None
    columns: tuple[str, ...] = ()
    """The series as the user named them, ranges among them; it is the same as what the roles say."""
    told: bool = False
    """Whether the small groups that were found are to be told."""

    def options(self) -> dict[str, Any]:
        """The arguments of `sanitize_patterns` beside the table, its roles and a release beside it."""
        given = {name: _plain(getattr(self, name)) for name in _ARGUMENTS}
        return {"k": self.k, "min_support": self.min_support, **given}

    def given(self) -> dict[str, Any]:
        """Those that differ from their defaults."""
        defaults = {f.name: f.default for f in fields(self)}
        values = {name: getattr(self, name) for name in _ARGUMENTS}
        return {name: value for name, value in values.items() if value != defaults[name]}

    @property
    def again(self) -> str:
        """What stands above the command."""
        return "To do it again:"

    def command(self) -> str:
        """The command line, quoted for a shell."""
        if self.job is not None:
            return shlex.join(["timeveil", "run", self.job])
        return shlex.join(["timeveil", "sanitize-patterns", self.source, *self._options()])

    def python(self) -> str:
        """The same as a Python program."""
        given = "".join(f", {name}={literal(_plain(value))}" for name, value in self.given().items())
        form = "" if self.format == "parquet" else f", format={literal(self.format)}"
        beside = "" if self.beside is None else f", beside=tv.open_release({literal(self.beside)})"
        promise = f"k={self.k}, min_support={self.min_support:g}"
        lines = ["import timeveil as tv", ""]
        if self.roles is None:
            what = f"tv.open_release({literal(self.source)})"
        else:
            lines.append(f"roles = tv.Roles({', '.join(role_arguments(self.roles))})")
            what = f"{literal(self.source)}, roles"
        lines += [
            f"release, ledger = tv.sanitize_patterns({what}, {promise}{given}{beside})",
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
        if self.roles is not None:
            shorter = self.columns or self.roles.series
            yield from role_options(replace(self.roles, series=()))
            alone = any("," in n for n in shorter) or (not self.columns and any(".." in n for n in shorter))
            for text in shorter if alone else [",".join(shorter)] * bool(shorter):
                yield from ("--series", text)
        yield from ("--k", str(self.k), "--min-support", f"{self.min_support:g}")
        for name, value in self.given().items():
            yield from _option(name, value)
        for name in ("beside", "ledger"):
            if getattr(self, name) is not None:
                yield from (f"--{name}", getattr(self, name))
        if self.format != "parquet":
            yield from ("--format", self.format)


def _option(name: str, value: Any) -> Iterator[str]:
    option = f"--{name.replace('_', '-')}"
    match name, value:
        case "structural", _:
            yield "--no-structural"
        case "force", _:
            yield "--force"
        case "instants", tuple():
            for instant in value:
                yield from (option, instant)
        case _:
            yield from (option, f"{value}")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
