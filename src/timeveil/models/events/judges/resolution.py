"""How finely the original times were recorded."""

from __future__ import annotations

import pyarrow as pa

from timeveil.calendar.axis import instants
from timeveil.domain.relation import TimeAxis
from timeveil.evidence.codes import Integers

_WIDTHS = (86_400, 3_600, 1_800, 900, 300, 60)


def resolution(axis: TimeAxis, moments: Integers) -> int:
    """The widest of day, hour, 30, 15, 5 minutes, minute and second that divides every instant.

    On relative time the unit itself.

    >>> import numpy as np
    >>> resolution(TimeAxis("civil", pa.timestamp("ms")), np.array([0, 7_200]))
    3600
    """
    if axis.kind == "relative":
        return max(1, int(instants(axis, pa.array([1], pa.int64()))[0]))
    return next((width for width in _WIDTHS if not (moments % width).any()), 1)
