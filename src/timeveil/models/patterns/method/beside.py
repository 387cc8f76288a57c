"""Counts beside a series release of the same people: each keeps its promise, together they may not."""

from __future__ import annotations

from typing import Any

from timeveil.domain.release import Release
from timeveil.errors import ParameterError


def refuse_same_people(source: Any, beside: Any) -> None:
    """Refuse patterns of the original beside a release of it; those made from that very release may stay."""
    if not isinstance(beside, Release):
        raise ParameterError(
            "`beside` takes a release",
            hint="open its folder first: open_release(folder)",
            code="bad-parameter",
        )
    if isinstance(source, Release):
        if not _same(source, beside):
            raise ParameterError(
                "the patterns are made from another release than the one that is out already; whoever has "
                "both knows more than either tells",
                hint="make the patterns from the release that is out, or go on with force=True",
                code="same-people",
            )
        return
    raise ParameterError(
        f"a {beside.manifest.get('model')} release of the same people is out already; whoever has both knows "
        "from the table who is alike and from the counts how many, and both may point at fewer than k",
        hint="make the patterns from that release instead of the original, or go on with force=True",
        code="same-people",
    )


def _same(source: Release, beside: Release) -> bool:
    """One release, in whatever form it was written."""
    kinds = {release.manifest.get("model") for release in (source, beside)}
    return (
        kinds == {"series"}
        and source.guarantee == beside.guarantee
        and source.manifest["series"] == beside.manifest["series"]
        and bool(source.table.equals(beside.table))
    )
