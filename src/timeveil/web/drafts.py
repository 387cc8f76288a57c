"""A draft: what the user has chosen so far, and how pages show it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from timeveil.domain.parameter import Parameters
from timeveil.domain.run import Run
from timeveil.explore.exploration import Exploration, Setting
from timeveil.jobs.typed import plain_roles
from timeveil.models import tables
from timeveil.suggesting import required_values
from timeveil.web.curve import curve
from timeveil.web.work import Task


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

    def request(self, **more: Any) -> dict[str, Any]:
        """The draft as a process takes it."""
        return {
            "command": self.table.command,
            "source": self.source,
            "columns": self.columns,
            "of_release": not self.columns,
            "values": {**required_values(self.table), **self.form, **self.values},
            **more,
        }

    def run(self, **files: Any) -> Run:
        roles = plain_roles(self.columns) if self.columns else None
        values = {**required_values(self.table), **self.form, **self.values}
        return Run(self.table, self.source, roles, values, **files)


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


def explored_so_far(task: Task, draft: Draft | None) -> dict[str, Any]:
    """The settings so far, and the curve through them."""
    explored = draft.explored if draft is not None else {}
    if task.state == "done":
        found = task.result["exploration"]
    else:
        found = {"settings": task.parts, "knee": None, "best": None, "loss": "", "risk": "", "unit": "share"}
    settings = tuple(
        Setting(**{k: v for k, v in each.items() if k in Setting.__slots__}) for each in found["settings"]
    )
    exploration = Exploration(
        draft.table.model if draft is not None else "",
        explored.get("name", ""),
        tuple(sorted(settings, key=lambda each: each.value)),
        max_loss=explored.get("max_loss"),
        max_risk=explored.get("max_risk"),
        loss=found["loss"],
        risk=found["risk"],
    )
    picture = curve(exploration, finished=task.state == "done")
    return {
        "found": found,
        "sentences": task.result.get("sentences", []) if task.state == "done" else [],
        "svg": picture and picture.svg(1),
    }
