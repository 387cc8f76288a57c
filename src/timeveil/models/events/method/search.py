"""Least generalisation (Mascetti et al. 2006, §4.2).

Find the least general calendar granularities and levels of value hierarchies that keep the promise. They are
only partially ordered (weeks do not nest in months), so the search walks a graph, not a ladder.

Where we depart from the print (each with a test; see docs/explanation/errata.md)
    Procedure 1, line 3: `minimum = null`, not `≠ null`.
    Procedure 1: a fixed graph, and nodes in finest-first order, so that of equal ones the finer is kept.
    The base granularity is always a node.
Cost: one scan per node tried (Theorem 6); nodes above a success are not tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.catalogue import resolve
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.order import is_finer_than
from timeveil.calendar.timeline import Timeline, at_least, base_for
from timeveil.domain.arrays import Codes, Flags, Ints
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.engines import Cells, Events, Levels, Recoded, Step, Tally
from timeveil.errors import InputError, ParameterError
from timeveil.models.events.method.earlier import HIDDEN, Earlier, people_of
from timeveil.models.events.method.protect import Guard
from timeveil.models.events.parameters import CHOICES, EventParameters
from timeveil.reading.encoding import combine, distinct, publish_values
from timeveil.recoding import Hierarchy

Ladder: TypeAlias = tuple[Hierarchy, Sequence[int]]  # a hierarchy and the levels of it that may be used


@dataclass(frozen=True, slots=True)
class Plan:
    """What one run may choose from: the calendar, compiled against the data.

    `base`, which time was read at, is always counted, and chosen only if `allowed`. `named` must be chosen.
    `limited_to` has the names that the caller allowed, `skipped` why a granularity was left out.
    """

    relation: Relation
    parameters: EventParameters
    timeline: Timeline
    allowed: tuple[Granularity, ...]
    base: Granularity
    named: str | None
    limited_to: list[str] | None
    skipped: Mapping[str, str]

    def by_name(self, name: str) -> Granularity:
        return next(g for g in (*self.allowed, self.base) if g.name == name)


def make_plan(
    events: Events,
    relation: Relation,
    parameters: EventParameters,
    definitions: Iterable[Granularity] | None,
    *,
    by_rule: bool,
    only: Granularity | None,
) -> Plan:
    """Fix the base granularity, look at which granules occur, and settle what may be chosen.

    `choose` is a rule, one of those with a name or `by_rule`, or else the name of a granularity. `only` is
    the one granularity that may be chosen, if another release is continued.
    """
    axis, names = relation.clock, parameters.granularities if only is None else [only]
    allowed, named = resolve(names, axis, definitions), None
    if not by_rule and parameters.choose not in CHOICES:
        named = _named(parameters.choose, axis, definitions)
        listed = named.name in {g.name for g in allowed}
        if names is not None and not listed:
            message = f"`{named.name}` is chosen, and is not among the granularities to consider"
            raise ParameterError(message, hint="name it in {granularities} too, or leave one of the two out")
        allowed = allowed if listed else (*allowed, named)
    limited_to = None if names is None else [g.name for g in allowed]
    ticks = base_for(axis, allowed, *events.extent())
    (base,) = resolve([ticks.name], axis)
    timeline = Timeline(axis, ticks, events.observe(ticks), parameters.gaps)
    if limited_to is None:
        # Granularities below the base would cut the data no finer than it does.
        allowed = tuple(g for g in allowed if g == named or at_least([g], ticks))
    skipped = _gapped(timeline, allowed, named)
    allowed = tuple(g for g in allowed if g.name not in skipped)
    must = named.name if named else None
    return Plan(relation, parameters, timeline, allowed, base, must, limited_to, skipped)


def _gapped(timeline: Timeline, allowed: Sequence[Granularity], named: Granularity | None) -> dict[str, str]:
    """The granularities to skip because of their gaps; a policy that withholds rows skips none."""
    if timeline.gaps == "suppress":
        return {}
    where, hint = "belong to no granule of `{}`, which has gaps", ', or move them on with {gaps="next"}'
    skipped, outside = "rows fall into its gaps", {g.name: timeline.in_gaps(g) for g in allowed}
    if timeline.gaps == "next":  # rows after the last granule have no next one
        outside = {g.name: timeline.firsts(g) < 0 for g in allowed if outside[g.name].any()}
        where, hint = "are after the last granule of `{}`, so that there is no next one", ""
        skipped = "rows are after its last granule"
    gapped = [g for g in allowed if g.name in outside and outside[g.name].any()]
    if gapped and (timeline.gaps == "error" or named in gapped or len(gapped) == len(allowed)):
        worst = named if named in gapped else gapped[0]
        lost = int(outside[worst.name].sum())
        raise InputError(
            f"{lost} of the {len(timeline)} times that occur, counted by {timeline.base.name}, "
            + where.format(worst.name),
            hint=f'withhold such rows with {{gaps="suppress"}}{hint}',
            code="gap",
            facts={"granularity": worst.name, "granules": lost},
        )
    return {g.name: skipped for g in gapped}


def _named(name: str, axis: TimeAxis, definitions: Iterable[Granularity] | None) -> Granularity:
    """The granularity that `choose` names; what is nearly one of its rules is taken for a typing error."""
    try:
        return resolve([name], axis, definitions)[0]
    except ParameterError as error:
        near = get_close_matches(name, CHOICES, 1)
        if not near:
            raise
        hint = f'did you mean {{choose="{near[0]}"}}?'
        raise ParameterError(f"{error.message}, and no rule to choose by", hint=hint) from None


@dataclass(frozen=True, slots=True)
class Node:
    """One way to generalise: a level per hierarchy, and a granularity by name."""

    levels: tuple[int, ...]
    granularity: str


def generality(tally: Tally) -> tuple[int, int]:
    """gen_c (Definition 7), as a key that sorts by ≤_c: smallest group up, group total down."""
    return (tally.smallest_group, -tally.group_total)


def least_generalization(
    order: Order, tally: Callable[[Node], Tally], k: int
) -> tuple[Node | None, list[Node]]:
    """Algorithm 1: the least general node whose groups all hold k people, and the nodes that were tried."""
    best: tuple[tuple[int, int], Node] | None = None
    covered: set[Node] = set()
    tried: list[Node] = []
    for node in order.nodes:
        if node in covered:
            continue
        tried.append(node)
        counted = tally(node)
        # Only a failure sends us coarser (Property 1).
        if counted.smallest_group < k or counted.rows_short:
            continue
        covered.update(other for other in order.nodes if order.is_finer(node, other))
        if best is None or generality(counted) < best[0]:
            best = (generality(counted), node)
    return best[1] if best else None, tried


class Order:
    """Level combinations times granularities, ordered by what refines what on the data at hand.

    Granularities that partition the observed granules alike are one node, named by the finest;
    `aliases` lists the others. A granularity that leaves rows out in its gaps is comparable only with
    those that leave out the same rows. `levels` lists per hierarchy the levels that may be used.
    """

    def __init__(
        self, timeline: Timeline, granularities: Sequence[Granularity], levels: Sequence[Sequence[int]] = ()
    ) -> None:
        # Where a granularity cuts the positions outside its gaps, and which are inside: a bit each.
        partitions: dict[str, tuple[int, int]] = {}
        for g in granularities:
            cuts, gaps = timeline.cuts(g)
            partitions[g.name] = int.from_bytes(cuts.tobytes()), int.from_bytes(gaps.tobytes())

        def rank(granularity: Granularity) -> tuple[int, int, int]:
            """Most granules first; where the data at hand do not decide, finer and then shorter ones."""
            finer = sum(is_finer_than(g, granularity) for g in granularities if g is not granularity)
            return -partitions[granularity.name][0].bit_count(), finer, granularity.rule.shortest

        self.aliases: dict[str, list[str]] = {}
        self.granularities: list[Granularity] = []
        for granularity in sorted(granularities, key=rank):
            partition = partitions[granularity.name]
            # Equal cuts of the data are one node; as finer ones come first, it has the finest name.
            twin = next((name for name in self.aliases if partitions[name] == partition), None)
            if twin is None:
                self.granularities.append(granularity)
                self.aliases[granularity.name] = []
            else:
                self.aliases[twin].append(granularity.name)
        # One refines another that cuts only where it does, and leaves out the same rows.
        self._finer = {
            (g, h): fine[1] == coarse[1] and not coarse[0] & ~fine[0]
            for (g, fine), (h, coarse) in product(partitions.items(), repeat=2)
        }
        self.levels = sorted(product(*levels), key=lambda combination: (sum(combination), combination))

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every node, each after all that are finer."""
        return tuple(Node(levels, g.name) for levels in self.levels for g in self.granularities)

    def representative(self, name: str) -> str:
        """The node's granularity for one that partitions the data alike."""
        return next(node for node, aliases in self.aliases.items() if name == node or name in aliases)

    def is_finer(self, a: Node, b: Node) -> bool:
        """Whether `a` refines `b`; a node refines itself."""
        below = all(x <= y for x, y in zip(a.levels, b.levels, strict=True))
        return below and self.is_finer_time(a.granularity, b.granularity)

    def is_finer_time(self, a: str, b: str) -> bool:
        """Whether granularity `a` refines `b` on the data at hand."""
        return self._finer[a, b]

    def minimal(self, nodes: Sequence[Node]) -> list[Node]:
        """Those of some nodes that no other of them is finer than: the frontier."""
        return [n for n in nodes if not any(m != n and self.is_finer(m, n) for m in nodes)]


class Counts:
    """Tallies of nodes: one scan per combination of levels, made when first asked for."""

    def __init__(
        self, events: Events, plan: Plan, ladders: Mapping[str, Ladder], earlier: Earlier | None = None
    ) -> None:
        self.plan, self.rows, self.people, self.k = plan, events.rows, events.people, plan.parameters.k
        self.events, self._ladders, self.earlier = events, ladders, earlier
        self._codes: dict[tuple[int, ...], Ints] = {}
        self._guarded: dict[Node, Tally] = {}
        self.scanned: dict[tuple[int, ...], dict[str, Tally]] = {}
        self._tables: dict[tuple[str, int], pa.Table] = {}
        self.columns, self.usable = list(ladders), [levels for _, levels in ladders.values()]
        self.tops = [hierarchy.top for hierarchy, _ in ladders.values()]
        self.order = Order(plan.timeline, plan.allowed, self.usable)
        self.values = events.values

    def __call__(self, node: Node) -> Tally:
        """A node's groups; where more than k people is promised, those that break it are counted too."""
        tally = self.scan(node.levels)[node.granularity]
        if node not in self._guarded and (self.guard or self.earlier):
            group, people, keeps = self.groups(node)
            published, rows = self._published(group, keeps), self.cells.rows
            large = (group >= 0) & (people >= self.k)[group] if len(people) else group >= 0
            withheld, waiting = published.group < 0, 0
            if self.earlier:
                firsts = self.plan.timeline.firsts(self.plan.by_name(node.granularity))
                late = self.earlier.late(self.cells, self.classes, self.plan.timeline, firsts)
                waiting = int(rows[late & withheld & (group >= 0)].sum())
            self._guarded[node] = replace(
                tally,
                groups_short=len(distinct(group[large])) - len(published.people),
                rows_short=int(rows[large & withheld].sum()),
                rows_waiting=waiting,
                kept_smallest=int(published.people.min()) if len(published.people) else 0,
                kept_total=int(published.people.sum()),
            )
        return self._guarded.get(node, tally)

    def is_feasible(self, node: Node) -> bool:
        """Whether a node keeps the promise and withholds no more than is allowed."""
        # The margin lets a share such as 0.29 of 100 rows withhold 29 in spite of rounding.
        most, tally = self.plan.parameters.suppress * self.rows + 1e-9, self.scan(node.levels)
        # What has too few people is not looked at any further, unless some of them only wait.
        if tally[node.granularity].rows_below_k > most and not self.plan.parameters.append:
            return False
        return self(node).kept_groups > 0 and self(node).rows_spent <= most

    def published(self, node: Node) -> Recoded:
        """What is left of all rows at a node without those that break a promise."""
        group, _, keeps = self.groups(node)
        return self._published(group, keeps)

    def _published(self, group: Ints, keeps: Flags) -> Recoded:
        visible = (group >= 0) & np.append(keeps, False)[group]
        if self.earlier:
            visible = self.earlier.shown(self.cells, self.classes, group, self.content, self.k)
            if self.guard:
                # A group that breaks a promise without the others has k people of each class to be absent.
                visits = np.flatnonzero(visible[self.cells.cell])
                visible &= self.guard.keeps(visits, group[self.cells.cell[visits]], len(keeps))[group]
        number = np.full(len(group), -1, np.int32)
        number[visible] = np.unique(group[visible], return_inverse=True)[1].ravel()
        visits, groups = visible[self.cells.cell], int(number.max(initial=-1)) + 1
        people = people_of(number[self.cells.cell[visits]], self.cells.person[visits], groups)
        return Recoded(np.minimum(number, 0), number, people)

    @cached_property
    def content(self) -> Ints:
        """Cells in the order of what they say."""
        quasi = self.codes((0,) * len(self.columns))[self.cells.quasi]
        return quasi * len(self.plan.timeline) + self.cells.position

    @cached_property
    def classes(self) -> Codes:
        """The class of each cell by what was published before."""
        return np.asarray(self.values(HIDDEN)).astype(np.int32)[self.cells.values[HIDDEN][self.cells.quasi]]

    @cached_property
    def guard(self) -> Guard | None:
        """What is promised besides k people; None if nothing is."""
        promise = self.plan.parameters.promise
        return Guard(self.cells, promise) if promise.further else None

    def groups(self, node: Node) -> tuple[Ints, Ints, Flags]:
        """The group of each cell at a node, -1 in a gap; per group its people and whether it may be shown."""
        labels, group = np.unique(self.label(node), return_inverse=True)
        group = group.ravel() - int(bool(len(labels)) and labels[0] < 0)
        at = group[self.cells.cell]
        visit, groups = np.flatnonzero(at >= 0), int(group.max(initial=-1)) + 1
        people = people_of(at[visit], self.cells.person[visit], groups)
        keeps = people >= self.k
        return group, people, keeps & self.guard.keeps(visit, at[visit], groups) if self.guard else keeps

    def scan(self, combination: tuple[int, ...]) -> dict[str, Tally]:
        """Every granularity at one combination of levels, the base granularity too."""
        if combination not in self.scanned:
            nodes = list(self.order.granularities)
            if self.plan.base.name not in {g.name for g in self.plan.allowed}:
                nodes.append(self.plan.base)
            tallies = self.events.tally(self.plan.timeline, nodes, self._counted(combination), self.k)
            self.scanned[combination] = {g.name: t for g, t in zip(nodes, tallies, strict=True)}
        return self.scanned[combination]

    @cached_property
    def cells(self) -> Cells:
        """The cells at the values themselves."""
        return self.events.cells(list(self.plan.parameters.protect or ()))

    def codes(self, levels: tuple[int, ...]) -> Ints:
        """A number per combination of quasi-identifiers for what it is published as, by label."""
        if levels not in self._codes:
            tables, parts = self._counted(levels), []
            for name, value in self.cells.values.items():
                rank, labels = label_ranks(self.values(name), tables.get(name))
                parts.append((rank[value], labels))
            code, _ = combine(parts, int(self.cells.quasi.max(initial=-1)) + 1)
            self._codes[levels] = np.unique(code, return_inverse=True)[1].ravel().astype(np.int64)
        return self._codes[levels]

    def label(self, node: Node, cells: Ints | Codes | slice = slice(None)) -> Ints:
        """A number per cell, or for some cells, for what it is published as; -1 in a gap."""
        firsts = self.plan.timeline.firsts(self.plan.by_name(node.granularity)).astype(np.int64)
        first, quasi = firsts[self.cells.position[cells]], self.cells.quasi[cells]
        return np.where(first < 0, -1, self.codes(node.levels)[quasi] * len(firsts) + first)

    def steps(self, nodes: Sequence[Node]) -> list[Step]:
        """What each of some nodes publishes."""
        return [(self.plan.by_name(node.granularity), self.levels(node.levels)) for node in nodes]

    def levels(self, combination: tuple[int, ...]) -> dict[str, pa.Table]:
        """What each generalised quasi-identifier publishes at these levels."""
        tables = {}
        for column, number in self._generalised(combination).items():
            if (column, number) not in self._tables:
                hierarchy, _ = self._ladders[column]
                self._tables[column, number] = hierarchy.level(number, self.events.values(column))
            tables[column] = self._tables[column, number]
        return tables

    def _counted(self, combination: tuple[int, ...]) -> Levels:
        """The levels, and one label for what was published before, which nobody sees in a row."""
        if self.earlier is None:
            return self.levels(combination)
        values = self.values(HIDDEN)
        unseen = pa.table({"value": values, "published": pa.array(["*"] * len(values))})
        return {**self.levels(combination), HIDDEN: unseen}

    def level_names(self, combination: tuple[int, ...]) -> dict[str, dict[str, Any]]:
        """The number and the name of each of these levels."""
        return {
            column: {"level": number, "name": self._ladders[column][0].names[number - 1]}
            for column, number in self._generalised(combination).items()
        }

    def _generalised(self, combination: tuple[int, ...]) -> dict[str, int]:
        return {column: n for column, n in zip(self._ladders, combination, strict=True) if n > 0}


def label_ranks(values: pa.Array, level: pa.Table | None) -> tuple[Codes, int]:
    """The rank of what each value is published as, missing last, and how many labels there are."""
    # Ties in a sweep are settled by rank: by content, not by where a value first occurs in the table.
    labels = values if level is None else publish_values(values, level)
    rank = pc.rank(labels, tiebreaker="dense").to_numpy().astype(np.int32) - 1
    return rank, int(rank.max(initial=-1)) + 1
