"""Questions about series: by value, by shape, by both."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import TypeAlias

from timeveil.errors import ParameterError

Range: TypeAlias = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class RangeCount:
    """How many series have, at each instant named, a value in its range.

    `ranges` gives per instant a pair (lo, hi) with both ends in; `None` leaves a side open.

    >>> RangeCount({"2005": (100, 150), "2007": (None, 90)}).ranges["2005"]
    (100, 150)
    """

    ranges: Mapping[str, Range] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PatternRange:
    """How many series have a shape with each feature named in its range (the paper's PRQ).

    By default a feature is a difference of two z-normalised values: `{("2005", "2011"): (None, -1)}` asks for
    series whose value in 2005 lies at least one standard deviation of the series below that in 2011.
    With `features`, other ones: `adjacent`, `slope`, `peak-to-trough`.

    >>> PatternRange({("2005", "2011"): (None, -1)}).features
    'differences'
    """

    differences: Mapping[Hashable, Range] = field(default_factory=dict)
    features: str = "differences"


@dataclass(frozen=True, slots=True)
class PatternSimilarity:
    """How many series have a shape like that of `like`, which has a number per instant (the paper's PSQ).

    Shapes are compared by the cosine distance of their features. For all differences of two instants, the
    default, it is 1 less the correlation; for `features="adjacent"` rises and falls are compared. The
    distance lies between 0 and 2; series at most `tolerance` away count.

    >>> PatternSimilarity(like=[1, 2, 3, 3], tolerance=0.1).tolerance
    0.1
    """

    like: Sequence[float]
    tolerance: float
    features: str = "differences"


@dataclass(frozen=True, slots=True)
class Complex:
    """How many series fit a question about their shape and one about their values.

    >>> Complex(pattern=PatternSimilarity([1, 2], 0.1), range=RangeCount({"a": (0, 1)})).range.ranges
    {'a': (0, 1)}
    """

    pattern: PatternRange | PatternSimilarity
    range: RangeCount


SeriesQuery: TypeAlias = RangeCount | PatternRange | PatternSimilarity | Complex


def ends(name: str, wanted: object) -> tuple[float, float]:
    """The two ends of a range, an open side at infinity.

    >>> ends("a", (None, 3))
    (-inf, 3.0)
    """
    if not isinstance(wanted, tuple | list) or len(wanted) != 2:
        raise ParameterError(
            f"the range for {name} is not a pair",
            hint="give (lo, hi), None for an open side",
            code="bad-parameter",
        )
    low, high = (
        open_side if bound is None else number(f"an end of the range for {name}", bound)
        for bound, open_side in zip(wanted, (-math.inf, math.inf), strict=True)
    )
    if low > high:
        raise ParameterError(
            f"the range for {name} ends before it starts",
            hint="give the lower end first",
            code="bad-parameter",
        )
    return low, high


def number(what: str, given: object) -> float:
    """A number that can be compared with.

    >>> number("tolerance", 1)
    1.0
    """
    if isinstance(given, bool) or not isinstance(given, Real) or math.isnan(given):
        found = "NaN" if isinstance(given, float) else f"a {type(given).__name__}"
        raise ParameterError(
            f"{what} is not a number but {found}", hint="give a number", code="bad-parameter"
        )
    return float(given)
