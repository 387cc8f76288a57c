"""Every symbol of a paper is said to be something, and that something exists."""

from __future__ import annotations

import importlib
import re
from types import ModuleType
from typing import Any

import pytest
from docs.notation import METHODS, PAGE, filled, table_of

Row = tuple[str, str]


def rows(table: str) -> list[Row]:
    """(symbol, name) for each line of a Markdown table that names something."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return [(row[0], name) for row in cells if len(row) == 4 for name in re.findall(r"`([\w.]+)`", row[1])]


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


def test_the_check_can_tell() -> None:
    assert exists("timeveil.domain.roles.Roles.respondent")
    assert not exists("timeveil.domain.roles.Roles.uid")
    assert not exists("timeveil.domain.nothing.Roles")


@pytest.mark.parametrize("method", METHODS)
def test_a_method_has_its_table(method: str) -> None:
    table = table_of(method)
    assert len(rows(table)) >= 8
    assert len(rows(table)) == table.count("\n") - 1, "a line names nothing, or has a column too many"


@pytest.mark.parametrize(("symbol", "name"), [row for method in METHODS for row in rows(table_of(method))])
def test_every_symbol_names_something_real(symbol: str, name: str) -> None:
    assert exists(name), f"{symbol} is said to be `{name}`, which does not exist"


def test_the_page_shows_the_tables_of_the_packages() -> None:
    page = PAGE.read_text("utf-8")
    assert page == filled(page), "run `make notation`"


def test_a_page_without_a_place_for_a_table_is_refused() -> None:
    with pytest.raises(LookupError, match="0 places"):
        filled("# Notation\n")
