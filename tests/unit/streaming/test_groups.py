"""Generalised groups of a stream: what they publish, refuse and remember."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import timeveil as tv
from timeveil.recoding import Hierarchy
from timeveil.recoding.groups import Ladder, partition, usual_hierarchy

ROLES = tv.Roles(time="day", quasi=["age", "zip"], sensitive=["ill"], keep=["ward"])
GROUPS: dict[str, Any] = {"l": 2, "window": 1, "seed": 1, "groups": "generalize"}


def visits(days: int = 1) -> pa.Table:
    """Two young and two old people a day, each pair with two illnesses."""
    return pa.table(
        {
            "day": [day for day in range(days) for _ in range(4)],
            "age": [21, 24, 61, 68] * days,
            "zip": ["111", "112", "205", "205"] * days,
            "ill": ["flu", "cold", "flu", "cold"] * days,
            "ward": ["a", "b", "a", "b"] * days,
        }
    )


def test_records_with_equal_labels_and_their_own_values() -> None:
    hierarchies = {"age": "intervals:10,50", "zip": "prefixes:2"}
    release, ledger = tv.publish_stream(visits(), ROLES, **GROUPS, hierarchies=hierarchies)
    assert release.table.to_pylist() == [
        {"slot": 0, "age": "[20, 30)", "zip": "11*", "ward": "a", "ill": "flu", "group": 0},
        {"slot": 0, "age": "[20, 30)", "zip": "11*", "ward": "b", "ill": "cold", "group": 0},
        {"slot": 0, "age": "[60, 70)", "zip": "205", "ward": "a", "ill": "flu", "group": 1},
        {"slot": 0, "age": "[60, 70)", "zip": "205", "ward": "b", "ill": "cold", "group": 1},
    ]
    assert [*release.parts] == ["data"]
    levels = release.manifest["levels"]
    assert levels == {"age": {"10 wide": ["[20, 30)", "[60, 70)"]}, "zip": {"first 2": ["11*"]}}
    assert release.manifest["counts"]["groups"] == 2
    assert release.guarantee.sentence.endswith(
        "a bucket is a group of at least 2 records with the same generalised quasi-identifiers"
    )
    assert ledger.mappings["age"].column_names == ["value", "level 2", "level 1"]
    assert tv.verify(release, ledger)


def test_a_column_without_a_hierarchy_is_generalised_by_its_type() -> None:
    assert usual_hierarchy(pa.float32()).names[:2] == ("5 wide", "10 wide")
    assert usual_hierarchy(pa.date32()).names == ("month", "year", "decade", "*")
    assert usual_hierarchy(pa.string()).names == ("*",)
    born = [dt.date(1980, 1, 3), dt.date(1980, 1, 9), dt.date(1990, 5, 1), None]
    table = visits().append_column("born", pa.array(born))
    roles = replace(ROLES, quasi=("born",), drop=("age", "zip"))
    release, ledger = tv.publish_stream(table, roles, **GROUPS)
    assert release.table["born"].to_pylist() == ["*", "*", "1980-01", "1980-01"]
    assert tv.verify(release, ledger)


def test_a_ladder_goes_from_the_star_to_the_value() -> None:
    ages = Ladder("age", Hierarchy.intervals([10]))
    ages.learn(pa.chunked_array([[37, 42, 37]]))
    assert ages.levels == ("*", "10 wide", "value")
    assert ages.paths(pa.chunked_array([[42, 37]])).tolist() == [[0, 0], [1, 0], [1, 0]]


def test_parts_that_cannot_be_groups_stay_together_at_the_label_above() -> None:
    districts = np.array([[0] * 6, [1, 1, 2, 2, 3, 4]])
    values = np.array([0, 1, 0, 1, 0, 1])
    groups = sorted((members.tolist(), depth) for members, depth in partition([districts], values, 2, 2, [0]))
    assert groups == [([0, 1], [1]), ([2, 3], [1]), ([4, 5], [0])]


def test_a_part_stays_where_the_rest_would_not_be_a_group() -> None:
    districts = np.array([[0] * 7, [1, 1, 2, 2, 2, 2, 3]])
    values = np.array([0, 1, 0, 1, 0, 1, 2])
    groups = sorted((members.tolist(), depth) for members, depth in partition([districts], values, 2, 2, [0]))
    assert groups == [([0, 1, 6], [0]), ([2, 3, 4, 5], [1])]


def test_the_commonest_value_forbids_a_division() -> None:
    ages = np.array([[0] * 4, [1, 1, 2, 2]])
    groups = list(partition([ages], np.array([0, 0, 1, 1]), 2, 2, [0]))
    assert [(members.tolist(), depth) for members, depth in groups] == [([0, 1, 2, 3], [0])]


def test_a_slot_of_fewer_than_k_records_is_withheld() -> None:
    table = pa.concat_tables([visits(2), visits().set_column(0, "day", pa.array([2] * 4)).slice(0, 2)])
    release, ledger = tv.publish_stream(table, ROLES, **GROUPS, k=4)
    assert set(release.table["slot"].to_pylist()) == {0, 1}
    assert (ledger.facts["few"], ledger.facts["withheld"]) == (2, 2)
    assert release.guarantee.k == 4
    assert tv.verify(release, ledger)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": "buckets", "k": 3}, "`k` applies to generalised groups only"),
        (
            {"groups": "buckets", "hierarchies": {"age": "suppression"}},
            "`hierarchies` applies to generalised",
        ),
        ({"buckets": "none"}, "generalised groups and `buckets` exclude each other"),
        ({"l": 4, "k": 3}, "`k` must be at least l, which is 4, got 3"),
        ({"l": 3, "window": 7, "protect_slot": 2}, "`protect_slot` and `groups` exclude each other"),
        ({"recurring": "invariant"}, "generalised groups and `recurring` exclude each other"),
        ({"hierarchies": {"ward": "suppression"}}, "`ward`, which is not a quasi-identifier"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_what_does_not_go_together_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(tv.ParameterError, match=message):
        tv.publish_stream(visits(), ROLES, **{**GROUPS, **options})


def test_a_column_called_group_is_refused_only_where_the_release_has_one() -> None:
    table = visits().rename_columns(["day", "age", "zip", "ill", "group"])
    roles = replace(ROLES, keep=("group",))
    assert tv.publish_stream(table, roles, l=2, window=1)
    with pytest.raises(tv.RolesError, match="the release has a column `group` of its own"):
        tv.publish_stream(table, roles, **GROUPS)


def test_a_snapshot_with_a_value_that_the_hierarchy_lacks_is_not_taken() -> None:
    hierarchy = tv.Hierarchy.from_table(pa.table({"zip": ["111", "112", "205"], "area": ["a", "a", "b"]}))
    publisher = tv.StreamPublisher(ROLES, **GROUPS, hierarchies={"zip": hierarchy})
    publisher.push(visits())
    strange = visits().set_column(0, "day", pa.array([1] * 4)).set_column(2, "zip", pa.array(["999"] * 4))
    with pytest.raises(tv.InputError, match="a hierarchy lacks 1 of the 1 values"):
        publisher.push(strange)
    assert publisher.facts["rows_read"] == 4
    assert publisher.push(visits().set_column(0, "day", pa.array([1] * 4)))[0].data["zip"].to_pylist()


def test_a_state_of_another_hierarchy_is_refused() -> None:
    publisher = tv.StreamPublisher(ROLES, **GROUPS, hierarchies={"age": "intervals:10"})
    with pytest.raises(tv.ParameterError, match="other parameters: hierarchies"):
        tv.StreamPublisher.restore(publisher.state(), ROLES, **GROUPS, hierarchies={"age": "intervals:5"})


@pytest.mark.parametrize("other", ["intervals:10", "intervals:10:..80", "intervals:10:0..90"])
def test_a_state_of_other_bounds_is_refused(other: str) -> None:
    """Without its upper bound, a resumed stream would publish the ages that it hid before."""
    publisher = tv.StreamPublisher(ROLES, **GROUPS, hierarchies={"age": "intervals:10:..90"})
    with pytest.raises(tv.ParameterError, match="other parameters: hierarchies"):
        tv.StreamPublisher.restore(publisher.state(), ROLES, **GROUPS, hierarchies={"age": other})
    tv.StreamPublisher.restore(publisher.state(), ROLES, **GROUPS, hierarchies={"age": "intervals:10:..90"})


def test_a_state_of_another_table_of_as_many_levels_is_refused() -> None:
    tables = [
        pa.table({"zip": ["111", "112", "205"], "area": areas})
        for areas in (["a", "a", "b"], ["a", "b", "b"])
    ]
    publisher = tv.StreamPublisher(ROLES, **GROUPS, hierarchies={"zip": tables[0]})
    with pytest.raises(tv.ParameterError, match="other parameters: hierarchies"):
        tv.StreamPublisher.restore(publisher.state(), ROLES, **GROUPS, hierarchies={"zip": tables[1]})


def test_numbers_that_are_none_are_missing() -> None:
    ages = pa.array([21.0, float("nan"), 61.0, None])
    release, ledger = tv.publish_stream(visits().set_column(1, "age", ages), ROLES, **GROUPS)
    assert set(release.table["age"].to_pylist()) <= {"*", None}
    assert tv.verify(release, ledger)


def test_questions_about_labels_have_bounds() -> None:
    release, _ = tv.publish_stream(visits(), ROLES, **GROUPS, hierarchies={"age": "intervals:10,50"})
    answered = tv.answer(release, tv.WindowCount(where={"age": (20, 24), "ill": "flu"}))
    assert (answered.low, answered.high) == (0, 1)
    assert tv.answer(release, tv.WindowCount(where={"age": (0, 30)})).low == 2
    found = tv.answer(release, tv.WindowCount(where={"zip": "205"}), rows=True)
    assert (found.low, found.high, found.rows.num_rows) == (2, 4, 4)


def test_labels_show_less_of_what_goes_with_what() -> None:
    """In slots of 100 records, a quasi-identifier that has the value in 60 % of them."""
    rng, n = np.random.default_rng(0), 3_000
    value = rng.integers(0, 6, n)
    same = np.where(rng.random(n) < 0.6, value, rng.integers(0, 6, n))
    table = pa.table({"day": np.repeat(np.arange(30), 100), "a": [f"a{x}" for x in same], "v": value})
    roles = tv.Roles(time="day", quasi=["a"], sensitive=["v"])
    guesses = []
    for groups in ("buckets", "generalize"):
        release, ledger = tv.publish_stream(table, roles, l=3, window=7, seed=1, groups=groups)
        guesses.append(tv.attack(release, ledger, tv.StreamAdversary("correlation")).parts["guess"].mean)
    assert guesses[0] > 0.5
    assert guesses[1] < 1 / 3


def test_a_snapshot_that_does_not_show_the_order_of_its_dates_is_refused() -> None:
    """A whole table may show it; read by themselves, days and months of a snapshot could be exchanged."""
    dates = ["03/04/1990", "05/06/1990", "25/12/1990", "26/11/1990"]
    table = pa.table({"day": [1, 1, 2, 2], "born": dates, "ill": ["a", "b", "a", "b"]})
    roles = tv.Roles(time="day", quasi=["born"], sensitive=["ill"])
    how: Any = {"l": 2, "window": 1, "groups": "generalize", "hierarchies": {"born": "calendar:month,year"}}
    release, ledger = tv.publish_stream(table, roles, seed=1, **how)
    assert release.table["born"].to_pylist() == ["1990"] * 4
    assert tv.verify(release, ledger)
    publisher = tv.StreamPublisher(roles, **how)
    with pytest.raises(tv.InputError, match="not all dates, written in one way"):
        publisher.push(table.slice(0, 2))
    (slot,) = publisher.push(table.slice(2, 2))
    assert slot.release.table["born"].to_pylist() == ["1990"] * 2
