"""Reading back is part of writing: a writer that changes one value publishes nothing, whatever the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.hygiene.canaries import TABLES
from tests.hygiene.test_python import METHODS, WIDE
from tests.service.inboxes import Place, fill

import timeveil as tv
from timeveil.folder import tables, writing

Batches = Iterator[pa.RecordBatch]


def another(column: pa.Array) -> pa.Array:
    """The column with its last cell changed a little."""
    cells = column.to_pylist()
    match cells[-1]:
        case list():
            cells[-1] = [*cells[-1][:-1], *another(pa.array(cells[-1][-1:])).to_pylist()]
        case str():
            cells[-1] = cells[-1][:-1] + ("b" if cells[-1].endswith("a") else "a")
        case int() | float():
            cells[-1] = cells[-1] + 1
        case day:
            cells[-1] = day.replace(year=day.year + 1)
    return pa.array(cells, column.type)


def changing(table: str, place: int) -> Callable[..., Any]:
    """A writer that means one thing and writes another in one column."""
    true = tables.write_table

    def write(batches: Batches, schema: pa.Schema, file: Any, form: Any) -> int:
        given = list(batches)
        if Path(file.name).stem == table and given:
            column = schema.names[place % len(schema.names)]
            at = schema.get_field_index(column)
            given[-1] = given[-1].set_column(at, column, another(given[-1].column(at)))
        return true(iter(given), schema, file, form)

    return write


@pytest.fixture(scope="module")
def releases() -> dict[str, tv.Release]:
    wanted = ("time", "stream", "packets", "series", "patterns")
    return {name: METHODS[name][0](TABLES[METHODS[name][1]]())[0] for name in wanted}


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("name", ["time", "stream", "packets", "series", "patterns"])
def test_a_changed_cell_is_never_published(
    releases: dict[str, tv.Release], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, form: Any
) -> None:
    release = releases[name]
    for table, content in release.tables.items():
        for place in range(content.num_columns):
            with monkeypatch.context() as patch:
                patch.setattr("timeveil.folder.writing.write_table", changing(table, place))
                with pytest.raises(tv.BundleError) as caught:
                    tv.write(release, tmp_path / "out", format=form)
            assert caught.value.code in ("not-verified", "folder-damaged"), caught.value
            assert list(tmp_path.iterdir()) == []
    tv.write(release, tmp_path / "out", format=form)


@pytest.mark.parametrize("name", ["time", "stream", "packets", "series", "patterns"])
def test_a_release_that_breaks_its_promise_is_never_published(
    releases: dict[str, tv.Release], tmp_path: Path, name: str
) -> None:
    """The bytes are as they were meant; it is the verifier, reading them, that does not agree."""
    release = releases[name]
    fewer = {table: content.slice(0, content.num_rows - 1) for table, content in release.tables.items()}
    with pytest.raises(tv.BundleError) as caught:
        tv.write(tv.Release(release.guarantee, release.manifest, fewer), tmp_path / "out")
    assert caught.value.code == "not-verified"
    assert list(tmp_path.iterdir()) == []


def test_a_stream_in_service_publishes_no_changed_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slot stays final and unpublished, and goes out once the writer is well again."""
    place = Place(tmp_path / "place")
    fill(place.inbox, 6)
    with monkeypatch.context() as patch:
        patch.setattr("timeveil.folder.writing.write_table", changing("sensitive", 3))
        with pytest.raises(tv.BundleError) as caught:
            place.run()
    assert caught.value.code == "not-verified"
    assert place.slots() == []
    place.run()
    assert place.slots() != []
    assert tv.verify(tv.open_release(place.out))


def test_no_part_of_writing_skips_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is opened to be checked is the hidden folder, before it has its name."""
    seen = []
    true = writing.open_release

    def opened(folder: Path, **options: Any) -> tv.Release:
        seen.append((folder.name, (tmp_path / "out").exists()))
        return true(folder, **options)  # type: ignore[no-any-return]

    monkeypatch.setattr("timeveil.folder.writing.open_release", opened)
    release, _ = tv.anonymize_series(TABLES["curves"](), WIDE, k=4, p=2, fill="drop")
    tv.write(release, tmp_path / "out")
    assert seen == [("release", False)]


def test_a_ledger_has_its_name_only_with_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed while the release is checked, nothing is left that has a name."""
    monkeypatch.chdir(tmp_path)
    during, true = [], writing._check

    def check(*given: Any) -> None:
        during.append(sorted(path.name.partition("partial")[0] for path in tmp_path.iterdir()))
        true(*given)

    monkeypatch.setattr(writing, "_check", check)
    release, ledger = METHODS["series"][0](TABLES["curves"]())
    writing.write_pair(release, Path("out"), ledger, Path("ledger"), "csv")
    assert during == [[".ledger.", ".out."]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ledger", "out"]


def test_a_ledger_loses_its_name_if_the_release_gets_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, ledger = METHODS["series"][0](TABLES["curves"]())
    monkeypatch.setattr(Path, "rename", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        writing.write_pair(release, tmp_path / "out", ledger, tmp_path / "ledger", "csv")
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_that_is_there_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else made a file of that name while the release was checked."""
    release, ledger = METHODS["series"][0](TABLES["curves"]())
    true = writing._check
    monkeypatch.setattr(writing, "_check", lambda *given: [true(*given), (tmp_path / "ledger").touch()])
    with pytest.raises(tv.BundleError) as caught:
        writing.write_pair(release, tmp_path / "out", ledger, tmp_path / "ledger", "csv")
    assert caught.value.code == "folder-exists"
    assert [path.name for path in tmp_path.iterdir()] == ["ledger"]
