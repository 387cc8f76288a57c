"""A large plain event table for benchmarks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from timeveil.datasets.draws import Seed, at_least, generator, skewed_shares

FIRST_DAY = np.datetime64("2024-01-01", "s").astype(np.int64)
DAY = 24 * 60 * 60
ZIPS = 100
AGE_BANDS = ("0-17", "18-34", "35-49", "50-64", "65+")
BLOCK = 500_000


def events(
    rows: int = 1_000_000, people: int = 100_000, days: int = 365, seed: Seed = 0, quasi: int = 2
) -> pa.Table:
    """Events of `people` people, numbered from 0, over `days` days, in no order.

    `quasi` is how many of the quasi-identifiers `zip`, `sex`, `age_band` there are, at most 3; they belong
    to the person and are dictionary-encoded. Built in blocks: memory stays near the size of the result.

    >>> events(1_000, people=50, quasi=2).schema.names
    ['person', 'happened_at', 'zip', 'sex', 'value']
    """
    for name, value, least in (
        ("rows", rows, 0),
        ("people", people, 1),
        ("days", days, 1),
        ("quasi", quasi, 0),
    ):
        at_least(name, value, least)
    draw = generator(seed)
    traits = _traits(draw, people)[:quasi]
    person = np.empty(rows, np.int64)
    at = np.empty(rows, np.int64)
    amount = np.empty(rows, np.float64)
    for low in range(0, rows, BLOCK):
        block = slice(low, min(low + BLOCK, rows))
        size = block.stop - block.start
        person[block] = people * draw.random(size) ** 2
        at[block] = FIRST_DAY + DAY * draw.integers(0, days, size, np.int32).astype(np.int64)
        at[block] += (DAY * (draw.random(size, np.float32) + draw.random(size, np.float32)) / 2).astype(
            np.int64
        )
        amount[block] = draw.standard_normal(size)
    columns = {name: _encoded(codes[person], words) for name, codes, words in traits}
    times = pa.array(at, pa.timestamp("s"))
    return pa.table({"person": person, "happened_at": times, **columns, "value": amount})


def _traits(draw: np.random.Generator, people: int) -> list[tuple[str, np.ndarray, list[str]]]:
    zips = draw.choice(ZIPS, size=people, p=skewed_shares(ZIPS, 0.5)).astype(np.int8)
    sex = draw.integers(0, 2, people, np.int8)
    band = draw.choice(len(AGE_BANDS), size=people, p=(0.18, 0.22, 0.2, 0.22, 0.18)).astype(np.int8)
    names = [f"{1000 + 37 * number:05}" for number in range(ZIPS)]
    return [("zip", zips, names), ("sex", sex, ["f", "m"]), ("age_band", band, list(AGE_BANDS))]


def _encoded(codes: np.ndarray, words: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(words))
