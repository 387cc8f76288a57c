"""Does the manifest of a stream have its closed shape, and does it agree with itself and with its tables?

The sentences about all that a stream can violate are here too.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa

from timeveil.calendar.civil import UNITS, is_zone
from timeveil.domain.release import Release
from timeveil.evidence import checks
from timeveil.evidence.checks import COUNT, DEFINITION, FLAG, TEXT, Findings, Kind, from_to, one_of, or_null
from timeveil.evidence.codes import plain_type
from timeveil.evidence.published import schema_of
from timeveil.models.stream.evidence import LEDGER_FAULTS, Evidence

Columns = Sequence[Mapping[str, Any]]
MOST_SLOTS = 10_000
PACKET_PARAMETERS = ("protect_slot", "spread", "fillers")
# What packets take the place of, or cannot be combined with.
_EXCLUDED = {"filler": "never", "jitter": 0, "first_window": "grow", "buckets": "anatomy", "late": "refuse"}
_ROLES = ("slot", "quasi", "keep", "bucket", "sensitive", "count", "group")
_FIXED_NAMES = ("slot", "bucket", "count", "group")  # roles whose columns are called the same


def _is_name_or_costs(value: Any) -> bool:
    if isinstance(value, str):
        return value in ("linear", "quadratic")
    listed = isinstance(value, list | tuple) and len(value) > 0
    return listed and all(type(cost) in (int, float) and abs(cost) < 1e300 for cost in value)


_SLOT = Kind("a slot", lambda value: value is None or (isinstance(value, int | str) and value is not True))
_COST = Kind("linear, quadratic or a list of numbers", _is_name_or_costs)
_REACH = from_to(0, MOST_SLOTS)

_RECURRING = {"recurring?": one_of("withhold", "invariant"), "forget_after?": from_to(2, MOST_SLOTS)}

MANIFEST = checks.manifest_of(
    "stream",
    {"name": one_of("l-diversity"), "l": COUNT, "true_slot?": COUNT, "k?": COUNT, **_RECURRING},
    {"time": {**checks.CLOCK, "slot": or_null(TEXT), "slot_definition": or_null(DEFINITION)}},
    _ROLES,
    {
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
            "groups?": one_of("buckets", "generalize"),
            "k?": COUNT,
            "protect_slot?": COUNT,
            "spread?": _REACH,
            "fillers?": _REACH,
            **_RECURRING,
            **checks.IF_SET,
        },
        "counts": {
            "rows": COUNT,
            "slots": COUNT,
            "buckets?": COUNT,
            "groups?": COUNT,
            "counterfeits?": COUNT,
            "first_slot": _SLOT,
            "last_slot": _SLOT,
        },
        "levels?": checks.LEVELS,
        "sensitive_columns?": [{"name": TEXT, "role": one_of(*_ROLES), "type": TEXT}],
    },
)


SENTENCES = {
    **LEDGER_FAULTS,
    "bucket": "{buckets:bucket} not numbered from 0 within its slot",
    "bucket-size": "{buckets:bucket} with fewer than {l} records; the smallest has {smallest}",
    "bucket-values": "{values:value} of a bucket with another count than among its records",
    "columns:copy": "the sensitive column is published a second time",
    "columns:extra": "table `{table}` has columns that the manifest does not list: {names}",
    "columns:missing": "table `{table}` lacks columns that the manifest lists: {names}",
    "columns:kind": "column `{name}` of table `{table}` does not hold {kind}",
    "columns:names": "table `{table}` does not call slot, bucket or count by that name",
    "columns:order": "the columns of table `{table}` are not in the stated order",
    "columns:respondent": "the respondent is among the published columns",
    "columns:roles": "the roles of table `{table}` are not in the order {roles}",
    "columns:time": "the time column of the original is among the published columns",
    "conservation": "{values:value} whose published and withheld records are not the original ones",
    "counts:buckets": "the tables have {buckets:bucket}; the manifest states {stated}",
    "counts:counterfeits": "the buckets have {counterfeits:counterfeit}; the manifest states {stated}",
    "counts:slots": "the manifest states {stated:slot}; from the first to the last there are {slots}",
    "counts:groups": "the table has {groups:group}; the manifest states {stated}",
    "group": "{groups:group} not numbered from 0 within its slot",
    "group-labels": "{groups:group} whose records do not have the same labels",
    "group-people": "{groups:group} with fewer people than promised",
    "group-size": "{groups:group} with fewer than {k} records; the smallest has {smallest}",
    "guarantee:k": "`parameters.k` of the manifest is not the k of the promise",
    "guarantee:l": "`parameters.l` of the manifest is not the l of the promise",
    "guarantee:packets": "the manifest has parameters of packets, but not the promise that packets keep",
    "guarantee:recurring": "`recurring` or `forget_after` are not the same in parameters and promise",
    "guarantee:true-slot": "`parameters.protect_slot` of the manifest is not the promise's `true_slot`",
    "incomplete-rows": "{records:record} without slot, value or respondent not withheld",
    "ledger-rows": "the ledger does not list the rows of its original in order",
    "labels": "{values:value} of `{name}` published under a label that does not contain it",
    "levels": "{labels:label} of `{name}` listed in the manifest and not published, or listed twice",
    "manifest:groups": "the manifest describes groups that its parameters exclude, or the reverse",
    "manifest:buckets": "the manifest describes buckets that its parameters exclude, or the reverse",
    "manifest:clock": "the kind, zone, unit and slot of the time do not fit each other",
    "manifest:count": "`counts.buckets` of the manifest is missing",
    "manifest:counterfeits": "`counts.counterfeits` of the manifest is missing, or out of place",
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
    "parameters:recurring": "the parameters exclude what is promised to people who come back",
    "parameters:spread": "`parameters.spread` of the manifest is not from 1 to below the window",
    "parameters:time": "the stated time and slots are not those of the run",
    "person-again": "{records:record} of a person who was published before",
    "person-twice": "{records:record} of a person who is already in the same slot",
    "respondent-missing": "the ledger does not say whose the records are",
    "row-count": "the table has {rows:row}; the manifest states {stated}",
    "row-values": "{surplus:published row} not in the original, {missing:original record} not in the release",
    "row-values:type": "{fault}",
    "signature": "{records:record} in a bucket with other values than the person's bucket before",
    "signature:first": "{records:record} with counterfeits of a person who was not published before",
    "signature:twice": "{values:value} of a bucket with more than one record",
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
    "value-too-frequent": "{groups:{group}} in which a value is held by more than 1 in {l} records",
}


def check_shape(release: Release, findings: Findings) -> bool:
    """Expect a manifest with every section of a stream, and nothing else."""
    if not checks.check_shape(release, findings, MANIFEST):
        return False
    manifest, buckets = release.manifest, release.manifest["counts"].get("buckets")
    described = "sensitive_columns" in manifest
    generalized = manifest["parameters"].get("groups") == "generalize"
    stated = manifest["parameters"]["buckets"] == "anatomy" and not generalized
    described_groups = [name in part for name, part in (("levels", manifest), ("groups", manifest["counts"]))]
    facts = {
        "manifest:groups": described_groups == [generalized] * 2,
        "manifest:count": buckets is not None or not described,
        "manifest:no-buckets": described or not buckets,
        "manifest:buckets": stated == bool(manifest.get("sensitive_columns")),
    }
    return findings.expect_all(facts)


def check_columns(release: Release, findings: Findings) -> bool:
    """Expect the stated columns in each table, each with its role and type, and no other."""
    findings.check("the tables have exactly the columns, roles and types of the manifest")
    manifest, before = release.manifest, len(findings.violations)
    sections = {"data": "columns", "sensitive": "sensitive_columns"}
    stated = {table: manifest[section] for table, section in sections.items() if section in manifest}
    names, same = " and ".join(f"`{name}`" for name in stated), set(release.parts) == set(stated)
    if not findings.expect("tables", same, tables=len(release.parts), names=names):
        return False
    # One slot first, one bucket or sensitive column last; the sensitive value is in one table only.
    last = ["bucket"] if "sensitive" in stated else ["sensitive"]
    last += ["group"] if "levels" in manifest else []
    roles = {"data": ("slot", "quasi", "keep", *last), "sensitive": ("slot", "bucket", "sensitive", "count")}
    for table, columns in stated.items():
        checks.check_columns(release, findings, table, sections[table])
        order, listed = roles[table], [column["role"] for column in columns]
        ordered = set(listed) <= set(order) and listed == sorted(listed, key=order.index)
        once = all(listed.count(role) == 1 for role in order if role not in ("quasi", "keep"))
        findings.expect("columns:roles", ordered and once, table=table, roles=", ".join(order))
        named = all(c["name"] == c["role"] for c in columns if c["role"] in _FIXED_NAMES)
        findings.expect("columns:names", named, table=table)
    # Neither the true time nor a second copy of the sensitive value may be published.
    free = [c for columns in stated.values() for c in columns if c["role"] not in _FIXED_NAMES]
    names_used = [c["name"] for c in free]
    findings.expect("columns:time", manifest["time"]["column"] not in names_used)
    copies = [names_used.count(c["name"]) for c in free if c["role"] == "sensitive"]
    findings.expect("columns:copy", max(copies, default=1) == 1)
    for table, columns in stated.items() if len(findings.violations) == before else ():
        _check_kinds(release, table, columns, findings)
    return len(findings.violations) == before


def _check_kinds(release: Release, table: str, columns: Columns, findings: Findings) -> None:
    """Slots are labels or numbers, buckets and counts are numbers."""
    labelled = release.manifest["time"].get("slot_definition") is not None
    for role in (column["role"] for column in columns if column["role"] in _FIXED_NAMES):
        kind, words = plain_type(schema_of(release, table).field(role).type), "whole numbers"
        holds = pa.types.is_signed_integer(kind)
        if role == "slot":
            holds, words = (kind == pa.string(), "labels") if labelled else (kind == pa.int64(), words)
        findings.expect("columns:kind", holds, name=role, table=table, kind=words)


def check_statements(evidence: Evidence, findings: Findings) -> None:
    """Expect equal numbers wherever the manifest states one twice."""
    findings.check("the numbers in release.json agree with each other")
    release, manifest = evidence.release, evidence.release.manifest
    time, parameters = manifest["time"], manifest["parameters"]
    definition, slot, k = time.get("slot_definition"), time.get("slot"), parameters.get("k")
    if parameters.get("groups") == "generalize":  # l where it is not set
        k = max(k or 0, parameters["l"])
    facts = {
        "guarantee": dict(manifest["guarantee"]) == release.guarantee.as_dict(),
        "guarantee:l": parameters["l"] == evidence.l,
        "guarantee:k": manifest["guarantee"].get("k") == k,
        "slot:definition": (None if definition is None else definition.get("name")) == slot,
        "slot:title": definition is None or checks.has_catalogue_title(definition, time),
        "slot:parameter": parameters["slot"] == slot,
        "manifest:clock": _is_clock(time),
        "parameters:cost": _is_cost(parameters, evidence.reach),
    }
    findings.expect_all(facts)
    _check_packet_statements(evidence.true_slot, parameters, findings)
    _check_recurring_statements(manifest, findings)


def _is_clock(time: Mapping[str, Any]) -> bool:
    """Zoned time has a zone; relative time has a unit, or else slots that are numbers; civil time neither."""
    zone, unit, slot = time["zone"], time["unit"], time["slot"]
    match time["kind"]:
        case "civil":
            return zone is None and unit is None and slot is not None
        case "zoned":
            return unit is None and slot is not None and is_zone(zone)
    return zone is None and (slot is None if unit is None else unit in UNITS and bool(slot))


def _is_cost(parameters: Mapping[str, Any], reach: int) -> bool:
    """A name; or a cost from 0 for each distance that a record may move, rising and never slowing down."""
    costs = parameters["move_cost"]
    if isinstance(costs, str):
        return True
    if len(costs) != max(parameters["window"] + 1, reach) or costs[0] != 0:
        return False
    steps = [after - before for before, after in pairwise(costs)]
    grain = 1e-9 * costs[-1]  # costs are rounded when they are written
    return min(steps) > 0 and all(after >= before - grain for before, after in pairwise(steps))


def _check_packet_statements(promise: int | None, parameters: Mapping[str, Any], findings: Findings) -> None:
    missing = [name for name in PACKET_PARAMETERS if name not in parameters]
    if promise is None:
        findings.expect("guarantee:packets", len(missing) == len(PACKET_PARAMETERS))
        return
    promised = "the packets of records match the promise against anyone who knows the true slot"
    findings.check(f"{promised} (packets cannot be seen from outside)")
    if findings.expect("parameters:missing", not missing, names=", ".join(missing)):
        findings.expect("guarantee:true-slot", parameters["protect_slot"] == promise)
    wrong = [name for name, fixed in _EXCLUDED.items() if parameters[name] != fixed]
    findings.expect("parameters:packets", not wrong, names=", ".join(wrong))
    findings.expect("parameters:spread", 1 <= parameters.get("spread", 1) < parameters["window"])


def _check_recurring_statements(manifest: Mapping[str, Any], findings: Findings) -> None:
    parameters, promise, names = manifest["parameters"], manifest["guarantee"], ("recurring", "forget_after")
    same = all(parameters.get(name) == promise.get(name) for name in names)
    findings.expect("guarantee:recurring", same)
    invariant, horizon = promise.get("recurring") == "invariant", promise.get("forget_after")
    findings.expect("manifest:counterfeits", ("counterfeits" in manifest["counts"]) == invariant)
    packets, bucketed = "protect_slot" in parameters, parameters["buckets"] == "anatomy"
    possible = not invariant or (bucketed and not packets)
    if horizon is not None:
        followed = "recurring" in promise and not packets
        possible = possible and followed and horizon >= 2 * parameters["window"]
    findings.expect("parameters:recurring", possible)
