"""Does the manifest of a pattern release agree with itself and with the columns of its table?"""

from __future__ import annotations

import pyarrow as pa

from timeveil.domain.release import Release
from timeveil.domain.wording import counted
from timeveil.evidence.codes import plain_type
from timeveil.evidence.findings import Findings
from timeveil.evidence.manifest import faults
from timeveil.evidence.published import schema_of
from timeveil.models.patterns.judges.shape import ADDING, PATTERN, PATTERN_MANIFEST, SUPPORT

_TOLD = 20
_TYPES = {PATTERN: ("list<string>", "list<item: string>"), SUPPORT: ("int64",)}


def check_shape(release: Release, findings: Findings) -> bool:
    """The manifest has the shape of a pattern release's: every section, and nothing that is not known."""
    findings.check("the manifest has every section, and nothing else")
    found = list(faults(release.manifest, PATTERN_MANIFEST))
    for fault in found[:_TOLD]:
        findings.refuse("manifest", fault)
    if len(found) > _TOLD:
        findings.refuse("manifest", f"{len(found) - _TOLD} more faults in the manifest")
    return not found


def check_columns(release: Release, findings: Findings) -> bool:
    """One table with a pattern and a support, and no other column."""
    findings.check("the table has a pattern and a support, and no other column")
    before, stated = len(findings.violations), release.manifest["columns"]
    if set(release.parts) != {"data"}:
        findings.refuse("tables", f"the release has {counted(len(release.parts), 'table')}, not `data` alone")
        if "data" not in release.parts:
            return False
    if [(column["name"], column["role"]) for column in stated] != [(name, name) for name in _TYPES]:
        findings.refuse("columns", "the manifest does not state a pattern and a support, and nothing else")
    elif any(column["type"] not in _TYPES[column["name"]] for column in stated):
        findings.refuse("columns", "the manifest does not state lists of texts, and whole numbers of 64 bits")
    schema = schema_of(release)
    if schema.names != list(_TYPES):
        findings.refuse(
            "columns",
            f"the table has {counted(len(schema.names), 'column')}, not a pattern and a support alone",
        )
    elif not _are_lists(schema.field(PATTERN).type) or schema.field(SUPPORT).type != pa.int64():
        findings.refuse(
            "columns", "a pattern is not a list of texts, or a support no whole number of 64 bits"
        )
    return len(findings.violations) == before


def _are_lists(kind: pa.DataType) -> bool:
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return bool(lists and plain_type(kind.value_type) == pa.string())


def check_statements(release: Release, findings: Findings) -> bool:
    """What the manifest says in two places is the same, and what it says is possible."""
    findings.check("the manifest agrees with itself")
    before = len(findings.violations)
    manifest, said, asked = (
        release.manifest,
        *(release.manifest[part] for part in ("patterns", "parameters")),
    )
    if dict(manifest["guarantee"]) != release.guarantee.as_dict():
        findings.refuse("guarantee", "the manifest states another guarantee than the release")
    k = release.guarantee.as_dict().get("k")
    if asked["k"] != k:
        findings.refuse("guarantee", "`parameters.k` of the manifest is not the k of the guarantee")
    alone = said["kind"] == "series" and not said["structural"]
    if release.guarantee.as_dict().get("counts_alone", False) != alone:
        findings.refuse(
            "guarantee", "the guarantee and `patterns.structural` do not say the same of what readers know"
        )
    if asked["min_support"] < asked["k"]:
        findings.refuse(
            "min-support",
            f"patterns of {asked['min_support']:,} people are published where k is {asked['k']:,}",
        )
    for name in ("symbols", "center", "structural", "published"):
        if said[name] != asked[name]:
            findings.refuse("statements", f"the manifest states `{name}` twice, and not the same")
    series = said["kind"] == "series"
    for name in ("symbols", "center", "instants"):
        if (said[name] is None) == series:
            findings.refuse("statements", f"the manifest states `{name}`, or leaves it out, unlike its kind")
    if not series and (said["structural"] or asked["fill"] is not None):
        findings.refuse("statements", "the manifest states of baskets what only series have")
    instants = list(said["instants"] or ())
    if series and (len(set(instants)) != len(instants) or not instants or "" in instants):
        findings.refuse("statements", "the instants of the manifest are none, or one stands there twice")
    if manifest["counts"]["virtual"] and asked["method"] not in ADDING:
        findings.refuse("statements", "the manifest states virtual people, which its method does not add")
    return len(findings.violations) == before


MANIFEST = PATTERN_MANIFEST
