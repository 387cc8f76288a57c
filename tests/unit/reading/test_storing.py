"""A stored relation is the one in memory, in a private file that goes away."""

from __future__ import annotations

import errno
import gc
import os
import stat

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import some

from timeveil.domain.roles import Derived, Roles
from timeveil.domain.stored import LOCK, Stored
from timeveil.errors import EngineError, TimeveilError
from timeveil.reading import read, text_file
from timeveil.reading import table as table_module

ROLES = Roles(respondent="who", time="at", quasi=["zip", Derived("weekday")])
TIMES = st.sampled_from(
    ["2024-01-01", "2024-02-29", "2024-01-01 10:00", "2024-01-01T10:00:00Z", "5", "-7", "soon", "", None]
)
ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), TIMES, st.sampled_from(["x", "y", "", None])), max_size=12
)


def outcome(table, roles, **named):
    try:
        relation = read(table, roles, **named)
    except TimeveilError as error:
        return type(error), error.code, error.message
    return relation.axis, relation.roles, relation.table.schema, relation.table.to_pylist()


@settings(max_examples=some(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=ROWS,
    zone=st.sampled_from([None, "Europe/Berlin"]),
    unit=st.sampled_from([None, "day"]),
    nulls=st.sampled_from(["error", "withhold"]),
    derived=st.booleans(),
    as_csv=st.booleans(),
)
def test_stored_and_in_memory_agree(tmp_path, monkeypatch, rows, zone, unit, nulls, derived, as_csv):
    """The same rows, or the same error with the same numbers, however small the batches are."""
    monkeypatch.setattr(table_module, "BATCH_ROWS", 3)
    monkeypatch.setattr(text_file, "BLOCK_BYTES", 40)
    who, at, zipcode = zip(*rows, strict=True) if rows else ((), (), ())
    table = pa.table(
        {
            "who": pa.array(who, pa.string()),
            "at": pa.array(at, pa.string()),
            "zip": pa.array(zipcode, pa.string()),
        }
    )
    if as_csv:
        pa.csv.write_csv(table, tmp_path / "rows.csv")
    given_table = tmp_path / "rows.csv" if as_csv else table
    roles = ROLES if derived else Roles(respondent="who", time="at", quasi=["zip"])
    named = {"zone": zone, "unit": unit, "nulls": nulls}
    assert outcome(given_table, roles, **named) == outcome(given_table, roles, stored=True, **named)


def table_of(count: int) -> pa.Table:
    return pa.table({"who": range(count), "at": ["2024-01-01"] * count, "zip": ["x"] * count})


def test_the_file_is_private_and_goes_with_the_relation():
    """Only its owner may enter the folder; nothing is left of it after."""
    relation = read(table_of(10), ROLES, stored=True)
    assert isinstance(relation.data, Stored)
    folder = relation.data.path.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert sorted(os.listdir(folder)) == [LOCK, "rows.parquet"]  # noqa: PTH208
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    del relation
    gc.collect()
    assert not folder.exists()


def test_nothing_is_left_after_an_error(tmp_path, monkeypatch):
    """The folder goes when reading fails."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    bad = table_of(3).set_column(1, "at", pa.array(["2024-01-01", "soon", "2024-01-01"]))
    with pytest.raises(TimeveilError):
        read(bad, ROLES, stored=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, "disk-full"), (errno.EACCES, "no-permission")])
def test_trouble_with_temporary_files_is_said_plainly(tmp_path, monkeypatch, number, code):
    """And leaves nothing."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def failing(*_, **__):
        raise OSError(number, "canary7391")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", failing)
    with pytest.raises(EngineError) as caught:
        read(table_of(3), ROLES, stored=True)
    assert caught.value.code == code
    assert "canary7391" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_batches_pass_one_at_a_time(monkeypatch):
    """A stream many times larger than what is held at any moment comes in, and is read again."""
    count, size = 64, 20_000
    schema = pa.schema({"who": pa.int64(), "at": pa.string(), "zip": pa.string()})
    held = []
    base = pa.total_allocated_bytes()

    def watched(self, rows):
        held.append(pa.total_allocated_bytes() - base)
        write(self, rows)

    write = pq.ParquetWriter.write_table
    monkeypatch.setattr(pq.ParquetWriter, "write_table", watched)

    def batches():
        for number in range(count):
            columns = [
                pa.array(range(size)),
                pa.array([f"2024-01-{1 + number % 28:02}"] * size),
                pa.array([f"zip code {i}" for i in range(size)]),
            ]
            yield pa.record_batch(columns, schema=schema)

    relation = read(pa.RecordBatchReader.from_batches(schema, batches()), ROLES, stored=True)
    held.extend(pa.total_allocated_bytes() - base for _ in relation.batches(["zip"]))
    assert relation.rows == count * size
    assert max(held) < relation.table.nbytes / 3
