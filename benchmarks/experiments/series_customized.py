"""Customised publishing: how good estimates are by how many instants have both values and pattern.

Figs 12 and 13 of the paper. Groups are formed on all instants, then of each instant the values, the symbol or
both are published. The instants without both are shared out evenly.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

import timeveil as tv
from benchmarks.experiments.series_judging import pattern_loss
from benchmarks.experiments.series_runs import precision
from timeveil.models.series.evidence import Evidence, Published, Records
from timeveil.models.series.judges.bands import Columns
from timeveil.models.series.judges.estimate import estimated_ranges, estimated_symbols
from timeveil.models.series.judges.measure import Outcome, ReleaseSummary, Workload
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


def customized(matrix: Matrix, questions: int, draws: int) -> dict[str, list[dict[str, Any]]]:
    """Per method, one row for each share of instants with both, each a mean over `draws` choices of them."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name, given in METHODS.items():
        records = _published(matrix, given)
        found[name] = [_mean(records, share, questions, draws) for share in SHARES]
    return found


def costs(matrix: Matrix, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Processor seconds of estimating after KAPRA, by the number of series; 6 of 10 instants have both."""
    found = []
    for size in sizes:
        records = _published(np.ascontiguousarray(matrix[:size]), METHODS["KAPRA"])
        values, pattern = _chosen(records.matrix.shape[1], 0.6, np.random.default_rng(0))
        found.append({"rows": size, **_estimated(records, _left(records.published, values, pattern))[1]})
    return found


def _published(matrix: Matrix, given: dict[str, Any]) -> Records:
    instants = [f"t{place:03}" for place in range(matrix.shape[1])]
    table = pa.table(dict(zip(instants, matrix.T, strict=True)))
    roles = tv.Roles(series=instants)
    return Evidence(
        *tv.anonymize_series(table, roles, k=K, p=P, round_outward=None, allow_loss=True, **given)
    ).records


def _chosen(instants: int, share: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Instants with values and instants with a symbol; `share` of all have both."""
    order = rng.permutation(instants)
    both = round(share * instants)
    middle = both + (instants - both) // 2
    return np.sort(order[:middle]), np.sort(np.concatenate([order[:both], order[middle:]]))


def _left(known: Published, values: np.ndarray, pattern: np.ndarray) -> Published:
    """What is left when only some instants are published."""
    return replace(
        known,
        values=values,
        pattern=pattern,
        low=known.low[:, values],
        high=known.high[:, values],
        symbols=known.symbols[:, pattern],
        levels=known.levels[:, pattern],
    )


def _mean(records: Records, share: float, questions: int, draws: int) -> dict[str, Any]:
    rng = np.random.default_rng(round(100 * share))
    parts: list[dict[str, Any]] = []
    for _ in range(draws if share < 1 else 1):
        values, pattern = _chosen(records.matrix.shape[1], share, rng)
        known = _left(records.published, values, pattern)
        found, spent = _estimated(records, known)
        total = {"estimating_s": round(sum(spent.values()), 4)}
        parts.append({**found, **spent, **total, **_asked(records, known, questions)})
    means = {name: [part[name] for part in parts if part[name] is not None] for name in parts[0]}
    return {
        "share": share,
        **{name: float(f"{np.mean(some):.4g}") if some else None for name, some in means.items()},
    }


def _estimated(records: Records, known: Published) -> tuple[dict[str, float | None], dict[str, float]]:
    """How good the estimates are, and the processor seconds that they took."""
    domain = float(records.matrix.min()), float(records.matrix.max())
    values, symbols = known.others(known.values), known.others(known.pattern)
    begin = time.process_time()
    low, high = estimated_ranges(known, values, domain)
    middle = time.process_time()
    letters, levels = estimated_symbols(known, symbols, domain)
    end = time.process_time()
    spent = {"ranges_s": round(middle - begin, 4), "symbols_s": round(end - middle, 4)}
    if not len(values):
        return dict.fromkeys(("covered", "width", "width_published", "symbols_right"), None), spent
    rows = records.released
    run, truth = records.run[rows], records.matrix[rows]
    slack = 1e-9 * (domain[1] - domain[0])
    inside = (truth[:, values] >= low[run] - slack) & (truth[:, values] <= high[run] + slack)
    full = records.published
    u = positions(z_normalised(truth))[:, symbols]
    width = domain[1] - domain[0]
    return {
        "covered": float(inside.mean()),
        "width": float((high - low)[run].mean() / width),
        "width_published": float((full.high - full.low)[run][:, values].mean() / width),
        "symbols_right": float((symbols_at(u, levels[run][:, None]) == letters[run]).mean()),
    }, spent


def _asked(records: Records, known: Published, questions: int) -> dict[str, float | None]:
    """Range counts on instants without values, differences with instants without a symbol, and shapes."""
    everything = np.arange(known.size)
    missing, unsaid = known.others(known.values), known.others(known.pattern)
    asked = missing if len(missing) else everything
    shapes = shapes_at(known, everything)
    low, high = envelopes_at(known, asked)
    lost = 1e-9 + float(_distance(records, shapes))
    shown = ReleaseSummary(known.rows, records.run, asked, everything, low, high, shapes)
    workload = Workload(records.matrix, shown, known.center)
    times = np.random.default_rng(1).uniform(1.0, 10.0, questions)
    ranges = workload.ranges(questions, np.random.default_rng(1))
    return {
        "psq_precision": precision(workload.similarities(lost * times, np.random.default_rng(1))),
        "psq_precision_one": precision(
            workload.similarities(np.full(questions, 0.1), np.random.default_rng(1))
        ),
        "prq_precision": _differences(records, shapes, unsaid if len(unsaid) else everything, questions),
        "range_error": float(f"{ranges.errors().mean():.4g}"),
    }


def _distance(records: Records, shapes: Matrix) -> float:
    rows = records.released
    return float(pattern_loss(records.matrix[rows], shapes[records.run[rows]]).mean())


def _differences(records: Records, shapes: Matrix, unsaid: np.ndarray, questions: int) -> float | None:
    """Precision of ranges of differences, each with an instant whose symbol is not published."""
    first, second = np.triu_indices(shapes.shape[1], 1)
    some = np.isin(first, unsaid) | np.isin(second, unsaid)
    first, second = first[some][:64], second[some][:64]
    z = z_normalised(records.matrix).T
    columns = Columns(np.ascontiguousarray(z[first] - z[second]))
    rng = np.random.default_rng(1)
    bands = columns.draw(rng.integers(0, len(records.matrix), questions), 3, rng)
    told = np.ones((questions, len(shapes)), dtype=bool)
    for place in range(bands.column.shape[1]):
        column = bands.column[:, place]
        found = shapes.T[first[column]] - shapes.T[second[column]]
        told &= (found >= bands.low[:, place, None]) & (found <= bands.high[:, place, None])
    rows = records.released
    fits = columns.within(bands)[:, rows]
    said = told[:, records.run[rows]]
    hits = (fits & said).sum(axis=1).astype(float)
    return precision(Outcome(fits.sum(axis=1).astype(float), said.sum(axis=1).astype(float), hits))
