"""Counts of series as a system of equations, against solving for everything at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.oracles import algebra
from tests.oracles import channels as oracle
from tests.oracles import patterns as slow
from tests.oracles.evidence import family_of
from tests.properties.test_pattern_algebra import drawn, made

from timeveil.judging import attack
from timeveil.models.patterns.evidence.boxes import channels_of
from timeveil.models.patterns.evidence.family import Family, Knowledge
from timeveil.models.patterns.judges.attack import BoundAttack, SolveAttack
from timeveil.models.patterns.judges.solving import solve_attack
from timeveil.models.patterns.method.family import mine_family
from timeveil.models.patterns.words import attack_summary


def family(counts: dict[frozenset[int], int], symbols: int, instants: int) -> Family:
    sets = sorted((sorted(some) for some in counts), key=lambda items: (len(items), items))
    support = [counts[frozenset(items)] for items in sets]
    return family_of(sets, support, size=symbols * instants, kinds=symbols)


@pytest.mark.parametrize(("symbols", "instants"), [(2, 4), (3, 2), (3, 3), (4, 2), (4, 3), (5, 2)])
def test_instants_by_themselves_give_what_all_at_once_give(symbols: int, instants: int) -> None:
    judged = 0
    for seed in range(12):
        rows, k, least = drawn(seed, symbols, instants)
        counts = slow.supports_of(mine_family(rows, least, instants, 1 << 12))
        found = solve_attack(family(counts, symbols, instants), k, seconds=60)
        expected = algebra.small_groups(counts, symbols, instants, k)
        assert found == SolveAttack(instants, 2**instants - 1, 2**instants - 1, expected), seed
        judged += expected > 0
    assert judged > 3


def test_equations_can_tell_more_than_steps_do() -> None:
    """Four symbols at two instants: the promise is kept, and two groups follow all the same."""
    rows, k, least = drawn(78, 4, 2)
    done = made(rows, k, least, "additive")
    assert done is not None
    published = family(slow.supports_of(done.after), 4, 2)
    assert len(channels_of(Knowledge(published).family, k)) == 0
    assert solve_attack(published, k, seconds=60) == SolveAttack(2, 3, 3, 2)


def test_what_was_not_tried_is_told() -> None:
    rows, k, least = drawn(3, 3, 3)
    published = family(slow.supports_of(mine_family(rows, least, 3, 1 << 12)), 3, 3)
    assert solve_attack(published, k, seconds=0) == SolveAttack(3, 7, 0, 0)
    assert solve_attack(replace(published, kinds=1), k, seconds=60) is None
    assert solve_attack(family({frozenset(): 9, frozenset({3}): 5}, 30, 2), k, seconds=60) is None


def test_the_page_says_how_far_equations_went() -> None:
    rows = [frozenset({("t0", s)}) for s in (0, 0, 0, 0, 0, 1, 1, 1, 1, 2)]
    case = oracle.Case(rows, k=2, least=3, symbols=3)
    breach = attack(oracle.release_of(case), oracle.ledger_of(case))
    assert breach.solved == SolveAttack(1, 1, 1, 0)
    assert breach.as_dict()["solved"]["small"] == 0
    told = " ".join(" ".join(attack_summary(breach).lines()).split())
    assert "1 set of at most 1 instant; no group of fewer than 2 people follows." in told
    some = replace(breach, solved=SolveAttack(3, 175, 20, 2))
    told = " ".join(" ".join(attack_summary(some).lines()).split())
    assert "20 sets of at most 3 instants of 175 before time was up; 2 groups of fewer than 2 people" in told


def test_every_reader_knows_that_everybody_has_one_symbol() -> None:
    """Ten people, five have a and four c: with a promise of counts alone, one is left for b all the same."""
    rows = [frozenset({("t0", s)}) for s in (0, 0, 0, 0, 0, 1, 2, 2, 2, 2)]
    case = oracle.Case(rows, k=2, least=3, symbols=3, structural=False)
    breach = attack(oracle.release_of(case, case.sets), oracle.ledger_of(case))
    assert (breach.channels_before, breach.channels_after, breach.broken) == (1, 1, False)
    assert breach.solved == SolveAttack(1, 1, 1, 1)
    told = " ".join(" ".join(attack_summary(breach).lines()).split())
    assert "1 group of fewer than 2 people can be computed: every reader knows" in told
    assert "the promise is broken" not in told


def test_what_only_solving_gives_is_in_the_headline() -> None:
    rows = [frozenset({("t0", s)}) for s in (0, 0, 0, 0, 0, 1, 1, 1, 1, 2)]
    case = oracle.Case(rows, k=2, least=3, symbols=3)
    breach = attack(oracle.release_of(case), oracle.ledger_of(case))
    nothing = "No sum that the promise covers gives a group of fewer than 2 people."
    for solved, pinned in ((0, 0), (2, 0), (0, 3), (2, 3)):
        found = replace(breach, solved=SolveAttack(1, 1, 1, solved), beyond=BoundAttack(9, 9, pinned, 0))
        told = " ".join(" ".join(attack_summary(found).lines()).split())
        assert nothing in told
        assert ("Beyond it," in told) == (solved + pinned > 0)
        assert ("Beyond it, equations give 2 groups" in told) == (solved > 0)
        assert ("bounds leave 3 groups of fewer than 2 people." in told) == (pinned > 0)
