"""What is published beside envelopes and patterns: labels of quasi-identifiers and means of groups.

Means and labels are those of groups. In a group of n series a mean is one of the steps
`low + (high - low) * j / n`, the nearest one to the mean of the series. The steps 0, 1, n - 1 and n are not
published: there one series could have most of the distance of all from a bound. Equal bounds are the mean.
At the end is what all series of a person show together.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from timeveil.domain.arrays import Flags, Floats, Ints
from timeveil.domain.judgement import Estimate
from timeveil.evidence.checks import Findings
from timeveil.evidence.codes import Coded, distinct_pairs
from timeveil.evidence.conditions import Alternatives
from timeveil.evidence.published import columns_of
from timeveil.evidence.risk import Posterior
from timeveil.models.series.evidence import ABSENT, Bounds, Evidence, Published

_INNER = 2  # the first step that may be published, and as far from the last one
_ROUNDING = 1e-6  # of a step: sums of floats differ in their last digits
SENTENCES: Mapping[str, str] = {
    "group-labels": "{groups:group} whose rows do not show the same labels",
    "labels": "{values:value} of `{name}` published under a label that does not contain it",
    "levels": "{labels:label} of `{name}` listed in the manifest and not published, or listed twice",
    "mean:step": "{rows:row} with a mean that is not a step between its bounds, or one too near to a bound",
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


def group_sizes(published: Published) -> Ints:
    """The number of rows of the group of each run."""
    number, sizes = published.group_sizes
    return sizes[number]


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
    # Of nan, a mean that was held back, the bound remains.
    return np.fmax(published.mean - half, low), np.fmin(published.mean + half, high)


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


def check_against(mean: Floats, values: Floats, begins: Ints, bounds: Bounds, findings: Findings) -> None:
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
    wrong: Flags = stated & (width > 0) & (np.abs(step - position) > 0.5 + _ROUNDING)
    findings.expect_none("mean-differs", groups=wrong.any(axis=1))
    findings.expect_none("mean-missing", groups=(~stated & ~outer).any(axis=1))


def left_to_the_last(evidence: Evidence) -> dict[str, float]:
    """How much of an envelope is left for a value to someone who knows all others of its group.

    The mean share over all values whose group has a mean, of how many less than a tenth is left, and how many
    are known, because no other value that occurs at the instant fits; nothing without means. Bounds that no
    other member attains show the last value with or without a mean.
    """
    published, run = evidence.published, evidence.run[evidence.released]
    if published.mean is None:
        return {}
    width, size = published.high - published.low, group_sizes(published)
    values = evidence.matrix[evidence.released][:, published.values]
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


def check_shown(evidence: Evidence, findings: Findings) -> None:
    """What a recipient sees: one label per group and column, and levels of labels that are published."""
    group = np.repeat(evidence.runs.group, evidence.runs.rows)
    for name in evidence.columns("quasi"):
        findings.check(f"all rows of a group show one label of `{name}`")
        labels = evidence.released_column(name)
        owner, _, _ = distinct_pairs(group, labels.codes, max(labels.size, 1))
        findings.expect_none("group-labels", groups=np.bincount(owner) > 1)
        listed = [text for texts in evidence.release.manifest["levels"][name].values() for text in texts]
        strangers = len(listed) - len(set(listed) & set(labels.values.to_pylist()))
        findings.expect_none("levels", labels=strangers, name=name)


def check_contents(evidence: Evidence, group: Ints, findings: Findings) -> None:
    """With the ledger: every series is under labels that contain its values."""
    inside, groups = np.flatnonzero(group != ABSENT), evidence.runs.group
    for name in evidence.columns("quasi"):
        findings.check(f"every label of `{name}` contains the values of its group")
        # The label of a group is that of any of its runs.
        labels, run = evidence.run_labels(name), np.zeros(int(groups.max(initial=0)) + 1, np.int64)
        run[groups] = np.arange(len(groups))
        labelled = Coded(labels.codes[run[group[inside]]], labels.values)
        value = evidence.original_column(name).codes[evidence.series.row[inside]]
        findings.expect_none("labels", values=evidence.wrong_labels(name, value, labelled), name=name)


def known_sides(evidence: Evidence) -> list[tuple[Floats, Floats, Floats]]:
    """Per quasi-identifier a number of each series' value, and of each run the lowest and highest that fit.

    Labels nest, so values can be numbered such that those of every label follow each other.
    """
    sides = []
    for name in evidence.columns("quasi"):
        values, labels = evidence.original_column(name), evidence.run_labels(name)
        contains = evidence.contains(name, labels.values) > 0
        # Wide labels first: values of one label stay together, and within it those of the next narrower.
        widest = np.argsort(-contains.sum(axis=1), kind="stable")
        rank = np.argsort(np.lexsort(contains[widest][::-1]))
        least, most = (
            np.array([[pick(rank[row], initial=end)] for row in contains], np.float64)
            for pick, end in ((np.min, len(rank)), (np.max, -1))
        )
        position = rank[values.codes[evidence.series.row], None].astype(np.float64)
        sides.append((position, least[labels.codes], most[labels.codes]))
    return sides


def bits_lost(evidence: Evidence) -> dict[str, float]:
    """What a published series loses on average, in bits, by quasi-identifier."""
    lost = {}
    for name in evidence.columns("quasi") if len(evidence.released) else ():
        value, labels = evidence.original_column(name).codes[evidence.series.row], evidence.run_labels(name)
        labelled = Coded(labels.codes[evidence.run[evidence.released]], labels.values)
        lost[name] = evidence.bits_of(name, value[evidence.released], labelled, value)
    return lost


def shares_where(evidence: Evidence, where: Any) -> Floats:
    """Per run the share of its series that meets conditions: expected, certain and possible."""
    conditions, runs = Alternatives(evidence.release, where, evidence.columns("quasi")), evidence.runs
    labels = [evidence.run_labels(name) for name in conditions.labelled]
    columns = [each.values.take(pa.array(each.codes)) for each in labels]
    marks = np.full(len(runs.rows), (1 << len(conditions.sets)) - 1)
    names = [*conditions.labelled, "marks", "rows"]
    classes = pa.table([*columns, pa.array(marks), pa.array(runs.rows)], names)
    return evidence.label_shares(conditions, classes)


def owned_rows(evidence: Evidence) -> Callable[[Ints, Ints], Ints]:
    """A function of pairs of a series and a run: how many rows of the run are the same person's."""
    people = evidence.original_column(str(evidence.private.original.roles.respondent))
    person, size = people.codes[evidence.series.row].astype(np.int64), max(people.size, 1)
    inside = evidence.released
    keys = np.sort(evidence.run[inside] * size + person[inside])

    def rows_of(series: Ints, run: Ints) -> Ints:
        key = run * size + person[series]
        return np.searchsorted(keys, key, "right") - np.searchsorted(keys, key)

    return rows_of


def told_together(evidence: Evidence) -> dict[str, Posterior]:
    """Per sensitive column the chance of each person's true value to someone who knows all their series.

    Every series leads to its cell, and the chance of a value is the product of its shares in these cells.
    Only people with one value in all their series count, and columns that were not changed for l.
    """
    stated = evidence.release.manifest["series"]
    if not stated.get("several"):
        return {}
    inside, rows = evidence.released, evidence.published.rows
    column = evidence.original_column(str(evidence.private.original.roles.respondent))
    _, person = np.unique(column.codes[evidence.series.row[inside]], return_inverse=True)
    run, posteriors = evidence.run[inside], dict[str, Posterior]()
    for name in columns_of(evidence.release, "sensitive"):
        if name in stated["perturbed"]:
            continue
        values = evidence.original_column(name)
        code, size = values.codes[evidence.series.row[inside]].astype(np.int64), max(values.size, 1)
        cell, value, count = distinct_pairs(run, code, size)
        begins = np.searchsorted(cell, np.arange(len(rows) + 1))
        # Every series with every value of its cell.
        many = np.diff(begins)[run]
        series = np.repeat(np.arange(len(run)), many)
        entry = np.arange(len(series)) - np.repeat(np.cumsum(many) - many - begins[run], many)
        key, number = np.unique(person[series] * size + value[entry], return_inverse=True)
        likely = np.bincount(number, weights=np.log(count[entry] / rows[run[series]]))
        # Values that are in all cells of the person; the others are ruled out.
        common = np.bincount(number) == np.bincount(person)[key // size]
        key, likely = key[common], np.exp(likely[common])
        total, least = np.bincount(key // size, weights=likely, minlength=1), np.full(person.max() + 1, size)
        np.minimum.at(least, person, code)
        constant = np.bincount(person, weights=code != least[person]) == 0
        true = np.isin(key, np.arange(len(least)) * size + least) & constant[key // size]
        posteriors[name] = Posterior(likely[true] / total[key[true] // size], np.ones(int(true.sum())))
    return posteriors
