"""Does the manifest of a stream have its closed shape, and does it agree with itself and with its tables?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.calendar.catalogue import UNITS
from timeveil.domain.release import Release
from timeveil.evidence.checks import (
    COUNT,
    FLAG,
    TABLE,
    TEXT,
    TEXT_OR_NULL,
    TOOL_NAME,
    Each,
    Findings,
    Kind,
    Record,
    has_catalogue_title,
    is_zone,
    one_of,
    stated_type,
)
from timeveil.evidence.checks import check_shape as check_closed
from timeveil.evidence.codes import plain_type
from timeveil.evidence.published import schema_of
from timeveil.models.stream.evidence import Evidence

MOST_SLOTS = 10_000
PACKET_PARAMETERS = ("protect_slot", "spread", "fillers")
# What packets take the place of, or cannot be combined with.
_WITH_PACKETS = {
    "filler": "never",
    "jitter": 0,
    "first_window": "grow",
    "buckets": "anatomy",
    "late": "refuse",
}
_ROLES = ("slot", "quasi", "keep", "bucket", "sensitive", "count")
_SENSITIVE_ROLES = ("slot", "bucket", "sensitive", "count")
_FIXED_NAMES = ("slot", "bucket", "count")
"""Roles whose columns are called the same."""


def _is_cost_list(value: Any) -> bool:
    numbers = isinstance(value, list | tuple)
    return numbers and all(type(cost) in (int, float) and math.isfinite(cost) for cost in value)


_COLUMNS = Each(Record({"name": TEXT, "role": one_of(*_ROLES), "type": TEXT}))
_CLOCKS = one_of("civil", "zoned", "relative")
_TABLE_OR_NULL = Kind("a table or null", lambda value: value is None or TABLE.fits(value))
_SLOT = Kind("a slot", lambda value: value is None or (isinstance(value, int | str) and value is not True))
_COST = Kind(
    "linear, quadratic or a list of numbers",
    lambda value: value in ("linear", "quadratic") if isinstance(value, str) else _is_cost_list(value),
)
_REACH = Kind(f"a number from 0 to {MOST_SLOTS}", lambda value: COUNT.fits(value) and value <= MOST_SLOTS)
_POSITIVE = Kind("a number of 1 or more", lambda value: COUNT.fits(value) and value > 0)
_WINDOW = Kind(f"a number from 1 to {MOST_SLOTS}", lambda value: _REACH.fits(value) and value > 0)

MANIFEST = Record(
    {
        "format": one_of(1),
        "model": one_of("stream"),
        "tool": TOOL_NAME,
        "guarantee": Record({"name": one_of("l-diversity"), "l": COUNT}, optional={"true_slot": COUNT}),
        "time": Record(
            {
                "column": TEXT,
                "kind": _CLOCKS,
                "zone": TEXT_OR_NULL,
                "unit": TEXT_OR_NULL,
                "slot": TEXT_OR_NULL,
                "slot_definition": _TABLE_OR_NULL,
            }
        ),
        "columns": _COLUMNS,
        "parameters": Record(
            {
                "l": _POSITIVE,
                "window": _WINDOW,
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


def expect_none(findings: Findings, code: str, /, **numbers: Any) -> bool:
    """Expect the first of the numbers, a count or a mask of what is wrong, to be 0."""
    first, wrong = next(iter(numbers.items()))
    count = int(np.count_nonzero(wrong)) if isinstance(wrong, np.ndarray) else wrong
    return findings.expect(code, not count, **{**numbers, first: count})


def reach(parameters: Mapping[str, Any]) -> int:
    """A record is published fewer than this many slots late."""
    return int(parameters["window"] + parameters.get("jitter", 0))


def check_shape(release: Release, findings: Findings) -> bool:
    """Expect a manifest with every section of a stream, and nothing else."""
    if not check_closed(release, MANIFEST, findings):
        return False
    manifest, buckets = release.manifest, release.manifest["counts"].get("buckets")
    described = "sensitive_columns" in manifest
    stated = manifest["parameters"]["buckets"] == "anatomy"
    return all(
        [
            findings.expect("manifest:count", buckets is not None or not described),
            findings.expect("manifest:no-buckets", described or not buckets),
            findings.expect("manifest:buckets", stated == bool(manifest.get("sensitive_columns"))),
        ]
    )


def check_tables(release: Release, findings: Findings) -> bool:
    """Expect the stated columns in each table, each with its type, and no other."""
    findings.check("the tables have exactly the columns, roles and types of the manifest")
    manifest, before = release.manifest, len(findings.violations)
    stated = {"data": manifest["columns"]}
    if "sensitive_columns" in manifest:
        stated["sensitive"] = manifest["sensitive_columns"]
    names = " and ".join(f"`{name}`" for name in stated)
    if not findings.expect(
        "tables", set(release.parts) == set(stated), tables=len(release.parts), names=names
    ):
        return False
    for table, columns in stated.items():
        _check_columns(release, table, columns, findings)
        _check_roles(table, columns, "bucket" if "sensitive_columns" in manifest else "sensitive", findings)
    # Neither the true time nor a second copy of the sensitive value may be published.
    free = [c for columns in stated.values() for c in columns if c["role"] not in _FIXED_NAMES]
    names_used = [c["name"] for c in free]
    findings.expect("columns:time", manifest["time"]["column"] not in names_used)
    copies = [names_used.count(c["name"]) for c in free if c["role"] == "sensitive"]
    findings.expect("columns:copy", max(copies, default=1) == 1)
    if len(findings.violations) == before:
        _check_keys(release, findings)
    return len(findings.violations) == before


def _check_columns(
    release: Release, table: str, columns: Sequence[Mapping[str, Any]], findings: Findings
) -> None:
    schema, names = schema_of(release, table), [column["name"] for column in columns]
    extra = [name for name in schema.names if name not in names]
    missing = [name for name in names if name not in schema.names]
    findings.expect("columns:extra", not extra, table=table, names=", ".join(extra))
    findings.expect("columns:missing", not missing, table=table, names=", ".join(missing))
    if extra or missing or not findings.expect("columns:order", schema.names == names, table=table):
        return
    for column in columns:
        kind = schema.field(column["name"]).type
        fits = stated_type(column["type"]) in (str(kind), str(plain_type(kind)))
        findings.expect("columns:type", fits, name=column["name"])


def _check_roles(table: str, columns: Sequence[Mapping[str, Any]], last: str, findings: Findings) -> None:
    """One slot first, one bucket or sensitive column last; the sensitive value is in one table only."""
    roles = [column["role"] for column in columns]
    allowed: tuple[str, ...] = _SENSITIVE_ROLES
    once = allowed
    if table == "data":
        allowed, once = ("slot", "quasi", "keep", last), ("slot", last)
    ranks = [allowed.index(role) if role in allowed else -1 for role in roles]
    ordered = -1 not in ranks and ranks == sorted(ranks) and all(roles.count(role) == 1 for role in once)
    findings.expect("columns:roles", ordered, table=table, roles=", ".join(allowed))
    renamed = [c["name"] for c in columns if c["role"] in _FIXED_NAMES and c["name"] != c["role"]]
    findings.expect("columns:names", not renamed, table=table)


def _check_keys(release: Release, findings: Findings) -> None:
    """Slots are labels or numbers, buckets and counts are numbers."""
    slot_type = pa.int64() if release.manifest["time"].get("slot_definition") is None else pa.string()
    called = "whole numbers" if slot_type == pa.int64() else "labels"
    for table in release.parts:
        kinds = {field.name: plain_type(field.type) for field in schema_of(release, table)}
        findings.expect("columns:slots", kinds["slot"] == slot_type, table=table, kind=called)
        numbered = "sensitive" not in release.parts or pa.types.is_signed_integer(kinds["bucket"])
        findings.expect("columns:buckets", numbered, table=table)
        if table == "sensitive":
            findings.expect("columns:counts", pa.types.is_signed_integer(kinds["count"]))


def check_statements(evidence: Evidence, findings: Findings) -> None:
    """Expect equal numbers wherever the manifest states one twice."""
    findings.check("the manifest agrees with itself")
    release, manifest = evidence.release, evidence.release.manifest
    time, parameters = manifest["time"], manifest["parameters"]
    definition, slot = time.get("slot_definition"), time.get("slot")
    for code, holds in {
        "guarantee": dict(manifest["guarantee"]) == release.guarantee.as_dict(),
        "guarantee:l": parameters["l"] == evidence.l,
        "slot:definition": (None if definition is None else definition.get("name")) == slot,
        "slot:title": definition is None or has_catalogue_title(definition, time),
        "slot:parameter": parameters["slot"] == slot,
        "manifest:clock": _is_clock(time),
        "parameters:cost": _is_cost(parameters),
    }.items():
        findings.expect(code, holds)
    _check_packet_statements(evidence.true_slot, parameters, findings)


def _is_clock(time: Mapping[str, Any]) -> bool:
    """Zoned time has a zone; relative time has a unit, or else slots that are numbers; civil time neither."""
    zone, unit, slot = time["zone"], time["unit"], time["slot"]
    match time["kind"]:
        case "civil":
            return zone is None and unit is None and slot is not None
        case "zoned":
            return unit is None and slot is not None and is_zone(zone)
    return zone is None and (slot is None if unit is None else unit in UNITS and bool(slot))


def _is_cost(parameters: Mapping[str, Any]) -> bool:
    """A name; or a cost from 0 for each distance that a record may move, rising and never slowing down."""
    costs = parameters["move_cost"]
    if isinstance(costs, str):
        return True
    if len(costs) != max(parameters["window"] + 1, reach(parameters)) or costs[0] != 0:
        return False
    steps = [after - before for before, after in pairwise(costs)]
    grain = 1e-9 * costs[-1]  # costs are rounded when they are written
    return min(steps) > 0 and all(after >= before - grain for before, after in pairwise(steps))


def _check_packet_statements(promise: int | None, parameters: Mapping[str, Any], findings: Findings) -> None:
    """The parameters of packets fit the promise and the other parameters."""
    missing = [name for name in PACKET_PARAMETERS if name not in parameters]
    if promise is None:
        findings.expect("guarantee:packets", len(missing) == len(PACKET_PARAMETERS))
        return
    findings.check(
        "the packets of records match the promise to anyone who knows the true slot "
        "(packets cannot be seen from outside)"
    )
    if findings.expect("parameters:missing", not missing, names=", ".join(missing)):
        findings.expect("guarantee:true-slot", parameters["protect_slot"] == promise)
    wrong = [name for name, fixed in _WITH_PACKETS.items() if parameters[name] != fixed]
    findings.expect("parameters:packets", not wrong, names=", ".join(wrong))
    findings.expect("parameters:spread", 1 <= parameters.get("spread", 1) < parameters["window"])
