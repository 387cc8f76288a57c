"""The state of a stream: whole, private, and only for the parameters it was made with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import timeveil as tv

ROLES = tv.Roles(time="day", respondent="who", quasi=["age"], sensitive=["value"], keep=["note"])
BASE: dict[str, Any] = {"l": 2, "window": 3}


def snapshot(day: int, rng: np.random.Generator, rows: int = 12) -> pa.Table:
    return pa.table(
        {
            "day": np.full(rows, day),
            "who": rng.integers(0, 60, rows),
            "age": pa.array(rng.integers(0, 90, rows)).cast(pa.float32()),
            "value": [f"v{min(int(x), 5)}" for x in rng.exponential(1.2, rows)],
            "note": pa.array([None if x else b"x".decode() for x in rng.integers(0, 2, rows)], pa.string()),
        }
    )


def begun(**options: Any) -> tv.StreamPublisher:
    publisher = tv.StreamPublisher(ROLES, **{**BASE, "seed": 5, **options})
    rng = np.random.default_rng(1)
    for day in range(6):
        publisher.push(snapshot(day, rng))
    return publisher


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"jitter": 2},
        {"filler": "always", "move_cost": "quadratic"},
        {"first_window": "exact", "window": 9},
        {"late": "move", "buckets": "none"},
        {"withhold_cost": {"v0": 3, "v1": 0.25}},
        {"move_cost": lambda d: d**2 + d},
        {"recurring": "invariant", "jitter": 2, "forget_after": 6},
        {"recurring": "invariant", "late": "move", "first_window": "exact"},
        {"recurring": "withhold", "first_window": "exact", "window": 9, "buckets": "none"},
        {"groups": "generalize", "hierarchies": {"age": "intervals:10,50"}, "k": 4},
        {"l": 3, "protect_slot": 2, "window": 6, "fillers": 2, "spread": 3},
    ],
    ids="-".join,
)
def test_a_restored_publisher_goes_on_as_if_nothing_had_happened(options: dict[str, Any]) -> None:
    publisher = begun(**options)
    other = tv.StreamPublisher.restore(publisher.state(), ROLES, **{**BASE, **options})
    assert other.facts == publisher.facts
    assert other.state() == publisher.state()
    rng = np.random.default_rng(2)
    more = [snapshot(day, rng) for day in range(6, 12)]
    outs = [[slot for day in more for slot in one.push(day)] + one.close() for one in (publisher, other)]
    for ours, theirs in zip(*outs, strict=True):
        assert ours.data.equals(theirs.data)
        assert ours.sensitive is None or ours.sensitive.equals(theirs.sensitive)
    assert other.facts == publisher.facts


def test_a_state_remembers_records_that_wait_because_they_were_late() -> None:
    roles = tv.Roles(time="day", sensitive=["value"])
    publisher = tv.StreamPublisher(roles, l=2, window=1, late="move", seed=1)
    publisher.push(pa.table({"day": [4, 4], "value": ["a", "b"]}))
    publisher.push(pa.table({"day": [3, 2], "value": ["c", "d"]}))
    other = tv.StreamPublisher.restore(publisher.state(), roles, l=2, window=1, late="move")
    assert [slot.data.num_rows for slot in other.close()] == [2]
    assert other.facts["information_loss"] == 2 + 3


def test_a_state_of_a_stream_that_has_not_begun_or_is_closed() -> None:
    fresh = tv.StreamPublisher(ROLES, **BASE)
    assert tv.StreamPublisher.restore(fresh.state(), ROLES, **BASE).facts == fresh.facts
    fresh.close()
    with pytest.raises(tv.ParameterError):
        tv.StreamPublisher.restore(fresh.state(), ROLES, **BASE).close()


@pytest.mark.parametrize(
    ("other", "differ"),
    [
        ({"l": 3}, ["l"]),
        ({"window": 4, "filler": "always"}, ["window", "move_cost", "filler", "withhold_cost"]),
        ({"jitter": 1}, ["move_cost", "jitter"]),
        ({"slot": "week"}, ["slot"]),
        ({"withhold_cost": {"v1": 2}}, ["withhold_cost"]),
        ({"move_cost": "quadratic"}, ["move_cost", "withhold_cost"]),
        ({"buckets": "none"}, ["buckets"]),
        ({"zone": "Europe/Rome"}, ["zone"]),
        ({"unit": "day"}, ["unit"]),
        ({"seed": 6}, ["seed"]),
    ],
    ids="-".join,
)
def test_other_parameters_are_refused_by_name(other: dict[str, Any], differ: list[str]) -> None:
    state = begun().state()
    with pytest.raises(tv.ParameterError) as caught:
        tv.StreamPublisher.restore(state, ROLES, **{**BASE, **other})
    assert caught.value.code == "state-mismatch"
    assert sorted(caught.value.facts["differ"]) == sorted(differ)
    assert all(name in caught.value.message for name in differ)


def test_other_roles_are_refused() -> None:
    roles = tv.Roles(time="day", respondent="who", quasi=["age", "note"], sensitive=["value"])
    with pytest.raises(tv.ParameterError, match="roles"):
        tv.StreamPublisher.restore(begun().state(), roles, **BASE)


@pytest.mark.parametrize("place", [0, 10, 30, 60, 100, 2000, -1])
def test_a_damaged_state_is_refused(place: int) -> None:
    state = bytearray(begun().state())
    state[place] ^= 1
    with pytest.raises(tv.BundleError) as caught:
        tv.StreamPublisher.restore(bytes(state), ROLES, **BASE)
    assert caught.value.code == "state-damaged"
    assert "begin a new stream after the last slot" in caught.value.hint


@pytest.mark.parametrize("state", [b"", b"timeveil stream state 1\n", b"SQLite format 3", None])
def test_what_is_no_state_is_refused(state: Any) -> None:
    with pytest.raises(tv.BundleError):
        tv.StreamPublisher.restore(state, ROLES, **BASE)


def test_a_cut_state_is_refused() -> None:
    state = begun().state()
    for length in (len(state) - 1, len(state) // 2, 40):
        with pytest.raises(tv.BundleError):
            tv.StreamPublisher.restore(state[:length], ROLES, **BASE)


def test_memory_does_not_grow_with_the_stream() -> None:
    """After thousands of slots the state is no larger than after a few windows."""
    roles = tv.Roles(time="day", quasi=["age"], sensitive=["value"])
    publisher = tv.StreamPublisher(roles, l=3, window=4, seed=1)
    rng = np.random.default_rng(0)
    sizes, published, rows = [], 0, 0
    for part in range(30):
        count = int(rng.integers(700, 900))
        table = pa.table(
            {
                "day": np.sort(rng.integers(part * 100, part * 100 + 100, count)),
                "age": rng.integers(0, 99, count),
                "value": np.minimum(rng.exponential(2.0, count), 9).astype(np.int64),
            }
        )
        rows += count
        published += sum(slot.data.num_rows for slot in publisher.push(table))
        sizes.append(len(publisher.state()))
    assert publisher.facts["slots_published"] > 2900
    assert max(sizes[15:]) < 1.5 * max(sizes[:5])
    assert published > 0.8 * rows
