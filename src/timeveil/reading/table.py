"""Read a table: fit its roles, type its columns, understand its time.

A table is a file (CSV, TSV, Parquet) or any object that speaks Arrow or Narwhals. Only columns that a role
names are read; the caller's object is never changed, and neither its index nor its metadata passes on.

Whatever depends on all rows (what the time column contains, how many nulls there are, where the first bad row
is) is noted while rows pass and reported after the last one, so that a table read at once and the same table
read in batches give the same result.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from timeveil.domain.relation import Relation, TimeAxis
from timeveil.domain.roles import Roles
from timeveil.domain.stored import BATCH_ROWS, PrivateFolder, Stored, private_file
from timeveil.domain.wording import counted
from timeveil.errors import EngineError, InputError, ParameterError, RolesError, raising
from timeveil.reading.columns import (
    Spellings,
    plain,
    refuse_invalid_text,
    refuse_unsupported,
    value_type,
    without_blanks,
    without_nan,
)
from timeveil.reading.fitting import Fitted, fit
from timeveil.reading.sources import Source, open_source
from timeveil.reading.times import TimeColumn

Nulls = Literal["error", "withhold"]


def read(
    table: object,
    roles: Roles,
    *,
    zone: str | None = None,
    unit: str | None = None,
    nulls: Nulls = "error",
    stored: bool = False,
    needs: Sequence[str] = ("respondent", "time"),
    slot_numbers: bool = False,
) -> Relation:
    """Read a table.

    `zone` is the IANA name of the clocks on which timestamps with an offset are read; `unit` says what whole
    numbers in the time column count. With `nulls="withhold"` rows without a time or a respondent are read,
    and a method withholds them. `stored=True` keeps the rows in a private file, so that the table may be
    larger than memory. `needs` lists the roles that must have a column; with `slot_numbers=True` whole
    numbers in the time column need no unit: they are the slots themselves.

    >>> visits = pa.table({"patient": [1, 2], "day": ["2024-01-31", "2024-02-01"], "zip": ["01", "02"]})
    >>> relation = read(visits, Roles(respondent="patient", time="day", quasi=["zip"]))
    >>> relation
    <Relation 2 rows, columns patient, day, zip>
    >>> relation.axis.kind, str(relation.axis.type)
    ('civil', 'date32[day]')
    """
    if nulls not in ("error", "withhold"):
        raise ParameterError(
            "`nulls` is neither `error` nor `withhold`", hint='set {nulls="error"} or {nulls="withhold"}'
        )
    source = open_source(table)
    fitted = fit(roles, source.names, needs)
    reader = TypedReader(fitted, zone=zone, unit=unit, nulls=nulls, slot_numbers=slot_numbers)
    data, axis = _store(source, reader) if stored else _collect(source, reader)
    return Relation(fitted.resolved, data, axis, fitted.dropped, source.name)


class TypedReader:
    """Takes rows in order with `push`; `close` returns the time axis, or raises what is wrong."""

    def __init__(
        self, fitted: Fitted, *, zone: str | None, unit: str | None, nulls: str, slot_numbers: bool = False
    ) -> None:
        self._fitted = fitted
        self._refuses_nulls = nulls == "error"
        time = fitted.roles.time
        self._time = None if time is None else TimeColumn(time, zone, unit, slot_numbers=slot_numbers)
        self._rows = 0
        self._nulls = 0
        self._first_null = 0
        self._spellings = Spellings()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read."""
        return self._fitted.columns

    @property
    def settled(self) -> TimeAxis | None:
        """The time axis, if the column's type alone decides it."""
        return None if self._time is None else self._time.settled

    def push(self, rows: pa.Table) -> pa.Table:
        """The next rows, typed as far as possible before the last row."""
        roles = self._fitted.roles
        refuse_unsupported(rows.schema, respondent=roles.respondent, time=roles.time, item=roles.item)
        for name in self.columns:
            refuse_invalid_text(name, rows.column(name))
        columns = [self._typed(name, rows.column(name)) for name in self.columns]
        self._rows += rows.num_rows
        schema = [pa.field(name, column.type) for name, column in zip(self.columns, columns, strict=True)]
        return pa.table(columns, schema=pa.schema(schema))

    def _typed(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        if self._time is not None and name == self._time.column:
            return self._time.push(column, self._rows)
        column = plain(column)
        if name == self._fitted.roles.respondent:
            column = without_blanks(without_nan(column))
            if column.null_count and not self._nulls:
                self._first_null = self._rows + int(pc.index(pc.is_null(column), value=True).as_py()) + 1
            self._nulls += column.null_count
            self._spellings.push(column)
        elif name in self._fitted.roles.quasi:
            column = without_nan(column)
        return column

    def close(self, pushed: Iterable[pa.Table]) -> TimeAxis | None:
        """The time axis; `pushed` gives the typed rows once more, and is consumed only if needed."""
        axis = None if self._time is None else self._time.axis()
        if axis is not None and axis.kind == "relative" and self._fitted.derived:
            raise RolesError(
                "relative time has no weekday, hour of the day or month of the year",
                hint="remove the derived quasi-identifiers",
            )
        person = self._fitted.roles.respondent
        if self._refuses_nulls:
            if self._time is not None:
                _refuse_nulls(self._time.column, self._time.nulls, self._time.first_null)
            _refuse_nulls(person, self._nulls, self._first_null)
        if person is not None:
            self._spellings.refuse(person, (rows.column(person) for rows in pushed))
        return axis

    def complete(self, pushed: pa.Table, axis: TimeAxis | None) -> pa.Table:
        """Typed rows with the time in its final type and derived columns added."""
        if self._time is None or axis is None:
            return pushed
        position = self.columns.index(self._time.column)
        column = self._time.complete(pushed.column(position), axis)
        table = pushed.set_column(position, pa.field(self._time.column, axis.type), column)
        for derived in self._fitted.derived:
            values = _derived_values(derived.name, axis, column)
            table = table.append_column(derived.column(self._time.column), values)
        return table


def _collect(source: Source, reader: TypedReader) -> tuple[pa.Table, TimeAxis | None]:
    """All rows in memory."""
    pushed = reader.push(pa.concat_tables(source.batches(reader.columns)))
    axis = reader.close([pushed])
    return reader.complete(pushed, axis), axis


def _store(source: Source, reader: TypedReader) -> tuple[Stored, TimeAxis | None]:
    """All rows in a private Parquet file, never all in memory.

    Text in the time column leaves its type open until the last row, so such a table is written twice: as it
    comes, and again with its time typed.
    """
    with raising(_no_room, on=OSError):
        folder = PrivateFolder()
        draft, final = folder.path / "draft.parquet", folder.path / "rows.parquet"
        try:
            with Sink(draft) as sink:
                for rows in _cut(source.batches(reader.columns)):
                    sink.write(reader.complete(reader.push(rows), reader.settled))
            axis = reader.close(_stored_rows(draft))
            # The type of the time was known from the first row: the draft is final as it is.
            if reader.settled is not None or axis is None:
                draft.rename(final)
            else:
                with Sink(final) as sink:
                    for rows in _stored_rows(draft):
                        sink.write(reader.complete(rows, axis))
                draft.unlink()
        except BaseException:
            folder.close()
            raise
        return Stored(final, folder), axis


class Sink:
    """A private Parquet file whose schema, with dictionaries decoded, is that of the first rows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: pq.ParquetWriter | None = None
        self._file: BinaryIO | None = None
        self._schema: pa.Schema | None = None

    def __enter__(self) -> Sink:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None and self._file is not None:
            self._writer.close()
            self._file.close()

    def write(self, rows: pa.Table) -> None:
        """Write the next rows."""
        if self._writer is None:
            self._schema = pa.schema([pa.field(f.name, value_type(f.type)) for f in rows.schema])
            self._file = private_file(self._path)
            self._writer = pq.ParquetWriter(self._file, self._schema, compression="lz4")
        if rows.num_rows:
            self._writer.write_table(rows.cast(self._schema))


def _cut(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of bounded size."""
    for table in tables:
        for start in range(0, max(table.num_rows, 1), BATCH_ROWS):
            yield table.slice(start, BATCH_ROWS)


def _stored_rows(path: Path) -> Iterator[pa.Table]:
    with pq.ParquetFile(path, pre_buffer=False) as file:
        yield file.schema_arrow.empty_table()
        for batch in file.iter_batches(batch_size=BATCH_ROWS):
            yield pa.Table.from_batches([batch])


def _no_room(cause: Exception) -> EngineError:
    if getattr(cause, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return EngineError(
            "the disk for temporary files is full",
            hint="free some space, or set TMPDIR to a folder on a larger disk",
            code="disk-full",
        )
    return EngineError(
        "the folder for temporary files cannot be written",
        hint="set TMPDIR to a folder of your own",
        code="no-permission",
    )


def _derived_values(name: str, axis: TimeAxis, times: pa.ChunkedArray) -> pa.ChunkedArray:
    from timeveil.calendar.axis import civil, derive, instants  # noqa: PLC0415 (a calendar, for few tables)

    values = derive(name, civil(axis, instants(axis, times.drop_null() if times.null_count else times)))
    if times.null_count == 0:
        return values
    # Values exist for times that are not null; the n-th such time takes the n-th value.
    positions = pc.subtract(pc.cumulative_sum(pc.cast(pc.is_valid(times), pa.int64())), 1)
    return values.take(pc.if_else(pc.is_valid(times), positions, None).combine_chunks())


def _refuse_nulls(column: str | None, count: int, first: int) -> None:
    if count:
        raise InputError(
            f"column `{column}` has {counted(count, 'null')}, the first in data row {first:,}",
            hint='fill them in, or withhold those rows with {nulls="withhold"}',
            code="nulls",
            facts={"column": column, "count": count, "row": first},
        )
