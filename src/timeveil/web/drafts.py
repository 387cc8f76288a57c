"""A draft: what the user has chosen so far, and how pages show it."""

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from timeveil.domain.parameter import Parameter, Parameters
from timeveil.domain.run import Run
from timeveil.errors import ParameterError
from timeveil.models import tables
from timeveil.suggesting import required_values
from timeveil.web.forms import Form
from timeveil.web.working import run_of


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
        return Path(self.source.partition("#")[2] or self.source).name.split(".")[0] or "table"

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

    def explorable(self, form: Form) -> str:
        """The parameter that a form names, if it has a trade-off."""
        name = form.get("name", [""])[0]
        if name not in self.table.explored:
            raise ParameterError("this parameter has no trade-off", hint="choose one from the list")
        return name


def cards(chosen: str) -> list[dict[str, Any]]:
    """The models to choose from."""
    return [
        {"command": n, "title": t.have[0], "have": t.have[1], "promise": t.promised, "chosen": n == chosen}
        for n, t in tables().items()
    ]


def ranges(draft: Draft) -> dict[str, str]:
    """A range to try for each parameter, around its usual value."""
    usual = {**required_values(draft.table), **draft.values}
    ranges = {}
    for name in draft.table.explored:
        line = draft.table.table()[name]
        middle = usual.get(name, line.example)
        low = max(line.range.at_least, 2) if line.kind == "whole" else middle / 4
        ranges[name] = f"{low:g}..{middle * 4:g}" if isinstance(middle, int | float) and middle else "2..10"
    return ranges
