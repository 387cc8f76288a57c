"""What a profile says about each way of recoding."""

from __future__ import annotations

import pytest

import timeveil as tv
from timeveil.datasets import clinic_visits
from timeveil.explore import profiling
from timeveil.explore.exploration import exploration_lines

WAYS = ("global", "tiling", "refined", "local")
ROLES = tv.Roles(respondent="patient", time="taken_at", quasi=["sex"], drop="rest")


def relation() -> tv.Relation:
    return tv.read(clinic_visits(rows=800, people=150), ROLES)


def test_every_way_is_judged_as_its_release_would_be() -> None:
    table, names = relation(), ["week", "month", "all"]
    risk = tv.profile(table, 3, iter(names), ways=True)
    assert tuple(way.recode for way in risk.ways) == WAYS
    assert not risk.ways_left_out
    for way in risk.ways:
        pair = tv.generalize_time(table, ROLES, 3, granularities=names, recode=way.recode)
        loss, breach = tv.measure(*pair, windows=0), tv.attack(*pair)
        assert isinstance(loss, tv.Loss)
        assert (way.bits, way.singled_out) == (loss.bits_per_row, breach.singled_out)
    assert risk.ways[0].bits > risk.ways[3].bits


def test_ways_are_tried_only_where_asked_for_and_affordable(monkeypatch: pytest.MonkeyPatch) -> None:
    table = relation()
    plain = tv.profile(table, 3, "month")
    assert (plain.ways, plain.ways_left_out) == ((), "")
    refused = tv.profile(table, 140, "month", ways=True)
    assert refused.ways == ()
    assert refused.ways_left_out.startswith("no granularity up to `month` gives 140-anonymity")
    monkeypatch.setattr(profiling, "MOST_ROWS", 799)
    large = tv.profile(table, 3, "month", ways=True)
    assert (large.ways, large.ways_left_out) == ((), "the table has more than 799 rows")


def test_a_hierarchy_of_no_quasi_identifier_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the table is too large to try any way."""
    monkeypatch.setattr(profiling, "MOST_ROWS", 100)
    for rows in (50, 800):
        table = tv.read(clinic_visits(rows=rows, people=30), ROLES)
        with pytest.raises(tv.ParameterError, match="`sexx`, which is not a quasi-identifier") as caught:
            tv.profile(table, 3, hierarchies={"sexx": "suppression"})
        assert caught.value.hint == "name `sexx` in quasi, or leave its hierarchy out"


def test_an_exploration_says_what_every_way_would_save_and_risk() -> None:
    """At the setting that is best, and only if all rows are made coarser alike."""
    table = clinic_visits(rows=800, people=150)
    for recode in ("global", "local"):
        found = tv.explore(tv.generalize_time, table, ROLES, k=[3, 5], recode=recode)
        words = " ".join(" ".join(exploration_lines(found, "visits.csv")).split())
        facts = tv.generalize_time(table, ROLES, k=3, recode=recode)[1].facts.get("ways", {})
        assert found.settings[0].ways == facts
        lost = {way: f"{risk['bits']:.1f}" for way, risk in facts.items()} or dict.fromkeys(WAYS, "")
        said = (
            f"At k 3, a row loses {lost['global']} bits of information, and would lose {lost['tiling']} with "
        )
        said += f"`--recode tiling`, {lost['refined']} with `--recode refined` and {lost['local']} with"
        assert (said in words) == (recode == "global"), words
