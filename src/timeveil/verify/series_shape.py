"""The closed shape of a series release's manifest: the one place that knows every key of it."""

from __future__ import annotations

import math
from typing import Any

from timeveil.verify.shape import COUNT, FLAG, TABLE, TEXT, Each, Kind, Record, one_of
from timeveil.verify.time_manifest import TOOL_NAME

ROLES = ("group", "low", "high", "pattern", "level", "sensitive", "keep")
"""The roles of published columns."""
MOST_LEVELS = 52
"""Symbols are written a to z, then A to Z."""

METHODS = ("adaptive", "kapra", "naive", "representative")
OWN_PATTERNS = ("adaptive", "kapra")
"""The methods that publish no pattern but a record's own."""


def _or_null(kind: Kind) -> Kind:
    return Kind(f"{kind.words} or null", lambda value: value is None or kind.fits(value))


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and value >= 0


_NUMBER_OR_NULL = _or_null(Kind("a number of 0 or more", _is_number))
_LEVEL = Kind(
    f"a number from 1 to {MOST_LEVELS}", lambda value: type(value) is int and 0 < value <= MOST_LEVELS
)
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
                "round_outward": _or_null(COUNT),
                "shape_weight": _NUMBER_OR_NULL,
                "effort": _or_null(COUNT),
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
