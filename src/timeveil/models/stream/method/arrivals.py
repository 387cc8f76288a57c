"""Records as they come in: typed, each with its slot, incomplete ones set aside."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.axis import clocks, instants
from timeveil.calendar.catalogue import resolve
from timeveil.calendar.granularity import GAP, Granularity
from timeveil.domain.arrays import Ints
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.domain.release import Ledger
from timeveil.domain.roles import Roles
from timeveil.errors import InputError, raising
from timeveil.models.stream.method.placing import Values
from timeveil.models.stream.method.settings import Settings, check_roles
from timeveil.models.stream.parameters import StreamParameters, reach_of
from timeveil.reading.columns import without_nan
from timeveil.reading.encoding import Coded, encode
from timeveil.reading.risks import Occurrences, refuse_repetition, with_risks
from timeveil.reading.table import Reader

WIDEST_GAP = 1_000_000


@dataclass(frozen=True, slots=True)
class Slots:
    """How times are cut into slots, which are whole numbers without holes, each with a label.

    A granularity says which slot a time is in; without one, times are slot numbers and labels.
    """

    axis: TimeAxis
    granularity: Granularity | None

    def index(self, times: pa.ChunkedArray, back: int = 0) -> Ints:
        """The slot of each time; where clocks are put back, the repeated hour stays in its last slot.

        With `back`, the slot that was so many seconds before it; or slots, where times are their numbers.
        """
        if self.granularity is None:
            return np.asarray(times.to_numpy(), np.int64) - back
        moments = instants(self.axis, times) - back
        slot = self.granularity.index(clocks(self.axis, moments).settled(moments))
        if outside := int(np.count_nonzero(slot == GAP)):
            message = f"{outside} of {len(slot)} times are in no granule of `{self.granularity.name}`"
            hint = "choose a {slot} without gaps, such as hour, day, week or month"
            raise InputError(message, hint=hint, code="gap")
        return slot

    def labels(self, slots: Sequence[int] | Ints) -> pa.Array:
        numbers = np.asarray(slots, np.int64)
        if self.granularity is None:
            return pa.array(numbers)
        return pa.array(self.granularity.label(numbers), pa.string())

    @property
    def end(self) -> int | None:
        """The last slot with a label, where there is one: dates have four digits for the year."""
        if self.granularity is None or self.axis.kind == "relative":
            return None
        end = int(self.granularity.index(np.array([253_402_300_799]))[0])  # its last second
        return None if end == GAP else end

    @lru_cache(maxsize=64)  # noqa: B019  a push asks several times for the label of its slot
    def label(self, slot: int) -> Any:
        return slot if self.granularity is None else self.labels([slot])[0].as_py()


@cache
def slots_of(slot: str | Granularity, axis: TimeAxis) -> Slots:
    """The slots of an axis; a granularity that does not fit it is refused."""
    if axis.kind == "relative" and axis.unit is None:
        resolve([slot], TimeAxis("civil", pa.timestamp("s")))  # a misspelt name is an error, needed or not
        return Slots(axis, None)
    return Slots(axis, resolve([slot], axis)[0])


class Arrived:
    """A table that was read: the numbers of its complete rows, and the slot of each; all sensitive values.

    `incomplete` rows lack a time, a person or a sensitive value.
    """

    def __init__(self, table: Any, settings: Settings, reader: Reader) -> None:
        if isinstance(table, Relation):
            check_roles(table.roles)
        relation, value_codes = (table, None) if isinstance(table, Relation) else reader.read(table)
        self.relation, self.coded = _checked(relation, value_codes, settings)
        self.slots = slots_of(settings.options.slot, self.relation.clock)
        self.rows = _complete(self.relation, settings)
        self.incomplete = self.relation.rows - len(self.rows)
        times = self.relation.table.column(self.relation.time)
        self.slot = self.slots.index(times.take(pa.array(self.rows)) if self.incomplete else times)
        if self.slots.end is not None:
            settings.options.refuse_after(self.slots.end, int(self.slot.max(initial=0)))
        if settings.options.after:
            refuse_repetition(self.relation, settings.options, self._is_apart)

    def _is_apart(self, ledger: Ledger) -> bool:
        """Whether an earlier stream ended before this one begins: a slot is published once."""
        slots = self.slots
        definition = None if slots.granularity is None else slots.granularity.as_dict()
        before, stated = ledger.original, ledger.facts.get("time", {}).get("slot_definition")
        other = ledger.model != "stream" or before.axis != slots.axis or stated != definition
        if other or not len(self.slot):
            return False
        ended = slots.index(before.table.column(before.time).drop_null()).max(initial=GAP)
        parameters = ledger.facts["parameters"]
        return bool(self.slot.min() > ended + reach_of(parameters) - parameters["window"])

    def refuse_late(self, last: int, options: StreamParameters) -> None:
        """Records must not belong to slots that have already arrived."""
        if len(behind := np.flatnonzero(self.slot <= last)):
            late, first = len(behind), int(behind[0]) + 1
            otherwise = 'move late records on with {late="move"}'
            if options.protect_slot is not None:
                otherwise = "put late records into the next stream: a packet holds records of one true slot"
            message = f"{late} records belong to slots that have already arrived, the first in row {first}"
            hint = f"push whole slots in order, or {otherwise}"
            raise InputError(message, hint=hint, code="late", facts={"late": late, "row": first})


def reader_of(roles: Roles, options: StreamParameters) -> Reader:
    """Reads tables of records, as a stream needs them."""
    stated = options.reading("nulls", "fold_spellings")
    # Of every snapshot alone: a column must not be read in one way, and in another when more is in it.
    stated["decimal"] = options.decimal or "point"
    return Reader(roles, needs=("time", "sensitive"), slot_numbers=True, **stated)


def codes_of(coded: Coded, values: Values, rows: Ints | None = None) -> Ints:
    """The code of the sensitive value of each row; new values are numbered in the order of the rows."""
    if rows is None:  # all of them, in their order
        return values.codes(python_values(coded.values))[coded.codes]
    codes, count = coded.codes[rows], len(rows)
    # Of several entries for one value the last counts: that of its first row.
    first = np.full(len(coded.values), count)
    first[codes[::-1]] = np.arange(count - 1, -1, -1)
    present = first.argsort()[: np.count_nonzero(first < count)]
    # Only the different values become Python objects, not every row's.
    first[present] = values.codes(python_values(coded.values.take(pa.array(present))))
    return first[codes]


def python_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Values that are equal in Python where they are in the column.

    Instants are in UTC: on the clocks of a zone Python takes the two hours of a clock change for equal.
    """
    kind = column.type
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    cells: list[Any] = (column.cast(pa.timestamp(kind.unit, "UTC")) if zoned else column).to_pylist()
    return cells


def _checked(relation: Relation, coded: Coded | None, settings: Settings) -> tuple[Relation, Coded]:
    """The relation if its columns can be published, with NaN as null, and its sensitive values."""
    name, table = relation.roles.sensitive[0], relation.table
    column = table.column(name)
    if (numbers := without_nan(column)) is not column:
        relation = replace(relation, data=table.set_column(table.column_names.index(name), name, numbers))
    coded = coded or encode(numbers)
    alone = relation.roles.respondent is None and not relation.roles.keep

    def occurrences(_: str) -> Occurrences:  # the column is encoded already
        counts = np.bincount(coded.codes, minlength=len(coded.values))
        counts = counts[: len(counts) - coded.values.null_count]  # null comes last
        return Occurrences(coded.values, int(counts.sum()), int(np.count_nonzero(counts == 1)))

    relation = with_risks(relation, settings.options.accept_risk, occurrences if alone else None)
    for role in filter(None, (name, relation.roles.respondent)):
        _refuse_times(role, relation.table.column(role))
    return relation, coded


def _refuse_times(name: str, column: pa.ChunkedArray) -> None:
    """Sensitive values are Python objects, and Python has no nanoseconds and no years beyond 1 to 9999."""
    kind = column.type
    if not pa.types.is_temporal(kind) or pa.types.is_interval(kind):
        return
    message = f"column `{name}` has times finer than a microsecond, or outside the years 1 to 9999"
    error = InputError(message, hint="check for wrong dates and round the times, or convert them to text")
    with raising(error, on=(OverflowError, ValueError)):
        if pa.types.is_time64(kind):
            column = column.cast(pa.time64("us"))
        elif pa.types.is_timestamp(kind) and kind.unit == "ns":
            column = column.cast(pa.timestamp("us", kind.tz))
        pc.min_max(column).as_py()


def _complete(relation: Relation, settings: Settings) -> Ints:
    """Numbers of the rows that have everything a stream needs."""
    roles, complete = relation.roles, None
    for name in filter(None, (roles.time, roles.respondent, *roles.sensitive)):
        column = relation.table.column(name)
        count = column.null_count
        if count and settings.options.nulls == "error":
            first = pc.index(column.is_null(), value=True).as_py() + 1
            message = f"column `{name}` has {count} nulls, the first in row {first}"
            hint = 'fill them in, or withhold those rows with {nulls="withhold"}'
            facts = {"column": name, "count": count, "row": first}
            raise InputError(message, hint=hint, code="nulls", facts=facts)
        if count:
            complete = np.asarray(column.is_valid()) & (True if complete is None else complete)
    return np.arange(relation.rows) if complete is None else np.flatnonzero(complete)


def refuse_gap(slot: Ints, after: int | None = None, most: int | None = None) -> None:
    """Sorted slots must not leave out more than `most` slots in a row, and never a million of them."""
    if len(slot) == 0:
        return
    # The first slot of a stream has nothing before it: with its own number as the start, no gap.
    begin = int(slot[0]) if after is None else after
    widest = max(int(slot[0]) - begin, int((slot[1:] - slot[:-1]).max(initial=0))) - 1
    if widest >= WIDEST_GAP:
        hint = "check the {unit} of the times, or choose a longer {slot}"
        raise InputError(f"gap of {widest:,} empty slots between two records", hint=hint, code="gap")
    if most is not None and widest > most:
        message = f"gap of {widest:,} empty slots before a record; at most {most:,} are allowed"
        hint = "check for wrong dates, because all of these slots would become final"
        hint += f"; if they are right, use {{max_gap={widest}}}"
        raise InputError(message, hint=hint, code="gap", facts={"gap": widest})
