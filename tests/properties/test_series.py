"""Whatever series come in, every method keeps what it promises, and so does the way to a folder and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from tests.effort import some

from timeveil.domain.roles import Roles
from timeveil.errors import InfeasibleError
from timeveil.folder import open_ledger, open_release, write
from timeveil.judging import verify
from timeveil.models.series.method import anonymize_series
from timeveil.models.series.method.partition import Partition
from timeveil.models.series.method.publishing import partitioned
from timeveil.models.series.parameters import SeriesParameters
from timeveil.symbols import positions, symbols_at, z_normalised

METHODS = ("naive", "kapra", "adaptive", "representative")
OWN = ("kapra", "adaptive")
KINDS = ("walk", "uniform", "ties", "constants", "copies", "one", "huge")
Floats = NDArray[np.float64]


def series(kind: str, count: int, instants: int, chance: np.random.Generator) -> Floats:  # noqa: PLR0911
    """Random series with one difficulty each."""
    walk = chance.normal(size=(count, instants)).cumsum(axis=1)
    match kind:
        case "uniform":
            return chance.random((count, instants))
        case "ties":
            return chance.integers(0, 3, (count, instants)).astype(float)
        case "constants":
            walk[chance.random(count) < 0.6] = chance.integers(0, 2)
            return walk
        case "copies":
            return walk[chance.integers(0, max(count // 8, 1), count)]
        case "one":
            return np.ones((count, instants))
        case "huge":
            return walk * 10.0 ** chance.integers(-200, 200, (count, 1))
        case _:
            return walk


def check(matrix: Floats, found: Partition, chosen: SeriesParameters) -> None:
    """Definition 5 and its corrections, as they stand."""
    k, p = chosen.k, chosen.p
    there = found.group >= 0
    assert (there == (found.subgroup >= 0)).all()
    assert (~there).sum() < p
    group, subgroup = found.group[there], found.subgroup[there]
    assert np.bincount(group).min() >= k
    assert np.bincount(subgroup).min() >= p
    assert len(set(zip(group.tolist(), subgroup.tolist(), strict=True))) == subgroup.max() + 1
    assert found.symbols.shape == found.levels.shape == (subgroup.max() + 1, matrix.shape[1])
    assert (found.symbols < found.levels).all()
    assert found.levels.max() <= chosen.max_level
    if chosen.method != "adaptive":
        assert (found.levels == found.levels[:, :1]).all()
    assert found.own or chosen.method not in OWN
    if found.own:
        u = positions(z_normalised(matrix[there], chosen.center))
        assert (symbols_at(u, found.levels[subgroup]) == found.symbols[subgroup]).all()


def shapes(chance: np.random.Generator) -> tuple[int, int, int, int]:
    """How many series of how many instants, k and P."""
    k = int(chance.integers(3, 9))
    p = int(chance.integers(3, k + 1))
    count = int(chance.choice([k, k + 1, 2 * k - 1, 2 * k, 60, 150]))
    return count, int(chance.choice([1, 2, 5, 12])), k, p


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_a_method_keeps_what_it_promises(method: str, kind: str) -> None:
    for seed in range(some(40)):
        chance = np.random.default_rng([seed, KINDS.index(kind)])
        count, instants, k, p = shapes(chance)
        if method != "representative":
            p = int(chance.integers(1, k + 1))
        given: dict[str, Any] = {
            "max_level": int(chance.choice([2, 5, 20, 52])),
            "center": str(chance.choice(["mean", "median"])),
            "shape_weight": float(chance.choice([0, 2, 50])),
            "effort": int(chance.choice([0, 1])),
        }
        matrix = series(kind, count, instants, chance)
        chosen = SeriesParameters(method=method, k=k, p=p, **given)
        check(matrix, partitioned(matrix.copy(), chosen), chosen)


@pytest.mark.parametrize("method", METHODS)
def test_many_instants(method: str) -> None:
    matrix = series("walk", 40, 500, np.random.default_rng(1))
    chosen = SeriesParameters(method=method, k=10, p=5)
    check(matrix, partitioned(matrix, chosen), chosen)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_changes_nothing_and_draws_nothing(method: str) -> None:
    """The matrix stays as it was, and the same matrix gives the same partition."""
    matrix = series("walk", 300, 6, np.random.default_rng(2))
    before, chosen = matrix.copy(), SeriesParameters(method=method, k=6, p=3)
    one, other = partitioned(matrix, chosen), partitioned(matrix, chosen)
    assert (matrix == before).all()
    for name in ("group", "subgroup", "symbols", "levels"):
        assert (getattr(one, name) == getattr(other, name)).all()


def table_of(matrix: Floats, chance: np.random.Generator) -> tuple[pa.Table, Roles]:
    names = [f"t{place}" for place in range(matrix.shape[1])]
    columns = {name: matrix[:, place] for place, name in enumerate(names)}
    columns |= {"ill": np.arange(len(matrix)) % 9, "town": chance.choice(["=a", "b"], len(matrix))}
    return pa.table(columns), Roles(series=names, sensitive=["ill"], keep=["town"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_the_whole_is_what_the_verifier_wants(method: str, kind: str) -> None:
    for seed in range(6):
        chance = np.random.default_rng([seed, 7])
        count, instants, k, p = shapes(chance)
        table, roles = table_of(series(kind, count, instants, chance), chance)
        names = list(roles.series)
        part = [name for name in names if chance.random() < 0.6] or names[:1]
        given: dict[str, Any] = {
            "round_outward": [None, 1, 3][seed % 3],
            "l": [None, 2, 3][seed // 2] if count >= 6 else None,
            "publish_values": [None, part][seed % 2],
            "publish_pattern": [None, part[:1]][seed // 4],
            "method": method,
        }
        if method in ("adaptive", "representative"):
            given["effort"] = seed % 2
        release, ledger = anonymize_series(table, roles, k=k, p=p, **given)
        assert verify(release).violations == ()
        assert verify(release, ledger).violations == ()
        assert release.table.num_rows + release.manifest["counts"]["suppressed"] == count


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("method", METHODS)
def test_a_folder_says_the_same(tmp_path: Path, method: str, form: Any) -> None:
    chance = np.random.default_rng(3)
    table, roles = table_of(series("huge", 80, 4, chance), chance)
    release, ledger = anonymize_series(table, roles, k=7, p=3, method=method, l=2)
    write(release, tmp_path / "out", format=form)
    write(ledger, tmp_path / "ledger")
    opened, private = open_release(tmp_path / "out"), open_ledger(tmp_path / "ledger")
    assert opened.table.equals(release.table)
    assert verify(opened, private).violations == ()


@pytest.mark.parametrize("method", METHODS)
def test_one_fewer_than_k_is_infeasible(method: str) -> None:
    chance = np.random.default_rng(4)
    table, roles = table_of(series("walk", 9, 4, chance), chance)
    with pytest.raises(InfeasibleError) as caught:
        anonymize_series(table, roles, k=10, p=4, method=method)
    assert caught.value.facts["best_k"] == 9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_rows_changes_nothing(method: str, kind: str) -> None:
    """The same series give the same release, whatever order they come in, ties and copies among them."""
    chance = np.random.default_rng(5)
    table, roles = table_of(series(kind, 200, 5, chance), chance)
    one, _ = anonymize_series(table, roles, k=8, p=4, method=method)
    order = chance.permutation(200)
    other, ledger = anonymize_series(table.take(pa.array(order)), roles, k=8, p=4, method=method)
    assert verify(other, ledger).violations == ()
    assert other.table.equals(one.table)
