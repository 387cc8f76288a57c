"""Files larger than the memory DuckDB may use."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import timeveil as tv

ROLES = tv.Roles(respondent="who", time="when", quasi=["zip"], keep=["note"])
ROWS = 900_000
LIMIT = "120MB"


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    """A Parquet file that does not compress, larger than the limit."""
    rng = np.random.default_rng(0)
    text = rng.integers(97, 123, (ROWS, 120), np.uint8).tobytes().decode()
    table = pa.table(
        {
            "who": rng.integers(0, 20_000, ROWS),
            "when": pa.array(rng.integers(1_600_000_000, 1_660_000_000, ROWS), pa.timestamp("s")),
            "zip": rng.integers(0, 20, ROWS),
            "note": [text[i : i + 120] for i in range(0, ROWS * 120, 120)],
        }
    )
    path = tmp_path_factory.mktemp("large") / "events.parquet"
    pq.write_table(table, path, row_group_size=50_000, compression="none", use_dictionary=False)
    return path


def test_a_file_above_the_memory_limit_gives_the_same_release(large, tmp_path, monkeypatch):
    """DuckDB spills to a private folder, gives what memory gives, and leaves nothing behind."""
    assert large.stat().st_size > 120_000_000
    spill = tmp_path / "spill"
    spill.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spill))
    names = ["month", "all"]
    options = {"granularities": names, "accept_risk": ["note"]}
    release, ledger = tv.generalize_time(large, ROLES, 5, engine="duckdb", memory_limit=LIMIT, **options)
    assert any(spill.iterdir())
    assert all(folder.stat().st_mode & 0o077 == 0 for folder in spill.iterdir())
    expected, _ = tv.generalize_time(large, ROLES, 5, **options)
    assert release.manifest == expected.manifest
    assert release.table.equals(expected.table.cast(release.table.schema))
    tv.write(release, tmp_path / "release")
    assert tv.open_release(tmp_path / "release").table.num_rows == ROWS
    del release, ledger, expected
    gc.collect()
    assert list(spill.iterdir()) == []


def test_too_little_memory_is_said_without_data(large):
    """The error names the limit to raise, not a value."""
    with pytest.raises(tv.EngineError, match="out of memory") as caught:
        tv.generalize_time(large, ROLES, 5, engine="duckdb", memory_limit="2MB")
    assert caught.value.code == "engine-failed"


def test_a_limit_that_is_no_size_is_refused(large):
    """With how to write one."""
    with pytest.raises(tv.ParameterError, match="500MB or 2GB"):
        tv.generalize_time(large, ROLES, 5, engine="duckdb", memory_limit="plenty")


def test_an_interrupt_stays_an_interrupt(monkeypatch):
    """DuckDB reports Ctrl-C as an error of its own; callers see KeyboardInterrupt."""
    from timeveil.engines import duckdb as engine

    with pytest.raises(KeyboardInterrupt), engine._explained():
        raise RuntimeError("Query interrupted")
