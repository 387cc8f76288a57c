"""The methods of series by k and p, with the usual parameters unless others are given."""

from __future__ import annotations

from functools import partial
from typing import Any

from timeveil.domain.wording import Progress, silent
from timeveil.models.series.method.partition import Matrix, Partition
from timeveil.models.series.method.publishing import partitioned
from timeveil.models.series.parameters import SeriesParameters


def by_method(matrix: Matrix, k: int, p: int, *, progress: Progress = silent, **parameters: Any) -> Partition:
    """Groups, subgroups and patterns of these series."""
    return partitioned(matrix, SeriesParameters(k=k, p=p, **parameters), progress)


adaptive = partial(by_method, method="adaptive")
representative = partial(by_method, method="representative")
naive = partial(by_method, method="naive")
kapra = partial(by_method, method="kapra")
