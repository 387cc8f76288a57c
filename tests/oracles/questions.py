"""What is true of rows, the slow and plain way: one row at a time, as Python compares.

Nothing here looks at a release, and nothing is counted by the project's own code. Labels are written as the
documentation says; a column is what the original table holds.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from statistics import NormalDist, fmean, median, pstdev
from typing import Any

from timeveil import Not

Row = Mapping[str, Any]
Label = Callable[[Any], str | None]


def interval(width: int, bottom: float = -math.inf, top: float = math.inf) -> Label:
    """The label of a number: the multiple of the width at or below it and the next, cut off at bounds."""

    def label(value: Any) -> str | None:
        if value is None:
            return None
        low = math.floor(value / width) * width
        return f"[{max(low, bottom)}, {min(low + width, top)})"

    return label


def fold(base: int) -> Label:
    """The label of a number between two powers of a base, tried one after the other, mirrored below 0."""

    def label(value: Any) -> str | None:
        if value is None:
            return None
        powers = [0, *(base**n for n in range(40))]
        edges = [*(-power for power in reversed(powers[1:])), *powers]
        low, high = next((a, b) for a, b in itertools.pairwise(edges) if a <= value < b)
        return f"[{low}, {high})"

    return label


def year(length: int) -> Label:
    """The label of a date: its year, or the years from a multiple of their number."""

    def label(value: Any) -> str | None:
        if value is None:
            return None
        first = value.year // length * length
        return f"{first:04}" if length == 1 else f"{first:04} to {first + length - 1:04}"

    return label


def month(value: Any) -> str | None:
    return None if value is None else value.strftime("%Y-%m")


def coded(label: Label, bottom: Any, top: Any, words: tuple[str, str]) -> Label:
    """One label for all below a bound, and one for all from another bound on."""

    def of_value(value: Any) -> str | None:
        if value is None:
            return None
        return (
            f"{words[0]} {bottom}"
            if value < bottom
            else f"{top} {words[1]}"
            if value >= top
            else label(value)
        )

    return of_value


def prefix(length: int) -> Label:
    """The beginning of a code, and a star for each letter that is hidden."""

    def label(value: Any) -> str | None:
        return None if value is None else value[:length] + "*" * max(len(value) - length, 0)

    return label


def star(_: Any) -> str:
    return "*"


def same(value: Any, asked: Any) -> bool:
    """Whether a value is the one asked for; numbers may be written as text."""
    if value is None or asked is None:
        return value is asked
    if isinstance(value, date) and isinstance(asked, str):
        return str(value) == asked
    if isinstance(value, int | float) and isinstance(asked, str):
        try:
            return value == float(asked)
        except ValueError:
            return False
    return bool(value == asked)


def meets(value: Any, asked: Any) -> bool:
    """Whether a value is the one asked for, or in the range (lo, hi)."""
    if not isinstance(asked, tuple):
        return same(value, asked)
    low, high = asked
    if isinstance(value, date):
        low, high = (date.fromisoformat(end) if isinstance(end, str) else end for end in asked)
    return value is not None and (low is None or value >= low) and (high is None or value <= high)


def readings(values: Iterable[Any], label: Label, asked: Any) -> list[Callable[[Any], bool]]:
    """What a question about a generalised column can mean: a value, a label, or, spelt alike, either."""
    if isinstance(asked, tuple):
        return [lambda value: meets(value, asked)]
    present = list(values)
    ways: list[Callable[[Any], bool]] = []
    if any(same(value, asked) for value in present):
        ways.append(lambda value: same(value, asked))
    if any(label(value) == asked for value in present):
        ways.append(lambda value: label(value) == asked)
    return ways or [lambda value: same(value, asked)]


def truths(
    rows: Sequence[Row],
    where: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    labels: Mapping[str, Label],
    among: Callable[[Row], bool] = lambda _: True,
) -> list[int]:
    """How many rows meet all conditions of a set, a list meaning any of its values: once for each reading."""
    sets = [where] if isinstance(where, Mapping) else where
    inside = [row for row in rows if among(row)]
    return [
        sum(any(all(test(row) for test in reading) for reading in one_each) for row in inside)
        for one_each in itertools.product(*(_readings_of(rows, one, labels) for one in sets))
    ]


def _readings_of(
    rows: Sequence[Row], where: Mapping[str, Any], labels: Mapping[str, Label]
) -> list[tuple[Callable[[Row], bool], ...]]:
    """The tests of a row that a set of conditions can mean."""
    choices = []
    for column, condition in where.items():
        negated = isinstance(condition, Not)
        asked = condition.condition if negated else condition
        options = asked if isinstance(asked, list) else [asked]
        ways: Iterable[tuple[Callable[[Any], bool], ...]] = [tuple(_meeting(option) for option in options)]
        if column in labels:
            values = [row[column] for row in rows]
            ways = itertools.product(*(readings(values, labels[column], option) for option in options))
        choices.append([_test(column, way, negated=negated) for way in ways])
    return list(itertools.product(*choices))


def _test(column: str, way: Sequence[Callable[[Any], bool]], *, negated: bool) -> Callable[[Row], bool]:
    return lambda row: any(test(row[column]) for test in way) != negated


def _meeting(option: Any) -> Callable[[Any], bool]:
    return lambda value: meets(value, option)


def letters(series: Sequence[float], symbols: int, center: str = "mean") -> list[str]:
    """The letter of each value: its cell of the normal curve, in deviations of the series from its centre."""
    borders = [NormalDist().inv_cdf(n / symbols) for n in range(1, symbols)]
    middle = fmean(series) if center == "mean" else median(series)
    deviation = pstdev(series) or 1.0
    return ["abcdefgh"[bisect_right(borders, (x - middle) / deviation + 1e-12)] for x in series]


# Expressions: an instant, a number, or a sign with two expressions.


def evaluated(tree: Any, values: list[float]) -> float | None:
    """The result for one series; none where a divisor is 0 or no number results."""
    if isinstance(tree, int):
        return values[tree]
    if isinstance(tree, float):
        return tree
    sign, *sides = tree
    left, right = (evaluated(side, values) for side in sides)
    if left is None or right is None or (sign == "/" and right == 0):
        return None
    result = {"+": left + right, "-": left - right, "*": left * right, "/": left / (right or 1.0)}[sign]
    return None if math.isnan(result) else result


def written(tree: Any) -> str:
    """An expression as it is typed; every other name in backquotes."""
    if isinstance(tree, int):
        return f"`t{tree}`" if tree % 2 else f"t{tree}"
    if isinstance(tree, float):
        return f"{tree}"
    return f"({written(tree[1])} {tree[0]} {written(tree[2])})"
