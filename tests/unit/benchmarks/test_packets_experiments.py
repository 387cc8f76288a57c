"""The experiments on closed packets run, and their page says what they found."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from benchmarks.experiments import packets, packets_pictures, packets_tables


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return json.loads(packets.RESULTS.read_text("utf-8"))


@pytest.fixture(scope="module")
def page() -> str:
    return packets_tables.PAGE.read_text("utf-8")


def test_every_table_of_the_page_is_that_of_the_results(results: dict[str, Any], page: str) -> None:
    marks = {mark["name"]: mark[0] for mark in packets_tables.MARKED.finditer(page)}
    found = packets_tables.tables(results)
    assert set(marks) == set(found)
    assert [name for name in found if f"-->\n\n{found[name]}\n<!--" not in marks[name]] == []


def test_every_picture_is_that_of_the_results_and_is_shown(results: dict[str, Any], page: str) -> None:
    for name, picture in packets_pictures.pictures(results).items():
        assert (packets_pictures.FOLDER / f"{name}.svg").read_text("utf-8") == picture
        assert f"(pictures/{name}.svg)" in page


def test_every_percentage_and_chance_in_the_text_stands_in_a_table(
    results: dict[str, Any], page: str
) -> None:
    cells = " ".join(packets_tables.tables(results).values())
    text = packets_tables.MARKED.sub("", page)
    shares = re.findall(r"([\d.]+) %", cells)
    shown = {*shares, *(f"{round(float(share))}" for share in shares)}
    assert set(re.findall(r"([\d.]+) %", text)) <= shown
    assert set(re.findall(r"\b\d\.\d\d\b", text)) <= set(re.findall(r"\b\d\.\d\d\b", cells))


def test_no_promise_was_broken(results: dict[str, Any]) -> None:
    """Above the bound are only those whose slot does not allow more; the paper's method has no bound."""
    for name, one in results["streams"].items():
        for found in one["ways"].values():
            if found["packets"]:
                many = 1.15 if name.startswith("CHOP") else 1.0  # people there, some with several records
                assert found["everyone"]["above_size"] <= many * found["packets"]["below"] + 1e-4
                assert found["packets"]["left"] >= 0.99 * found["packets"]["least"]
        plain = one["ways"]["plain"]["parts"]["moved"]
        assert plain["mean"] > 1.5 / one["l"]


def test_the_experiments_run_on_tiny_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packets, "SETTINGS", {"50 records": packets.SETTINGS["50 records"]})
    found = packets.run(packets.generated(1500), 1500, questions=20)
    ways = found["streams"]["50 records"]["ways"]
    assert list(ways) == ["plain", "filler", "jitter", "packets of 3", "packets of 2", "quiet, packets of 3"]
    assert ways["packets of 2"]["everyone"]["worst"] <= 0.5
    assert ways["packets of 3"]["moved"] > ways["plain"]["moved"]
