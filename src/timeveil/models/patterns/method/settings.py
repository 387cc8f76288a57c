"""The parameters of a pattern release, checked before anything is read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, get_args

from timeveil.domain.guarantee import NoInferenceChannel
from timeveil.errors import InfeasibleError, InputError, ParameterError
from timeveil.reading.collection import FILLS, Fill
from timeveil.symbols.sax import MOST_LEVELS, Center

Method = Literal["additive", "tight", "clone", "suppressive", "itemset"]
Published = Literal["frequent", "closed"]

CAP = 5_000_000
"""So many patterns, or combinations of symbols that exclude each other, and no more."""
MOST = 2**31 - 1, 10**6
"""Patterns have numbers of 32 bits, so no cap is larger; and no pattern needs more items."""
NARROW = 5
"""At so many times k and below, a support is raised by much of itself."""


@dataclass(frozen=True, slots=True)
class Search:
    """What decides which patterns are found."""

    min_support: float
    symbols: int
    center: Center
    instants: tuple[str, ...] | None
    max_len: int | None
    cap: int
    fill: Fill | None


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that decides what is published of patterns, besides the rows."""

    promise: NoInferenceChannel
    search: Search
    method: Method
    structural: bool
    published: Published


def settings_from(
    promise: NoInferenceChannel, search: Search, *, method: str, structural: bool, published: str
) -> Settings:
    """Check what is asked of the release."""
    _one_of("method", method, get_args(Method))
    _one_of("published", published, get_args(Published))
    if 1 <= search.min_support < promise.k:
        raise _below(int(search.min_support), promise.k)
    return Settings(promise, search, method, bool(structural), published)  # type: ignore[arg-type]


def search_from(
    *,
    min_support: float,
    symbols: int,
    center: str,
    instants: Sequence[str] | None,
    max_len: int | None,
    cap: int,
    fill: str | None,
) -> Search:
    """Check what is asked of the search."""
    _one_of("center", center, get_args(Center))
    if fill is not None:
        _one_of("fill", fill, FILLS)
    _refuse_support(min_support)
    meaning = "it is how many letters the values at an instant become; 6 is usual"
    _whole("symbols", symbols, 2, MOST_LEVELS, meaning)
    _whole("cap", cap, 1, MOST[0], "it is how many patterns may be found before the search stops")
    if max_len is not None:
        _whole("max_len", max_len, 1, MOST[1], "it is how many items a pattern may have at most")
    return Search(
        min_support,
        int(symbols),
        center,  # type: ignore[arg-type]
        _names(instants),
        None if max_len is None else int(max_len),
        int(cap),
        fill,  # type: ignore[arg-type]
    )


def _refuse_support(min_support: Any) -> None:
    """A share between 0 and 1, or a whole number."""
    real = isinstance(min_support, Real) and not isinstance(min_support, bool)
    if not real or not 0 < min_support < math.inf or (min_support >= 1 and min_support != int(min_support)):
        raise ParameterError(
            "`min_support` must be a share between 0 and 1, or a whole number of people",
            hint="min_support=0.01 is one in a hundred, min_support=50 is 50 people",
            code="bad-parameter",
        )


def least_support(min_support: float, people: int, k: int) -> int:
    """The smallest support of a published pattern, as a number of people."""
    if people < k:
        who = "nobody" if people == 0 else counted_people(people)
        raise InfeasibleError(
            f"the table holds {who}, and the number of all is published, too; k is {k}",
            hint=f"choose k of at most {people}" if people > 1 else "see that it is the right table",
            code="too-few-people",
            facts={"people": people, "k": k, "best_k": people},
        )
    least = as_count(min_support, people)
    if least < k:
        raise _below(least, k)
    return least


def as_count(min_support: float, people: int) -> int:
    """A share of all as a number of people; a number stays.

    >>> as_count(0.01, 250), as_count(0.1, 30), as_count(7, 250)
    (3, 3, 7)
    """
    return max(1, math.ceil(min_support * people - 1e-9)) if min_support < 1 else int(min_support)


def counted_people(people: int) -> str:
    """A number of people in words."""
    return "1 person" if people == 1 else f"{people:,} people"


def nothing_frequent(least: int, largest: int, k: int) -> InputError:
    """What is said where no pattern has the support asked for."""
    lower = f"lower min_support to {largest:,} or less" if largest >= k else "see that it is the right table"
    return InputError(
        f"no pattern has a support of {least:,}; the largest is {largest:,}",
        hint=lower,
        code="no-frequent-pattern",
        facts={"min_support": least, "largest": largest, "k": k},
    )


def _below(least: int, k: int) -> ParameterError:
    return ParameterError(
        f"min_support comes to {counted_people(least)} and k is {k}: a pattern with fewer than k people "
        "would be published",
        hint=f"raise min_support to {k} at least; 20 times k is better, as it often changes counts little",
        code="bad-parameter",
        facts={"min_support": least, "k": k},
    )


def _names(given: Sequence[str] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    listed = isinstance(given, Iterable) and not isinstance(given, str)
    listed = listed and all(isinstance(instant, str) for instant in given)
    if not listed or not given:
        raise ParameterError(
            "`instants` names no instant" if listed else "`instants` takes a list of instants",
            hint="write instants=[...] with at least one, or leave it out to take all",
            code="bad-parameter",
        )
    return tuple(given)


def _whole(name: str, given: Any, least: int, most: int, meaning: str) -> None:
    whole = isinstance(given, Integral) and not isinstance(given, bool)
    if not whole or not least <= given <= most:
        shown = given if whole else type(given).__name__
        raise ParameterError(
            f"`{name}` must be a whole number from {least} to {most:,}, got {shown}",
            hint=meaning,
            code="bad-parameter",
        )


def _one_of(name: str, given: Any, allowed: Sequence[str]) -> None:
    if given not in allowed:
        raise ParameterError(
            f"`{name}` is one of {', '.join(allowed)}",
            hint=f"use {name}={allowed[0]!r}",
            code="bad-parameter",
        )
