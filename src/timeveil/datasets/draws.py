"""What the generators have in common: skewed shares, labels, identifiers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.errors import ParameterError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Seed = int | np.random.Generator


def generator(seed: Seed) -> np.random.Generator:
    """The one source of randomness of a call."""
    if not isinstance(seed, np.random.Generator):
        at_least("seed", seed, 0)
    return np.random.default_rng(seed)


def at_least(name: str, value: int, least: int) -> None:
    """Refuse a size that makes no sense."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        actual = value if isinstance(value, int) else type(value).__name__
        raise ParameterError(
            f"`{name}` must be a whole number of at least {least}, got {actual}",
            hint=f"give `{name}` of {least} or more",
        )


def skewed_shares(count: int, exponent: float) -> Floats:
    """Zipf's law cut off at `count`: the i-th share is proportional to 1 / i**exponent.

    >>> skewed_shares(3, 1.0).round(3).tolist()
    [0.545, 0.273, 0.182]
    """
    weights = 1.0 / np.arange(1, count + 1) ** exponent
    return np.asarray(weights / weights.sum())


def heavy_tailed(draw: np.random.Generator, size: int, people: int, tail: float) -> Ints:
    """The person of each row: Pareto weights, so most people appear seldom and a few very often."""
    weights = 1.0 + draw.pareto(tail, people)
    return draw.choice(people, size=size, p=weights / weights.sum())


def labels(values: Sequence[str], codes: npt.NDArray[np.integer]) -> pa.Array:
    """The value of each code, as plain strings."""
    return pa.array(values, pa.string()).take(pa.array(codes))


def identifiers(prefix: str, numbers: npt.NDArray[np.integer], width: int = 6) -> pa.Array:
    """Text ids of equal length.

    >>> identifiers("P", np.array([7, 123])).to_pylist()
    ['P000007', 'P000123']
    """
    distinct, codes = np.unique(numbers, return_inverse=True)
    padded = pc.utf8_lpad(pa.array(distinct).cast(pa.string()), width, "0")
    return pc.binary_join_element_wise(prefix, padded, "").take(pa.array(codes))


def with_repeats(draw: np.random.Generator, size: int, share: float) -> Ints:
    """Row numbers in which about `share` of the rows are replaced by an exact copy of another row."""
    rows = np.arange(size)
    copies = np.flatnonzero(draw.random(size) < share)
    rows[copies] = draw.integers(0, max(size, 1), copies.size)
    return rows
