"""Every symbol of a paper is said to be something, and that something exists."""

from __future__ import annotations

import importlib
import re
from types import ModuleType
from typing import Any

import pytest
from tests.architecture.source import ROOT

METHODS = ("timeveil.generalization", "timeveil.streaming", "timeveil.series", "timeveil.patterns")
PAGE = ROOT / "docs" / "explanation" / "notation.md"
Row = tuple[str, str, str]


def rows(text: str) -> list[Row]:
    """(symbol, name, where) for each line of the Markdown tables in a text that names something."""
    lines = [line.strip().strip("|").split("|") for line in text.splitlines() if line.strip().startswith("|")]
    cells = [[cell.strip() for cell in line] for line in lines]
    return [
        (row[0], name, row[2]) for row in cells if len(row) >= 3 for name in re.findall(r"`([\w.]+)`", row[1])
    ]


def exists(name: str) -> bool:
    """Whether a dotted name leads from a module to an attribute or an annotated field."""
    parts = name.split(".")
    here: Any = importlib.import_module(parts[0])
    for depth, part in enumerate(parts[1:], start=2):
        if isinstance(here, ModuleType) and not hasattr(here, part):
            try:
                here = importlib.import_module(".".join(parts[:depth]))
            except ModuleNotFoundError:
                return False
        elif hasattr(here, part):
            here = getattr(here, part)
        else:
            return part in getattr(here, "__annotations__", {}) and depth == len(parts)
    return True


def table_of(method: str) -> list[Row]:
    return rows(importlib.import_module(method).__doc__ or "")


def test_the_check_can_tell() -> None:
    assert exists("timeveil.model.roles.Roles.respondent")
    assert not exists("timeveil.model.roles.Roles.uid")
    assert not exists("timeveil.model.nothing.Roles")


@pytest.mark.parametrize("method", METHODS)
def test_a_method_has_its_table(method: str) -> None:
    assert len(table_of(method)) >= 8


@pytest.mark.parametrize(("symbol", "name"), [row[:2] for row in rows(PAGE.read_text("utf-8"))])
def test_every_symbol_names_something_real(symbol: str, name: str) -> None:
    assert exists(name), f"{symbol} is said to be `{name}`, which does not exist"


def test_the_page_shows_the_tables_of_the_packages() -> None:
    of_packages = [row for method in METHODS for row in table_of(method)]
    assert rows(PAGE.read_text("utf-8")) == of_packages
