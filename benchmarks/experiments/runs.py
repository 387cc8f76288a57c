"""Publish a stream in many ways and write down, as plain numbers, what each cost and what each tells."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import timeveil as tv
from benchmarks.experiments.optimum import offline, snapshots_of
from benchmarks.experiments.streams import DRAWN, SMALL, Setting, Source, drawn

WINDOW = 7
WINDOWS = range(1, 11)
UNBOUNDED = 10_000  # longer than any stream here
LONG = (WINDOW, 30, 100, UNBOUNDED)
FILLERS = ("never", "last_chance", "always")
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "filler last_chance": {"filler": "last_chance"},
    "filler always": {"filler": "always"},
    "jitter 1": {"jitter": 1},
    "jitter 2": {"jitter": 2},
    "filler always, jitter 2": {"filler": "always", "jitter": 2},
}
SLOT_SIZES = (5, 10, 20, 50, 100, 200)
SEED = 1


def study(source: Source, questions: int) -> dict[str, Any]:
    """Everything about one stream; `questions` is how many windows of each length are asked for."""
    table = source.table()
    release, ledger = publish(source, table, WINDOW)
    loss = measured(release, ledger, questions)
    alone = measured(*publish(source, table, 1), questions)
    return {
        "words": source.words,
        "l": source.l,
        "slot": source.slot if source.roles.time != "slot" else "number",
        "records": table.num_rows,
        "slots": loss.slots,
        "values": ledger.facts["values"],
        "largest_share": round(loss.largest_share, 4),
        "not_eligible": round(loss.slots_not_eligible / loss.slots, 4),
        "suppress_only": round(loss.suppress_only / table.num_rows, 4),
        "merge_width": round(loss.merge_width, 2) or None,
        "windows": [by_window(source, table, window) for window in WINDOWS],
        "long_windows": [long_window(source, table, window) for window in LONG],
        "distances": distances(ledger),
        "errors": errors(loss, alone),
        "options": {name: option(source, table, given, questions) for name, given in OPTIONS.items()},
        "again": again(release, ledger),
    }


def publish(source: Source, table: pa.Table, window: int, **given: Any) -> tuple[tv.Release, tv.Ledger]:
    """Publish with the experiments' seed, and stop if the release does not keep its promise."""
    release, ledger = tv.publish_stream(
        table, source.roles, l=source.l, window=window, slot=source.slot, seed=SEED, allow_loss=True, **given
    )
    assert tv.verify(release, ledger), f"{source.name}: the release does not hold"
    return release, ledger


def by_window(source: Source, table: pa.Table, window: int) -> dict[str, Any]:
    """What one width of the window costs, without and with filler."""
    found: dict[str, Any] = {"window": window}
    for filler in FILLERS:
        facts = publish(source, table, window, filler=filler)[1].facts
        found[filler] = {
            "withheld": round(facts["withheld"] / facts["rows"], 5),
            "moved": round(facts["moved"] / facts["rows"], 5),
            "mean_distance": round(facts["mean_distance"], 3),
        }
    return found


def long_window(source: Source, table: pa.Table, window: int) -> dict[str, Any]:
    """What a long window costs: the shares withheld and moved, and how far on average."""
    facts = publish(source, table, window)[1].facts
    shares = {name: round(facts[name] / facts["rows"], 5) for name in ("withheld", "moved")}
    return {"window": window, **shares, "mean_distance": round(facts["mean_distance"], 3)}


def measured(release: tv.Release, ledger: tv.Ledger, questions: int) -> tv.StreamLoss:
    loss = tv.measure(release, ledger, windows=questions)
    assert isinstance(loss, tv.StreamLoss)
    return loss


def distances(ledger: tv.Ledger) -> dict[str, float]:
    """Of the records that were moved, which share went by how many slots."""
    there = ledger.table.filter(pc.is_valid(ledger.table["slot"]))
    slot, origin = (_numbers(there[name]) for name in ("slot", "origin"))
    apart = (slot - origin)[slot > origin]
    counted = Counter(apart.tolist())
    return {str(step): round(counted[step] / len(apart), 4) for step in sorted(counted)}


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    """Slots as consecutive numbers: they are already, or are the labels of days or ISO weeks."""
    if pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy())
    labels = [text.as_py() for text in pc.unique(column.cast(pa.string()))]
    number = {text: _ordinal(text) for text in labels}
    return np.array([number[text] for text in column.cast(pa.string()).to_pylist()], dtype=np.int64)


def _ordinal(label: str) -> int:
    if "W" in label:
        return dt.date.fromisoformat(f"{label}-1").toordinal() // 7
    return dt.date.fromisoformat(label).toordinal()


def errors(loss: tv.StreamLoss, alone: tv.StreamLoss) -> list[dict[str, Any]]:
    """Mean relative errors of window counts, by length; `alone` moves nothing and makes the same buckets."""
    return [
        {
            "length": moving.length,
            "release": round(moving.release, 4),
            "withholding": round(still.release, 4),
            "merge": None if moving.merge is None else round(moving.merge, 4),
        }
        for moving, still in zip(loss.window_errors, alone.window_errors, strict=True)
    ]


def option(source: Source, table: pa.Table, given: dict[str, Any], questions: int) -> dict[str, Any]:
    """One way to publish: its cost, its answers, and what two adversaries learn."""
    release, ledger = publish(source, table, WINDOW, **given)
    loss = measured(release, ledger, questions)
    promised = tv.attack(release, ledger, tv.StreamAdversary("published-slot"))
    knows = tv.attack(release, ledger, tv.StreamAdversary("true-slot"))
    return {
        "withheld": round(loss.suppressed_share, 5),
        "moved": round(loss.moved_share, 5),
        "mean_distance": round(loss.mean_distance, 3),
        "errors": [round(error.release, 4) for error in loss.window_errors],
        "published_slot_worst": round(promised.worst, 4),
        "true_slot": {
            name: {
                "people": round(part.people / max(knows.people, 1), 5),
                "mean": round(part.mean, 4) if part.people else None,
                "worst": round(part.worst, 4) if part.people else None,
                "above": round(part.share_above(1 / source.l), 4) if part.people else None,
            }
            for name, part in knows.parts.items()
        },
    }


def again(release: tv.Release, ledger: tv.Ledger) -> dict[str, Any] | None:
    """People seen in several slots, and how many of those with one value are pinned down."""
    if ledger.original.roles.respondent is None:
        return None
    breach = tv.attack(release, ledger, tv.StreamAdversary("several-slots"))
    same = breach.parts["constant"]
    return {
        "people": round(same.people),
        "pinned": round(same.certain, 4) if same.people else None,
        "mean": round(same.mean, 4) if same.people else None,
    }


def eligibility(slots: int, levels: Sequence[int] = (2, 3, 4)) -> list[dict[str, Any]]:
    """The share of slots that are not l-eligible, by the size of a slot and by l."""
    found = []
    for records in SLOT_SIZES:
        table = drawn(Setting(records, SMALL.values, SMALL.exponent), slots, SEED)
        snapshots = [counts for counts in _counts(table) if counts]
        share = {
            str(l): round(sum(max(c.values()) * l > sum(c.values()) for c in snapshots) / len(snapshots), 4)
            for l in levels
        }
        found.append({"records": records, "not_eligible": share})
    return found


def against_optimum(streams: int, slots: int, widths: Sequence[int] = WINDOWS) -> list[dict[str, Any]]:
    """The publisher and the best in hindsight, summed over several short streams."""
    source = Source("short", "", 3, DRAWN, lambda: pa.table({}))
    tables = [drawn(SMALL, slots, seed) for seed in range(streams)]
    records = sum(table.num_rows for table in tables)
    found = []
    for window in widths:
        best = [offline(_counts(table), 3, window) for table in tables]
        row: dict[str, Any] = {
            "window": window,
            "proved": sum(one.proved for one in best),
            "optimum": {
                "loss": sum(one.information_loss for one in best),
                "withheld": round(sum(one.withheld for one in best) / records, 5),
                "moved": round(sum(one.moved for one in best) / records, 5),
            },
        }
        for filler in FILLERS:
            facts = [publish(source, table, window, filler=filler)[1].facts for table in tables]
            row[filler] = {
                "loss": sum(fact["information_loss"] for fact in facts),
                "withheld": round(sum(fact["withheld"] for fact in facts) / records, 5),
                "moved": round(sum(fact["moved"] for fact in facts) / records, 5),
            }
        found.append(row)
    return found


def _counts(table: pa.Table) -> list[dict[int, int]]:
    codes = table["value"].combine_chunks().dictionary_encode().indices.to_numpy()
    return snapshots_of(table["slot"].to_numpy(), codes)
