"""Does the manifest agree with itself and with the columns of the table?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from timeveil.model.release import Release
from timeveil.query.codes import plain_type
from timeveil.query.published import promised, schema_of
from timeveil.verify.findings import Findings, counted

_SECTIONS: dict[str, type] = {
    "guarantee": Mapping,
    "granularity": str,
    "granularity_definition": Mapping,
    "time": Mapping,
    "columns": Sequence,
    "parameters": Mapping,
    "frontier": Sequence,
    "candidates": Mapping,
    "counts": Mapping,
}
_COUNTS = ("rows", "groups", "smallest_group", "withheld", "rows_read")
_ROLES = ("quasi", "keep", "sensitive", "time", "start", "end")


def check_shape(release: Release, findings: Findings) -> bool:
    """Every section that the other checks read is there and of the right kind."""
    findings.check("the manifest has every section")
    manifest, before = release.manifest, len(findings.violations)
    if manifest.get("model") != "time":
        findings.refuse("manifest", "the manifest is not that of a time release")
    for name, kind in _SECTIONS.items():
        if not isinstance(manifest.get(name), kind):
            findings.refuse("manifest", f"section `{name}` of the manifest is missing or of the wrong kind")
    if len(findings.violations) > before:
        return False
    for name in _COUNTS:
        if not is_count(manifest["counts"].get(name)):
            findings.refuse("manifest", f"`counts.{name}` of the manifest is not a number of 0 or more")
    if not isinstance(manifest["time"].get("column"), str) or "kind" not in manifest["time"]:
        findings.refuse("manifest", "section `time` of the manifest names no column or no kind")
    if not all(isinstance(c, Mapping) and {"name", "role", "type"} <= c.keys() for c in manifest["columns"]):
        findings.refuse("manifest", "a column of the manifest lacks its name, role or type")
    if not all(isinstance(c, Mapping) for c in manifest["candidates"].values()):
        findings.refuse("manifest", "a candidate of the manifest is not described")
    return len(findings.violations) == before


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
    if [c["role"] for c in stated] != sorted((c["role"] for c in stated), key=_rank):
        findings.refuse("columns", f"the roles are not, in this order, of {', '.join(_ROLES)}")
    if [c["name"] for c in stated if c["role"] in _ROLES[3:]] != [time, f"{time}_start", f"{time}_end"]:
        findings.refuse("columns", "the manifest does not state one label, one start and one end of the time")
    if not (extra or missing):
        _check_types(release, findings)
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


def check_statements(release: Release, findings: Findings) -> None:
    """What the manifest says in two places is the same, and the choice was one of the candidates."""
    findings.check("the manifest agrees with itself")
    manifest = release.manifest
    counts, candidates, chosen = manifest["counts"], manifest["candidates"], manifest["granularity"]
    if dict(manifest["guarantee"]) != release.guarantee.as_dict():
        findings.refuse("guarantee", "the manifest states another guarantee than the release")
    if manifest["parameters"].get("k") != promised(release, "k"):
        findings.refuse("guarantee", "`parameters.k` of the manifest is not the k of the guarantee")
    if counts["rows"] + counts["withheld"] != counts["rows_read"]:
        findings.refuse(
            "counts",
            f"{counts['rows']:,} published and {counts['withheld']:,} withheld rows "
            f"do not make {counts['rows_read']:,} rows read",
        )
    if manifest["granularity_definition"].get("name", chosen) != chosen:
        findings.refuse("candidates", "the granularity and its definition have different names")
    known = {*candidates, *(alias for c in candidates.values() for alias in c.get("aliases") or ())}
    if chosen not in known:
        findings.refuse("candidates", "the chosen granularity is not among the candidates")
    elif not candidates.get(chosen, {}).get("feasible", True):
        findings.refuse("candidates", "the chosen granularity is stated not to be feasible")
    if not set(manifest["frontier"]) <= known:
        findings.refuse("candidates", "the frontier names a granularity that is not among the candidates")
    quasi = {c["name"] for c in manifest["columns"] if c["role"] == "quasi"}
    if not set(manifest.get("levels") or {}) <= quasi:
        findings.refuse("columns", "a generalised column is not a quasi-identifier of the release")


def is_count(value: Any) -> bool:
    """Whether a value is a whole number of 0 or more."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _rank(role: str) -> int:
    return _ROLES.index(role) if role in _ROLES else -1


def stated_type(stated: str) -> str:
    """A stated type without its layout in memory.

    >>> stated_type("dictionary<values=large_string, indices=int32, ordered=0>"), stated_type("int64")
    ('string', 'int64')
    """
    kind = str(stated).removeprefix("dictionary<values=").split(", indices=")[0]
    return {"large_string": "string", "string_view": "string", "large_binary": "binary"}.get(kind, kind)
