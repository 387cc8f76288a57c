"""One evidence serves all judges of a release: it is read and linked once."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.sabotage.valid import made

import timeveil as tv
from timeveil.judging import gather
from timeveil.models.events import evidence as events
from timeveil.models.stream import evidence as stream


def visits():
    table = pa.table(
        {
            "who": [f"p{n % 7}" for n in range(42)],
            "when": [dt.date(2024, 1, 1 + n % 28) for n in range(42)],
            "zip": [str(n % 2) for n in range(42)],
        }
    )
    return tv.generalize_time(table, tv.Roles(respondent="who", time="when", quasi=["zip"]), k=3)


def cases():
    table = pa.table(
        {"day": [n // 6 for n in range(60)], "sex": ["f", "m"] * 30, "ill": [f"v{n % 5}" for n in range(60)]}
    )
    return tv.publish_stream(
        table, tv.Roles(time="day", quasi=["sex"], sensitive=["ill"]), l=2, window=3, seed=1
    )


MODELS = {"time": (visits, events, "people_of"), "stream": (cases, vars(stream.Evidence)["journeys"], "func")}


@pytest.fixture(params=MODELS)
def pair(request):
    return MODELS[request.param][0]()


@pytest.fixture
def linked(pair, monkeypatch):
    """A list that grows by one whenever original and release are linked."""
    links = []
    for _, owner, name in MODELS.values():
        link = getattr(owner, name)

        def counted(argument, link=link):
            links.append(pair[0].manifest["model"])
            return link(argument)

        monkeypatch.setattr(owner, name, counted)
    return links


def test_every_judge_of_one_evidence_links_once(pair, linked):
    release, ledger = pair
    evidence = gather(release, ledger)
    verdict, loss, breach = tv.verify(evidence), tv.measure(evidence), tv.attack(evidence)
    assert linked == [release.manifest["model"]]
    assert verdict == tv.verify(release, ledger)
    assert loss == tv.measure(release, ledger)
    assert breach.as_dict() == tv.attack(release, ledger).as_dict()
    assert tv.answer(evidence, tv.WindowCount()) == tv.answer(release, tv.WindowCount())


def test_a_report_links_once(pair, linked, tmp_path):
    release, ledger = pair
    tv.report(release, ledger)
    assert len(linked) == 1
    tv.write(release, tmp_path / "out")
    tv.report(tmp_path / "out", ledger)
    assert len(linked) == 2


def test_evidence_without_a_ledger_cannot_be_measured():
    release, _ = visits()
    with pytest.raises(tv.ParameterError, match="`ledger` is a `NoneType`"):
        tv.measure(gather(release))


@pytest.mark.parametrize("judge", [tv.verify, tv.measure, tv.attack])
def test_only_a_release_and_its_ledger_are_judged(judge):
    (release, ledger), (_, other) = visits(), cases()
    for given, message in (
        ((ledger, ledger), "`release` is a `Ledger`, not a release"),
        ((release, release), "`ledger` is a `Release`, not a ledger"),
        ((release, replace(ledger, after=(7,))), "`ledger` is a `int`, not a ledger"),
        ((*cases()[:1], replace(other, after=(other,))), "nothing is promised over several releases of"),
    ):
        with pytest.raises(tv.ParameterError, match=message):
            judge(*given)


def test_a_verdict_knows_when_only_the_ledger_disagrees():
    release, ledger = visits()
    other = tv.Ledger(ledger.model, ledger.entries.slice(1), ledger.original)
    verdict = tv.verify(release, other)
    assert not verdict
    assert verdict.ledger_only
    cut = tv.Release(release.guarantee, release.manifest, {"data": release.table.slice(1)})
    assert not tv.verify(cut, ledger).ledger_only


def test_evidence_takes_no_other_ledger(pair):
    release, ledger = pair
    evidence = gather(release, ledger)
    assert gather(evidence, ledger) is gather(evidence) is evidence
    assert tv.verify(evidence, ledger).scope == "with ledger"
    for case, other in ((gather(release), ledger), (evidence, tv.Ledger(*_fields(ledger))), (evidence, 7)):
        for judge in (tv.verify, tv.measure, tv.attack):
            with pytest.raises(tv.ParameterError, match="gathered without this ledger"):
                judge(case, other)


def _fields(ledger):
    return ledger.model, ledger.entries, ledger.original, ledger.mappings, ledger.facts


def test_measure_refuses_numbers_of_another_model(pair):
    release, ledger = pair
    with pytest.raises(tv.ParameterError, match="`queries` does not apply to a release of") as refused:
        tv.measure(release, ledger, queries=5)
    assert "leave queries out" in str(refused.value)
    with pytest.raises(
        tv.ParameterError, match="`windows` must be a whole number from 0 to 10,000,000, got -5"
    ):
        tv.measure(release, ledger, windows=-5)


def test_the_hint_about_a_foreign_adversary_is_a_sentence():
    with pytest.raises(tv.ParameterError, match="give an `Adversary`"):
        tv.attack(*visits(), tv.StreamAdversary())
    with pytest.raises(tv.ParameterError, match="give a `StreamAdversary`"):
        tv.attack(*cases(), tv.Adversary())


STAGES = {
    "time": ["counting rows", "checking the order of rows", "counting people"],
    "stream, buckets": ["checking slots", "following records"],
    "series, kapra": ["checking groups", "comparing with the original"],
    "patterns, baskets, tight, closed": ["reading patterns", "looking for small groups", "counting people"],
}


@pytest.mark.parametrize("shape", STAGES)
def test_what_is_being_judged_is_said_as_it_goes_on(shape):
    """A recipient does not wait for what only the ledger shows."""
    said = []
    release, ledger = made(shape, 0)
    for given in (ledger, None):
        assert tv.verify(gather(release, given, lambda what, share: said.append((share, what))))
    stages = STAGES[shape]
    assert [what for _, what in said] == stages + stages[:-1]
    assert said[: len(stages)] == sorted(said[: len(stages)])
