"""The adversary of pattern counts: what can be computed before and after, and what only bounds tell."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import channels as oracle
from tests.oracles.evidence import family_of

import timeveil as tv
from timeveil.judging import attack
from timeveil.models.patterns.judges.attack import SmallGroup
from timeveil.models.patterns.judges.solving import BoundAttack, bound_attack
from timeveil.models.patterns.parameters import PatternAdversary
from timeveil.models.patterns.words import attack_summary, derivation
from timeveil.models.stream.parameters import StreamAdversary

A = [frozenset(row) for row in ("ab", "abcd", "ad", "ad", "bcd")]


def table(rows) -> pa.Table:
    return pa.table({"has": [sorted(row) for row in rows]})


def example_a(method="additive"):
    return tv.sanitize_patterns(
        table(A), tv.Roles(item="has"), k=2, min_support=2, method=method, allow_loss=True
    )


@pytest.mark.parametrize("method", ["additive", "tight", "clone", "suppressive", "itemset"])
def test_example_a_gives_four_groups_away_before_and_none_after(method):
    breach = attack(*example_a(method))
    assert (breach.channels_before, breach.channels_after, breach.traced) == (4, 0, 4)
    assert breach.before.candidates.tolist() == [1, 0, 0, 0, 1]  # only ab and bcd are alone in a group
    assert breach.exposed_before == pytest.approx(0.4)
    assert (breach.worst, breach.mean, breach.exposed_after, breach.share_above(0.0)) == (0, 0, 0, 0)
    assert breach.before.worst == 1.0


def test_everybody_of_a_small_group_is_found():
    """Against looking at every group of the exhaustive adversary."""
    chance = random.Random(7)  # noqa: S311
    for _ in range(25):
        symbols = chance.choice([None, 2])
        rows = oracle.baskets(chance, 14, 4) if symbols is None else oracle.series(chance, 20, 3, 2)
        case = oracle.Case(rows, k=3, least=4, symbols=symbols)
        if len(case.sets) == 1:
            continue
        breach = attack(oracle.release_of(case), oracle.ledger_of(case), PatternAdversary(bounds=False))
        expected = [0] * len(rows)
        for (present, absent), size in oracle.maximal_channels(
            case.known(case.sets), 3, structural=symbols is not None
        ).items():
            for n, row in enumerate(rows):
                if present <= row and not absent & row and size < (expected[n] or 99):
                    expected[n] = size
        assert breach.before.candidates.tolist() == expected
        assert breach.channels_after == 0


def test_counts_without_care_are_broken_into():
    case = oracle.Case(A)
    careless = oracle.release_of(case, case.sets)
    ledger = replace(oracle.ledger_of(case), mappings={"virtual": pa.table({"pattern": [], "copies": []})})
    breach = attack(careless, ledger)
    assert (breach.channels_after, breach.worst) == (4, 1.0)
    assert any("the promise is broken" in line for line in attack_summary(breach).lines())


def test_examples_are_told_with_few_counts_and_only_if_asked_for():
    breach = attack(*example_a())
    first = breach.examples[0]
    assert first.people == sum(sign * number for sign, number in first.counts) == 1
    assert derivation(first) == "exactly 1 person has `a` and not `d`: 4 - 3 = 1."
    told, silent = (
        "\n".join(attack_summary(breach).lines(examples=True)),
        "\n".join(attack_summary(breach).lines()),
    )
    assert "`a` and not `d`" in told
    assert "`a`" not in silent
    assert "`a`" not in repr(breach)
    assert "examples" not in breach.as_dict()


def test_each_example_is_true_of_the_original():
    rng = np.random.default_rng(2)
    walks = rng.normal(size=(400, 5)).cumsum(axis=1)
    given = pa.table({f"t{n}": walks[:, n] for n in range(5)})
    release, ledger = tv.sanitize_patterns(
        given, tv.Roles(series=given.column_names), k=5, min_support=12, symbols=4
    )
    breach = attack(release, ledger, PatternAdversary(bounds=False))
    z = (walks - walks.mean(axis=1, keepdims=True)) / walks.std(axis=1, keepdims=True)
    symbol = np.searchsorted([-0.6744897501960817, 0.0, 0.6744897501960817], z, side="right")
    assert breach.examples
    for group in breach.examples:
        has = np.ones(400, dtype=bool)
        for items, wanted in ((group.present, True), (group.absent, False)):
            for item in items:
                instant, letter = item.split("=")
                has &= (symbol[:, int(instant[1:])] == "abcd".index(letter)) == wanted
        assert int(has.sum()) == group.people < 5
        assert group.people == sum(sign * number for sign, number in group.counts)
        assert [place for place, (_, number) in enumerate(group.counts) if number < 12] == [*group.follow]


def test_counts_that_follow_are_told_apart():
    counts = ((1, 40), (-1, 30), (-1, 4), (-1, 4), (-1, 1))
    short = SmallGroup(("t0=a",), (), 1, counts, (2, 3, 4))
    assert derivation(short).endswith(
        "40 - 30 - 4 - 4 - 1 = 1, where 4 and 1 are not published but follow from others."
    )
    assert [one["follows"] for one in short.as_dict()["counts"]] == [False, False, True, True, True]
    long = SmallGroup(("t0=a",), (), 1, ((1, 1),) * 9, (8,))
    assert derivation(long).endswith("from 9 counts, 1 of which is not published but follows from others.")
    assert derivation(replace(long, follow=(7, 8))).endswith(
        "2 of which are not published but follow from others."
    )
    assert derivation(replace(long, follow=())).endswith("from 9 counts.")


def test_what_follows_in_two_steps_is_found_and_told():
    """Of the rest, 12 - 7 - 4 = 1 person, where 4 is 42 - 17 - 21."""
    table_of = [[2, 3, 17], [0, 4, 21], [1, 7, 4]]
    rows = [
        frozenset({("t0", a), ("t1", b)}) for a in range(3) for b in range(3) for _ in range(table_of[a][b])
    ]
    case = oracle.Case(rows, k=2, least=6, symbols=3)
    breach = attack(oracle.release_of(case), oracle.ledger_of(case))
    assert (breach.channels_before, breach.channels_after) == (1, 0)
    assert derivation(breach.examples[0]) == (
        "exactly 1 person has `t0=c` and `t1=a`: 12 - 7 - 4 = 1, where 4 is not published but follows from "
        "others."
    )
    assert breach.beyond.exact == 0
    careless = oracle.release_of(case, case.sets)
    ledger = replace(oracle.ledger_of(case), mappings={"virtual": pa.table({"pattern": [], "copies": []})})
    broken = attack(careless, ledger)
    assert (broken.channels_after, broken.worst) == (1, 1.0)
    assert broken.beyond.exact > 0


def test_the_run_and_the_attack_count_the_same_groups():
    """A group that follows from two boxes is one group."""
    draw = np.random.default_rng(3)
    values = np.cumsum(draw.normal(size=(400, 4)), axis=1)
    walks = pa.table({f"t{place}": values[:, place] for place in range(4)})
    release, ledger = tv.sanitize_patterns(
        walks, tv.Roles(series=walks.column_names), k=5, min_support=12, symbols=4
    )
    breach = attack(release, ledger, PatternAdversary(bounds=False))
    assert ledger.facts["channels"] == breach.channels_before > 10
    assert breach.channels_after == 0


def all_counts(rows, k, *, threshold=False):
    """The least and the most of groups just beyond what is published, over all data with the same counts.

    With the threshold, only data in which nothing else is frequent.
    """
    sets = oracle.frequent(rows, k)
    items = sorted({i for s in sets for i in s})
    kinds = [frozenset(c) for n in range(len(items) + 1) for c in itertools.combinations(items, n)]
    n = len(rows)
    seen: dict = {}
    for counts in compositions(n, len(kinds)):
        data = [kind for kind, c in zip(kinds, counts, strict=True) for _ in range(c)]
        if all(oracle.support(data, s) == m for s, m in sets.items()) and not (
            threshold and oracle.frequent(data, k).keys() != sets.keys()
        ):
            for x in nexts(sets, items):
                for i in oracle.subsets(x):
                    cell = sum(row & x == i for row in data)
                    low, high = seen.get((x, i), (cell, cell))
                    seen[x, i] = min(low, cell), max(high, cell)
    return sets, seen


def nexts(sets, items):
    return [x for x in oracle.subsets(items) if x not in sets and all(x - {i} in sets for i in x)]


def compositions(total, parts):
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield first, *rest


@pytest.mark.parametrize(
    ("rows", "pinned"),
    [
        (("ab", "a", "b", "a", "b"), 0),
        (("ab", "ac", "ac", "abc", ""), 3),
        (("bc", "ab", "bc", "ac", "bc"), 2),
        (("ab", "a", "bc"), 1),
    ],
)
def test_bounds_are_those_of_all_data_with_the_same_counts(rows, pinned):
    """By trying all data there are."""
    sets, seen = all_counts([frozenset(row) for row in rows], 2)
    lines = sorted(((sorted(s), n) for s, n in sets.items()), key=lambda line: (len(line[0]), line[0]))
    number = {item: place for place, item in enumerate(sorted({i for s in sets for i in s}))}
    family = family_of([[number[i] for i in s] for s, _ in lines], [n for _, n in lines], len(number) or 1)
    found = bound_attack(family, 3, 20.0)
    assert found is not None
    assert found.tried == found.possible == len({x for x, _ in seen})
    assert found.pinned == pinned == sum(low > 0 and high < 3 for low, high in seen.values())
    assert found.exact == sum(0 < low == high < 3 for low, high in seen.values())


def test_the_smallest_support_is_known():
    """What is not published has fewer people: by trying all data, that alone leaves groups below k."""
    people = [frozenset(row) for row in ("ac", "a", "ab", "c", "ac", "c", "ab", "bc")]
    release, ledger = tv.sanitize_patterns(table(people), tv.Roles(item="has"), k=3, min_support=3)
    assert release.manifest["counts"]["virtual"] == 0
    _, seen = all_counts(people, 3, threshold=True)
    beyond = attack(release, ledger).beyond
    assert beyond.pinned == sum(low > 0 and high < 3 for low, high in seen.values()) == 7
    assert beyond.exact == sum(0 < low == high < 3 for low, high in seen.values()) == 1


def test_what_was_not_tried_is_not_said_to_be_safe():
    release, ledger = example_a()
    breach = attack(release, ledger)
    for found, reason in (
        (attack(release, ledger, PatternAdversary(bounds=False)), "Bounds and equations"),
        (replace(breach, beyond=None), "this release is too large to try"),
    ):
        told = " ".join(attack_summary(found).lines())
        assert reason in told
        assert "can be computed" not in told


def test_a_broken_promise_is_not_contradicted():
    case = oracle.Case(A)
    ledger = replace(oracle.ledger_of(case), mappings={"virtual": pa.table({"pattern": [], "copies": []})})
    breach = attack(oracle.release_of(case, case.sets), ledger)
    told = " ".join(attack_summary(replace(breach, beyond=BoundAttack(3, 3, 0, 0))).lines())
    assert "4 groups of fewer than 2 people can be computed: the promise is broken" in told
    assert "no further group is certain" in " ".join(told.split())


def test_the_bound_attack_stops_in_time_and_is_left_out_of_large_releases():
    rng = np.random.default_rng(1)
    walks = rng.normal(size=(300, 4)).cumsum(axis=1)
    given = pa.table({f"t{n}": walks[:, n] for n in range(4)})
    release, ledger = tv.sanitize_patterns(
        given, tv.Roles(series=given.column_names), k=3, min_support=9, symbols=4
    )
    breach = attack(release, ledger, PatternAdversary(seconds=0.05))
    assert breach.beyond is not None
    assert breach.beyond.tried < breach.beyond.possible
    assert any("then time was up" in line or "time was up" in line for line in attack_summary(breach).lines())
    assert attack(release, ledger, PatternAdversary(bounds=False)).beyond is None
    many = family_of([[], *[[n] for n in range(13)]], [50] * 14, 13)
    assert bound_attack(many, 3, 5.0) is None


def test_an_adversary_of_another_kind_is_refused():
    release, ledger = example_a()
    with pytest.raises(tv.ParameterError, match="`StreamAdversary` cannot attack a release of"):
        attack(release, ledger, StreamAdversary())
    with pytest.raises(tv.ParameterError, match="`seconds`"):
        PatternAdversary(seconds=0)
    case = oracle.Case(A)
    with pytest.raises(tv.InputError):
        attack(release, replace(oracle.ledger_of(case), model="series"))
