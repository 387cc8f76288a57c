"""`python -m benchmarks.experiments.series`: what publishing series costs, and what a release still answers.

Reruns the experiments of Shou et al. 2013, section 7, with the methods beyond the paper beside the paper's.
Writes `results/series.json`, the tables of `docs/explanation/series-experiments.md` and its pictures. The
public data sets are given by path and are not part of the project; without them their results stay.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import timeveil as tv
from benchmarks.experiments.series_collusion import collusion
from benchmarks.experiments.series_customized import costs, customized
from benchmarks.experiments.series_runs import efforts, front, losses, of_walk, suppressed, sweep, timed
from benchmarks.experiments.series_sources import READERS, Source, generated
from benchmarks.experiments.stream import written
from timeveil.datasets import uniform

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "series.json"
TARGETS = ("Walk, seed 7", "Walk, given")
COLLUSION = ("Walk", "Motion by channel, moving", "ICU")
CUSTOMIZED = ("Walk", "Motion by channel, moving", "CDNOW")
TIMED = {"Uniform": (1_000, 4_000, 16_000, 64_000), "Motion by channel": (1_000, 4_000, 20_352)}
LONG = {"Walk, given": ((2.2, 40),)}
FRONTS = ("Walk", *TARGETS, "Motion by channel, moving", "ICU", "CDNOW")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments.series", description=__doc__)
    for name in READERS:
        parser.add_argument(f"--{name.replace('_', '-')}", type=Path, help=f"Parquet file of {name}")
    parser.add_argument("--sample", type=int, default=2500, help="series in each sweep over k and P")
    parser.add_argument("--questions", type=int, default=2000, help="questions of each kind")
    parser.add_argument(
        "--draw-only", action="store_true", help="tables and pictures from the results there are"
    )
    parser.add_argument(
        "--losses-only", action="store_true", help="losses, shape weights and collusion; the rest stays"
    )
    arguments = parser.parse_args()
    if not arguments.draw_only:
        sources = generated() + real(arguments)
        run(sources, arguments.sample, arguments.questions, RESULTS, short=arguments.losses_only)
    show()


def run(
    sources: list[Source], sample: int, questions: int, results: Path, draws: int = 3, *, short: bool = False
) -> None:
    """All experiments; what is found is written after each data set, over what was there."""
    begin = time.process_time()
    for source in sources:
        before = json.loads(results.read_text("utf-8")) if results.exists() else {"sets": {}}
        found = basics(source) if short else study(source, sample, questions, draws)
        if short:
            found = {**before["sets"].get(source.name, {}), **found}
        about = {"tool": tv.__version__, "sample": sample, "questions": questions, "draws": draws}
        whole = {**about, "sets": {**before["sets"], source.name: found}}
        results.write_text(written(whole), encoding="utf-8")
        print(f"{time.process_time() - begin:6.1f} s  {source.name}", flush=True)


def basics(source: Source) -> dict[str, Any]:
    """What all series lose, by method, by shape weight and by effort, and what P - 1 of P find out."""
    found: dict[str, Any] = {
        "words": source.words,
        "series": len(source.matrix),
        "instants": source.matrix.shape[1],
        "constant": int((source.matrix.max(axis=1) == source.matrix.min(axis=1)).sum()),
        "losses": losses(source),
    }
    if source.name in FRONTS:
        found["front"] = front(source.matrix)
        found["efforts"] = efforts(source.matrix, LONG.get(source.name, ()))
    if source.name in TARGETS:
        found["walk"] = of_walk(source.matrix)
    if source.name in COLLUSION:
        found["collusion"] = collusion(source.matrix)
    return found


def study(source: Source, sample: int, questions: int, draws: int) -> dict[str, Any]:
    """Everything about one data set."""
    found = basics(source)
    if source.name in TARGETS:
        return found
    some = source.sample(sample)
    found["suppressed"] = suppressed(source.matrix)
    found["sweep"] = sweep(some, questions, symbols=source.name.endswith("String"))
    if source.name in CUSTOMIZED:
        found["customized"] = customized(some, questions, draws)
    if source.name in TIMED:
        matrix = uniform(max(TIMED["Uniform"])) if source.name == "Uniform" else None
        found["timed"] = timed(_numbers(matrix) if matrix else source.matrix, TIMED[source.name])
        found["estimating"] = costs(source.matrix, (1_000, 4_000, 16_000))
    return found


def _numbers(table: Any) -> Any:
    from benchmarks.experiments.series_sources import SHOTS, matrix_of

    return matrix_of(table, SHOTS)


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
