"""The experiments on series run, and their page says what they found."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.experiments import (
    series,
    series_adaptive,
    series_judging,
    series_pictures,
    series_runs,
    series_tables,
)
from benchmarks.experiments.chart import Words
from benchmarks.experiments.panels import Curve, Panel, panels
from benchmarks.experiments.series_annealing import annealed
from benchmarks.experiments.series_calls import adaptive, kapra
from benchmarks.experiments.series_methods import top_down
from benchmarks.experiments.series_sources import SHOTS, Source, matrix_of
from benchmarks.experiments.series_trends import BEYOND, TRENDS, held
from benchmarks.experiments.tables import MARKED
from benchmarks.generated import walk

from timeveil.symbols import pattern_distance

WORDS = Words("Title <1>", "below", "x", "a & b")


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return json.loads(series.RESULTS.read_text("utf-8"))


@pytest.fixture(scope="module")
def page() -> str:
    return series_tables.PAGE.read_text("utf-8")


def test_every_table_of_the_page_is_that_of_the_results(results: dict[str, Any], page: str) -> None:
    marks = {mark["name"]: mark[0] for mark in MARKED.finditer(page)}
    found = series_tables.tables(results)
    assert set(marks) == set(found)
    assert [name for name in found if f"-->\n\n{found[name]}\n<!--" not in marks[name]] == []


def test_every_picture_is_that_of_the_results_and_is_shown(results: dict[str, Any], page: str) -> None:
    for name, picture in series_pictures.pictures(results).items():
        assert (series_pictures.FOLDER / f"{name}.svg").read_text("utf-8") == picture
        assert f"(pictures/{name}.svg)" in page


def test_every_fraction_in_the_text_stands_in_a_table(results: dict[str, Any], page: str) -> None:
    cells = set(re.findall(r"\d+\.\d+", " ".join(series_tables.tables(results).values())))
    cells |= {f"{float(cell):.2f}" for cell in cells}
    told = set(re.findall(r"\b0\.\d+", MARKED.sub("", page)))
    assert told <= cells | {"0.1", "0.5"}  # the one tolerance and the least weight


def test_the_experiments_run_on_few_series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = walk(rows=60)
    matrix = np.column_stack([table[f"q{place:02}"].to_numpy() for place in range(1, 11)])
    monkeypatch.setattr(series_runs, "SETTINGS", ((10, 2), (10, 5), (5, 5)))
    monkeypatch.setattr(series_runs, "FRONT", (2, 50))
    monkeypatch.setattr(series_runs, "EFFORTS", ((10, 0), (10, 2)))
    monkeypatch.setattr(series, "ESTIMATING", ("KAPRA",))
    sources = [Source("Walk", "pieces", matrix), Source("String", "symbols", np.floor(matrix * 20))]
    series.run(sources, tmp_path / "series.json", questions=10, draws=1)
    found = json.loads((tmp_path / "series.json").read_text("utf-8"))["sets"]
    assert set(found["Walk"]["losses"]) == set(series_tables.METHODS)
    assert all(row["covered"] in (1.0, None) for row in found["Walk"]["customized"]["KAPRA"])
    equal = found["String"]["sweep"][2]["methods"]
    assert {"TGA", "BFP2KA", "Naive, top-down"} <= set(equal)
    assert all(0 <= equal[name]["PL"] <= 2 for name in equal)


def test_plain_losses_agree_with_the_quick_ones() -> None:
    draw = np.random.default_rng(3)
    one, other = draw.normal(size=(2, 50, 7))
    one[:3] = 1.0
    other[2:5] = 2.0
    quick = pattern_distance(one, other)
    assert np.abs(series_judging.pattern_loss(one, other) - quick).max() < 1e-9
    low, high = np.zeros((1, 2)), np.array([[3.0, 4.0]])
    assert series_judging.value_loss(low, high).tolist() == [12.5**0.5]


def test_annealing_narrows_what_cuts_leave() -> None:
    matrix = matrix_of(walk(rows=300), SHOTS)
    cut = top_down(matrix, 10, 5)
    low, high = (
        np.array([bound(matrix[cut.group == g], axis=0) for g in cut.group]) for bound in (np.min, np.max)
    )
    found = [annealed(matrix, 10, effort) for effort in (0, 4)]
    assert found[1] < min(found[0], series_judging.value_loss(low, high).mean())
    assert found[1] == annealed(matrix, 10, 4)


def test_targets_that_ask_for_more_than_annealing_finds(results: dict[str, Any]) -> None:
    """The value losses aimed at on a walk are those of one with smaller steps than the given one."""
    given, other = (results["sets"][name] for name in ("Walk, given", "Walk, seed 7"))
    aimed = {method: value for method, value, _ in series_tables.AIMED}
    assert given["walk"]["annealed_VL"] > max(aimed["representative 10"], aimed["adaptive 2"])
    assert other["walk"]["annealed_VL"] < aimed["adaptive 2"]


def test_targets_are_met_on_a_walk_with_smaller_steps() -> None:
    found = adaptive(matrix_of(walk(seed=7), SHOTS), 10, 5, shape_weight=10)
    assert series_adaptive.value_loss(matrix_of(walk(seed=7), SHOTS), found.group) <= 0.0105
    assert series_adaptive.pattern_loss(matrix_of(walk(seed=7), SHOTS), found) <= 0.19


def test_more_effort_reaches_on_the_given_walk_what_was_aimed_at(results: dict[str, Any]) -> None:
    found = results["sets"]["Walk, given"]["efforts"][-1]
    assert (found["weight"], found["effort"]) == series.LONG["Walk, given"][0]
    assert found["VL"] <= 0.0105
    assert found["PL"] <= 0.19


def test_more_effort_lowers_the_loss_on_every_set(results: dict[str, Any]) -> None:
    for one in results["sets"].values():
        rows = {(row["weight"], row["effort"]): row for row in one.get("efforts", ())}
        for weight, usual, more in ((10, 1, 3), (10, 3, 10)) if rows else ():
            assert rows[weight, more]["PL"] < rows[weight, usual]["PL"]
            assert rows[weight, more]["VL"] < 1.02 * rows[weight, usual]["VL"]


def test_a_broken_promise_is_seen() -> None:
    matrix = np.random.default_rng(1).normal(size=(60, 5))
    found = kapra(matrix, 10, 5)
    assert series_judging.kept(found.group, found.subgroup, 10, 5)
    assert not series_judging.kept(found.group, found.subgroup, 60, 5) or found.group.max() == 0
    alone = found.subgroup.copy()
    alone[0] = found.subgroup.max() + 1
    assert not series_judging.kept(found.group, alone, 10, 5)


def test_trends_are_asked_of_every_set_that_can_say(results: dict[str, Any]) -> None:
    asked = [name for name, one in results["sets"].items() if "sweep" in one or "timed" in one]
    for trend in (*TRENDS, *BEYOND):
        yes, no = held(trend, results["sets"])
        assert set(yes + no) <= set(asked)
        assert not set(yes) & set(no)
        assert yes or no, trend.said


def test_panels_are_well_formed_and_say_what_they_show() -> None:
    plots = [
        Panel("one <a>", "k", [Curve("a <b>", 0, [(1, 0.5), (10, 0.2)])], log_x=True, ticks=(1, 10)),
        Panel("two", "n", [Curve("c", 11, [(1, 0.01), (10, 7.0)]), Curve("d", 2, [])], log_y=True),
    ]
    picture = panels(WORDS, plots, 2)
    root = ET.fromstring(picture)  # noqa: S314
    assert root.get("role") == "img"
    assert [root[0].text, root[1].text] == ["Title <1>", "a & b"]
    assert "prefers-color-scheme:dark" in picture
    assert picture.count("<polyline") == 3
