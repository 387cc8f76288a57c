"""Does the manifest of a series release agree with itself and with the columns of its table?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.evidence.codes import plain_type
from timeveil.evidence.findings import Findings
from timeveil.evidence.manifest import faults, stated_type
from timeveil.evidence.published import columns_of, schema_of
from timeveil.models.series.judges.shape import OWN_PATTERNS, SERIES_MANIFEST, USED

GROUP, PATTERN, LEVEL = "group", "pattern", "level"
_TOLD = 20


def check_shape(release: Release, findings: Findings) -> bool:
    """The manifest has the shape of a series release's: every section, and nothing that is not known."""
    findings.check("the manifest has every section, and nothing else")
    found = list(faults(release.manifest, SERIES_MANIFEST))
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
    names = [column["name"] for column in stated]
    extra = [name for name in schema.names if name not in names]
    missing = [name for name in names if name not in schema.names]
    if extra:
        findings.refuse("columns", f"the table has columns the manifest does not state: {', '.join(extra)}")
    if missing:
        findings.refuse("columns", f"the table lacks columns the manifest states: {', '.join(missing)}")
    if not (extra or missing) and schema.names != names:
        findings.refuse("columns", "the columns do not stand in the stated order")
    _check_roles(release.manifest, findings)
    if len(findings.violations) == before:
        _check_types(release, findings)
    return len(findings.violations) == before


def _check_roles(manifest: Mapping[str, Any], findings: Findings) -> None:
    """One group, a low and a high per instant of values, one pattern and one level, then what is kept."""
    columns, values = manifest["columns"], manifest["series"]["values"]
    bounds = [(f"{name}_{end}", role) for name in values for end, role in (("lo", "low"), ("hi", "high"))]
    wanted = [(GROUP, "group"), *bounds, (PATTERN, "pattern"), (LEVEL, "level")]
    head = [(column["name"], column["role"]) for column in columns[: len(wanted)]]
    rest = [column["role"] for column in columns[len(wanted) :]]
    if head != wanted:
        findings.refuse(
            "columns",
            "the first columns are not the group, the bounds of each instant, the pattern and its level",
        )
    if set(rest) - {"sensitive", "keep"} or rest != sorted(rest, reverse=True):
        findings.refuse("columns", "the other columns are not the sensitive ones and then those to keep")


def _check_types(release: Release, findings: Findings) -> None:
    schema, each = schema_of(release), release.manifest["series"]["levels"] == "each"
    by_name = {column["name"]: column["type"] for column in release.manifest["columns"]}
    for column in release.manifest["columns"]:
        kind = schema.field(column["name"]).type
        if stated_type(column["type"]) not in (str(kind), str(plain_type(kind)), _list_name(kind)):
            findings.refuse("columns", f"column `{column['name']}` is not of the stated type")
    for name in columns_of(release, "low", "high"):
        if schema.field(name).type != pa.float64():
            findings.refuse("columns", f"column `{name}` does not hold numbers")
    if stated_type(by_name[GROUP]) != str(pa.int32()):
        findings.refuse("columns", f"column `{GROUP}` is not stated to hold whole numbers of 32 bits")
    if plain_type(schema.field(PATTERN).type) != pa.string():
        findings.refuse("columns", f"column `{PATTERN}` does not hold letters")
    level = schema.field(LEVEL).type
    whole = (level.value_type if each and pa.types.is_list(level) else level) == pa.int16()
    if pa.types.is_list(level) != each or not whole:
        what = "a list of whole numbers of 16 bits" if each else "a whole number of 16 bits"
        findings.refuse("columns", f"column `{LEVEL}` does not hold {what} per row, as is stated")


def _list_name(kind: pa.DataType) -> str | None:
    """The name of a list type, whatever its items are called."""
    return f"list<{kind.value_type}>" if pa.types.is_list(kind) else None


def check_statements(release: Release, findings: Findings) -> None:
    """What the manifest says in two places is the same."""
    findings.check("the manifest agrees with itself")
    manifest, series, parameters = (
        release.manifest,
        release.manifest["series"],
        release.manifest["parameters"],
    )
    if dict(manifest["guarantee"]) != release.guarantee.as_dict():
        findings.refuse("guarantee", "the manifest states another guarantee than the release")
    for name in ("k", "p", "l"):
        if parameters[name] != release.guarantee.as_dict()[name]:
            findings.refuse(
                "guarantee", f"`parameters.{name}` of the manifest is not the {name} of the guarantee"
            )
    _check_instants(series, findings)
    for part, asked in (("values", "publish_values"), ("pattern", "publish_pattern")):
        if list(series[part]) != list(series["instants"] if parameters[asked] is None else parameters[asked]):
            findings.refuse("statements", f"`series.{part}` of the manifest is not what `{asked}` asked for")
    if series["center"] != parameters["center"]:
        findings.refuse("statements", "the manifest states two centres")
    if series["own_patterns"] != (parameters["method"] in OWN_PATTERNS):
        said = "says that patterns are" if series["own_patterns"] else "does not say that patterns are"
        findings.refuse("statements", f"the manifest {said} each record's own, unlike its method")
    if (series["levels"] == "each") != (parameters["method"] == "adaptive"):
        said = "a level per instant" if series["levels"] == "each" else "one level per pattern"
        findings.refuse("statements", f"the manifest states {said}, unlike its method")
    for name in sorted({name for names in USED.values() for name in names}):
        if (parameters[name] is not None) != (name in USED[parameters["method"]]):
            findings.refuse(
                "statements", f"the manifest states `{name}`, or leaves it out, unlike its method"
            )
    strange = [name for name in series["perturbed"] if name not in columns_of(release, "sensitive")]
    if strange or (series["perturbed"] and parameters["l"] is None):
        findings.refuse(
            "statements", "the manifest states changed values of columns for which no l is promised"
        )


def _check_instants(series: Mapping[str, Any], findings: Findings) -> None:
    instants = list(series["instants"])
    if len(set(instants)) != len(instants) or not instants:
        findings.refuse("statements", "the instants of the manifest are none, or one stands there twice")
    for name in ("values", "pattern"):
        part = [instant for instant in instants if instant in set(series[name])]
        if part != list(series[name]) or not part:
            findings.refuse(
                "statements", f"`series.{name}` of the manifest is no part of its instants, in order"
            )


MANIFEST = SERIES_MANIFEST
