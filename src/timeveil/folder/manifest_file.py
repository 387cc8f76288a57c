"""The file `release.json`, read with suspicion: a file of its own, not too long, not too deep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from timeveil.errors import BundleError, instead_of
from timeveil.folder.tables import damaged
from timeveil.reading.limits import limits, too_large

MANIFEST = "release.json"
DEEPEST = 50
"""Lists and objects in each other; a manifest of ours has fewer than ten."""


def read_manifest(place: Path) -> Any:
    """What the manifest of a folder says; anything that JSON can say."""
    path, most = place / MANIFEST, limits().description
    if path.is_symlink():
        raise damaged(MANIFEST, "is a symbolic link, which no release holds")
    size = path.stat().st_size
    if size > most:
        raise too_large(MANIFEST, f"has {size:,} bytes, and at most {most:,} are read", "description")
    causes = (OSError, ValueError, RecursionError)
    found = instead_of(
        causes, lambda cause: _unreadable(place.name, cause), lambda: json.loads(path.read_text("utf-8"))
    )
    if _is_deep(found):
        raise damaged(MANIFEST, f"has more than {DEEPEST} lists and objects in each other")
    return found


def _unreadable(name: str, cause: Exception) -> BundleError:
    if isinstance(cause, OSError):
        return BundleError(
            f"no permission to read `{name}`",
            hint="ask its owner for the right to read",
            code="no-permission",
        )
    return damaged(MANIFEST, "is not JSON")


def _is_deep(found: Any) -> bool:
    level = [found]
    for _ in range(DEEPEST + 1):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(found: Any) -> list[Any]:
    inner = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    return [value for value in inner if isinstance(value, dict | list)]
