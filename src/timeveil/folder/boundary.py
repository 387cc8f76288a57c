"""What is published contains nothing else, and above all nothing private.

Published are a release folder, the folder of a stream in service, and a folder that contains streams in
service and no other file. A new file inside one of them is refused before any work is done.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from timeveil.errors import ParameterError, PrivateArtifactError
from timeveil.folder.manifest import MANIFEST
from timeveil.reading.files import refuse_unnameable

SLOTS = "slots"


def refuse_inside(path: Path, what: str, *, private: bool = True, out: Path | None = None) -> None:
    """Refuse a path inside of what is published; `out` is a folder that is about to be."""
    refuse_unnameable(path)
    published = None if out is None else out.resolve()
    # As written and as resolved: a link may lead into a published folder.
    for name in (path.absolute(), path.resolve()):
        for folder in (name, *name.parents):
            if folder != published and not _is_published(folder):
                continue
            error = PrivateArtifactError if private else ParameterError
            reason = "; it is private" if private else " and contains nothing else"
            message = f"{what} would be inside the folder `{folder.name}`, which is published{reason}"
            raise error(message, hint="choose a path outside every folder that is published")


def _is_published(folder: Path) -> bool:
    if (folder / MANIFEST).exists() or _is_stream(folder):
        return True
    with suppress(OSError):
        entries = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
        return bool(entries) and all(map(_is_stream, entries))
    return False


def _is_stream(folder: Path) -> bool:
    return any(folder.glob(f"{SLOTS}/*/{MANIFEST}"))
