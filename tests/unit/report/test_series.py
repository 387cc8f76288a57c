"""Runs of `anonymize_series` in sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from timeveil.datasets import load_curves
from timeveil.domain.judgement import Verdict, Violation
from timeveil.domain.roles import Roles, columns_named
from timeveil.errors import RolesError
from timeveil.models.series.method import anonymize_series
from timeveil.report import Explanation, explain

INSTANTS = [f"h{place:02}" for place in range(6)]
ROLES = Roles(respondent="household", series=INSTANTS, sensitive=["tariff"])


def loads(**other: list[Any]) -> pa.Table:
    table = load_curves(people=60, instants=6, seed=3)
    for name, values in other.items():
        place = table.column_names.index(name) if name in table.column_names else None
        column = pa.array(values)
        table = table.append_column(name, column) if place is None else table.set_column(place, name, column)
    return table


def said(table: pa.Table | None = None, roles: Roles = ROLES, **more: Any) -> Explanation:
    options: dict[str, Any] = {"k": 6, "p": 3, "method": "kapra", **more}
    return explain(*anonymize_series(loads() if table is None else table, roles, **options))


def test_the_whole() -> None:
    told = said()
    assert told.title == "the table -> 6 share every envelope, 3 every pattern"
    first, rule, groups, suppressed, values, shapes, rounded, left, _ = told.sentences
    assert first == "Read 60 series of 6 instants."
    assert "Every envelope is shared by at least 6 series, and every pattern in it by at least 3" in rule
    assert "The method is `kapra`" in rule
    assert groups.startswith("60 series in ")
    assert suppressed == "No series was withheld."
    assert "of the series had values that no other series has" in values
    assert "pattern loss" in shapes
    assert "3 significant digits" in rounded
    assert left == "Removed `household`."
    assert "of them are still the exact value of a member" in rounded
    (warned,) = told.facts["warnings"]
    assert "in spite of rounding" in warned


def test_numbers_are_those_of_the_release() -> None:
    release, ledger = anonymize_series(loads(), ROLES, k=6, p=3, method="kapra", round_outward=None)
    told = explain(release, ledger).facts
    table = release.table
    wide = np.array([table[f"{name}_hi"].to_numpy() - table[f"{name}_lo"].to_numpy() for name in INSTANTS])
    assert told["value_loss"] == pytest.approx(float(np.sqrt((wide**2).mean(axis=0)).mean()))
    sizes = np.bincount(table["group"].to_numpy())[1:]
    assert told["group_sizes"] == (sizes.min(), sizes.max())
    cells: dict[Any, list[str]] = {}
    for row in table.to_pylist():
        cells.setdefault((row["group"], row["pattern"], row["level"]), []).append(row["tariff"])
    worst = max(max(map(cell.count, cell)) / len(cell) for cell in cells.values())
    assert told["commonest"]["tariff"] == pytest.approx(worst)
    assert told["cell_sizes"] == (min(map(len, cells.values())), max(map(len, cells.values())))


@pytest.mark.parametrize(
    ("roles", "options", "warning"),
    [
        (ROLES, {"round_outward": None}, "every bound is the exact value of a member"),
        (ROLES, {"k": 4}, "k is 4"),
        (ROLES, {"p": 2}, "p is 2"),
        (Roles(series=INSTANTS, keep=["tariff"], drop="rest"), {}, "`tariff` is published unchanged"),
    ],
)
def test_warnings(roles: Roles, options: dict[str, Any], warning: str) -> None:
    told = said(roles=roles, **options)
    assert any(warning in one for one in told.facts["warnings"])
    assert any(sentence.startswith("Warning: ") and warning in sentence for sentence in told.sentences)


def test_bounds_that_rounding_leaves_are_counted() -> None:
    coarse = load_curves(people=60, instants=6, seed=3)
    for place, name in enumerate(INSTANTS):
        coarse = coarse.set_column(place + 1, name, pa.array(np.round(coarse[name].to_numpy(), 1)))
    release, ledger = anonymize_series(coarse, ROLES, k=6, p=3, method="kapra")
    told = explain(release, ledger)
    assert told.facts["attained"] == 1.0
    assert any("100 % of them are still the exact value of a member" in one for one in told.sentences)
    assert any("in spite of rounding" in one and "Round to 2" in one for one in told.facts["warnings"])
    fine = coarse
    for place, name in enumerate(INSTANTS):
        noise = np.random.default_rng(place).uniform(0, 0.1, 60)
        fine = fine.set_column(place + 1, name, pa.array(coarse[name].to_numpy() + noise))
    told = explain(*anonymize_series(fine, ROLES, k=6, p=3, method="kapra"))
    assert told.facts["attained"] == 0.0
    assert not any("in spite of rounding" in one for one in told.facts["warnings"])


def test_a_sensitive_column_like_a_name_is_told() -> None:
    roles = Roles(series=INSTANTS, sensitive=["household"], drop="rest")
    assert any("its own value of `household`" in one for one in said(roles=roles).facts["warnings"])
    assert not any("its own value" in one for one in said().facts["warnings"])


def test_constant_series_are_told() -> None:
    flat = {name: [float(row % 7) for row in range(60)] for name in INSTANTS}
    assert any("100 % of the series are constant" in one for one in said(loads(**flat)).facts["warnings"])


def test_filled_dropped_long_and_customised() -> None:
    long = load_curves(people=60, instants=6, seed=3, long=True).slice(1)
    roles = Roles(respondent="household", time="instant", value="kwh", sensitive=["tariff"])
    told = said(long, roles, fill="linear").sentences
    assert told[0] == "Read 60 series of 6 instants, from 359 rows of one reading each."
    assert told[1].startswith("Filled in 1 missing reading (0.28 %) with a line between its neighbours")
    assert "Left out 1 series with a missing reading." in said(long, roles, fill="drop").sentences
    told = said(publish_values=["h00", "h01"], publish_pattern=["h01", "h02", "h03"]).sentences
    assert (
        "Of 6 instants, envelopes of 2 and the pattern of 3 are published; the others can be estimated."
        in told
    )


def test_different_sensitive_values() -> None:
    roles = Roles(respondent="household", series=INSTANTS, sensitive=["income"], drop="rest")
    income = [float(max(row - 35, 0)) for row in range(60)]
    release, ledger = anonymize_series(loads(income=income), roles, k=6, p=3, method="kapra", l=2)
    (sentence,) = (text for text in explain(release, ledger).sentences if "sensitive value;" in text)
    count = ledger.facts["perturbed"]["income"]
    assert (
        f"at most 1 in 2 has the same sensitive value; {count} values of `income` were replaced by others"
        in sentence
    )
    assert "not where the values are" in sentence


def test_the_verdict_is_told() -> None:
    release, ledger = anonymize_series(loads(), ROLES, k=6, p=3, method="kapra")
    bad = Verdict("recipient", ("one", "two"), (Violation("x", "y"),))
    told = explain(release, ledger, verdict=bad)
    assert any("2 checks found 1 violation" in sentence for sentence in told.sentences)


def test_ranges_of_columns() -> None:
    known = ["id", "a", "b", "c", "x,y", "p..q"]
    assert columns_named(["a..c", "x,y", "p..q"], known) == ("a", "b", "c", "x,y", "p..q")
    assert columns_named(["a, c"], known) == ("a", "c")
    assert columns_named(["nothing"], known) == ("nothing",)
    for wrong in ("a..d", "c..a", "..a", "a.."):
        with pytest.raises(RolesError):
            columns_named([wrong], known)
