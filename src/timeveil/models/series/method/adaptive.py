"""`adaptive`: groups by value, subgroups by shape, and patterns that are each member's own.

Beyond the paper. KAPRA gives a pattern one level for all instants, the finest at which every member agrees
everywhere, and forms groups only afterwards. Here each instant has a level of its own, at which all members
of the subgroup agree: still the truth about everyone, and much more of it. Groups and subgroups are chosen
together, by one number: `value loss / unit + shape_weight * pattern loss`.

1. START: gather the nearest series into groups of k, cut each by shape into subgroups of P (`starting`).
2. REFINE: swap series while the number falls (`refining`).
3. PATTERN: per instant, of the levels at which all members share a symbol, the one that together with those
   of the other instants preserves the most shape (`fitting`).

`shape_weight` 2 is for values, 10 for both, 50 and up for the shape. `effort` 0 stops after the start, 1
refines, more refines for longer. Since the loss of a pattern is one minus a correlation, a subgroup loses at
least its size less the length of the sum of its members' unit shapes: a swap is scored in one product. Cost:
O(n log n) for the start, O(n) for a round of refining, times the instants.

`representative` does the same with patterns that describe a subgroup and need not be anyone's own: nearest to
the sum of the members' shapes, at one level for all instants. That loses less, and Definition 5 allows it.
Why it is not the default: the pattern is close to a mean, and a mean gives the last member away. Anyone who
knows all but one of the p members recovers the shape of the last with an error of about 0.7 * p / level, in
deviations. So the level is at most p + 1, and p has to be at least 3. What a pattern shows is not true of
each member, so nothing missing can be estimated from it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from timeveil.domain.wording import Progress, silent
from timeveil.models.series.method.fitting import Alphabet, best_patterns
from timeveil.models.series.method.partition import Matrix, Partition, run_ranges, total_width
from timeveil.models.series.method.refining import Seats, refine
from timeveil.models.series.method.starting import Layout, Series, start
from timeveil.symbols import Center, positions, z_normalised

LEAST_LEVEL = 4
"""The least number of symbols of a representative, unless fewer are allowed."""


def adaptive(
    matrix: Matrix,
    k: int,
    p: int,
    *,
    shape_weight: float = 50,
    effort: int = 1,
    max_level: int = 20,
    one_level: int | None = None,
    center: Center = "mean",
    seed: int = 0,
    progress: Progress = silent,
) -> Partition:
    """Groups of at least k, subgroups of at least p, and a level for each instant of a pattern."""
    progress("looking at shapes", 0.0)
    alphabet, series = Alphabet(max_level, one_level), Series.of(matrix)
    share = 0.2 if effort else 0.9
    layout, unit = start(series, k, p, shape_weight, lambda doing, part: progress(doing, 0.05 + share * part))
    u = positions(z_normalised(matrix, center))
    partition = _with_patterns(u, series, layout, alphabet, shape_weight, unit)
    if effort:
        seats = Seats.of(series.take(layout.order), u[layout.order], layout)
        # `refine` adds up lengths of gaps, which are widths times the root of the number of instants.
        price = shape_weight * unit * np.sqrt(matrix.shape[1])
        draw = np.random.default_rng(seed)
        done = refine(
            seats, alphabet, price, effort, draw, lambda doing, part: progress(doing, 0.3 + 0.65 * part)
        )
        layout = replace(layout, order=layout.order[seats.row])
        refined = _with_patterns(u, series, layout, alphabet, shape_weight, unit)
        refined.facts.update(done, objective_before=partition.facts["objective_after"])
        # Rounds by |V| only estimate what patterns preserve, so refining can end above the start.
        if refined.facts["objective_after"] <= partition.facts["objective_after"]:
            partition = refined
    progress("done", 1.0)
    return partition


def representative(matrix: Matrix, k: int, p: int, *, max_level: int = 20, **options: Any) -> Partition:
    """Groups of at least k, subgroups of at least p, and one pattern near the middle of each subgroup."""
    level = min(max_level, max(LEAST_LEVEL, p + 1))
    return adaptive(matrix, k, p, max_level=max_level, one_level=level, **options)


def _with_patterns(
    u: Matrix, series: Series, layout: Layout, alphabet: Alphabet, weight: float, unit: float
) -> Partition:
    """The layout as a partition, with the best pattern of each subgroup."""
    rows, count = series.take(layout.order), len(u)
    low, high = run_ranges(u[layout.order], layout.subgroups)
    sums = np.add.reduceat(rows.shapes, layout.subgroups[:-1], dtype=np.float64)
    flats = np.add.reduceat(rows.flat, layout.subgroups[:-1])
    symbols, levels, preserved = best_patterns(alphabet, low, high, sums, flats)
    width, lost = total_width(rows.values, layout.groups), count - float(preserved.sum())
    objective = (width / unit + weight * lost) / count
    subgroup = np.empty(count, np.int64)
    subgroup[layout.order] = layout.subgroup
    facts = {"value_unit": unit * series.scale, "rounds": 0, "swaps": 0}
    facts |= {"objective_before": objective, "objective_after": objective}
    return Partition(layout.parent[subgroup], subgroup, symbols, levels, alphabet.level is None, facts)
