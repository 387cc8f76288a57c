"""Series: electricity load curves, and the series of the paper's experiments.

Those of the paper are pieces of a random walk, uniform noise, and strings of symbols (Shou et al. 2013,
section 7); each has the columns `record`, `q01`, `q02`, … and the sensitive `s`.
"""

from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from timeveil.datasets.tables import Ints, Seed, at_least, generator, identifiers, labels, with_repeats

Floats = npt.NDArray[np.float64]

# per profile, bumps over one day: centre and width in hours, height; on top of a base load of 1
PROFILES = (
    ((7.5, 1.2, 2.0), (19.0, 2.2, 4.0)),
    ((19.5, 2.0, 5.0),),
    ((8.0, 2.0, 1.6), (12.5, 1.5, 3.0), (18.5, 2.0, 3.0)),
    ((2.0, 2.2, 6.0), (23.5, 1.5, 4.0), (18.5, 1.5, 1.5)),
    ((11.0, 4.0, 0.5),),
)
PROFILE_SHARES = (0.41, 0.26, 0.17, 0.09, 0.07)
TARIFFS = ("standard", "night", "dynamic", "social")
# share of each tariff given the profile; those who heat at night mostly have the night tariff
TARIFF_SHARES = (
    (0.74, 0.04, 0.12, 0.10),
    (0.70, 0.04, 0.13, 0.13),
    (0.66, 0.04, 0.08, 0.22),
    (0.20, 0.68, 0.08, 0.04),
    (0.78, 0.02, 0.16, 0.04),
)
STILL = 22 / 96  # share of channels in the paper's Motion data that never move


def load_curves(
    people: int = 200,
    instants: int = 24,
    seed: Seed = 0,
    long: bool = False,  # noqa: FBT001 (a public signature)
) -> pa.Table:
    """Consumption in kWh over one day of `instants` equal steps, with the tariff as the sensitive column.

    Wide by default, one row per household and one column per instant; `long=True` gives one row per
    household and instant. Some curves are exact copies of another household's, some are constant.

    >>> load_curves(people=3, instants=4).column_names
    ['household', 'h00', 'h01', 'h02', 'h03', 'tariff']
    >>> load_curves(people=3, instants=4, long=True).schema.names
    ['household', 'instant', 'kwh', 'tariff']
    """
    at_least(0, people=people)
    at_least(1, instants=instants)
    draw = generator(seed)
    profile = draw.choice(len(PROFILES), size=people, p=PROFILE_SHARES)
    curves = _curves(draw, profile, instants)
    household = identifiers("H", draw.permutation(people))
    limits = np.cumsum(np.array(TARIFF_SHARES), axis=1)[profile]
    tariff_code = (draw.random((people, 1)) > limits).sum(axis=1)
    tariff = labels(TARIFFS, np.minimum(tariff_code, len(TARIFFS) - 1))
    if not long:
        return pa.table({"household": household, **_columns("h", range(instants), curves), "tariff": tariff})
    owner, instant = np.divmod(np.arange(people * instants), instants)
    columns = [household.take(pa.array(owner)), instant, curves.ravel(), tariff.take(pa.array(owner))]
    return pa.table(columns, ["household", "instant", "kwh", "tariff"])


def _curves(draw: np.random.Generator, profile: Ints, instants: int) -> Floats:
    people = profile.size
    hours = (np.arange(instants) + 0.5) * 24 / instants
    habit = draw.normal(0, 0.7, (people, 1))
    shapes = np.stack([_shape(bumps, hours - habit) for bumps in PROFILES], axis=0)
    typical = shapes[profile, np.arange(people)]
    scale = 0.12 * 24 / instants * draw.lognormal(0, 0.55, (people, 1))
    curves = scale * typical * draw.lognormal(0, 0.22, (people, instants))
    constant = draw.random(people) < 0.03
    curves[constant] = curves[constant].min(axis=1, keepdims=True)
    return np.asarray(curves[with_repeats(draw, people, share=0.02)].round(3))


def _shape(bumps: tuple[tuple[float, float, float], ...], hours: Floats) -> Floats:
    shape = np.ones_like(hours)
    for centre, width, height in bumps:
        away = (hours - centre + 12) % 24 - 12
        shape += height * np.exp(-0.5 * (away / width) ** 2)
    return shape


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
    instants = pieces.shape[1] - 1
    record = identifiers("R", np.arange(len(pieces)))
    columns = _columns("q", range(1, instants + 1), pieces)
    return pa.table({"record": record, **columns, "s": pa.array(pieces[:, instants])})


def _columns(prefix: str, numbers: range, values: Floats | Ints) -> dict[str, pa.Array]:
    """A column per number, named with as many digits as the longest."""
    digits = max(2, len(str(numbers[-1])))
    return {f"{prefix}{number:0{digits}}": pa.array(values[:, i]) for i, number in enumerate(numbers)}
