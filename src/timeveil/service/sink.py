"""Where slots are published: a release folder for each, which appears complete, once, and never changes.

Writing a slot again is harmless as long as it is the same slot: after a crash nobody knows whether the last
folder was written, so it is compared with what was to be written.
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
from timeveil.folder.manifest import read_manifest
from timeveil.folder.opening import SLOTS, folder_name, stream_folder
from timeveil.reading.files import sync_folder
from timeveil.service.state_file import Pending, os_errors


class Sink:
    """The folder `out`: `slots/<slot>/`, or with several streams `<stream>/slots/<slot>/`."""

    def __init__(self, out: Path, form: str, *, several: bool) -> None:
        self.out = out
        self._form: Any = form
        self._several = several

    def folder(self, pending: Pending) -> Path:
        """The folder of a slot."""
        stream = self.out / stream_folder(pending.name) if self._several else self.out
        return stream / SLOTS / folder_name(pending.label)

    def publish(self, pending: Pending, release: Release) -> bool:
        """Write a slot's folder; False if the same folder exists already."""
        folder = self.folder(pending)
        self._make_way(folder)
        if not folder.exists():
            write(release, folder, format=self._form)
            return True
        if not self._is_same(folder, release):
            raise BundleError(
                f"the folder `{folder.relative_to(self.out)}` exists already and holds something else",
                hint="slots are never replaced: find out who wrote it, and move it away if it is not this "
                "stream's",
                code="slot-differs",
            )
        return False

    def _make_way(self, target: Path) -> None:
        """Make the folders above, and remove what is left of an earlier attempt."""
        with os_errors(self.out.name):
            for folder in (self.out, target.parent.parent, target.parent):
                if not folder.exists():
                    folder.mkdir()
                    sync_folder(folder.parent)
            for partial in target.parent.glob(f".{target.name}.partial-*"):
                shutil.rmtree(partial)

    def _is_same(self, folder: Path, release: Release) -> bool:
        """Whether a folder holds what is to be written, by writing that next to it and comparing."""
        with os_errors(folder.name):
            scratch = folder.parent / f".{folder.name}.partial-{secrets.token_hex(4)}"
            scratch.mkdir(mode=0o700)
            try:
                intended = write(release, scratch / "intended", format=self._form)
                return not _damaged(folder) and _content(folder) == _content(intended)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)


def _damaged(folder: Path) -> bool:
    try:
        return bool(damage(folder))
    except BundleError:
        return True


def _content(folder: Path) -> tuple[Any, dict[str, pa.Table]]:
    """The manifest and the tables of a folder, however the files are laid out."""
    manifest, _ = read_manifest(folder)
    tables = manifest["tables"]
    manifest["tables"] = {name: {**entry, "sha256": None} for name, entry in tables.items()}
    return manifest, open_release(folder, check=False).tables


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
