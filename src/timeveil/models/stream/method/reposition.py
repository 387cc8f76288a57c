"""Optimal reposition at the arrival of a slot (Wang et al. 2010, §V).

A new snapshot has few records and is skewed. Keep as many as l-diversity allows and withhold the others;
then let withheld records of this and earlier slots enter it by relays, as long as that lowers the
information loss. The result is optimal among all that leave the counts of earlier slots alone (Theorem 3).

Where we depart from the print
    Figure 4, line 4: m is at least 1. With m = 0 a slot that has slack ends the loop with gain left.
    The condition on a value's count in LL-Reposition is tested before each relay, as Example 3 needs.
    Ties between equal gains are drawn at random; the print leaves them open.
    No lift is tried where fewer records wait than it needs.
Beyond the print
    `filler`: a lift may also carry forward published records that their slot can spare.
Cost: relays times (window + values), Theorem 2; a lift makes at most l relays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal

from timeveil.models.stream.method.window import Relay, Slot, Window

Filler = Literal["never", "last_chance", "always"]
Ties = Sequence[int] | None
"""A random number for every value, which decides between equal gains; None: the smallest value wins."""


def reposition(window: Window, l: int, filler: Filler = "never", ties: Ties = None) -> None:
    """Algorithm OptimalReposition (Figure 4) on the last slot of the window."""
    lifted = True
    while lifted:
        fill_level(window)
        lifted = lift_level(window, l, filler, ties)


def least_suppression(counts: Mapping[int, int], l: int) -> dict[int, int]:
    """How many records of each value to keep, withholding as few as possible (§III); it is unique.

    >>> least_suppression({0: 6, 1: 3, 2: 2, 3: 1, 4: 1}, l=4)
    {0: 2, 1: 2, 2: 2, 3: 1, 4: 1}
    """
    most = largest_level(counts.values(), l)
    return {value: min(count, most) for value, count in counts.items()}


def largest_level(counts: Collection[int], l: int) -> int:
    """The largest L with sum(min(count, L)) >= l * L.

    Whatever the k < l commonest values have, the others must supply l - k records for each step of L.
    """
    outside = sum(counts)
    most = max(counts, default=0)
    # The usual case: all counts are l-eligible as they are.
    if l * most <= outside:
        return most
    for k, count in enumerate(sorted(counts, reverse=True)[: l - 1]):
        most = min(most, outside // (l - k))
        outside -= count
    return min(most, outside)


def level(slot: Slot) -> int:
    """Level(P_W): how many records of the slot have its commonest value (§II.A)."""
    return max(slot.counts.values(), default=0)


def fill_level(window: Window) -> None:
    """Strategy I, LP-Reposition: relay what gains without raising the level (§V.A)."""
    slot = window.slots[window.last]
    most = level(slot)
    # A copy, because relaying the last waiting record of a value removes its entry.
    for value in list(window.waiting):
        while slot.counts.get(value, 0) < most:
            relay = window.relay(value)
            if relay is None or relay.gain <= 0:
                break
            window.apply(relay)


def lift_level(window: Window, l: int, filler: Filler = "never", ties: Ties = None) -> bool:
    """Strategy II, LL-Reposition: raise the level by one if that gains, else change nothing (§V.A)."""
    slot = window.slots[window.last]
    most = level(slot)
    # Figure 4, line 4: a level of `most` + 1 needs l times as many records in the slot.
    needed = max(1, (most + 1) * l - slot.size)
    spare = filler == "always" or (filler == "last_chance" and _oldest_waits(window))
    if not spare and _room(window, slot, most) < needed:
        return False
    relays: list[Relay] = []
    while len(relays) < needed:
        best = _best(window, most, l if spare else None, ties)
        if best is None:
            break
        window.apply(best)
        relays.append(best)
    if len(relays) == needed and sum(relay.gain for relay in relays) > 0:
        return True
    # Later relays start from what earlier ones left, so they are undone first.
    for relay in reversed(relays):
        window.undo(relay)
    return False


def _room(window: Window, slot: Slot, most: int) -> int:
    """How many waiting records may enter the slot before every value is above the level."""
    counts = slot.counts
    return sum(
        min(count, most + 1 - counts.get(value, 0))
        for value, count in window.waiting.items()
        if counts.get(value, 0) <= most
    )


def _oldest_waits(window: Window) -> bool:
    oldest = window.slots.get(window.last - window.width + 1)
    return oldest is not None and bool(oldest.withheld)


def _best(window: Window, most: int, spare: int | None, ties: Ties = None) -> Relay | None:
    """The relay of the largest gain, of any sign, among values that are not above the level."""
    counts = window.slots[window.last].counts
    candidates = [window.relay(value) for value in window.waiting if counts.get(value, 0) <= most]
    if spare is not None:
        candidates += _fillers(window, most, spare)
    relays = [relay for relay in candidates if relay is not None]

    def rank(relay: Relay) -> tuple[int, int]:
        return relay.gain, -relay.value if ties is None else ties[relay.value]

    return max(relays, key=rank, default=None)


def _fillers(window: Window, most: int, l: int) -> Iterator[Relay | None]:
    """Relays of records that an earlier slot can spare: it stays l-eligible without them."""
    counts = window.slots[window.last].counts
    for number in range(window.last - 1, window.last - window.width, -1):
        slot = window.slots.get(number)
        if slot is None:
            continue
        highest = level(slot)
        # Taking a record of the commonest value lowers the level only if no other value is as common.
        alone = list(slot.counts.values()).count(highest) == 1
        for value, count in slot.counts.items():
            after = highest - (alone and count == highest)
            if slot.size - 1 >= l * after and counts.get(value, 0) <= most:
                yield window.filler(value, number)
