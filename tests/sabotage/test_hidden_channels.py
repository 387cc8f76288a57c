"""Places where a sender could hide something: it is refused, or a clean copy is without it.

Bytes of a table that no cell shows are not judged, and `verify` says so; `--rewrite` leaves them behind. The
manifest has a closed schema and one spelling, so that whatever is hidden in it is refused.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import timeveil as tv
from tests.sabotage import parquet_bytes as thrift
from tests.sabotage.folders import forged, restated
from tests.sabotage.parquet_bytes import BINARY, LIST, STRUCT, Struct, field, put
from tests.sabotage.valid import made
from timeveil.cli import run

SECRET = b"canary7391"
SKIPPABLE = 0x184D2A50.to_bytes(4, "little") + len(SECRET).to_bytes(4, "little") + SECRET
"""A frame that every zstd reader leaves out."""


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def resealed(folder: Path) -> None:
    def hashes(manifest: dict[str, Any]) -> None:
        for entry in manifest["tables"].values():
            entry["sha256"] = hashlib.sha256((folder / entry["file"]).read_bytes()).hexdigest()

    restated(folder, hashes)


# In the bytes of a table.


def in_footer(change: Callable[[Struct], None]) -> Callable[[Path], None]:
    return lambda path: thrift.rewritten(path, footer=change)


def in_columns(change: Callable[[Struct], None]) -> Callable[[Path], None]:
    def each(footer: Struct) -> None:
        for group in field(footer, thrift.ROW_GROUPS)[1]:
            for chunk in field(group, thrift.COLUMNS)[1]:
                change(field(chunk, thrift.DESCRIPTION))

    return in_footer(each)


def in_pages(change: Callable[[Struct], None]) -> Callable[[Path], None]:
    def each(header: Struct, body: bytes) -> thrift.Page:
        change(header)
        return header, body

    return lambda path: thrift.rewritten(path, each)


def add_metadata(footer: Struct) -> None:
    put(footer, thrift.KEY_VALUES, LIST, (STRUCT, [[[1, BINARY, SECRET], [2, BINARY, SECRET]]]))


def add_statistics(header: Struct) -> None:
    put(field(header, thrift.DATA_PAGE), thrift.STATISTICS, STRUCT, [[5, BINARY, SECRET]])


def with_a_gap(path: Path) -> None:
    content = path.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    path.write_bytes(content[:-footer] + SECRET + content[-footer:])


BYTES: dict[str, Callable[[Path], None]] = {
    "an unknown field of the footer": in_footer(lambda footer: put(footer, 99, BINARY, SECRET)),
    "an unknown field of a column": in_columns(lambda column: put(column, 99, BINARY, SECRET)),
    "an unknown field of a page": in_pages(lambda header: put(header, 99, BINARY, SECRET)),
    "statistics of a page": in_pages(add_statistics),
    "a frame that is skipped": lambda path: thrift.rewritten(
        path, lambda head, body: (head, body + SKIPPABLE)
    ),
    "digits of the version that wrote it": in_footer(
        lambda footer: put(footer, thrift.CREATED_BY, BINARY, b"parquet-cpp-arrow version 7.3.91")
    ),
    "metadata": in_footer(add_metadata),
    "bytes between column and footer": with_a_gap,
}


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tv.write(made("time", 0)[0], tmp_path_factory.mktemp("honest") / "out")


@pytest.mark.parametrize("channel", BYTES)
def test_what_is_hidden_in_bytes_is_not_copied(channel: str, honest: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(honest, tmp_path / "out")
    BYTES[channel](folder / "data.parquet")
    resealed(folder)
    assert contents(folder) != contents(honest)
    verdict = tv.verify(folder, rewrite=tmp_path / "clean")
    assert verdict
    assert contents(tmp_path / "clean") == contents(honest)


def test_words_of_the_letter_are_not_copied(honest: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(honest, tmp_path / "out")
    (folder / "README.txt").write_bytes(SECRET)
    assert tv.verify(folder, rewrite=tmp_path / "clean")
    assert contents(tmp_path / "clean") == contents(honest)


def test_verify_says_what_it_does_not_judge(honest: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(honest)]) == 0
    said = " ".join(capfd.readouterr().out.split())
    assert "bytes that no cell shows and the words of README.txt are not judged" in said
    assert "`timeveil verify --rewrite` leaves them out" in " ".join(said.split())


# In the manifest.

SHAPES = {
    "time": "time",
    "stream": "stream, buckets",
    "series": "series, adaptive",
    "patterns": "patterns, baskets, additive, closed",
}


@pytest.fixture(scope="module", params=SHAPES)
def any_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tv.write(made(SHAPES[request.param], 0)[0], tmp_path_factory.mktemp("any") / "out")


def tables_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where a manifest has a table of two or more keys."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [path] if isinstance(value, dict) and len(value) > 1 else []
    return found + [below for key, item in inner for below in tables_of(item, (*path, key))]


def test_keys_have_one_order(any_folder: Path, tmp_path: Path) -> None:
    """Of every table in the manifest: n keys in any order would be a message of log2(n!) bits."""
    before = (any_folder / "release.json").read_bytes()
    paths = tables_of(json.loads(before))
    assert len(paths) > 5
    for number, path in enumerate(paths):
        folder = shutil.copytree(any_folder, tmp_path / str(number))

        def turned(manifest: dict[str, Any], path: tuple[Any, ...] = path) -> None:
            table = manifest
            for key in path:
                table = table[key]
            entries = list(table.items())
            table.clear()
            table.update(reversed(entries))

        restated(folder, turned)
        assert (folder / "release.json").read_bytes() != before
        assert not tv.verify(folder), path


def places_of_text(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [path] if isinstance(value, str) else []
    return found + [below for key, item in inner for below in places_of_text(item, (*path, key))]


FREE = {("time", "column")}
"""Of a stream: the name of a column that is not published."""


@pytest.mark.parametrize("hidden", ["{} canary7391", "canary7391", "{}\u200b", "{}."])
def test_no_string_is_free(any_folder: Path, tmp_path: Path, hidden: str) -> None:
    """Names of columns are judged with the table; every other string is one of a few, or has a format."""
    manifest = json.loads((any_folder / "release.json").read_bytes())
    free = FREE if manifest["model"] == "stream" else set()
    folder = shutil.copytree(any_folder, tmp_path / "out")
    for path in set(places_of_text(manifest)) - free:
        changed = json.loads(json.dumps(manifest))
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = hidden.format(inner[path[-1]])
        (folder / "release.json").write_text(json.dumps(changed, indent=2, ensure_ascii=False) + "\n")
        try:
            verdict = tv.verify(folder)
        except tv.TimeveilError:
            continue
        assert not verdict, path


@pytest.mark.parametrize("tool", ["timeveil 0.1.canary", "timeveil 0.1.0+canary", "timeveil 0.1.0.7391.7391"])
def test_the_version_of_the_tool_is_a_version(honest: Path, tmp_path: Path, tool: str) -> None:
    folder = shutil.copytree(honest, tmp_path / "out")
    restated(folder, lambda manifest: manifest.update(tool=tool))
    assert {violation.code for violation in tv.verify(folder).violations} == {"manifest"}


# In cells.


@pytest.mark.parametrize("end", ["start", "end"])
def test_a_bound_between_two_seconds_is_no_bound(end: str, tmp_path: Path) -> None:
    release, ledger = made("time, zoned", 0)
    name = f"{release.manifest['time']['column']}_{end}"
    column = release.table[name].cast(pa.timestamp("ms", release.table[name].type.tz))
    moved = pc.add(column.cast(pa.int64()), 123).cast(column.type)
    table = release.table.set_column(release.table.schema.get_field_index(name), name, moved)
    folder = forged(tv.Release(release.guarantee, release.manifest, {"data": table}), tmp_path / "out")
    for private in (None, ledger):
        assert [violation.code for violation in tv.verify(folder, private).violations] == ["granule"]


@pytest.mark.parametrize("end", ["start", "end"])
def test_a_date_with_a_time_is_no_date(end: str, tmp_path: Path) -> None:
    release, ledger = made("time", 0)
    folder, name = forged(release, tmp_path / "out"), f"{release.manifest['time']['column']}_{end}"
    table = pq.read_table(folder / "data.parquet")
    assert pa.types.is_date(table[name].type)
    moved = pc.add(table[name].cast(pa.timestamp("ms")), pa.scalar(123, pa.duration("ms")))
    table = table.set_column(table.schema.get_field_index(name), name, moved)
    pq.write_table(table, folder / "data.parquet", store_schema=False)
    resealed(folder)
    for private in (None, ledger):
        assert [violation.code for violation in tv.verify(folder, private).violations] == ["file-unreadable"]


@pytest.mark.parametrize(("cell", "forgery"), [("7,", "07,"), (",1.5,", ",1.50,"), (",true", ",True")])
def test_a_number_in_another_spelling_is_refused(cell: str, forgery: str, tmp_path: Path) -> None:
    table = pa.table(
        {
            "person": [1, 2] * 4,
            "day": ["2024-05-01"] * 8,
            "zip": [7] * 8,
            "dose": [1.5] * 8,
            "ill": [True] * 8,
        }
    )
    roles = tv.Roles(respondent="person", time="day", quasi=["zip"], keep=["dose", "ill"])
    release, ledger = tv.generalize_time(table, roles, k=2)
    tv.write(release, tmp_path / "out", format="csv")
    assert tv.verify(tmp_path / "out", ledger)
    text = (tmp_path / "out" / "data.csv").read_text()
    assert cell in text
    (tmp_path / "out" / "data.csv").write_text(text.replace(cell, forgery, 1))
    resealed(tmp_path / "out")
    for private in (None, ledger):
        assert [violation.code for violation in tv.verify(tmp_path / "out", private).violations] == [
            "file-unreadable"
        ]
