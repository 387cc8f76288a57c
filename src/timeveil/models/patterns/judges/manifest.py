"""The closed shape of a pattern release's manifest, and whether it agrees with itself and the columns."""

from functools import partial

import pyarrow as pa

from timeveil.domain.release import Release
from timeveil.evidence import checks
from timeveil.evidence.checks import COUNT, FLAG, IF_SET, NAMES_OR_NULL, Findings, from_to, one_of, or_null
from timeveil.evidence.codes import plain_type
from timeveil.evidence.published import schema_of
from timeveil.models.patterns.evidence import ADDING, LETTERS, PATTERN, SUPPORT, Evidence

METHODS = (*ADDING, "suppressive", "itemset")
TYPES = {PATTERN: ("list<string>", "list<item: string>"), SUPPORT: ("int64",)}

_STRUCTURAL = {"structural": FLAG}
_LETTERS = {"symbols": or_null(from_to(2, len(LETTERS))), "center": one_of("mean", "median", None)}
_FAMILY = {"published": one_of("frequent", "closed")}

MANIFEST = checks.manifest_of(
    "patterns",
    {"name": one_of("no-inference-channel"), "k": COUNT, "counts_alone?": FLAG, "rows?": FLAG},
    {
        "patterns": {
            "kind": one_of("series", "baskets"),
            **_STRUCTURAL,
            **_LETTERS,
            "instants": NAMES_OR_NULL,
            "origin?": one_of("table", "series release"),
            **_FAMILY,
        }
    },
    (PATTERN, SUPPORT),
    {
        "parameters": {
            "k": COUNT,
            "min_support": COUNT,
            "method": one_of(*METHODS),
            **_LETTERS,
            **_STRUCTURAL,
            "max_len": or_null(from_to(1, 1_000_000)),
            **_FAMILY,
            "fill": one_of("forward", "linear", "drop", None),
            "nulls?": one_of("drop"),
            "repeats?": one_of("once"),
            **IF_SET,
        },
        "counts": dict.fromkeys(("patterns", "transactions", "virtual"), COUNT),
    },
)
check_shape = partial(checks.check_shape, shape=MANIFEST)


def check_columns(release: Release, findings: Findings) -> bool:
    """One table with a pattern and a support, and no other column."""
    findings.check("the table has a pattern and a support, and no other column")
    stated = release.manifest["columns"]
    findings.expect("tables", set(release.parts) == {"data"}, tables=len(release.parts))
    if "data" not in release.parts:
        return False
    pairs = [(column["name"], column["role"]) for column in stated]
    if findings.expect("columns:stated", pairs == [(name, name) for name in TYPES]):
        types = all(column["type"] in TYPES[column["name"]] for column in stated)
        findings.expect("columns:stated-types", types)
    schema = schema_of(release)
    if findings.expect("columns:table", schema.names == list(TYPES), columns=len(schema.names)):
        pattern, support = schema.types
        lists = pa.types.is_list(pattern) or pa.types.is_large_list(pattern)
        types = lists and plain_type(pattern.value_type) == pa.string() and support == pa.int64()
        findings.expect("columns:types", types)
    return not findings.violations


def check_statements(evidence: Evidence, findings: Findings) -> bool:
    """What the manifest says in two sections is the same, and what it says is possible."""
    findings.check("the numbers in release.json agree with each other")
    release, manifest = evidence.release, evidence.release.manifest
    described, parameters = manifest["patterns"], manifest["parameters"]
    guarantee, series = release.guarantee.as_dict(), described["kind"] == "series"
    findings.expect("guarantee", dict(manifest["guarantee"]) == guarantee)
    findings.expect("guarantee:k", parameters["k"] == guarantee.get("k"))
    weaker = series and not described["structural"]
    findings.expect("guarantee:readers", guarantee.get("counts_alone", False) == weaker)
    least, k = parameters["min_support"], parameters["k"]
    findings.expect("min-support:k", least >= k, least=least, k=k)
    for name in ("symbols", "center", "structural", "published"):
        findings.expect("statements:twice", described[name] == parameters[name], name=name)
    for name in ("symbols", "center", "instants"):
        findings.expect("statements:kind", (described[name] is not None) == series, name=name)
    for name in ("nulls", "repeats"):
        findings.expect("statements:kind", not series or name not in parameters, name=name)
    of_series = described["structural"] or parameters["fill"] is not None or "origin" in described
    findings.expect("statements:baskets", series or not of_series)
    instants = list(described["instants"] or ())
    distinct = len(set(instants)) == len(instants) > 0 and "" not in instants
    findings.expect("statements:instants", not series or distinct)
    virtual = manifest["counts"]["virtual"]
    findings.expect("statements:virtual", not virtual or parameters["method"] in ADDING)
    return not findings.violations
