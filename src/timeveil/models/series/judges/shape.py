"""The closed shape of a series release's manifest: the one place that knows every key of it."""

from __future__ import annotations

from timeveil.evidence.manifest import COUNT, FLAG, TABLE, TEXT, TOOL_NAME, Each, Kind, Record, one_of

ROLES = ("group", "low", "high", "pattern", "level", "sensitive", "keep")
"""The roles of published columns."""
MOST_LEVELS = 52
"""Symbols are written a to z, then A to Z."""

METHODS = ("adaptive", "kapra", "naive", "representative")
OWN_PATTERNS = ("adaptive", "kapra")
"""The methods that publish no pattern but a record's own."""
USED = {
    "adaptive": ("shape_weight", "effort"),
    "kapra": ("adoption", "exact"),
    "naive": (),
    "representative": ("shape_weight", "effort"),
}
"""Parameters that not all methods have; they are null exactly where the method has them not."""


def _or_null(kind: Kind) -> Kind:
    return Kind(f"{kind.words} or null", lambda value: value is None or kind.fits(value))


def _from_to(least: int, most: int, *kinds: type) -> Kind:
    """A number in bounds: one without could carry a message."""
    return Kind(
        f"a number from {least} to {most:,}", lambda value: type(value) in kinds and least <= value <= most
    )


_LEVEL = _from_to(1, MOST_LEVELS, int)
_CENTER = one_of("mean", "median")
_NAMES_OR_NULL = Kind(
    "a list of names or null",
    lambda value: (
        value is None or (isinstance(value, list | tuple) and all(isinstance(name, str) for name in value))
    ),
)

SERIES_MANIFEST = Record(
    {
        "format": one_of(1),
        "model": one_of("series"),
        "tool": TOOL_NAME,
        "guarantee": Record({"name": one_of("kp-anonymity"), "k": COUNT, "p": COUNT, "l": _or_null(COUNT)}),
        "series": Record(
            {
                "instants": Each(TEXT),
                "values": Each(TEXT),
                "pattern": Each(TEXT),
                "center": _CENTER,
                "levels": one_of("one", "each"),
                "own_patterns": FLAG,
                "perturbed": Each(TEXT),
            }
        ),
        "columns": Each(Record({"name": TEXT, "role": one_of(*ROLES), "type": TEXT})),
        "parameters": Record(
            {
                "k": COUNT,
                "p": COUNT,
                "l": _or_null(COUNT),
                "method": one_of(*METHODS),
                "max_level": _LEVEL,
                "center": _CENTER,
                "round_outward": _or_null(_from_to(1, 15, int)),
                "shape_weight": _or_null(_from_to(0, 1_000_000, int, float)),
                "effort": _or_null(_from_to(0, 1_000, int)),
                "adoption": _or_null(FLAG),
                "exact": _or_null(FLAG),
                "fill": _or_null(one_of("forward", "linear", "drop")),
                "publish_values": _NAMES_OR_NULL,
                "publish_pattern": _NAMES_OR_NULL,
            },
        ),
        "counts": Record(dict.fromkeys(("rows", "groups", "cells", "suppressed"), COUNT)),
    },
    optional={"tables": TABLE},  # what `write` adds; `open_release` has looked at it
)
