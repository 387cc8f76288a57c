"""What a series release lost against the original."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from timeveil.domain.judgement import as_dict
from timeveil.domain.wording import Progress, silent
from timeveil.models.series.evidence import ABSENT, Evidence, Floats, Records
from timeveil.models.series.judges.workload import Outcome, ReleaseSummary, Workload
from timeveil.symbols import envelopes, pattern_distance

TOLERANCE = 0.1
"""The one tolerance at which every release is asked for similar shapes: a correlation of at least 0.9."""
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class QueryError:
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

    as_dict = as_dict


@dataclass(frozen=True, slots=True)
class SeriesLoss:
    """What a series release lost; None where the part was not published.

    `value_loss` is the mean over published series of the root mean square width of the envelope (Shou et al.
    2013, eq. 2), over the instants whose values were published; `value_loss_unrounded` the same for the
    envelopes before they were rounded outward, `value_span` the width of one envelope around all series.
    `pattern_loss` is the mean distance of a series' shape from the published one (eq. 3): 1 less their
    correlation, over the instants whose pattern was published. `level_mean` and `level_min` are of the
    published symbols. `query_errors` has one entry per kind of question.
    """

    rows: int
    suppressed: int
    groups: int
    cells: int
    value_loss: float | None
    value_loss_unrounded: float | None
    value_span: float | None
    pattern_loss: float | None
    level_mean: float | None
    level_min: int | None
    query_errors: tuple[QueryError, ...]

    @property
    def suppressed_share(self) -> float:
        """Share of all series that were suppressed."""
        return self.suppressed / max(self.rows + self.suppressed, 1)

    def query_error(self, kind: str) -> QueryError | None:
        """The error of one kind of question, if it could be asked."""
        return next((error for error in self.query_errors if error.kind == kind), None)

    KEYS: ClassVar[tuple[str, ...]]
    as_dict = as_dict


SeriesLoss.KEYS = (*(field.name for field in fields(SeriesLoss)), "suppressed_share")


def measure(evidence: Evidence, *, queries: int, seed: int, progress: Progress = silent) -> SeriesLoss:
    """Compare a release with the original series in its ledger."""
    records = evidence.records
    published, released = records.published, records.released
    values, levels = records.matrix[:, published.values], published.levels
    losses, count = pattern_losses(records), max(len(released), 1)
    pattern_loss = float(losses.mean()) if len(losses) else None
    share, has_values = published.rows / count, bool(published.low.size)
    # The envelopes before they were rounded outward: those of the series of each group.
    groups, number = np.unique(published.group, return_inverse=True)
    group = np.append(number, ABSENT)[records.run]
    exact = widths(*envelopes(values, group)) if has_values else np.zeros(len(groups))
    span = values.min(axis=0, initial=np.inf), values.max(axis=0, initial=-np.inf)
    return SeriesLoss(
        rows=len(released),
        suppressed=len(records.matrix) - len(released),
        groups=len(groups),
        cells=len(published.rows),
        value_loss=float(widths(published.low, published.high) @ share) if has_values else None,
        value_loss_unrounded=float(exact @ (np.bincount(group[group >= 0]) / count)) if has_values else None,
        value_span=float(widths(span[0][None, :], span[1][None, :])[0]) if values.size else None,
        pattern_loss=pattern_loss,
        level_mean=float(share @ levels.mean(axis=1)) if levels.size else None,
        level_min=int(levels.min()) if levels.size else None,
        query_errors=_query_errors(records, pattern_loss, queries, seed, progress),
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


def pattern_losses(records: Records) -> Floats:
    """Of each published series, the distance of its shape from the published one (eq. 3)."""
    published, released = records.published, records.released
    if len(published.pattern) == 0:
        return np.zeros(0)
    shapes, losses = published.shapes()[:, published.pattern], np.empty(len(released))
    for start in range(0, len(released), _BLOCK):
        block = released[start : start + _BLOCK]
        original = records.matrix[block][:, published.pattern]
        losses[start : start + _BLOCK] = pattern_distance(original, shapes[records.run[block]])
    return losses


def _query_errors(
    records: Records, pattern_loss: float | None, queries: int, seed: int, progress: Progress
) -> tuple[QueryError, ...]:
    published = records.published
    if not queries or not len(published.rows):
        return ()
    workload = Workload(records.matrix, ReleaseSummary.of(records), published.center, progress)
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
    return tuple(_query_error(kind, outcome) for kind, outcome in outcomes.items())


def _query_error(kind: str, outcome: Outcome) -> QueryError:
    errors = outcome.errors()
    numbers = len(errors), float(errors.mean()), float(np.median(errors))
    if outcome.hits is None:
        return QueryError(kind, *numbers)
    answered = outcome.guess > 0
    recall = float((outcome.hits / np.maximum(outcome.truth, 1.0)).mean())
    correct = outcome.hits[answered] / outcome.guess[answered]
    precision = float(correct.mean()) if answered.any() else None
    return QueryError(kind, *numbers, precision, recall, float(answered.mean()))
