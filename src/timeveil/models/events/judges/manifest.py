"""Does the manifest of timestamped rows have its closed shape, and does it agree with itself and its table?

The numbers of the candidates are about the original, which a recipient cannot count again. They must fit
together, though: with k and the share that may be withheld, with the chosen granularity, and with the counts
of what was published.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from timeveil.calendar.catalogue import UNITS
from timeveil.domain.release import Release
from timeveil.evidence.checks import (
    COUNT,
    FLAG,
    NAMES_OR_NULL,
    SHARE,
    TABLE,
    TEXT,
    TEXT_OR_NULL,
    TOOL_NAME,
    Each,
    Findings,
    Named,
    Record,
    has_catalogue_title,
    is_zone,
    one_of,
    stated_type,
)
from timeveil.evidence.codes import plain_type
from timeveil.evidence.published import promised, schema_of

ROLES = ("quasi", "keep", "sensitive", "time", "start", "end")
"""The roles of published columns, in published order."""

_NUMBERS = ("smallest_group", "groups", "group_total", "groups_below_k", "rows_below_k", "rows_in_gaps")
_TALLY = dict.fromkeys(_NUMBERS, COUNT)
_LEVELS = Named(Record({"level": COUNT, "name": TEXT}))
_CLOCKS = one_of("civil", "zoned", "relative")
_CHOICE_RULES = ("groups", "generality")
_ROUNDING = 1e-9

MANIFEST = Record(
    {
        "format": one_of(1),
        "model": one_of("time"),
        "tool": TOOL_NAME,
        "guarantee": Record({"name": one_of("k-anonymity"), "k": COUNT}),
        "granularity": TEXT,
        "granularity_definition": TABLE,
        "time": Record({"column": TEXT, "kind": _CLOCKS, "zone": TEXT_OR_NULL, "unit": TEXT_OR_NULL}),
        "columns": Each(Record({"name": TEXT, "role": one_of(*ROLES), "type": TEXT})),
        "levels": _LEVELS,
        "parameters": Record(
            {
                "k": COUNT,
                "choose": TEXT,
                "suppress": SHARE,
                "gaps": one_of("error", "skip", "suppress", "next"),
                "nulls": one_of("error", "withhold"),
                "granularities": NAMES_OR_NULL,
            }
        ),
        "frontier": Each(TEXT),
        "candidates": Named(Record({**_TALLY, "feasible": FLAG, "allowed": FLAG, "aliases": Each(TEXT)})),
        "counts": Record(dict.fromkeys(("rows", "groups", "smallest_group", "withheld", "rows_read"), COUNT)),
    },
    optional={
        "nodes": Each(Record({"levels": _LEVELS, "granularity": TEXT, **_TALLY})),
        "tables": TABLE,  # added by `write`, checked by `open_release`
    },
)


def check_columns(release: Release, findings: Findings) -> bool:
    """Expect the stated columns, each with its type, and no other."""
    findings.check("the table has exactly the columns, roles and types of the manifest")
    findings.expect("tables", set(release.parts) == {"data"}, tables=len(release.parts))
    if "data" not in release.parts:
        return False
    schema, stated = schema_of(release), release.manifest["columns"]
    names, time = [c["name"] for c in stated], release.manifest["time"]["column"]
    roles = [c["role"] for c in stated]
    extra = [name for name in schema.names if name not in names]
    missing = [name for name in names if name not in schema.names]
    time_columns = [c["name"] for c in stated if c["role"] in ROLES[3:]]
    sound = [
        findings.expect("columns:extra", not extra, names=", ".join(extra)),
        findings.expect("columns:missing", not missing, names=", ".join(missing)),
        findings.expect("columns:order", extra or missing or schema.names == names),
        findings.expect("columns:roles", roles == sorted(roles, key=ROLES.index), roles=", ".join(ROLES)),
        findings.expect("columns:time", time_columns == [time, f"{time}_start", f"{time}_end"]),
    ]
    return all(sound) and _check_types(release, schema, findings)


def _check_types(release: Release, schema: pa.Schema, findings: Findings) -> bool:
    time = release.manifest["time"]
    column, kinds = time["column"], {field.name: field.type for field in schema}
    wrong = [
        c["name"]
        for c in release.manifest["columns"]
        if stated_type(c["type"]) not in (str(kinds[c["name"]]), str(plain_type(kinds[c["name"]])))
    ]
    for name in wrong:
        findings.expect("columns:type", False, name=name)
    sound = [
        findings.expect("columns:label", str(plain_type(kinds[column])) == "string", name=column),
        findings.expect("columns:ends", kinds[f"{column}_start"] == kinds[f"{column}_end"], name=column),
        findings.expect("columns:clock", _is_clock(time, plain_type(kinds[f"{column}_start"]))),
    ]
    return not wrong and all(sound)


def _is_clock(time: Mapping[str, Any], kind: pa.DataType) -> bool:
    """Whether the kind of time, its zone and its unit fit each other and the type of start and end."""
    stamped = pa.types.is_timestamp(kind)
    match time["kind"]:
        case "civil":
            plain = pa.types.is_date32(kind) or (stamped and kind.tz is None)
            return time["zone"] is None and time["unit"] is None and plain
        case "zoned":
            return time["unit"] is None and stamped and kind.tz == time["zone"] and is_zone(time["zone"])
    return time["zone"] is None and time["unit"] in UNITS and bool(pa.types.is_int64(kind))


def check_statements(release: Release, findings: Findings) -> None:
    """Expect equal numbers wherever the manifest states one twice."""
    findings.check("the manifest agrees with itself")
    manifest, counts = release.manifest, release.manifest["counts"]
    findings.expect("guarantee", dict(manifest["guarantee"]) == release.guarantee.as_dict())
    findings.expect("guarantee:k", manifest["parameters"]["k"] == promised(release, "k"))
    findings.expect("counts:rows", counts["rows"] + counts["withheld"] == counts["rows_read"], **counts)
    titled = has_catalogue_title(manifest["granularity_definition"], manifest["time"])
    findings.expect("granule:title", titled)
    quasi = {c["name"] for c in manifest["columns"] if c["role"] == "quasi"}
    findings.expect("columns:levels", set(manifest["levels"]) <= quasi)


def check_choice(release: Release, findings: Findings) -> None:
    """Expect a chosen granularity that is a feasible candidate with the numbers of the release."""
    findings.check("the chosen granularity is a feasible candidate with the numbers of the release")
    manifest = release.manifest
    candidates, name = manifest["candidates"], manifest["granularity"]
    findings.expect("candidates:definition", manifest["granularity_definition"].get("name") == name)
    if not findings.expect("candidates:chosen", name in candidates):
        return
    chosen = candidates[name]
    choices = (*_CHOICE_RULES, name, *chosen["aliases"])
    findings.expect("candidates:rule", manifest["parameters"]["choose"] in choices)
    findings.expect("candidates:allowed", chosen["feasible"] and chosen["allowed"])
    _check_frontier(manifest, findings)
    if manifest["counts"]["rows"]:
        _check_chosen(manifest, chosen, findings)
        _check_feasible(manifest, chosen, findings)


def _check_frontier(manifest: Mapping[str, Any], findings: Findings) -> None:
    candidates, frontier, nodes = manifest["candidates"], manifest["frontier"], manifest.get("nodes")
    feasible = all(name in candidates and candidates[name]["feasible"] for name in frontier)
    findings.expect("candidates:frontier", feasible)
    if nodes is None:
        findings.expect("candidates:empty", frontier or not manifest["counts"]["rows"])
        return
    at_levels = [node["granularity"] for node in nodes if node["levels"] == manifest["levels"]]
    findings.expect("candidates:nodes", nodes and at_levels == list(frontier))


def _check_chosen(manifest: Mapping[str, Any], chosen: Mapping[str, Any], findings: Findings) -> None:
    counts, k = manifest["counts"], manifest["parameters"]["k"]
    groups, smallest = chosen["groups"] - chosen["groups_below_k"], chosen["smallest_group"]
    findings.expect("candidates:groups", groups == counts["groups"], stated=groups, groups=counts["groups"])
    findings.expect("candidates:below", (smallest < k) == (chosen["groups_below_k"] > 0))
    same = chosen["groups_below_k"] or smallest == counts["smallest_group"]
    findings.expect("candidates:smallest", same, stated=smallest, smallest=counts["smallest_group"])
    omitted, withheld = _omitted(manifest, chosen), counts["withheld"]
    exact = manifest["parameters"]["nulls"] == "error"
    fits = omitted == withheld if exact else omitted <= withheld
    findings.expect("candidates:withheld", fits, omitted=omitted, withheld=withheld)


def _check_feasible(manifest: Mapping[str, Any], chosen: Mapping[str, Any], findings: Findings) -> None:
    """Whether a candidate is feasible follows from its numbers."""
    parameters, candidates = manifest["parameters"], manifest["candidates"]
    countable = manifest["counts"]["rows"] + _omitted(manifest, chosen)
    wrong = 0
    for candidate in candidates.values():
        within = candidate["rows_below_k"] <= parameters["suppress"] * countable + _ROUNDING
        feasible = candidate["groups"] > candidate["groups_below_k"] and within
        # Withholding serves only candidates that the user allowed; any other must fit as it is.
        feasible = feasible if candidate["allowed"] else candidate["smallest_group"] >= parameters["k"]
        wrong += feasible != candidate["feasible"]
    findings.expect("candidates:feasible", not wrong, wrong=wrong, candidates=len(candidates))


def _omitted(manifest: Mapping[str, Any], chosen: Mapping[str, Any]) -> int:
    """Rows that the chosen granularity omits, apart from rows without a person or a time."""
    in_gaps = chosen["rows_in_gaps"] if manifest["parameters"]["gaps"] == "suppress" else 0
    return int(chosen["rows_below_k"] + in_gaps)
