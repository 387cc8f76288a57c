"""What to warn of where records were published in closed packets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from timeveil.domain.release import Release
from timeveil.evidence.codes import Integers
from timeveil.evidence.published import promised
from timeveil.models.stream.evidence import Evidence, least_packet_sizes
from timeveil.page.wording import counted, share

FEW_TIMES_L = 10
"""Slots below so many times l records are small for packets of more than 2: see the experiments."""


def promised_less(release: Release, slot: Integers, value: Integers) -> tuple[int, int]:
    """How many records, in how many slots, have a value too common in their slot for the promise in full."""
    promise = Evidence(release).true_slot
    if promise is None:
        return 0, 0
    below = least_packet_sizes(slot, value, promise) < promise
    return int(np.count_nonzero(below)), len(np.unique(slot[below]))


def packet_warnings(release: Release, facts: Mapping[str, Any], less: tuple[int, int]) -> Iterator[str]:
    """Slots that are too skewed or too small, and people who are there twice; nothing without packets."""
    size, l, rows = Evidence(release).true_slot, promised(release, "l"), facts["rows"]
    if size is None or not rows:
        return
    records, skewed = less
    if records:
        yield (
            f"less than 1 in {size} is promised to {counted(records, 'record')} ({share(records / rows)}) in "
            f"{counted(skewed, 'slot')}: a value takes more than 1 in {size} of the slot's records. Where it "
            "takes more than half, nothing is promised, and who is moved mostly has it. Choose longer slots, "
            "or split that value into finer ones."
        )
    if facts.get("duplicates", 0):
        yield (
            f"{counted(facts['duplicates'], 'record')} had to be withheld because a packet that would show "
            "somebody twice in a slot is withheld whole. Give one record per person and slot."
        )
    slots = release.manifest["counts"]["slots"]
    if size > 2 and slots and rows / slots < FEW_TIMES_L * l:
        yield (
            f"slots have {rows / slots:.0f} records on average, few for packets of {size} at l = {l}: "
            "many are moved far or withheld. Choose 2 for `protect_slot`, a smaller l or longer slots."
        )
