"""Columns that tie the rows of one person together as a second name would, and people with two names."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.evidence.codes import Coded, column_of, distinct_pairs, encode
from timeveil.evidence.published import columns_of
from timeveil.models.events.judges.linked import Linked


def tying_columns(release: Release, ledger: Ledger, linked: Linked) -> dict[str, float]:
    """Per kept and sensitive column the share of published rows that it ties to another of their person.

    A value ties rows if only one person has it, in several rows. A case number that was kept does this
    for nearly all rows; an ordinary measurement for nearly none.
    """
    published = linked.published
    person = linked.people.person[published]
    found = {}
    for name in (*columns_of(release, "keep"), *columns_of(release, "sensitive")):
        values = encode(column_of(ledger.original.data, name))
        value, _, often = distinct_pairs(values.codes[published], person, linked.people.people)
        people = np.bincount(value, minlength=values.size)
        tied = (people[value] == 1) & (often > 1) & ~_is_null(values)[value]
        found[name] = float(often[tied].sum()) / max(len(person), 1)
    return found


def similar_ids(ledger: Ledger) -> int:
    """How many ids differ from another one in case or surrounding blanks only.

    They count as different people. If they are the same, groups hold fewer people than it seems.
    """
    ids = encode(column_of(ledger.original.data, ledger.original.respondent)).values
    if not (pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type)):
        return 0
    alike = pc.utf8_lower(pc.utf8_trim_whitespace(ids.drop_null()))
    return len(alike) - len(alike.unique())


def _is_null(values: Coded) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray(values.values.is_null())
