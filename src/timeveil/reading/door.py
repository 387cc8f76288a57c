"""Read a table, fit its roles, type its time.

A table is a file (CSV, TSV, Parquet) or anything that speaks Arrow or Narwhals. Only the columns that a
role names come in; the caller's object is never changed, and neither its index nor its metadata passes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from timeveil.domain.relation import Relation
from timeveil.domain.roles import Roles
from timeveil.errors import ParameterError
from timeveil.reading.desk import Desk
from timeveil.reading.fitting import fit
from timeveil.reading.sources import open_source
from timeveil.reading.storing import stored_table

Nulls = Literal["error", "withhold"]


def read(
    table: Any,
    roles: Roles,
    *,
    zone: str | None = None,
    unit: str | None = None,
    nulls: Nulls = "error",
    stored: bool = False,
    needs: Sequence[str] = ("respondent", "time"),
    slot_numbers: bool = False,
) -> Relation:
    """Bring a table in.

    `zone` is the IANA name of the clocks on which timestamps with an offset are to be read; `unit` says
    what whole numbers in the time column count. With `nulls="withhold"` rows without a time or a
    respondent come in and a method withholds them. `stored=True` keeps the rows in a private file, so
    that a table larger than memory can come in. `needs` lists the roles that a column must have; with
    `slot_numbers=True` whole numbers in the time column need no unit: they are the slots themselves.

    >>> import pyarrow as pa
    >>> visits = pa.table({"patient": [1, 2], "day": ["2024-01-31", "2024-02-01"], "zip": ["01", "02"]})
    >>> relation = read(visits, Roles(respondent="patient", time="day", quasi=["zip"]))
    >>> relation
    <Relation 2 rows, columns patient, day, zip>
    >>> relation.axis.kind, str(relation.axis.type)
    ('civil', 'date32[day]')
    """
    if nulls not in ("error", "withhold"):
        raise ParameterError(
            "`nulls` is neither `error` nor `withhold`",
            hint='give nulls="error" or nulls="withhold"',
            code="bad-parameter",
        )
    source = open_source(table)
    fitted = fit(roles, source.names, needs)
    desk = Desk(fitted, zone=zone, unit=unit, nulls=nulls, slot_numbers=slot_numbers)
    if stored:
        data, axis = stored_table(source, desk, fitted.columns)
    else:
        draft = desk.push(source.table(fitted.columns))
        axis = desk.close()
        desk.refuse_spellings([draft])
        data = desk.complete(draft, axis)
    return Relation(fitted.resolved, data, axis, fitted.dropped, source.name)
