"""`adaptive`: groups by value, subgroups by shape, and patterns that are each member's own.

Beyond the paper: each instant has a level of its own, at which all members of the subgroup agree, and groups
and subgroups are chosen together, by one number: `value loss / unit + shape_weight * pattern loss`.

1. START: gather the nearest series into groups of k, cut each by shape into subgroups of P (`starting`).
2. REFINE: swap series while the number falls (`refine`).
3. PATTERN: per instant, of the levels at which all members share a symbol, the one that together with those
   of the other instants preserves the most shape (`fitting`).

Since the loss of a pattern is one minus a correlation, a subgroup loses at least its size less the length of
the sum of its members' unit shapes: a swap is scored in one product. Cost: O(n log n) for the start, O(n) for
a round of refining, times the instants.

`representative` does the same with patterns that describe a subgroup and need not be anyone's own: nearest to
the sum of the members' shapes, at one level for all instants. Definition 5 allows it, but the pattern is
close to a mean: anyone who knows all but one of the p members recovers the shape of the last with an error of
about 0.7 * p / level, in deviations. So the level is at most p + 1, and p has to be at least 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from timeveil.domain.arrays import Ints
from timeveil.domain.wording import Progress, silent
from timeveil.models.series.method.fitting import Alphabet, Fits, best_patterns
from timeveil.models.series.method.partition import (
    Floats,
    Matrix,
    Partition,
    balanced_cut,
    representation_in,
    run_ranges,
    slots_of,
    total_width,
)
from timeveil.models.series.method.starting import Axes, Layout, Series, start
from timeveil.models.series.parameters import SeriesParameters

LEAST_LEVEL = 4  # the least number of symbols of a representative, unless fewer are allowed
LEAF = 64
LEAN = 0.2  # the share of the shapes in what near means, where groups are given
FULL_SEARCH_NUMBERS, ROUNDS, FEWER_ROUNDS = 500_000, (20, 30), (10, 10)
"""Rounds by |V| and by the pattern: up to this many numbers, series times instants, and beyond."""
BY_SHAPE, BY_PATTERN = 12, 3
"""Swaps of a series that are scored by width too, and those that are scored by their patterns."""
GAP_AFTER = 0.5
"""The share of the gap between |V| and what the pattern preserves that is expected to remain after a swap."""
HEAT = 0.3  # how much a swap may lose at first with effort above 1, in mean losses of a series
FEW_SWAPS = 100  # a stage ends with a round of fewer swaps than one in this many groups
ROUNDING, FORBIDDEN = 1e-5, 1e9
BELOW_ONE = np.nextafter(np.float32(1), np.float32(0))
PAIRS_AT_ONCE = 1 << 20


def adaptive(matrix: Matrix, parameters: SeriesParameters, progress: Progress = silent) -> Partition:
    """Groups of at least k, subgroups of at least p, and a level for each instant, or one for all."""
    progress("looking at shapes", 0.0)
    series = _series(matrix, parameters)
    share, k, p, weight = 0.2 if parameters.effort else 0.9, parameters.k, parameters.p, _weight(parameters)
    layout, unit = start(series, k, p, weight, lambda doing, part: progress(doing, 0.05 + share * part))
    ahead: Progress = lambda doing, part: progress(doing, 0.3 + 0.65 * part)  # noqa: E731 as short as it can be
    partition = _improved(series, layout, unit, np.zeros(len(matrix), np.int64), parameters, ahead)
    progress("done", 1.0)
    return partition


def improved(partition: Partition, matrix: Matrix, kinds: Ints, parameters: SeriesParameters) -> Partition:
    """A partition of all series, made from one of `adaptive`, improved by swaps of series of one kind."""
    series, order = _series(matrix, parameters), np.lexsort((partition.subgroup, partition.group))
    groups, subgroups = (
        np.append(np.flatnonzero(np.diff(labels[order], prepend=-1)), len(order))
        for labels in (partition.group, partition.subgroup)
    )
    parent = np.searchsorted(groups, subgroups[:-1], side="right") - 1
    layout = Layout(order, groups, subgroups, parent, Axes(series).features(series, LEAN))
    unit = partition.facts["value_unit"] / series.scale
    improved = _improved(series, layout, unit, kinds, parameters, silent)
    return replace(improved, facts={**partition.facts, **improved.facts})


def _series(matrix: Matrix, parameters: SeriesParameters) -> Series:
    return Series.of(matrix, parameters.center, representation_in(parameters, matrix))


def _weight(parameters: SeriesParameters) -> float:
    return parameters.shape_weight if parameters.p > 1 else 0.0  # with p = 1 no shape is published


def _improved(
    series: Series, layout: Layout, unit: float, kinds: Ints, parameters: SeriesParameters, progress: Progress
) -> Partition:
    """The layout with patterns, refined by swaps of series of one kind if there is any effort to make."""
    level, weight = None, _weight(parameters)
    if parameters.method == "representative":
        level = min(parameters.max_level, max(LEAST_LEVEL, parameters.p + 1))
    alphabet = Alphabet(parameters.max_level, level)
    partition = _with_patterns(series, layout, alphabet, weight, unit)
    if not parameters.effort:
        return partition
    seats = Seats(series.take(layout.order), layout, kinds[layout.order])
    # `refine` adds up lengths of gaps, which are widths times the root of the number of instants.
    price = weight * unit * np.sqrt(series.values.shape[1])
    done = refine(seats, alphabet, price, parameters.effort, np.random.default_rng(0), progress)
    layout = replace(layout, order=layout.order[seats.row])
    refined = _with_patterns(series, layout, alphabet, weight, unit)
    refined.facts.update(done, objective_before=partition.facts["objective_after"])
    # Rounds by |V| only estimate what patterns preserve, so refining can end above the start.
    return min(refined, partition, key=lambda option: float(option.facts["objective_after"]))


def _with_patterns(
    series: Series, layout: Layout, alphabet: Alphabet, weight: float, unit: float
) -> Partition:
    """The layout as a partition, with the best pattern of each subgroup."""
    rows, count = series.take(layout.order), len(layout.order)
    low, high = run_ranges(rows.positions, layout.subgroups)
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


# REFINE. A round looks, for each series, among those near it for the best one to swap with: those in its
# leaf of a k-d cut, whose features are turned at random in every round. Of all swaps it carries out the best
# that touch no group twice. The first rounds score a subgroup by the most shape that any pattern can
# preserve, |V|, which costs one product of matrices; later rounds score the best few by the pattern itself.
# Sizes never change, so k and P hold throughout. With effort above 1 there are more rounds, and series also
# swap at a loss: often at first, hardly ever later (simulated annealing). Cost of a round: series times the
# length of a leaf, times the instants.


class Seats:
    """Series in the seats of a layout, subgroup by subgroup; a swap exchanges what is in two seats.

    `shapes` have one column more, 1 for a constant series: a direction of its own, in which subgroups of
    constant series preserve each other. Only series of one `kind` swap, so its number in a cell stays.
    """

    def __init__(self, series: Series, layout: Layout, kind: Ints) -> None:
        self.values, self.layout, self.kind = series.values, layout, kind
        self.shapes = np.column_stack([series.shapes, series.flat])
        self.positions = np.minimum(series.positions, BELOW_ONE).astype(np.float32)
        self.features, self.subgroup = layout.features[layout.order], layout.subgroup
        self.row, self.group = np.arange(len(self.subgroup)), layout.parent[self.subgroup]

    def swap(self, first: Ints, second: Ints) -> None:
        """Exchange what is in these seats, pair by pair; no seat comes twice."""
        for column in (self.values, self.shapes, self.positions, self.features, self.row):
            column[first], column[second] = column[second], column[first]


def refine(
    seats: Seats, alphabet: Alphabet, price: float, effort: int, draw: np.random.Generator, progress: Progress
) -> dict[str, int]:
    """Swap series while `sum of size * width + price * shape that is lost` falls; returns what was done."""
    done = {"rounds": 0, "swaps": 0}
    few = len(seats.layout.groups) // FEW_SWAPS
    stages = ROUNDS if seats.values.size <= FULL_SEARCH_NUMBERS else FEWER_ROUNDS
    fits = Fits(alphabet, len(seats.row))
    for stage, rounds in enumerate(effort * usual for usual in stages):
        heat, scores = 0.0, Scores(seats, price, fits if stage else None)
        for number in range(rounds):
            share = (stage + number / rounds) / len(stages)
            progress(("swapping by shape", "swapping by pattern")[stage], share)
            if effort > 1:
                heat = HEAT * scores.mean_loss() * (1 - number / rounds)
            swaps = _best_swaps(scores, _leaves(seats, draw), heat, draw)
            if len(swaps[0]):
                seats.swap(*swaps)
                scores = Scores(seats, price, scores.fits)
            done["rounds"] += 1
            done["swaps"] += len(swaps[0])
            if len(swaps[0]) < few and not heat:
                break
    return done


def _leaves(seats: Seats, draw: np.random.Generator) -> Iterator[Ints]:
    """Seats of near series, leaves of one length together, in pieces of bounded work."""
    width = seats.features.shape[1]
    # A random rotation keeps distances and moves the borders of the leaves.
    turn = np.linalg.qr(draw.standard_normal((width, width)))[0].astype(np.float32)
    order, bounds, _ = balanced_cut(seats.features @ turn, np.array([0, len(seats.row)]), LEAF)
    for slots in slots_of(bounds[:-1], np.diff(bounds), lambda length: PAIRS_AT_ONCE // length**2):
        yield order[slots]


def _best_swaps(
    scores: Scores, leaves: Iterator[Ints], heat: float, draw: np.random.Generator
) -> tuple[Ints, Ints]:
    """The swaps to carry out: each the best for both of its groups among what is left."""
    tries = BY_PATTERN if scores.fits else 1
    pairs = [scores.candidates(leaf, tries, heat) for leaf in leaves]
    first, second, change = (np.concatenate(column) for column in zip(*pairs, strict=True))
    # Each pair was met from both sides.
    pair = np.minimum(first, second) * len(scores.seats.row) + np.maximum(first, second)
    unique = np.unique(pair, return_index=True)[1]
    first, second, change = first[unique], second[unique], change[unique]
    if scores.fits:
        change = scores.exact_change(scores.fits, first, second)
    if heat:
        # Accepting a loss d when d < heat * Exp(1) is accepting it with probability exp(-d / heat).
        change = change - heat * draw.standard_exponential(len(change))
    order = np.argsort(change, kind="stable")
    order = order[change[order] < -scores.least_gain]
    first, second = first[order], second[order]
    chosen = _disjoint(scores.seats.group[first], scores.seats.group[second], len(scores.wide))
    return first[chosen], second[chosen]


def _disjoint(first: Ints, second: Ints, groups: int) -> Ints:
    """Places of pairs of groups, best first, that share no group with a better one that is taken."""
    chosen, waiting = [np.empty(0, np.int64)], np.arange(len(first))
    free = np.ones(groups, np.bool_)
    while len(waiting):
        # Pairs are numbered best first. One that is the best of both its groups wins; the losers try again.
        best = np.full(groups, len(first))
        np.minimum.at(best, first[waiting], waiting)
        np.minimum.at(best, second[waiting], waiting)
        winners = waiting[(best[first[waiting]] == waiting) & (best[second[waiting]] == waiting)]
        chosen.append(winners)
        free[first[winners]] = free[second[winners]] = False
        waiting = waiting[free[first[waiting]] & free[second[waiting]]]
    return np.concatenate(chosen)


class Scores:
    """What further swaps would change; with `fits`, subgroups are scored by their patterns."""

    def __init__(self, seats: Seats, price: float, fits: Fits | None = None) -> None:
        self.seats, self.price, self.fits = seats, price, fits
        self.least_gain = ROUNDING * (1 + price)
        layout = seats.layout
        self._size = np.diff(layout.groups).astype(np.float32)
        self._low = _lowest_of_others(seats.values, layout.groups, seats.group)
        self._high = -_lowest_of_others(-seats.values, layout.groups, seats.group)
        self.wide = self._size * _lengths(np.subtract(*run_ranges(seats.values, layout.groups)))
        # The most that a group can gain in width when the series of a seat leaves it.
        self._most_gain = self.wide[seats.group] - self._size[seats.group] * _lengths(self._high - self._low)
        sums = np.add.reduceat(seats.shapes, layout.subgroups[:-1])
        self._others = sums[seats.subgroup] - seats.shapes
        self._preserved = self._expected = _lengths(sums)
        if fits:
            self._lowest = _lowest_of_others(seats.positions, layout.subgroups, seats.subgroup)
            self._highest = -_lowest_of_others(-seats.positions, layout.subgroups, seats.subgroup)
            self._tags = fits.tags[seats.row]
            members = np.add.reduceat(self._tags, layout.subgroups[:-1])
            self._other_members = members[seats.subgroup] - self._tags
            ranges = run_ranges(seats.positions, layout.subgroups)
            self._preserved = fits.preserved(members, *ranges, sums[:, :-1], sums[:, -1])
            self._expected = self._preserved + GAP_AFTER * (self._expected - self._preserved)

    def mean_loss(self) -> float:
        count = len(self.seats.row)
        return float(self.wide.sum() + self.price * (count - self._preserved.sum())) / count

    def candidates(self, leaves: Ints, tries: int, slack: float) -> tuple[Ints, Ints, Floats]:
        """The best swaps of every series within its leaf: its seat, the other, and the expected change."""
        remaining, shapes = self._others[leaves], self.seats.shapes[leaves]
        # |V - s + t| of every seat with the shape t of every other: the shape that is preserved after a swap
        after = remaining @ shapes.transpose(0, 2, 1)
        after *= 2
        after += np.einsum("sij,sij->si", remaining, remaining)[:, :, None]
        after += np.einsum("sij,sij->si", shapes, shapes)[:, None, :]
        np.sqrt(np.maximum(after, 0, out=after), out=after)
        subgroup, kind = self.seats.subgroup[leaves], self.seats.kind[leaves]
        before = self._expected[subgroup]
        loss = before[:, :, None] + before[:, None, :] - after - after.transpose(0, 2, 1)
        loss[subgroup[:, :, None] == subgroup[:, None, :]] = FORBIDDEN
        loss[kind[:, :, None] != kind[:, None, :]] = FORBIDDEN
        # of the swaps that serve the shapes best, those that serve the values best as well
        second, loss = _least(loss, min(BY_SHAPE, leaves.shape[1] - 1))
        second = np.take_along_axis(leaves, second.reshape(len(leaves), -1), axis=1).reshape(loss.shape)
        first = np.broadcast_to(leaves[:, :, None], loss.shape)
        change = self.price * loss
        # A weight of 0 must not make a swap that is forbidden free.
        worth = (loss < FORBIDDEN) & (change < self._most_gain[first] + self._most_gain[second] + slack)
        change[~worth] = np.inf
        change[worth] += self._width_change(first[worth], second[worth])
        best, change = _least(change, min(tries, change.shape[2]))
        second = np.take_along_axis(second, best, axis=2)
        gains = change < slack - self.least_gain
        return np.broadcast_to(leaves[:, :, None], second.shape)[gains], second[gains], change[gains]

    def exact_change(self, fits: Fits, first: Ints, second: Ints) -> Floats:
        """How the loss changes under the patterns that both subgroups would have."""
        seats, before = self.seats, self._preserved[self.seats.subgroup]
        change = self._width_change(first, second) + self.price * (before[first] + before[second])
        leaving, entering = np.append(first, second), np.append(second, first)
        members = self._other_members[leaving] + self._tags[entering]
        low = np.minimum(self._lowest[leaving], seats.positions[entering])
        high = np.maximum(self._highest[leaving], seats.positions[entering])
        sums = self._others[leaving] + seats.shapes[entering]
        after = fits.preserved(members, low, high, sums[:, :-1], sums[:, -1])
        return change - self.price * after[: len(first)] - self.price * after[len(first) :]

    def _width_change(self, first: Ints, second: Ints) -> Floats:
        """How the widths of both groups change, times their sizes; not at all within one group."""
        group, values = self.seats.group, self.seats.values
        change = np.zeros(len(first), np.float32)
        across = np.flatnonzero(group[first] != group[second])
        for leaving, entering in ((first[across], second[across]), (second[across], first[across])):
            gap = np.maximum(self._high[leaving], values[entering])
            gap -= np.minimum(self._low[leaving], values[entering])
            change[across] += self._size[group[leaving]] * _lengths(gap) - self.wide[group[leaving]]
        return change


def _lowest_of_others(values: Floats, bounds: Ints, run: Ints) -> Floats:
    # The lowest of the others is that of the run, except for the one row that alone attains it.
    lowest: Floats = np.minimum.reduceat(values, bounds[:-1])[run]
    reached = values == lowest
    alone = (np.add.reduceat(reached, bounds[:-1], dtype=np.int32) == 1)[run]
    next_lowest = np.minimum.reduceat(np.where(reached, np.inf, values), bounds[:-1])[run]
    np.copyto(lowest, next_lowest, where=reached & alone, casting="same_kind")
    return lowest


def _least(numbers: Floats, count: int) -> tuple[Ints, Floats]:
    """Where the `count` least numbers along the last axis are, and the numbers."""
    index = np.argpartition(numbers, count - 1, axis=-1)[..., :count]
    return index, np.take_along_axis(numbers, index, axis=-1)


def _lengths(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)))
