"""Same input, parameters and seed, same bytes, on every Python; another seed, another arrangement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.hygiene.golden import PLACE, RELEASES, hashes

CHANGED = "if that is meant: python -m tests.hygiene.golden"


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(PLACE.read_text())
    return found


@pytest.mark.parametrize("name", RELEASES)
def test_the_bytes_are_those_of_before(golden: dict[str, Any], tmp_path: Path, name: str) -> None:
    found, kept = hashes(name, tmp_path), golden["releases"][name]
    assert found["csv"] == kept["csv"], f"other text is written; {CHANGED}"
    if pa.__version__ == golden["pyarrow"]:
        assert found["parquet"] == kept["parquet"], f"other Parquet is written; {CHANGED}"


def test_nothing_else_is_kept(golden: dict[str, Any]) -> None:
    assert list(golden["releases"]) == list(RELEASES), CHANGED


def test_an_engine_makes_no_difference(golden: dict[str, Any]) -> None:
    kept = golden["releases"]
    assert kept["time"] == kept["time in DuckDB"]


def test_another_seed_gives_another_arrangement(golden: dict[str, Any]) -> None:
    kept = golden["releases"]
    assert kept["stream"]["csv"]["data"] != kept["stream of another seed"]["csv"]["data"]
