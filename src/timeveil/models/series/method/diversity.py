"""Different sensitive values for those who share envelope and pattern (Shou et al. 2013, §5.4).

In every cell no value may be in more than one row in l; of a value that is in more, some rows, chosen at
random, get another one: `"swap"` takes it from the column, near in rank and not yet too frequent in the cell;
`"perturb"` is the paper's, a value within epsilon that nobody has.

Where we depart from the print
    A cell is a group and a pattern, with its level; the paper means the same by PS(r).
    Swapping is the default: a value that nobody has is conspicuous, and the nearest one that somebody has is
    what it was. Near is in rank: next to a common zero, the smallest amounts that occur.
    A perturbed value has no more decimals than the column while there are such numbers that nobody has.
    Of categories, and of numbers with few different values, cells are formed to differ (`grouping`).
"""

import secrets
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from timeveil.domain.wording import counted
from timeveil.errors import InputError, InternalError, ParameterError
from timeveil.models.series.method.partition import Labels, Matrix, equal_before
from timeveil.models.series.parameters import SeriesParameters
from timeveil.reading.encoding import numbers

NEAR = 0.05  # how far a value may be moved at first: the share of the column's different values, up and down
FEW, TIMES = 4, 2
"""With fewer different values than this, or than this many times l, a column behaves like categories.

A cell of n rows needs n / floor(n / l) different values, which is below 2 l."""
_TRIES = 200
_DIGITS = 12  # decimals of a perturbed number at most


def diversified(
    attributes: pa.Table, names: Sequence[str], cell: Labels, parameters: SeriesParameters, seed: int | None
) -> tuple[pa.Table, dict[str, int]]:
    """The table with no value in more than one row in l of any cell, and how many changed in each column.

    `cell` numbers cells of at least l rows; rows in none, -1, stay as they are and lend nothing. Without a
    seed nobody can repeat the draws.
    """
    chance = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
    l, changed = parameters.l or 1, dict[str, int]()
    for name in names:
        values, column = _numbers(name, attributes[name]), attributes[name]
        occurring = np.unique(values[cell >= 0])
        rank = np.searchsorted(occurring, values)
        rows = _too_many(rank, cell, l, chance)
        if not len(rows):
            continue
        if parameters.l_method == "perturb":
            column = _perturbed(name, column, values, rows, parameters.epsilon or 0.0, chance)
        else:
            if len(occurring) < max(FEW, TIMES * l):
                different = counted(len(occurring), "different value")
                raise ParameterError(
                    f"column `{name}` has {different} among the published series, fewer than "
                    f"{max(FEW, TIMES * l)}, too few to exchange them",
                    hint='form cells of different values with {l_method="group"}',
                    facts={"column": name, "different": len(occurring)},
                )
            lender = np.arange(len(values))
            lender[rows] = _lenders(values, occurring[_moved(rank, cell, rows, l, chance)], cell, chance)
            column = column.take(pa.array(lender))
        attributes = attributes.set_column(attributes.column_names.index(name), name, column)
        changed[name] = len(rows)
    return attributes, changed


def columns_to_group(
    attributes: pa.Table, names: Sequence[str], parameters: SeriesParameters
) -> tuple[str, ...]:
    """The columns whose values stay, so that cells must be formed for them: categories, or all by request."""
    if parameters.l is None:
        return ()
    least, few = max(FEW, TIMES * parameters.l), list(names)
    if parameters.l_method != "group":
        few = [name for name in names if _different(name, attributes[name]) < least]
    if parameters.l_method == "perturb" and len(few) == len(names):
        message = "no sensitive column has enough different numbers to perturb; cells are formed instead"
        raise ParameterError(message, hint="leave {l_method} and {epsilon} out")
    for name in few:  # a missing value hides nobody among those who have one
        _refuse_lacking(name, attributes[name].null_count)
    return tuple(few)


def _different(name: str, column: pa.ChunkedArray) -> int:
    """How many different numbers a column has; 0 if they are categories."""
    try:
        numbers(name, column)
    except InputError as error:
        if not error.facts.get("long"):
            return 0
    return len(np.unique(_numbers(name, column)))


def _numbers(name: str, column: pa.ChunkedArray) -> Matrix:
    read = numbers(name, column)
    _refuse_lacking(name, int(np.count_nonzero(read.missing)) + read.not_finite)
    return read.values


def _refuse_lacking(name: str, lacking: int) -> None:
    if lacking:
        message = f"column `{name}` has {counted(lacking, 'value')} missing or not finite, and l needs all"
        hint = "fill them in, or leave {l} out"
        raise InputError(message, hint=hint, code="nulls", facts={"column": name, "count": lacking})


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


def _perturbed(
    name: str,
    column: pa.ChunkedArray,
    values: Matrix,
    rows: Labels,
    epsilon: float,
    chance: np.random.Generator,
) -> pa.ChunkedArray:
    """The column with a number in these rows that is within epsilon of the old one and that nobody has."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    decimals = next((n for n in range(_DIGITS) if (np.round(values, n) == values).all()), _DIGITS)
    # Texts and floats have room for more decimals where all near numbers are taken.
    fixed = pa.types.is_integer(kind) or pa.types.is_decimal(kind)
    existing = set(values.tolist())
    # Through text, the new numbers are written in the column's own type.
    texts = np.asarray(column.cast(kind).cast(pa.string()), dtype=object)
    for row, value in zip(rows.tolist(), values[rows].tolist(), strict=True):
        near = value + chance.uniform(-epsilon, epsilon, _TRIES)
        digits = range(decimals, decimals + 1 if fixed else _DIGITS + 1)
        draws = (draw for digit in digits for draw in (np.round(near, digit) + 0.0).tolist())
        free = next((draw for draw in draws if draw not in existing and abs(draw - value) <= epsilon), None)
        if free is None:
            message = f"column `{name}` has too few numbers within {epsilon:g} of each other that nobody has"
            raise ParameterError(message, hint="raise {epsilon}", facts={"column": name})
        existing.add(free)
        texts[row] = np.format_float_positional(free, trim="-")
    return pa.chunked_array([pa.array(texts, pa.string()).cast(kind).cast(column.type)])
