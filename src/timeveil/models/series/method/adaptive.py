"""`adaptive`: groups by value, subgroups by shape, and patterns that are each member's own.

Beyond the paper. KAPRA gives a pattern one level for all instants, the finest at which every member agrees
everywhere, and forms groups only afterwards. Here each instant has a level of its own, at which all members
of the subgroup agree: still the truth about everyone, and much more of it. Groups and subgroups are chosen
together, by one number: `value loss / unit + shape_weight * pattern loss`.

1. START: gather the nearest series into groups of k, cut each by shape into subgroups of P (`starting`).
2. REFINE: swap series while the number falls (`refining`).
3. PATTERN: per instant, of the levels at which all members share a symbol, the one that together with those
   of the other instants preserves the most shape (`fitting`).

`shape_weight` is the knob: 2 is for values, 10 for both, 50 and up for the shape. `effort` 0 stops after
the start, 1 refines, more refines for longer. Since the loss of a pattern is one minus a correlation, a
subgroup loses at least its size less the length of the sum of its members' unit shapes: a swap is scored in
one product. Cost: O(n log n) for the start, O(n) for a round of refining, times the instants.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from timeveil.domain.wording import Progress, silent
from timeveil.models.series.method.fitting import Alphabet, best_patterns
from timeveil.models.series.method.partition import Matrix, Partition, envelope_widths, run_ranges
from timeveil.models.series.method.refining import Seats, refine
from timeveil.models.series.method.starting import Layout, Series, start
from timeveil.symbols import Center, positions, z_normalised


def adaptive(
    matrix: Matrix,
    k: int,
    p: int,
    *,
    shape_weight: float = 50,
    effort: int = 1,
    max_level: int = 20,
    center: Center = "mean",
    seed: int = 0,
    progress: Progress = silent,
) -> Partition:
    """Groups of at least k, subgroups of at least p, and a level for each instant of a pattern.

    >>> import numpy as np
    >>> matrix = np.array([[1.0, 2, 3], [9, 8, 7], [2, 3, 4], [8, 7, 6]])
    >>> partition = adaptive(matrix, 4, 2)
    >>> partition.group.tolist(), [np.flatnonzero(partition.subgroup == s).tolist() for s in (0, 1)]
    ([0, 0, 0, 0], [[0, 2], [1, 3]])
    """
    alphabet = Alphabet(max_level)
    return arranged(
        matrix, k, p, alphabet, shape_weight, effort=effort, center=center, seed=seed, progress=progress
    )


def arranged(
    matrix: Matrix,
    k: int,
    p: int,
    alphabet: Alphabet,
    weight: float,
    *,
    effort: int,
    center: Center,
    seed: int,
    progress: Progress,
) -> Partition:
    """Start, refine and write patterns of this alphabet."""
    progress("looking at shapes", 0.0)
    series = Series.of(matrix)
    share = 0.2 if effort else 0.9
    layout, unit = start(series, k, p, weight, lambda doing, part: progress(doing, 0.05 + share * part))
    partition = _with_patterns(matrix, series, layout, alphabet, center, weight, unit)
    if effort:
        seats = Seats.of(
            series.take(layout.order), positions(z_normalised(matrix[layout.order], center)), layout
        )
        # `refine` adds up lengths of gaps, which are widths times the root of the number of instants.
        price = weight * unit * np.sqrt(matrix.shape[1])
        done = refine(
            seats,
            alphabet,
            price,
            effort=effort,
            draw=np.random.default_rng(seed),
            progress=lambda doing, part: progress(doing, 0.3 + 0.65 * part),
        )
        layout = replace(layout, order=layout.order[seats.row])
        refined = _with_patterns(matrix, series, layout, alphabet, center, weight, unit)
        refined.facts.update(done, objective_before=partition.facts["objective_after"])
        # Rounds by |V| only estimate what patterns preserve, so refining can end above the start.
        if refined.facts["objective_after"] <= partition.facts["objective_after"]:
            partition = refined
    progress("done", 1.0)
    return partition


def _with_patterns(
    matrix: Matrix,
    series: Series,
    layout: Layout,
    alphabet: Alphabet,
    center: Center,
    weight: float,
    unit: float,
) -> Partition:
    """The layout as a partition, with the best pattern of each subgroup."""
    rows = series.take(layout.order)
    low, high = run_ranges(positions(z_normalised(matrix[layout.order], center)), layout.subgroups)
    sums = np.add.reduceat(rows.shapes, layout.subgroups[:-1], dtype=np.float64)
    flats = np.add.reduceat(rows.flat, layout.subgroups[:-1])
    symbols, levels, preserved = best_patterns(alphabet, low, high, sums, flats)
    width = np.diff(layout.groups) @ envelope_widths(*run_ranges(rows.values, layout.groups))
    objective = (float(width) / unit + weight * (len(matrix) - float(preserved.sum()))) / len(matrix)
    subgroup = np.empty(len(matrix), np.int64)
    subgroup[layout.order] = np.repeat(np.arange(len(layout.parent)), np.diff(layout.subgroups))
    facts = {
        "value_unit": unit * series.scale,
        "rounds": 0,
        "swaps": 0,
        "objective_before": objective,
        "objective_after": objective,
    }
    return Partition(layout.parent[subgroup], subgroup, symbols, levels, alphabet.level is None, facts)
