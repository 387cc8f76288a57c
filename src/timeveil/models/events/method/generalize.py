"""k-anonymous timestamped tables: the whole method (Mascetti et al. 2006).

A table holds several rows per person, each with a time. Replace the time by the granule of the least
general calendar granularity under which every combination of quasi-identifiers and time is shared by at
least k different people, then leave the person out. Other quasi-identifiers may be generalised along value
hierarchies in the same search.

Where we depart from the print
    Definition 6 sums over groups, as Example 3 and Theorem 3 require.
    Procedure 2, line 3: the first tuple's respondent is counted.
    The rollup property does not hold for distinct counts; first occurrences are counted instead.
Cost: one sort of the rows per combination of hierarchy levels, then one scan per granularity.
"""

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from timeveil.calendar.definitions import from_toml
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Gaps
from timeveil.domain.lines import SEED, Decimal, Delimiter, refuse_loss
from timeveil.domain.protection import AnyProtection
from timeveil.domain.relation import Relation
from timeveil.domain.release import Facts, Ledger, Release
from timeveil.domain.roles import Roles
from timeveil.domain.version import TOOL
from timeveil.domain.wording import Progress, silent
from timeveil.engines import Levels, Published, open_events, published_schema
from timeveil.models.events.method.choice import Measure, choose_node, feasible_nodes, ladders_of
from timeveil.models.events.method.earlier import continued, look_back, refuse_ledgers, refuse_repeated_events
from timeveil.models.events.method.local import Recoding, compare_ways, mappings_of, recode_rows, stated_steps
from timeveil.models.events.method.origin import FIRST, since_origin
from timeveil.models.events.method.search import Counts, Node, Plan, make_plan
from timeveil.models.events.parameters import FUNCTION, EventParameters
from timeveil.reading import read
from timeveil.reading.encoding import with_dictionaries
from timeveil.reading.in_place import IN_PLACE, read_in_place
from timeveil.reading.risks import with_risks
from timeveil.recoding import Hierarchy

# What a manifest states about the groups of one candidate, and besides where more than k people is promised.
_STATED = ("smallest_group", "groups", "group_total", "groups_below_k", "rows_below_k", "rows_in_gaps")
_SHORT = ("groups_short", "rows_short")
COMPARED_ROWS = 200_000  # up to here, a run that makes all rows coarser alike compares the other ways
DURATIONS = "log:2,4,16"  # how durations are made coarser where no hierarchy is given for them


def generalize_time(
    table: Any,
    roles: Roles,
    k: int,
    *,
    granularities: Sequence[str | Granularity] | None = None,
    choose: str | Measure = "groups",
    zone: str | None = None,
    suppress: float = 0.0,
    recode: Literal["global", "refined", "local", "tiling"] = "global",
    weights: Mapping[str, float] | None = None,
    protect: Mapping[str, AnyProtection | str] | None = None,
    dominance: float | None = None,
    decoys: bool = False,
    visits: int = 1,
    hierarchies: Mapping[str, Hierarchy | str | Path | pa.Table] | None = None,
    levels: Mapping[str, int] | None = None,
    max_levels: Mapping[str, int] | None = None,
    after: Sequence[Ledger] = (),
    append: bool = False,
    engine: str = "memory",
    origin: str | None = None,
    gaps: Gaps = "error",
    nulls: Literal["error", "withhold"] = "error",
    unit: str | None = None,
    time_format: str | None = None,
    decimal: Decimal | None = None,
    delimiter: Delimiter | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    definitions: Iterable[Granularity] | Mapping[str, Any] | None = None,
    memory_limit: str | None = None,
    fold_spellings: bool = False,
    accept_risk: Sequence[str] = (),
    allow_loss: bool = False,
    seed: int | None = None,
    progress: Progress = silent,
) -> tuple[Release, Ledger]:
    """Publish events so that every (quasi-identifiers, time) value is shared by k different people.

    `granularities` limits the calendar (default: all that fit the data). `choose` picks among those that
    keep the promise: `"groups"` (most groups; a way that keeps a column is preferred to one that publishes
    it as one value, if a row loses at most 2 bits more), `"generality"` (the paper's least general), `"loss"`
    (fewest bits lost), `"precision"` (lowest levels), a function of a candidate, or a granularity by name.
    `levels` pins a column with a hierarchy to one of its levels; `max_levels` limits it. `suppress` is the
    share of rows that may be withheld in groups below k. `recode` says whether all rows are made coarser
    alike (`"global"`) or each as little as its group of the global answer allows (`"refined"`), as little as
    possible (`"local"`) or in periods that do not overlap (`"tiling"`); `weights` says how much the
    precision of a column, or of the time, matters then and with `"loss"` and `"precision"`. `protect` says
    what every group promises about a sensitive column, `AtMost(1/3)`, `Distinct(3)`, `Entropy(3)` or
    `Closeness(0.2)`, and `dominance` is the largest share of a group's rows that one person may have.
    `decoys` holds groups that keep these promises back at random, so that a group that is missing need not
    have broken one; `seed` repeats the draw, and anyone who knows it can undo it. With `visits=2`, any two
    groups that a person is in have k people in common. `gaps` says what happens to rows in no granule:
    `"error"`, `"skip"` that granularity, `"suppress"` them, or take the `"next"` granule. With `origin`, time
    is counted from the `"first"` row of each person, or from a column with a date. `after` has the
    ledgers of all earlier releases of this table: then k people also share what an event was published as in
    all of them together. With `append` the last one is continued: same granularity and levels, and rows of
    its periods that come late wait until k people share their group.

    >>> import pyarrow as pa
    >>> visits = pa.table({"who": ["u1", "u2", "u1", "u4"], "when": ["2006-01-03", "2006-01-03",
    ...                    "2006-01-11", "2006-01-12"], "exam": ["d0", "d1", "d2", "d3"]})
    >>> release, ledger = generalize_time(visits, Roles(respondent="who", time="when", keep=["exam"]), k=2)
    >>> release.manifest["granularity"], release.table["when"].to_pylist()
    ('week', ['2006-W01', '2006-W01', '2006-W02', '2006-W02'])
    """
    measure = choose if callable(choose) else None
    parameters = EventParameters.from_call({**locals(), "choose": FUNCTION if measure else choose})
    seed = SEED.check(secrets.randbits(128) if seed is None else seed) if parameters.decoys else None
    k = parameters.k
    progress("reading", 0.0)
    relation = _read(table, roles, parameters)
    ways = {**dict.fromkeys(relation.durations, DURATIONS), **(hierarchies or {})}
    ladders = ladders_of(ways, relation, parameters)
    refuse_ledgers(relation, parameters.after)
    only = None
    if parameters.append:
        only, pinned = continued(parameters.after, {name: ladder[0] for name, ladder in ladders.items()})
        ladders = {name: (ladder[0], (pinned[name],)) for name, ladder in ladders.items()}
    earlier = look_back(relation, parameters)
    custom = from_toml(definitions) if isinstance(definitions, Mapping) else definitions
    progress("encoding", 0.2)
    events = open_events(engine, earlier.hidden(relation) if earlier else relation, memory_limit)
    try:
        relation = with_risks(relation, parameters.accept_risk, events.occurrences)
        plan = make_plan(events, relation, parameters, custom, by_rule=measure is not None, only=only)
        if events.rows == 0:
            return _empty(plan)
        progress("counting people", 0.4)
        counts = Counts(events, plan, ladders, earlier)
        feasible = feasible_nodes(counts)
        chosen, tried = choose_node(counts, feasible, measure)
        progress("generalising", 0.8)
        recoding, steps = None, counts.steps([Node(chosen.levels, plan.named or chosen.granularity)])
        if parameters.recode != "global":
            recoding = recode_rows(counts, chosen, seed=seed)
            published = events.publish_steps(plan.timeline, counts.steps(recoding.steps), recoding.cells)
        elif counts.guard or counts.earlier:  # without groups that break more than the promise of k people
            published = events.publish_steps(plan.timeline, steps, counts.published(chosen), numbered=False)
        else:
            published = events.publish(plan.timeline, *steps[0], k)
        progress("done", 1.0)
        return _assemble(counts, feasible, chosen, tried, published, recoding)
    finally:
        events.close()


def _read(table: Any, roles: Roles, parameters: EventParameters) -> Relation:
    """The table with its times as they are published."""
    origin = parameters.origin
    if isinstance(table, Relation):
        relation = table
    elif parameters.engine in IN_PLACE:
        return read_in_place(table, roles, parameters.engine, **parameters.reading("nulls", "fold_spellings"))
    else:
        if origin not in (None, FIRST) and isinstance(roles, Roles) and roles.event != origin:
            roles = replace(roles, event=origin)  # which is read and not published
        stored = parameters.engine != "memory" and isinstance(table, str | Path)
        relation = read(table, roles, stored=stored, **parameters.reading("nulls", "fold_spellings"))
        if parameters.engine == "memory":
            relation = replace(relation, data=with_dictionaries(relation.table, relation.respondent))
    if origin:
        return since_origin(relation, parameters)
    refuse_repeated_events(relation)
    return relation


# From the outcome of a search to a release and its ledger.


def _assemble(
    counts: Counts,
    feasible: Sequence[Node],
    chosen: Node,
    tried: int,
    published: Published,
    recoding: Recoding | None = None,
) -> tuple[Release, Ledger]:
    """The pair that a method returns."""
    plan, frontier, nodes = counts.plan, counts.order.minimal(feasible), None
    if recoding:
        chosen = recoding.within
    if chosen.levels:
        nodes = [
            {"levels": counts.level_names(node.levels), "granularity": node.granularity}
            | {number: getattr(counts(node), number) for number in _stated(plan)}
            for node in frontier
        ]
    mappings, complete = counts.levels(chosen.levels), counts.rows == plan.relation.rows
    distinct = [column for column, table in mappings.items() if complete and _has_distinct_labels(table)]
    labels = {"distinct_labels": distinct} if mappings else {}
    if recoding:
        mappings, labels = mappings_of(counts, recoding), stated_steps(counts, recoding)
    sections = {
        "levels": counts.level_names(chosen.levels),
        **labels,
        "frontier": [node.granularity for node in frontier if node.levels == chosen.levels],
        "candidates": _candidates(counts, chosen),
    }
    facts: dict[str, Any] = {"people": counts.people, "tried": tried, "nodes": len(counts.order.nodes)}
    facts |= {"skipped": dict(plan.skipped), "read_at": plan.base.name}
    later: dict[str, Callable[[], Any]] = {}
    if counts.earlier:
        facts |= {"before": {**counts.earlier.facts, "waiting": counts(chosen).rows_waiting}}
    elif recoding is None and plan.parameters.may_have_steps:
        # A promise about values is tested at every gathering, which takes several times as long.
        most = COMPARED_ROWS // 4 if counts.guard else COMPARED_ROWS
        later["ways"] = partial(compare_ways, counts, chosen) if counts.rows <= most else dict
        # Few ask what another way would save; an engine other than memory is closed when they do.
        facts["ways"] = None if plan.parameters.engine == "memory" else later.pop("ways")()
    if recoding and recoding.decoys:
        facts["decoys"] = recoding.decoys
    return _pair(plan, plan.named or chosen.granularity, mappings, published, sections, facts, nodes, later)


def _has_distinct_labels(level: pa.Table) -> bool:
    """Whether no label is spelt like a value, except for that value alone; fractions have many spellings."""
    labels, values = level["published"].to_pylist(), level["value"].to_pylist()
    texts, holders = [None if value is None else str(value) for value in values], Counter(labels)
    alike = [pair for pair in zip(texts, labels, strict=True) if pair[0] in holders]
    alone = all(text == label and holders[label] == 1 for text, label in alike)
    return alone and all(type(value) in (str, int, type(None)) for value in values)


def _empty(plan: Plan) -> tuple[Release, Ledger]:
    """No countable row came in: a release without rows keeps any promise."""
    relation, stepped = plan.relation, plan.parameters.recode != "global"
    entries = {"row": np.arange(relation.rows), "group": pa.nulls(relation.rows, pa.int32())}
    data = published_schema(relation, {}, stepped=stepped).empty_table()
    published = Published(data, pa.table(entries), rows=0, groups=0, smallest_group=0)
    candidate = {**dict.fromkeys(_stated(plan), 0), "feasible": True, "allowed": True, "aliases": []}
    steps: dict[str, Any] = {"steps": [], "definitions": []} if stepped else {}
    candidates = {g.name: dict(candidate) for g in plan.allowed}
    sections = {"levels": {}, **steps, "frontier": [], "candidates": candidates}
    return _pair(plan, plan.named or plan.allowed[0].name, {}, published, sections, {"people": 0})


def _pair(
    plan: Plan,
    label: str,
    levels: Levels,
    published: Published,
    sections: Mapping[str, Any],
    facts: Mapping[str, Any],
    nodes: list[dict[str, Any]] | None = None,
    later: Mapping[str, Callable[[], Any]] = MappingProxyType({}),
) -> tuple[Release, Ledger]:
    relation, parameters, promise = plan.relation, plan.parameters, plan.parameters.promise
    roles, axis = relation.roles, relation.clock
    steps = sections.get("steps")
    generalised = levels if steps is None else {column for step in steps for column in step["levels"]}
    schema = published_schema(relation, generalised, stepped=steps is not None)
    by_role = {"quasi": roles.quasi_columns, "keep": roles.keep, "sensitive": roles.sensitive}
    column_roles = [role for role, names in by_role.items() for _ in names]
    column_roles += ["time", "start", "end", "step"][: len(schema) - len(column_roles)]
    hint, withheld = "fill in missing people and times", relation.rows - published.rows
    if parameters.gaps == "suppress" and sections["candidates"][label]["rows_in_gaps"]:
        hint = f'move rows out of the gaps of `{label}` with {{gaps="next"}}'
    refuse_loss(parameters, withheld, relation.rows, "rows", hint)
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
        **({"durations": relation.durations} if relation.durations else {}),
        "parameters": {**parameters.as_stated(), "granularities": plan.limited_to},
        **sections,
        "counts": {
            **{name: getattr(published, name) for name in ("rows", "groups", "smallest_group")},
            "withheld": withheld,
            "rows_read": relation.rows,
        },
        **({} if nodes is None else {"nodes": nodes}),
    }
    calendar = {g.name: g.as_dict() for g in (plan.base, *plan.allowed)}
    run = {
        "parameters": manifest["parameters"],
        "calendar": {name: calendar[name] for name in sections["candidates"]},
        "granularity": label,
        "levels": sections["levels"],
        "combinations": nodes,
        **({} if steps is None else {"steps": steps}),
    }
    if parameters.after:
        run["after"] = [earlier.fingerprint for earlier in parameters.after]
    facts = {**facts, **run, "dropped": list(relation.dropped), **relation.exceptions}
    after = tuple(parameters.after)
    ledger = Ledger("time", published.entries, relation, levels, Facts(facts, later), after)
    return Release(promise, manifest, {"data": published.data}), ledger


def _candidates(counts: Counts, chosen: Node) -> dict[str, dict[str, Any]]:
    """Every granularity that may be chosen, and the base, at the chosen levels."""
    order = counts.order
    allowed, base = [g.name for g in counts.plan.allowed], counts.plan.base.name
    candidates: dict[str, dict[str, Any]] = {}
    for name in allowed if base in allowed else [base, *allowed]:
        counted_as = order.representative(name) if name in allowed else name
        tally = counts(Node(chosen.levels, counted_as))
        is_safe = tally.smallest_group >= counts.k and not tally.rows_short
        candidates[name] = {number: getattr(tally, number) for number in _stated(counts.plan)} | {
            # Granularities may group the data alike, and yet one moves rows out of its gaps.
            "rows_in_gaps": counts.events.rows_in_gaps(counts.plan.timeline, counts.plan.by_name(name)),
            "feasible": counts.is_feasible(Node(chosen.levels, counted_as)) if name in allowed else is_safe,
            "allowed": name in allowed,
            "aliases": order.aliases.get(name, []),
        }
    return candidates


def _stated(plan: Plan) -> tuple[str, ...]:
    """The numbers that are stated of every candidate."""
    promise, waiting = plan.parameters.promise, ("rows_waiting",) * plan.parameters.append
    return (*_STATED, *_SHORT, *waiting) if promise.further or promise.after else _STATED
