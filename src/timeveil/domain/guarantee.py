"""Promises as values. Each names the model whose judges check it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from timeveil.domain.parameter import Parameter, Range
from timeveil.errors import BundleError, ParameterError, raising


@dataclass(frozen=True, slots=True)
class KAnonymity:
    """Every (quasi-identifiers, time) value is shared by at least k different people.

    Mascetti et al. 2006, Definition 3: people are counted, not rows.

    >>> KAnonymity(5).sentence
    'every combination of quasi-identifiers and time is shared by at least 5 different people'
    """

    model: ClassVar[str] = "time"

    k: int

    def __post_init__(self) -> None:
        _whole(self, "k", 2, "number of different people who must share every published value", 5)

    @property
    def sentence(self) -> str:
        """The promise in words."""
        return (
            f"every combination of quasi-identifiers and time is shared by at least {self.k} different people"
        )

    def as_dict(self) -> dict[str, Any]:
        """The promise as `release.json` states it."""
        return {"name": "k-anonymity", "k": self.k}


@dataclass(frozen=True, slots=True)
class LDiversity:
    """Every published slot is l-diverse: nobody's sensitive value is known with a chance above 1/l.

    Wang et al. 2010, after Xiao and Tao 2006: records are published in buckets of at least l records, and no
    sensitive value is held by more than 1 in l of a bucket's records.

    With `true_slot`, a person who also knows the slot that a record belongs to learns its value with a chance
    of at most 1 / true_slot; in a slot of n records, m of which hold the commonest value, of at most
    1 / floor(n / m) where that is more. Records stay, move or are withheld in packets of `true_slot`
    different values.

    >>> LDiversity(3).sentence
    'in every published bucket no sensitive value is held by more than 1 in 3 records'
    >>> LDiversity(4, true_slot=3).as_dict()
    {'name': 'l-diversity', 'l': 4, 'true_slot': 3}
    >>> LDiversity(4, true_slot=3).sentence.split(", ")[-1]
    "unless a value is held by more than 1 in 3 of that slot's records"
    """

    model: ClassVar[str] = "stream"

    l: int
    true_slot: int | None = None

    def __post_init__(self) -> None:
        _whole(self, "l", 2, "no value may be held by more than 1 in l records", 3)
        if self.true_slot is None:
            return
        _whole(self, "true_slot", 2, "promise to someone who knows the true slot", 2)
        if self.true_slot >= self.l:  # no method can promise 1/l to someone who knows the true slot
            raise ParameterError(
                f"`true_slot` must be from 2 to l - 1 = {self.l - 1}, got {self.true_slot}",
                hint=f"use {self.l - 1}" if self.l > 2 else "raise l to at least 3",
            )

    @property
    def sentence(self) -> str:
        """The promise in words."""
        promise = f"in every published bucket no sensitive value is held by more than 1 in {self.l} records"
        if self.true_slot is None:
            return promise
        return (
            f"{promise}, and anyone who knows a record's true slot learns its value with a chance of at most "
            f"1 in {self.true_slot}, unless a value is held by more than 1 in {self.true_slot} of that "
            "slot's records"
        )

    def as_dict(self) -> dict[str, Any]:
        """The promise as `release.json` states it."""
        stated = {"name": "l-diversity", "l": self.l}
        return stated if self.true_slot is None else {**stated, "true_slot": self.true_slot}


@dataclass(frozen=True, slots=True)
class KPAnonymity:
    """k people share every envelope, and p of them the pattern in it.

    Shou et al. 2013, Definition 5. With `l`, each group of p people who share a pattern also has at least l
    different sensitive values.

    >>> KPAnonymity(10, 5).sentence
    'every value envelope is shared by at least 10 series, and every pattern in it by at least 5 of them'
    """

    model: ClassVar[str] = "series"

    k: int
    p: int
    l: int | None = None

    def __post_init__(self) -> None:
        _whole(self, "k", 2, "number of series that must share every envelope", 10)
        _whole(self, "p", 1, "number of those that must share every pattern", 5)
        if self.l is not None:
            _whole(self, "l", 2, "number of different sensitive values among those", 3)
        for small, large in (("p", "k"), ("l", "p")):
            less, more = getattr(self, small), getattr(self, large)
            if less is not None and less > more:
                raise ParameterError(
                    f"{small} is {less} and {large} is {more}; {small} cannot be above {large}",
                    hint=f"lower {small} to {more}, or raise {large} to {less}",
                )

    @property
    def sentence(self) -> str:
        """The promise in words."""
        promise = (
            f"every value envelope is shared by at least {self.k} series, "
            f"and every pattern in it by at least {self.p} of them"
        )
        if self.l is None:
            return promise
        return f"{promise}, who have at least {self.l} different sensitive values"

    def as_dict(self) -> dict[str, Any]:
        """The promise as `release.json` states it."""
        return {"name": "kp-anonymity", "k": self.k, "p": self.p, "l": self.l}


@dataclass(frozen=True, slots=True)
class NoInferenceChannel:
    """No group of fewer than k people can be computed from the published counts of its items.

    Channels after Atzori et al. 2008: a group is everyone who has some items and none of some others; adding
    and subtracting counts of patterns of these items never gives a number above 0 and below k.

    With `counts_alone` this is promised only towards someone who does not know that each person has one
    symbol at every instant, which readers of series do know.

    >>> NoInferenceChannel(10).sentence
    'no group of fewer than 10 people can be computed from the published counts of its items'
    >>> NoInferenceChannel(10, counts_alone=True).as_dict()
    {'name': 'no-inference-channel', 'k': 10, 'counts_alone': True}
    """

    model: ClassVar[str] = "patterns"

    k: int
    counts_alone: bool = False

    def __post_init__(self) -> None:
        _whole(self, "k", 2, "smallest group that may be computed from the counts", 10)
        if not isinstance(self.counts_alone, bool):
            raise ParameterError(
                f"`counts_alone` must be true or false, got {type(self.counts_alone).__name__}",
                hint="leave it out to promise it towards everyone who reads the counts",
            )

    @property
    def sentence(self) -> str:
        """The promise in words."""
        promise = (
            f"no group of fewer than {self.k} people can be computed from the published counts of its items"
        )
        if not self.counts_alone:
            return promise
        return f"{promise}, by someone who does not know that everybody has one symbol at every instant"

    def as_dict(self) -> dict[str, Any]:
        """The promise as `release.json` states it."""
        stated = {"name": "no-inference-channel", "k": self.k}
        return {**stated, "counts_alone": True} if self.counts_alone else stated


Guarantee = KAnonymity | LDiversity | KPAnonymity | NoInferenceChannel


def guarantee_from(described: Mapping[str, Any]) -> Guarantee:
    """The promise that a manifest states."""
    unknown = BundleError(
        "the release states a guarantee that this version does not know",
        hint="open it with the version of timeveil named in its release.json, or a newer one",
    )
    with raising(unknown, on=ParameterError):
        match dict(described):
            case {"name": "k-anonymity", "k": int(k)}:
                return KAnonymity(k)
            case {"name": "l-diversity", "l": int(l)}:
                return LDiversity(l, described.get("true_slot"))
            case {"name": "kp-anonymity", "k": int(k), "p": int(p), "l": int(l) | (None as l)}:
                return KPAnonymity(k, p, l)
            case {"name": "no-inference-channel", "k": int(k)}:
                return NoInferenceChannel(k, described.get("counts_alone", False))
    raise unknown


def _whole(promise: Any, name: str, at_least: int, meaning: str, example: int) -> None:
    """Check one number of a promise, and hold it as a plain int."""
    declared = Parameter(name, "whole", meaning, range=Range(at_least), example=example)
    object.__setattr__(promise, name, declared.check(getattr(promise, name)))
