"""What is published contains nothing else, and above all nothing private.

Published are a release folder, the folder of a stream in service, and a folder that contains streams in
service and nothing that is not published. A new file or release inside one of them is refused before any work
is done.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from timeveil.errors import ParameterError, PrivateArtifactError
from timeveil.folder.manifest import MANIFEST
from timeveil.reading.files import refuse_unnameable

SLOTS = "slots"


def refuse_inside(path: Path, what: str, *, private: bool = True, out: Path | None = None) -> None:
    """Refuse a file inside of what is published; `out` is a folder that is about to be."""
    reason = "; it is private" if private else " and contains nothing else"
    error = PrivateArtifactError if private else ParameterError
    published = None if out is None else out.resolve()
    for folder in _around(path):
        if folder == published or _is_published(folder):
            message = f"{what} would be inside the folder `{folder.name}`, which is published{reason}"
            raise error(message, hint="choose a path outside every folder that is published")


def refuse_nested(path: Path) -> None:
    """Refuse a new release or stream inside another one; streams may be next to it."""
    for folder in _around(path.parent):
        if _is_release(folder) or _is_stream(folder):
            message = f"`{path.name}` would be inside the folder `{folder.name}`, which is published"
            raise ParameterError(message, hint="choose an {out} folder outside of it")


def _around(path: Path) -> list[Path]:
    refuse_unnameable(path)
    # As written and as resolved: a link may lead into a published folder.
    names = (path.absolute(), path.resolve())
    return list(dict.fromkeys(folder for name in names for folder in (name, *name.parents)))


def _is_published(folder: Path) -> bool:
    if _is_release(folder) or _is_stream(folder):
        return True
    with suppress(OSError), os.scandir(folder) as entries:
        has_stream = False
        # The first entry that is not published decides, and no more are read: a folder may have thousands.
        for entry in entries:
            if not entry.name.startswith("."):
                is_stream = _is_stream(Path(entry.path))
                if not (is_stream or _is_release(Path(entry.path))):
                    return False
                has_stream = has_stream or is_stream
        return has_stream
    return False


def _is_release(folder: Path) -> bool:
    return (folder / MANIFEST).exists()


def _is_stream(folder: Path) -> bool:
    return any(folder.glob(f"{SLOTS}/*/{MANIFEST}"))
