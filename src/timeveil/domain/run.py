"""One run of a method: a table, its roles and the parameters, and the text that does it again.

The text is a command, a Python program or a job file, each made from the method's table of parameters. Paths
are as the user wrote them. A secret seed is in none of the texts: it says which records moved.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from timeveil.domain.parameter import OFF, Parameter, Parameters, literal, optional, parameter
from timeveil.domain.roles import REST, SINGLE, Derived, Roles


def _column(meaning: str, example: str | list[str], metavar: str = "C") -> Any:
    default = () if isinstance(example, list) else None
    return parameter(meaning, default=default, example=example, metavar=metavar)


class Columns(Parameters):
    """The roles of columns, as options and as keys of a job file."""

    respondent: str | None = _column(
        "Column that identifies the person a row is about; never published.", "patient"
    )
    time: str | None = _column("Time column.", "taken_at")
    until: tuple[str, ...] = _column(
        "Second time of a row, such as its end; only the duration since the time is published, as a "
        "quasi-identifier.",
        ["discharged"],
    )
    value: str | None = _column("Column of readings, if each row is one reading.", "kwh")
    item: str | None = _column("Column of what a person has, an item or a list of items.", "product")
    series: tuple[str, ...] = _column(
        "Columns of a series in order of time, if each row is one series; a range is FIRST..LAST.",
        ["h00..h23"],
        "C,C,...",
    )
    event: str | None = _column(
        "Column that distinguishes a person's events in repeated releases; never published.", "case_number"
    )
    quasi: tuple[str, ...] = _column("Quasi-identifier: column that an outsider may know.", ["zip"])
    cyclic: tuple[str, ...] = _column(
        "Weekday, hour-of-day or month-of-year, if an outsider may know it; it is then published, too.",
        ["weekday"],
        "NAME",
    )
    sensitive: tuple[str, ...] = _column(
        "Sensitive column: published, but outsiders must not learn a person's value.", ["result"]
    )
    keep: tuple[str, ...] = _column("Further column to publish unchanged.", ["exam"])
    drop: tuple[str, ...] = _column("Column to leave out.", ["name"])


class Files(Parameters):
    """What a run writes."""

    out: str = parameter(
        "New folder for the release, or a new schema: postgresql://host/database#schema.",
        example="published",
        metavar="DIR",
        path=True,
    )
    format: Literal["parquet", "csv"] = parameter(
        "Format of the release's tables.", default="parquet", example="csv"
    )
    ledger: str | None = optional(
        "New file, or a new schema, for the private ledger, readable by you only; without it none is kept.",
        "private.ledger",
        "PATH",
        path=True,
    )
    overwrite: bool = parameter(
        "Replace the release that is there, which stays whole until the new one is verified.", default=False
    )


DRY_RUN = Parameter(
    "dry_run",
    "flag",
    "Do everything except write: run the method, check the result and explain it.",
    default=False,
)
NOT_WRITTEN = "Nothing was written: this was a dry run."


@dataclass(frozen=True, slots=True)
class Run:
    """A method's table of parameters with the values given, the columns, and where the release goes.

    `series` is how the user named the columns of a series, ranges included. `service` holds the values of a
    stream in service. `explain` asks for examples of small groups. `job` is the file the run was read from,
    and `settings` are what `--set` changed in it. A `dry_run` writes nothing.
    """

    table: type[Parameters]
    source: str
    roles: Roles | None
    values: Mapping[str, Any] = field(repr=False)
    out: str
    format: Literal["parquet", "csv"] = "parquet"
    ledger: str | None = None
    overwrite: bool = False
    series: tuple[str, ...] = ()
    service: Mapping[str, Any] = field(default_factory=dict)
    explain: bool = False
    job: str | None = None
    settings: tuple[str, ...] = ()
    dry_run: bool = False

    @classmethod
    def of_release(cls, table: type[Parameters], roles: Roles | None, stated: Mapping[str, Any]) -> Run:
        """The run that a manifest's parameters describe, for a table IN and a folder DIR."""
        lines = table.table()
        values = {name: stated[name] for name in stated if name in lines}
        values = {n: value for n, value in values.items() if value is not None or lines[n].can_be_off}
        return cls(table, "IN", roles, values, out="DIR")

    @property
    def model(self) -> str:
        return self.table.model

    def changed(self) -> Iterator[tuple[Parameter, Any]]:
        """Parameters and values that differ from their defaults and are not secret."""
        for declared in self.table.table().values():
            value = self.values.get(declared.name, declared.default)
            if value != declared.default and declared.name not in self.table.secret:
                yield declared, value

    @property
    def again(self) -> str:
        """What to say before the command."""
        if self.dry_run:
            return "To write it:"
        notes = self.table.repeating
        note = next((n for name, n in notes.items() if self.values.get(name) is not None), notes.get(""))
        where = "" if self.overwrite else " in a new folder"
        return f"To repeat this run{where} ({note}):" if note else f"To repeat this run{where}:"

    def unused(self) -> Iterator[str]:
        """What was set and changes nothing, and why."""
        method = self.values.get("method", "")
        is_wide = self.roles is not None and bool(self.roles.series)
        for declared, _ in self.changed():
            if is_wide and declared.name in ("zone", "unit", "time_format"):
                yield f"`{declared.name}` changes nothing: a wide table has no time column."
            elif declared.methods and method and method not in declared.methods:
                yield f"`{declared.name}` changes nothing: the method {method} does not use it."

    def command(self) -> str:
        """The command line, quoted for a shell."""
        if self.job is not None:
            changes = [word for setting in self.settings for word in ("--set", setting)]
            return shlex.join(["timeveil", "run", self.job, *changes])
        return shlex.join(["timeveil", self.table.command, self.source, *self._written(option_words)])

    def python(self) -> str:
        arguments = [_argument(declared, value) for declared, value in self.changed()]
        lines = ["import timeveil as tv", ""]
        if any("tomllib" in argument for argument in arguments):
            lines = ["import tomllib", "from pathlib import Path", "", *lines]
        if self.roles is None:
            source = [f"tv.open_release({literal(self.source)})"]
        else:
            lines.append(f"roles = tv.Roles({', '.join(_role_arguments(self.roles))})")
            source = [literal(self.source), "roles"]
        function = self.table.command.replace("-", "_")
        form = "" if self.format == "parquet" else f", format={literal(self.format)}"
        form += ", overwrite=True" if self.overwrite else ""
        lines.append(f"release, ledger = tv.{function}({', '.join([*source, *arguments])})")
        lines += ["assert tv.verify(release, ledger)", f"tv.write(release, {literal(self.out)}{form})"]
        if self.ledger is not None:
            lines.append(f"tv.write(ledger, {literal(self.ledger)})")
        return "\n".join(lines)

    def job_text(self) -> str:
        start = [f'command = "{self.table.command}"', f"in = {literal(self.source)}"]
        return "\n".join([*start, *self._written(job_lines)])

    def as_dict(self) -> dict[str, str]:
        return {"command": self.command(), "python": self.python(), "job": self.job_text()}

    def _written(self, write: Any) -> Iterator[str]:
        """Files, roles and parameters in the order they are typed, each written by `write`."""
        columns, files = Columns.table(), Files.table()
        yield from write(files["out"], self.out)
        if self.roles is not None:
            for name, value in role_values(self.roles, self.series):
                yield from write(columns[name], value)
        for declared, value in self.changed():
            yield from write(declared, value)
        for name, declared in files.items():
            if name != "out" and getattr(self, name) != declared.default:
                yield from write(declared, getattr(self, name))


def role_values(roles: Roles, series: Iterable[str] = ()) -> Iterator[tuple[str, Any]]:
    """The roles that are set, by the name of their option; `series` as the user named its columns."""
    yield from ((name, getattr(roles, name)) for name in SINGLE if getattr(roles, name) is not None)
    durations = roles.durations
    plain = [quasi for quasi in roles.quasi if not isinstance(quasi, Derived) and quasi not in durations]
    named = tuple(series) or roles.series
    # A column's own name may hold a comma or two dots: each of such columns is typed alone.
    ambiguous = any("," in name for name in named) or (not series and any(".." in name for name in named))
    lists = {
        "until": roles.until,
        "series": named if ambiguous else [",".join(named)] * bool(named),
        "quasi": plain,
        "cyclic": [quasi.name for quasi in roles.quasi if isinstance(quasi, Derived)],
        "keep": roles.keep,
        "sensitive": roles.sensitive,
        "drop": roles.drop,
    }
    for name, columns in lists.items():
        if columns:
            yield name, columns if columns == REST else list(columns)


def option_words(declared: Parameter, value: Any) -> Iterator[str]:
    """A parameter and its value as words of a command line."""
    option = declared.typed
    match declared.kind, value:
        case "flag", _:
            yield option
        case _, None:
            yield from (option, OFF)
        case "names", str():  # drop="rest"
            yield f"{option}-{value}"
        case (("names" | "list"), _):
            for entry in value:
                yield from (option, str(getattr(entry, "name", entry)))
        case "pair", _:
            yield from (option, *value)
        case "mapping", _:
            for column, entry in value.items():
                yield from (option, f"{column}={entry}")
        case _, list() | tuple():
            yield from (option, ",".join(map(literal, value)))
        case _:
            yield from (option, value if isinstance(value, str) else literal(value))


def job_lines(declared: Parameter, value: Any) -> Iterator[str]:
    """A parameter and its value as a line of a job file."""
    if declared.name == "series":
        value = [column for text in value for column in ([text] if len(value) > 1 else text.split(","))]
    yield f"{declared.key} = {literal(OFF if value is None else value, toml=True)}"


def _argument(declared: Parameter, value: Any) -> str:
    """A parameter and its value as an argument of a call; a path becomes what opens it."""
    if declared.opened is not None and isinstance(value, str):
        return f"{declared.name}={declared.opened.format(literal(value))}"
    if declared.opened is not None and declared.kind == "list":
        return f"{declared.name}=[{', '.join(declared.opened.format(literal(path)) for path in value)}]"
    return f"{declared.name}={literal(value)}"


def _role_arguments(roles: Roles) -> Iterator[str]:
    for name in (*SINGLE, "until", "quasi", "series", "keep", "sensitive", "drop"):
        value = getattr(roles, name)
        if isinstance(value, str):
            yield f"{name}={literal(value)}"
        elif value:
            derived = {c: f"tv.{c.name.replace('-', '_')}" for c in value if isinstance(c, Derived)}
            yield f"{name}=[{', '.join(derived.get(c) or literal(c) for c in value)}]"
