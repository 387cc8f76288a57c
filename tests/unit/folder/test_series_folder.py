"""The folder and the ledger file of a series release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.series.making import neighbours, table_of

from timeveil.errors import BundleError
from timeveil.folder import damage, open_ledger, open_release, write
from timeveil.folder.manifest import as_json
from timeveil.judging import verify
from timeveil.models.series.method import anonymize_series, publishing

FORMATS = ("parquet", "csv")


@pytest.fixture(autouse=True)
def _by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "partitioned", neighbours)


def published(**given: Any) -> Any:
    return anonymize_series(*table_of(), **{"k": 6, "p": 3, **given})


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("method", ["adaptive", "kapra", "naive", "representative"])
@pytest.mark.parametrize("given", [{}, {"l": 3}, {"publish_values": ["t1"], "publish_pattern": ["t1", "t3"]}])
def test_a_release_opens_as_it_was_written(
    tmp_path: Path, form: Any, method: str, given: dict[str, Any]
) -> None:
    release, ledger = published(method=method, **given)
    write(release, tmp_path / "out", format=form)
    write(ledger, tmp_path / "ledger")
    opened, private = open_release(tmp_path / "out"), open_ledger(tmp_path / "ledger")
    assert opened.table.equals(release.table)
    assert opened.guarantee == release.guarantee
    assert {key: opened.manifest[key] for key in release.manifest} == release.manifest
    assert damage(tmp_path / "out") == ()
    assert private.table.equals(ledger.table)
    assert private.original.roles == ledger.original.roles
    assert verify(opened, private).violations == ()


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [("parameters", "max_level", "many"), ("parameters", "fill", 3), (None, "model", "tables")],
)
def test_a_manifest_that_describes_no_release_opens_for_verify_alone(
    tmp_path: Path, section: str | None, key: str, value: Any
) -> None:
    folder = write(published()[0], tmp_path / "out")
    manifest = json.loads((folder / "release.json").read_text())
    (manifest if section is None else manifest[section])[key] = value
    (folder / "release.json").write_bytes(as_json(manifest))
    with pytest.raises(BundleError) as caught:
        open_release(folder)
    assert caught.value.code == "folder-damaged"
    assert not verify(open_release(folder, check=False))


def letter(tmp_path: Path, **given: Any) -> str:
    release, _ = published(**given)
    folder = write(release, tmp_path / "out", format="csv")
    return " ".join((folder / "README.txt").read_text().split())


def test_the_letter_of_a_usual_release(tmp_path: Path) -> None:
    said = letter(tmp_path)
    assert "every value envelope is shared by at least 6 series" in said
    assert "rounded outward to 3 significant digits" in said
    assert "one number per letter" in said
    assert "Every pattern fits each of its series." in said
    assert "Two releases of the same people" in said
    assert "replaced" not in said
    assert "groups were formed on all" not in said


def test_the_letter_of_an_unusual_release(tmp_path: Path) -> None:
    said = letter(tmp_path, method="representative", round_outward=None, l=3, publish_values=["t1", "t2"])
    assert "the exact value of a member" in said
    assert "a letter need not fit any one of them" in said
    assert "Some values of ill were replaced by others nearby" in said
    assert "ill (int64) sensitive; some values were replaced by others nearby" in said
    assert "Values of 2 of them are published, and letters of 4" in said
