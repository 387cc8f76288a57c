"""The closed shape of a stream release's manifest: the one place that knows every key of it."""

from __future__ import annotations

import math

from timeveil.evidence.manifest import (
    COUNT,
    FLAG,
    TABLE,
    TEXT,
    TEXT_OR_NULL,
    TOOL_NAME,
    Each,
    Kind,
    Record,
    one_of,
)

_ROLES = ("slot", "quasi", "keep", "bucket", "sensitive", "count")
_COLUMNS = Each(Record({"name": TEXT, "role": one_of(*_ROLES), "type": TEXT}))
_TABLE_OR_NULL = Kind("a table or null", lambda value: value is None or TABLE.fits(value))
_SLOT = Kind("a slot", lambda value: value is None or (isinstance(value, int | str) and value is not True))
_COST = Kind(
    "linear, quadratic or a list of numbers",
    lambda value: value in ("linear", "quadratic") if isinstance(value, str) else _are_numbers(value),
)
MOST_SLOTS = 10_000
_REACH = Kind(
    f"a number from 0 to {MOST_SLOTS}", lambda value: COUNT.fits(value) and 0 <= value <= MOST_SLOTS
)


def _are_numbers(value: object) -> bool:
    return isinstance(value, list | tuple) and all(
        type(cost) in (int, float) and math.isfinite(cost) for cost in value
    )


STREAM_MANIFEST = Record(
    {
        "format": one_of(1),
        "model": one_of("stream"),
        "tool": TOOL_NAME,
        "guarantee": Record({"name": one_of("l-diversity"), "l": COUNT}, optional={"true_slot": COUNT}),
        "time": Record(
            {
                "column": TEXT,
                "kind": one_of("civil", "zoned", "relative"),
                "zone": TEXT_OR_NULL,
                "unit": TEXT_OR_NULL,
                "slot": TEXT_OR_NULL,
                "slot_definition": _TABLE_OR_NULL,
            }
        ),
        "columns": _COLUMNS,
        "parameters": Record(
            {
                "l": COUNT,
                "window": _REACH,
                "slot": TEXT_OR_NULL,
                "move_cost": _COST,
                "first_window": one_of("grow", "exact"),
                "filler": one_of("never", "last_chance", "always"),
                "jitter": _REACH,
                "buckets": one_of("anatomy", "none"),
                "late": one_of("refuse", "move"),
                "fill_empty": FLAG,
                "nulls": one_of("error", "withhold"),
            },
            optional={"protect_slot": COUNT, "spread": _REACH, "fillers": _REACH},
        ),
        "counts": Record(
            {"rows": COUNT, "slots": COUNT, "first_slot": _SLOT, "last_slot": _SLOT},
            optional={"buckets": COUNT},
        ),
    },
    optional={"sensitive_columns": _COLUMNS, "tables": TABLE},
)
