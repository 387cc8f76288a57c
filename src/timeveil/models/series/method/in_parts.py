"""Series cut into parts of similar ones, each grouped alone, on this machine or in a cluster.

The cut is a coarse k-d tree: all series are halved at the instant at which they vary most, and each half
again, until there are as many parts as asked for. Shapes are cut where patterns are published, values where
none are. A cut that would leave a part with fewer than `LEAST_SHARE` times k series is not made, so that few
series are far from all others of their part. Parts follow from content, and groups are those of a part:
whatever a method promises of its groups holds in each.

Cost: a few passes over the series for each cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from timeveil.models.series.method.partition import Floats, Labels, Matrix
from timeveil.models.series.parameters import SeriesParameters
from timeveil.symbols import z_normalised

LEAST_SHARE = 20
Cut = tuple[int, float, Any, Any] | None
"""An instant, a bound, and the cuts of those up to it and of those above; None where nothing is cut."""


def cut(matrix: Matrix, parameters: SeriesParameters, parts: int) -> Cut:
    """How series are cut into so many parts, or fewer if they would be too small."""
    return _cut(_features(matrix, parameters), parts, LEAST_SHARE * parameters.k)


def _cut(features: Floats, parts: int, least: int) -> Cut:
    if parts == 1 or len(features) < 2 * least:
        return None
    below = parts // 2
    instant = int(np.argmax(features.std(axis=0)))
    bound = float(np.quantile(features[:, instant], below / parts, method="lower"))
    low = features[:, instant] <= bound
    if min(np.count_nonzero(low), np.count_nonzero(~low)) < least:
        return None
    return instant, bound, _cut(features[low], below, least), _cut(features[~low], parts - below, least)


def part_of(matrix: Matrix, parameters: SeriesParameters, cuts: Cut) -> Labels:
    """The part of each series, from 0."""
    part, _ = _part_of(_features(matrix, parameters), cuts, 0)
    return part


def _part_of(features: Floats, cuts: Cut, first: int) -> tuple[Labels, int]:
    if cuts is None:
        return np.full(len(features), first), first + 1
    instant, bound, *halves = cuts
    part, high = np.empty(len(features), np.int64), features[:, instant] > bound
    for side, half in zip((~high, high), halves, strict=True):
        part[side], first = _part_of(features[side], half, first)
    return part, first


def _features(matrix: Matrix, parameters: SeriesParameters) -> Floats:
    return matrix if parameters.p == 1 else z_normalised(matrix, parameters.center)
