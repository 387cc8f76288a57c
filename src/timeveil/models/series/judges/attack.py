"""Linking what is known of a person's series with published rows (Shou et al. 2013, §4.2.1).

The adversary knows values at some instants, each to within a tolerance (K_v), or the pattern (K_p), or both,
and quasi-identifiers. A row fits if its envelope meets every known value, its symbols are those that the
person's series has at the published levels, and its labels contain the quasi-identifiers. Choosing blindly,
the adversary names the right row with a chance of one in the number that fit. Anyone who knows all values
exactly can compute the pattern, so it counts as known.

Where patterns are not those of each series, one that differs proves nothing. The adversary then bets on the
rows whose pattern is nearest in shape among those whose envelope fits, and may be wrong. On the original, a
series fits if it has the known values within the tolerance, and the same symbols at the finest level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from timeveil.domain.arrays import Flags, Floats, Ints
from timeveil.errors import InputError
from timeveil.evidence.codes import align, column_of, distinct_pairs, encode
from timeveil.evidence.published import columns_of, promised
from timeveil.evidence.risk import ColumnRisk, Exposure, Posterior, Risk, column_risks
from timeveil.models.series.evidence import Evidence, Symbols, floats_of
from timeveil.models.series.judges.beside import known_sides, left_to_the_last, owned_rows, told_together
from timeveil.models.series.judges.features import bad
from timeveil.models.series.parameters import SeriesAdversary
from timeveil.symbols import positions_of, symbols_at, unit_shapes

# Pairs of a person and a row that fits to look at: some seconds' work.
_BUDGET = 20_000_000
_PILOT = 200
_EQUAL = 1e-9
_PAIRS_AT_ONCE = 100_000
_DENSE_SIDES = 4
Pairs = Iterator[tuple[Ints, Ints]]
Counts = Callable[[Ints], Ints]  # how many rows fit each of some people


@dataclass(frozen=True, slots=True, eq=False)
class SeriesBreach(Exposure):
    """An attack on a series release, and `before` the same attack on the original.

    `after` has the number of published rows that fit what is known of each person: the chance of naming the
    right one is one in that number. Where people have several series, each is looked for; any row of the
    person is right, and the number is that of rows per right one. It is 0 for people who were suppressed and,
    where patterns are not those of each series, for people about whom the adversary bets wrongly. `told` has
    per sensitive column the chance of each person's true value: the share of rows that fit and have it.
    `homogeneous` is the share of people for whom all rows that fit have the same value. `p` is k where no
    pattern is published. Numbers changed for l are read as the nearest number in the original; `copies` has
    per column with such numbers the rows that counting takes for changed, and with which chance each is.
    `people` were attacked out of `everyone`. `columns` has what each kept or sensitive column reveals by
    itself, `left`, in a release with means, how much of an envelope they leave for a value to someone who
    knows all others of its group, and `together` what all series of a person show, where people have several.
    """

    KEYS: ClassVar = (
        *("adversary", "k", "p", "people", "everyone", "before", "after"),
        *("share_above_one_in_p", "told", "homogeneous", "copies", "columns", "left", "together"),
    )

    adversary: SeriesAdversary
    k: int
    p: int
    people: int
    everyone: int
    before: Risk
    after: Risk
    told: Mapping[str, Posterior]
    homogeneous: Mapping[str, float]
    own_patterns: bool = True
    columns: Mapping[str, ColumnRisk] = field(default_factory=dict)
    copies: Mapping[str, Posterior] = field(default_factory=dict)
    left: Mapping[str, float] = field(default_factory=dict)
    together: Mapping[str, Posterior] = field(default_factory=dict)

    @property
    def unique_before(self) -> float:
        """Share of people whom nobody else in the original fits."""
        return self.before.pinned

    @property
    def unique_after(self) -> float:
        """Share of people for whom a single published row is left."""
        return self.after.pinned

    @property
    def distribution(self) -> dict[str, int]:
        """How many published rows fit: the number that each share of people does not exceed."""
        return self.after.quantiles

    @property
    def share_above_one_in_p(self) -> float:
        """Share of people whose row is named with a chance above the promised one."""
        return self.share_above(1 / self.p)


def attack(evidence: Evidence, adversary: SeriesAdversary | None = None) -> SeriesBreach:
    """Look for everyone's row in the release; the ledger shows whose series is whose."""
    evidence.progress("reading series", 0.0)
    adversary, run_of = adversary or SeriesAdversary(pattern=True), evidence.run
    matrix, published, rng = evidence.matrix, evidence.published, np.random.default_rng(adversary.seed)
    mask = known_instants(adversary, evidence.series.instants, len(matrix), rng)
    # All values, known exactly, give the pattern.
    if mask.all():
        values = "all" if isinstance(adversary.values, int) else adversary.values
        adversary = replace(adversary, values=values)
        if adversary.tolerance == 0:
            adversary = replace(adversary, pattern=True, pattern_of=None)
    # The instants whose part of the shape is known.
    shape = published.index_of(adversary.pattern_of) if adversary.pattern_of else np.arange(published.size)
    before, after = _candidates(evidence, adversary, mask, shape)
    targets = _targets(len(matrix), adversary.sample, (before, after.counts), rng)
    pairs = after.fits(targets)
    pattern_instants = np.intersect1d(published.pattern, shape)
    if adversary.pattern and len(pattern_instants) and not published.own_patterns:
        pairs = _nearest(evidence, targets, pairs, pattern_instants)
    rows, right = np.zeros(len(targets), dtype=np.int64), np.zeros(len(targets), dtype=bool)
    sensitive = columns_of(evidence.release, "sensitive")
    columns = {name: _SensitiveColumn(evidence, name, targets) for name in sensitive}
    looked_for, rows_per_own = 0, np.ones(len(targets), dtype=np.int64)
    owned = owned_rows(evidence) if evidence.release.manifest["series"].get("several") else None
    for person, run in pairs:
        # All pairs of a person are neighbours: where those of each begin.
        begins = np.flatnonzero(np.diff(person, prepend=-1))
        people = person[begins]
        looked_for += len(people)
        evidence.progress("looking for people", 0.2 + 0.8 * looked_for / len(targets))
        rows[people] = np.add.reduceat(published.rows[run], begins)
        if owned is None:
            right[people] = np.logical_or.reduceat(run == run_of[targets[person]], begins)
        else:
            own_rows = np.add.reduceat(owned(targets[person], run), begins)
            right[people], rows_per_own[people] = own_rows > 0, np.maximum(own_rows, 1)
        for column in columns.values():
            column.add(people, begins, person, run)
    weight = np.ones(len(targets))
    return SeriesBreach(
        adversary,
        evidence.k,
        evidence.least_candidates,
        people=len(targets),
        everyone=len(matrix),
        before=Risk(before(targets), weight),
        after=Risk(np.where(right, rows // rows_per_own, 0), weight),
        told={name: Posterior(c.matching / np.maximum(rows, 1), weight) for name, c in columns.items()},
        homogeneous={name: float(c.single.mean()) if len(targets) else 0.0 for name, c in columns.items()},
        own_patterns=published.own_patterns,
        columns=column_risks(evidence),
        copies={name: c.copies for name, c in columns.items() if c.copies is not None},
        left=left_to_the_last(evidence),
        together=told_together(evidence),
    )


def _candidates(
    evidence: Evidence, adversary: SeriesAdversary, mask: Flags, shape: Ints
) -> tuple[Counts, Boxes]:
    """How many series of the original fit each person, and the rows of the release as boxes."""
    matrix, published, tolerance = evidence.matrix, evidence.published, adversary.tolerance
    least, most, values = matrix - tolerance, matrix + tolerance, published.values
    before = Boxes(matrix, matrix, least, most, mask)
    after = Boxes(published.low, published.high, least[:, values], most[:, values], mask[:, values])
    exact = matrix[:, mask[0]] if len(matrix) and tolerance == 0 and (mask == mask[:1]).all() else None
    if adversary.pattern:
        level = evidence.release.manifest["parameters"]["max_level"]
        known, shown = published.features_known(shape)
        position = positions_of(matrix, published.center, published.representation)
        symbols = symbols_at(position, level).astype(np.int16)[:, known]
        before = before.with_symbols(symbols, level, position[:, known])
        exact = None if exact is None else np.hstack([exact, symbols])
        if published.own_patterns:
            columns = np.flatnonzero(np.isin(shown, known))
            letters = published.symbols[:, columns], published.levels[:, columns]
            after = after.with_symbols(*letters, position[:, shown[columns]])
    for position, low, high in known_sides(evidence):
        before = before.with_sides(position, position, position)
        after = after.with_sides(low, high, position)
        exact = None if exact is None else np.hstack([exact, position])
    if exact is None:
        return before.counts, after
    # What is known exactly, and the same of everybody, is looked up: nothing has to be searched.
    _, number, count = np.unique(exact, axis=0, return_inverse=True, return_counts=True)
    return lambda people: count[number[people]], after


def _targets(people: int, sample: int | None, counts: Iterable[Counts], rng: Generator) -> Ints:
    """Everyone, or a random sample of the requested size or of what can be afforded."""
    most = people if sample is None else min(sample, people)
    if sample is None and people > _PILOT:
        # A pilot sample shows how many pairs a person costs.
        pilot = rng.choice(people, _PILOT, replace=False)
        pairs = sum(int(count(pilot).sum()) for count in counts)
        most = min(people, max(int(_BUDGET * _PILOT / max(pairs, 1)), _PILOT))
    return np.arange(people) if most == people else np.sort(rng.choice(people, most, replace=False))


def _nearest(evidence: Evidence, targets: Ints, pairs: Pairs, pattern: Ints) -> Pairs:
    """Of the pairs of each person those whose shown shape is nearest to the person's at these instants."""
    shapes = unit_shapes(evidence.published.shapes()[:, pattern])
    original = unit_shapes(evidence.matrix[targets][:, pattern])
    for person, run in pairs:
        likeness = np.einsum("ij,ij->i", original[person], shapes[run])
        begins = np.flatnonzero(np.diff(person, prepend=-1))
        best = np.maximum.reduceat(likeness, begins)
        near = likeness >= np.repeat(best, np.diff(np.append(begins, len(person)))) - _EQUAL
        yield person[near], run[near]


class _SensitiveColumn:
    """What the rows that fit each person show of one sensitive column.

    `matching` is how many of them have the person's true value, `single` whether all have the same value.
    `copies` are the rows that counting takes for changed, in a column with numbers changed for l.
    """

    copies: Posterior | None = None

    def __init__(self, evidence: Evidence, name: str, targets: Ints) -> None:
        release, rows = evidence.release, evidence.published.rows
        original = column_of(evidence.private.original.data, name).take(pa.array(evidence.series.row))
        released = column_of(release.parts["data"], name)
        is_changed = name in release.manifest["series"]["perturbed"]
        if is_changed:
            released = _unperturbed(released, original)
        before, after = align(encode(original), encode(released))
        self._true, self._size = before.codes[targets], max(before.size, 1)
        run, value, count = distinct_pairs(np.repeat(np.arange(len(rows)), rows), after.codes, self._size)
        # An entry more, which a search past the last key reads.
        self._keys, self._counts = np.append(run * self._size + value, -1), np.append(count, 0)
        # Pairs are sorted: those of a run follow each other, its least value first.
        begins = np.searchsorted(run, np.arange(len(rows)))
        self._least, self._most = value[begins], value[np.append(begins[1:], len(run)) - 1]
        self.matching, self.single = np.zeros(len(targets)), np.zeros(len(targets), dtype=bool)
        is_exchanged = is_changed and "epsilon" not in release.manifest["parameters"]
        if is_exchanged and release.guarantee.as_dict().get("l"):
            people, most = evidence.released, rows // promised(release, "l")
            true = np.sort(evidence.run[people] * self._size + before.codes[people])
            truly = np.searchsorted(true, self._keys[:-1], "right") - np.searchsorted(true, self._keys[:-1])
            self.copies = _copies(run, value, count, np.maximum(count - truly, 0), most[run])

    def add(self, people: Ints, begins: Ints, person: Ints, run: Ints) -> None:
        """Note the values in the runs that fit some people; all runs of a person come at once."""
        key = run * self._size + self._true[person]
        entry = np.searchsorted(self._keys[:-1], key)
        count = np.where(self._keys[entry] == key, self._counts[entry], 0)
        self.matching[people] = np.add.reduceat(count, begins)
        least = np.minimum.reduceat(self._least[run], begins)
        self.single[people] = least == np.maximum.reduceat(self._most[run], begins)


def _copies(run: Ints, value: Ints, count: Ints, changed: Ints, most: Ints) -> Posterior:
    """Rows whose number is also published elsewhere, in a cell with as much of its commonest as l allows.

    Where most numbers are unique, such a row was changed, and had the commonest number of its cell before.
    """
    often = np.bincount(value, weights=count)[value]
    begins = np.flatnonzero(np.diff(run, prepend=-1))
    sizes = np.diff(np.append(begins, len(run)))
    is_top = often == np.repeat(np.maximum.reduceat(often, begins), sizes)
    is_cut = np.repeat(np.maximum.reduceat(is_top & (count == most), begins), sizes)
    rows = np.flatnonzero(is_cut & ~is_top & (often > 1))
    return Posterior(changed[rows] / count[rows], count[rows].astype(float))


def _unperturbed(released: pa.ChunkedArray, original: pa.ChunkedArray) -> pa.ChunkedArray:
    """Changed numbers as an adversary reads them: each the nearest number of the original."""
    try:
        values, numbers = floats_of(released), floats_of(original)
    # Only numbers are moved for l; anything else is compared as it is.
    except (InputError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return released
    order = np.argsort(numbers, kind="stable")
    numbers = numbers[order]
    after = np.minimum(np.searchsorted(numbers, values), len(numbers) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.abs(values - numbers[before]) <= np.abs(numbers[after] - values)
    return original.take(pa.array(order[np.where(nearer, before, after)]))


# A row is a box: an interval of values at each instant and, where patterns count, an interval of positions
# on the normal curve, which is what a symbol at its level allows. What is known of a person is an interval
# at some of these sides; the two fit where they meet at each. Nobody tries every pair: people are halved
# along the side in which they differ most, and each half goes on with only those boxes that meet any of its
# people.


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes, and of each person an interval per side of a box, with a mask of the sides that are known."""

    low: Floats
    high: Floats
    known_low: Floats
    known_high: Floats
    mask: Flags

    def with_symbols(self, symbols: Symbols, levels: Symbols | int, position: Floats) -> Boxes:
        """The same with the symbols, of which the position of each person is known."""
        # The highest position below a border: a value on it belongs to the next symbol.
        return self.with_sides(symbols / levels, np.nextafter((symbols + 1) / levels, 0.0), position)

    def with_sides(self, low: Floats, high: Floats, position: Floats) -> Boxes:
        """The same with more sides, on which the position of each person is known."""
        added = (low, high, position, position, np.ones(position.shape, dtype=bool))
        sides = (self.low, self.high, self.known_low, self.known_high, self.mask)
        return Boxes(*(np.hstack(pair) for pair in zip(sides, added, strict=True)))

    def counts(self, people: Ints) -> Ints:
        counts: Ints = np.zeros(len(people), dtype=np.int64)
        for person, _ in self.fits(people):
            counts += np.bincount(person, minlength=len(people))
        return counts

    def fits(self, people: Ints) -> Pairs:
        """Pairs of one of these people, by index, and a box that meet, in parts; all of a person together."""
        mask, known_low = self.mask[people], self.known_low[people]
        # People of whom the same sides are known are searched for together.
        _, kind = np.unique(np.packbits(mask, axis=1), axis=0, return_inverse=True)
        order = np.argsort(kind, kind="stable")
        # Halves, so that the range of numbers of any size is one.
        reach = np.ptp(known_low / 2, axis=0) if len(people) else np.ones(self.low.shape[1])
        scale = np.where(reach > 0, reach, 1.0)
        # A line per side: the search looks at one side of many boxes at a time.
        sides = (self.low, self.high, known_low, self.known_high[people])
        lines = [np.ascontiguousarray(side.T) for side in sides]
        for informed in np.split(order, np.cumsum(np.bincount(kind))[:-1]) if len(people) else ():
            informed_sides = np.flatnonzero(mask[informed[0]])
            yield from _search(informed, [line[informed_sides] for line in lines], scale[informed_sides])


def _search(people: Ints, lines: Sequence[Floats], scale: Floats) -> Pairs:
    """Halve people until few pairs are left, then try each; a line of each array is a side that is known."""
    low, high, known_low, known_high = lines
    waiting = [(people, np.arange(low.shape[1]))]
    while waiting:
        people, boxes = waiting.pop()
        least, most = known_low[:, people].min(axis=1), known_high[:, people].max(axis=1)
        # The narrowest side comes first: it rules out most boxes.
        sides = np.argsort((most - least) / scale)
        for side in sides:
            boxes = boxes[(low[side][boxes] <= most[side]) & (high[side][boxes] >= least[side])]
        if len(people) > 1 and len(people) * len(boxes) > _PAIRS_AT_ONCE:
            middle = len(people) // 2
            # The widest side is the last one: halving there separates people best.
            if len(sides):
                people = people[np.argpartition(known_low[sides[-1], people], middle)]
            waiting += [(people[:middle], boxes), (people[middle:], boxes)]
            continue
        # Every pair: at the widest sides all at once, then those that are left, side by side.
        meet = np.ones((len(people), len(boxes)), dtype=bool)
        for side in sides[::-1][:_DENSE_SIDES]:
            meet &= low[side][boxes] <= known_high[side][people, None]
            meet &= high[side][boxes] >= known_low[side][people, None]
        person, box = np.nonzero(meet)
        person, box = people[person], boxes[box]
        for side in sides[::-1][_DENSE_SIDES:]:
            fit = (low[side][box] <= known_high[side][person]) & (high[side][box] >= known_low[side][person])
            person, box = person[fit], box[fit]
        if len(person):
            yield person, box


def known_instants(adversary: SeriesAdversary, instants: Sequence[str], people: int, rng: Generator) -> Flags:
    """Of each person, the instants whose values are known."""
    mask: Flags = np.zeros((people, len(instants)), dtype=bool)
    if adversary.values == "all":
        mask[:] = True
    elif isinstance(adversary.values, int):
        order = np.argsort(rng.random(mask.shape), axis=1)
        np.put_along_axis(mask, order[:, : min(adversary.values, len(instants))], values=True, axis=1)
    elif adversary.values is not None:
        unknown = [name for name in adversary.values if name not in instants]
        if unknown:
            names = f"{', '.join(instants[:12])}{', ...' if len(instants) > 12 else ''}"
            raise bad(f"the series have no instant `{unknown[0]}`", f"use {names}")
        mask[:, [instants.index(name) for name in adversary.values]] = True
    return mask
