"""From sanitized counts to a release and its ledger.

Patterns stand in the order of their length and then of their items, which tells nothing of how rows came in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.domain.version import TOOL
from timeveil.models.patterns.method.channels import Channels
from timeveil.models.patterns.method.explaining import Groups, groups_of, told
from timeveil.models.patterns.method.family import Family
from timeveil.models.patterns.method.sanitizing import Virtual
from timeveil.models.patterns.method.settings import Settings
from timeveil.models.patterns.method.sources import Source
from timeveil.models.patterns.method.transactions import Ints, Sets, Transactions, as_lists, chosen


@dataclass(frozen=True, slots=True)
class Sanitized:
    """Patterns before and after, what small groups there were, and what was done about them."""

    before: Family
    after: Family
    channels: Channels
    virtual: Virtual
    gone: NDArray[np.bool_] | None = None
    rounds: int = 1


def assemble(
    settings: Settings, source: Source, rows: Transactions, least: int, done: Sanitized
) -> tuple[Release, Ledger]:
    """The pair that a method returns."""
    shown = np.arange(len(done.after.item))
    if settings.published == "closed":
        closed = done.after.closed()
        closed[0] = True  # the empty pattern tells how many people there are
        shown = np.flatnonzero(closed)
    data = pattern_table(done.after, shown, rows.names)
    promise = replace(settings.promise, counts_alone=source.instants is not None and not settings.structural)
    manifest = {**_manifest(settings, source, least), "guarantee": promise.as_dict()}
    manifest["counts"] = {
        "patterns": data.num_rows,
        "transactions": int(done.after.support[0]),
        "virtual": done.virtual.total,
    }
    groups = groups_of(done.channels)
    mappings = {
        "virtual": pa.table(
            {
                "pattern": as_lists(done.virtual.sets, rows.names),
                "copies": pa.array(done.virtual.copies, pa.int64()),
            }
        ),
        "channels": told(groups, done.channels, rows.names),
    }
    ledger = Ledger(
        "patterns", _entries(source, done.gone), source.relation, mappings, _facts(source, rows, done, groups)
    )
    return Release(promise, manifest, {"data": data}), ledger


def pattern_table(family: Family, shown: Ints, names: tuple[str, ...]) -> pa.Table:
    """Some patterns of a family with their supports, in canonical order."""
    order = shown[_canonical(chosen(family.sets, shown))]
    return pa.table(
        {
            "pattern": as_lists(chosen(family.sets, order), names),
            "support": pa.array(family.support[order], pa.int64()),
        }
    )


def _canonical(sets: Sets) -> Ints:
    """Places of sets by length, then by items."""
    bounds, items = sets
    lengths = np.diff(bounds)
    padded = np.full((len(lengths), int(lengths.max(initial=0))), -1, np.int64)
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = items
    return np.lexsort([*reversed(padded.T), lengths])


def _manifest(settings: Settings, source: Source, least: int) -> dict[str, Any]:
    series = source.instants is not None
    structural = settings.structural and series
    return {
        "format": 1,
        "model": "patterns",
        "tool": TOOL,
        "guarantee": settings.promise.as_dict(),
        "patterns": {
            "kind": "series" if series else "baskets",
            "structural": structural,
            "symbols": settings.search.symbols if series else None,
            "center": source.center,
            "instants": None if source.instants is None else list(source.instants),
            "published": settings.published,
        },
        "columns": [
            {"name": "pattern", "role": "pattern", "type": "list<string>"},
            {"name": "support", "role": "support", "type": "int64"},
        ],
        "parameters": {
            "k": settings.promise.k,
            "min_support": least,
            "method": settings.method,
            "symbols": settings.search.symbols if series else None,
            "center": source.center,
            "structural": structural,
            "max_len": settings.search.max_len,
            "published": settings.published,
            "fill": settings.search.fill if series else None,
        },
    }


def _entries(source: Source, gone: NDArray[np.bool_] | None) -> pa.Table:
    """One row per input row: the number of its transaction, null where that is not counted."""
    number = np.arange(source.rows.rows + 1, dtype=np.int64)
    if gone is not None:
        number[:-1][gone] = -1
    number[-1] = -1
    found = number[source.row_of]
    return pa.table(
        {
            "row": pa.array(np.arange(len(found), dtype=np.int64)),
            "transaction": pa.array(found, mask=found < 0),
        }
    )


def _facts(source: Source, rows: Transactions, done: Sanitized, groups: Groups) -> dict[str, Any]:
    before, after = done.before, done.after
    same = np.arange(len(before.item))[1:] if len(before.item) == len(after.item) else None
    error = np.zeros(0) if same is None else (after.support[same] / before.support[same] - 1)
    return {
        "origin": source.origin,
        "transactions": rows.rows,
        "items": len(source.rows.names),
        "frequent_items": int(before.kids[0]),
        "patterns": len(before.item) - 1,
        "lost": len(before.item) - len(after.item),
        "changed": None if same is None else int(np.count_nonzero(error)),
        "mean_error": None if same is None else float(error.mean()),
        "worst_error": None if same is None else float(error.max()),
        "channels": len(groups),
        "cells": len(done.channels),
        "people_in_channels": int(groups.size.sum()),
        "mergers": len(done.virtual.copies),
        "virtual": done.virtual.total,
        "withheld": 0 if done.gone is None else int(np.count_nonzero(done.gone)),
        "rounds": done.rounds,
        "filled": source.filled,
        "left_out": source.left_out,
        "without_items": source.without_items,
        "source_p": source.shared,
        "dropped": list(source.relation.dropped),
    }
