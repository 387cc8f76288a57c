"""The closed shape of a time release's manifest: the one place that knows every key of it."""

from __future__ import annotations

import re

from timeveil.evidence.shape import (
    COUNT,
    FLAG,
    SHARE,
    TABLE,
    TEXT,
    TEXT_OR_NULL,
    Each,
    Kind,
    Named,
    Record,
    one_of,
)

ROLES = ("quasi", "keep", "sensitive", "time", "start", "end")
"""The roles of published columns, in published order."""

_VERSION = re.compile(r"timeveil \d+(\.\w+)*(\+\w+)?", re.ASCII)
TOOL_NAME = Kind(
    "`timeveil` and a version", lambda value: isinstance(value, str) and bool(_VERSION.fullmatch(value))
)
_NUMBERS = ("smallest_group", "groups", "group_total", "groups_below_k", "rows_below_k", "rows_in_gaps")
_TALLY = dict.fromkeys(_NUMBERS, COUNT)
_LEVELS = Named(Record({"level": COUNT, "name": TEXT}))
_NAMES_OR_NULL = Kind(
    "a list of names or null",
    lambda value: (
        value is None or (isinstance(value, list | tuple) and all(isinstance(name, str) for name in value))
    ),
)

TIME_MANIFEST = Record(
    {
        "format": one_of(1),
        "model": one_of("time"),
        "tool": TOOL_NAME,
        "guarantee": Record({"name": one_of("k-anonymity"), "k": COUNT}),
        "granularity": TEXT,
        "granularity_definition": TABLE,
        "time": Record(
            {
                "column": TEXT,
                "kind": one_of("civil", "zoned", "relative"),
                "zone": TEXT_OR_NULL,
                "unit": TEXT_OR_NULL,
            }
        ),
        "columns": Each(Record({"name": TEXT, "role": one_of(*ROLES), "type": TEXT})),
        "levels": _LEVELS,
        "parameters": Record(
            {
                "k": COUNT,
                "choose": TEXT,
                "suppress": SHARE,
                "gaps": one_of("error", "skip", "suppress", "next"),
                "nulls": one_of("error", "withhold"),
                "granularities": _NAMES_OR_NULL,
            }
        ),
        "frontier": Each(TEXT),
        "candidates": Named(Record({**_TALLY, "feasible": FLAG, "allowed": FLAG, "aliases": Each(TEXT)})),
        "counts": Record(dict.fromkeys(("rows", "groups", "smallest_group", "withheld", "rows_read"), COUNT)),
    },
    optional={
        "nodes": Each(Record({"levels": _LEVELS, "granularity": TEXT, **_TALLY})),
        "tables": TABLE,  # what `write` adds; `open_release` has looked at it
    },
)
