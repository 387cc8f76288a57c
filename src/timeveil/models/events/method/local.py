"""Rows at steps of their own: which steps there are, in which order, and what each way of recoding takes.

A step is a node of the search: a level per hierarchy and a granularity. What a row loses at a step is counted
in bits, -log2 P(value | label) per quasi-identifier and log2(width / narrowest width) for the time, each
times its weight. Steps are ordered by the mean loss of all rows, and once more so that those at which some
rows lose much come late; the order that loses less is taken.

    refined   sweep inside the groups of the global answer: no row is coarser than there
    local     sweep inside the coarsest step that keeps the promise
    tiling    one combination of levels, and per combination of quasi-identifiers the periods without overlap
              that lose least

Cost: `tiling` sorts the visits once per combination of levels and granularity, and then looks at every cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.calendar.axis import instants
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.timeline import Timeline
from timeveil.domain.arrays import Codes, Floats, Ints
from timeveil.engines import Recoded
from timeveil.models.events.method.earlier import people_of
from timeveil.models.events.method.protect import Guard
from timeveil.models.events.method.search import Counts, Node, label_ranks
from timeveil.models.events.method.sweep import WITHHELD, Decoys, sweep
from timeveil.reading.encoding import distinct

BLOCKS = 2  # global answers of few bits that steps are tried in too, if more than k people is promised
WAYS = ("tiling", "refined", "local")  # other than `global`
TILED_ROWS = 50_000  # up to here, a run that makes all rows coarser alike compares `tiling` as well
TRIED_PEOPLE = 1_000  # people whose visits are known in a comparison of ways
MOST_COMBINATIONS = 64  # combinations of levels that are all tried; with more, one chain of them is


@dataclass(frozen=True, slots=True)
class Recoding:
    """The steps that rows are published at, from fine to coarse, and the node that contains them all.

    `decoys` has the seed they were drawn with, and how many gatherings they held back.
    """

    within: Node
    steps: list[Node]
    cells: Recoded
    decoys: Mapping[str, int | None] = field(default_factory=dict)


def recode_rows(counts: Counts, answer: Node, way: str | None = None, seed: int | None = None) -> Recoding:
    """Publish every row at a step of its own; `answer` is what a global search chose, `seed` draws decoys."""
    scale, way = Scale(counts), way or counts.plan.parameters.recode
    if way == "tiling":
        return _tiling(scale, answer)
    if way == "refined":
        return _sweep(scale, answer, seed)
    # The coarsest step that keeps the promise: rows may leave the groups of the answer.
    blocks = [next(filter(counts.is_feasible, scale.steps[::-1]), answer)]
    if not counts.order.is_finer(answer, blocks[0]):
        blocks.append(answer)  # weeks do not refine months, so that the answer may lose less
    if counts.guard or counts.earlier:
        # What stays open has to keep the promise too, and does so sooner inside of nodes that lose little.
        blocks += [answer, *islice(filter(counts.is_feasible, scale.steps), BLOCKS)]
    return min((_sweep(scale, within, seed) for within in dict.fromkeys(blocks)), key=scale.loss)


def _sweep(scale: Scale, within: Node, seed: int | None) -> Recoding:
    """The better of two orders of the steps inside a node."""
    counts, recodings = scale.counts, []
    nodes = [node for node in scale.steps if node != within and counts.order.is_finer(node, within)]
    block, guard = counts.label(within), counts.guard
    if counts.earlier:
        block, guard = np.where(counts.published(within).group < 0, -1, block), _sharing(counts)
    for steps in dict.fromkeys((tuple(nodes), tuple(sorted(nodes, key=scale.uneven_bits)))):
        decoys = None if seed is None else Decoys(np.random.default_rng(seed))
        labels = [partial(counts.label, node) for node in (*steps, within)]
        step = sweep(scale.cells, block, labels, counts.k, guard, decoys)
        recoding = scale.recoding(within, [*steps, within], step)
        if decoys:
            recoding = replace(recoding, decoys={"seed": seed, "held": decoys.held})
        recodings.append(recoding)
    return min(recodings, key=scale.loss)


def _sharing(counts: Counts) -> Guard:
    """The guard where a table was published before: k people of every class that a group has.

    A label is read by everyone whom it covers, whatever they were published as before.
    """
    guard = counts.guard or Guard(counts.cells, counts.plan.parameters.promise)
    return guard.sharing(counts.classes[counts.cells.cell], counts.k)


def compare_ways(counts: Counts, answer: Node) -> dict[str, dict[str, float]]:
    """Per way the bits that a row loses on average, and the share of people whom known visits leave alone."""
    ways = WAYS if counts.rows <= TILED_ROWS else WAYS[1:]
    recodings = {"global": Recoding(answer, [answer], counts.published(answer))}
    recodings |= {way: recode_rows(counts, answer, way) for way in ways}
    scale = Scale(counts, {})  # what matters more to somebody is not more information
    return {
        way: {"bits": round(scale.loss(recoding)[1], 6), **_left_alone(counts, recoding.cells)}
        for way, recoding in recodings.items()
    }


def _left_alone(counts: Counts, recoded: Recoded) -> dict[str, float]:
    """The share of people who alone are in the groups of two, and of three, of their visits; of a sample.

    Lots are drawn for values and times in their order, however an engine numbers cells and people.
    """
    cells, room = counts.cells, int(counts.cells.person.max()) + 1
    ranks = [label_ranks(counts.values(column), None)[0][code] for column, code in cells.values.items()]
    lots = np.empty(len(cells), np.int64)
    in_order = np.lexsort((cells.position, *(rank[cells.quasi] for rank in ranks)))
    lots[in_order] = np.random.default_rng(0).integers(2**62, size=len(cells))
    group = recoded.group[cells.cell].astype(np.int64)
    published = np.flatnonzero(group >= 0)
    members = distinct(group[published] * room + cells.person[published])

    @cache
    def people_in(number: int) -> set[int]:
        begin, end = np.searchsorted(members, (number * room, number * room + room))
        return {*(members[begin:end] % room).tolist()}

    def is_alone(person: int, groups: set[int]) -> bool:
        """Whether all groups have nobody else; mostly one of the first in the smallest is in the others."""
        smallest, *others = sorted(map(people_in, groups), key=len)
        return not any(all(other in crowd for crowd in others) for other in smallest if other != person)

    # The visits of each person by lot; those who have fewer are known by the ones they have.
    visits = published[np.lexsort((lots[cells.cell[published]], cells.person[published]))]
    people, begins, often = np.unique(cells.person[visits], return_index=True, return_counts=True)
    sample = np.add.reduceat(lots[cells.cell[visits]], begins).argsort()[:TRIED_PEOPLE]
    everyone, shares = len(np.unique(cells.person)), {}
    for number in (2, 3):
        known = begins[sample, None] + np.minimum(np.arange(number), often[sample, None] - 1)
        cases = zip(people[sample].tolist(), map(set, group[visits[known]].tolist()), strict=True)
        alone = np.mean([is_alone(person, groups) for person, groups in cases])
        shares[f"alone_by_{number}"] = round(float(alone) * len(people) / everyone, 6)
    return shares


class Scale:
    """What every step publishes for every cell, and what that loses in bits.

    Sums differ in their last digits with the order of the rows, which must not matter: steps are compared by
    rounded means.
    """

    def __init__(self, counts: Counts, weights: Mapping[str, float] | None = None) -> None:
        self.counts, self.cells = counts, counts.cells
        timeline, order, cells = counts.plan.timeline, counts.order, self.cells
        self._rows = np.bincount(cells.quasi, weights=cells.rows)
        rows_at = np.bincount(cells.position, weights=cells.rows, minlength=len(timeline))
        widths = {g.name: _widths(timeline, g) for g in order.granularities}
        narrowest = min(float(width.min()) for width in widths.values())
        self.time_bits = {name: np.log2(width / narrowest) for name, width in widths.items()}
        weights = counts.plan.parameters.weights or {} if weights is None else weights
        self.weight_of_time = weights.get(counts.plan.relation.time, 1.0)
        self.weights = [weights.get(column, 1.0) for column in counts.columns]
        self._bits: dict[tuple[str, int], tuple[Floats, float]] = {}
        # What the time of a row loses on average. A granule without an end ends with the data, and may be
        # narrower than one inside of it; a coarser granularity loses no less all the same.
        means = {name: float(bits @ rows_at) / float(rows_at.sum()) for name, bits in self.time_bits.items()}
        self.mean_widths = {
            name: max(mean for finer, mean in means.items() if order.is_finer_time(finer, name))
            for name in means
        }

    @cached_property
    def steps(self) -> list[Node]:
        """Every step, those that lose least on average first."""
        # Where means are equal: by levels, and then in the order of the granularities.
        nodes = [Node(levels, name) for levels in self._combinations() for name in self.time_bits]
        return sorted(nodes, key=lambda node: (self.mean_bits(node), sum(node.levels), node.levels))

    def mean_bits(self, node: Node) -> float:
        """What a row loses on average at a step."""
        values = zip(self.weights, self._value_bits(node.levels), strict=True)
        time = self.weight_of_time * self.mean_widths[node.granularity]
        return round(sum(weight * mean for weight, (_, mean) in values) + time, 9)

    def uneven_bits(self, node: Node) -> float:
        """What a row loses at a step, so averaged that rows which lose much count for more."""
        mean = float(np.average(np.square(np.square(self.bits(node))), weights=self.cells.rows))
        return round(math.sqrt(math.sqrt(mean)), 9)

    def _combinations(self) -> list[tuple[int, ...]]:
        """All combinations of levels; if they are many, a chain that raises the cheapest column each time."""
        usable, every = self.counts.usable, self.counts.order.levels
        if len(every) <= MOST_COMBINATIONS:
            return every
        chain, finest = [tuple(levels[0] for levels in usable)], next(iter(self.time_bits))
        while raised := [
            (*chain[-1][:column], level, *chain[-1][column + 1 :])
            for column, levels in enumerate(usable)
            for level in levels
            if level > chain[-1][column]
        ]:
            chain.append(min(raised, key=lambda levels: self.mean_bits(Node(levels, finest))))
        return chain

    def _value_bits(self, levels: tuple[int, ...]) -> list[tuple[Floats, float]]:
        """Per column with a hierarchy, what each combination of values loses at its level, and a mean row."""
        tables, columns = self.counts.levels(levels), self.counts.columns
        for column, level in zip(columns, levels, strict=True):
            if (column, level) not in self._bits:
                value = self.cells.values[column]
                label = label_ranks(self.counts.values(column), tables.get(column))[0][value]
                rows, total = np.bincount(value, weights=self._rows), np.bincount(label, weights=self._rows)
                bits = np.log2(total[label] / rows[value])
                self._bits[column, level] = bits, float(np.average(bits, weights=self._rows))
        return [self._bits[column, level] for column, level in zip(columns, levels, strict=True)]

    def bits(self, node: Node, cells: Ints | slice = slice(None)) -> Floats:
        """What each cell's rows, or those of some cells, lose at a step."""
        weighed = zip(self.weights, self._value_bits(node.levels), strict=True)
        parts = (weight * bits for weight, (bits, _) in weighed)
        values = np.add.reduce([np.zeros(len(self._rows)), *parts])
        time = self.weight_of_time * self.time_bits[node.granularity]
        bits: Floats = values[self.cells.quasi[cells]] + time[self.cells.position[cells]]
        return bits

    def loss(self, recoding: Recoding) -> tuple[float, float]:
        """The bits that a row loses on average, a withheld one as at the coarsest step; a published row."""
        rows, step, bits = self.cells.rows, recoding.cells.step, np.zeros(len(self.cells))
        for number, node in (*enumerate(recoding.steps), (WITHHELD, self.steps[-1])):
            at_step = np.flatnonzero(step == number)
            bits[at_step] = self.bits(node, at_step)
        shown = step >= 0
        return float(np.average(bits, weights=rows)), float(np.average(bits[shown], weights=rows[shown]))

    def recoding(self, within: Node, steps: Sequence[Node], step: Codes) -> Recoding:
        """Only the steps that something is published at, and the groups."""
        used = np.unique(step[step >= 0]).tolist()
        (renumbered, group), groups = np.full((2, len(step)), WITHHELD, np.int32), 0
        for number, node in enumerate(steps[n] for n in used):
            at_step = np.flatnonzero(step == used[number])
            labels, code = np.unique(self.counts.label(node, at_step), return_inverse=True)
            renumbered[at_step], group[at_step] = number, groups + code.ravel()
            groups += len(labels)
        published = group[self.cells.cell] >= 0
        people = people_of(group[self.cells.cell[published]], self.cells.person[published], groups)
        return Recoding(within, [steps[number] for number in used], Recoded(renumbered, group, people))


def _widths(timeline: Timeline, granularity: Granularity) -> Floats:
    """The width of each position's granule; one without a start or an end ends with the data."""
    granules, axis = timeline.granules_of(granularity), timeline.axis
    times = timeline.base.start(timeline.granules)
    ends = times[0], times[-1] + timeline.base.width
    edges = []
    for bound, at_end in zip((granules.start, granules.end), ends, strict=True):
        edge = np.full(len(bound), float(at_end))
        edge[np.asarray(bound.is_valid())] = instants(axis, pa.chunked_array([bound.drop_null()]))
        edges.append(edge)
    # A day of dates may be shorter than the granule of the base, where a zone skips an hour.
    widths: Floats = np.maximum(edges[1] - edges[0], 1.0)
    # What is in a gap has no granule; it is withheld, and loses nothing where it is not counted.
    return np.where(granules.code < 0, widths.min(), widths[granules.code])


# What is stated about steps.


def stated_steps(counts: Counts, recoding: Recoding) -> dict[str, Any]:
    """What a manifest states about the steps: how each generalises, and what was published there."""
    cells, listed = recoding.cells, []
    for number, node in enumerate(recoding.steps):
        at_step = cells.step == number
        rows, groups = int(counts.cells.rows[at_step].sum()), np.unique(cells.group[at_step])
        stated = {"levels": counts.level_names(node.levels), "granularity": node.granularity, "rows": rows}
        smallest = int(cells.people[groups].min())
        listed.append({**stated, "groups": len(groups), "smallest_group": smallest})
    names = dict.fromkeys(node.granularity for node in recoding.steps)
    return {"steps": listed, "definitions": [counts.plan.by_name(name).as_dict() for name in names]}


def mappings_of(counts: Counts, recoding: Recoding) -> dict[str, pa.Table]:
    """Per generalised column a table with its values and what each level that is used publishes for them."""
    mappings: dict[str, pa.Table] = {}
    for levels in dict.fromkeys(node.levels for node in (*recoding.steps, recoding.within)):
        for column, table in counts.levels(levels).items():
            number = levels[counts.columns.index(column)]
            mapping = mappings.get(column, table.select(["value"]))
            if f"level {number}" not in mapping.column_names:
                mappings[column] = mapping.append_column(f"level {number}", table["published"])
    return mappings


# Periods that do not overlap.


def _tiling(scale: Scale, answer: Node) -> Recoding:
    """The combination of levels whose best tiling withholds fewest rows and then loses fewest bits."""
    tilings: list[tuple[Codes, tuple[float, float], Node, list[Node]]] = []
    for levels in dict.fromkeys((answer.levels, *(node.levels for node in scale.steps))):
        steps = [Node(levels, name) for name in sorted(scale.time_bits, key=scale.mean_widths.__getitem__)]
        time = scale.weight_of_time * scale.mean_widths[steps[0].granularity]
        least = 0.0, (scale.mean_bits(steps[0]) - time) * float(scale.cells.rows.sum())
        if any(cost <= least for _, cost, *_ in tilings):
            continue  # its columns alone lose more
        if within := next(filter(scale.counts.is_feasible, steps[::-1]), None):
            tilings.append((*_tile(scale, steps, within), within, steps))
    # The levels of the answer are feasible, so there is a best.
    step, _, within, steps = min(tilings, key=itemgetter(1))
    return scale.recoding(within, steps, step)


def _tile(scale: Scale, steps: Sequence[Node], within: Node) -> tuple[Codes, tuple[float, float]]:
    """Per cell the granularity of the tile it is in, and the rows withheld and bits lost in all.

    Cells in the order of (label, position) are a line, and a granule of people with the same label a
    stretch of it. The best cover of the first n cells ends with a stretch, or leaves the last cell out.
    After earlier releases the line has the cells that `within` would publish, and they are all covered: the
    tiles of `within` cover them, so that nobody else is absent than there.
    """
    cells, counts, guard = scale.cells, scale.counts, scale.counts.guard
    order = np.lexsort((cells.position, counts.codes(steps[0].levels)[cells.quasi]))
    if counts.earlier:
        order, guard = order[counts.published(within).group[order] >= 0], _sharing(counts)
    at_line = np.full(len(cells), -1)
    at_line[order] = np.arange(len(order))
    visit = np.flatnonzero(at_line[cells.cell] >= 0)
    ending: list[list[tuple[int, float, int]]] = [[] for _ in range(len(order) + 1)]
    for number, node in enumerate(steps):
        begins = np.append(True, np.diff(counts.label(node, order)) != 0)
        heads, stretch = np.flatnonzero(begins), (np.cumsum(begins) - 1)[at_line[cells.cell[visit]]]
        safe = people_of(stretch, cells.person[visit], len(heads)) >= counts.k
        if guard:
            safe &= guard.keeps(visit, stretch, len(heads))
        losses = np.add.reduceat(scale.bits(node, order) * cells.rows[order], heads)
        ends = np.append(heads[1:], len(order))
        for n in np.flatnonzero(safe).tolist():
            ending[ends[n]].append((int(heads[n]), float(losses[n]), number))
    rows = cells.rows[order].tolist()
    covers: list[tuple[int, float]] = [(int(cells.rows.sum()) - sum(rows), 0.0)]
    last: list[tuple[int, int]] = [(0, WITHHELD)]
    for end in range(1, len(order) + 1):
        withheld, loss = covers[end - 1]
        options = [((withheld + rows[end - 1], loss), (end - 1, WITHHELD))]
        for head, lost, number in ending[end]:
            options.append(((covers[head][0], covers[head][1] + lost), (head, number)))
        cover, choice = min(options)
        covers.append(cover)
        last.append(choice)
    step, end = np.full(len(cells), WITHHELD, np.int32), len(order)
    while end:
        head, number = last[end]
        step[order[head:end]] = number
        end = head
    return step, covers[-1]
