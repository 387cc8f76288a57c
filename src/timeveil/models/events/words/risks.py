"""The risk of a table at each granularity, as a table of text."""

from __future__ import annotations

from timeveil.models.events.judges.profile import Profile
from timeveil.page.wording import aligned, share


def table(found: Profile, names: frozenset[str] | None = None) -> list[str]:
    """One line per granularity, the table as it stands first; only those in `names`, if given."""
    head = (
        ("", "people", "people", "of", "smallest", "a row count", ""),
        ("time told by", "alone", f"below {found.k}", "all", "group", "says", "groups"),
    )
    levels = [level for level in found.granularities if names is None or level.granularity in names]
    rows = [
        (
            level.granularity,
            f"{level.people_unique:,}",
            f"{level.people_below_k:,}",
            share(level.share_below_k),
            f"{level.smallest_group:,}",
            f"{level.claimed_by_rows:,}" + ("" if level.claimed_by_rows == level.smallest_group else " !"),
            f"{level.groups:,}",
        )
        for level in (found.as_it_stands, *levels)
    ]
    return aligned([*head, *rows])
