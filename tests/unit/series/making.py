"""Partitions made by hand: neighbours in the order of their values share an envelope."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from timeveil.domain.roles import Roles
from timeveil.models.series.method.partition import Matrix, Partition
from timeveil.models.series.parameters import SeriesParameters
from timeveil.symbols import positions, symbols_at, z_normalised


def neighbours(matrix: Matrix, parameters: SeriesParameters, progress: object = None) -> Partition:
    """Groups of k in the order of values, in each two subgroups if there is room for them."""
    k, p = parameters.k, parameters.p
    series = len(matrix)
    place = np.empty(series, np.int64)
    place[np.lexsort(matrix.T[::-1])] = np.arange(series)
    group = np.minimum(place // k, series // k - 1)
    within = place - group * k
    subgroup = 2 * group + (within >= p if 2 * p <= k else 0)
    _, subgroup = np.unique(subgroup, return_inverse=True)
    u = positions(z_normalised(matrix, parameters.center))
    count = int(subgroup.max()) + 1
    levels = np.ones((count, matrix.shape[1]), np.uint8)
    for number in range(count):
        members = u[subgroup == number]
        agree = [level for level in range(1, parameters.max_level + 1)
                 if (symbols_at(members, level) == symbols_at(members[:1], level)).all()]  # fmt: skip
        levels[number] = max(agree)
    first = np.array([np.flatnonzero(subgroup == number)[0] for number in range(count)])
    own = parameters.method in ("adaptive", "kapra")
    return Partition(group, subgroup, symbols_at(u[first], levels), levels, own, {"tried": 1})


def table_of(series: int = 40, instants: int = 4, seed: int = 0) -> tuple[pa.Table, Roles]:
    """Random walks with a sensitive number, often the same, and a word to keep."""
    chance = np.random.default_rng(seed)
    matrix = chance.normal(size=(series, instants)).cumsum(axis=1)
    names = [f"t{place}" for place in range(instants)]
    columns = {name: matrix[:, place] for place, name in enumerate(names)}
    ill = np.where(np.arange(series) < 24, np.arange(series), chance.integers(0, 3, series))
    columns |= {"ill": ill, "town": chance.choice(["=x", "-", "y"], series)}
    return pa.table(columns), Roles(series=names, sensitive=["ill"], keep=["town"])
