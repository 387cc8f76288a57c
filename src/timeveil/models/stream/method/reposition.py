"""Optimal reposition at the arrival of a slot (Wang et al. 2010, §V).

A new snapshot has few records and is skewed. Keep as many as l-diversity allows and withhold the others;
then let withheld records of this and earlier slots take their place in it by relays, as long as that
lowers the information loss. The result is optimal among all that leave the counts of earlier slots alone
(Theorem 3).

Where we depart from the print
    Figure 4, line 4: m is at least 1. With m = 0 a slot that has slack ends the loop with gain left.
    The condition on a value's count in LL-Reposition is tested before each relay, as Example 3 needs.
    Ties between equal gains go by the value's code.
Beyond the print
    `filler`: a lift may also carry forward published records that their slot can spare.
Cost: relays times (window + values), Theorem 2; a lift makes at most l relays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from timeveil.models.stream.method.window import Relay, Window

Filler = Literal["never", "last_chance", "always"]


def reposition(window: Window, l: int, filler: Filler = "never") -> None:
    """Algorithm OptimalReposition (Figure 4) on the last slot of the window."""
    lifted = True
    while lifted:
        fill_level(window)
        lifted = lift_level(window, l, filler)


def least_suppression(counts: Mapping[int, int], l: int) -> dict[int, int]:
    """How many records of each value to keep, withholding as few as possible (§III); it is unique.

    >>> least_suppression({0: 6, 1: 3, 2: 2, 3: 1, 4: 1}, l=4)
    {0: 2, 1: 2, 2: 2, 3: 1, 4: 1}
    """
    most = largest_level(counts.values(), l)
    return {value: min(count, most) for value, count in counts.items()}


def largest_level(counts: Iterable[int], l: int) -> int:
    """The largest L with sum(min(count, L)) >= l * L; those that satisfy it reach from 0 to it."""
    numbers = tuple(counts)
    low, high = 0, max(numbers, default=0)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(count, middle) for count in numbers) >= l * middle:
            low = middle
        else:
            high = middle - 1
    return low


def level(window: Window) -> int:
    """Level(P_W): how often the commonest value stands in the last slot (§II.A)."""
    return max(window.counts(window.last).values(), default=0)


def fill_level(window: Window) -> None:
    """Strategy I, LP-Reposition: relay what gains without raising the level (§V.A)."""
    most = level(window)
    for value in sorted(window.waiting):
        while window.count(value) < most:
            relay = window.relay(value)
            if relay is None or relay.gain <= 0:
                break
            window.apply(relay)


def lift_level(window: Window, l: int, filler: Filler = "never") -> bool:
    """Strategy II, LL-Reposition: raise the level by one if that gains, else leave all as it was (§V.A)."""
    most = level(window)
    needed = max(1, (most + 1) * l - window.sizes[window.last])
    spare = filler == "always" or (filler == "last_chance" and bool(window.withheld.get(_oldest(window))))
    done: list[Relay] = []
    while len(done) < needed:
        best = _best(window, most, l if spare else None)
        if best is None:
            break
        window.apply(best)
        done.append(best)
    if len(done) == needed and sum(relay.gain for relay in done) > 0:
        return True
    for relay in reversed(done):
        window.undo(relay)
    return False


def _oldest(window: Window) -> int:
    return window.last - window.width + 1


def _best(window: Window, most: int, spare: int | None) -> Relay | None:
    """The relay of the largest gain, of any sign, among values that stand no higher than the level."""
    best: Relay | None = None
    for value in sorted(window.waiting):
        if window.count(value) <= most:
            relay = window.relay(value)
            if relay is not None and (best is None or relay.gain > best.gain):
                best = relay
    if spare is None:
        return best
    for relay in _fillers(window, most, spare):
        if best is None or (relay.gain, -relay.value) > (best.gain, -best.value):
            best = relay
    return best


def _fillers(window: Window, most: int, l: int) -> Iterable[Relay]:
    """Relays of records that an earlier slot can spare: it stays l-eligible without them."""
    for slot in range(window.last - 1, _oldest(window) - 1, -1):
        counts = window.counts(slot) if slot in window.published else {}
        for value in sorted(counts):
            highest = max((n - (v == value) for v, n in counts.items()), default=0)
            if window.sizes[slot] - 1 >= l * highest and window.count(value) <= most:
                relay = window.filler(value, slot)
                if relay is not None:
                    yield relay
