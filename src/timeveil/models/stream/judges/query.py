"""How many records of a stream release are in a window of slots?

Quasi-identifiers and kept columns are published unchanged, so they are counted exactly. Which record of a
bucket has which sensitive value is not published: of m records that fit otherwise, in a bucket of n where c
have the value, m * c / n are expected (Xiao and Tao 2006), and at least m + c - n and at most the smaller of
m and c have it. Generalised groups show the value of each record, but labels instead of quasi-identifiers: a
label may contain what is asked for.

All numbers and bounds are about the published records: moved and withheld ones are not where they were.

Random windows show how far off such answers are. A window is a random stretch of consecutive slots. It asks
for the sensitive value of a random record, for one of its quasi-identifiers, for both, or for neither, each
in a quarter of the cases. Every way of publishing answers as `answer` would: exactly where values are
published exactly, and through the buckets where not.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.arrays import Flags, Floats, Ints
from timeveil.domain.judgement import Estimate
from timeveil.evidence.codes import plain_type
from timeveil.evidence.conditions import Alternatives
from timeveil.evidence.published import (
    Moment,
    WindowCount,
    classes_of,
    instant_of,
    marked_rows,
    unreadable,
    window_of,
)
from timeveil.models.stream.evidence import Evidence, whole_numbers
from timeveil.models.stream.slots import NOWHERE, SlotLine

QUERIES = (WindowCount,)
_LEAST_SHARE = 0.01
_FIRST, _LAST = -(2**62), 2**62


def answer(evidence: Evidence, query: WindowCount, *, rows: bool = False) -> Estimate:
    """Answer a window count from what was published, a batch at a time."""
    release, secret = evidence.release, evidence.sensitive_column
    columns = evidence.columns("quasi", "keep", "sensitive")
    conditions = Alternatives(release, query.where, list(dict.fromkeys([*columns, secret])))
    window, sought = _slots_in(evidence, query.between), dict[int, Flags]()
    for number, condition_set in enumerate(conditions.sets if evidence.bucketed else ()):
        if secret in condition_set.by_value:
            sought[number] = np.asarray(condition_set.met(secret, evidence.buckets.value.values))
            del condition_set.by_value[secret]

    def mark(batch: pa.RecordBatch) -> pa.Array:
        slots = batch.column("slot")
        inside = pc.is_in(slots.cast(plain_type(slots.type)), value_set=window)
        return pc.multiply(conditions.mark(batch), inside.cast(pa.int64()))

    listed = None
    if evidence.generalized:
        # Values are beside the records of a group; a label may or may not contain what is asked for.
        classes = classes_of(release, conditions.labelled, mark, each=rows)
        share = evidence.label_shares(conditions, classes)
        value, low, high = (share @ np.asarray(classes["rows"])).tolist()
        listed = marked_rows(release, mark, share[2] > 0) if rows else None
        return Estimate(value, low=low, high=high, unknown=conditions.unknown, rows=listed)
    keys, sets = ["slot", "bucket"] if sought else [], len(conditions.sets)
    value, low, high = share_of_bucket(*_in_buckets(evidence, classes_of(release, keys, mark), sought, sets))
    if rows:
        each = classes_of(release, keys, mark, each=True)
        listed = marked_rows(release, mark, _in_buckets(evidence, each, sought, sets)[1] > 0)
    return Estimate(value, low=low, high=high, unknown=conditions.unknown, rows=listed)


def _in_buckets(
    evidence: Evidence, classes: pa.Table, sought: Mapping[int, Flags], sets: int
) -> tuple[Ints, Ints, Ints]:
    """Per class of marked records their number, how many of their bucket have a sought value, and its size.

    A record that meets a set of conditions without a sought value need not have one. A bucket that only the
    table `data` has, in a damaged release, holds nobody.
    """
    fit, marks = (np.asarray(classes.column(position)).astype(np.int64) for position in (-1, -2))
    if not sought:
        return fit, fit, fit
    buckets = evidence.buckets
    anything = np.ones(buckets.value.size, dtype=np.bool_)
    index = buckets.index(evidence.line.numbers(classes.column(0)), whole_numbers(classes.column(1)))
    size, holders = buckets.size[index], np.zeros(len(fit), dtype=np.int64)
    for met in np.unique(marks).tolist():
        values = [sought.get(number, anything) for number in range(sets) if met >> number & 1]
        matching = buckets.often * np.logical_or.reduce(values)[buckets.value.codes]
        total = np.bincount(buckets.owner, weights=matching, minlength=len(buckets.size)).astype(np.int64)
        holders = np.where(marks == met, total[index], holders)
    listed = buckets.listed[index]
    return fit * listed, holders * listed, size


def share_of_bucket(fit: Ints, holders: Any, size: Ints) -> tuple[float, float, float]:
    """Of `fit` records per bucket of `size`, the number among the `holders`: expected, least, most."""
    expected = fit * holders / np.maximum(size, 1)
    least, most = np.clip(fit + holders - size, 0, None), np.minimum(fit, holders)
    return float(expected.sum()), float(least.sum()), float(most.sum())


def _slots_in(evidence: Evidence, between: tuple[Moment, Moment]) -> pa.Array:
    """The published slots from that of the first bound to before that of the second."""
    low, high = window_of(between, "slot", partial(slot_number, evidence.line), (_FIRST, _LAST))
    slots = evidence.slot_runs().unique()
    numbers = evidence.line.numbers(slots)
    return slots.filter(pa.array((numbers >= low) & (numbers < high) & (numbers != NOWHERE)))


def slot_number(line: SlotLine, slot: Moment) -> int:
    """The slot that a label, date, time or whole number means; a date or time means the slot it is in."""
    if line.granularity is None:
        if isinstance(slot, bool) or not isinstance(slot, int | np.integer):
            raise unreadable("give slot numbers", "slot")
        return int(slot)
    if (number := line.number(slot)) != NOWHERE:
        return number
    number = line.holding(math.floor(instant_of(line.axis, slot)))
    return _LAST if number == NOWHERE else number  # after the last slot of the calendar


class Window(NamedTuple):
    """Slots [first, last); `value`, and `quasi` of `column`, are asked for; -1 for nothing."""

    first: int
    last: int
    value: int = -1
    column: int = -1
    quasi: int = -1


class Publication:
    """One way to publish records, sorted by `begin`: each is shown in the slots [begin, end).

    `group` is the bucket that publishes its values, or -1 where each record shows its own. The last
    `counterfeits` of the records do not exist: only their values are published. Where `quasi` are labels,
    `chances` has per column a function of a value: the share of each label expected to have it.
    """

    def __init__(
        self,
        begin: Ints,
        end: Ints,
        group: Ints,
        value: Ints,
        quasi: Sequence[Ints],
        counterfeits: int = 0,
        chances: Sequence[Callable[[int], Floats]] = (),
    ) -> None:
        self._chances = chances
        order = np.lexsort((group, begin))
        self.exists = (np.arange(len(begin)) < len(begin) - counterfeits)[order]
        self.begin, self.end, self.group = begin[order], end[order], group[order]
        self.value, self.quasi = value[order], [codes[order] for codes in quasi]
        self.widest = int((end - begin).max(initial=1))
        self.count = cache(self._count)  # windows drawn at random repeat

    def _count(self, window: Window) -> float:
        """The estimate of a window count; records shown over several slots are spread evenly."""
        first, last, value, column, quasi = window
        # Records that can overlap the window are one range, as none is shown over more than `widest` slots.
        near = slice(*np.searchsorted(self.begin, (first - self.widest + 1, last)))
        begin, end = self.begin[near], self.end[near]
        weight = np.clip(np.minimum(end, last) - np.maximum(begin, first), 0, None) / (end - begin)
        weight = weight * self.exists[near]
        if column >= 0:
            codes = self.quasi[column][near]
            weight = weight * (self._chances[column](quasi)[codes] if self._chances else codes == quasi)
        if value < 0:
            return float(weight.sum())
        group, holds = self.group[near], self.value[near] == value
        if not len(group) or group[0] < 0:
            return float(weight[holds].sum())
        # The range holds whole slots, and with them whole buckets: shares can be counted inside it.
        bucket = group - group.min()
        share = np.bincount(bucket, weights=holds) / np.maximum(np.bincount(bucket), 1)
        return float((weight * share[bucket]).sum())


def chances(evidence: Evidence, name: str) -> Callable[[int], Floats]:
    """A function of a value's code: of each published label, the share that `answer` expects to have it."""
    labels, values = evidence.labels[name].values, evidence.original_column(name).values
    ones = np.ones(len(labels), np.int64)
    classes = pa.table([labels, ones, ones], ["label", "mark", "rows"])

    @cache
    def chance(code: int) -> Floats:
        conditions = Alternatives(evidence.release, {name: values[code].as_py()}, [name])
        return np.asarray(evidence.label_shares(conditions, classes)[0])

    return chance


def draw_windows(
    truth: Publication, slots: int, length: int, number: int, rng: np.random.Generator
) -> list[Window]:
    """Random windows of one length over slots 0 to `slots` - 1."""
    span, columns = min(length, slots), len(truth.quasi)
    first = rng.integers(0, slots - span + 1, number).tolist()
    record, question = rng.integers(0, len(truth.value), number), rng.integers(0, 4, number)
    column = rng.integers(0, columns, number) if columns else np.full(number, -1)
    column = np.where(question >= 2, column, -1).tolist()
    value = np.where(question % 2 == 1, truth.value[record], -1).tolist()
    quasi = [int(truth.quasi[c][r]) if c >= 0 else -1 for c, r in zip(column, record, strict=True)]
    questions = zip(first, value, column, quasi, strict=True)
    return [Window(begin, begin + span, *sought) for begin, *sought in questions]


def relative_errors(
    truth: Publication, published: Publication, windows: Sequence[Window], slots: int
) -> Floats:
    """Each window's error; a count below 1 % of what such a window holds on average is taken as that."""
    true, guess = (np.array([way.count(window) for window in windows]) for way in (truth, published))
    length = windows[0].last - windows[0].first
    least = max(1.0, _LEAST_SHARE * len(truth.value) * length / max(slots, 1))
    errors: Floats = np.abs(guess - true) / np.maximum(true, least)
    return errors
