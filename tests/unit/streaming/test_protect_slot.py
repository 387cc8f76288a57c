"""`protect_slot` on `publish_stream` and `StreamPublisher`: one result, and clear refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import timeveil as tv
from timeveil.models.stream.evidence import Evidence
from timeveil.models.stream.words import Facts
from timeveil.report import explain

ROLES = tv.Roles(time="day", quasi=["age"], sensitive=["ill"])
PACKETS: dict[str, Any] = {"l": 4, "window": 7, "protect_slot": 3, "seed": 3, "allow_loss": True}


def cases(slots: int, per_slot: int, *, people: bool = False, values: int = 50, seed: int = 1) -> pa.Table:
    """Values with Zipf's frequencies, and a few days without a record."""
    rng, rows = np.random.default_rng(seed), slots * per_slot
    share = 1 / np.arange(1, values + 1)
    ill = rng.choice(values, rows, p=share / share.sum())
    days = np.sort(rng.integers(0, slots, rows))
    columns = {"day": days + days // 9, "age": rng.integers(0, 90, rows), "ill": [f"i{v}" for v in ill]}
    return pa.table({**columns, "who": rng.integers(0, 4 * per_slot, rows)} if people else columns)


@pytest.mark.parametrize("people", [False, True])
def test_pushed_slot_by_slot_or_in_one_go_it_is_the_same(people: bool) -> None:
    """And so it is pushed in one piece, or with a publisher that is restored after every slot."""
    table = cases(40, 50, people=people)
    roles = tv.Roles(respondent="who" if people else None, time="day", quasi=["age"], sensitive=["ill"])
    whole, ledger = tv.publish_stream(table, roles, **PACKETS)
    assert tv.verify(whole, ledger)
    assert ledger.facts["moved"] > 50
    assert ledger.table["packet"].null_count == 0
    by_slot: list[tv.PublishedSlot] = []
    publisher = tv.StreamPublisher(roles, **PACKETS)
    for day in pc.unique(table["day"]).to_pylist():
        by_slot += publisher.push(table.filter(pc.equal(table["day"], day)))
        assert by_slot[-1].slot == day, "a slot is published when it has come"
        publisher = tv.StreamPublisher.restore(publisher.state(), roles, **PACKETS)
    assert publisher.close() == []
    at_once = tv.StreamPublisher(roles, **PACKETS)
    for slots in (by_slot, at_once.push(table)):
        assert pa.concat_tables([slot.data for slot in slots]).equals(whole.table)
        said = pa.concat_tables([slot.sensitive for slot in slots if slot.sensitive is not None])
        assert said.equals(whole.tables["sensitive"])
    facts = {**publisher.facts}
    assert [facts[name] for name in ("published", "moved", "withheld", "duplicates", "information_loss")] == [
        ledger.facts[name] for name in ("published", "moved", "withheld", "duplicates", "information_loss")
    ]


def test_rows_may_come_in_any_order_and_lack_a_value() -> None:
    table = cases(20, 40)
    table = table.take(pa.array(np.random.default_rng(2).permutation(table.num_rows)))
    column = pa.array([None if i % 50 == 0 else v for i, v in enumerate(table["ill"].to_pylist())])
    table = table.set_column(2, "ill", column)
    release, ledger = tv.publish_stream(table, ROLES, **PACKETS, nulls="withhold")
    assert tv.verify(release, ledger)
    assert ledger.table["packet"].null_count == column.null_count


def test_the_plain_method_is_as_it_was() -> None:
    """No word of packets in its manifest or its ledger."""
    release, ledger = tv.publish_stream(cases(10, 30), ROLES, l=3, window=4, seed=1, allow_loss=True)
    assert release.manifest["guarantee"] == {"name": "l-diversity", "l": 3}
    assert "protect_slot" not in release.manifest["parameters"]
    assert ledger.table.column_names == ["row", "origin", "slot", "bucket"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"protect_slot": 4}, "from 2 to l - 1 = 3, got 4"),
        ({"protect_slot": 1}, "at least 2, got 1"),
        ({"protect_slot": True}, "got bool"),
        ({"protect_slot": 2.0}, "got float"),
        ({"l": 2, "protect_slot": 2}, "from 2 to l - 1 = 1, got 2"),
        ({"spread": 0}, "`spread` must be a whole number from 1 to 10,000, got 0"),
        ({"spread": 7}, "`spread` must be below `window`, which is 7, got 7"),
        ({"fillers": -1}, "`fillers` must be a whole number from 0 to 10,000, got -1"),
        ({"fillers": "8"}, "`fillers` must be a whole number from 0 to 10,000, got str"),
        ({"window": 1}, "`window` must be at least 2 with `protect_slot`, got 1"),
        ({"filler": "always"}, "`protect_slot` and `filler` exclude each other"),
        ({"jitter": 1}, "`protect_slot` and `jitter` exclude each other"),
        ({"first_window": "exact"}, "`protect_slot` and `first_window` exclude each other"),
        ({"buckets": "none"}, "`protect_slot` and `buckets` exclude each other"),
        ({"late": "move"}, "`protect_slot` and `late` exclude each other"),
        ({"protect_slot": None, "spread": 2}, "`spread` applies with `protect_slot` only"),
        ({"protect_slot": None, "fillers": 2}, "`fillers` applies with `protect_slot` only"),
    ],
)
def test_what_does_not_go_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(tv.ParameterError) as refused:
        tv.StreamPublisher(ROLES, **{**PACKETS, **options})
    assert said in refused.value.message
    assert refused.value.code == "bad-parameter"


def warned(release: tv.Release, ledger: tv.Ledger) -> list[str]:
    told: list[str] = explain(release, ledger).facts["warnings"]
    return told


def test_it_is_told_where_less_is_promised() -> None:
    """Slots of which one value takes more than 1 in 3, at a promise of 1 in 3, however many values it has."""
    slots = {1: "aaabcdefgh", 2: "aaaabcdefg", 3: "aaaaaabcde", 4: "abcdefghij", 5: "aaabbbccc"}
    day, ill = zip(*((day, one) for day, values in slots.items() for one in values), strict=True)
    table = pa.table({"day": day, "age": range(len(day)), "ill": ill})
    release, ledger = tv.publish_stream(table, ROLES, **PACKETS)
    [told] = [one for one in warned(release, ledger) if "weaker promise than 1 in 3" in one]
    assert told.startswith("20 records (40.8 %) in 2 slots get a weaker promise than 1 in 3, ")
    facts = Facts(Evidence(release, ledger)).as_dict()
    assert (facts["records_promised_less"], facts["slots_promised_less"]) == (20, 2)
    plain = tv.publish_stream(table, ROLES, l=3, window=4, seed=1, allow_loss=True)
    assert "records_promised_less" not in Facts(Evidence(*plain)).slots
    assert not any("promised" in one for one in warned(*plain))


def test_it_is_told_where_packets_do_not_pay() -> None:
    """Slots of 20 at l = 4 and of 50 at l = 10 are too small for large packets; packets of 2 may do."""
    for per_slot, options, told in (
        (20, {}, 1),
        (20, {"protect_slot": 2}, 0),
        (50, {"l": 10}, 1),
        (60, {}, 0),
    ):
        release, ledger = tv.publish_stream(cases(40, per_slot), ROLES, **{**PACKETS, **options})
        assert sum("few for packets" in one for one in warned(release, ledger)) == told


def test_somebody_who_is_twice_in_a_slot_costs_a_whole_packet() -> None:
    """Nobody stands twice in a published slot, and the packet of the second record is withheld whole."""
    table = pa.table({"day": [1] * 8, "age": range(8), "ill": list("abcdefgh"), "who": [0, 0, *range(2, 8)]})
    roles = tv.Roles(respondent="who", time="day", quasi=["age"], sensitive=["ill"])
    for seed in range(20):
        release, ledger = tv.publish_stream(
            table, roles, l=4, window=3, protect_slot=2, seed=seed, allow_loss=True
        )
        assert tv.verify(release, ledger)
        assert ledger.facts["duplicates"] == ledger.facts["withheld"] == 4
        assert any(
            one.startswith("4 records (50 %) had to be withheld because") for one in warned(release, ledger)
        )


def test_an_empty_stream() -> None:
    empty = cases(2, 2).slice(0, 0)
    release, ledger = tv.publish_stream(empty, ROLES, **PACKETS)
    assert tv.verify(release, ledger)
    assert ledger.table.column_names[-1] == "packet"


def test_a_state_holds_the_records_that_wait_and_no_others() -> None:
    ill = ["i0"] * 10 + [f"i{value}" for value in range(20, 40)]  # skewed, so that packets wait at the end
    last = pa.table({"day": [99] * 30, "age": range(30), "ill": ill})
    table = pa.concat_tables([cases(12, 50), last])
    table = table.append_column("note", pa.array([f"note-{row:05}" for row in range(table.num_rows)]))
    roles = tv.Roles(time="day", quasi=["age"], sensitive=["ill"], keep=["note"])
    publisher = tv.StreamPublisher(roles, **PACKETS, accept_risk=["note"])
    slots = publisher.push(table)
    state = publisher.state()
    gone = [note for slot in slots for note in slot.data["note"].to_pylist()]
    waiting = set(table["note"].to_pylist()) - set(gone)
    assert publisher.facts["waiting"] > 0
    assert not any(note.encode() in state for note in gone)
    assert sum(note.encode() in state for note in waiting) == publisher.facts["waiting"]


def test_a_late_record_is_refused_with_a_hint_that_goes_with_packets() -> None:
    """`late="move"` is no way out: it does not go with `protect_slot`."""
    for options, moves_on in ((PACKETS, False), ({"l": 4, "window": 7}, True)):
        publisher = tv.StreamPublisher(ROLES, **options)
        publisher.push(cases(3, 20))
        with pytest.raises(tv.InputError) as refused:
            publisher.push(cases(1, 20))
        assert refused.value.code == "late"
        assert ('late="move"' in refused.value.hint) == moves_on
        assert ("into the next stream" in refused.value.hint) != moves_on
