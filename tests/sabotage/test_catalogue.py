"""Nobody spoils a release unnoticed: `verify` refuses every entry of the catalogue, and names it."""

from __future__ import annotations

import random

import pytest

import timeveil as tv
from tests.sabotage import page
from tests.sabotage.tampering import CATALOGUE, Sabotage
from tests.sabotage.valid import CANARY, MARK, SEEDS, SHAPES, made, rounds
from timeveil.evidence.checks import SHARED
from timeveil.models import FOLDERS, part


def found(release, ledger=None) -> list[tuple[str, str]]:
    verdict = tv.verify(release, ledger)
    assert verdict.scope == ("recipient" if ledger is None else "with ledger")
    return [(violation.code, violation.message) for violation in verdict.violations]


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_valid_holds(shape):
    for seed in SEEDS:
        release, ledger = made(shape, seed)
        assert found(release) == []
        assert found(release, ledger) == []


@pytest.mark.parametrize("one", CATALOGUE, ids=lambda one: f"{one.on}: {one.what}")
def test_sabotage_is_noticed_and_named(one: Sabotage):
    """By the recipient where anybody can see it, by the custodian alone where it takes the ledger."""
    tried = 0
    for shape, seed in rounds(one.on):
        spoilt = one.do(*made(shape, seed), random.Random(f"{one.what} {shape} {seed}"))  # noqa: S311
        if spoilt is not None:
            tried += 1
            check(one, spoilt, f"{shape}, seed {seed}")
    assert tried


def check(one: Sabotage, spoilt, where: str) -> None:
    outside, inside = found(spoilt.release), found(spoilt.release, spoilt.ledger)
    assert not any(CANARY in said or str(MARK)[:4] in said.replace(",", "") for _, said in inside), where
    if one.notices != "recipient":
        assert outside == [], where
    if one.notices == "nobody":
        assert inside == [], where
        return
    sentences = (name for model in FOLDERS for name in part(model, "judges.verify").SENTENCES)
    assert one.code in {name.partition(":")[0] for name in (*SHARED, *sentences)}
    for seen in [inside] if one.notices == "custodian" else [outside, inside]:
        assert any(code == one.code and spoilt.says in said for code, said in seen), (
            where,
            spoilt.says,
            seen,
        )


def test_no_two_entries_are_the_same():
    names = [(one.on, one.what) for one in CATALOGUE]
    assert len(set(names)) == len(names)


def test_the_page_tells_the_whole_catalogue():
    """Run `python -m tests.sabotage.page` after a change."""
    assert page.PAGE.read_text("utf-8") == page.written()
