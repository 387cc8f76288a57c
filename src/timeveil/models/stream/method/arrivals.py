"""Records as they come in: typed, each with its slot, incomplete ones set aside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.relation import Relation
from timeveil.errors import InputError, raising
from timeveil.models.stream.method.settings import Settings, check_roles
from timeveil.models.stream.method.slots import Ints, Slots, slots_of
from timeveil.reading import read
from timeveil.reading.columns import without_nan

WIDEST_GAP = 1_000_000


@dataclass(frozen=True, slots=True)
class Arrivals:
    """A table that was read: `slot` of every row that is complete, and which rows those are, if not all."""

    relation: Relation
    slots: Slots
    slot: Ints
    complete: Ints | None

    @property
    def incomplete(self) -> int:
        """Rows that lack a time, a respondent or a sensitive value."""
        return self.relation.rows - len(self.slot)

    def rows(self, columns: list[str]) -> pa.Table:
        """Some columns of the complete rows."""
        table = self.relation.table.select(columns)
        return table if self.complete is None else table.take(pa.array(self.complete))


def arrivals(table: Any, settings: Settings) -> Arrivals:
    """Read a table of records and say which slot each belongs to."""
    relation = _relation(table, settings)
    slots = slots_of(settings.slot, relation.clock)
    complete = _complete(relation, settings)
    times = relation.table.column(relation.time)
    slot = slots.index(times if complete is None else times.take(pa.array(complete)))
    slots.refuse_beyond(int(slot.max(initial=0)) + settings.jitter)
    return Arrivals(relation, slots, slot, complete)


def _relation(table: Any, settings: Settings) -> Relation:
    if isinstance(table, Relation):
        check_roles(table.roles)
        relation = table
    else:
        relation = read(
            table,
            settings.roles,
            zone=settings.zone,
            unit=settings.unit,
            nulls=settings.nulls,
            needs=("time", "sensitive"),
            slot_numbers=True,
        )
    name = relation.roles.sensitive[0]
    column = relation.table.column(name)
    _refuse_nanoseconds(name, column)
    _refuse_far(name, column)
    plain = without_nan(column)
    if plain is column:
        return relation
    place = relation.table.column_names.index(name)
    data = relation.table.set_column(place, name, plain)
    return Relation(relation.roles, data, relation.axis, relation.dropped, relation.source)


def _refuse_nanoseconds(name: str, column: pa.ChunkedArray) -> None:
    """Values are told apart as Python tells them apart, and it knows no times below a microsecond."""
    kind = column.type
    if not (pa.types.is_time64(kind) or pa.types.is_timestamp(kind)) or kind.unit != "ns":
        return
    coarser = pa.time64("us") if pa.types.is_time64(kind) else pa.timestamp("us", kind.tz)
    error = InputError(
        f"column `{name}` has times finer than a microsecond",
        hint="round them, or give them as text",
        code="unsupported-input",
    )
    with raising(error, on=pa.ArrowInvalid):
        column.cast(coarser)


def _refuse_far(name: str, column: pa.ChunkedArray) -> None:
    """Nor does it know years below 1 or above 9999."""
    if not pa.types.is_temporal(column.type) or pa.types.is_interval(column.type):
        return
    error = InputError(
        f"column `{name}` has times outside of the years 1 to 9999",
        hint="see that no date is wrong, or give them as text",
        code="unsupported-input",
    )
    with raising(error, on=(OverflowError, ValueError)):
        pc.min_max(column).as_py()


def _complete(relation: Relation, settings: Settings) -> Ints | None:
    """Numbers of the rows that have all a stream needs; none if all have."""
    roles, table = relation.roles, relation.table
    needed = [name for name in (roles.time, roles.respondent, *roles.sensitive) if name is not None]
    lacking = [name for name in needed if table.column(name).null_count]
    if not lacking:
        return None
    if settings.nulls == "error":
        count, name = table.column(lacking[0]).null_count, lacking[0]
        first = pc.index(pc.is_null(table.column(name)), value=True).as_py() + 1
        raise InputError(
            f"column `{name}` has {count} nulls, the first in row {first}",
            hint='fill them in, or let those rows be withheld with nulls="withhold" (--nulls withhold)',
            code="nulls",
            facts={"column": name, "count": count, "row": first},
        )
    there: npt.NDArray[np.bool_] = np.ones(relation.rows, np.bool_)
    for name in lacking:
        there &= np.asarray(table.column(name).is_valid())
    return np.flatnonzero(there)


def refuse_wide_gap(slot: Ints, after: int | None = None, most: int | None = None) -> None:
    """Slots in order must not leave out more than `most` slots, and never a million of them."""
    if len(slot) == 0:
        return
    begin = slot[:1] if after is None else np.array([after])
    widest = int(np.diff(slot, prepend=begin).max(initial=0)) - 1
    if widest >= WIDEST_GAP:
        raise InputError(
            f"{widest:,} slots without a record lie between two records",
            hint="see that times are in the unit you think, or choose longer slots with slot=... (--slot)",
            code="gap",
        )
    if most is not None and widest > most:
        raise InputError(
            f"{widest:,} slots without a record lie before a record, and at most {most:,} may",
            hint="see that no date is wrong: all of these slots would be final; if they are right, allow so "
            "many with max_gap=... (--max-gap)",
            code="gap",
            facts={"gap": widest},
        )
