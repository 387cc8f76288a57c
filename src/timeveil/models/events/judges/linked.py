"""Original rows seen side by side with the release they went into.

Needs the private ledger. Where a row went is worked out from the published intervals and values, not
from the group that the ledger notes for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.calendar.axis import instants
from timeveil.domain.ledger import Ledger
from timeveil.domain.relation import Relation, TimeAxis
from timeveil.domain.release import Release
from timeveil.errors import InputError
from timeveil.evidence.codes import Coded, Integers, column_of, distinct, encode, fold, plain_type
from timeveil.evidence.given import mismatch
from timeveil.evidence.published import Granules, axis_of, bounds_of, classes_of, columns_of, granules_of

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class People:
    """Who and when, per original row. `whole` rows have both; the others carry 0 and must not be used."""

    axis: TimeAxis
    person: Integers
    people: int
    moment: Integers
    whole: Mask


@dataclass(frozen=True, slots=True)
class Linked:
    """Original rows and the class each was published in.

    `known` numbers the original quasi-identifiers of a row, `shown` those it was published with.
    `place` is the row's granule; -1 where the row has no time or no granule of the release admits it. `kept`
    marks rows that the ledger does not list as withheld.
    """

    people: People
    known: Integers
    shown: Integers
    granules: Granules
    place: Integers
    kept: Mask
    group: Integers

    @property
    def published(self) -> Mask:
        """Rows that are in the release and whose person and time are known."""
        return self.kept & self.people.whole & (self.place >= 0)


def link(release: Release, ledger: Ledger) -> Linked:
    """Find the class that each original row was published in."""
    original, rows = ledger.original, ledger.original.rows
    _refuse_another(release, ledger)
    people, (kept, group) = people_of(original), groups_of(ledger)
    names = columns_of(release, "quasi")
    known = [encode(column_of(original.data, name)) for name in names]
    shown = [shown_as(ledger, name, coded) for name, coded in zip(names, known, strict=True)]
    granules = published_granules(release)
    place = np.where(people.whole, granules.containing(people.moment), -1)
    linked = Linked(people, _folded(known, rows), _folded(shown, rows), granules, place, kept, group)
    found, stated = int(linked.published.sum()), release.manifest["counts"]["rows"]
    if found != stated:
        raise mismatch(f"the ledger places {found:,} rows in the release, which has {stated:,}")
    return linked


def _refuse_another(release: Release, ledger: Ledger) -> None:
    """A ledger with other columns or another number of rows belongs to another release."""
    roles, rows, read = ledger.original.roles, ledger.original.rows, release.manifest["counts"]["rows_read"]
    expected = {"quasi": roles.quasi_columns, "keep": roles.keep, "sensitive": roles.sensitive}
    for role, names in expected.items():
        if columns_of(release, role) != list(names):
            raise mismatch(f"the {role} columns of the ledger's original are not those of the release")
    if ledger.model != "time" or release.manifest["time"]["column"] != roles.time:
        raise mismatch("the ledger is that of another kind of release or of another time column")
    if not rows == read == ledger.entries.num_rows:
        raise mismatch(
            f"the release was made from {read:,} rows; the ledger notes {ledger.entries.num_rows:,} "
            f"and its original has {rows:,}"
        )


def people_of(relation: Relation) -> People:
    """Who and when, for every row of a relation."""
    roles, axis = relation.roles, relation.axis
    if axis is None or roles.time is None or roles.respondent is None:
        raise InputError(
            "the table has no respondent or no time", hint="give both roles", code="role-missing"
        )
    respondent = encode(column_of(relation.data, roles.respondent))
    time = column_of(relation.data, roles.time)
    timed = np.asarray(time.is_valid())
    moment = np.zeros(len(time), dtype=np.int64)
    moment[timed] = instants(axis, time.drop_null())
    named = np.asarray(respondent.values.is_valid())[respondent.codes] if len(time) else timed
    return People(axis, respondent.codes, respondent.size, moment, timed & named)


def groups_of(ledger: Ledger) -> tuple[Mask, Integers]:
    """Per original row whether it was published, and the ledger's number of its group (0 if not)."""
    column = ledger.table.column("group")
    return np.asarray(column.is_valid()), np.asarray(pc.fill_null(column.cast(pa.int64()), 0))


def published_granules(release: Release) -> Granules:
    """The distinct granules of a release."""
    start_name, end_name = columns_of(release, "start", "end")
    found = classes_of(release, [start_name, end_name])
    start, end = bounds_of(axis_of(release), found.column(0), found.column(1))
    return granules_of(release, start, end)


def shown_as(ledger: Ledger, name: str, original: Coded) -> Coded:
    """A quasi-identifier as it was published: itself, or what the ledger's mapping makes of it."""
    mapping = ledger.mappings.get(name)
    if mapping is None:
        return original
    value = mapping.column("value").cast(plain_type(mapping.column("value").type)).combine_chunks()
    published = mapping.column("published").cast(plain_type(mapping.column("published").type))
    entry = pc.index_in(original.values.cast(value.type), value_set=value)
    lost = np.asarray(pc.and_(entry.is_null(), original.values.is_valid()))
    if lost.any():
        _refuse_lost(name, int(lost[distinct(original.codes[groups_of(ledger)[0]])].sum()))
    shown = encode(published.take(entry))
    return Coded(shown.codes[original.codes], shown.values)


def _refuse_lost(name: str, missing: int) -> None:
    """A value that only withheld rows have was never published, so nothing need be noted for it."""
    if missing:
        raise mismatch(f"the ledger's mapping of column `{name}` lacks {missing} of its values")


def _folded(columns: list[Coded], rows: int) -> Integers:
    return fold([(coded.codes, coded.size) for coded in columns], rows)[0]
