"""Maximal boxes of series: the largest sets of items of which every possible choice is counted (F*).

Symbols of one instant exclude each other, so a reader also adds up counts over several symbols of an instant.
A box holds any number of symbols at each of its instants; it can be worked with when every way to take at
most one symbol of each instant is counted. Boxes that no item can be added to are the maximal ones.

Instants are decided one after the other. After each decision there are *continuations*: sets of later items
that are counted together with every choice from the box so far. With each goes what is *spare*: the items of
decided instants that could be added to the box without losing this continuation. An item that is spare for
all continuations could be added to every box from here on, so none of them is maximal, and the search turns
back. At one instant only closed choices of symbols are tried: those that hold every symbol which loses no
continuation.

Sets of items are bits of integers. Cost: every box is found once; each step is linear in the continuations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from timeveil.errors import ParameterError
from timeveil.models.patterns.method.family import Family

Continuations = dict[int, int]
"""The spare items of each continuation."""


def maximal_boxes(family: Family, most: int) -> list[int]:
    """All maximal boxes as bits; more than `most` are refused."""
    masks = [0] * len(family)
    for node, (parent, item) in enumerate(zip(family.parent.tolist(), family.rank.tolist(), strict=True)):
        if node:
            masks[node] = masks[parent] | 1 << item
    search = _Search(family.kinds, most)
    search.extend(0, dict.fromkeys(masks, 0))
    return search.boxes


class _Search:
    """Depth first over the instants."""

    def __init__(self, kinds: int, most: int) -> None:
        self.kinds, self.most = kinds, most
        self.boxes: list[int] = []

    def extend(self, box: int, continuations: Continuations) -> None:
        """Find all maximal boxes that begin with this one; takes over the continuations."""
        kinds = self.kinds
        by_instant: dict[int, list[int]] = defaultdict(list)
        for later in continuations:
            if later:
                # The lowest bit of a continuation is its first item, so this is its first instant.
                by_instant[((later & -later).bit_length() - 1) // kinds].append(later)
        for instant in sorted(by_instant):
            symbols: dict[int, Continuations] = defaultdict(dict)
            for later in by_instant[instant]:
                symbol = later & -later
                symbols[symbol][later ^ symbol] = continuations.pop(later)
            self.choose(box, symbols)
            # go on without this instant: its symbols are spare for what they could be followed by
            for symbol, following in symbols.items():
                for later in following:
                    continuations[later] |= symbol
            # Some item could be added to every box from here on: none of them is maximal.
            if _common(continuations.values()):
                return
        self.boxes.append(box)
        if len(self.boxes) > self.most:
            raise _too_many(self.most)

    def choose(self, box: int, symbols: dict[int, Continuations]) -> None:
        """Add every closed choice of an instant's symbols to the box, and go on from each."""
        order = sorted(symbols)
        pending = [(index + 1, symbol, symbols[symbol]) for index, symbol in enumerate(order)]
        while pending:
            next_index, chosen, following = pending.pop()
            closure = self._closed(order, symbols, next_index, chosen, following)
            if closure is None:
                continue
            chosen, following = closure
            for index in range(next_index, len(order)):
                symbol = order[index]
                if not symbol & chosen:
                    spare = symbols[symbol]
                    shared = following.keys() & spare.keys()
                    narrower = {later: following[later] & spare[later] for later in shared}
                    pending.append((index + 1, chosen | symbol, narrower))
            following = following.copy()
            for symbol in order:
                if not symbol & chosen:
                    for later in following.keys() & symbols[symbol].keys():
                        following[later] |= symbol
            if not _common(following.values()):
                self.extend(box | chosen, following)

    @staticmethod
    def _closed(
        order: list[int],
        symbols: dict[int, Continuations],
        next_index: int,
        chosen: int,
        following: Continuations,
    ) -> tuple[int, Continuations] | None:
        """The choice with every symbol that loses no continuation; None if an earlier one leads to it."""
        for index, symbol in enumerate(order):
            allowed = symbols[symbol]
            if symbol & chosen or len(allowed) < len(following) or not following.keys() <= allowed.keys():
                continue
            # The search that takes this earlier symbol first finds the same choice.
            if index < next_index:
                return None
            chosen |= symbol
            following = {later: spare & allowed[later] for later, spare in following.items()}
        return chosen, following


def _common(spares: Iterable[int]) -> int:
    """The items that are spare for all."""
    # All bits set: the neutral element of a conjunction.
    common = -1
    for spare in spares:
        common &= spare
        if not common:
            return 0
    return common


def _too_many(most: int) -> ParameterError:
    return ParameterError(
        f"symbols of one instant exclude each other, so more than {most:,} combinations of them would need "
        "examination",
        hint="raise {min_support}, or take fewer symbols or instants",
        code="too-many-patterns",
        facts={"boxes": most, "cap": most},
    )
