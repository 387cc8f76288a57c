"""Write a release folder, or a ledger file: whole, checked, or not at all.

A release is written into a hidden folder that only its owner may enter, read back from the written
bytes, compared with what was meant, verified, and only then given its name.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from timeveil.domain.ledger import Ledger
from timeveil.domain.leftovers import LOCK, hold, sweep
from timeveil.domain.release import Release
from timeveil.domain.stored import Stored
from timeveil.errors import BundleError, ParameterError
from timeveil.folder.folder import README, as_json, columns_key, digest, open_release
from timeveil.folder.manifest_file import MANIFEST
from timeveil.folder.private import ledger_beside, refuse_public, write_ledger
from timeveil.folder.rows import Sum, written_schema
from timeveil.folder.tables import FORMULA_CELLS, Format, write_table
from timeveil.folder.trouble import said_plainly
from timeveil.folder.types import is_writable, type_name
from timeveil.judging.verify import verify
from timeveil.models.events.words.readme import letter
from timeveil.reading.limits import own_files


def write(thing: Release | Ledger, path: str | Path, *, format: Format = "parquet") -> Path:  # noqa: A002
    """Write a release to a new folder, or a ledger to a new private file; return its path.

    The folder appears when everything in it was read back and verified, and not before. A ledger is a
    Parquet file that only its owner may read, and never inside a release folder.
    """
    if format not in ("parquet", "csv"):
        raise ParameterError(
            "`format` is neither `parquet` nor `csv`",
            hint='give format="parquet" or format="csv"',
            code="bad-parameter",
        )
    if isinstance(thing, Ledger):
        return write_ledger(thing, path)
    place = Path(path)
    return said_plainly(place.name, lambda: _write_release(thing, place, format))


def write_pair(release: Release, folder: Path, ledger: Ledger, path: Path, form: Format) -> None:
    """A release and its ledger. Both are whole before either has its name, and both get theirs or neither."""
    refuse_public(path)
    said_plainly(folder.name, lambda: _write_pair(release, folder, ledger, path, form))


def _write_pair(release: Release, folder: Path, ledger: Ledger, path: Path, form: Format) -> None:
    with ledger_beside(ledger, path) as give_name, _checked(release, folder, form) as partial:
        named = False
        try:
            give_name()
            named = True
            partial.rename(folder)
        except BaseException:
            if named:
                path.unlink(missing_ok=True)
            raise
        sync_folder(folder.parent)


def _write_release(release: Release, place: Path, form: Format) -> Path:
    with _checked(release, place, form) as partial:
        partial.rename(place)
        sync_folder(place.parent)
    return place


@contextmanager
def _checked(release: Release, place: Path, form: Format) -> Iterator[Path]:
    """The release in a hidden folder, read back and verified, ready to be given its name."""
    refuse_taken(place)
    with _partial(place) as partial:
        meant = _fill(release, partial, form)
        with own_files():
            _check(partial, meant)
        refuse_taken(place)
        yield partial


def refuse_taken(place: Path) -> None:
    """Nothing that exists is ever written over, and no folder is made on the way."""
    refuse_unnameable(place)
    if os.path.lexists(place):
        raise BundleError(
            f"`{place.name}` exists already", hint="give a new name, or remove it first", code="folder-exists"
        )
    if not place.parent.is_dir():
        raise BundleError(
            f"there is no folder `{place.parent.name}` to write `{place.name}` into",
            hint="make that folder first",
            code="folder-missing",
        )


def refuse_unnameable(place: Path) -> None:
    """No file system takes a zero byte in a name."""
    if "\0" in str(place):
        raise BundleError(
            "a path to write to has a zero byte in it", hint="give it another name", code="folder-missing"
        )


@contextmanager
def _partial(place: Path) -> Iterator[Path]:
    """A folder with the rights of the final one, inside a hidden one beside it that nobody else may enter."""
    sweep(place.parent, f".{place.name}.partial-")
    lock = None
    while lock is None:
        hidden = place.parent / f".{place.name}.partial-{secrets.token_hex(4)}"
        hidden.mkdir(mode=0o700)
        lock = hold(hidden / LOCK)
    try:
        inner = hidden / "release"
        inner.mkdir(mode=0o755)
        yield inner
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        os.close(lock)


def _fill(release: Release, partial: Path, form: Format) -> dict[str, Sum]:
    manifest: dict[str, Any] = {**release.manifest, "tables": {}}
    meant = {}
    for name in release.parts:
        schema = _schema(release, name)
        file = partial / f"{name}.{form}"
        with _new_file(file) as target:
            meant[name] = write_table(release.batches(name), schema, target, form)
            _sync(target)
        stated = {column["name"]: column for column in release.manifest.get(columns_key(name), ())}
        manifest[columns_key(name)] = [
            {**stated.get(f.name, {}), "name": f.name, "type": type_name(f.type)} for f in schema
        ]
        entry = {"file": file.name, "format": form, "rows": meant[name].rows, "sha256": digest(file)}
        if form == "csv":
            entry["formula_cells"] = FORMULA_CELLS
        manifest["tables"][name] = entry
    _write_file(partial / MANIFEST, as_json(manifest))
    _write_file(partial / README, letter(release.guarantee, manifest).encode())
    sync_folder(partial)
    return meant


def _schema(release: Release, name: str) -> pa.Schema:
    part = release.parts[name]
    schema = part.schema if isinstance(part, pa.Table | Stored) else part.read().schema
    written = written_schema(schema)
    for field in written:
        if not is_writable(field.type):
            raise BundleError(
                f"column `{field.name}` has the type {field.type}, which cannot be written",
                hint="turn it into plain columns of text or numbers before reading",
                code="unsupported-input",
            )
    return written


def _check(partial: Path, meant: dict[str, Sum]) -> None:
    written = open_release(partial)
    for name, expected in meant.items():
        found = Sum()
        for batch in written.batches(name):
            found.add(batch)
        if found.hexdigest() != expected.hexdigest():
            raise BundleError(
                f"what was read back of table `{name}` is not what was to be written",
                hint="see that the disk is sound, and report it if it is",
                code="not-verified",
            )
    verdict = verify(written)
    if not verdict:
        said = "; ".join(violation.message for violation in verdict.violations[:3])
        raise BundleError(
            f"the written release does not keep its promise, so it was not published: {said}",
            hint="nothing was written; run the method again on the original table",
            code="not-verified",
            facts={"violations": [violation.code for violation in verdict.violations]},
        )


def _write_file(path: Path, content: bytes) -> None:
    with _new_file(path) as target:
        target.write(content)
        _sync(target)


def _new_file(path: Path) -> Any:
    return open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o644))


def _sync(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make a folder's list of names safe against loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
