"""The parameters of a run in a table: what was set, and what that means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from timeveil.domain.release import Release
from timeveil.page.tree import Numbers
from timeveil.page.wording import counted

_MOST_NAMES = 6
_SHARED = {
    "nulls": "what becomes of rows without a person or a time",
    "fill": "how missing readings are filled in",
    "center": "what a series is taken relative to before it gets letters",
}
_TIME = {
    "k": "people who must share every published value, at least",
    "choose": "which granularity is taken where several would do",
    "suppress": "share of the rows that may be withheld",
    "gaps": "what becomes of rows in gaps of the calendar",
    "granularities": "granularities that were allowed",
}
_STREAM = {
    "l": "no value is held by more than 1 in so many records of a bucket",
    "window": "slots held at a time; a record is published within them",
    "slot": "how long a slot is",
    "move_cost": "what moving a record costs, by how far",
    "first_window": "grown slot by slot, or solved exactly",
    "filler": "when records that a slot can spare move on to make room for others",
    "jitter": "slots by which every record is delayed at random, at most",
    "protect_slot": "promise to whoever knows the true slot: 1 in so many",
    "spread": "slots by which a held packet moves on, at most",
    "fillers": "packets that may wait for the sake of others",
    "buckets": "whether records and values stand in two tables",
    "late": "what becomes of a record that arrives after its slot",
    "fill_empty": "whether a slot without records may take some of earlier ones",
}
_SERIES = {
    "k": "series that must share every envelope, at least",
    "p": "series that must share every pattern in an envelope, at least",
    "l": "different sensitive values among those who share a pattern, at least",
    "method": "how groups and patterns are formed",
    "shape_weight": "weight of the pattern against the values",
    "effort": "how long groups are improved",
    "max_level": "letters to an instant, at most",
    "round_outward": "significant digits that bounds are rounded outward to",
    "adoption": "whether a series may move to any cell whose pattern is its own",
    "exact": "whether groups are formed as in the paper",
    "publish_values": "instants whose values are published",
    "publish_pattern": "instants whose pattern is published",
}
_PATTERNS = {
    "k": "no group of fewer people can be computed, by adding and subtracting",
    "min_support": "people who must have a pattern, at least",
    "method": "how small groups are closed",
    "symbols": "letters to an instant",
    "structural": "whether groups are looked for that follow as everybody has one letter at every instant",
    "max_len": "items to a pattern, at most",
    "published": "which of the frequent patterns are published",
}
MEANING: Mapping[str, Mapping[str, str]] = {
    "time": {**_SHARED, **_TIME},
    "stream": {**_SHARED, **_STREAM},
    "series": {**_SHARED, **_SERIES},
    "patterns": {**_SHARED, **_PATTERNS},
}


def parameters(release: Release) -> Numbers:
    """The parameters that the manifest states."""
    meaning = MEANING[release.manifest["model"]]
    rows = tuple(
        (f"`{name}`", _shown(value), meaning.get(name, ""))
        for name, value in release.manifest["parameters"].items()
    )
    return Numbers("Parameters of the run", ("parameter", "set to", "what it means"), rows, words=3)


def _shown(value: Any) -> str:
    """A setting in few words.

    >>> _shown(None), _shown(True), _shown(0.05), _shown(["week", "month"])
    ('not set', 'yes', '0.05', 'week, month')
    """
    match value:
        case None:
            return "not set"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case list() | tuple():
            some = [_shown(one) for one in value[:_MOST_NAMES]]
            left = len(value) - len(some)
            return ", ".join(some) + (f" and {left:,} more" if left else "")
        case Mapping():
            return counted(len(value), "entry", "entries")
        case _:
            return f"{value}"
