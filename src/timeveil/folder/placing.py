"""Where a release may be put, and the one step of the file system that puts it there.

Published are a release folder, the folder of a stream in service, and a folder of such streams alone. What is
published contains nothing else, and above all nothing private.

A kill at any moment leaves the old release or the new one, never neither and never a mixture: where a release
is replaced, the two folders change places. Whether the system can do this is tried before any work is done.
"""

import ctypes
import errno
import os
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from timeveil.domain.stored import PrivateFolder
from timeveil.errors import BundleError, ParameterError, PrivateArtifactError, TimeveilError, raising
from timeveil.folder.manifest import MANIFEST, README, files_of, read_manifest
from timeveil.reading.files import refuse_taken, refuse_unnameable, sync_folder

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


def refuse_folder(folder: Path, *, overwrite: bool = False) -> None:
    """Refuse a folder that exists; to overwrite, one that holds anything but a release."""
    if not overwrite or not os.path.lexists(folder):
        return refuse_taken(folder)
    if folder.is_symlink() or not _holds_one_release(folder):
        message = f"`{folder.name}` is not a folder with one release and nothing else, so it is not replaced"
        hint = "choose another name, or look into it and remove it yourself"
        raise BundleError(message, hint=hint, code="folder-exists")
    with closing(PrivateFolder(folder.parent, f".{folder.name}.partial-")) as hidden:
        for name in ("new", "old"):
            (hidden.path / name).mkdir()
        message = "this file system cannot make two folders change places in one step, so nothing is replaced"
        error = BundleError(message, hint="write to a new folder", code="folder-exists")
        unable = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
        with raising(lambda cause: error if cause.errno in unable else cause, on=OSError):
            _swap(hidden.path / "new", hidden.path / "old")
    return None


def put_in_place(partial: Path, folder: Path, *, overwrite: bool = False) -> None:
    """The one step that publishes. Everything in the partial folder is checked and on the disk by now."""
    if overwrite and folder.exists():
        _swap(partial, folder)
    else:
        partial.rename(folder)
    sync_folder(folder.parent)


def _holds_one_release(folder: Path) -> bool:
    with suppress(OSError, TimeveilError):
        manifest, _ = read_manifest(folder)
        files = {MANIFEST, README, *(table["file"] for table in manifest["tables"].values())}
        files |= {file for table in manifest["tables"].values() for file in files_of(table)}
        return {path.relative_to(folder).as_posix() for path in folder.rglob("*")} <= files
    return False


def _swap(new: Path, old: Path) -> None:
    """Let two folders change places in one step; ENOSYS where the system has no such step."""
    paths = os.fsencode(new), os.fsencode(old)
    system: Any = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
    here, swap = -100, 2  # AT_FDCWD, the working folder; RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
    if sys.platform == "darwin" and hasattr(system, "renamex_np"):
        failed = system.renamex_np(*paths, swap)
    elif hasattr(system, "renameat2"):
        failed = system.renameat2(here, paths[0], here, paths[1], swap)
    else:
        raise OSError(errno.ENOSYS, "no such call")
    if failed:
        raise OSError(ctypes.get_errno(), "not exchanged")
