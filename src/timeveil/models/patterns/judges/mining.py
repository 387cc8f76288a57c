"""Every set of items that enough rows have: the judges' own search, depth first, with bits.

Slower than the method's, and simpler: for judging releases that leave patterns out.
"""

from __future__ import annotations

import numpy as np

from timeveil.errors import InfeasibleError
from timeveil.evidence.codes import Integers
from timeveil.models.patterns.judges.counting import Baskets, Bits
from timeveil.models.patterns.judges.family import Family, family_of

MOST = 1_000_000


def mined(rows: Baskets, size: int, kinds: int, least: int, longest: int | None = None) -> Family:
    """All sets that at least `least` rows have, of at most `longest` items.

    >>> from timeveil.models.patterns.judges.counting import baskets_of
    >>> mined(baskets_of([[0, 1], [0, 1], [1]]), size=2, kinds=1, least=2).support.tolist()
    [3, 2, 3, 2]
    """
    begins, holder = rows.holders(size)
    often = np.diff(begins)
    singles = np.flatnonzero(often >= least)
    search = _Search(kinds, least, longest or size)
    search.found.append(((), rows.rows))
    if longest == 0:
        singles = singles[:0]
    place = np.full(rows.rows, -1, dtype=np.int64)
    for number, item in enumerate(singles.tolist()):
        mine = holder[begins[item] : begins[item + 1]]
        search.add((item,), len(mine))
        place[mine] = np.arange(len(mine))
        later = singles[number + 1 :]
        later = later[later // kinds != item // kinds]
        lines = np.zeros((len(later), max(1, -(-len(mine) // 64))), dtype=np.uint64)
        for line, other in enumerate(later.tolist()):
            at = place[holder[begins[other] : begins[other + 1]]]
            has = np.zeros(64 * lines.shape[1], dtype=bool)
            has[at[at >= 0]] = True
            lines[line] = np.packbits(has, bitorder="little").view(np.uint64)
        place[mine] = -1
        search.below((item,), later, lines)
    return _ordered(search.found, size, kinds)


class _Search:
    def __init__(self, kinds: int, least: int, longest: int) -> None:
        self.kinds, self.least, self.longest = kinds, least, longest
        self.found: list[tuple[tuple[int, ...], int]] = []

    def add(self, items: tuple[int, ...], people: int) -> None:
        self.found.append((items, people))
        if len(self.found) > MOST:
            raise InfeasibleError(
                f"more than {MOST:,} patterns have {self.least:,} people or more",
                hint="judge a release with a larger min_support, or with max_len",
                code="too-many-patterns",
                facts={"patterns": MOST, "min_support": self.least},
            )

    def below(self, items: tuple[int, ...], more: Integers, lines: Bits) -> None:
        """All sets that begin with these items; `lines` has the rows of each with one item more."""
        if len(items) >= self.longest:
            return
        people = np.bitwise_count(lines).sum(axis=1)
        enough = people >= self.least
        more, lines, people = more[enough], lines[enough], people[enough]
        for number, (item, count) in enumerate(zip(more.tolist(), people.tolist(), strict=True)):
            self.add((*items, item), int(count))
            apart = more[number + 1 :] // self.kinds != item // self.kinds
            if apart.any():
                further = lines[number + 1 :][apart] & lines[number]
                self.below((*items, item), more[number + 1 :][apart], further)


def _ordered(found: list[tuple[tuple[int, ...], int]], size: int, kinds: int) -> Family:
    found.sort(key=lambda one: (len(one[0]), one[0]))
    return family_of([items for items, _ in found], [people for _, people in found], size, kinds)
