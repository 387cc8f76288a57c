"""The series of the paper's experiments: pieces of a random walk, uniform noise, and strings of symbols.

Shou et al. 2013, section 7. Each has the columns `record`, `q01`, `q02`, … and the sensitive `s`.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pyarrow as pa

from timeveil.datasets.draws import Floats, Ints, Seed, at_least, generator, identifiers

STILL = 22 / 96
"""Share of channels in the paper's Motion data that never move."""


def walk(rows: int = 6_553, instants: int = 10, seed: Seed = 0) -> pa.Table:
    """Pieces of one random walk, scaled to 0 to 1: a walk of 65,536 steps has 6,553 of 11 each, stride 10.

    The sensitive value of a piece is the step after it, which is also the first of the next piece.

    >>> walk(rows=3, instants=4).column_names
    ['record', 'q01', 'q02', 'q03', 'q04', 's']
    """
    at_least("rows", rows, 0)
    at_least("instants", instants, 1)
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
    at_least("rows", rows, 0)
    at_least("instants", instants, 1)
    return _table(generator(seed).random((rows, instants + 1)).round(6))


def strings(rows: int = 20_352, instants: int = 10, symbols: int = 20, seed: Seed = 0) -> pa.Table:
    """Movements written as symbols, numbers from 0 to `symbols` - 1; some records do not move at all.

    As in the paper's String data, the symbols of a record follow its shape, so that each is about equally
    likely. Two slow swings and some noise imitate motion capture.

    >>> strings(rows=2, instants=3).schema.field("q01").type
    DataType(int64)
    """
    at_least("rows", rows, 0)
    at_least("instants", instants, 1)
    at_least("symbols", symbols, 2)
    draw = generator(seed)
    moves = _movements(draw, rows, instants + 1)
    moves[draw.random(rows) < STILL] = 0.0
    return _table(_symbols(moves, symbols))


def _movements(draw: np.random.Generator, rows: int, instants: int) -> Floats:
    time = np.arange(instants) / max(instants - 1, 1)
    swings = draw.normal(0, 0.1, (rows, instants))
    for slowest in (0.3, 1.0):
        speed, phase, size = slowest + draw.random((rows, 1)), draw.random((rows, 1)), draw.random((rows, 1))
        swings += size * np.sin(2 * np.pi * (speed * time + phase))
    return np.asarray(swings)


def _symbols(moves: Floats, symbols: int) -> Ints:
    spread = moves.std(axis=1, keepdims=True)
    normal = (moves - moves.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    edges = [NormalDist().inv_cdf(symbol / symbols) for symbol in range(1, symbols)]
    return np.asarray(np.searchsorted(edges, normal, side="right"), np.int64)


def _table(pieces: Floats | Ints) -> pa.Table:
    rows, instants = pieces.shape[0], pieces.shape[1] - 1
    digits = max(2, len(str(instants)))
    columns = {f"q{instant + 1:0{digits}}": pa.array(pieces[:, instant]) for instant in range(instants)}
    record = identifiers("R", np.arange(rows))
    return pa.table({"record": record, **columns, "s": pa.array(pieces[:, instants])})
