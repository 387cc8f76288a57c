"""Open a release folder: nothing in it is believed before it was looked at."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from timeveil.bundle.tables import Table, damaged
from timeveil.bundle.types import type_named
from timeveil.errors import BundleError
from timeveil.model.guarantee import guarantee_from
from timeveil.model.release import Release
from timeveil.model.verdict import Violation

FORMAT_VERSION = 1
MANIFEST = "release.json"
README = "README.txt"


def open_release(folder: str | Path, *, check: bool = True) -> Release:
    """Open a release folder. Tables stay on disk and are read when looked at, in batches if asked.

    With `check=False` the folder opens even if a file is not the one that was written, as long as it can
    be read; `damage` says what is wrong with it.
    """
    place = Path(folder)
    manifest = _manifest(place)
    parts = {name: _table(place, name, entry, manifest) for name, entry in manifest["tables"].items()}
    if check:
        for found in damage(place):
            raise damaged(place.name, f"is not as it was written: {found.message}")
    return Release(guarantee_from(manifest["guarantee"]), manifest, parts)


def damage(folder: str | Path) -> tuple[Violation, ...]:
    """What about the files of a release folder is not as it was written; empty if all is well.

    Looks at the files alone: all there, no other beside them, every byte as written. Whether the promise
    holds is for `verify` to say.
    """
    place = Path(folder)
    tables = _manifest(place)["tables"]
    found = []
    for entry in tables.values():
        file = place / entry["file"]
        if file.is_symlink() or not file.is_file():
            found.append(Violation("file-missing", f"the file `{file.name}` is not there"))
        elif digest(file) != entry["sha256"]:
            found.append(
                Violation("file-changed", f"the file `{file.name}` was changed since it was written")
            )
    known = {MANIFEST, README, *(entry["file"] for entry in tables.values())}
    extra = sorted(file.name for file in place.iterdir() if file.name not in known)
    found += [Violation("file-extra", f"`{name}` does not belong to the release") for name in extra]
    return tuple(found)


def columns_key(table: str) -> str:
    """Where a manifest describes the columns of a table.

    >>> columns_key("data"), columns_key("sensitive")
    ('columns', 'sensitive_columns')
    """
    return "columns" if table == "data" else f"{table}_columns"


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _manifest(place: Path) -> dict[str, Any]:
    path = place / MANIFEST
    if not path.is_file():
        raise BundleError(
            f"`{place.name}` is not a release folder: there is no {MANIFEST} in it",
            hint="name the folder that `write` or `--out` made",
            code="folder-missing",
        )
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise BundleError(
            f"no permission to read `{place.name}`",
            hint="ask its owner for the right to read",
            code="no-permission",
        ) from None
    except ValueError:
        raise damaged(MANIFEST, "is not JSON") from None
    _check_shape(manifest)
    return dict(manifest)


def _check_shape(manifest: Any) -> None:
    if not isinstance(manifest, Mapping):
        raise damaged(MANIFEST, "is not an object")
    if manifest.get("format") != FORMAT_VERSION:
        raise BundleError(
            f"the release is of a format that this version does not know; it knows {FORMAT_VERSION}",
            hint="open it with the version of timeveil named in its release.json, or a newer one",
            code="folder-damaged",
        )
    kinds = {"model": str, "guarantee": Mapping, "columns": list, "tables": Mapping}
    for key, kind in kinds.items():
        if not isinstance(manifest.get(key), kind):
            raise damaged(MANIFEST, f"lacks `{key}`, or it is of the wrong kind")
    for entry in manifest["tables"].values():
        if not _is_table_entry(entry):
            raise damaged(MANIFEST, "describes a table without its file, rows, format and sha256")
    for name in manifest["tables"]:
        _check_columns(manifest.get(columns_key(name)))


def _check_columns(columns: Any) -> None:
    if not isinstance(columns, list):
        raise damaged(MANIFEST, "does not describe the columns of a table")
    for column in columns:
        if not (
            isinstance(column, Mapping) and all(isinstance(column.get(k), str) for k in ("name", "type"))
        ):
            raise damaged(MANIFEST, "describes a column without its name and type")


def _is_table_entry(entry: Any) -> bool:
    return (
        isinstance(entry, Mapping)
        and isinstance(entry.get("file"), str)
        and Path(entry["file"]).name == entry["file"]
        and entry["file"] not in ("", ".", "..", MANIFEST, README)
        and type(entry.get("rows")) is int
        and entry["rows"] >= 0
        and isinstance(entry.get("sha256"), str)
        and entry.get("format") in ("parquet", "csv")
    )


def _table(place: Path, name: str, entry: Mapping[str, Any], manifest: Mapping[str, Any]) -> Table:
    columns = manifest[columns_key(name)]
    names = [column["name"] for column in columns]
    if len(set(names)) != len(names) or not names:
        raise damaged(MANIFEST, "describes a table without columns, or a column twice")
    try:
        schema = pa.schema([pa.field(column["name"], type_named(column["type"])) for column in columns])
    except (pa.ArrowException, ValueError):
        raise damaged(MANIFEST, "states a column type that does not exist") from None
    return Table(place / entry["file"], schema, entry["rows"], entry["format"])
