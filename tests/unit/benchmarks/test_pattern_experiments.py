"""The experiments on patterns run, and their page says what they found."""

from __future__ import annotations

import argparse
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from benchmarks.experiments import pattern_tables, patterns
from benchmarks.experiments.tables import MARKED
from benchmarks.generated import walk

import timeveil as tv

Rows = dict[str, Any]
KINDS = ("k_fixed", "support_fixed")


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return json.loads(patterns.RESULTS.read_text("utf-8"))


@pytest.fixture(scope="module")
def page() -> str:
    return pattern_tables.PAGE.read_text("utf-8")


def test_every_table_of_the_page_is_that_of_the_results(results: Rows, page: str) -> None:
    marks = {mark["name"]: mark[0] for mark in MARKED.finditer(page)}
    found = pattern_tables.tables(results)
    assert set(marks) == set(found)
    assert [name for name in found if f"-->\n\n{found[name]}\n<!--" not in marks[name]] == []


def test_every_picture_is_that_of_the_results_and_is_shown(results: Rows, page: str) -> None:
    for name, picture in pattern_tables.pictures(results).items():
        assert (pattern_tables.FOLDER / f"{name}.svg").read_text("utf-8") == picture
        assert f"(pictures/{name}.svg)" in page
        assert ET.fromstring(picture).get("role") == "img"  # noqa: S314


def test_every_number_in_the_text_stands_in_a_table(results: Rows, page: str) -> None:
    cells = " ".join(pattern_tables.tables(results).values())
    text = MARKED.sub("", page)
    told = set(re.findall(r"[\d.]+ %", text)) | set(re.findall(r"\d+,\d{3}", text))
    assert told - {"2,000"} <= set(re.findall(r"[\d.]+ %|\d+,\d{3}", cells))


def nearer(results: Rows, name: str, kind: str, other: str) -> list[int]:
    """At which supports another method has a smaller mean error than additive."""
    rows = results["sets"][name][kind]
    return [row["ratio"] for row in rows if row[other] and row[other]["mean"] < row["additive"]["mean"]]


def test_what_the_text_says_of_the_methods(results: Rows) -> None:
    every = [row for one in results["sets"].values() for kind in KINDS for row in one[kind]]
    assert all(row[method]["lost"] == 0 for row in every for method in pattern_tables.ADDING)
    assert all(row["tight"]["virtual"] <= row["additive"]["virtual"] for row in every)
    assert all(row["clone"]["mean"] > row["tight"]["mean"] or not row["clone"]["mean"] for row in every)
    people = {name: nearer(results, name, "k_fixed", "suppressive") for name in pattern_tables.ORDER}
    assert people == {"Walk": [2], "Motion": [2, 5, 10], "mushroom": [], "chess": []}
    fewer = {name: nearer(results, name, "k_fixed", "itemset") for name in pattern_tables.ORDER}
    assert fewer == {"Walk": [2, 5], "Motion": [2, 5, 10], "mushroom": [], "chess": []}
    fixed = {name: nearer(results, name, "support_fixed", "itemset") for name in pattern_tables.ORDER}
    assert fixed == {"Walk": [2, 5], "Motion": [2, 5, 10], "mushroom": [2], "chess": [5, 10]}
    assert all(row["suppressive"] is None for row in results["sets"]["chess"]["support_fixed"])
    for name in ("Walk", "Motion"):
        rows = [row for row in results["sets"][name]["k_fixed"] if row["additive"]["virtual"]]
        assert all(row["tight"]["virtual"] < row["additive"]["virtual"] for row in rows)


def test_the_experiments_run_on_few_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "RATIOS", (2, 5))
    monkeypatch.setattr(patterns, "K", 4)
    rows = [["a", "b"], ["a", "b", "c", "d"], ["a", "d"], ["a", "d"], ["b", "c", "d"]] * 8
    long = {
        "tid": [place for place, row in enumerate(rows) for _ in row],
        "item": [item for row in rows for item in row],
    }
    sources = [
        patterns.Source("Walk", "few", walk(rows=200), patterns.SERIES, 0.2),
        patterns.Source("chess", "few", pa.table(long), patterns.ITEMS, 0.5, {"max_len": 2}),
    ]
    patterns.run(sources, tmp_path / "patterns.json")
    found = json.loads((tmp_path / "patterns.json").read_text("utf-8"))["sets"]
    assert found["chess"]["people"] == 40
    assert found["Walk"]["k_fixed"][0]["additive"]["virtual"] > 0
    assert found["Walk"]["excluding"][0]["before"] > 0
    assert found["Walk"]["table"]["table"] >= 0
    assert "excluding" not in found["chess"]


def test_costs_are_those_of_example_a() -> None:
    rows = [["a", "b"], ["a", "b", "c", "d"], ["a", "d"], ["a", "d"], ["b", "c", "d"]]
    source = patterns.Source("A", "", pa.table({"has": rows}), tv.Roles(item="has"), 0.4)
    row = patterns.sweep(source, 2, 2, 1)
    assert row["patterns"] == 10
    told = row["additive"]
    assert (told["channels"], told["changed"], told["lost"], told["virtual"]) == (4, 5, 0, 4)
    assert told["mean"] == pytest.approx(13 / 30, abs=1e-5)
    assert told["worst"] == pytest.approx(4 / 3, abs=1e-4)
    assert (row["tight"]["virtual"], row["clone"]["virtual"]) == (3, 2)
    # of ten patterns a, d and ad are left with 3 people: a 3 of 4, d 3 of 4, ad all
    assert (row["suppressive"]["lost"], row["suppressive"]["changed"]) == (7, 2)
    assert row["suppressive"]["mean"] == pytest.approx(0.75, abs=1e-5)


def test_a_file_that_is_not_there_is_skipped_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    given = dict.fromkeys(patterns.READERS) | {"chess": Path("missing.parquet")}
    assert patterns.real(argparse.Namespace(**given)) == []
    assert capsys.readouterr().out == "missing.parquet is not there: skipped\n"
