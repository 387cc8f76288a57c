"""Cells of different categories: values without a neighbourhood stay, and series change cells.

1. Series are left out only where no cells at all could hold them: of values too frequent in the whole table
   as few as can be, evenly over the order of values (`eligible`).
2. The method forms groups, subgroups and patterns as ever. Groups are halved by value, as long as no value is
   in more than one row in l of either half; what cannot be halved is a region. One that is a single group
   stays as it is if its cells hold already.
3. The series of any other region are cut anew, into groups by value and then into subgroups by shape, which
   get a pattern as the method gives it; `adaptive` improves all groups once more, by swaps of series with the
   same categories.

A cut is made along the widest axis, but a side must take, or may not take, some of a value where the other
side, or this one, would hold too many. With n rows and B = n // l, a side of about l * t rows may take t of a
value and must take all but B - t of it. With several columns a cut that spoils one of them is not made.

Cost: O(n log n) for each cut of all series, times the instants, and one more refining of `adaptive`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from timeveil.errors import InfeasibleError, InputError
from timeveil.models.series.method.adaptive import improved
from timeveil.models.series.method.paper import agreeing_levels
from timeveil.models.series.method.partition import (
    Flags,
    Floats,
    Labels,
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

AXES = 4  # the widest axes that a cut is tried along; for one column the first will do


def categories_of(attributes: pa.Table, names: Iterable[str], rows: int) -> Labels:
    """A number per row and column; equal values share it, and numbers are equal however they are written."""
    columns = [np.zeros((rows, 0), np.int64)]  # a table without columns has no rows
    for name in names:
        try:
            read = numbers(name, attributes[name])
        except InputError:
            read = None
        codes = encode(attributes[name]).codes.astype(np.int64)
        if read is not None and not read.not_finite:
            codes = np.where(read.missing, -1, np.unique(read.values, return_inverse=True)[1]) + 1
        columns.append(codes[:, None])
    return np.hstack(columns)


def holds(categories: Labels, l: int) -> bool:
    """Whether no value of any column is in more than one row in l."""
    most = len(categories) // l
    return all(np.bincount(codes).max(initial=0) <= most for codes in categories.T)


def eligible(order: Labels, categories: Labels, parameters: SeriesParameters) -> Labels:
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
    partition: Partition, matrix: Matrix, categories: Labels, parameters: SeriesParameters
) -> Partition:
    """The partition with no value in more than one row in l of any cell, which all series together allow."""
    l, p = parameters.l, parameters.p
    if l is None or not categories.shape[1]:
        return partition
    values, shapes = principal(scaled(matrix)), principal(unit_shapes(matrix))
    group, subgroup = np.full((2, len(matrix)), -1, np.int64)
    old, new, groups = list[int](), list[Labels](), 0
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
    partition: Partition, matrix: Matrix, new: list[Labels], categories: Labels, parameters: SeriesParameters
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


def _regions(
    partition: Partition, values: Floats, categories: Labels, l: int
) -> Iterator[tuple[Labels, Labels]]:
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


def _parts(rows: Labels, features: Floats, categories: Labels, minimum: int, l: int) -> list[Labels]:
    """Rows cut into parts of at least the minimum that hold l each."""
    parts, waiting = list[Labels](), [rows]
    while waiting:
        part = waiting.pop()
        left = _half(features[part], categories[part], minimum, l)
        if left is None:
            parts.append(part)
        else:
            waiting += [part[~left], part[left]]
    return parts


def _half(features: Floats, categories: Labels, minimum: int, l: int) -> Flags | None:
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
