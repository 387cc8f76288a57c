"""What holds for every stream: the promise, the window, the order, and one result however it is run."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.effort import some
from tests.oracles import stream as oracle

import timeveil as tv
from timeveil.models.stream.method.reposition import Window, least_suppression, reposition

FACTS = ("published", "moved", "withheld", "duplicates", "mean_distance", "information_loss")


@st.composite
def streams(draw: Any, people: bool = True) -> tuple[pa.Table, tv.Roles, dict[str, Any]]:
    """A table of records in order of time, its roles, and parameters to publish it with."""
    l = draw(st.integers(2, 4))
    slots = draw(st.lists(st.lists(st.integers(0, 6), max_size=14), min_size=1, max_size=14))
    first = draw(st.integers(-3, 3))
    rows = [(first + slot, value) for slot, values in enumerate(slots) for value in values]
    assume(len({value for _, value in rows}) >= l)
    who = draw(st.lists(st.integers(0, 15), min_size=len(rows), max_size=len(rows)))
    table = pa.table(
        {
            "day": [day for day, _ in rows],
            "who": who,
            "age": [(7 * place) % 31 for place in range(len(rows))],
            "value": [f"v{value}" for _, value in rows],
        }
    )
    known = people and draw(st.booleans())
    roles = tv.Roles(
        time="day", respondent="who" if known else None, quasi=["age"], sensitive=["value"], drop="rest"
    )
    options = {
        "allow_loss": True,
        "l": l,
        "window": draw(st.integers(1, 6)),
        "seed": draw(st.integers(0, 2**128 - 1)),
        "move_cost": draw(st.sampled_from(["linear", "quadratic", [0, 1, 2, 4, 6, 9, 12]])),
        "withhold_cost": draw(st.sampled_from([None, 1.5, 40, {"v0": 2, "v1": 0.5}])),
        "filler": draw(st.sampled_from(["never", "last_chance", "always"])),
        "jitter": draw(st.sampled_from([0, 0, 1, 3])),
        "buckets": draw(st.sampled_from(["anatomy", "none"])),
        "fill_empty": draw(st.booleans()),
    }
    if draw(st.integers(0, 2)) == 0:
        ages = draw(st.sampled_from(["intervals:5,10", "intervals:3:4..20", "suppression"]))
        hierarchies = draw(st.sampled_from([None, {"age": ages}]))
        k = draw(st.sampled_from([None, l, l + 3]))
        options |= {"groups": "generalize", "buckets": "anatomy", "hierarchies": hierarchies, "k": k}
    return table, roles, options


def pushed(table: pa.Table, roles: tv.Roles, options: dict[str, Any], cuts: list[int]) -> Any:
    """The slots and facts of a publisher that is given the days up to each cut in one push."""
    publisher = tv.StreamPublisher(roles, **options)
    days = np.asarray(table["day"])
    out = []
    for low, high in zip([None, *cuts], [*cuts, None], strict=True):
        part = (days >= (low if low is not None else days.min())) & (
            days < (high if high is not None else 999)
        )
        out += publisher.push(table.filter(pa.array(part)))
    return out + publisher.close(), publisher.facts


@settings(max_examples=some(120))
@given(streams())
def test_pushed_one_by_one_or_in_one_go(case: tuple[pa.Table, tv.Roles, dict[str, Any]]) -> None:
    """The tables, the span of slots and the private facts are the same."""
    table, roles, options = case
    days = sorted(set(table["day"].to_pylist()))
    slots, facts = pushed(table, roles, options, days[1:])
    release, ledger = tv.publish_stream(table, roles, **options)
    assert pa.concat_tables([slot.data for slot in slots]).equals(release.table)
    if options["buckets"] == "anatomy" and "groups" not in options:
        assert pa.concat_tables([slot.sensitive for slot in slots]).equals(release.tables["sensitive"])
    counts = release.manifest["counts"]
    assert [slot.index for slot in slots] == list(range(counts["first_slot"], counts["last_slot"] + 1))
    assert {name: facts[name] for name in FACTS} == {name: ledger.facts[name] for name in FACTS}


@settings(max_examples=some(60))
@given(streams(), st.lists(st.integers(-2, 16), max_size=4, unique=True))
def test_how_records_are_batched_does_not_matter(
    case: tuple[pa.Table, tv.Roles, dict[str, Any]], cuts: list[int]
) -> None:
    table, roles, options = case
    days = sorted(set(table["day"].to_pylist()))
    one_by_one, facts = pushed(table, roles, options, days[1:])
    inside = [cut for cut in sorted(cuts) if days[0] < cut]
    batched, batched_facts = pushed(table, roles, options, inside)
    assert all(a.data.equals(b.data) for a, b in zip(one_by_one, batched, strict=True))
    assert facts == batched_facts


@settings(max_examples=some(150))
@given(streams())
def test_the_promise_is_kept(case: tuple[pa.Table, tv.Roles, dict[str, Any]]) -> None:
    """An independent judge agrees, with the ledger and without."""
    table, roles, options = case
    release, ledger = tv.publish_stream(table, roles, **options)
    assert tv.verify(release)
    verdict = tv.verify(release, ledger)
    assert verdict, verdict.violations


@settings(max_examples=some(100))
@given(streams())
def test_every_record_is_withheld_or_published_once_forward_and_in_reach(
    case: tuple[pa.Table, tv.Roles, dict[str, Any]],
) -> None:
    table, roles, options = case
    release, ledger = tv.publish_stream(table, roles, **options)
    origin, slot = (ledger.table[name].to_pylist() for name in ("origin", "slot"))
    assert origin == table["day"].to_pylist()
    reach = options["window"] - 1 + options["jitter"]
    assert all(s is None or 0 <= s - o <= reach for s, o in zip(slot, origin, strict=True))
    there = [place for place, s in enumerate(slot) if s is not None]
    ages = [table["age"][place].as_py() for place in there]
    if "groups" not in options:
        assert Counter(ages) == Counter(release.table["age"].to_pylist())
    by_slot: dict[int, Counter[str]] = {}
    for place in there:
        by_slot.setdefault(slot[place], Counter())[table["value"][place].as_py()] += 1
    assert all(max(c.values()) * options["l"] <= c.total() for c in by_slot.values())


@settings(max_examples=some(100))
@given(streams(people=False))
def test_timestamp_order_is_kept(case: tuple[pa.Table, tv.Roles, dict[str, Any]]) -> None:
    """Of two published records of a value, the one of the earlier origin never stands later."""
    table, roles, options = case
    _, ledger = tv.publish_stream(table, roles, **{**options, "jitter": 0})
    values = table["value"].to_pylist()
    went: dict[str, list[tuple[int, int]]] = {}
    for place, (o, s) in enumerate(
        zip(ledger.table["origin"].to_pylist(), ledger.table["slot"].to_pylist(), strict=True)
    ):
        if s is not None:
            went.setdefault(values[place], []).append((o, s))
    for pairs in went.values():
        slots = [s for _, s in sorted(pairs)]
        assert slots == sorted(slots)


@settings(max_examples=some(50))
@given(streams())
def test_one_seed_one_result(case: tuple[pa.Table, tv.Roles, dict[str, Any]]) -> None:
    table, roles, options = case
    first, again = (tv.publish_stream(table, roles, **options) for _ in range(2))
    assert first[0].table.equals(again[0].table)
    assert first[1].table.equals(again[1].table)
    assert first[0].manifest == again[0].manifest


@settings(max_examples=some(60))
@given(streams(), st.integers(0, 13))
def test_restored_in_the_middle_or_undisturbed(
    case: tuple[pa.Table, tv.Roles, dict[str, Any]], stop: int
) -> None:
    table, roles, options = case
    days = sorted(set(table["day"].to_pylist()))
    undisturbed, facts = pushed(table, roles, options, days[1:])
    publisher, out = tv.StreamPublisher(roles, **options), []
    for place, day in enumerate(days):
        out += publisher.push(table.filter(pa.array(np.asarray(table["day"]) == day)))
        if place == stop:
            publisher = tv.StreamPublisher.restore(publisher.state(), roles, **options)
    out += publisher.close()
    assert all(a.data.equals(b.data) for a, b in zip(undisturbed, out, strict=True))
    assert publisher.facts == facts


@given(
    st.lists(st.lists(st.integers(0, 4), max_size=10), min_size=1, max_size=8),
    st.integers(2, 4),
    st.integers(2, 5),
    st.randoms(use_true_random=False),
)
def test_undo_of_a_relay_leaves_all_as_it_was(
    slots: list[list[int]], l: int, width: int, chance: Any
) -> None:
    window = Window(width, [d * d for d in range(2 * width)], lambda value: 3 + value)
    for slot, values in enumerate(slots):
        kept = least_suppression(Counter(values), l)
        window.arrive(slot, kept, {v: n - kept[v] for v, n in Counter(values).items()})
        if slot < len(slots) - 1:
            reposition(window, l)
    before = standing(window)
    done = []
    while window.waiting and len(done) < 12:
        relay = window.relay(chance.choice(sorted(window.waiting)))
        assert relay is not None
        loss = oracle.loss(window)
        window.apply(relay)
        assert loss - oracle.loss(window) == relay.gain
        done.append(relay)
    for relay in reversed(done):
        window.apply(relay, -1)
    assert standing(window) == before


def standing(window: Window) -> Any:
    return (copy.deepcopy(window.slots), dict(window.waiting), oracle.loss(window))


@settings(max_examples=some(60))
@given(streams(people=False))
def test_without_fillers_an_empty_slot_stays_empty_anyway(
    case: tuple[pa.Table, tv.Roles, dict[str, Any]],
) -> None:
    table, roles, options = case
    found = [
        tv.publish_stream(table, roles, **{**options, "filler": "never", "jitter": 0, "fill_empty": fill})
        for fill in (True, False)
    ]
    assert found[0][1].table.equals(found[1][1].table)


@settings(max_examples=some(60))
@given(streams(), st.randoms(use_true_random=False))
def test_rows_need_not_be_sorted(case: tuple[pa.Table, tv.Roles, dict[str, Any]], chance: Any) -> None:
    """Sorting them by time first gives the same release and, row by row, the same ledger."""
    table, roles, options = case
    mixed = list(range(table.num_rows))
    chance.shuffle(mixed)
    shuffled = table.take(mixed)
    order = sorted(range(len(mixed)), key=lambda place: shuffled["day"][place].as_py())
    release, ledger = tv.publish_stream(shuffled, roles, **options)
    other, sorted_ledger = tv.publish_stream(shuffled.take(order), roles, **options)
    assert release.table.equals(other.table)
    assert ledger.table["slot"].take(order).to_pylist() == sorted_ledger.table["slot"].to_pylist()
