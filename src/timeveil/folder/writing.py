"""Write a release folder, or a ledger file: complete and checked, or not at all.

A release is written into a hidden folder, read back, compared, verified, and only then put in its place.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from timeveil.domain.judgement import Verdict
from timeveil.domain.release import Ledger, Release
from timeveil.domain.stored import Parts, PrivateFolder, Stored
from timeveil.errors import BundleError, ParameterError, PrivateArtifactError
from timeveil.folder import in_store
from timeveil.folder.in_database import Schema, filled, ledger_filled
from timeveil.folder.in_store import is_elsewhere
from timeveil.folder.ledger_file import ledger_beside, refuse_public
from timeveil.folder.manifest import (
    MANIFEST,
    README,
    as_json,
    damaged,
    describe,
    part_name,
    schema_of,
    written_schema,
)
from timeveil.folder.opening import Place, damage, digest, label, open_release
from timeveil.folder.placing import put_in_place, refuse_folder, refuse_nested
from timeveil.folder.tables import Format, Table, have_same_rows, write_table
from timeveil.judging import verify
from timeveil.models import words
from timeveil.page.templates import letter
from timeveil.reading import files
from timeveil.reading.database import is_address
from timeveil.reading.database import schema_of as schema_of_address
from timeveil.reading.files import new_file, path_of, refuse_unnameable, sync_folder, translate_os_errors
from timeveil.reading.many_files import is_remote

Put = Callable[[], None]
Judge = Callable[[Release], Verdict]
_REPAIRED_BY_COPYING = ("file-extra", "file-form")


def write(
    thing: Release | Ledger,
    path: Place,
    *,
    format: Format = "parquet",  # noqa: A002 (public)
    overwrite: bool = False,
) -> Path | str:
    """Write a release to a new folder, or a ledger to a new private file; return its path.

    `path` may also be the address of a new or empty schema, `postgresql://host/database#schema`: its tables
    appear in one transaction, read back and verified. That of a ledger must be nobody else's. A release may
    also go to an object store, `s3://bucket/folder`: it is sent once it is verified, its manifest last.
    The folder appears after everything in it was read back and verified, and not before. A ledger is a
    Parquet file that only its owner may read, and is never written into a release folder. With `overwrite`
    the folder may hold another release, which stays whole until the new one takes its place. A ledger is
    never replaced.
    """
    if format not in ("parquet", "csv"):
        hint = 'set {format="parquet"} or {format="csv"}'
        raise ParameterError("`format` is neither `parquet` nor `csv`", hint=hint)
    if isinstance(thing, Ledger):
        with _private(thing, path) as (put, _):
            put()
    else:
        with _checked(thing, path, format, verify, overwrite=overwrite) as put:
            put()
    return path if is_elsewhere(path) else Path(path)


def write_pair(
    release: Release,
    out: Place,
    ledger: Ledger,
    path: Place | None,
    form: Format,
    judge: Judge = verify,
    *,
    overwrite: bool = False,
) -> None:
    """Write a release that a judge agrees with once written, and its ledger: both appear, or neither."""
    no_ledger: tuple[Put, Put] = (lambda: None, lambda: None)
    private = nullcontext(no_ledger) if path is None else _private(ledger, path, out)
    with (
        private as (put_ledger, remove_ledger),
        _checked(release, out, form, judge, overwrite=overwrite) as put,
    ):
        # The ledger first: it can be removed if the next step fails, unlike a release that has appeared.
        put_ledger()
        try:
            put()
        except BaseException as error:
            if "appeared" not in getattr(error, "facts", {}):  # else the release may be there, and needs it
                remove_ledger()
            raise


def refuse_places(out: Place, ledger: Place | None, *, overwrite: bool = False) -> None:
    """Refuse where a release or its ledger cannot be written, before any work is done."""
    if is_address(out):
        Schema(out).refuse_taken(overwrite=overwrite)
    elif is_remote(out):
        in_store.refuse_taken(out)
    else:
        refuse_folder(path_of(out), overwrite=overwrite)
        refuse_nested(path_of(out))
    if is_address(ledger):
        _refuse_same(ledger, out)
        Schema(ledger).refuse_taken()
    elif ledger is not None:
        refuse_unnameable(path_of(ledger))
        published = None if is_elsewhere(out) else path_of(out)
        refuse_public(path_of(ledger), is_folder=str(ledger).endswith("/"), out=published)


def _refuse_same(ledger: str, out: Place | None) -> None:
    if is_address(out) and schema_of_address(ledger)[1] == schema_of_address(out)[1]:
        message = "the ledger would be in the schema of the release, which is published; it is private"
        raise PrivateArtifactError(message, hint="name another schema for it")


@contextmanager
def _private(ledger: Ledger, path: Place, out: Place | None = None) -> Iterator[tuple[Put, Put]]:
    """A ledger that is ready to appear: what puts it in place, and what takes it back."""
    if is_address(path):
        _refuse_same(path, out)
        with ledger_filled(ledger, path) as steps:
            yield steps
        return
    file = path_of(path)
    refuse_public(file, is_folder=str(path).endswith(os.sep))
    with ledger_beside(ledger, file) as steps:
        yield steps


def rewrite(folder: Place, new_folder: Place) -> Path | str:
    """Write a clean copy of a release from its cells, names and manifest; return the new folder.

    Nothing else that the files may contain is copied: no metadata, spellings of numbers, gaps between
    columns, words of README.txt or further files. The copy is verified like any release that is written.
    """
    if not is_elsewhere(new_folder):
        refuse_nested(path_of(new_folder))
    faults = [fault for fault in damage(folder) if fault.code not in _REPAIRED_BY_COPYING]
    if faults:
        raise damaged(label(folder), f"cannot be copied: {faults[0].message}")
    release = open_release(folder, check=False)
    is_csv = any(isinstance(table, Table) and table.path.suffix == ".csv" for table in release.parts.values())
    return write(release, new_folder, format="csv" if is_csv else "parquet")


@contextmanager
def _checked(release: Release, out: Place, form: Format, judge: Judge, *, overwrite: bool) -> Iterator[Put]:
    """The release in a hidden folder, or a transaction, read back and verified: what puts it in place."""
    if is_address(out):
        if form != "parquet":
            hint = "leave {format} out"
            raise ParameterError("`format` is that of files, and a database has tables", hint=hint)
        with filled(release, out, overwrite=overwrite) as (written, manifest, commit):
            _check(written, release, manifest, judge)
            yield commit
        return
    refuse: Put
    put: Callable[[Path], None]
    if is_remote(out):
        if overwrite:
            hint = "write to a new address"
            raise ParameterError("an object store replaces no release in one step", hint=hint)
        name, beside = label(out), tuple[Any, ...]()
        refuse, put = partial(in_store.refuse_taken, out), partial(in_store.send, out)
    else:
        folder = path_of(out)
        name, beside = folder.name, (folder.parent, f".{folder.name}.partial-")
        refuse = partial(refuse_folder, folder, overwrite=overwrite)
        put = partial(put_in_place, folder=folder, overwrite=overwrite)
    with translate_os_errors(name):
        refuse()
        with closing(PrivateFolder(*beside)) as hidden:
            # Inside it, a folder with the rights of the final one.
            filled_folder = hidden.path / "release"
            filled_folder.mkdir(mode=0o755)
            manifest = fill(release, filled_folder, form)
            with files.own_files():
                _check(open_release(filled_folder, check=False), release, manifest, judge)
            # Once more, because writing and checking may have taken hours.
            refuse()
            yield lambda: put(filled_folder)


def fill(release: Release, folder: Path, form: Format) -> dict[str, Any]:
    """Write all files of a release, unchecked; return its manifest."""
    manifest: dict[str, Any] = {**release.manifest, "tables": {}}
    for name, table in release.parts.items():
        schema = written_schema(table)
        if form == "parquet" and isinstance(table, Parts) and table.parts:
            describe(manifest, name, schema, form, 0, "", _take_parts(table, folder / name))
            continue
        path = folder / f"{name}.{form}"
        with new_file(path) as file:
            rows = write_table(release.batches(name), schema, file, form)
            # On the disk before its digest is stated.
            files.sync(file)
        describe(manifest, name, schema, form, rows, digest(path))
    files.write_file(folder / MANIFEST, as_json(manifest))
    files.write_file(folder / README, letter(words(manifest["model"]), release.guarantee, manifest).encode())
    sync_folder(folder)
    return manifest


def _take_parts(table: Parts, folder: Path) -> list[dict[str, Any]]:
    """Bring files that executors wrote into the folder of a release, and read each back; describe them."""
    folder.mkdir(mode=0o755)
    described = []
    for number, part in enumerate(table.parts):
        path = folder / part_name(number)
        with new_file(path) as file:
            with part.path.open("rb") as source:
                shutil.copyfileobj(source, file)
            files.sync(file)
        if digest(path) != part.sha256:
            message = f"`{path.name}` reads back differently from what an executor wrote"
            raise BundleError(message, hint="check that the disks are healthy", code="not-verified")
        described.append({"file": path.name, "rows": part.rows, "sha256": part.sha256})
    sync_folder(folder)
    return described


def _check(written: Release, release: Release, manifest: dict[str, Any], judge: Judge) -> None:
    """Compare what was written with what was to be written, and verify it."""
    if not any(isinstance(part, Stored) for part in release.parts.values()):
        written = replace(written, parts=written.tables)  # there is room to read it once
    same = {MANIFEST: as_json(written.manifest) == as_json(manifest)}
    for name in release.parts:
        if "parts" not in manifest["tables"][name]:  # each of them was compared by its hash
            rows = release.batches(name), written.batches(name)
            same[name] = have_same_rows(*rows, schema_of(manifest, name))
    for name in (name for name, is_same in same.items() if not is_same):
        message = f"`{name}` reads back differently from what was written"
        hint = "check that the disk is healthy; a database keeps microseconds, and no shorter times"
        raise BundleError(message, hint=hint, code="not-verified")
    verdict = judge(written)
    if not verdict:
        faults = "; ".join(violation.message for violation in verdict.violations[:3])
        message = f"the written release does not keep its promise, so it was not published: {faults}"
        hint = "nothing was written; run the method again on the original table"
        facts = {"violations": [violation.code for violation in verdict.violations]}
        raise BundleError(message, hint=hint, code="not-verified", facts=facts)
