"""Open and judge a release folder: nothing in it is believed before it is checked.

The folder of a stream in service has one release folder per slot, which are read as one release. They are
named after labels and values, so that no two share a name and none leads elsewhere.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pyarrow as pa

from timeveil.domain.guarantee import guarantee_from
from timeveil.domain.judgement import Verdict, Violation
from timeveil.domain.release import Deferred, Ledger, Release
from timeveil.domain.stored import PARTIAL
from timeveil.domain.wording import Progress, silent
from timeveil.errors import BundleError, TimeveilError, raising
from timeveil.evidence.published import Evidence, require_matching_ledger
from timeveil.folder import in_database, in_store
from timeveil.folder.in_store import is_elsewhere
from timeveil.folder.ledger_file import ledger_of
from timeveil.folder.manifest import GET_AGAIN, MANIFEST, README, damaged, files_of, read_manifest, schema_of
from timeveil.folder.placing import SLOTS
from timeveil.folder.tables import opened_table
from timeveil.judging import gather, is_well_formed, verify
from timeveil.models.stream.slots import NOWHERE, line_of
from timeveil.reading.database import is_address
from timeveil.reading.database import schema_of as schema_of_address
from timeveil.reading.files import path_of
from timeveil.reading.many_files import is_remote

Place = str | os.PathLike[str]
"""The path of a folder or file, or the address of a schema."""
_LONGEST_NAME = 150
_EXCEPTIONS = ("accept_risk", "fold_spellings")
SHIFTED = '"method": "shift-dates"'
FILES = (
    "every file exists, there is no other, tables have their stated hash, and release.json its one spelling; "
    "bytes that no cell shows and the words of README.txt are not judged, and `timeveil verify --rewrite` "
    "leaves them out"
)
UNFINISHED = "slots that are still being written, or were when a run was killed, are hidden and not judged"
_NOT_ITS = "the ledger does not belong to this release, or the release was not made from it"
NOT_ITS_LEDGER = Violation("ledger", _NOT_ITS)
"""Reported first where a recipient finds nothing wrong and only the ledger disagrees."""

# Files that systems and programs leave in folders. They are refused like any other, with a word about them.
_STRAYS: Mapping[str, str] = {
    "macOS leaves it in folders and archives": ".ds_store .localized ._* __macosx",
    "Windows leaves it in folders": "thumbs.db ehthumbs.db desktop.ini",
    "a desktop or notebook leaves it where it was opened": ".directory .ipynb_checkpoints",
    "it belongs to version control": ".git .gitkeep",
    "an office program leaves it while a table is open": ".~lock.* ~$*",
    "a network disk leaves it while another program has a file open": ".nfs*",
    "an editor leaves it": "*~ *.swp *.bak",
    "a program left it behind": "*.tmp",
    "a browser left an unfinished download behind": "*.crdownload *.part",
}


class Judgement(NamedTuple):
    """The evidence of a release that can be read, the verdict, and whether it is sound to a recipient."""

    evidence: Evidence | None
    verdict: Verdict
    sound: bool


def open_release(folder: Place, *, check: bool = True) -> Release:
    """Open a release folder, or a schema of a database.

    Tables stay on disk and are read when used, in batches if requested; those of a schema are read at once,
    of one state of the database.

    With `check=False` the folder opens even if a file has changed or the manifest is not that of a release,
    as long as it can be read; `damage` and `verify` report what is wrong with it. The folder of a stream in
    service opens as the release of all its slots.
    """
    release, violations = _open(_valid(folder), files=check)
    # Slots were looked at one by one: all of them together would be read for it.
    is_joined = any(isinstance(part, Deferred) for part in release.parts.values())
    if check and not is_joined and not is_well_formed(release):
        raise damaged(MANIFEST, "does not describe a release; `verify` reports what is wrong with it")
    if violations:
        is_extra = all(violation.code == "file-extra" for violation in violations)
        hint = "remove files that do not belong to the release" if is_extra else GET_AGAIN
        raise damaged(label(folder), f"is not as it was written: {violations[0].message}", hint)
    return release


def open_ledger(path: Place, *, after: Sequence[Ledger] = ()) -> Ledger:
    """Open a ledger file, or a ledger in a schema of a database. A long one is read from disk in batches.

    `after` has the ledgers of the earlier releases that the release was made after.
    """
    ledger = in_database.ledger_in(path) if is_address(path) else ledger_of(path)
    return replace(ledger, after=tuple(after))


def label(place: Place) -> str:
    """The name of a folder or a schema."""
    if is_remote(place):
        return place.partition("?")[0].rstrip("/").rpartition("/")[2]
    return schema_of_address(place)[1] if is_address(place) else path_of(place).resolve().name


def damage(folder: Place) -> tuple[Violation, ...]:
    """What is wrong with the files of a release folder; empty if nothing is.

    Looks at files alone: all exist, there are no others, tables have their stated hash, and `release.json` is
    spelt as timeveil spells it. Neither the words of README.txt nor the bytes of tables are judged; `verify`
    judges their cells. Of a folder of slots, each slot is checked.
    """
    return _open(_valid(folder), files=True)[1]


def judged(release: Release | Place, ledger: Ledger | None = None, progress: Progress = silent) -> Judgement:
    """Verify a release: its promise and, of a folder, its files."""
    violations: tuple[Violation, ...] = ()
    files: tuple[str, ...] = () if isinstance(release, Release) else (FILES,)
    if not isinstance(release, Release):
        place = _valid(release)
        progress("reading", 0.0)
        release, violations = _open(place, files=True)
        if is_address(place):
            files = (in_database.TABLES,)
        elif not isinstance(place, Path):
            files = (FILES,)
        elif (place / SLOTS).is_dir() and any(map(_is_unfinished, (place / SLOTS).iterdir())):
            files = (FILES, UNFINISHED)
    try:
        evidence = gather(release, ledger, progress)
        verdict = verify(evidence)
        passes_in_public = bool(verdict)
        if ledger is not None and verdict.ledger_only:
            require_matching_ledger(release, ledger)  # else it is the user's mistake; the release is sound
            passes_in_public = True
    except BundleError as error:
        # A folder that cannot be read fails its check; any other error is about the call and passes on.
        if error.code != "folder-damaged" or not files:
            raise
        scope = "recipient" if ledger is None else "with ledger"
        violations = (*violations, Violation("file-unreadable", error.message))
        return Judgement(None, Verdict(scope, files, violations), sound=False)
    sound = passes_in_public and not violations
    violations = (*violations, *verdict.violations)
    if sound and not verdict:
        violations = (NOT_ITS_LEDGER, *violations)
    return Judgement(evidence, Verdict(verdict.scope, (*files, *verdict.checks), violations), sound)


def _valid(folder: Place) -> Path | str:
    """The address of a schema, or a path at which a release may be."""
    if is_elsewhere(folder):
        return folder
    path = path_of(folder)
    message, hint = f"`{path.name[:40]}` is not a valid path", "name the folder that `write` or `--out` made"
    error = BundleError(message, hint=hint, code="folder-missing")
    with raising(error, on=(OSError, ValueError)):
        (path / MANIFEST).exists()
        statement = Path(f"{path}.json")
        if path.is_file() and statement.is_file():
            with statement.open(encoding="utf-8") as file:
                is_shifted = SHIFTED in file.read(_LONGEST_NAME)
            if is_shifted:
                message = f"`{path.name}` has shifted dates, which promise nothing: there is nothing to judge"
                hint = "see its statement; publish with generalize-time for a promise"
                raise BundleError(message, hint=hint)
    return path


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _open(folder: Path | str, *, files: bool) -> tuple[Release, tuple[Violation, ...]]:
    """The release in a folder, or at an address, and, with `files`, what is wrong with its files."""
    if not isinstance(folder, Path):
        return _open_elsewhere(folder, files=files)
    entries = _slot_entries(folder)
    if any(entries.values()):
        return _open_slots(folder, entries, files=files)
    manifest, violations = read_manifest(folder)
    entries_by_name = manifest["tables"].items()
    tables = {name: opened_table(folder, schema_of(manifest, name), entry) for name, entry in entries_by_name}
    release = Release(guarantee_from(manifest["guarantee"]), manifest, tables)
    if not files:
        return release, ()
    listed, hashes = manifest["tables"].values(), dict[str, str | None]({README: None})
    for entry in listed:
        hashes |= files_of(entry)
    for file, stated in hashes.items():
        path = folder / file
        if path.is_symlink() or (folder / Path(file).parts[0]).is_symlink() or not path.is_file():
            violations.append(Violation("file-missing", f"the file `{file}` is missing"))
        elif stated is not None and digest(path) != stated:
            message = f"the file `{file}` has changed since it was written"
            violations.append(Violation("file-changed", message))
    violations += _extra(folder, {MANIFEST, README, *(entry["file"] for entry in listed)})
    for entry in (entry for entry in listed if "parts" in entry and (folder / entry["file"]).is_dir()):
        violations += _extra(folder / entry["file"], {Path(file).name for file in files_of(entry)})
    return release, tuple(violations)


def _open_elsewhere(address: str, *, files: bool) -> tuple[Release, tuple[Violation, ...]]:
    if is_address(address):
        release, faults = in_database.opened(address, judges=files)
        return release, faults if files else ()
    copied, private = in_store.fetched(address)
    release, faults = _open(copied, files=files)
    for table in release.parts.values():
        vars(table)["_folder"] = private  # as long as a table is used
    return release, faults


def _open_slots(
    folder: Path, entries: Mapping[Path, bool], *, files: bool
) -> tuple[Release, tuple[Violation, ...]]:
    opened = {slot.name: _open(slot, files=files) for slot in entries if entries[slot]}
    for name, (slot, _) in opened.items():
        if not (is_well_formed(slot) and {"buckets", "groups"} & set(slot.manifest["counts"])):
            raise damaged(name, f"is not the folder of a slot: its {MANIFEST} does not describe one")
    release = joined(folder.name, [slot for slot, _ in opened.values()])
    if not files:
        return release, ()
    violations = list[Violation]()
    for name, (slot, faults) in opened.items():
        violations += (Violation(fault.code, f"slot `{name}`: {fault.message}") for fault in faults)
        counts = slot.manifest["counts"]
        label = counts["first_slot"]
        is_its_slot = counts["slots"] == 1 and label == counts["last_slot"] and folder_name(label) == name
        if label is None or not is_its_slot:
            message = f"slot `{name}`: the folder does not contain exactly the slot it is named after"
            violations.append(Violation("slot", message))
    violations += _extra(folder, {SLOTS})
    strays = [entry.name for entry, is_slot in entries.items() if not is_slot]
    violations += [Violation("file-extra", f"`{name}` is not the folder of a slot") for name in strays]
    return release, tuple(violations)


def _extra(folder: Path, expected: set[str]) -> list[Violation]:
    names = sorted(file.name for file in folder.iterdir() if file.name not in expected)
    return [Violation("file-extra", not_of_the_release(name)) for name in names]


def not_of_the_release(name: str) -> str:
    """The sentence about a file that does not belong to a release."""
    sentence = f"`{name}` does not belong to the release"
    for origin, patterns in _STRAYS.items():
        if any(fnmatchcase(name.lower(), pattern) for pattern in patterns.split()):
            return f"{sentence}: {origin}; delete it"
    return sentence


def folder_name(text: str | int) -> str:
    """A label or a value as the name of a folder.

    ASCII letters, digits and `_.-~` stay; every other byte of its UTF-8 becomes a percent sign and two
    digits, and so does a dot at the beginning. A name that would be too long ends in a digest instead.
    """
    plain = str(text)
    name = quote(plain, safe="", errors="surrogatepass")
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if len(name) > _LONGEST_NAME:
        digest = hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()
        # A percent sign at the end never comes from quoting, so no short name can equal this one.
        return f"{name[:_LONGEST_NAME]}%{digest[:32]}%"
    return name or "%"


def stream_folder(name: str) -> str:
    """The folder of a stream, never named like the folder of slots."""
    return "%73lots" if name == SLOTS else folder_name(name)


def slot_folders(folder: Path) -> list[Path]:
    """The folders of a stream's slots; links, which lead elsewhere, and unfinished ones are left out."""
    return [entry for entry, is_slot in _slot_entries(folder).items() if is_slot]


def _slot_entries(folder: Path) -> dict[Path, bool]:
    """Everything in a stream's folder of slots but what is unfinished, and whether it is a slot's folder."""
    slots = folder / SLOTS
    if (folder / MANIFEST).exists() or slots.is_symlink() or not slots.is_dir():
        return {}
    before, paths = None, list[Path]()
    # A publisher may be at work: a list that missed a slot and has a later one is read again.
    while paths != before:
        before, paths = paths, sorted(path for path in slots.iterdir() if not _is_unfinished(path))
    return {path: path.is_dir() and not path.is_symlink() and not path.name.startswith(".") for path in paths}


def _is_unfinished(path: Path) -> bool:
    """Whether it is the hidden folder that a slot is written in, which may be gone by now."""
    return bool(PARTIAL.fullmatch(path.name)) and not path.is_symlink() and not path.is_file()


def joined(name: str, releases: Sequence[Release]) -> Release:
    """The slots of one stream, each a release, as one release; a missing slot shows as a gap."""
    first = releases[0]
    if any((_shared(r), r.parts.keys()) != (_shared(first), first.parts.keys()) for r in releases):
        raise damaged(name, "contains slots of different streams")
    error = damaged(name, "contains a slot that is not one of the stated granularity")
    with raising(error, on=(TimeveilError, pa.ArrowException, KeyError, TypeError, ValueError)):
        line = line_of(first)
        kind = pa.int64() if line.granularity is None else pa.string()
        labels = [release.manifest["counts"]["first_slot"] for release in releases]
        positions = line.numbers(pa.array(labels, kind)).tolist()
    if NOWHERE in positions:
        raise error
    ordered = [releases[number] for number in sorted(range(len(releases)), key=positions.__getitem__)]
    counts = [release.manifest["counts"] for release in ordered]
    summed = ("rows", "slots", "buckets", "groups", "counterfeits")
    totals = {key: sum(count.get(key, 0) for count in counts) for key in summed if key in counts[0]}
    span = {"first_slot": counts[0]["first_slot"], "last_slot": counts[-1]["last_slot"]}
    shared = _shared(first)
    stated = [release.manifest["parameters"] for release in ordered]
    # What a stream accepted or folded in any of its slots: it may begin to while it goes on.
    accepted = sorted({name for parameters in stated for name in parameters.get("accept_risk", ())})
    folds = any("fold_spellings" in parameters for parameters in stated)
    exceptions = {"accept_risk": accepted, "fold_spellings": folds}
    parameters = shared["parameters"] | {name: value for name, value in exceptions.items() if value}
    manifest = {**shared, "parameters": parameters, "counts": {**totals, **span}}
    if "levels" in first.manifest:
        manifest["levels"] = _levels(ordered)

    def concatenated(table: str) -> pa.Table:
        # Of copies, so that no file of a slot stays open: there may be thousands.
        parts = (release.parts[table] for release in ordered)
        return pa.concat_tables(part if isinstance(part, pa.Table) else copy(part).read() for part in parts)

    parts: dict[str, Any] = {name: Deferred(partial(concatenated, name)) for name in first.parts}
    return Release(first.guarantee, manifest, parts)


def _levels(releases: Sequence[Release]) -> dict[str, dict[str, list[str]]]:
    """The labels of all slots by column and level; one that has two levels is listed at the first."""
    levels: dict[str, dict[str, list[str]]] = {}
    for release in releases:
        for column, listed in release.manifest["levels"].items():
            merged = levels.setdefault(column, {})
            known = {text for texts in merged.values() for text in texts}
            for level, texts in listed.items():
                merged[level] = sorted({*merged.get(level, ()), *(t for t in texts if t not in known)})
    return levels


def _shared(release: Release) -> dict[str, Any]:
    """What the manifests of all slots of a stream have in common."""
    own = ("counts", "levels", "tables")
    shared = {key: value for key, value in release.manifest.items() if key not in own}
    stated = shared["parameters"].items()
    return shared | {"parameters": {key: value for key, value in stated if key not in _EXCEPTIONS}}
