"""Different sensitive values for those who share envelope and pattern (Shou et al. 2013, §5.4).

In every cell, a group and a pattern with its level (the print: PS(r)), no value may be in more than one row
in l.

Numbers: of a value that is in more, some rows, chosen at random, get another one: `"swap"` takes it from the
column, near in rank and not yet too frequent in the cell; `"perturb"` is the paper's, a value within epsilon
that nobody has. Swapping is the default: a value that nobody has is conspicuous, and the nearest one that
somebody has is what it was.

Categories, and numbers with few different values, have no neighbourhood: they stay, and series change cells.

1. Series are left out only where no cells at all could hold them: of values too frequent in the whole table
   as few as can be, evenly over the order of values (`eligible`).
2. The method forms groups as ever. They are halved by value, as long as no value is in more than one row in l
   of either half; what cannot be halved is a region. A single group stays if its cells hold already.
3. The series of any other region are cut anew, into groups by value and then into subgroups by shape, which
   get a pattern as the method gives it; `adaptive` improves all by swaps of series with the same categories.

A cut is made along the widest axis, but a side must take, or may not take, some of a value where the other
side, or this one, would hold too many. With n rows and B = n // l, a side of about l * t rows may take t of a
value and must take all but B - t of it. With several columns a cut that spoils one of them is not made.

Cost: O(n log n) for each cut of all series, times the instants, and one more refining of `adaptive`.
"""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pyarrow as pa

from timeveil.domain.arrays import Flags, Ints
from timeveil.domain.wording import counted
from timeveil.errors import InfeasibleError, InputError, InternalError, ParameterError
from timeveil.models.series.method.adaptive import improved
from timeveil.models.series.method.paper import agreeing_levels
from timeveil.models.series.method.partition import (
    Floats,
    Matrix,
    Partition,
    equal_before,
    principal,
    representation_in,
    run_ranges,
    runs_of,
    scaled,
)
from timeveil.models.series.parameters import WEIGHING, SeriesParameters
from timeveil.reading.encoding import encode, numbers
from timeveil.symbols import positions_of, symbols_at, unit_shapes

NEAR = 0.05  # how far a value may be moved at first: the share of the column's different values, up and down
FEW, TIMES = 4, 2
"""With fewer different values than this, or than this many times l, a column behaves like categories.

A cell of n rows needs n / floor(n / l) different values, which is below 2 l."""
_TRIES = 200
_DIGITS = 12  # decimals of a perturbed number at most
AXES = 4  # the widest axes that a cut is tried along; for one column the first will do


def diversified(
    attributes: pa.Table, names: Sequence[str], cell: Ints, parameters: SeriesParameters, seed: int | None
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


def _too_many(rank: Ints, cell: Ints, l: int, chance: np.random.Generator) -> Ints:
    """Rows to change: of a value in more than one in l rows of a cell, as many as are too many."""
    # A random order first; the stable sort keeps it among equal values, so chance says who changes.
    order = chance.permutation(len(rank))
    order = order[cell[order] >= 0]
    order = order[np.lexsort((rank[order], cell[order]))]
    key = cell[order] * (int(rank.max(initial=0)) + 1) + rank[order]
    # Of each value the first n // l rows of its cell stay.
    return order[equal_before(key) >= np.bincount(cell[order])[cell[order]] // l]


def _moved(rank: Ints, cell: Ints, rows: Ints, l: int, chance: np.random.Generator) -> Ints:
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


def _lenders(values: Matrix, new_values: Matrix, cell: Ints, chance: np.random.Generator) -> Ints:
    """A published row that has each new value, so that it can be copied as it is written."""
    # Any holder of the value will lend it; a random one, so that no row is copied systematically.
    order = chance.permutation(np.flatnonzero(cell >= 0))
    order = order[np.argsort(values[order], kind="stable")]
    return order[np.searchsorted(values[order], new_values)]


def _perturbed(
    name: str,
    column: pa.ChunkedArray,
    values: Matrix,
    rows: Ints,
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


# Cells of different categories.


def categories_of(attributes: pa.Table, names: Iterable[str], rows: int) -> Ints:
    """A number per row and column; equal values share it, and numbers are equal however they are written."""
    columns = [np.zeros((rows, 0), np.int64)]  # a table without columns has no rows
    for name in names:
        codes = encode(attributes[name]).codes.astype(np.int64)
        with suppress(InputError):
            read = numbers(name, attributes[name])
            if not read.not_finite:
                codes = np.where(read.missing, -1, np.unique(read.values, return_inverse=True)[1]) + 1
        columns.append(codes[:, None])
    return np.hstack(columns)


def holds(categories: Ints, l: int) -> bool:
    """Whether no value of any column is in more than one row in l."""
    most = len(categories) // l
    return all(np.bincount(codes).max(initial=0) <= most for codes in categories.T)


def eligible(order: Ints, categories: Ints, parameters: SeriesParameters) -> Ints:
    """The rows of an order that cells can hold: all but those of values that are too frequent in all."""
    rows, l = order, parameters.l
    while l is not None and not holds(categories[rows], l):
        for codes in categories.T:
            count = np.bincount(codes[rows])
            # With at most B rows of each value, B of all are l in a cell: the largest B keeps the most rows.
            low, high = 0, len(rows) // l
            while low < high:
                middle = (low + high + 1) // 2
                enough = int(np.minimum(count, middle).sum()) >= l * middle
                low, high = (middle, high) if enough else (low, middle - 1)
            # Of the c rows of a value those stay at which i * B / c passes a whole number, B of them.
            rank, often = equal_before(codes[rows]), count[codes[rows]]
            rows = rows[(often <= low) | ((rank + 1) * low // often > rank * low // often)]
    if len(rows) < len(order) and len(rows) < parameters.k:
        message = f"with l = {l} no more than {len(rows):,} series could share cells, fewer than k"
        hint = "lower {l}, or leave it out and raise {p}"
        raise InfeasibleError(message, hint=hint, code="too-few-people", facts={"series": len(rows)})
    return rows


def regrouped(
    partition: Partition, matrix: Matrix, categories: Ints, parameters: SeriesParameters
) -> Partition:
    """The partition with no value in more than one row in l of any cell, which all series together allow."""
    l, p = parameters.l, parameters.p
    if l is None or not categories.shape[1]:
        return partition
    values, shapes = principal(scaled(matrix)), principal(unit_shapes(matrix))
    group, subgroup = np.full((2, len(matrix)), -1, np.int64)
    old, new, groups = list[int](), list[Ints](), 0
    for region, rows in _regions(partition, values, categories, l):
        numbers = np.unique(partition.subgroup[rows])
        cells = [rows[partition.subgroup[rows] == number] for number in numbers]
        if len(region) == 1 and all(holds(categories[cell], l) for cell in (cells if p > 1 else [rows])):
            for number, cell in zip(numbers.tolist(), cells, strict=True):
                group[cell], subgroup[cell] = groups, len(old)
                old.append(number)
            groups += 1
            continue
        for part in _parts(rows, values, categories, parameters.k, l):
            group[part] = groups
            new += _parts(part, shapes, categories, p, l) if p > 1 else [part]
            groups += 1
    for number, cell in enumerate(new, start=len(old)):
        subgroup[cell] = number
    facts = {**partition.facts, "regrouped": sum(map(len, new))}
    symbols, levels = partition.symbols[old], partition.levels[old]
    partition = replace(
        partition, group=group, subgroup=subgroup, symbols=symbols, levels=levels, facts=facts
    )
    return _with_patterns(partition, matrix, new, categories, parameters) if new else partition


def _with_patterns(
    partition: Partition, matrix: Matrix, new: list[Ints], categories: Ints, parameters: SeriesParameters
) -> Partition:
    """The partition with patterns for its new cells, as the method gives them."""
    if parameters.method in WEIGHING:
        # Swaps of series with the same categories leave every cell as diverse as it is.
        kinds = np.unique(categories, axis=0, return_inverse=True)[1].ravel()
        return improved(partition, matrix, kinds, parameters)
    rows, bounds = np.concatenate(new), np.append(0, np.cumsum([len(cell) for cell in new]))
    u = positions_of(matrix[rows], parameters.center, representation_in(parameters, matrix))
    low, high = run_ranges(u, bounds)
    level = agreeing_levels(low, high, np.ones(len(low), np.int64), parameters.max_level)
    levels = np.repeat(level[:, None], low.shape[1], axis=1).astype(np.uint8)
    symbols = np.vstack([partition.symbols, symbols_at(low, levels)])
    return replace(partition, symbols=symbols, levels=np.vstack([partition.levels, levels]))


def _regions(partition: Partition, values: Floats, categories: Ints, l: int) -> Iterator[tuple[Ints, Ints]]:
    """Groups that are near each other and together hold l, and their rows."""
    rows, bounds = runs_of(partition.group)
    if not holds(categories[rows], l):
        # The series that the method left out are needed to hold it.
        yield np.arange(len(bounds)), np.arange(len(values))
        return
    middles = np.add.reduceat(values[rows], bounds[:-1]) / np.diff(bounds)[:, None]
    members, waiting = np.split(rows, bounds[1:-1]), [np.arange(len(middles))]
    while waiting:
        region = waiting.pop()
        axis = np.ptp(middles[region], axis=0).argmax()
        halves = np.array_split(region[np.argsort(middles[region, axis], kind="stable")], 2)
        sides = [np.concatenate([rows[:0], *(members[group] for group in half)]) for half in halves]
        if len(region) > 1 and all(holds(categories[side], l) for side in sides):
            waiting += halves
        else:
            yield region, np.sort(np.concatenate(sides))


def _parts(rows: Ints, features: Floats, categories: Ints, minimum: int, l: int) -> list[Ints]:
    """Rows cut into parts of at least the minimum that hold l each."""
    left = _half(features[rows], categories[rows], minimum, l)
    if left is None:
        return [rows]
    halves = rows[left], rows[~left]
    return [part for half in halves for part in _parts(half, features, categories, minimum, l)]


def _half(features: Floats, categories: Ints, minimum: int, l: int) -> Flags | None:
    """Which rows go to one side of a cut near the middle; None where neither side may be smaller."""
    size = len(features)
    pieces = size // minimum
    if pieces < 2:
        return None
    aim = size * (pieces // 2) // pieces
    sizes = [number for step in range(l + 1) for number in (aim + step, aim - step)]
    for axis in np.argsort(-np.ptp(features, axis=0), kind="stable")[:AXES]:
        order = np.argsort(features[:, axis], kind="stable")
        ranks = np.column_stack([equal_before(codes) for codes in categories[order].T])
        often = np.column_stack([np.bincount(codes)[codes] for codes in categories[order].T])
        for number in sizes:
            if not minimum <= number <= size - minimum:
                continue
            # The first of each value along the axis must, or may, go to this side.
            must = (ranks < often - (size - number) // l).any(axis=1)
            may = must | (ranks < number // l).all(axis=1)
            room = number - np.count_nonzero(must)
            chosen = must | ((np.cumsum(may & ~must) <= room) & may)
            left = np.zeros(size, np.bool_)
            left[order[chosen]] = True
            fits = room >= 0 and np.count_nonzero(chosen) == number
            if fits and holds(categories[left], l) and holds(categories[~left], l):
                return left
    return None
