"""`python -m benchmarks.experiments.patterns`: what counts without small groups cost.

Sweeps how many times k the smallest support is, for every method, on a random walk and on public data that is
given by path and no part of the project; without it its results stay. Writes `results/patterns.json`, the
tables of `docs/explanation/patterns-experiments.md` and its pictures.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import timeveil as tv
from benchmarks.experiments.series_sources import SHOTS
from benchmarks.experiments.stream import written
from benchmarks.generated import walk
from timeveil.models.patterns.method import mine

RESULTS = Path(__file__).resolve().parent / "results" / "patterns.json"
METHODS = ("additive", "tight", "clone", "suppressive", "itemset")
RATIOS = (2, 5, 10, 20, 50)
K = 10
"""The k of the second sweep, as a custodian would set it."""
SERIES = tv.Roles(series=SHOTS, drop="rest")
ITEMS = tv.Roles(respondent="tid", item="item", drop="rest")


@dataclass(frozen=True, slots=True)
class Source:
    """A data set: its name, what it is, its rows, and what is asked of them.

    `share` is the smallest support of the first sweep; `short` limits the patterns of the second, where
    supports are far smaller.
    """

    name: str
    words: str
    table: pa.Table
    roles: tv.Roles
    share: float
    short: dict[str, Any] = field(default_factory=dict)

    @property
    def people(self) -> int:
        """How many transactions there are."""
        whose = self.roles.respondent
        return self.table.num_rows if whose is None else len(self.table[whose].unique())


def generated() -> list[Source]:
    return [Source("Walk", "pieces of one random walk", walk(), SERIES, 0.02)]


def motion(path: Path) -> Source:
    return Source("Motion", "windows of motion capture", pq.read_table(path), SERIES, 0.02)


def mushroom(path: Path) -> Source:
    words = "mushrooms and their features"
    return Source("mushroom", words, pq.read_table(path), ITEMS, 0.3, {"max_len": 3})


def chess(path: Path) -> Source:
    words = "ends of games and their features"
    return Source("chess", words, pq.read_table(path), ITEMS, 0.8, {"max_len": 3})


READERS: dict[str, Callable[[Path], Source]] = {"motion": motion, "mushroom": mushroom, "chess": chess}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments.patterns", description=__doc__)
    for name in READERS:
        parser.add_argument(f"--{name}", type=Path, help=f"Parquet file of {name}")
    parser.add_argument(
        "--draw-only", action="store_true", help="tables and pictures from the results there are"
    )
    arguments = parser.parse_args()
    if not arguments.draw_only:
        run(generated() + real(arguments), RESULTS)
    show()


def real(arguments: argparse.Namespace) -> list[Source]:
    """What was given by path and is there."""
    found = []
    for name, read in READERS.items():
        path = getattr(arguments, name)
        if path is not None and path.exists():
            found.append(read(path))
        elif path is not None:
            print(f"{path} is not there: skipped")
    return found


def run(sources: list[Source], results: Path) -> None:
    """All experiments; what is found is written after each data set, over what was there."""
    begin = time.perf_counter()
    for source in sources:
        found = study(source)
        before = json.loads(results.read_text("utf-8")) if results.exists() else {"sets": {}}
        whole = {"tool": tv.__version__, "k": K, "sets": {**before["sets"], source.name: found}}
        results.write_text(written(whole), encoding="utf-8")
        print(f"{time.perf_counter() - begin:6.1f} s  {source.name}", flush=True)


def study(source: Source) -> dict[str, Any]:
    """Everything about one data set."""
    least = round(source.share * source.people)
    found: dict[str, Any] = {
        "words": source.words,
        "people": source.people,
        "share": source.share,
        "min_support": least,
        "support_fixed": [sweep(source, least, max(2, round(least / ratio)), ratio) for ratio in RATIOS],
        "k_fixed": [sweep(source, ratio * K, K, ratio, **source.short) for ratio in RATIOS],
        "max_len": source.short.get("max_len"),
    }
    if source.roles.respondent is None:
        found["excluding"] = [excluding(source, ratio * K, ratio) for ratio in RATIOS]
        found["table"] = beside_a_table(source, least)
    return found


def sweep(source: Source, least: int, k: int, ratio: int, **how: Any) -> dict[str, Any]:
    """Every method at one support and one k."""
    truth = counts(mine(source.table, source.roles, min_support=least, **how))
    row: dict[str, Any] = {"ratio": ratio, "min_support": least, "k": k, "patterns": len(truth) - 1}
    for method in METHODS:
        row[method] = cost(source, truth, k=k, min_support=least, method=method, **how)
    return row


def cost(source: Source, truth: dict[tuple[str, ...], int], **how: Any) -> dict[str, Any] | None:
    """What one release costs; None where the method leaves no pattern."""
    try:
        release, ledger = tv.sanitize_patterns(source.table, source.roles, allow_loss=True, **how)
    except tv.InfeasibleError:
        return None
    assert tv.verify(release), f"{source.name}: the release does not hold"
    told = counts(release.table)
    kept = [items for items in truth if items and items in told]
    off = np.array([abs(told[items] / truth[items] - 1) for items in kept])
    lost = len(truth) - 1 - len(kept)
    return {
        "channels": ledger.facts["cells"],
        "changed": int(np.count_nonzero(off)),
        "lost": lost,
        "mean": round(float(off.sum() + lost) / (len(truth) - 1), 5),
        "worst": round(float(off.max(initial=0.0)), 4) if not lost else max(1.0, round(float(off.max()), 4)),
        "virtual": ledger.facts["virtual"],
        "withheld": ledger.facts["withheld"],
    }


def counts(table: pa.Table) -> dict[tuple[str, ...], int]:
    """Patterns and their supports."""
    pairs = zip(table["pattern"].to_pylist(), table["support"].to_pylist(), strict=True)
    return {tuple(items): support for items, support in pairs}


def excluding(source: Source, least: int, ratio: int) -> dict[str, Any]:
    """Small groups that are left where nobody thought of letters of one instant excluding each other."""
    release, ledger = tv.sanitize_patterns(
        source.table, source.roles, k=K, min_support=least, structural=False
    )
    manifest = dict(release.manifest)
    for part in ("patterns", "parameters"):
        manifest[part] = {**manifest[part], "structural": True}
    breach = tv.attack(
        tv.Release(release.guarantee, manifest, release.parts), ledger, tv.PatternAdversary(bounds=False)
    )
    assert isinstance(breach, tv.PatternBreach)
    return {"ratio": ratio, "before": breach.channels_before, "left": breach.channels_after}


def beside_a_table(source: Source, least: int) -> dict[str, Any]:
    """Counts of patterns, and the same counts read off envelopes and patterns of the same series."""
    release, ledger = tv.sanitize_patterns(source.table, source.roles, k=K, min_support=least)
    table, _ = tv.anonymize_series(source.table, source.roles, k=K, p=K // 2)
    loss = tv.measure(release, ledger, against=table)
    assert isinstance(loss, tv.PatternLoss)
    read = loss.alternative("series table")
    assert read is not None
    return {"patterns": round(loss.mean_error, 5), "table": round(read.mean_error, 5), "read": read.patterns}


def show() -> None:
    from benchmarks.experiments.pattern_tables import draw, fill

    results = json.loads(RESULTS.read_text("utf-8"))
    fill(results)
    draw(results)


if __name__ == "__main__":
    main()
