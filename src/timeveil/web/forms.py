"""Drafts, what the user has chosen so far, and the forms that they are shown in and read from.

A new parameter appears in its form by itself: the kind of its values says which control it has, its meaning
is its help. What a form sends is read as the command line would read it.
"""

import re
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from timeveil.domain.parameter import LARGEST, OFF, Parameter, Parameters, literal
from timeveil.domain.roles import Roles
from timeveil.domain.run import Columns, Run
from timeveil.errors import ParameterError, spell
from timeveil.jobs.request import value_from_text
from timeveil.models import tables
from timeveil.suggesting import LEAST_INSTANTS, required_values
from timeveil.web.working import run_of

_CONTROLS = {"whole": "number", "number": "number", "flag": "checkbox", "choice": "select"}
_LISTS = ("names", "list", "mapping")
Form = Mapping[str, list[str]]


@dataclass
class Draft:
    """What was chosen so far; `version` counts the changes."""

    source: str
    form: dict[str, Any] = field(default_factory=dict)
    command: str | None = None
    asked: str | None = None  # the command, if the user chose it and it was not proposed
    columns: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    explored: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Any] = field(default_factory=dict)
    id: str = field(default_factory=lambda: secrets.token_urlsafe(6))
    version: int = 1

    @property
    def table(self) -> type[Parameters]:
        return tables()[self.command or "generalize-time"]

    @property
    def about(self) -> dict[str, Any]:
        """What every page of it shows."""
        return {name: getattr(self, name) for name in ("id", "version", "source")}

    @property
    def stem(self) -> str:
        of_database = self.source.partition("#")[2].rpartition(".")[2]
        return of_database or Path(self.source).name.split(".")[0] or "table"

    @property
    def lines(self) -> list[Parameter]:
        """The parameters that its form has."""
        return [line for name, line in self.table.table().items() if name not in self.table.secret]

    @property
    def all_values(self) -> dict[str, Any]:
        """What was chosen, and the parameters that the method cannot do without."""
        return {**required_values(self.table), **self.form, **self.values}

    def request(self, **files: Any) -> dict[str, Any]:
        """The draft as a process takes it."""
        table = {"command": self.table.command, "source": self.source, "columns": self.columns}
        return {**table, "of_release": not self.columns, "values": self.all_values, **files}

    def run(self, **files: Any) -> Run:
        return run_of(self.request(**files))

    def line(self, form: Form) -> Parameter:
        """The parameter that a form names."""
        lines = {line.name: line for line in self.lines}
        if (name := form.get("name", [""])[0]) not in lines:
            raise ParameterError("the method has no such parameter", hint="choose one from the list")
        return lines[name]

    def remedies(self, error: Mapping[str, Any]) -> list[dict[str, str]]:
        """The changes of a hint that can be made by pressing a button: parameters and what they become."""
        lines, remedies = {line.name: line for line in self.lines}, []
        for name, value in error.get("changes", ()):
            if value and name in lines and lines[name].kind != "mapping":
                text = "on" if value == "True" else _text(lines[name], value.strip("\"'"))
                label = f"Tick {name}" if value == "True" else f"Set {name} to {text}"
                remedies.append({"name": name, "value": text, "label": label})
        return remedies


def cards(chosen: str) -> list[dict[str, Any]]:
    """The models to choose from."""
    return [
        {"command": n, "title": t.have[0], "have": t.have[1], "promise": t.promised, "chosen": n == chosen}
        for n, t in tables().items()
    ]


def _field(declared: Parameter, values: Mapping[str, Any], wrong: Iterable[str]) -> dict[str, Any]:
    """How a parameter is shown in a form, with its value."""
    value = values.get(declared.name, None if declared.required else declared.default)
    control = "textarea" if declared.kind in _LISTS else _CONTROLS.get(declared.kind, "text")
    if declared.can_be_off and control == "number":
        control = "text"
    bounds = {"min": declared.range.at_least, "max": declared.range.at_most}
    return {
        "name": declared.name,
        "control": control,
        "meaning": spell(declared.meaning, "form"),
        "takes": declared.takes if declared.kind in ("whole", "number") else "",
        "value": value if declared.kind == "flag" else _text(declared, value),
        "choices": ["", *declared.choices] if declared.optional else list(declared.choices),
        "default": _text(declared, None if declared.required else declared.default),
        "example": _text(declared, declared.example),
        "required": declared.required,
        "step": "1" if declared.kind == "whole" else "any",
        "wrong": declared.name in wrong,
        **{name: f"{end:g}" for name, end in bounds.items() if abs(end) < LARGEST},
    }


def fields(
    lines: Collection[Parameter], values: Mapping[str, Any], wrong: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """The controls of several parameters."""
    return [_field(line, values, wrong) for line in lines]


def read_form(lines: Iterable[Parameter], form: Form) -> dict[str, Any]:
    """The values that a form states; what is empty is not set."""
    values = {}
    for declared in lines:
        texts = [text.strip() for text in form.get(declared.name, ()) if text.strip()]
        if declared.kind == "flag":
            if bool(texts) != bool(declared.default):
                values[declared.name] = bool(texts)
        elif texts:
            value = _value(declared, texts)
            if declared.required or value != declared.default:
                values[declared.name] = value
    return values


def _value(declared: Parameter, texts: list[str]) -> Any:
    text = texts[0]
    if declared.kind in _LISTS:
        lines = [line.strip() for line in "\n".join(texts).replace("\r", "").split("\n") if line.strip()]
        if declared.kind == "names":
            return tuple(part.strip() for line in lines for part in line.split(",") if part.strip())
        return value_from_text(declared, lines)
    if declared.kind == "pair":
        return tuple(text.split(maxsplit=1))
    if declared.can_be_off and text == OFF:
        return None
    if declared.kind in ("whole", "number"):
        value: Any = text
        with suppress(ValueError):
            value = int(text) if declared.kind == "whole" else float(text)
        return declared.check(value)
    return declared.check(value_from_text(declared, text))


def _text(declared: Parameter, value: Any) -> str:
    """A value as it would be typed."""
    if value is None:
        return OFF if declared.can_be_off else ""
    if isinstance(value, Mapping):
        return "\n".join(f"{key}={entry}" for key, entry in value.items())
    if isinstance(value, list | tuple):
        return ("," if declared.read else "\n").join(map(str, value))
    return value if isinstance(value, str) else literal(value)


def alike(columns: Iterable[Mapping[str, Any]]) -> list[list[int]]:
    """The numbers of columns; a run of one proposal, with names that differ in digits alone, together."""

    def likeness(numbered: tuple[int, Mapping[str, Any]]) -> tuple[str, str]:
        return re.sub(r"\d+", "#", numbered[1]["name"]), numbered[1]["role"]

    runs = ([number for number, _ in run] for _, run in groupby(enumerate(columns), likeness))
    return [g for run in runs for g in ([run] if len(run) >= LEAST_INSTANTS else [[n] for n in run])]


def grouped(columns: Iterable[Mapping[str, Any]], roles: Sequence[str]) -> list[dict[str, Any]]:
    """What is shown together: the numbers of columns, their commonest role, and whether some differ."""
    groups = []
    for group in alike(columns):
        chosen = [roles[number] for number in group]
        role = max(chosen, key=chosen.count)
        groups.append({"columns": group, "role": role, "differ": {*chosen} != {role}})
    return groups


def typed_roles(form: Form, columns: Iterable[Mapping[str, Any]]) -> list[str]:
    """The role of each column: that of its own select or, where nothing is chosen there, of its group's."""
    roles = []
    for group in alike(columns):
        shared = form.get(f"group-{group[0]}", ["drop"])[0]
        roles += [form.get(f"role-{number}", [""])[0] or shared for number in group]
    return roles


def columns_of(form: Form, survey: Collection[Mapping[str, Any]], allowed: Iterable[str]) -> dict[str, Any]:
    """The columns of each role."""
    lines, columns, roles = Columns.table(), dict[str, Any](), {*allowed, "drop"}
    names = (column["name"] for column in survey)
    for name, role in zip(names, typed_roles(form, survey), strict=True):
        if role not in roles:
            message = f"`{role[:20]}` is not a role of this method"
            raise ParameterError(message, hint="choose one from the list")
        if lines[role].kind == "names":
            columns.setdefault(role, []).append(name)
        elif role in columns:
            hint = f"give {role} to one column"
            raise ParameterError(f"two columns have the role `{role}`", hint=hint, code="column-twice")
        else:
            columns[role] = name
    if cyclic := form.get("cyclic"):
        columns["cyclic"] = list(cyclic)
    Roles(**{role: value for role, value in columns.items() if role != "cyclic"})
    return columns


def plain(value: Any) -> str:
    """A value in one line, to be read."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={entry}" for key, entry in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
