"""From tables and releases to pattern releases: what comes out, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles.patterns import transactions

import timeveil as tv
from timeveil.datasets import load_curves
from timeveil.models.patterns.method import mine
from timeveil.models.patterns.method.channels import Completed
from timeveil.models.patterns.method.family import mine_family
from timeveil.models.patterns.method.publishing import as_count

INSTANTS = [f"h{hour:02}" for hour in range(6)]
WIDE = tv.Roles(respondent="household", series=INSTANTS, drop="rest")
LONG = tv.Roles(respondent="household", time="instant", value="kwh", drop="rest")
BASKETS = tv.Roles(item="has")


@pytest.fixture(scope="module")
def curves() -> pa.Table:
    return load_curves(people=400, instants=6, seed=1)


def baskets(rows: int = 60, seed: int = 0) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table({"has": [[x for x in "abcdef" if draw.random() < 0.6] for _ in range(rows)]})


def test_a_share_is_a_number_of_people() -> None:
    assert (as_count(0.01, 250), as_count(0.1, 30), as_count(7, 250)) == (3, 3, 7)


def test_the_release_and_its_ledger(curves: pa.Table) -> None:
    release, ledger = tv.sanitize_patterns(curves, WIDE, k=5, min_support=0.05, symbols=4)
    counts, table = release.manifest["counts"], release.table
    assert table.column_names == ["pattern", "support"]
    assert table["pattern"][0].as_py() == []
    assert table["support"][0].as_py() == counts["transactions"] == 400 + counts["virtual"]
    assert counts["patterns"] == table.num_rows == ledger.facts["patterns"] + 1
    assert release.manifest["parameters"]["min_support"] == 20
    assert ledger.table["transaction"].to_pylist() == list(range(400))
    copies = ledger.mappings["virtual"]["copies"].to_pylist()
    assert sum(copies) == counts["virtual"] > 0
    places = {f"{instant}={letter}": at for at, instant in enumerate(INSTANTS) for letter in "abcd"}
    rows = [row["pattern"] for row in table.to_pylist()]
    assert all([places[x] for x in row] == sorted({places[x] for x in row}) for row in rows)
    order = [(len(row), [(places[x], x) for x in row]) for row in rows]
    assert order == sorted(order)


def test_wide_and_long_give_the_same(curves: pa.Table) -> None:
    long = load_curves(people=400, instants=6, seed=1, long=True)
    one, _ = tv.sanitize_patterns(curves, WIDE, k=5, min_support=0.05, symbols=4)
    two, _ = tv.sanitize_patterns(long, LONG, k=5, min_support=0.05, symbols=4)
    names = {f"h{hour:02}": str(hour) for hour in range(6)}
    renamed = [[names[x[:3]] + x[3:] for x in row] for row in one.table["pattern"].to_pylist()]
    assert renamed == two.table["pattern"].to_pylist()
    assert one.table["support"].equals(two.table["support"])


def test_a_window_of_instants_is_told_of_the_whole_series(curves: pa.Table) -> None:
    whole = mine(curves, WIDE, min_support=20, symbols=4).to_pylist()
    window = mine(curves, WIDE, min_support=20, symbols=4, instants=["h03", "h02"]).to_pylist()
    meant = [row for row in whole if all(x[:3] in ("h02", "h03") for x in row["pattern"])]
    assert window == meant


def test_patterns_of_a_series_release_need_nothing_up_to_its_p(curves: pa.Table) -> None:
    """Everybody who shares a published pattern shares every pattern found in it."""
    for method in ("adaptive", "kapra"):
        series, _ = tv.anonymize_series(curves, WIDE, k=10, p=5, method=method)
        release, ledger = tv.sanitize_patterns(series, k=5, min_support=0.1, symbols=4)
        assert ledger.facts["channels"] == release.manifest["counts"]["virtual"] == 0
        assert release.manifest["patterns"]["instants"] == INSTANTS
    assert tv.sanitize_patterns(series, k=5, min_support=0.1, beside=series)


def test_closed_patterns_tell_the_rest() -> None:
    whole, _ = tv.sanitize_patterns(baskets(), BASKETS, k=3, min_support=6)
    closed, _ = tv.sanitize_patterns(baskets(), BASKETS, k=3, min_support=6, published="closed")
    told = [(set(row["pattern"]), row["support"]) for row in closed.table.to_pylist()]
    for row in whole.table.to_pylist():
        assert row["support"] == max(count for some, count in told if set(row["pattern"]) <= some)


def test_how_many_there_are_is_told_beside_closed_patterns_too() -> None:
    """Everybody has a, so the empty pattern is not closed; it is there all the same."""
    table = pa.table({"has": [["a"]] * 9 + [["a", "b"]] * 9})
    closed, ledger = tv.sanitize_patterns(table, BASKETS, k=3, min_support=6, published="closed")
    assert closed.table.to_pylist() == [
        {"pattern": [], "support": 18},
        {"pattern": ["a"], "support": 18},
        {"pattern": ["a", "b"], "support": 9},
    ]
    assert tv.verify(closed, ledger)


def test_what_follows_is_capped_as_what_is_found() -> None:
    rows = transactions([{0}] * 5 + [{1}] * 4 + [{2}], 3, 3)
    family = mine_family(rows, 4, 1, 10)
    assert Completed(family, 4).family.support.tolist() == [10, 5, 4, 1]
    with pytest.raises(tv.ParameterError, match="the counts of more than 3 patterns follow") as refused:
        Completed(family, 3)
    assert refused.value.code == "too-many-patterns"


def test_rare_items_do_not_appear_anywhere_public() -> None:
    table = pa.table({"has": [["a", "b"]] * 20 + [["a", "secret"]] * 5 + [["b"]] * 10})
    release, ledger = tv.sanitize_patterns(table, BASKETS, k=3, min_support=10, method="clone")
    assert "secret" not in str(release.table.to_pylist()) + str(release.manifest)
    assert (ledger.facts["items"], ledger.facts["frequent_items"]) == (3, 2)


def test_written_and_opened_again(tmp_path: Path) -> None:
    release, ledger = tv.sanitize_patterns(baskets(), BASKETS, k=3, min_support=6)
    for form in ("parquet", "csv"):
        folder = tv.write(release, tmp_path / form, format=form)  # type: ignore[arg-type]
        assert tv.open_release(folder).table.equals(release.table)
        assert "no group of fewer than 3 people" in (folder / "README.txt").read_text()
    kept = tv.open_ledger(tv.write(ledger, tmp_path / "ledger"))
    assert kept.mappings["virtual"].equals(ledger.mappings["virtual"])
    assert kept.original.table["has"].to_pylist() == ledger.original.table["has"].to_pylist()


def test_the_promise_is_weaker_for_who_does_not_count_with_one_symbol_at_every_instant(
    curves: pa.Table, tmp_path: Path
) -> None:
    for structural, said in ((True, "counts as published"), (False, "so they may compute smaller groups")):
        release, _ = tv.sanitize_patterns(
            curves, WIDE, k=5, min_support=0.1, symbols=3, structural=structural
        )
        assert release.guarantee.counts_alone is not structural
        assert ("by someone who does not know" in release.guarantee.sentence) is not structural
        folder = tv.write(release, tmp_path / str(structural))
        letter = " ".join((folder / "README.txt").read_text().split())
        assert said in letter
        assert "The method is additive, with a smallest support of 40." in letter
        assert tv.open_release(folder).guarantee == release.guarantee
        assert tv.verify(tv.open_release(folder))
    baskets_only, _ = tv.sanitize_patterns(baskets(), BASKETS, k=3, min_support=6, structural=False)
    assert not baskets_only.guarantee.counts_alone


def test_lists_written_as_text_are_no_items() -> None:
    rows = pa.table({"who": [*range(30)], "has": ["milk;bread", "bread;tea", "tea"] * 10})
    with pytest.raises(tv.InputError, match="2 of 3 different items look like lists") as refused:
        tv.sanitize_patterns(rows, tv.Roles(respondent="who", item="has"), k=3, min_support=6)
    assert refused.value.code == "unsupported-input"
    assert "milk" not in str(refused.value)
    long = pa.table({"who": [*range(30), *range(30)], "has": ["milk, cold"] * 30 + ["bread; cut"] * 30})
    release, _ = tv.sanitize_patterns(long, tv.Roles(respondent="who", item="has"), k=3, min_support=6)
    assert release.manifest["counts"]["patterns"] == 4


def test_progress_tells_every_phase() -> None:
    told: list[tuple[str, float]] = []
    tv.sanitize_patterns(baskets(), BASKETS, k=3, min_support=6, progress=lambda *step: told.append(step))
    assert [doing for doing, _ in told] == [
        "reading",
        "mining",
        "finding small groups",
        "closing them",
        "publishing",
        "done",
    ]
    assert [share for _, share in told] == sorted(share for _, share in told)


def made(**more: Any) -> Callable[[], Any]:
    return lambda: tv.sanitize_patterns(baskets(), BASKETS, **{"k": 3, "min_support": 6, **more})


def of_curves(**more: Any) -> Callable[[], Any]:
    table = load_curves(people=60, instants=6, seed=1)
    return lambda: tv.sanitize_patterns(table, WIDE, **{"k": 3, "min_support": 6, **more})


def beside(**more: Any) -> Any:
    table = load_curves(people=60, instants=6, seed=1)
    series, _ = tv.anonymize_series(table, WIDE, k=10, p=5)
    return tv.sanitize_patterns(table, WIDE, k=3, min_support=6, beside=series, **more)


WRONG: dict[str, tuple[Callable[[], Any], str, int]] = {
    "k of 1": (made(k=1), "bad-parameter", 2),
    "k of 2.5": (made(k=2.5), "bad-parameter", 2),
    "min_support below k": (made(k=7), "bad-parameter", 2),
    "a share that comes to less than k": (made(min_support=0.02), "bad-parameter", 2),
    "min_support of 0": (made(min_support=0), "bad-parameter", 2),
    "min_support of 6.5": (made(min_support=6.5), "bad-parameter", 2),
    "min_support that is no number": (made(min_support=float("nan")), "bad-parameter", 2),
    "nothing frequent": (made(min_support=59), "no-frequent-pattern", 2),
    "more than there are": (made(min_support=61), "no-frequent-pattern", 2),
    "too few people": (made(k=61, min_support=61), "too-few-people", 3),
    "an explosion of patterns": (made(cap=5), "too-many-patterns", 2),
    "an explosion of boxes": (of_curves(cap=130, min_support=5), "too-many-patterns", 2),
    "a support beyond all numbers": (made(min_support=10**30), "bad-parameter", 2),
    "a support beyond all numbers, to mine": (
        lambda: mine(baskets(), BASKETS, min_support=10**30),
        "bad-parameter",
        2,
    ),
    "a cap beyond all numbers": (made(cap=10**30), "bad-parameter", 2),
    "a cap beyond the numbers of patterns": (made(cap=2**31), "bad-parameter", 2),
    "max_len beyond all numbers": (made(max_len=10**30), "bad-parameter", 2),
    "instants of transactions": (made(instants=["h00"]), "bad-parameter", 2),
    "readings of transactions": (made(fill="linear"), "bad-parameter", 2),
    "instants that are a number": (of_curves(instants=5), "bad-parameter", 2),
    "beside the name of a folder": (of_curves(beside="published"), "bad-parameter", 2),
    "an explosion of what follows": (of_curves(cap=100, min_support=30, symbols=2), "too-many-patterns", 2),
    "an unknown method": (made(method="magic"), "bad-parameter", 2),
    "an unknown centre": (made(center="mode"), "bad-parameter", 2),
    "an unknown form": (made(published="some"), "bad-parameter", 2),
    "one symbol": (of_curves(symbols=1), "bad-parameter", 2),
    "an unknown instant": (of_curves(instants=["h99"]), "column-missing", 2),
    "no instant": (of_curves(instants=[]), "bad-parameter", 2),
    "max_len of 0": (made(max_len=0), "bad-parameter", 2),
    "an unknown fill": (of_curves(fill="zero"), "bad-parameter", 2),
    "no roles": (lambda: tv.sanitize_patterns(baskets(), k=3, min_support=6), "role-missing", 2),
    "a sensitive column beside series": (
        lambda: tv.sanitize_patterns(
            load_curves(people=60, instants=6), tv.Roles(series=INSTANTS, sensitive=["tariff"], drop="rest")
        ),
        "bad-parameter",
        2,
    ),
    "beside a series release": (beside, "same-people", 2),
    "all is suppressed": (
        lambda: tv.sanitize_patterns(
            pa.table({"has": [["a"], ["a", "b"], ["a", "b"], ["b"]]}),
            BASKETS,
            k=2,
            min_support=3,
            method="suppressive",
        ),
        "no-frequent-pattern",
        3,
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(name: str) -> None:
    call, code, exit_code = WRONG[name]
    with pytest.raises(tv.TimeveilError) as caught:
        call()
    assert (caught.value.code, caught.value.exit_code) == (code, exit_code)


def test_the_largest_support_is_told() -> None:
    table = pa.table({"has": [["a"]] * 7 + [["b"]] * 5})
    with pytest.raises(tv.InputError, match="no pattern has a support of 8; the largest is 7"):
        tv.sanitize_patterns(table, BASKETS, k=2, min_support=8)


def test_forced_beside_a_series_release() -> None:
    assert beside(force=True)
