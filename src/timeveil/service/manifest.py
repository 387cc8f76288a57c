"""What the folder of one slot says about itself: the manifest of a stream release that has one slot."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from timeveil.model.relation import Relation
from timeveil.model.version import TOOL
from timeveil.service.parameters import Parameters
from timeveil.streaming import PublishedSlot
from timeveil.streaming.slots import slots_of

_OWN = {"slot": "slot", "bucket": "bucket", "count": "count"}


def time_section(relation: Relation, parameters: Parameters) -> dict[str, Any]:
    """How times were read and cut into slots."""
    axis = relation.clock
    rule = slots_of(parameters.settings.slot, axis).granularity
    return {
        "column": relation.time,
        "kind": axis.kind,
        "zone": axis.zone,
        "unit": axis.unit,
        "slot": None if rule is None else rule.name,
        "slot_definition": None if rule is None else rule.as_dict(),
    }


def slot_manifest(slot: PublishedSlot, time: dict[str, Any], parameters: Parameters) -> dict[str, Any]:
    """The manifest of a slot. Nothing of what was moved or withheld is in it."""
    settings = parameters.settings
    manifest: dict[str, Any] = {
        "format": 1,
        "model": "stream",
        "tool": TOOL,
        "guarantee": settings.promise.as_dict(),
        "time": time,
        "columns": _columns(slot.data, parameters),
        "parameters": settings.published(),
        "counts": {
            "rows": slot.data.num_rows,
            "slots": 1,
            "buckets": _buckets(slot),
            "first_slot": slot.slot,
            "last_slot": slot.slot,
        },
    }
    if slot.sensitive is not None:
        manifest["sensitive_columns"] = _columns(slot.sensitive, parameters)
    return manifest


def _columns(table: pa.Table, parameters: Parameters) -> list[dict[str, str]]:
    roles = parameters.roles
    known = {
        **_OWN,
        **dict.fromkeys(roles.quasi_columns, "quasi"),
        **dict.fromkeys(roles.keep, "keep"),
        **dict.fromkeys(roles.sensitive, "sensitive"),
    }
    return [
        {"name": field.name, "role": known[field.name], "type": str(field.type)} for field in table.schema
    ]


def _buckets(slot: PublishedSlot) -> int:
    if slot.sensitive is None or not slot.data.num_rows:
        return 0
    return int(max(slot.data.column("bucket").to_pylist())) + 1
