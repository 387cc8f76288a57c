"""Questions about series as they are typed: ranges of values, differences, a shape to be like."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timeveil.errors import InputError, ParameterError, raising
from timeveil.jobs.columns import listed

if TYPE_CHECKING:
    from timeveil.models.series.judges.query import PatternRange, PatternSimilarity, RangeCount, SeriesQuery

Range = tuple[float | None, float | None]
DEFAULT = "differences"
LARGEST = 1_000_000
"""Bytes of a file with a shape; a larger one is the wrong file."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of `query` that are about series."""

    ranges: Sequence[str] = ()
    differences: Sequence[str] = ()
    like: str | None = None
    tolerance: float | None = None
    features: str | None = None

    @property
    def options(self) -> list[str]:
        """Those that were given."""
        given = {
            "--range": self.ranges,
            "--difference": self.differences,
            "--like": self.like is not None,
            "--tolerance": self.tolerance is not None,
            "--features": self.features is not None,
        }
        return [name for name, value in given.items() if value]


def series_query(asked: Asked, instants: Sequence[str]) -> SeriesQuery:
    """The question that options ask of a release with these instants."""
    from timeveil.models.series.judges.query import Complex

    values, shape = _values(asked, instants), _shape(asked, instants)
    if values is None and shape is None:
        raise _wrong(
            "nothing is asked of the series",
            "ask for values with --range C=LOW:HIGH, for shapes with --difference A,B=LOW:HIGH or --like",
        )
    if values is None or shape is None:
        return values or shape  # type: ignore[return-value]
    return Complex(pattern=shape, range=values)


def _values(asked: Asked, instants: Sequence[str]) -> RangeCount | None:
    from timeveil.models.series.judges.query import RangeCount

    ranges: dict[str, Range] = {}
    for text in asked.ranges:
        names, span = _parts(text, "--range", "h08=0.2:0.5")
        for name in listed([names], instants):
            ranges[name] = span
    return RangeCount(ranges) if ranges else None


def _shape(asked: Asked, instants: Sequence[str]) -> PatternRange | PatternSimilarity | None:
    from timeveil.models.series.judges.query import PatternRange, PatternSimilarity

    if asked.differences and asked.like is not None:
        raise _wrong(
            "both --difference and --like are given; a question is about one of them",
            "ask twice, once with each",
        )
    features = DEFAULT if asked.features is None else asked.features
    if asked.like is not None:
        if asked.tolerance is None:
            raise _wrong(
                "--like needs --tolerance: how far from it a shape may be, between 0 and 2",
                "start with --tolerance 0.1; it is 1 less the correlation",
            )
        return PatternSimilarity(_numbers(asked.like), asked.tolerance, features)
    if asked.tolerance is not None:
        raise _wrong(
            "--tolerance is given without --like", "say what shapes are compared with: --like 1,2,4,3"
        )
    differences: dict[Any, Range] = {}
    for text in asked.differences:
        names, span = _parts(text, "--difference", "h08,h20=:-1")
        differences[_pair(names, instants)] = span
    if asked.features is not None and asked.ranges and not differences:
        raise _wrong(
            "--features is given without --difference or --like",
            "leave it out, or ask for shapes, too: --difference h08,h20=:-1",
        )
    return PatternRange(differences, features) if differences else None


def _parts(text: str, option: str, example: str) -> tuple[str, Range]:
    """`NAME=LOW:HIGH`; a side left empty is open.

    >>> _parts("a=1:", "--range", "a=0:1")
    ('a', (1.0, None))
    """
    names, mark, span = text.rpartition("=")
    low, colon, high = span.partition(":")
    error = _wrong(
        f"{option} is not of the form NAME=LOW:HIGH with numbers",
        f"write {option} {example}; a side left empty is open",
    )
    if not (names and mark and colon):
        raise error
    return names, (_end(low, error), _end(high, error))


def _end(text: str, error: ParameterError) -> float | None:
    if not text.strip():
        return None
    with raising(error, on=ValueError):
        end = float(text)
    if not math.isfinite(end):
        raise _wrong(
            "an end of a range is NaN, infinite or too large for a number",
            "give finite numbers; a side left empty is open",
        )
    return end


def _pair(names: str, instants: Sequence[str]) -> Any:
    """Two instants with a comma between, whatever marks are in their names; or the name of a feature."""
    commas = [comma.start() for comma in re.finditer(",", names)]
    pairs = [(names[:comma].strip(), names[comma + 1 :].strip()) for comma in commas]
    existing = [pair for pair in pairs if pair[0] in instants and pair[1] in instants]
    return [*existing, *pairs, names][0]


def _numbers(text: str) -> list[float]:
    """Numbers with commas or blanks between, typed or in a file."""
    try:
        return _parsed(text)
    except ValueError:
        pass
    path = Path(text)
    with raising(_no_numbers(), on=(OSError, ValueError)):
        exists = path.is_file()
    if not exists:
        raise _no_numbers()
    error = InputError(
        f"`{path.name}` does not hold numbers with commas, blanks or lines between",
        hint="put one number per instant into it, and nothing else",
        code="file-unreadable",
    )
    if path.stat().st_size > LARGEST:
        raise error
    with raising(error, on=(ValueError, OSError)):
        return _parsed(path.read_text("utf-8"))


def _no_numbers() -> InputError:
    return InputError(
        "--like is neither numbers nor a file that is there",
        hint="give a number per instant, such as --like 1,2,4,3, or a file that has them",
        code="file-missing",
    )


def _parsed(text: str) -> list[float]:
    return [float(part) for part in re.split(r"[\s,;]+", text.strip())]


def _wrong(message: str, hint: str) -> ParameterError:
    return ParameterError(message, hint=hint)
