"""Customised publishing: how good estimates are by how many instants have both values and pattern.

Figs 12 and 13 of the paper. Groups are formed on all instants, then of each instant the values, the symbol or
both are published. The instants without both are shared out evenly.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import pyarrow as pa

import timeveil as tv
from benchmarks.experiments.series_asking import Answering, Questions, precision, short
from benchmarks.experiments.series_judging import pattern_loss
from timeveil.models.series.evidence import Evidence, Published
from timeveil.models.series.judges.estimate import estimated_ranges, estimated_symbols, extent_of
from timeveil.models.series.judges.measure import PAIRS, ReleaseSummary
from timeveil.models.series.judges.query import envelopes_at, shapes_at
from timeveil.models.series.method.partition import Matrix
from timeveil.symbols import positions, symbols_at, z_normalised

K, P = 10, 3
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
METHODS: dict[str, dict[str, Any]] = {
    "KAPRA": {"method": "kapra"},
    **{f"adaptive {weight}": {"method": "adaptive", "shape_weight": weight} for weight in (2, 10, 50, 200)},
}
"""`representative` and Naive publish patterns that need not be a series' own: nothing follows from them."""


def customized(
    matrix: Matrix, questions: int, draws: int, methods: Sequence[str] | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Per method, one row for each share of instants with both, each a mean over `draws` choices of them."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name in METHODS if methods is None else methods:
        evidence = _published(matrix, METHODS[name])
        found[name] = [_mean(evidence, share, questions, draws) for share in SHARES]
    return found


def costs(matrix: Matrix, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Processor seconds of estimating after KAPRA, by the number of series; 6 of 10 instants have both."""
    found = []
    for size in sizes:
        evidence = _published(np.ascontiguousarray(matrix[:size]), METHODS["KAPRA"])
        values, pattern = _chosen(evidence.matrix.shape[1], 0.6, np.random.default_rng(0))
        found.append({"rows": size, **_estimated(evidence, _left(evidence.published, values, pattern))[1]})
    return found


def _published(matrix: Matrix, given: dict[str, Any]) -> Evidence:
    instants = [f"t{place:03}" for place in range(matrix.shape[1])]
    table = pa.table(dict(zip(instants, matrix.T, strict=True)))
    roles = tv.Roles(series=instants)
    return Evidence(
        *tv.anonymize_series(table, roles, k=K, p=P, round_outward=None, allow_loss=True, **given)
    )


def _chosen(instants: int, share: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Instants with values and instants with a symbol; `share` of all have both."""
    order = rng.permutation(instants)
    both = round(share * instants)
    middle = both + (instants - both) // 2
    return np.sort(order[:middle]), np.sort(np.concatenate([order[:both], order[middle:]]))


def _left(known: Published, values: np.ndarray, pattern: np.ndarray) -> Published:
    """What is left when only some instants are published."""
    left = copy(known)
    left.values, left.pattern = values, pattern
    left.low, left.high = known.low[:, values], known.high[:, values]
    left.symbols, left.levels = known.symbols[:, pattern], known.levels[:, pattern]
    return left


def _mean(evidence: Evidence, share: float, questions: int, draws: int) -> dict[str, Any]:
    rng = np.random.default_rng(round(100 * share))
    parts: list[dict[str, Any]] = []
    for _ in range(draws if share < 1 else 1):
        values, pattern = _chosen(evidence.matrix.shape[1], share, rng)
        known = _left(evidence.published, values, pattern)
        found, spent = _estimated(evidence, known)
        total = {"estimating_s": round(sum(spent.values()), 4)}
        parts.append({**found, **spent, **total, **_asked(evidence, known, questions)})
    means = {name: [part[name] for part in parts if part[name] is not None] for name in parts[0]}
    return {
        "share": share,
        **{name: float(f"{np.mean(some):.4g}") if some else None for name, some in means.items()},
    }


def _estimated(evidence: Evidence, known: Published) -> tuple[dict[str, float | None], dict[str, float]]:
    """How good the estimates are, and the processor seconds that they took."""
    domain = float(evidence.matrix.min()), float(evidence.matrix.max())
    values, symbols = known.others(known.values), known.others(known.pattern)
    begin = time.process_time()
    low, high = estimated_ranges(known, values, domain)
    middle = time.process_time()
    letters, levels = estimated_symbols(known, symbols, domain)
    end = time.process_time()
    spent = {"ranges_s": round(middle - begin, 4), "symbols_s": round(end - middle, 4)}
    if not len(values):
        return dict.fromkeys(("covered", "width", "width_published", "symbols_right"), None), spent
    rows = evidence.released
    run, truth = evidence.run[rows], evidence.matrix[rows]
    slack = 1e-9 * (domain[1] - domain[0])
    inside = (truth[:, values] >= low[run] - slack) & (truth[:, values] <= high[run] + slack)
    full = evidence.published
    u = positions(z_normalised(truth))[:, symbols]
    width = domain[1] - domain[0]
    return {
        "covered": float(inside.mean()),
        "width": float((high - low)[run].mean() / width),
        "width_published": float((full.high - full.low)[run][:, values].mean() / width),
        "symbols_right": float((symbols_at(u, levels[run][:, None]) == letters[run]).mean()),
    }, spent


def _asked(evidence: Evidence, known: Published, questions: int) -> dict[str, float | None]:
    """Range counts on instants without values, differences with instants without a symbol, and shapes."""
    everything = np.arange(known.size)
    missing, unsaid = known.others(known.values), known.others(known.pattern)
    asked = missing if len(missing) else everything
    shapes = shapes_at(known, everything)
    # As `answer` does: an estimated envelope counts between the lowest and the highest published bound.
    low, high = (np.clip(side, *extent_of(known)) for side in envelopes_at(known, asked))
    lost = 1e-9 + float(_distance(evidence, shapes))
    drawn = Questions(evidence.matrix, questions, asked, _pairs(known.size, unsaid), known.center)
    summary = ReleaseSummary(known.rows, evidence.run, asked, everything, low, high, shapes)
    release = [Answering(summary, drawn, lost)]
    own, one = drawn.similarities(release)
    return {
        "psq_precision": precision(own[0]),
        "psq_precision_one": precision(one[0]),
        "prq_precision": precision(drawn.pattern_ranges(release)[0]),
        "range_error": short(drawn.ranges(release)[0].errors().mean()),
    }


def _distance(evidence: Evidence, shapes: Matrix) -> float:
    rows = evidence.released
    return float(pattern_loss(evidence.matrix[rows], shapes[evidence.run[rows]]).mean())


def _pairs(instants: int, unsaid: np.ndarray) -> np.ndarray:
    """Pairs of instants, each with one whose symbol is not published; all where there is none."""
    pairs = np.stack(np.triu_indices(instants, 1))
    some = np.isin(pairs, unsaid).any(axis=0) if len(unsaid) else np.ones(pairs.shape[1], bool)
    return pairs[:, some][:, :PAIRS]
