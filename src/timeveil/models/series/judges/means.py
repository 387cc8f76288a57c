"""The means of groups: whether they are what they may be, what they answer, and what they give away.

In a group of n series a mean is one of the steps `low + (high - low) * j / n`, the nearest one to the mean of
the series. The steps 0, 1, n - 1 and n are not published: there one series could have most of the distance of
all from a bound. Equal bounds are the mean.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from timeveil.domain.judgement import Estimate
from timeveil.evidence.checks import Findings
from timeveil.models.series.evidence import Bounds, Floats, Integers, Mask, Published, Records

_INNER = 2  # the first step that may be published, and as far from the last one
_ROUNDING = 1e-6  # of a step: sums of floats differ in their last digits
SENTENCES: Mapping[str, str] = {
    "mean:step": "{rows:row} with a mean that is not a step between its bounds, or one too near to a bound",
    "mean:unreadable": "{fault}",
    "mean-differs": "{groups:group} with a mean that is not that of its series",
    "mean-missing": "{groups:group} without a mean that its series allow",
}


@dataclass(frozen=True, slots=True)
class MeanValue:
    """The mean of all published series at an instant; withheld ones are not counted.

    >>> MeanValue("h08").instant
    'h08'
    """

    instant: str


def group_sizes(published: Published) -> Integers:
    """The number of rows of the group of each run."""
    groups, number = np.unique(published.group, return_inverse=True)
    return np.bincount(number, weights=published.rows, minlength=len(groups)).astype(np.int64)[number]


def middles(published: Published) -> Floats:
    """Per run and published instant the best guess at the mean of its group.

    One that was held back is a step from a bound: the one that the other means of the instant are nearer to,
    or the lower one. Without means it is the middle.
    """
    low, high = published.low, published.high
    if published.mean is None:
        return low / 2 + high / 2
    width, stated = high - low, np.isfinite(published.mean)
    stepped = stated & (width > 0)
    share = np.where(stepped, published.mean - low, 0.0) / np.where(stepped, width, 1.0)
    weight = np.where(stepped, published.rows[:, None], 0)
    falls = (share * weight).sum(axis=0) <= weight.sum(axis=0) / 2
    step = width / group_sizes(published)[:, None]
    return np.where(stated, published.mean, np.where(falls, low + step, high - step))


def mean_bounds(published: Published) -> Bounds:
    """Per run and published instant what the mean of its group can be."""
    low, high = published.low, published.high
    if published.mean is None:
        return low, high
    half = (0.5 + _ROUNDING) * (high - low) / group_sizes(published)[:, None]
    stated = np.isfinite(published.mean)
    return (
        np.where(stated, np.maximum(published.mean - half, low), low),
        np.where(stated, np.minimum(published.mean + half, high), high),
    )


def mean_of(published: Published, low: Floats, middle: Floats, high: Floats) -> Estimate:
    """The mean over all rows, from what it can be and the best guess for each run."""
    share = published.rows / max(int(published.rows.sum()), 1)
    value, least, most = (float(share @ part) if len(share) else np.nan for part in (middle, low, high))
    slack = _ROUNDING**2 * max(abs(least), abs(most)) if np.isfinite([least, most]).all() else 0.0
    return Estimate(value, low=least - slack, high=most + slack)


def check_steps(runs: Published, findings: Findings) -> None:
    """Every published mean is a step that may be published."""
    if runs.mean is None:
        return
    findings.check("every mean is a step between the bounds of its envelope, and not near one of them")
    width, size = runs.high - runs.low, group_sizes(runs)[:, None]
    stated, flat = np.isfinite(runs.mean), width == 0
    step = np.rint(np.where(stated, runs.mean - runs.low, 0.0) / np.where(flat, 1.0, width) * size)
    inner = (step >= _INNER) & (step <= size - _INNER) & (runs.mean == runs.low + width * (step / size))
    wrong = np.where(flat, runs.mean != runs.low, stated & ~inner)
    findings.expect_none("mean:step", rows=runs.rows[wrong.any(axis=1)].sum())


def check_against(mean: Floats, values: Floats, begins: Integers, bounds: Bounds, findings: Findings) -> None:
    """The means of groups are those of their series, and held back only where they have to be.

    The series of a group follow each other, each group from one of `begins` on.
    """
    findings.check("every mean is that of its series, and is held back only near a bound")
    size = np.diff(np.append(begins, len(values)))
    low, width = bounds[0], bounds[1] - bounds[0]
    divisor = np.where(width == 0, 1.0, width)
    shares = (values - np.repeat(low, size, axis=0)) / np.repeat(divisor, size, axis=0)
    position, stated = np.add.reduceat(shares, begins), np.isfinite(mean)
    step = np.where(stated, mean - low, 0.0) / divisor * size[:, None]
    outer = np.minimum(position, size[:, None] - position) < _INNER - 0.5 + _ROUNDING
    wrong: Mask = stated & (width > 0) & (np.abs(step - position) > 0.5 + _ROUNDING)
    findings.expect_none("mean-differs", groups=wrong.any(axis=1))
    findings.expect_none("mean-missing", groups=(~stated & ~outer).any(axis=1))


def left_to_the_last(records: Records) -> dict[str, float]:
    """How much of an envelope is left for a value to someone who knows all others of its group.

    The mean share over all values whose group has a mean, of how many less than a tenth is left, and how many
    are known, because no other value that occurs at the instant fits; nothing without means. Bounds that no
    other member attains show the last value with or without a mean.
    """
    published, run = records.published, records.run[records.released]
    if published.mean is None:
        return {}
    width, size = published.high - published.low, group_sizes(published)
    values = records.matrix[records.released][:, published.values]
    shares = (values - published.low[run]) / np.where(width > 0, width, 1.0)[run]
    group = np.unique(published.group[run], return_inverse=True)[1]
    total = np.zeros((int(group.max(initial=-1)) + 1, shares.shape[1]))
    np.add.at(total, group, shares)
    step = np.where(width > 0, published.mean - published.low, np.nan) / np.where(width > 0, width, 1.0)
    # Those who know the others place the last value in a stretch as long as the envelope, within it.
    centre = shares + (step * size[:, None])[run] - total[group]
    left = np.minimum(centre + 0.5, 1.0) - np.maximum(centre - 0.5, 0.0)
    has_mean = np.isfinite(left)
    if not has_mean.any():
        return {}
    # How many of the values that occur at an instant could be in the place of each: from half a step below to
    # less than half a step above, as the mean was rounded, within the envelope.
    sides = (np.clip(centre + side - _ROUNDING, -_ROUNDING, 1 + _ROUNDING) for side in (-0.5, 0.5))
    begin, end = (published.low[run] + side * width[run] for side in sides)
    fitting = np.zeros(values.shape, dtype=np.int64)
    for instant, column in enumerate(values.T):
        occurring = np.unique(column)
        first, after = (np.searchsorted(occurring, bound[:, instant]) for bound in (begin, end))
        fitting[:, instant] = after - first
    left, certain = np.clip(left[has_mean], 0.0, 1.0), fitting[has_mean] <= 1
    shares_of = {"mean": left, "below_a_tenth": left < 0.1, "known": certain}
    return {name: float(part.mean()) for name, part in shares_of.items()}
