"""Publish series in many ways and write down, as plain numbers, what each cost and what each tells."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import timeveil as tv
from benchmarks.experiments.series_annealing import annealed
from benchmarks.experiments.series_baselines import bfp2ka, tga
from benchmarks.experiments.series_judging import drawn_shapes, kept, pattern_loss, value_loss
from benchmarks.experiments.series_methods import (
    LEVEL,
    METHODS,
    PUBLIC,
    Published,
    applies,
    by_bfp2ka,
    by_tga,
    letters_of,
    seen,
    top_down,
)
from benchmarks.experiments.series_sources import Source
from timeveil.models.series.evidence import patterns_of
from timeveil.models.series.judges.measure import TOLERANCE, Outcome, Workload
from timeveil.models.series.method.adaptive import adaptive
from timeveil.models.series.method.paper import recycle, splitting_tree
from timeveil.models.series.method.partition import Matrix, Partition
from timeveil.symbols import positions, rounded_outward, z_normalised

K, P, DIGITS = 10, 5, 3
SETTINGS = ((10, 2), (10, 5), (10, 10), (5, 5), (20, 5), (50, 5), (20, 20))
EQUAL = tuple(setting for setting in SETTINGS if setting[0] == setting[1])
SUPPRESSING = (2, 5, 10, 20, 30, 40, 50, 100)
FRONT = (0, 0.5, 2, 5, 10, 20, 50, 100, 200, 1000)
EFFORTS = ((10, 0), (10, 1), (10, 3), (10, 10))
SEED = 1


def losses(source: Source) -> dict[str, Any]:
    """Every method at k = 10 and P = 5 on all series, by the public function, verified and judged."""
    return {name: _loss(source.matrix, given) for name, given in PUBLIC.items()}


def _loss(matrix: Matrix, given: dict[str, Any]) -> dict[str, Any]:
    instants = [f"t{place:03}" for place in range(matrix.shape[1])]
    table = pa.table(dict(zip(instants, matrix.T, strict=True)))
    roles = tv.Roles(series=instants)
    release, ledger = tv.anonymize_series(
        table, roles, k=K, p=P, round_outward=None, allow_loss=True, **given
    )
    assert tv.verify(release, ledger), "the release does not hold"
    published = release.table.combine_chunks().to_batches()[0]
    symbols, levels = patterns_of(published["pattern"], published["level"], len(instants))
    low, high = (
        np.column_stack([published[f"{name}_{end}"].to_numpy() for name in instants]) for end in ("lo", "hi")
    )
    place = _places(ledger)
    inside = place >= 0
    shape = drawn_shapes(symbols, levels)[_first_rows(published)[place[inside]]]
    return {
        "suppressed": int(len(matrix) - inside.sum()),
        "VL": _short(value_loss(low, high).mean()),
        "VL_rounded": _short(value_loss(*rounded_outward(low, high, DIGITS)).mean()),
        "PL": _short(pattern_loss(matrix[inside], shape).mean()),
    }


def _places(ledger: tv.Ledger) -> np.ndarray:
    """The cell of each series; cells are numbered as those of the release follow each other."""
    subgroup = np.asarray(ledger.table["subgroup"].fill_null(-1))
    numbers, place = np.unique(subgroup, return_inverse=True)
    return np.asarray(place) - int(numbers[0] < 0)


def _first_rows(published: pa.RecordBatch) -> np.ndarray:
    """The first row of each cell."""
    said = list(
        zip(*(published.column(name).to_pylist() for name in ("group", "pattern", "level")), strict=True)
    )
    return np.array([row for row in range(len(said)) if row == 0 or said[row] != said[row - 1]])


def front(matrix: Matrix) -> list[dict[str, Any]]:
    """Both losses of `adaptive` by its weight."""
    return [
        {"weight": weight, **_judged(matrix, adaptive(matrix, K, P, shape_weight=weight), K, P)}
        for weight in FRONT
    ]


def efforts(matrix: Matrix, more: Sequence[tuple[float, int]] = ()) -> list[dict[str, Any]]:
    """Both losses of `adaptive` by weight and effort, and the seconds of the processor it took."""
    found = []
    for weight, effort in (*EFFORTS, *more):
        begin = time.process_time()
        partition = adaptive(matrix, K, P, shape_weight=weight, effort=effort)
        seconds = _short(time.process_time() - begin)
        found.append(
            {"weight": weight, "effort": effort, "seconds": seconds, **_judged(matrix, partition, K, P)}
        )
    return found


def of_walk(matrix: Matrix) -> dict[str, float]:
    """The step of a walk, what envelopes of k cannot be narrower than, and Naive with top-down groups.

    Of k numbers within a width the squared distances of all pairs add up to k * k / 4 squared widths at most,
    and nobody is nearer to a series than its k - 1 nearest. Larger groups are wider.
    """
    from scipy.spatial import cKDTree

    near = cKDTree(matrix).query(matrix, k=K)[0] ** 2 / matrix.shape[1]
    judged = _judged(matrix, top_down(matrix, K, P), K, P)
    return {
        "step": _short(np.diff(matrix, axis=1).std()),
        "bound": _short(np.sqrt(2 / K * near.sum(axis=1)).mean()),
        "annealed_VL": _short(annealed(matrix, K)),
        "top_down_VL": judged["VL"],
        "top_down_PL": judged["PL"],
    }


def sweep(matrix: Matrix, questions: int, *, symbols: bool) -> list[dict[str, Any]]:
    """Every method over k and P; where both are the same, beside the baselines and with questions asked."""
    found = []
    for k, p in SETTINGS:
        row: dict[str, Any] = {"k": k, "p": p, "methods": {}}
        for name, method in (METHODS if k != p else {**METHODS, "Naive, top-down": top_down}).items():
            if not applies(name, p):
                continue
            partition = method(matrix, k, p)
            row["methods"][name] = _judged(matrix, partition, k, p)
            if k == p:
                row["methods"][name] |= asked(matrix, seen(matrix, partition), questions)
        if k == p:
            row["methods"]["TGA"] = _baseline(matrix, by_tga(matrix, k), questions)
        if k == p and symbols:
            row["methods"]["BFP2KA"] = _baseline(matrix, by_bfp2ka(matrix, k), questions)
        found.append(row)
    return found


def _judged(matrix: Matrix, partition: Partition, k: int, p: int) -> dict[str, Any]:
    assert kept(partition.group, partition.subgroup, k, p), "the partition does not hold"
    published = seen(matrix, partition)
    inside = published.run >= 0
    run = published.run[inside]
    low, high = published.low[run], published.high[run]
    assert ((matrix[inside] >= low) & (matrix[inside] <= high)).all()
    return {
        "VL": _short(value_loss(low, high).mean()),
        "PL": _short(pattern_loss(matrix[inside], published.shape[run]).mean()),
    }


def _baseline(matrix: Matrix, published: Published, questions: int) -> dict[str, Any]:
    """A baseline publishes single series: it has no envelopes."""
    lost = _short(pattern_loss(matrix, published.shape).mean())
    return {"VL": None, "PL": lost, **asked(matrix, published, questions)}


def asked(matrix: Matrix, published: Published, questions: int) -> dict[str, float | None]:
    """Mean errors and precision of questions of each kind, the same ones for every method."""
    inside = published.run >= 0
    own = float(pattern_loss(matrix[inside], published.shape[published.run[inside]]).mean())
    workload = Workload(matrix, published.shown())
    times = np.random.default_rng(SEED).uniform(1.0, 10.0, questions)
    one = np.full(questions, TOLERANCE)

    def draw() -> np.random.Generator:
        return np.random.default_rng(SEED)

    prq = workload.pattern_ranges(questions, draw())
    return {
        "psq_precision": precision(workload.similarities(own * times, draw())),
        "psq_precision_one": precision(same := workload.similarities(one, draw())),
        "psq_recall_one": recall(same),
        "prq_precision": precision(prq),
        "prq_error": _short(prq.errors().mean()),
        "range_error": _short(workload.ranges(questions, draw()).errors().mean()),
        "complex_error": _short(workload.complex(one, draw()).errors().mean()),
    }


def precision(found: Outcome) -> float | None:
    """Of what is told the share that is true, over questions with an answer."""
    assert found.hits is not None
    some = found.guess > 0
    return _short((found.hits[some] / found.guess[some]).mean()) if some.any() else None


def recall(found: Outcome) -> float:
    """Of what is true the share that is told."""
    assert found.hits is not None
    return _short((found.hits / np.maximum(found.truth, 1.0)).mean())


def suppressed(matrix: Matrix, sizes: Sequence[int] = SUPPRESSING) -> list[dict[str, int]]:
    """Table 4: how many series KAPRA leaves out, with and without recycling."""
    u = positions(z_normalised(matrix))
    found = []
    for p in sizes:
        tree = splitting_tree(u, np.zeros(len(u), np.int64), p, LEVEL)
        without = int(tree.undersized[tree.of].sum())
        found.append({"p": p, "without": without, "with": int((recycle(u, tree, p).of < 0).sum())})
    return found


def timed(matrix: Matrix, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Processor seconds by the number of series, k = P = 10; the slow ones as far as they go."""
    ways: dict[str, tuple[int, Callable[[Matrix], Any]]] = {
        name: (10**6, lambda some, method=method: method(some, 10, 10))  # type: ignore[misc]
        for name, method in METHODS.items()
        if name not in ("adaptive 2", "adaptive 200")
    }
    ways["adaptive 50, effort 0"] = (10**6, lambda some: adaptive(some, 10, 10, effort=0))
    ways["Naive, top-down"] = (8_000, lambda some: top_down(some, 10, 10))
    ways["TGA"] = (8_000, lambda some: tga(some, 10))
    ways["BFP2KA"] = (8_000, lambda some: bfp2ka(letters_of(some), 10))
    for _, way in ways.values():
        way(matrix[:200])
    found = []
    for size in sizes:
        some = np.ascontiguousarray(matrix[:size])
        spent = {name: _seconds(way, some) for name, (most, way) in ways.items() if size <= most}
        found.append({"rows": size, "seconds": spent})
    return found


def _seconds(way: Callable[[Matrix], Any], matrix: Matrix) -> float:
    begin = time.process_time()
    way(matrix)
    return _short(time.process_time() - begin)


def _short(number: Any) -> float:
    """Four significant digits."""
    return float(f"{number:.4g}")
