"""The closed shape of a series release's manifest, and whether it agrees with itself and with its table."""

from functools import partial

import pyarrow as pa

from timeveil.domain.release import Release
from timeveil.evidence import checks
from timeveil.evidence.checks import COUNT, FLAG, IF_SET, NAMES_OR_NULL, Findings, from_to, one_of, or_null
from timeveil.evidence.codes import plain_type
from timeveil.evidence.published import columns_of, schema_of
from timeveil.models.series.evidence import GROUP, LEVEL, PATTERN, Evidence
from timeveil.symbols import MOST_LEVELS, representation_of

METHODS = {
    "adaptive": ("shape_weight", "effort"),
    "kapra": ("adoption", "exact"),
    "naive": (),
    "representative": ("shape_weight", "effort"),
}
"""Every method with the parameters that not all methods have; elsewhere they are null."""
OWN_PATTERNS = ("adaptive", "kapra")  # the methods that publish no pattern but that of each series

_CENTER = one_of("mean", "median")
_PROMISE = {"k": COUNT, "p": COUNT, "l": or_null(COUNT)}
MANIFEST = checks.manifest_of(
    "series",
    {"name": one_of("kp-anonymity"), **_PROMISE, "rows?": FLAG},
    {
        "series": {
            **{key: [checks.TEXT] for key in ("instants", "values", "pattern")},
            "center": _CENTER,
            "levels": one_of("one", "each"),
            "own_patterns": FLAG,
            "perturbed": [checks.TEXT],
            "grouped?": [checks.TEXT],
            "several?": one_of(True),
        }
    },
    ("group", "low", "high", "mean", "pattern", "level", "sensitive", "quasi", "keep"),
    {
        "parameters": {
            **_PROMISE,
            "method": one_of(*METHODS),
            "shape_weight": or_null(from_to(0, 1_000_000, int, float)),
            "effort": or_null(from_to(0, 1_000)),
            "max_level": from_to(1, MOST_LEVELS),
            "representation?": one_of("paa", "slopes"),
            "segment?": from_to(2, 100_000),
            "center": _CENTER,
            "round_outward": or_null(from_to(1, 15)),
            **dict.fromkeys(("adoption?", "exact?"), or_null(FLAG)),  # of version 0.1
            "fill": or_null(one_of("forward", "linear", "drop")),
            "publish_values": NAMES_OR_NULL,
            "publish_pattern": NAMES_OR_NULL,
            "means?": one_of(True),
            "l_method?": one_of("perturb", "group"),
            "epsilon?": from_to(0, 10**300, int, float),
            **IF_SET,
        },
        "levels?": checks.LEVELS,
        "counts": dict.fromkeys(("rows", "groups", "cells", "suppressed"), COUNT),
    },
)
check_shape = partial(checks.check_shape, shape=MANIFEST)


def check_columns(release: Release, findings: Findings) -> bool:
    """The table has the stated columns, each with its role and type, and no other."""
    findings.check("the table has exactly the columns, roles and types of the manifest")
    findings.expect("tables", set(release.parts) == {"data"}, tables=len(release.parts))
    if "data" not in release.parts:
        return False
    columns = [(column["name"], column["role"]) for column in release.manifest["columns"]]
    # One group, bounds and perhaps a mean per instant of values, pattern and level if any, then attributes.
    values, pattern = (release.manifest["series"][name] for name in ("values", "pattern"))
    has_means = release.manifest["parameters"].get("means")
    ends = {"lo": "low", "hi": "high"} | ({"mean": "mean"} if has_means else {})
    bounds = [(f"{name}_{end}", role) for name in values for end, role in ends.items()]
    expected = [(GROUP, "group"), *bounds]
    expected += [(PATTERN, "pattern"), (LEVEL, "level")] if pattern else []
    attributes = [role for _, role in columns[len(expected) :]]
    reserved = {GROUP, PATTERN, LEVEL} & {name for name, _ in columns[len(expected) :]}
    in_order = attributes == sorted(attributes, reverse=True)
    facts = {
        "columns:head": columns[: len(expected)] == expected,
        "columns:tail": in_order and not reserved and not set(attributes) - {"sensitive", "quasi", "keep"},
    }
    sound = findings.expect_all(facts)
    return checks.check_columns(release, findings) and sound and _check_types(release, findings)


def _check_types(release: Release, findings: Findings) -> bool:
    schema, each = schema_of(release), release.manifest["series"]["levels"] == "each"
    kinds = {name: schema.field(name).type for name in schema.names}
    for name in columns_of(release, "low", "high", "mean"):
        findings.expect("columns:numbers", kinds[name] == pa.float64(), name=name)
    for name in columns_of(release, "quasi"):
        findings.expect("columns:labels", plain_type(kinds[name]) == pa.string(), name=name)
    facts = {"columns:group": release.manifest["columns"][0]["type"] == "int32"}
    if release.manifest["series"]["pattern"]:
        level, is_list = kinds[LEVEL], pa.types.is_list(kinds[LEVEL])
        facts["columns:letters"] = plain_type(kinds[PATTERN]) == pa.string()
        facts["columns:level"] = is_list == each and (level.value_type if is_list else level) == pa.int16()
    expected = "a list of whole numbers of 16 bits" if each else "a whole number of 16 bits"
    findings.expect_all(facts, expected=expected)
    return not findings.violations


def check_statements(evidence: Evidence, findings: Findings) -> bool:
    """What the manifest says in two sections is the same."""
    findings.check("the numbers in release.json agree with each other")
    release, manifest = evidence.release, evidence.release.manifest
    guarantee = release.guarantee.as_dict()
    series, parameters = manifest["series"], manifest["parameters"]
    findings.expect("guarantee", dict(manifest["guarantee"]) == guarantee)
    for name in ("k", "p", "l"):
        findings.expect("guarantee:parameter", parameters[name] == guarantee[name], name=name)
    before, instants, method = len(findings.violations), list(series["instants"]), parameters["method"]
    findings.expect("statements:instants", instants and len(set(instants)) == len(instants))
    for name in ("values", "pattern"):
        part, selected, names = list(series[name]), parameters[f"publish_{name}"], instants
        if name == "pattern":
            names = list(representation_of(parameters, len(instants)).names(instants))
        in_order = [feature for feature in names if feature in set(part)]
        may_lack = name == "pattern" and parameters["p"] == 1
        findings.expect("statements:part", (part or may_lack) and part == in_order, name=name)
        expected = list(names if selected is None else selected)
        findings.expect("statements:published", part == expected, name=name)
    nameless = bool(series.get("several")) and bool(guarantee.get("rows"))
    findings.expect("statements:several", not nameless)
    findings.expect("statements:center", series["center"] == parameters["center"])
    own_patterns, each = series["own_patterns"], series["levels"] == "each"
    words = f"{'states' if own_patterns else 'does not state'} that patterns are"
    findings.expect("statements:own", own_patterns == (method in OWN_PATTERNS), stated=words)
    words = "a level per instant" if each else "one level per pattern"
    findings.expect("statements:levels", each == (method == "adaptive"), stated=words)
    for name in sorted({name for names in METHODS.values() for name in names} & set(parameters)):
        stated = parameters[name] is not None
        findings.expect("statements:parameter", stated == (name in METHODS[method]), name=name)
    allowed = [] if parameters["l"] is None else columns_of(release, "sensitive")
    for name in ("perturbed", "grouped"):
        columns = series.get(name, [])
        in_order = [column for column in allowed if column in columns]
        findings.expect("statements:perturbed", columns == in_order)
    in_both = set(series["perturbed"]) & set(series.get("grouped", ()))
    perturbs = parameters.get("l_method") == "perturb"
    facts = {
        "statements:both": not in_both,
        "statements:levels-of": list(manifest.get("levels", {})) == columns_of(release, "quasi"),
        "statements:segment": (parameters.get("representation") == "paa") == ("segment" in parameters),
        "statements:epsilon": perturbs == bool(parameters.get("epsilon")),
    }
    findings.expect_all(facts)
    return len(findings.violations) == before
