"""The original as rows of items, read anew, and how many rows have each set: the judges' own.

Nothing is shared with the methods. A symbol is decided by the borders of the cells, taken from the standard
library's normal curve. A value that is almost on a border may be on either side; such rows are in doubt.

Rows that have the first item of a set are taken alone; for each of its other items they are a line of bits,
and the rows of a set are those of the set without its last item and of that item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.arrays import Flags, Ints, Words
from timeveil.domain.release import Ledger
from timeveil.errors import InfeasibleError
from timeveil.evidence.codes import column_of, distinct, encode, mismatch, plain_type
from timeveil.models.patterns.evidence.family import NONE, Family
from timeveil.models.series.evidence.original import Series, without_zeros
from timeveil.models.series.judges.definition import normalised
from timeveil.reading.columns import is_list

BLOCK_BYTES = 1 << 25
BLOCK_PAIRS = 1 << 22
BLOCK_ROWS = 1 << 16
MOST_PATTERNS = 1_000_000
ON_BORDER, NEAR_BORDER = 1e-11, 1e-9


@dataclass(frozen=True, slots=True)
class Baskets:
    """Rows of items: row r has `items[starts[r]:starts[r + 1]]`."""

    starts: Ints
    items: Ints

    @property
    def rows(self) -> int:
        return len(self.starts) - 1

    @property
    def owners(self) -> Ints:
        return np.repeat(np.arange(self.rows), np.diff(self.starts))

    def bits(self, size: int) -> Words:
        """For each item below `size` the rows that have it, as a line of bits; a last line for no item."""
        width = max(1, -(-self.rows // 64)) * 8
        lines = np.zeros((size + 1) * width, dtype=np.uint8)
        inside = (self.items >= 0) & (self.items < size)
        item, row = self.items[inside], self.owners[inside]
        np.bitwise_or.at(lines, item * width + row // 8, (1 << row % 8).astype(np.uint8))
        return lines.view(np.uint64).reshape(size + 1, -1)

    def take(self, chosen: Ints | Flags) -> Baskets:
        lengths = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        shift = self.starts[:-1][chosen] - starts[:-1]
        return Baskets(starts, self.items[np.arange(starts[-1]) + np.repeat(shift, lengths)])


def supports(family: Family, rows: Baskets) -> Ints:
    """The number of rows with each set of a family."""
    support = np.zeros(family.number, dtype=np.int64)
    support[0] = rows.rows
    by_item = np.argsort(rows.items, kind="stable")
    bounds = np.searchsorted(rows.items, np.arange(family.size + 1), sorter=by_item)
    owners = rows.owners[by_item]
    for number, item in enumerate(family.singles.tolist(), start=1):
        # The rows with the first item alone: lines are as short as that item is rare.
        holders = distinct(owners[bounds[item] : bounds[item + 1]])
        support[number] = len(holders)
        lines = rows.take(holders).bits(family.size)
        pending = [(number, number + 1, np.full((1, lines.shape[1]), 2**64 - 1, dtype=np.uint64))]
        step = max(1, BLOCK_BYTES // max(8 * lines.shape[1], 1))
        while pending:
            low, high, bits = pending.pop()
            # sets of one length whose parents are neighbours are neighbours themselves
            first, last = (np.searchsorted(family.parents[1:], [low, high]) + 1).tolist()
            for start in range(first, last, step):
                stop = min(start + step, last)
                common = bits[family.parents[start:stop] - low] & lines[family.last[start:stop]]
                support[start:stop] = np.bitwise_count(common).sum(axis=1)
                pending.append((start, stop, common))
    return support


def with_border(family: Family, longest: int) -> tuple[Family, Flags]:
    """A family with the sets just outside it, and which of its sets these are; they have no support.

    All parts of such a set are in the family. It has at most `longest` items, each in a set of the family.
    """
    levels, outside = [family.levels[0]], [np.zeros(1, dtype=bool)]
    for length in range(1, len(family.levels) + 1):
        inside = family.levels[length] if length < len(family.levels) else np.zeros((0, length), np.int64)
        border = _border(family, length) if 2 <= length <= longest else ()
        lines = np.concatenate([inside, *border])
        order = np.lexsort(lines.T[::-1])
        levels.append(lines[order])
        outside.append(order >= len(inside))
    flags = np.concatenate(outside)
    support = np.zeros(len(flags), dtype=np.int64)
    support[~flags] = family.support
    return replace(family, levels=tuple(levels), support=support), flags


def _border(family: Family, length: int) -> Iterator[Ints]:
    """The sets of one length just outside a family, a block at a time."""
    numbers, level = family.numbers(length - 1), family.levels[length - 1]
    parent = family.parents[numbers]
    # pairs of sets that differ in their last item only
    later = np.searchsorted(parent, parent, side="right") - np.arange(len(level)) - 1
    block = np.cumsum(later) // BLOCK_PAIRS
    for number in np.unique(block).tolist():
        members = np.flatnonzero((block == number) & (later > 0))
        left = np.repeat(members, later[members])
        shift = np.cumsum(later[members]) - later[members]
        right = np.arange(len(left)) - np.repeat(shift - members - 1, later[members])
        item = level[right, -1]
        apart = level[left, -1] // family.kinds != item // family.kinds
        outside = apart & (family.extended(left + numbers.start, item) == NONE)
        left, item = left[outside], item[outside]
        # Without the new item, and without the last one before it, the union is in the family.
        for column in range(length - 2):
            inside = family.extended(family.drops[length - 1][left, column], item) != NONE
            left, item = left[inside], item[inside]
        yield np.column_stack([level[left], item])


def mined(rows: Baskets, size: int, kinds: int, least: int, longest: int | None = None) -> Family:
    """All sets that at least `least` rows have, of at most `longest` items: length by length (Apriori)."""
    items = (np.zeros((1, 0), dtype=np.int64), np.arange(size)[:, None])
    wider = Family(items, np.zeros(size + 1, dtype=np.int64), size, kinds)
    fresh = np.ones(size + 1, dtype=bool)
    while True:
        counts = supports(wider, rows)
        frequent = counts >= least
        frequent[0] = True
        family = replace(wider, support=counts).only(frequent)
        if family.number - 1 > MOST_PATTERNS:
            message = f"more than {MOST_PATTERNS:,} patterns have {least:,} people or more"
            hint = "judge a release with a larger min_support, or with max_len"
            facts = {"patterns": MOST_PATTERNS, "min_support": least}
            raise InfeasibleError(message, hint=hint, code="too-many-patterns", facts=facts)
        if not (frequent & fresh)[1:].any():
            return family
        wider, fresh = with_border(family, longest or size)


@dataclass(frozen=True, slots=True)
class Original:
    """Rows of items, one per person; `names` has those of the release first, then those it does not have.

    `row_of` gives for each input row its row of items, -1 where it is in none. `doubtful` rows may have
    another symbol. `repeated` items occur in a row again, or rows belong to a person who has one already.
    `incomplete` rows lack a person or an item. Neither are counted where the manifest states what becomes of
    them.
    """

    names: tuple[str, ...]
    rows: Baskets
    row_of: Ints
    doubtful: int = 0
    repeated: int = 0
    incomplete: int = 0


def read_original(ledger: Ledger, manifest: Mapping[str, Any], names: tuple[str, ...]) -> Original:
    """Read what everybody of the original has; `names` are the items of the release."""
    original, stated = ledger.original, manifest["parameters"]
    if manifest["patterns"]["kind"] == "series":
        return _of_series(ledger, manifest, names)
    if not original.roles.item:
        raise mismatch("the original has no items")
    column, respondent = column_of(original.data, original.roles.item), original.roles.respondent
    if not respondent and not is_list(column.type):
        raise mismatch("the original does not say whose an item is")
    who = column_of(original.data, respondent) if respondent else None
    complete = pc.is_valid(column) if who is None else pc.and_(pc.is_valid(column), pc.is_valid(who))
    column, person = column.filter(complete), None if who is None else encode(who.filter(complete))
    if person is None or is_list(column.type):
        lengths = np.asarray(pc.list_value_length(column)).astype(np.int64)
        people, number = len(lengths), np.arange(len(lengths))
        repeated = 0 if person is None else people - person.size
        owner, column = np.repeat(number, lengths), pc.list_flatten(column)
    else:
        people, number, owner, repeated = person.size, person.codes, person.codes, 0
    row_of = np.full(len(complete), NONE, dtype=np.int64)
    row_of[np.asarray(complete)] = number
    coded = encode(column)
    texts = coded.values.cast(plain_type(coded.values.type)).cast(pa.string()).to_pylist()
    names = (*names, *dict.fromkeys(str(text) for text in texts if str(text) not in set(names)))
    item_number = {name: index for index, name in enumerate(names)}
    numbers = np.array([item_number[str(text)] for text in texts], dtype=np.int64)
    item = numbers[coded.codes] if len(coded.codes) else coded.codes
    size = max(len(names), 1)
    pairs = distinct(owner * size + item)  # sorted by owner, then item
    repeated += 0 if stated.get("repeats") == "once" else len(owner) - len(pairs)
    incomplete = 0 if stated.get("nulls") == "drop" else int((row_of == NONE).sum())
    starts = np.searchsorted(pairs, np.arange(people + 1) * size)
    return Original(names, Baskets(starts, pairs % size), row_of, 0, repeated, incomplete)


def _of_series(ledger: Ledger, manifest: Mapping[str, Any], names: tuple[str, ...]) -> Original:
    original, described = ledger.original, manifest["patterns"]
    kinds, raw = described["symbols"], ledger.facts.get("origin") != "release"
    series = Series(original, manifest["parameters"]["fill"])
    number = {name: index for index, name in enumerate(series.instants)}
    columns = [number.get(name, number.get(without_zeros(name), -1)) for name in described["instants"]]
    if columns != sorted(set(columns)) or -1 in columns or not columns:
        raise mismatch("the instants of the release are not those of the ledger's original")
    symbols = np.empty((len(series.matrix), len(columns)), dtype=np.int64)
    borders = np.array([NormalDist().inv_cdf(n / kinds) for n in range(1, kinds)])
    doubtful = 0
    for start in range(0, len(series.matrix), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        matrix = series.matrix[block]
        z = (normalised(matrix, described["center"]) if raw else matrix)[:, columns]
        symbols[block] = np.searchsorted(borders, z + ON_BORDER, side="right")
        # On a border, by convention above it; near one, rounding could have put the value on either side.
        distance = np.abs(z[:, :, None] - borders)
        doubtful += int(((distance > ON_BORDER) & (distance < NEAR_BORDER)).any(axis=(1, 2)).sum())
    items = (symbols + kinds * np.arange(len(columns))).ravel()
    rows = Baskets(np.arange(len(symbols) + 1) * len(columns), items)
    repeated, respondent = 0, original.roles.respondent
    if original.roles.series and respondent is not None:  # rows of people who have a row already
        people = encode(column_of(original.data, respondent))
        repeated = len(people.codes) - people.size
    return Original(names, rows, series.of_row, doubtful, repeated)
