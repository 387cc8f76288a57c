"""A folder says what its rows say, and nothing beside: hashes that fit are not enough."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.folder.making import CANARY, plain_release

from timeveil.errors import BundleError
from timeveil.folder import damage, open_release, write
from timeveil.folder.manifest import as_json


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
