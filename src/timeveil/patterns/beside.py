"""Counts beside a series release of the same people: each keeps its promise, together they may not."""

from __future__ import annotations

from timeveil.errors import ParameterError
from timeveil.model.release import Release
from timeveil.patterns.sources import Source


def refuse_same_people(source: Source, beside: Release) -> None:
    """Refuse patterns of the original beside a release of it; those made from a release may stand by it."""
    if source.origin == "release":
        return
    raise ParameterError(
        f"a {beside.manifest.get('model')} release of the same people is out already; whoever has both knows "
        "from the table who is alike and from the counts how many, and both may point at fewer than k",
        hint="make the patterns from that release instead of the original, or go on with force=True",
        code="same-people",
    )
