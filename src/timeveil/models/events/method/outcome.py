"""From a search's outcome to a release and its ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.domain.guarantee import KAnonymity
from timeveil.domain.relation import Relation
from timeveil.domain.release import Ledger, Release
from timeveil.domain.version import TOOL
from timeveil.engines import Published, Tally
from timeveil.models.events.method.plan import Plan
from timeveil.models.events.method.search import Counts, Node
from timeveil.models.events.parameters import EventParameters


@dataclass(frozen=True, slots=True)
class Choice:
    """The outcome of a search: the chosen node, the name its labels carry, and the minimal nodes."""

    chosen: Node
    label: str
    frontier: tuple[Node, ...]
    feasible: frozenset[Node] = field(repr=False)
    tried: int = 0


def assemble(
    promise: KAnonymity,
    parameters: EventParameters,
    relation: Relation,
    plan: Plan,
    counts: Counts,
    choice: Choice,
    published: Published,
) -> tuple[Release, Ledger]:
    """The pair that a method returns."""
    levels = counts.levels(choice.chosen.levels)
    manifest = _manifest(promise, parameters, relation, plan, choice.label, list(levels))
    manifest |= {
        "levels": counts.level_names(choice.chosen.levels),
        "frontier": [n.granularity for n in choice.frontier if n.levels == choice.chosen.levels],
        "candidates": _candidates(plan, counts, choice),
        "counts": {
            "rows": published.rows,
            "groups": published.groups,
            "smallest_group": published.smallest_group,
            "withheld": relation.rows - published.rows,
            "rows_read": relation.rows,
        },
    }
    if choice.chosen.levels:
        manifest["nodes"] = [_node(counts, node) for node in choice.frontier]
    facts = {
        "people": published.people,
        "tried": choice.tried,
        "nodes": len(counts.order.nodes),
        "skipped": dict(plan.skipped),
        "read_at": plan.base.name,
        "dropped": list(relation.dropped),
    }
    ledger = Ledger("time", published.entries, relation, mappings=levels, facts=facts)
    return Release(promise, manifest, {"data": published.data}), ledger


def empty(
    promise: KAnonymity, parameters: EventParameters, relation: Relation, plan: Plan
) -> tuple[Release, Ledger]:
    """No countable row came in: a release without rows keeps any promise."""
    none = np.zeros(0, np.int64)
    manifest = _manifest(promise, parameters, relation, plan, plan.named or plan.allowed[0].name, [])
    manifest |= {
        "levels": {},
        "frontier": [],
        "candidates": {
            g.name: _numbers(Tally.of(none, none, promise.k, 0))
            | {"feasible": True, "allowed": True, "aliases": []}
            for g in plan.allowed
        },
        "counts": {
            "rows": 0,
            "groups": 0,
            "smallest_group": 0,
            "withheld": relation.rows,
            "rows_read": relation.rows,
        },
    }
    schema = relation.data.schema
    types = [_published_type(column, schema, relation, ()) for column in manifest["columns"]]
    columns = {c["name"]: pa.array([], t) for c, t in zip(manifest["columns"], types, strict=True)}
    group = pa.nulls(relation.rows, pa.int32())
    entries = pa.table({"row": pa.array(range(relation.rows), pa.int64()), "group": group})
    ledger = Ledger("time", entries, relation, facts={"people": 0, "dropped": list(relation.dropped)})
    return Release(promise, manifest, {"data": pa.table(columns)}), ledger


def _manifest(
    promise: KAnonymity,
    parameters: EventParameters,
    relation: Relation,
    plan: Plan,
    label: str,
    generalised: list[str],
) -> dict[str, Any]:
    axis = relation.clock
    return {
        "format": 1,
        "model": "time",
        "tool": TOOL,
        "guarantee": promise.as_dict(),
        "granularity": label,
        "granularity_definition": plan.by_name(label).as_dict(),
        "time": {"column": relation.roles.time, "kind": axis.kind, "zone": axis.zone, "unit": axis.unit},
        "columns": _columns(relation, generalised),
        "parameters": {
            "k": promise.k,
            "choose": parameters.choose,
            "suppress": parameters.suppress,
            "gaps": parameters.gaps,
            "nulls": parameters.nulls,
            "granularities": None if plan.limited_to is None else list(plan.limited_to),
        },
    }


def _columns(relation: Relation, generalised: list[str]) -> list[dict[str, str]]:
    roles, schema = relation.roles, relation.data.schema
    time = relation.time
    by_role = [
        *((name, "quasi") for name in roles.quasi_columns),
        *((name, "keep") for name in roles.keep),
        *((name, "sensitive") for name in roles.sensitive),
        (time, "time"),
        (f"{time}_start", "start"),
        (f"{time}_end", "end"),
    ]
    columns = [{"name": name, "role": role} for name, role in by_role]
    return [{**c, "type": str(_published_type(c, schema, relation, generalised))} for c in columns]


def _published_type(
    column: dict[str, str], schema: pa.Schema, relation: Relation, generalised: list[str] | tuple[str, ...]
) -> pa.DataType:
    if column["role"] in ("start", "end"):
        return relation.clock.type
    if column["role"] == "time" or column["name"] in generalised:
        return pa.string()
    declared = schema.field(column["name"]).type
    return declared.value_type if pa.types.is_dictionary(declared) else declared


def _candidates(plan: Plan, counts: Counts, choice: Choice) -> dict[str, dict[str, Any]]:
    """Every granularity that may be chosen, and the base, at the chosen levels."""
    tallies = counts.scan(choice.chosen.levels)
    allowed = [g.name for g in plan.allowed]
    out: dict[str, dict[str, Any]] = {}
    for name in allowed if plan.base.name in allowed else [plan.base.name, *allowed]:
        counted_as = counts.order.representative(name) if name in allowed else name
        tally = tallies[counted_as]
        feasible = Node(choice.chosen.levels, counted_as) in choice.feasible
        out[name] = _numbers(tally) | {
            "feasible": feasible if name in allowed else tally.smallest_group >= counts.k,
            "allowed": name in allowed,
            "aliases": counts.order.aliases.get(name, []),
        }
    return out


def _node(counts: Counts, node: Node) -> dict[str, Any]:
    tally = counts(node)
    return {"levels": counts.level_names(node.levels), "granularity": node.granularity} | _numbers(tally)


def _numbers(tally: Tally) -> dict[str, int]:
    """What a manifest states about the groups of one candidate."""
    return {
        "smallest_group": tally.smallest_group,
        "groups": tally.groups,
        "group_total": tally.group_total,
        "groups_below_k": tally.groups_below_k,
        "rows_below_k": tally.rows_below_k,
        "rows_in_gaps": tally.rows_in_gaps,
    }
