"""Folders, patterns, partitions and buckets of many files are one table."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

import timeveil as tv
from timeveil.reading.many_files import ManyFiles
from timeveil.reading.sources import Form, open_source

ROLES = tv.Roles(respondent="who", time="day", quasi=["zip"], keep=["year"])
SECRET = "CANARY-KEY"  # noqa: S105 (not a real one)


def visits(number: int) -> pa.Table:
    return pa.table({"who": [f"p{number}"], "day": [f"2024-01-0{number}"], "zip": [number]})


@pytest.fixture
def partitions(tmp_path: Path) -> Path:
    for number, year in enumerate(("2023", "2024", "2024"), start=1):
        folder = tmp_path / "visits" / f"year={year}"
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(visits(number), folder / f"part-{number}.parquet")
    (tmp_path / "visits" / "_SUCCESS").touch()
    (tmp_path / "visits" / "notes").mkdir()
    return tmp_path / "visits"


@pytest.mark.parametrize("pattern", [".", "**/*.parquet", "year=*/part-*.parquet"])
def test_partitions_are_columns(partitions: Path, pattern: str) -> None:
    relation = tv.read(str(partitions / pattern), ROLES)
    assert relation.table["year"].to_pylist() == [2023, 2024, 2024]
    assert relation.table["who"].to_pylist() == ["p1", "p2", "p3"]
    assert relation.source is not None
    assert relation.source.endswith("(3 files)")


def test_values_of_partitions(tmp_path: Path) -> None:
    """Text unless all are whole numbers; escaped as in addresses; a column of the file comes first."""
    for value in ("a%2Fb", "7", "__HIVE_DEFAULT_PARTITION__"):
        folder = tmp_path / f"site={value}" / "zip=99"
        folder.mkdir(parents=True)
        pq.write_table(visits(1), folder / "p.parquet")
    source = open_source(tmp_path, Form())
    assert source.names == ("who", "day", "zip", "site")
    rows = pa.concat_tables(source.batches(["site", "zip"]))
    assert rows.to_pydict() == {"site": ["7", None, "a/b"], "zip": [1, 1, 1]}
    assert rows.schema.field("site").type == pa.string()


def test_the_file_that_differs_is_named(partitions: Path) -> None:
    pq.write_table(visits(4).rename_columns(["who", "day", "plz"]), partitions / "year=2024" / "x.parquet")
    with pytest.raises(tv.InputError, match=r"`year=2024/x.parquet` has other columns than.*`plz`"):
        tv.read(partitions, ROLES)
    typed = visits(4).set_column(2, "zip", pa.array(["9"]))
    pq.write_table(typed, partitions / "year=2024" / "x.parquet")
    with pytest.raises(tv.InputError, match=r"`year=2024/x.parquet` has other types than.*`zip`"):
        tv.read(partitions, ROLES)


def test_rows_come_file_by_file(partitions: Path) -> None:
    """A file that is not needed yet is not read, so that it may even be removed."""
    source = open_source(partitions, Form())
    batches = source.batches(["who"])
    assert next(rows for rows in batches if rows.num_rows)["who"].to_pylist() == ["p1"]
    (partitions / "year=2024" / "part-3.parquet").unlink()
    with pytest.raises(tv.InputError, match=r"no file `part-3\.parquet`"):
        list(batches)


@pytest.fixture(scope="module")
def bucket() -> Iterator[tuple[str, Any]]:
    """A bucket of a real server on the loopback address: what follows an address, and its file system."""
    server_module = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ACCESS_KEY_ID", "someone")
            patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
            patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
            _, port = server.get_host_and_port()
            end = f"?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
            store, _ = pafs.FileSystem.from_uri(f"s3://clinic{end}&allow_bucket_creation=true")
            store.create_dir("clinic")
            for number, year in enumerate((2023, 2024), start=1):
                with store.open_output_stream(f"clinic/v/year={year}/{number}.parquet") as file:
                    pq.write_table(visits(number), file)
            yield end, store
    finally:
        server.stop()


def test_a_bucket_is_one_table(bucket: tuple[str, Any], partitions: Path) -> None:
    end, _ = bucket
    local = tv.read(partitions, ROLES).table.slice(0, 2)
    for pattern in ("s3://clinic/v", "s3://clinic/v/**/*.parquet"):
        assert tv.read(pattern + end, ROLES).table.equals(local)
    source = open_source(f"s3://clinic/v{end}", Form())
    assert isinstance(source, ManyFiles)
    copies = source._files[0].local()
    with copies as path:
        folder = path.parent
        assert folder.stat().st_mode & 0o77 == 0
    assert not folder.exists()


def test_trouble_with_a_bucket(bucket: tuple[str, Any]) -> None:
    end, store = bucket
    with store.open_output_stream("clinic/w/1.csv") as file:
        file.write(b"who,day,zip\np,2024-01-01,1\n")
    with store.open_output_stream("clinic/w/2.csv") as file:
        file.write(b"who,day\np,2024-01-01\n")
    troubles = {
        f"s3://clinic/w{end}": "`2.csv` has other columns than `1.csv`",
        f"s3://clinic/none{end}": "there is no file like `none`",
        f"s3://someone:{SECRET}@clinic/v": "contains a key or a password",
        f"s3://clinic/v{end}&secret_key={SECRET}": "contains a key or a password",
    }
    for address, message in troubles.items():
        with pytest.raises(tv.TimeveilError, match=message) as refused:
            tv.read(address, tv.Roles(respondent="who", time="day", quasi=["zip"]))
        assert SECRET not in str(refused.value)
        assert refused.value.exit_code == 2
