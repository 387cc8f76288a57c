"""What judges of series read, once and when first needed: the release, the original, and the ledger between.

Equal rows of a release follow each other; a run of them is one row here, with its number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.arrays import Floats, Ints
from timeveil.domain.release import Ledger, Release
from timeveil.domain.wording import counted
from timeveil.errors import BundleError, ParameterError, raising
from timeveil.evidence.codes import Coded, changes, encode, mismatch, within_room
from timeveil.evidence.labels import LabelledEvidence
from timeveil.evidence.published import columns_of, promised
from timeveil.models.series.evidence.original import ABSENT, Series, encode_numbers, floats_of
from timeveil.symbols import (
    LETTERS,
    MOST_LEVELS,
    Center,
    Representation,
    borders,
    reconstructed,
    representation_of,
)

__all__ = ["ABSENT", "Floats", "Series", "encode_numbers", "floats_of"]
Bounds: TypeAlias = tuple[Floats, Floats]  # the lowest and the highest values
Symbols: TypeAlias = npt.NDArray[np.int16]
GROUP, PATTERN, LEVEL = "group", "pattern", "level"
"""Names of published columns; a release without patterns has only the first."""
SLACK = 1e-9  # the rounding error of a z-normalised value; cells are taken to be this much wider

_SYMBOLS = np.full(256, -1, dtype=np.int16)
_SYMBOLS[np.frombuffer(LETTERS.encode(), np.uint8)] = np.arange(MOST_LEVELS)


class Published:
    """The rows of a series release, each run of equal ones once.

    `instants` are all of a series; `values` and `pattern` index those whose envelope and whose shape were
    published. `low` and `high` have a column for each of the former, `symbols` and `levels` one for each
    feature of the `representation` of the latter. `rows` is the number of published rows in a run. `mean` is
    nan where it was held back, and None in a release without means. `own_patterns` means that a pattern is
    that of each of its series.
    """

    def __init__(self, release: Release) -> None:
        stated = release.manifest["series"]
        self.instants = instants = tuple(str(name) for name in stated["instants"])
        parameters = release.manifest.get("parameters", {})
        self.representation = representation = representation_of(parameters, len(instants))
        names_of = {"values": instants, "pattern": representation.names(instants)}
        if any(len(set(names)) < len(names) for names in (instants, *map(stated.get, names_of))):
            raise ValueError
        numbers_of = [{name: number for number, name in enumerate(names)} for names in names_of.values()]
        values, features = (
            np.array([numbers[name] for name in stated[part]], np.int64)
            for part, numbers in zip(names_of, numbers_of, strict=True)
        )
        self.pattern = np.sort(features)
        if not representation.of_instants:
            # Symbols of several instants are published all or none.
            self.pattern = np.arange(len(instants) * bool(len(features)))
            if len(features) not in (0, len(names_of["pattern"])):
                raise ValueError
        names = [columns_of(release, role) for role in ("low", "high", "mean")]
        ends = ["lo", "hi", "mean"] if names[2] else ["lo", "hi"]
        if names[: len(ends)] != [[f"{name}_{end}" for name in stated["values"]] for end in ends]:
            raise ValueError
        numbers, symbols = np.zeros(0, np.int64), np.zeros((0, len(features)), np.int16)
        bounds = (np.zeros((0, width)) for width in (len(values), len(values), len(names[2])))
        parts: list[tuple[npt.NDArray[Any], ...]] = [(numbers, numbers, *bounds, symbols, symbols)]
        pieces = (_batch_runs(batch, names, len(features)) for batch in release.batches())
        parts += within_room(release.parts["data"], pieces, rooms=2)
        sides = [list(side) for side in zip(*parts, strict=True)]
        parts.clear()
        # Once more over all batches: a run may continue from one to the next. Joined ones are let go.
        joined = (np.concatenate(sides.pop(0)) for _ in range(7))
        self.group, self.rows, low, high, means, symbols, levels = _runs(*joined)
        # Columns are published in any order of instants; here they are in the order of time.
        by_value, by_symbol = np.argsort(values), np.argsort(features)
        self.values, self.low, self.high = values[by_value], low[:, by_value], high[:, by_value]
        self.symbols, self.levels = symbols[:, by_symbol], levels[:, by_symbol]
        self.mean = np.where(np.isinf(means), np.nan, means)[:, by_value] if names[2] else None
        self.center: Center = "median" if stated["center"] == "median" else "mean"
        self.own_patterns = bool(stated["own_patterns"])
        self.suppressed = int(release.manifest["counts"]["suppressed"])

    @property
    def size(self) -> int:
        return len(self.instants)

    @property
    def group_sizes(self) -> tuple[Ints, Ints]:
        """The group of each run, numbered from 0, and how many rows each group has."""
        number = np.unique(self.group, return_inverse=True)[1].ravel()
        return number, np.bincount(number, weights=self.rows).astype(np.int64)

    @property
    def reach(self) -> float:
        """How far from 0 a z-normalised value can be.

        One value of n is at most sqrt(n - 1) deviations from their mean, and the median at most one.
        """
        return math.sqrt(max(self.size - 1, 0)) + (self.center == "median")

    def index_of(self, names: Sequence[str]) -> Ints:
        for name in names:
            if name not in self.instants:
                hint = f"use {', '.join(self.instants[:12])}{', ...' if self.size > 12 else ''}"
                raise ParameterError(f"the release has no instant `{name}`", hint=hint, code="column-missing")
        return np.array([self.instants.index(name) for name in names], dtype=np.int64)

    def others(self, instants: Ints) -> Ints:
        return np.setdiff1d(np.arange(self.size), instants)

    def features_known(self, instants: Ints) -> tuple[Ints, Ints]:
        """The features that follow from the values of some instants alone, and those that are published."""
        if self.representation.of_instants:
            return instants, self.pattern
        unknown = self.representation.features(np.eye(self.size)[self.others(instants)])
        published = np.arange(unknown.shape[1] if len(self.pattern) else 0)
        return np.flatnonzero(~unknown.any(axis=0)), published

    def shapes(self, runs: Any = slice(None)) -> Floats:
        """Per run and instant the reconstructed z-normalised value; nan where no symbol was published."""
        features = reconstructed(self.symbols[runs], self.levels[runs])
        shapes = np.full((len(features), self.size), np.nan)
        if len(self.pattern):
            shapes[:, self.pattern] = self.representation.sequence(features)
        return shapes


class Cells:
    """What the symbols of each run allow, anything without one: bounds of the features of its series.

    Their z-normalised values are at most `reach` from 0, and the mean of these at most `drift`.
    """

    def __init__(self, published: Published, slack: float = 0.0) -> None:
        self.representation, is_sax = Representation(published.size), published.representation.of_instants
        below = np.full((len(published.rows), published.size), -published.reach)
        above = -below
        if published.own_patterns and len(published.pattern):
            # A rise, by the root of 2, may be a little further from 0 than values are.
            bounds = cell_bounds(published.symbols, published.levels, published.reach + (not is_sax))
            if is_sax:
                below[:, published.pattern], above[:, published.pattern] = bounds
            else:
                self.representation, (below, above) = published.representation, bounds
        self.below, self.above = below - slack, above + slack
        self.reach, self.drift = published.reach + slack, float(published.center == "median")

    @property
    def values(self) -> Bounds:
        """Per run and instant the z-normalised values that are allowed."""
        if self.representation.of_instants:
            return self.below, self.above
        instants = np.arange(self.representation.count)
        bounds = np.array([self.summed((instants == instant) * 1.0) for instant in instants])
        return np.maximum(bounds[:, 0].T, -self.reach), np.minimum(bounds[:, 1].T, self.reach)

    def summed(self, weights: Floats) -> Bounds:
        """Per run what a weighted sum of its z-normalised values can be."""
        weights, slack = self.representation.weights(weights, self.drift)
        used = np.flatnonzero(weights)
        up, down = np.maximum(weights[used], 0.0), np.minimum(weights[used], 0.0)
        below, above = self.below[:, used], self.above[:, used]
        return below @ up + above @ down - slack, above @ up + below @ down + slack


class Evidence(LabelledEvidence):
    """A release of series and its ledger, read once for all judges."""

    def __init__(self, release: Release, ledger: Ledger | None = None) -> None:
        super().__init__(release, ledger)
        self.k, self.p = promised(release, "k"), promised(release, "p")

    @property
    def least_candidates(self) -> int:
        """How many rows the promise leaves to someone who knows a series: k where no pattern is published."""
        return self.p if self.release.manifest["series"]["pattern"] else self.k

    @cached_property
    def runs(self) -> Published:
        """The rows of the release; envelopes may be anything."""
        damaged = _damaged("the manifest of this release and its table do not fit each other")
        with raising(damaged, on=(LookupError, TypeError, ValueError, AttributeError, NotImplementedError)):
            return Published(self.release)

    @cached_property
    def published(self) -> Published:
        """The rows of the release; one whose envelopes are impossible is refused."""
        runs = self.runs
        if not (np.isfinite(runs.low) & np.isfinite(runs.high) & (runs.low <= runs.high)).all():
            raise _damaged("envelopes of this release have bounds that are not finite, or low above high")
        return runs

    @cached_property
    def series(self) -> Series:
        """The series of the original, gaps filled as stated."""
        return Series(self.private.original, self.release.manifest["parameters"].get("fill"))

    def run_labels(self, name: str) -> Coded:
        labels, rows = self.released_column(name), self.runs.rows
        return Coded(labels.codes[np.cumsum(rows) - rows], labels.values)

    def noted(self, name: str) -> Ints:
        """A column of numbers in the ledger, `ABSENT` where it is null."""
        return np.asarray(self.private.table.column(name).fill_null(ABSENT)).astype(np.int64)

    @cached_property
    def run(self) -> Ints:
        """The run of `published` that holds each series, `ABSENT` if suppressed; another ledger is refused.

        Subgroups of a ledger are numbered in the order in which the cells of the release appear.
        """
        published = self.published
        if self.private.model != "series" or not {GROUP, "subgroup"} <= set(self.private.table.column_names):
            raise mismatch("the ledger is that of another kind of release")
        series = self.series
        if not series.has_instants(published.instants) or len(series.of_row) != self.private.table.num_rows:
            raise mismatch("the series of the ledger's original do not have the instants of the release")
        group, subgroup = (self.noted(name)[series.row] for name in (GROUP, "subgroup"))
        inside = subgroup != ABSENT
        run = np.full(len(subgroup), ABSENT, dtype=np.int64)
        _, run[inside], rows = np.unique(subgroup[inside], return_inverse=True, return_counts=True)
        same = np.array_equal(rows, published.rows)
        if not same or not np.array_equal(published.group[run[inside]], group[inside]):
            raise mismatch(f"the ledger places {int(inside.sum()):,} series, and not as the release has them")
        return run

    @property
    def matrix(self) -> Floats:
        return self.series.matrix

    @cached_property
    def released(self) -> Ints:
        """The series that were published, those of a run together."""
        order = np.argsort(self.run, kind="stable")
        return order[np.searchsorted(self.run[order], 0) :]


def cell_bounds(symbols: Symbols, levels: Symbols, reach: float) -> Bounds:
    """The z-normalised values that symbols allow, at most `reach` from 0."""
    return np.maximum(borders(symbols, levels), -reach), np.minimum(borders(symbols + 1, levels), reach)


# The release.


def _batch_runs(batch: pa.RecordBatch, names: list[list[str]], width: int) -> tuple[npt.NDArray[Any], ...]:
    if batch.column(GROUP).null_count:
        raise _damaged(f"{counted(batch.column(GROUP).null_count, 'row')} without a group", "group")
    group = np.asarray(batch.column(GROUP).cast(pa.int64())).astype(np.int64, copy=False)
    numbers = [[batch.column(name).cast(pa.float64()) for name in ends] for ends in names]
    if not all(pc.all(pc.is_finite(column), min_count=0).as_py() for column in numbers[2]):
        raise _damaged("some means are not finite", "mean")
    # Infinity in place of a mean held back: unlike nan it equals itself.
    numbers[2] = [column.fill_null(np.inf) for column in numbers[2]]
    low, high, means = (np.array(ends, np.float64).reshape(-1, len(group)).T for ends in numbers)
    patterns = (np.zeros((len(group), 0), np.int16),) * 2
    if width:
        patterns = patterns_of(batch.column(PATTERN), batch.column(LEVEL), width)
    return _runs(group, np.ones(len(group), dtype=np.int64), low, high, means, *patterns)


def _runs(group: Ints, rows: Ints, *matrices: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    """Equal rows that follow each other as one, by everything but the sensitive and the kept columns."""
    fresh = changes(group)
    for matrix in matrices:
        fresh[1:] |= (matrix[1:] != matrix[:-1]).any(axis=1)
    if fresh.all():
        return group, rows, *matrices
    first = np.flatnonzero(fresh)
    total = np.add.reduceat(rows, first) if len(first) else rows
    return group[first], total, *(matrix[first] for matrix in matrices)


def patterns_of(text: pa.Array, level: pa.Array, width: int) -> tuple[Symbols, Symbols]:
    """Per row and instant of the pattern the symbol, from 0, and its level."""
    if text.null_count:
        raise _damaged(f"{counted(text.null_count, 'row')} without a pattern", "pattern")
    coded = encode(text)
    words = coded.values.to_pylist()
    fits = all(len(word) == width and word.isascii() for word in words)
    symbols = _SYMBOLS[np.frombuffer("".join(words).encode(), np.uint8)] if fits else _SYMBOLS[:1]
    if (symbols < 0).any():
        raise _damaged(f"some patterns are not {width:,} letters from a to z or A to Z", "pattern")
    symbols = symbols.reshape(len(words), width)[coded.codes]
    listed = pa.types.is_list(level.type)
    flat = pc.list_flatten(level) if listed else level
    fits = not (level.null_count or flat.null_count)
    if fits and listed:
        fits = bool((np.asarray(pc.list_value_length(level)) == width).all())
    numbers = np.asarray(flat).astype(np.int64) if fits else np.zeros(1, np.int64)
    if ((numbers < 1) | (numbers > MOST_LEVELS)).any():
        raise _damaged(f"some levels are not {width:,} numbers from 1 to {MOST_LEVELS}", "pattern")
    shape = len(text), width if listed else 1
    levels = np.broadcast_to(numbers.astype(np.int16).reshape(shape), symbols.shape)
    beyond = int((symbols >= levels).any(axis=1).sum())
    if beyond:
        raise _damaged(f"{counted(beyond, 'row')} with a letter beyond the level of its instant", "pattern")
    return symbols, levels


def _damaged(message: str, finding: str = "columns") -> BundleError:
    hint = "run verify on the release, and ask the sender for a new copy"
    return BundleError(message, hint=hint, facts={"finding": finding})
