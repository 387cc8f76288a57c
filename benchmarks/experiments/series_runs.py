"""Publish series in many ways and write down, as plain numbers, what each cost and what each tells."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import timeveil as tv
from benchmarks.experiments.series_annealing import annealed
from benchmarks.experiments.series_asking import Answering, Questions, asked
from benchmarks.experiments.series_asking import short as _short
from benchmarks.experiments.series_baselines import bfp2ka, tga
from benchmarks.experiments.series_calls import adaptive
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
from timeveil.models.series.method.paper import recycle, splitting_tree
from timeveil.models.series.method.partition import Matrix, Partition
from timeveil.symbols import positions, rounded_outward, z_normalised

K, P, DIGITS = 10, 5, 3
SETTINGS = ((10, 2), (10, 5), (10, 10), (5, 5), (20, 5), (50, 5), (20, 20))
PAPER = ("Naive", "KAPRA")
COSTLY = ((20, 5), (50, 5), (20, 20))
"""Where a method beyond the paper is left out unless all are run."""
SUPPRESSING = (2, 5, 10, 20, 30, 40, 50, 100)
FRONT = (0, 0.5, 2, 5, 10, 20, 50, 100, 200, 1000)
EFFORTS = ((10, 0), (10, 1), (10, 3), (10, 10))
LONGEST = 900
"""Seconds beyond which a method is not run on more series, taking its time for quadratic in their number."""


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


def sweep(
    matrix: Matrix,
    questions: int,
    *,
    symbols: bool,
    methods: Sequence[str] = tuple(METHODS),
    known: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[dict[str, Any]]:
    """Some methods over k and P; where both are the same, beside the baselines and with questions asked.

    `known` are the losses at k = 10 and P = 5, where they have been measured before.
    """
    rows: list[dict[str, Any]] = []
    releases: dict[tuple[int, str], Published] = {}
    for k, p in SETTINGS:
        row: dict[str, Any] = {}
        if known and (k, p) == (K, P):
            row = {name: {"VL": loss["VL"], "PL": loss["PL"]} for name, loss in known.items()}
        everything = len(methods) == len(METHODS) or (k, p) not in COSTLY
        chosen = [name for name in methods if applies(name, p) and (everything or name in PAPER)]
        for name in (name for name in chosen if name not in row):
            partition = METHODS[name](matrix, k, p)
            row[name] = _judged(matrix, partition, k, p)
            if k == p:
                releases[len(rows), name] = seen(matrix, partition)
        if k == p:
            partition = top_down(matrix, k, p)
            row["Naive, top-down"] = _judged(matrix, partition, k, p)
            points = {"Naive, top-down": seen(matrix, partition), "TGA": by_tga(matrix, k)}
            if symbols:
                points["BFP2KA"] = by_bfp2ka(matrix, k)
            releases |= {(len(rows), name): published for name, published in points.items()}
        rows.append({"k": k, "p": p, "methods": row})
    for (at, name), answers in zip(
        releases, answered(matrix, list(releases.values()), questions), strict=True
    ):
        loss = rows[at]["methods"].setdefault(name, {"VL": None})
        rows[at]["methods"][name] = {**answers, **loss}
    return rows


def answered(matrix: Matrix, releases: Sequence[Published], questions: int) -> list[dict[str, float | None]]:
    """The pattern loss of each release, and how good its answers to the same questions are."""
    drawn = Questions(matrix, questions)
    losses = []
    for published in releases:
        inside = published.run >= 0
        shapes = published.shape[published.run[inside]]
        losses.append(float(pattern_loss(matrix[inside], shapes).mean()))
    answering = [
        Answering(published.shown(), drawn, loss) for published, loss in zip(releases, losses, strict=True)
    ]
    return [
        {"PL": _short(loss), **answers} for loss, answers in zip(losses, asked(drawn, answering), strict=True)
    ]


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


def suppressed(matrix: Matrix, sizes: Sequence[int] = SUPPRESSING) -> list[dict[str, int]]:
    """Table 4: how many series KAPRA leaves out, with and without recycling."""
    u = positions(z_normalised(matrix))
    found = []
    for p in sizes:
        tree = splitting_tree(u, np.zeros(len(u), np.int64), p, LEVEL)
        without = int(tree.undersized[tree.of].sum())
        found.append({"p": p, "without": without, "with": int((recycle(u, tree, p).of < 0).sum())})
    return found


def timed(matrix: Matrix, sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Processor seconds by the number of series, k = P = 10; the slow ones as far as they go."""
    ways: dict[str, Callable[[Matrix], Any]] = {
        name: partial(_published, METHODS[name]) for name in ("Naive", "KAPRA", "adaptive 50")
    }
    ways["adaptive 50, effort 0"] = lambda some: adaptive(some, 10, 10, effort=0)
    ways["Naive, top-down"] = lambda some: top_down(some, 10, 10)
    ways["TGA"] = lambda some: tga(some, 10)
    ways["BFP2KA"] = lambda some: bfp2ka(letters_of(some), 10)
    for way in ways.values():
        way(matrix[:200])
    before: dict[str, tuple[int, float]] = {}
    for size in sizes:
        some = np.ascontiguousarray(matrix[:size])
        spent = {}
        for name, way in ways.items():
            rows, seconds = before.get(name, (size, 0.0))
            if seconds * (size / rows) ** 2 <= LONGEST:
                spent[name] = _seconds(way, some)
                before[name] = size, spent[name]
        yield {"rows": size, "seconds": spent}


def _published(method: Callable[[Matrix, int, int], Partition], matrix: Matrix) -> Partition:
    return method(matrix, 10, 10)


def _seconds(way: Callable[[Matrix], Any], matrix: Matrix) -> float:
    begin = time.process_time()
    way(matrix)
    return _short(time.process_time() - begin)
