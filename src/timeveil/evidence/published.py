"""What every judge reads: a release and its ledger, their columns and order, and the rows of a question."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.axis import instants
from timeveil.domain.arrays import Flags, Ints
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.domain.release import Ledger, Release
from timeveil.domain.wording import Progress, silent
from timeveil.errors import ParameterError, raising
from timeveil.evidence import codes
from timeveil.evidence.codes import Coded, column_of, encode, plain_type

if TYPE_CHECKING:
    from timeveil.evidence.checks import Findings

Moment: TypeAlias = dt.date | dt.datetime | str | int | None
Instant: TypeAlias = int | Fraction
Bound = TypeVar("Bound", int, Instant)
Computed = TypeVar("Computed")
_EPOCH = dt.datetime.fromtimestamp(0, dt.UTC).replace(tzinfo=None)
_PARTIAL_ROWS = 1_000_000
ROOMS_WITH_LEDGER = 4
"""With the ledger, which is larger than the release, more of the release is needed at a time."""
_OPENED = {
    Release: ("release", "open the folder first: open_release(folder)"),
    Ledger: ("ledger", "open the file first: open_ledger(path)"),
    Relation: ("relation", "read the table first: read(table, roles)"),
}


def require(kind: type[Release | Ledger | Relation], value: object) -> None:
    """Refuse anything but a release, a ledger or a relation."""
    if not isinstance(value, kind):
        name, hint = _OPENED[kind]
        raise ParameterError(f"`{name}` is a `{type(value).__name__}`, not a {name}", hint=hint)


def require_matching_ledger(release: Release, ledger: Ledger | None) -> None:
    """Refuse anything but a ledger of the release's model; each model compares more on its own."""
    require(Release, release)
    require(Ledger, ledger)
    if ledger is not None and ledger.model != release.guarantee.model:
        raise codes.mismatch("the ledger belongs to a release of another model")


class Evidence:
    """A release and its ledger, as the judges of its model read them: what they share is computed once."""

    def __init__(self, release: Release, ledger: Ledger | None = None) -> None:
        self.release, self.ledger = release, ledger
        self._originals: dict[str, Coded] = {}
        self._computed: dict[object, Any] = {}
        self.progress: Progress = silent

    @property
    def private(self) -> Ledger:
        """The ledger; judges that need one are not asked without it."""
        if self.ledger is None:
            raise codes.mismatch("there is no ledger")
        return self.ledger

    def columns(self, *roles: str) -> list[str]:
        return columns_of(self.release, *roles)

    def released_column(self, name: str) -> Coded:
        rooms = 1 if self.ledger is None else ROOMS_WITH_LEDGER
        return encode(column_of(self.release.parts["data"], name, rooms))

    def original_column(self, name: str) -> Coded:
        if name not in self._originals:
            self._originals[name] = encode(column_of(self.private.original.data, name))
        return self._originals[name]

    def once(self, work: Callable[[Self], Computed]) -> Computed:
        """What a function computes from this evidence; several judges may ask, one computes it."""
        if work not in self._computed:
            self._computed[work] = work(self)
        computed: Computed = self._computed[work]
        return computed


def schema_of(release: Release, name: str = "data") -> pa.Schema:
    """The schema of a table; a file's is read without its rows."""
    part = release.parts[name]
    schema = getattr(part, "schema", None)
    return part.read().schema if schema is None else schema


def columns_of(release: Release, *roles: str) -> list[str]:
    """The published columns with one of these roles, in published order."""
    return [str(column["name"]) for column in release.manifest["columns"] if column["role"] in roles]


def promised(release: Release, name: str) -> int:
    """A number of the release's guarantee, such as `k` or `l`."""
    return int(release.guarantee.as_dict()[name])


def classes_of(
    release: Release,
    keys: Sequence[str],
    mark: Callable[[pa.RecordBatch], pa.Array] | None = None,
    *,
    each: bool = False,
    look: Callable[[pa.RecordBatch, pa.Table], None] = lambda *_: None,
) -> pa.Table:
    """Each combination of the columns `keys` that occurs, and in the last column its number of rows.

    The release is read in batches; memory grows with the number of combinations. `mark` gives every row a
    whole number, which is one more column before the last; rows marked 0 are left out. With `each`, every row
    is a combination. Columns are named by position, because a column may itself be called `rows`. `look` is
    called with each batch, and what it has of the result where rows that follow each other are alike, so that
    nobody else has to read them.
    """
    schema = schema_of(release)
    types = [plain_type(schema.field(key).type) for key in keys] + ([pa.int64()] if mark else [])
    names = [str(position) for position in range(len(types))]
    shape = pa.schema([*zip(names, types, strict=True), ("rows", pa.int64())])
    partial, waiting, size = [shape.empty_table()], 0, 0
    room = codes.room_for(release.parts["data"])
    for batch in release.batches():
        columns = [batch.column(key) for key in keys]
        if mark is not None:
            marks = mark(batch)
            columns = [column.filter(pc.not_equal(marks, 0)) for column in (*columns, marks)]
        columns = [column.cast(kind) for column, kind in zip(columns, types, strict=True)]
        rows = len(columns[0])
        heads = np.arange(rows) if each else _run_heads(columns, rows)
        counts = [
            *(column.take(pa.array(heads)) for column in columns),
            pa.array(np.diff(heads, append=rows)),
        ]
        counts = pa.table(counts, schema=shape)
        look(batch, counts)
        partial.append(counts if each else _total(counts, names))
        if each:
            continue
        waiting, size = waiting + partial[-1].num_rows, size + partial[-1].nbytes
        # Merge rarely enough that each row is summed a constant number of times.
        if waiting > _PARTIAL_ROWS + 2 * partial[0].num_rows or size > room:
            partial, waiting = [_total(pa.concat_tables(partial), names)], 0
            size = partial[0].nbytes
            codes.refuse_beyond_room(release.parts["data"], size)
    counts = pa.concat_tables(partial)
    return counts if each else _total(counts, names)


def marked_rows(release: Release, mark: Callable[[pa.RecordBatch], pa.Array], chosen: Flags) -> pa.Table:
    """Of the rows of a release that are not marked 0, in order, those that are chosen."""
    batches = [batch.filter(pc.not_equal(mark(batch), 0)) for batch in release.batches()]
    return pa.Table.from_batches(batches, schema=schema_of(release)).filter(pa.array(chosen))


def _run_heads(columns: Sequence[pa.Array], rows: int) -> Ints:
    """Where rows begin that are equal bit by bit: sorted ones follow each other, and need no hashing."""
    begins = np.zeros(rows, np.bool_)
    begins[:1] = True
    for column in columns:
        kind = column.type
        if pa.types.is_null(kind):  # all are equal, and Arrow compares none of them
            continue
        bits = column.view(f"int{kind.bit_width}") if pa.types.is_floating(kind) else column
        begins[1:] |= np.asarray(pc.fill_null(pc.not_equal(bits[1:], bits[:-1]), True))
    return np.flatnonzero(begins)


def _total(counts: pa.Table, names: list[str]) -> pa.Table:
    if not counts.num_rows:
        return counts
    summed = counts.group_by(names, use_threads=False).aggregate([("rows", "sum")])
    return summed.select([*names, "rows_sum"]).rename_columns([*names, "rows"])


# Windows of time.


@dataclass(frozen=True, slots=True)
class WindowCount:
    """How many rows have a time in `between` and meet the conditions in `where`.

    `between=(a, b)` includes a and excludes b; `None` leaves a side open. Give dates, datetimes or ISO
    strings on a calendar, and whole numbers in the release's unit on relative time. On a release with a time
    zone, a time without one is local to that zone. `where` has per column a value, `None` for missing, a pair
    (lo, hi) that includes both ends, a list of those, any of which will do, or `Not` of one of these. A list
    of such mappings asks for rows that meet any of them. A generalised column takes its published labels, and
    values that a label may contain.

    On a stream release, a and b are slots: labels, dates and times in them, or slot numbers.

    >>> WindowCount(between=("2024-03-01", "2024-04-01"), where={"sex": "f", "age": (30, 39)}).where["sex"]
    'f'
    """

    between: tuple[Moment, Moment] = (None, None)
    where: Mapping[str, Any] | Sequence[Mapping[str, Any]] = field(default_factory=dict)


def window_of(
    between: Sequence[Moment], of: str, number: Callable[[Moment], Bound], ends: tuple[Bound, Bound]
) -> tuple[Bound, Bound]:
    """The numbers of a window's two bounds, which are times or slots; an open side is at one of `ends`."""
    if not isinstance(between, tuple | list) or len(between) != 2:
        raise ParameterError(f"a window is a pair of {of}s", hint="use {between=(a, b)}")
    with raising(unreadable("give dates, times or labels as they are published", of), on=UnicodeError):
        low, high = (
            end if bound is None else number(bound) for bound, end in zip(between, ends, strict=True)
        )
    if low > high and None not in between:
        raise ParameterError("the window ends before it starts", hint=f"give the earlier {of} first")
    # Nothing is beyond the ends, and within them all arithmetic is exact.
    first, last = ends
    return min(max(low, first), last), min(max(high, first), last)


def instant_of(axis: TimeAxis, moment: Moment) -> Instant:
    """A date, datetime, ISO string or whole number as an instant of the axis."""
    if axis.kind == "relative":
        if isinstance(moment, bool) or not isinstance(moment, int | np.integer):
            raise unreadable(f"give whole numbers of {axis.unit}: the release has relative time")
        return int(moment) * int(instants(axis, pa.array([1], pa.int64()))[0])
    if isinstance(moment, str):
        with raising(unreadable("give dates or times such as 2024-03-01 or 2024-03-01T08:30"), on=ValueError):
            moment = dt.datetime.fromisoformat(moment)
    if isinstance(moment, dt.date) and not isinstance(moment, dt.datetime):
        moment = dt.datetime.combine(moment, dt.time())
    if not isinstance(moment, dt.datetime):
        raise unreadable("give dates, datetimes or ISO strings")
    if axis.kind == "civil" and moment.tzinfo is not None:
        raise unreadable("give times without a zone: the release has none")
    offset = dt.timedelta()
    if axis.kind == "zoned":
        local = moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(str(axis.zone)))
        moment, offset = local.replace(tzinfo=None), local.utcoffset() or offset
    # In UTC the first and last days of the calendar may be beyond what a datetime can hold.
    seconds = Fraction((moment - _EPOCH - offset) // dt.timedelta(microseconds=1), 1_000_000)
    return int(seconds) if seconds.denominator == 1 else seconds


def unreadable(hint: str, of: str = "time") -> ParameterError:
    """The error for a bound that is not a time or slot of the release."""
    return ParameterError(f"a bound of the window is not a {of} of this release", hint=hint, code="bad-time")


# The order of published rows follows from their values, or else it could carry a message.


def check_row_order(
    release: Release, by: Sequence[str], findings: Findings, table: str = "data", within: str | None = None
) -> None:
    """Expect rows in the order of `by`, and then of all other columns of the table."""
    order = RowOrder(schema_of(release, table).names, by, within)
    for batch in release.batches(table):
        order.push(batch)
    order.expect(findings, "" if table == "data" else f" of table `{table}`")


class CountedRows:
    """A release that was read once: combinations of the columns `keys`, each with its number of rows.

    `classes` has every combination once. `runs` has those of rows that follow each other, in their order;
    only with a ledger, whose rows they are compared with. `order` is that of all rows, to be that of `by`.
    """

    def __init__(self, evidence: Evidence, keys: Sequence[str], by: Sequence[str]) -> None:
        release, runs = evidence.release, list[pa.Table]()
        self.order = RowOrder(schema_of(release).names, by)

        def look(batch: pa.RecordBatch, counts: pa.Table) -> None:
            rows = np.asarray(counts.column(-1))
            self.order.push(batch, np.cumsum(rows) - rows, keys)
            if evidence.ledger is not None:
                runs.append(counts)
                size = sum(table.nbytes for table in runs)
                codes.refuse_beyond_room(release.parts["data"], size // ROOMS_WITH_LEDGER)

        self.classes = classes_of(release, keys, look=look)
        self.runs = pa.concat_tables([self.classes.slice(0, 0), *runs])


class RowOrder:
    """Takes batches of rows with `push`, and counts those that sort after the next one.

    They sort by the columns of `by`, and then by all others. Where the runs of a column have an order of
    their own, rows are compared `within` each of its runs.
    """

    def __init__(self, names: Sequence[str], by: Sequence[str], within: str | None = None) -> None:
        self.names = [*by, *(name for name in names if name not in by and name != within)]
        self._within, self._last, self.wrong = within, list[pa.RecordBatch](), 0

    def push(self, batch: pa.RecordBatch, heads: Ints | None = None, alike: Sequence[str] = ()) -> None:
        """The next rows; if `heads` are given, others have the values of `alike` of the row before."""
        if not len(batch):
            return
        # The last row leads the next batch, so that neighbours across the border are compared too.
        rows, led = pa.Table.from_batches([*self._last, batch]), len(self._last)
        self._last = [batch.slice(batch.num_rows - 1)]
        before, after = rows.slice(0, rows.num_rows - 1), rows.slice(1)
        falls, _ = compared_rows(before, after, [name for name in self.names if name not in alike])
        if heads is not None:
            at = heads[1 - led :] - (1 - led)
            falls[at] = compared_rows(before.take(pa.array(at)), after.take(pa.array(at)), self.names)[0]
        if self._within is not None:
            falls &= compared_rows(before, after, [self._within])[1]
        self.wrong += int(falls.sum())

    def expect(self, findings: Findings, of_table: str = "") -> None:
        findings.check(f"rows{of_table} are sorted by their values, so that their order reveals nothing")
        findings.expect("row-order", not self.wrong, rows=self.wrong)


def compared_rows(before: pa.Table, after: pa.Table, names: Sequence[str]) -> tuple[Flags, Flags]:
    """Where the row of `before` sorts after that of `after`, and where the two are equal."""
    undecided: Flags = np.ones(before.num_rows, dtype=bool)
    wrong: Flags = np.zeros(before.num_rows, dtype=bool)
    for name in names:
        if not undecided.any():
            break
        sides = (_comparable(rows.column(name)) for rows in (before, after))
        for left, right in zip(*sides, strict=True):
            falls, same = _compared(left, right)
            wrong |= undecided & falls
            # The next column decides only where all columns so far are equal.
            undecided &= same
    return wrong, undecided


def _comparable(column: pa.ChunkedArray) -> list[pa.Array]:
    """The column itself as one array; of a column of lists, the items by position."""
    if pa.types.is_list(column.type):
        # Shorter lists are padded with nulls, which sort last, as in the published order.
        longest = pc.max(pc.list_value_length(column)).as_py() or 0
        padded = pc.list_slice(column, 0, longest, return_fixed_size_list=True)
        items = (_comparable(pc.list_element(padded, position)) for position in range(longest))
        return [item for (item,) in items]
    kind = plain_type(column.type)
    if pa.types.is_null(kind):
        kind = pa.string()
    column = column.cast(pa.float32() if pa.types.is_float16(kind) else kind)
    return [pa.concat_arrays(column.chunks)]


def _compared(before: pa.Array, after: pa.Array) -> tuple[Flags, Flags]:
    """Where the value before is greater, and where the two are equal."""
    same = np.array(pc.fill_null(pc.equal(before, after), False))
    if before.null_count:
        same |= np.asarray(before.is_null()) & np.asarray(after.is_null())
    if is_float := pa.types.is_floating(before.type):
        left, right = (np.asarray(pc.fill_null(side, 0.0)) for side in (before, after))
        # 0.0 and -0.0 are equal, but only the same sign says that the next column decides.
        same &= (left != 0) | (np.signbit(left) == np.signbit(right))
        # NaN sorts after every number and before null; two of them are equal, so the next column decides.
        same |= np.isnan(left) & np.isnan(right)
    # Neighbours are mostly equal: only where they differ, one is looked for that falls.
    falls, differ = np.zeros(len(before), dtype=bool), np.flatnonzero(~same)
    before, after = before.take(pa.array(differ)), after.take(pa.array(differ))
    null_before, null_after = np.asarray(before.is_null()), np.asarray(after.is_null())
    falls[differ] = np.asarray(pc.fill_null(pc.greater(before, after), False)) | (null_before & ~null_after)
    if is_float:
        falls[differ] |= np.isnan(left[differ]) & ~np.isnan(right[differ]) & ~null_after
    return falls, same
