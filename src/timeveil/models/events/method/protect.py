"""Promises about sensitive values and about one person's rows: which groups keep them, counted in people.

A person holds a value in a group if one of their rows there has it, and counts once however many rows have
it. `AtMost` compares holders with the group's people. `Entropy` (Machanavajjhala et al. 2006) and `Closeness`
(Li, Li and Venkatasubramanian 2007) are about how holders are spread over the values: a person who holds
several counts once for each.

What merging does
    Number of people, number of values, share of rows of one person, people in common with another group:
    groups that keep the promise keep it together.
    Share, entropy and closeness: not when people recur. One of the two people of a group holds a, and one of
    the two of another; if the person who does not is the same, a is held by two of three together.

So a promise is tested at every node of a search and at every gathering of a sweep, and what a sweep leaves
open has to keep it too: otherwise groups would be skimmed off until everyone left holds the same value.

Cost: a sort of the holdings, distinct (visit, value), per test; at a tight block one look-up per gathering.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.arrays import Codes, Flags, Floats, Ints
from timeveil.domain.guarantee import KAnonymity
from timeveil.domain.protection import AnyProtection, AtMost, Closeness, Distinct, Entropy
from timeveil.domain.wording import counted
from timeveil.engines import Cells, Held
from timeveil.errors import ParameterError
from timeveil.reading.columns import is_text
from timeveil.reading.encoding import distinct
from timeveil.reading.table import moments

_NUMBER = r"^-?[0-9]{1,15}(\.[0-9]{1,15})?([eE][-+]?[0-9]{1,2})?$"
GROUPS_AT_ONCE = 100  # compared with all groups
SLACK = 1e-9  # a share such as 1/3 of 3 people is 1 person in spite of rounding


@dataclass(frozen=True, slots=True)
class Shared:
    """Every value that somebody in a group holds is held by as many people."""

    people: int


@dataclass(frozen=True, slots=True)
class _Column:
    """A sensitive column: the value of each holding, in the order of the promise, and the whole table's.

    `bounded` marks the values that a share is promised of.
    """

    promise: AnyProtection | Shared
    visit: Ints
    value: Ints
    overall: Floats
    bounded: Flags

    @property
    def values(self) -> int:
        return len(self.overall)


class Guard:
    """Which groups of visits keep what is promised besides the number of people."""

    def __init__(self, cells: Cells, promise: KAnonymity) -> None:
        self.dominance, self.rows = promise.dominance, cells.visit_rows
        self._pairs_of = promise.k if promise.visits > 1 else 0
        self._person = cells.person.astype(np.int64)
        self._people = int(self._person.max(initial=0)) + 1
        self.columns = [
            _column(name, held, promise.protections[name], self._person) for name, held in cells.held.items()
        ]

    def sharing(self, kind: Codes, k: int) -> Guard:
        """A guard that besides keeps k people of every kind of visit that a group has."""
        kinds, size, guard = kind.astype(np.int64), int(kind.max(initial=-1)) + 1, copy(self)
        column = _Column(Shared(k), np.arange(len(kind)), kinds, np.zeros(size), np.zeros(size, np.bool_))
        guard.columns = [*self.columns, column]
        return guard

    def keeps(self, visit: Ints, group: Ints, groups: int) -> Flags:
        """Which groups keep every promise; `group` has the number of each visit's."""
        pairs, index = np.unique(group * self._people + self._person[visit], return_inverse=True)
        members = pairs // self._people
        people = np.bincount(members, minlength=groups)
        keeps = np.ones(groups, np.bool_)
        if self.dominance:
            rows = np.bincount(index.ravel(), weights=self.rows[visit])
            total = np.bincount(members, weights=rows, minlength=groups)
            keeps[members[rows > self.dominance * total[members] + SLACK]] = False
        if self._pairs_of:
            large = people[members] >= self._pairs_of
            keeps[_meeting_few(members[large], pairs[large] % self._people, groups, self._pairs_of)] = False
        for column, inside, at in self.holdings(visit):
            # Distinct (group, person, value): a member is a person in a group.
            holdings = distinct(index.ravel()[at] * column.values + column.value[inside])
            pairs = members[holdings // column.values] * column.values + holdings % column.values
            pairs, holders = np.unique(pairs, return_counts=True)
            group_of, value = pairs // column.values, pairs % column.values
            keeps &= _keeps(column, group_of, value, holders, people)
        return keeps

    def keeps_as_one(self, visit: Ints) -> bool:
        """Whether the people of some visits keep every promise together; nobody does."""
        return not len(visit) or bool(self.keeps(visit, 0 * visit, 1)[0])

    def holdings(self, visit: Ints) -> Iterator[tuple[_Column, Flags, Ints]]:
        """Per column the holdings of some visits: which they are, and the index of the visit of each."""
        index = np.full(len(self._person), -1, np.int64)
        index[visit] = np.arange(len(visit))
        for column in self.columns:
            at = index[column.visit]
            yield column, at >= 0, at[at >= 0]


def _meeting_few(group: Ints, person: Ints, groups: int, k: int) -> Ints:
    """The groups that have some people in common with another group, and fewer than k."""
    from scipy.sparse import csr_array  # noqa: PLC0415  scipy loads when it is needed

    people = int(person.max(initial=0)) + 1
    within = csr_array((np.ones(len(group), np.int32), (group, person)), shape=(groups, people))
    short, of_person = np.zeros(groups, np.bool_), within.T.tocsr()
    for first in range(0, groups, GROUPS_AT_ONCE):
        # Someone in very many groups would be counted in the square of them, but for those that are known to
        # be short by now: mostly nearly all.
        rows = np.arange(first, min(first + GROUPS_AT_ONCE, groups))
        rows = rows[~short[rows]]
        in_common = (within[rows] @ of_person).tocoo()
        few = in_common.data < k
        short[rows[in_common.row[few]]] = short[in_common.col[few]] = True
    return np.flatnonzero(short)


def _column(name: str, held: Held, promise: AnyProtection, person: Ints) -> _Column:
    rank = _ranks(name, held.values, promise)
    values, needed = int(rank.max(initial=-1)) + 1, promise.least_values
    if values < needed:
        raise ParameterError(
            f"`{name}` has {counted(values, 'different value')}, and the promise {promise.spelling} needs "
            f"{needed:,} in every group",
            hint="weaken the promise, or leave it out",
        )
    # A share is promised of the values that are named, or else of all.
    named = promise.of if isinstance(promise, AtMost) else None
    bounded = np.full(values, named is None)
    if named:
        index = pc.index_in(held.values.cast(pa.string()), pa.array(named, pa.string()))
        if missing := len(named) - pc.count_distinct(index).as_py():
            message = f"the table lacks {counted(missing, 'named value')} of `{name}`"
            raise ParameterError(message, hint="name values as the table spells them")
        bounded[rank[np.asarray(index.is_valid())]] = True
    value = rank[held.value]
    holdings = distinct(person[held.visit] * values + value)
    overall = np.bincount(holdings % values, minlength=values) / len(holdings)
    return _Column(promise, held.visit, value, overall, bounded)


def _alike(values: pa.Array) -> pa.Array:
    """The values, with one spelling of every number, also in text, and of what is missing."""
    if pa.types.is_floating(values.type):
        return pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    if not is_text(values.type):
        return values
    is_number = pc.match_substring_regex(values, _NUMBER)
    numbers = pc.if_else(is_number, values, pa.scalar(None, values.type)).cast(pa.float64())
    if numbers.null_count == values.null_count:
        return numbers
    # No text begins like this, so that no word is taken for a number.
    spelt = pc.binary_join_element_wise(pa.scalar("\x00"), numbers.cast(pa.string()), "")
    return pc.coalesce(spelt, values.cast(pa.string()))


def _ranks(name: str, values: pa.Array, promise: AnyProtection) -> Ints:
    """A number for each value; for a closeness from low to high, a missing one last."""
    spelt, values = values, _alike(values)
    if not isinstance(promise, Closeness) or promise.order == "none":
        ranks = values.dictionary_encode(null_encoding="encode").indices
    elif promise.order is None:
        if is_text(values.type) and (dates := moments(values)):
            values = pa.array(dates[0], mask=dates[1])
        if is_text(values.type) or pa.types.is_nested(values.type):
            raise ParameterError(
                f"`{name}` is text, which has no order, so that its values have no distance",
                hint="list all values, closeness:0.2:low<high, or write closeness:0.2:none",
            )
        ranks = pc.subtract(pc.rank(values, tiebreaker="dense"), 1)
    else:
        listed = pa.array([*promise.order, None], pa.string())
        ranks = pc.index_in(spelt.cast(pa.string()), listed, skip_nulls=False)
        if ranks.null_count:
            message = f"the order of the promise lacks {counted(ranks.null_count, 'value')} of `{name}`"
            raise ParameterError(message, hint="list every value that occurs, from low to high")
    return np.unique(ranks.to_numpy(), return_inverse=True)[1].ravel().astype(np.int64)


def _keeps(column: _Column, group: Ints, value: Ints, holders: Ints, people: Ints) -> Flags:
    """Which groups keep the promise; per group and value, sorted, the number of people who hold it."""
    groups, keeps = len(people), np.ones(len(people), np.bool_)
    spread = holders / np.bincount(group, weights=holders, minlength=groups)[group]
    match column.promise:
        case Shared(least):
            keeps[group[holders < least]] = False
        case AtMost(share):
            exceeds = column.bounded[value] & (holders > share * people[group] + SLACK)
            keeps[group[exceeds]] = False
        case Distinct(values):
            keeps = np.bincount(group, minlength=groups) >= values
        case Entropy(values):
            entropy = np.bincount(group, weights=-spread * np.log(spread), minlength=groups)
            keeps = entropy >= np.log(values) - SLACK
        case Closeness(distance, order):
            surplus = np.maximum(spread - column.overall[value], 0)
            moved = surplus if order == "none" else _moved(column.overall, group, value, spread)
            keeps = np.bincount(group, weights=moved, minlength=groups) <= distance + SLACK
    return keeps


def _moved(overall: Floats, group: Ints, value: Ints, spread: Floats) -> Floats:
    """The earth that is moved past each value that a group has, up to the next that it has.

    Between two values of a group its cumulative share is a constant c; that of the whole table, Q, rises.
    The sum of |Q - c| is found from prefix sums of Q, on both sides of where Q reaches c.
    """
    values = len(overall)
    heads = np.flatnonzero(np.diff(group, prepend=-1))
    ends = np.flatnonzero(np.diff(group, append=-1))
    reached = np.cumsum(overall)
    sums = np.append(0.0, np.cumsum(reached))
    total = np.cumsum(spread)
    # Within each group, the share of its holders with this value or a lower one.
    share = total - np.repeat(total[heads] - spread[heads], ends - heads + 1)
    after = np.append(value[1:], values)
    after[ends] = values
    turn = np.clip(np.searchsorted(reached, share), value, after)
    moved = share * (2 * turn - value - after) + sums[value] + sums[after] - 2 * sums[turn]
    moved[heads] += sums[value[heads]]  # below its first value a group has nobody
    distances: Floats = moved / max(values - 1, 1)
    return distances


# One gathering at a time.


class Remainder:
    """What stays open in blocks whose rest is tight, gathering by gathering.

    Per open visit its owner (a person in a block; owners rise with their block) and its gathering, -1 if that
    is not ready to be closed.
    """

    def __init__(self, guard: Guard, visit: Ints, owner: Ints, crowd: Ints, block: Ints) -> None:
        self._holdings = [
            _Holdings(column, owner[at], column.value[inside], crowd[at], block)
            for column, inside, at in guard.holdings(visit)
        ]
        self._dominance = guard.dominance
        self._block, self._rows = block, np.bincount(owner, weights=guard.rows[visit], minlength=len(block))
        pairs, index = np.unique(crowd * len(block) + owner, return_inverse=True)
        self._crowd, self._owner = pairs // len(block), pairs % len(block)
        self._leaving = np.bincount(index.ravel(), weights=guard.rows[visit])

    def close(self, crowd: int, block: int, people: int) -> bool:
        """Close a gathering if what then stays open of its block, so many people, keeps every promise."""
        left = [holdings.without(crowd, block) for holdings in self._holdings]
        begin, end = np.searchsorted(self._crowd, (crowd, crowd + 1))
        owners = self._owner[begin:end]
        rows = slice(*np.searchsorted(self._block, (block, block + 1)))
        self._rows[owners] -= self._leaving[begin:end]
        keeps = all(h.keeps(holders, people) for h, holders in zip(self._holdings, left, strict=True))
        if keeps and self._dominance:
            keeps = self._rows[rows].max() <= self._dominance * self._rows[rows].sum() + SLACK
        if people and not keeps:
            self._rows[owners] += self._leaving[begin:end]
            return False
        for holdings, holders in zip(self._holdings, left, strict=True):
            holdings.close(crowd, block, holders)
        return True


class _Holdings:
    """How many visits to a block show that a person holds a value, and how many people hold each value."""

    def __init__(self, column: _Column, owner: Ints, value: Ints, crowd: Ints, block: Ints) -> None:
        self._column = column
        holdings, index = np.unique(owner * column.values + value, return_inverse=True)
        self._left = np.bincount(index.ravel(), minlength=len(holdings))
        self._value, self._block = holdings % column.values, block[holdings // column.values]
        pairs, self._often = np.unique(crowd * max(len(holdings), 1) + index.ravel(), return_counts=True)
        self._crowd, self._holding = pairs // max(len(holdings), 1), pairs % max(len(holdings), 1)
        self._holders: dict[int, Ints] = {}

    def without(self, crowd: int, block: int) -> Ints:
        """The holders of each value in a block without a gathering."""
        if block not in self._holders:
            inside = slice(*np.searchsorted(self._block, (block, block + 1)))
            self._holders[block] = np.bincount(self._value[inside], minlength=self._column.values)
        holding, often = self._leaving(crowd)
        gone = self._value[holding[self._left[holding] == often]]
        return self._holders[block] - np.bincount(gone, minlength=self._column.values)

    def keeps(self, holders: Ints, people: int) -> bool:
        value = np.flatnonzero(holders)
        return bool(_keeps(self._column, 0 * value, value, holders[value], np.array([people]))[0])

    def close(self, crowd: int, block: int, holders: Ints) -> None:
        holding, often = self._leaving(crowd)
        self._left[holding] -= often
        self._holders[block] = holders

    def _leaving(self, crowd: int) -> tuple[Ints, Ints]:
        begin, end = np.searchsorted(self._crowd, (crowd, crowd + 1))
        return self._holding[begin:end], self._often[begin:end]
