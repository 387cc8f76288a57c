"""How exposed people are: the number of candidates, or the chance given to a value, for each person tried.

Every entry has a `weight`, the share of a person that it represents, so that each person counts once. What
settings and releases are compared by has its form here, and its losses in each model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from timeveil.domain.arrays import Flags, Floats, Ints
from timeveil.domain.judgement import PlainData, Shown
from timeveil.domain.release import Release
from timeveil.evidence.codes import distinct_pairs, ranked
from timeveil.evidence.published import Evidence, columns_of
from timeveil.reading.risks import FEWEST_ROWS, MOST, reads_as_time

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
_FEWEST = 20
# Chances are sums of a few quotients: equal ones may differ in their last digits.
_ROUNDING = 1e-9


def withheld_by(evidence: Evidence, withheld: Flags, rows: Ints | slice = slice(None)) -> dict[str, float]:
    """Per published column the largest share withheld of the people or rows that have one value.

    `rows` are the original rows that have their values. Values that fewer than 20 have do not count: a rare
    value is often withheld altogether. Where nothing was withheld, no column is listed.
    """
    names = columns_of(evidence.release, "quasi", "keep", "sensitive") if withheld.any() else ()
    shares = {name: shares_by_value(evidence.original_column(name).codes[rows], withheld) for name in names}
    return {name: float(part.max(initial=0.0)) for name, part in shares.items()}


def shares_by_value(value: Ints, chosen: Flags) -> Floats:
    """Of each value that enough rows have, the share of its rows that are chosen."""
    having = np.bincount(value)
    often = np.flatnonzero(having >= _FEWEST)
    return np.bincount(value, chosen, len(having))[often] / having[often]


class Chances(PlainData):
    """The chance of a right guess about each person tried."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def chance(self) -> Floats: ...
        @property
        def weight(self) -> Floats: ...

    @property
    def worst(self) -> float:
        """The highest chance of a right guess that anyone is exposed to."""
        return float(self.chance.max(initial=0.0))

    @property
    def mean(self) -> float:
        """The chance of a right guess, averaged over people."""
        return share(self.chance, self.weight)

    def share_above(self, threshold: float) -> float:
        """Share of people about whom the chance of a right guess is above `threshold`."""
        return share(self.chance > threshold + _ROUNDING, self.weight)


@dataclass(frozen=True, slots=True, eq=False)
class Risk(Chances):
    """How many people fit what the adversary knows of each person.

    `candidates` is the size of each candidate set; 0 means that everything known of the person was
    withheld, so that they cannot be found this way.

    >>> risk = Risk(np.array([1, 4, 0]), np.array([1.0, 1.0, 2.0]))
    >>> risk.worst, risk.mean, risk.pinned, risk.share_above(0.2), risk.out_of_reach
    (1.0, 0.3125, 0.25, 0.5, 0.5)
    """

    KEYS: ClassVar = ("worst", "mean", "pinned", "out_of_reach", "quantiles as candidates")

    candidates: Ints
    weight: Floats

    @property
    def pinned(self) -> float:
        """Share of people with a single candidate."""
        return share(self.candidates == 1, self.weight)

    @property
    def out_of_reach(self) -> float:
        """Share of people none of whose known visits was published."""
        return share(self.candidates == 0, self.weight)

    def quantile(self, part: float) -> int:
        """The size that this part of the candidate sets do not exceed, people out of reach aside."""
        reached = self.candidates > 0
        if not reached.any():
            return 0
        sizes, size = ranked(self.candidates[reached])
        weight = np.cumsum(np.bincount(size, self.weight[reached]))
        # The factor keeps a rounded-up product from skipping to the next size.
        index = np.searchsorted(weight, part * weight[-1] * (1 - 1e-12), side="left")
        return int(sizes[min(int(index), len(sizes) - 1)])

    @property
    def quantiles(self) -> dict[str, int]:
        """Sizes of candidate sets by quantile."""
        return {f"{part:g}": self.quantile(part) for part in QUANTILES}

    @property
    def chance(self) -> Floats:
        return np.where(self.candidates > 0, 1.0 / np.maximum(self.candidates, 1), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Posterior(Chances):
    """The chance that an adversary gives to each person's true value.

    >>> posterior = Posterior(np.array([0.25, 1.0]), np.array([3.0, 1.0]))
    >>> posterior.worst, posterior.mean, posterior.certain, posterior.share_above(0.25), posterior.people
    (1.0, 0.4375, 0.25, 0.25, 4.0)
    """

    KEYS: ClassVar = ("people", "worst", "mean", "certain")

    chance: Floats
    weight: Floats

    @property
    def people(self) -> float:
        """The number of people tried."""
        return float(self.weight.sum())

    @property
    def certain(self) -> float:
        """Share of people whose value is known for certain."""
        return share(self.chance > 1 - _ROUNDING, self.weight)

    def only(self, mask: Flags) -> Posterior:
        return Posterior(self.chance[mask], self.weight[mask])


@dataclass(frozen=True, slots=True)
class ColumnRisk(PlainData):
    """Whether a column reads as a time, and the share of its rows with a value that only one person has."""

    is_time: bool
    sole: float
    stands_out: bool


def column_risks(evidence: Evidence) -> dict[str, ColumnRisk]:
    """What kept and sensitive columns reveal by themselves; without people, every row is somebody's."""
    original, risks = evidence.private.original, dict[str, ColumnRisk]()
    person, people = np.arange(original.rows), original.rows
    if original.roles.respondent is not None:
        respondent = evidence.original_column(original.roles.respondent)
        person, people = respondent.codes, respondent.size
    for name in (*original.roles.keep, *original.roles.sensitive):
        values = evidence.original_column(name)
        present = ~np.isin(values.codes, np.flatnonzero(values.values.is_null()))
        value, _, rows = distinct_pairs(values.codes[present], person[present], people)
        total, alone = int(rows.sum()), int(rows[np.bincount(value)[value] == 1].sum())
        risks[name] = column_risk(values.values, total, alone)
    return risks


def column_risk(values: pa.Array, total: int, alone: int) -> ColumnRisk:
    """The risk of a column with these values, in so many rows, some of them with a value of one person."""
    is_time = total > 0 and reads_as_time(values)
    stands_out = is_time or (total >= FEWEST_ROWS and alone > MOST * total)
    return ColumnRisk(is_time, alone / max(total, 1), stands_out)


class Exposure(Chances, Shown):
    """The chances that remain `after` publication, by the short names that every kind of breach has."""

    __slots__ = ()
    after: Risk | Posterior

    @property
    def chance(self) -> Floats:
        return self.after.chance

    @property
    def weight(self) -> Floats:
        return self.after.weight


class Tradeoff(ABC):
    """The losses of a model, an outsider, and the promise; `asked` are the questions that a loss needs."""

    losses: ClassVar[Mapping[str, str]]
    goal: ClassVar[str]
    asked: ClassVar[Mapping[str, int]] = {}

    def basis(self, manifest: Mapping[str, Any]) -> str:
        """What losses and chances are about: with another basis, they answer other questions."""
        roles = [(column["name"], column["role"]) for column in manifest["columns"]]
        roles = [each for each in roles if each[1] != "step"]  # how rows were recoded, nothing about them
        return repr([roles, manifest["time"]["column"], manifest["time"].get("slot")])

    def known(self, _adversary: Mapping[str, Any]) -> str:
        """What the adversary knows, in words."""
        return ""

    @abstractmethod
    def outsider(self, explored: str = "", options: Mapping[str, Any] = {}) -> Any:
        """The adversary that the promise, or the explored parameter, is about."""

    def further_outsiders(self, _release: Release) -> dict[str, Any]:
        """Adversaries that releases are also compared by."""
        return {}

    def usual_risk(self, _adversary: Any) -> str:
        """The way to state the risk."""
        return "worst"

    def promised(self, evidence: Any, _adversary: Any) -> float:
        """The chance that the promise leaves to the adversary; 1 if it does not cover this one."""
        return float(1 / evidence.k)

    def stated(self, _counts: Mapping[str, Any]) -> dict[str, float]:
        """The losses that the folder itself states."""
        return {}

    @abstractmethod
    def measured(self, release: Release, loss: Any) -> tuple[dict[str, float], dict[str, Any]]:
        """The losses by name, and other results that tell settings apart."""


def share(part: npt.NDArray[Any], weight: Floats) -> float:
    """The weighted mean, at most 1; 0 where nobody was tried."""
    total = float(weight.sum())
    return min(float(part @ weight) / total, 1.0) if total else 0.0
