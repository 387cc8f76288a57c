"""The parameters of `shift_dates`."""

from __future__ import annotations

from typing import Literal

from timeveil.domain.lines import Reading, accept_risk
from timeveil.domain.parameter import optional, parameter


class ShiftParameters(Reading):
    """How dates are shifted, and how the table is read."""

    within: int = parameter(
        "Largest number of days that a person's dates are shifted by.",
        default=365,
        at_least=1,
        at_most=36_500,
    )
    preserve: Literal["weekday", "season"] | None = optional(
        "Shift by whole weeks, or to about the same time of the year.", "weekday"
    )
    seed: int | None = optional(
        "Seed of the shifts, for tests; secret and random if not set.", 1, private=True, at_least=0
    )
    nulls: Literal["error", "withhold"] = parameter(
        "Rows without a person or a time: refuse or leave out.", default="error", example="withhold"
    )
    accept_risk: list[str] = accept_risk()
