"""What the adversary is taken to know."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from timeveil.calendar.axis import instants
from timeveil.domain.relation import TimeAxis
from timeveil.errors import ParameterError

_SIZES = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


@dataclass(frozen=True, slots=True)
class Adversary:
    """Knows a person's quasi-identifiers and `visits` of their times, each to within `tolerance`.

    `tolerance` is a number of seconds or a `timedelta`; on relative time, a number of the release's
    own unit. `sample` attacks that many people, drawn with `seed`; None attacks all.

    >>> Adversary(visits=2, tolerance=3600).as_dict()
    {'visits': 2, 'tolerance': 3600, 'seed': 0, 'sample': None}
    """

    visits: int = 1
    tolerance: int | dt.timedelta = 0
    seed: int = 0
    sample: int | None = None

    def __post_init__(self) -> None:
        _whole("visits", self.visits, 1)
        _whole("seed", self.seed, 0)
        if self.sample is not None:
            _whole("sample", self.sample, 1)
        if isinstance(self.tolerance, dt.timedelta):
            object.__setattr__(self, "tolerance", self.tolerance // dt.timedelta(seconds=1))
        _whole("tolerance", self.tolerance, 0)

    def reach(self, axis: TimeAxis) -> int:
        """The tolerance in instants of an axis."""
        if axis.kind != "relative" or not self.tolerance:
            return int(self.tolerance)  # type: ignore[arg-type]
        return int(instants(axis, pa.array([self.tolerance], pa.int64()))[0])

    def within(self, unit: str = "second") -> str:
        """The tolerance in words, after a blank; nothing if the times are known exactly.

        `unit` is what the tolerance counts: seconds, or on relative time the release's own unit.

        >>> Adversary(tolerance=1800).within(), Adversary(tolerance=1).within("week"), Adversary().within()
        (' to within 30 minutes', ' to within 1 week', '')
        """
        number = int(self.tolerance)  # type: ignore[arg-type]
        if not number:
            return ""
        sizes = _SIZES if unit == "second" else ((1, unit),)
        size, name = next(found for found in sizes if number % found[0] == 0)
        many = number // size
        return f" to within {many:,} {name}{'s' * (many != 1)}"

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "visits": self.visits,
            "tolerance": self.tolerance,
            "seed": self.seed,
            "sample": self.sample,
        }


def _whole(name: str, given: object, least: int) -> None:
    if isinstance(given, bool) or not isinstance(given, int) or given < least:
        raise ParameterError(
            f"`{name}` must be a whole number of at least {least}",
            hint=f"give {name}={least} or more",
            code="bad-parameter",
        )
