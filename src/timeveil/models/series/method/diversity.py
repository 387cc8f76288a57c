"""Different sensitive values for those who share envelope and pattern (Shou et al. 2013, §5.4).

Envelopes and patterns hide whom a row is about; a sensitive value that all rows of a cell have gives
everybody in it away all the same. In every cell no value may be in more than one row in l; of a value that
is in more, some rows, chosen at random, get another one that is near in rank and not yet too frequent there.

Where we depart from the print
    A cell is a group and a pattern, with its level; the paper means the same by PS(r).
    A new value is one that occurs in the column, copied as it is written. The paper draws one that nobody
    has, close by: that is conspicuous, and rounding brings back what it was. The frequency that the paper
    wants to keep low is counted instead.
    Near is in rank: next to a common zero, the smallest amounts that occur.
    Categories have no neighbourhood, so they are refused, and so are numbers with few different values.
"""

from __future__ import annotations

import secrets

import numpy as np
import pyarrow as pa

from timeveil.domain.wording import counted
from timeveil.errors import InputError, InternalError, ParameterError
from timeveil.models.series.method.partition import Labels, Matrix, equal_before
from timeveil.reading.encoding import numbers

NEAR = 0.05  # how far a value may be moved at first: the share of the column's different values, up and down
FEW, TIMES = 4, 2
"""With fewer different values than this, or than this many times l, a column behaves like categories.

A cell of n rows needs n / floor(n / l) different values, which is below 2 l."""
_TRIES = 200


def diversified(
    attributes: pa.Table, names: tuple[str, ...], cell: Labels, l: int, seed: int | None
) -> tuple[pa.Table, dict[str, int]]:
    """The table with no value in more than one row in l of any cell, and how many changed in each column.

    `cell` numbers cells of at least l rows; rows in none, -1, stay as they are and lend nothing. Without a
    seed nobody can repeat the draws.
    """
    chance = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
    changed = {}
    for name in names:
        values = _numbers(name, attributes[name])
        occurring = np.unique(values[cell >= 0])
        rank = np.searchsorted(occurring, values)
        rows = _too_many(rank, cell, l, chance)
        if len(rows):
            _refuse_few(name, len(occurring), l)
            new = _moved(rank, cell, rows, l, chance)
            lender = np.arange(len(values))
            lender[rows] = _lenders(values, occurring[new], cell, chance)
            index = attributes.column_names.index(name)
            attributes = attributes.set_column(index, name, attributes[name].take(pa.array(lender)))
            changed[name] = len(rows)
    return attributes, changed


def check_numbers(attributes: pa.Table, names: tuple[str, ...], l: int) -> None:
    """Only numbers can be moved a little, and only among enough different ones."""
    for name in names:
        _refuse_few(name, len(np.unique(_numbers(name, attributes[name]))), l)


def _refuse_few(name: str, different: int, l: int) -> None:
    if different < max(FEW, TIMES * l):
        raise ParameterError(
            f"column `{name}` has {counted(different, 'different value')}, fewer than {max(FEW, TIMES * l)}; "
            "it behaves like categories, and a value moved a little would be another category",
            hint="leave {l} out and raise {p}, or drop the column",
            facts={"column": name, "different": different},
        )


def _numbers(name: str, column: pa.ChunkedArray) -> Matrix:
    try:
        read = numbers(name, column)
    except InputError as error:
        if error.facts.get("long"):
            raise
        read = None
    if read is None:
        message = f"column `{name}` does not hold numbers, and l makes values differ by moving them a little"
        raise ParameterError(message, hint="leave {l} out and raise {p}, or drop the column")
    lacking = int(np.count_nonzero(read.missing)) + read.not_finite
    if lacking:
        message = f"column `{name}` has {counted(lacking, 'value')} missing or not finite, and l needs all"
        hint = "fill them in, or leave {l} out"
        raise InputError(message, hint=hint, code="nulls", facts={"column": name, "count": lacking})
    return read.values


def _too_many(rank: Labels, cell: Labels, l: int, chance: np.random.Generator) -> Labels:
    """Rows to change: of a value in more than one in l rows of a cell, as many as are too many."""
    # A random order first; the stable sort keeps it among equal values, so chance says who changes.
    order = chance.permutation(len(rank))
    order = order[cell[order] >= 0]
    order = order[np.lexsort((rank[order], cell[order]))]
    key = cell[order] * (int(rank.max(initial=0)) + 1) + rank[order]
    # Of each value the first n // l rows of its cell stay.
    return order[equal_before(key) >= np.bincount(cell[order])[cell[order]] // l]


def _moved(rank: Labels, cell: Labels, rows: Labels, l: int, chance: np.random.Generator) -> Labels:
    """For each row the rank of a new value near its own; at most one row in l of its cell gets or has it.

    At least half of all values are free in any cell, as there are `TIMES` l of them and 2 l can be full.
    """
    size = int(rank[cell >= 0].max()) + 1
    sizes = np.bincount(cell[cell >= 0])
    staying = np.setdiff1d(np.flatnonzero(cell >= 0), rows)
    # The values in use in each cell, by rows that stay and, later, by rows that were moved.
    used = np.sort(cell[staying] * size + rank[staying])
    new, open_rows = np.full(len(rows), -1, np.int64), np.arange(len(rows))
    reach = max(2 * l, int(np.ceil(NEAR * size)))
    for attempt in range(_TRIES):
        where = cell[rows[open_rows]]
        drawn = rank[rows[open_rows]] + chance.integers(-reach, reach + 1, len(open_rows))
        inside = (drawn >= 0) & (drawn < size)
        key = np.where(inside, where * size + drawn, -1)
        often = np.searchsorted(used, key, side="right") - np.searchsorted(used, key)
        # Rows that draw the same value in this attempt count one after another.
        good = inside & (often + equal_before(key) < sizes[where] // l)
        new[open_rows[good]] = drawn[good]
        used = np.sort(np.append(used, key[good]))
        open_rows = open_rows[~good]
        if len(open_rows) == 0:
            return new
        # Widen slowly: near values are preferred as long as one of them may be free.
        reach = min(reach * 2, size) if attempt % 8 == 7 else reach
    message = f"no free value was found near {counted(len(open_rows), 'value')}"
    hint = "report this with the number of rows and the type of the sensitive column"
    raise InternalError(message, hint=hint)


def _lenders(values: Matrix, new_values: Matrix, cell: Labels, chance: np.random.Generator) -> Labels:
    """A published row that has each new value, so that it can be copied as it is written."""
    # Any holder of the value will lend it; a random one, so that no row is copied systematically.
    order = chance.permutation(np.flatnonzero(cell >= 0))
    order = order[np.argsort(values[order], kind="stable")]
    return order[np.searchsorted(values[order], new_values)]
