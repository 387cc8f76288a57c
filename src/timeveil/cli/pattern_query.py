"""Questions about patterns as they are typed: items, rules, the strongest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from timeveil.errors import ParameterError

if TYPE_CHECKING:
    from timeveil.domain.judgement import Estimate
    from timeveil.domain.release import Release


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of `query` that are about patterns."""

    items: Sequence[str] = ()
    given: Sequence[str] = ()
    then: Sequence[str] = ()
    top: int | None = None
    longer_than: int | None = None

    @property
    def options(self) -> list[str]:
        """Those that were given."""
        given = {
            "--item": self.items,
            "--given": self.given,
            "--then": self.then,
            "--top": self.top is not None,
            "--longer-than": self.longer_than is not None,
        }
        return [name for name, value in given.items() if value]


def answered(release: Release, asked: Asked) -> tuple[list[str], dict[str, Any]]:
    """The answer in words and as data."""
    from timeveil.judging import answer
    from timeveil.models.patterns.evidence import Evidence
    from timeveil.models.patterns.judges.query import PatternSupport, RuleConfidence, TopPatterns
    from timeveil.models.patterns.words.results import confidence_lines, support_lines, top_lines

    _refuse(asked)
    evidence = Evidence(release)
    known = evidence.patterns
    if asked.top is not None:
        found = answer(evidence, TopPatterns(asked.top, asked.longer_than or 0))
        rows = [{**row, "high": _finite(row["high"])} for row in found.to_pylist()]
        return top_lines(found, known), {"patterns": rows}
    if asked.items:
        count = answer(evidence, PatternSupport(asked.items))
        return support_lines(count, known, asked.items), _data(count)
    part = answer(evidence, RuleConfidence(asked.given, asked.then))
    return confidence_lines(part, known, [*asked.given, *asked.then]), _data(part)


def _refuse(asked: Asked) -> None:
    kinds = [bool(asked.items), bool(asked.given or asked.then), asked.top is not None]
    if sum(kinds) != 1:
        raise _wrong(
            "more than one question is asked" if any(kinds) else "nothing is asked of the patterns",
            "ask with --item for a pattern, with --given and --then for a rule, or with --top N",
        )
    if asked.longer_than is not None and asked.top is None:
        raise _wrong("--longer-than is given without --top", "say how many of them: --top 10")
    for option, number, least in (("--top", asked.top, 1), ("--longer-than", asked.longer_than, 0)):
        if number is not None and number < least:
            raise _wrong(
                f"{option} must be a whole number of at least {least}", f"give {option} {least} or more"
            )


def _wrong(message: str, hint: str) -> ParameterError:
    return ParameterError(message, hint=hint)


def _data(found: Estimate) -> dict[str, float | str | None]:
    return {"value": found.value, "low": found.low, "high": _finite(found.high), "of": "original"}


def _finite(number: float) -> float | None:
    """JSON knows no infinity: null is no bound."""
    return None if math.isinf(number) else number
