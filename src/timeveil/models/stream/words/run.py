"""Everything that defines one run of `publish_stream`, and how to write it down so that it runs again.

The seed is not written down: it tells which records were moved.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from timeveil.domain.roles import Roles
from timeveil.models.events.words.run import literal, role_arguments, role_options

_ARGUMENTS = (
    "slot",
    "move_cost",
    "withhold_cost",
    "first_window",
    "filler",
    "jitter",
    "protect_slot",
    "spread",
    "fillers",
    "buckets",
    "late",
    "nulls",
    "zone",
    "unit",
)
"""Parameters that have one name on the command line and in Python."""


@dataclass(frozen=True, slots=True)
class Serving:
    """How a folder is worked on that snapshots come in by; without a state file, no folder is."""

    state: str | None = None
    stream_by: str | None = None
    follow: bool = False
    poll: float | None = None
    close: bool = False
    max_gap: int | None = None


@dataclass(frozen=True, slots=True)
class StreamRun:
    """A table of records, its roles and the parameters, with paths as the user wrote them.

    `serving` says how a folder is worked on instead of a table. `job` is the job file it was read from.

    >>> roles = Roles(time="day", quasi=["age"], sensitive=["disease"])
    >>> run = StreamRun("cases.csv", roles, l=3, window=7, out="out", move_cost=(0, 1, 3))
    >>> print(run.command())
    timeveil publish-stream cases.csv --out out --time day --quasi age --sensitive disease --l 3 --window 7 \
--move-cost 0,1,3
    >>> print(run.python())
    import timeveil as tv
    <BLANKLINE>
    roles = tv.Roles(time="day", quasi=["age"], sensitive=["disease"])
    release, ledger = tv.publish_stream("cases.csv", roles, l=3, window=7, move_cost=[0, 1, 3])
    assert tv.verify(release, ledger)
    tv.write(release, "out")
    """

    source: str
    roles: Roles
    l: int
    window: int
    out: str
    slot: str = "day"
    move_cost: str | tuple[float, ...] = "linear"
    withhold_cost: float | Mapping[str, float] | None = None
    seed: int | None = field(default=None, repr=False)
    first_window: str = "grow"
    fill_empty: bool = True
    filler: str = "never"
    jitter: int = 0
    protect_slot: int | None = None
    spread: int = 1
    fillers: int = 0
    buckets: str = "anatomy"
    late: str = "refuse"
    nulls: str = "error"
    zone: str | None = None
    unit: str | None = None
    format: str = "parquet"
    ledger: str | None = None
    serving: Serving = Serving()
    job: str | None = None

    @property
    def again(self) -> str:
        """What to say before the command; which records move is drawn by the seed."""
        if self.seed is not None:
            return "To do it again (add the --seed that you gave, to move the same records):"
        return "To do it again (a new seed is drawn, so other records may move):"

    def options(self) -> dict[str, Any]:
        """The parameters of `publish_stream` and `StreamPublisher`, the seed and roles aside."""
        return {name: getattr(self, name) for name in ("l", "window", *_ARGUMENTS, "fill_empty")}

    def given(self) -> dict[str, Any]:
        """The simple parameters that differ from their defaults."""
        defaults = {f.name: f.default for f in fields(self)}
        values = {name: getattr(self, name) for name in _ARGUMENTS}
        return {name: value for name, value in values.items() if value != defaults[name]}

    def command(self) -> str:
        """The command line, quoted for a shell."""
        if self.job is not None:
            return shlex.join(["timeveil", "run", self.job])
        return shlex.join(["timeveil", "publish-stream", self.source, *self._options()])

    def python(self) -> str:
        """The same as a Python program."""
        given = {name: _plain(value) for name, value in self.given().items()}
        if not self.fill_empty:
            given["fill_empty"] = False
        arguments = "".join(f", {name}={literal(value)}" for name, value in given.items())
        form = "" if self.format == "parquet" else f", format={literal(self.format)}"
        promise = f"l={self.l}, window={self.window}"
        lines = [
            "import timeveil as tv",
            "",
            f"roles = tv.Roles({', '.join(role_arguments(self.roles))})",
            f"release, ledger = tv.publish_stream({literal(self.source)}, roles, {promise}{arguments})",
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
        yield from ("--l", str(self.l), "--window", str(self.window))
        for name, value in self.given().items():
            shown = ",".join(f"{cost:g}" for cost in value) if isinstance(value, tuple) else f"{value}"
            yield from (f"--{name.replace('_', '-')}", shown)
        if not self.fill_empty:
            yield "--keep-empty"
        if self.ledger is not None:
            yield from ("--ledger", self.ledger)
        if self.format != "parquet":
            yield from ("--format", self.format)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
