"""Every symbol of a paper is said to be something, and that something exists."""

from __future__ import annotations

import importlib
import re

import pytest
from tests.architecture.source import ROOT, identifiers

METHODS = ("timeveil.generalization",)
PAGE = ROOT / "docs" / "explanation" / "notation.md"
Row = tuple[str, str]


def rows(text: str) -> list[Row]:
    """(symbol, names in backticks) for each line of the Markdown tables in a text."""
    cells = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in text.splitlines()
        if line.strip().startswith("|")
    ]
    return [
        (row[0], name) for row in cells if len(row) >= 2 for name in re.findall(r"`([\w.]+)[^`]*`", row[1])
    ]


def table_of(method: str) -> list[Row]:
    return rows(importlib.import_module(method).__doc__ or "")


@pytest.mark.parametrize("method", METHODS)
def test_a_method_has_its_table(method: str) -> None:
    assert len(table_of(method)) >= 8


@pytest.mark.parametrize("method", METHODS)
def test_every_symbol_names_something_real(method: str) -> None:
    for symbol, name in (*table_of(method), *rows(PAGE.read_text("utf-8"))):
        unknown = set(name.split(".")) - identifiers() - {"timeveil"}
        assert not unknown, f"{symbol} is said to be `{name}`, which does not exist"


@pytest.mark.parametrize("method", METHODS)
def test_the_page_shows_the_table_of_the_package(method: str) -> None:
    assert set(table_of(method)) <= set(rows(PAGE.read_text("utf-8")))
