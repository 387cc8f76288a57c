"""Tables about people instead of events: their series, or their transactions.

Wide series: a row is a series, each named column an instant. Long ones: a row is one value of one person, and
distinct times are instants. What belongs to a person and not to an instant (sensitive, keep) must be equal in
all rows of a person. A value may be missing: a null, or in the long form no row. That is refused without
`fill`: `forward` takes the person's last value before it, `linear` the one on the line between its
neighbours (at an end both take the nearest), and `drop` leaves the person out.

Long transactions: a row is one item of one person. With lists, a row is one transaction. People are counted,
so an item that somebody has twice is refused or counted once, and nobody has two transactions.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.arrays import Flags, Floats, Ints
from timeveil.domain.relation import Relation
from timeveil.domain.roles import Roles, require_roles
from timeveil.domain.wording import counted, listed
from timeveil.errors import InputError, RolesError
from timeveil.reading.columns import column_error, decoded, is_list, plain, refuse_rows
from timeveil.reading.encoding import distinct, encode, numbers, refuse_unusable
from timeveil.reading.spellings import normal_form
from timeveil.reading.table import read

Fill = Literal["forward", "linear", "drop"]
SPARSEST = 20
"""With more cells than this per value, people hardly share instants, and the matrix would be nearly empty."""
_CHOOSE_FILL = 'choose what to do with {fill="forward"}, {fill="linear"} or {fill="drop"}'


@dataclass(frozen=True, slots=True)
class Collection:
    """Series of equal length.

    `matrix` has one row per series and one column per instant. `attributes` has the sensitive, quasi and kept
    columns, one row per series. `series_of_row` gives the series of each input row, -1 where that was left
    out. `person` numbers the person of each series, if anyone has several.
    """

    instants: tuple[str, ...]
    matrix: Floats
    attributes: pa.Table
    series_of_row: Ints
    filled: int = 0  # missing values that were filled in
    dropped: int = 0  # series that were left out because a value was missing
    # How many people have a value at each instant, before any is filled in or left out; None if all do.
    readings: Ints | None = None
    person: Ints | None = None

    @property
    def size(self) -> int:
        return len(self.matrix)


@dataclass(frozen=True, slots=True)
class Baskets:
    """Transactions: b has the items `items[starts[b]:starts[b + 1]]`, ascending, named by `names`.

    Items are numbered in the order of their names. `basket_of_row` gives the transaction of each input row,
    -1 where that was left out. `repeated` items are in a transaction already, and are not counted.
    """

    names: tuple[str, ...]
    starts: Ints
    items: Ints
    basket_of_row: Ints
    repeated: int = 0


def read_series(table: Any, roles: Roles, *, quasi: bool = False, **options: Any) -> Relation:
    """Read a table of series; a relation is returned as it is. `quasi` is whether they may have some."""
    roles = table.roles if isinstance(table, Relation) else roles
    require_roles(roles)
    if roles.quasi and not quasi:
        message = f"{listed(roles.quasi_columns)} cannot be quasi-identifiers of patterns, which have none"
        raise RolesError(message, hint="leave them out with {drop}")
    unfit = ("time", "value", "item") if roles.series else ("item",)
    if extra := [role for role in unfit if getattr(roles, role) is not None]:
        means = "series are described by their columns, or by respondent, time and value"
        hint = "use {series} for one row per series, or {respondent}, {time} and {value} for one per value"
        raise RolesError(f"{means}; {listed(extra)} does not fit", hint=hint)
    if isinstance(table, Relation):
        return table
    needs = ("respondent", "time", "value")
    return read(table, roles, nulls="withhold", needs=needs, slot_numbers=True, **options)


def read_baskets(table: Any, roles: Roles, **options: Any) -> Relation:
    """Read a table of transactions; a relation is returned as it is. `options` are some of `read`."""
    used = table.roles if isinstance(table, Relation) else roles
    require_roles(used)
    unfit = ("time", "value", "series", "quasi", "sensitive", "keep")
    if extra := [role for role in unfit if getattr(used, role)]:
        message = f"only the items of transactions are counted; the role {listed(extra)} does not fit"
        hint = 'name {respondent} and {item} only, and leave the other columns out with {drop="rest"}'
        raise RolesError(message, hint=hint)
    if isinstance(table, Relation):
        return table
    # Nulls are refused by `gather`.
    return read(table, roles, nulls="withhold", needs=("item",), **options)


def collect(relation: Relation, fill: Fill | None = None, *, several: bool = False) -> Collection:
    """The series of a table; with `several`, a person may have more than one."""
    collection, missing = _wide(relation, several=several) if relation.roles.series else _long(relation, fill)
    return _without_gaps(collection, missing, fill) if missing.any() else collection


def gather(relation: Relation, nulls: str = "error", repeats: str = "error") -> Baskets:
    """The transactions of a table, if so set without incomplete rows, and with each item once."""
    table, item = relation.table, relation.needed(relation.roles.item, "item")
    has_lists = is_list(table[item].type)
    person = relation.roles.respondent if has_lists else relation.respondent
    names = [name for name in (person, item) if name is not None]
    if nulls == "error":
        _refuse_nulls(table, *names, hint='fill them in, or leave those rows out with {nulls="drop"}')
    complete = np.all([pc.is_valid(table[name]).to_numpy() for name in names], axis=0)
    table = table if complete.all() else table.filter(pa.array(complete))
    if has_lists:
        _refuse_repeated(table, person, "transaction")
        rows = np.arange(table.num_rows, dtype=np.int64)
        owner, items = np.asarray(pc.list_parent_indices(table[item])), pc.list_flatten(table[item])
    else:
        owner = rows = _encoded(table[person])[0]
        items = table[item]
    basket_of_row = np.full(len(complete), -1, np.int64)
    basket_of_row[complete] = rows
    return _baskets(item, owner, items, repeats, basket_of_row)


def refuse_rare(collection: Collection, k: int) -> None:
    """Refuse instants that fewer than k people have: they show when those few were observed."""
    if collection.readings is None or collection.size + collection.dropped < k:
        return
    if rare := int(np.count_nonzero(collection.readings < k)):
        total = len(collection.readings)
        few = f"{rare:,} of {total:,} instants have values of fewer than {k} people"
        message = f"{few}, and every instant is published by its name"
        hint = "round the times to ones that all share, such as full hours, or leave those readings out"
        facts = {"rare": rare, "instants": total, "k": k}
        raise InputError(message, hint=hint, code="rare-instant", facts=facts)


def _wide(relation: Relation, *, several: bool) -> tuple[Collection, Flags]:
    """One series per row, and which of its values are missing."""
    table, roles = relation.table, relation.roles
    person = None
    if roles.respondent is not None and several:
        _refuse_nulls(table, roles.respondent)
        who, people = _encoded(table[roles.respondent])
        person = who if len(people) < len(who) else None
    else:
        _refuse_repeated(table, roles.respondent, "series")
    columns = {name: numbers(name, table[name]) for name in roles.series}
    refuse_unusable(columns)
    matrix = np.column_stack([column.values for column in columns.values()])
    missing = np.column_stack([column.missing for column in columns.values()])
    attributes = table.select([*roles.sensitive, *roles.quasi_columns, *roles.keep])
    rows = np.arange(table.num_rows, dtype=np.int64)
    return Collection(tuple(roles.series), matrix, attributes, rows, person=person), missing


def _long(relation: Relation, fill: Fill | None) -> tuple[Collection, Flags]:
    """One series per person, and which of its values are missing."""
    table, roles = relation.table, relation.roles
    person, time, value = relation.respondent, relation.time, relation.needed(roles.value, "value")
    _refuse_nulls(table, person, time)
    column = numbers(value, table[value])
    refuse_unusable({value: column})
    (who, people), (when, times) = _encoded(table[person]), _encoded(table[time])
    order = pc.array_sort_indices(times).to_numpy()
    # The rank of each time is the inverse of the sorting order; person and rank give the cell.
    cell = who * len(times) + np.argsort(order)[when]
    if repeated := len(cell) - len(distinct(cell)):
        fault = f"a person has more than one value at a time, by `{person}` and `{time}`"
        message = f"{counted(repeated, 'row')} too many: {fault}"
        hint = "keep one value for each person and time, such as their mean"
        raise InputError(message, hint=hint, code="person-twice", facts={"count": repeated})
    # Before the matrix is allocated: people times instants may be far more than rows.
    cells, is_sparse = len(people) * len(times), len(people) * len(times) > SPARSEST * len(who)
    if is_sparse or (fill is None and cells != len(who)):
        message = f"{len(people):,} people have values at {len(times):,} different times"
        message += f", but only {len(who):,} of {cells:,} values exist"
        round_times = "round the times to a few that all share, such as days, before reading"
        facts = {"people": len(people), "instants": len(times), "values": len(who)}
        hint = round_times if is_sparse else _CHOOSE_FILL
        raise InputError(message, hint=hint, code="series-gap", facts=facts)
    matrix = np.zeros((len(people), len(times)))
    missing = np.ones(matrix.shape, dtype=bool)
    matrix.reshape(-1)[cell], missing.reshape(-1)[cell] = column
    instants = times.take(pa.array(order))
    if pa.types.is_timestamp(times.type):  # without a fraction of a second where none has one
        cut = instants.cast(pa.timestamp("s", times.type.tz), safe=False)
        is_same = pc.all(pc.equal(cut.cast(times.type), instants)).as_py() in (True, None)
        instants = cut if is_same else instants
    names = tuple(instants.cast(pa.string()).to_pylist())
    return Collection(names, matrix, _attributes(table, roles, who, len(people)), who), missing


def _without_gaps(collection: Collection, missing: Flags, fill: Fill | None) -> Collection:
    """The collection with every missing value filled in or its series left out."""
    lacking, empty = missing.any(axis=1), missing.all(axis=1)
    count = int(np.count_nonzero(missing))
    if fill is None or (fill != "drop" and empty.any()):
        people = int(np.count_nonzero(empty if fill else lacking))
        series, hint = f"{people:,} of {len(missing):,} series", _CHOOSE_FILL
        message = f"{count:,} of {missing.size:,} values are missing, in {series}"
        if fill:
            series, hint = counted(people, "series", "series"), 'leave them out with {fill="drop"}'
            message = f"{series} without a single value, so nothing can be filled in"
        raise InputError(message, hint=hint, code="series-gap", facts={"series": people, "values": count})
    # Counted before anything is filled in: a filled value is no reading.
    readings, person = np.count_nonzero(~missing, axis=0), collection.person
    if person is not None:
        readings = np.array([len(np.unique(person[~absent])) for absent in missing.T])
    if fill != "drop":
        matrix = collection.matrix
        matrix[lacking] = _filled(matrix[lacking], ~missing[lacking], fill)
        return replace(collection, filled=count, readings=readings)
    complete = np.flatnonzero(~lacking)
    number = np.full(collection.size, -1, np.int64)
    number[complete] = np.arange(len(complete))
    attributes = collection.attributes
    return replace(
        collection,
        matrix=collection.matrix[complete],
        attributes=attributes.take(pa.array(complete)) if attributes.num_columns else attributes,
        series_of_row=number[collection.series_of_row],
        dropped=int(np.count_nonzero(lacking)),
        readings=readings,
        person=None if person is None else person[complete],
    )


def _filled(rows: Floats, present: Flags, fill: Fill) -> Floats:
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
    between: Floats = low * (1 - share) + high * share
    return np.where(present, rows, between)


def _encoded(column: pa.ChunkedArray) -> tuple[Ints, pa.Array]:
    """A number for each value, in the order of first occurrence, and the values."""
    coded = encode(decoded(column))
    return coded.codes.astype(np.int64), coded.values


def _attributes(table: pa.Table, roles: Roles, who: Ints, people: int) -> pa.Table:
    """One row per person, if all rows of a person are equal."""
    names = [*roles.sensitive, *roles.quasi_columns, *roles.keep]
    first = np.zeros(people, np.int64)
    # Written backwards, so that the first row of a person is the one that stays.
    first[who[::-1]] = np.arange(len(who) - 1, -1, -1)
    for name in names:
        code = encode(table[name]).codes
        if varying := len(np.unique(who[code != code[first][who]])):
            affected = f"{counted(varying, 'person', 'people')} of {people:,}"
            fault = f"varies within a person, for {affected}"
            hint = "a series has one row in the release: drop the column, or give one value per person"
            raise column_error(name, fault, hint, "attribute-varies", people=varying)
    return table.select(names).take(pa.array(first))


def _baskets(item: str, owner: Ints, column: pa.ChunkedArray, repeats: str, basket_of_row: Ints) -> Baskets:
    """Transactions from pairs of an owner and an item, in any order."""
    count = int(basket_of_row.max(initial=-1)) + 1
    code, values = _encoded(plain(item, column))
    names = [] if column.null_count else [str(name) for name in values.cast(pa.string()).to_pylist()]
    if nameless := column.null_count or sum(not normal_form(name) for name in names):
        fault = f"has {counted(nameless, 'item')} without a name"
        hint = "name them, or remove them before reading"
        raise column_error(item, fault, hint, "nulls", count=nameless)
    by_name = sorted(range(len(names)), key=names.__getitem__)
    rank = np.argsort(np.array(by_name, np.int64))
    width = max(len(names), 1)
    pairs = distinct(owner * width + rank[code])
    repeated = len(owner) - len(pairs)
    if repeated and repeats == "error":
        times = f"{counted(repeated, 'time')} in {counted(count, 'transaction')}"
        hint = 'count each item once per person with {repeats="once"}'
        fault = f"repeats an item within a transaction, {times}"
        raise column_error(item, fault, hint, "item-twice", count=repeated)
    lengths = np.bincount(pairs // width, minlength=count)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    in_order = tuple(names[position] for position in by_name)
    return Baskets(in_order, starts, pairs % width, basket_of_row, repeated)


def _refuse_repeated(table: pa.Table, person: str | None, what: str) -> None:
    if person is None:
        return
    _refuse_nulls(table, person)
    if extra := table.num_rows - len(table[person].unique()):
        fault = f"names a person again in {counted(extra, 'row')}; a person has one {what}"
        hint = "keep one row per person, or use a long table with one row per value or item"
        raise column_error(person, fault, hint, "person-twice", count=extra)


def _refuse_nulls(
    table: pa.Table, *names: str, hint: str = "fill them in, or remove those rows before reading"
) -> None:
    for name in names:
        refuse_rows(name, np.asarray(pc.is_null(table[name])), ("null", "nulls"), hint, "nulls")
