"""Does the manifest of a stream release agree with itself and with the columns of its tables?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa

from timeveil.calendar.catalogue import UNITS
from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.evidence.codes import plain_type
from timeveil.evidence.findings import Findings
from timeveil.evidence.manifest import COUNT as A_COUNT
from timeveil.evidence.manifest import faults, has_catalogue_title, is_zone, stated_type
from timeveil.evidence.published import promised, schema_of
from timeveil.models.stream.judges.buckets import BUCKET, COUNT, SLOT
from timeveil.models.stream.judges.shape import STREAM_MANIFEST
from timeveil.models.stream.judges.verify_packets import check_packet_statements

_SECTIONS: dict[str, type] = {
    "guarantee": Mapping,
    "time": Mapping,
    "columns": Sequence,
    "parameters": Mapping,
    "counts": Mapping,
}
_KINDS = ("anatomy", "none")
_TOLD = 10
_SENSITIVE_ROLES = ("slot", "bucket", "sensitive", "count")
_NAMES = {"slot": SLOT, "bucket": BUCKET, "count": COUNT}


def check_shape(release: Release, findings: Findings) -> bool:
    """The manifest has the shape of a stream release's: every section, and nothing that is not known."""
    findings.check("the manifest has every section, and nothing else")
    manifest, before = release.manifest, len(findings.violations)
    for fault in list(faults(manifest, STREAM_MANIFEST))[:_TOLD]:
        findings.refuse("manifest", fault)
    if len(findings.violations) > before:
        return False
    _check_numbers(manifest, findings)
    anatomy = manifest["parameters"]["buckets"] == "anatomy"
    if anatomy != bool(manifest.get("sensitive_columns")):
        findings.refuse(
            "manifest", "the manifest describes buckets and says that there are none, or the reverse"
        )
    return len(findings.violations) == before


def _check_numbers(manifest: Mapping[str, Any], findings: Findings) -> None:
    wanted = ("rows", "slots", "buckets") if "sensitive_columns" in manifest else ("rows", "slots")
    for name in wanted:
        if not A_COUNT.fits(manifest["counts"].get(name)):
            findings.refuse("manifest", f"`counts.{name}` of the manifest is not a number of 0 or more")
    if "sensitive_columns" not in manifest and manifest["counts"].get("buckets", 0) != 0:
        findings.refuse("manifest", "`counts.buckets` of the manifest is not 0, and there are no buckets")
    for name in ("l", "window"):
        if not A_COUNT.fits(manifest["parameters"].get(name)) or not manifest["parameters"][name]:
            findings.refuse("manifest", f"`parameters.{name}` of the manifest is not a number of 1 or more")
    if not A_COUNT.fits(manifest["parameters"].get("jitter", 0)):
        findings.refuse("manifest", "`parameters.jitter` of the manifest is not a number of 0 or more")


def check_tables(release: Release, findings: Findings) -> bool:
    """Each table has the stated columns, each with its type, and no other."""
    findings.check("the tables have exactly the columns, roles and types of the manifest")
    before, manifest = len(findings.violations), release.manifest
    stated = {"data": manifest["columns"]}
    if "sensitive_columns" in manifest:
        stated["sensitive"] = manifest["sensitive_columns"]
    if set(release.parts) != set(stated):
        said = " and ".join(f"`{name}`" for name in stated)
        findings.refuse(
            "tables", f"the release has {counted(len(release.parts), 'table')}, where {said} are stated"
        )
        return False
    for table, columns in stated.items():
        _check_columns(release, table, columns, findings)
        _check_roles(manifest, table, columns, findings)
    _check_names(manifest, stated, findings)
    if len(findings.violations) == before:
        _check_keys(release, findings)
    return len(findings.violations) == before


def _check_columns(
    release: Release, table: str, columns: Sequence[Mapping[str, Any]], findings: Findings
) -> None:
    schema, names = schema_of(release, table), [column["name"] for column in columns]
    extra = [name for name in schema.names if name not in names]
    missing = [name for name in names if name not in schema.names]
    if extra:
        findings.refuse(
            "columns", f"table `{table}` has columns the manifest does not state: {', '.join(extra)}"
        )
    if missing:
        findings.refuse("columns", f"table `{table}` lacks columns the manifest states: {', '.join(missing)}")
    if extra or missing:
        return
    if schema.names != names:
        findings.refuse("columns", f"the columns of table `{table}` do not stand in the stated order")
        return
    for column in columns:
        kind = schema.field(column["name"]).type
        if stated_type(column["type"]) not in (str(kind), str(plain_type(kind))):
            findings.refuse("columns", f"column `{column['name']}` is not of the stated type")


def _check_roles(
    manifest: Mapping[str, Any], table: str, columns: Sequence[Mapping[str, Any]], findings: Findings
) -> None:
    """One slot first, one bucket or sensitive column last; the sensitive value stands in one table only."""
    roles = [column["role"] for column in columns]
    allowed: tuple[str, ...] = _SENSITIVE_ROLES
    once: tuple[str, ...] = _SENSITIVE_ROLES
    if table == "data":
        last = "bucket" if "sensitive_columns" in manifest else "sensitive"
        allowed = ("slot", "quasi", "keep", last)
        once = ("slot", last)
    ranks = [allowed.index(role) if role in allowed else -1 for role in roles]
    if -1 in ranks or ranks != sorted(ranks) or any(roles.count(role) != 1 for role in once):
        findings.refuse(
            "columns", f"the roles of table `{table}` are not, in this order, of {', '.join(allowed)}"
        )
    named = [
        column["name"] for column in columns if _NAMES.get(column["role"], "") not in ("", column["name"])
    ]
    if named:
        findings.refuse("columns", f"table `{table}` does not call slot, bucket or count by that name")


def _check_names(
    manifest: Mapping[str, Any], stated: Mapping[str, Sequence[Mapping[str, Any]]], findings: Findings
) -> None:
    """Neither the true time nor a second copy of the sensitive value goes by its own name."""
    columns = [column for table in stated.values() for column in table if column["role"] not in _NAMES]
    names = [column["name"] for column in columns]
    if manifest["time"]["column"] in names:
        findings.refuse("columns", "the time column of the original is among the published columns")
    if any(names.count(column["name"]) > 1 for column in columns if column["role"] == "sensitive"):
        findings.refuse("columns", "the sensitive column is published once more under its own name")


def _check_keys(release: Release, findings: Findings) -> None:
    """Slots are labels or numbers, buckets and counts are numbers."""
    numbered = release.manifest["time"].get("slot_definition") is None
    for table in release.parts:
        for field in schema_of(release, table):
            kind = plain_type(field.type)
            if field.name == SLOT and not (kind == pa.int64() if numbered else kind == pa.string()):
                findings.refuse("columns", f"the slots of table `{table}` are not {_called(numbered)}")
            if field.name == BUCKET and "sensitive" in release.parts and not pa.types.is_signed_integer(kind):
                findings.refuse("columns", f"the buckets of table `{table}` are not whole numbers")
            if table == "sensitive" and field.name == COUNT and not pa.types.is_signed_integer(kind):
                findings.refuse("columns", "the counts of table `sensitive` are not whole numbers")


def check_statements(release: Release, findings: Findings) -> None:
    """What the manifest says in two places is the same."""
    findings.check("the manifest agrees with itself")
    manifest = release.manifest
    if dict(manifest["guarantee"]) != release.guarantee.as_dict():
        findings.refuse("guarantee", "the manifest states another guarantee than the release")
    if manifest["parameters"]["l"] != promised(release, "l"):
        findings.refuse("guarantee", "`parameters.l` of the manifest is not the l of the guarantee")
    definition, slot = manifest["time"].get("slot_definition"), manifest["time"].get("slot")
    if (None if definition is None else definition.get("name")) != slot:
        findings.refuse("slot", "the slot granularity and its definition have different names")
    if definition is not None and not has_catalogue_title(definition, manifest["time"]):
        findings.refuse("slot", "the slots are described in other words than the calendar's own")
    if manifest["parameters"]["slot"] != slot:
        findings.refuse("slot", "`parameters.slot` and `time.slot` of the manifest are not the same")
    if not _fits_clock(manifest["time"]):
        findings.refuse("manifest", "the kind, zone, unit and slot of the time do not go with each other")
    if not _is_cost(manifest["parameters"]):
        findings.refuse("parameters", "`parameters.move_cost` of the manifest is no cost of moving records")
    check_packet_statements(release, findings)


def _fits_clock(time: Mapping[str, Any]) -> bool:
    """Zoned time has a zone, relative time a unit or else slots that are numbers, and civil time neither."""
    match time["kind"]:
        case "civil":
            return time["zone"] is None and time["unit"] is None and time["slot"] is not None
        case "zoned":
            return time["unit"] is None and time["slot"] is not None and is_zone(time["zone"])
        case _:
            unit, slot = time["unit"], time["slot"]
            return time["zone"] is None and (slot is None if unit is None else unit in UNITS and bool(slot))


def _is_cost(parameters: Mapping[str, Any]) -> bool:
    """A name; or, for each distance that a record may come, a cost from 0 that rises and never slows down."""
    costs, window, jitter = (parameters[name] for name in ("move_cost", "window", "jitter"))
    if isinstance(costs, str):
        return True
    if len(costs) != max(window, window - 1 + jitter) + 1 or costs[0] != 0:
        return False
    steps = [after - before for before, after in pairwise(costs)]
    grain = 1e-9 * costs[-1]  # they were rounded when they were written down
    return min(steps) > 0 and all(after >= before - grain for before, after in pairwise(steps))


def _called(numbered: bool) -> str:  # noqa: FBT001
    return "whole numbers" if numbered else "labels"


def _is_column(column: Any) -> bool:
    return isinstance(column, Mapping) and {"name", "role", "type"} <= column.keys()


MANIFEST = STREAM_MANIFEST
