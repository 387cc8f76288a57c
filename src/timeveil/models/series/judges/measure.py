"""What a series release lost against the original: in values, in shape, and in answers to random questions.

Every question is drawn around a series of the original, so that at least one fits it (Shou et al. 2013,
§7.1): `range` has ranges around its values at 1 to 3 instants, `pattern-range` around 1 to 3 differences of
two of its z-normalised values, `similarity` a tolerance around its shape, and `complex` 1 or 2 ranges of
values with as many of differences or, every other time, a similarity. Together, the ranges of a question
would select between 1 and 20 % of the series if they had nothing to do with each other; the paper does not
say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from timeveil.domain.arrays import Flags, Floats, Ints
from timeveil.domain.judgement import Losses, PlainData
from timeveil.domain.wording import Progress, silent
from timeveil.evidence.risk import withheld_by
from timeveil.models.series.evidence import ABSENT, Evidence
from timeveil.models.series.judges.bands import Bands, Columns
from timeveil.models.series.judges.beside import bits_lost, middles
from timeveil.models.series.judges.features import DISTANCES, distances
from timeveil.models.series.judges.query import expected
from timeveil.symbols import Center, envelopes, pattern_distance, unit_shapes, z_normalised

TOLERANCE = 0.1
"""The one tolerance at which every release is asked for similar shapes: a correlation of at least 0.9."""
MOST_COMPARED = 2_000  # series that distances other than the cosine are measured of
MOST_WARPED = 200  # instants of series that warping is measured of
_BLOCK = 1 << 16
PAIRS = 64  # the largest number of differences that questions are about
_CELLS, _KINDS = 1 << 21, 5


@dataclass(frozen=True, slots=True)
class QueryError(PlainData):
    """How far off the answers to `queries` random questions of one kind are.

    `mean` and `median` are of the relative error of the count. Where the answer is a set of rows, `recall` is
    the share of fitting rows that are in it, and `precision` the share of it that truly fits, on average over
    the questions whose answer is not empty, which are a share of `answered`.
    """

    kind: str
    queries: int
    mean: float
    median: float
    precision: float | None = None
    recall: float | None = None
    answered: float | None = None


@dataclass(frozen=True, slots=True)
class SeriesLoss(Losses):
    """What a series release lost; None where the part was not published.

    `value_loss` is the mean over series of the root mean square width of the envelope (eq. 2), over the
    instants whose values were published; `value_loss_unrounded` the same for the envelopes before rounding,
    `value_span` the width of one envelope around all series. `mean_error` is the error of the mean of all
    published series at an instant, as a share of the mean size of values, on average over the instants.
    `pattern_loss` is the mean distance of a series' shape from the published one (eq. 3): 1 less their
    correlation, over the instants whose pattern was published; `pattern_loss_by` has the mean of other
    distances of z-normalised values, over at most 2,000 series: `euclidean` and, up to 200 instants, `dtw`.
    `level_mean` and `level_min` are of the published symbols, `withheld_by` the largest share withheld of a
    value, by column. `query_errors` has one entry per kind of question, `bits` what labels lose, by column.
    """

    ALSO: ClassVar = ("suppressed_share",)

    rows: int
    suppressed: int
    withheld_by: Mapping[str, float]
    groups: int
    cells: int
    value_loss: float | None
    value_loss_unrounded: float | None
    value_span: float | None
    mean_error: float | None
    pattern_loss: float | None
    level_mean: float | None
    level_min: int | None
    query_errors: tuple[QueryError, ...]
    pattern_loss_by: Mapping[str, float] = field(default_factory=dict)
    bits: Mapping[str, float] = field(default_factory=dict)

    def query_error(self, kind: str) -> QueryError | None:
        """The error of one kind of question, if it could be asked."""
        return next((error for error in self.query_errors if error.kind == kind), None)


def measure(evidence: Evidence, *, queries: int, seed: int, progress: Progress = silent) -> SeriesLoss:
    """Compare a release with the original series in its ledger."""
    published, released = evidence.published, evidence.released
    values, levels = evidence.matrix[:, published.values], published.levels
    losses, count = pattern_losses(evidence), max(len(released), 1)
    pattern_loss = float(losses.mean()) if len(losses) else None
    share, has_values = published.rows / count, bool(published.low.size)
    # The envelopes before they were rounded outward: those of the series of each group.
    number, sizes = published.group_sizes
    group = np.append(number, ABSENT)[evidence.run]
    exact = widths(*envelopes(values, group)) if has_values else np.zeros(len(sizes))
    span = values.min(axis=0, initial=np.inf), values.max(axis=0, initial=-np.inf)
    mean_error, truth = None if not has_values else 0.0, evidence.matrix[released][:, published.values]
    if has_values and (size := float(np.abs(truth).mean())):
        guessed = published.rows @ middles(published) / count
        mean_error = float(np.abs(guessed - truth.mean(axis=0)).mean()) / size
    return SeriesLoss(
        rows=len(released),
        suppressed=len(evidence.matrix) - len(released),
        withheld_by=withheld_by(evidence, evidence.run == ABSENT, evidence.series.row),
        groups=len(sizes),
        cells=len(published.rows),
        value_loss=float(widths(published.low, published.high) @ share) if has_values else None,
        value_loss_unrounded=float(exact @ (sizes / count)) if has_values else None,
        value_span=float(widths(span[0][None, :], span[1][None, :])[0]) if values.size else None,
        mean_error=mean_error,
        pattern_loss=pattern_loss,
        level_mean=float(share @ levels.mean(axis=1)) if levels.size else None,
        level_min=int(levels.min()) if levels.size else None,
        query_errors=_query_errors(evidence, pattern_loss, queries, seed, progress),
        pattern_loss_by=other_losses(evidence),
        bits=bits_lost(evidence),
    )


def widths(low: Floats, high: Floats) -> Floats:
    """The root mean square width of envelopes (eq. 2)."""
    if not low.shape[1]:
        return np.zeros(0)
    width = high - low
    largest = width.max(axis=1, keepdims=True)
    # Relative to the largest width, squares stay finite.
    part = np.divide(width, largest, out=np.zeros_like(width), where=largest > 0)
    return np.asarray(largest[:, 0] * np.sqrt(np.square(part).mean(axis=1)))


def pattern_losses(evidence: Evidence) -> Floats:
    """Of each published series, the distance of its shape from the published one (eq. 3)."""
    published, released = evidence.published, evidence.released
    if len(published.pattern) == 0:
        return np.zeros(0)
    shapes, losses = published.shapes()[:, published.pattern], np.empty(len(released))
    for start in range(0, len(released), _BLOCK):
        block = released[start : start + _BLOCK]
        original = evidence.matrix[block][:, published.pattern]
        losses[start : start + _BLOCK] = pattern_distance(original, shapes[evidence.run[block]])
    return losses


def other_losses(evidence: Evidence) -> dict[str, float]:
    """The mean distance of shapes from the published ones, by other distances than the cosine."""
    published, released = evidence.published, evidence.released
    if not len(published.pattern) or not len(released):
        return {}
    sampled = released[np.unique(np.linspace(0, len(released) - 1, MOST_COMPARED).astype(np.int64))]
    z = z_normalised(evidence.matrix[sampled], published.center)[:, published.pattern]
    shapes = published.shapes()[evidence.run[sampled]][:, published.pattern]
    names = DISTANCES[1:] if z.shape[1] <= MOST_WARPED else ("euclidean",)
    return {name: float(distances(name, z, shapes).mean()) for name in names}


def _query_errors(
    evidence: Evidence, pattern_loss: float | None, queries: int, seed: int, progress: Progress
) -> tuple[QueryError, ...]:
    published = evidence.published
    if not queries or not len(published.rows):
        return ()
    workload = Workload(evidence.matrix, ReleaseSummary.of(evidence), published.center, progress)
    rng, outcomes = np.random.default_rng(seed), dict[str, Outcome]()
    if len(published.values):
        outcomes["range"] = workload.ranges(queries, rng)
    if len(published.pattern) > 1 and pattern_loss is not None:
        outcomes["pattern-range"] = workload.pattern_ranges(queries, rng)
        # §7.1: tolerances of 1 to 10 times the pattern loss of the release itself.
        tolerance, fixed = pattern_loss * rng.uniform(1.0, 10.0, queries), np.full(queries, TOLERANCE)
        outcomes["similarity"] = workload.similarities(tolerance, rng)
        outcomes["similarity at one tolerance"] = workload.similarities(fixed, rng)
        if len(published.values):
            outcomes["complex"] = workload.complex(fixed, rng)
    return tuple(outcome.error(kind) for kind, outcome in outcomes.items())


@dataclass(frozen=True, slots=True)
class ReleaseSummary:
    """A release as arrays: per run its rows, envelopes and reconstructed shape.

    `low`, `high` and `middle`, if means are published, are at the instants `values`, `shape` at the instants
    `pattern`, of which the original has all. `run` is the run of each series of the original, -1 where it was
    suppressed.
    """

    rows: Ints
    run: Ints
    values: Ints
    pattern: Ints
    low: Floats
    high: Floats
    shape: Floats
    middle: Floats | None = None

    @classmethod
    def of(cls, evidence: Evidence) -> ReleaseSummary:
        p = evidence.published
        middle = None if p.mean is None else middles(p)
        return cls(p.rows, evidence.run, p.values, p.pattern, p.low, p.high, p.shapes()[:, p.pattern], middle)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Answers to questions: how many series fit, the estimate or the size of a set of rows, its hits."""

    truth: Floats
    guess: Floats
    hits: Floats | None = None

    def errors(self) -> Floats:
        return np.abs(self.guess - self.truth) / np.maximum(self.truth, 1.0)

    def error(self, kind: str) -> QueryError:
        errors = self.errors()
        numbers = len(errors), float(errors.mean()), float(np.median(errors))
        if self.hits is None:
            return QueryError(kind, *numbers)
        answered = self.guess > 0
        recall = float((self.hits / np.maximum(self.truth, 1.0)).mean())
        precision = float((self.hits[answered] / self.guess[answered]).mean()) if answered.any() else None
        return QueryError(kind, *numbers, precision, recall, float(answered.mean()))


Fit: TypeAlias = tuple[Flags, npt.NDArray[Any]]
"""Per question the series that fit, and the runs of the answer or the share of each that is to fit."""


class Workload:
    """Questions of each kind about one original and one release of it."""

    def __init__(
        self, matrix: Floats, release: ReleaseSummary, center: Center = "mean", progress: Progress = silent
    ) -> None:
        self._release, self._progress, self._number, self._kinds_asked = release, progress, len(matrix), 0
        self._values = Columns(np.ascontiguousarray(matrix[:, release.values].T))
        pairs = np.stack(np.triu_indices(len(release.pattern), 1))
        # Long series have too many differences: a fixed random choice, the same for every release.
        if pairs.shape[1] > PAIRS:
            pairs = pairs[:, np.random.default_rng(0).choice(pairs.shape[1], PAIRS, replace=False)]
        z = z_normalised(matrix, center)[:, release.pattern].T
        self._differences = Columns(np.ascontiguousarray(z[pairs[0]] - z[pairs[1]]))
        self._published_differences = release.shape.T[pairs[0]] - release.shape.T[pairs[1]]
        self._shapes = directions(matrix[:, release.pattern])
        self._published_shapes = directions(release.shape)
        # Runs of one envelope follow each other; ranges are asked once per envelope.
        bounds, fresh = np.hstack([release.low, release.high]), np.ones(len(release.rows), dtype=bool)
        fresh[1:] = (bounds[1:] != bounds[:-1]).any(axis=1)
        first, self._group = np.flatnonzero(fresh), np.cumsum(fresh) - 1
        self._rows = release.rows.astype(float)
        self._low, self._high = release.low[first].T.copy(), release.high[first].T.copy()
        self._middle = None if release.middle is None else release.middle[first].T.copy()

    def ranges(self, questions: int, rng: np.random.Generator) -> Outcome:
        bands = self._values.draw(self._centres(questions, rng), 3, rng)
        return self._answered("range counts", questions, lambda part: self._in_values(bands[part]))

    def pattern_ranges(self, questions: int, rng: np.random.Generator) -> Outcome:
        bands = self._differences.draw(self._centres(questions, rng), 3, rng)
        return self._answered("pattern ranges", questions, lambda part: self._in_differences(bands[part]))

    def similarities(self, tolerance: Floats, rng: np.random.Generator) -> Outcome:
        """Shapes within each tolerance of a random series."""
        centre = self._centres(len(tolerance), rng)
        asked = partial(self._similar, centre, tolerance)
        return self._answered("similar shapes", len(tolerance), asked)

    def complex(self, tolerance: Floats, rng: np.random.Generator) -> Outcome:
        """Ranges of values and of differences, or of values and a shape."""
        centre = self._centres(len(tolerance), rng)
        values, shapes = (columns.draw(centre, 2, rng) for columns in (self._values, self._differences))

        def asked(part: slice) -> Fit:
            # The first half of each part asks for differences in ranges, the second for similar shapes.
            middle = (part.start + part.stop) // 2
            halves = (
                self._in_differences(shapes[part.start : middle]),
                self._similar(centre, tolerance, slice(middle, part.stop)),
            )
            fits, answered = map(np.concatenate, zip(*halves, strict=True))
            inside, share = self._in_values(values[part])
            return fits & inside, share * answered

        return self._answered("complex questions", len(tolerance), asked)

    def _centres(self, questions: int, rng: np.random.Generator) -> Ints:
        return rng.integers(0, self._number, questions)

    def _answered(self, asking: str, questions: int, asked: Callable[[slice], Fit]) -> Outcome:
        """All questions, as many at a time as fit into fast memory."""
        step, is_set = max(_CELLS // max(self._number, 1), 2), False
        truth, guess, hits = np.zeros((3, questions))
        for start in range(0, questions, step):
            self._progress(asking, (self._kinds_asked + start / questions) / _KINDS)
            part = slice(start, min(start + step, questions))
            fits, answer = asked(part)
            truth[part], guess[part] = np.count_nonzero(fits, axis=1), answer.astype(float) @ self._rows
            is_set = answer.dtype == np.bool_
            if is_set:
                # Suppressed series have run -1: the last column, which is never in the answer.
                padded = np.pad(answer, ((0, 0), (0, 1)))
                hits[part] = np.count_nonzero(fits & np.take(padded, self._release.run, axis=1), axis=1)
        self._kinds_asked += 1
        return Outcome(truth, guess, hits if is_set else None)

    def _in_values(self, bands: Bands) -> Fit:
        """The series whose values are in every range, and of each run the share that is expected to be."""
        share = np.ones((len(bands.column), self._low.shape[1]))
        for column, low, high in bands:
            middle = None if self._middle is None else self._middle[column]
            bounds = self._low[column], middle, self._high[column]
            share *= expected(*bounds, low[:, None], high[:, None])
        return self._values.within(bands), share[:, self._group]

    def _in_differences(self, bands: Bands) -> Fit:
        """The series, and the runs, whose differences are in every range."""
        inside = np.ones((len(bands.column), len(self._rows)), dtype=bool)
        for column, low, high in bands:
            difference = self._published_differences[column]
            inside &= (difference >= low[:, None]) & (difference <= high[:, None])
        return self._differences.within(bands), inside

    def _similar(self, centre: Ints, tolerance: Floats, part: slice) -> Fit:
        """The series, and the runs, whose shape is within the tolerance of the centre."""
        like, least = self._shapes[centre[part]], 1.0 - tolerance[part, None] - 1e-9
        return like @ self._shapes.T >= least, like @ self._published_shapes.T >= least


def directions(shapes: Floats) -> Floats:
    """Unit centred shapes; one more column is 1 for those that are constant, which are like each other."""
    if not shapes.shape[1]:
        return np.zeros((len(shapes), 1))
    unit = unit_shapes(shapes)
    return np.hstack([unit, ~unit.any(axis=1, keepdims=True)])
