"""The letter to the recipient: what columns mean, how to ask, what not to conclude, for every model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.report.reports import MODELS, pair

import timeveil as tv
from timeveil.cli.frame import run

QUESTIONS = {
    "time": ["--between", "2024-01-01", "2024-02-01", "--where", "result=ok"],
    "stream": ["--where", "diagnosis=flu"],
    "series": ["--range", "h00=0.1:0.5"],
    "patterns": ["--item", "item 0"],
}


@pytest.mark.parametrize("model", MODELS)
def test_the_letter_says_how_to_read_the_release(
    model: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tv.write(pair(model)[0], tmp_path / "published")
    letter = " ".join((folder / "README.txt").read_text("utf-8").split())
    for words in ("The promise: ", "Columns", "What not to conclude: ", "timeveil verify FOLDER"):
        assert words in letter
    assert "How to ask: " in letter or "How to join the tables: " in letter
    for column in pair(model)[0].manifest["columns"]:
        assert " ".join(column["name"].split()) in letter
    asked = re.search(r"`timeveil query FOLDER (--\w+)", letter)
    assert asked is not None
    assert asked[1] in [*QUESTIONS[model], "--between"]
    assert run(["query", str(folder), *QUESTIONS[model]]) == 0
    assert capfd.readouterr().out
