"""Value hierarchies: how a quasi-identifier other than time may be made coarser, level by level.

Level 0 is the value itself. A hierarchy is a table with one row per value and one column per level, as
ARX users keep it, or a rule: intervals for numbers, prefixes for codes, one star for anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from timeveil.errors import InputError, ParameterError, raising
from timeveil.reading.files import file_size

STAR = "*"
MOST_LEVELS = 100
LONGEST_LINE = 1 << 20
LARGEST = 400
"""Digits before or behind the point of a number; no measured number has more."""
RULES = {"intervals": "5,10", "prefixes": "3,2"}


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Names of the levels above the value itself, and the rule that publishes a value at each.

    >>> ages = Hierarchy.intervals([5, 10])
    >>> ages.names
    ('5 wide', '10 wide', '*')
    >>> ages.level(2, pa.array([37, 42, None]))["published"].to_pylist()
    ['[30, 40)', '[40, 50)', None]
    """

    names: tuple[str, ...]
    publish: Callable[[int, pa.Array], pa.Array]
    described: Mapping[str, Any]

    @property
    def top(self) -> int:
        """The coarsest level."""
        return len(self.names)

    def level(self, number: int, values: pa.Array) -> pa.Table:
        """A table `value`, `published` for distinct values at a level of at least 1.

        Null stays a class of its own, until a level publishes one value for all.
        """
        published = self.publish(number, values).cast(pa.string())
        if values.null_count and self.names[number - 1] == STAR:
            present = pc.drop_null(published)
            published = pc.fill_null(published, present[0] if len(present) else STAR)
        return pa.table({"value": values, "published": published})

    @classmethod
    def intervals(cls, widths: Sequence[float], origin: float = 0) -> Hierarchy:
        """For numbers: intervals of growing width from `origin`, each width a multiple of the one before."""
        _growing("widths", widths)
        if any(Fraction(str(wide)) % Fraction(str(narrow)) for narrow, wide in pairwise(widths)):
            raise _bad("each interval width must be a multiple of the one before", "for example 5, 10, 20")
        exact = [Fraction(str(width)) for width in widths]
        start = Fraction(str(origin))

        def publish(number: int, values: pa.Array) -> pa.Array:
            if number > len(widths):
                return _stars(values)
            width = exact[number - 1]
            lows = [None if v is None else (v - start) // width * width + start for v in _numbers(values)]
            return pa.array(
                [None if low is None else f"[{_text(low)}, {_text(low + width)})" for low in lows],
                pa.string(),
            )

        names = (*(f"{width:g} wide" for width in widths), STAR)
        return cls(names, publish, {"kind": "intervals", "widths": list(widths), "origin": origin})

    @classmethod
    def prefixes(cls, lengths: Sequence[int]) -> Hierarchy:
        """For codes such as postcodes: the first few characters, fewer at each level.

        >>> Hierarchy.prefixes([3]).level(1, pa.array(["20133"]))["published"].to_pylist()
        ['201**']
        """
        _growing("lengths", [-length for length in lengths])
        if any(length > LONGEST_LINE for length in lengths):
            raise _bad("a prefix of a hierarchy is longer than any value", f"give at most {LONGEST_LINE:,}")

        def publish(number: int, values: pa.Array) -> pa.Array:
            if number > len(lengths):
                return _stars(values)
            text = values.cast(pa.string())
            hidden = pc.max_element_wise(pc.subtract(pc.utf8_length(text), lengths[number - 1]), 0)
            prefix = pc.utf8_slice_codeunits(text, 0, lengths[number - 1])
            return pc.binary_join_element_wise(prefix, pc.binary_repeat(pa.scalar(STAR), hidden), "")

        names = (*(f"first {length}" for length in lengths), STAR)
        return cls(names, publish, {"kind": "prefixes", "lengths": list(lengths)})

    @classmethod
    def suppression(cls) -> Hierarchy:
        """The value, or a star."""
        return cls((STAR,), lambda _, values: _stars(values), {"kind": "suppression"})

    @classmethod
    def from_table(cls, table: pa.Table) -> Hierarchy:
        """One row per value, one column per level, the value itself first; each coarsens the last."""
        if table.num_columns < 2:
            raise _bad("a hierarchy needs a column of values and at least one level", "add a level column")
        if table.num_columns > MOST_LEVELS:
            raise _bad(f"a hierarchy has {table.num_columns - 1:,} levels", f"give at most {MOST_LEVELS - 1}")
        columns = [_as_text(table.column(i)) for i in range(table.num_columns)]
        if len(columns[0].unique()) != len(columns[0]):
            raise _bad("a hierarchy lists a value more than once", "keep one row per value")
        for number, (fine, coarse) in enumerate(pairwise(columns), start=1):
            pairs = pa.table({"fine": fine, "coarse": coarse}).group_by(["fine", "coarse"]).aggregate([])
            if pairs.num_rows != len(fine.unique()):
                raise _bad(
                    f"level {number} of a hierarchy splits a value of the level below it",
                    "give equal values of one level equal values in every level above",
                )

        def publish(number: int, values: pa.Array) -> pa.Array:
            row = pc.index_in(values.cast(pa.string()), columns[0], skip_nulls=False)
            missing = pc.sum(pc.and_(pc.is_null(row), pc.is_valid(values))).as_py() or 0
            if missing:
                raise InputError(
                    f"a hierarchy lacks {missing} of the {len(values)} values of its column",
                    hint="add a row to the hierarchy for every value of the column",
                    code="bad-hierarchy",
                )
            return columns[number].take(row)

        names = tuple(
            STAR if len(column.unique()) == 1 else f"level {i}"
            for i, column in enumerate(columns[1:], start=1)
        )
        return cls(names, publish, {"kind": "table", "levels": len(names)})

    @classmethod
    def from_csv(cls, path: str | Path) -> Hierarchy:
        """A hierarchy file: no header, a row per value, levels from fine to coarse, `;` or `,` between."""
        file = Path(path)
        head = _first_line(file)
        width = head.count(";" if ";" in head else ",") + 1
        if width > MOST_LEVELS:
            raise _bad(
                f"the hierarchy file `{file.name}` has {width - 1:,} levels",
                f"give at most {MOST_LEVELS - 1}",
            )
        names = [f"level{i}" for i in range(width)]
        return cls.from_table(_read_levels(file, names, ";" if ";" in head else ","))


def _as_text(column: pa.ChunkedArray) -> pa.Array:
    error = _bad(f"a level of a hierarchy has the type {column.type}", "give text or numbers")
    with raising(error, on=pa.ArrowException):
        return column.combine_chunks().cast(pa.string())


def _first_line(file: Path) -> str:
    try:
        file_size(file)
        with file.open(encoding="utf-8") as lines:
            return lines.readline(LONGEST_LINE)
    except (OSError, ValueError):
        failure = InputError(
            f"the hierarchy file `{file.name}` cannot be read",
            hint="give the path of a UTF-8 text file with one row per value",
            code="file-unreadable",
        )
    raise failure


def _read_levels(file: Path, names: list[str], delimiter: str) -> pa.Table:
    try:
        return pyarrow.csv.read_csv(
            file,
            read_options=pyarrow.csv.ReadOptions(column_names=names),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    except (pa.ArrowException, OSError, KeyError):
        failure = _bad(
            f"the hierarchy file `{file.name}` is not a table", "give every row the same number of levels"
        )
    raise failure


def hierarchy_from(given: Hierarchy | str | Path | pa.Table) -> Hierarchy:
    """A hierarchy from what a caller has: one of ours, a table, a file, or a rule such as `intervals:5,10`.

    >>> hierarchy_from("prefixes:3,2").names
    ('first 3', 'first 2', '*')
    """
    if isinstance(given, Hierarchy):
        return given
    if isinstance(given, pa.Table):
        return Hierarchy.from_table(given)
    rule, colon, numbers = str(given).partition(":")
    if rule in RULES and colon:
        return _from_rule(rule, numbers)
    if given == "suppression":
        return Hierarchy.suppression()
    if rule.isalpha() and colon and not Path(given).exists():
        raise _bad(
            f"`{rule}` is not a rule for a hierarchy",
            f"use {' or '.join(f'{name}:{example}' for name, example in RULES.items())}, or a file",
        )
    return Hierarchy.from_csv(given)


def _from_rule(rule: str, numbers: str) -> Hierarchy:
    try:
        if rule == "intervals":
            return Hierarchy.intervals([float(n) if "." in n else int(n) for n in numbers.split(",")])
        return Hierarchy.prefixes([int(n) for n in numbers.split(",")])
    except (ValueError, OverflowError):
        failure = _bad(f"the hierarchy rule `{rule}` needs numbers", f"for example {rule}:{RULES[rule]}")
    raise failure


def _stars(values: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_valid(values), STAR, pa.scalar(None, pa.string()))


def _numbers(values: pa.Array) -> list[Fraction | None]:
    """Numbers as they are written, exactly; text is read as numbers."""
    numbers = [None if v is None else _number(v) for v in values.to_pylist()]
    if any(n is None and v is not None for n, v in zip(numbers, values.to_pylist(), strict=True)):
        raise InputError(
            "a hierarchy of intervals was given for a column that is not all numbers",
            hint="use a hierarchy table for this column, or clean its values",
            code="bad-hierarchy",
        )
    return numbers


def _number(value: Any) -> Fraction | None:
    """The number that is written, exactly; 1e999999999 would take all memory to write out."""
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    if (
        not number.is_finite()
        or not -LARGEST <= int(number.as_tuple().exponent) <= number.adjusted() <= LARGEST
    ):
        return None
    return Fraction(number)


def _text(number: Fraction) -> str:
    """Whole numbers in full, others as decimals."""
    if number.denominator == 1:
        return str(number.numerator)
    return f"{Decimal(number.numerator) / Decimal(number.denominator):f}".rstrip("0").rstrip(".")


def _growing(name: str, numbers: Sequence[float]) -> None:
    ordered = all(a < b for a, b in pairwise(numbers))
    in_range = bool(numbers) and (numbers[0] > 0 if name == "widths" else numbers[-1] <= 0)
    if not ordered or not in_range:
        raise _bad(f"the {name} of a hierarchy must go from fine to coarse", f"give the {name} in that order")


def _bad(message: str, hint: str) -> ParameterError:
    return ParameterError(message, hint=hint, code="bad-hierarchy")
