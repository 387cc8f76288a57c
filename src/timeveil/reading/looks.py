"""Names as they look: two that a reader takes for one are not told apart by anybody who gives them roles.

`é` is one letter or two, Cyrillic `а` looks like Latin `a`, some characters show nothing at all.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_ALIKE = str.maketrans(
    "абеіјорсԁԛѕухѵԝһԌАВЕЅІЈКМНОРСТХУԚԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧοανıɑɡ‐‑‒–—−∕⁄ꞌʼ’‘ʹ",
    "abeijopcdqsyxvwhGABESIJKMHOPCTXYQWABEZHIKMNOPTYXoaviag------//'''''",
)
"""Letters and signs that look like those of ASCII."""
_UNSEEN = ("Cc", "Cf", "Cs")
LONGEST = 60


def look(name: str) -> str:
    """What a name looks like: the same for names that look the same.

    >>> look("caf\\u00e9") == look("cafe\\u0301"), look("\\u0440\\u0430y\\u200b") == look("pay")
    (True, True)
    >>> look("Zip") == look("zip")
    False
    """
    plain = unicodedata.normalize("NFD", name).translate(_ALIKE)
    return " ".join("".join(mark for mark in plain if unicodedata.category(mark) not in _UNSEEN).split())


def alike(names: Sequence[str]) -> tuple[str, str] | None:
    """The first two different names that look the same."""
    seen: dict[str, str] = {}
    for name in names:
        first = seen.setdefault(look(name), name)
        if first != name:
            return first, name
    return None


def spelt(name: str) -> str:
    """A name with every letter that is not plain ASCII written out, cut where it is long.

    >>> spelt("cafe\\u0301")
    'cafe\\\\u0301'
    """
    return shortened(name.encode("unicode_escape").decode("ascii"))


def shortened(name: str) -> str:
    """A name, cut where it is long.

    >>> shortened("n" * 70)[-12:]
    'nnnnnnnnnnn…'
    """
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
