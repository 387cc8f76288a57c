"""Promises as values; checking one is a `match` in `timeveil.verify`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from timeveil.errors import BundleError, ParameterError


@dataclass(frozen=True, slots=True)
class KAnonymity:
    """Every (quasi-identifiers, time) value is shared by at least k different people.

    Mascetti et al. 2006, Definition 3: people are counted, not rows.

    >>> KAnonymity(5).sentence
    'every (quasi-identifiers, time) value is shared by at least 5 different people'
    """

    k: int

    def __post_init__(self) -> None:
        whole = isinstance(self.k, Integral) and not isinstance(self.k, bool)
        if whole:
            object.__setattr__(self, "k", int(self.k))
        if not whole or self.k < 2:
            shown = self.k if whole else type(self.k).__name__
            raise ParameterError(
                f"k must be a whole number of at least 2, got {shown}",
                hint="k is how many different people must share every published value; 5 or 10 is usual",
                code="bad-parameter",
            )

    @property
    def sentence(self) -> str:
        """The promise in words."""
        return f"every (quasi-identifiers, time) value is shared by at least {self.k} different people"

    def as_dict(self) -> dict[str, Any]:
        """The promise as it stands in `release.json`."""
        return {"name": "k-anonymity", "k": self.k}


Guarantee = KAnonymity


def guarantee_from(described: Mapping[str, Any]) -> Guarantee:
    """The promise that a manifest states."""
    match dict(described):
        case {"name": "k-anonymity", "k": int(k)}:
            return KAnonymity(k)
        case _:
            raise BundleError(
                "the release states a guarantee this version does not know",
                hint="open it with the version of timeveil named in its release.json, or a newer one",
                code="folder-damaged",
            )
