"""Value hierarchies: how a quasi-identifier other than time may be made coarser, level by level.

Level 0 is the value itself. A hierarchy is a table with one row per value and one column per level, as
ARX users keep it, or a rule: intervals for numbers, prefixes for codes, one star for anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from timeveil.errors import InputError, ParameterError, TimeveilError, raising
from timeveil.reading.files import file_size

STAR = "*"
MOST_LEVELS = 100
LONGEST_LINE = 1 << 20
LARGEST = 400  # digits before or behind the point of a number; no measured number has more
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

    @property
    def top(self) -> int:
        """The coarsest level."""
        return len(self.names)

    def level(self, number: int, values: pa.Array) -> pa.Table:
        """A table `value`, `published` for distinct values at a level of at least 1.

        Null stays a class of its own, until a level publishes one value for all.
        """
        message = f"a hierarchy was given for values of the type {values.type}, which it does not fit"
        error = bad_hierarchy(message, "use a hierarchy table for this column, or drop it", InputError)
        with raising(error, on=(pa.ArrowException, OverflowError)):
            published = self.publish(number, values).cast(pa.string())
        if values.null_count and self.names[number - 1] == STAR:
            present = pc.drop_null(published)
            published = pc.fill_null(published, present[0] if len(present) else STAR)
        return pa.table({"value": values, "published": published})

    @classmethod
    def intervals(cls, widths: Sequence[float], origin: float = 0) -> Hierarchy:
        """For numbers: intervals of growing width from `origin`, each width a multiple of the one before."""
        _check_growing("widths", widths)
        exact, start = [Fraction(str(width)) for width in widths], Fraction(str(origin))
        if any(wide % narrow for narrow, wide in pairwise(exact)):
            raise bad_hierarchy(
                "each interval width must be a multiple of the one before", "for example 5, 10, 20"
            )

        def publish(number: int, values: pa.Array) -> pa.Array:
            width, numbers = exact[number - 1], _numbers(values)
            lows = [None if n is None else (n - start) // width * width + start for n in numbers]
            labels = [None if low is None else f"[{_text(low)}, {_text(low + width)})" for low in lows]
            return pa.array(labels, pa.string())

        return cls._with_star([f"{width:g} wide" for width in widths], publish)

    @classmethod
    def prefixes(cls, lengths: Sequence[int]) -> Hierarchy:
        """For codes such as postcodes: the first few characters, fewer at each level.

        >>> Hierarchy.prefixes([3]).level(1, pa.array(["20133"]))["published"].to_pylist()
        ['201**']
        """
        _check_growing("lengths", [-length for length in lengths])
        if any(length > LONGEST_LINE for length in lengths):
            raise bad_hierarchy(
                "a prefix of a hierarchy is longer than any value", f"give at most {LONGEST_LINE:,}"
            )

        def publish(number: int, values: pa.Array) -> pa.Array:
            text, length = values.cast(pa.string()), lengths[number - 1]
            hidden = pc.max_element_wise(pc.subtract(pc.utf8_length(text), length), 0)
            prefix = pc.utf8_slice_codeunits(text, 0, length)
            return pc.binary_join_element_wise(prefix, pc.binary_repeat(pa.scalar(STAR), hidden), "")

        return cls._with_star([f"first {length}" for length in lengths], publish)

    @classmethod
    def suppression(cls) -> Hierarchy:
        """The value, or a star."""
        return cls._with_star([], lambda _, values: values)

    @classmethod
    def _with_star(cls, names: Sequence[str], publish: Callable[[int, pa.Array], pa.Array]) -> Hierarchy:
        """Levels of a rule, and above them one star for every value."""

        def publish_or_star(number: int, values: pa.Array) -> pa.Array:
            if number > len(names):
                return pc.if_else(pc.is_valid(values), STAR, pa.scalar(None, pa.string()))
            return publish(number, values)

        return cls((*names, STAR), publish_or_star)

    @classmethod
    def from_table(cls, table: pa.Table) -> Hierarchy:
        """One row per value, one column per level, the value itself first; each coarsens the last."""
        if table.num_columns < 2:
            raise bad_hierarchy(
                "a hierarchy needs a column of values and at least one level", "add a level column"
            )
        if table.num_columns > MOST_LEVELS:
            raise bad_hierarchy(
                f"a hierarchy has {table.num_columns - 1:,} levels", f"give at most {MOST_LEVELS - 1}"
            )
        columns = []
        for column in table.columns:
            error = bad_hierarchy(
                f"a level of a hierarchy has the type {column.type}", "give text or numbers"
            )
            with raising(error, on=pa.ArrowException):
                columns.append(column.combine_chunks().cast(pa.string()))
        if len(columns[0].unique()) != len(columns[0]):
            raise bad_hierarchy("a hierarchy lists a value more than once", "keep one row per value")
        for number, (fine, coarse) in enumerate(pairwise(columns), start=1):
            pairs = pa.table({"fine": fine, "coarse": coarse}).group_by(["fine", "coarse"]).aggregate([])
            if pairs.num_rows != len(fine.unique()):
                message = f"level {number} of a hierarchy splits a value of the level below it"
                raise bad_hierarchy(
                    message, "give equal values of one level equal values in every level above"
                )

        def publish(number: int, values: pa.Array) -> pa.Array:
            row = pc.index_in(values.cast(pa.string()), columns[0], skip_nulls=False)
            missing = pc.sum(pc.and_(pc.is_null(row), pc.is_valid(values))).as_py() or 0
            if missing:
                message = f"a hierarchy lacks {missing} of the {len(values)} values of its column"
                raise bad_hierarchy(
                    message, "add a row to the hierarchy for every value of the column", InputError
                )
            return columns[number].take(row)

        levels = enumerate(columns[1:], start=1)
        names = tuple(STAR if len(column.unique()) == 1 else f"level {i}" for i, column in levels)
        return cls(names, publish)

    @classmethod
    def from_csv(cls, path: str | Path) -> Hierarchy:
        """A hierarchy file: no header, a row per value, levels from fine to coarse, `;` or `,` between."""
        file = Path(path)
        unreadable = InputError(
            f"the hierarchy file `{file.name}` cannot be read",
            hint="give the path of a UTF-8 text file with one row per value",
            code="file-unreadable",
        )
        with raising(unreadable, on=(OSError, ValueError)):
            file_size(file)
            with file.open(encoding="utf-8") as lines:
                head = lines.readline(LONGEST_LINE)
        delimiter = ";" if ";" in head else ","
        names = [f"level{i}" for i in range(head.count(delimiter) + 1)]
        if len(names) > MOST_LEVELS:
            message = f"the hierarchy file `{file.name}` has {len(names) - 1:,} levels"
            raise bad_hierarchy(message, f"give at most {MOST_LEVELS - 1}")
        ragged = bad_hierarchy(
            f"the hierarchy file `{file.name}` is not a table", "give every row the same number of levels"
        )
        with raising(ragged, on=(pa.ArrowException, OSError, KeyError)):
            table = pyarrow.csv.read_csv(
                file,
                read_options=pyarrow.csv.ReadOptions(column_names=names),
                parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter),
                convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
            )
        return cls.from_table(table)


def hierarchy_from(source: Hierarchy | str | Path | pa.Table) -> Hierarchy:
    """A hierarchy from what a caller has: one of ours, a table, a file, or a rule such as `intervals:5,10`.

    >>> hierarchy_from("prefixes:3,2").names
    ('first 3', 'first 2', '*')
    """
    if isinstance(source, Hierarchy):
        return source
    if isinstance(source, pa.Table):
        return Hierarchy.from_table(source)
    rule, colon, numbers = str(source).partition(":")
    if rule in RULES and colon:
        error = bad_hierarchy(
            f"the hierarchy rule `{rule}` needs numbers", f"for example {rule}:{RULES[rule]}"
        )
        with raising(error, on=(ValueError, OverflowError)):
            if rule == "intervals":
                return Hierarchy.intervals([float(n) if "." in n else int(n) for n in numbers.split(",")])
            return Hierarchy.prefixes([int(n) for n in numbers.split(",")])
    if source == "suppression":
        return Hierarchy.suppression()
    if rule.isalpha() and colon and not Path(source).exists():
        raise bad_hierarchy(
            f"`{rule}` is not a rule for a hierarchy",
            f"use {' or '.join(f'{name}:{example}' for name, example in RULES.items())}, or a file",
        )
    return Hierarchy.from_csv(source)


def _numbers(values: pa.Array) -> list[Fraction | None]:
    """Numbers as they are written, exactly; text is read as numbers."""
    numbers = [None if value is None else _number(value) for value in values.to_pylist()]
    if numbers.count(None) > values.null_count:
        message = "a hierarchy of intervals was given for a column that is not all numbers"
        raise bad_hierarchy(message, "use a hierarchy table for this column, or clean its values", InputError)
    return numbers


def _number(value: Any) -> Fraction | None:
    """The number that is written, exactly; 1e999999999 would take all memory to write out."""
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    if number.is_finite() and -LARGEST <= int(number.as_tuple().exponent) <= number.adjusted() <= LARGEST:
        return Fraction(number)
    return None


def _text(number: Fraction) -> str:
    """Whole numbers in full, others as decimals."""
    if number.denominator == 1:
        return str(number.numerator)
    exact = Context(prec=3 * LARGEST).divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"{exact:f}".rstrip("0").rstrip(".")


def _check_growing(name: str, numbers: Sequence[float]) -> None:
    ordered = all(a < b for a, b in pairwise(numbers))
    in_range = bool(numbers) and (numbers[0] > 0 if name == "widths" else numbers[-1] <= 0)
    if not ordered or not in_range:
        raise bad_hierarchy(
            f"the {name} of a hierarchy must go from fine to coarse", f"give the {name} in that order"
        )


def bad_hierarchy(message: str, hint: str, kind: type[TimeveilError] = ParameterError) -> TimeveilError:
    """The error for a hierarchy that cannot be used."""
    return kind(message, hint=hint, code="bad-hierarchy")
