"""Linking what is known of a person's series with published rows (Shou et al. 2013, §4.2.1).

The adversary knows values at some instants, each to within a tolerance (K_v), or the pattern (K_p), or both.
A row fits if its envelope meets every known value, and if at every instant its symbol is the one that the
person's own series has at the published level. Sets of rows are exact, with their true sizes, where the paper
counts P per group. Choosing one blindly, the adversary names the right row with a chance of one in their
number. Whoever knows all values exactly works the pattern out, so it counts as known.

Where patterns are not each record's own, one that differs says nothing for sure. The adversary then bets on
the rows whose pattern is nearest in shape among those whose envelope fits, and may be wrong.

On the original, a series fits if it has the known values within the tolerance, and the same symbols at the
finest level there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from timeveil.domain.ledger import Ledger
from timeveil.domain.release import Release
from timeveil.errors import InputError
from timeveil.evidence.codes import Integers, align, column_of, distinct_pairs, encode
from timeveil.evidence.published import columns_of, promised
from timeveil.evidence.risk import Posterior, Risk
from timeveil.models.series.judges.adversary import SeriesAdversary
from timeveil.models.series.judges.boxes import Floats, Pairs
from timeveil.models.series.judges.breach import SeriesBreach
from timeveil.models.series.judges.published import Published
from timeveil.models.series.judges.records import records_of
from timeveil.models.series.judges.scene import original_side, release_side
from timeveil.reading.collection import Collection
from timeveil.reading.numbers import numbers
from timeveil.symbols.shape import unit_shapes

# Pairs of a person and rows that fit to look at: some seconds' work.
_BUDGET = 20_000_000
_PILOT = 200
_EQUAL = 1e-9


def attack_series(release: Release, ledger: Ledger, adversary: SeriesAdversary) -> SeriesBreach:
    """Look for everyone's row in the release; the ledger tells whose series is whose."""
    parameters, records = release.manifest["parameters"], records_of(release, ledger)
    collection, published = records.collection, records.published
    rng = np.random.default_rng(adversary.seed)
    known = adversary.known(collection.instants, collection.size, rng)
    if isinstance(adversary.values, int) and known.all():
        adversary = replace(adversary, values="all")  # however many more were asked for
    if adversary.tolerance == 0 and known.all():
        adversary = replace(adversary, pattern=True)
    before = original_side(collection, adversary, known, parameters["max_level"], published.center)
    after = release_side(published, collection, adversary, known)
    shapes = _shapes(published, collection) if adversary.pattern and not published.own else None

    def in_release(people: Integers) -> Pairs:
        found = after.fits(people)
        return found if shapes is None else (shapes.nearest(people, *pairs) for pairs in found)

    targets = _targets(collection.size, (before.numbers, after.numbers), adversary, rng)
    tally = _Tally(release, ledger, collection, published, targets)
    for pairs in in_release(targets):
        tally.add(*pairs)
    weight = np.ones(len(targets))
    return SeriesBreach(
        adversary,
        promised(release, "k"),
        promised(release, "p"),
        len(targets),
        collection.size,
        Risk(before.numbers(targets), weight),
        Risk(np.where(tally.right, tally.rows, 0), weight),
        {name: Posterior(column.told, weight) for name, column in tally.columns.items()},
        {name: column.homogeneous for name, column in tally.columns.items()},
        published.own,
    )


def _targets(
    people: int,
    sides: Iterable[Callable[[Integers], Integers]],
    adversary: SeriesAdversary,
    rng: np.random.Generator,
) -> Integers:
    """Everyone, or as many at random as were asked for or can be afforded."""
    most = people if adversary.sample is None else min(adversary.sample, people)
    if adversary.sample is None and people > _PILOT:
        pilot = rng.choice(people, _PILOT, replace=False)
        pairs = sum(int(side(pilot).sum()) for side in sides)
        most = min(people, max(int(_BUDGET * _PILOT / max(pairs, 1)), _PILOT))
    return np.arange(people) if most == people else np.sort(rng.choice(people, most, replace=False))


def _people(person: Integers) -> tuple[Integers, Integers]:
    """Who they are, and where the pairs of each begin."""
    begins = np.flatnonzero(np.diff(person, prepend=-1))
    return person[begins], begins


@dataclass(frozen=True, slots=True)
class _Shapes:
    """The shapes that rows show and those that people have, of length 1; a constant one is 0."""

    shown: Floats
    own: Floats

    def nearest(self, people: Integers, person: Integers, run: Integers) -> tuple[Integers, Integers]:
        """Of the pairs of each person those with the nearest shape."""
        alike = np.einsum("ij,ij->i", self.own[people[person]], self.shown[run])
        _, begins = _people(person)
        best = np.maximum.reduceat(alike, begins)
        kept = alike >= np.repeat(best, np.diff(np.append(begins, len(person)))) - _EQUAL
        return person[kept], run[kept]


def _shapes(published: Published, collection: Collection) -> _Shapes:
    return _Shapes(
        unit_shapes(published.shapes()[:, published.pattern]),
        unit_shapes(collection.matrix[:, published.pattern]),
    )


class _Column:
    """What the rows that fit say of one sensitive column."""

    def __init__(self, release: Release, collection: Collection, run: Integers, runs: int, name: str) -> None:
        self._run, self._runs, self._name = run, runs, name
        shown = column_of(release.parts["data"], name)
        if name in release.manifest["series"]["perturbed"]:
            shown = _brought_back(name, shown, collection.attributes[name])
        ours, theirs = align(encode(collection.attributes[name]), encode(shown))
        self._true, self._size = ours.codes, max(ours.size, 1)
        owner, code, often = distinct_pairs(run, theirs.codes, self._size)
        self._keys, self._often = owner * self._size + code, np.append(often, 0)
        self._least = np.full(runs, self._size, dtype=np.int64)
        self._most = np.full(runs, -1, dtype=np.int64)
        np.minimum.at(self._least, owner, code)
        np.maximum.at(self._most, owner, code)

    def begin(self, targets: Integers) -> None:
        """Make room for what will be found of these people."""
        self._true = self._true[targets]
        self.told = np.zeros(len(targets))
        self.one = np.zeros(len(targets), dtype=bool)

    def add(self, who: Integers, begins: Integers, person: Integers, run: Integers, rows: Integers) -> None:
        key = run * self._size + self._true[person]
        place = np.searchsorted(self._keys, key)
        found = np.append(self._keys, -1)[place] == key
        self.told[who] = np.add.reduceat(np.where(found, self._often[place], 0), begins) / rows
        least, most = (
            np.minimum.reduceat(self._least[run], begins),
            np.maximum.reduceat(self._most[run], begins),
        )
        self.one[who] = least == most

    @property
    def homogeneous(self) -> float:
        """Share of people whom all rows that fit give one and the same value."""
        return float(self.one.mean()) if len(self.one) else 0.0


def _brought_back(name: str, shown: pa.ChunkedArray, original: pa.ChunkedArray) -> pa.ChunkedArray:
    """Changed numbers as somebody who rounds reads them: each the nearest that somebody has."""
    try:
        values, known = numbers(name, shown).values, numbers(name, original).values
    except InputError:
        return shown
    lender = np.argsort(known, kind="stable")
    known = known[lender]
    after = np.clip(np.searchsorted(known, values), 0, len(known) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.abs(values - known[before]) <= np.abs(known[after] - values)
    return original.take(pa.array(lender[np.where(nearer, before, after)]))


class _Tally:
    """How many rows fit each person, whether the right one is among them, and what they say."""

    def __init__(
        self,
        release: Release,
        ledger: Ledger,
        collection: Collection,
        published: Published,
        targets: Integers,
    ) -> None:
        self._published, self._cell = published, _cell_of_run(published)
        self._own = _cell_of_series(ledger, collection)[targets]
        self.rows = np.zeros(len(targets), dtype=np.int64)
        self.right = np.zeros(len(targets), dtype=bool)
        runs = len(published.rows)
        run = np.repeat(np.arange(runs), published.rows)
        names = columns_of(release, "sensitive")
        self.columns = {name: _Column(release, collection, run, runs, name) for name in names}
        for column in self.columns.values():
            column.begin(targets)

    def add(self, person: Integers, run: Integers) -> None:
        """Note which runs of rows fit some people; all runs of a person come at once."""
        who, begins = _people(person)
        rows = np.add.reduceat(self._published.rows[run], begins)
        self.rows[who] = rows
        self.right[who] = np.logical_or.reduceat(self._cell[run] == self._own[person], begins)
        for column in self.columns.values():
            column.add(who, begins, person, run, rows)


def _cell_of_run(published: Published) -> Integers:
    """Cells numbered as they are published, which is how a ledger numbers its subgroups."""
    if not len(published.rows):
        return np.zeros(0, dtype=np.int64)
    fresh = published.group[1:] != published.group[:-1]
    for part in (published.symbols, published.levels):
        fresh |= (part[1:] != part[:-1]).any(axis=1)
    return np.concatenate([[1], 1 + np.cumsum(fresh)])


def _cell_of_series(ledger: Ledger, collection: Collection) -> Integers:
    noted = np.asarray(ledger.table.column("subgroup").fill_null(-1)).astype(np.int64)
    inside = collection.series_of_row >= 0
    cell = np.full(collection.size, -1, dtype=np.int64)
    cell[collection.series_of_row[inside]] = noted[inside]
    return cell
