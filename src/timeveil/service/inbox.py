"""The folder that snapshots come in by."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from timeveil.errors import BundleError, InputError, TimeveilError
from timeveil.folder.folder import digest
from timeveil.reading.sources import CSV_SUFFIXES, PARQUET_SUFFIXES
from timeveil.service.trouble import said_plainly

QUARANTINE = "quarantine"
LONGEST_NAME = 200
UNFINISHED = (".tmp", ".part")
SNAPSHOTS = (*CSV_SUFFIXES, *PARQUET_SUFFIXES)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A file of the inbox; size and time of change tell whether it was touched since."""

    path: Path
    size: int
    changed_at: int

    @property
    def name(self) -> str:
        """Its name in the inbox."""
        return self.path.name

    @property
    def shown(self) -> str:
        """Its name, fit to be printed."""
        return "".join(letter if letter.isprintable() else "?" for letter in self.name)

    @property
    def is_named_in_unicode(self) -> bool:
        """Whether the bytes of its name are UTF-8."""
        return not any("\ud800" <= letter <= "\udfff" for letter in self.path.name)

    def digest(self) -> str:
        """SHA-256 of what is in it."""
        try:
            return digest(self.path)
        except OSError:
            pass
        raise InputError(
            f"`{self.shown}` cannot be read", hint="see that the file is yours", code="file-unreadable"
        )

    def holds(self, sha256: str) -> bool:
        """Whether this is what is in it; not if it can no longer be read."""
        try:
            return self.digest() == sha256
        except InputError:
            return False

    def touched(self, sha256: str) -> bool:
        """Whether the file is no longer the one that was looked at, by its looks or by what is in it."""
        return _look(self.path) != self or not self.holds(sha256) or _look(self.path) != self


def arrivals_in(inbox: Path) -> tuple[Iterator[Arrival], int]:
    """The snapshots of a folder in the order of their names, and how many files are none by their name.

    Files that are still being written have a dot before their name, or `.tmp` or `.part` after it. Each is
    looked at when its turn comes; until then no more than its name is held.
    """
    try:
        with os.scandir(inbox) as entries:
            names = [entry.name for entry in entries if not _unfinished(entry.name)]
    except OSError:
        names = None
    if names is None:
        raise BundleError(
            f"the inbox `{inbox.name}` is not a folder that can be read",
            hint="name the folder that snapshots are put into",
            code="folder-missing",
        )
    found = sorted(name for name in names if name.lower().endswith(SNAPSHOTS))
    others = sum((inbox / name).is_file() for name in set(names).difference(found))
    return (arrival for name in found if (arrival := _look(inbox / name)) is not None), others


def _unfinished(name: str) -> bool:
    return name.startswith(".") or name.lower().endswith(UNFINISHED)


def _look(path: Path) -> Arrival | None:
    """A file as it is now; None for a folder, or if it has gone."""
    try:
        if not path.is_file():
            return None
        seen = path.stat()
    except OSError:
        return None
    return Arrival(path, seen.st_size, seen.st_mtime_ns)


def quarantine(arrival: Arrival, sha256: str, error: TimeveilError) -> Path:
    """Put a file that cannot be taken aside, with the reason beside it; no other file is written over.

    `sha256` is "" of a file that was not read.
    """
    told = f"sha256: {sha256}\n" if sha256 else ""
    sha256 = sha256 or hashlib.sha256(os.fsencode(arrival.name)).hexdigest()
    folder = arrival.path.parent / QUARANTINE
    with said_plainly(QUARANTINE):
        folder.mkdir(mode=0o700, exist_ok=True)
        name = _short(arrival, sha256)
        place = folder / name
        if place.exists():
            place = folder / f"{sha256[:16]}-{name}"
        reason = f"{error.message}\n\nhint: {error.hint}\n\ncode: {error.code}\n{told}"
        hidden = folder / f".{place.name}.partial"
        hidden.unlink(missing_ok=True)
        with open(hidden, "x", encoding="utf-8", opener=_own) as file:
            file.write(reason)
        hidden.rename(folder / f"{place.name}.reason.txt")
        arrival.path.rename(place)
    return place


def _own(path: str, flags: int) -> int:
    """A file that only its owner may read: what is wrong with private data is private."""
    return os.open(path, flags, 0o600)


def _short(arrival: Arrival, sha256: str) -> str:
    """The name of a file that leaves room for what is put before and after it, or most of it and a digest."""
    whole = arrival.name if arrival.is_named_in_unicode else arrival.shown
    name, suffix = whole.encode(), arrival.path.suffix
    if len(name) <= LONGEST_NAME:
        return whole
    begin = name[: LONGEST_NAME - 30].decode("utf-8", "ignore")
    return f"{begin}~{sha256[:16]}{suffix}"
