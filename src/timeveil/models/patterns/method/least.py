"""The virtual rows that change counts least, by integer programming, for small families.

Algorithm 4 merges channels greedily and adds k rows for each merger. Here every row that could be added is a
candidate, and the program decides how many copies of each to add: a small cell gets as many as it lacks, an
empty one none or at least k, and the sum of all increments is least. So it shows how far `additive` and
`tight` are from the best. Cost: the candidates double with every item, and the program may take long.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from timeveil.errors import ParameterError
from timeveil.models.patterns.method.channels import Channels
from timeveil.models.patterns.method.family import Family
from timeveil.models.patterns.method.sanitizing import NO_ROWS, Virtual
from timeveil.models.patterns.method.transactions import Flags, Ints, Sets

MOST_CANDIDATES = 4_096
SECONDS = 60.0


def least(channels: Channels, k: int) -> Virtual:
    """The copies of rows that raise counts least in all."""
    if not len(channels):
        return NO_ROWS
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 - scipy is heavy
    from scipy.sparse import csr_array  # noqa: PLC0415 - scipy is heavy

    family = channels.family
    candidates = _every_row(family)
    lines, columns, floors, empty = [], [], [], []
    count = 0
    for form in channels.boxes:
        sizes, cells = form.sizes(family), form.cell_of(candidates[:, family.item_of])
        for box in range(len(form.ranks)):
            size = sizes[cells[:, box], box]
            # Candidates by the cell they fall into; cells that are large enough have nothing to say.
            for cell in np.unique(cells[size < k, box]).tolist():
                inside = np.flatnonzero(cells[:, box] == cell)
                lines.append(np.full(len(inside), count))
                columns.append(inside)
                floors.append(k - int(sizes[cell, box]))
                empty.append(sizes[cell, box] == 0)
                count += 1
    filled, number = np.flatnonzero(empty), len(candidates)
    most = k * count  # more copies than all cells lack together are never needed

    def copies_less(part: int) -> Any:
        """Per cell its copies, less this many where it is empty and flagged to be filled."""
        ones, less = np.ones(sum(map(len, lines))), np.full(len(filled), -float(part))
        row = np.concatenate([*lines, filled])
        column = np.concatenate([*columns, number + np.arange(len(filled))])
        return csr_array((np.append(ones, less), (row, column)), shape=(count, number + len(filled)))

    # An empty cell without its flag has no copies, and with it at least k.
    lacking = LinearConstraint(copies_less(k), np.where(empty, 0, floors), np.inf)
    unless_flagged = LinearConstraint(copies_less(most), -np.inf, np.where(empty, 0, np.inf))
    solved = milp(
        np.append(_increments(channels.published, candidates), np.zeros(len(filled))),
        integrality=np.ones(number + len(filled)),
        bounds=Bounds(0, np.append(np.full(number, float(most)), np.ones(len(filled)))),
        constraints=[lacking, unless_flagged],
        options={"time_limit": SECONDS, "mip_rel_gap": 0.0},
    )
    copies = np.zeros(number, np.int64) if solved.x is None else np.rint(solved.x[:number]).astype(np.int64)
    # Counted again in whole numbers: a solver rounds.
    cell, candidate = np.concatenate(lines), np.concatenate(columns)
    added = np.bincount(cell, copies[candidate], count)
    if solved.status != 0 or ((added < floors) & ~(np.array(empty) & (added == 0))).any():
        message = f"the rows that change counts least were not found in {SECONDS:.0f} seconds"
        raise ParameterError(message, hint='use {method="tight"}, or raise {min_support}')
    used = np.flatnonzero(copies)
    owners, members = np.nonzero(candidates[used])
    return Virtual(Sets.of_lengths(np.bincount(owners, minlength=len(used)), members), copies[used])


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
        choices = [[[item] for item in (*some, *one)] for some, one in zip(common, rare, strict=True)]
    number = math.prod(len(choice) for choice in choices)
    if number > MOST_CANDIDATES:
        message = (
            f"{number:,} different rows could be added, more than the {MOST_CANDIDATES:,} that "
            "`least` can choose from"
        )
        hint = 'use {method="tight"}, raise {min_support}, or publish fewer items'
        raise ParameterError(message, hint=hint)
    candidates = np.zeros((number, width), np.bool_)
    for line, chosen in zip(candidates, product(*choices), strict=True):
        line[[item for items in chosen for item in items]] = True
    return candidates


def _increments(family: Family, candidates: Flags) -> Ints:
    """How many published patterns each candidate has, the empty one included: what one copy raises."""
    has = np.ones((len(family), len(candidates)), np.bool_)
    for node in range(1, len(family)):
        has[node] = has[family.parent[node]] & candidates[:, family.item_of[family.rank[node]]]
    return np.asarray(has.sum(axis=0), np.int64)
