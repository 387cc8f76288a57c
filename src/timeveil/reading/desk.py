"""Where rows are looked at on their way in: a whole table at once, or a batch at a time.

Everything that needs all rows (what the time column holds, how many nulls there are, where the first bad
row is) is only noted while rows pass and said when the last one has, so that a table read at once and the
same table read in batches give the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.relation import TimeAxis
from timeveil.domain.wording import counted
from timeveil.errors import InputError, RolesError
from timeveil.reading.columns import plain, refuse_no_text, refuse_unsupported, without_blanks, without_nan
from timeveil.reading.fitting import Fitted
from timeveil.reading.moments import Moments, position_of_first
from timeveil.reading.spellings import Spellings


class Desk:
    """Takes rows in order with `push`, then says with `close` what the time axis is, or what is wrong."""

    def __init__(
        self,
        fitted: Fitted,
        *,
        zone: str | None,
        unit: str | None,
        nulls: str,
        slot_numbers: bool = False,
    ) -> None:
        self._fitted = fitted
        self._refuse_nulls = nulls == "error"
        time = fitted.roles.time
        self._moments = None if time is None else Moments(time, zone, unit, slot_numbers=slot_numbers)
        self._rows = 0
        self._nulls = 0
        self._first_null = 0
        self._spellings = Spellings()

    @property
    def settled(self) -> TimeAxis | None:
        """The time axis, if the column's type alone decides it."""
        return None if self._moments is None else self._moments.settled

    def push(self, rows: pa.Table) -> pa.Table:
        """The next rows, typed as far as can be said before the last row."""
        roles = self._fitted.roles
        refuse_unsupported(rows.schema, respondent=roles.respondent, time=roles.time, item=roles.item)
        for name in self._fitted.columns:
            refuse_no_text(name, rows.column(name))
        columns = [self._column(name, rows.column(name)) for name in self._fitted.columns]
        self._rows += rows.num_rows
        return pa.table(columns, schema=_schema(self._fitted.columns, columns))

    def _column(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        roles = self._fitted.roles
        if name == roles.time and self._moments is not None:
            return self._moments.push(column, self._rows)
        column = plain(column)
        if name == roles.respondent:
            column = without_blanks(without_nan(column))
            self._note_nulls(column)
            self._spellings.push(column)
        elif name in roles.quasi:
            column = without_nan(column)
        return column

    def _note_nulls(self, column: pa.ChunkedArray) -> None:
        if column.null_count == 0:
            return
        if self._nulls == 0:
            self._first_null = self._rows + position_of_first(pc.is_null(column)) + 1
        self._nulls += column.null_count

    def close(self) -> TimeAxis | None:
        """What the time axis is, now that every row has passed."""
        axis = None if self._moments is None else self._moments.axis()
        if axis is not None and axis.kind == "relative" and self._fitted.derived:
            raise RolesError(
                "relative time has no weekday, hour of the day or month of the year",
                hint="leave derived quasi-identifiers out",
                code="bad-parameter",
            )
        if self._refuse_nulls:
            if self._moments is not None:
                _refuse_nulls(self._moments.column, self._moments.nulls, self._moments.first_null)
            _refuse_nulls(self._fitted.roles.respondent, self._nulls, self._first_null)
        return axis

    def refuse_spellings(self, rows: Iterable[pa.Table]) -> None:
        """Refuse a person spelt in two ways; `rows` came back from `push`, and are taken only if need be."""
        person = self._fitted.roles.respondent
        if person is not None:
            self._spellings.refuse(person, (some.column(person) for some in rows))

    def complete(self, draft: pa.Table, axis: TimeAxis | None) -> pa.Table:
        """Rows that came back from `push`, with the time in its final type and derived columns added."""
        if self._moments is None or axis is None:
            return draft
        place = self._fitted.columns.index(self._moments.column)
        column = self._moments.complete(draft.column(place), axis)
        table = draft.set_column(place, pa.field(self._moments.column, axis.type), column)
        for derived in self._fitted.derived:
            table = table.append_column(
                derived.column(self._moments.column), _derive(derived.name, axis, column)
            )
        return table


def _schema(names: tuple[str, ...], columns: list[Any]) -> pa.Schema:
    return pa.schema([pa.field(name, column.type) for name, column in zip(names, columns, strict=True)])


def _derive(name: str, axis: TimeAxis, column: pa.ChunkedArray) -> pa.ChunkedArray:
    from timeveil.calendar.axis import (  # noqa: PLC0415
        civil,
        derive,
        instants,
    )

    known = column.drop_null() if column.null_count else column
    values = derive(name, civil(axis, instants(axis, known)))
    if column.null_count == 0:
        return values
    places = pc.subtract(pc.cumulative_sum(pc.cast(pc.is_valid(column), pa.int64())), 1)
    return values.take(pc.if_else(pc.is_valid(column), places, None).combine_chunks())


def _refuse_nulls(column: str | None, count: int, first: int) -> None:
    if count:
        raise InputError(
            f"column `{column}` has {counted(count, 'null')}, the first in data row {first:,}",
            hint='fill them in, or let those rows be withheld with nulls="withhold" (--nulls withhold)',
            code="nulls",
            facts={"column": column, "count": count, "row": first},
        )
