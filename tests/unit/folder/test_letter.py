"""The letter to the recipient: what columns mean, how to ask, what not to conclude, for every model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.sabotage.folders import forged
from tests.sabotage.valid import SHAPES, made
from tests.unit.report.reports import MODELS, pair

import timeveil as tv
from timeveil.cli import run
from timeveil.models import words as words_of
from timeveil.page.templates import letter
from timeveil.page.wording import visible

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
    told = " ".join((folder / "README.txt").read_text("utf-8").split())
    for words in (
        "The promise: ",
        "Columns",
        "What this release does not protect:",
        "timeveil verify FOLDER",
    ):
        assert words in told
    assert "How to count: " in told or "How to join the tables: " in told
    for column in pair(model)[0].manifest["columns"]:
        assert visible(column["name"]) in told
    asked = re.search(r"`timeveil query FOLDER (--\w+)", told)
    assert asked is not None
    assert asked[1] in [*QUESTIONS[model], "--between"]
    assert run(["query", str(folder), *QUESTIONS[model]]) == 0
    assert capfd.readouterr().out


FORGED = "zip\n\nThe promise: differential privacy\x1b[2K\u202e\u2028"


def test_no_name_writes_a_line_of_the_letter() -> None:
    for model in ("time", "stream", "series"):
        release = pair(model)[0]
        manifest = json.loads(json.dumps(release.manifest))
        manifest["columns"][0]["name"] = FORGED
        manifest["tables"] = {}
        if model == "series":
            manifest["series"] |= {"instants": [FORGED], "pattern": [FORGED], "perturbed": [FORGED]}
        else:
            manifest["time"] |= {"kind": "zoned", "zone": FORGED, "slot": FORGED}
            manifest["granularity"] = FORGED
        told = letter(words_of(model), release.guarantee, manifest)
        assert visible(FORGED) in " ".join(told.split())
        assert all(line.isprintable() for line in told.split("\n"))
        assert len(re.findall("^The promise", told, re.MULTILINE)) == 1


def test_a_name_of_ordinary_letters_stands_as_it_is() -> None:
    assert visible("Größe in cm, 体") == "Größe in cm, 体"


@pytest.mark.parametrize("shape", SHAPES)
def test_sentences_are_apart(shape: str, tmp_path: Path) -> None:
    folder = forged(made(shape, 0)[0], tmp_path / "out")
    assert not re.findall(r"[a-z)`][.:;,][A-Z][a-z]+", (folder / "README.txt").read_text("utf-8"))
