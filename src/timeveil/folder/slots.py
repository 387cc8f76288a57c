"""The folder that a stream in service publishes in: a release folder for each slot, read as one release."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from timeveil.domain.release import Deferred, Release
from timeveil.errors import TimeveilError
from timeveil.folder.naming import SLOTS
from timeveil.folder.tables import damaged
from timeveil.models.stream.slots import NOWHERE, line_of


def slot_folders(place: Path) -> list[Path]:
    """The folders of its slots; none if it is not such a folder. Hidden ones are still being written."""
    slots = place / SLOTS
    if (place / "release.json").exists() or slots.is_symlink() or not slots.is_dir():
        return []
    return sorted(folder for folder in slots.iterdir() if _is_slot(folder))


def _is_slot(folder: Path) -> bool:
    """A link leads elsewhere, and what is elsewhere was not published here."""
    return folder.is_dir() and not folder.is_symlink() and not folder.name.startswith(".")


def joined(name: str, releases: Sequence[Release]) -> Release:
    """Slots of one stream, each a release, as the release of them all; a slot that is missing shows."""
    first = releases[0]
    if any(_same(release) != _same(first) for release in releases):
        raise damaged(name, "holds slots of different streams")
    ordered = _in_order(name, releases)
    counts = [release.manifest["counts"] for release in ordered]
    totals = {key: sum(count[key] for count in counts) for key in ("rows", "slots", "buckets")}
    span = {"first_slot": counts[0]["first_slot"], "last_slot": counts[-1]["last_slot"]}
    manifest = {**_same(first), "counts": {**totals, **span}}
    parts: dict[str, Any] = {part: Deferred(partial(_together, ordered, part)) for part in first.parts}
    return Release(first.guarantee, manifest, parts)


def _same(release: Release) -> dict[str, Any]:
    """What the slots of a stream have in common."""
    return {key: value for key, value in release.manifest.items() if key not in ("counts", "tables")}


def _in_order(name: str, releases: Sequence[Release]) -> list[Release]:
    """By time, which the names of folders need not tell."""
    try:
        line = line_of(releases[0])
        kind = pa.int64() if line.granularity is None else pa.string()
        labels = [release.manifest["counts"]["first_slot"] for release in releases]
        places = line.numbers(pa.array(labels, kind)).tolist()
    except (TimeveilError, pa.ArrowInvalid, pa.ArrowTypeError, KeyError, TypeError, ValueError):
        places = []
    if len(places) != len(releases) or NOWHERE in places:
        raise damaged(name, "holds a slot that is not one of the stated granularity")
    return [release for _, release in sorted(zip(places, releases, strict=True), key=lambda pair: pair[0])]


def _together(releases: Sequence[Release], part: str) -> pa.Table:
    return pa.concat_tables([release.tables[part] for release in releases])
