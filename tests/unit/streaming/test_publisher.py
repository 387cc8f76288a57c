"""The publisher: slots in order, late records, people, types, the end."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import timeveil as tv

ROLES = tv.Roles(time="day", quasi=["age"], sensitive=["value"])


def cases(day: Any, values: str, age: int = 30) -> pa.Table:
    return pa.table({"day": [day] * len(values), "age": [age] * len(values), "value": list(values)})


def publisher(**options: Any) -> tv.StreamPublisher:
    return tv.StreamPublisher(ROLES, **{"l": 2, "window": 2, "seed": 1, **options})


def shown(slots: list[tv.PublishedSlot]) -> dict[Any, list[str]]:
    """Slot to its values, counted over buckets."""
    found = {}
    for slot in slots:
        assert slot.sensitive is not None
        pairs = zip(slot.sensitive["value"].to_pylist(), slot.sensitive["count"].to_pylist(), strict=True)
        found[slot.slot] = sorted(value for value, count in pairs for _ in range(count))
    return found


def test_the_tables_of_a_slot() -> None:
    stream = publisher()
    stream.push(cases(3, "abab"))
    (slot,) = stream.close()
    assert (slot.slot, slot.index) == (3, 3)
    assert slot.data.schema == pa.schema({"slot": pa.int64(), "age": pa.int64(), "bucket": pa.int32()})
    assert slot.data["bucket"].to_pylist() == [0, 0, 1, 1]
    assert slot.sensitive is not None
    assert slot.sensitive.schema == pa.schema(
        {"slot": pa.int64(), "bucket": pa.int32(), "value": pa.string(), "count": pa.int64()}
    )
    assert slot.sensitive.to_pylist()[0] == {"slot": 3, "bucket": 0, "value": "a", "count": 1}
    assert "a" not in repr(slot).split(":")[1].replace("rows", "")


def test_without_buckets_the_sensitive_column_stands_in_the_data() -> None:
    stream = publisher(buckets="none")
    stream.push(cases(3, "ba"))
    (slot,) = stream.close()
    assert slot.sensitive is None
    assert slot.data.to_pylist() == [{"slot": 3, "age": 30, "value": v} for v in "ab"]


def test_slots_left_out_are_empty_ones() -> None:
    stream = publisher()
    out = stream.push(cases(1, "ab")) + stream.push(cases(4, "ab")) + stream.close()
    assert [slot.slot for slot in out] == [1, 2, 3, 4]
    assert [slot.data.num_rows for slot in out] == [2, 0, 0, 2]
    assert out[1].data.schema == out[0].data.schema
    assert out[1].sensitive is not None
    assert out[1].sensitive.schema == out[0].sensitive.schema  # type: ignore[union-attr]


def test_several_slots_in_one_push_in_any_order() -> None:
    stream = publisher()
    out = stream.push(pa.concat_tables([cases(2, "cd"), cases(1, "ab")])) + stream.close()
    assert shown(out) == {1: ["a", "b"], 2: ["c", "d"]}


def test_a_late_record_is_refused_and_nothing_is_taken() -> None:
    stream = publisher()
    stream.push(cases(5, "ab"))
    before = stream.state()
    with pytest.raises(tv.InputError) as caught:
        stream.push(pa.concat_tables([cases(6, "a"), cases(5, "c"), cases(4, "c")]))
    assert caught.value.code == "late"
    assert caught.value.facts == {"late": 2, "row": 2}
    assert stream.state() == before


def test_a_late_record_moves_on_to_the_earliest_open_slot() -> None:
    stream = publisher(late="move", window=1)
    out = stream.push(cases(5, "ab"))
    out += stream.push(pa.concat_tables([cases(8, "ab"), cases(4, "c"), cases(5, "d")]))
    out += stream.close()
    assert shown(out) == {5: ["a", "b"], 6: ["c", "d"], 7: [], 8: ["a", "b"]}
    assert stream.facts["late"] == 2
    assert stream.facts["moved"] == 2
    assert stream.facts["information_loss"] == 2 + 1


def test_late_records_alone_wait_for_the_next_slot() -> None:
    stream = publisher(late="move", window=1)
    out = stream.push(cases(5, "ab"))
    out += stream.push(cases(5, "c"))
    assert stream.facts["waiting"] == 1
    out += stream.push(cases(6, "ab")) + stream.close()
    assert shown(out) == {5: ["a", "b"], 6: ["a", "b", "c"]}
    assert stream.facts["late"] == 1


def test_late_records_that_still_wait_at_the_end_get_a_slot() -> None:
    stream = publisher(late="move", window=1)
    out = stream.push(cases(5, "ab")) + stream.push(cases(5, "cd")) + stream.close()
    assert shown(out) == {5: ["a", "b"], 6: ["c", "d"]}


def test_nothing_comes_after_the_end() -> None:
    stream = publisher()
    assert stream.close() == []
    for again in (stream.close, lambda: stream.push(cases(1, "ab"))):
        with pytest.raises(tv.ParameterError):
            again()


def test_an_empty_snapshot_changes_nothing() -> None:
    stream = publisher()
    assert stream.push(cases(1, "")) == []
    assert stream.push(cases(3, "ab")) == []
    assert stream.push(cases(3, "")) == []
    assert [slot.slot for slot in stream.close()] == [3]


def test_nobody_stands_twice_in_a_slot() -> None:
    """The one of somebody's two records that would move goes elsewhere; else it is withheld."""
    roles = tv.Roles(time="day", respondent="who", sensitive=["value"])
    rng = np.random.default_rng(3)
    who, day = rng.integers(0, 12, 400), np.sort(rng.integers(0, 60, 400))
    table = pa.table({"who": who, "day": day, "value": rng.integers(0, 5, 400)})
    release, ledger = tv.publish_stream(table, roles, l=2, window=3, seed=4, allow_loss=True)
    there = [
        (s, w) for s, w in zip(ledger.table["slot"].to_pylist(), who.tolist(), strict=True) if s is not None
    ]
    assert len(there) == len(set(there)) > 250
    assert ledger.facts["duplicates"] > 0
    assert tv.verify(release, ledger)


def test_a_cell_prefers_somebody_who_is_not_in_the_slot_yet() -> None:
    """Of two records that may move, always the one of the person who has none in the next slot."""
    roles = tv.Roles(time="day", respondent="who", sensitive=["value"])
    table = pa.table(
        {
            "who": ["ann", "bob", "cem", "ann", "dan"],
            "day": [1, 1, 1, 2, 2],
            "value": ["x", "x", "y", "y", "z"],
        }
    )
    for seed in range(20):
        release, ledger = tv.publish_stream(table, roles, l=2, window=2, seed=seed, allow_loss=True)
        went = ledger.table["slot"].to_pylist()
        assert went == [1, 2, 1, 2, 2]
        assert ledger.facts["duplicates"] == 0
        assert release.manifest["counts"]["rows"] == 5


def test_which_record_moves_is_drawn_under_the_seed() -> None:
    table = pa.table({"day": [1] * 8 + [2] * 6, "age": range(14), "value": list("aaaaaabcbcbcde")})
    moved = set()
    for seed in range(40):
        _, ledger = tv.publish_stream(table, ROLES, l=2, window=2, seed=seed)
        origin, slot = (ledger.table[name].to_pylist() for name in ("origin", "slot"))
        moved.add(tuple(row for row in range(14) if slot[row] not in (origin[row], None)))
    assert len(moved) > 10


def test_without_a_seed_every_run_differs() -> None:
    table = pa.table({"day": [1] * 40, "age": range(40), "value": list("abcd" * 10)})
    first, second = (tv.publish_stream(table, ROLES, l=2) for _ in range(2))
    assert first[1].facts["seed"] != second[1].facts["seed"]
    assert not first[0].table.equals(second[0].table)


@pytest.mark.parametrize(
    ("slot", "times", "labels"),
    [
        ("day", [dt.date(2024, 2, 28), dt.date(2024, 3, 1)], ["2024-02-28", "2024-02-29", "2024-03-01"]),
        ("month", [dt.date(2023, 12, 3), dt.date(2024, 2, 28)], ["2023-12", "2024-01", "2024-02"]),
        ("week", [dt.date(2024, 12, 29), dt.date(2025, 1, 8)], ["2024-W52", "2025-W01", "2025-W02"]),
        (
            "hour",
            [dt.datetime(2024, 1, 1, 23, 59), dt.datetime(2024, 1, 2, 1, 0)],
            ["2024-01-01 23:00 to 24:00", "2024-01-02 00:00 to 01:00", "2024-01-02 01:00 to 02:00"],
        ),
        ("day", ["2024-02-29", "2024-03-01"], ["2024-02-29", "2024-03-01"]),
    ],
)
def test_slots_of_any_granularity(slot: str, times: list[Any], labels: list[str]) -> None:
    table = pa.table({"day": [t for t in times for _ in "ab"], "age": [1] * 4, "value": list("abab")})
    stream = publisher(slot=slot)
    out = stream.push(table) + stream.close()
    assert [one.slot for one in out] == labels
    release, ledger = tv.publish_stream(table, ROLES, l=2, window=2, slot=slot, seed=1)
    assert sorted(set(release.table["slot"].to_pylist())) == [labels[0], labels[-1]]
    assert release.manifest["counts"]["slots"] == len(labels)
    assert tv.verify(release, ledger)


def test_the_hour_that_autumn_repeats_does_not_go_back() -> None:
    """2:50 in summer time, then 2:10 and 3:10 in winter time: the repeated hour stays in the last quarter."""
    moments = [
        dt.datetime(2024, 10, 27, hour, minute, tzinfo=dt.UTC) for hour, minute in ((0, 50), (1, 10), (2, 10))
    ]
    table = pa.concat_tables([cases(moment, "ab") for moment in moments])
    release, _ = tv.publish_stream(table, ROLES, l=2, window=1, slot="15-minutes", zone="Europe/Berlin")
    counts = release.table["slot"].value_counts().to_pylist()
    assert counts == [
        {"values": "2024-10-27 02:45 to 03:00", "counts": 4},
        {"values": "2024-10-27 03:00 to 03:15", "counts": 2},
    ]


def test_slot_numbers_with_a_unit_are_relative_time() -> None:
    table = pa.table({"day": [0, 90, 1500, 1500], "age": [1] * 4, "value": list("abab")})
    release, _ = tv.publish_stream(table, ROLES, l=2, window=2, unit="minute", seed=1)
    assert release.table["slot"].to_pylist() == ["day 0", "day 0", "day 1", "day 1"]
    assert release.manifest["time"]["unit"] == "minute"


def test_a_granularity_with_gaps_refuses_times_in_them() -> None:
    with pytest.raises(tv.InputError) as caught:
        publisher(slot="business-day").push(cases(dt.date(2024, 3, 2), "ab"))
    assert caught.value.code == "gap"


def test_every_snapshot_has_the_types_of_the_first() -> None:
    stream = publisher()
    stream.push(cases(1, "ab"))
    narrow = cases(2, "ab")
    stream.push(narrow.set_column(1, "age", narrow["age"].cast(pa.int8())))
    with pytest.raises(tv.InputError) as caught:
        stream.push(
            narrow.set_column(1, "age", pa.array(["old", "young"])).set_column(0, "day", pa.array([3, 3]))
        )
    assert caught.value.code == "unsupported-input"
    with pytest.raises(tv.InputError) as caught:
        stream.push(cases(dt.date(2024, 1, 1), "ab"))
    assert caught.value.code == "unsupported-input"


def test_an_empty_table_gives_an_empty_release() -> None:
    release, ledger = tv.publish_stream(cases(1, ""), ROLES, l=2)
    assert release.table.num_rows == ledger.table.num_rows == 0
    assert release.tables["sensitive"].num_rows == 0
    assert release.manifest["counts"]["slots"] == 0


def test_the_manifest_tells_no_secret() -> None:
    table = pa.concat_tables([cases(1, "aaab"), cases(2, "bcd")])
    release, _ = tv.publish_stream(
        table, ROLES, l=2, window=2, seed=987654321, withhold_cost={"a": 55.5}, move_cost=[0, 1, 2.5]
    )
    text = str(dict(release.manifest))
    assert "987654321" not in text
    assert "55.5" not in text
    assert release.manifest["parameters"]["move_cost"] == [0.0, 1.0, 2.5]
    assert set(release.manifest["counts"]) == {"rows", "slots", "buckets", "first_slot", "last_slot"}


def test_facts_count_every_record_once() -> None:
    stream = publisher(window=3)
    for day, values in enumerate(["aaab", "bbc", "", "ccca", "aaaa"]):
        stream.push(cases(day, values))
        facts = stream.facts
        assert facts["rows_read"] == facts["published"] + facts["withheld"] + facts["waiting"]
    assert facts["slots_in_window"] == 2
    assert facts["last_slot"] == 4
    stream.close()
    assert stream.facts["waiting"] == 0


@pytest.mark.parametrize("kind", [pa.time64("ns"), pa.timestamp("ns")])
def test_times_that_python_cannot_tell_apart_are_refused(kind):
    roles = tv.Roles(time="day", sensitive=["value"])
    fine = pa.table({"day": [1] * 4, "value": pa.array([1, 2, 1, 2], kind)})
    for publish in (
        tv.StreamPublisher(roles, l=2, window=2, accept_risk=["value"]).push,
        lambda t: tv.publish_stream(t, roles, l=2, accept_risk=["value"]),
    ):
        with pytest.raises(tv.errors.InputError, match="finer than a microsecond"):
            publish(fine)
    coarse = pa.table({"day": [1] * 4, "value": pa.array([1000, 2000, 1000, 2000], kind)})
    publisher = tv.StreamPublisher(roles, l=2, window=2, seed=1, accept_risk=["value"])
    publisher.push(coarse)
    whole, _ = tv.publish_stream(coarse, roles, l=2, window=2, seed=1, accept_risk=["value"])
    assert publisher.close()[0].sensitive.equals(whole.tables["sensitive"])


def test_a_gap_can_be_bounded():
    roles = tv.Roles(time="day", sensitive=["value"])
    publisher = tv.StreamPublisher(roles, l=2, window=2, seed=1)
    publisher.push(pa.table({"day": [1, 1], "value": ["a", "b"]}), max_gap=0)
    assert publisher.latest == 1
    later = pa.table({"day": [9, 9], "value": ["a", "b"]})
    with pytest.raises(tv.errors.InputError, match="gap of 7 empty slots") as refused:
        publisher.push(later, max_gap=6)
    assert refused.value.code == "gap"
    assert publisher.latest == 1
    with pytest.raises(tv.errors.ParameterError, match="`max_gap` must be a whole number"):
        publisher.push(later, max_gap=-1)
    with pytest.raises(tv.errors.ParameterError, match="`since` must be a whole number"):
        publisher.push(later, max_gap=6, since="x")
    assert len(publisher.push(later, max_gap=6, since=2)) == 8


def test_both_sides_of_a_clock_change_are_values_of_their_own():
    """Half past two comes twice in Berlin on 27 October 2024; by a push, a whole table and a state alike."""
    twice = pa.array([1_729_989_000, 1_729_992_600] * 2, pa.timestamp("s", "Europe/Berlin"))
    roles = tv.Roles(time="day", respondent="who", quasi=["age"], sensitive=["at"])
    table = pa.table({"day": [1] * 4, "who": [1, 2, 3, 4], "age": [10, 20, 30, 40], "at": twice})
    options = {"l": 2, "window": 2, "accept_risk": ["at"]}
    publisher = tv.StreamPublisher(roles, seed=1, **options)
    publisher.push(table)
    restored = tv.StreamPublisher.restore(publisher.state(), roles, **options)
    whole, ledger = tv.publish_stream(table, roles, seed=1, **options)
    assert whole.tables["sensitive"]["at"].unique().to_pylist() == twice.unique().to_pylist()
    assert whole.table.num_rows == 4
    assert tv.verify(whole, ledger)
    for other in (publisher, restored):
        assert other.close()[0].release.tables == whole.tables
