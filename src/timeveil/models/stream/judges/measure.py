"""What a stream release lost against the original, compared with publishing without moving records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from timeveil.domain.judgement import as_dict
from timeveil.evidence.codes import Integers, fold
from timeveil.evidence.published import mismatch
from timeveil.evidence.risk import Floats
from timeveil.models.stream.evidence import Evidence, commonest, least_packet_sizes
from timeveil.models.stream.judges.alternatives import (
    Publication,
    Snapshots,
    Windows,
    bucket_numbers,
    draw_windows,
    merged,
    once_each,
    publication,
    relative_errors,
    suppress_only,
)

LENGTHS = (1, 5, 20)


@dataclass(frozen=True, slots=True)
class WindowError:
    """Relative errors of random window counts over `length` slots, by way of publishing.

    `release` is this one. `suppress_only` is a window of one slot: nothing is moved, and every slot withholds
    what must not stay. `merge` merges slots until they are l-eligible (None where not even all slots together
    are). Both are put into buckets like the release's, or into none if it has none. Each is the mean over
    `windows` windows, and `*_median` the median.
    """

    length: int
    windows: int
    release: float
    release_median: float
    suppress_only: float
    suppress_only_median: float
    merge: float | None
    merge_median: float | None


@dataclass(frozen=True, slots=True)
class PacketLoss:
    """The packets of a stream release, in plain numbers.

    There are `packets`, with `mean_size` records on average and at least `smallest`; `records_below` are in
    packets smaller than promised, because their slot's commonest value leaves no room for more. `left`
    records left their slot, moved or withheld; by the counts of each slot alone at least `least` must.
    """

    packets: int
    mean_size: float
    smallest: int
    records_below: int
    left: int
    least: int


@dataclass(frozen=True, slots=True)
class StreamLoss:
    """What a stream release lost, in plain numbers.

    Of `rows` + `suppressed` records, `suppressed` were withheld and `moved` were published later than they
    happened, by `mean_distance` slots on average and `largest_distance` at most. `information_loss` is the
    cost of every move plus the cost of every withheld record. `slots` had records; `slots_not_eligible` of
    them could not have been published unchanged. `suppress_only` is the number of records that would be
    withheld if none were moved, `merge_width` the average number of slots in a merge of snapshots, 0 where no
    merge is possible. `largest_share` is the share of the most common value overall: above 1/l, no window
    helps. `packets` is about closed packets, where the release has them.
    """

    rows: int
    slots: int
    slots_not_eligible: int
    suppressed: int
    moved: int
    mean_distance: float
    largest_distance: int
    information_loss: float
    suppress_only: int
    merge_width: float
    largest_share: float
    window_errors: tuple[WindowError, ...]
    packets: PacketLoss | None = None

    @property
    def suppressed_share(self) -> float:
        """Share of all records that were withheld."""
        return self.suppressed / max(self.rows + self.suppressed, 1)

    @property
    def moved_share(self) -> float:
        """Share of all records that were moved."""
        return self.moved / max(self.rows + self.suppressed, 1)

    def as_dict(self) -> dict[str, Any]:
        """The loss as plain data; packets only where there are some."""
        numbers = as_dict(self)
        if self.packets is None:
            del numbers["packets"]
        return {**numbers, "suppressed_share": self.suppressed_share, "moved_share": self.moved_share}


def measure(evidence: Evidence, *, windows: int, seed: int) -> StreamLoss:
    """Compare a stream release with the original records in its ledger."""
    journeys, rng = evidence.linked, np.random.default_rng(seed)
    ways = _Ways(evidence, rng)
    distance = journeys.distance[journeys.published]
    moved = distance[distance > 0]
    counts = np.bincount(ways.snapshots.value, minlength=1)
    return StreamLoss(
        rows=len(distance),
        slots=len(np.unique(ways.snapshots.slot)),
        slots_not_eligible=ways.snapshots.ineligible(evidence.l),
        suppressed=len(journeys.slot) - len(distance),
        moved=len(moved),
        mean_distance=float(moved.mean()) if len(moved) else 0.0,
        largest_distance=int(moved.max(initial=0)),
        information_loss=information_loss(evidence),
        suppress_only=len(journeys.slot) - len(ways.suppressing.value),
        merge_width=ways.merge_width,
        largest_share=float(counts.max() / max(counts.sum(), 1)),
        window_errors=tuple(ways.errors(length, windows, rng) for length in LENGTHS),
        packets=_measure_packets(evidence),
    )


class _Ways:
    """The original and three ways to publish it, with slots counted from the first that has a record."""

    def __init__(self, evidence: Evidence, rng: np.random.Generator) -> None:
        journeys, l = evidence.linked, evidence.l
        self._value, self._exact = journeys.value.codes, not evidence.bucketed
        names = evidence.private.original.roles.quasi_columns
        self._quasi = tuple(evidence.original(name).codes for name in names)
        rows = np.flatnonzero(journeys.complete)
        first = int(journeys.origin[rows].min()) if len(rows) else 0
        slot, value = journeys.origin[rows] - first, self._value[rows]
        self.slots = int(slot.max(initial=-1)) + 1
        self.snapshots = Snapshots(slot, value, self.slots, journeys.value.size)
        self.truth = self._publication(rows, slot, slot + 1, None)
        # Nothing moves: each person once in a slot, and no value too often.
        once = once_each(slot, journeys.person[rows], rng)
        single = Snapshots(slot[once], value[once], self.slots, self.snapshots.values)
        stay = np.flatnonzero(once)[suppress_only(single, l, rng)]
        bucket = bucket_numbers(slot[stay], value[stay], l, rng)
        self.suppressing = self._publication(rows[stay], slot[stay], slot[stay] + 1, bucket)
        # Nothing is withheld: neighbouring slots are merged.
        begins, ends = merged(self.snapshots, l)
        self.merging: Publication | None = None
        self.merge_width = float((ends - begins).mean()) if len(begins) else 0.0
        if len(begins):
            merge = np.searchsorted(begins, slot, side="right") - 1
            bucket = bucket_numbers(merge, value, l, rng)
            self.merging = self._publication(rows, begins[merge], ends[merge], bucket)
        published = np.flatnonzero(journeys.published)
        slot, columns = journeys.slot[published] - first, []
        for numbers in (slot, journeys.bucket[published]):
            values, codes = np.unique(numbers, return_inverse=True)
            columns.append((codes.ravel(), len(values)))
        self.release = self._publication(published, slot, slot + 1, fold(columns, len(published))[0])

    def errors(self, length: int, number: int, rng: np.random.Generator) -> WindowError:
        """Errors of random windows of one length."""
        if not (len(self.truth.value) and number):
            return WindowError(length, 0, 0.0, 0.0, 0.0, 0.0, None, None)
        windows = draw_windows(self.truth, self.slots, length, number, rng)
        release, suppressing = (self._error(way, windows) for way in (self.release, self.suppressing))
        merging = (None, None) if self.merging is None else self._error(self.merging, windows)
        return WindowError(length, number, *release, *suppressing, *merging)

    def _error(self, way: Publication, windows: Windows) -> tuple[float, float]:
        error = relative_errors(self.truth, way, windows, self.slots)
        return float(error.mean()), float(np.median(error))

    def _publication(
        self, rows: Integers, begin: Integers, end: Integers, bucket: Integers | None
    ) -> Publication:
        group = np.full(len(rows), -1) if self._exact or bucket is None else bucket
        return publication(begin, end, group, self._value[rows], tuple(codes[rows] for codes in self._quasi))


def information_loss(evidence: Evidence) -> float:
    """Costs of moves plus costs of withholding (Wang et al. 2010, eq. 1); incomplete rows cost nothing.

    Costs of moves are in the manifest. The cost of withholding is private and in the ledger: a number, or
    numbers by value, where a value that is not named costs as much as moving by a window.
    """
    journeys, parameters = evidence.linked, evidence.release.manifest["parameters"]
    distance = journeys.distance[journeys.published]
    if distance.min(initial=0) < 0:
        raise mismatch("the ledger places a record before its slot")
    costs = move_costs(parameters["move_cost"], max(parameters["window"], int(distance.max(initial=0))))
    stated, usual = evidence.private.facts.get("withhold_cost"), costs[parameters["window"]]
    per_value = np.full(journeys.value.size, float(stated) if isinstance(stated, int | float) else usual)
    if isinstance(stated, Mapping):
        named = [stated.get(str(value), stated.get(value)) for value in journeys.value.values.to_pylist()]
        per_value = np.array([usual if cost is None else float(cost) for cost in named])
    withheld = ~journeys.published & journeys.complete
    return float(costs[distance].sum() + per_value[journeys.value.codes[withheld]].sum())


def move_costs(stated: str | Sequence[float], furthest: int) -> Floats:
    """The cost of moving by 0, 1, … `furthest` slots; a list continues with its last step.

    >>> move_costs("quadratic", 3).tolist(), move_costs([0, 1, 3], 4).tolist()
    ([0.0, 1.0, 4.0, 9.0], [0.0, 1.0, 3.0, 5.0, 7.0])
    """
    if isinstance(stated, str):
        return np.arange(furthest + 1, dtype=np.float64) ** {"linear": 1, "quadratic": 2}[stated]
    costs = [float(cost) for cost in stated]
    while len(costs) <= furthest:
        costs.append(costs[-1] + (costs[-1] - costs[-2] if len(costs) > 1 else 1.0))
    return np.array(costs)


def _measure_packets(evidence: Evidence) -> PacketLoss | None:
    """The packets; None where none were promised."""
    journeys, packets, promise = evidence.linked, evidence.packets, evidence.true_slot
    if packets is None or promise is None:
        return None
    complete = journeys.complete
    _, index, size = np.unique(packets[complete], return_inverse=True, return_counts=True)
    stayed = journeys.published & (journeys.distance == 0)
    origin, value = journeys.origin[complete], journeys.value.codes[complete]
    return PacketLoss(
        packets=len(size),
        mean_size=float(size.mean()) if len(size) else 0.0,
        smallest=int(size.min(initial=len(origin))),
        records_below=int((size[index.ravel()] < promise).sum()),
        left=int((complete & ~stayed).sum()),
        least=least_leaving(origin, value, evidence.l, promise),
    )


def least_leaving(slot: Integers, value: Integers, l: int, promise: int) -> int:
    """The number of records that must leave their slots, by the counts of each slot.

    The records that stay in a slot must be l-eligible, and no value may be held by more than 1 in q of those
    that leave. If a slot lacks e = l * (records of its commonest value) - (all its records), at least
    e * q / (l - q) must leave: of h that leave at most h / q have that value, so that
    l * (commonest - h / q) <= all - h. If any leave, at least q do.

    A slot of four records, two of one value, lacks 2 for l = 3; with packets of two all four must leave.

    >>> least_leaving(np.zeros(4, np.int64), np.array([0, 0, 1, 2]), 3, 2)
    4
    """
    index, size, most = commonest(slot, value)
    packet = np.ones(len(size), dtype=np.int64)
    packet[index] = least_packet_sizes(slot, value, promise)
    # `packet` is q, `lack` is e of the bound above.
    lack = np.maximum(l * most - size, 0)
    least = np.maximum(np.ceil(lack * packet / (l - packet)), packet)
    return int(least[lack > 0].sum())
