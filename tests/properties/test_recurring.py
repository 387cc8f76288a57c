"""What holds for people who come back: one appearance, or one set of values, however the stream is run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.effort import some
from tests.oracles import recurring as oracle

import timeveil as tv
from timeveil.models.stream.parameters import StreamAdversary

ROLES = tv.Roles(time="day", respondent="who", quasi=["age"], sensitive=["value"])


@st.composite
def streams(draw: Any, people: int = 12, slots: int = 12, most: int = 10) -> tuple[pa.Table, dict[str, Any]]:
    """Records of a few people who come again and again; most of them keep their value."""
    l, window = draw(st.integers(2, 3)), draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(0, most), min_size=1, max_size=slots))
    days = [day for day, size in enumerate(sizes) for _ in range(size)]
    who = draw(st.lists(st.integers(0, people - 1), min_size=len(days), max_size=len(days)))
    usual = draw(st.lists(st.integers(0, 5), min_size=people, max_size=people))
    changed = draw(st.lists(st.integers(0, 40), min_size=len(days), max_size=len(days)))
    values = [f"v{usual[one] if other > 5 else other}" for one, other in zip(who, changed, strict=True)]
    assume(len(set(values)) >= l)
    options = {
        "allow_loss": True,
        "l": l,
        "window": window,
        "seed": draw(st.integers(0, 2**64)),
        "jitter": draw(st.sampled_from([0, 0, 2])),
        "filler": draw(st.sampled_from(["never", "always"])),
        "forget_after": draw(st.sampled_from([None, None, max(2 * window, 2)])),
        "recurring": draw(st.sampled_from(["withhold", "invariant"])),
    }
    ages = [(7 * place) % 31 for place in range(len(days))]
    return pa.table({"day": days, "who": who, "age": ages, "value": values}), options


@settings(max_examples=some(400))
@given(streams())
def test_the_promise_holds_and_nothing_is_lost(case: tuple[pa.Table, dict[str, Any]]) -> None:
    table, options = case
    release, ledger = tv.publish_stream(table, ROLES, **options)
    assert tv.verify(release)
    assert tv.verify(release, ledger), tv.verify(release, ledger).violations
    horizon, facts = options["forget_after"], ledger.facts
    assert facts["published"] + facts["withheld"] == len(table)
    if options["recurring"] == "invariant":
        assert oracle.faults(release, ledger, horizon) == []
    else:
        for visits in oracle.visits_of(ledger).values():
            slots = [bucket[0] for bucket, _ in visits]
            gaps = np.diff(slots)
            assert (gaps > horizon).all() if horizon else len(slots) == 1


@settings(max_examples=some(200))
@given(streams())
def test_pushed_restored_or_in_one_go(case: tuple[pa.Table, dict[str, Any]]) -> None:
    """A publisher that is stopped after every slot, and resumes from its state, publishes the same."""
    table, options = case
    release, ledger = tv.publish_stream(table, ROLES, **options)
    publisher, slots = tv.StreamPublisher(ROLES, **options), []
    for day in sorted(set(table["day"].to_pylist())):
        slots += publisher.push(table.filter(pa.array(np.asarray(table["day"]) == day)))
        state = publisher.state()
        publisher = tv.StreamPublisher.restore(state, ROLES, **options)
        assert publisher.state() == state
    slots += publisher.close()
    assert pa.concat_tables([slot.data for slot in slots]).equals(release.table)
    assert pa.concat_tables([slot.sensitive for slot in slots]).equals(release.tables["sensitive"])
    for name in ("published", "moved", "withheld", "returned", "repeats", "counterfeits"):
        assert publisher.facts[name] == ledger.facts[name]
    for slot in slots:
        assert tv.verify(slot.release)


@settings(max_examples=some(150), deadline=None)
@given(streams(people=6, slots=5, most=5))
def test_in_all_worlds_together_no_value_of_a_person_is_likelier(
    case: tuple[pa.Table, dict[str, Any]],
) -> None:
    """Exactly: each value of a person's signature is theirs in equally many of the worlds that fit."""
    table, options = case
    # People keep their first value: else no world of constant values need fit.
    first: dict[int, str] = {}
    for who, value in zip(table["who"].to_pylist(), table["value"].to_pylist(), strict=True):
        first.setdefault(who, value)
    values = pa.array([first[who] for who in table["who"].to_pylist()])
    assume(len(values.unique()) >= options["l"])
    table = table.set_column(3, "value", values)
    options = {**options, "recurring": "invariant", "forget_after": None}
    release, ledger = tv.publish_stream(table, ROLES, **options)
    visits = oracle.visits_of(ledger)
    listed = oracle.buckets_of(release)
    for person, worlds in oracle.chances(release, ledger).items():
        signature = listed[visits[person][0][0]]
        assert set(worlds) == signature
        assert len(set(worlds.values())) == 1
    breach = tv.attack(release, ledger, StreamAdversary("several-slots"))
    sizes = [len(listed[known[0][0]]) for known in visits.values() if len(known) > 1]
    assert breach.people == len(sizes)
    assert sorted(breach.after.chance) == pytest.approx(sorted(1 / size for size in sizes))


def test_without_the_promise_the_worlds_give_a_value_away() -> None:
    """The same oracle on what is published when nobody is followed."""
    table = pa.table(
        {"day": [0, 0, 1, 1], "who": [1, 2, 1, 3], "age": [1, 2, 3, 4], "value": ["a", "b", "a", "c"]}
    )
    pinned = oracle.chances(*tv.publish_stream(table, ROLES, l=2, window=1, seed=1))
    assert set(pinned[1]) == {"a"}
    safe = oracle.chances(*tv.publish_stream(table, ROLES, l=2, window=1, seed=1, recurring="invariant"))
    assert safe[1] == {"a": 1, "b": 1}
