"""`python -m benchmarks.experiments.series`: what publishing series costs, and what a release still answers.

Reruns the experiments of Shou et al. 2013, section 7, with the methods beyond the paper beside the paper's.
Writes `results/series.json`, the tables of `docs/explanation/series-experiments.md` and its pictures. The
public data sets are given by path and are not part of the project; without them their results stay.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import timeveil as tv
from benchmarks.experiments.series_collusion import collusion
from benchmarks.experiments.series_customized import costs, customized
from benchmarks.experiments.series_methods import METHODS
from benchmarks.experiments.series_runs import efforts, front, losses, of_walk, suppressed, sweep, timed
from benchmarks.experiments.series_sources import READERS, SHOTS, Source, generated, matrix_of
from benchmarks.experiments.series_tables import FEW
from benchmarks.experiments.stream import written
from benchmarks.generated import uniform
from timeveil.models.series.method.partition import Matrix

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "series.json"
TARGETS = ("Walk, seed 7", "Walk, given")
"""Walks on which only losses are measured."""
LARGE = "Motion, large"
COLLUSION = ("Walk", "Motion by channel, moving", "ICU")
CUSTOMIZED = {"Walk": 6_553, "Motion by channel, moving": 2_500, "CDNOW": 2_500}
"""Series of customised releases: all of Walk, which is the set of the paper, and samples of two others."""
ESTIMATING = ("KAPRA", "adaptive 50")
TIMED = ("Uniform", LARGE)
SIZES = (1_000, 10_000, 20_000, 50_000, 100_000)
EVERY_METHOD = ("Walk",)
"""Sets on which every method is run at every k and P; on the others, those of `series_tables.FEW` are."""
LONG = {"Walk, given": ((2.2, 40),)}
FRONTS = ("Walk", *TARGETS, "Motion by channel, moving", "ICU", "CDNOW")
PARTS = (
    *("losses", "suppressed", "sweep", "customized", "timed", "estimating"),
    *("collusion", "front", "efforts", "walk"),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments.series", description=__doc__)
    for name in READERS:
        parser.add_argument(f"--{name.replace('_', '-')}", type=Path, help=f"Parquet file of {name}")
    parser.add_argument("--questions", type=int, default=10_000, help="questions of each kind")
    parser.add_argument("--draws", type=int, default=10, help="selections of instants of customised releases")
    parser.add_argument("--sets", nargs="+", help="names of the sets to run, all by default")
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=PARTS, help="what to run, all by default"
    )
    parser.add_argument(
        "--draw-only", action="store_true", help="tables and pictures from the results there are"
    )
    arguments = parser.parse_args()
    if not arguments.draw_only:
        sources = [
            source
            for source in generated() + real(arguments)
            if arguments.sets is None or source.name in arguments.sets
        ]
        if arguments.sets:
            sources.sort(key=lambda source: arguments.sets.index(source.name))
        run(sources, RESULTS, arguments.questions, arguments.draws, arguments.parts)
    show()


def run(
    sources: Sequence[Source], results: Path, questions: int, draws: int, parts: Sequence[str] = PARTS
) -> None:
    """All experiments; every part of a data set is written as soon as it ends, over what was there."""
    begin = time.process_time()
    for source in sources:
        entry = {**described(source), **_before(results).get(source.name, {})}
        for part, measured in study(source, entry, questions, draws, parts):
            entry |= {**measured, "tool": tv.__version__}
            results.write_text(written({"sets": {**_before(results), source.name: entry}}), encoding="utf-8")
            print(f"{time.process_time() - begin:7.1f} s  {source.name}: {part}", flush=True)


def _before(results: Path) -> dict[str, Any]:
    """What there is of each data set."""
    sets: dict[str, Any] = json.loads(results.read_text("utf-8"))["sets"] if results.exists() else {}
    return sets


def described(source: Source) -> dict[str, Any]:
    flat = source.matrix.max(axis=1) == source.matrix.min(axis=1)
    instants = source.matrix.shape[1]
    sizes = {"series": len(source.matrix), "instants": instants, "constant": int(flat.sum())}
    return {"words": source.words, **sizes}


def study(
    source: Source, entry: dict[str, Any], questions: int, draws: int, parts: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The parts that are asked for and that this data set has, one after the other, each as it ends.

    `entry` is what there is of the data set: the losses in it are those at k = 10 and P = 5 of the sweep.
    """
    name, matrix = source.name, source.matrix
    swept = name not in (*TARGETS, LARGE)
    asked = {"asked": len(matrix), "questions": questions}
    having: dict[str, tuple[bool, Callable[[], Iterator[dict[str, Any]]]]] = {
        "losses": (name != LARGE, lambda: iter([{"losses": losses(source)}])),
        "suppressed": (swept, lambda: iter([{"suppressed": suppressed(matrix)}])),
        "sweep": (swept, lambda: iter([{**asked, "sweep": _swept(source, questions, entry)}])),
        "customized": (name in CUSTOMIZED, lambda: _customized(source, questions, draws)),
        "timed": (name in TIMED, lambda: _timed(source)),
        "estimating": (name in TIMED, lambda: iter([{"estimating": costs(_many(source), SIZES[1:])}])),
        "collusion": (name in COLLUSION, lambda: iter([{"collusion": collusion(matrix)}])),
        "front": (name in FRONTS, lambda: iter([{"front": front(matrix)}])),
        "efforts": (name in FRONTS, lambda: iter([{"efforts": efforts(matrix, LONG.get(name, ()))}])),
        "walk": (name in TARGETS, lambda: iter([{"walk": of_walk(matrix)}])),
    }
    for part in PARTS:
        has, measure = having[part]
        for measured in measure() if has and part in parts else ():
            yield part, measured


def _swept(source: Source, questions: int, entry: dict[str, Any]) -> list[dict[str, Any]]:
    methods = tuple(METHODS) if source.name in EVERY_METHOD else FEW
    symbols = source.name.endswith("String")
    return sweep(source.matrix, questions, symbols=symbols, methods=methods, known=entry.get("losses"))


def _customized(source: Source, questions: int, draws: int) -> Iterator[dict[str, Any]]:
    matrix, rows = source.sample(CUSTOMIZED[source.name]), dict[str, Any]()
    size = {"series": len(matrix), "questions": questions, "selections": draws}
    for method in ESTIMATING:
        rows |= customized(matrix, questions, draws, (method,))
        yield {"customized_at": size, "customized": dict(rows)}


def _timed(source: Source) -> Iterator[dict[str, Any]]:
    rows = []
    for row in timed(_many(source), SIZES):
        rows.append(row)
        yield {"timed": list(rows)}


def _many(source: Source) -> Matrix:
    """As many series as the largest size asks for."""
    return matrix_of(uniform(max(SIZES)), SHOTS) if source.name == "Uniform" else source.matrix


def real(arguments: argparse.Namespace) -> list[Source]:
    found: list[Source] = []
    for name, sources in READERS.items():
        path = getattr(arguments, name)
        if path is not None and path.exists():
            found += sources(path)
        elif path is not None:
            print(f"{path} is not there: skipped")
    return found


def show() -> None:
    from benchmarks.experiments.series_pictures import draw
    from benchmarks.experiments.series_tables import fill

    results = json.loads(RESULTS.read_text("utf-8"))
    fill(results)
    draw(results)


if __name__ == "__main__":
    main()
