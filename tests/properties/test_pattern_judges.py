"""No minimal corruption of patterns gets past `verify`, which finds what an exhaustive adversary does."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.effort import some
from tests.oracles import channels as oracle
from tests.oracles.evidence import baskets_of, family_of
from tests.properties.test_odd_manifests import mutated

import timeveil as tv
from timeveil.domain.guarantee import NoInferenceChannel
from timeveil.judging import verify
from timeveil.models.patterns.evidence.boxes import channels_of
from timeveil.models.patterns.evidence.counting import mined, supports, with_border
from timeveil.models.patterns.evidence.family import Knowledge, all_parts

FEW = settings(max_examples=20, deadline=None)
SOME = settings(max_examples=60, deadline=None)


def numbered(items, symbols):
    """Items as numbers, those of an instant together."""
    if symbols is None:
        return {item: place for place, item in enumerate(sorted(items))}
    return {(t, s): int(t[1:]) * symbols + s for t, s in items}


def family_from(sets, symbols):
    items = {item for s in sets for item in s}
    number = numbered(items, symbols)
    lines = sorted((sorted(number[i] for i in s), n) for s, n in sets.items())
    lines.sort(key=lambda line: (len(line[0]), line[0]))
    size = max(number.values(), default=0) + 1
    family = family_of([s for s, _ in lines], [n for _, n in lines], size, symbols or 1)
    return family, {place: item for item, place in number.items()}


def named(found, names):
    return {
        (frozenset(names[i] for i in present if i >= 0), frozenset(names[i] for i in absent if i >= 0)): int(
            size
        )
        for present, absent, size in zip(found.present, found.absent, found.size, strict=True)
    }


def draw_rows(chance, series):
    if series:
        symbols = chance.choice([2, 3])
        instants = chance.choice([1, 2, 3]) if symbols == 2 else chance.choice([1, 2])
        return oracle.series(chance, chance.randint(4, 24), instants, symbols), symbols
    return oracle.baskets(chance, chance.randint(3, 18), chance.randint(1, 5)), None


@pytest.mark.parametrize("kind", ["baskets", "series", "series over F", "changed", "changed series"])
def test_channels_are_those_of_the_exhaustive_adversary(kind):
    """Some with counts that no data have."""
    chance = random.Random(kind)  # noqa: S311
    for _ in range(some(1500)):
        rows, symbols = draw_rows(chance, "series" in kind)
        structural = symbols is not None and kind != "series over F"
        k = chance.randint(2, 4)
        sets = oracle.frequent(rows, chance.randint(k, k + 2))
        if kind.startswith("changed"):
            sets = {s: max(0, n + chance.choice([0, 0, 0, 1, -1, 3])) for s, n in sets.items()}
        family, names = family_from(sets, symbols)
        every = oracle.exhaustive(sets, structural=structural)
        found = channels_of(family if structural else family.unlinked, k)
        few = [n for n in every.values() if 0 < n < k]
        assert (found.impossible > 0) == any(n < 0 for n in every.values())
        if not found.impossible:  # a sum of cells of which some are below 0 can be anything
            assert (len(found) > 0) == bool(few)
            assert found.size.min(initial=k) == min(few, default=k)
        expected = oracle.maximal_channels(sets, k, structural=structural)
        assert named(found, names) == expected


def test_what_follows_is_what_follows_the_slow_way():
    chance = random.Random(9)  # noqa: S311
    more = 0
    for _ in range(some(1200)):
        rows, symbols = draw_rows(chance, series=True)
        case = oracle.Case(rows, least=chance.randint(2, 6), symbols=symbols)
        family, _ = family_from(case.sets, symbols)
        known = Knowledge(family)
        names = {int(t[1:]) * symbols + s: (t, s) for t in case.instants for s in range(symbols)}
        told = {
            frozenset(names[i] for i in known.family.items_of(n)): int(known.family.support[n])
            for n in range(known.family.number)
        }
        assert told == case.known(case.sets) == {s: oracle.support(rows, s) for s in told}
        assert known.contradictions == 0
        own = known.published >= 0
        assert known.published[own].tolist() == list(range(family.number))
        assert known.family.support[own].tolist() == family.support.tolist()
        assert all((drop >= 0).all() for drop in known.family.drops)
        more += known.family.number > family.number
    assert more > some(1200) // 4


def lost(family, rows, least, longest):
    wider, outside = with_border(family, longest)
    return int((supports(wider, rows)[outside] >= least).sum())


def test_counting_and_mining_are_those_of_the_slow_twin():
    chance = random.Random(5)  # noqa: S311
    for _ in range(some(1200)):
        rows, symbols = draw_rows(chance, chance.random() < 0.5)
        least, longest = chance.randint(1, 4), chance.choice([1, 2, 99])
        sets = oracle.frequent(rows, least, longest)
        items = {item for row in rows for item in row}
        number = numbered(items, symbols)
        size = max(number.values()) + 1
        held = baskets_of([sorted(number[i] for i in row) for row in rows])
        ours = mined(held, size, symbols or 1, least, longest)
        back = {place: item for item, place in number.items()}
        told = {
            frozenset(back[i] for i in ours.items_of(n)): int(ours.support[n]) for n in range(ours.number)
        }
        assert told == sets
        assert supports(ours, held).tolist() == ours.support.tolist()
        assert lost(ours, held, least, longest) == 0
        if ours.number > 1:
            gone = int(np.flatnonzero(ours.is_maximal)[-1])
            less = family_of(
                [ours.items_of(n) for n in range(ours.number) if n != gone],
                np.delete(ours.support, gone), size, symbols or 1,
            )  # fmt: skip
            assert lost(less, held, least, longest) == (len(ours.items_of(gone)) > 1)


def test_closed_sets_tell_of_all_others():
    chance = random.Random(6)  # noqa: S311
    for _ in range(some(800)):
        rows, symbols = draw_rows(chance, chance.random() < 0.5)
        sets = oracle.frequent(rows, chance.randint(1, 4))
        family, _ = family_from(sets, symbols)
        number = numbered({i for s in sets for i in s}, symbols)
        shut = sorted(
            ((sorted(number[i] for i in s), n) for s, n in oracle.closed(sets).items()),
            key=lambda line: (len(line[0]), line[0]),
        )
        whole, shown = all_parts(
            family_of([s for s, _ in shut], [n for _, n in shut], family.size, family.kinds)
        )
        assert [level.tolist() for level in whole.levels] == [level.tolist() for level in family.levels]
        assert whole.support.tolist() == family.support.tolist()
        assert whole.support[shown].tolist() == [n for _, n in shut]


@st.composite
def cases(draw, **fixed):
    chance = random.Random(draw(st.integers(0, 2**32)))  # noqa: S311
    k = draw(st.integers(2, 3))
    is_series = fixed.get("series", draw(st.booleans()))
    if is_series:
        symbols = draw(st.integers(2, 3))
        rows = oracle.series(chance, draw(st.integers(8, 24)), draw(st.integers(1, 3)), symbols)
    else:
        symbols, rows = None, oracle.baskets(chance, draw(st.integers(6, 18)), draw(st.integers(2, 4)))
    case = oracle.Case(
        rows, k, k + draw(st.integers(0, 2)), symbols, draw(st.booleans()), "additive",
        fixed.get("published", draw(st.sampled_from(["frequent", "closed"]))),
        draw(st.sampled_from([None, None, 2])), draw(st.booleans()),
    )  # fmt: skip
    assume(len(case.sets) > 1)
    return case


def codes(release, ledger=None) -> set[str]:
    return {violation.code for violation in verify(release, ledger).violations}


def with_sets(case, sets):
    """A release of other counts, with all numbers of the manifest put right."""
    return oracle.release_of(case, sets)


def with_section(release, section, **changed):
    return replace(release, manifest={**release.manifest, section: {**release.manifest[section], **changed}})


def with_lines(release, lines):
    table = pa.table(
        {
            "pattern": pa.array([p for p, _ in lines], pa.list_(pa.string())),
            "support": pa.array([n for _, n in lines], pa.int64()),
        }
    )
    return with_section(replace(release, parts={"data": table}), "counts", patterns=len(lines))


def lines_of(release):
    return [(row["pattern"], row["support"]) for row in release.table.to_pylist()]


@SOME
@given(cases())
def test_what_is_built_by_the_book_holds(case):
    release, ledger = oracle.release_of(case), oracle.ledger_of(case)
    assert codes(release) == set()
    assert codes(release, ledger) == set()


@SOME
@given(cases(published="frequent"))
def test_counts_as_they_are_hold_only_where_nothing_follows(case):
    """One person short in one cell is enough."""
    release = with_sets(case, case.sets)
    safe = case.is_safe(case.sets)
    assert codes(release) == (set() if safe else {"channel"})


@SOME
@given(cases(published="frequent"), st.data())
def test_a_support_off_by_one_is_noticed(case, data):
    told = dict(case.told)
    one = data.draw(st.sampled_from(sorted(told, key=lambda s: (len(s), sorted(s)))))
    told[one] += data.draw(st.sampled_from([-1, 1]))
    release = with_section(with_sets(case, told), "counts", virtual=len(case.virtual))
    assert codes(release, oracle.ledger_of(case)) & {"wrong-support", "conservation"}
    expected = set() if case.is_possible(told) else {"unlike-any-data"}
    found = codes(release) - {"support", "min-support"}
    assert found >= expected
    if not expected:
        assert found == (set() if case.is_safe(told) else {"channel"})


@SOME
@given(cases(series=True, published="frequent"), st.data())
def test_somebody_without_a_symbol_is_noticed(case, data):
    """Counts that no series have: some virtual people have no symbol at one instant."""
    assume(case.is_structural)
    row = data.draw(st.sampled_from(sorted(case.rows, key=sorted)))
    gone = data.draw(st.sampled_from(sorted(row)))
    more = [row - {gone}] * data.draw(st.sampled_from([1, case.k]))
    told = {s: n + oracle.support(more, s) for s, n in case.told.items()}
    assert codes(with_sets(case, told)) >= (set() if case.is_possible(told) else {"unlike-any-data"})
    ledger = oracle.ledger_of(case)
    virtual = pa.table({"pattern": pa.array([sorted(map(oracle.name, more[0]))], pa.list_(pa.string())),
                        "copies": pa.array([len(more)], pa.int64())})  # fmt: skip
    both = pa.concat_tables([ledger.mappings["virtual"], virtual])
    release = with_section(with_sets(case, told), "counts", virtual=len(case.virtual) + len(more))
    assert "virtual" in codes(release, replace(ledger, mappings={"virtual": both}))


@FEW
@given(cases(), st.data())
def test_patterns_that_are_none_are_refused(case, data):
    release = oracle.release_of(case)
    lines = lines_of(release)
    pattern, n = lines[-1]
    assume(pattern)
    front = lines[:-1]
    assert "item" in codes(with_lines(release, [*front, ([*pattern, pattern[-1]], n)]))
    assert codes(with_lines(release, [*lines, lines[-1]])) == {"pattern-twice"}
    assert codes(with_lines(release, lines[::-1])) & {"row-order", "missing-part"}
    assert codes(with_lines(release, lines[1:])) == {"missing-part"}
    assert codes(with_lines(release, [*front, (pattern, -1)])) == {"support"}
    assert codes(with_lines(release, [*front, (pattern, 2**62)])) == {"support"}
    assert codes(with_lines(release, [*front, (pattern, None)])) == {"support"}
    assert codes(with_lines(release, [*front, ([*pattern[:-1], None], n)])) == {"item"}
    assert codes(with_lines(release, [*front, (None, n)])) == {"item"}
    if case.symbols is None:
        assert "item" in codes(with_lines(release, [*front, ([" ", *pattern], n)]))
    else:
        for wrong in ("t0", "t0=", "t9=a", f"t0={oracle.LETTERS[case.symbols]}", "t0=a=a", "=a"):
            assert "item" in codes(with_lines(release, [*front, ([wrong], n)]))
        assert "item" in codes(with_lines(release, [*lines, (["t0=a", "t0=b"], case.least)]))
    if len(pattern) > 1:
        assert codes(with_lines(release, [*front, (pattern[::-1], n)])) == {"item"}


@FEW
@given(cases(), st.data())
def test_the_manifest_and_the_table_say_the_same(case, data):
    release, ledger = oracle.release_of(case), oracle.ledger_of(case)
    assert codes(with_section(release, "counts", patterns=1)) >= {"row-count"}
    assert "counts" in codes(
        with_section(release, "counts", transactions=release.manifest["counts"]["transactions"] + 1)
    )
    more = with_section(release, "counts", virtual=release.manifest["counts"]["virtual"] + 1)
    assert "virtual" in codes(more, ledger)
    assert "guarantee" in codes(with_section(release, "parameters", k=case.k + 1))
    alone = replace(release.guarantee, counts_alone=not release.guarantee.counts_alone)
    other = replace(release, guarantee=alone, manifest={**release.manifest, "guarantee": alone.as_dict()})
    assert codes(other) == {"guarantee"}
    bold = replace(release, guarantee=NoInferenceChannel(case.least + 1))
    bold = replace(bold, manifest={**bold.manifest, "guarantee": bold.guarantee.as_dict()})
    assert "min-support" in codes(with_section(bold, "parameters", k=case.least + 1))
    assert "min-support" in codes(
        with_section(release, "parameters", min_support=1 + max(case.told.values()))
    )
    assert "min-support" in codes(with_section(release, "parameters", min_support=case.k - 1))
    assert "statements" in codes(
        with_section(
            release, "parameters", published="closed" if case.published == "frequent" else "frequent"
        )
    )
    other = with_section(release, "patterns", kind="baskets" if case.symbols else "series")
    assert "statements" in codes(other)
    if max(map(len, case.told)) > 1:
        assert "statements" in codes(with_section(release, "parameters", max_len=1))
    if case.virtual:
        assert "statements" in codes(with_section(release, "parameters", method="itemset"))


METHODS = ("additive", "tight", "clone", "suppressive", "itemset")


@pytest.mark.parametrize("method", METHODS)
def test_what_the_methods_make_holds(method):
    """The method and the judge share no code, and agree."""
    chance = random.Random(method)  # noqa: S311
    made = 0
    for _ in range(40):
        rows, symbols = draw_rows(chance, chance.random() < 0.6)
        how = {
            "k": 2, "min_support": chance.randint(2, 4), "method": method,
            "structural": chance.random() < 0.7, "published": chance.choice(["frequent", "closed"]),
            "max_len": chance.choice([None, None, 2]),
        }  # fmt: skip
        if symbols is None:
            table, roles = pa.table({"has": [sorted(row) for row in rows]}), tv.Roles(item="has")
        else:
            table = pa.table({t: [float(dict(row)[t] + n % 2 / 8) for n, row in enumerate(rows)]
                              for t in sorted({t for t, _ in rows[0]})})  # fmt: skip
            roles, how["symbols"] = tv.Roles(series=table.column_names), symbols
        try:
            release, ledger = tv.sanitize_patterns(table, roles, **how)
        except (tv.InputError, tv.InfeasibleError):
            continue
        made += 1
        assert verify(release, ledger).violations == ()
    assert made > 20


@SOME
@given(cases(), st.data())
def test_an_odd_manifest_of_patterns_gets_a_verdict(case, data):
    release, ledger = oracle.release_of(case), oracle.ledger_of(case)
    odd = replace(release, manifest=mutated(release.manifest, data))
    for private in (None, ledger):
        verdict = verify(odd, private)
        assert verdict or all(violation.message for violation in verdict.violations)
