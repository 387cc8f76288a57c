"""The series of the experiments: three generated sets, and public data given by path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.generated import strings, uniform, walk
from timeveil.models.series.method.partition import Matrix
from timeveil.symbols import positions, symbols_at, z_normalised

SHOTS = [f"q{place:02}" for place in range(1, 11)]
HOURS = [f"h_{hour:02}" for hour in range(48)]
MONTHS = [f"m_{year}_{month:02}" for year in (1997, 1998) for month in range(1, 13)][:17]


@dataclass(frozen=True, slots=True)
class Source:
    """A data set: its name in tables, what it is, and its series, one row each."""

    name: str
    words: str
    matrix: Matrix

    def sample(self, rows: int, seed: int = 0) -> Matrix:
        """This many series at random, in their order; all where there are no more."""
        if len(self.matrix) <= rows:
            return self.matrix
        chosen = np.sort(np.random.default_rng(seed).choice(len(self.matrix), rows, replace=False))
        return np.ascontiguousarray(self.matrix[chosen])


def generated() -> list[Source]:
    """The paper's Walk, String and Uniform, and a walk whose steps are smaller in its range."""
    return [
        Source("Walk", "pieces of one random walk", matrix_of(walk(), SHOTS)),
        Source("Walk, seed 7", "a walk with smaller steps in its range", matrix_of(walk(seed=7), SHOTS)),
        Source("String", "made-up movements as 20 symbols", matrix_of(strings(), SHOTS)),
        Source("Uniform", "numbers that have nothing to do with each other", matrix_of(uniform(), SHOTS)),
    ]


def walk_file(path: Path) -> list[Source]:
    """Another random walk, the one of the targets."""
    return [Source("Walk, given", "another walk", matrix_of(pq.read_table(path), SHOTS))]


def motion(path: Path) -> list[Source]:
    """Motion capture, 0 and 1 being the least and the most of all channels."""
    found = _motion(path, "Motion")
    u = positions(z_normalised(found[0].matrix))
    words = "the same as 20 symbols"
    return [*found, Source("Motion as String", words, symbols_at(u, 20).astype(np.float64))]


def motion_by_channel(path: Path) -> list[Source]:
    """Motion capture, 0 and 1 being the least and the most of each channel."""
    return _motion(path, "Motion by channel")


def _motion(path: Path, name: str) -> list[Source]:
    table = pq.read_table(path)
    matrix = matrix_of(table, SHOTS)
    channels, channel = np.unique(np.asarray(table["channel"].to_numpy()), return_inverse=True)
    moves = np.array([np.ptp(matrix[channel == one]) > 0 for one in range(len(channels))])
    return [
        Source(name, "windows of motion capture", matrix),
        Source(
            f"{name}, moving",
            "the same without the channels that never move",
            np.ascontiguousarray(matrix[moves[channel]]),
        ),
    ]


def icu(path: Path) -> list[Source]:
    """Heart rates of patients in intensive care, by hour."""
    return [Source("ICU", "heart rate by hour", matrix_of(pq.read_table(path), HOURS))]


def cdnow(path: Path) -> list[Source]:
    """What customers spent, by month; mostly nothing."""
    return [Source("CDNOW", "spending by month, mostly nothing", matrix_of(pq.read_table(path), MONTHS))]


def motion_large(path: Path) -> list[Source]:
    """More motion capture, for times alone; in random order, so that the first are of all channels."""
    matrix = matrix_of(pq.read_table(path), SHOTS)
    order = np.random.default_rng(0).permutation(len(matrix))
    return [Source("Motion, large", "more motion capture, for times alone", matrix[order])]


READERS: dict[str, Callable[[Path], list[Source]]] = {
    "motion": motion,
    "motion_perchannel": motion_by_channel,
    "icu": icu,
    "cdnow": cdnow,
    "walk": walk_file,
    "motion_large": motion_large,
}


def matrix_of(table: pa.Table, instants: list[str]) -> Matrix:
    """The series of a table in wide form; none may be missing."""
    matrix = np.column_stack([np.asarray(table[name].to_numpy(), np.float64) for name in instants])
    assert np.isfinite(matrix).all()
    return np.ascontiguousarray(matrix)
