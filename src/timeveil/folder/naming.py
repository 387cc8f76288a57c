"""Names of folders, made from labels and values so that no two share one and none plays tricks."""

from __future__ import annotations

import hashlib
from urllib.parse import quote

SLOTS = "slots"
LONGEST = 150
EMPTY = "%"


def folder_name(text: str | int) -> str:
    """A label or a value as the name of a folder.

    Letters, digits and `_.-~` of ASCII stay; every other byte of its UTF-8 becomes a percent sign and two
    digits, and so does a dot at the beginning. What would be too long ends in its digest.

    >>> folder_name("2024-01-31"), folder_name("2024-01-31 14:00"), folder_name(-3)
    ('2024-01-31', '2024-01-31%2014%3A00', '-3')
    >>> folder_name("../St. Anna"), folder_name(""), folder_name("Zürich")
    ('%2E.%2FSt.%20Anna', '%', 'Z%C3%BCrich')
    """
    plain = str(text)
    name = quote(plain, safe="", errors="surrogatepass")
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if len(name) > LONGEST:
        digest = hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{name[:LONGEST]}%{digest[:32]}%"
    return name or EMPTY


def stream_folder(name: str) -> str:
    """The folder of a stream: never one that is read as the slots of a single one.

    >>> stream_folder("Anna"), stream_folder("slots")
    ('Anna', '%73lots')
    """
    return "%73lots" if name == SLOTS else folder_name(name)
