"""A release as a frame of another library, and results as a notebook shows them."""

from __future__ import annotations

import re
import sys
from typing import Any

import pyarrow as pa
import pytest
from tests.hygiene.canaries import TABLES
from tests.hygiene.test_python import METHODS

import timeveil as tv
from timeveil.datasets import daily_cases

ROLES = tv.Roles(time="day", quasi=["district"], sensitive=["diagnosis"], drop="rest")


@pytest.fixture(scope="module")
def release() -> tv.Release:
    return tv.publish_stream(daily_cases(days=20), ROLES, l=2, seed=1)[0]


def test_frames_hold_the_rows_of_the_release(release: tv.Release) -> None:
    for name, table in release.tables.items():
        rows = table.to_pylist()
        assert release.to_pandas(name).to_dict("records") == rows
        assert release.to_polars(name).to_dicts() == rows
        assert release.to_duckdb(name).fetchall() == [tuple(row.values()) for row in rows]
    assert release.to_pandas().equals(release.table.to_pandas())


def test_frames_come_in_as_they_go_out(release: tv.Release) -> None:
    cases = daily_cases(days=20)
    for frame in (cases.to_pandas(), pa.table(cases)):
        again, _ = tv.publish_stream(frame, ROLES, l=2, seed=1)
        assert again.to_polars().equals(release.to_polars())


def test_a_frame_that_cannot_be_made(release: tv.Release, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(tv.ParameterError, match="no table of this name"):
        release.to_pandas("none")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(tv.EngineError, match="`polars` is not installed"):
        release.to_polars()


@pytest.mark.parametrize("model", ["time", "stream", "series", "patterns"])
def test_notebooks_show_every_result(model: str) -> None:
    method, table = METHODS[model]
    release, ledger = method(TABLES[table]())
    results: list[Any] = [release, tv.verify(release, ledger), tv.attack(release, ledger)]
    results += [tv.measure(release, ledger), tv.report(release)]
    for result in results:
        html = result._repr_html_()
        assert len(html) < 500_000
        outside = re.sub(r'srcdoc="[^"]*"|src="data:[^"]*"', "", html)
        assert not re.search(r"<(script|link|object)|https?://", outside)
        assert html.count("<div") == html.count("</div")
    pictures = [result for result in results if "data:image/svg+xml" in result._repr_html_()]
    assert release in pictures


def test_names_and_cells_are_escaped() -> None:
    bad = "<script>alert(1)</script>"
    names = {"who": [f"p{n % 9}" for n in range(90)], "day": ["2024-01-01"] * 90, bad: [bad] * 90}
    release, ledger = tv.generalize_time(
        pa.table(names), tv.Roles(respondent="who", time="day", quasi=[bad]), k=3
    )
    for result in (release, tv.attack(release, ledger), tv.report(release)):
        assert "<script" not in result._repr_html_()
    assert "&lt;script&gt;" in release._repr_html_()


def test_an_exploration_and_a_violation() -> None:
    cases = daily_cases(days=20)
    exploration = tv.explore(tv.publish_stream, cases, ROLES, l=[2, 3], window=3, workers=1)
    assert exploration._repr_html_().count("<tr>") == 3
    violated = tv.Verdict("recipient", (), (tv.Violation("code", "a <b> group"),))
    assert "a &lt;b&gt; group" in violated._repr_html_()
