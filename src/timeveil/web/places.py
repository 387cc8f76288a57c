"""Paths below one folder: what a page may name, and what it shows of a folder. Links that lead out do not."""

from itertools import chain, count
from pathlib import Path
from typing import Any

from timeveil.errors import BundleError, InputError, ParameterError, raising
from timeveil.folder.ledger_file import is_ledger
from timeveil.jobs.request import IS_RULE
from timeveil.jobs.typed import is_release
from timeveil.reading.database import address_of, is_address
from timeveil.reading.sources import SUFFIXES

MOST_ENTRIES = 500


class Places:
    """The folder that the app works in; every path is resolved, links included, and must be below it."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def inside(self, name: str) -> Path:
        """The resolved path of a name; refused if it is not below the root, or not there."""
        message = "there is no such file or folder below the folder that timeveil serves"
        error = InputError(message, hint="choose one from the list", code="file-missing")
        if "\0" in name or len(name) > 1_000 or not name.isprintable():
            raise error
        with raising(error, on=(OSError, RuntimeError)):
            resolved = (self.root / name).resolve(strict=True)
        if not resolved.is_relative_to(self.root):
            raise error
        return resolved

    def name(self, path: Path) -> str:
        """A path as pages show it, relative to the root."""
        return path.relative_to(self.root).as_posix()

    def source(self, name: str) -> str:
        """A table to read: an address of a database, a file, or a folder none of whose files leads out."""
        if is_address(name):
            address_of(name)  # refuses a password before any page shows it
            return name
        path = self.inside(name)
        if not path.is_file() and not path.is_dir():
            raise InputError("this is not a file", hint="choose one from the list", code="file-missing")
        for entry in path.iterdir() if path.is_dir() else ():
            self.inside(self.name(path / entry.name))
        return self.name(path)

    def release(self, name: str) -> str:
        """A folder that holds a release, or the slots of a stream in service."""
        path = self.inside(name)
        if not path.is_dir() or not (is_release(str(path)) or (path / "slots").is_dir()):
            hint = "choose a folder that holds release.json"
            raise BundleError("this is not a release folder", hint=hint, code="folder-missing")
        for entry in path.rglob("*"):
            self.inside(self.name(path) + "/" + entry.relative_to(path).as_posix())
        return self.name(path)

    def new(self, name: str, what: str) -> str:
        """A name for something new, in a folder that is there."""
        path = Path(name)
        hidden = path.name.startswith(".") or not name.isprintable()
        if not name.strip() or path.is_absolute() or ".." in path.parts or hidden:
            raise ParameterError(f"{what} needs a name below the folder served", hint="such as published")
        parent = self.inside(path.parent.as_posix())
        return self.name(parent / path.name)

    def free(self, name: str) -> str:
        """The name, with a number if something has it already."""
        path = Path(name)
        numbered = (f"{path.with_stem(f'{path.stem}-{n}')}" for n in count(2))
        return next(each for each in chain([name], numbered) if not (self.root / each).exists())

    def parameters(self, table: Any, values: dict[str, Any]) -> dict[str, Any]:
        """Values of parameters, of which those that are paths are resolved."""
        placed = dict(values)
        for name, declared in table.table().items():
            if placed.get(name) and declared.opened:
                several = declared.kind == "list"
                below = [
                    self.name(self.inside(str(p))) for p in (placed[name] if several else [placed[name]])
                ]
                placed[name] = below if several else below[0]
        for column, how in dict(placed.get("hierarchies") or {}).items():
            if not IS_RULE(str(how)):
                placed["hierarchies"] = {**placed["hierarchies"], column: self.name(self.inside(str(how)))}
        return placed

    def listing(self, name: str) -> list[dict[str, Any]]:
        """What a folder holds, with what it is: a folder, a table, a release, a ledger."""
        folder = self.inside(name)
        if not folder.is_dir():
            raise InputError("this is not a folder", hint="choose one from the list", code="file-missing")
        entries = []
        names = [entry.name for entry in folder.iterdir() if not entry.name.startswith(".")]
        for entry in sorted(names, key=str.lower)[:MOST_ENTRIES]:
            try:
                path = self.inside(f"{self.name(folder)}/{entry}")
            except InputError:
                continue  # a link that leads out, or a name that cannot be shown
            kind, size = _kind(path), path.stat().st_size if path.is_file() else None
            entries.append({"name": entry, "path": self.name(path), "kind": kind, "bytes": size})
        order = ["folder", "release", "table", "ledger", "job", "other"]
        return sorted(entries, key=lambda entry: order.index(str(entry["kind"])))


def _kind(path: Path) -> str:
    if path.is_dir():
        return "release" if is_release(str(path)) or (path / "slots").is_dir() else "folder"
    lower = path.name.lower()
    if not path.is_file():
        return "other"  # such as a pipe, which would be waited for
    if lower.endswith(".toml"):
        return "job"
    if is_ledger(path):
        return "ledger"
    return "table" if lower.endswith(SUFFIXES) else "other"


def fingerprint(path: Path) -> str:
    """What changes when a file or folder is written anew; pages of it are then made again.

    The time of the last change of state is among it: a program that writes can set all others back.
    """
    paths = [path, *sorted(path.rglob("*"))]
    states = [each.stat() for each in paths]
    return ";".join(f"{s.st_size}.{s.st_mtime_ns}.{s.st_ctime_ns}.{s.st_ino}" for s in states)
