"""Value hierarchies: how a quasi-identifier other than time may be made coarser, level by level.

Level 0 is the value itself. A hierarchy is a table with a row per value and a column per level, or a rule.
Where numbers or dates are top and bottom coded, level 0 is not used: it would show those outside the bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from timeveil.calendar.catalogue import of_dates
from timeveil.calendar.civil import civil_second
from timeveil.calendar.order import is_finer_than
from timeveil.errors import InputError, ParameterError, TimeveilError, raising
from timeveil.reading.files import file_size
from timeveil.reading.table import moments

STAR = "*"
MOST_LEVELS = 100
LONGEST_LINE = 1 << 20
LARGEST = 400  # digits before or behind the point of a number; no measured number has more
RULES = {"intervals": "5,10", "log": "2,4,16", "calendar": "month,year,decade", "prefixes": "3,2"}
Number = int | float | Fraction
Interval = Callable[[Fraction, Fraction], tuple[Fraction, Fraction]]


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
    finest: int = 0
    """The first level that may be used."""
    definition: str = ""
    """What the names leave open: bounds, where intervals start, or the whole table."""

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
    def intervals(
        cls,
        widths: Sequence[float],
        origin: float = 0,
        *,
        bottom: Number | None = None,
        top: Number | None = None,
    ) -> Hierarchy:
        """For numbers: intervals of growing width from `origin`, each width a multiple of the one before.

        Numbers below `bottom`, and those of `top` or more, share one label each.

        >>> Hierarchy.intervals([5], top=90).level(1, pa.array([87, 93, 101]))["published"].to_pylist()
        ['[85, 90)', '90 or more', '90 or more']
        """
        _check_growing("widths", widths)
        exact, start = [Fraction(str(width)) for width in widths], Fraction(str(origin))
        nested = not any(wide % narrow for narrow, wide in pairwise(exact))
        _require(nested, "each interval width must be a multiple of the one before", "for example 5, 10, 20")

        def interval(width: Fraction, number: Fraction) -> tuple[Fraction, Fraction]:
            low = (number - start) // width * width + start
            return low, low + width

        levels = cls._of_numbers([f"{width:g} wide" for width in widths], exact, interval, bottom, top)
        return replace(levels, definition=f"{levels.definition} from {start}")

    @classmethod
    def log(
        cls, bases: Sequence[int], *, bottom: Number | None = None, top: Number | None = None
    ) -> Hierarchy:
        """For numbers of every magnitude, such as durations: intervals between the powers of a base.

        Each base is a power of the one before. Between 0 and 1 there is one interval, and below 0 they are
        mirrored.

        >>> Hierarchy.log([2, 4]).level(1, pa.array([0, 1, 2, 3, 9, -3]))["published"].to_pylist()
        ['[0, 1)', '[1, 2)', '[2, 4)', '[2, 4)', '[8, 16)', '[-4, -2)']
        """
        _check_growing("bases", bases)
        powers = [_power_below(Fraction(low), Fraction(high)) == high for low, high in pairwise(bases)]
        message = "each base must be a whole number from 2, and a power of the one before"
        _require(all(powers) and bases[0] >= 2, message, "for example 2, 4, 16")

        def interval(base: Fraction, number: Fraction) -> tuple[Fraction, Fraction]:
            if -1 <= number < 1:
                return (Fraction(-1), Fraction(0)) if number < 0 else (Fraction(0), Fraction(1))
            power = _power_below(base, abs(number))
            if number > 0:
                return power, power * base
            # Intervals contain their lower end, so -4 begins the one up to -2.
            return (-power, -power / base) if power == -number else (-power * base, -power)

        names = [f"{base}-fold wide" for base in bases]
        return cls._of_numbers(names, [*map(Fraction, bases)], interval, bottom, top)

    @classmethod
    def _of_numbers(
        cls, names: list[str], sizes: Sequence[Fraction], interval: Interval, *bounds: Number | None
    ) -> Hierarchy:
        """Levels of half-open intervals that nest, of a size each, cut off at two bounds."""
        least, most = (None if end is None else Fraction(str(end)) for end in bounds)

        def label(number: Fraction, size: Fraction) -> str:
            if least is not None and number < least:
                return f"below {_text_of(least)}"
            if most is not None and number >= most:
                return f"{_text_of(most)} or more"
            low, high = interval(size, number)
            low, high = low if least is None else max(low, least), high if most is None else min(high, most)
            return f"[{_text_of(low)}, {_text_of(high)})"

        def publish(number: int, values: pa.Array) -> pa.Array:
            numbers = [None if value is None else _number(value) for value in values.to_pylist()]
            message = "a hierarchy for numbers was given for a column that is not all numbers"
            hint = "use a hierarchy table for this column, or clean its values"
            _require(numbers.count(None) == values.null_count, message, hint, InputError)
            return pa.array(
                [None if n is None else label(n, sizes[number - 1]) for n in numbers], pa.string()
            )

        return cls._with_star(names, publish, least, most)

    @classmethod
    def calendar(
        cls, names: Sequence[str], *, bottom: date | str | None = None, top: date | str | None = None
    ) -> Hierarchy:
        """For dates other than the time, such as birth dates: periods of the calendar that nest.

        They are called as granularities are, from `day` to `decade`, or `5-years`. Dates before `bottom`,
        and those from `top` on, share one label each.

        >>> born = Hierarchy.calendar(["month", "5-years"], bottom="1930-01-01")
        >>> dates = pa.array([date(1958, 3, 31), date(1919, 7, 2)])
        >>> [born.level(number, dates)["published"].to_pylist() for number in (1, 2)]
        [['1958-03', 'before 1930-01-01'], ['1955 to 1959', 'before 1930-01-01']]
        """
        periods = [of_dates(name) for name in names]
        _require(
            periods and all(is_finer_than(fine, coarse) for fine, coarse in pairwise(periods)),
            "the periods of a calendar hierarchy must go from fine to coarse, each inside the next",
            "for example month,quarter,year,decade: a week may be in two months",
        )
        error = bad_hierarchy("a bound of a calendar hierarchy is not a date", "write it like 1930-01-01")
        with raising(error, on=ValueError):
            least, most = (None if end is None else date.fromisoformat(str(end)) for end in (bottom, top))

        def publish(number: int, values: pa.Array) -> pa.Array:
            dates = moments(values)
            message = "a calendar hierarchy was given for a column that is not all dates, written in one way"
            if dates is None:
                raise bad_hierarchy(message, "write its dates like 1958-03-31", InputError)
            seconds, missing = dates
            indices, index = np.unique(periods[number - 1].index(seconds), return_inverse=True)
            labels = np.array(periods[number - 1].label(indices), dtype=object)[index]
            if least is not None:
                labels[seconds < civil_second(least, of="bottom")] = f"before {least}"
            if most is not None:
                labels[seconds >= civil_second(most, of="top")] = f"{most} or later"
            return pa.array(labels, pa.string(), mask=missing)

        return cls._with_star([period.name for period in periods], publish, least, most)

    @classmethod
    def prefixes(cls, lengths: Sequence[int]) -> Hierarchy:
        """For codes such as postcodes: the first few characters, fewer at each level.

        >>> Hierarchy.prefixes([3]).level(1, pa.array(["20133"]))["published"].to_pylist()
        ['201**']
        """
        _check_growing("lengths", [-length for length in lengths])
        message = "a prefix of a hierarchy is longer than any value"
        _require(max(lengths) <= LONGEST_LINE, message, f"give at most {LONGEST_LINE:,}")

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
    def _with_star(
        cls, names: Sequence[str], publish: Callable[[int, pa.Array], pa.Array], *bounds: Any
    ) -> Hierarchy:
        """Levels of a rule, and above them one star for every value; what is beyond bounds is coded."""
        stated = [bound for bound in bounds if bound is not None]
        message = "the upper bound of a hierarchy is not above the lower one"
        _require(sorted({*stated}) == stated, message, "write the lower bound first, such as 18..90")

        def publish_or_star(number: int, values: pa.Array) -> pa.Array:
            star = pc.if_else(pc.is_valid(values), STAR, pa.scalar(None, pa.string()))
            return star if number > len(names) else publish(number, values)

        return cls((*names, STAR), publish_or_star, int(bool(stated)), " to ".join(map(str, bounds)))

    @classmethod
    def from_table(cls, table: pa.Table) -> Hierarchy:
        """One row per value, one column per level, the value itself first; each coarsens the last."""
        message = "a hierarchy needs a column of values and at least one level"
        _require(table.num_columns >= 2, message, "add a level column")
        message = f"a hierarchy has {table.num_columns - 1:,} levels"
        _require(table.num_columns <= MOST_LEVELS, message, f"give at most {MOST_LEVELS - 1}")
        columns = []
        for column in table.columns:
            message = f"a level of a hierarchy has the type {column.type}"
            with raising(bad_hierarchy(message, "give text or numbers"), on=pa.ArrowException):
                columns.append(column.combine_chunks().cast(pa.string()))
        once = len(columns[0].unique()) == len(columns[0])
        _require(once, "a hierarchy lists a value more than once", "keep one row per value")
        for number, (fine, coarse) in enumerate(pairwise(columns), start=1):
            pairs = pa.table([fine, coarse], ["fine", "coarse"]).group_by(["fine", "coarse"]).aggregate([])
            message = f"level {number} of a hierarchy splits a value of the level below it"
            hint = "give equal values of one level equal values in every level above"
            _require(pairs.num_rows == len(fine.unique()), message, hint)

        def publish(number: int, values: pa.Array) -> pa.Array:
            row = pc.index_in(values.cast(pa.string()), columns[0], skip_nulls=False)
            missing = pc.sum(pc.and_(pc.is_null(row), pc.is_valid(values))).as_py() or 0
            message = f"a hierarchy lacks {missing} of the {len(values)} values of its column"
            hint = "add a row to the hierarchy for every value of the column"
            _require(not missing, message, hint, InputError)
            return columns[number].take(row)

        levels = enumerate(columns[1:], start=1)
        names = tuple(STAR if len(column.unique()) == 1 else f"level {i}" for i, column in levels)
        return cls(names, publish, definition=str([column.to_pylist() for column in columns]))

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
        message = f"the hierarchy file `{file.name}` has {len(names) - 1:,} levels"
        _require(len(names) <= MOST_LEVELS, message, f"give at most {MOST_LEVELS - 1}")
        message = f"the hierarchy file `{file.name}` is not a table"
        ragged = bad_hierarchy(message, "give every row the same number of levels")
        with raising(ragged, on=(pa.ArrowException, OSError, KeyError)):
            table = pyarrow.csv.read_csv(
                file,
                read_options=pyarrow.csv.ReadOptions(column_names=names),
                parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter),
                convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
            )
        return cls.from_table(table)


def hierarchy_from(source: Hierarchy | str | Path | pa.Table) -> Hierarchy:
    """A hierarchy from one of ours, a table, a file, or a rule such as `intervals:5,10`."""
    if isinstance(source, Hierarchy | pa.Table):
        return source if isinstance(source, Hierarchy) else Hierarchy.from_table(source)
    rule, colon, arguments = str(source).partition(":")
    if rule in RULES and colon:
        needs = "names of periods" if rule == "calendar" else "numbers"
        message = f"the hierarchy rule `{rule}` needs {needs}"
        error = bad_hierarchy(message, f"for example {rule}:{RULES[rule]}")
        with raising(error, on=(ValueError, OverflowError)):
            return _from_rule(rule, arguments)
    if source == "suppression":
        return Hierarchy.suppression()
    if rule.isalpha() and colon and not Path(source).exists():
        examples = " or ".join(f"{name}:{example}" for name, example in RULES.items())
        raise bad_hierarchy(f"`{rule}` is not a rule for a hierarchy", f"use {examples}, or a file")
    return Hierarchy.from_csv(source)


def _from_rule(rule: str, arguments: str) -> Hierarchy:
    """The hierarchy of a rule, coded outside the bounds that follow a colon: `5,10:18..90`."""
    if rule == "prefixes":
        return Hierarchy.prefixes([int(n) for n in arguments.split(",")])
    texts, coded, bounds = arguments.partition(":")
    steps, (low, dots, high) = [text.strip() for text in texts.split(",")], bounds.partition("..")
    message = f"the bounds of the hierarchy rule `{rule}` are not written LOW..HIGH"
    ends = "1930-01-01..2015-01-01" if rule == "calendar" else "18..90"
    hint = f"write {rule}:{RULES[rule]}:{ends}, or leave out one of the two"
    _require(not coded or (dots and (low or high)), message, hint)
    if rule == "calendar":
        return Hierarchy.calendar(steps, bottom=low or None, top=high or None)
    bottom, top = (Fraction(end) if end else None for end in (low, high))
    if rule == "log":
        return Hierarchy.log([int(n) for n in steps], bottom=bottom, top=top)
    widths = [float(n) if "." in n else int(n) for n in steps]
    return Hierarchy.intervals(widths, bottom=bottom, top=top)


def _check_growing(name: str, numbers: Sequence[float]) -> None:
    ordered = all(a < b for a, b in pairwise(numbers))
    in_range = bool(numbers) and (numbers[-1] <= 0 if name == "lengths" else numbers[0] > 0)
    message = f"the {name} of a hierarchy must go from fine to coarse"
    _require(ordered and in_range, message, f"give the {name} in that order")


def _require(holds: object, message: str, hint: str, kind: type[TimeveilError] = ParameterError) -> None:
    if not holds:
        raise bad_hierarchy(message, hint, kind)


def bad_hierarchy(message: str, hint: str, kind: type[TimeveilError] = ParameterError) -> TimeveilError:
    """The error for a hierarchy that cannot be used."""
    return kind(message, hint=hint, code="bad-hierarchy")


# Numbers and dates as hierarchies read and write them.


def _power_below(base: Fraction, number: Fraction) -> Fraction:
    """The largest power of a base up to a number of at least 1."""
    power = Fraction(1)
    while base > 1 and power * base <= number:
        power *= base
    return power


def _number(value: Any) -> Fraction | None:
    """The number that is written, exactly; 1e999999999 would take all memory to write out."""
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    if number.is_finite() and -LARGEST <= int(number.as_tuple().exponent) <= number.adjusted() <= LARGEST:
        return Fraction(number)
    return None


def _text_of(number: Fraction) -> str:
    """Whole numbers in full, others as decimals."""
    if number.denominator == 1:
        return str(number.numerator)
    exact = Context(prec=3 * LARGEST).divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"{exact:f}".rstrip("0").rstrip(".")
