"""Everything that defines one run of `anonymize_series`, and how to write it down so that it runs again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from timeveil.domain.roles import Roles
from timeveil.models.events.words.run import literal, role_arguments, role_options

_ARGUMENTS = (
    "method",
    "shape_weight",
    "effort",
    "max_level",
    "center",
    "round_outward",
    "l",
    "publish_values",
    "publish_pattern",
    "exact",
    "adoption",
    "fill",
    "zone",
    "unit",
)
"""Parameters of `anonymize_series` that may be left out."""
_METHODS = {
    "shape_weight": ("adaptive", "representative"),
    "effort": ("adaptive", "representative"),
    "exact": ("kapra",),
    "adoption": ("kapra",),
}
"""Those that only some methods use."""


@dataclass(frozen=True, slots=True)
class SeriesRun:
    """A table of series, its roles and the parameters, with paths as the user wrote them.

    >>> run = SeriesRun("loads.csv", Roles(series=["h00", "h01"], sensitive=["tariff"]), k=10, p=5, out="out")
    >>> print(run.command())
    timeveil anonymize-series loads.csv --out out --sensitive tariff --series h00,h01 --k 10 --p 5
    >>> print(run.python())
    import timeveil as tv
    <BLANKLINE>
    roles = tv.Roles(series=["h00", "h01"], sensitive=["tariff"])
    release, ledger = tv.anonymize_series("loads.csv", roles, k=10, p=5)
    assert tv.verify(release, ledger)
    tv.write(release, "out")
    """

    source: str
    roles: Roles
    k: int
    p: int
    out: str
    method: str = "adaptive"
    shape_weight: float = 50
    effort: int = 1
    max_level: int = 20
    center: str = "mean"
    round_outward: int | None = 3
    l: int | None = None
    publish_values: tuple[str, ...] | None = None
    publish_pattern: tuple[str, ...] | None = None
    exact: bool = False
    adoption: bool = True
    fill: str | None = None
    zone: str | None = None
    unit: str | None = None
    format: str = "parquet"
    ledger: str | None = None
    job: str | None = None
    columns: tuple[str, ...] = ()
    """The series as the user named them, ranges among them; it is the same as what the roles say."""

    def options(self) -> dict[str, Any]:
        """The arguments of `anonymize_series` beside the table and its roles."""
        return {"k": self.k, "p": self.p, **{name: _plain(getattr(self, name)) for name in _ARGUMENTS}}

    def given(self) -> dict[str, Any]:
        """Those that differ from their defaults."""
        defaults = {f.name: f.default for f in fields(self)}
        values = {name: getattr(self, name) for name in _ARGUMENTS}
        return {name: value for name, value in values.items() if value != defaults[name]}

    def unused(self) -> Iterator[str]:
        """What was given and changes nothing, and why.

        >>> list(SeriesRun("a.csv", Roles(series=["h00"]), 10, 5, "out", method="kapra", effort=3).unused())
        ['`effort` changes nothing: the method kapra does not use it.']
        """
        for name in self.given():
            if self.method not in _METHODS.get(name, (self.method,)):
                yield f"`{name}` changes nothing: the method {self.method} does not use it."
            if name in ("zone", "unit") and self.roles.series:
                yield f"`{name}` changes nothing: a wide table has no column of times."

    @property
    def again(self) -> str:
        """What stands above the command."""
        if self.l is None:
            return "To do it again:"
        return "To do it again (sensitive numbers will be moved anew, by other amounts):"

    def command(self) -> str:
        """The command line, quoted for a shell."""
        if self.job is not None:
            return shlex.join(["timeveil", "run", self.job])
        return shlex.join(["timeveil", "anonymize-series", self.source, *self._options()])

    def python(self) -> str:
        """The same as a Python program."""
        given = "".join(f", {name}={literal(_plain(value))}" for name, value in self.given().items())
        form = "" if self.format == "parquet" else f", format={literal(self.format)}"
        promise = f"k={self.k}, p={self.p}"
        lines = [
            "import timeveil as tv",
            "",
            f"roles = tv.Roles({', '.join(role_arguments(self.roles))})",
            f"release, ledger = tv.anonymize_series({literal(self.source)}, roles, {promise}{given})",
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
        shorter = self.columns or self.roles.series
        yield from role_options(replace(self.roles, series=()))
        alone = any("," in name for name in shorter) or (not self.columns and any(".." in n for n in shorter))
        for text in shorter if alone else [",".join(shorter)] * bool(shorter):
            yield from ("--series", text)
        yield from ("--k", str(self.k), "--p", str(self.p))
        for name, value in self.given().items():
            yield from _option(name, value)
        if self.ledger is not None:
            yield from ("--ledger", self.ledger)
        if self.format != "parquet":
            yield from ("--format", self.format)


def _option(name: str, value: Any) -> Iterator[str]:
    option = f"--{name.replace('_', '-')}"
    match name, value:
        case "exact", _:
            yield "--exact"
        case "adoption", _:
            yield "--no-adoption"
        case "round_outward", None:
            yield from (option, "off")
        case (("publish_values" | "publish_pattern"), tuple()):
            for instant in value:
                yield from (option, instant)
        case _:
            yield from (option, f"{value}")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
