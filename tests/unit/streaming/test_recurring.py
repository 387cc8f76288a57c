"""People who come back: what is published of them, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import timeveil as tv
from timeveil.domain.guarantee import LDiversity
from timeveil.errors import ParameterError, RolesError
from timeveil.models.stream.method.placing import Chance
from timeveil.models.stream.method.recurring import Recurrence
from timeveil.models.stream.parameters import StreamAdversary, StreamParameters

ROLES = tv.Roles(time="day", respondent="who", quasi=["age"], sensitive=["value"])


def table(*records: tuple[int, str, str]) -> pa.Table:
    day, who, value = zip(*records, strict=True)
    return pa.table({"day": day, "who": who, "age": [30] * len(day), "value": value})


def published(records: pa.Table, **options: Any) -> tuple[tv.Release, tv.Ledger]:
    return tv.publish_stream(
        records, ROLES, **{"l": 2, "window": 1, "seed": 3, "allow_loss": True, **options}
    )


TWICE = table((0, "ann", "flu"), (0, "bob", "tbc"), (1, "ann", "flu"), (1, "cy", "hiv"), (1, "di", "mea"))


def test_who_comes_back_has_the_values_of_the_first_time() -> None:
    release, ledger = published(TWICE, recurring="invariant")
    entries = release.tables["sensitive"].to_pylist()
    assert [(e["value"], e["count"]) for e in entries if e["slot"] == 0] == [("flu", 1), ("tbc", 1)]
    later = [e for e in entries if e["slot"] == 1]
    assert sorted((e["bucket"], e["value"]) for e in later) == [
        (0, "hiv"),
        (0, "mea"),
        (1, "flu"),
        (1, "tbc"),
    ]
    assert release.table.filter(pa.array([False, False, True, True, True]))["bucket"].to_pylist() == [0, 0, 1]
    assert release.manifest["counts"]["counterfeits"] == ledger.facts["counterfeits"] == 1
    assert ledger.facts["returned"] == 1


def test_who_is_published_once_has_nothing_to_intersect() -> None:
    release, ledger = published(TWICE, recurring="withhold")
    assert (len(release.table), ledger.facts["repeats"], ledger.facts["withheld"]) == (4, 1, 1)
    assert tv.attack(release, ledger, StreamAdversary("several-slots")).people == 0
    assert "counterfeits" not in release.manifest["counts"]


def test_a_value_that_is_not_in_the_signature_is_withheld() -> None:
    records = table((0, "ann", "flu"), (0, "bob", "tbc"), (1, "ann", "hiv"), (2, "ann", "tbc"))
    release, ledger = published(records, recurring="invariant")
    slots = ledger.table["slot"].to_pylist()
    assert slots == [0, 0, None, 2]
    assert tv.verify(release, ledger)


def test_the_later_record_waits_until_the_first_is_published() -> None:
    """Ann's first record moves to slot 1, so her record of slot 1 moves to slot 2."""
    records = table(
        (0, "ann", "flu"), (1, "ann", "flu"), (1, "bob", "tbc"), (2, "cy", "flu"), (2, "di", "tbc")
    )
    release, ledger = published(records, window=3, recurring="invariant")
    slots = dict(zip(range(5), ledger.table["slot"].to_pylist(), strict=True))
    assert (slots[0], slots[1]) == (1, 2)
    assert ledger.facts["moved"] == 2
    assert tv.verify(release, ledger)


def test_two_records_in_one_slot() -> None:
    """One of them is the first; the other waits for the next slot."""
    records = table(
        (0, "ann", "flu"), (0, "ann", "flu"), (0, "bob", "tbc"), (1, "cy", "flu"), (1, "di", "tbc")
    )
    for recurring, outcome in (("withhold", [0, None]), ("invariant", [0, 1])):
        _, ledger = published(records, window=2, recurring=recurring)
        assert sorted(ledger.table["slot"].to_pylist()[:2], key=str) == outcome


def test_when_the_first_record_is_withheld_the_next_one_is_the_first() -> None:
    records = table((0, "ann", "flu"), (3, "ann", "flu"), (3, "bob", "tbc"))
    for recurring in ("withhold", "invariant"):
        _, ledger = published(records, recurring=recurring)
        assert ledger.table["slot"].to_pylist() == [None, 3, 3]
        assert ledger.facts["repeats"] == 0


def test_people_are_forgotten() -> None:
    records = [(day, who, value) for day in (0, 2, 6) for who, value in (("ann", "flu"), ("bob", "tbc"))]
    records += [(6, "cy", "hiv"), (6, "di", "mea")]
    for recurring, slots, counterfeits in (("withhold", [0, None, 6], 0), ("invariant", [0, 2, 6], 2)):
        release, ledger = published(table(*records), recurring=recurring, forget_after=3)
        assert ledger.table["slot"].to_pylist()[0:6:2] == slots
        assert ledger.facts["counterfeits"] == counterfeits
        assert release.guarantee == LDiversity(2, recurring=recurring, forget_after=3)
        assert tv.verify(release, ledger)
    _, ledger = published(table(*records), recurring="withhold")
    assert ledger.table["slot"].to_pylist()[0:6:2] == [0, None, None]


def test_the_state_forgets_people_too() -> None:
    options = {"l": 2, "window": 1, "seed": 3, "recurring": "withhold"}
    sizes = {}
    for horizon in (None, 10):
        publisher = tv.StreamPublisher(ROLES, forget_after=horizon, **options)
        for day in range(200):
            names = [f"{day}-{n}" for n in range(10)]
            publisher.push(table(*((day, who, f"v{n}") for n, who in enumerate(names))))
        sizes[horizon] = publisher.facts["people_followed"], len(publisher.state())
    assert sizes[None][0] == 2000
    assert sizes[10][0] <= 200
    assert sizes[10][1] < sizes[None][1] / 4


def test_what_is_published_later_does_not_depend_on_who_has_which_value() -> None:
    """The values of two people of a bucket change places, for ever: their later buckets are the same."""
    rng = np.random.default_rng(5)
    people = [f"p{n}" for n in range(12)]
    buckets = np.arange(12) // 4
    for trial in range(200):
        codes = np.concatenate([rng.permutation(6)[:4] for _ in range(3)])
        swapped = codes.copy()
        swapped[[0, 1]] = codes[[1, 0]]
        who = {n: str(rng.choice(people)) for n in range(30)}
        arriving = np.sort(rng.integers(1, 6, 30))
        assert outcome(codes, buckets, people, who, arriving, trial) == outcome(
            swapped, buckets, people, who, arriving, trial
        )


def outcome(
    codes: np.ndarray,
    buckets: np.ndarray,
    people: list[str],
    who: dict[int, str],
    arriving: np.ndarray,
    seed: int,
) -> list[Any]:
    """Of every slot: which records it publishes and withholds, and the values of each one's bucket."""
    options = StreamParameters(l=4, window=3, recurring="invariant")
    recurrence, value = Recurrence(options, Chance(seed)), dict(zip(people, codes.tolist(), strict=True))
    recurrence.publish(0, people, codes, buckets)
    slots = []
    for slot in range(1, 9):
        records = np.flatnonzero(arriving == slot)
        held = np.array([value[who[n]] for n in records.tolist()], np.int64)
        firsts, others = recurrence.firsts(slot, records, held, who)
        assert not len(firsts)
        assert not others
        returning, numbers, counterfeits, withheld = recurrence.returned(slot, [], who, 7)
        listed: dict[int, set[int]] = {}
        for (record, code, _), bucket in zip(returning, numbers.tolist(), strict=True):
            listed[bucket] = {code}
            assert counterfeits.shape[0] == 2
            assert record in who
        for bucket, code in counterfeits.T.tolist():
            listed[bucket].add(code)
        published = [record for record, _, _ in returning]
        slots.append((published, numbers.tolist(), listed, [record for record, _, _ in withheld]))
    return slots


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"recurring": "invariant", "buckets": "none"}, "without buckets nobody can have the same values"),
        ({"recurring": "invariant", "l": 3, "protect_slot": 2, "window": 4}, "exclude each other"),
        ({"forget_after": 9}, "`recurring` is `ignore`"),
        (
            {"recurring": "withhold", "window": 7, "forget_after": 13},
            "at least twice the window of 7 slots, got 13",
        ),
    ],
)
def test_what_cannot_be_promised_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        published(TWICE, **options)


def test_without_buckets_each_person_is_published_once() -> None:
    release, ledger = published(TWICE, recurring="withhold", buckets="none")
    assert (len(release.table), ledger.facts["repeats"]) == (4, 1)
    assert tv.verify(release, ledger)


def test_a_run_that_withholds_most_records_says_what_keeps_more() -> None:
    records = [(day, who, value) for day in range(4) for who, value in (("ann", "flu"), ("bob", "tbc"))]
    with pytest.raises(tv.TimeveilError) as caught:
        published(table(*records), recurring="withhold", allow_loss=False)
    assert 'recurring="invariant"' in str(caught.value.hint).replace("{", "").replace("}", "")


def test_people_can_only_be_followed_where_there_is_a_column_of_them() -> None:
    roles = tv.Roles(time="day", quasi=["age"], sensitive=["value"], drop=["who"])
    for recurring in ("withhold", "invariant"):
        with pytest.raises(RolesError, match="no column says whose the records are") as caught:
            tv.publish_stream(TWICE, roles, l=2, window=1, recurring=recurring)
        assert caught.value.code == "role-missing"


def test_another_spelling_of_a_person_who_was_published_is_refused() -> None:
    publisher = tv.StreamPublisher(ROLES, l=2, window=1, recurring="withhold")
    publisher.push(table((0, "ann", "flu"), (0, "bob", "tbc")))
    with pytest.raises(tv.TimeveilError) as caught:
        publisher.push(table((9, "ann ", "flu"), (9, "cy", "tbc")))
    assert caught.value.code == "person-twice"


def test_a_state_without_these_parameters_resumes_and_one_with_others_does_not() -> None:
    publisher = tv.StreamPublisher(ROLES, l=2, window=2, seed=1, recurring="invariant")
    publisher.push(TWICE.slice(0, 2))
    with pytest.raises(ParameterError, match="other parameters: recurring"):
        tv.StreamPublisher.restore(publisher.state(), ROLES, l=2, window=2)
    plain = tv.StreamPublisher(ROLES, l=2, window=2, seed=1)
    plain.push(TWICE.slice(0, 2))
    assert tv.StreamPublisher.restore(plain.state(), ROLES, l=2, window=2, recurring="ignore")


def test_questions_count_records_and_not_counterfeits() -> None:
    """Ann is alone in slot 1, with the values of a bucket of two: half a record of each."""
    release, _ = published(
        table((0, "ann", "flu"), (0, "bob", "tbc"), (1, "ann", "flu")), recurring="invariant"
    )
    flu = tv.answer(release, tv.WindowCount(between=(1, 2), where={"value": "flu"}))
    assert (flu.value, flu.low, flu.high) == (0.5, 0, 1)
    either = tv.answer(release, tv.WindowCount(between=(1, 2), where={"value": ["flu", "tbc"]}))
    assert (either.value, either.low, either.high) == (1, 1, 1)
    assert tv.answer(release, tv.WindowCount(between=(1, 2))).value == 1


def test_window_errors_are_those_of_the_answers() -> None:
    """`measure` answers through counterfeits as recipients do: with the value alone it would be exact."""
    records = [(0, "bob", "tbc"), *((day, "ann", "flu") for day in range(8))]
    pair = published(table(*records), recurring="invariant")
    single = tv.measure(*pair, windows=200, seed=0).window_errors[0]
    assert single.length == 1
    assert 0.1 < single.release < 0.5


def test_outsiders_who_learn_correlations_do_not_see_which_values_are_counterfeits() -> None:
    records = table((0, "ann", "flu"), (0, "bob", "tbc"), (1, "ann", "flu"), (2, "bob", "tbc"))
    breach = tv.attack(*published(records, recurring="invariant"), StreamAdversary("correlation"))
    assert breach.worst == pytest.approx(0.5)
    assert tv.attack(*published(records, recurring="invariant")).worst == pytest.approx(0.5)
