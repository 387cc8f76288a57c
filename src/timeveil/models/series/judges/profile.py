"""The risk of series: how few others have the values that outsiders know; and what releases are compared by.

The outsider knows neighbouring instants of a series, each rounded to some digits, at up to 20 places.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from timeveil.domain.arrays import Floats, Ints
from timeveil.domain.judgement import PlainData
from timeveil.domain.relation import Relation
from timeveil.domain.release import Release
from timeveil.errors import ParameterError
from timeveil.evidence import risk
from timeveil.evidence.codes import encode, fold
from timeveil.models.series.evidence import Evidence, Series
from timeveil.models.series.judges.measure import SeriesLoss
from timeveil.models.series.parameters import SeriesAdversary, SeriesParameters

READ: Mapping[str, Any] = {"needs": (), "nulls": "withhold", "slot_numbers": True}
DIGITS = (None, 3, 2, 1)
PLACES = 20
KNOWN = 3  # instants whose value is known to an outsider who knows values only


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Shares of series that are alone, or in a group of fewer than k, with what is known of them.

    `digits` are those that known values are rounded to, None if they are exact.
    """

    instants: int
    digits: int | None
    alone: float
    below_k: float


@dataclass(frozen=True, slots=True)
class SeriesProfile(PlainData):
    """How many series are alone with the values at some instants, by number of instants and precision.

    `left_out` series have gaps.
    """

    ALSO: ClassVar = ("already_anonymous",)

    k: int
    series: int
    left_out: int
    instants: int
    known: tuple[Knowledge, ...]

    @property
    def already_anonymous(self) -> bool:
        """Whether k series share every value, however exactly and at how many instants it is known."""
        return all(each.below_k == 0 for each in self.known)

    safe = already_anonymous


def profile(relation: Relation, values: Mapping[str, Any]) -> SeriesProfile:
    """Compare the series at one, two, three and all instants."""
    k = SeriesParameters.table()["k"].check(values.get("k", SeriesParameters.table()["k"].example))
    matrix = Series(relation, "drop").matrix
    size, width = matrix.shape
    knowledge = []
    for digits in DIGITS:
        columns = [_codes(column, digits) for column in matrix.T] if size else []
        numbers = dict.fromkeys(min(number, width) for number in (1, 2, 3, width))
        knowledge += [Knowledge(number, digits, *_shares(columns, number, k)) for number in numbers]
    people = relation.rows
    if not relation.roles.series:
        people = encode(relation.table[relation.respondent]).size
    return SeriesProfile(k, size, people - size, width, tuple(knowledge))


def _codes(column: Floats, digits: int | None) -> Ints:
    """Numbers for equal values, after rounding to significant digits."""
    if digits is not None:
        with np.errstate(divide="ignore"):
            power = np.where(column == 0, 0.0, np.floor(np.log10(np.abs(column))) - digits + 1)
        # The rounded digits and where they are, as one number.
        column = np.round(column / 10.0**power) * 1_000 + power
    return np.unique(column, return_inverse=True)[1].ravel()


def _shares(columns: Sequence[Ints], instants: int, k: int) -> tuple[float, float]:
    starts = np.unique(np.linspace(0, len(columns) - instants, PLACES).astype(int)) if columns else ()
    shares = []
    for start in starts:
        known = columns[start : start + instants]
        group, _ = fold([(codes, int(codes.max()) + 1) for codes in known], len(known[0]))
        people = np.bincount(group)[group]
        shares.append(((people == 1).mean(), (people < k).mean()))
    alone, below = np.mean(shares, axis=0) if shares else (0.0, 0.0)
    return float(alone), float(below)


class Tradeoff(risk.Tradeoff):
    """No loss is about the answers to random questions."""

    goal = "names the right row"
    losses: ClassVar = {
        "both": "the mean of the losses of values and patterns",
        "values": "the width of envelopes, as a share of one envelope around everyone",
        "pattern": "the distance of published patterns from true ones: 1 less their correlation",
        "withheld": "the share of series that were withheld",
    }
    asked: ClassVar = {"queries": 0}

    def basis(self, manifest: Mapping[str, Any]) -> str:
        return repr([manifest["series"][name] for name in ("instants", "values", "pattern")])

    def known(self, adversary: Mapping[str, Any]) -> str:
        return SeriesAdversary(**adversary).words

    def outsider(self, explored: str = "", options: Mapping[str, Any] = {}) -> SeriesAdversary:
        """The parameter k protects against one who knows values only, others against everything."""
        line = SeriesParameters.table().get(explored)
        if line and line.methods and options.get("method", line.methods[0]) not in line.methods:
            message = f"the method `{options['method']}` has no `{explored}`, so all give the same release"
            raise ParameterError(message, hint='use {method="adaptive"}, or explore {k}')
        if line and line.methods and options.get("p") == 1:
            message = f"p is 1, so no shape is published, and every `{explored}` gives the same release"
            raise ParameterError(message, hint="raise {p} to at least 2, or explore {k}")
        return SeriesAdversary(values=KNOWN) if explored == "k" else SeriesAdversary(pattern=True)

    def further_outsiders(self, release: Release) -> dict[str, SeriesAdversary]:
        return {"values": SeriesAdversary(values=min(KNOWN, len(release.manifest["series"]["instants"])))}

    def promised(self, evidence: Evidence, _adversary: SeriesAdversary) -> float:
        """An outsider who knows values also reads the patterns, if any."""
        return 1 / evidence.least_candidates

    def stated(self, counts: Mapping[str, Any]) -> dict[str, float]:
        return {"withheld": counts["suppressed"] / max(counts["rows"] + counts["suppressed"], 1)}

    def measured(self, _release: Release, loss: SeriesLoss) -> tuple[dict[str, float], dict[str, Any]]:
        parts = {}
        if loss.value_loss is not None:
            parts["values"] = loss.value_loss / loss.value_span if loss.value_span else 0.0
        # Without a pattern nothing is left of a shape.
        parts["pattern"] = 1.0 if loss.pattern_loss is None else loss.pattern_loss
        mean = sum(parts.values()) / max(len(parts), 1)
        return {"both": mean, **parts, "withheld": loss.suppressed_share}, {"groups": loss.groups}
