"""The packets of a stream's records, as the private ledger notes them.

A packet is made of records of one slot, all of different values, with one fate. There are packets only where
the release promises something to whoever knows the true slot.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.guarantee import LDiversity
from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.evidence.codes import Integers, distinct_pairs

PACKET = "packet"
NONE = -1


def true_slot_promise(release: Release) -> int | None:
    """What is promised to whoever knows the true slot: no more than 1 in so many; None for nothing."""
    promise = release.guarantee
    return promise.true_slot if isinstance(promise, LDiversity) else None


def packets_of(ledger: Ledger) -> Integers | None:
    """Per original record the number of its packet, `NONE` without; None where no packets are noted."""
    if PACKET not in ledger.entries.schema.names:
        return None
    column = ledger.table.column(PACKET)
    if not pa.types.is_integer(column.type):
        return None
    return np.asarray(pc.fill_null(column.cast(pa.int64()), NONE)).astype(np.int64, copy=False)


def least_sizes(slot: Integers, value: Integers, promised: int) -> Integers:
    """Per record how many records a packet of its slot must have, by the counts of the slot's values.

    That is the number promised, or where a slot's commonest value leaves no room for so many,
    floor(records of the slot / records of that value).

    >>> least_sizes(np.array([7, 7, 7, 8]), np.array([0, 0, 1, 0]), 2).tolist()
    [1, 1, 1, 1]
    """
    _, place = np.unique(slot, return_inverse=True)
    place, size = place.ravel(), np.bincount(place.ravel())
    owner, _, often = distinct_pairs(place, value, int(value.max(initial=0)) + 1)
    most = np.ones(len(size), dtype=np.int64)
    np.maximum.at(most, owner, often)
    return np.asarray(np.minimum(promised, size // most)[place], dtype=np.int64)
