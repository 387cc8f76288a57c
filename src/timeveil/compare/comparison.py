"""The result of a comparison: a line for each property, a cell for each release; in words and a picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from timeveil.domain.judgement import Verdict
from timeveil.page.charts import ORIGINAL, RELEASE, Bar, BarGroup, grouped_bars
from timeveil.page.svg import Picture
from timeveil.page.wording import WIDTH, aligned, counted, numbered, percent, share, shortened

Part = Literal["promise", "parameter", "size", "loss", "risk"]
Cell = float | str
BEST = "*"
_NAMES = {
    "both": "values and pattern",
    "promised": "chance promised",
    "promised_true_slot": "chance promised (true slot)",
    "worst": "worst chance found",
    "mean": "mean chance found",
    "worst_true_slot": "worst chance (true slot)",
    "mean_true_slot": "mean chance (true slot)",
    "envelopes_alone": "chance by envelopes alone",
    "worst_values": "worst chance (few values)",
    "mean_values": "mean chance (few values)",
    "transactions": "people counted",
    "virtual": "virtual people",
}
_LONGEST_CELL, _LONGEST_NAME = 30, 20
_COLOURS = {"loss": ORIGINAL, "risk": RELEASE}


@dataclass(frozen=True, slots=True)
class Line:
    """One property of every release: a cell for each.

    `share` means that cells are shares. `ranked` means that less is better and that cells may be compared,
    because they answer the same question.

    >>> Line("loss", "withheld", (0.0, 0.05, 0.0), share=True, ranked=True).best
    (0, 2)
    >>> Line("loss", "withheld", (0.05, 0.05), share=True, ranked=True).best
    ()
    """

    part: Part
    name: str
    cells: tuple[Cell, ...]
    share: bool = False
    ranked: bool = False

    @property
    def best(self) -> tuple[int, ...]:
        """Places of the best releases on this line; none if all are equal or the line is not ranked."""
        numbers = [cell for cell in self.cells if isinstance(cell, int | float)]
        if not self.ranked or len(numbers) < len(self.cells) or max(numbers) == min(numbers):
            return ()
        return tuple(column for column, cell in enumerate(self.cells) if cell == min(numbers))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Releases side by side, by `names` and in their order.

    `verdicts` holds the verdict of `verify` on each. `same_data` is `agrees` if the ledgers hold the same
    original, and `assumed` if nothing shows it. `notes` explain what cannot be compared, and why.
    """

    names: tuple[str, ...]
    models: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    lines: tuple[Line, ...]
    same_data: Literal["agrees", "assumed"]
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every release keeps its promise."""
        return all(self.verdicts)

    def line(self, name: str) -> Line:
        """A line by its name."""
        return next(line for line in self.lines if line.name == name)

    def best_in(self, name: str) -> tuple[str, ...]:
        """The lines on which one release is best, or among the best."""
        column = self.names.index(name)
        return tuple(line.name for line in self.lines if column in line.best)

    def as_dict(self) -> dict[str, Any]:
        """The comparison as data."""
        verdicts = zip(self.models, self.verdicts, strict=True)
        return {
            "releases": list(self.names),
            "models": list(self.models),
            "verified": [{"model": model, **verdict.as_dict()} for model, verdict in verdicts],
            "same_data": self.same_data,
            "lines": [self._line(line) for line in self.lines],
            "best_in": {name: list(self.best_in(name)) for name in self.names},
            "notes": list(self.notes),
        }

    def _line(self, line: Line) -> dict[str, Any]:
        best = [self.names[column] for column in line.best]
        return {"part": line.part, "name": line.name, "cells": list(line.cells), "best": best}


def comparison_lines(comparison: Comparison, width: int = WIDTH) -> list[str]:
    """The comparison as a page of text."""
    title = f"{counted(len(comparison.names), 'release')} side by side"
    tables = [line for table in _tables(comparison, width) for line in (*table, "")]
    return [title, "", *tables, *numbered(_sentences(comparison), width)]


def _sentences(comparison: Comparison) -> Iterator[str]:
    """What the table cannot show."""
    if any(line.best for line in comparison.lines):
        yield f"{BEST} marks the best on its line, where less is better. {_best_sentence(comparison)}"
    for name, verdict in zip(comparison.names, comparison.verdicts, strict=True):
        for violation in verdict.violations[:3]:
            yield f"`{name}` is violated: {violation.message}."
    if comparison.same_data == "agrees":
        yield "The ledgers hold the same original: as many rows, and the same values in shared columns."
    else:
        yield "That these are releases of the same data is assumed; nothing here shows it."
    yield from comparison.notes


def _best_sentence(comparison: Comparison) -> str:
    """Which release is best in what: `a` is best in withheld; `b` in nothing."""
    parts: list[str] = []
    for name in comparison.names:
        lines = [_line_name(line) for line in comparison.lines if line.name in comparison.best_in(name)]
        parts.append(f"`{name}` {'' if parts else 'is best '}in {', '.join(lines) or 'nothing'}")
    return f"{'; '.join(parts)}."


def _line_name(line: Line) -> str:
    return _NAMES.get(line.name, line.name.replace("_", " "))


def _tables(comparison: Comparison, width: int) -> Iterator[list[str]]:
    """The table, with as many releases side by side as fit the width."""
    verdicts = [f"violated ({len(v.violations)})" if v.violations else "holds" for v in comparison.verdicts]
    # Where there is a best, the other cells keep the width of its mark.
    other = "  " if any(line.best for line in comparison.lines) else ""
    rows = [[_line_name(line), *_cells(line, other)] for line in comparison.lines]
    heads = [["", *(name + other for name in comparison.names)], ["verified", *(v + other for v in verdicts)]]
    labels, *columns = zip(*[heads[0], *rows[:2], heads[1], *rows[2:]], strict=True)
    while columns:
        used = max(map(len, labels))
        fitting: list[tuple[str, ...]] = []
        while columns and (not fitting or used + 2 + max(map(len, columns[0])) <= width):
            used += 2 + max(map(len, columns[0]))
            fitting.append(columns.pop(0))
        yield aligned(list(zip(labels, *fitting, strict=True)))


def _cells(line: Line, other: str) -> Iterator[str]:
    for column, cell in enumerate(line.cells):
        if isinstance(cell, str):
            text = shortened(cell, _LONGEST_CELL)
        else:
            text = share(cell) if line.share else f"{cell:,}"
        yield text + (f" {BEST}" if column in line.best else other)


def comparison_picture(comparison: Comparison) -> Picture:
    """A group of bars for every share that is known of all releases, a bar per release, the best starred."""
    lines = [line for line in comparison.lines if line.share]
    ranked = any(line.best for line in lines)
    picture = grouped_bars(
        f"{counted(len(comparison.names), 'release')} side by side",
        f"{'Less is better; ★ is the best' if ranked else 'Shown, not ranked'}. Each group has its own scale "
        "from 0.",
        [BarGroup(_line_name(line), tuple(_bars(comparison, line)), _COLOURS[line.part]) for line in lines],
    )
    best = f" {_best_sentence(comparison)}" if ranked else ""
    return replace(picture, description=picture.description + best)


def _bars(comparison: Comparison, line: Line) -> Iterator[Bar]:
    for index, (name, cell) in enumerate(zip(comparison.names, line.cells, strict=True)):
        part = cell if isinstance(cell, int | float) else 0.0
        star = " ★" if index in line.best else ""
        yield Bar(shortened(name, _LONGEST_NAME), (part,), (f"{percent(part)}{star}",), strong=bool(star))
