"""What a stream release lost, and what other ways to publish would have lost."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import some
from tests.oracles import judges_stream as oracle

import timeveil as tv
from timeveil.datasets import daily_cases
from timeveil.errors import InputError
from timeveil.evidence.published import WindowCount
from timeveil.judging import answer, measure
from timeveil.models.stream.evidence import Evidence
from timeveil.models.stream.judges.measure import (
    StreamLoss,
    bucket_numbers,
    information_loss,
    merged,
    move_costs,
    suppress_only,
)
from timeveil.models.stream.judges.query import Publication, Window, relative_errors


def stream(slots=40, size=9, seed=0, ill=("flu", "flu", "tbc", "hiv", "nor", "mea", "sal")):
    """Small snapshots with a value that is often too frequent."""
    chance = np.random.default_rng(seed)
    return [
        {
            "person": f"p{step}-{n}",
            "step": step,
            "zip": str(chance.integers(3)),
            "sex": "fm"[chance.integers(2)],
            "ward": 1,
            "ill": ill[chance.integers(len(ill))],
        }
        for step in range(slots)
        for n in range(size)
    ]


@pytest.fixture
def pair():
    return oracle.build(oracle.Case(stream(), l=3, window=4))


def snapshots(*slots: str) -> tuple[np.ndarray, np.ndarray]:
    """Slots as words whose letters are values."""
    value = np.array([ord(letter) - 97 for slot in slots for letter in slot], np.int64)
    slot = np.repeat(np.arange(len(slots)), [len(word) for word in slots])
    return slot, value


def test_numbers_of_a_stream_by_hand():
    """Of two flu records too many one goes to day 1, costs 1, and one is withheld, costs mu(2) = 2."""
    ill = [(0, "flu"), (0, "flu"), (0, "flu"), (0, "tbc"), (1, "hiv"), (2, "tbc"), (2, "hiv")]
    rows = [
        {"person": str(n), "step": s, "zip": "1", "sex": "f", "ward": 1, "ill": v}
        for n, (s, v) in enumerate(ill)
    ]
    loss = measure(*oracle.build(oracle.Case(rows, l=2, window=2)))
    assert (loss.rows, loss.suppressed, loss.moved) == (6, 1, 1)
    assert (loss.mean_distance, loss.largest_distance, loss.information_loss) == (1.0, 1, 3.0)
    assert (loss.slots, loss.slots_not_eligible, loss.suppress_only) == (3, 2, 3)
    assert loss.largest_share == 3 / 7
    assert (loss.suppressed_share, loss.moved_share) == (1 / 7, 1 / 7)


def test_moving_beats_both_alternatives_on_longer_windows(pair):
    """The measured shape: worse than suppressing alone on single slots, better on long windows."""
    loss = measure(*pair)
    single, _, long = loss.window_errors
    assert [error.length for error in loss.window_errors] == [1, 5, 20]
    assert loss.suppressed < loss.suppress_only
    assert long.release < long.suppress_only
    assert single.release < single.merge


@pytest.mark.parametrize("buckets", ["anatomy", "none"])
def test_suppressing_alone_is_what_a_window_of_one_slot_gives(buckets):
    """Errors of the alternative that is worked out here against those of the method itself."""
    table = pa.Table.from_pylist(stream(slots=150, size=14))
    roles = tv.Roles(time="step", quasi=["zip", "sex"], sensitive=["ill"], drop="rest")
    moving, still = (
        measure(*tv.publish_stream(table, roles, l=3, window=window, seed=1, buckets=buckets), windows=3000)
        for window in (4, 1)
    )
    assert moving.suppress_only == still.suppressed == still.suppress_only
    for ours, theirs in zip(moving.window_errors, still.window_errors, strict=True):
        assert ours.suppress_only == pytest.approx(theirs.release, rel=0.12)


def test_somebody_who_comes_twice_stands_once_in_a_slot():
    rows = [{"step": 0, "who": who, "ill": ill} for who, ill in zip("aabcd", "xyxzw", strict=True)]
    roles = tv.Roles(time="step", respondent="who", sensitive=["ill"])
    loss = measure(*tv.publish_stream(pa.Table.from_pylist(rows), roles, l=2, window=1, seed=1))
    assert loss.suppressed == loss.suppress_only == 1


@given(st.lists(st.lists(st.integers(0, 5), max_size=20), max_size=6), st.integers(2, 4), st.integers(0, 9))
@settings(max_examples=some(200))
def test_buckets_of_the_alternatives_are_l_diverse(slots, promise, seed):
    slot = np.repeat(np.arange(len(slots)), [len(values) for values in slots]).astype(np.int64)
    value, rng = np.array([v for values in slots for v in values], np.int64), np.random.default_rng(seed)
    kept = suppress_only(slot, value, promise, rng)
    slot, value = slot[kept], value[kept]
    bucket = bucket_numbers(slot, value, promise, rng)
    for number in set(bucket.tolist()):
        inside = value[bucket == number].tolist()
        assert len(inside) == len(set(inside)) >= promise
        assert len(set(slot[bucket == number].tolist())) == 1
    assert len(set(bucket.tolist())) == sum(
        np.count_nonzero(slot == s) // promise for s in set(slot.tolist())
    )


def test_the_same_seed_gives_the_same_numbers_and_they_are_json(pair):
    assert measure(*pair, windows=50, seed=3) == measure(*pair, windows=50, seed=3)
    assert measure(*pair, windows=50, seed=3) != measure(*pair, windows=50, seed=4)
    told = json.loads(json.dumps(measure(*pair, windows=50).as_dict(), allow_nan=False))
    assert told["window_errors"][1]["length"] == 5
    assert told["moved_share"] == pytest.approx(told["moved"] / (told["rows"] + told["suppressed"]))


def test_where_no_merge_helps_there_is_none():
    loss = measure(*oracle.build(oracle.Case(stream(ill=("flu", "flu", "tbc")), l=3)))
    assert loss.merge_width == 0
    assert loss.window_errors[0].merge is None
    assert loss.largest_share > 1 / 3


def test_an_empty_release_has_no_loss():
    loss = measure(*oracle.build(oracle.Case([])))
    assert isinstance(loss, StreamLoss)
    assert (loss.rows, loss.slots, loss.information_loss, loss.window_errors[0].windows) == (0, 0, 0.0, 0)


def test_incomplete_rows_are_suppressed_and_cost_nothing(pair):
    rows = [*stream(), {**stream()[0], "step": None}, {**stream()[0], "ill": None}]
    more = measure(*oracle.build(oracle.Case(rows, l=3, window=4)))
    less = measure(*pair)
    assert more.suppressed == less.suppressed + 2
    assert more.information_loss == less.information_loss


def test_costs_are_those_of_the_manifest_and_the_ledger(pair):
    release, ledger = pair
    journeys = Evidence(release, ledger).linked
    moves = Counter(journeys.distance[journeys.published].tolist())
    withheld = Counter(
        value
        for value, slot in zip(
            ledger.original.table["ill"].to_pylist(), ledger.table["slot"].to_pylist(), strict=True
        )
        if slot is None
    )

    def loss(move_cost, **facts):
        parameters = {**release.manifest["parameters"], "move_cost": move_cost}
        changed = replace(release, manifest={**release.manifest, "parameters": parameters})
        return information_loss(Evidence(changed, replace(ledger, facts=facts)))

    away = sum(withheld.values())
    assert away
    assert loss("quadratic") == sum(d * d * n for d, n in moves.items()) + 16 * away
    assert loss([0, 2, 4, 6, 9]) == sum([0, 2, 4, 6][d] * n for d, n in moves.items()) + 9 * away
    straight = sum(d * n for d, n in moves.items())
    assert loss("linear", withhold_cost=10) == straight + 10 * away
    named = sum({"flu": 7}.get(value, 4) * n for value, n in withheld.items())
    assert loss("linear", withhold_cost={"flu": 7}) == straight + named


@pytest.mark.parametrize("withhold_cost", [None, 0, 2.5, {"flu": 9}, {"flu": 0.5, "tbc": 11}])
@pytest.mark.parametrize("jitter", [0, 3])
def test_the_loss_is_the_one_that_the_method_counted(tmp_path, withhold_cost, jitter):
    table = pa.Table.from_pylist(stream())
    roles = tv.Roles(time="step", quasi=["zip"], sensitive=["ill"], drop="rest")
    rule = lambda distance: distance**2 + distance  # noqa: E731
    for move_cost in ("linear", rule):
        release, ledger = tv.publish_stream(
            table,
            roles,
            l=3,
            window=3,
            seed=1,
            jitter=jitter,
            move_cost=move_cost,
            withhold_cost=withhold_cost,
        )
        assert ledger.facts["withheld"]
        found = measure(release, ledger, windows=5).information_loss
        assert found == pytest.approx(ledger.facts["information_loss"])
    tv.write(ledger, tmp_path / "ledger")
    opened = tv.open_ledger(tmp_path / "ledger")
    assert measure(release, opened, windows=5).information_loss == found


def test_a_ledger_of_another_release_is_refused(pair):
    release, ledger = pair
    for wrong in (
        replace(ledger, model="time"),
        replace(ledger, entries=ledger.table.slice(1)),
        replace(ledger, entries=ledger.table.drop(["origin"])),
        oracle.build(oracle.Case(stream(seed=5), l=4, window=1))[1],
        replace(
            ledger,
            original=replace(ledger.original, roles=replace(oracle.ROLES, sensitive=["ward"], keep=["ill"])),
        ),
    ):
        with pytest.raises(InputError) as caught:
            measure(release, wrong)
        assert caught.value.code == "ledger-mismatch"


def test_a_ledger_that_goes_back_is_refused(pair):
    release, ledger = pair
    rows = stream()
    later = [{**row, "step": row["step"] + 9} for row in rows]
    other = replace(ledger, original=oracle.relation(oracle.Case(later)))
    with pytest.raises(InputError, match="before its slot"):
        measure(release, other)


@settings(max_examples=some(100), deadline=None)
@given(st.lists(st.text("abcd", max_size=8), min_size=1, max_size=5), st.integers(2, 4))
def test_suppressing_alone_keeps_the_most_that_is_eligible(slots, promise):
    slot, value = snapshots(*slots)
    kept = suppress_only(slot, value, promise, np.random.default_rng(1))
    for place, word in enumerate(slots):
        level = oracle.level(Counter(word), promise)
        left = Counter(value[(slot == place) & kept].tolist())
        assert left == Counter({ord(v) - 97: min(c, level) for v, c in Counter(word).items() if level})


@pytest.mark.parametrize(
    ("slots", "spans"),
    [
        (("ab", "cd"), [(0, 1), (1, 2)]),
        (("aa", "bc", "ab"), [(0, 2), (2, 3)]),
        (("ab", "aab"), [(0, 1), (1, 2)][:0]),
        (("abc", "aab"), [(0, 2)]),
        (("ab", "", "cd"), [(0, 1), (1, 2), (2, 3)]),
        (("aa",), []),
        ((), []),
    ],
)
def test_merges_are_as_short_as_they_can_be(slots, spans):
    begins, ends = merged(*snapshots(*slots), 2)
    assert list(zip(begins.tolist(), ends.tolist(), strict=True)) == spans


def test_windows_are_estimated_as_answer_would(pair):
    """The workload's arithmetic over sorted rows is that of one question at a time."""
    release, ledger = pair
    evidence = Evidence(release, ledger)
    journeys = evidence.linked
    there = journeys.published
    first = int(journeys.slot[there].min())
    place = journeys.slot[there] - first
    zips = ledger.original.table["zip"].dictionary_encode().combine_chunks()
    group = place * 1000 + journeys.bucket[there]
    quasi = (zips.indices.to_numpy()[there],)
    ours = Publication(place, place + 1, group, journeys.value.codes[there], quasi)
    chance = np.random.default_rng(2)
    for _ in range(30):
        begin, value, column, quasi = (int(n) for n in chance.integers((0, -1, -1, 0), (30, 4, 1, 3)))
        labels = evidence.line.labels([first + begin, first + begin + 3])
        where = {}
        if value >= 0:
            where["ill"] = journeys.value.values[value].as_py()
        if column == 0:
            where["zip"] = zips.dictionary[quasi].as_py()
        query = WindowCount(between=tuple(labels.to_pylist()), where=where)
        guess = ours.count(Window(begin, begin + 3, value, column, quasi))
        assert guess == pytest.approx(answer(release, query).value)


def test_small_counts_are_judged_by_the_sanity_bound():
    """One record where there is none is an error of 1, not of infinity."""
    nothing = np.zeros(0, np.int64)
    one = np.array([0])
    empty, single = Publication(*[nothing] * 4, ()), Publication(one, one + 1, one - 1, one, ())
    assert relative_errors(empty, single, [Window(0, 1)], 1).tolist() == [1.0]


def test_shares_by_group_are_those_of_a_slow_count() -> None:
    cases = daily_cases(days=40, seed=3)
    roles = tv.Roles(time="day", quasi=["district", "sex"], sensitive=["diagnosis"], drop="rest")
    release, ledger = tv.publish_stream(cases, roles, l=3, window=3, seed=1)
    loss = tv.measure(release, ledger)
    rows = list(zip(ledger.table.to_pylist(), cases.to_pylist(), strict=True))
    assert [part.column for part in loss.by_group] == ["district", "sex", "diagnosis"]
    for part in loss.by_group:
        withheld, moved = [], []
        for value in {row[part.column] for _, row in rows}:
            fates = [(entry["slot"], entry["origin"]) for entry, row in rows if row[part.column] == value]
            if len(fates) >= 20:
                withheld.append(sum(slot is None for slot, _ in fates) / len(fates))
                moved.append(sum(slot not in (None, origin) for slot, origin in fates) / len(fates))
        assert part.groups == len(withheld)
        assert part.suppressed == pytest.approx((min(withheld), max(withheld)))
        assert part.moved == pytest.approx((min(moved), max(moved)))
    assert loss.by_group[-1].suppressed[1] > 0


def test_a_cost_that_is_listed_continues_with_its_last_step():
    assert move_costs("quadratic", 3).tolist() == [0.0, 1.0, 4.0, 9.0]
    assert move_costs([0, 1, 3], 4).tolist() == [0.0, 1.0, 3.0, 5.0, 7.0]
