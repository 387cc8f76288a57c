"""Adoption of KAPRA the slow and obvious way: envelopes from the members, leaves by looking at all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

FULL = 4
"""Times k: groups of so many take no more."""
TRIED = 4
"""Cells in which somebody to change places with is looked for."""


@dataclass
class Town:
    """Who lives in which cell, and the groups as lists of series, who came last first."""

    values: Any
    u: Any
    shapes: Any
    patterns: list[tuple[int, tuple[int, ...], Any]]  # level, symbols and unit shape of each leaf
    cells_of: list[list[int]]  # of each leaf, in the order in which they are looked at
    leaf_of: list[int]
    group_of: list[int]
    cell: list[int]
    price: float
    k: int
    p: int

    def __post_init__(self) -> None:
        self.groups: dict[int, list[int]] = {g: [] for g in self.group_of}
        for row, cell in enumerate(self.cell):
            if cell >= 0:
                self.groups[self.group_of[cell]].append(row)

    def width(self, rows: list[int]) -> float:
        """Equation 2."""
        spans = [
            max(self.values[r][t] for r in rows) - min(self.values[r][t] for r in rows) for t in self.times
        ]
        return math.sqrt(sum(span * span for span in spans) / len(spans))

    @property
    def times(self) -> range:
        return range(len(self.values[0]))

    def total(self, rows: list[int]) -> float:
        return len(rows) * self.width(rows) if rows else 0.0

    def away(self, row: int, leaf: int) -> float:
        """What a series pays for a pattern (eq. 3)."""
        one, other = self.shapes[row], self.patterns[leaf][2]
        if bool(one.any()) != bool(other.any()):
            return self.price
        return self.price * float(sum((a - b) ** 2 for a, b in zip(one, other, strict=True))) / 2

    def own_cells(self, row: int) -> list[tuple[int, int]]:
        """Leaf and cell of every cell whose pattern is the series' own, the finest level first."""
        found = []
        for leaf in sorted(range(len(self.patterns)), key=lambda leaf: -self.patterns[leaf][0]):
            if self.fits(row, leaf):
                found += [(leaf, cell) for cell in self.cells_of[leaf]]
        return found

    def fits(self, row: int, leaf: int) -> bool:
        level, symbols, _ = self.patterns[leaf]
        return tuple(min(int(level * at), level - 1) for at in self.u[row]) == symbols

    def cheapest(self, row: int, limit: float) -> int | None:
        """The cell of another group in which the series costs least and less than the limit."""
        home = self.group_of[self.cell[row]] if self.cell[row] >= 0 else None
        best = None
        for leaf, cell in self.own_cells(row):
            there = self.groups[self.group_of[cell]]
            if self.group_of[cell] == home or not 0 < len(there) < FULL * self.k:
                continue
            cost = self.total([*there, row]) - self.total(there) + self.away(row, leaf)
            if cost < limit * (1 - 1e-9):
                best, limit = cell, cost
        return best

    def adopt(self, rows: list[int]) -> int:
        """One series after the other goes where it costs least."""
        moved = 0
        for row in rows:
            here, gain = self.cell[row], math.inf
            if here >= 0:
                group = self.groups[self.group_of[here]]
                if len(group) <= self.k or self.cell.count(here) <= self.p:
                    continue
                gain = self.total(group) - self.total([r for r in group if r != row])
                gain += self.away(row, self.leaf_of[here])
            there = self.cheapest(row, gain)
            if there is not None:
                self.go(row, there)
                moved += 1
        return moved

    def go(self, row: int, there: int) -> None:
        if self.cell[row] >= 0:
            self.groups[self.group_of[self.cell[row]]].remove(row)
        self.cell[row] = there
        self.groups[self.group_of[there]].insert(0, row)

    def exchange(self, rows: list[int]) -> int:
        """One series after the other changes places with whom both together gain most by."""
        done = 0
        for row in rows:
            here = self.cell[row]
            if here < 0:
                continue
            group = self.groups[self.group_of[here]]
            best, gain = None, 1e-9 * self.total(group)
            for there in self.nearest(row):
                for other in self.groups[self.group_of[there]]:
                    if self.cell[other] == there and self.fits(other, self.leaf_of[here]):
                        saved = self.saved(row, other)
                        if saved > gain:
                            best, gain = other, saved
            if best is not None:
                there = self.cell[best]
                self.groups[self.group_of[here]].remove(row)
                self.groups[self.group_of[there]].remove(best)
                self.cell[row], self.cell[best] = there, here
                self.groups[self.group_of[here]].insert(0, best)
                self.groups[self.group_of[there]].insert(0, row)
                done += 1
        return done

    def nearest(self, row: int) -> list[int]:
        """The few cells whose groups the series widens least."""
        here = self.cell[row]
        home = self.group_of[here]
        most = self.total(self.groups[home]) + self.away(row, self.leaf_of[here])
        found = []
        for leaf, cell in self.own_cells(row):
            there = self.groups[self.group_of[cell]]
            if self.group_of[cell] != home and there and self.away(row, leaf) <= most:
                found.append((len(there) * (self.width([*there, row]) - self.width(there)), cell))
        return [cell for _, cell in sorted(found, key=lambda pair: pair[0])[:TRIED]]

    def saved(self, row: int, other: int) -> float:
        """What is saved if two series change places."""
        here, there = self.cell[row], self.cell[other]
        mine, theirs = self.groups[self.group_of[here]], self.groups[self.group_of[there]]
        mine_then = [other if r == row else r for r in mine]
        theirs_then = [row if r == other else r for r in theirs]
        now, then = self.total(mine) + self.total(theirs), self.total(mine_then) + self.total(theirs_then)
        a, b = self.leaf_of[here], self.leaf_of[there]
        patterns = self.away(row, a) + self.away(other, b) - self.away(row, b) - self.away(other, a)
        return now - then + patterns

    def dissolve(self, groups: list[int]) -> int:
        """A group whose series all together cost less elsewhere is no more."""
        gone = 0
        for g in groups:
            rows = list(self.groups[g])
            if not rows or len(rows) > FULL * self.k or self.width(rows) == 0:
                continue
            limit = self.total(rows) + sum(self.away(r, self.leaf_of[self.cell[r]]) for r in rows)
            before, homes = {h: list(line) for h, line in self.groups.items()}, list(self.cell)
            spent = 0.0
            for row in rows:
                there = self.cheapest(row, limit - spent)
                if there is None:
                    spent = math.inf
                    break
                into = self.groups[self.group_of[there]]
                spent -= self.total(into)
                self.cell[row] = there
                into.insert(0, row)
                spent += self.total(into) + self.away(row, self.leaf_of[there])
            if spent < limit:
                self.groups[g] = []
                gone += 1
            else:
                self.groups, self.cell = before, homes
        return gone
