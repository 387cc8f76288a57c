"""What closed packets cost, beside the least that any packets must.

The records that stay of a slot are to be l-eligible by themselves, and no value is held by more than 1 in q
of those that leave it. Then if a slot lacks e = l * (records of its commonest value) - (all its records), at
least e * q / (l - q) of them must leave: of h that leave at most h / q have that value, so that
l * (commonest - h / q) <= all - h. If any leave, at least q do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.evidence.codes import Integers, distinct_pairs
from timeveil.evidence.published import mismatch, promised
from timeveil.models.stream.judges.journeys import Journeys
from timeveil.models.stream.judges.query_packets import least_sizes, packets_of, true_slot_promise


@dataclass(frozen=True, slots=True)
class PacketLoss:
    """Packets of a stream release, in plain numbers.

    There are `packets`, of `mean_size` records on average and `smallest` at least; `records_below` stand
    in packets smaller than promised, because their slot's commonest value leaves no room for more. `left` is
    how many records left their slot, moved or withheld, and `least` how many must leave by the counts of each
    slot alone.
    """

    packets: int
    mean_size: float
    smallest: int
    records_below: int
    left: int
    least: int


def measure_packets(release: Release, ledger: Ledger, journeys: Journeys) -> PacketLoss | None:
    """Look at the packets; None where none were promised."""
    promise = true_slot_promise(release)
    if promise is None:
        return None
    packet, whole = packets_of(ledger), journeys.whole
    if packet is None:
        raise mismatch("the ledger lacks the packets that the release promises")
    _, place, size = np.unique(packet[whole], return_inverse=True, return_counts=True)
    stayed = journeys.published & (journeys.distance == 0)
    origin, value = journeys.origin[whole], journeys.value.codes[whole]
    return PacketLoss(
        packets=len(size),
        mean_size=float(size.mean()) if len(size) else 0.0,
        smallest=int(size.min(initial=len(origin))),
        records_below=int((size[place.ravel()] < promise).sum()),
        left=int((whole & ~stayed).sum()),
        least=least_leaving(origin, value, promised(release, "l"), promise),
    )


def least_leaving(slot: Integers, value: Integers, l: int, promise: int) -> int:
    """How many records must leave their slots, by the counts of each slot.

    A slot of four records, two of one value, lacks 2 for l = 3; with packets of two all four must leave.

    >>> least_leaving(np.zeros(4, np.int64), np.array([0, 0, 1, 2]), 3, 2)
    4
    """
    _, place = np.unique(slot, return_inverse=True)
    size = np.bincount(place.ravel())
    owner, _, often = distinct_pairs(place.ravel(), value, int(value.max(initial=0)) + 1)
    most = np.zeros(len(size), dtype=np.int64)
    np.maximum.at(most, owner, often)
    room = np.ones(len(size), dtype=np.int64)
    room[place.ravel()] = least_sizes(slot, value, promise)
    lack = np.maximum(l * most - size, 0)
    least = np.maximum(np.ceil(lack * room / (l - room)), room)
    return int(least[lack > 0].sum())
