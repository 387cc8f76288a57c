"""Where slots are published: a release folder for each, which appears whole, once, and never changes.

Writing a slot again is no mistake as long as it is the same slot: after a crash it is not known whether the
last folder was written, so it is compared with what was to be written.
"""

from __future__ import annotations

import io
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from timeveil.domain.guarantee import guarantee_from
from timeveil.domain.release import Release
from timeveil.errors import BundleError
from timeveil.folder import damage, open_release, write
from timeveil.folder.manifest_file import read_manifest
from timeveil.folder.naming import SLOTS, folder_name, stream_folder
from timeveil.folder.writing import sync_folder
from timeveil.service.store import Pending
from timeveil.service.trouble import said_plainly


class Sink:
    """The folder `out`: `slots/<slot>/`, or with several streams `<stream>/slots/<slot>/`."""

    def __init__(self, out: Path, form: str, *, several: bool) -> None:
        self.out = out
        self._form = form
        self._several = several

    def place(self, pending: Pending) -> Path:
        """The folder of a slot."""
        stream = self.out / stream_folder(pending.name) if self._several else self.out
        return stream / SLOTS / folder_name(pending.label)

    def publish(self, pending: Pending) -> bool:
        """Write a slot's folder; False if it stood there already, as it should be."""
        place, release = self.place(pending), release_of(pending)
        self._make_way(place)
        if not place.exists():
            write(release, place, format=self._form)  # type: ignore[arg-type]
            return True
        if not self._is_same(place, release):
            raise BundleError(
                f"the folder `{place.relative_to(self.out)}` is there already and holds something else",
                hint="slots are never replaced: see who wrote it, move it away if it is not this stream's",
                code="slot-differs",
            )
        return False

    def _make_way(self, place: Path) -> None:
        """The folders above, and nothing left of an earlier try; `out` itself must have a place to be."""
        with said_plainly(self.out.name):
            for folder in (self.out, place.parent.parent, place.parent):
                if not folder.exists():
                    folder.mkdir()
                    sync_folder(folder.parent)
            for left in place.parent.glob(f".{place.name}.partial-*"):
                shutil.rmtree(left)

    def _is_same(self, place: Path, release: Release) -> bool:
        """Whether a folder holds what is to be written, by writing that beside it and comparing."""
        with said_plainly(place.name):
            scratch = place.parent / f".{place.name}.partial-{secrets.token_hex(4)}"
            scratch.mkdir(mode=0o700)
            try:
                meant = write(release, scratch / "meant", format=self._form)  # type: ignore[arg-type]
                return not _damaged(place) and _content(place) == _content(meant)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)


def _damaged(place: Path) -> bool:
    try:
        return bool(damage(place))
    except BundleError:
        return True


def _content(place: Path) -> tuple[Any, dict[str, pa.Table]]:
    """What a folder says and what its tables hold, however the files are laid out."""
    told = read_manifest(place)
    told["tables"] = {name: {**entry, "sha256": None} for name, entry in told.get("tables", {}).items()}
    return told, open_release(place, check=False).tables


def release_of(pending: Pending) -> Release:
    """A stored slot as a release."""
    tables = unpacked(pending.tables)
    return Release(guarantee_from(pending.manifest["guarantee"]), pending.manifest, tables)


def packed(tables: Mapping[str, pa.Table]) -> bytes:
    """Tables as bytes: for each its name, then itself as an Arrow stream."""
    sink = io.BytesIO()
    for name, table in tables.items():
        stream = io.BytesIO()
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)
        for part in (name.encode(), stream.getvalue()):
            sink.write(len(part).to_bytes(8, "big") + part)
    return sink.getvalue()


def unpacked(content: bytes) -> dict[str, pa.Table]:
    """The tables again."""
    parts: list[bytes] = []
    while content:
        size = int.from_bytes(content[:8], "big")
        parts.append(content[8 : 8 + size])
        content = content[8 + size :]
    return {
        name.decode(): pa.ipc.open_stream(table).read_all()
        for name, table in zip(parts[::2], parts[1::2], strict=True)
    }
