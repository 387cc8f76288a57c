"""Tables of series: one row per series, or one row per value.

Wide, `Roles(series=[...])`: a row is a series, each named column an instant. Long, `Roles(respondent=, time=,
value=)`: a row is one value of one person; the distinct times are the instants, in time order, named by their
text. What belongs to a person and not to an instant (sensitive, keep) must be equal in all rows of a person.

A value may be missing: a null, or in the long form no row. That is refused unless `fill` says what to do.

| fill | a missing value becomes |
|---|---|
| forward | the person's last value before it; before the first, the first |
| linear | the value on the line between its neighbours, instants one step apart; at an end, the nearest |
| drop | nothing: the person is left out |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeveil.domain.relation import Relation
from timeveil.domain.roles import Roles
from timeveil.domain.wording import counted, listed
from timeveil.errors import InputError, ParameterError, RolesError
from timeveil.reading.columns import value_type
from timeveil.reading.numbers import Numbers, numbers
from timeveil.reading.table import read

Fill = Literal["forward", "linear", "drop"]
FILLS: tuple[str, ...] = get_args(Fill)
SPARSEST = 20
"""With more cells than this per value, people hardly share instants, and the matrix would be nearly empty."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Collection:
    """Series of equal length.

    `matrix` has one row per series and one column per instant. `attributes` has the sensitive and kept
    columns, one row per series. `series_of_row` gives the series of each input row, -1 where that was left
    out. `respondents` names the person of each series, if the table does.
    """

    instants: tuple[str, ...]
    matrix: NDArray[np.float64]
    attributes: pa.Table
    series_of_row: Ints
    respondents: pa.Array | None = None
    filled: int = 0
    """How many missing values were filled in."""
    dropped: int = 0
    """How many series were left out because a value was missing."""
    readings: Ints | None = None
    """How many people have a value at each instant, before any is filled in or left out; None if all do."""

    @property
    def size(self) -> int:
        """How many series there are."""
        return len(self.matrix)


def read_series(table: Any, roles: Roles, *, zone: str | None = None, unit: str | None = None) -> Relation:
    """Read a table of series; a relation that was read already is returned as it is."""
    check_roles(table.roles if isinstance(table, Relation) else roles)
    if isinstance(table, Relation):
        return table
    needs = ("respondent", "time", "value")
    return read(table, roles, zone=zone, unit=unit, nulls="withhold", needs=needs, slot_numbers=True)


def collect(relation: Relation, fill: Fill | None = None) -> Collection:
    """The series of a table.

    >>> table = pa.table({"who": ["a", "b", "a", "b"], "day": [1, 1, 2, 2], "load": [5.0, 7.0, 6.0, None]})
    >>> relation = read_series(table, Roles(respondent="who", time="day", value="load"))
    >>> collection = collect(relation, fill="forward")
    >>> collection.instants, collection.matrix.tolist()
    (('1', '2'), [[5.0, 6.0], [7.0, 7.0]])
    """
    if fill is not None and fill not in FILLS:
        raise ParameterError(
            f"`fill` must be one of {', '.join(FILLS)}",
            hint='leave out everyone who lacks a value with {fill="drop"}',
        )
    check_roles(relation.roles)
    return _wide(relation, fill) if relation.roles.series else _long(relation, fill)


def check_roles(roles: Roles) -> None:
    """Series are wide or long, and have no quasi-identifiers."""
    if roles.quasi:
        raise RolesError(
            f"{listed(roles.quasi_columns)} cannot be quasi-identifiers of series: "
            "the promise covers the series only",
            hint="leave them out with {drop}, or make one release for each of their values",
        )
    extra = [role for role in ("time", "value") if getattr(roles, role) is not None and roles.series]
    extra += [] if roles.item is None else ["item"]
    if extra:
        raise RolesError(
            f"series are described by their columns, or by respondent, time and value; {listed(extra)} does "
            "not fit",
            hint="use {series} for one row per series, or {respondent}, {time} and {value} for one per value",
        )


def refuse_rare(collection: Collection, k: int) -> None:
    """Refuse instants that fewer than k people have: they show when those few were observed."""
    if collection.readings is None or collection.size + collection.dropped < k:
        return
    rare = int(np.count_nonzero(collection.readings < k))
    if rare:
        total = len(collection.readings)
        raise InputError(
            f"{rare:,} of {total:,} instants have values of fewer than {k} people, "
            "and every instant is published by its name",
            hint="round the times to ones that all share, such as full hours, or leave those readings out",
            code="rare-instant",
            facts={"rare": rare, "instants": total, "k": k},
        )


def _wide(relation: Relation, fill: Fill | None) -> Collection:
    table, roles = relation.table, relation.roles
    respondents = None
    if roles.respondent is not None:
        respondents = table[roles.respondent].combine_chunks()
        refuse_nulls(roles.respondent, respondents)
        refuse_repeated(roles.respondent, respondents)
    columns = {name: numbers(name, table[name]) for name in roles.series}
    _refuse_unusable(columns)
    matrix = np.empty((table.num_rows, len(columns)))
    missing = np.zeros(matrix.shape, dtype=bool)
    for instant, column in enumerate(columns.values()):
        matrix[:, instant], missing[:, instant] = column.values, column.missing
    attributes = table.select([*roles.sensitive, *roles.keep])
    rows = np.arange(table.num_rows, dtype=np.int64)
    collection = Collection(tuple(roles.series), matrix, attributes, rows, respondents)
    return _without_gaps(collection, missing, fill)


def _long(relation: Relation, fill: Fill | None) -> Collection:
    table, roles = relation.table, relation.roles
    person, time, value = relation.respondent, relation.time, relation.needed(roles.value, "value")
    for name in (person, time):
        refuse_nulls(name, table[name])
    column = numbers(value, table[value])
    _refuse_unusable({value: column})
    who, respondents = encoded(table[person])
    when, times = encoded(table[time])
    order = pc.array_sort_indices(times).to_numpy()
    # The rank of each time is the inverse of the sorting order; person and rank give the cell.
    cell = who * len(times) + np.argsort(order)[when]
    repeated = len(cell) - len(np.unique(cell))
    if repeated:
        raise InputError(
            f"{counted(repeated, 'row')} too many: a person has more than one value at a time, by `{person}` "
            f"and `{time}`",
            hint="keep one value for each person and time, such as their mean",
            code="person-twice",
            facts={"count": repeated},
        )
    # Before the matrix is allocated: people times instants may be far more than rows.
    _refuse_sparse(len(respondents), len(times), len(who), fill)
    matrix = np.zeros((len(respondents), len(times)))
    missing = np.ones(matrix.shape, dtype=bool)
    matrix.reshape(-1)[cell], missing.reshape(-1)[cell] = column.values, column.missing
    attributes = _attributes(table, roles, who, len(respondents))
    instants = _instant_names(times.take(pa.array(order)))
    return _without_gaps(Collection(instants, matrix, attributes, who, respondents), missing, fill)


def _without_gaps(collection: Collection, missing: NDArray[np.bool_], fill: Fill | None) -> Collection:
    """The collection with every missing value filled in or its series left out."""
    lacking = missing.any(axis=1)
    if not lacking.any():
        return collection
    if fill is None or (fill != "drop" and missing.all(axis=1).any()):
        raise _gaps(missing, fill)
    # Counted before anything is filled in: a filled value is no reading.
    c, readings = collection, np.count_nonzero(~missing, axis=0)
    if fill != "drop":
        c.matrix[lacking] = _filled(c.matrix[lacking], ~missing[lacking], fill)
        count = int(np.count_nonzero(missing))
        return Collection(
            c.instants,
            c.matrix,
            c.attributes,
            c.series_of_row,
            c.respondents,
            filled=count,
            readings=readings,
        )
    complete = np.flatnonzero(~lacking)
    number = np.full(len(c.matrix), -1, np.int64)
    number[complete] = np.arange(len(complete))
    return Collection(
        c.instants,
        c.matrix[complete],
        c.attributes.take(pa.array(complete)) if c.attributes.num_columns else c.attributes,
        number[c.series_of_row],
        None if c.respondents is None else c.respondents.take(pa.array(complete)),
        dropped=int(np.count_nonzero(lacking)),
        readings=readings,
    )


def _filled(rows: NDArray[np.float64], present: NDArray[np.bool_], fill: Fill) -> NDArray[np.float64]:
    # The nearest present instant at or before each cell, and at or after it; at an end, the one there is.
    steps = np.arange(rows.shape[1])
    before = np.maximum.accumulate(np.where(present, steps, -1), axis=1)
    after = np.minimum.accumulate(np.where(present, steps, len(steps))[:, ::-1], axis=1)[:, ::-1]
    # At an end both are the one neighbour there is; rows without any value do not come here.
    before, after = np.where(before < 0, after, before), np.where(after == len(steps), before, after)
    low = np.take_along_axis(rows, before, axis=1)
    if fill == "forward":
        return low
    high = np.take_along_axis(rows, after, axis=1)
    share = np.where(after > before, (steps - before) / np.maximum(after - before, 1), 0.0)
    between: NDArray[np.float64] = low * (1 - share) + high * share
    return np.where(present, rows, between)


def encoded(column: pa.ChunkedArray) -> tuple[Ints, pa.Array]:
    """A number for each value, in the order of first occurrence, and the values."""
    coded = column.cast(value_type(column.type)).combine_chunks().dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    return coded.indices.to_numpy(zero_copy_only=False).astype(np.int64), coded.dictionary


def _instant_names(times: pa.Array) -> tuple[str, ...]:
    """Times as text, without a fraction of a second where none has one."""
    if pa.types.is_timestamp(times.type):
        cut = times.cast(pa.timestamp("s", times.type.tz), safe=False)
        times = cut if pc.all(pc.equal(cut.cast(times.type), times)).as_py() in (True, None) else times
    return tuple(times.cast(pa.string()).to_pylist())


def _attributes(table: pa.Table, roles: Roles, who: Ints, people: int) -> pa.Table:
    """One row per person, if all rows of a person are equal."""
    names = [*roles.sensitive, *roles.keep]
    first = np.zeros(people, np.int64)
    # Written backwards, so that the first row of a person is the one that stays.
    first[who[::-1]] = np.arange(len(who) - 1, -1, -1)
    for name in names:
        codes = table[name].combine_chunks()
        codes = codes if pa.types.is_dictionary(codes.type) else codes.dictionary_encode()
        code = pc.fill_null(codes.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
        varying = np.unique(who[code != code[first][who]])
        if len(varying):
            raise InputError(
                f"column `{name}` varies within a person, "
                f"for {counted(len(varying), 'person', 'people')} of {people:,}",
                hint="a series has one row in the release: drop the column, or give one value per person",
                code="attribute-varies",
                facts={"column": name, "people": len(varying)},
            )
    return table.select(names).take(pa.array(first))


def refuse_nulls(name: str, column: Any) -> None:
    """Refuse a column with missing values."""
    if column.null_count:
        first = pc.index(pc.is_null(column), value=True).as_py() + 1
        raise InputError(
            f"column `{name}` has {counted(column.null_count, 'null')}, the first in data row {first:,}",
            hint="fill them in, or remove those rows before reading",
            code="nulls",
            facts={"column": name, "count": column.null_count, "row": first},
        )


def refuse_repeated(name: str, respondents: pa.Array, what: str = "series") -> None:
    """Refuse a column that names a person twice where everyone has one row."""
    extra = len(respondents) - len(respondents.unique())
    if extra:
        raise InputError(
            f"column `{name}` names a person again in {counted(extra, 'row')}; a person has one {what}",
            hint="keep one row per person, or use a long table with one row per value or item",
            code="person-twice",
            facts={"column": name, "count": extra},
        )


def _refuse_unusable(columns: dict[str, Numbers]) -> None:
    """Refuse values that are not finite, or too small or too large to calculate with."""
    checks: Sequence[tuple[str, str, str]] = (
        (
            "not_finite",
            "that are not finite (NaN or infinite)",
            "correct them; where nothing is known, leave the cell empty and set {fill}",
        ),
        (
            "extreme",
            "smaller than 1e-300 or larger than 1e300 in size",
            "give the series in another unit, or correct those values",
        ),
    )
    for check, fault, hint in checks:
        counts = {name: getattr(column, check) for name, column in columns.items() if getattr(column, check)}
        if counts:
            total = sum(counts.values())
            raise InputError(
                f"{counted(total, 'value')} {fault}, in {listed(list(counts))}",
                hint=hint,
                code="bad-number",
                facts={"columns": counts, "count": total},
            )


def _refuse_sparse(people: int, instants: int, rows: int, fill: Fill | None) -> None:
    """Do not allocate a matrix that is nearly empty."""
    cells = people * instants
    if cells > SPARSEST * rows or (fill is None and cells != rows):
        raise InputError(
            f"{people:,} people have values at {instants:,} different times, "
            f"but only {rows:,} of {cells:,} values exist",
            hint=_CHOOSE_FILL
            if fill is None and cells <= SPARSEST * rows
            else "round the times to a few that all share, such as days, before reading",
            code="series-gap",
            facts={"people": people, "instants": instants, "values": rows},
        )


def _gaps(missing: NDArray[np.bool_], fill: Fill | None) -> InputError:
    people = int(np.count_nonzero(missing.all(axis=1) if fill else missing.any(axis=1)))
    count = int(np.count_nonzero(missing))
    return InputError(
        f"{counted(people, 'series', 'series')} without a single value, so nothing can be filled in"
        if fill
        else f"{count:,} of {missing.size:,} values are missing, in {people:,} of {len(missing):,} series",
        hint='leave them out with {fill="drop"}' if fill else _CHOOSE_FILL,
        code="series-gap",
        facts={"series": people, "values": count},
    )


_CHOOSE_FILL = 'choose what to do with {fill="forward"}, {fill="linear"} or {fill="drop"}'
