"""`python -m benchmarks.experiments.packets`: what closed packets cost, and what they keep from whom.

Writes `results/packets.json`, the tables of `docs/explanation/packets-experiments.md` and its pictures. Two
public data sets are given by path and are not part of the project; without them their results stay.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

import timeveil as tv
from benchmarks.experiments.stream import real, written
from benchmarks.experiments.streams import DRAWN, Setting, Source, drawn
from timeveil.evidence.risk import Posterior

RESULTS = Path(__file__).resolve().parent / "results" / "packets.json"
RECORDS = 40_000
SEED = 1
QUIET = {"window": 14, "spread": 6, "fillers": 8}
PLAIN: dict[str, dict[str, Any]] = {"plain": {}, "filler": {"filler": "always"}, "jitter": {"jitter": 2}}
FIFTY = Setting(records=50, values=50, exponent=1.0)
SETTINGS = {
    "50 records": (4, 7, "50 records a slot, 50 values", FIFTY),
    "100 records": (4, 7, "100 records a slot, 50 values", Setting(records=100, values=50, exponent=1.0)),
    "20 records": (4, 14, "20 records a slot, 50 values", Setting(records=20, values=50, exponent=1.0)),
    "l = 3": (3, 7, "50 records a slot, 50 values, l of 3", FIFTY),
    "l = 10": (10, 7, "50 records a slot, 50 values, l of 10", Setting(records=50, values=50, exponent=0.4)),
    "too common": (4, 7, "50 records a slot, 20 values, one above 1 in 4", Setting(50, 20, 1.2)),
}
WANTED = {"CHOP, clinic": 3, "Ebola, district": 3, "Ebola, district by week": 3}
"""Public streams with values enough, and the l they are published with: packets need one of 3 or more."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments.packets", description=__doc__)
    parser.add_argument("--chop", type=Path, help="Parquet file of the CHOP COVID-19 tests")
    parser.add_argument("--ebola", type=Path, help="Parquet file of the Ebola cases of Sierra Leone")
    parser.add_argument("--records", type=int, default=RECORDS, help="records of each generated stream")
    parser.add_argument("--questions", type=int, default=1000, help="windows asked for, per length")
    parser.add_argument(
        "--draw-only", action="store_true", help="tables and pictures from the results there are"
    )
    arguments = parser.parse_args()
    if not arguments.draw_only:
        sources = [*generated(arguments.records), *public(real(arguments))]
        RESULTS.write_text(
            written(merged(run(sources, arguments.records, arguments.questions))), encoding="utf-8"
        )
    show()


def generated(records: int) -> list[tuple[Source, int]]:
    """Generated streams of so many records, each with its window."""
    return [
        (Source(name, words, l, DRAWN, partial(drawn, setting, records // setting.records, SEED)), window)
        for name, (l, window, words, setting) in SETTINGS.items()
    ]


def public(sources: Iterable[Source]) -> list[tuple[Source, int]]:
    """Those of the public streams that have values enough, with an l for packets."""
    return [
        (Source(one.name, one.words, WANTED[one.name], one.roles, one.table, one.slot), 7)
        for one in sources
        if one.name in WANTED
    ]


def run(sources: list[tuple[Source, int]], records: int, questions: int) -> dict[str, Any]:
    """All experiments."""
    begin = time.perf_counter()
    found: dict[str, Any] = {
        "tool": tv.__version__,
        "generated_records": records,
        "questions": questions,
        "streams": {},
    }
    for source, window in sources:
        found["streams"][source.name] = study(source, window, questions)
        print(f"{time.perf_counter() - begin:6.1f} s  {source.name}", flush=True)
    return found


def study(source: Source, window: int, questions: int) -> dict[str, Any]:
    """One stream, published in every way; `questions` windows of each length are asked for."""
    table = source.table()
    found = {
        name: way(source, table, {"window": window, **given}, questions)
        for name, given in ways(source.l).items()
    }
    return {
        "words": source.words,
        "l": source.l,
        "window": window,
        "records": table.num_rows,
        **found["plain"].pop("stream"),
        "ways": {name: {k: v for k, v in one.items() if k != "stream"} for name, one in found.items()},
    }


def ways(l: int) -> dict[str, dict[str, Any]]:
    """How a stream is published: by the paper's method, with its options, and in packets of several sizes."""
    sizes = [l - 1] if l == 3 else [l - 1, l // 2]
    packets: dict[str, dict[str, Any]] = {f"packets of {size}": {"protect_slot": size} for size in sizes}
    return {**PLAIN, **packets, f"quiet, packets of {l - 1}": {"protect_slot": l - 1, **QUIET}}


def way(source: Source, table: pa.Table, given: dict[str, Any], questions: int) -> dict[str, Any]:
    """One way to publish: its cost, its answers, and what is learned by whoever knows the true slot."""
    release, ledger = tv.publish_stream(
        table, source.roles, l=source.l, slot=source.slot, seed=SEED, allow_loss=True, **given
    )
    assert tv.verify(release, ledger), f"{source.name}: the release does not hold"
    loss = tv.measure(release, ledger, windows=questions)
    assert isinstance(loss, tv.StreamLoss)
    knows = tv.attack(release, ledger, tv.StreamAdversary("true-slot"))
    size = given.get("protect_slot", source.l - 1)
    return {
        "withheld": round(loss.suppressed_share, 5),
        "moved": round(loss.moved_share, 5),
        "delay": round(loss.mean_distance * loss.moved / max(loss.rows, 1), 4),
        "errors": [round(error.release, 4) for error in loss.window_errors],
        "size": size,
        "everyone": told(knows.after, source.l, size, knows.people),
        "parts": {name: told(part, source.l, size, knows.people) for name, part in knows.parts.items()},
        "packets": None if loss.packets is None else packets_of(loss),
        "stream": {
            "slots": loss.slots,
            "largest_share": round(loss.largest_share, 4),
            "not_eligible": round(loss.slots_not_eligible / loss.slots, 4),
            "merge_width": round(loss.merge_width, 2) or None,
            "merge": [None if error.merge is None else round(error.merge, 4) for error in loss.window_errors],
        },
    }


def told(part: Posterior, l: int, size: int, people: int) -> dict[str, Any]:
    """Chances given to true values, as plain numbers; None where there is nobody."""
    there = bool(part.people)
    return {
        "people": round(part.people / max(people, 1), 5),
        "mean": round(part.mean, 4) if there else None,
        "worst": round(part.worst, 4) if there else None,
        "above_l": round(part.share_above(1 / l), 4) if there else None,
        "above_size": round(part.share_above(1 / size), 4) if there else None,
    }


def packets_of(loss: tv.StreamLoss) -> dict[str, Any]:
    """Packets, and how many records left their slot beside how many must."""
    found, records = loss.packets, loss.rows + loss.suppressed
    assert found is not None
    return {
        "mean_size": round(found.mean_size, 3),
        "below": round(found.records_below / records, 5),
        "left": round(found.left / records, 5),
        "least": round(found.least / records, 5),
    }


def merged(found: dict[str, Any]) -> dict[str, Any]:
    """New results over those there are, so that public data that was not given keeps its own."""
    before = json.loads(RESULTS.read_text("utf-8"))["streams"] if RESULTS.exists() else {}
    return {**found, "streams": {**before, **found["streams"]}}


def show() -> None:
    from benchmarks.experiments.packets_pictures import draw
    from benchmarks.experiments.packets_tables import fill

    results = json.loads(RESULTS.read_text("utf-8"))
    fill(results)
    draw(results)


if __name__ == "__main__":
    main()
