"""Original records of a stream seen side by side with where they were published.

Needs the private ledger. The slot that a record belongs to is worked out from its original time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.errors import TimeveilError, raising
from timeveil.evidence.codes import Coded, Integers, column_of, encode, encode_values, fold
from timeveil.evidence.published import columns_of, mismatch
from timeveil.models.stream.judges.buckets import BUCKET, SLOT, bucketed, sensitive_column
from timeveil.models.stream.judges.slots import NOWHERE, SlotLine, line_of

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Journeys:
    """Per original record where it came from and where it was published.

    `origin` is the slot of its time and `noted` the one that the ledger notes; `slot` is where it was
    published. Each is `NOWHERE` where there is none; `bucket` is -1 there. `value` is the sensitive value,
    `known` numbers the quasi-identifiers, and `person` the respondents, everyone apart where there is no
    such column.
    """

    line: SlotLine
    origin: Integers
    noted: Integers
    slot: Integers
    bucket: Integers
    value: Coded
    known: Integers
    person: Integers
    named: Mask

    @property
    def published(self) -> Mask:
        """Records that are in the release."""
        return np.not_equal(self.slot, NOWHERE)

    @property
    def whole(self) -> Mask:
        """Records that have a slot, a sensitive value and a respondent, where there is such a column."""
        valued: Mask = np.asarray(self.value.values.is_valid())[self.value.codes]
        return np.not_equal(self.origin, NOWHERE) & valued & self.named

    @property
    def distance(self) -> Integers:
        """By how many slots each published record was moved; 0 for the others."""
        return np.where(self.published & (self.origin != NOWHERE), self.slot - self.origin, 0)


def follow(release: Release, ledger: Ledger) -> Journeys:
    """The journeys of all records; a ledger that is not this release's is refused."""
    _refuse_another(release, ledger)
    journeys = journeys_of(release, ledger)
    found, stated = int(journeys.published.sum()), release.manifest["counts"]["rows"]
    if found != stated:
        raise mismatch(f"the ledger places {found:,} records in the release, which has {stated:,}")
    return journeys


def journeys_of(release: Release, ledger: Ledger) -> Journeys:
    """The journeys of all records, as the ledger tells them."""
    time, axis = release.manifest["time"], ledger.original.clock
    if (axis.kind, axis.zone, axis.unit) != (time["kind"], time["zone"], time["unit"]):
        raise mismatch("the times of the ledger's original are of another kind than the release's")
    causes = (pa.ArrowException, TypeError, ValueError, OverflowError, TimeveilError)
    error = mismatch("the times and slots of the ledger's original are not of the release's kind")
    with raising(error, on=causes):
        return _journeys(release, ledger)


def _journeys(release: Release, ledger: Ledger) -> Journeys:
    roles, data = ledger.original.roles, ledger.original.data
    times = column_of(data, str(roles.time))
    line = line_of(release, times.type)
    entries = ledger.table
    bucket = entries.column(BUCKET) if bucketed(release) else pa.nulls(len(times), pa.int64())
    quasi = [encode(column_of(data, name)) for name in roles.quasi_columns]
    person, named = np.arange(len(times)), np.ones(len(times), dtype=bool)
    if roles.respondent is not None:
        respondent = column_of(data, roles.respondent)
        person, named = encode(respondent).codes, np.asarray(respondent.is_valid())
    return Journeys(
        line,
        line.origins(times),
        line.places(entries.column("origin")),
        line.places(entries.column(SLOT)),
        np.asarray(pc.fill_null(bucket.cast(pa.int64()), -1)).astype(np.int64, copy=False),
        encode_values(column_of(data, roles.sensitive[0])),
        fold([(coded.codes, coded.size) for coded in quasi], len(times))[0],
        person,
        named,
    )


def _refuse_another(release: Release, ledger: Ledger) -> None:
    """A ledger with other columns or another number of rows belongs to another release."""
    roles, rows = ledger.original.roles, ledger.original.rows
    if ledger.model != "stream" or release.manifest["time"]["column"] != roles.time:
        raise mismatch("the ledger is that of another kind of release or of another time column")
    for role, names in {"quasi": roles.quasi_columns, "keep": roles.keep}.items():
        if columns_of(release, role) != list(names):
            raise mismatch(f"the {role} columns of the ledger's original are not those of the release")
    if [sensitive_column(release)] != list(roles.sensitive):
        raise mismatch("the sensitive column of the ledger's original is not that of the release")
    needed = {"row", "origin", SLOT, *([BUCKET] if bucketed(release) else [])}
    if not needed <= set(ledger.entries.schema.names):
        raise mismatch("the ledger lacks a column of a stream's ledger")
    if ledger.entries.num_rows != rows:
        raise mismatch(f"the ledger notes {ledger.entries.num_rows:,} rows and its original has {rows:,}")
