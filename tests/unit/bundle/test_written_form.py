"""A folder says what its rows say, and nothing beside: hashes that fit are not enough."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.bundle.making import CANARY, plain_release, release_of

from timeveil.errors import BundleError
from timeveil.folder import damage, open_release, write
from timeveil.folder.folder import as_json


def reseal(folder: Path, change: Callable[[dict], None] = lambda _: None) -> None:
    """Change the manifest, and make its hashes fit what lies there now."""
    path = folder / "release.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    for entry in manifest["tables"].values():
        entry["sha256"] = hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest()
    path.write_bytes(as_json(manifest))


def found(folder: Path) -> list[str]:
    """The codes of the damage; opening the folder refuses it, too."""
    seen = damage(folder)
    assert CANARY not in repr(seen)
    with pytest.raises(BundleError) as caught:
        open_release(folder)
    assert caught.value.code == "folder-damaged"
    return [violation.code for violation in seen]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("37,", "037,"),
        ("37,", "0037,"),
        ("0.5,", ".5,"),
        ("0.5,", "5e-1,"),
        ("0.5,", '"0.5",'),
        ("1.50,", "1.5,"),
        ("true,", "1,"),
        ('"text"', "text"),
        ("12:00:00.000+0100", "11:00:00.000Z"),
        ("\n", "\r\n"),
    ],
)
def test_a_cell_written_in_another_way_is_noticed(tmp_path, old, new):
    """One value in four spellings tells four people apart; a recipient sees bytes, not values."""
    columns = {
        "whole": [37],
        "share": [0.5],
        "money": pa.array([Decimal("1.50")], pa.decimal128(9, 2)),
        "flag": [True],
        "note": ["text"],
        "stamp": pa.array([1_709_204_400_000], pa.timestamp("ms", "Europe/Berlin")),
    }
    folder = write(release_of(columns), tmp_path / "out", format="csv")
    assert damage(folder) == ()
    table = folder / "data.csv"
    content = table.read_bytes().decode()
    assert old in content
    table.write_bytes(content.replace(old, new, 1).encode())
    reseal(folder)
    assert found(folder) == ["file-form"]


def test_a_byte_order_mark_is_noticed(tmp_path):
    folder = write(plain_release(), tmp_path / "out", format="csv")
    table = folder / "data.csv"
    table.write_bytes(b"\xef\xbb\xbf" + table.read_bytes())
    reseal(folder)
    assert found(folder) == ["file-form"]


PLAIN = {"compression": "zstd", "use_dictionary": False, "write_statistics": False, "store_schema": False}


@pytest.mark.parametrize(
    "options",
    [
        {"write_statistics": True},
        {"use_dictionary": True},
        {"store_schema": True},
        {"row_group_size": 2},
        {"column_encoding": {"zip": "DELTA_BYTE_ARRAY"}},
        {"write_page_index": True, "write_statistics": True},
    ],
)
def test_parquet_with_more_than_its_rows_is_noticed(tmp_path, options):
    folder = write(plain_release(), tmp_path / "out")
    pq.write_table(plain_release().table, folder / "data.parquet", **{**PLAIN, **options})
    reseal(folder)
    assert found(folder) == ["file-form"]


def test_parquet_as_it_is_written_is_let_pass(tmp_path):
    folder = write(plain_release(), tmp_path / "out")
    pq.write_table(plain_release().table, folder / "data.parquet", **PLAIN)
    reseal(folder)
    assert damage(folder) == ()


def test_parquet_with_metadata_is_noticed(tmp_path):
    folder = write(plain_release(), tmp_path / "out")
    with pq.ParquetWriter(folder / "data.parquet", plain_release().table.schema, **PLAIN) as file:
        file.write_table(plain_release().table)
        file.add_key_value_metadata({"ids": CANARY})
    reseal(folder)
    assert found(folder) == ["file-form"]


def test_parquet_of_a_wider_type_is_noticed(tmp_path):
    """It would open as the stated type, and look the same."""
    release = release_of({"n": pa.array([1, 2], pa.int32())})
    folder = write(release, tmp_path / "out")
    wider = release.table.set_column(0, "n", release.table["n"].cast(pa.int64()))
    pq.write_table(wider, folder / "data.parquet", **PLAIN)
    reseal(folder)
    assert found(folder) == ["file-form"]


def test_bytes_hidden_between_the_columns_are_noticed(tmp_path):
    """A reader goes by offsets, so whatever lies before the footer is never seen."""
    folder = write(plain_release(), tmp_path / "out")
    table = folder / "data.parquet"
    content = table.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    table.write_bytes(content[:-footer] + CANARY.encode() + content[-footer:])
    reseal(folder)
    assert open_release(folder, check=False).table.equals(plain_release().table)
    assert found(folder) == ["file-form"]


def test_a_readme_that_was_taken_away_is_noticed(tmp_path):
    folder = write(plain_release(), tmp_path / "out")
    (folder / "README.txt").unlink()
    assert found(folder) == ["file-missing"]


def test_a_manifest_with_a_key_twice_or_in_another_form_is_noticed(tmp_path):
    """The last of two keys counts; the first could say anything."""
    folder = write(plain_release(), tmp_path / "out")
    path = folder / "release.json"
    path.write_text(path.read_text().replace('"format": 1', f'"format": "{CANARY}",\n  "format": 1'))
    assert found(folder) == ["file-form"]


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["tables"]["data"].update(ids=[CANARY]),
        lambda m: m["tables"]["data"].update(formula_cells=CANARY),
        lambda m: m["tables"]["data"].update(file="other.parquet"),
    ],
)
def test_a_table_is_described_by_known_keys_alone(tmp_path, change):
    folder = write(plain_release(), tmp_path / "out")
    path = folder / "release.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_bytes(as_json(manifest))
    with pytest.raises(BundleError, match="describes a table by more or less"):
        open_release(folder, check=False)


def test_numbers_that_json_has_not_are_damage(tmp_path):
    folder = write(plain_release(), tmp_path / "out")
    path = folder / "release.json"
    path.write_text(path.read_text().replace('"suppress": 0.0', '"suppress": Infinity'))
    assert found(folder) == ["file-form"]
    path.write_text("[" * 100_000)
    with pytest.raises(BundleError, match="is not JSON"):
        damage(folder)
