"""Time since the first row of each person, instead of the calendar's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from timeveil.calendar.axis import instants
from timeveil.calendar.civil import DAY, MINUTE
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.errors import RolesError


def since_first(relation: Relation) -> Relation:
    """The relation with the time since the first row of each person: in days, minutes, or the unit it has.

    Minutes are those of a clock that is never changed; a day is one of the calendar.
    """
    axis, table, name = relation.clock, relation.table, relation.time
    if relation.roles.until:
        message = (
            "time since a first row and durations between two times of a row cannot be published together"
        )
        raise RolesError(message, hint="leave {until} or {origin} out")
    people = table[relation.respondent].combine_chunks().dictionary_encode()
    timed = table[name].is_valid().to_numpy()
    person = np.asarray(people.indices.fill_null(len(people.dictionary)), np.int64)[timed]
    unit, size = ("day", DAY) if pa.types.is_date32(axis.type) else ("minute", MINUTE)
    if axis.unit is not None:
        unit, size = axis.unit, int(instants(axis, pa.array([1], pa.int64()))[0])
    moment = instants(axis, table[name].drop_null())
    first = np.full(len(people.dictionary) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, person, moment)
    since = np.zeros(len(timed), np.int64)
    since[timed] = (moment - first[person]) // size
    column = pa.chunked_array([pa.array(since, pa.int64(), mask=~timed)])
    data = table.set_column(table.schema.get_field_index(name), name, column)
    return replace(relation, data=data, axis=TimeAxis("relative", pa.int64(), unit=unit))
