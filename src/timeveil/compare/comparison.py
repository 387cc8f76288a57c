"""The result of a comparison: a line for each property, a cell for each release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from timeveil.domain.judgement import Verdict

Part = Literal["promise", "parameter", "size", "loss", "risk"]
Cell = float | str | None


@dataclass(frozen=True, slots=True)
class Line:
    """One property of every release: a cell for each, None where it is unknown.

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
