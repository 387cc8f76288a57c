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


@dataclass(frozen=True, slots=True)
class LDiversity:
    """Every published slot is l-diverse: nobody's sensitive value is known with more than 1/l.

    Wang et al. 2010, after Xiao and Tao 2006: records stand in buckets of at least l records in which
    no sensitive value takes more than one place in l.

    >>> LDiversity(3).sentence
    'in every published bucket no sensitive value is held by more than 1 in 3 records'
    """

    l: int  # noqa: E741

    def __post_init__(self) -> None:
        if isinstance(self.l, bool) or not isinstance(self.l, int) or self.l < 2:
            shown = self.l if isinstance(self.l, int) else type(self.l).__name__
            raise ParameterError(
                f"l must be a whole number of at least 2, got {shown}",
                hint="l bounds what anyone learns of a sensitive value at 1/l; 3 to 5 is usual",
                code="bad-parameter",
            )

    @property
    def sentence(self) -> str:
        """The promise in words."""
        return f"in every published bucket no sensitive value is held by more than 1 in {self.l} records"

    def as_dict(self) -> dict[str, Any]:
        """The promise as it stands in `release.json`."""
        return {"name": "l-diversity", "l": self.l}


Guarantee = KAnonymity | LDiversity


def guarantee_from(described: Mapping[str, Any]) -> Guarantee:
    """The promise that a manifest states."""
    match dict(described):
        case {"name": "k-anonymity", "k": int(k)}:
            return KAnonymity(k)
        case {"name": "l-diversity", "l": int(l)}:
            return LDiversity(l)
        case _:
            raise BundleError(
                "the release states a guarantee this version does not know",
                hint="open it with the version of timeveil named in its release.json, or a newer one",
                code="folder-damaged",
            )
