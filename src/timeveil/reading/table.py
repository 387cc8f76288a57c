"""Read a table: fit its roles, type its columns, understand its time.

Only columns that a role names are read; neither an index nor metadata passes on.

Whatever depends on all rows (what the time column contains, how many nulls there are, where the first bad row
is) is noted while rows pass and reported after the last one, so that a table read at once and the same table
read in batches give the same result.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.axis import civil, derive, durations, instants
from timeveil.domain.arrays import Flags, Ints
from timeveil.domain.lines import Decimal, Delimiter, Reading
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.domain.roles import Derived, Roles, require_roles
from timeveil.domain.stored import BATCH_ROWS, PrivateFolder, Stored
from timeveil.errors import ParameterError, RolesError, TimeveilError, raising
from timeveil.reading import columns
from timeveil.reading.columns import DecimalCommas, FaultyRows, decoded_fields, emptied, fit, without_nan
from timeveil.reading.dates import DAY_MS, FIRST_COMPACT
from timeveil.reading.encoding import Coded, encode
from timeveil.reading.files import Source, temporary_file_error
from timeveil.reading.sources import Form, open_source
from timeveil.reading.spellings import Spellings, is_plain, without_nameless
from timeveil.reading.times import FIRST_MS, LIMIT_MS, TimeColumn

Nulls = Literal["error", "withhold"]
_FINAL_TIMES: dict[pa.DataType, tuple[pa.DataType, int, int]] = {
    # Whole numbers from here on may be dates, written YYYYMMDD.
    pa.int64(): (pa.int64(), -FIRST_COMPACT, FIRST_COMPACT),
    pa.date32(): (pa.int32(), FIRST_MS // DAY_MS, LIMIT_MS // DAY_MS),
    pa.timestamp("ms"): (pa.int64(), FIRST_MS, LIMIT_MS),
}
"""Types of times that stay as they are, with the bounds inside which they do."""


def read(
    table: object,
    roles: Roles,
    *,
    zone: str | None = None,
    unit: str | None = None,
    time_format: str | None = None,
    decimal: Decimal | None = None,
    delimiter: Delimiter | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    nulls: Nulls = "error",
    stored: bool = False,
    needs: Sequence[str] = ("respondent", "time"),
    slot_numbers: bool = False,
    fold_spellings: bool = False,
) -> Relation:
    """Read a table.

    `zone` is the IANA name of the clocks on which timestamps with an offset are read; `unit` says what whole
    numbers in the time column count. How dates are written, what separates decimals and columns, the encoding
    and the sheet are found out where they can be, and stated with `time_format`, `decimal`, `delimiter`,
    `encoding` and `sheet` where not. With `nulls="withhold"` rows without a time or a respondent are read,
    and a method withholds them. `stored=True` keeps the rows in a private file, so that the table may be
    larger than memory. `needs` lists the roles that must have a column; with `slot_numbers=True` whole
    numbers in the time column need no unit: they are the slots themselves. With `fold_spellings` people,
    sensitive values and items are read in their normal form; without it, two spellings of one are refused.

    >>> visits = pa.table({"patient": [1, 2], "day": ["2024-01-31", "2024-02-01"], "zip": ["01", "02"]})
    >>> relation = read(visits, Roles(respondent="patient", time="day", quasi=["zip"]))
    >>> relation
    <Relation 2 rows, columns patient, day, zip>
    >>> relation.axis.kind, str(relation.axis.type)
    ('civil', 'date32[day]')
    """
    require_roles(roles)
    if not isinstance(nulls, str) or nulls not in ("error", "withhold"):
        hint = 'set {nulls="error"} or {nulls="withhold"}'
        raise ParameterError("`nulls` is neither `error` nor `withhold`", hint=hint)
    stated = Reading.from_call(locals())
    source = open_source(table, Form(stated.delimiter, stated.encoding, stated.sheet))
    resolved = fit(roles, tuple(source.names), tuple(needs), source.decided.get("sheet"))
    times = [
        TimeColumn(name, zone, unit, form=stated.time_format, slot_numbers=slot_numbers)
        for name in (roles.time, *roles.until)
        if name is not None
    ]
    commas = None
    if stated.decimal == "comma" or (stated.decimal is None and source.decimal_commas is not None):
        commas = DecimalCommas(roles, stated=stated.decimal is not None, surely=source.decimal_commas)
    reader = TypedReader(roles, times, commas, refuses_nulls=nulls == "error", fold=fold_spellings)
    data: pa.Table | Stored
    if stored:
        data, axis = _store(source, reader)
    else:
        pushed = reader.push(pa.concat_tables(source.batches(reader.columns)))
        axis = reader.close(lambda: [pushed])
        data = reader.complete(pushed, axis)
    dropped, decided = tuple(resolved.drop), {**reader.decided, **source.decided}
    return Relation(resolved, data, axis, dropped, source.name, reader.folded, reader.normal, decided=decided)


class TypedReader:
    """Takes rows in order with `push`; `close` returns the time axis, or raises what is wrong."""

    def __init__(
        self,
        roles: Roles,
        times: Sequence[TimeColumn],
        commas: DecimalCommas | None,
        *,
        refuses_nulls: bool,
        fold: bool,
    ) -> None:
        self._roles, self._commas, self._refuses_nulls = roles, commas, refuses_nulls
        self._time, self._times = next(iter(times), None), {time.column: time for time in times}
        self._axes: dict[str, TimeAxis] = {}
        self.columns = roles.columns
        self._derived = [quasi for quasi in roles.quasi if isinstance(quasi, Derived)]
        self._nulls = {name: FaultyRows() for name in (*self._times, roles.respondent) if name is not None}
        named = {roles.respondent: "respondent", roles.item: "item"}
        named |= dict.fromkeys(roles.sensitive, "sensitive")
        self._spellings = {name: Spellings(name, role, fold=fold) for name, role in named.items() if name}
        self._rows = 0

    @property
    def is_settled(self) -> bool:
        """Whether rows are final as they are pushed: no cell depends on a later row."""
        return self._commas is None and all(time.settled is not None for time in self._times.values())

    @property
    def decided(self) -> dict[str, str]:
        """What all rows together decided, where it is not what most tables have."""
        way = "" if self._time is None else self._time.way
        commas = [] if self._commas is None else self._commas.columns
        return {**({"dates": way} if way else {}), **({"decimal": "comma"} if commas else {})}

    @property
    def folded(self) -> dict[str, int]:
        """How many cells of each column were written in their normal form."""
        return {name: spellings.folded for name, spellings in self._spellings.items() if spellings.folded}

    @property
    def normal(self) -> frozenset[str]:
        """The columns in which every text is in its normal form."""
        return frozenset(name for name, spellings in self._spellings.items() if spellings.all_normal)

    def push(self, rows: pa.Table) -> pa.Table:
        """The next rows, typed as far as possible before the last row."""
        roles = self._roles
        schema = rows.schema.remove_metadata()
        columns.refuse_unsupported(schema, respondent=roles.respondent, time=roles.time, item=roles.item)
        for name in self.columns:
            columns.refuse_invalid_text(name, rows.column(name))
        typed = pa.table([self._typed(name, rows.column(name)) for name in self.columns], list(self.columns))
        for name, nulls in self._nulls.items():
            nulls.add("null", pc.is_null(typed[name]).to_numpy(), self._rows)
        self._rows += rows.num_rows
        return typed

    def draft(self, rows: pa.Table) -> pa.Table:
        """The next rows, final if nothing depends on a later row."""
        typed = self.push(rows)
        settled = None if self._time is None else self._time.settled
        return self.complete(typed, settled) if self.is_settled else typed

    def _typed(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        if name in self._times:
            return self._times[name].push(column, self._rows)
        column = columns.plain(name, column)
        if self._commas is not None:
            self._commas.push(name, column)
        if name == self._roles.respondent:
            column = without_nameless(column)
        if name in self._spellings:
            column = self._spellings[name].push(column)
        return without_nan(column) if name in (self._roles.respondent, *self._roles.quasi) else column

    def close(self, pushed: Callable[[], Iterable[pa.Table]]) -> TimeAxis | None:
        """The time axis; `pushed` gives the typed rows once more, and is called only if needed."""
        self._axes = {name: time.axis() for name, time in self._times.items()}
        axis = None if self._time is None else self._axes[self._time.column]
        if axis is not None and axis.kind == "relative" and self._derived:
            message = "relative time has no weekday, hour of the day or month of the year"
            raise RolesError(message, hint="remove the derived quasi-identifiers")
        for name, nulls in self._nulls.items() if self._refuses_nulls else ():
            if nulls.counts:
                hint = 'fill them in, or withhold those rows with {nulls="withhold"}'
                raise nulls.error(name, "null", what=("null", "nulls"), hint=hint, code="nulls")
        for name, spellings in self._spellings.items():
            spellings.refuse(rows.column(name) for rows in pushed())
        return axis

    def complete(self, pushed: pa.Table, axis: TimeAxis | None) -> pa.Table:
        """Typed rows with decimal points, the time in its final type and derived columns added."""
        for name in [] if self._commas is None else self._commas.columns:
            pushed = pushed.set_column(self.columns.index(name), name, columns.with_points(pushed[name]))
        if self._time is None or axis is None:
            return pushed
        table, axes = pushed, {}
        for name, time in self._times.items():
            axes[name] = time.settled or self._axes[name]
            typed = time.complete(table[name], axes[name])
            table = table.set_column(self.columns.index(name), pa.field(name, axes[name].type), typed)
        column = table[self._time.column]
        if self._derived:
            # A missing time gets a value for the moment, which is removed again.
            present = civil(axis, instants(axis, pc.fill_null(column, pa.scalar(0, column.type))))
            for derived in self._derived:
                values = emptied(derive(derived.name, present), pc.is_null(column))
                table = table.append_column(derived.column(self._time.column), values)
        if self._roles.until:
            for name, until in self._roles.durations.items():
                table = table.append_column(name, durations(axis, column, axes[until], table[until]))
            # A row whose duration is unknown is withheld, as one without a time is.
            unknown = reduce(pc.or_, (table[until].is_null() for until in self._roles.until))
            position = self.columns.index(self._time.column)
            table = table.set_column(position, table.field(position), emptied(column, unknown))
        return table


def _store(source: Source, reader: TypedReader) -> tuple[Stored, TimeAxis | None]:
    """All rows in a private Parquet file, never all in memory.

    Text in the time column leaves its type open until the last row, and decimal commas need all of them, so
    such a table is written twice: as it comes, and again with its time typed.
    """
    with raising(temporary_file_error, on=OSError):
        folder = PrivateFolder()
        try:
            pieces = (
                rows.slice(start, BATCH_ROWS)
                for rows in source.batches(reader.columns)
                for start in range(0, max(rows.num_rows, 1), BATCH_ROWS)
            )
            draft = _written(folder, "draft", map(reader.draft, pieces))
            axis = reader.close(lambda: _tables(draft))
            if reader.is_settled:
                return draft, axis
            final = _written(folder, "rows", (reader.complete(rows, axis) for rows in _tables(draft)))
            draft.path.unlink()
        except BaseException:
            folder.close()
            raise
        return final, axis


def _written(folder: PrivateFolder, name: str, tables: Iterator[pa.Table]) -> Stored:
    """Rows in a private file whose schema, with dictionaries decoded, is that of the first of them."""
    first = next(tables)
    return Stored.written(folder, name, pa.schema(decoded_fields(first.schema)), chain([first], tables))


def _tables(rows: Stored) -> Iterator[pa.Table]:
    yield rows.schema.empty_table()
    yield from (pa.Table.from_batches([batch]) for batch in rows.to_batches())


def moments(values: pa.Array, zone: str | None = None) -> tuple[Ints, Flags] | None:
    """Civil seconds of dates in a column that is not the time, such as birth dates, and which are missing.

    They are read in every way that times are; None if not all of them are dates.
    """
    column = TimeColumn("", zone, unit=None)
    try:
        pushed = column.push(pa.chunked_array([values]), 0)
        axis = column.axis()
        times = column.complete(pushed, axis)
    except TimeveilError:  # not dates, in two orders, or with an offset if there is no zone
        return None
    if times.null_count > values.null_count:  # a text without letters
        return None
    return instants(axis, pc.fill_null(times, pa.scalar(0, times.type))), np.asarray(times.is_null())


class Reader:
    """Reads snapshots of a stream, with one sensitive column, as `read` does with these arguments.

    Most have the columns and types of the one before, plain letters and nothing that reading would change.
    That shows at a glance, for a fraction of what reading takes; any doubt is left to `read`.
    """

    def __init__(self, roles: Roles, **arguments: Any) -> None:
        self._roles, self._arguments = roles, arguments
        self._before: tuple[pa.Schema, Relation] | None = None
        self._plain: set[Any] = set()  # sensitive values that stay as they are

    def read(self, table: Any) -> tuple[Relation, Coded | None]:
        """The table, and where they are known without reading, its sensitive values."""
        if self._before is not None and isinstance(table, pa.Table) and table.schema.equals(self._before[0]):
            before = self._before[1]
            names = before.data.schema.names
            rows = pa.table([table.column(name) for name in names], before.data.schema)
            coded = encode(rows[self._roles.sensitive[0]])
            if self._all_stay(rows, coded):
                return replace(before, data=rows), coded
        relation = read(table, self._roles, **self._arguments)
        schema, form = relation.data.schema, self._arguments["time_format"]
        as_it_is = isinstance(table, pa.Table) and schema.equals(table.select(schema.names).schema)
        if as_it_is and form is None and not relation.exceptions:
            spelt = frozenset(filter(None, (self._roles.respondent, *self._roles.sensitive)))
            self._before = table.schema, replace(relation, data=schema.empty_table(), normal=spelt)
        return relation, None

    def _all_stay(self, rows: pa.Table, coded: Coded) -> bool:
        """Whether reading would change nothing."""
        if self._arguments["decimal"] == "comma":
            return False
        new = set[Any]()  # sensitive values
        for name in rows.schema.names:
            column = rows[name]
            columns.refuse_invalid_text(name, column)
            if column.null_count or column.num_chunks != 1:
                return False
            if name == self._roles.sensitive[0]:
                new = set(coded.values.to_pylist()) - self._plain
                if not new:
                    continue
            if not self._stays(name, column):
                return False
        self._plain |= new
        return True

    def _stays(self, name: str, column: pa.ChunkedArray) -> bool:
        kind, is_time = column.type, name == self._roles.time
        if kind in _FINAL_TIMES and (is_time or not pa.types.is_integer(kind)):
            raw, low, limit = _FINAL_TIMES[kind]
            numbers = column.chunk(0).view(raw).to_numpy()
            return not len(numbers) or bool(low <= numbers.min() and numbers.max() < limit)
        if is_time or not pa.types.is_string(kind):
            return bool(pa.types.is_integer(kind) and not is_time)
        texts = column.chunk(0)
        # A person without a name counts as missing.
        is_named = name != self._roles.respondent or pc.min(pc.binary_length(texts)).as_py() != 0
        return is_named and is_plain(texts)
