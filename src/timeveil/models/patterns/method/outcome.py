"""From sanitized counts to a release and its ledger.

Patterns are in the order of their length and then of their items, which is independent of the order of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.domain.guarantee import NoInferenceChannel
from timeveil.domain.release import Ledger, Release
from timeveil.domain.version import TOOL
from timeveil.models.patterns.method.channels import Channels
from timeveil.models.patterns.method.explaining import LedgerTables
from timeveil.models.patterns.method.family import Family
from timeveil.models.patterns.method.sanitizing import Virtual
from timeveil.models.patterns.method.sources import Source
from timeveil.models.patterns.method.transactions import Flags, Ints, Transactions
from timeveil.models.patterns.parameters import PatternParameters


@dataclass(frozen=True, slots=True)
class Sanitized:
    """Patterns before and after, the small groups among them, and what was done about those."""

    before: Family
    after: Family
    channels: Channels
    virtual: Virtual
    withheld: Flags | None = None
    rounds: int = 1


def assemble(
    parameters: PatternParameters, source: Source, rows: Transactions, least: int, sanitized: Sanitized
) -> tuple[Release, Ledger]:
    """The pair that a method returns."""
    published = np.arange(len(sanitized.after))
    if parameters.published == "closed":
        closed = sanitized.after.closed()
        closed[0] = True  # the empty pattern is the number of people
        published = np.flatnonzero(closed)
    data = pattern_table(sanitized.after, published, rows.names)
    series = source.instants is not None
    promise = NoInferenceChannel(parameters.k, counts_alone=series and not parameters.structural)
    counts = {
        "patterns": data.num_rows,
        "transactions": int(sanitized.after.support[0]),
        "virtual": sanitized.virtual.total,
    }
    manifest = {**_manifest(parameters, source, least, promise), "counts": counts}
    virtual = pa.table(
        {
            "pattern": sanitized.virtual.sets.as_lists(rows.names),
            "copies": pa.array(sanitized.virtual.copies, pa.int64()),
        }
    )
    ledger = Ledger(
        "patterns",
        _entries(source, sanitized.withheld),
        source.relation,
        LedgerTables(virtual, sanitized.channels, rows.names),
        _facts(source, rows, sanitized),
    )
    return Release(promise, manifest, {"data": data}), ledger


def pattern_table(family: Family, nodes: Ints, names: tuple[str, ...]) -> pa.Table:
    """Patterns of a family with their supports, by length and then by items."""
    sets = family.sets.take(nodes)
    order = np.lexsort([*sets.keys(len(names))[::-1], sets.lengths])
    return pa.table(
        {
            "pattern": sets.take(order).as_lists(names),
            "support": pa.array(family.support[nodes[order]], pa.int64()),
        }
    )


def _manifest(
    parameters: PatternParameters, source: Source, least: int, promise: NoInferenceChannel
) -> dict[str, Any]:
    series = source.instants is not None
    described = {
        "structural": parameters.structural and series,
        "symbols": parameters.symbols if series else None,
        "center": source.center,
        "published": parameters.published,
    }
    return {
        "format": 1,
        "model": "patterns",
        "tool": TOOL,
        "guarantee": promise.as_dict(),
        "patterns": {
            "kind": "series" if series else "baskets",
            "instants": None if source.instants is None else list(source.instants),
            **described,
        },
        "columns": [
            {"name": "pattern", "role": "pattern", "type": "list<string>"},
            {"name": "support", "role": "support", "type": "int64"},
        ],
        "parameters": {
            "k": parameters.k,
            "min_support": least,
            "method": parameters.method,
            "max_len": parameters.max_len,
            "fill": parameters.fill if series else None,
            **described,
        },
    }


def _entries(source: Source, withheld: Flags | None) -> pa.Table:
    """One row per input row: the number of its transaction, null where that is not counted."""
    number = np.arange(source.rows.rows + 1, dtype=np.int64)
    number[-1] = -1  # what `row_of` says of a row that was left out
    if withheld is not None:
        number[:-1][withheld] = -1
    transaction = number[source.row_of]
    return pa.table(
        {
            "row": pa.array(np.arange(len(transaction), dtype=np.int64)),
            "transaction": pa.array(transaction, mask=transaction < 0),
        }
    )


def _facts(source: Source, rows: Transactions, sanitized: Sanitized) -> dict[str, Any]:
    before, after, groups = sanitized.before, sanitized.after, sanitized.channels.groups
    error = None
    if len(before) == len(after):
        error = after.support[1:] / before.support[1:] - 1
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
        "cells": len(sanitized.channels),
        "people_in_channels": int(groups.size.sum()),
        "mergers": len(sanitized.virtual.copies),
        "virtual": sanitized.virtual.total,
        "withheld": 0 if sanitized.withheld is None else int(np.count_nonzero(sanitized.withheld)),
        "rounds": sanitized.rounds,
        "filled": source.filled,
        "left_out": source.left_out,
        "without_items": source.without_items,
        "source_p": source.shared,
        "dropped": list(source.relation.dropped),
    }
