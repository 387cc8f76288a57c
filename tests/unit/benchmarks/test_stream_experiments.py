"""The experiments on streams run, and their page says what they found."""

from __future__ import annotations

import itertools
import json
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from benchmarks.experiments import pictures, runs, stream, tables
from benchmarks.experiments.chart import Series, Words, bars, lines
from benchmarks.experiments.optimum import offline
from benchmarks.experiments.streams import generated

WORDS = Words("Title <1>", "below", "x", "a & b")


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return json.loads(stream.RESULTS.read_text("utf-8"))


@pytest.fixture(scope="module")
def page() -> str:
    return tables.PAGE.read_text("utf-8")


def test_every_table_of_the_page_is_that_of_the_results(results: dict[str, Any], page: str) -> None:
    marks = {mark["name"]: mark[0] for mark in tables.MARKED.finditer(page)}
    found = tables.tables(results)
    assert set(marks) == set(found)
    assert [name for name in found if f"-->\n\n{found[name]}\n<!--" not in marks[name]] == []


def test_every_picture_is_that_of_the_results_and_is_shown(results: dict[str, Any], page: str) -> None:
    for name, picture in pictures.pictures(results).items():
        assert (pictures.FOLDER / f"{name}.svg").read_text("utf-8") == picture
        assert f"(pictures/{name}.svg)" in page


def test_every_percentage_in_the_text_stands_in_a_table(results: dict[str, Any], page: str) -> None:
    cells = " ".join(tables.tables(results).values())
    text = tables.MARKED.sub("", page)
    shown = {f"{round(float(share))} %" for share in re.findall(r"([\d.]+) %", cells)}
    assert set(re.findall(r"[\d.]+ %", text)) <= shown


def test_the_experiments_run_on_tiny_streams(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [source for source in generated(60, seed=1) if source.name in ("small", "case reports")]
    monkeypatch.setattr(runs, "WINDOWS", (1, 7))
    monkeypatch.setattr(runs, "SLOT_SIZES", (5, 20))
    found = stream.run(sources, slots=60, questions=20, streams=1, short=8)
    small = found["streams"]["small"]
    withheld = [row["never"]["withheld"] for row in small["windows"]]
    assert withheld[0] == pytest.approx(small["suppress_only"], abs=1e-4)
    assert withheld[1] < withheld[0]
    assert all(one["published_slot_worst"] <= 1 / 3 + 1e-4 for one in small["options"].values())
    assert found["streams"]["case reports"]["again"]["people"] > 0
    assert json.loads(stream.written(found)) == json.loads(json.dumps(found))


def test_the_optimum_is_never_above_the_publisher() -> None:
    for row in runs.against_optimum(streams=2, slots=10, widths=(1, 2, 4)):
        assert row["proved"] == 2
        assert all(row["optimum"]["loss"] <= row[filler]["loss"] for filler in runs.FILLERS)
        assert row["window"] > 1 or row["optimum"]["loss"] == row["never"]["loss"]


@pytest.mark.parametrize("window", [1, 2, 3])
def test_the_optimum_agrees_with_trying_everything(window: int) -> None:
    """Six records in three slots: each goes to one of the slots it may go to, or nowhere."""
    snapshots = [{0: 2, 1: 1}, {0: 1}, {1: 1, 2: 1}]
    records = [(v, t) for t, counts in enumerate(snapshots) for v, n in counts.items() for _ in range(n)]
    targets = [[*range(t, min(t + window, 3)), None] for _, t in records]
    best = min(
        sum(window if to is None else to - t for (_, t), to in zip(records, choice, strict=True))
        for choice in itertools.product(*targets)
        if all(
            eligible([v for (v, _), to in zip(records, choice, strict=True) if to == slot])
            for slot in range(3)
        )
    )
    assert offline(snapshots, 2, window).information_loss == best


def eligible(values: list[int]) -> bool:
    return all(2 * values.count(value) <= len(values) for value in values)


def test_charts_are_well_formed_and_say_what_they_show() -> None:
    drawn = [
        lines(WORDS, ["1", "2"], [Series("a <b>", [0.5, None]), Series("c", [0.5, 0.5])], 1.0),
        bars(WORDS, ["g"], [Series("a", [0.25]), Series("b", [None])], 1.0, mark=(0.5, "1/l")),
    ]
    for picture in drawn:
        root = ET.fromstring(picture)  # noqa: S314
        assert root.get("role") == "img"
        assert [root[0].text, root[1].text] == ["Title <1>", "a & b"]
        assert "prefers-color-scheme:dark" in picture


def test_names_of_lines_that_end_together_do_not_overlap() -> None:
    picture = lines(WORDS, ["1", "2"], [Series(f"line {n}", [0.1, 0.001 * n]) for n in range(5)], 1.0)
    ends = sorted(float(y) for y in re.findall(r'y="([\d.]+)">line', picture))
    assert all(after - before >= 15.9 for before, after in itertools.pairwise(ends))
    assert ends[-1] <= 420
