"""The worked examples of the pattern model, and where the printed algorithm goes wrong."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import patterns as slow
from tests.oracles.patterns import Row, Supports

import timeveil as tv
from timeveil.models.patterns.method import mine

A = ("ab", "abcd", "ad", "ad", "bcd")
B = ("ab", "abc", "ac", "bc")
C = ("a", "ab", "ab", "b")
BEFORE = {"": 5, "a": 4, "b": 3, "c": 2, "d": 4, "ab": 2, "ad": 3, "bc": 2, "bd": 2, "cd": 2, "bcd": 2}


def published(
    rows: Sequence[str], method: str = "additive", **more: object
) -> tuple[dict[str, int], tv.Ledger]:
    table = pa.table({"has": [list(row) for row in rows]})
    release, ledger = tv.sanitize_patterns(
        table, tv.Roles(item="has"), k=2, min_support=2, method=method, **more, allow_loss=True
    )
    return as_dict(release.table), ledger


def as_dict(table: pa.Table) -> dict[str, int]:
    return {"".join(row["pattern"]): row["support"] for row in table.to_pylist()}


def added(ledger: tv.Ledger) -> dict[str, int]:
    return {"".join(row["pattern"]): row["copies"] for row in ledger.mappings["virtual"].to_pylist()}


def numbered(rows: Sequence[str]) -> list[Row]:
    return [frozenset("abcdefgh".index(item) for item in row) for row in rows]


def group(counts: dict[str, int], present: str, whole: str) -> int:
    supports = {frozenset("abcdefgh".index(x) for x in name): n for name, n in counts.items()}
    some, all_of = (frozenset("abcdefgh".index(x) for x in name) for name in (present, whole))
    return slow.cell(supports, some, all_of, lambda item: item)


def test_a_mined() -> None:
    table = pa.table({"has": [list(row) for row in A]})
    kinds = {
        kind: as_dict(mine(table, tv.Roles(item="has"), min_support=2, kind=kind))
        for kind in ("frequent", "closed", "maximal")
    }
    assert kinds["frequent"] == BEFORE
    assert set(kinds["closed"]) == {"", "a", "b", "d", "ab", "ad", "bcd"}
    assert set(kinds["maximal"]) == {"ab", "ad", "bcd"}


def test_a_channels_merged_and_raised() -> None:
    counts, ledger = published(A)
    found = ledger.mappings["channels"].to_pylist()
    assert {("".join(c["present"]), "".join(c["absent"]), c["people"]) for c in found} == {
        ("b", "a", 1),
        ("a", "d", 1),
        ("d", "a", 1),
        ("b", "cd", 1),
    }
    assert added(ledger) == {"ab": 2, "bd": 2}
    after = {"": 9, "a": 6, "b": 7, "c": 2, "d": 6, "ab": 4, "ad": 3, "bc": 2, "bd": 4, "cd": 2, "bcd": 2}
    assert counts == after
    errors = [Fraction(after[x] - BEFORE[x], BEFORE[x]) for x in BEFORE if x]
    assert sum(error > 0 for error in errors) == ledger.facts["changed"] == 5
    assert sum(errors) / 10 == Fraction(13, 30)
    assert ledger.facts["mean_error"] == pytest.approx(13 / 30)
    assert max(errors) == Fraction(4, 3)
    assert ledger.facts["lost"] == 0


def test_a_by_the_other_methods() -> None:
    assert added(published(A, "tight")[1]) == {"ab": 1, "bd": 2}
    assert added(published(A, "clone")[1]) == {"bcd": 1, "ab": 1}
    assert published(A, "suppressive")[0] == {"": 3, "a": 3, "d": 3, "ad": 3}


def test_a_closed_sets_tell_the_rest() -> None:
    whole, closed = published(A)[0], published(A, published="closed")[0]
    assert len(closed) < len(whole)
    for name, count in whole.items():
        assert count == max(n for other, n in closed.items() if set(name) <= set(other))


def test_a_as_printed_is_no_table_at_all() -> None:
    """Algorithm 4 updates the closed sets only: bd is not closed and stays 2."""
    counts, _ = published(A)
    printed = {**counts, "bd": 2, "bc": 2, "cd": 2, "c": 2}
    assert group(printed, "", "bd") == 9 - 7 - 6 + 2 == -2
    assert group(counts, "", "bd") == 0


def test_table_1_has_a_group_of_two() -> None:
    """The groups as printed, row by row, with a pattern of six letters for five years."""
    rows = [(1, "aabbcc"), (1, "aabbcc"), (1, "ccbbaa"), (2, "abbbcc"), (1, "ccbbaa"), (2, "abbbcc")]
    sizes = Counter(group for group, _ in rows)
    assert sizes == {1: 4, 2: 2}
    assert {len(pattern) for _, pattern in rows} == {6}


def test_the_exponent_of_value_loss() -> None:
    """Six equal widths of 8 lose 8; with the exponent 2/n inside the sum they would lose 3.46."""
    years = [str(year) for year in range(6)]
    table = pa.table({"id": [0, 1], **{year: [0.0, 8.0] for year in years}})
    release, ledger = tv.anonymize_series(table, tv.Roles(respondent="id", series=years), k=2, p=2)
    assert tv.measure(release, ledger).value_loss == 8.0
    assert math.sqrt(6 * 8.0 ** (2 / 6)) == pytest.approx(3.46, abs=0.01)


def test_b_adding_what_is_missing_opens_another() -> None:
    """k - f copies for each channel: one each of a, b and c; two each is safe."""
    counts = as_dict(mine(pa.table({"has": [list(row) for row in B]}), tv.Roles(item="has"), min_support=2))
    once = {name: count + (1 if len(name) == 1 else 3 if not name else 0) for name, count in counts.items()}
    twice = {name: count + (2 if len(name) == 1 else 6 if not name else 0) for name, count in counts.items()}
    assert group(once, "", "ab") == 1
    assert threats(twice) == []
    assert threats(published(B)[0]) == []


def test_c_merging_because_the_union_is_frequent() -> None:
    """(a;ab) and (b;ab) contradict each other, though ab is frequent: merged, they leave one of them."""
    rows = numbered(C)
    channels = slow.channels(slow.mined(rows, 2), slow.mined(rows, 2), 2, lambda item: item)
    assert {(tuple(p), tuple(w)) for p, w, _ in channels} >= {((0,), (0, 1)), ((1,), (0, 1))}
    merged = {"": 4 + 2, "a": 3 + 2, "b": 3 + 2, "ab": 2 + 2}
    assert group(merged, "a", "ab") == 1
    counts, ledger = published(C)
    assert added(ledger) == {"a": 2, "b": 2}
    assert threats(counts) == []


def test_d_what_excludes_each_other_adds_up() -> None:
    """One instant, symbols 5, 4 and 1 times: 10 - 5 - 4 = 1 has none of the frequent ones but the third."""
    rows = slow.transactions([{0}] * 5 + [{1}] * 4 + [{2}], 3, 3)
    from tests.properties.test_patterns import sanitized, settings

    plain = sanitized(rows, settings(2, 3, "additive", structural=False), 3)
    known = sanitized(rows, settings(2, 3, "additive"), 3)
    assert len(plain.channels) == 0
    assert slow.sets_of(*known.channels.present) == slow.sets_of(*known.virtual.sets) == [frozenset({2})]
    assert known.channels.size.tolist() == [1]
    assert known.after.support[0] - known.after.support[1:].sum() == 3


def threats(counts: dict[str, int]) -> list[tuple[Row, Row, int]]:
    supports = {frozenset("abcdefgh".index(x) for x in name): n for name, n in counts.items()}
    return slow.channels(supports, supports, 2, lambda item: item)


def raised(supports: Supports, mergers: Sequence[Row], k: int) -> Supports:
    return {x: n + k * sum(x <= row for row in mergers) for x, n in supports.items()}


def wrong_ways(rows: list[Row], k: int, least: int) -> dict[str, Supports]:
    """The rules that were tried in place of those that hold."""
    supports = slow.mined(rows, least)
    threats = slow.channels(supports, supports, k, lambda item: item)
    found = sorted(slow.undominated(threats), key=lambda c: (-len(c[0]), sorted(c[0]), sorted(c[1])))
    sizes = {
        (present, absent): slow.cell(supports, present, present | absent, lambda item: item)
        for present, absent in found
    }
    if not found:
        return {}
    fits = merged(found, lambda one, two: not one[0] & two[1] and not two[0] & one[1])
    loose = merged(found, lambda one, two: one[0] | two[0] in supports)
    right = raised(supports, fits, k)
    closed = slow.closed(supports)
    return {
        "right": right,
        "merge if the union is frequent": raised(supports, loose, k),
        "once for each itemset": {x: n + k * any(x <= row for row in fits) for x, n in supports.items()},
        "closed sets only": {x: max(right[y] for y in closed if x <= y) for x in supports},
        "the empty set as it was": {**right, frozenset(): len(rows)},
        "k - f for each channel": {
            x: n + sum(k - sizes[c] for c in found if x <= c[0]) for x, n in supports.items()
        },
    }


def merged(found: list[tuple[Row, Row]], agree: object) -> list[Row]:
    made: list[tuple[Row, Row]] = []
    for channel in found:
        for place, other in enumerate(made):
            if agree(channel, other):  # type: ignore[operator]
                made[place] = channel[0] | other[0], channel[1] | other[1]
                break
        else:
            made.append(channel)
    return [present for present, _ in made]


def test_every_other_rule_fails_somewhere_and_ours_nowhere() -> None:
    failed: dict[str, int] = {}
    judged = 0
    for seed in range(400):
        draw = np.random.default_rng(seed)
        rows = [frozenset(np.flatnonzero(draw.random(5) < 0.6).tolist()) for _ in range(draw.integers(5, 20))]
        k = int(draw.integers(2, 4))
        ways = wrong_ways(rows, k, k + int(draw.integers(0, 3)))
        judged += bool(ways)
        for name, supports in ways.items():
            bad = bool(slow.channels(supports, supports, k, lambda item: item))
            failed[name] = failed.get(name, 0) + bad
    assert judged > 200
    assert failed.pop("right") == 0
    assert failed["closed sets only"] > 0
    assert min(failed["k - f for each channel"], failed["merge if the union is frequent"]) > judged / 20
    assert min(failed["once for each itemset"], failed["the empty set as it was"]) > judged / 3
