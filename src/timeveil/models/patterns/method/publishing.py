"""Frequent patterns with counts from which no small group can be computed: the whole method.

Counts of patterns look harmless, but their differences can point at two people. All frequent patterns are
mined, every small group that their counts reveal is found, and counts are raised just enough that none is
left; or, for comparison, rows or patterns are left out instead.

Where we depart from the print
    Channels and their merging are defined (after Atzori et al. 2008); all frequent sets rise, not closed ones
    alone, and the empty one. For series what follows from one symbol at every instant is closed too.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.domain.guarantee import NoInferenceChannel
from timeveil.domain.lines import Decimal, Delimiter, refuse_loss
from timeveil.domain.release import Ledger, Release
from timeveil.domain.roles import Roles
from timeveil.domain.version import TOOL
from timeveil.domain.wording import Progress, counted, silent
from timeveil.errors import InfeasibleError, InputError, ParameterError
from timeveil.models.patterns.method import sanitizing
from timeveil.models.patterns.method.channels import listed, maximal_channels
from timeveil.models.patterns.method.family import mine_family
from timeveil.models.patterns.method.sanitizing import Sanitized
from timeveil.models.patterns.method.transactions import (
    Rows,
    Source,
    Transactions,
    read_source,
    refuse_same_people,
)
from timeveil.models.patterns.parameters import NOT_A_COUNT, PatternParameters, below_k
from timeveil.reading.risks import refuse_repetition

CAP = 5_000_000
"""Patterns at which the search stops with an error; combinations of symbols have a bound of their own."""
COLUMNS = {"pattern": "list<string>", "support": "int64"}
KINDS = ("frequent", "closed", "maximal")


def sanitize_patterns(
    source: Any,
    roles: Roles | None = None,
    *,
    k: int = 10,
    min_support: float = 0.01,
    method: str = "additive",
    symbols: int = 6,
    structural: bool = True,
    center: str = "mean",
    instants: Sequence[str] | None = None,
    max_len: int | None = None,
    published: str = "frequent",
    cap: int = CAP,
    fill: str | None = None,
    nulls: str = "error",
    repeats: str = "error",
    zone: str | None = None,
    unit: str | None = None,
    time_format: str | None = None,
    decimal: Decimal | None = None,
    delimiter: Delimiter | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    fold_spellings: bool = False,
    allow_loss: bool = False,
    beside: Release | None = None,
    after: Sequence[Ledger] = (),
    force: bool = False,
    engine: str = "memory",
    progress: Progress = silent,
) -> tuple[Release, Ledger]:
    """Publish frequent patterns so that no group of fewer than k people follows from counts of its items.

    `source` is a table of series or of transactions with its `roles`, or a series release. `min_support` is a
    share if below 1, else a number of people, and not below k. `"additive"` raises counts by virtual rows, k
    for each small group; `"tight"` by as few as suffice; `"clone"` by copies of real rows; `"least"` by those
    that change counts least, on small families; none of them loses a pattern. `"suppressive"` leaves rows
    out, `"itemset"` patterns. With `structural`, what follows from everybody having one symbol at every
    instant is closed too. `published` is `"frequent"` or `"closed"`. Of transactions, `nulls="drop"` leaves
    out rows without a person or an item, and `repeats="once"` counts an item once that a person has several
    times. `beside` is a series release of the same people: patterns are refused unless they are mined from it
    or `force` is set. `after` has ledgers of earlier releases, which are refused if they show the same
    people, unless `force` is set. With `engine="spark"` the source is a DataFrame of Spark, the name of a
    table or a path, and its rows are mined in the cluster.

    >>> import pyarrow as pa
    >>> rows = pa.table({"has": [["a", "b"], ["a", "b", "c", "d"], ["a", "d"], ["a", "d"], ["b", "c", "d"]]})
    >>> release, ledger = sanitize_patterns(rows, Roles(item="has"), k=2, min_support=2)
    >>> {"".join(row["pattern"]): row["support"] for row in release.table.to_pylist()}["ab"]
    4
    """
    parameters = PatternParameters.from_call(locals())
    progress("reading", 0.0)
    if parameters.engine == "spark":
        from timeveil.models.patterns.method import in_spark  # noqa: PLC0415 - only who asks for it needs it

        people = in_spark.read_in_spark(source, roles, parameters.as_arguments())
    else:
        people = read_source(source, roles, parameters.as_arguments())
    refuse_repetition(people.relation, parameters)
    if beside is not None and not force:
        refuse_same_people(source, beside)
    least = least_support(parameters.min_support, people.rows.rows, parameters.k)
    rows = people.rows.frequent(least)
    progress("mining", 0.1)
    counts = sanitized(rows, parameters, least, progress)
    progress("publishing", 0.9)
    pair = _assemble(parameters, people, rows, least, counts)
    progress("done", 1.0)
    return pair


def sanitized(
    rows: Rows, parameters: PatternParameters, least: int, progress: Progress = silent
) -> Sanitized:
    """Mine, find the channels, and close them by the chosen method."""
    k, cap, method = parameters.k, parameters.cap, parameters.method
    _require_frequent(rows, least, k)
    longest = parameters.max_len or rows.instants
    mining: Any = partial(mine_family, least=least, longest=longest, most=cap)
    find = partial(maximal_channels, k=k, most=cap, structural=parameters.structural)
    before = mining(rows) if isinstance(rows, Transactions) else rows.mined(least, longest, cap)
    progress("finding small groups", 0.4)
    channels = find(before)
    progress("closing them", 0.6)
    table: Any = rows  # methods that need its rows are refused in a cluster
    if method == "suppressive":
        return sanitizing.suppress_rows(table, channels, mining, find, k)
    if method == "itemset":
        return sanitizing.suppress_patterns(channels, find)
    needs_rows = {"rows": table} if method == "clone" else {}
    virtual = getattr(sanitizing, method)(channels, k, **needs_rows)
    return Sanitized(channels, sanitizing.raised(before, virtual), virtual)


def mine(
    source: Any,
    roles: Roles | None = None,
    *,
    min_support: float = 0.01,
    kind: str = "frequent",
    symbols: int = 6,
    center: str = "mean",
    instants: Sequence[str] | None = None,
    max_len: int | None = None,
    cap: int = CAP,
    fill: str | None = None,
    nulls: str = "error",
    repeats: str = "error",
    zone: str | None = None,
    unit: str | None = None,
    time_format: str | None = None,
    decimal: Decimal | None = None,
    delimiter: Delimiter | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    fold_spellings: bool = False,
) -> pa.Table:
    """Mine frequent, closed or maximal patterns with exact supports. They promise nothing: keep them private.

    `kind` is `"frequent"`; `"closed"`, patterns that no longer one has the support of; or `"maximal"`, those
    that are part of no longer one. The other parameters are those of `sanitize_patterns`.

    >>> table = pa.table({"has": [["tea", "milk"], ["tea"], ["tea", "milk"]]})
    >>> mine(table, Roles(item="has"), min_support=2, kind="maximal").to_pylist()
    [{'pattern': ['milk', 'tea'], 'support': 2}]
    """
    if kind not in KINDS:
        raise ParameterError(f"`kind` must be one of {', '.join(KINDS)}", hint=f'use {{kind="{KINDS[0]}"}}')
    arguments = locals()
    lines = PatternParameters.table().items()
    values = {name: line.check(arguments[name]) for name, line in lines if name in arguments}
    rows: Any = read_source(source, roles, values).rows
    least = as_count(values["min_support"], rows.rows)
    rows = rows.frequent(least)
    _require_frequent(rows, least, 1)
    family = mine_family(rows, least, values["max_len"] or rows.instants, values["cap"])
    chosen = np.ones(len(family), np.bool_)
    if kind != "frequent":
        chosen = family.closed() if kind == "closed" else family.maximal
    return family.table(chosen, rows.names)


def least_support(min_support: float, people: int, k: int) -> int:
    """The smallest support of a published pattern, as a number of people."""
    if people < k:
        few = counted(people, "person", "people")
        message = f"the table has {few}, and their number is published; k is {k}"
        hint = f"choose {{k}} of at most {people}" if people > 1 else "check that it is the right table"
        facts = {"people": people, "k": k, "best_k": people}
        raise InfeasibleError(message, hint=hint, code="too-few-people", facts=facts)
    least = as_count(min_support, people)
    if least < k:
        message, hint = below_k(least, k)
        raise ParameterError(message, hint=hint, facts={"min_support": least, "k": k})
    return least


def as_count(min_support: float, people: int) -> int:
    """A share of all as a number of people; a number stays."""
    if min_support < 1:
        return max(1, math.ceil(min_support * people - 1e-9))
    if min_support != int(min_support):
        message, hint = NOT_A_COUNT
        raise ParameterError(message, hint=hint)
    return int(min_support)


def _require_frequent(rows: Rows, least: int, k: int) -> None:
    if (largest := rows.largest) < least:
        lower = f"lower {{min_support}} to {largest:,} or less"
        message = f"no pattern has a support of {least:,}; the largest is {largest:,}"
        hint = lower if largest >= k else "check that it is the right table"
        facts = {"min_support": least, "largest": largest, "k": k}
        raise InputError(message, hint=hint, code="no-frequent-pattern", facts=facts)


def _assemble(
    parameters: PatternParameters, source: Source, rows: Rows, least: int, sanitized: Sanitized
) -> tuple[Release, Ledger]:
    after, virtual = sanitized.after, sanitized.virtual
    published = after.closed() if parameters.published == "closed" else np.ones(len(after), np.bool_)
    published[0] = True  # the empty pattern is the number of people
    facts = _facts(source, rows, sanitized)
    left_out, hint = facts["left_out"], 'leave nobody out with {method="additive"}'
    if left_out > facts["withheld"]:
        hint = 'fill in missing readings with {fill="linear"}'
    refuse_loss(parameters, facts["withheld"] + left_out, rows.rows + left_out, "people", hint)
    hint = "fill in people and items before reading"
    refuse_loss(parameters, facts.get("incomplete", 0), source.relation.rows, "rows", hint)
    data = after.table(published, rows.names)
    series = source.instants is not None
    weaker, fill = series and not parameters.structural, parameters.fill if series else None
    promise = NoInferenceChannel(parameters.k, counts_alone=weaker, rows=source.of_rows)
    described = {
        "structural": parameters.structural and series,
        "symbols": parameters.symbols if series else None,
        "center": source.center,
        "published": parameters.published,
    }
    manifest = {
        "format": 1,
        "model": "patterns",
        "tool": TOOL,
        "guarantee": promise.as_dict(),
        "patterns": {
            "kind": "series" if series else "baskets",
            "instants": None if source.instants is None else list(source.instants),
            **({"origin": "series release" if source.origin == "release" else "table"} if series else {}),
            **described,
        },
        "columns": [{"name": name, "role": name, "type": kind} for name, kind in COLUMNS.items()],
        "parameters": {**parameters.as_stated(), "min_support": least, "fill": fill, **described},
        "counts": {
            "patterns": data.num_rows,
            "transactions": int(after.support[0]),
            "virtual": virtual.total,
        },
    }
    added = pa.table({"pattern": virtual.sets.as_lists(rows.names), "copies": virtual.copies})
    tables = {"virtual": added, "channels": listed(sanitized.channels, rows.names)}
    facts = {"parameters": manifest["parameters"], **facts}
    ledger = Ledger("patterns", source.entries(sanitized.withheld), source.relation, tables, facts)
    return Release(promise, manifest, {"data": data}), ledger


def _facts(source: Source, rows: Rows, sanitized: Sanitized) -> dict[str, Any]:
    channels, after = sanitized.channels, sanitized.after
    before, groups = channels.published, channels.groups
    error = after.support[1:] / before.support[1:] - 1 if len(before) == len(after) else None
    return {
        "origin": source.origin,
        "transactions": rows.rows,
        "items": len(source.rows.names),
        "frequent_items": int(before.levels[2] - 1),
        "patterns": len(before) - 1,
        "lost": len(before) - len(after),
        "changed": None if error is None else int(np.count_nonzero(error)),
        "mean_error": None if error is None else float(error.mean()),
        "worst_error": None if error is None else float(error.max()),
        "channels": len(groups),
        "cells": len(channels),
        "people_in_channels": int(groups.size.sum()),
        "mergers": len(sanitized.virtual.copies),
        "virtual": sanitized.virtual.total,
        "withheld": 0 if sanitized.withheld is None else int(np.count_nonzero(sanitized.withheld)),
        "rounds": sanitized.rounds,
        **source.facts,
        "dropped": list(source.relation.dropped),
        **source.relation.exceptions,
    }
