"""Time since the first row of each person, or since a date of the row, instead of the calendar's."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from timeveil.calendar.axis import civil, instants
from timeveil.calendar.civil import DAY, MINUTE
from timeveil.domain.arrays import Flags, Ints
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.errors import InputError, ParameterError, RolesError
from timeveil.models.events.parameters import EventParameters
from timeveil.reading.table import moments

FIRST = "first"


def since_origin(relation: Relation, parameters: EventParameters) -> Relation:
    """The relation with the time since its origin, in days, minutes, or the unit it has.

    What the calendar showed is in a last column, for the ledger alone.
    """
    table, name, origin = relation.table, relation.time, str(parameters.origin)
    calendar = f"{name} (calendar)"
    if relation.roles.until:
        message = "time since an origin and durations between two times of a row cannot be published together"
        raise RolesError(message, hint="leave {until} or {origin} out")
    if calendar in table.column_names:
        message = f"the ledger needs the name `{calendar}` for a column of its own"
        raise RolesError(message, hint="rename that column before reading", code="column-clash")
    timed: Flags = np.asarray(table[name].is_valid())
    if origin == FIRST:
        since, unit = _since_first(relation, timed)
    else:
        since, unit = _since_column(relation, origin, timed, parameters.nulls)
    column = pa.chunked_array([pa.array(since, pa.int64(), mask=~timed)])
    data = table.set_column(table.column_names.index(name), name, column).append_column(calendar, table[name])
    return replace(relation, data=data, axis=TimeAxis("relative", pa.int64(), unit=unit))


def _since_first(relation: Relation, timed: Flags) -> tuple[Ints, str]:
    """Minutes are those of a clock that is never changed; a day is one of the calendar."""
    axis, table = relation.clock, relation.table
    people = table[relation.respondent].combine_chunks().dictionary_encode()
    person = np.asarray(people.indices.fill_null(len(people.dictionary)), np.int64)[timed]
    unit, size = ("day", DAY) if pa.types.is_date32(axis.type) else ("minute", MINUTE)
    if axis.unit is not None:
        unit, size = axis.unit, int(instants(axis, pa.array([1], pa.int64()))[0])
    moment = instants(axis, table[relation.time].drop_null())
    first = np.full(len(people.dictionary) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, person, moment)
    since = np.zeros(len(timed), np.int64)
    since[timed] = (moment - first[person]) // size
    return since, unit


def _since_column(relation: Relation, origin: str, timed: Flags, nulls: str) -> tuple[Ints, str]:
    """By the clock on the wall: days if either has dates alone, and else minutes.

    A row without an origin has no time; `timed` marks those that have one.
    """
    axis, table = relation.clock, relation.table
    if origin not in table.column_names:
        message = f"the table was read without `{origin}`, which time is counted from"
        raise RolesError(message, hint="read it with {event} set to that column", code="column-missing")
    if axis.kind == "relative":
        message = f"`{origin}` cannot be the origin of times that are whole numbers already"
        raise ParameterError(message, hint='use {origin="first"}, or leave {origin} out')
    dates = moments(table[origin].combine_chunks())
    if dates is None:
        message = f"not every value of `{origin}`, which time is counted from, is a date"
        raise InputError(message, hint="write all of them alike, such as 2024-03-31", code="bad-time")
    start, missing = dates
    if nulls == "error" and (lacking := int((missing & timed).sum())):
        message = f"{lacking:,} rows have no `{origin}`, which time is counted from"
        hint = 'fill them in, or withhold those rows with {nulls="withhold"}'
        raise InputError(message, hint=hint, code="nulls")
    timed &= ~missing
    moment = civil(axis, instants(axis, table[relation.time].filter(pa.array(timed))))
    dated = pa.types.is_date32(axis.type) or not (start[timed] % DAY).any()
    unit, size = ("day", DAY) if dated else ("minute", MINUTE)
    since = np.zeros(len(timed), np.int64)
    since[timed] = moment // size - start[timed] // size
    return since, unit
