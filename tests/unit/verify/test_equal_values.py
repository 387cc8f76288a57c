"""Method and judge agree on which sensitive values of series are equal: those that are one number."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import timeveil as tv

ROLES = tv.Roles(series=["a", "b", "c"], sensitive=["income"])
SPELLINGS: dict[str, list[Any]] = {
    "zeros with a sign": [0.0, -0.0],
    "text": ["7", "7.0", "7e0", "+7"],
    "zeros as text": ["0", "-0", "0.00"],
}


def published(income: list[Any], seed: int = 5) -> tuple[tv.Release, tv.Ledger]:
    chance = random.Random(3)  # noqa: S311
    series = {name: [float(chance.randrange(100)) for _ in income] for name in "abc"}
    table = pa.table({**series, "income": income})
    return tv.anonymize_series(table, ROLES, k=4, p=4, l=2, effort=0, seed=seed)


@pytest.mark.parametrize("name", SPELLINGS)
def test_an_honest_release_holds_however_its_numbers_are_written(name: str) -> None:
    spellings = SPELLINGS[name]
    others = [type(spellings[0])(number) for number in (1.5, 2.5, 3.5, 4.5, 5.5, 6.5)]
    exchanged = 0
    for seed in range(12):
        chance = random.Random(seed)  # noqa: S311
        income = [chance.choice([*(spellings * 3)[:6], *others]) for _ in range(40)]
        release, ledger = published(income, seed)
        exchanged += ledger.facts["perturbed"].get("income", 0)
        for private in (None, ledger):
            assert tv.verify(release, private).violations == ()
    assert exchanged > 20


@pytest.mark.parametrize("name", SPELLINGS)
def test_one_number_in_several_spellings_is_one_value(name: str) -> None:
    spellings = SPELLINGS[name]
    release, ledger = published([type(spellings[0])(number) for number in range(40)])
    income = pa.array([spellings[row % len(spellings)] for row in range(40)])
    forged = replace(
        release, parts={"data": release.table.set_column(release.table.num_columns - 1, "income", income)}
    )
    for private in (None, ledger):
        found = [v.message for v in tv.verify(forged, private).violations if v.code == "values-below-l"]
        assert found == ["10 cells with a value of `income` in more than 1 row in 2"]


def test_what_is_no_number_has_no_promise_of_this_kind() -> None:
    """The method takes numbers only, so that a column of words was not made by it."""
    release, ledger = published([str(number) for number in range(40)])
    words = pa.array([f"word {number}" for number in range(40)])
    forged = replace(
        release, parts={"data": release.table.set_column(release.table.num_columns - 1, "income", words)}
    )
    for private in (None, ledger):
        assert "values-below-l" in {violation.code for violation in tv.verify(forged, private).violations}


def test_values_that_were_changed_for_no_l_are_a_violation() -> None:
    release, ledger = published([1.5] * 12 + [float(number) for number in range(20)])
    assert ledger.facts["perturbed"]["income"] > 0
    manifest = {**release.manifest, "guarantee": {**release.manifest["guarantee"], "l": None}}
    violations = tv.verify(replace(release, manifest=manifest), ledger).violations
    assert {"guarantee", "changed-values"} <= {violation.code for violation in violations}
