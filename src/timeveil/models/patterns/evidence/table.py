"""The table of a pattern release: its cells as they are, what is wrong with them, and the patterns they are.

Every pattern is a list of known items in order, at most one of each instant; no two are the same, and rows
are in the order of their length and then of their items, the empty pattern first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.release import Release
from timeveil.errors import BundleError, ParameterError
from timeveil.evidence.codes import Integers, column_of, encode
from timeveil.models.patterns.evidence.family import NONE, Family, disorder, levels_of
from timeveil.symbols import cell

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""How symbols are written."""
ADDING = ("additive", "tight", "clone")
"""The methods that add virtual people and lose no pattern."""
PATTERN, SUPPORT = "pattern", "support"
MOST_PEOPLE = 1 << 40
"""No release counts this many people; sums of what is below stay exact."""
Fault = tuple[str, dict[str, int]]
"""The name of a violated expectation, and its numbers."""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells: row r has the next `lengths[r]` of `items`, -1 for an unknown one, and `support[r]` people.

    `names` are the items that there can be; item x belongs to instant `x // kinds`. `texts` different texts
    occur, `strange` of them are no items. `missing` patterns or items and `unsupported` supports are null.
    """

    names: tuple[str, ...]
    kinds: int
    lengths: Integers
    items: Integers
    support: Integers
    texts: int
    strange: int
    missing: int
    unsupported: int

    def faults(self) -> Iterator[Fault]:
        """What is wrong with the cells; later faults make sense where there are no earlier ones."""
        if self.missing:
            yield "item:missing", {"cells": self.missing}
        elif self.strange:
            yield "item:strange", {"strange": self.strange, "texts": self.texts}
        else:
            yield from self._disorder()
        wrong = int(((self.support < 0) | (self.support > MOST_PEOPLE)).sum())
        if self.unsupported:
            yield "support:missing", {"cells": self.unsupported}
        elif wrong:
            yield "support:range", {"wrong": wrong, "most": MOST_PEOPLE}

    def _disorder(self) -> Iterator[Fault]:
        # compare every item with the one before it in the same pattern
        row = np.repeat(np.arange(len(self.lengths)), self.lengths)
        neighbours = row[1:] == row[:-1]
        items, instants = self.items, self.items // self.kinds
        unordered = int((neighbours & (items[1:] <= items[:-1])).sum())
        together = int((neighbours & (instants[1:] == instants[:-1]) & (items[1:] > items[:-1])).sum())
        longer_first = int((np.diff(self.lengths) < 0).sum())
        if unordered:
            yield "item:order", {"items": unordered}
        if together:
            yield "item:together", {"patterns": together}
        if unordered or together:
            return
        if longer_first:
            yield "row-order:length", {"rows": longer_first}
        elif not len(self.lengths) or self.lengths[0] != 0:
            yield "missing-part:empty", {}
        else:
            repeated, misplaced = disorder(self.levels)
            if repeated:
                yield "pattern-twice", {"patterns": repeated}
            if misplaced:
                yield "row-order", {"rows": misplaced}

    @property
    def levels(self) -> tuple[Integers, ...]:
        """The patterns as a matrix for each length."""
        return levels_of(self.items, self.lengths)

    @property
    def family(self) -> Family:
        """The patterns of a table without faults."""
        return Family(self.levels, self.support, max(len(self.names), 1), self.kinds)

    def patterns(self, manifest: Mapping[str, Any]) -> Patterns:
        """The patterns of a table without faults, with what its manifest says of them."""
        described, parameters = manifest["patterns"], manifest["parameters"]
        return Patterns(
            self.names,
            self.kinds,
            np.concatenate([[0], np.cumsum(self.lengths)]),
            self.items,
            self.support,
            parameters["method"],
            manifest["counts"]["virtual"],
            parameters["min_support"],
            parameters["max_len"],
            described["structural"],
            described["published"] == "closed",
            tuple(described["instants"] or ()),
            described["center"],
        )


def read_table(release: Release) -> Table:
    """Read the table of a pattern release whose columns are as they should be."""
    described, part = release.manifest["patterns"], release.parts["data"]
    lists, support = column_of(part, PATTERN), column_of(part, SUPPORT)
    flat = pc.list_flatten(lists).cast(pa.string())
    coded = encode(flat.drop_null())
    texts = coded.values.to_pylist()
    if described["kind"] == "baskets":
        names, kinds = tuple(sorted(texts)), 1
        strange = sum(not text.strip() for text in texts)
    else:
        symbols = LETTERS[: described["symbols"]]
        kinds = len(symbols)
        names = tuple(f"{instant}={letter}" for instant in described["instants"] for letter in symbols)
        strange = len(names) - len(set(names)) + sum(text not in set(names) for text in texts)
    number = {name: index for index, name in enumerate(names)}
    numbers = np.array([number.get(text, NONE) for text in texts], dtype=np.int64)
    return Table(
        names,
        kinds,
        np.asarray(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64),
        numbers[coded.codes] if len(coded.codes) else np.zeros(0, dtype=np.int64),
        np.asarray(pc.fill_null(support, 0)).astype(np.int64),
        len(texts),
        strange,
        lists.null_count + flat.null_count,
        support.null_count,
    )


@dataclass(frozen=True)
class Patterns:
    """The rows of a pattern release: row r has `items[starts[r]:starts[r + 1]]` and `support[r]` people.

    `names` has the name of each item; item x belongs to instant `x // kinds`. `instants` and `center` are
    those of series. `method` is how small groups were closed, with `virtual` people who do not exist;
    patterns that fewer than `least` people have, or of more than `longest` items, are not published.
    """

    names: tuple[str, ...]
    kinds: int
    starts: Integers
    items: Integers
    support: Integers
    method: str
    virtual: int
    least: int
    longest: int | None
    structural: bool
    closed: bool
    instants: tuple[str, ...] = ()
    center: str | None = None

    @property
    def lengths(self) -> Integers:
        """Number of items of each pattern."""
        return np.diff(self.starts)

    @property
    def people(self) -> int:
        """Number of people counted, virtual ones included."""
        return int(self.support.max(initial=0))

    @cached_property
    def family(self) -> Family:
        """The published patterns as a family of sets."""
        levels = levels_of(self.items, self.lengths)
        return Family(levels, self.support, max(len(self.names), 1), self.kinds)

    def names_of(self, row: int) -> list[str]:
        """The items of one row."""
        return [self.names[item] for item in self.items[self.starts[row] : self.starts[row + 1]].tolist()]

    def numbers(self, items: Sequence[str]) -> list[int | None]:
        """The numbers of items; None for an item of baskets that no published pattern has."""
        number = {name: index for index, name in enumerate(self.names)}
        unknown = [item for item in items if item not in number]
        if unknown and self.instants:
            instant = unknown[0].rpartition("=")[0]
            letters = f"a letter from a to {LETTERS[self.kinds - 1]}"
            raise ParameterError(
                f"an item at `{instant}` does not end in {letters}"
                if instant in self.instants
                else "an item is at no instant of the release",
                hint=f"write INSTANT=LETTER, {letters}, at one of "
                f"{', '.join(self.instants[:12])}{', ...' if len(self.instants) > 12 else ''}",
                code="not-published",
            )
        return [number.get(item) for item in items]

    def overlap(self, items: Sequence[int]) -> Integers:
        """How many of these items each pattern has."""
        hits = np.isin(self.items, np.array(list(items), dtype=np.int64))
        sums = np.concatenate([[0], np.cumsum(hits)])
        overlap: Integers = sums[self.starts[1:]] - sums[self.starts[:-1]]
        return overlap

    def range_of(self, item: str) -> tuple[float, float] | None:
        """The z-normalised values that a symbol covers; None for an item of baskets."""
        if not self.instants:
            return None
        number = self.numbers([item])[0]
        return None if number is None else cell(number % self.kinds, self.kinds)


def damaged() -> BundleError:
    """The error for a table that does not hold patterns."""
    return BundleError(
        "the table does not hold patterns as its manifest describes them",
        hint="run `timeveil verify` to see what is wrong with it, or get the release again",
    )
