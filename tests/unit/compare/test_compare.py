"""Releases side by side: what is told, what is ranked, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest
from tests.conformance.releases import CASES, KINDS, LOADS, MODELS, VISITS, bought, loads, made, stricter

import timeveil as tv
from timeveil.cli import run
from timeveil.compare import comparison_lines, comparison_picture
from timeveil.datasets import clinic_visits, daily_cases
from timeveil.page.svg import LOSS, RISK

LOSSES = {
    "time": ["withheld", "bits", "window_error"],
    "stream": ["window_error", "withheld", "moved"],
    "series": ["withheld", "both", "values", "pattern"],
    "patterns": ["count_error", "changed", "lost"],
}


def pairs(kind: str) -> tuple[dict[str, tv.Release], dict[str, tv.Ledger]]:
    both = {"loose": made(kind), "strict": stricter(kind)}
    return {name: pair[0] for name, pair in both.items()}, {name: pair[1] for name, pair in both.items()}


@cache
def compared(kind: str) -> tv.Comparison:
    return tv.compare(*pairs(kind))


def names(found: tv.Comparison, part: str) -> list[str]:
    return [line.name for line in found.lines if line.part == part]


@pytest.mark.parametrize("kind", KINDS)
def test_two_settings_of_one_method(kind: str) -> None:
    found = compared(kind)
    assert found.holds
    assert found.same_data == "agrees"
    assert names(found, "loss") == LOSSES[MODELS[kind]]
    assert {"promised", "worst", "mean"} <= set(names(found, "risk"))
    promised = "envelopes_alone" if kind == "series" else "promised"
    assert promised in found.best_in("strict")
    assert promised not in found.best_in("loose")
    assert [note.partition(".")[0] for note in found.notes] == ["Publish only one of them"]


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_those_of_the_judges(kind: str) -> None:
    found, (release, ledger) = compared(kind), stricter(kind)
    breach = tv.attack(release, ledger, tv.PatternAdversary(bounds=False) if kind == "patterns" else None)
    assert found.line("worst").cells[1] == breach.worst
    assert found.line("mean").cells[1] == breach.mean
    workload = {"series": {"queries": 20}, "patterns": {}}.get(kind, {"windows": 20})
    loss: Any = tv.measure(release, ledger, **workload)
    if kind == "patterns":
        assert found.line("count_error").cells[1] == loss.mean_error
    else:
        assert found.line("withheld").cells[1] == loss.suppressed_share


def test_bits_are_no_share_and_need_one_scale() -> None:
    roles = tv.Roles(respondent="patient", time="taken_at", quasi=["zip"], drop="rest")
    visits = clinic_visits(rows=1_000, people=200)
    settings: list[dict[str, Any]] = [{}, {"recode": "local"}, {"granularities": ["month", "year"]}]
    pairs = [tv.generalize_time(visits, roles, k=3, suppress=0.05, **options) for options in settings]
    releases, ledgers = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = tv.compare(releases[:2], ledgers[:2])
    bits = found.line("bits")
    losses = [tv.measure(*pair, windows=0) for pair in pairs[:2]]
    assert bits.cells == tuple(loss.bits_per_row for loss in losses if isinstance(loss, tv.Loss))
    assert (bits.share, bits.best) == (False, (1,))
    assert found.line("granularity").cells == (releases[0].manifest["granularity"], "row by row")
    row = next(line.split() for line in comparison_lines(found) if line.startswith("bits per row"))
    assert row == ["bits", "per", "row", f"{bits.cells[0]:.1f}", f"{bits.cells[1]:.1f}", "*"]
    assert f">{bits.cells[1]:.1f} bits ★<" in comparison_picture(found).svg()
    # Months lose nothing where nothing finer than months was allowed.
    assert "bits" not in names(tv.compare(releases, ledgers), "loss")


@pytest.mark.parametrize("kind", KINDS)
def test_without_ledgers_the_folders_speak(kind: str) -> None:
    releases, _ = pairs(kind)
    found = tv.compare(releases)
    assert found.same_data == "assumed"
    assert {verdict.scope for verdict in found.verdicts} == {"recipient"}
    assert names(found, "loss") == (["withheld"] if kind in ("time", "series") else [])
    assert all(name.startswith(("promised", "envelopes")) for name in names(found, "risk"))
    assert "the same data is assumed" in "\n".join(comparison_lines(found))


def test_different_models_show_what_both_have_and_rank_nothing() -> None:
    found = tv.compare([made("time")[0], made("series")[0]], [made("time")[1], made("series")[1]])
    assert found.names == ("release 1", "release 2")
    assert found.notes[0].startswith("These releases belong to different models.")
    assert names(found, "parameter") == []
    assert names(found, "loss") == ["withheld"]
    assert [line.best for line in found.lines if line.best] == []
    assert found.same_data == "assumed"


def test_what_is_about_other_columns_is_not_ranked() -> None:
    fewer = replace(CASES, quasi=())
    other = tv.publish_stream(daily_cases(days=15), fewer, l=5, window=5, seed=1, allow_loss=True)
    found = tv.compare({"a": made("stream")[0], "b": other[0]}, {"a": made("stream")[1], "b": other[1]})
    assert found.notes[0].endswith("so they are shown but not ranked.")
    assert found.same_data == "agrees"
    assert found.line("columns").cells[0] != found.line("columns").cells[1]
    assert found.best_in("a") == found.best_in("b") == ()


def test_packets_beside_the_paper_say_what_is_not_compared() -> None:
    found = tv.compare({"plain": made("stream")[0], "packets": made("packets")[0]})
    assert found.notes[0].startswith("Some also promise something about outsiders who know the true slot")
    assert names(found, "risk") == ["promised"]


def test_two_methods_of_one_model() -> None:
    other = tv.anonymize_series(loads(), LOADS, k=4, p=2, method="kapra")
    found = tv.compare({"adaptive": made("series")[0], "kapra": other[0]})
    assert found.line("method").cells == ("adaptive", "kapra")


def test_what_one_has_and_the_other_has_not_is_shown() -> None:
    visits, roles = clinic_visits(rows=400, seed=1), replace(VISITS, quasi=("zip",))
    coarse = tv.generalize_time(visits, roles, k=4, hierarchies={"zip": tv.Hierarchy.prefixes([1])})
    plain = tv.generalize_time(visits, roles, k=2, suppress=0.5)
    found = tv.compare({"plain": plain[0], "coarse": coarse[0]})
    assert found.line("levels").cells == ("-", "zip: first 1")
    packets = tv.compare({"plain": made("stream")[0], "packets": made("packets")[0]})
    assert packets.line("spread").cells == ("-", "1")


def test_a_release_that_is_violated_is_no_choice() -> None:
    release, _ = made("time")
    spoilt = tv.Release(release.guarantee, release.manifest, {"data": release.table.slice(0, 200)})
    found = tv.compare({"whole": stricter("time")[0], "spoilt": spoilt})
    assert not found.holds
    assert found.notes[0].startswith("A release that does not keep its promise is not a choice")
    assert [line.best for line in found.lines if line.best] == []
    assert "violated (" in "\n".join(comparison_lines(found))


def test_other_data_is_refused() -> None:
    rows = bought()
    fewer = rows.filter(pa.compute.not_equal(rows["item"], "bread"))
    roles = tv.Roles(respondent="basket", item="item")
    other = tv.sanitize_patterns(fewer, roles, k=3, min_support=0.15)
    with pytest.raises(tv.InputError, match="not releases of the same data") as caught:
        tv.compare([made("patterns")[0], other[0]], [made("patterns")[1], other[1]])
    assert caught.value.code == "other-data"


def test_the_same_values_in_another_order_are_the_same_data() -> None:
    table = loads()
    other = tv.anonymize_series(table.take(list(range(len(table)))[::-1]), LOADS, k=5, p=2, effort=0)
    changed = table.set_column(1, "h00", pa.compute.add(table["h00"], 0.25))
    third = tv.anonymize_series(changed, LOADS, k=5, p=2, effort=0)
    first = made("series")
    assert tv.compare([first[0], other[0]], [first[1], other[1]]).same_data == "agrees"
    with pytest.raises(tv.InputError, match="differ in 1 of 7 shared columns"):
        tv.compare([first[0], third[0]], [first[1], third[1]])


def test_nonsense_is_refused() -> None:
    (release, ledger), (other, _) = made("time"), stricter("time")
    for given in ([release], {"one": release}, [], release, "folder"):
        with pytest.raises(tv.ParameterError):
            tv.compare(given)  # type: ignore[arg-type]
    with pytest.raises(tv.ParameterError, match="the same release"):
        tv.compare([release, tv.Release(release.guarantee, dict(release.manifest), dict(release.parts))])
    with pytest.raises(tv.ParameterError, match="2 releases and 1 ledgers"):
        tv.compare([release, other], [ledger])
    with pytest.raises(tv.ParameterError, match="`release` is a `str`"):
        tv.compare([release, "folder"])  # type: ignore[list-item]


def test_a_ledger_that_does_not_fit_is_refused_by_name() -> None:
    releases, ledgers = pairs("series")
    with pytest.raises(tv.InputError, match="`loose`: the ledger places") as caught:
        tv.compare(releases, list(ledgers.values())[::-1])
    assert caught.value.code == "ledger-mismatch"


def test_the_picture_has_a_bar_for_every_share() -> None:
    found = compared("stream")
    drawn = ET.fromstring(comparison_picture(found).svg())  # noqa: S314
    bars = [one for one in drawn.iter() if one.get("class") in (f"f{LOSS}", f"f{RISK}")]
    assert len(bars) == 2 * sum(line.share for line in found.lines)
    assert "strict" in "".join(drawn.itertext())


def test_a_narrow_page_has_the_releases_below_each_other() -> None:
    found = tv.compare(pairs("time")[0])
    wide, narrow = comparison_lines(found, 100), comparison_lines(found, 40)
    assert sum(line.startswith("model ") for line in wide) == 1
    assert sum(line.startswith("model ") for line in narrow) == 2


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for name, release in pairs("time")[0].items():
        tv.write(release, name)
        tv.write(pairs("time")[1][name], f"{name}.ledger")
    ledgers = ["--ledger", "loose.ledger", "--ledger", "strict.ledger"]
    assert run(["compare", "loose", "strict", *ledgers, "--json", "--out", "seen.svg"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert told["releases"] == ["loose", "strict"]
    assert told["verified"][0]["scope"] == "with ledger"
    assert [line["best"] for line in told["lines"] if line["name"] == "promised"] == [["strict"]]
    assert Path("seen.svg").stat().st_mode & 0o077 == 0
    for wrong in (["loose"], ["loose", "./loose"], ["loose", "strict", *ledgers[:2]], ["loose", "nothing"]):
        assert run(["compare", *wrong]) == 2
    assert run(["compare", "loose", "strict", "--out", "loose/seen.svg"]) == 2
    Path("loose/.DS_Store").write_text("x")
    capfd.readouterr()
    assert run(["compare", "loose", "strict"]) == 1
    said = " ".join(capfd.readouterr().out.split())
    assert "`loose` is violated: `.DS_Store` does not belong to the release: macOS leaves it" in said
    Path("loose/data.parquet").write_bytes(b"no parquet")
    assert run(["compare", "loose", "strict", *ledgers, "--json"]) == 1
    told = json.loads(capfd.readouterr().out)
    assert [one["holds"] for one in told["verified"]] == [False, True]
    assert (told["lines"], told["best_in"]) == ([], {"loose": [], "strict": []})
    assert run(["compare", "loose", "nothing"]) == 2
