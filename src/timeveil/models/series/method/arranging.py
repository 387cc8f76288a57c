"""What `adaptive` and `representative` share: start, refine, and write the patterns down."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from timeveil.domain.progress import Progress
from timeveil.models.series.method.annealing import anneal
from timeveil.models.series.method.partition import Labels, Matrix, Partition
from timeveil.models.series.method.refining import TRIES, Arrangement, refine, spans
from timeveil.models.series.method.starting import AT_ONCE, Axes, Start, series_of, start
from timeveil.symbols.sax import Center, positions, reconstructed, z_normalised

FALLBACK_LEAN = 0.05


def arrange(
    matrix: Matrix,
    k: int,
    p: int,
    *,
    weight: float,
    effort: int,
    max_level: int,
    level: int,
    center: Center,
    seed: int,
    progress: Progress,
) -> Partition:
    """Groups, subgroups and patterns; `level` is that of patterns which stand for others, 0 for true ones."""
    from timeveil.models.series.kernels.arrangement import Rows, Rules, places_of, state_of  # noqa: PLC0415

    share = 1.0 if effort == 0 else 0.3
    progress("looking at shapes", 0.0)
    series = series_of(matrix)
    axes = Axes(series)
    begun = start(series, axes, k, p, weight, lambda doing, part: progress(doing, share * (0.1 + 0.7 * part)))
    order = begun.order
    series = series.take(order)
    rows = Rows(series.values, series.shapes, _positions(matrix, order, center), series.flat)
    places = places_of(begun.groups, begun.blocks, begun.came, k, p)
    rules = Rules(k, p, begun.unit, float(weight), TRIES, level, _meanings(max_level))
    held = Arrangement(rows, places, state_of(places, matrix.shape[1]), rules)
    held.update(rules)
    before = held.objective()
    if effort > 0:
        features = axes.features(series, FALLBACK_LEAN if begun.lean is None else begun.lean)
        draw = np.random.default_rng(seed)
        whole = 0.65 if effort == 1 else 0.1
        refine(held, features, draw, lambda doing, part: progress(doing, share + whole * part))
        if effort > 1:
            args = (held, features, effort - 1, draw)
            anneal(*args, lambda doing, part: progress(doing, 0.4 + 0.55 * part))
    progress("writing patterns", 0.95)
    symbols, levels = _patterns(held)
    progress("done", 1.0)
    subgroup = np.empty(len(matrix), np.int64)
    subgroup[order] = places.block
    return Partition(
        places.group[subgroup],
        subgroup,
        symbols,
        levels,
        level == 0,
        _facts(held, begun, begun.unit * series.scale, before),
    )


def _positions(matrix: Matrix, order: Labels, center: Center) -> NDArray[np.float64]:
    """Of the rows in order, some at a time: what lies between takes room, too."""
    u = np.empty(matrix.shape)
    for first in range(0, len(u), AT_ONCE):
        some = order[first : first + AT_ONCE]
        u[first : first + AT_ONCE] = positions(z_normalised(matrix[some], center))
    return u


def _meanings(max_level: int) -> NDArray[np.float64]:
    """What a symbol stands for, by level and symbol."""
    table = np.zeros((max_level + 1, max_level + 1))
    for level in range(1, max_level + 1):
        table[level, :level] = reconstructed(np.arange(level), level)
    return table


def _patterns(held: Arrangement) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    from timeveil.models.series.kernels.arrangement import write_patterns  # noqa: PLC0415

    blocks, d = held.state.sums.shape
    symbols, levels = np.empty((blocks, d), np.uint8), np.empty((blocks, d), np.uint8)
    for first, last in spans(blocks, blocks * d * 20):
        write_patterns(held.places, held.state, held.rules, first, last, symbols, levels)
    return symbols, levels


def _facts(held: Arrangement, begun: Start, unit: float, before: float) -> dict[str, float]:
    """What was done; the objective is value loss / value_unit + weight * pattern loss."""
    return {
        "value_unit": unit,
        "start_lean": -1.0 if begun.lean is None else begun.lean,
        **held.done,
        "objective_before": before,
        "objective_after": held.objective(),
    }
