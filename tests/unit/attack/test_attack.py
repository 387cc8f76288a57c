"""Finding people by what is known of them."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import judges as oracle

import timeveil as tv
from timeveil.errors import InputError, ParameterError
from timeveil.evidence.risk import Risk
from timeveil.judging import attack
from timeveil.models.events.judges import attack as judge
from timeveil.models.events.parameters import Adversary


def rows(*visits):
    return [
        {"person": p, "at": dt.datetime(2024, 4, day, 9), "zip": z, "sex": "f", "ward": 1, "result": r}
        for p, day, z, r in visits
    ]


CROWD = rows(("ann", 1, "1", "good"), ("bob", 2, "1", "good"), ("ann", 8, "1", "bad"), ("cy", 9, "1", "bad"))


def test_one_visit_pins_everyone_down_before_and_no_one_after():
    breach = attack(*oracle.build(oracle.Case(CROWD, 2)))
    assert (breach.pinned_before, breach.before.worst) == (1, 1)
    assert (breach.pinned_after, breach.worst, breach.mean) == (0, 0.5, 0.5)
    assert breach.share_above(0.5) == 0
    assert breach.share_above(0.49) == 1


def test_two_visits_break_the_bound_and_the_answer_says_so():
    """Only ann was there in both weeks, so knowing both names her though k is 2."""
    breach = attack(*oracle.build(oracle.Case(CROWD, 2)), Adversary(visits=2))
    assert breach.worst == 1
    assert breach.pinned_after == pytest.approx(1 / 3)


def test_a_tolerance_widens_the_sets():
    pair = oracle.build(oracle.Case(CROWD, 2))
    day = attack(*pair, Adversary(tolerance=dt.timedelta(days=1)))
    assert day.before.pinned == 0
    assert day.adversary.tolerance == 86_400
    assert attack(*pair, Adversary(tolerance=14 * 86_400)).after.quantile(0) == 3


def test_withheld_visits_are_out_of_reach():
    case = oracle.Case(
        [*CROWD, *rows(("dan", 3, "9", "bad"), ("ann", 3, "9", "x"), ("ann", 25, "7", "x"))], 2
    )
    release, ledger = oracle.build(
        replace(case, rows=[*CROWD, *rows(("dan", 3, "9", "bad"), ("ann", 25, "7", "x"))])
    )
    breach = attack(release, ledger)
    assert breach.after.out_of_reach == pytest.approx((1 + 1 / 3) / 4)
    several = attack(release, ledger, Adversary(visits=9))
    assert several.after.out_of_reach == 0.25
    assert several.worst == 1


def test_what_stays_visible_inside_a_group():
    same = attack(*oracle.build(oracle.Case(CROWD, 2)))
    assert same.commonest_sensitive == {"result": {"worst": 1.0, "mean": 1.0}}
    often = oracle.Case([*CROWD, *rows(("ann", 1, "1", "bad"), ("ann", 2, "1", "bad"))], 2)
    breach = attack(*oracle.build(often))
    assert breach.largest_share == 0.75
    assert breach.commonest_sensitive["result"]["mean"] == 0.75


def test_a_sample_is_seeded_and_counted():
    case = oracle.Case([r for n in range(30) for r in rows((f"p{n}", 1 + n % 28, "1", "good"))], 2)
    pair = oracle.build(case)
    breach = attack(*pair, Adversary(sample=10, seed=4))
    assert (breach.people, breach.everyone) == (10, 30)
    assert breach.as_dict() == attack(*pair, Adversary(sample=10, seed=4)).as_dict()
    assert attack(*pair, Adversary(sample=10, visits=2)).people == 10
    assert attack(*pair, Adversary(sample=99)).people == 30


def test_people_are_sampled_where_every_set_would_take_too_long(monkeypatch):
    case = oracle.Case(
        [r for n in range(40) for r in rows((f"p{n}", 1, "1", "good"), (f"p{n}", 2, "1", "x"))], 2
    )
    monkeypatch.setattr(judge, "_BUDGET", 400)
    breach = attack(*oracle.build(case), Adversary(visits=2))
    assert 0 < breach.people < breach.everyone == 40
    assert set(breach.after.candidates.tolist()) == {40}


@pytest.mark.parametrize("days", [0, 3, 40])
def test_people_are_the_same_however_many_ranges_are_counted_at_a_time(days, monkeypatch):
    visits = [(f"p{n % 17}", 1 + n * n % 28, str(n % 3), "good") for n in range(120)]
    pair = oracle.build(oracle.Case(rows(*visits), 2))
    adversary = Adversary(tolerance=dt.timedelta(days=days) if days else 0)
    at_once = attack(*pair, adversary)
    for ranges in (1, 7):
        monkeypatch.setattr(judge, "_RANGES_AT_ONCE", ranges)
        parts = attack(*pair, adversary)
        assert parts.before.candidates.tolist() == at_once.before.candidates.tolist()
        assert parts.after.candidates.tolist() == at_once.after.candidates.tolist()


def test_the_same_visit_noted_twice_counts_once():
    twice = attack(*oracle.build(oracle.Case([*CROWD, CROWD[0]], 2)))
    assert len(twice.before.candidates) == len(CROWD)


def test_as_data_it_is_json():
    breach = attack(*oracle.build(oracle.Case(CROWD, 2)))
    told = json.loads(json.dumps(breach.as_dict()))
    assert told["after"]["candidates"]["0.5"] == 2
    assert told["share_above_one_in_k"] == 0


def test_an_empty_release_tells_nothing():
    for adversary in (None, Adversary(visits=2)):
        breach = attack(*oracle.build(oracle.Case([], 2)), adversary)
        assert (breach.people, breach.worst, breach.mean, breach.before.quantile(0.5)) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    "wrong",
    [{"visits": 0}, {"visits": 1.5}, {"tolerance": -1}, {"tolerance": 0.5}, {"sample": 0}, {"seed": True}],
)
def test_an_adversary_is_checked(wrong):
    with pytest.raises(ParameterError) as caught:
        Adversary(**wrong)
    assert next(iter(wrong)) in caught.value.message


def test_a_ledger_that_does_not_fit_is_refused():
    release, ledger = oracle.build(oracle.Case(CROWD, 2))
    with pytest.raises(InputError) as caught:
        attack(release, replace(ledger, entries=ledger.table.slice(1)))
    assert caught.value.code == "ledger-mismatch"
    with pytest.raises(ParameterError):
        attack(replace(release, manifest={**release.manifest, "model": "other"}), ledger)


def test_quantiles_weigh_people():
    risk = Risk(np.array([1, 9]), np.array([1.0, 3.0]))
    assert [risk.quantile(share) for share in (0, 0.25, 0.26, 1)] == [1, 1, 9, 9]


def test_a_ledger_of_another_table_is_refused_by_what_differs():
    release, ledger = oracle.build(oracle.Case(CROWD, 2))
    for other, words in (
        (oracle.Case(CROWD[:2], 2), "made from 4 rows; the ledger lists 2"),
        (oracle.Case(rows(*[("ann", day, "1", "good") for day in (1, 2, 8, 9)]), 2), "places 0 rows"),
    ):
        with pytest.raises(InputError, match=words):
            attack(release, oracle.build(other)[1])
    fewer = replace(ledger.original, roles=replace(ledger.original.roles, keep=[]))
    with pytest.raises(InputError, match="the keep columns"):
        attack(release, replace(ledger, original=fewer))


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_people_within_a_second_are_told_apart_by_their_times(unit):
    """Fractions of a second count: each of four people is alone with a time, and knows no other's."""
    noon = dt.datetime(2024, 3, 4, 12)
    times = [noon + dt.timedelta(milliseconds=250 * n) for n in range(4)]
    visits = pa.table({"who": list("abcd"), "at": pa.array(times, pa.timestamp(unit)), "ill": list("wxyz")})
    roles = tv.Roles(respondent="who", time="at", sensitive=["ill"])
    release, ledger = tv.generalize_time(visits, roles, k=4)
    breach = attack(release, ledger)
    assert (breach.pinned_before, breach.pinned_after) == (1.0, 0.0)
    assert attack(release, ledger, Adversary(visits=2)).pinned_before == 1.0
    for tolerance in (1, 10**12):
        assert attack(release, ledger, Adversary(tolerance=tolerance)).pinned_before == 0.0
    loss = tv.measure(release, ledger)
    assert loss.width_before == 0.001
