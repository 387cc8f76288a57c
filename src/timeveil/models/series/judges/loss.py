"""What a series release lost against the original."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from timeveil.domain.ledger import Ledger
from timeveil.domain.progress import Progress, silent
from timeveil.domain.release import Release
from timeveil.models.series.judges.published import Floats
from timeveil.models.series.judges.records import Records, records_of
from timeveil.models.series.judges.workload import Outcome, Shown, Workload
from timeveil.symbols.envelope import envelopes
from timeveil.symbols.shape import pattern_distance

TOLERANCE = 0.1
"""The one tolerance at which every release is asked for similar shapes: a correlation of at least 0.9."""
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class QueryError:
    """How far off random questions of one kind are, over `queries` of them.

    `mean` and `median` are of the relative error of the count. Where the answer is a set of rows,
    `recall` is the share of those that fit that are in it, and `precision` the share of it that truly
    fits, on average over the questions with an answer that is not empty, which are a share of `answered`.
    """

    kind: str
    queries: int
    mean: float
    median: float
    precision: float | None = None
    recall: float | None = None
    answered: float | None = None


@dataclass(frozen=True, slots=True)
class SeriesLoss:
    """What a series release lost, in plain numbers; None where the part was not published.

    `value_loss` is the mean over published series of the root mean square width of the envelope (Shou et al.
    2013, eq. 2), over the instants whose values were published; `value_loss_unrounded` the same with
    the envelopes as they were before they were rounded outward, `value_span` the width of one envelope
    around all series. `pattern_loss` is the mean distance of a series' shape from the published one (eq. 3):
    1 less their correlation, over the instants whose pattern was published. `level_mean` and `level_min` are
    of the published symbols. `query_errors` has one entry per kind of question.
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
        """That of one kind of question, if it could be asked."""
        return next((found for found in self.query_errors if found.kind == kind), None)

    def as_dict(self) -> dict[str, Any]:
        """The same as data."""
        errors = [asdict(found) for found in self.query_errors]
        return {**asdict(self), "suppressed_share": self.suppressed_share, "query_errors": errors}


def measure_series(
    release: Release, ledger: Ledger, queries: int, seed: int, progress: Progress = silent
) -> SeriesLoss:
    """Compare a series release with the original series that its ledger holds."""
    records = records_of(release, ledger)
    known, kept = records.published, records.kept
    losses = pattern_losses(records)
    pattern_loss = float(losses.mean()) if len(losses) else None
    levels = known.levels
    share = known.rows / max(len(kept), 1)
    return SeriesLoss(
        rows=len(kept),
        suppressed=len(records.matrix) - len(kept),
        groups=len(np.unique(known.group)),
        cells=len(known.rows),
        value_loss=_weighed(widths(known.low, known.high), share),
        value_loss_unrounded=_unrounded(records),
        value_span=_span(records),
        pattern_loss=pattern_loss,
        level_mean=float(share @ levels.mean(axis=1)) if levels.size else None,
        level_min=int(levels.min()) if levels.size else None,
        query_errors=_query_errors(records, pattern_loss, queries, seed, progress),
    )


def widths(low: Floats, high: Floats) -> Floats:
    """The root mean square width of envelopes (eq. 2).

    >>> widths(np.array([[0.0, 1.0]]), np.array([[3.0, 5.0]])).round(4).tolist()
    [3.5355]
    """
    if not low.shape[1]:
        return np.zeros(0)
    each = high - low
    largest = each.max(axis=1, keepdims=True)
    part = np.divide(each, largest, out=np.zeros_like(each), where=largest > 0)  # whose squares are finite
    wide: Floats = largest[:, 0] * np.sqrt(np.square(part).mean(axis=1))
    return wide


def pattern_losses(records: Records) -> Floats:
    """Of each published series, the distance of its shape from the published one (eq. 3)."""
    known, kept = records.published, records.kept
    if len(known.pattern) == 0:
        return np.zeros(0)
    shapes, out = known.shapes()[:, known.pattern], np.empty(len(kept))
    for start in range(0, len(kept), _BLOCK):
        some = kept[start : start + _BLOCK]
        original = records.matrix[some][:, known.pattern]
        out[start : start + _BLOCK] = pattern_distance(original, shapes[records.run[some]])
    return out


def _weighed(values: Floats, share: Floats) -> float | None:
    return float(values @ share) if len(values) else None


def _unrounded(records: Records) -> float | None:
    known = records.published
    if not len(known.values) or not len(known.rows):
        return None
    numbers = np.unique(known.group, return_inverse=True)[1].ravel()
    group = np.where(records.run >= 0, numbers[records.run], -1)
    wide = widths(*envelopes(records.matrix[:, known.values], group))
    return _weighed(wide, np.bincount(group[group >= 0]) / len(records.kept))


def _span(records: Records) -> float | None:
    values = records.matrix[:, records.published.values]
    if not values.size:
        return None
    return float(widths(values.min(axis=0)[None, :], values.max(axis=0)[None, :])[0])


def shown_of(records: Records) -> Shown:
    """What the release says, as a workload takes it."""
    known = records.published
    shapes = known.shapes()[:, known.pattern]
    return Shown(known.rows, records.run, known.values, known.pattern, known.low, known.high, shapes)


def _query_errors(
    records: Records, pattern_loss: float | None, queries: int, seed: int, progress: Progress
) -> tuple[QueryError, ...]:
    if not queries or not len(records.kept):
        return ()
    asked = Workload(records.matrix, shown_of(records), records.published.center, progress)
    rng = np.random.default_rng(seed)
    out = []
    if asked.has_values:
        out.append(_told("range", asked.ranges(queries, rng)))
    if asked.has_shapes and pattern_loss is not None:
        out.append(_told("pattern-range", asked.pattern_ranges(queries, rng)))
        tolerance = pattern_loss * rng.uniform(1.0, 10.0, queries)
        out.append(_told("similarity", asked.similarities(tolerance, rng)))
        fixed = np.full(queries, TOLERANCE)
        out.append(_told("similarity at one tolerance", asked.similarities(fixed, rng)))
        if asked.has_values:
            out.append(_told("complex", asked.complex(fixed, rng)))
    return tuple(out)


def _told(kind: str, found: Outcome) -> QueryError:
    errors = found.errors()
    numbers = len(errors), float(errors.mean()), float(np.median(errors))
    if found.hits is None or found.told is None:
        return QueryError(kind, *numbers)
    some = found.told > 0
    recall = float((found.hits / np.maximum(found.truth, 1.0)).mean())
    precision = float((found.hits[some] / found.told[some]).mean()) if some.any() else None
    return QueryError(kind, *numbers, precision, recall, float(some.mean()))
