"""Does the manifest agree with itself and with the columns of the table?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from timeveil.calendar.catalogue import UNITS, available, fit
from timeveil.calendar.zone import check_zone
from timeveil.domain.relation import TimeAxis
from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.errors import ParameterError, TimeveilError
from timeveil.evidence.codes import plain_type
from timeveil.evidence.findings import Findings
from timeveil.evidence.published import promised, schema_of
from timeveil.evidence.shape import faults
from timeveil.models.events.judges.manifest import ROLES, TIME_MANIFEST

_TOLD = 20


def check_shape(release: Release, findings: Findings) -> bool:
    """The manifest has the shape of a time release's: every section, and nothing that is not known."""
    findings.check("the manifest has every section, and nothing else")
    found = list(faults(release.manifest, TIME_MANIFEST))
    for fault in found[:_TOLD]:
        findings.refuse("manifest", fault)
    if len(found) > _TOLD:
        findings.refuse("manifest", f"{len(found) - _TOLD} more faults in the manifest")
    return not found


def check_columns(release: Release, findings: Findings) -> bool:
    """The table has the stated columns, each with its type, and no other."""
    findings.check("the table has exactly the columns, roles and types of the manifest")
    if set(release.parts) != {"data"}:
        findings.refuse("tables", f"the release has {counted(len(release.parts), 'table')}, not `data` alone")
        if "data" not in release.parts:
            return False
    before, schema, stated = len(findings.violations), schema_of(release), release.manifest["columns"]
    names, time = [c["name"] for c in stated], release.manifest["time"]["column"]
    extra = [name for name in schema.names if name not in names]
    missing = [name for name in names if name not in schema.names]
    if extra:
        findings.refuse("columns", f"the table has columns the manifest does not state: {', '.join(extra)}")
    if missing:
        findings.refuse("columns", f"the table lacks columns the manifest states: {', '.join(missing)}")
    if not (extra or missing) and schema.names != names:
        findings.refuse("columns", "the columns do not stand in the stated order")
    if [c["role"] for c in stated] != sorted((c["role"] for c in stated), key=ROLES.index):
        findings.refuse("columns", f"the roles are not, in this order, of {', '.join(ROLES)}")
    if [c["name"] for c in stated if c["role"] in ROLES[3:]] != [time, f"{time}_start", f"{time}_end"]:
        findings.refuse("columns", "the manifest does not state one label, one start and one end of the time")
    if len(findings.violations) == before:
        _check_types(release, findings)
        _check_clock(release, findings)
    return len(findings.violations) == before


def _check_types(release: Release, findings: Findings) -> None:
    schema, time = schema_of(release), release.manifest["time"]["column"]
    for column in release.manifest["columns"]:
        kind = schema.field(column["name"]).type
        if stated_type(column["type"]) not in (str(kind), str(plain_type(kind))):
            findings.refuse("columns", f"column `{column['name']}` is not of the stated type")
    if str(plain_type(schema.field(time).type)) != "string":
        findings.refuse("columns", f"column `{time}` does not hold labels")
    if schema.field(f"{time}_start").type != schema.field(f"{time}_end").type:
        findings.refuse("columns", f"`{time}_start` and `{time}_end` differ in type")


def _check_clock(release: Release, findings: Findings) -> None:
    """The kind of time, its zone and its unit go with each other and with the type of start and end."""
    time = release.manifest["time"]
    kind = plain_type(schema_of(release).field(f"{time['column']}_start").type)
    stamped = pa.types.is_timestamp(kind)
    match time["kind"]:
        case "civil":
            fits = time["zone"] is None and time["unit"] is None
            fits = fits and (pa.types.is_date32(kind) or (stamped and kind.tz is None))
        case "zoned":
            fits = time["unit"] is None and stamped and kind.tz == time["zone"] and is_zone(time["zone"])
        case _:
            fits = time["zone"] is None and time["unit"] in UNITS and pa.types.is_int64(kind)
    if not fits:
        findings.refuse("columns", "the kind, zone and unit of the time do not go with the published columns")


def is_zone(name: str | None) -> bool:
    """Whether a name is that of a time zone."""
    if name is None:
        return False
    try:
        check_zone(name)
    except ParameterError:
        return False
    return True


def check_statements(release: Release, findings: Findings) -> None:
    """What the manifest says in two places is the same."""
    findings.check("the manifest agrees with itself")
    manifest, counts = release.manifest, release.manifest["counts"]
    if dict(manifest["guarantee"]) != release.guarantee.as_dict():
        findings.refuse("guarantee", "the manifest states another guarantee than the release")
    if manifest["parameters"]["k"] != promised(release, "k"):
        findings.refuse("guarantee", "`parameters.k` of the manifest is not the k of the guarantee")
    if counts["rows"] + counts["withheld"] != counts["rows_read"]:
        findings.refuse(
            "counts",
            f"{counts['rows']:,} published and {counts['withheld']:,} withheld rows "
            f"do not make {counts['rows_read']:,} rows read",
        )
    if not has_own_title(manifest["granularity_definition"], manifest["time"]):
        findings.refuse("granule", "the granularity is described in other words than the calendar's own")
    quasi = {c["name"] for c in manifest["columns"] if c["role"] == "quasi"}
    if not set(manifest["levels"]) <= quasi:
        findings.refuse("columns", "a generalised column is not a quasi-identifier of the release")


def has_own_title(stated: Mapping[str, Any], time: Mapping[str, Any]) -> bool:
    """What is in the catalogue goes by the words of the catalogue; others are the custodian's."""
    try:
        axis = TimeAxis(time["kind"], pa.timestamp("ms"), zone=time["zone"], unit=time["unit"])
        known = fit(available(axis)[str(stated.get("name"))], axis).as_dict()
    except (TimeveilError, LookupError, TypeError, ValueError):
        return True
    return bool(
        {**stated, "title": None} != {**known, "title": None} or stated.get("title") == known["title"]
    )


def is_count(value: Any) -> bool:
    """Whether a value is a whole number of 0 or more."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def stated_type(stated: str) -> str:
    """A stated type without its layout in memory.

    >>> stated_type("dictionary<values=large_string, indices=int32, ordered=0>"), stated_type("int64")
    ('string', 'int64')
    """
    kind = stated.removeprefix("dictionary<values=").split(", indices=")[0]
    return {"large_string": "string", "string_view": "string", "large_binary": "binary"}.get(kind, kind)
