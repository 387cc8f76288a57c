"""Which of the ways to generalise that keep the promise is taken.

Several ways may keep the promise while nothing finer does. A *measure of generality* settles it: most groups,
the paper's, fewest bits lost, highest precision, or a function of the caller's. A measure must not fall where
something is made coarser; otherwise the least general way would not be one of the finest.

The most groups are often reached by publishing a column as one value for all rows, which ends every question
about it. So by default a way that keeps more columns is preferred if a row loses at most `COMPARABLE` bits
more there. Mascetti et al. 2006 leave priorities and thresholds to others (§5): they are the weights of the
bits, and the levels that a hierarchy may go up to.
Cost: every way that may matter is counted once, for all measures.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import pyarrow.compute as pc

from timeveil.domain.lines import LARGEST_LOSS
from timeveil.domain.relation import Relation
from timeveil.errors import InfeasibleError, ParameterError, raising
from timeveil.models.events.method.local import Scale
from timeveil.models.events.method.search import Counts, Ladder, Node, label_ranks, least_generalization
from timeveil.models.events.parameters import EventParameters
from timeveil.recoding import bad_hierarchy
from timeveil.recoding.groups import hierarchies_for

COMPARABLE = 2.0  # bits a row that it may cost to keep a column


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to generalise that keeps the promise, as a function sees it that is given as `choose`.

    `levels` has the level of each column with a hierarchy. Groups are those that would be published, and
    `rows_withheld` are in others. `bits` are lost by a row on average.
    """

    levels: Mapping[str, int]
    granularity: str
    groups: int
    smallest_group: int
    group_total: int
    rows_withheld: int
    bits: float


Measure: TypeAlias = Callable[[Candidate], float]


def feasible_nodes(counts: Counts) -> list[Node]:
    """Count every node that may matter; those that keep the promise."""
    if counts.people < counts.k:
        raise too_few_people(counts.people, counts.k)
    order, suppress = counts.order, counts.plan.parameters.suppress
    named = order.representative(counts.plan.named) if counts.plan.named else None
    feasible: list[Node] = []
    for combination in order.levels:
        nodes = [Node(combination, g.name) for g in order.granularities]
        # Above a success there are no more groups (Property 1), unless rows are withheld: then small groups
        # can merge into ones that are published. A promise about values may fail at the granularity that
        # has to be chosen, although a finer one keeps it, and be kept there at other levels.
        settled = named is None or any(node.granularity == named for node in feasible)
        minimal = order.minimal(feasible) if suppress == 0 and settled else []
        if not all(any(order.is_finer(finer, node) for finer in minimal) for node in nodes):
            feasible += filter(counts.is_feasible, nodes)
    return feasible


def choose_node(counts: Counts, feasible: Sequence[Node], measure: Measure | None) -> tuple[Node, int]:
    """One of the feasible nodes by the rule asked for, and how many nodes that took to try."""
    order, plan = counts.order, counts.plan
    if plan.named:
        representative = order.representative(plan.named)
        feasible = [node for node in feasible if node.granularity == representative]
    if not feasible:
        raise infeasible(counts)
    if plan.parameters.choose == "generality" and plan.parameters.suppress == 0:
        best, tried = least_generalization(order, counts, counts.k)
        if best:
            return best, len(tried)
    choice = _Choice(counts, feasible)
    return choice.by(plan.parameters.choose, measure), len(order.nodes)


class _Choice:
    """The feasible nodes, and what speaks for each of them."""

    def __init__(self, counts: Counts, feasible: Sequence[Node]) -> None:
        self._counts, self._feasible = counts, feasible
        self._rank = {node: number for number, node in enumerate(counts.order.nodes)}

    def by(self, rule: str, measure: Measure | None) -> Node:
        """The least general node by a rule, or by a function."""
        counts = self._counts
        if measure is not None:
            numbers = self._measured(measure)
            return self._least(lambda node: (numbers[node], counts(node).rows_omitted))
        match rule:
            case "generality":
                return self._least(lambda node: (counts(node).kept_smallest, -counts(node).kept_total))
            case "loss":
                return self._least(lambda node: (self._scale.mean_bits(node), counts(node).rows_omitted))
            case "precision":
                return self._least(lambda node: (self._imprecision(node), counts(node).rows_omitted))
        return self._sparing(lambda node: (-counts(node).kept_groups, counts(node).rows_omitted))

    def _least(self, key: Callable[[Node], tuple[Any, ...]]) -> Node:
        return min(self._feasible, key=lambda node: (*key(node), self._rank[node]))

    def _sparing(self, key: Callable[[Node], tuple[Any, ...]]) -> Node:
        """The first by its key, or of those that lose little more the first that wipes fewer columns."""
        best = self._least(key)
        least = {node: self._wiped(node) for node in self._feasible}
        if min(least.values()) == least[best]:
            return best
        most = self._scale.mean_bits(best) + COMPARABLE
        near = [node for node in self._feasible if self._scale.mean_bits(node) <= most]
        cost = (self._wiped(best, published=True), *key(best))
        for node in sorted(near, key=lambda node: (least[node], *key(node), self._rank[node])):
            if (least[node], *key(node)) >= cost:
                break  # withholding wipes more columns and never fewer
            if (at_node := (self._wiped(node, published=True), *key(node))) < cost:
                best, cost = node, at_node
        return best

    def _wiped(self, node: Node, *, published: bool = False) -> int:
        """How many columns, the time among them, have one label for all their values, or `published` ones."""
        counts, levels = self._counts, self._counts.levels(node.levels)
        firsts = counts.plan.timeline.firsts(counts.plan.by_name(node.granularity))
        if published and counts(node).rows_omitted:
            cells, shown = counts.cells, np.flatnonzero(counts.published(node).group >= 0)
            labelled = [(len(firsts), firsts[cells.position[shown]])]
            for column in counts.columns:
                values = counts.values(column)
                rank = label_ranks(values, levels.get(column))[0]
                labelled.append((len(values), rank[cells.values[column][cells.quasi[shown]]]))
        else:
            labelled = [(len(level), level["published"]) for level in levels.values()]
            labelled.append((len(firsts), firsts[firsts >= 0]))
        return sum(len(pc.unique(labels)) == 1 < values for values, labels in labelled)

    @cached_property
    def _scale(self) -> Scale:
        return Scale(self._counts)

    def _imprecision(self, node: Node) -> float:
        """How far up the ladders a node is, on average: 0 at the values themselves, 1 at the top of each."""
        order, heights = self._counts.order, dict[str, int]()
        for granularity in order.granularities:  # finer ones first: the longest chain of them is its height
            below = [high for name, high in heights.items() if order.is_finer_time(name, granularity.name)]
            heights[granularity.name] = max(below, default=-1) + 1
        weights = [self._scale.weight_of_time, *self._scale.weights]
        climbed = [level / top for level, top in zip(node.levels, self._counts.tops, strict=True)]
        parts = [heights[node.granularity] / max(1, *heights.values()), *climbed]
        return round(float(np.average(parts, weights=weights)), 9)

    def _measured(self, measure: Measure) -> dict[Node, float]:
        """The number that a function gives to each node; it may not be less where nodes are coarser."""
        numbers = {}
        for node in self._feasible:
            tally = self._counts(node)
            candidate = Candidate(
                levels=dict(zip(self._counts.columns, node.levels, strict=True)),
                granularity=node.granularity,
                groups=tally.kept_groups,
                smallest_group=tally.kept_smallest,
                group_total=tally.kept_total,
                rows_withheld=tally.rows_omitted,
                bits=self._scale.mean_bits(node),
            )
            with raising(_failed, on=Exception):
                numbers[node] = number = measure(candidate)
            if isinstance(number, bool) or not isinstance(number, Real) or math.isnan(number):
                message = f"the function given as `choose` gave a {type(number).__name__}, not a number"
                raise ParameterError(message, hint="return a number that grows with generality")
        pairs = [(a, b) for a, b in product(numbers, numbers) if self._counts.order.is_finer(a, b)]
        if falling := sum(numbers[finer] > numbers[coarser] for finer, coarser in pairs):
            message = "the function given as `choose` is lower for the coarser of two ways to generalise in "
            message += f"{falling:,} of {len(pairs):,} pairs"
            hint = "return a number that never falls where something is made coarser, such as the bits"
            raise ParameterError(message, hint=hint, facts={"falling": falling, "pairs": len(pairs)})
        return numbers


def _failed(cause: Exception) -> ParameterError:
    message = f"the function given as `choose` failed with {type(cause).__name__}"
    return ParameterError(message, hint="return a number for every candidate")


def ladders_of(
    hierarchies: Mapping[str, Any], relation: Relation, parameters: EventParameters
) -> dict[str, Ladder]:
    """Per generalised column its hierarchy and the levels that may be used: up to the most, or the one set.

    What is asked about other columns is refused: they are not published, are known, or have nothing to weigh.
    """
    for column in parameters.protect or {}:
        if column not in relation.roles.sensitive:
            message = f"a promise was made about `{column}`, which is not a sensitive column"
            raise ParameterError(message, hint=f"name `{column}` in {{sensitive}}, or leave its promise out")
    checked = hierarchies_for(relation.roles.quasi_columns, hierarchies)
    ladders: dict[str, Ladder] = {
        column: (hierarchy, range(hierarchy.finest, hierarchy.top + 1))
        for column, hierarchy in checked.items()
    }
    for column in parameters.weights or ():
        if column not in (*ladders, relation.time):
            message = f"a weight was given for `{column}`, which is neither generalised nor the time"
            names = ", ".join(f"`{name}`" for name in (*ladders, relation.time))
            raise ParameterError(message, hint=f"give weights to {names} only")
    for limits in (most := parameters.max_levels or {}, parameters.levels or {}):
        for column, level in limits.items():
            ladder = ladders.get(column)
            if ladder is None:
                message = f"`{column}` has no hierarchy, so no level of it can be set"
                raise bad_hierarchy(message, "set levels only for columns with a hierarchy")
            if isinstance(level, bool) or level not in ladder[1]:
                message = f"the levels of `{column}` go from {ladder[1][0]} to {ladder[1][-1]}"
                raise bad_hierarchy(message, "choose one of them; level 0 is the value itself")
            ladders[column] = (ladder[0], range(ladder[1][0], level + 1) if limits is most else (level,))
    return ladders


# Why a table cannot be published as it was asked for, and what would help.


def too_few_people(people: int, k: int) -> InfeasibleError:
    """A group would need more people than there are."""
    who, hint = "one person", "a single person cannot be hidden; wait for more people"
    if people > 1:
        who = f"{people:,} different people"
        hint = f"choose a {{k}} well below {people:,}: every group must have that many people"
    message = f"the table is about {who}, so no group can have {k:,} people"
    facts = {"people": people, "k": k, "best_k": people}
    return InfeasibleError(message, hint=hint, code="too-few-people", facts=facts)


def infeasible(counts: Counts) -> InfeasibleError:
    """The best that was reached, and how many rows prevent more."""
    order, named, rows, k = counts.order, counts.plan.named, counts.rows, counts.k
    nodes = [Node(levels, name) for levels, tallies in counts.scanned.items() for name in tallies]
    named = named and order.representative(named)
    reached = [(counts(node), node) for node in nodes if named in (None, node.granularity)]
    # Reversed, so that of equally good nodes the coarsest is named.
    best, node = min(reversed(reached), key=lambda pair: (pair[0].rows_spent, -pair[0].smallest_group))
    at = node.granularity
    best_k, share = max(tally.smallest_group for tally, _ in reached), best.rows_spent / rows
    if "all" in order.aliases.get(at, ()):
        at = "all"
    everything = ", even with no time at all" if at == "all" else ""
    hint = "make a quasi-identifier coarser with a hierarchy, or drop one"
    if not best.kept_groups:
        hint = "make a quasi-identifier coarser with a hierarchy, drop one, or choose a smaller k"
    elif share <= LARGEST_LOSS:
        rounded = min(math.ceil(share * 10_000) / 10_000, 0.9999)
        hint = f"withhold those {best.rows_spent:,} rows with {{suppress={rounded:g}}}, or {hint}"
    short = best.groups_below_k + best.groups_short
    missed = f"up to `{at}` gives {k}-anonymity{everything}; best reached: {best_k}"
    if counts.guard and best.groups_short:
        # Promises about values may hold at a granularity and not at a coarser one.
        missed = f"gives {k}-anonymity and keeps what else is promised; `{at}` comes closest"
        hint = f"weaken the promise, or {hint}"
        if share > LARGEST_LOSS and not counts.guard.keeps_as_one(np.arange(len(counts.cells.cell))):
            hint = "weaken the promise: all people of the table together do not keep it either"
    in_groups = f", in {short:,} of {best.groups:,} groups, prevent it"
    facts = {"best_k": best_k, "granularity": at}
    facts |= {"rows_below_k": best.rows_below_k, "groups_below_k": best.groups_below_k}
    facts |= {"rows_short": best.rows_short} if counts.guard else {}
    facts |= {"rows": rows, "suppress_needed": share}
    if counts.earlier:
        group, _, _ = counts.groups(node)
        number, alone = counts.earlier.in_the_way(counts.cells, counts.classes, group, counts.content, k)
        if alone > best.rows_below_k:  # what else is promised, or k people, may be all that is missing
            missed = f"gives {k}-anonymity together with what was published before; `{at}` comes closest"
            most = "mostly " if counts.guard or counts.earlier.labels.shape[1] > 1 else ""
            in_groups = f" would have to be withheld, {most}because of earlier release {number}"
            facts |= {"earlier_release": number, "rows_short": alone}
    return InfeasibleError(
        f"no granularity {missed}. {best.rows_spent:,} of {rows:,} rows{in_groups}",
        hint=hint,
        code="no-granularity",
        facts=facts,
    )
