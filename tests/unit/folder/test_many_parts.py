"""Releases in many files, as executors write them: every verb reads them, and every fault is found."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import timeveil as tv
from timeveil import datasets
from timeveil.domain.stored import PLAIN_PARQUET, Part, Parts, PrivateFolder
from timeveil.folder import rewrite

ROLES = tv.Roles(respondent="patient", time="taken_at", quasi=["zip"], sensitive=["result"], drop="rest")
WHOLE, LEDGER = tv.generalize_time(datasets.clinic_visits(rows=400, seed=3), ROLES, 4, suppress=0.2)


def in_parts(release: tv.Release, number: int = 3) -> tv.Release:
    """The same release with its rows in private files, each with its hash."""
    table, folder, parts = release.table, PrivateFolder(), []
    size = -(-table.num_rows // number)
    for start in range(0, table.num_rows, size):
        path = folder.path / f"part-{start}"
        pq.write_table(table.slice(start, size), path, **PLAIN_PARQUET)
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        parts.append(Part(path, table.slice(start, size).num_rows, sha256))
    return replace(release, parts={"data": Parts(parts, table.schema, folder)})


@pytest.fixture
def folder(tmp_path) -> Path:
    return Path(tv.write(in_parts(WHOLE), tmp_path / "published"))


def test_every_verb_reads_them(folder, tmp_path):
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    parts = [f"data/part-0000{number}.parquet" for number in range(3)]
    assert names == ["README.txt", "data", *parts, "release.json"]
    release = tv.open_release(folder)
    assert release.table.equals(WHOLE.table)
    entry = release.manifest["tables"]["data"]
    assert [part["file"] for part in entry["parts"]] == parts
    assert sum(part["rows"] for part in entry["parts"]) == entry["rows"] == WHOLE.table.num_rows
    assert tv.verify(release)
    assert tv.verify(release, LEDGER)
    assert tv.measure(release, LEDGER) == tv.measure(WHOLE, LEDGER)
    assert tv.attack(release, LEDGER).worst == tv.attack(WHOLE, LEDGER).worst
    query = tv.WindowCount(between=(None, None))
    assert tv.answer(release, query) == tv.answer(WHOLE, query)
    assert tv.report(folder, LEDGER)
    assert tv.compare([release, WHOLE])


def test_a_copy_and_csv_are_one_file(folder, tmp_path):
    copied = Path(rewrite(folder, tmp_path / "copy"))
    assert (copied / "data.parquet").is_file()
    assert tv.open_release(copied).table.equals(WHOLE.table)
    written = Path(tv.write(tv.open_release(folder), tmp_path / "csv", format="csv"))
    assert tv.open_release(written).table.equals(WHOLE.table)


def test_it_is_replaced_unless_something_else_is_among_its_parts(folder):
    tv.write(WHOLE, folder, overwrite=True)
    tv.write(in_parts(WHOLE), folder, overwrite=True)
    (folder / "data" / "mine.txt").write_text("notes")
    with pytest.raises(tv.TimeveilError):
        tv.write(WHOLE, folder, overwrite=True)
    assert (folder / "data" / "mine.txt").is_file()


def changed(folder: Path) -> None:
    path = folder / "data" / "part-00001.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")


def exchanged(folder: Path) -> None:
    first, second = (folder / "data" / f"part-0000{number}.parquet" for number in (0, 1))
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)


def linked(folder: Path) -> None:
    shutil.move(folder / "data", folder.parent / "elsewhere")
    (folder / "data").symlink_to(folder.parent / "elsewhere")


@pytest.mark.parametrize(
    "damage",
    [
        changed,
        exchanged,
        linked,
        lambda folder: (folder / "data" / "part-00002.parquet").unlink(),
        lambda folder: (folder / "data" / "part-00003.parquet").write_bytes(b""),
        lambda folder: (folder / "data" / "notes.txt").write_bytes(b""),
    ],
)
def test_damage_to_a_part_is_found(folder, damage):
    damage(folder)
    assert not tv.verify(folder)
    with pytest.raises(tv.BundleError):
        tv.open_release(folder)


@pytest.mark.parametrize(
    "parts",
    [
        7,
        "parts",
        [],
        [{"file": "../x", "rows": 1, "sha256": "0" * 64}],
        [{"file": "data/part-00000.parquet", "rows": True, "sha256": "0" * 64}],
        [{"file": "data/part-00000.parquet", "rows": 1, "sha256": "0" * 64, "more": 1}],
        [[]],
    ],
)
def test_another_description_of_parts_is_refused(folder, parts):
    manifest = json.loads((folder / "release.json").read_text())
    manifest["tables"]["data"]["parts"] = parts
    (folder / "release.json").write_text(json.dumps(manifest))
    with pytest.raises(tv.BundleError, match="describes a table by more or less"):
        tv.open_release(folder)


def test_a_part_that_is_not_what_an_executor_wrote_is_not_published(tmp_path):
    release = in_parts(WHOLE)
    (first, *_) = release.parts["data"].parts
    first.path.write_bytes(first.path.read_bytes()[:-1])
    with pytest.raises(tv.BundleError, match="reads back differently"):
        tv.write(release, tmp_path / "published")
    assert not list(tmp_path.iterdir())


def test_parts_in_another_order_or_one_short_are_not_published(tmp_path):
    """The judge reads what was written: the order of parts is part of the order of rows."""
    release = in_parts(WHOLE)
    data = release.parts["data"]
    for parts in (data.parts[::-1], data.parts[1:]):
        wrong = replace(release, parts={"data": Parts(parts, data.schema, data.folder)})
        with pytest.raises(tv.BundleError, match="does not keep its promise"):
            tv.write(wrong, tmp_path / "published")
    assert not list(tmp_path.iterdir())
