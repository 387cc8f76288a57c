"""The closed shape of a stream release's manifest: the one place that knows every key of it."""

from __future__ import annotations

from timeveil.verify.shape import COUNT, FLAG, TABLE, TEXT, TEXT_OR_NULL, Each, Kind, Record, one_of
from timeveil.verify.time_manifest import TOOL_NAME

_ROLES = ("slot", "quasi", "keep", "bucket", "sensitive", "count")
_COLUMNS = Each(Record({"name": TEXT, "role": one_of(*_ROLES), "type": TEXT}))
_TABLE_OR_NULL = Kind("a table or null", lambda value: value is None or TABLE.fits(value))
_SLOT = Kind("a slot", lambda value: value is None or (isinstance(value, int | str) and value is not True))
_COST = Kind("a name or a list of numbers", lambda value: isinstance(value, str | list | tuple))

STREAM_MANIFEST = Record(
    {
        "format": one_of(1),
        "model": one_of("stream"),
        "tool": TOOL_NAME,
        "guarantee": Record({"name": one_of("l-diversity"), "l": COUNT}),
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
                "window": COUNT,
                "slot": TEXT,
                "move_cost": _COST,
                "first_window": TEXT,
                "filler": TEXT,
                "jitter": COUNT,
                "buckets": one_of("anatomy", "none"),
                "late": TEXT,
                "fill_empty": FLAG,
                "nulls": TEXT,
            }
        ),
        "counts": Record(
            {"rows": COUNT, "slots": COUNT, "first_slot": _SLOT, "last_slot": _SLOT},
            optional={"buckets": COUNT},
        ),
    },
    optional={"sensitive_columns": _COLUMNS, "tables": TABLE},
)
