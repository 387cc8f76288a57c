"""Generated tables of the benchmarks and experiments: many plain events, and the series of a paper.

The series are pieces of a random walk, uniform noise, and strings of symbols (Shou et al. 2013, section 7);
each table has the columns `record`, `q01`, `q02`, … and the sensitive `s`. As with those of
`timeveil.datasets`, the same seed gives the same table.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pyarrow as pa

from timeveil.datasets import Seed, at_least, generator, identifiers, skewed
from timeveil.domain.arrays import Floats, Ints

FIRST_DAY = np.datetime64("2024-01-01", "s").astype(np.int64)
DAY = 24 * 60 * 60
ZIPS = 100
AGE_BANDS = ("0-17", "18-34", "35-49", "50-64", "65+")
BLOCK = 500_000
STILL = 22 / 96  # share of channels in the paper's Motion data that never move


def events(
    rows: int = 1_000_000, people: int = 100_000, days: int = 365, seed: Seed = 0, quasi: int = 2
) -> pa.Table:
    """Events of `people` people, numbered from 0, over `days` days, in no order.

    `quasi` is how many of the quasi-identifiers `zip`, `sex`, `age_band` there are, at most 3; they belong
    to the person and are dictionary-encoded. Built in blocks: memory stays near the size of the result.

    >>> events(1_000, people=50, quasi=2).schema.names
    ['person', 'happened_at', 'zip', 'sex', 'value']
    """
    at_least(0, rows=rows, quasi=quasi)
    at_least(1, people=people, days=days)
    draw = generator(seed)
    zips = skewed(draw, ZIPS, people, 0.5).astype(np.int8)
    sex = draw.integers(0, 2, people, np.int8)
    band = draw.choice(len(AGE_BANDS), size=people, p=(0.18, 0.22, 0.2, 0.22, 0.18)).astype(np.int8)
    zip_names = [f"{1000 + 37 * number:05}" for number in range(ZIPS)]
    traits = [("zip", zips, zip_names), ("sex", sex, ["f", "m"]), ("age_band", band, list(AGE_BANDS))]
    person, at, amount = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows)
    for low in range(0, rows, BLOCK):
        block = slice(low, min(low + BLOCK, rows))
        size = block.stop - block.start
        person[block] = people * draw.random(size) ** 2
        at[block] = FIRST_DAY + DAY * draw.integers(0, days, size, np.int32).astype(np.int64)
        time_of_day = DAY * (draw.random(size, np.float32) + draw.random(size, np.float32)) / 2
        at[block] += time_of_day.astype(np.int64)
        amount[block] = draw.standard_normal(size)
    columns = {
        name: pa.DictionaryArray.from_arrays(pa.array(codes[person]), pa.array(words))
        for name, codes, words in traits[:quasi]
    }
    times = pa.array(at, pa.timestamp("s"))
    return pa.table({"person": person, "happened_at": times, **columns, "value": amount})


def walk(rows: int = 6_553, instants: int = 10, seed: Seed = 0) -> pa.Table:
    """Pieces of one random walk, scaled to 0 to 1: a walk of 65,536 steps has 6,553 of 11 each, stride 10.

    The sensitive value of a piece is the step after it, which is also the first of the next piece.

    >>> walk(rows=3, instants=4).column_names
    ['record', 'q01', 'q02', 'q03', 'q04', 's']
    """
    at_least(0, rows=rows)
    at_least(1, instants=instants)
    path = np.cumsum(generator(seed).normal(size=rows * instants + 1))
    low, high = path.min(), path.max()
    scaled = np.round((path - low) / (high - low if high > low else 1.0), 6)
    pieces = scaled[np.arange(rows)[:, None] * instants + np.arange(instants + 1)]
    return _table(pieces)


def uniform(rows: int = 20_000, instants: int = 10, seed: Seed = 0) -> pa.Table:
    """Independent numbers from 0 to 1: the hardest case for any grouping.

    >>> uniform(rows=2, instants=3).column_names
    ['record', 'q01', 'q02', 'q03', 's']
    """
    at_least(0, rows=rows)
    at_least(1, instants=instants)
    return _table(generator(seed).random((rows, instants + 1)).round(6))


def strings(rows: int = 20_352, instants: int = 10, symbols: int = 20, seed: Seed = 0) -> pa.Table:
    """Movements written as symbols, numbers from 0 to `symbols` - 1; some records do not move at all.

    As in the paper's String data, the symbols of a record follow its shape, so that each is about equally
    likely. Two slow swings and some noise imitate motion capture.

    >>> strings(rows=2, instants=3).schema.field("q01").type
    DataType(int64)
    """
    at_least(0, rows=rows)
    at_least(1, instants=instants)
    at_least(2, symbols=symbols)
    draw = generator(seed)
    time = np.arange(instants + 1) / instants
    moves = draw.normal(0, 0.1, (rows, instants + 1))
    for slowest in (0.3, 1.0):
        speed, phase, size = slowest + draw.random((rows, 1)), draw.random((rows, 1)), draw.random((rows, 1))
        moves += size * np.sin(2 * np.pi * (speed * time + phase))
    moves[draw.random(rows) < STILL] = 0.0
    spread = moves.std(axis=1, keepdims=True)
    normal = (moves - moves.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    edges = [NormalDist().inv_cdf(symbol / symbols) for symbol in range(1, symbols)]
    return _table(np.searchsorted(edges, normal, side="right"))


def _table(pieces: Floats | Ints) -> pa.Table:
    """One row per record, its last number the sensitive one."""
    *series, last = pieces.T
    digits = max(2, len(str(len(series))))
    columns = {f"q{number:0{digits}}": column for number, column in enumerate(series, start=1)}
    return pa.table({"record": identifiers("R", np.arange(len(pieces))), **columns, "s": last})
