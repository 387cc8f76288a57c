"""Files made to do harm: they are refused before they take memory, time or anything else."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

from timeveil.domain.roles import Roles
from timeveil.errors import InputError, ParameterError, RolesError, TimeveilError
from timeveil.reading import read
from timeveil.reading.files import Limits, limits

ROLES = Roles(respondent="who", time="at", quasi=["zip"])
CANARY = "canary7391"
BOTH = pytest.mark.parametrize("stored", [False, True])
ROW = f"{CANARY},2024-01-01,x\n"


def refused(path: Path, code: str, roles: Roles = ROLES, **named) -> TimeveilError:
    with pytest.raises(TimeveilError) as caught:
        read(path, roles, **named)
    assert caught.value.code == code, caught.value
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None or CANARY not in str(caught.value.__context__)
    return caught.value


def repeated(rows: int, text: str) -> pa.Table:
    """A table of a few hundred bytes that says a long text in every row."""
    zeros = pa.array(np.zeros(rows, np.int32))
    who = pa.DictionaryArray.from_arrays(zeros, pa.array([text]))
    return pa.table({"who": who, "at": zeros.cast(pa.date32()), "zip": zeros})


@BOTH
@pytest.mark.parametrize("store_schema", [False, True])
def test_a_parquet_dictionary_bomb(tmp_path, monkeypatch, stored, store_schema):
    monkeypatch.setenv("TIMEVEIL_LIMITS", "unpacked=10MB,ratio=1")
    path = tmp_path / "in.parquet"
    pq.write_table(repeated(50_000, CANARY * 1000), path, store_schema=store_schema)
    assert path.stat().st_size < 5000
    error = refused(path, "too-large", stored=stored)
    assert "at most 10,485,760 bytes" in error.message
    assert "TIMEVEIL_LIMITS=unpacked" in error.hint


@BOTH
def test_a_parquet_bomb_of_overlapping_texts(tmp_path, monkeypatch, stored):
    monkeypatch.setenv("TIMEVEIL_LIMITS", "unpacked=1MB,ratio=1")
    texts = pa.array([CANARY * 300] * 1000)
    table = pa.table({"who": texts, "at": ["2024-01-01"] * 1000, "zip": ["x"] * 1000})
    pq.write_table(
        table, tmp_path / "in.parquet", use_dictionary=False, column_encoding={"who": "DELTA_BYTE_ARRAY"}
    )
    refused(tmp_path / "in.parquet", "too-large", stored=stored)


@BOTH
def test_a_parquet_bomb_of_lists(tmp_path, monkeypatch, stored):
    """A row may have any number of items, so few rows at a time would not help."""
    monkeypatch.setenv("TIMEVEIL_LIMITS", "unpacked=10MB,ratio=1")
    texts = pa.DictionaryArray.from_arrays(np.zeros(5_000, np.int32), pa.array([CANARY * 1000]))
    lists = pa.ListArray.from_arrays(pa.array([0, 5_000], pa.int32()), texts)
    pq.write_table(pa.table({"what": lists}), tmp_path / "in.parquet", store_schema=False)
    refused(tmp_path / "in.parquet", "too-large", Roles(item="what"), stored=stored)


def test_lists_of_short_texts_are_read_warily(tmp_path, monkeypatch):
    lists = [[f"item {n % 7}", f"thing {n % 5}"] for n in range(3000)]
    pq.write_table(pa.table({"what": lists}), tmp_path / "in.parquet", row_group_size=1000)
    monkeypatch.setenv("TIMEVEIL_LIMITS", "unpacked=200KB,ratio=1")
    assert read(tmp_path / "in.parquet", Roles(item="what")).table["what"].to_pylist() == lists


@BOTH
def test_declared_rows_are_looked_at_first(tmp_path, monkeypatch, stored):
    monkeypatch.setenv("TIMEVEIL_LIMITS", "unpacked=1MB,ratio=1")
    pq.write_table(repeated(200_000, "x"), tmp_path / "in.parquet")
    error = refused(tmp_path / "in.parquet", "too-large", stored=stored)
    assert "would take" in error.message


@BOTH
def test_a_wary_reading_gives_the_same_table(tmp_path, monkeypatch, stored):
    table = pa.table(
        {
            "who": [f"{n % 7}" for n in range(3000)],
            "at": ["2024-01-01"] * 3000,
            "zip": ["x", None, "y"] * 1000,
        }
    )
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=1000)
    plain = read(tmp_path / "in.parquet", ROLES, stored=stored).table
    monkeypatch.setenv("TIMEVEIL_LIMITS", "unpacked=80KB,ratio=1")
    assert read(tmp_path / "in.parquet", ROLES, stored=stored).table.equals(plain)


def test_columns_that_are_dropped_are_not_counted(tmp_path, monkeypatch):
    monkeypatch.setenv("TIMEVEIL_LIMITS", "unpacked=1MB,ratio=1")
    table = repeated(2000, "x").append_column("big", pa.array([os.urandom(2000)] * 2000))
    pq.write_table(table, tmp_path / "in.parquet")
    roles = Roles(respondent="who", time="at", quasi=["zip"], drop="rest")
    assert read(tmp_path / "in.parquet", roles).rows == 2000


def test_a_long_footer_is_not_parsed(tmp_path, monkeypatch):
    monkeypatch.setenv("TIMEVEIL_LIMITS", "description=1KB")
    pq.write_table(pa.table({f"c{n}": [1] for n in range(50)}), tmp_path / "in.parquet")
    assert "describes itself in" in refused(tmp_path / "in.parquet", "too-large").message


@BOTH
@pytest.mark.parametrize("members", [1, 2])
def test_a_gzip_bomb(tmp_path, monkeypatch, stored, members):
    """By what it says of itself, and, where it lies by being several, by what comes out."""
    monkeypatch.setenv("TIMEVEIL_LIMITS", "unpacked=1MB,ratio=1")
    block = ROW.encode() * (60_000 // members)
    packed = gzip.compress(b"who,at,zip\n" + block) + gzip.compress(block) * (members - 1)
    (tmp_path / "in.csv.gz").write_bytes(packed)
    assert "unpacks to more than" in refused(tmp_path / "in.csv.gz", "too-large", stored=stored).message


def test_a_plain_file_may_be_as_large_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("TIMEVEIL_LIMITS", "unpacked=1KB,ratio=1")
    (tmp_path / "in.csv").write_text("who,at,zip\n" + ROW * 1000)
    assert read(tmp_path / "in.csv", ROLES).rows == 1000


@BOTH
def test_a_row_without_end(tmp_path, stored):
    (tmp_path / "in.csv").write_text("who,at,zip\n" + ROW + "x" * (5 << 20) + ",2024-01-01,x\n")
    assert "2,097,152 bytes" in refused(tmp_path / "in.csv", "too-large", stored=stored).message


@pytest.mark.parametrize("head", ["x" * (3 << 20), "x," * (3 << 19)])
def test_a_header_without_end(tmp_path, head):
    (tmp_path / "in.csv").write_text(head)
    refused(tmp_path / "in.csv", "too-large")


def test_a_million_columns(tmp_path):
    (tmp_path / "in.csv").write_text("a," * 1_000_000 + "a\n")
    assert "has 1,000,001 columns" in refused(tmp_path / "in.csv", "too-large").message


def test_a_header_that_is_cut_is_not_taken_for_whole(tmp_path):
    """Its last name would be another one."""
    names = ",".join(f"{'column' * 10}{n}" for n in range(40_000))
    (tmp_path / "in.csv").write_text(f"who,at,zip,{names}\n")
    refused(tmp_path / "in.csv", "too-large", Roles(respondent="who", time="at", drop="rest"))


@BOTH
def test_a_zero_byte_anywhere(tmp_path, stored):
    (tmp_path / "in.csv").write_text("who,at,zip\n" + ROW * 100_000 + "a\0b,2024-01-01,x\n")
    refused(tmp_path / "in.csv", "bad-encoding", stored=stored)


@BOTH
@pytest.mark.parametrize("column", ["who", "at", "zip"])
def test_parquet_text_that_is_no_text(tmp_path, stored, column):
    """Parquet says of bytes that they are text, and nobody has looked."""
    bad = pa.array([b"a", b"\xff" + CANARY.encode()])
    texts = pa.Array.from_buffers(pa.string(), 2, bad.buffers())
    table = pa.table({"who": ["a", "b"], "at": ["2024-01-01"] * 2, "zip": ["x", "y"]})
    table = table.set_column(table.schema.get_field_index(column), column, texts)
    pq.write_table(table, tmp_path / "in.parquet")
    error = refused(tmp_path / "in.parquet", "bad-encoding", stored=stored)
    assert f"column `{column}`" in error.message


@pytest.mark.parametrize("name", ["in.csv", "in.parquet", "in.csv.gz"])
def test_a_pipe_is_not_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    assert "not an ordinary file" in refused(tmp_path / name, "file-unreadable").message


@pytest.mark.parametrize("name", ["in.csv", "in.parquet"])
def test_a_device_is_not_read(tmp_path, name):
    (tmp_path / name).symlink_to("/dev/zero")
    refused(tmp_path / name, "file-unreadable")


def test_a_link_to_a_file_is_followed(tmp_path):
    (tmp_path / "real.csv").write_text("who,at,zip\n" + ROW)
    (tmp_path / "in.csv").symlink_to("real.csv")
    assert read(tmp_path / "in.csv", ROLES).rows == 1


@pytest.mark.parametrize("path", ["a\0b.csv", "x" * 5000 + ".csv"])
def test_paths_that_no_system_has(path):
    with pytest.raises(InputError) as caught:
        read(path, ROLES)
    assert caught.value.code in ("file-missing", "file-unreadable")


def test_a_long_name_is_cut_in_messages():
    table = pa.table({"who": ["a"], "at": ["2024-01-01"], "n" * 100_000: ["x"]})
    with pytest.raises(RolesError) as caught:
        read(table, Roles(respondent="who", time="at"))
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "text", ["columns", "columns=0", "columns=-1", "colums=5", "ratio=1e3", "unpacked=1 PB"]
)
def test_limits_that_are_none(monkeypatch, text):
    monkeypatch.setenv("TIMEVEIL_LIMITS", text)
    with pytest.raises(ParameterError, match="TIMEVEIL_LIMITS"):
        limits()


def test_limits_are_set(monkeypatch):
    monkeypatch.setenv("TIMEVEIL_LIMITS", "unpacked=8GB, columns=5")
    assert limits() == Limits(columns=5, unpacked=8 << 30)


def test_bombs_in_little_memory(tmp_path):
    """A terabyte of text and 60 MB of dates, in a process that gets no more than 4 GB beyond its start."""
    pq.write_table(repeated(1_000_000, "x" * 1_000_000), tmp_path / "text.parquet", store_schema=False)
    pq.write_table(repeated(5_000_000, "x"), tmp_path / "rows.parquet", store_schema=False)
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from timeveil.errors import InputError\n"
        "from timeveil.reading import read\n"
        "from timeveil.domain.roles import Roles\n"
        "used = int(Path('/proc/self/statm').read_text().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 32), used + (1 << 32)))\n"
        "for name in sys.argv[1:]:\n"
        "    try:\n"
        "        read(name, Roles(respondent='who', time='at', quasi=['zip']))\n"
        "    except InputError as error:\n"
        "        print(error.code)\n"
    )
    names = [str(tmp_path / "text.parquet"), str(tmp_path / "rows.parquet")]
    done = subprocess.run(
        [sys.executable, "-c", program, *names],
        capture_output=True,
        text=True,
        env={**os.environ, "TIMEVEIL_LIMITS": "unpacked=32MB"},
        timeout=60,
    )
    assert done.stdout.split() == ["too-large", "too-large"], done.stderr


@BOTH
def test_pyarrow_reads_without_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: bool) -> None:
    """It reads ahead; from an object of Python it did so at the end of the process, and hung or aborted."""
    given = []
    for name in ("read_csv", "open_csv"):
        true = getattr(pcsv, name)
        monkeypatch.setattr(
            pcsv, name, lambda file, *rest, true=true: (given.append(file), true(file, *rest))[1]
        )
    path = tmp_path / "visits.csv"
    path.write_text(f"who,at,zip\n{ROW}")
    read(path, ROLES, stored=stored)
    assert given
    assert all(isinstance(file, pa.NativeFile) for file in given)
