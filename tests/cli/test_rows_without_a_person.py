"""Where no column says whose the rows are, rows are counted, and every sentence says so."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pytest
from tests.cli.conftest import Cli

import timeveil as tv
from timeveil.datasets import load_curves

SERIES = "anonymize-series loads.csv --out out --ledger ledger --series h00..h05 --k 6 --p 3 --effort 0"
PATTERNS = "sanitize-patterns loads.csv --out out --ledger ledger --series h00..h05 --k 6 --min-support 0.3"


@pytest.fixture(autouse=True)
def _days(here: Path) -> None:
    """Load curves of which only `household` says whose they are."""
    table = load_curves(people=120, instants=6, seed=3).drop_columns("tariff")
    pyarrow.csv.write_csv(table, "loads.csv")


def test_series_say_rows_in_every_text(cli: Cli) -> None:
    said = cli(f"{SERIES} --drop household")
    assert said.code == 0
    assert "Warning: rows were counted, not people" in said.out
    release = tv.open_release("out")
    assert release.manifest["guarantee"]["rows"] is True
    assert release.guarantee.sentence.endswith("rows were counted, and a person may have several")
    letter = Path("out/README.txt").read_text("utf-8")
    assert "one series belongs to one person" not in letter
    assert "Where a person has several" in " ".join(letter.split())
    attacked = cli("attack out --ledger ledger").out
    assert "rows with a single candidate" in attacked
    assert "people" not in attacked
    report = " ".join(cli("report out --ledger ledger").out.split())
    assert "Rows were counted, because no column says whose a series is" in report
    assert "one per person" not in report
    assert cli("verify out --ledger ledger").code == 0


def test_series_of_named_people_say_people(cli: Cli) -> None:
    said = cli(f"{SERIES} --respondent household")
    assert said.code == 0
    assert "rows were counted" not in said.out
    assert "rows" not in tv.open_release("out").manifest["guarantee"]
    assert "one series belongs to one person" in " ".join(Path("out/README.txt").read_text("utf-8").split())


def test_patterns_say_that_a_row_counts_as_a_person(cli: Cli) -> None:
    said = cli(f"{PATTERNS} --drop household")
    assert said.code == 0
    assert "Warning: every row counts as a person" in " ".join(said.out.split())
    assert tv.open_release("out").guarantee.rows
    assert "Each row counts as a person" in " ".join(Path("out/README.txt").read_text("utf-8").split())
    assert cli("verify out --ledger ledger").code == 0


def test_a_promise_about_rows_is_refused_where_people_are_named(cli: Cli) -> None:
    assert cli(f"{SERIES} --respondent household").code == 0
    stated = json.loads(Path("out/release.json").read_text("utf-8"))
    stated["guarantee"]["rows"] = True
    Path("out/release.json").write_text(json.dumps(stated, indent=2, ensure_ascii=False) + "\n", "utf-8")
    said = cli("verify out --ledger ledger")
    assert said.code == 1
    assert "the promise is about rows, but a column names the person of each" in " ".join(said.out.split())
