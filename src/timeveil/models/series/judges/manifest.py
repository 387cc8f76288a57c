"""The closed shape of a series release's manifest, and whether it agrees with itself and with its table."""

from __future__ import annotations

import pyarrow as pa

from timeveil.domain.release import Release
from timeveil.evidence.checks import (
    COUNT,
    FLAG,
    NAMES_OR_NULL,
    TABLE,
    TEXT,
    TOOL_NAME,
    Each,
    Findings,
    Kind,
    Record,
    one_of,
    stated_type,
)
from timeveil.evidence.codes import plain_type
from timeveil.evidence.published import columns_of, schema_of
from timeveil.models.series.evidence import GROUP, LEVEL, PATTERN
from timeveil.symbols import MOST_LEVELS

METHODS = {
    "adaptive": ("shape_weight", "effort"),
    "kapra": ("adoption", "exact"),
    "naive": (),
    "representative": ("shape_weight", "effort"),
}
"""Every method with the parameters that not all methods have; elsewhere they are null."""
OWN_PATTERNS = ("adaptive", "kapra")
"""The methods that publish no pattern but that of each series."""


def _or_null(kind: Kind) -> Kind:
    return Kind(f"{kind.words} or null", lambda value: value is None or kind.fits(value))


def _from_to(least: int, most: int, *kinds: type) -> Kind:
    """A number in bounds: a number without bounds could carry a message."""
    return Kind(
        f"a number from {least} to {most:,}", lambda value: type(value) in kinds and least <= value <= most
    )


_CENTER = one_of("mean", "median")
_ROLE = one_of("group", "low", "high", "pattern", "level", "sensitive", "keep")
MANIFEST = Record(
    {
        "format": one_of(1),
        "model": one_of("series"),
        "tool": TOOL_NAME,
        "guarantee": Record({"name": one_of("kp-anonymity"), "k": COUNT, "p": COUNT, "l": _or_null(COUNT)}),
        "series": Record(
            {
                **dict.fromkeys(("instants", "values", "pattern", "perturbed"), Each(TEXT)),
                "center": _CENTER,
                "levels": one_of("one", "each"),
                "own_patterns": FLAG,
            }
        ),
        "columns": Each(Record({"name": TEXT, "role": _ROLE, "type": TEXT})),
        "parameters": Record(
            {
                "k": COUNT,
                "p": COUNT,
                "l": _or_null(COUNT),
                "method": one_of(*METHODS),
                "max_level": _from_to(1, MOST_LEVELS, int),
                "center": _CENTER,
                "round_outward": _or_null(_from_to(1, 15, int)),
                "shape_weight": _or_null(_from_to(0, 1_000_000, int, float)),
                "effort": _or_null(_from_to(0, 1_000, int)),
                "fill": _or_null(one_of("forward", "linear", "drop")),
                "publish_values": NAMES_OR_NULL,
                "publish_pattern": NAMES_OR_NULL,
            },
            optional={"adoption": _or_null(FLAG), "exact": _or_null(FLAG)},  # of version 0.1
        ),
        "counts": Record(dict.fromkeys(("rows", "groups", "cells", "suppressed"), COUNT)),
    },
    optional={"tables": TABLE},  # what `write` adds and `open_release` has checked
)


def check_columns(release: Release, findings: Findings) -> bool:
    """The table has the stated columns, each with its role and type, and no other."""
    findings.check("the table has exactly the columns, roles and types of the manifest")
    findings.expect("tables", set(release.parts) == {"data"}, tables=len(release.parts))
    if "data" not in release.parts:
        return False
    before, schema = len(findings.violations), schema_of(release)
    columns = [(column["name"], column["role"]) for column in release.manifest["columns"]]
    names = [name for name, _ in columns]
    extra = [name for name in schema.names if name not in names]
    missing = [name for name in names if name not in schema.names]
    findings.expect("columns:extra", not extra, names=", ".join(extra))
    findings.expect("columns:missing", not missing, names=", ".join(missing))
    findings.expect("columns:order", extra or missing or schema.names == names)
    # One group, a low and a high per instant of values, one pattern and one level, then the attributes.
    values = release.manifest["series"]["values"]
    bounds = [(f"{name}_{end}", role) for name in values for end, role in (("lo", "low"), ("hi", "high"))]
    expected = [(GROUP, "group"), *bounds, (PATTERN, "pattern"), (LEVEL, "level")]
    attributes = [role for _, role in columns[len(expected) :]]
    findings.expect("columns:head", columns[: len(expected)] == expected)
    in_order = attributes == sorted(attributes, reverse=True)
    findings.expect("columns:tail", in_order and not set(attributes) - {"sensitive", "keep"})
    if len(findings.violations) == before:
        _check_types(release, schema, findings)
    return len(findings.violations) == before


def _check_types(release: Release, schema: pa.Schema, findings: Findings) -> None:
    each = release.manifest["series"]["levels"] == "each"
    stated = {column["name"]: stated_type(column["type"]) for column in release.manifest["columns"]}
    for name, text in stated.items():
        kind = schema.field(name).type
        # The items of a list may be called anything.
        listed = f"list<{kind.value_type}>" if pa.types.is_list(kind) else None
        findings.expect("columns:type", text in (str(kind), str(plain_type(kind)), listed), name=name)
    for name in columns_of(release, "low", "high"):
        findings.expect("columns:numbers", schema.field(name).type == pa.float64(), name=name)
    findings.expect("columns:group", stated[GROUP] == str(pa.int32()))
    findings.expect("columns:letters", plain_type(schema.field(PATTERN).type) == pa.string())
    level = schema.field(LEVEL).type
    expected = "a list of whole numbers of 16 bits" if each else "a whole number of 16 bits"
    fits = pa.types.is_list(level) == each and (level.value_type if each else level) == pa.int16()
    findings.expect("columns:level", fits, expected=expected)


def check_statements(release: Release, findings: Findings) -> bool:
    """What the manifest says in two sections is the same."""
    findings.check("the manifest agrees with itself")
    manifest, guarantee = release.manifest, release.guarantee.as_dict()
    series, parameters = manifest["series"], manifest["parameters"]
    findings.expect("guarantee", dict(manifest["guarantee"]) == guarantee)
    for name in ("k", "p", "l"):
        findings.expect("guarantee:parameter", parameters[name] == guarantee[name], name=name)
    before, instants, method = len(findings.violations), list(series["instants"]), parameters["method"]
    findings.expect("statements:instants", instants and len(set(instants)) == len(instants))
    for name in ("values", "pattern"):
        part, selected = list(series[name]), parameters[f"publish_{name}"]
        in_order = [instant for instant in instants if instant in set(part)]
        findings.expect("statements:part", part and part == in_order, name=name)
        expected = list(instants if selected is None else selected)
        findings.expect("statements:published", part == expected, name=name)
    findings.expect("statements:center", series["center"] == parameters["center"])
    own, each = series["own_patterns"], series["levels"] == "each"
    words = "states that patterns are" if own else "does not state that patterns are"
    findings.expect("statements:own", own == (method in OWN_PATTERNS), stated=words)
    words = "a level per instant" if each else "one level per pattern"
    findings.expect("statements:levels", each == (method == "adaptive"), stated=words)
    for name in sorted({name for names in METHODS.values() for name in names} & set(parameters)):
        stated = parameters[name] is not None
        findings.expect("statements:parameter", stated == (name in METHODS[method]), name=name)
    allowed = set() if parameters["l"] is None else set(columns_of(release, "sensitive"))
    findings.expect("statements:perturbed", set(series["perturbed"]) <= allowed)
    return len(findings.violations) == before
