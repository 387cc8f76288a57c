"""Which records of a window to publish where, as counts (Wang et al. 2010, §III to §V).

A new snapshot has few records and is skewed. Keep as many as l-diversity allows and withhold the others; then
let withheld records of this and earlier slots enter it by relays, as long as that lowers the information
loss. The result is optimal among all that leave the counts of earlier slots alone (Theorem 3).

Where we depart from the print
    The last slot always ends a relay, even where it holds no record of the value yet.
    "The record having the largest TS" is chosen after the arriving record has entered; chosen before,
    timestamp order breaks on some states.
    Figure 4, line 4: m is at least 1. With m = 0 a slot that has slack ends the loop with gain left.
    The condition on a value's count in LL-Reposition is tested before each relay, as Example 3 needs.
    Ties between equal gains are drawn at random; the print leaves them open.
    No lift is tried where fewer records wait than it needs.
Beyond the print
    `filler`: a lift may also carry forward published records that their slot can spare.
Cost: relays times (window + values), Theorem 2; a relay visits each slot once, a lift makes at most l relays.
`solve_window` is an integer program: seconds for hundreds of values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import neg
from typing import Literal, NamedTuple

import numpy as np

from timeveil.errors import EngineError

Filler = Literal["never", "last_chance", "always"]
Ties = Callable[[int], int]
"""The random number of a value, which decides between equal gains; without it the smallest value wins."""
Move = tuple[int, int | None, int]
"""Origin, the slot left (None for a record that was withheld), the slot entered."""
Published = dict[int, dict[int, int]]  # value to origin to number of records


def reposition(window: Window, l: int, filler: Filler = "never", ties: Ties = neg) -> None:
    """Algorithm OptimalReposition (Figure 4) on the last slot of the window."""
    lifted = True
    while lifted:
        fill_level(window)
        lifted = lift_alike(window, l) or lift_level(window, l, filler, ties)


def least_suppression(counts: Mapping[int, int], l: int) -> dict[int, int]:
    """How many records of each value to keep, withholding as few as possible (§III); it is unique."""
    most = largest_level(counts.values(), l)
    return {value: count if count < most else most for value, count in counts.items()}


def largest_level(counts: Collection[int], l: int) -> int:
    """The largest L with sum(min(count, L)) >= l * L.

    Whatever the k < l commonest values have, the others must supply l - k records for each step of L.
    """
    outside, most = sum(counts), max(counts, default=0)
    # The usual case: all counts are l-eligible as they are.
    if l * most <= outside:
        return most
    for k, count in enumerate(sorted(counts, reverse=True)[: l - 1]):
        most = min(most, outside // (l - k))
        outside -= count
    return min(most, outside)


@dataclass(slots=True)
class Slot:
    """One slot of the window: P_i by value and origin, S_i by value; `counts` sums P_i by value."""

    number: int
    published: Published
    withheld: dict[int, int]
    counts: dict[int, int]
    size: int


class Relay(NamedTuple):
    """Records of one value, each entering the slot that the next one leaves (eqs. 3 and 4).

    `gain` is what the relay saves (eqs. 5 and 6). A relay that starts with a published record saves nothing
    and costs its moves. So many `copies` of it can follow each other: the same records are next every time.
    """

    value: int
    gain: int
    moves: tuple[Move, ...]
    copies: int


class Window:
    """Counts of the latest `width` slots; values are small whole numbers.

    `move[d]` is the cost of moving by d slots, `withhold(value)` the cost of withholding one record.
    `waiting` sums the withheld records of all slots by value. `relay` plans the relay of one withheld
    record, `apply` carries it out or takes it back.
    """

    def __init__(self, width: int, move: Sequence[int], withhold: Callable[[int], int]) -> None:
        self.width, self.move, self.withhold = width, move, withhold
        self.slots: dict[int, Slot] = {}
        self.waiting: dict[int, int] = {}
        self.last = 0
        self._planned: dict[int, Relay | None] = {}

    def arrive(self, number: int, published: Mapping[int, int], withheld: dict[int, int]) -> None:
        """Add the next slot with its own records only; the oldest leaves if the window is full."""
        natives = {value: {number: count} for value, count in published.items() if count}
        self.place(number, natives, {value: count for value, count in withheld.items() if count})

    def place(self, number: int, published: Published, withheld: dict[int, int]) -> None:
        """Add the next slot as planned, records moved into it included."""
        counts = {value: sum(cell.values()) for value, cell in published.items()}
        # At most `width` slots, so no withheld record can end further than width - 1 slots from its origin.
        self.leave(number - self.width)
        self.slots[number] = Slot(number, published, withheld, counts, sum(counts.values()))
        self.last = number
        for value, count in withheld.items():
            _add(self.waiting, value, count)
        # Every plan ended in the slot that was the last until now.
        self._planned.clear()

    def leave(self, number: int) -> None:
        slot = self.slots.pop(number, None)
        if slot is not None:
            for value, count in slot.withheld.items():
                _add(self.waiting, value, -count)

    def relay(self, value: int) -> Relay | None:
        """The relay of the latest withheld record of a value (§IV), if there is one."""
        if value not in self._planned:
            slots = reversed(self.slots.values())
            origin = next((slot.number for slot in slots if value in slot.withheld), None)
            self._planned[value] = None if origin is None else self._walk(value, origin, origin, None)
        return self._planned[value]

    def filler(self, value: int, number: int) -> Relay | None:
        """The relay that starts with the latest record of a value published in an earlier slot.

        None where a record would end further from its origin than the window is wide.
        """
        return self._walk(value, max(self.slots[number].published[value]), number, number)

    def _walk(self, value: int, origin: int, begin: int, source: int | None) -> Relay | None:
        """Carry the record of `origin` from slot `begin` to the last slot, handing over at every stop."""
        move, last, width = self.move, self.last, self.width
        moves: list[Move] = [(origin, source, begin)] if begin == last else []
        carried, at, cost = origin, begin, 0
        copies = self.slots[begin].withheld[value] if source is None else 1
        for number in range(begin + 1, last + 1):
            cell = self.slots[number].published.get(value)
            # Where the value has no record, nobody can hand over: the carried record passes through.
            if cell is None and number < last:
                continue
            # Only fillers can come this far; a withheld record starts inside the window.
            if number - carried >= width:
                return None
            cost += move[number - carried] - move[at - carried]
            moves.append((carried, source, number))
            at = source = number
            if cell is not None and number < last:
                latest = number if number in cell else max(carried, *cell)
                if latest != carried:
                    carried, copies = latest, min(copies, cell[latest])
        saved = self.withhold(value) if moves[0][1] is None else 0
        return Relay(value, saved - cost, tuple(moves), copies)

    def apply(self, relay: Relay, by: int = 1) -> None:
        """Carry out copies of a relay, or with a negative number take them back."""
        value, slots = relay.value, self.slots
        for origin, left, entered in relay.moves:
            if left is None:
                _add(slots[origin].withheld, value, -by)
                _add(self.waiting, value, -by)
            else:
                _add(slots[left].published.setdefault(value, {}), origin, -by)
            _add(slots[entered].published.setdefault(value, {}), origin, by)
        # In between, each slot takes one record in and hands one on: only the sizes of the ends change.
        for number, step in ((relay.moves[0][1], -by), (self.last, by)):
            if number is not None:
                slot = slots[number]
                slot.size += step
                _add(slot.counts, value, step)
                if value not in slot.counts:
                    del slot.published[value]
        # A relay changes counts of one value only: the plans of all others stay valid.
        if 0 < by < relay.copies:
            self._planned[value] = Relay(value, relay.gain, relay.moves, relay.copies - by)
        else:
            self._planned.pop(value, None)


def _add(counts: dict[int, int], key: int, by: int) -> None:
    """Change a count; a count of zero is no entry."""
    counts[key] = counts.get(key, 0) + by
    if not counts[key]:
        del counts[key]


def level(slot: Slot) -> int:
    """Level(P_W): how many records of the slot have its commonest value (§II.A)."""
    return max(slot.counts.values(), default=0)


def fill_level(window: Window) -> None:
    """Strategy I, LP-Reposition: relay what gains without raising the level (§V.A)."""
    slot = window.slots[window.last]
    most = level(slot)
    # A copy, because relaying the last waiting record of a value removes its entry.
    for value in list(window.waiting):
        while (room := most - slot.counts.get(value, 0)) > 0:
            relay = window.relay(value)
            if relay is None or relay.gain <= 0:
                break
            window.apply(relay, min(room, relay.copies))


def lift_alike(window: Window, l: int) -> bool:
    """Several lifts at once, each with the fill that follows it, as long as they take the same relays.

    After a fill, the values whose relays gain are all at the level. Where a lift needs no more relays than
    there are such values, it takes some of them and the next fill the others: one relay of each a level.
    """
    slot = window.slots[window.last]
    front = [relay for value in window.waiting if (relay := window.relay(value)) and relay.gain > 0]
    lack = (level(slot) + 1) * l - slot.size
    if not front or lack > len(front):
        return False
    levels = min(relay.copies for relay in front)
    if len(front) < l:  # every level takes l records and brings fewer
        levels = min(levels, (len(front) - lack) // (l - len(front)) + 1)
    for relay in front:
        window.apply(relay, levels)
    return True


def lift_level(window: Window, l: int, filler: Filler = "never", ties: Ties = neg) -> bool:
    """Strategy II, LL-Reposition: raise the level by one if that gains, else change nothing (§V.A)."""
    slot = window.slots[window.last]
    most = level(slot)
    # Figure 4, line 4: a level of `most` + 1 needs l times as many records in the slot.
    needed = max(1, (most + 1) * l - slot.size)
    oldest = window.slots.get(window.last - window.width + 1)
    last_chance = oldest is not None and bool(oldest.withheld)
    spare = filler == "always" or (filler == "last_chance" and last_chance)
    rooms = ((count, most + 1 - slot.counts.get(value, 0)) for value, count in window.waiting.items())
    # Without fillers, waiting records are all there is: they may enter until every value is above the level.
    if not spare and sum(min(count, room) for count, room in rooms if room > 0) < needed:
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
    # Later relays start from what earlier ones left, so they are taken back first.
    for relay in reversed(relays):
        window.apply(relay, -1)
    return False


def _best(window: Window, most: int, spare: int | None, ties: Ties = neg) -> Relay | None:
    """The relay of the largest gain, of any sign, among values that are not above the level."""
    counts = window.slots[window.last].counts
    candidates = [window.relay(value) for value in window.waiting if counts.get(value, 0) <= most]
    if spare is not None:
        candidates += _fillers(window, most, spare)
    relays = [relay for relay in candidates if relay is not None]
    highest = max((relay.gain for relay in relays), default=0)
    return max(
        (relay for relay in relays if relay.gain == highest),
        key=lambda relay: ties(relay.value),
        default=None,
    )


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


def solve_window(
    first: int,
    snapshots: Sequence[Mapping[int, int]],
    l: int,
    move: Sequence[int],
    withhold: Callable[[int], int],
    ties: Ties = neg,
) -> tuple[dict[int, Published], dict[int, dict[int, int]]]:
    """The first window solved exactly (§III: "the more expensive integer linear program").

    What to publish, by slot, and what to withhold, by origin, for snapshots from slot `first` on. HiGHS finds
    how many records of a value go from their origin to a slot. They are then assigned to slots in order of
    time, which costs no more (Theorem 1) and is what relays start from. Among solutions of equal cost HiGHS
    decides by the order of its variables, which is that of `ties`.
    """
    flows = [
        (value, origin, slot)
        for origin, counts in enumerate(snapshots)
        for value in sorted(counts, key=ties)
        for slot in range(origin, len(snapshots))
    ]
    # A published record costs its move and saves its withholding: the loss of eq. 1, less a constant.
    amounts = _solve(flows, snapshots, l, [move[j - t] - withhold(v) for v, t, j in flows]) if flows else []
    origins: dict[int, list[int]] = {}
    targets: dict[int, list[int]] = {}
    for (value, origin, slot), amount in zip(flows, amounts, strict=True):
        origins.setdefault(value, []).extend([origin] * amount)
        targets.setdefault(value, []).extend([slot] * amount)
    published: dict[int, Published] = {first + slot: {} for slot in range(len(snapshots))}
    withheld = {first + slot: dict(counts) for slot, counts in enumerate(snapshots)}
    for value in sorted(origins):
        # The i-th origin goes to the i-th slot: in order of time, at no greater cost (Theorem 1).
        for origin, slot in zip(sorted(origins[value]), sorted(targets[value]), strict=True):
            _add(published[first + slot].setdefault(value, {}), first + origin, 1)
            _add(withheld[first + origin], value, -1)
    return published, withheld


def _solve(
    flows: Sequence[tuple[int, int, int]], snapshots: Sequence[Mapping[int, int]], l: int, costs: list[int]
) -> list[int]:
    """How many records make each flow of (value, origin, slot), at the least cost."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 slow to import, rarely used
    from scipy.sparse import coo_matrix  # noqa: PLC0415 slow to import, rarely used

    # No more records of a value leave their origin than arrived there.
    row_of: dict[tuple[int, int], int] = {}
    for value, origin, _ in flows:
        row_of.setdefault((value, origin), len(row_of))
    entries = [(row_of[value, origin], column, 1.0) for column, (value, origin, _) in enumerate(flows)]
    high = [snapshots[origin][value] for value, origin in row_of]
    # In every slot, l times the records of a value are at most all records.
    for slot in range(len(snapshots)):
        entering = [(column, flow[0]) for column, flow in enumerate(flows) if flow[2] == slot]
        for value in dict.fromkeys(value for _, value in entering):
            entries += [(len(high), column, l * (other == value) - 1.0) for column, other in entering]
            high.append(0)
    rows, columns, factors = zip(*entries, strict=True)
    matrix = coo_matrix((factors, (rows, columns)), shape=(len(high), len(flows))).tocsr()
    solution = milp(
        # Costs count a small unit and can be huge; the solver's tolerances suit numbers near 1.
        np.asarray(costs, float) / max(1, *map(abs, costs)),
        constraints=LinearConstraint(matrix, -np.inf, high),
        integrality=np.ones(len(flows)),
        bounds=Bounds(0, np.inf),
        options={"mip_rel_gap": 0},
    )
    if solution.x is None:
        message = f"the integer program of the first window was not solved ({len(flows)} variables)"
        raise EngineError(message, hint='use {first_window="grow"}, which needs no program')
    # Whole numbers up to the tolerance of the solver.
    return [round(amount) for amount in solution.x]
