"""What `verify` notices where the promise is about several releases of one table."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Literal

import pyarrow as pa
import pytest

import timeveil as tv
from tests.sabotage.tampering import section
from timeveil.domain.guarantee import guarantee_from

K = 4
ROLES = tv.Roles(respondent="who", time="when", quasi=["place"], sensitive=["what"], event="case")


def table(late: int = 0, gone: int = 0) -> pa.Table:
    """Forty visits in two months of ten people at a place each; some come late, some are gone."""
    visits = [(f"p{n % 10}", dt.date(2024, 1 + n // 20, 1 + n % 20), "xy"[n // 10 % 2]) for n in range(40)]
    visits = visits[gone:] + [(f"p{n}", dt.date(2024, 1, 25), "x") for n in range(late)]
    cases = [*range(gone, 40), *range(100, 100 + late)]
    who, when, place = map(list, zip(*visits, strict=True))
    what = [f"w{case % 3}" for case in cases]
    return pa.table({"who": who, "when": pa.array(when), "place": place, "what": what, "case": cases})


@pytest.fixture(scope="module")
def first() -> tuple[tv.Release, tv.Ledger]:
    return tv.generalize_time(table(), ROLES, K, granularities=["month"])


def codes(release: tv.Release, ledger: tv.Ledger | None = None) -> set[str]:
    return {violation.code for violation in tv.verify(release, ledger).violations}


def promised(release: tv.Release, after: object) -> tv.Release:
    """The same with a promise about another number of earlier releases."""
    bold = section(release, "guarantee", after=after)
    return replace(bold, guarantee=guarantee_from(bold.manifest["guarantee"]))


def forged(
    rows: pa.Table, first: tv.Ledger, recode: Literal["global", "local"] = "global"
) -> tuple[tv.Release, tv.Ledger]:
    """A release that was made without a look back, and claims that it was."""
    release, ledger = tv.generalize_time(rows, ROLES, K, granularities=["month"], recode=recode)
    candidates = {
        name: {**numbers, "groups_short": 0, "rows_short": 0}
        for name, numbers in release.manifest["candidates"].items()
    }
    claim = section(promised(release, after=1), "candidates", **candidates)
    facts = {**ledger.facts, "after": [first.fingerprint]}
    return claim, replace(ledger, facts=facts, after=(first,))


@pytest.mark.parametrize("recode", ["global", "local"])
@pytest.mark.parametrize(("late", "gone"), [(K - 1, 0), (0, K - 1), (1, 0), (0, 1)])
def test_one_person_short_in_the_joint_count(first, late, gone, recode):
    """Fewer than k people came late, or have rows that are gone; every group has k people."""
    release, ledger = forged(table(late, gone), first[1], recode)
    assert codes(release) == set()
    assert codes(release, ledger) == {"joint-below-k"}


@pytest.mark.parametrize("recode", ["global", "local"])
@pytest.mark.parametrize(("late", "gone"), [(K, 0), (0, K), (0, 0)])
def test_with_one_person_more_it_holds(first, late, gone, recode):
    assert codes(*forged(table(late, gone), first[1], recode)) == set()


@pytest.mark.parametrize("recode", ["global", "local", "tiling"])
def test_a_promise_about_values_that_what_was_published_before_broke(first, recode):
    """Four of nine people hold a value; three others are withheld because a tenth is gone: four of six do.

    Two rows with other values are left, which is all that a recipient can ask for.
    """
    rows = table(gone=1)
    values = [*"bcbaaaabc", *["bac"[case % 3] for case in range(10, 40)]]
    rows = rows.set_column(rows.column_names.index("what"), "what", pa.array(values))
    options = {"granularities": ["month"], "recode": recode, "suppress": 0.5, "allow_loss": True}
    promise = {"protect": {"what": "at-most:1/2"}}
    assert tv.generalize_time(rows, ROLES, K, **options, **promise)[0].manifest["counts"]["withheld"] == 0
    options["after"] = [first[1]]
    honest = tv.generalize_time(rows, ROLES, K, **options, **promise)
    release, ledger = tv.generalize_time(rows, ROLES, K, **options)
    assert codes(*honest) == codes(release, ledger) == set()
    assert [pair[0].manifest["counts"]["withheld"] for pair in (honest, (release, ledger))] == [9, 3]
    bold = section(section(release, "guarantee", **promise), "parameters", **promise)
    claim = replace(bold, guarantee=guarantee_from(bold.manifest["guarantee"]))
    noted = replace(ledger, facts={**ledger.facts, "parameters": dict(claim.manifest["parameters"])})
    assert (codes(claim), codes(claim, noted)) == (set(), {"protect"})


def test_honest_releases_hold(first):
    """With rows withheld, and from files."""
    release, ledger = tv.generalize_time(
        table(2, 1), ROLES, K, granularities=["month"], after=[first[1]], suppress=0.2
    )
    assert release.manifest["counts"]["withheld"] > 2
    assert codes(release) == codes(release, ledger) == set()


def test_a_ledger_of_another_earlier_release(first):
    release, ledger = tv.generalize_time(table(), ROLES, K, granularities=["month"], after=[first[1]])
    other = tv.generalize_time(table(), ROLES, K, granularities=["year"])[1]
    assert codes(release, replace(ledger, after=(other,))) == {"joint"}


@pytest.mark.parametrize("number", [2, 7])
def test_a_promise_about_more_releases_than_were_looked_at(first, number):
    release, ledger = tv.generalize_time(table(), ROLES, K, granularities=["month"], after=[first[1]])
    bold = promised(release, after=number)
    assert "joint" in codes(bold, replace(ledger, after=(first[1],) * number))


def test_a_claim_that_was_left_out(first):
    release, ledger = tv.generalize_time(table(), ROLES, K, granularities=["month"], after=[first[1]])
    assert codes(promised(release, after=...), ledger)


def test_nothing_is_verified_without_the_earlier_ledgers(first):
    """The promise cannot be counted, so that there is no verdict."""
    release, ledger = tv.generalize_time(table(), ROLES, K, granularities=["month"], after=[first[1]])
    with pytest.raises(tv.ParameterError, match="1 earlier release") as caught:
        tv.verify(release, replace(ledger, after=()))
    assert "after" in caught.value.hint


def test_nothing_is_verified_that_was_not_promised(first):
    """A verdict with earlier ledgers would pass for one about all releases."""
    release, ledger = tv.generalize_time(table(), ROLES, K, granularities=["month"])
    with pytest.raises(tv.ParameterError, match="promises nothing about earlier releases"):
        tv.verify(release, replace(ledger, after=(first[1],)))


def test_a_person_who_is_spelt_in_another_way_is_not_two_people(first):
    rows = table()
    who = [f"{name}\u200b" if name == "p3" else name for name in rows["who"].to_pylist()]
    with pytest.raises(tv.InputError, match="more than one way"):
        tv.generalize_time(rows.set_column(0, "who", pa.array(who)), ROLES, K, after=[first[1]])


def test_an_attack_looks_into_all_releases(first):
    """Two releases that know nothing of each other give away what no single one does."""
    rows = table(late=1)
    release, ledger = tv.generalize_time(rows, ROLES, K, granularities=["month"])
    alone, both = tv.attack(release, ledger), tv.attack(release, replace(ledger, after=(first[1],)))
    assert (alone.releases, both.releases) == (1, 2)
    assert alone.after.worst <= 1 / K
    assert both.after.worst == 1
    kept, known = tv.generalize_time(rows, ROLES, K, granularities=["month"], after=[first[1]], suppress=0.2)
    assert tv.attack(kept, known).after.worst <= 1 / K
    with pytest.raises(tv.ParameterError, match="tolerance"):
        tv.attack(kept, known, tv.Adversary(tolerance=3600))
