"""What a stream release lost against the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.evidence.codes import Integers, column_of, encode, fold
from timeveil.evidence.published import mismatch, promised
from timeveil.models.stream.judges.alternatives import Snapshots, buckets_of, merged, once_each, suppress_only
from timeveil.models.stream.judges.buckets import bucketed
from timeveil.models.stream.judges.journeys import Journeys, follow
from timeveil.models.stream.judges.measure_packets import PacketLoss, measure_packets
from timeveil.models.stream.judges.workload import Shown, Windows, draw, relative_errors, shown

LENGTHS = (1, 5, 20)
NAMED = {"linear": lambda d: d, "quadratic": lambda d: d * d}


@dataclass(frozen=True, slots=True)
class WindowError:
    """Relative errors of random window counts over `length` slots, by way of publishing.

    `release` is this one. `suppress_only` is what a window of one slot gives: nothing is moved, and every
    slot withholds what must not stay. `merge` merges slots until they are l-eligible (None where not even
    all slots together are). Both are put into buckets of the same kind as the release, or told without if
    that has none. Each is the mean over `windows` windows, and `*_median` the median.
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
class StreamLoss:
    """What a stream release lost, in plain numbers.

    Of `rows` + `suppressed` records, `suppressed` were withheld and `moved` were published later than they
    happened, by `mean_distance` slots on average and `largest_distance` at most. `information_loss` is
    what this cost: the cost of every move plus the cost of every record withheld. `slots` had records, of
    which `slots_not_eligible` could not have been published as they were. `suppress_only` is how many
    records would be withheld if none were moved; `merge_width` how many slots a merge of snapshots takes on
    average, 0 where none is possible. `largest_share` is the share of the most common value overall:
    above 1/l, no window helps. `packets` is about closed packets, where the release has them.
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
        """The same as data."""
        shares = {"suppressed_share": self.suppressed_share, "moved_share": self.moved_share}
        told = {**asdict(self), **shares, "window_errors": [asdict(found) for found in self.window_errors]}
        return told if self.packets is not None else {n: one for n, one in told.items() if n != "packets"}


def measure_stream(release: Release, ledger: Ledger, windows: int, seed: int) -> StreamLoss:
    """Compare a stream release with the original records that its ledger holds."""
    journeys, rng = follow(release, ledger), np.random.default_rng(seed)
    l = promised(release, "l")
    ways = _Ways(release, ledger, journeys, l, rng)
    distance = journeys.distance[journeys.published]
    moved = distance[distance > 0]
    counts = np.bincount(ways.snapshots.value, minlength=1)
    return StreamLoss(
        rows=len(distance),
        slots=len(np.unique(ways.snapshots.slot)),
        slots_not_eligible=ways.snapshots.ineligible(l),
        suppressed=len(journeys.slot) - len(distance),
        moved=len(moved),
        mean_distance=float(moved.mean()) if len(moved) else 0.0,
        largest_distance=int(moved.max(initial=0)),
        information_loss=information_loss(release, ledger, journeys),
        suppress_only=len(journeys.slot) - len(ways.alone.value),
        merge_width=ways.merge_width,
        largest_share=float(counts.max() / max(counts.sum(), 1)),
        window_errors=tuple(ways.errors(length, windows, rng) for length in LENGTHS),
        packets=measure_packets(release, ledger, journeys),
    )


class _Ways:
    """The original and three ways to publish it, on slots counted from the first that has a record."""

    def __init__(
        self,
        release: Release,
        ledger: Ledger,
        journeys: Journeys,
        l: int,
        rng: np.random.Generator,
    ) -> None:
        whole, names = journeys.whole, ledger.original.roles.quasi_columns
        first = int(journeys.origin[whole].min()) if whole.any() else 0
        last = int(journeys.origin[whole].max()) if whole.any() else -1
        self._quasi = tuple(encode(column_of(ledger.original.data, name)).codes for name in names)
        self._value, self._exact = journeys.value.codes, not bucketed(release)
        slot = journeys.origin - first
        self.slots = last - first + 1
        self.snapshots = Snapshots(slot[whole], self._value[whole], self.slots, journeys.value.size)
        rows = np.flatnonzero(whole)
        self.truth = self._shown(rows, slot[rows], slot[rows] + 1, None)
        kept = self._kept(rows, slot, journeys.person, l, rng)
        bucket = buckets_of(slot[kept], self._value[kept], l, rng)
        self.alone = self._shown(kept, slot[kept], slot[kept] + 1, bucket)
        self.merge, self.merge_width = self._merged(rows, slot, l, rng)
        there = np.flatnonzero(journeys.published)
        place = journeys.slot[there] - first
        group, _ = fold([_coded(place), _coded(journeys.bucket[there])], len(there))
        self.release = self._shown(there, place, place + 1, group)

    def errors(self, length: int, number: int, rng: np.random.Generator) -> WindowError:
        """Errors of random windows of one length."""
        drawn = None
        if len(self.truth.value) and number:
            drawn = draw(self.truth, self.slots, length, number, rng)
        if drawn is None:
            return WindowError(length, 0, 0.0, 0.0, 0.0, 0.0, None, None)
        release, alone = (self._error(way, drawn) for way in (self.release, self.alone))
        merge = (None, None) if self.merge is None else self._error(self.merge, drawn)
        return WindowError(length, number, *release, *alone, *merge)

    def _error(self, way: Shown, drawn: Windows) -> tuple[float, float]:
        error = relative_errors(self.truth, way, drawn, self.slots)
        return float(error.mean()), float(np.median(error))

    def _kept(
        self,
        rows: Integers,
        slot: Integers,
        person: Integers,
        l: int,
        rng: np.random.Generator,
    ) -> Integers:
        """Rows that a window of one slot publishes: everybody once in a slot, and no value too often."""
        alone = rows[once_each(slot[rows], person[rows], rng)]
        snapshots = Snapshots(slot[alone], self._value[alone], self.slots, self.snapshots.values)
        return np.asarray(alone[suppress_only(snapshots, l, rng)])

    def _merged(
        self,
        rows: Integers,
        slot: Integers,
        l: int,
        rng: np.random.Generator,
    ) -> tuple[Shown | None, float]:
        begins, ends = merged(self.snapshots, l)
        if not len(begins):
            return None, 0.0
        place = np.searchsorted(begins, slot[rows], side="right") - 1
        bucket = buckets_of(place, self._value[rows], l, rng)
        return self._shown(rows, begins[place], ends[place], bucket), float((ends - begins).mean())

    def _shown(self, rows: Integers, begin: Integers, end: Integers, group: Integers | None) -> Shown:
        told = np.full(len(rows), -1) if self._exact or group is None else group
        return shown(begin, end, told, self._value[rows], tuple(codes[rows] for codes in self._quasi))


def information_loss(release: Release, ledger: Ledger, journeys: Journeys) -> float:
    """Costs of moves plus costs of withholding (Wang et al. 2010, eq. 1); rows with a gap cost nothing.

    Costs of moves stand in the manifest. What it cost to withhold is private and stands in the ledger: a
    number, or numbers by value, where a value that is not named costs as much as moving by a window.
    """
    parameters = release.manifest["parameters"]
    distance = journeys.distance[journeys.published]
    if distance.min(initial=0) < 0:
        raise mismatch("the ledger places a record before its slot")
    costs = move_costs(parameters["move_cost"], max(parameters["window"], int(distance.max(initial=0))))
    stated = ledger.facts.get("withhold_cost")
    usual = costs[parameters["window"]]
    per_value = np.full(journeys.value.size, float(stated) if isinstance(stated, int | float) else usual)
    if isinstance(stated, Mapping):
        named = [stated.get(str(value), stated.get(value)) for value in journeys.value.values.to_pylist()]
        per_value = np.array([usual if cost is None else float(cost) for cost in named])
    withheld = ~journeys.published & journeys.whole
    return float(costs[distance].sum() + per_value[journeys.value.codes[withheld]].sum())


def move_costs(stated: str | Sequence[float], furthest: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The cost of moving by 0, 1, … `furthest` slots; a list goes on with its last step.

    >>> move_costs("quadratic", 3).tolist(), move_costs([0, 1, 3], 4).tolist()
    ([0.0, 1.0, 4.0, 9.0], [0.0, 1.0, 3.0, 5.0, 7.0])
    """
    if isinstance(stated, str):
        return np.array([NAMED[stated](distance) for distance in range(furthest + 1)], dtype=np.float64)
    costs = [float(cost) for cost in stated]
    while len(costs) <= furthest:
        costs.append(costs[-1] + (costs[-1] - costs[-2] if len(costs) > 1 else 1.0))
    return np.array(costs)


def _coded(numbers: Integers) -> tuple[Integers, int]:
    values, codes = np.unique(numbers, return_inverse=True)
    return codes.ravel(), len(values)
