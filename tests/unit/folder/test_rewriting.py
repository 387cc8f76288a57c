"""A clean copy has the cells of a release and none of the bytes that hide between them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.folder.making import CANARY, plain_release

import timeveil as tv
from timeveil.errors import BundleError, ParameterError
from timeveil.folder import damage, rewrite, write
from timeveil.folder.manifest import as_json

PLAIN = {"compression": "zstd", "use_dictionary": False, "write_statistics": False, "store_schema": False}
Change = Callable[[Path], None]


def parquet(**options) -> Change:
    def change(folder: Path) -> None:
        pq.write_table(plain_release().table, folder / "data.parquet", **{**PLAIN, **options})

    return change


def with_metadata(folder: Path) -> None:
    with pq.ParquetWriter(folder / "data.parquet", plain_release().table.schema, **PLAIN) as file:
        file.write_table(plain_release().table)
        file.add_key_value_metadata({"ids": CANARY})


def with_a_gap(folder: Path) -> None:
    """A reader goes by offsets, so bytes before the footer are never seen."""
    content = (folder / "data.parquet").read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    (folder / "data.parquet").write_bytes(content[:-footer] + CANARY.encode() + content[-footer:])


HIDDEN = {
    "statistics": ("parquet", parquet(write_statistics=True)),
    "dictionaries": ("parquet", parquet(use_dictionary=True)),
    "an Arrow schema": ("parquet", parquet(store_schema=True)),
    "row groups": ("parquet", parquet(row_group_size=2)),
    "encodings": ("parquet", parquet(column_encoding={"zip": "DELTA_BYTE_ARRAY"})),
    "metadata": ("parquet", with_metadata),
    "bytes between columns": ("parquet", with_a_gap),
    "a byte order mark": (
        "csv",
        lambda f: (f / "data.csv").write_bytes(b"\xef\xbb\xbf" + (f / "data.csv").read_bytes()),
    ),
    "line ends": (
        "csv",
        lambda f: (f / "data.csv").write_bytes((f / "data.csv").read_bytes().replace(b"\n", b"\r\n")),
    ),
    "a README": ("csv", lambda f: (f / "README.txt").write_text(CANARY)),
    "a further file": ("csv", lambda f: (f / "notes.txt").write_text(CANARY)),
}


def reseal(folder: Path) -> None:
    """Make the hashes of the manifest fit the files."""
    manifest = json.loads((folder / "release.json").read_text())
    for entry in manifest["tables"].values():
        entry["sha256"] = hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest()
    (folder / "release.json").write_bytes(as_json(manifest))


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("name", HIDDEN)
def test_bytes_are_not_judged_and_not_copied(tmp_path, name):
    form, change = HIDDEN[name]
    original = write(plain_release(), tmp_path / "original", format=form)
    folder = write(plain_release(), tmp_path / "changed", format=form)
    change(folder)
    reseal(folder)
    assert contents(folder) != contents(original)
    assert {fault.code for fault in damage(folder)} <= {"file-extra"}
    assert contents(rewrite(folder, tmp_path / "clean")) == contents(original)


def test_a_spelling_of_the_manifest_is_not_copied(tmp_path):
    folder = write(plain_release(), tmp_path / "out")
    expected = contents(folder)
    path = folder / "release.json"
    path.write_text(path.read_text().replace('"format": 1', f'"format": "{CANARY}",\n  "format": 1'))
    assert contents(rewrite(folder, tmp_path / "clean")) == expected


@pytest.mark.parametrize("fault", ["file-changed", "file-missing", "promise"])
def test_what_is_damaged_or_violated_is_not_copied(tmp_path, fault):
    folder = write(plain_release(), tmp_path / "out")
    if fault == "promise":
        path = folder / "release.json"
        path.write_text(path.read_text().replace('"k": 2', '"k": 200'))
    else:
        (folder / "data.parquet").unlink()
    if fault == "file-changed":
        (folder / "data.parquet").write_bytes(b"PAR1")
    with pytest.raises(BundleError):
        rewrite(folder, tmp_path / "clean")
    assert not (tmp_path / "clean").exists()


def test_verify_takes_a_folder_and_copies_it(tmp_path):
    folder = write(plain_release(), tmp_path / "out")
    expected = contents(folder)
    verdict = tv.verify(folder, rewrite=tmp_path / "clean")
    assert verdict
    assert "every file exists" in verdict.checks[0]
    assert contents(tmp_path / "clean") == expected
    (folder / "notes.txt").touch()
    assert not tv.verify(str(folder), rewrite=tmp_path / "another")
    assert not (tmp_path / "another").exists()
    with pytest.raises(ParameterError):
        tv.verify(plain_release(), rewrite=tmp_path / "another")
    with pytest.raises(ParameterError, match="a int is not a path"):
        tv.verify(tmp_path / "clean", rewrite=5)


@pytest.mark.parametrize("hidden", ["in NaN", "in the sign of zero"])
def test_bits_that_no_cell_shows_are_not_copied(tmp_path, hidden):
    """Nor are those of the original published: a program may mark a missing number by its bits."""
    is_nan = hidden == "in NaN"
    bits = np.full(6, np.nan if is_nan else 0.0).view(np.uint64)
    marked = (bits | (np.arange(6, dtype=np.uint64) if is_nan else np.uint64(1 << 63))).view(np.float64)
    table = pa.table(
        {"who": [*"abcdef"], "at": ["2024-01-01"] * 6, "dose": pa.array(marked, from_pandas=False)}
    )
    release, ledger = tv.generalize_time(table, tv.Roles(respondent="who", time="at", keep=["dose"]), k=2)
    folder = write(release, tmp_path / "out")
    expected = contents(folder)
    assert tv.verify(tv.open_release(folder), ledger)
    stored = pq.read_table(folder / "data.parquet")
    assert (stored["dose"].to_numpy().view(np.uint64) == bits).all()
    forged = stored.set_column(0, "dose", pa.array(marked, from_pandas=False))
    pq.write_table(forged, folder / "data.parquet")
    reseal(folder)
    assert tv.verify(folder, rewrite=tmp_path / "clean")
    assert contents(tmp_path / "clean") == expected
