"""A release in an object store: written and checked here, and then sent, its manifest last.

A store renames nothing, so that a release is there once its manifest is: without one, nobody opens it. To be
opened it is copied into a private folder.
"""

import shutil
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TypeGuard

from timeveil.domain.stored import PrivateFolder, private_file
from timeveil.errors import BundleError, ParameterError
from timeveil.folder.manifest import MANIFEST, damaged
from timeveil.reading.database import is_address
from timeveil.reading.files import write_error
from timeveil.reading.many_files import below, is_remote, opened_store


def is_elsewhere(place: object) -> TypeGuard[str]:
    """Whether it is an address, of a database or an object store, and no path."""
    return is_address(place) or is_remote(place)


def refuse_taken(address: str) -> None:
    """Refuse an address below which there is something already."""
    with opened_store(address) as (store, base, pattern, name):
        if pattern or "/" not in base:
            message = "the address does not name a folder of an object store"
            raise ParameterError(message, hint="write s3://bucket/folder")
        if store.get_file_info(base).is_file or below(store, base):
            message = f"`{name}` exists already in the object store"
            hint = (
                "choose another name, or remove it first; what has no manifest is left of a run that failed"
            )
            raise BundleError(message, hint=hint, code="folder-exists")


def send(address: str, folder: Path) -> None:
    """Send the files of a complete release, read each back, and only then send its manifest."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    files.sort(key=lambda path: path.name == MANIFEST)
    with opened_store(address) as (store, base, _, name):
        sent = list[str]()
        try:
            for path in files:
                sent.append(f"{base}/{path.relative_to(folder).as_posix()}")
                with path.open("rb") as file, store.open_output_stream(sent[-1]) as stream:
                    shutil.copyfileobj(file, stream)
                with path.open("rb") as file, store.open_input_stream(sent[-1]) as stream:
                    while (block := file.read(1 << 20)) or stream.read(1):
                        if stream.read(len(block)) != block:
                            raise write_error(name, None)
        except BaseException:
            for path_there in reversed(sent):
                with suppress(Exception):
                    store.delete_file(path_there)
            raise


def fetched(address: str) -> tuple[Path, PrivateFolder]:
    """A copy of a release, in a folder that goes with its last use."""
    with opened_store(address) as (store, base, _, name):
        files = below(store, base)
        if MANIFEST not in files:
            message = f"the object store has no release at `{name}`"
            hint = "check the address: a release that is there has a manifest"
            raise BundleError(message, hint=hint, code="folder-missing")
        private = PrivateFolder()
        copy = private.path / "release"
        for file, path in files.items():
            if {*PurePosixPath(file).parts} & {"..", "."} or "\\" in file or file.startswith("/"):
                raise damaged(name, "has a file whose name leads elsewhere")
            (copy / file).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with private_file(copy / file) as target, store.open_input_stream(path) as stream:
                shutil.copyfileobj(stream, target)
    return copy, private
