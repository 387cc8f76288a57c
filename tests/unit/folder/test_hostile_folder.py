"""A release folder that somebody sent: nothing outside of it is read, and nothing in it takes the machine."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.folder.making import CANARY, plain_release

from timeveil.errors import BundleError, InputError, TimeveilError
from timeveil.folder import damage, open_release, write
from timeveil.folder.opening import judged

Change = Callable[[Path, dict[str, Any]], None]


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    return write(plain_release(), tmp_path_factory.mktemp("sound") / "out", format="csv")


@pytest.fixture
def folder(sound, tmp_path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "out"))


def rewritten(folder: Path, change: Change) -> None:
    """The manifest with a change, and the right hash of the table whatever it is."""
    told = json.loads((folder / "release.json").read_text())
    change(folder, told)
    entry = told["tables"]["data"]
    entry["sha256"] = hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest()
    (folder / "release.json").write_text(json.dumps(told, indent=2) + "\n")


def refused(folder: Path) -> TimeveilError:
    with pytest.raises(TimeveilError) as caught:
        open_release(folder).tables  # noqa: B018
    assert isinstance(caught.value, BundleError | InputError)
    assert CANARY not in str(caught.value)
    return caught.value


@pytest.fixture
def elsewhere(tmp_path) -> Path:
    place = tmp_path / "private.csv"
    place.write_text(f"{CANARY}\n{CANARY}\n")
    return place


@pytest.mark.parametrize("name", ["data.csv", "README.txt", "release.json"])
def test_a_link_in_a_folder_is_not_followed(folder, elsewhere, name):
    """Not even to a file of the right content."""
    shutil.copy(folder / name, elsewhere)
    (folder / name).unlink()
    (folder / name).symlink_to(elsewhere)
    assert name in refused(folder).message


def test_a_linked_table_is_not_read_when_nothing_is_checked(folder, elsewhere):
    (folder / "data.csv").unlink()
    (folder / "data.csv").symlink_to(elsewhere)
    with pytest.raises(BundleError, match="is missing, or is a link"):
        open_release(folder, check=False).tables  # noqa: B018
    verdict = judged(folder)[1]
    assert not verdict
    assert CANARY not in str(verdict)


@pytest.mark.parametrize("name", ["data.csv", "README.txt", "release.json"])
def test_a_pipe_in_a_folder_is_not_waited_for(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert name in refused(folder).message


def test_a_second_name_for_a_file_is_no_harm(folder, tmp_path):
    os.link(folder / "data.csv", tmp_path / "copy")
    assert damage(folder) == ()


@pytest.mark.parametrize("at", ["slots", "slots/2024-01-01"])
def test_linked_slots_are_not_looked_into(folder, tmp_path, at):
    stream = tmp_path / "stream"
    (stream / at).parent.mkdir(parents=True)
    (stream / at).symlink_to(folder)
    assert refused(stream).code == "folder-missing"


@pytest.mark.parametrize(
    "name", ["../private", "/etc/passwd", "..", "a/b", "a\0b", "x" * 5000, "", "Data", "data\n", "\u202e"]
)
def test_names_of_tables_that_lead_elsewhere(folder, name):
    def change(_: Path, told: dict[str, Any]) -> None:
        told["tables"][name] = {**told["tables"]["data"], "file": f"{name}.csv"}
        told[f"{name}_columns"] = told["columns"]

    rewritten(folder, change)
    assert refused(folder).code == "folder-damaged"


def set_type(kind: str) -> Change:
    return lambda _, told: told["columns"][0].update(type=kind)


@pytest.mark.parametrize(
    "kind",
    [
        *("decimal128(99999999999999999999, 0)", "decimal128(38, -99999999999)", "decimal256(0, 0)"),
        *("timestamp[ms, tz=../../../etc/passwd]", "timestamp[ms, tz=/etc/localtime]", "timestamp[ms, tz=x]"),
        *("list<list<string>>", "struct<a: int64>", "time64[ns]", ""),
    ],
)
def test_types_that_are_none(folder, kind):
    rewritten(folder, set_type(kind))
    assert refused(folder).code == "folder-damaged"


ODD = [0, 1, -1, 10**9, 10**18, 2**64, 10**30, -(10**30), 0.5, 1e308]


@pytest.mark.parametrize("number", ODD)
def test_absurd_numbers(folder, number):
    def change(_: Path, told: dict[str, Any]) -> None:
        told["counts"] = dict.fromkeys(told["counts"], number)
        told["tables"]["data"]["rows"] = number
        told["guarantee"]["k"] = told["parameters"]["k"] = number

    rewritten(folder, change)
    refused(folder)
    with contextlib.suppress(BundleError):
        assert not judged(folder)[1]


@pytest.mark.parametrize("depth", [60, 900, 100_000])
def test_a_manifest_nested_in_itself(folder, depth):
    path = folder / "release.json"
    path.write_text(path.read_text().replace('"levels": {}', '"levels": ' + "[" * depth + "]" * depth))
    assert refused(folder).code == "folder-damaged"


def test_a_manifest_without_end(folder, monkeypatch):
    monkeypatch.setenv("TIMEVEIL_LIMITS", "description=1KB")
    error = refused(folder)
    assert (error.code, error.facts) == ("too-large", {"limit": "description"})


@pytest.mark.parametrize("content", [b"", b"\0" * 5000, b"x" * (3 << 20), b"\xff\xfe", b'"zip"\n"open'])
def test_tables_of_the_right_hash_that_are_none(folder, content):
    rewritten(folder, lambda place, _: (place / "data.csv").write_bytes(content) and None)
    refused(folder)
    assert not judged(folder)[1]


def as_parquet(table: pa.Table, **options: Any) -> Change:
    def change(place: Path, told: dict[str, Any]) -> None:
        (place / "data.csv").unlink()
        pq.write_table(table, place / "data.parquet", **options)
        rows = {"file": "data.parquet", "format": "parquet", "rows": table.num_rows}
        told["tables"]["data"] |= rows
        del told["tables"]["data"]["formula_cells"]

    return change


def alike(rows: int, text: str) -> pa.Table:
    """A table with the columns of the release and one text in every row."""
    zeros = pa.array(np.zeros(rows, np.int32))
    texts = pa.DictionaryArray.from_arrays(zeros, pa.array([text]))
    days = zeros.cast(pa.date32())
    numbers = zeros.cast(pa.float64())
    return pa.table({"zip": texts, "result": numbers, "day": texts, "day_start": days, "day_end": days})


def test_a_bomb_of_the_right_hash(folder, monkeypatch):
    monkeypatch.setenv("TIMEVEIL_LIMITS", "unpacked=10MB,ratio=1")
    rewritten(folder, as_parquet(alike(50_000, CANARY * 1000), store_schema=False))
    assert (folder / "data.parquet").stat().st_size < 10_000
    refused(folder)
    with pytest.raises(InputError) as caught:
        judged(folder)
    assert caught.value.code == "too-large"


def test_what_was_just_written_is_read_back_whatever_it_claims(tmp_path, monkeypatch):
    """A long release of few values packs well; it is the recipient who must not be surprised."""
    monkeypatch.setenv("TIMEVEIL_LIMITS", "unpacked=1KB,ratio=1,description=100")
    folder = write(plain_release(), tmp_path / "new")
    assert refused(folder).code == "too-large"
    monkeypatch.delenv("TIMEVEIL_LIMITS")
    assert damage(folder) == ()


def test_text_that_is_no_text(folder):
    table = alike(2, "x")
    bad = pa.Array.from_buffers(pa.string(), 2, pa.array([b"a", b"\xff"]).buffers())
    rewritten(folder, as_parquet(table.set_column(0, "zip", bad), store_schema=False))
    refused(folder)
    assert not judged(folder)[1]


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "\ud800"])
def test_folders_that_no_system_has(name):
    with pytest.raises(BundleError) as caught:
        open_release(name)
    assert caught.value.code == "folder-missing"
