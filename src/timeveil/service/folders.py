"""The two folders of a service: snapshot files come in by the inbox, slots go out to folders of their own.

Each file of the inbox is taken once, in the order of the names. A slot's folder appears complete, once, and
never changes. Writing a slot again is harmless as long as it is the same slot: after a crash nobody knows
whether the last folder was written, so it is compared with what was to be written.
"""

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from timeveil.domain.guarantee import guarantee_from
from timeveil.domain.relation import Relation
from timeveil.domain.release import Release
from timeveil.domain.stored import PARTIAL, PrivateFolder, hold_beside, rename_held
from timeveil.domain.wording import Progress, printable, silent
from timeveil.errors import BundleError, TimeveilError, raising
from timeveil.folder import open_release, write
from timeveil.folder.manifest import MANIFEST
from timeveil.folder.opening import digest, folder_name, slot_folders, stream_folder
from timeveil.folder.placing import SLOTS
from timeveil.models.stream.method.arrivals import reader_of
from timeveil.models.stream.method.separate import separated
from timeveil.models.stream.method.state import arrow_bytes, framed, frames
from timeveil.reading.files import read_error, sync_folder, translate_os_errors
from timeveil.reading.sources import SUFFIXES
from timeveil.service.parameters import SINGLE, Parameters
from timeveil.service.records import reason_of
from timeveil.service.state_file import Pending, StreamRecord

QUARANTINE = "quarantine"
LONGEST_NAME = 200
UNFINISHED = (".tmp", ".part")
SNAPSHOTS = tuple(ending for ending in SUFFIXES if not ending.startswith((".txt", ".xls")))
LINES = (".csv", ".tsv", ".jsonl", ".ndjson")
"""Names of files whose last byte, if they are complete, mostly ends a line."""
LEFT_IN_QUARANTINE = re.compile(rf"\..+\.partial|{PARTIAL.pattern}")
Look: TypeAlias = tuple[str, int, int]  # name, size and time of change of a file


class Arrival(NamedTuple):
    """A file of the inbox; its size and time of change show whether it was touched since."""

    name: str
    size: int
    changed_at: int
    path: Path

    @property
    def printable(self) -> str:
        return printable(self.name)

    @property
    def is_named_in_unicode(self) -> bool:
        """Whether the bytes of its name are UTF-8."""
        return not any("\ud800" <= letter <= "\udfff" for letter in self.name)

    def digest(self) -> str:
        with self._translated():
            return digest(self.path)

    def touched(self, sha256: str) -> bool:
        """Whether the file has changed, by its size and time or by its content."""
        return _look(self.path) != self or self.digest() != sha256 or _look(self.path) != self

    def is_unsettled(self, seconds: float) -> bool:
        """Whether it may still be written: changed in the last seconds, and its last line does not end."""
        if not self.name.lower().endswith(LINES) or abs(time.time() - self.changed_at / 1e9) >= seconds:
            return False
        with self._translated(), self.path.open("rb") as file:
            file.seek(max(self.size - 1, 0))
            return file.read(2) not in (b"\n", b"\r")

    def _translated(self) -> raising:
        return raising(lambda cause: read_error(self.printable, cause), on=OSError)


def arrivals_in(
    inbox: Path, looks: Mapping[str, Look] = {}, *, only_new: bool = False, progress: Progress = silent
) -> tuple[Iterator[Arrival | None], int]:
    """The snapshots of a folder in the order of their names, and how many files are not snapshots.

    A file that looks as in `looks` is None, and with `only_new` every one of a name in it. Files that are
    still being written start with a dot or end in `.tmp` or `.part`. Each file is looked at when its turn
    comes; until then only its name is in memory.
    """
    message = f"the inbox `{inbox.name}` is not a folder that can be read"
    error = BundleError(message, hint="name the folder of the snapshot files", code="folder-missing")
    with raising(error, on=OSError), os.scandir(inbox) as entries:
        names = {entry.name for entry in entries if not entry.name.startswith(".")}
    names = {name for name in names if not name.lower().endswith(UNFINISHED)}
    snapshots = sorted(name for name in names if name.lower().endswith(SNAPSHOTS))
    ignored = sum((inbox / name).is_file() for name in names.difference(snapshots))

    def arrivals() -> Iterator[Arrival | None]:
        for number, name in enumerate(snapshots):
            progress(f"taking files: {number:,} of {len(snapshots):,}", number / len(snapshots))
            if only_new and name in looks:
                yield None
            elif (arrival := _look(inbox / name)) is not None:
                yield None if arrival[:3] == looks.get(name) else arrival

    return arrivals(), ignored


def _look(path: Path) -> Arrival | None:
    """A file as it is at this moment; None for a folder, or if it has gone.

    A link that leads nowhere is an error, because it may lead to a disk that is not mounted.
    """
    with raising(lambda cause: read_error(printable(path.name), cause), on=OSError):
        try:
            stat = path.stat()
        except FileNotFoundError:
            if path.is_symlink():
                raise
            return None
    is_file = S_ISREG(stat.st_mode)
    return Arrival(path.name, stat.st_size, stat.st_mtime_ns, path) if is_file else None


def quarantine(arrival: Arrival, sha256: str, error: TimeveilError) -> Path:
    """Move a file that cannot be taken aside, with the reason; no other file is overwritten.

    `sha256` is "" of a file that was not read.
    """
    line = f"sha256: {sha256}\n" if sha256 else ""
    sha256 = sha256 or hashlib.sha256(os.fsencode(arrival.name)).hexdigest()
    folder = arrival.path.parent / QUARANTINE
    with translate_os_errors(QUARANTINE):
        folder.mkdir(mode=0o700, exist_ok=True)
        name = arrival.name if arrival.is_named_in_unicode else arrival.printable
        if len(name.encode()) > LONGEST_NAME:  # leaves no room for what is added
            begin = name.encode()[: LONGEST_NAME - 30].decode("utf-8", "ignore")
            name = f"{begin}~{sha256[:16]}{arrival.path.suffix}"
        target = folder / name
        if target.exists():
            target = folder / f"{sha256[:16]}-{target.name}"
        reason = folder / f"{target.name}.reason.txt"
        # Only its owner may read it: what is wrong with private data is private.
        hidden, handle = hold_beside(reason)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(reason_of(error) + line)
                rename_held(hidden, file, reason)
            arrival.path.rename(target)
        finally:
            hidden.unlink(missing_ok=True)
    return target


def snapshots_of(path: Path, parameters: Parameters) -> Iterator[tuple[str, Relation]]:
    """The records of a file by stream; those of a stream are in their order."""
    by, roles, options = parameters.stream_by, parameters.roles, parameters.settings.options
    if by is None:
        yield SINGLE, reader_of(roles, options).read(path)[0]
    else:
        yield from separated(path, by, roles, options)


class Sink:
    """The folder `out`: `slots/<slot>/`, or with several streams `<stream>/slots/<slot>/`."""

    most = 1

    def __init__(self, out: Path, parameters: Parameters, note: Callable[[Path], None]) -> None:
        self.out, self._note, self._several = out, note, parameters.stream_by is not None
        self._form: Any = parameters.format

    def close(self) -> None:
        """Nothing is kept open."""

    def tidy(self) -> None:
        """Remove slots that a killed run did not finish."""
        for slots in (self.out / SLOTS, *self.out.glob(f"*/{SLOTS}")):
            for entry in slots.iterdir() if slots.is_dir() else ():
                if PARTIAL.fullmatch(entry.name):
                    shutil.rmtree(entry, ignore_errors=True)  # with or without a lock: the state's is ours

    def refuse_any(self) -> None:
        """Refuse a folder with slots in it, before a state file is made for it."""
        for folder in (self.out, *(self.out.glob("*") if self._several else ())):
            if slot_folders(folder):
                raise self._foreign(folder)

    def refuse_foreign(self, record: StreamRecord, pending: list[Pending]) -> None:
        """Refuse slots of another state file: among those of this one is the last that it published.

        Before it published any there is none, or the next, which a run was killed before it could be marked.
        """
        folder = self._folder(record.name)
        slots = {slot.name: slot for slot in slot_folders(folder)}
        if record.last_published is None:
            is_ours = slots.keys() <= {folder_name(slot.label) for slot in pending}
        else:
            last = slots.get(folder_name(record.last_published))
            with raising(lambda cause: read_error(MANIFEST, cause), on=OSError):
                is_ours = not slots or (last is not None and record.digest in (None, digest(last / MANIFEST)))
        if not is_ours:
            raise self._foreign(folder)

    def _foreign(self, folder: Path) -> BundleError:
        message = f"the last slot in `{folder.name}` was not published with this state file"
        guide = "`Recover` in `Run a stream in service` of the documentation"
        hint = f"name the {{state}} file of the slots, or a new {{out}} folder; if it is lost, see {guide}"
        return BundleError(message, hint=hint, code="slot-differs")

    def _folder(self, stream: str) -> Path:
        return self.out / stream_folder(stream) if self._several else self.out

    def publish(
        self, pending: list[Pending], releases: list[Release], _step: Callable[[], None]
    ) -> tuple[int, str]:
        """Write a slot to its folder; whether it is new, and the digest of its manifest."""
        ((slot,), (release,)) = pending, releases
        stream = self._folder(slot.name)
        folder = stream / SLOTS / folder_name(slot.label)
        with translate_os_errors(self.out.name):
            for parent in (self.out, stream, folder.parent):
                if not parent.exists():
                    parent.mkdir()
                    sync_folder(parent.parent)
        is_new = not folder.exists()
        if is_new:
            self._note(folder)
            write(release, folder, format=self._form)
        elif not self._is_same(folder, release):
            message = f"the folder `{folder.relative_to(self.out)}` exists already and holds something else"
            hint = "find out who wrote it, and move it away if it is not this stream's"
            raise BundleError(message, hint=f"slots are never replaced: {hint}", code="slot-differs")
        return is_new, digest(folder / MANIFEST)

    def _is_same(self, folder: Path, release: Release) -> bool:
        """Whether a folder holds what is to be written, by writing that next to it and comparing."""
        try:
            existing = open_release(folder)
        except BundleError:  # damaged
            return False
        with translate_os_errors(folder.name):
            scratch = PrivateFolder(folder.parent, f".{folder.name}.partial-")
            try:
                path = write(release, scratch.path / "intended", format=self._form)
                intended = open_release(path, check=False)
                # Not by the bytes of the tables, which another version may lay out differently.
                manifests = [{**each.manifest, "tables": None} for each in (existing, intended)]
                return manifests[0] == manifests[1] and existing.tables == intended.tables
            finally:
                scratch.close()


def packed(tables: Mapping[str, pa.Table]) -> bytes:
    """Tables as bytes: for each its name, then itself as an Arrow stream."""
    return framed(part for name, table in tables.items() for part in (name.encode(), arrow_bytes(table)))


def release_of(pending: Pending) -> Release:
    """A stored slot as a release."""
    parts = frames(pending.tables)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    tables = {name.decode(): pa.ipc.open_stream(table).read_all() for name, table in pairs}
    return Release(guarantee_from(pending.manifest["guarantee"]), pending.manifest, tables)
