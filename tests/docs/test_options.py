"""The option tables of the reference are those that the code has."""

from __future__ import annotations

import runpy

import pytest
from tests.docs.pages import ROOT

from timeveil.domain.parameter import parameter
from timeveil.models.stream.parameters import StreamParameters

WRITER = runpy.run_path(str(ROOT / "docs" / "options.py"))


def test_the_tables_of_options_are_up_to_date() -> None:
    page = WRITER["PAGE"].read_text("utf-8")
    assert page.count("<!-- options ") == 6
    assert WRITER["with_tables"](page) == page, "run: python docs/options.py"


def test_a_new_parameter_is_in_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    class WithNovelty(StreamParameters):
        novelty: int = parameter("Number of novelties.", default=0, at_least=0, at_most=9, example=4)

    monkeypatch.setattr("timeveil.models.stream.parameters.PARAMETERS", WithNovelty)
    row = "| `--novelty` | Number of novelties; a whole number from 0 to 9; default `0`: `--novelty 4` |"
    assert row in WRITER["table_of"]("publish-stream")
