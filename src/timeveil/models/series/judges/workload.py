"""Random questions about series, answered from the release and compared with the original.

Every question is drawn around a series of the original, so that at least one fits it (Shou et al. 2013,
§7.1).

| kind | drawn |
|---|---|
| range | 1 to 3 instants, at each a range around the series' value |
| pattern-range | 1 to 3 differences of two z-normalised values, for each a range around the series' |
| similarity | shapes like the series' own within a tolerance |
| complex | 1 or 2 ranges, and 1 or 2 differences or, every other time, a similarity |

Together, the ranges of a question would select between 1 and 20 % of the series if they had nothing to do
with each other. Where the paper takes them from is not told in it.

Values and differences are compared by their ranks among the originals, which are small integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from timeveil.domain.progress import Progress, silent
from timeveil.evidence.codes import Integers
from timeveil.models.series.judges.answers import spread
from timeveil.models.series.judges.published import Floats
from timeveil.symbols.sax import z_normalised
from timeveil.symbols.shape import unit_shapes

LEAST, MOST = 0.01, 0.2
"""Shares of the series that a question is meant to select."""
PAIRS = 64
"""So many differences, at most, are asked about."""
_CELLS = 1 << 21

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Bands:
    """Ranges of several columns at once: per question up to a few columns, a range each.

    Where a question asks about fewer columns, a range is as wide as can be.
    """

    column: Integers
    low: Floats
    high: Floats

    def __getitem__(self, some: slice) -> Bands:
        return Bands(self.column[some], self.low[some], self.high[some])


class Columns:
    """Columns of the original, one row each, ready to count in."""

    def __init__(self, rows: Floats) -> None:
        self.ordered = np.sort(rows, axis=1)
        kind = np.uint16 if rows.shape[1] < 2**16 else np.uint32
        self.rank = np.empty(rows.shape, dtype=kind)
        for place, row in enumerate(rows):
            self.rank[place] = np.searchsorted(self.ordered[place], row, side="left")
        self.rows = rows

    def draw(self, series: Integers, most: int, rng: np.random.Generator) -> Bands:
        """A band around each of these series, on 1 to `most` columns."""
        number, count = len(series), self.rows.shape[1]
        most = min(most, len(self.rows))
        column = rng.random((number, len(self.rows))).argsort(axis=1)[:, :most]
        used = rng.integers(1, most + 1, number)
        share = np.exp(rng.uniform(np.log(LEAST), np.log(MOST), number)) ** (1.0 / used)
        half = np.maximum((share * count / 2).astype(np.int64), 1)[:, None]
        middle = self.rank[column, series[:, None]].astype(np.int64)
        first, last = np.maximum(middle - half, 0), np.minimum(middle + half, count - 1)
        asked = np.arange(most) < used[:, None]
        low = np.where(asked, self.ordered[column, first], -np.inf)
        return Bands(column, low, np.where(asked, self.ordered[column, last], np.inf))

    def within(self, bands: Bands) -> Mask:
        """Per question and series whether it lies in every range."""
        inside = np.ones((len(bands.column), self.rows.shape[1]), dtype=bool)
        for place in range(bands.column.shape[1]):
            column = bands.column[:, place]
            first, last = np.empty((2, len(column)), dtype=np.int64)
            for one in np.unique(column):
                asked = column == one
                first[asked] = np.searchsorted(self.ordered[one], bands.low[asked, place], side="left")
                last[asked] = np.searchsorted(self.ordered[one], bands.high[asked, place], side="right")
            kind = self.rank.dtype
            # ranks below the first wrap around to beyond the width
            beyond = self.rank[column] - first.astype(kind)[:, None]
            inside &= beyond < np.maximum(last - first, 0).astype(kind)[:, None]
        return inside


@dataclass(frozen=True, slots=True)
class Shown:
    """What a release says, as arrays: per run its rows, envelopes and reconstructed shape.

    `low` and `high` are at the instants `values`, `shape` at the instants `pattern`, of which the original
    has all. `run` is that of each series of the original, -1 where it was suppressed.
    """

    rows: Integers
    run: Integers
    values: Integers
    pattern: Integers
    low: Floats
    high: Floats
    shape: Floats


@dataclass(frozen=True, slots=True)
class Outcome:
    """How some questions came out: how many fit, the estimate, and of a told set its hits and size."""

    truth: Floats
    guess: Floats
    hits: Floats | None = None
    told: Floats | None = None

    def errors(self) -> Floats:
        """Relative errors of the counts."""
        errors: Floats = np.abs(self.guess - self.truth) / np.maximum(self.truth, 1.0)
        return errors

    @staticmethod
    def join(parts: list[Outcome]) -> Outcome:
        """Several as one."""
        sets = parts[0].hits is not None
        return Outcome(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("truth", "guess")),
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("hits", "told") if sets),
        )


class Workload:
    """Questions of each kind about one original and one release of it."""

    def __init__(
        self, matrix: Floats, shown: Shown, center: str = "mean", progress: Progress = silent
    ) -> None:
        self._shown, self._progress, self._number = shown, progress, len(matrix)
        self._values = Columns(np.ascontiguousarray(matrix[:, shown.values].T))
        width = len(shown.pattern)
        pairs = np.stack(np.triu_indices(width, 1))
        if pairs.shape[1] > PAIRS:
            pairs = pairs[:, np.random.default_rng(0).choice(pairs.shape[1], PAIRS, replace=False)]
        z = z_normalised(matrix, "median" if center == "median" else "mean")[:, shown.pattern].T
        self._differences = Columns(np.ascontiguousarray(z[pairs[0]] - z[pairs[1]]))
        self._told_differences = shown.shape.T[pairs[0]] - shown.shape.T[pairs[1]]
        self._shapes = directions(matrix[:, shown.pattern])
        self._told_shapes = directions(shown.shape)
        groups, first, self._group = _distinct_envelopes(shown)
        self._rows, self._groups = shown.rows.astype(float), groups.astype(float)
        self._low, self._high = shown.low[first].T.copy(), shown.high[first].T.copy()

    @property
    def has_values(self) -> bool:
        """Whether there are envelopes to ask."""
        return bool(len(self._shown.values)) and self._number > 0

    @property
    def has_shapes(self) -> bool:
        """Whether there are shapes to ask."""
        return len(self._shown.pattern) > 1 and self._number > 0

    def ranges(self, questions: int, rng: np.random.Generator) -> Outcome:
        """Range counts."""
        bands = self._values.draw(self._somebody(questions, rng), 3, rng)
        out = []
        for part in self._parts("range counts", questions):
            truth = np.count_nonzero(self._values.within(bands[part]), axis=1)
            out.append(Outcome(truth.astype(float), self._spread(bands[part]) @ self._groups))
        return Outcome.join(out)

    def pattern_ranges(self, questions: int, rng: np.random.Generator) -> Outcome:
        """Ranges of differences."""
        bands = self._differences.draw(self._somebody(questions, rng), 3, rng)
        parts = self._parts("pattern ranges", questions)
        return Outcome.join(
            [self._as_sets(self._differences.within(bands[part]), self._told(bands[part])) for part in parts]
        )

    def similarities(self, tolerance: Floats, rng: np.random.Generator) -> Outcome:
        """Shapes within each tolerance of somebody's."""
        somebody = self._somebody(len(tolerance), rng)
        parts = self._parts("similar shapes", len(tolerance))
        return Outcome.join([self._as_sets(*self._alike(somebody[part], tolerance[part])) for part in parts])

    def complex(self, tolerance: Floats, rng: np.random.Generator) -> Outcome:
        """Ranges of values and of differences, or of values and a shape."""
        questions = len(tolerance)
        somebody = self._somebody(questions, rng)
        values = self._values.draw(somebody, 2, rng)
        shapes = self._differences.draw(somebody, 2, rng)
        out = []
        for part in self._parts("complex questions", questions):
            middle = part.start + (part.stop - part.start) // 2
            ranged, alike = slice(part.start, middle), slice(middle, part.stop)
            near, told_near = self._alike(somebody[alike], tolerance[alike])
            fits = np.concatenate([self._differences.within(shapes[ranged]), near])
            told = np.concatenate([self._told(shapes[ranged]), told_near])
            truth = np.count_nonzero(fits & self._values.within(values[part]), axis=1)
            share = self._spread(values[part])[:, self._group]
            out.append(Outcome(truth.astype(float), (share * told) @ self._rows))
        return Outcome.join(out)

    def _somebody(self, questions: int, rng: np.random.Generator) -> Integers:
        return rng.integers(0, self._number, questions)

    def _parts(self, asking: str, questions: int) -> Iterator[slice]:
        """As many questions at a time as fit into fast memory."""
        step = max(_CELLS // max(self._number, 1), 2)
        for start in range(0, questions, step):
            self._progress(asking, start / questions)
            yield slice(start, min(start + step, questions))
        self._progress(asking, 1.0)

    def _spread(self, bands: Bands) -> Floats:
        """Per question and envelope the share of its series that is expected in every range."""
        share = np.ones((len(bands.column), len(self._groups)))
        for place in range(bands.column.shape[1]):
            column = bands.column[:, place]
            ends = bands.low[:, place, None], bands.high[:, place, None]
            share *= spread(self._low[column], self._high[column], *ends).share
        return share

    def _told(self, bands: Bands) -> Mask:
        """Per question and run whether its reconstructed shape lies in every range."""
        inside = np.ones((len(bands.column), len(self._shown.rows)), dtype=bool)
        for place in range(bands.column.shape[1]):
            told = self._told_differences[bands.column[:, place]]
            inside &= (told >= bands.low[:, place, None]) & (told <= bands.high[:, place, None])
        return inside

    def _alike(self, somebody: Integers, tolerance: Floats) -> tuple[Mask, Mask]:
        """Per question the series, and the runs, whose shape is within the tolerance of somebody's."""
        like, least = self._shapes[somebody], 1.0 - tolerance[:, None] - 1e-9
        return like @ self._shapes.T >= least, like @ self._told_shapes.T >= least

    def _as_sets(self, fits: Mask, told: Mask) -> Outcome:
        shown = self._shown
        guess = told.astype(np.float64) @ self._rows
        padded = np.concatenate([told, np.zeros((len(told), 1), dtype=bool)], axis=1)
        hits = np.count_nonzero(fits & np.take(padded, shown.run, axis=1), axis=1)
        truth = np.count_nonzero(fits, axis=1)
        return Outcome(truth.astype(float), guess, hits.astype(float), guess)


def directions(shapes: Floats) -> Floats:
    """Unit centred shapes; one more column is 1 for those that are constant, which are like each other."""
    if not shapes.shape[1]:
        return np.zeros((len(shapes), 1))
    unit = unit_shapes(shapes)
    return np.hstack([unit, ~unit.any(axis=1, keepdims=True)])


def _distinct_envelopes(shown: Shown) -> tuple[Integers, Integers, Integers]:
    """Rows per envelope, a run of each, and the envelope of each run; runs of one follow each other."""
    fresh = np.ones(len(shown.rows), dtype=bool)
    for part in (shown.low, shown.high):
        same = (part[1:] == part[:-1]).all(axis=1)
        fresh[1:] = ~same if part is shown.low else fresh[1:] | ~same
    first = np.flatnonzero(fresh)
    return np.add.reduceat(shown.rows, first) if len(first) else shown.rows, first, np.cumsum(fresh) - 1
