"""Open a release folder: nothing in it is believed before it was looked at."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from timeveil.domain.guarantee import guarantee_from
from timeveil.domain.release import Release
from timeveil.domain.verdict import Violation
from timeveil.domain.wording import counted
from timeveil.errors import BundleError, instead_of
from timeveil.folder.manifest_file import MANIFEST, read_manifest
from timeveil.folder.naming import SLOTS, folder_name
from timeveil.folder.slots import joined, slot_folders
from timeveil.folder.strays import not_of_the_release
from timeveil.folder.tables import FORMULA_CELLS, GET_IT_AGAIN, Table, damaged
from timeveil.folder.types import type_named
from timeveil.judging.verify import is_well_formed

FORMAT_VERSION = 1
README = "README.txt"


def open_release(folder: str | Path, *, check: bool = True) -> Release:
    """Open a release folder. Tables stay on disk and are read when looked at, in batches if asked.

    With `check=False` the folder opens even if a file is not the one that was written, or the manifest not
    that of a release, as long as it can be read; `damage` and `verify` say what is wrong with it. A folder
    that a stream in service publishes in opens as the release of all its slots.
    """
    place = there(folder)
    slots = slot_folders(place)
    if slots:
        return joined(place.name, [open_release(slot, check=check) for slot in slots])
    manifest = _manifest(place)
    parts = {name: _table(place, name, entry, manifest) for name, entry in manifest["tables"].items()}
    if check:
        _refuse_damage(place)
        if not is_well_formed(manifest):
            raise damaged(MANIFEST, "does not describe a release; `verify` says what is wrong in it")
    return Release(guarantee_from(manifest["guarantee"]), manifest, parts)


def _refuse_damage(place: Path) -> None:
    """The first thing that is wrong; what only lies beside the release can be taken away."""
    found = damage(place)
    if found:
        beside = all(violation.code == "file-extra" for violation in found)
        hint = "take out of the folder what is not of the release" if beside else GET_IT_AGAIN
        raise damaged(place.name, f"is not as it was written: {found[0].message}", hint)


def damage(folder: str | Path) -> tuple[Violation, ...]:
    """What about the files of a release folder is not as it was written; empty if all is well.

    Looks at the files alone: all there, no other beside them, tables with the stated hash that hold their
    rows and nothing beside, `release.json` as timeveil writes it. The words of README.txt are not judged.
    Whether the promise holds is for `verify` to say. Of a folder of slots, each is looked at.
    """
    place = there(folder)
    slots = slot_folders(place)
    if slots:
        return _slots_damage(place, slots)
    manifest = _manifest(place)
    found = [v for name in manifest["tables"] if (v := _table_damage(place, name, manifest))]
    found += _text_damage(place, manifest)
    known = {MANIFEST, README, *(entry["file"] for entry in manifest["tables"].values())}
    extra = sorted(file.name for file in place.iterdir() if file.name not in known)
    found += [Violation("file-extra", not_of_the_release(name)) for name in extra]
    return tuple(found)


def _slots_damage(place: Path, slots: list[Path]) -> tuple[Violation, ...]:
    found = [
        Violation(violation.code, f"slot `{slot.name}`: {violation.message}")
        for slot in slots
        for violation in (*damage(slot), *_name_damage(slot))
    ]
    beside = sorted(file.name for file in place.iterdir() if file.name != SLOTS)
    found += [Violation("file-extra", not_of_the_release(name)) for name in beside]
    within = sorted(file for file in (place / SLOTS).iterdir() if file not in slots)
    return (*found, *(Violation("file-extra", _not_a_slot(file.name)) for file in within))


def _name_damage(slot: Path) -> list[Violation]:
    """A folder goes by the one slot that it holds."""
    counts = _manifest(slot).get("counts")
    told = counts if isinstance(counts, Mapping) else {}
    label = told.get("first_slot")
    one = told.get("last_slot") == label and told.get("slots") == 1
    if one and isinstance(label, int | str) and folder_name(label) == slot.name:
        return []
    return [Violation("slot", "the folder does not hold the one slot that it is named after")]


def _not_a_slot(name: str) -> str:
    if name.startswith("."):
        return f"`{name}` is still being written, or was left by a run that was killed"
    return f"`{name}` is not the folder of a slot"


def _table_damage(place: Path, name: str, manifest: Mapping[str, Any]) -> Violation | None:
    entry = manifest["tables"][name]
    file = place / entry["file"]
    if file.is_symlink() or not file.is_file():
        return Violation("file-missing", f"the file `{file.name}` is not there")
    if digest(file) != entry["sha256"]:
        return Violation("file-changed", f"the file `{file.name}` was changed since it was written")
    return None


def _text_damage(place: Path, manifest: Mapping[str, Any]) -> list[Violation]:
    """The manifest has one spelling. README.txt must be there; its words, which change, are not judged."""
    found = []
    if (place / MANIFEST).read_bytes() != _as_json_or_nothing(manifest):
        found.append(Violation("file-form", f"the file `{MANIFEST}` is not written the way timeveil does"))
    file = place / README
    if file.is_symlink() or not file.is_file():
        found.append(Violation("file-missing", f"the file `{README}` is not there"))
    return found


def as_json(manifest: Mapping[str, Any]) -> bytes:
    """A manifest as it stands in `release.json`."""
    return (json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _as_json_or_nothing(manifest: Mapping[str, Any]) -> bytes:
    """The same of a manifest that may hold what JSON has no word for."""
    try:
        return as_json(manifest)
    except ValueError:
        return b""


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


def there(folder: str | Path) -> Path:
    """The path of a folder, if the system can look at it at all."""
    place = Path(folder)
    error = BundleError(
        f"the path of `{place.name[:40]}` is none that the system can look at",
        hint="name the folder that `write` or `--out` made",
        code="folder-missing",
    )
    instead_of((OSError, ValueError), lambda _: error, (place / MANIFEST).exists)
    return place


def _manifest(place: Path) -> dict[str, Any]:
    path = place / MANIFEST
    if not path.is_file():
        missing = "it does not exist" if not place.exists() else f"there is no {MANIFEST} in it"
        if place.is_file():
            missing = "it is a file"
        streams = [below.name for below in place.iterdir() if slot_folders(below)] if place.is_dir() else []
        hint = "name the folder that `write` or `--out` made"
        if streams:
            hint = f"it holds {counted(len(streams), 'stream')}: name the folder of one"
        raise BundleError(
            f"`{place.name or place}` is not a release folder: {missing}",
            hint=hint,
            code="folder-missing",
        )
    manifest = read_manifest(place)
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
    for name, entry in manifest["tables"].items():
        if not _is_table_entry(name, entry):
            raise damaged(
                MANIFEST, "describes a table by more or less than its file, rows, format and sha256"
            )
        _check_columns(manifest.get(columns_key(name)))


def _check_columns(columns: Any) -> None:
    if not isinstance(columns, list):
        raise damaged(MANIFEST, "does not describe the columns of a table")
    for column in columns:
        if not (
            isinstance(column, Mapping) and all(isinstance(column.get(k), str) for k in ("name", "type"))
        ):
            raise damaged(MANIFEST, "describes a column without its name and type")


def _is_table_entry(name: str, entry: Any) -> bool:
    if not isinstance(entry, Mapping) or entry.get("format") not in ("parquet", "csv"):
        return False
    if not re.fullmatch("[a-z_]{1,40}", name):
        return False
    expected = {"file": f"{name}.{entry['format']}", "format": entry["format"]}
    if entry["format"] == "csv":
        expected["formula_cells"] = FORMULA_CELLS
    return (
        set(entry) == {*expected, "rows", "sha256"}
        and all(entry[key] == value for key, value in expected.items())
        and type(entry["rows"]) is int
        and entry["rows"] >= 0
        and isinstance(entry["sha256"], str)
        and re.fullmatch("[0-9a-f]{64}", entry["sha256"]) is not None
    )


def _table(place: Path, name: str, entry: Mapping[str, Any], manifest: Mapping[str, Any]) -> Table:
    columns = manifest[columns_key(name)]
    names = [column["name"] for column in columns]
    if len(set(names)) != len(names) or not names:
        raise damaged(MANIFEST, "describes a table without columns, or a column twice")
    schema = instead_of(
        (pa.ArrowException, ValueError, OverflowError),
        lambda _: damaged(MANIFEST, "states a column type that does not exist"),
        lambda: pa.schema([pa.field(column["name"], type_named(column["type"])) for column in columns]),
    )
    return Table(place / entry["file"], schema, entry["rows"], entry["format"])
