"""Someone who knows the shape of a series at some instants only (Shou et al. 2013, §3.3)."""

from __future__ import annotations

import numpy as np
import pytest

import timeveil as tv
from timeveil.datasets import load_curves
from timeveil.symbols import from_letters, positions, symbols_at, z_normalised

HOURS = [f"h{hour:02}" for hour in range(6)]
LOADS = load_curves(people=80, instants=6, seed=2)
ROLES = tv.Roles(respondent="household", series=HOURS, sensitive=["tariff"])


@pytest.fixture(scope="module", params=["adaptive", "kapra", "naive"])
def pair(request: pytest.FixtureRequest) -> tuple[tv.Release, tv.Ledger]:
    return tv.anonymize_series(LOADS, ROLES, k=6, p=3, method=request.param)


def attacked(pair: tuple[tv.Release, tv.Ledger], *instants: str) -> tv.SeriesBreach:
    known = tv.SeriesAdversary(None, pattern=True, pattern_of=instants or None)
    return tv.attack(*pair, known)


@pytest.mark.parametrize("method", ["adaptive", "kapra"])
def test_rows_fit_whose_letters_are_those_of_the_instants_known(method: str) -> None:
    """Recounted letter by letter, of everyone who was not withheld."""
    release, ledger = tv.anonymize_series(LOADS, ROLES, k=6, p=3, method=method)
    matrix = np.column_stack([LOADS[hour].to_numpy() for hour in HOURS])
    u = positions(z_normalised(matrix))
    rows = release.table.select(["pattern", "level"]).to_pylist()
    known = [1, 4]
    letters = np.array([from_letters(row["pattern"])[known] for row in rows])
    levels = np.array([np.broadcast_to(row["level"], 6)[known] for row in rows])
    fits = [(symbols_at(u[[one]][:, known], levels) == letters).all(axis=1).sum() for one in range(len(u))]
    counted = attacked((release, ledger), "h01", "h04").after.candidates
    withheld = ledger.table["group"].is_null().to_numpy()
    assert counted.tolist() == np.where(withheld, 0, fits).tolist()


def test_who_knows_less_finds_no_fewer_rows(pair: tuple[tv.Release, tv.Ledger]) -> None:
    whole, part, nearly_nothing = attacked(pair), attacked(pair, *HOURS[:3]), attacked(pair, "h00")
    assert attacked(pair, *HOURS).mean == pytest.approx(whole.mean)
    if pair[0].manifest["series"]["own_patterns"]:
        assert whole.mean >= part.mean >= nearly_nothing.mean
    assert whole.worst <= 1 / 3


def test_all_values_give_the_whole_pattern(pair: tuple[tv.Release, tv.Ledger]) -> None:
    breach = tv.attack(*pair, tv.SeriesAdversary("all", pattern=True, pattern_of=["h00"]))
    assert breach.adversary.pattern_of is None


def test_what_cannot_be_known(pair: tuple[tv.Release, tv.Ledger]) -> None:
    with pytest.raises(tv.ParameterError, match="no instant `h77`"):
        attacked(pair, "h77")
    with pytest.raises(tv.ParameterError, match="applies with `pattern` only"):
        tv.SeriesAdversary(3, pattern_of=["h00"])


def test_the_part_is_named() -> None:
    assert tv.SeriesAdversary(None, pattern=True, pattern_of=["a", "b"]).words == "the pattern at 2 instants"
