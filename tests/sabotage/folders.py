"""What can be done to the folder of a release, from a careless hand to a forger who writes all of it anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import timeveil as tv
from timeveil.folder.writing import fill


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing done to a folder, and what `damage` calls it; or, in `opens`, why it does not open at all."""

    what: str
    code: str
    says: str
    do: Callable[[Path], Any]
    opens: str = ""


def forged(release: tv.Release, place: Path) -> Path:
    """A folder written as timeveil writes it, with all hashes right, whatever is in it."""
    place.mkdir()
    fill(release, place, "parquet")
    return place


def restated(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """The manifest told otherwise, in the form that timeveil writes."""
    path = folder / "release.json"
    manifest = json.loads(path.read_text("utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", "utf-8")


def _table(folder: Path) -> Path:
    return folder / "data.parquet"


def _edited(folder: Path) -> None:
    data = bytearray(_table(folder).read_bytes())
    data[len(data) // 2] ^= 1
    _table(folder).write_bytes(bytes(data))


def _linked(folder: Path) -> None:
    away = folder.parent / "elsewhere.parquet"
    _table(folder).rename(away)
    _table(folder).symlink_to(away)


def _hash(manifest: dict[str, Any]) -> None:
    manifest["tables"]["data"]["sha256"] = "0" * 64


def _rows(manifest: dict[str, Any]) -> None:
    manifest["tables"]["data"]["rows"] += 1


def _spaced(folder: Path) -> None:
    path = folder / "release.json"
    path.write_text(path.read_text("utf-8") + "\n", "utf-8")


DAMAGES = [
    Damage("a missing table", "file-missing", "`data.parquet` is missing", lambda f: _table(f).unlink()),
    Damage("a table behind a link", "file-missing", "`data.parquet` is missing", _linked),
    Damage("a table with one bit turned", "file-changed", "`data.parquet` has changed", _edited),
    Damage(
        "a truncated table",
        "file-changed",
        "`data.parquet` has changed",
        lambda f: _table(f).write_bytes(_table(f).read_bytes()[:-40]),
    ),
    Damage("a stale hash", "file-changed", "`data.parquet` has changed", lambda f: restated(f, _hash)),
    Damage(
        "a missing README", "file-missing", "`README.txt` is missing", lambda f: (f / "README.txt").unlink()
    ),
    Damage("an extra file", "file-extra", "`notes.txt` does not", lambda f: (f / "notes.txt").touch()),
    Damage("a hidden file", "file-extra", "`.secret` does not", lambda f: (f / ".secret").touch()),
    Damage("an extra folder", "file-extra", "`more` does not belong", lambda f: (f / "more").mkdir()),
    Damage("a manifest of another form", "file-form", "the manifest is not written as", _spaced),
    Damage(
        "a missing manifest",
        "folder-missing",
        "there is no release.json in it",
        lambda f: (f / "release.json").unlink(),
        opens="never",
    ),
    Damage(
        "a truncated manifest",
        "folder-damaged",
        "is not JSON",
        lambda f: (f / "release.json").write_bytes((f / "release.json").read_bytes()[:-9]),
        opens="never",
    ),
    Damage(
        "another number of rows",
        "folder-damaged",
        "rows where release.json states",
        lambda f: restated(f, _rows),
        opens="until it is read",
    ),
]
