"""Groups of a series release as they are drawn: the envelope, and the pattern of each subgroup inside it.

A pattern says how a series runs, not how high. What is public leaves its height and depth inside the
envelope open: of all that fit, the middle is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from timeveil.domain.release import Ledger, Release
from timeveil.errors import ParameterError
from timeveil.models.series.evidence import Evidence
from timeveil.symbols import from_letters, reconstructed

Numbers = NDArray[np.float64]
STEPS = 257
"""Depths that are tried when a pattern is fitted into an envelope."""


@dataclass(frozen=True, slots=True)
class Subgroup:
    """Series that share a pattern: how many, its letters, and where it runs; NaN where nothing is public."""

    size: int
    letters: str
    line: Numbers
    originals: Numbers


@dataclass(frozen=True, slots=True)
class Group:
    """An envelope over all instants, NaN where it is not published, and the patterns in it."""

    number: int
    size: int
    low: Numbers
    high: Numbers
    subgroups: tuple[Subgroup, ...] = field(default=())


def groups_of(release: Release, numbers: Sequence[int], ledger: Ledger | None = None) -> list[Group]:
    """The groups with these numbers; with the ledger, the original series too."""
    table, series = release.table, release.manifest["series"]
    originals = {} if ledger is None else _originals(release, ledger, set(numbers))
    found = []
    for number in numbers:
        rows = table.filter(pc.equal(table["group"], number))
        if not rows.num_rows:
            groups = release.manifest["counts"]["groups"]
            raise ParameterError(
                f"there is no group {number}; the release has groups 1 to {groups:,}",
                hint=f"give --group 1 to {groups}, or leave it out",
            )
        low, high = (_bounds(rows, series, end) for end in ("lo", "hi"))
        cells = _subgroups(rows, series, low, high)
        if ledger is not None:
            cells = [replace(cell, originals=own) for cell, own in zip(cells, originals[number], strict=True)]
        found.append(Group(number, rows.num_rows, low, high, tuple(cells)))
    return found


def overview(release: Release, most: int = 6) -> list[int]:
    """Numbers of a few groups, from the narrowest envelope to the widest."""
    table, names = release.table, release.manifest["series"]["values"]
    number = table["group"].to_numpy()
    width = np.zeros(len(number))
    for name in names:
        width += table[f"{name}_hi"].to_numpy() - table[f"{name}_lo"].to_numpy()
    groups, first = np.unique(number, return_index=True)
    by_width = groups[np.argsort(width[first], kind="stable")]
    places = np.linspace(0, len(by_width) - 1, min(most, len(by_width))).round().astype(int)
    return [int(group) for group in by_width[places]]


def fitted(shape: Numbers, low: Numbers, high: Numbers) -> Numbers:
    """The shape, moved and stretched into the middle of what an envelope leaves it.

    Every depth that fits has a span of heights; the mean over all of them is taken. Where none fits, since a
    symbol is not a value, it is the depth that fits best.

    >>> fitted(np.array([-1.0, 1.0]), np.array([0.0, 2.0]), np.array([2.0, 4.0])).tolist()
    [1.0, 3.0]
    """
    known = ~(np.isnan(shape) | np.isnan(low))
    z, lo, hi = shape[known], low[known], high[known]
    span = float(np.ptp(z)) if len(z) else 0.0
    deepest = (hi.max() - lo.min()) / span if span else 0.0
    depth = np.linspace(0.0, deepest, STEPS)[:, None]
    bottom, top = (lo - depth * z).max(axis=1), (hi - depth * z).min(axis=1)
    room, height = top - bottom, (top + bottom) / 2
    weight = np.maximum(room, 0.0)
    if weight.sum() <= 0:
        weight = (room == room.max()).astype(np.float64)
    weight /= weight.sum()
    line: Numbers = weight @ height + float(weight @ depth[:, 0]) * shape
    return line


def _bounds(rows: pa.Table, series: dict[str, Any], end: str) -> Numbers:
    out = np.full(len(series["instants"]), np.nan)
    for index, name in enumerate(series["instants"]):
        if name in series["values"]:
            out[index] = rows[f"{name}_{end}"][0].as_py()
    return out


def _subgroups(rows: pa.Table, series: dict[str, Any], low: Numbers, high: Numbers) -> list[Subgroup]:
    places = [series["instants"].index(name) for name in series["pattern"]]
    patterns, levels = rows["pattern"].to_pylist(), rows["level"].to_pylist()
    counts: dict[tuple[str, Any], int] = {}
    for letters, level in zip(patterns, levels, strict=True):
        key = letters, tuple(level) if isinstance(level, list) else level
        counts[key] = counts.get(key, 0) + 1
    found = []
    for (letters, level), size in counts.items():
        shape = np.full(len(low), np.nan)
        shape[places] = reconstructed(from_letters(letters), np.asarray(level))
        found.append(Subgroup(size, letters, fitted(shape, low, high), np.empty((0, len(low)))))
    return found


def _originals(release: Release, ledger: Ledger, wanted: set[int]) -> dict[int, list[Numbers]]:
    """The original series of some groups, in the subgroups that the release has, in its order."""
    records = Evidence(release, ledger).records
    found: dict[int, list[Numbers]] = {}
    for run, group in enumerate(records.published.group.tolist()):
        if group in wanted:
            found.setdefault(group, []).append(records.matrix[records.run == run])
    return found
