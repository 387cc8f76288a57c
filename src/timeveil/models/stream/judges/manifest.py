"""Does the manifest of a stream have its closed shape, and does it agree with itself and with its tables?

The sentences about all that a stream can violate are here too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.calendar.catalogue import UNITS
from timeveil.domain.release import Release
from timeveil.evidence import checks
from timeveil.evidence.checks import COUNT, FLAG, TABLE, TEXT, Findings, Kind, from_to, one_of, or_null
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


_SLOT = Kind("a slot", lambda value: value is None or (isinstance(value, int | str) and value is not True))
_COST = Kind(
    "linear, quadratic or a list of numbers",
    lambda value: value in ("linear", "quadratic") if isinstance(value, str) else _is_cost_list(value),
)
_REACH = from_to(0, MOST_SLOTS)

MANIFEST = checks.manifest_of(
    "stream",
    {"name": one_of("l-diversity"), "l": COUNT, "true_slot?": COUNT},
    _ROLES,
    {
        "sensitive_columns?": checks.columns_of_roles(*_ROLES),
        "time": {**checks.CLOCK, "slot": or_null(TEXT), "slot_definition": or_null(TABLE)},
        "parameters": {
            "l": Kind("a number of 1 or more", lambda value: COUNT.fits(value) and value > 0),
            "window": from_to(1, MOST_SLOTS),
            "slot": or_null(TEXT),
            "move_cost": _COST,
            "first_window": one_of("grow", "exact"),
            "filler": one_of("never", "last_chance", "always"),
            "jitter": _REACH,
            "buckets": one_of("anatomy", "none"),
            "late": one_of("refuse", "move"),
            "fill_empty": FLAG,
            "nulls": one_of("error", "withhold"),
            "protect_slot?": COUNT,
            "spread?": _REACH,
            "fillers?": _REACH,
        },
        "counts": {"rows": COUNT, "slots": COUNT, "first_slot": _SLOT, "last_slot": _SLOT, "buckets?": COUNT},
    },
)


SENTENCES = {
    "bucket": "{buckets:bucket} not numbered from 0 within its slot",
    "bucket-size": "{buckets:bucket} with fewer than {l} records; the smallest has {smallest}",
    "bucket-values": "{values:value} of a bucket with another count than among its records",
    "columns:buckets": "the buckets of table `{table}` are not whole numbers",
    "columns:copy": "the sensitive column is published a second time",
    "columns:counts": "the counts of table `sensitive` are not whole numbers",
    "columns:extra": "table `{table}` has columns that the manifest does not list: {names}",
    "columns:missing": "table `{table}` lacks columns that the manifest lists: {names}",
    "columns:names": "table `{table}` does not call slot, bucket or count by that name",
    "columns:order": "the columns of table `{table}` are not in the stated order",
    "columns:respondent": "the respondent is among the published columns",
    "columns:role": "the {role} columns are not those of the original",
    "columns:roles": "the roles of table `{table}` are not in the order {roles}",
    "columns:sensitive": "the sensitive column is not that of the original",
    "columns:slots": "the slots of table `{table}` are not {kind}",
    "columns:time": "the time column of the original is among the published columns",
    "conservation": "{values:value} whose published and withheld records are not the original ones",
    "counts:buckets": "the tables have {buckets:bucket}; the manifest states {stated}",
    "counts:slots": "the manifest states {stated:slot}; from the first to the last there are {slots}",
    "guarantee:l": "`parameters.l` of the manifest is not the l of the guarantee",
    "guarantee:packets": "the manifest has parameters of packets, but not the promise that packets keep",
    "guarantee:true-slot": "`parameters.protect_slot` of the manifest is not the guarantee's `true_slot`",
    "incomplete-rows": "{records:record} without slot, value or respondent not withheld",
    "ledger": "{fault}",
    "ledger:columns": "the ledger lacks a column of a stream's ledger",
    "ledger:model": "the ledger is not that of this release",
    "ledger-rows": "the ledger lists {listed:row}, not the {rows} of the original in order",
    "manifest:buckets": "the manifest describes buckets that its parameters exclude, or the reverse",
    "manifest:clock": "the kind, zone, unit and slot of the time do not fit each other",
    "manifest:count": "`counts.buckets` of the manifest is missing",
    "manifest:no-buckets": "`counts.buckets` of the manifest is not 0, and there are no buckets",
    "moved-back": "{records:record} published before its slot",
    "moved-too-far": "{records:record} published {reach} or more slots after its own",
    "not-eligible": "{slots:slot} in which a value is held by more than 1 in {l} records",
    "origin": "{records:record} with another origin listed",
    "packet": "{records:record} without a packet, or in one although incomplete",
    "packet:missing": "the ledger lacks the packets that keep the promise",
    "packet-bucket": "{packets:packet} with records in several buckets",
    "packet-fate": "{packets:packet} with records that were not published in one slot or all withheld",
    "packet-origin": "{packets:packet} with records of several slots",
    "packet-size": "{packets:packet} with fewer records than its slot allows and the promise requires; "
    "the smallest has {smallest}",
    "packet-values": "{packets:packet} with a value more than once",
    "parameters:cost": "`parameters.move_cost` of the manifest is not a cost of moving records",
    "parameters:missing": "the parameters of packets are incomplete: {names}",
    "parameters:packets": "parameters that packets exclude: {names}",
    "parameters:run": "the run had other parameters: {names}",
    "parameters:spread": "`parameters.spread` of the manifest is not from 1 to below the window",
    "parameters:time": "the stated time and slots are not those of the run",
    "person-twice": "{records:record} of a person who is already in the same slot",
    "row-count": "the table has {rows:row}; the manifest states {stated}",
    "row-values": "{surplus:published row} not in the original, {missing:original record} not in the release",
    "row-values:type": "{fault}",
    "slot": "{slots:slot} of table `{table}` not of the stated granularity",
    "slot:definition": "the slot granularity and its definition have different names",
    "slot:ends": "the first and the last slot are not those of the records",
    "slot:outside": "{slots:slot} of table `{table}` before the first or after the last stated",
    "slot:parameter": "`parameters.slot` and `time.slot` of the manifest are not the same",
    "slot:rebuilt": "the stated slot granularity cannot be rebuilt from its definition",
    "slot:stated": "the stated first or last slot is not of the stated granularity",
    "slot:title": "a slot granularity of the catalogue has another title than in the catalogue",
    "slot-order": "the slots of table `{table}` are not in the order of time",
    "slot-records": "{slots:slot} with another number of records than the ledger places there",
    "tables": "the release has {tables:table}; {names} are stated",
    "tables-disagree:apart": "{buckets:bucket} in one table only",
    "tables-disagree:sizes": "{buckets:bucket} with another number of records than its values add up to",
    "value-counts": "{below:count} below 1, {repeated:value} listed more than once",
    "value-counts:most": "a value is counted more often than there are rows",
    "value-missing": "{records:record} without a sensitive value",
    "value-too-frequent:bucket": "{buckets:bucket} in which a value is held by more than 1 in {l} records",
    "value-too-frequent:slot": "{slots:slot} in which a value is held by more than 1 in {l} records",
}


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
    if not checks.check_shape(release, MANIFEST, findings):
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
    sections = {"data": "columns", "sensitive": "sensitive_columns"}
    stated = {table: manifest[section] for table, section in sections.items() if section in manifest}
    names = " and ".join(f"`{name}`" for name in stated)
    if not findings.expect(
        "tables", set(release.parts) == set(stated), tables=len(release.parts), names=names
    ):
        return False
    for table, columns in stated.items():
        checks.check_columns(release, findings, table, sections[table])
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
        "slot:title": definition is None or checks.has_catalogue_title(definition, time),
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
            return unit is None and slot is not None and checks.is_zone(zone)
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
