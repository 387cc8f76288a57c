"""What an adversary of pattern counts is taken to do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from timeveil.errors import ParameterError


@dataclass(frozen=True, slots=True)
class PatternAdversary:
    """Has the published counts, and adds and subtracts them in every way there is.

    With `bounds`, also asks of small releases what the least and the most is that any data with these counts
    can have of a group, and solves the counts of series as a system of equations: more than the promise is
    about. Each takes `seconds` at most.

    >>> PatternAdversary(bounds=False).as_dict()
    {'bounds': False, 'seconds': 5.0}
    """

    bounds: bool = True
    seconds: float = 5.0

    def __post_init__(self) -> None:
        number = isinstance(self.seconds, int | float) and not isinstance(self.seconds, bool)
        if not number or not math.isfinite(self.seconds) or self.seconds <= 0:
            raise ParameterError(
                "`seconds` must be a number above 0",
                hint="give some seconds, such as 5",
                code="bad-parameter",
            )

    @property
    def words(self) -> str:
        """What is done, in words.

        >>> PatternAdversary(bounds=False).words
        'has the counts, and adds and subtracts them'
        """
        return "has the counts, and adds and subtracts them"

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return {"bounds": self.bounds, "seconds": self.seconds}
