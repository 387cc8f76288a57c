"""From a partition to a release: numbers, order, cells, ledger."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.series.making import neighbours, table_of

from timeveil.domain.release import Ledger, Release
from timeveil.domain.roles import Roles
from timeveil.judging import verify
from timeveil.models.series.method import anonymize_series, publishing
from timeveil.symbols import from_letters, positions, symbols_at, z_normalised

METHODS = ("adaptive", "kapra", "naive", "representative")


@pytest.fixture(autouse=True)
def _by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "partitioned", neighbours)


def published(
    table: pa.Table | None = None, roles: Roles | None = None, **given: Any
) -> tuple[Release, Ledger]:
    made, named = table_of()
    return anonymize_series(table or made, roles or named, **{"k": 6, "p": 3, **given})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("digits", [None, 1, 3])
@pytest.mark.parametrize("l", [None, 2, 3])
def test_the_verifier_agrees(method: str, digits: int | None, l: int | None) -> None:
    release, ledger = published(method=method, round_outward=digits, l=l)
    assert verify(release).violations == ()
    assert verify(release, ledger).violations == ()


def test_the_manifest_says_what_was_done() -> None:
    release, _ = published(method="kapra", publish_values=["t2", "t0"], publish_pattern=["t0", "t1"], l=2)
    manifest = release.manifest
    assert manifest["series"]["instants"] == ["t0", "t1", "t2", "t3"]
    assert manifest["series"]["values"] == ["t0", "t2"]
    assert manifest["series"]["pattern"] == ["t0", "t1"]
    assert (manifest["series"]["levels"], manifest["series"]["own_patterns"]) == ("one", True)
    assert [c["name"] for c in manifest["columns"]] == release.table.column_names
    assert release.table.column_names == [
        "group", "t0_lo", "t0_hi", "t2_lo", "t2_hi", "pattern", "level", "ill", "town",
    ]  # fmt: skip
    assert manifest["parameters"]["shape_weight"] is None
    assert not {"adoption", "exact"} & set(manifest["parameters"])
    assert "seed" not in repr(manifest)


def test_adaptive_has_a_level_for_each_letter() -> None:
    release, _ = published(publish_pattern=["t1", "t2", "t3"])
    assert release.table.schema.field("level").type == pa.list_(pa.int16())
    assert set(map(len, release.table["level"].to_pylist())) == {3}
    assert set(map(len, release.table["pattern"].to_pylist())) == {3}


@pytest.mark.parametrize("method", ["adaptive", "kapra"])
def test_the_pattern_of_some_instants_is_part_of_the_whole(method: str) -> None:
    table, roles = table_of()
    release, ledger = published(method=method, publish_pattern=["t1", "t3"])
    assert verify(release, ledger).violations == ()
    u = positions(z_normalised(np.column_stack([table[name] for name in roles.series])))[:, [1, 3]]
    rows = release.table.to_pylist()
    cells = {row["subgroup"]: series for series, row in enumerate(ledger.table.to_pylist())}
    shown = {(tuple(from_letters(row["pattern"])), tuple(np.atleast_1d(row["level"]))) for row in rows}
    for series in cells.values():
        assert any(tuple(symbols_at(u[series], np.array(levels))) == letters for letters, levels in shown)


def test_cells_that_show_the_same_are_one() -> None:
    release, ledger = published(publish_pattern=["t0"], publish_values=["t0"], method="naive")
    shown = {(row["group"], row["pattern"], row["level"]) for row in release.table.to_pylist()}
    assert release.manifest["counts"]["cells"] == len(shown)
    assert len(set(ledger.table["subgroup"].to_pylist())) == len(shown)


def test_groups_are_numbered_by_their_envelopes() -> None:
    release, _ = published(round_outward=None)
    rows = release.table.to_pylist()
    bounds = [[row[name] for name in release.table.column_names[1:9]] for row in rows]
    groups = [row["group"] for row in rows]
    assert groups == sorted(groups)
    assert bounds == sorted(bounds)
    assert sorted(set(groups)) == list(range(1, len(set(groups)) + 1))


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_input_does_not_show(seed: int) -> None:
    """Whatever order rows come in, the release is the same; equal envelopes and rows are told by content."""
    table, roles = table_of(60)
    flat = table.set_column(0, "t0", pa.array(np.repeat([1.0, 2.0, 3.0], 20)))
    for place in (1, 2, 3):
        flat = flat.set_column(place, f"t{place}", pa.array(np.zeros(60)))
    for given in (table, flat):
        one, _ = published(given, roles, round_outward=1)
        order = np.random.default_rng(seed).permutation(60)
        other, ledger = published(given.take(pa.array(order)), roles, round_outward=1)
        assert verify(other, ledger).violations == ()
        assert other.table.equals(one.table)


def test_the_ledger_follows_the_input() -> None:
    table, roles = table_of()
    release, ledger = published()
    rows = ledger.table.to_pylist()
    assert [row["row"] for row in rows] == list(range(40))
    matrix = np.column_stack([table[name] for name in roles.series])
    by_group = {row["group"]: row for row in release.table.to_pylist()}
    for series, row in enumerate(rows):
        envelope = by_group[row["group"]]
        for place, name in enumerate(roles.series):
            assert envelope[f"{name}_lo"] <= matrix[series, place] <= envelope[f"{name}_hi"]


@pytest.mark.parametrize("fill", ["drop", "linear", "forward"])
def test_a_long_table_and_a_gap(fill: str) -> None:
    chance = np.random.default_rng(2)
    rows = [(f"p{who}", when, float(chance.normal())) for who in range(30) for when in (3, 1, 2)]
    del rows[4]
    table = pa.table(
        {name: [row[place] for row in rows] for place, name in enumerate(("who", "day", "load"))}
    )
    release, ledger = published(table, Roles(respondent="who", time="day", value="load"), fill=fill)
    assert release.manifest["series"]["instants"] == ["1", "2", "3"]
    assert release.manifest["counts"]["rows"] == (29 if fill == "drop" else 30)
    assert ledger.table["group"].null_count == (2 if fill == "drop" else 0)
    assert verify(release, ledger).violations == ()
    assert "who" not in release.table.column_names


def test_suppressed_series_are_in_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def some(matrix: Any, settings: Any, progress: Any = None) -> Any:
        found = neighbours(matrix, settings)
        last = found.subgroup == found.subgroup.max()
        gone = np.flatnonzero(last)[:1]
        for labels in (found.group, found.subgroup):
            labels[gone] = -1
        return found

    monkeypatch.setattr(publishing, "partitioned", some)
    release, ledger = published()
    assert release.manifest["counts"]["suppressed"] == ledger.table["group"].null_count == 1
    assert verify(release, ledger).violations == ()


def test_progress_goes_from_nothing_to_all() -> None:
    seen: list[tuple[str, float]] = []
    published(progress=lambda doing, share: seen.append((doing, share)))
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert (seen[0], seen[-1]) == (("reading", 0.0), ("done", 1.0))


@pytest.mark.parametrize(("digits", "scale"), [(9, 2), (5, 40), (38, 38)])
def test_decimals_are_read_as_the_nearest_float(digits: int, scale: int) -> None:
    rng = np.random.default_rng(1)
    whole = rng.integers(1, 10**5, (30, 3)).tolist()
    said = [[Decimal(number).scaleb(-scale) for number in row] for row in whole]
    columns = {f"t{place}": [row[place] for row in said] for place in range(3)}
    table = pa.table({name: pa.array(cells, pa.decimal128(digits, scale)) for name, cells in columns.items()})
    options: dict[str, Any] = {"k": 5, "p": 2, "round_outward": None, "effort": 0}
    release, ledger = anonymize_series(table, Roles(series=list(columns)), **options)
    assert verify(release, ledger)
    shown = np.array(sorted(set(release.table["t0_lo"].to_pylist())))
    values = np.array([float(number) for number in columns["t0"]])
    if scale <= 38:  # beyond it Arrow has no text, and its own way may miss by the last bit
        assert set(shown) <= set(values)
    assert all(np.isclose(values, low, rtol=1e-15, atol=0).any() for low in shown)
