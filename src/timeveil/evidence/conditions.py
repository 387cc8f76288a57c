"""Conditions of a question: which published rows must meet them, and which may.

A plain column shows every value, so a row meets a condition or it does not. A generalised column shows a
label. What a label can contain follows from the name of its level: an interval contains the numbers in it, a
period of the calendar its dates, a prefix the texts that begin with it. A label of any other level, such as a
star, can contain every value. Where dates are asked for, a day without a clock is the whole day.

A published label can be asked for as well. It is counted exactly where the manifest states that no label of
the column is spelt like a value (`distinct_labels`); where it does not, either may be meant.
"""

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache, partial, reduce
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.catalogue import of_dates
from timeveil.calendar.civil import DAY, as_ints, year_start
from timeveil.calendar.granularity import Granularity
from timeveil.domain.arrays import Floats, Ints
from timeveil.domain.parameter import Parameter
from timeveil.domain.release import Release
from timeveil.errors import ParameterError, RolesError, raising
from timeveil.evidence.codes import encode, plain_type
from timeveil.evidence.published import classes_of

Column: TypeAlias = pa.Array | pa.ChunkedArray
Share: TypeAlias = tuple[float, float, float]
"""The share of a label's rows that meets a condition: expected, certain and possible."""
NONE, ALL, MAYBE = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.5, 0.0, 1.0)
EXACT = "value"  # the level of a column that shows its values, as text, next to labels of other rows
_LEVEL = re.compile(r".+ (wide)|first (\d{1,9})")
_INTERVAL = re.compile(r"\[(?P<low>.+), (?P<high>.+)\)|(?P<from>.+) or more|below (?P<below>.+)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?")
_CODED = re.compile(r"(?P<from>.+) or later|before (?P<below>.+)")
_OPEN = (Decimal("-Infinity"), Decimal("Infinity"))
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 (a clock reading)
_MICROSECOND, _SECOND = dt.timedelta(microseconds=1), 1_000_000
_EVER = (-(2**61), 2**61)
_MOST_SETS = 32
_VALUES = (str, bytes, int, float, Decimal, dt.date, dt.time, dt.timedelta, np.generic, pa.Scalar)


@dataclass(frozen=True, slots=True)
class Not:
    """Every row that a condition on its column does not select, those without a value included.

    >>> Not(["flu", None]).condition
    ['flu', None]
    """

    condition: Any


class Alternatives:
    """Conditions of which a row has to meet all, or several sets of them of which it has to meet one."""

    def __init__(self, release: Release, where: Any, published: Sequence[str]) -> None:
        listed = list(where) if isinstance(where, list | tuple) else [where]
        if not 0 < len(listed) <= _MOST_SETS:
            hint = f"give a mapping of conditions, or a list of 1 to {_MOST_SETS} of them"
            raise ParameterError(f"`where` has {len(listed):,} sets of conditions", hint=hint)
        self.sets = [Conditions(release, conditions, published) for conditions in listed]
        self.labelled = list(dict.fromkeys(name for one in self.sets for name in one.by_label))

    @property
    def unknown(self) -> tuple[str, ...]:
        """The columns with a value that nothing published shows, once all rows were looked at."""
        return tuple(dict.fromkeys(name for one in self.sets for name in one.unknown))

    def mark(self, batch: pa.RecordBatch) -> pa.Array:
        """Per row a bit for each set whose conditions on values it meets, the first set's bit being 1."""
        marks = np.zeros(batch.num_rows, dtype=np.int64)
        for number, conditions in enumerate(self.sets):
            mask = conditions.mask(batch)
            marks |= np.int64(1 << number) * (True if mask is None else np.asarray(mask))
        return pa.array(marks)

    def shares(self, labels: Mapping[str, pa.ChunkedArray], marks: Ints, levels: Mapping[str, str]) -> Floats:
        """Per class of marked rows its share that meets a set: expected, certain and possible.

        `levels` are those of the labels where they are not the same for all rows. Sets are taken to be
        independent of each other.
        """
        total = np.zeros((3, len(marks)))
        for number, conditions in enumerate(self.sets):
            part = np.tile((marks >> number & 1).astype(float), (3, 1))
            for name in conditions.by_label:
                part *= conditions.shares(name, labels[name], levels.get(name))
            expected = total[0] + part[0] - total[0] * part[0]
            total = np.maximum(total, part)
            total[0] = expected
        return total


class Conditions:
    """The conditions on columns of a release: those on values select rows, those on labels weigh them."""

    def __init__(self, release: Release, where: Mapping[str, Any], published: Sequence[str]) -> None:
        Parameter("where", "mapping", "A condition per column.").check(where)
        self._release, levels = release, release.manifest.get("levels", {})
        for column in where:
            if column not in published:
                hint = f"its columns are: {', '.join(published)}" if published else "leave {where} out"
                raise RolesError(f"the release has no column `{column}`", hint=hint, code="column-missing")
        self._negated = {column for column, condition in where.items() if isinstance(condition, Not)}
        options = {column: _options(column, condition) for column, condition in where.items()}
        self.by_value = {column: options[column] for column in options if column not in levels}
        self.by_label = {column: options[column] for column in options if column in levels}
        # Ranges need not occur; values that no row has are unknown.
        self._met = {name: np.array([isinstance(o, tuple) for o in options[name]]) for name in options}

    @property
    def unknown(self) -> tuple[str, ...]:
        return tuple(column for column, met in self._met.items() if not met.all())

    def mask(self, batch: pa.RecordBatch) -> pa.Array | None:
        """True for the rows that meet every condition on values; None where there is none."""
        masks = [self.met(name, batch.column(name)) for name in self.by_value]
        return reduce(pc.and_, masks) if masks else None

    def met(self, name: str, column: Column) -> Column:
        """Where a column of values meets its condition."""
        masks = [matches(name, column, option) for option in self.by_value[name]]
        self._met[name] |= [bool(pc.any(mask).as_py()) for mask in masks]
        selected = reduce(pc.or_, masks)
        return pc.invert(selected) if name in self._negated else selected

    def shares(self, name: str, column: pa.ChunkedArray, at_step: str | None = None) -> Floats:
        """Per cell of a generalised column its share: a row each for expected, certain and possible.

        `at_step` is the level of the cells where the manifest does not state one for all rows.
        """
        manifest, cells = self._release.manifest, encode(column)
        level = manifest["levels"][name]["name"] if at_step is None else at_step
        rule, period = _LEVEL.fullmatch(level), period_of(level)
        # No number is spelt like an interval, and a value is spelt like itself.
        distinct = level == EXACT or bool(rule and rule[1]) or name in manifest.get("distinct_labels", ())
        published = classes_of(self._release, [name]).column(0) if at_step is None else cells.values
        labels = published.to_pylist()
        total = np.zeros((len(labels), 3))
        for number, option in enumerate(self.by_label[name]):
            sought = option
            if isinstance(option, tuple):
                # Values that are shown may be numbers or dates, and then a star hides them.
                sought = _range_of(name, None if at_step in (EXACT, "*") else level, option)
            part = np.array(list(map(_sharing(level, sought), labels))).reshape(-1, 3)
            meant = np.array([label == sought for label in labels], dtype=bool)[:, None]
            self._met[name][number] |= meant.any() or bool((rule or period) and part[:, 2].any())
            if meant.any():
                # No date is spelt like a period, unless it is a day.
                is_label = distinct or (period is not None and _instants(sought) is None)
                part = meant * np.array(ALL) if is_label else np.maximum(part * (0, 0, 1), meant * (1, 0, 1))
            total += part
        total = np.minimum(total, 1.0)
        if name in self._negated:
            total = 1.0 - total[:, [0, 2, 1]]
        share = dict(zip(labels, total, strict=True))
        return np.array([share[label] for label in cells.values.to_pylist()]).reshape(-1, 3).T[:, cells.codes]


def _options(name: str, condition: object) -> list[Any]:
    """What a column may be, or may not: each of a list, or the one value or range (lo, hi)."""
    if isinstance(condition, Not):
        condition = condition.condition
    options = list(condition) if isinstance(condition, list | set | frozenset) else [condition]
    if not options or any(isinstance(option, tuple) and len(option) != 2 for option in options):
        raise _unusable(name, "is an empty list, or a range without two ends")
    values = [end for option in options for end in (option if isinstance(option, tuple) else (option,))]
    if not all(value is None or isinstance(value, _VALUES) for value in values):
        raise _unusable(name, "has something in it that is neither a value nor a range")
    return options


def _unusable(name: str, fault: str = "is a range that ends before it starts") -> ParameterError:
    hint = "give a value, a range as (lo, hi) with the lower end first, or several of these as a list"
    return ParameterError(f"the condition on column `{name}` {fault}", hint=hint)


def matches(name: str, column: Column, condition: object) -> Column:
    """Where a column equals a value, is missing (`None`), or in a range (lo, hi) that includes both ends."""
    kind = plain_type(column.type)
    column = column.cast(kind)
    if condition is None:
        return column.is_null()
    if not isinstance(condition, tuple):
        return pc.fill_null(pc.equal(column, _scalar(name, kind, condition)), False)
    low, high = (None if end is None else _scalar(name, kind, end) for end in condition)
    if low is not None and high is not None and pc.greater(low, high).as_py():
        raise _unusable(name)
    inside = column.is_valid()
    for compare, bound in ((pc.greater_equal, low), (pc.less_equal, high)):
        if bound is not None:
            inside = pc.and_(inside, pc.fill_null(compare(column, bound), False))
    return inside


def _scalar(name: str, kind: pa.DataType, condition: Any) -> pa.Scalar:
    message = f"column `{name}` holds {kind}, which cannot be compared with a {type(condition).__name__}"
    error = ParameterError(message, hint=f"give a value that reads as {kind}")
    if pa.types.is_integer(kind) and isinstance(condition, float) and condition.is_integer():
        condition = int(condition)  # exact, however large
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    with raising(error, on=(pa.ArrowException, TypeError, ValueError, OverflowError)):
        scalar = pa.scalar(condition)
        # A fraction against whole numbers is compared as it is: a cast would refuse or round it.
        return scalar if numeric and pa.types.is_floating(scalar.type) else scalar.cast(kind)


@lru_cache(maxsize=64)
def period_of(level: str) -> Granularity | None:
    """The granularity of a level of dates; None of any other level."""
    try:
        return of_dates(level)
    except ParameterError:
        return None


def takes_ranges(level: str) -> bool:
    """Whether the labels of a level contain numbers or dates."""
    return level.endswith(" wide") or period_of(level) is not None


def share_of(level: str, label: str | None, condition: Any) -> Share:
    """Of the rows with a label of a level, the share that has a value, or is in a range."""
    return _sharing(level, condition)(label)


def _sharing(level: str, condition: Any) -> Callable[[str | None], Share]:
    """The share of a condition as a function of the label: many labels are asked for one condition."""
    rule, period = _LEVEL.fullmatch(level), period_of(level)
    if level == EXACT:
        return partial(_share_of_value, condition)
    if rule is None and period is None:
        return lambda _: MAYBE
    if condition is None:
        return lambda label: ALL if label is None else NONE
    if rule is None or rule[1]:
        of_interval = partial(_share_of_interval, condition)
        of_label = of_interval if rule else partial(_share_of_period, level, condition)
        return lambda label: NONE if label is None else of_label(label)
    text, length = str(condition), int(rule[2])
    # Fractions, times and flags may have been written in another way; codes such as 04103 were not.
    spelt = text.isdigit() and len(text) < 16 if _decimal(text) else isinstance(condition, str)
    # A column of numbers reads 05 as 5, one of codes does not: either may be meant.
    begins = {(len(code), code[:length]) for code in (text, text.lstrip("0") or "0")}

    def of_prefix(label: str | None) -> Share:
        if label is None:
            return NONE
        return MAYBE if (len(label), label[:length]) in begins or not spelt else NONE

    return of_prefix


def _share_of_value(condition: Any, label: str | None) -> Share:
    """Of rows that show a value as text: all that have it, by its spelling or as a number."""
    number, span = _decimal(label), _instants(label)
    if span is not None and _instants(condition) is not None:
        return _share_of_span(span, condition)
    if isinstance(condition, tuple):
        is_inside = number is not None and condition[0] <= number <= condition[1]
        return MAYBE if label and number is None else ALL if is_inside else NONE
    same = label is condition or (label is not None and label == str(condition))
    if number is not None and _decimal(condition) is not None:
        same = number == _decimal(condition)
    # Times and flags may be written in another way.
    spelt = isinstance(condition, str | int | float) and not isinstance(condition, bool)
    return ALL if same else NONE if spelt or condition is None or label is None else MAYBE


def _share_of_interval(condition: Any, label: str) -> Share:
    written, number = _INTERVAL.fullmatch(label), _decimal(condition)
    if written is None:
        return MAYBE
    ends = zip((written["low"] or written["from"], written["high"] or written["below"]), _OPEN, strict=True)
    low, high = (end if text is None else _decimal(text) for text, end in ends)
    if low is None or high is None or low >= high:
        return MAYBE
    least, most = condition if isinstance(condition, tuple) else (number, number)
    if least is None or low > most or high <= least:
        return NONE
    if low >= least and high <= most:
        return ALL
    if not (low.is_finite() and high.is_finite()):
        return MAYBE
    overlap = float(min(high, most)) - float(max(low, least))
    return (min(1.0, max(1.0, overlap) / max(2.0, float(high) - float(low))), 0.0, 1.0)


# Dates, as microseconds since 1970.


def _share_of_span(span: tuple[int, int] | None, condition: Any) -> Share:
    """Of rows with a date from the start of a span to before its end, the share that a condition admits."""
    sought = _instants(condition)
    if span is None or sought is None:
        return MAYBE
    (start, end), (low, high) = span, sought
    if start >= high or end <= low:
        return NONE
    if low <= start and end <= high:
        return ALL if isinstance(condition, tuple) or span == sought else MAYBE
    if start <= _EVER[0] or end >= _EVER[1]:
        return MAYBE
    return ((min(end, high) - max(start, low)) / (end - start), 0.0, 1.0)


def _instants(condition: Any) -> tuple[int, int] | None:
    """A day, a clock reading or a range of them, from its start to before its end; None of anything else."""
    if isinstance(condition, tuple):
        return condition if isinstance(condition[0], int) else None
    if isinstance(condition, str):
        written = _DATE.fullmatch(condition.strip())
        try:
            moment = dt.datetime.fromisoformat(written[0]) if written else None
        except ValueError:  # no such day
            return None
        condition = moment if moment is None or (written and written[1]) else moment.date()
    if isinstance(condition, dt.datetime):
        if condition.tzinfo is not None:
            return None
        start = (condition - _EPOCH) // _MICROSECOND
        return start, start + 1
    if isinstance(condition, dt.date):
        start = (condition - _EPOCH.date()).days * DAY * _SECOND
        return start, start + DAY * _SECOND
    return None


def _share_of_period(level: str, condition: Any, label: str) -> Share:
    """Of rows with a published period; one that is not of its level may contain anything."""
    span = None
    if coded := _CODED.fullmatch(label):
        if bound := _instants(coded["from"] or coded["below"]):
            span = (bound[0], _EVER[1]) if coded["from"] else (_EVER[0], bound[0])
    elif label[:4].isdecimal():
        span = _periods(level, int(label[:4])).get(label)
    return _share_of_span(span, condition)


@lru_cache(maxsize=4_096)
def _periods(level: str, year: int) -> dict[str, tuple[int, int]]:
    """The periods of a level that begin in a year or around it, by label."""
    period = of_dates(level)
    first, last = period.index(year_start(as_ints([year - 1, year + 2])) * DAY).tolist()
    numbers = np.arange(first, last + 1)
    spans = zip(*((edge(numbers) * _SECOND).tolist() for edge in (period.start, period.end)), strict=True)
    return dict(zip(period.label(numbers), spans, strict=True))


def _range_of(name: str, level: str | None, bounds: tuple[Any, ...]) -> tuple[Any, Any]:
    """A range of numbers or of dates, whichever the labels contain, or the bounds where that is open."""
    numbers = [end if bound is None else _decimal(bound) for bound, end in zip(bounds, _OPEN, strict=True)]
    days = [_EVER if bound is None else _instants(bound) for bound in bounds]
    dated = None in numbers if level is None else period_of(level) is not None
    low, high = (days[0] and days[0][0], days[1] and days[1][1]) if dated else numbers
    if (level is not None and not takes_ranges(level)) or low is None or high is None:
        fault = "is a range, which only intervals of numbers and periods of dates take where generalised"
        raise _unusable(name, fault)
    if low > high:
        raise _unusable(name)
    return low, high


def _decimal(value: object) -> Decimal | None:
    """The number that is written, exactly; None for anything else."""
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
