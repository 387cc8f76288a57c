"""From the outcome of a search to a release and its ledger."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.domain.guarantee import KAnonymity
from timeveil.domain.release import Ledger, Release
from timeveil.domain.version import TOOL
from timeveil.engines import Levels, Published, Tally, published_schema
from timeveil.models.events.method.search import Counts, Node, Plan

_STATED = ("smallest_group", "groups", "group_total", "groups_below_k", "rows_below_k", "rows_in_gaps")
"""What a manifest states about the groups of one candidate."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The outcome of a search: the chosen node, the name its labels carry, the minimal and feasible nodes."""

    chosen: Node
    label: str
    frontier: tuple[Node, ...]
    feasible: frozenset[Node]
    tried: int


def assemble(counts: Counts, choice: Choice, published: Published) -> tuple[Release, Ledger]:
    """The pair that a method returns."""
    plan, combination = counts.plan, choice.chosen.levels
    sections: dict[str, Any] = {
        "levels": counts.level_names(combination),
        "frontier": [node.granularity for node in choice.frontier if node.levels == combination],
        "candidates": _candidates(counts, choice),
        "counts": _counts(plan, published),
    }
    if combination:
        sections["nodes"] = [
            {"levels": counts.level_names(node.levels), "granularity": node.granularity}
            | _numbers(counts(node))
            for node in choice.frontier
        ]
    facts = {
        "people": published.people,
        "tried": choice.tried,
        "nodes": len(counts.order.nodes),
        "skipped": dict(plan.skipped),
        "read_at": plan.base.name,
        "dropped": list(plan.relation.dropped),
    }
    return _pair(plan, choice.label, counts.levels(combination), sections, published, facts)


def empty(plan: Plan) -> tuple[Release, Ledger]:
    """No countable row came in: a release without rows keeps any promise."""
    relation, tally = plan.relation, Tally(*[0] * len(fields(Tally)))
    entries = {"row": np.arange(relation.rows), "group": pa.nulls(relation.rows, pa.int32())}
    data = published_schema(relation, {}).empty_table()
    published = Published(data, pa.table(entries), rows=0, groups=0, smallest_group=0, people=0)
    feasible = _numbers(tally) | {"feasible": True, "allowed": True, "aliases": []}
    sections = {
        "levels": {},
        "frontier": [],
        "candidates": {g.name: dict(feasible) for g in plan.allowed},
        "counts": _counts(plan, published),
    }
    facts = {"people": 0, "dropped": list(relation.dropped)}
    return _pair(plan, plan.named or plan.allowed[0].name, {}, sections, published, facts)


def _pair(
    plan: Plan,
    label: str,
    levels: Levels,
    sections: dict[str, Any],
    published: Published,
    facts: dict[str, Any],
) -> tuple[Release, Ledger]:
    relation, parameters, promise = plan.relation, plan.parameters, KAnonymity(plan.parameters.k)
    roles, axis = relation.roles, relation.clock
    by_role = {"quasi": roles.quasi_columns, "keep": roles.keep, "sensitive": roles.sensitive}
    column_roles = [role for role, names in by_role.items() for _ in names] + ["time", "start", "end"]
    schema = published_schema(relation, levels)
    manifest = {
        "format": 1,
        "model": "time",
        "tool": TOOL,
        "guarantee": promise.as_dict(),
        "granularity": label,
        "granularity_definition": plan.by_name(label).as_dict(),
        "time": {"column": roles.time, "kind": axis.kind, "zone": axis.zone, "unit": axis.unit},
        "columns": [
            {"name": field.name, "role": role, "type": str(field.type)}
            for field, role in zip(schema, column_roles, strict=True)
        ],
        "parameters": {
            "k": promise.k,
            "choose": parameters.choose,
            "suppress": parameters.suppress,
            "gaps": parameters.gaps,
            "nulls": parameters.nulls,
            "granularities": plan.limited_to,
        },
        **sections,
    }
    ledger = Ledger("time", published.entries, relation, mappings=levels, facts=facts)
    return Release(promise, manifest, {"data": published.data}), ledger


def _candidates(counts: Counts, choice: Choice) -> dict[str, dict[str, Any]]:
    """Every granularity that may be chosen, and the base, at the chosen levels."""
    tallies = counts.scan(choice.chosen.levels)
    allowed, base = [g.name for g in counts.plan.allowed], counts.plan.base.name
    candidates: dict[str, dict[str, Any]] = {}
    for name in allowed if base in allowed else [base, *allowed]:
        counted_as = counts.order.representative(name) if name in allowed else name
        tally = tallies[counted_as]
        feasible = Node(choice.chosen.levels, counted_as) in choice.feasible
        candidates[name] = _numbers(tally) | {
            "feasible": feasible if name in allowed else tally.smallest_group >= counts.k,
            "allowed": name in allowed,
            "aliases": counts.order.aliases.get(name, []),
        }
    return candidates


def _numbers(tally: Tally) -> dict[str, int]:
    return {name: getattr(tally, name) for name in _STATED}


def _counts(plan: Plan, published: Published) -> dict[str, int]:
    read = plan.relation.rows
    return {
        "rows": published.rows,
        "groups": published.groups,
        "smallest_group": published.smallest_group,
        "withheld": read - published.rows,
        "rows_read": read,
    }
