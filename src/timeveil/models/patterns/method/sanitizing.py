"""Raise counts until no small group can be computed (Algorithm 4, corrected).

Every channel says that a few rows have some items (present) and not others (absent). Two channels merge if
and only if neither has what the other lacks and, in series, a symbol is left at every instant. For each
merger V virtual rows are added that have its present items and, in series, one symbol at every instant, as
everybody has. Every pattern below V rises by as much, closed or not, and the empty one too: the result is
what real and virtual rows give together, so no count contradicts another, and no pattern is lost.

Why no small group is left. A group is a question that every row answers with yes or no. V is in the small
cell of every channel that was merged, and k copies make each of them at least k. In any other group V counts
k times or not at all, so what was 0 is 0 or at least k, and what was k is no less. With fewer copies, as many
as V's smallest cell needs, every cell that V is in becomes at least k, and all other cells stay as they were.

For small families an integer program finds the virtual rows that change counts least. Rows or patterns are
left out until no channel is left only for comparison: that loses patterns.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, product
from typing import Any

import numpy as np

from timeveil.domain.arrays import Flags, Ints
from timeveil.errors import InfeasibleError, ParameterError
from timeveil.models.patterns.method.channels import Boxes, Channels
from timeveil.models.patterns.method.family import BLOCK_WORDS, Family
from timeveil.models.patterns.method.transactions import Sets, Transactions, packed, ranges

Mine = Callable[[Transactions], Family]
Find = Callable[[Family], Channels]
UNIT_COST = 1 << 32
"""What a count of 1 costs to raise by 1; a count of n costs 1/n of it. Whole numbers keep ties exact."""
BLOCK_CELLS = 1 << 20


@dataclass(frozen=True, slots=True)
class Virtual:
    """Rows that are added: what each has, and how many copies."""

    sets: Sets
    copies: Ints

    @property
    def total(self) -> int:
        return int(self.copies.sum())


NO_ROWS = Virtual(Sets.joined([]), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class Sanitized:
    """The small groups of mined patterns, the patterns after, and what was done: rows added or withheld."""

    channels: Channels
    after: Family
    virtual: Virtual = NO_ROWS
    withheld: Flags | None = None
    rounds: int = 1


def additive(channels: Channels, k: int) -> Virtual:
    """k copies of a row that has what each merger has."""
    sets = mergers(channels)
    return Virtual(sets, np.full(len(sets.lengths), k))


def tight(channels: Channels, k: int) -> Virtual:
    """As few copies of what each merger has as make every cell that they fall into k or more."""
    return _needed(mergers(channels), channels, k)


def clone(channels: Channels, k: int, rows: Transactions) -> Virtual:
    """Copies of a row of each small cell, so that a virtual row is always one that somebody has."""
    # Which row of a small cell is cloned must not depend on the order of the input.
    rows = rows.take(np.lexsort(rows.sets.keys(len(rows.names))[::-1]))
    firsts = [np.zeros(0, np.int64)]
    for cells, sizes in cells_of(rows.sets, channels.threatened, channels.family):
        row, box = np.nonzero(sizes < k)
        firsts.append(row[np.unique([box, cells[row, box]], axis=1, return_index=True)[1]])
    return _needed(rows.sets.take(np.unique(np.concatenate(firsts))), channels, k)


def cells_of(sets: Sets, forms: Sequence[Boxes], family: Family) -> Iterator[tuple[Ints, Ints]]:
    """Block by block the cell that each set falls into, a column for each box, and the rows in that cell."""
    has = sets.flags(len(family.item_of))[:, family.item_of]
    boxes_at_once = max(1, BLOCK_CELLS // max(1, len(has)))
    for form in forms:
        for block in form.blocks(min(BLOCK_CELLS, boxes_at_once * form.cells)):
            cells = block.cell_of(has)
            yield cells, block.sizes(family)[cells, np.arange(len(block.ranks))]


def raised(family: Family, virtual: Virtual) -> Family:
    """Every count with the virtual rows in it, by length; only nodes that a virtual row has go on."""
    if virtual.total == 0:
        return family
    first, children = family.children
    holders = packed(virtual.sets.flags(len(family.item_of)).T)[family.item_of]
    # Copies by their binary digits, so that rows are counted as bits; all copies alike take one digit.
    unit = int(np.gcd.reduce(virtual.copies))
    multiples = virtual.copies // unit
    digits = range(int(multiples.max()).bit_length())
    weighted = [(unit << digit, packed((multiples >> digit & 1 > 0)[None])[0]) for digit in digits]
    support = family.support.copy()
    # Virtual rows are people too: without them the total would contradict the counts that rise.
    support[0] += virtual.total
    pending = [(np.zeros(1, np.int64), packed(np.ones((1, len(virtual.copies)), np.bool_)))]
    while pending:
        nodes, bits = pending.pop()
        step = max(1, BLOCK_WORDS // bits.shape[1])
        below = ranges(first[nodes], children[nodes])
        above = np.repeat(np.arange(len(nodes)), children[nodes])
        for start in range(0, len(below), step):
            block = below[start : start + step]
            common = bits[above[start : start + step]] & holders[family.rank[block]]
            added = np.zeros(len(block), np.int64)
            for weight, rows in weighted:
                added += np.einsum("ij->i", np.bitwise_count(common & rows), dtype=np.int64) * weight
            reached = np.flatnonzero(added)
            support[block[reached]] += added[reached]
            pending.append((block[reached], common[reached]))
    return replace(family, support=support)


def mergers(channels: Channels) -> Sets:
    """A row for each merger, in it: greedy first fit, the most items first, then in the order of items.

    For each item the mergers that have it, and those that lack it, are bits of an integer, so all mergers
    are asked at once; the lowest one that nothing is against is the first that agrees.
    """
    family, groups = channels.published, channels.groups
    items, kinds = len(family.item_of), family.kinds
    having, lacking, excluded = ([0] * items for _ in range(3))
    siblings = [[y for y in range(x - x % kinds, x - x % kinds + kinds) if y != x] for x in range(items)]
    symbols = [frozenset(range(first, first + kinds)) for first in range(0, items, kinds)]
    last: list[int] | None = None
    against_present = mergers_made = 0
    for present, absent in zip(groups.present.each(), groups.absent.each(), strict=True):
        if present != last:
            # joining a group does not change what is against others with the same items
            last, against_present = present, 0
            for item in present:
                against_present |= lacking[item] | excluded[item]
        against = against_present
        for item in absent:
            against |= having[item]
        for instant in {item // kinds for item in absent} if kinds > 1 else ():
            # mergers that would lack every symbol: those that lack all that the group itself does not
            lack_all = -1
            for item in symbols[instant].difference(absent):
                lack_all &= lacking[item]
            against |= lack_all
        # The lowest bit that is 0 in `against`: an old merger that agrees, or a new one.
        home = ~against & (against + 1)
        for item in present:
            having[item] |= home
            for sibling in siblings[item]:
                excluded[sibling] |= home
        for item in absent:
            lacking[item] |= home
        mergers_made = max(mergers_made, home.bit_length())
    width = -(-mergers_made // 8) or 1
    lines = [[item.to_bytes(width, "little") for item in bits] for bits in (having, lacking)]
    octets = np.frombuffer(b"".join(chain(*lines)), np.uint8).reshape(2, items, width)
    flags = np.unpackbits(octets, axis=2, count=mergers_made, bitorder="little").astype(np.bool_)
    have, lack = flags.transpose(0, 2, 1)
    return Sets.of_flags(have if kinds == 1 else _completed_series(have, lack, family))


def _completed_series(have: Flags, lack: Flags, family: Family) -> Flags:
    """What each merger has and, at every other instant, a symbol that costs published counts least.

    A symbol costs what raising all patterns with it and something of the row does; then what raising all
    patterns with it does; among equals the first. Instants are filled in their order.
    """
    costs, kinds = _joint_costs(family), family.kinds
    row_cost = have @ costs
    rows = have.copy()
    for first in range(0, len(family.item_of), kinds):
        symbols = np.arange(first, first + kinds)
        # in this order the first of the cheapest symbols is also the one that costs least alone
        symbols = symbols[np.argsort(costs[symbols, symbols], kind="stable")]
        open_rows = np.flatnonzero(~rows[:, symbols].any(axis=1))
        cells = np.ix_(open_rows, symbols)
        # A merger leaves a symbol at every instant, so the forbidden price never wins.
        price = np.where(lack[cells], np.iinfo(np.int64).max, row_cost[cells])
        cheapest = symbols[np.argmin(price, axis=1)]
        rows[open_rows, cheapest] = True
        row_cost[open_rows] += costs[cheapest]
    return rows


def _joint_costs(family: Family) -> Ints:
    """For every two items what raising all patterns with both by one costs; of an item, all with it."""
    items = len(family.item_of)
    costs = np.zeros(items * items, np.int64)
    for start, paths in zip(family.levels, family.links[0], strict=False):
        cost = UNIT_COST // np.maximum(family.support[start : start + len(paths)], 1)
        for left, right in combinations(range(paths.shape[1]), 2):
            pair = paths[:, left] * items + paths[:, right]
            costs += np.bincount(pair, cost, minlength=items * items).astype(np.int64)
        for column in paths.T:
            costs += np.bincount(column * (items + 1), cost, minlength=items * items).astype(np.int64)
    # pairs were counted with the smaller item first; the diagonal is what an item costs alone
    square = costs.reshape(items, items)
    return square + np.triu(square, 1).T


def _needed(sets: Sets, channels: Channels, k: int) -> Virtual:
    """m(V) = the largest of k less the rows that share V's cell, over all boxes; none if not above 0."""
    smallest = np.full(len(sets.lengths), k, np.int64)
    for _, sizes in cells_of(sets, channels.boxes, channels.family):
        smallest = np.minimum(smallest, sizes.min(axis=1))
    short = np.flatnonzero(smallest < k)
    return Virtual(sets.take(short), k - smallest[short])


def suppress_rows(rows: Transactions, channels: Channels, mine_again: Mine, find: Find, k: int) -> Sanitized:
    """Withhold the rows of small cells, count again and drop what became rare, until no channel is left."""
    before, counted, rounds = channels, np.arange(rows.rows), 0
    # Withholding rows changes every count, so new small cells may appear: again until there are none.
    while len(channels):
        rounds += 1
        small = np.zeros(len(counted), np.bool_)
        for _, sizes in cells_of(rows.sets.take(counted), channels.threatened, channels.family):
            small |= (sizes < k).any(axis=1)
        counted = counted[~small]
        family = mine_again(rows.take(counted))
        _require_patterns(family, "row", rows.rows - len(counted), rows.rows)
        channels = find(family)
    withheld = np.ones(rows.rows, np.bool_)
    withheld[counted] = False
    return Sanitized(before, channels.published, withheld=withheld, rounds=rounds)


def suppress_patterns(channels: Channels, find: Find) -> Sanitized:
    """Unpublish maximal patterns with a small cell until no channel is left; counts stay exact.

    Of a box that holds several patterns the least supported one goes, which ends the box. If that one is not
    published but follows, one goes that it follows from.
    """
    before, family, rounds = channels, channels.published, 0
    total = len(family) - 1
    while len(channels):
        rounds += 1
        doomed: list[int] = []
        complete = channels.family
        # Every box with a channel must end, and unpublishing one of its patterns ends it.
        for boxes in channels.threatened:
            nodes = np.zeros((len(boxes.ranks), 1), np.int64)
            for column, width, _ in boxes.units():
                # All ways to take one item of each instant so far; the family has every one.
                ways = [complete.child(nodes, boxes.ranks[:, [column + symbol]]) for symbol in range(width)]
                nodes = np.concatenate(ways, axis=1)
            rarest = nodes[np.arange(len(nodes)), np.argmin(complete.support[nodes], axis=1)]
            doomed += map(channels.completed.source, rarest.tolist())
        family = family.without(np.array(doomed))
        _require_patterns(family, "pattern", total - len(family) + 1, total)
        channels = find(family)
    return Sanitized(before, family, rounds=rounds)


def _require_patterns(family: Family, what: str, lost: int, total: int) -> None:
    if len(family) == 1:
        message = f"no pattern is left when {lost:,} of {total:,} {what}s are withheld"
        hint = 'use {method="additive"}, which loses no pattern, or raise {min_support}'
        facts = {"suppressed": lost, "of": total}
        raise InfeasibleError(message, hint=hint, code="no-frequent-pattern", facts=facts)


MOST_CANDIDATES = 4_096
SECONDS = 60.0


def least(channels: Channels, k: int) -> Virtual:
    """The copies of rows that raise counts least in all, out of every row that could be added.

    A small cell gets as many as it lacks, an empty one none or at least k.
    """
    if not len(channels):
        return NO_ROWS
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 - scipy is heavy
    from scipy.sparse import csr_array  # noqa: PLC0415 - scipy is heavy

    family = channels.family
    candidates = _every_row(family)
    in_cells, candidates_in, sizes_of = [], [], []
    count = 0
    for form in channels.boxes:
        sizes, cell_of = form.sizes(family), form.cell_of(candidates[:, family.item_of])
        # Candidates by the cell they fall into; cells that are large enough have nothing to say.
        inside, box = np.nonzero(sizes[cell_of, np.arange(len(form.ranks))] < k)
        cells, in_cell = np.unique(box * form.cells + cell_of[inside, box], return_inverse=True)
        in_cells.append(count + in_cell)
        candidates_in.append(inside)
        sizes_of.append(sizes.T.ravel()[cells])
        count += len(cells)
    in_cell, candidate, size = map(np.concatenate, (in_cells, candidates_in, sizes_of))
    floors, empty = k - size, size == 0
    filled, number = np.flatnonzero(empty), len(candidates)
    most = k * count  # more copies than all cells lack together are never needed
    entries = np.append(in_cell, filled), np.append(candidate, number + np.arange(len(filled)))

    def copies_less(part: int) -> Any:
        """Per cell its copies, less this many where it is empty and flagged to be filled."""
        weights = np.repeat([1.0, -float(part)], [len(in_cell), len(filled)])
        return csr_array((weights, entries), shape=(count, number + len(filled)))

    # An empty cell without its flag has no copies, and with it at least k.
    lacking = LinearConstraint(copies_less(k), np.where(empty, 0, floors), np.inf)
    unless_flagged = LinearConstraint(copies_less(most), -np.inf, np.where(empty, 0, np.inf))
    # How many published patterns each candidate has, the empty one included: what one copy raises.
    published = channels.published
    has = np.ones((len(published), number), np.bool_)
    for node in range(1, len(published)):
        item = published.item_of[published.rank[node]]
        has[node] = has[published.parent[node]] & candidates[:, item]
    solved = milp(
        np.append(has.sum(axis=0), np.zeros(len(filled))),
        integrality=np.ones(number + len(filled)),
        bounds=Bounds(0, np.append(np.full(number, float(most)), np.ones(len(filled)))),
        constraints=[lacking, unless_flagged],
        options={"time_limit": SECONDS, "mip_rel_gap": 0.0},
    )
    copies = np.zeros(number, np.int64) if solved.x is None else np.rint(solved.x[:number]).astype(np.int64)
    # Counted again in whole numbers: a solver rounds.
    added = np.bincount(in_cell, copies[candidate], count)
    if solved.status != 0 or ((added < floors) & ~(empty & (added == 0))).any():
        message = f"the rows that change counts least were not found in {SECONDS:.0f} seconds"
        raise ParameterError(message, hint='use {method="tight"}, or raise {min_support}')
    return Virtual(Sets.of_flags(candidates[copies > 0]), copies[copies > 0])


def _every_row(family: Family) -> Flags:
    """All rows that could be added: any of the frequent items or, in series, a symbol at every instant."""
    kinds, width = family.kinds, len(family.item_of)
    frequent = family.item_of[family.rank[family.levels[1] : family.levels[2]]].tolist()
    choices = [[[], [item]] for item in frequent]
    if kinds > 1:
        instants = [range(first, first + kinds) for first in range(0, width, kinds)]
        # Symbols of an instant that are in no pattern are alike: one of them is enough.
        rare = [[item for item in symbols if item not in frequent][:1] for symbols in instants]
        common = [[item for item in symbols if item in frequent] for symbols in instants]
        choices = [[[item] for item in symbols] for symbols in map(chain, common, rare)]
    number = math.prod(len(choice) for choice in choices)
    if number > MOST_CANDIDATES:
        most = f"more than the {MOST_CANDIDATES:,} that `least` can choose from"
        message = f"{number:,} different rows could be added, {most}"
        hint = 'use {method="tight"}, raise {min_support}, or publish fewer items'
        raise ParameterError(message, hint=hint)
    candidates = np.zeros((number, width), np.bool_)
    for line, chosen in zip(candidates, product(*choices), strict=True):
        line[[item for items in chosen for item in items]] = True
    return candidates
