"""Files that a system or an editor leaves in a folder, and what is said of them.

They are refused like any other file that is not of the release: nobody can say what is in them.
"""

from __future__ import annotations

from collections.abc import Mapping

_NAMED: Mapping[str, str] = {
    ".ds_store": "macOS leaves such a file in folders that were looked at",
    "__macosx": "macOS puts such a folder into archives",
    ".localized": "macOS leaves such a file in folders",
    "thumbs.db": "Windows leaves such a file in folders that were looked at",
    "ehthumbs.db": "Windows leaves such a file in folders that were looked at",
    "desktop.ini": "Windows leaves such a file in folders",
    ".directory": "a desktop leaves such a file in folders that were looked at",
    ".ipynb_checkpoints": "a notebook leaves such a folder where it was opened",
    ".git": "it is a folder of version control",
    ".gitkeep": "it is a file of version control",
}
_STARTS: Mapping[str, str] = {
    "._": "macOS leaves such a file on other file systems",
    ".~lock.": "an office program leaves such a file while a table is open in it",
    "~$": "an office program leaves such a file while a table is open in it",
    ".nfs": "a network disk leaves such a file while another program has it open",
}
_ENDS: Mapping[str, str] = {
    "~": "an editor leaves such a copy",
    ".swp": "an editor leaves such a file while it is open",
    ".bak": "it is a copy that somebody or an editor made",
    ".tmp": "a program left it behind",
    ".crdownload": "a browser left an unfinished download behind",
    ".part": "a browser left an unfinished download behind",
}


def not_of_the_release(name: str) -> str:
    """What is said of a file that does not belong to a release.

    >>> not_of_the_release("notes.txt")
    '`notes.txt` does not belong to the release'
    >>> not_of_the_release("desktop.ini")
    '`desktop.ini` does not belong to the release: Windows leaves such a file in folders; delete it'
    """
    kind = _kind(name.lower())
    said = f"`{name}` does not belong to the release"
    return said if kind is None else f"{said}: {kind}; delete it"


def _kind(name: str) -> str | None:
    if name in _NAMED:
        return _NAMED[name]
    starts = (kind for start, kind in _STARTS.items() if name.startswith(start))
    ends = (kind for end, kind in _ENDS.items() if name.endswith(end))
    return next(starts, None) or next(ends, None)
