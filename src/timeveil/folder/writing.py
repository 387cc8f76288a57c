"""Write a release folder, or a ledger file: complete and checked, or not at all.

A release is written into a hidden folder that only its owner may enter, read back from the written bytes,
compared with what was to be written, verified, and only then put in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from timeveil.domain.judgement import Verdict
from timeveil.domain.release import Deferred, Ledger, Release
from timeveil.domain.stored import PrivateFolder, Stored
from timeveil.errors import BundleError, ParameterError
from timeveil.folder.ledger_file import ledger_beside, refuse_public, write_ledger
from timeveil.folder.manifest import MANIFEST, README, as_json, damaged, describe, schema_of, written_schema
from timeveil.folder.opening import damage, digest, open_release
from timeveil.folder.placing import put_in_place, refuse_folder, refuse_nested
from timeveil.folder.tables import Format, Table, have_same_rows, write_table
from timeveil.judging import verify
from timeveil.models import words
from timeveil.page.templates import letter
from timeveil.reading import files
from timeveil.reading.files import new_file, path_of, sync_folder, translate_os_errors

Judge: TypeAlias = Callable[[Release], Verdict]
_REPAIRED_BY_COPYING = ("file-extra", "file-form")


def write(
    thing: Release | Ledger,
    path: str | Path,
    *,
    format: Format = "parquet",  # noqa: A002 (public)
    overwrite: bool = False,
) -> Path:
    """Write a release to a new folder, or a ledger to a new private file; return its path.

    The folder appears after everything in it was read back and verified, and not before. A ledger is a
    Parquet file that only its owner may read, and is never written into a release folder. With `overwrite`
    the folder may hold another release, which stays whole until the new one takes its place. A ledger is
    never replaced.
    """
    if format not in ("parquet", "csv"):
        hint = 'set {format="parquet"} or {format="csv"}'
        raise ParameterError("`format` is neither `parquet` nor `csv`", hint=hint)
    folder = path_of(path)
    if isinstance(thing, Ledger):
        return write_ledger(thing, path)
    write_release(thing, folder, format, verify, overwrite=overwrite)
    return folder


def write_release(release: Release, folder: Path, form: Format, judge: Judge, *, overwrite: bool) -> None:
    """Write a release that a judge agrees with once it is written."""
    with (
        translate_os_errors(folder.name),
        _checked(release, folder, form, judge, overwrite=overwrite) as partial,
    ):
        put_in_place(partial, folder, overwrite=overwrite)


def write_pair(
    release: Release, folder: Path, ledger: Ledger, path: Path, form: Format, judge: Judge, *, overwrite: bool
) -> None:
    """Write a release and its ledger. Both are complete before either is renamed; both appear, or neither."""
    refuse_public(path)
    with (
        translate_os_errors(folder.name),
        ledger_beside(ledger, path) as rename_ledger,
        _checked(release, folder, form, judge, overwrite=overwrite) as partial,
    ):
        # The ledger first: it can be removed if the next step fails, unlike a release that has appeared.
        rename_ledger()
        try:
            put_in_place(partial, folder, overwrite=overwrite)
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def rewrite(folder: str | Path, new_folder: str | Path) -> Path:
    """Write a clean copy of a release from its cells, names and manifest; return the new folder.

    Nothing else that the files may contain is copied: no metadata, spellings of numbers, gaps between
    columns, words of README.txt or further files. The copy is verified like any release that is written.
    """
    refuse_nested(path_of(new_folder))
    faults = [fault for fault in damage(folder) if fault.code not in _REPAIRED_BY_COPYING]
    if faults:
        raise damaged(Path(folder).name, f"cannot be copied: {faults[0].message}")
    release = open_release(folder, check=False)
    is_csv = any(isinstance(table, Table) and table.path.suffix == ".csv" for table in release.parts.values())
    return write(release, new_folder, format="csv" if is_csv else "parquet")


@contextmanager
def _checked(
    release: Release, folder: Path, form: Format, judge: Judge, *, overwrite: bool
) -> Iterator[Path]:
    """The release in a hidden folder, read back and verified, ready to be put in place."""
    refuse_folder(folder, overwrite=overwrite)
    hidden = PrivateFolder(folder.parent, f".{folder.name}.partial-")
    try:
        # Inside it, a folder with the rights of the final one.
        partial = hidden.path / "release"
        partial.mkdir(mode=0o755)
        manifest = fill(release, partial, form)
        with files.own_files():
            _check(partial, release, manifest, judge)
        # Once more, because writing and checking may have taken hours.
        refuse_folder(folder, overwrite=overwrite)
        yield partial
    finally:
        hidden.close()


def fill(release: Release, folder: Path, form: Format) -> dict[str, Any]:
    """Write all files of a release, unchecked; return its manifest."""
    manifest: dict[str, Any] = {**release.manifest, "tables": {}}
    for name in release.parts:
        table = release.parts[name]
        schema = written_schema(table.read().schema if isinstance(table, Deferred) else table.schema)
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


def _check(folder: Path, release: Release, manifest: dict[str, Any], judge: Judge) -> None:
    """Compare the written folder with what was to be written, and verify the release in it."""
    written = open_release(folder, check=False)
    if not any(
        isinstance(part, Stored) for part in release.parts.values()
    ):  # so there is room to read it once
        written = replace(written, parts=written.tables)
    same = {MANIFEST: as_json(written.manifest) == as_json(manifest)}
    for name in release.parts:
        same[name] = have_same_rows(release.batches(name), written.batches(name), schema_of(manifest, name))
    for name in (name for name, is_same in same.items() if not is_same):
        message = f"`{name}` reads back differently from what was written"
        hint = "check that the disk is healthy, and report it if it is"
        raise BundleError(message, hint=hint, code="not-verified")
    verdict = judge(written)
    if not verdict:
        faults = "; ".join(violation.message for violation in verdict.violations[:3])
        message = f"the written release does not keep its promise, so it was not published: {faults}"
        hint = "nothing was written; run the method again on the original table"
        facts = {"violations": [violation.code for violation in verdict.violations]}
        raise BundleError(message, hint=hint, code="not-verified", facts=facts)
