"""Are times that were computed from others those of the original: durations, and time since an origin?"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.civil import DAY, MINUTE
from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import Integers, column_of
from timeveil.models.events.evidence import Evidence
from timeveil.reading.table import moments

SENTENCES = {
    "durations:rows": "{rows:row} with another duration in `{name}` than between its times in the original",
    "durations:stated": "the durations, or their units, are not those of the original",
    "origin:rows": "{rows:row} with another time since the origin than in the original",
    "origin:stated": "the origin that times are counted from, or their unit, is not that of the original",
}


def check_durations(evidence: Evidence, findings: Findings) -> None:
    """Expect durations that are the time between two times of the original."""
    original, units = evidence.private.original, {}
    names, times = original.roles.durations, column_of(original.data, original.time)
    if names:
        findings.check("durations are those between the times of the original")
    rows = evidence.retained & evidence.people.complete
    for name, until in names.items():
        start, end, stated = (
            column.filter(pa.array(rows))
            for column in (times, *(column_of(original.data, column) for column in (until, name)))
        )
        if evidence.axis.unit:
            units[name], length = evidence.axis.unit, np.asarray(pc.subtract(end, start))
        elif pa.date32() in (start.type, end.type):
            days = pc.days_between(start.cast(pa.date32()), end.cast(pa.date32()))
            units[name], length = "day", np.asarray(days)
        else:
            first, last = (np.asarray(column.cast(pa.int64())) // 1000 for column in (start, end))
            units[name], length = "hour", (last - first) // 3600
        findings.expect_none("durations:rows", rows=np.asarray(stated) != length, name=name)
    findings.expect("durations:stated", units == evidence.release.manifest.get("durations", {}))


def check_origin(evidence: Evidence, findings: Findings) -> None:
    """Expect times since the first row of a person, or since the date in a column, if that is stated."""
    original, origin = evidence.private.original, evidence.release.manifest["parameters"].get("origin")
    calendar = f"{original.time} (calendar)"
    if not findings.expect("origin:stated", (calendar in original.data.schema.names) == (origin is not None)):
        return
    if origin is None:
        return
    findings.check("times are those since the stated origin")
    rows = np.asarray(column_of(original.data, original.time).is_valid())
    times = column_of(original.data, calendar).filter(pa.array(rows))
    dates = pa.types.is_date32(times.type)
    if origin == "first":
        person, since = evidence.people.person[rows], _seconds(times)
        order = np.lexsort((since, person))
        begins = np.flatnonzero(np.diff(person[order], prepend=-1))
        since[order] -= np.repeat(since[order][begins], np.diff(begins, append=len(order)))
        size, unit = (1, evidence.axis.unit) if pa.types.is_integer(times.type) else (MINUTE, "minute")
        size, unit = (DAY, "day") if dates else (size, unit)
        since //= size
    else:
        known = original.roles.event == origin
        read = moments(column_of(original.data, origin).combine_chunks()) if known else None
        if not findings.expect("origin:stated", read is not None) or read is None:
            return
        start, wall = (
            read[0][rows],
            _seconds(pc.local_timestamp(times) if getattr(times.type, "tz", None) else times),
        )
        size, unit = (DAY, "day") if dates or not (start % DAY).any() else (MINUTE, "minute")
        since = wall // size - start // size
    findings.expect("origin:stated", unit == evidence.axis.unit)
    stated = np.asarray(column_of(original.data, original.time).filter(pa.array(rows)))
    findings.expect_none("origin:rows", rows=stated != since)


def _seconds(times: pa.ChunkedArray) -> Integers:
    """Times as whole seconds, or whole numbers as they are."""
    kind = times.type
    if pa.types.is_date32(kind):
        return np.asarray(times.cast(pa.int32()).cast(pa.int64())) * DAY
    per_second = (
        {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit] if pa.types.is_timestamp(kind) else 1
    )
    return np.array(times.cast(pa.int64())) // per_second
