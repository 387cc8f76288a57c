"""Guessing the values of a stream's people."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.oracles import judges as times
from tests.oracles import judges_stream as oracle

from timeveil.errors import InputError, ParameterError, RolesError
from timeveil.evidence.risk import Posterior
from timeveil.judging import attack
from timeveil.models.events.parameters import Adversary
from timeveil.models.stream.judges.attack import within
from timeveil.models.stream.parameters import StreamAdversary


def record(person, step, ill, zip_code="1"):
    return {"person": person, "step": step, "zip": zip_code, "sex": "f", "ward": 1, "ill": ill}


# Three of five have the flu on day 0: with l = 2 one of them must leave, and goes to day 1.
SKEWED = [record(f"f{n}", 0, "flu") for n in range(3)] + [record("t", 0, "tbc"), record("h", 0, "hiv")]
QUIET = [record(f"q{n}", 1, ill) for n, ill in enumerate(["tbc", "hiv", "nor", "mea"])]


def test_the_published_slot_gives_no_more_than_one_in_l():
    breach = attack(*oracle.build(oracle.Case(SKEWED + QUIET, l=2)))
    assert breach.adversary == StreamAdversary("published-slot")
    assert (breach.l, breach.people, breach.everyone) == (2, 9, 9)
    assert 0 < breach.worst <= 0.5
    assert breach.share_above(0.5) == 0
    assert breach.before.worst == pytest.approx(3 / 5)


def test_whoever_was_moved_had_the_value_there_was_too_much_of():
    breach = attack(*oracle.build(oracle.Case(SKEWED + QUIET, l=2)), StreamAdversary("true-slot"))
    assert breach.parts["moved"].mean == breach.parts["moved"].worst == 1
    assert breach.parts["moved"].people == 1
    assert breach.parts["missing"].people == 0
    assert breach.worst == 1
    assert breach.share_above(0.5) == pytest.approx(1 / 9)


def test_whoever_is_missing_had_it_too():
    breach = attack(*oracle.build(oracle.Case(SKEWED, l=2)), StreamAdversary("true-slot"))
    assert breach.parts["missing"].worst == 1
    assert breach.parts["missing"].people == 1
    assert breach.parts["moved"].people == 0


def test_the_same_person_in_two_buckets_is_pinned_by_what_they_share():
    """Ann's buckets have flu and tbc, then flu and hiv."""
    rows = [record("ann", 0, "flu"), record("bob", 0, "tbc"), record("ann", 1, "flu"), record("cy", 1, "hiv")]
    pair = oracle.build(oracle.Case(rows, l=2, window=1))
    assert attack(*pair).worst == 0.5
    breach = attack(*pair, StreamAdversary("several-slots"))
    assert (breach.people, breach.everyone) == (1, 3)
    assert (breach.worst, breach.certain) == (1, 1)
    assert breach.parts["constant"].people == 1


def test_two_values_left_are_weighed_by_how_often_they_occur_elsewhere():
    """Flu and tbc are left; tbc is commoner overall, so finding both in both buckets says more of flu."""
    rows = [record("ann", s, "flu") for s in (0, 1)] + [record(f"b{s}", s, "tbc") for s in (0, 1, 2)]
    rows += [record("cy", 2, "hiv")]
    breach = attack(*oracle.build(oracle.Case(rows, l=2, window=1)), StreamAdversary("several-slots"))
    flu, tbc = 0.25 / (2 / 6), 0.25 / (3 / 6)
    assert breach.worst == pytest.approx(flu / (flu + tbc))


def test_somebody_whose_value_changes_leads_astray():
    rows = [record("ann", 0, "flu"), record("bob", 0, "tbc"), record("ann", 1, "nor"), record("cy", 1, "hiv")]
    breach = attack(*oracle.build(oracle.Case(rows, l=2, window=1)), StreamAdversary("several-slots"))
    assert (breach.people, breach.worst) == (1, 0)
    assert breach.parts["changing"].people == 1


def test_without_buckets_values_stand_beside_their_records():
    rows = [record("ann", 0, "flu", "1"), record("bob", 0, "tbc", "2")]
    assert attack(*oracle.build(oracle.Case(rows, l=2, buckets="none"))).worst == 1
    assert attack(*oracle.build(oracle.Case(rows, l=2))).worst == 0.5


def test_people_with_many_records_count_once():
    found = Posterior(np.array([1.0, 0.5, 0.5]), np.array([1.0, 0.5, 0.5]))
    assert (found.people, found.mean, found.certain) == (2, 0.75, 0.5)
    assert found.only(np.array([False, True, True])).worst == 0.5


def test_an_empty_release_tells_nothing():
    for knows in ("published-slot", "true-slot", "several-slots"):
        for buckets in ("anatomy", "none"):
            pair = oracle.build(oracle.Case([], buckets=buckets))
            breach = attack(*pair, StreamAdversary(knows))
            assert (breach.people, breach.worst, breach.mean) == (0, 0, 0)


def test_without_a_respondent_every_record_is_a_person_and_none_recurs():
    release, ledger = oracle.build(oracle.Case(SKEWED + QUIET, l=2))
    roles = replace(ledger.original.roles, respondent=None)
    nameless = replace(ledger, original=replace(ledger.original, roles=roles))
    assert attack(release, nameless).people == 9
    with pytest.raises(RolesError) as caught:
        attack(release, nameless, StreamAdversary("several-slots"))
    assert caught.value.code == "role-missing"


def test_as_data_it_is_json():
    breach = attack(*oracle.build(oracle.Case(SKEWED + QUIET, l=2)), StreamAdversary("true-slot"))
    told = json.loads(json.dumps(breach.as_dict()))
    assert told["parts"]["moved"]["certain"] == 1
    assert told["share_above_one_in_l"] == pytest.approx(1 / 9)


def test_adversaries_and_releases_must_fit():
    stream, rows = oracle.build(oracle.Case(SKEWED, l=2)), times.build(times.Case([], 2))
    with pytest.raises(ParameterError):
        attack(*stream, Adversary())
    with pytest.raises(ParameterError):
        attack(*rows, StreamAdversary())
    with pytest.raises(InputError):
        attack(stream[0], rows[1])
    with pytest.raises(ParameterError) as caught:
        StreamAdversary("canary")
    assert "canary" not in str(caught.value)


def test_shares_within_groups():
    assert within(np.array([0, 0, 1]), np.array([2, 2, 0])).tolist() == [1, 1, 1]
    assert within(np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []
