"""Random questions about one original, asked of many releases at once.

The questions are those that `measure` draws, and the answers are those of `timeveil.answer`. What fits in the
original is worked out once for all releases; of the releases, ranges are asked once per envelope.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from timeveil.models.series.judges.bands import Bands, Columns
from timeveil.models.series.judges.measure import PAIRS, TOLERANCE, Outcome, ReleaseSummary, directions
from timeveil.symbols import Center, z_normalised

Numbers = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
CELLS = 1 << 21
"""Questions times series that are looked at in one step, as in `measure`."""
SEED = 1


class Questions:
    """Questions of each kind about an original: of values at some instants, and of all shapes.

    `pairs` are the two instants of the differences that are asked about.
    """

    def __init__(
        self,
        matrix: Numbers,
        number: int,
        values: npt.NDArray[np.int64] | None = None,
        pairs: npt.NDArray[np.int64] | None = None,
        center: Center = "mean",
    ) -> None:
        self.number, self.series = number, len(matrix)
        self.pairs = difference_pairs(matrix.shape[1]) if pairs is None else pairs
        self.values = Columns(np.ascontiguousarray((matrix if values is None else matrix[:, values]).T))
        z = z_normalised(matrix, center).T
        self.differences = Columns(np.ascontiguousarray(z[self.pairs[0]] - z[self.pairs[1]]))
        self.shapes = directions(matrix)

    def parts(self) -> Iterator[slice]:
        step = max(CELLS // max(self.series, 1), 2)
        for start in range(0, self.number, step):
            yield slice(start, min(start + step, self.number))

    def draw(self) -> tuple[npt.NDArray[np.int64], np.random.Generator]:
        """The series that questions are drawn around; every kind begins with the same seed."""
        rng = np.random.default_rng(SEED)
        return rng.integers(0, self.series, self.number), rng

    def ranges(self, releases: Sequence[Answering]) -> list[Outcome]:
        """Range counts."""
        bands = self.values.draw(*self._drawn(3))
        truth, guess = np.zeros(self.number), np.zeros((len(releases), self.number))
        for part in self.parts():
            truth[part] = np.count_nonzero(self.values.within(bands[part]), axis=1)
            for at, release in enumerate(releases):
                guess[at, part] = release.shares(bands[part]) @ release.members
        return [Outcome(truth, one) for one in guess]

    def pattern_ranges(self, releases: Sequence[Answering]) -> list[Outcome]:
        """Ranges of differences."""
        bands = self.differences.draw(*self._drawn(3))
        truth, (guess, hits) = np.zeros(self.number), np.zeros((2, len(releases), self.number))
        for part in self.parts():
            fits = np.ascontiguousarray(self.differences.within(bands[part]).T)
            truth[part] = totals(fits)
            for at, release in enumerate(releases):
                answer = np.ascontiguousarray(release.differences.within(bands[part]).T)
                guess[at, part], hits[at, part] = release.counted(answer, fits)
        return [Outcome(truth, *both) for both in zip(guess, hits, strict=True)]

    def similarities(self, releases: Sequence[Answering]) -> tuple[list[Outcome], list[Outcome]]:
        """Shapes like those of random series: within 1 to 10 times a release's own loss, and within 0.1."""
        centre, _ = self.draw()
        times = np.random.default_rng(SEED).uniform(1.0, 10.0, self.number)
        truth, guess, hits = np.zeros((3, 2, len(releases), self.number))
        for part in self.parts():
            like = self.shapes[centre[part]].T
            likeness = self.shapes @ like
            near = likeness >= 1.0 - TOLERANCE - 1e-9
            truth[1, :, part] = totals(near)
            for at, release in enumerate(releases):
                published = release.shapes @ like
                least = 1.0 - release.loss * times[part] - 1e-9
                fits = likeness >= least
                truth[0, at, part] = totals(fits)
                guess[0, at, part], hits[0, at, part] = release.counted(published >= least, fits)
                guess[1, at, part], hits[1, at, part] = release.counted(
                    published >= 1.0 - TOLERANCE - 1e-9, near
                )
        own, one = (
            [Outcome(*three) for three in zip(*kind, strict=True)]
            for kind in zip(truth, guess, hits, strict=True)
        )
        return own, one

    def complex(self, releases: Sequence[Answering]) -> list[Outcome]:
        """Ranges of values, and ranges of differences or a similar shape."""
        centre, rng = self.draw()
        values, shapes = (columns.draw(centre, 2, rng) for columns in (self.values, self.differences))
        truth, guess = np.zeros(self.number), np.zeros((len(releases), self.number))
        least = 1.0 - TOLERANCE - 1e-9
        for part in self.parts():
            middle = (part.start + part.stop) // 2
            asked, like = shapes[part.start : middle], self.shapes[centre[middle : part.stop]]
            fits = np.concatenate([self.differences.within(asked), like @ self.shapes.T >= least])
            truth[part] = np.count_nonzero(fits & self.values.within(values[part]), axis=1)
            for at, release in enumerate(releases):
                answer = np.concatenate([release.differences.within(asked), like @ release.shapes.T >= least])
                shares = release.shares(values[part])
                if len(release.members) < len(release.rows):
                    shares = shares[:, release.group]
                guess[at, part] = (shares * answer) @ release.rows
        return [Outcome(truth, one) for one in guess]

    def _drawn(self, most: int) -> tuple[Any, int, np.random.Generator]:
        centre, rng = self.draw()
        return centre, most, rng


def difference_pairs(instants: int) -> npt.NDArray[np.int64]:
    """All pairs of instants; of many the same choice as in `measure`."""
    pairs = np.stack(np.triu_indices(instants, 1))
    if pairs.shape[1] > PAIRS:
        pairs = pairs[:, np.random.default_rng(0).choice(pairs.shape[1], PAIRS, replace=False)]
    return pairs


def totals(mask: Mask, weights: Numbers | None = None) -> Numbers:
    """Of a row per series or run and a column per question the sum of each column; exact below 2**24."""
    parts = np.ones(len(mask), np.float32) if weights is None else weights.astype(np.float32)
    return (parts @ mask.astype(np.float32)).astype(np.float64)


class Answering:
    """A release, made ready for questions; `loss` is its own pattern loss."""

    def __init__(self, summary: ReleaseSummary, questions: Questions, loss: float) -> None:
        self.loss, self.run = loss, summary.run
        self.rows = summary.rows.astype(np.float64)
        first, second = questions.pairs
        self.differences = Columns(
            np.ascontiguousarray((summary.shape[:, first] - summary.shape[:, second]).T)
        )
        self.shapes = directions(summary.shape)
        # Runs of one envelope follow each other.
        fresh = np.ones(len(summary.rows), dtype=bool)
        fresh[1:] = ((summary.low[1:] != summary.low[:-1]) | (summary.high[1:] != summary.high[:-1])).any(
            axis=1
        )
        self.group = np.cumsum(fresh) - 1
        self.members = np.bincount(self.group, weights=self.rows)
        self._low, self._high = (np.ascontiguousarray(side[fresh].T) for side in (summary.low, summary.high))
        self._width = self._high - self._low
        self._flat = self._width == 0
        self._points = Columns(self._low) if self._flat.all() else None

    def shares(self, bands: Bands) -> Numbers:
        """Per question and envelope the expected share of its series that are in every range."""
        if self._points:
            return self._points.within(bands).astype(np.float64)
        share = np.ones((len(bands.column), len(self.members)))
        for columns, low, high in bands:
            used = np.flatnonzero(np.isfinite(low) | np.isfinite(high))
            column = columns[used]
            common = np.minimum(self._high[column], high[used, None])
            common -= np.maximum(self._low[column], low[used, None])
            width, flat = self._width[column], self._flat[column]
            part = np.maximum(common, 0.0)
            np.divide(part, width, out=part, where=~flat)
            part[flat & (common >= 0)] = 1.0
            share[used] *= part
        return share

    def counted(self, answer: Mask, fits: Mask) -> tuple[Numbers, Numbers]:
        """Of an answer, a row per run, the series, and those of them that truly fit."""
        # Suppressed series have run -1: the last row, which is never in the answer.
        padded = np.concatenate([answer, np.zeros((1, answer.shape[1]), bool)])
        return totals(answer, self.rows), totals(fits & padded[self.run])


def asked(questions: Questions, releases: Sequence[Answering]) -> list[dict[str, float | None]]:
    """Mean errors and precision of the questions of each kind, per release."""
    own, one = questions.similarities(releases)
    differences, ranges = questions.pattern_ranges(releases), questions.ranges(releases)
    mixed = questions.complex(releases)
    return [
        {
            "psq_precision": precision(own[at]),
            "psq_precision_one": precision(one[at]),
            "psq_recall_one": recall(one[at]),
            "prq_precision": precision(differences[at]),
            "prq_error": short(differences[at].errors().mean()),
            "range_error": short(ranges[at].errors().mean()),
            "complex_error": short(mixed[at].errors().mean()),
        }
        for at in range(len(releases))
    ]


def precision(outcome: Outcome) -> float | None:
    """The share of an answer that truly fits, over questions with an answer."""
    assert outcome.hits is not None
    answered = outcome.guess > 0
    return short((outcome.hits[answered] / outcome.guess[answered]).mean()) if answered.any() else None


def recall(outcome: Outcome) -> float:
    """The share of what truly fits that is in the answer."""
    assert outcome.hits is not None
    return short((outcome.hits / np.maximum(outcome.truth, 1.0)).mean())


def short(number: Any) -> float:
    """Four significant digits."""
    return float(f"{number:.4g}")
