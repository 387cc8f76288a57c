"""A draft: what the user has chosen so far, and how pages show it; the trade-off as a curve."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from timeveil.domain.parameter import Parameter, Parameters
from timeveil.domain.run import Run
from timeveil.errors import ParameterError
from timeveil.explore.exploration import Exploration, Setting
from timeveil.models import tables
from timeveil.page import svg
from timeveil.page.svg import RELEASE, RISK, Panel, Picture
from timeveil.page.wording import amount
from timeveil.suggesting import required_values
from timeveil.web.forms import Form
from timeveil.web.work import Task
from timeveil.web.working import run_of

_HEIGHT, _TOP = 340.0, 72.0


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


def explored_so_far(task: Task, draft: Draft) -> dict[str, Any]:
    """The settings so far, and the curve through them."""
    finished, explored = task.state == "done", draft.explored
    unfinished = {"settings": task.parts, "knee": None, "best": None, "loss": "", "risk": "", "unit": "share"}
    data: dict[str, Any] = task.result["exploration"] if finished else unfinished
    settings = [Setting(**{k: v for k, v in s.items() if k in Setting.__slots__}) for s in data["settings"]]
    exploration = Exploration(
        draft.table.model,
        explored.get("name", ""),
        tuple(sorted(settings, key=lambda setting: setting.value)),
        max_loss=explored.get("max_loss"),
        max_risk=explored.get("max_risk"),
        loss=data["loss"],
        risk=data["risk"],
    )
    picture = _curve(exploration, finished=finished)
    sentences = task.result.get("sentences", []) if finished else []
    return {"found": data, "sentences": sentences, "svg": picture and picture.svg(1)}


def _curve(exploration: Exploration, *, finished: bool) -> Picture | None:
    """The settings so far; each is a link to its row in the table, where it can be taken."""
    points = exploration.feasible
    if not points:
        return None
    most_loss = max([p.loss for p in points] + [exploration.max_loss or 0.0]) or 1.0
    most_risk = max([p.risk for p in points] + [exploration.max_risk or 0.0]) or 1.0
    panel = Panel(86, _TOP, 590, _HEIGHT - _TOP - 56, 0.0, most_risk * 1.08, 2)

    def at(setting: Setting) -> tuple[float, float]:
        return panel.left + panel.width * setting.loss / (most_loss * 1.05), panel.y(setting.risk)

    name = exploration.parameter.replace("_", "-")
    marks = svg.round_numbers(0.0, most_risk * 1.05, 4)
    body = [
        *svg.heading(f"What {name} costs, and what it leaves at risk", "Lower left is better.", 24),
        *svg.value_axis(panel, marks, [amount(exploration.risk, mark) for mark in marks]),
        svg.text(24, _TOP + 14, "risk", "soft"),
        svg.text(panel.left + panel.width, panel.bottom + 36, "loss", "soft", "end"),
        *_losses_and_limits(panel, exploration, most_loss),
    ]
    if len(points) > 1:
        body.append(svg.path([at(point) for point in points], "link"))
    knee, best = (exploration.knee, exploration.best) if finished else (None, None)
    dots: dict[tuple[int, int], list[Setting]] = {}
    for point in points:  # settings that come to the same have one dot and one label
        x, y = at(point)
        dots.setdefault((round(x / 8), round(y / 8)), []).append(point)
    for same in dots.values():
        (x, y), mark = at(same[0]), (" · knee" * (knee in same)) + (" · best" * (best in same))
        target = next((point for point in same if point in (knee, best)), same[0])
        words = f"{name} {', '.join(f'{point.value:g}' for point in same)}{mark}"
        size, colour = (8, RISK) if mark else (5.5, RELEASE)
        anchor = "end" if x > panel.left + panel.width * 0.8 else "start"
        label = svg.text(x - 11 if anchor == "end" else x + 11, y - 7, words, "strong" * bool(mark), anchor)
        circle = f'<circle class="f{colour}" cx="{x:.1f}" cy="{y:.1f}" r="{size}"/>'
        body.append(f'<a href="#take-{target.value:g}">{circle}{label}</a>')
    amounts = [(p, amount(exploration.loss, p.loss), amount(exploration.risk, p.risk)) for p in points]
    texts = [f"{name} {point.value:g}: loss {loss}, risk {risk}" for point, loss, risk in amounts]
    return Picture(f"The trade-off of {name}", f"{'; '.join(texts)}.", _HEIGHT, tuple(body), role="group")


def _losses_and_limits(panel: Panel, exploration: Exploration, most: float) -> Iterator[str]:
    """The marks of the lower axis, and the limits as broken lines, with words."""
    for mark in svg.round_numbers(0.0, most * 1.05, 5):
        x = panel.left + panel.width * mark / (most * 1.05)
        yield svg.line(x, panel.bottom, x, panel.bottom + 5, "grid")
        yield svg.text(x, panel.bottom + 19, amount(exploration.loss, mark), "soft", "middle")
    if exploration.max_loss is not None:
        x = panel.left + panel.width * exploration.max_loss / (most * 1.05)
        yield svg.line(x, panel.top, x, panel.bottom, "edge")
        yield svg.text(x + 5, panel.top + 12, f"at most {amount(exploration.loss, exploration.max_loss)}")
    if exploration.max_risk is not None:
        y = panel.y(exploration.max_risk)
        yield svg.line(panel.left, y, panel.left + panel.width, y, "edge")
        yield svg.text(panel.left + 6, y - 5, f"at most {amount(exploration.risk, exploration.max_risk)}")
