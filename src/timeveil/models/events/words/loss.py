"""What a release of timestamped rows lost, in words."""

from __future__ import annotations

from timeveil.models.events.judges.measure import Loss
from timeveil.page.wording import counted, people, share

_SPANS = (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1))


def described(loss: Loss) -> list[str]:
    """The loss in sentences."""
    rows = loss.rows + loss.suppressed
    withheld = (
        f"{counted(loss.suppressed, 'row')} withheld ({share(loss.suppressed / rows if rows else 0.0)})"
    )
    lost = f"{people(loss.suppressed_people)} of {loss.people:,} without any row left"
    return [
        f"{counted(loss.rows, 'row')} published in {counted(loss.groups, 'group')}: "
        f"{loss.rows_per_group:,.1f} rows and {loss.people_per_group:,.1f} people to a group.",
        f"{withheld}, {lost}.",
        f"Time was told to {span(loss.width_before, loss.width_unit)} and is now told to "
        f"{span(loss.width_after, loss.width_unit)} on average.",
        f"{counted(loss.windows, 'random window count')} answered from the release: off by "
        f"{share(loss.window_error_median)} in the median, {share(loss.window_error_mean)} on average.",
    ]


def span(width: float, unit: str) -> str:
    """A width of time in the largest unit that it fills.

    >>> span(90.0, "second"), span(172_800.0, "second"), span(1.0, "month")
    ('1.5 minutes', '2 days', '1 month')
    """
    name, size = f"{unit}s", 1
    if unit == "second":
        name, size = next((found for found in _SPANS if width >= found[1]), _SPANS[-1])
    number = width / size
    return f"{number:.3g} {name if number != 1 else name[:-1]}"
