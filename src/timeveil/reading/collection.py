"""Tables of series: one row per series, or one row per value.

Wide, `Roles(series=[...])`: a row is a series, each named column an instant. Long, `Roles(respondent=, time=,
value=)`: a row is one value of one person, and the distinct times are the instants, in time order, named by
their text. What belongs to a person and not to an instant (sensitive, keep) must be the same in all rows of
one person.

A value may be missing: a null, or in the long form no row. That is refused unless `fill` says what to do.

| fill | a missing value becomes |
|---|---|
| forward | the person's last value before it; before the first, the first |
| linear | what lies on the line between its neighbours, instants one step apart; at an end, the nearest |
| drop | nothing: the person is left out |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeveil.domain.relation import Relation
from timeveil.domain.roles import Roles
from timeveil.domain.wording import counted
from timeveil.errors import InputError, ParameterError, RolesError
from timeveil.reading.door import read
from timeveil.reading.fitting import listed
from timeveil.reading.numbers import Numbers, numbers

Fill = Literal["forward", "linear", "drop"]
FILLS: tuple[str, ...] = get_args(Fill)
SPARSEST = 20
"""So many times more places than values, and people share no instants worth the name."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Collection:
    """Series of equal length.

    `matrix` has one row per series and one column per instant. `attributes` has the sensitive and kept
    columns, one row per series. `series_of_row` says for each input row which series it belongs to, -1 if
    that was left out. `respondents` names the person of each series, if the table does.
    """

    instants: tuple[str, ...]
    matrix: NDArray[np.float64]
    attributes: pa.Table
    series_of_row: Ints
    respondents: pa.Array | None = None
    filled: int = 0
    """How many values were missing and filled in."""
    dropped: int = 0
    """How many series were left out because a value was missing."""
    readings: Ints | None = None
    """How many people have a value at each instant, before any is filled in or left out; None if all do."""

    @property
    def size(self) -> int:
        """How many series there are."""
        return len(self.matrix)


def read_series(table: Any, roles: Roles, *, zone: str | None = None, unit: str | None = None) -> Relation:
    """Bring a table of series in; a relation that was read already passes through."""
    check_roles(table.roles if isinstance(table, Relation) else roles)
    if isinstance(table, Relation):
        return table
    needs = ("respondent", "time", "value")
    return read(table, roles, zone=zone, unit=unit, nulls="withhold", needs=needs, slot_numbers=True)


def collect(relation: Relation, fill: Fill | None = None) -> Collection:
    """The series of a table.

    >>> table = pa.table({"who": ["a", "b", "a", "b"], "day": [1, 1, 2, 2], "load": [5.0, 7.0, 6.0, None]})
    >>> relation = read_series(table, Roles(respondent="who", time="day", value="load"))
    >>> found = collect(relation, fill="forward")
    >>> found.instants, found.matrix.tolist()
    (('1', '2'), [[5.0, 6.0], [7.0, 7.0]])
    """
    if fill is not None and fill not in FILLS:
        raise ParameterError(
            f"`fill` is one of {', '.join(FILLS)}, or left out",
            hint='use fill="drop" (--fill drop) to leave out everybody who lacks a value',
            code="bad-parameter",
        )
    check_roles(relation.roles)
    return _wide(relation, fill) if relation.roles.series else _long(relation, fill)


def check_roles(roles: Roles) -> None:
    """Series come wide or long, and nothing beside them is promised to be hidden."""
    if roles.quasi:
        raise RolesError(
            f"{listed(roles.quasi_columns)} cannot be quasi-identifiers of series: "
            "the promise covers the series only",
            hint="drop them (--drop), or make one release for each of their values",
            code="bad-parameter",
        )
    beside = [role for role in ("time", "value") if getattr(roles, role) is not None]
    if roles.item is not None or (roles.series and beside):
        known = listed([*beside, *(["item"] if roles.item is not None else [])])
        raise RolesError(
            f"series are given by their columns, or by respondent, time and value; {known} is one too many",
            hint="name series=[...] for one row per series, or respondent, time and value for one per value",
            code="bad-parameter",
        )


def refuse_rare(collection: Collection, k: int) -> None:
    """An instant that hardly anybody has tells when those few were seen, and the rest of it is made up."""
    if collection.readings is None or collection.size + collection.dropped < k:
        return
    rare = int(np.count_nonzero(collection.readings < k))
    if rare:
        total = len(collection.readings)
        raise InputError(
            f"{rare:,} of {total:,} instants have values of fewer than {k} people, "
            "and every instant is published by its name",
            hint="bring the times to ones that all share, such as full hours, or leave those readings out",
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
    columns = [numbers(name, table[name]) for name in roles.series]
    _refuse_strange(roles.series, columns)
    _refuse_extreme(roles.series, columns)
    matrix = np.empty((table.num_rows, len(columns)))
    missing = np.zeros(matrix.shape, dtype=bool)
    for place, column in enumerate(columns):
        matrix[:, place] = column.values
        if column.missing.any():
            missing[:, place] = column.missing
    attributes = table.select([*roles.sensitive, *roles.keep])
    rows = np.arange(table.num_rows, dtype=np.int64)
    return _complete(tuple(roles.series), matrix, missing, attributes, rows, respondents, fill)


def _long(relation: Relation, fill: Fill | None) -> Collection:
    table, roles = relation.table, relation.roles
    person, time, value = relation.respondent, relation.time, relation._needed(roles.value, "value")
    for name in (person, time):
        refuse_nulls(name, table[name])
    column = numbers(value, table[value])
    _refuse_strange([value], [column])
    _refuse_extreme([value], [column])
    who, respondents = encoded(table[person])
    when, times = encoded(table[time])
    order = pc.array_sort_indices(times).to_numpy()
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    cell = who * len(times) + place[when]
    _refuse_two_values(person, time, cell)
    _refuse_sparse(len(respondents), len(times), len(who), fill)
    matrix = np.zeros((len(respondents), len(times)))
    missing = np.ones(matrix.shape, dtype=bool)
    matrix.reshape(-1)[cell], missing.reshape(-1)[cell] = column.values, column.missing
    attributes = _attributes(table, roles, who, len(respondents))
    return _complete(_names(times.take(pa.array(order))), matrix, missing, attributes, who, respondents, fill)


def _complete(
    instants: tuple[str, ...],
    matrix: NDArray[np.float64],
    missing: NDArray[np.bool_],
    attributes: pa.Table,
    rows: Ints,
    respondents: pa.Array | None,
    fill: Fill | None,
) -> Collection:
    """The collection with every missing value dealt with."""
    lacking = missing.any(axis=1)
    if not lacking.any():
        return Collection(instants, matrix, attributes, rows, respondents)
    if fill is None or (fill != "drop" and missing.all(axis=1).any()):
        raise _gaps(missing, fill)
    there = np.count_nonzero(~missing, axis=0)
    if fill == "drop":
        kept = np.flatnonzero(~lacking)
        number = np.full(len(matrix), -1, np.int64)
        number[kept] = np.arange(len(kept))
        people = None if respondents is None else respondents.take(pa.array(kept))
        left = attributes.take(pa.array(kept)) if attributes.num_columns else attributes
        gone = int(np.count_nonzero(lacking))
        return Collection(instants, matrix[kept], left, number[rows], people, dropped=gone, readings=there)
    matrix[lacking] = _filled(matrix[lacking], ~missing[lacking], fill)
    count = int(np.count_nonzero(missing))
    return Collection(instants, matrix, attributes, rows, respondents, filled=count, readings=there)


def _filled(rows: NDArray[np.float64], known: NDArray[np.bool_], fill: Fill) -> NDArray[np.float64]:
    steps = np.arange(rows.shape[1])
    before = np.maximum.accumulate(np.where(known, steps, -1), axis=1)
    after = np.minimum.accumulate(np.where(known, steps, len(steps))[:, ::-1], axis=1)[:, ::-1]
    before, after = np.where(before < 0, after, before), np.where(after == len(steps), before, after)
    low = np.take_along_axis(rows, before, axis=1)
    if fill == "forward":
        return low
    high = np.take_along_axis(rows, after, axis=1)
    share = np.where(after > before, (steps - before) / np.maximum(after - before, 1), 0.0)
    between: NDArray[np.float64] = low * (1 - share) + high * share
    return np.where(known, rows, between)


def encoded(column: pa.ChunkedArray) -> tuple[Ints, pa.Array]:
    """A number for each value in the order of first coming, and the values."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    coded = column.combine_chunks().dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    return coded.indices.to_numpy(zero_copy_only=False).astype(np.int64), coded.dictionary


def _names(times: pa.Array) -> tuple[str, ...]:
    """Times as text, without a fraction of a second where none has one."""
    if pa.types.is_timestamp(times.type):
        whole = pa.timestamp("s", times.type.tz)
        cut = times.cast(whole, safe=False)
        times = cut if pc.all(pc.equal(cut.cast(times.type), times)).as_py() in (True, None) else times
    return tuple(times.cast(pa.string()).to_pylist())


def _attributes(table: pa.Table, roles: Roles, who: Ints, people: int) -> pa.Table:
    """One row per person, if all rows of a person say the same."""
    names = [*roles.sensitive, *roles.keep]
    first = np.zeros(people, np.int64)
    first[who[::-1]] = np.arange(len(who) - 1, -1, -1)
    for name in names:
        codes = table[name].combine_chunks()
        if not pa.types.is_dictionary(codes.type):
            codes = codes.dictionary_encode()
        code = pc.fill_null(codes.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
        several = np.unique(who[code != code[first][who]])
        if len(several):
            raise InputError(
                f"column `{name}` says different things of the same person, "
                f"for {counted(len(several), 'person', 'people')} of {people:,}",
                hint="a series has one row in the release; drop the column, or make it one value per person",
                code="attribute-varies",
                facts={"column": name, "people": len(several)},
            )
    return table.select(names).take(pa.array(first))


def refuse_nulls(name: str, column: Any) -> None:
    """Refuse a column in which something is missing."""
    if column.null_count:
        first = pc.index(pc.is_null(column), value=True).as_py() + 1
        raise InputError(
            f"column `{name}` has {counted(column.null_count, 'null')}, the first in data row {first:,}",
            hint="fill them in, or leave those rows out before reading",
            code="nulls",
            facts={"column": name, "count": column.null_count, "row": first},
        )


def refuse_repeated(name: str, respondents: pa.Array, what: str = "series") -> None:
    """Refuse a column that names somebody twice where everybody has one row."""
    extra = len(respondents) - len(respondents.unique())
    if extra:
        raise InputError(
            f"column `{name}` names somebody again in {counted(extra, 'row')}; a person has one {what}",
            hint="keep one row per person, or give a long table with one row per value or item",
            code="person-twice",
            facts={"column": name, "count": extra},
        )


def _refuse_two_values(person: str, time: str, cell: Ints) -> None:
    extra = len(cell) - len(np.unique(cell))
    if extra:
        raise InputError(
            f"{counted(extra, 'row')} more than one for the same `{person}` and `{time}`",
            hint="keep one value for each person and time, such as their mean",
            code="person-twice",
            facts={"count": extra},
        )


def _refuse_strange(names: Any, columns: list[Numbers]) -> None:
    counts = {name: column.strange for name, column in zip(names, columns, strict=True) if column.strange}
    if counts:
        total = sum(counts.values())
        raise InputError(
            f"{counted(total, 'value')} not finite (NaN or infinite), in {listed(list(counts))}",
            hint="correct them; where nothing is known, leave the cell empty and say what to do with `fill`",
            code="bad-number",
            facts={"columns": counts, "count": total},
        )


def _refuse_extreme(names: Any, columns: list[Numbers]) -> None:
    counts = {name: column.extreme for name, column in zip(names, columns, strict=True) if column.extreme}
    if counts:
        total = sum(counts.values())
        raise InputError(
            f"{counted(total, 'value')} smaller than 1e-300 or larger than 1e300 in size, "
            f"in {listed(list(counts))}",
            hint="give the series in another unit, or correct those values",
            code="bad-number",
            facts={"columns": counts, "count": total},
        )


def _refuse_sparse(people: int, instants: int, rows: int, fill: Fill | None) -> None:
    """Do not make room for a matrix that is nearly empty."""
    if people * instants > SPARSEST * rows or (fill is None and people * instants != rows):
        raise InputError(
            f"{people:,} people have values at {instants:,} different times, "
            f"but only {rows:,} of {people * instants:,} values are there",
            hint=_what_to_do(fill if people * instants <= SPARSEST * rows else "drop"),
            code="series-gap",
            facts={"people": people, "instants": instants, "values": rows},
        )


def _gaps(missing: NDArray[np.bool_], fill: Fill | None) -> InputError:
    people = int(np.count_nonzero(missing.all(axis=1) if fill else missing.any(axis=1)))
    count = int(np.count_nonzero(missing))
    said = (
        f"{counted(people, 'series', 'series')} without a single value, so nothing can be filled in"
        if fill
        else f"{count:,} of {missing.size:,} values are missing, in {people:,} of {len(missing):,} series"
    )
    return InputError(
        said,
        hint='leave them out with fill="drop" (--fill drop)' if fill else _what_to_do(None),
        code="series-gap",
        facts={"series": people, "values": count},
    )


def _what_to_do(fill: Fill | None) -> str:
    if fill is None:
        return 'say what to do: fill="forward", "linear" or "drop" (--fill)'
    return "bring the times to a few that all share, such as days, before reading"
