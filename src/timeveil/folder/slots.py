"""The folder of a stream in service: one release folder per slot, read as one release.

Folders are named after labels and values, so that no two share a name and none leads elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from timeveil.domain.release import Deferred, Release
from timeveil.errors import TimeveilError
from timeveil.folder.manifest import MANIFEST, damaged
from timeveil.models.stream.slots import NOWHERE, line_of

SLOTS = "slots"
_LONGEST_NAME = 150
_EMPTY_NAME = "%"


def folder_name(text: str | int) -> str:
    """A label or a value as the name of a folder.

    ASCII letters, digits and `_.-~` stay; every other byte of its UTF-8 becomes a percent sign and two
    digits, and so does a dot at the beginning. A name that would be too long ends in a digest instead.

    >>> folder_name("2024-01-31"), folder_name("2024-01-31 14:00"), folder_name(-3)
    ('2024-01-31', '2024-01-31%2014%3A00', '-3')
    >>> folder_name("../St. Anna"), folder_name(""), folder_name("Zürich")
    ('%2E.%2FSt.%20Anna', '%', 'Z%C3%BCrich')
    """
    plain = str(text)
    name = quote(plain, safe="", errors="surrogatepass")
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if len(name) > _LONGEST_NAME:
        digest = hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()
        # A percent sign at the end never comes from quoting, so no short name can equal this one.
        return f"{name[:_LONGEST_NAME]}%{digest[:32]}%"
    return name or _EMPTY_NAME


def stream_folder(name: str) -> str:
    """The folder of a stream, never named like the folder of slots.

    >>> stream_folder("Anna"), stream_folder("slots")
    ('Anna', '%73lots')
    """
    return "%73lots" if name == SLOTS else folder_name(name)


def slot_folders(folder: Path) -> list[Path]:
    """The folders of a stream's slots; links, which lead elsewhere, and unfinished ones are left out."""
    slots = folder / SLOTS
    if (folder / MANIFEST).exists() or slots.is_symlink() or not slots.is_dir():
        return []
    return sorted(
        slot
        for slot in slots.iterdir()
        if slot.is_dir() and not slot.is_symlink() and not slot.name.startswith(".")
    )


def joined(name: str, releases: Sequence[Release]) -> Release:
    """The slots of one stream, each a release, as one release; a missing slot shows as a gap."""
    first = releases[0]
    if any(_shared(release) != _shared(first) for release in releases):
        raise damaged(name, "contains slots of different streams")
    ordered = _in_time_order(name, releases)
    counts = [release.manifest["counts"] for release in ordered]
    totals = {key: sum(count[key] for count in counts) for key in ("rows", "slots", "buckets")}
    span = {"first_slot": counts[0]["first_slot"], "last_slot": counts[-1]["last_slot"]}
    manifest = {**_shared(first), "counts": {**totals, **span}}
    parts: dict[str, Any] = {table: Deferred(partial(_concatenated, ordered, table)) for table in first.parts}
    return Release(first.guarantee, manifest, parts)


def _shared(release: Release) -> dict[str, Any]:
    """What the manifests of all slots of a stream have in common."""
    return {key: value for key, value in release.manifest.items() if key not in ("counts", "tables")}


def _in_time_order(name: str, releases: Sequence[Release]) -> list[Release]:
    try:
        line = line_of(releases[0])
        kind = pa.int64() if line.granularity is None else pa.string()
        labels = [release.manifest["counts"]["first_slot"] for release in releases]
        positions = line.numbers(pa.array(labels, kind)).tolist()
    except (TimeveilError, pa.ArrowInvalid, pa.ArrowTypeError, KeyError, TypeError, ValueError):
        positions = []
    if len(positions) != len(releases) or NOWHERE in positions:
        raise damaged(name, "contains a slot that is not one of the stated granularity")
    order = sorted(range(len(releases)), key=positions.__getitem__)
    return [releases[number] for number in order]


def _concatenated(releases: Sequence[Release], table: str) -> pa.Table:
    return pa.concat_tables([release.tables[table] for release in releases])
