"""The campaigns run, hold, and can be broken."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import timeveil as tv
from tests.redteam import recounts, tables
from tests.redteam.__main__ import CAMPAIGNS, Tally, in_turn, table
from tests.redteam.trial import BrokenPromiseError, Trial, must
from tests.service.processes import Nursery, nursery

SEED = 7
CASES = {
    "releases": range(8),
    "forgeries": range(12),
    "permutations": [0],
    "spellings": range(6),
    "answers": range(2),
    "bombs": [0],
    "kills": [53],
}
"""The stream of case 53 has two days and is killed twice."""


@pytest.fixture(scope="module")
def children() -> Iterator[Nursery]:
    with nursery() as run:
        yield run


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_some_cases_of_every_campaign_hold(name: str, children: Nursery) -> None:
    tally = Tally(name)
    for case in CASES[name]:
        tally.run(SEED, case, children)
    assert tally.broken == {}
    assert tally.held


def test_what_breaks_is_counted_and_can_be_repeated(
    monkeypatch: pytest.MonkeyPatch, children: Nursery
) -> None:
    def attack(trial: Trial) -> dict[str, int]:
        must(trial.chance.random() < 0.5, "a promise")
        return {"promises": 2}

    monkeypatch.setitem(CAMPAIGNS, "releases", attack)
    (tally,) = in_turn(SEED, ["releases"], 0.1, children)
    broken = len(tally.broken)
    assert 0 < broken < tally.cases
    assert tally.held == {"promises": 2 * (tally.cases - broken)}
    tried = f"{tally.held.total() + broken:>9,} {tally.held.total():>9,} {broken:>7,}  "
    assert table([tally]).endswith(f"{tally.cases:>7,} {tried}{tally.held.total():,} promises")
    again = Tally("releases")
    again.run(SEED, min(tally.broken), children)
    assert list(again.broken.values()) == ["a promise"]


@pytest.mark.parametrize("model", tables.MODELS)
def test_a_recount_finds_a_row_that_is_missing(model: str, tmp_path: Path) -> None:
    for attempt in range(20):
        try:
            made = tables.MODELS[model](random.Random(attempt))  # noqa: S311
        except (tv.InfeasibleError, tv.InputError, tv.ParameterError):
            continue
        if made.release.table.num_rows > 3:
            break
    folder = tv.write(made.release, tmp_path / "out")
    made.recount(folder)
    path = folder / "data.parquet"
    rows = pq.read_table(path)
    pq.write_table(rows.slice(1), path)
    with pytest.raises((BrokenPromiseError, KeyError)):
        made.recount(folder)


def test_recounts_use_none_of_the_projects_code() -> None:
    tree = ast.parse(Path(recounts.__file__).read_text())
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not any((name or "").startswith("timeveil") for name in names)
