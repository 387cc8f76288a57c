"""What a stream release lost against the original, compared with publishing without moving records.

Without moving, a publisher withholds more, or merges snapshots. Both are computed from the original values
alone, each with the least that keeps its slots l-eligible: no value held by more than 1 in l records. Both
are then put into buckets, as many per slot as the release has for as many records, so that moving is
compared, not bucketing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from timeveil.domain.arrays import Flags, Floats, Ints
from timeveil.domain.judgement import Losses
from timeveil.evidence.codes import Coded, distinct_pairs, mismatch, ranked
from timeveil.evidence.risk import shares_by_value
from timeveil.models.stream.evidence import Evidence, commonest, ineligible_slots, number_of_pairs
from timeveil.models.stream.judges.query import Publication, chances, draw_windows, relative_errors

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
class GroupLoss:
    """Lowest and highest share withheld and moved of the records with one value of a column.

    Of its values, `groups` have at least 20 records; of fewer, a share says little.
    """

    column: str
    groups: int
    suppressed: tuple[float, float]
    moved: tuple[float, float]


@dataclass(frozen=True, slots=True)
class StreamLoss(Losses):
    """What a stream release lost, in plain numbers.

    Of `rows` + `suppressed` records, `suppressed` were withheld and `moved` were published later than they
    happened, by `mean_distance` slots on average and `largest_distance` at most. `information_loss` is the
    cost of every move plus the cost of every withheld record. `slots` had records; `slots_not_eligible` of
    them could not have been published unchanged. `suppress_only` is the number of records that would be
    withheld if none were moved, `merge_width` the average number of slots in a merge of snapshots, 0 where no
    merge is possible. `largest_share` is the share of the most common value overall: above 1/l, no window
    helps. `by_group` has the shares by value of each quasi-identifier and of the sensitive column, where two
    values or more occur often enough. `packets` is about closed packets, where the release has them. `bits`
    is what a published record loses on average, by column: of the sensitive column -log2 P(value | bucket),
    of a generalised quasi-identifier -log2 P(value | label).
    """

    ALSO: ClassVar = ("suppressed_share", "moved_share", "bits_per_row")

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
    by_group: tuple[GroupLoss, ...] = ()
    packets: PacketLoss | None = None
    bits: Mapping[str, float] = field(default_factory=dict)

    @property
    def moved_share(self) -> float:
        """Share of all records that were moved."""
        return self.moved / max(self.rows + self.suppressed, 1)

    def as_dict(self) -> dict[str, Any]:
        """The loss as plain data; packets only where there are some."""
        return {
            name: number for name, number in Losses.as_dict(self).items() if name != "packets" or self.packets
        }


def measure(evidence: Evidence, *, windows: int, seed: int) -> StreamLoss:
    """Compare a stream release with the original records in its ledger."""
    evidence.progress("following records", 0.1)
    journeys, rng = evidence.linked, np.random.default_rng(seed)
    evidence.progress("comparing with other ways", 0.3)
    ways = _Ways(evidence, rng)
    distance = journeys.distance[journeys.published]
    moved = distance[distance > 0]
    slot, value = ways.truth.begin, ways.truth.value
    counts = np.bincount(value, minlength=1)
    return StreamLoss(
        rows=len(distance),
        slots=len(np.unique(slot)),
        slots_not_eligible=ineligible_slots(slot, value, evidence.l),
        suppressed=len(journeys.slot) - len(distance),
        moved=len(moved),
        mean_distance=float(moved.mean()) if len(moved) else 0.0,
        largest_distance=int(moved.max(initial=0)),
        information_loss=information_loss(evidence),
        suppress_only=len(journeys.slot) - len(ways.suppressing.value),
        merge_width=ways.merge_width,
        largest_share=float(counts.max() / max(counts.sum(), 1)),
        window_errors=tuple(ways.errors(length, windows, rng) for length in LENGTHS),
        by_group=tuple(_by_group(evidence)),
        packets=_measure_packets(evidence),
        bits=bits_lost(evidence),
    )


def _by_group(evidence: Evidence) -> Iterator[GroupLoss]:
    """The shares withheld and moved, by column; records without a time, a person or a value do not count."""
    journeys, roles = evidence.linked, evidence.private.original.roles
    complete = journeys.complete
    fates = ~journeys.published[complete], journeys.distance[complete] > 0
    columns = {name: evidence.original_column(name) for name in roles.quasi_columns}
    for name, column in {**columns, roles.sensitive[0]: journeys.value}.items():
        shares = [shares_by_value(column.codes[complete], fate) for fate in fates]
        if len(shares[0]) > 1:
            suppressed, moved = ((float(part.min()), float(part.max())) for part in shares)
            yield GroupLoss(name, len(shares[0]), suppressed, moved)


class _Ways:
    """The original and three ways to publish it, with slots counted from the first that has a record."""

    def __init__(self, evidence: Evidence, rng: np.random.Generator) -> None:
        journeys, l = evidence.linked, evidence.l
        self._value, self._exact = journeys.value.codes, not evidence.grouped
        names = evidence.private.original.roles.quasi_columns
        self._quasi = [evidence.original_column(name).codes for name in names]
        rows = np.flatnonzero(journeys.complete)
        first = int(journeys.origin[rows].min()) if len(rows) else 0
        slot, value = journeys.origin[rows] - first, self._value[rows]
        self.slots = int(slot.max(initial=-1)) + 1
        quasi = [codes[rows] for codes in self._quasi]
        self.truth = Publication(slot, slot + 1, np.full(len(rows), -1), value, quasi)
        # Nothing moves: each person once in a slot, and no value too often.
        once = np.flatnonzero(random_ranks(rng, number_of_pairs(slot, journeys.person[rows])[0]) == 0)
        stay = once[suppress_only(slot[once], value[once], l, rng)]
        bucket = bucket_numbers(slot[stay], value[stay], l, rng)
        self.suppressing = self._publication(rows[stay], slot[stay], slot[stay] + 1, bucket)
        # Nothing is withheld: neighbouring slots are merged.
        begins, ends = merged(slot, value, l)
        self.merging: Publication | None = None
        self.merge_width = float((ends - begins).mean()) if len(begins) else 0.0
        if len(begins):
            merge = np.searchsorted(begins, slot, side="right") - 1
            bucket = bucket_numbers(merge, value, l, rng)
            self.merging = self._publication(rows, begins[merge], ends[merge], bucket)
        published = np.flatnonzero(journeys.published)
        slot = journeys.slot[published] - first
        bucket, _ = number_of_pairs(slot, journeys.bucket[published])
        self.release = self._publication(published, slot, slot + 1, bucket)
        if evidence.generalized:
            label_codes = [evidence.labels[name].codes[published] for name in names]
            value, alone = self._value[published], np.full(len(published), -1)
            expected = [chances(evidence, name) for name in names]
            self.release = Publication(slot, slot + 1, alone, value, label_codes, chances=expected)
        elif evidence.alone.any():
            # Counterfeits share the buckets of the records that are alone with them.
            alone_with, invented = evidence.counterfeits
            position, nothing = np.searchsorted(published, alone_with), np.full(len(invented), -1)
            slot, bucket = np.append(slot, slot[position]), np.append(bucket, bucket[position])
            quasi = [np.append(codes[published], nothing) for codes in self._quasi]
            value = np.append(self._value[published], invented)
            self.release = Publication(slot, slot + 1, bucket, value, quasi, counterfeits=len(invented))

    def errors(self, length: int, number: int, rng: np.random.Generator) -> WindowError:
        if not (len(self.truth.value) and number):
            return WindowError(length, 0, 0.0, 0.0, 0.0, 0.0, None, None)
        windows, errors = draw_windows(self.truth, self.slots, length, number, rng), list[Any]()
        for way in (self.release, self.suppressing, self.merging):
            error = None if way is None else relative_errors(self.truth, way, windows, self.slots)
            errors += (None, None) if error is None else (float(error.mean()), float(np.median(error)))
        return WindowError(length, number, *errors)

    def _publication(self, rows: Ints, begin: Ints, end: Ints, bucket: Ints) -> Publication:
        group = np.full(len(rows), -1) if self._exact else bucket
        return Publication(begin, end, group, self._value[rows], [codes[rows] for codes in self._quasi])


def bits_lost(evidence: Evidence) -> dict[str, float]:
    """What a published record loses on average, in bits, by column."""
    journeys, published = evidence.linked, evidence.linked.published
    if not (evidence.grouped and published.any()):
        return {}
    if evidence.bucketed:
        bucket, _ = number_of_pairs(journeys.slot[published], journeys.bucket[published])
        pair, _ = number_of_pairs(bucket, journeys.value.codes[published])
        share = np.bincount(pair)[pair] / np.bincount(bucket)[bucket]
        return {evidence.sensitive_column: float(-np.log2(share).mean())}
    lost = {}
    for name, labels in evidence.labels.items():
        value, label = evidence.original_column(name).codes, Coded(labels.codes[published], labels.values)
        lost[name] = evidence.bits_of(name, value[published], label, value[journeys.complete])
    return lost


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
    usual = float(stated) if isinstance(stated, int | float) else usual
    named = stated if isinstance(stated, Mapping) else {}
    values = journeys.value.values.to_pylist()
    per_value = np.array([float(named.get(str(value), usual)) for value in values])
    withheld = ~journeys.published & journeys.complete
    return float(costs[distance].sum() + per_value[journeys.value.codes[withheld]].sum())


def move_costs(stated: str | Sequence[float], furthest: int) -> Floats:
    """The cost of moving by 0, 1, … `furthest` slots; a list continues with its last step."""
    if isinstance(stated, str):
        return np.arange(furthest + 1, dtype=np.float64) ** {"linear": 1, "quadratic": 2}[stated]
    costs = np.array(stated, dtype=np.float64)
    step = costs[-1] - costs[-2] if len(costs) > 1 else 1.0
    return np.append(costs, costs[-1] + step * np.arange(1, furthest + 2 - len(costs)))


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


def least_leaving(slot: Ints, value: Ints, l: int, promise: int) -> int:
    """The number of records that must leave their slots, by the counts of each slot.

    The records that stay in a slot must be l-eligible, and no value may be held by more than 1 in q of those
    that leave. If a slot lacks e = l * (records of its commonest value) - (all its records), at least
    e * q / (l - q) must leave: of h that leave at most h / q have that value, so that
    l * (commonest - h / q) <= all - h. If any leave, at least q do.

    A slot of four records, two of one value, lacks 2 for l = 3; with packets of two all four must leave.
    """
    _, size, most = commonest(slot, value)
    # `packet` is q, `lack` is e of the bound above.
    packet = np.minimum(promise, size // most)
    lack = np.maximum(l * most - size, 0)
    least = np.maximum(np.ceil(lack * packet / (l - packet)), packet)
    return int(least[lack > 0].sum())


def random_ranks(rng: np.random.Generator, group: Ints, *columns: Ints) -> Ints:
    """Ranks of the records of each group, by the columns and then at random."""
    order = np.lexsort((rng.random(len(group)), *columns, group))
    ordered, ranks = group[order], np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    return ranks


def suppress_only(slot: Ints, value: Ints, l: int, rng: np.random.Generator) -> Flags:
    """The records that stay if every slot withholds as few as it can, drawn at random (Wang et al., §III)."""
    _, index = ranked(slot)
    rank = random_ranks(rng, number_of_pairs(index, value)[0])
    # A level of L keeps the records ranked below it, and needs l * L. Ever fewer are added, so that the
    # levels with enough records are the first ones: their number is the largest.
    owner, level, added = distinct_pairs(index, rank, len(rank))
    total = added.cumsum()
    of_slot = total - (total - added)[np.searchsorted(owner, owner)]
    limit = np.bincount(owner, of_slot >= l * (level + 1))
    return np.asarray(rank < limit[index])


def bucket_numbers(group: Ints, value: Ints, l: int, rng: np.random.Generator) -> Ints:
    """The bucket of each record; `group` is its slot or merge, which must be l-eligible.

    n records make n // l buckets, as in Anatomy (Xiao and Tao 2006): records are dealt out by value, so that
    a bucket holds a value at most once and has at least l records. Which record of a value goes where is
    drawn at random.
    """
    _, index = ranked(group)
    number = np.bincount(index) // l
    # Dealt out in turn: the records of a value are neighbours, so they go to different buckets.
    turn = random_ranks(rng, index, value) % number[index]
    return np.asarray((np.cumsum(number) - number)[index] + turn)


def merged(slot: Ints, value: Ints, l: int) -> tuple[Ints, Ints]:
    """Merge slots with those that follow until they are l-eligible: where each merge begins and ends.

    What remains at the end joins the merge before, or those before that. If not even all slots together are
    eligible, there is no merge.
    """
    slots, values = int(slot.max(initial=-1)) + 1, int(value.max(initial=-1)) + 1
    owner, kind, often = distinct_pairs(slot, value, values)
    begins, total, borders = np.searchsorted(owner, np.arange(slots + 1)), np.zeros(values, np.int64), [0]

    def is_eligible() -> bool:
        return bool(total.max(initial=0) * l <= total.sum())

    for number in range(slots):
        entries = slice(begins[number], begins[number + 1])
        total[kind[entries]] += often[entries]
        if is_eligible():
            borders.append(number + 1)
            total[:] = 0
    if borders[-1] < slots:
        # Take back merges from the end until what remains is eligible together with them.
        while len(borders) > 1 and not is_eligible():
            entries = slice(begins[borders[-2]], begins[borders[-1]])
            np.add.at(total, kind[entries], often[entries])
            borders.pop()
        borders = [*borders, slots] if is_eligible() else []
    return np.array(borders[:-1], np.int64), np.array(borders[1:], np.int64)
