"""What a release of a stream says about itself, be it the whole stream or one slot of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from timeveil.domain.roles import Roles
from timeveil.domain.version import TOOL
from timeveil.models.stream.method.published import data_columns, sensitive_columns
from timeveil.models.stream.method.settings import Settings
from timeveil.models.stream.method.slots import Slots


def manifest_of(
    settings: Settings, roles: Roles, slots: Slots, schema: pa.Schema, counts: dict[str, Any]
) -> dict[str, Any]:
    """The manifest. Nothing of what was moved or withheld is in it."""
    axis, rule = slots.axis, slots.granularity
    manifest: dict[str, Any] = {
        "format": 1,
        "model": "stream",
        "tool": TOOL,
        "guarantee": settings.promise.as_dict(),
        "time": {
            "column": roles.time,
            "kind": axis.kind,
            "zone": axis.zone,
            "unit": axis.unit,
            "slot": None if rule is None else rule.name,
            "slot_definition": None if rule is None else rule.as_dict(),
        },
        "columns": _described(data_columns(roles, slots, schema, settings.buckets)),
        "parameters": {**settings.published(), "slot": None if rule is None else rule.name},
        "counts": counts,
    }
    if settings.buckets == "anatomy":
        manifest["sensitive_columns"] = _described(sensitive_columns(roles, slots, schema))
    return manifest


def counts_of(rows: int, buckets: int, slots: Slots, first: int | None, last: int | None) -> dict[str, Any]:
    """How much is published, from which slot to which."""
    return {
        "rows": rows,
        "slots": 0 if first is None or last is None else last - first + 1,
        "buckets": buckets,
        "first_slot": None if first is None else slots.label(first),
        "last_slot": None if last is None else slots.label(last),
    }


def _described(columns: Sequence[tuple[str, str, Any]]) -> list[dict[str, str]]:
    return [{"name": name, "role": role, "type": str(kind)} for name, role, kind in columns]
