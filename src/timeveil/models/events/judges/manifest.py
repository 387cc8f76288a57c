"""Does the manifest of events have its closed shape, and does it agree with itself and its table?

A recipient cannot count the candidates again. Their numbers must fit together, though: with k and the share
that may be withheld, with the chosen granularity, and with the counts of what was published.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.calendar.catalogue import available
from timeveil.calendar.civil import UNITS, is_zone
from timeveil.domain.release import Release
from timeveil.evidence import checks
from timeveil.evidence.checks import COUNT, DEFINITION, FLAG, TEXT, Named, from_to, one_of
from timeveil.evidence.codes import plain_type
from timeveil.evidence.published import schema_of
from timeveil.models.events.evidence import Evidence
from timeveil.models.events.judges.protected import check_stated, promise_of

ROLES = ("quasi", "keep", "sensitive", "time", "start", "end", "step")
"""The roles of published columns, in published order."""

_NUMBERS = ("smallest_group", "groups", "group_total", "groups_below_k", "rows_below_k", "rows_in_gaps")
_SHORT = ("groups_short", "rows_short", "rows_waiting")
_TALLY = dict.fromkeys((*_NUMBERS, *(f"{number}?" for number in _SHORT)), COUNT)
_LEVELS = Named({"level": from_to(1, 1_000), "name": TEXT})
_CHOICE_RULES = ("groups", "generality", "loss", "precision", "function")
_ROUNDING = 1e-9
_FURTHER: Mapping[str, checks.Shape] = {"protect?": Named(TEXT), "dominance?": checks.SHARE, "visits?": COUNT}
_STEP: Mapping[str, checks.Shape] = {"levels": _LEVELS, "granularity": TEXT}
_PUBLISHED = dict.fromkeys(("rows", "groups", "smallest_group"), COUNT)

MANIFEST = checks.manifest_of(
    "time",
    {"name": one_of("k-anonymity"), "k": COUNT, **_FURTHER, "after?": COUNT},
    {"granularity": TEXT, "granularity_definition": DEFINITION, "time": checks.CLOCK},
    ROLES,
    {
        "parameters": {
            "k": COUNT,
            "choose": TEXT,
            "suppress": checks.SHARE,
            "gaps": one_of("error", "skip", "suppress", "next"),
            "nulls": one_of("error", "withhold"),
            "granularities": checks.NAMES_OR_NULL,
            "recode?": one_of("refined", "local", "tiling"),
            "origin?": TEXT,
            "decoys?": FLAG,
            **_FURTHER,
            "append?": FLAG,
            **checks.IF_SET,
        },
        "durations?": Named(one_of("hour", *UNITS)),
        "levels": _LEVELS,
        "distinct_labels?": [TEXT],
        "frontier": [TEXT],
        "candidates": Named({**_TALLY, "feasible": FLAG, "allowed": FLAG, "aliases": [TEXT]}),
        "counts": {**_PUBLISHED, "withheld": COUNT, "rows_read": COUNT},
        "steps?": [{**_STEP, **_PUBLISHED}],
        "definitions?": [DEFINITION],
        "nodes?": [{**_STEP, **_TALLY}],
    },
)
check_shape = partial(checks.check_shape, shape=MANIFEST)


def check_columns(release: Release, findings: checks.Findings) -> bool:
    """Expect the stated columns, each with its type, and no other."""
    findings.check("the table has exactly the columns, roles and types of the manifest")
    findings.expect("tables", set(release.parts) == {"data"}, tables=len(release.parts))
    if "data" not in release.parts:
        return False
    stated, time = release.manifest["columns"], release.manifest["time"]
    column, roles = time["column"], [c["role"] for c in stated]
    instants = [column, f"{column}_start", f"{column}_end"]
    step = [f"{column}_step"] if "steps" in release.manifest else []
    facts: dict[str, object] = {
        "columns:roles": roles == sorted(roles, key=ROLES.index),
        "columns:time": [c["name"] for c in stated if c["role"] in ROLES[3:]] == [*instants, *step],
    }
    sound = findings.expect_all(facts, roles=", ".join(ROLES))
    if not checks.check_columns(release, findings) or not sound:
        return False
    label, start, end = (schema_of(release).field(name).type for name in instants)
    facts = {
        "columns:label": plain_type(label) == pa.string(),
        "columns:ends": start == end,
        "columns:clock": _is_clock(time, plain_type(start)),
    }
    findings.expect_all(facts, name=column)
    if step:
        sound, numbers = plain_type(schema_of(release).field(step[0]).type) == pa.int32(), set[object]()
        for batch in release.batches() if sound else ():
            numbers.update(batch.column(step[0]).unique().to_pylist())
        numbered = numbers == set(range(1, len(release.manifest["steps"]) + 1))  # and each has rows
        findings.expect("columns:step", sound and numbered, name=column)
    return not findings.violations


def _is_clock(time: Mapping[str, Any], kind: pa.DataType) -> bool:
    """Whether the kind of time, its zone and its unit fit each other and the type of start and end."""
    stamped = pa.types.is_timestamp(kind)
    match time["kind"]:
        case "civil":
            plain = pa.types.is_date32(kind) or (stamped and kind.tz is None)
            return time["zone"] is None and time["unit"] is None and plain
        case "zoned":
            zone = time["zone"]
            return time["unit"] is None and stamped and kind.tz == zone and is_zone(zone)
    return time["zone"] is None and time["unit"] in UNITS and bool(pa.types.is_int64(kind))


def check_statements(evidence: Evidence, findings: checks.Findings) -> None:
    """Expect equal numbers wherever the manifest states one twice."""
    findings.check("the numbers in release.json agree with each other")
    manifest = evidence.release.manifest
    counts, definition = manifest["counts"], manifest["granularity_definition"]
    facts = {
        "guarantee": dict(manifest["guarantee"]) == evidence.release.guarantee.as_dict(),
        "guarantee:k": manifest["parameters"]["k"] == evidence.k,
        "counts:rows": counts["rows"] + counts["withheld"] == counts["rows_read"],
        "granule:title": checks.has_catalogue_title(definition, manifest["time"]),
        "columns:durations": set(manifest.get("durations", ())) <= set(evidence.columns("quasi")),
        "columns:levels": set(manifest["levels"]) <= set(evidence.columns("quasi")),
        "columns:labels": set(manifest.get("distinct_labels", ())) <= set(manifest["levels"]),
    }
    findings.expect_all(facts, **counts)
    check_stated(evidence, findings)
    _check_choice(evidence, findings)
    _check_steps(evidence, findings)


def _check_steps(evidence: Evidence, findings: checks.Findings) -> None:
    """Expect the rows and groups that the table has at each step."""
    manifest = evidence.release.manifest
    agrees = findings.expect("steps:recode", evidence.stepped == ("recode" in manifest["parameters"]))
    if not (agrees and evidence.stepped):
        return
    findings.check("the steps have the rows and groups that release.json states")
    definitions, steps = manifest["definitions"], manifest["steps"]
    rows = np.bincount(evidence.class_step, np.asarray(evidence.classes["rows"]), len(steps))
    groups = np.bincount(evidence.class_step, minlength=len(steps))
    stated = np.array([(step["rows"], step["groups"]) for step in steps]).reshape(-1, 2)
    wrong = int((stated != np.stack([rows, groups], axis=1)).any(axis=1).sum())
    names = list(dict.fromkeys(step["granularity"] for step in steps))
    smallest = min((step["smallest_group"] for step in steps), default=0)
    facts = {
        "steps:definitions": [d.get("name") for d in definitions] == names
        and all(checks.has_catalogue_title(d, manifest["time"]) for d in definitions),
        "steps:levels": all(set(step["levels"]) <= set(manifest["levels"]) for step in steps),
        "steps:numbers": not wrong and smallest == manifest["counts"]["smallest_group"],
    }
    findings.expect_all(facts, wrong=wrong, steps=len(steps))


def _check_choice(evidence: Evidence, findings: checks.Findings) -> None:
    """Expect a chosen granularity that is a feasible candidate with the numbers of the release."""
    findings.check("the chosen granularity is one of those that work, with the numbers of the release")
    manifest = evidence.release.manifest
    candidates, name = manifest["candidates"], manifest["granularity"]
    findings.expect("candidates:definition", manifest["granularity_definition"].get("name") == name)
    if not findings.expect("candidates:chosen", name in candidates):
        return
    chosen, frontier, nodes = candidates[name], manifest["frontier"], manifest.get("nodes")
    choices, limited_to = (*_CHOICE_RULES, name, *chosen["aliases"]), manifest["parameters"]["granularities"]
    names = {alias for candidate in candidates.values() for alias in candidate["aliases"]}
    names |= {node["granularity"] for node in nodes or ()}
    # A granularity may have been skipped for its gaps; then it is no candidate.
    names |= set(limited_to or ()) if manifest["parameters"]["gaps"] not in ("skip", "next") else set()
    usable = [n for n, candidate in candidates.items() if candidate["feasible"] and candidate["allowed"]]
    order = list(available(evidence.axis) if limited_to is None else limited_to)
    allowed = [order.index(n) for n in candidates if candidates[n]["allowed"] and n in order]
    facts = {
        "candidates:names": names <= set(candidates),
        "candidates:order": allowed == sorted(allowed),
        "candidates:rule": manifest["parameters"]["choose"] in choices,
        "candidates:allowed": chosen["feasible"] and chosen["allowed"],
        "candidates:frontier": all(n in usable for n in frontier),
    }
    if nodes is None:
        facts["candidates:empty"] = frontier or not manifest["counts"]["rows"]
    else:
        at_levels = [node["granularity"] for node in nodes if node["levels"] == manifest["levels"]]
        facts["candidates:nodes"] = nodes and at_levels == list(frontier)
    findings.expect_all(facts)
    counts, stated = manifest["counts"], [*candidates.values(), *(nodes or ())]
    wrong = sum(not _is_possible(numbers, evidence) for numbers in stated)
    numbers = {"wrong": wrong, "candidates": len(stated), "rows_read": counts["rows_read"]}
    findings.expect("candidates:possible", not wrong, **numbers)
    if counts["rows"]:
        _check_candidates(manifest, findings)


def _is_possible(stated: Mapping[str, Any], evidence: Evidence) -> bool:
    """Whether a table of this many rows can have these numbers; short groups are counted where asked for."""
    promise, manifest, k = promise_of(evidence), evidence.release.manifest, evidence.k
    smallest, groups, total, groups_below, rows_below, in_gaps = (stated[number] for number in _NUMBERS)
    short, rows_short, waiting = (stated.get(number, 0) for number in _SHORT)
    expected = {"rows_waiting"} if manifest["parameters"].get("append") else set[str]()
    expected |= {"groups_short", "rows_short"} if promise.further or promise.after else set()
    read = manifest["counts"]["rows_read"]
    return bool(
        {*_SHORT} & {*stated} == expected
        and groups_below + short <= groups
        and k * short <= rows_short <= read - rows_below
        # After earlier releases, groups may be short of some of their rows.
        and (short > 0) <= (rows_short > 0) <= (short > 0 or bool(promise.after))
        and waiting <= rows_below + rows_short
        and groups * smallest <= total <= read
        and groups_below <= rows_below <= read - k * (groups - groups_below)
        and (groups_below > 0) == (0 < smallest < k)
        and max(groups_below, in_gaps) <= read
        and (smallest > 0) == (groups > 0)
    )


def _check_candidates(manifest: Mapping[str, Any], findings: checks.Findings) -> None:
    """Expect the release's numbers of the chosen candidate; all must be as feasible as their numbers say."""
    counts, parameters = manifest["counts"], manifest["parameters"]
    chosen = manifest["candidates"][manifest["granularity"]]
    dropped, smallest = chosen["groups_below_k"] + chosen.get("groups_short", 0), chosen["smallest_group"]
    groups, partly = chosen["groups"] - dropped, dropped or chosen.get("rows_short")
    # Rows that the chosen granularity omits, apart from rows without a person or a time.
    omitted = _rows_below(chosen) + (chosen["rows_in_gaps"] if parameters["gaps"] == "suppress" else 0)
    exact, withheld, recode = parameters["nulls"] == "error", counts["withheld"], parameters.get("recode")
    # Rows with a person and a time; tiles withhold others than the chosen granularity does.
    least = most = counts["rows"] + omitted
    if recode == "tiling":
        least, most = counts["rows_read"] if exact else counts["rows"], counts["rows_read"]
    wrong = 0
    for candidate in manifest["candidates"].values():
        remaining = candidate["groups"] - candidate["groups_below_k"] - candidate.get("groups_short", 0)
        spent = _rows_below(candidate) - candidate.get("rows_waiting", 0)
        allowed = (parameters["suppress"] * rows + _ROUNDING for rows in (least, most))
        feasible = {remaining > 0 and spent <= rows for rows in allowed}
        # Withholding serves only candidates that the user allowed; any other must fit as it is.
        if not candidate["allowed"]:
            feasible = {candidate["smallest_group"] >= parameters["k"] and not candidate.get("rows_short", 0)}
        wrong += candidate["feasible"] not in feasible
    facts = {
        # At steps of their own, rows make other groups than the chosen granularity would.
        "candidates:groups": recode or groups == counts["groups"],
        "candidates:below": (smallest < parameters["k"]) == (chosen["groups_below_k"] > 0),
        "candidates:smallest": recode or partly or smallest == counts["smallest_group"],
        "candidates:withheld": recode == "tiling" or (omitted == withheld if exact else omitted <= withheld),
        "candidates:feasible": not wrong,
    }
    numbers = {"chosen_groups": groups, "chosen_smallest": smallest, "omitted": omitted, "wrong": wrong}
    findings.expect_all(facts, **counts, **numbers, candidates=len(manifest["candidates"]))


def _rows_below(candidate: Mapping[str, Any]) -> int:
    """Rows in groups that do not keep the promise."""
    return int(candidate["rows_below_k"] + candidate.get("rows_short", 0))
