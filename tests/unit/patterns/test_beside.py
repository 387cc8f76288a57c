"""Patterns beside a series release, of a series release, and of people who have nothing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tests.conformance.releases import LOADS, loads, made, stricter

import timeveil as tv
from timeveil.datasets import load_curves
from timeveil.report import explain

OPTIONS = {"k": 3, "min_support": 6, "symbols": 4}


def said(release: tv.Release, ledger: tv.Ledger) -> str:
    return " ".join(explain(release, ledger).sentences)


def test_only_the_release_that_patterns_are_made_from_may_stand_beside_them(tmp_path: Path) -> None:
    series = made("series")[0]
    written = tv.open_release(tv.write(series, tmp_path / "csv", format="csv"))
    assert tv.sanitize_patterns(series, **OPTIONS, beside=written)  # type: ignore[arg-type]
    turned = series.table.slice(1)
    moved = tv.Release(series.guarantee, series.manifest, {"data": turned})  # the same words, another table
    for other in (moved, stricter("series")[0], made("time")[0], made("patterns")[0]):
        with pytest.raises(
            tv.ParameterError, match="another release than the one already published"
        ) as caught:
            tv.sanitize_patterns(series, **OPTIONS, beside=other)  # type: ignore[arg-type]
        assert caught.value.code == "same-people"
    assert tv.sanitize_patterns(series, **OPTIONS, beside=other, force=True)  # type: ignore[arg-type]


def test_k_above_the_p_of_the_release_is_warned_of() -> None:
    series = made("series")[0]
    pair = tv.sanitize_patterns(series, k=3, min_support=6, symbols=4)
    assert pair[1].facts["source_p"] == 2
    assert "Warning: k is 3, but in the series release" in said(*pair)
    assert "can count groups of 2 in it" in said(*pair)
    enough = tv.sanitize_patterns(series, k=2, min_support=6, symbols=4)
    assert "in the series release that" not in said(*enough)
    plain = tv.sanitize_patterns(loads(), LOADS, **OPTIONS)  # type: ignore[arg-type]
    assert plain[1].facts["source_p"] is None
    assert "in the series release that" not in said(*plain)


def test_people_without_items_are_told() -> None:
    lists = pa.table({"has": [["a", "b"]] * 6 + [["a"]] * 6 + [[]] * 3})
    pair = tv.sanitize_patterns(lists, tv.Roles(item="has"), k=2, min_support=3)
    assert pair[0].table["support"][0].as_py() == 15 + pair[0].manifest["counts"]["virtual"]
    assert "3 people have no item and are counted among everyone." in said(*pair)
    assert "A person without an item has no row in such a table" in said(*made("patterns"))
    full = tv.sanitize_patterns(lists.slice(0, 12), tv.Roles(item="has"), k=2, min_support=3)
    assert "no item" not in said(*full)


def test_the_method_and_the_attack_count_the_same_groups() -> None:
    """Two boxes can have a cell in common, which is one group: 147 channels are 141 here."""
    table = load_curves(people=150, instants=6, seed=2)
    release, ledger = tv.sanitize_patterns(table, LOADS, k=4, min_support=12, symbols=4)
    breach = tv.attack(release, ledger, tv.PatternAdversary(bounds=False))
    assert ledger.facts["channels"] == breach.channels_before == ledger.mappings["channels"].num_rows == 141


def test_a_recipient_is_told_what_is_not_seen_of_virtual_people() -> None:
    verdict = tv.verify(made("patterns")[0])
    assert "the stated number of virtual people is possible (only the ledger shows more)" in verdict.checks
