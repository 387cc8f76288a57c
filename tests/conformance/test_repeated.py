"""Models that promise nothing over several releases refuse the people of an earlier one, unless forced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.conformance import releases

import timeveil as tv
from timeveil.datasets import daily_cases

METHODS: dict[str, Any] = {
    "stream": (tv.publish_stream, lambda: daily_cases(days=15), releases.CASES, {"l": 3, "window": 5}),
    "series": (tv.anonymize_series, releases.loads, releases.LOADS, {"k": 4, "p": 2, "effort": 0}),
    "patterns": (tv.sanitize_patterns, releases.bought, releases.BOUGHT, {"k": 3, "min_support": 0.2}),
}
OTHERS: dict[str, Any] = {"allow_loss": True}


def renamed(table: pa.Table, column: str) -> pa.Table:
    """The same rows of other people."""
    at = table.schema.get_field_index(column)
    names = pc.binary_join_element_wise("other", table[column].cast(pa.string()), " ")
    return table.set_column(at, column, names)


@pytest.mark.parametrize("model", METHODS)
def test_the_same_people_again_are_refused_unless_forced(model: str) -> None:
    method, table, roles, options = METHODS[model]
    for kind in (model, "time"):
        earlier = releases.made(kind)[1]
        if kind == "time":  # another model, of the same people
            visits = releases.clinic_visits(rows=400, seed=1)
            who = table()[roles.respondent].unique().cast(pa.string())[:20]
            turns = pa.array([n % len(who) for n in range(len(visits))])
            at = visits.schema.get_field_index("patient")
            visits = visits.set_column(at, "patient", who.take(turns))
            earlier = tv.generalize_time(visits, releases.VISITS, k=3)[1]
        with pytest.raises(tv.ParameterError) as refused:
            method(table(), roles, **options, **OTHERS, after=[earlier])
        assert refused.value.code == "same-people"
        assert refused.value.facts["people"] > 0
        assert "nothing is promised over several releases" in refused.value.message
        release, ledger = method(table(), roles, **options, **OTHERS, after=[earlier], force=True)
        assert tv.verify(release, ledger)
    assert method(renamed(table(), roles.respondent), roles, **options, **OTHERS, after=[earlier])


@pytest.mark.parametrize("model", METHODS)
def test_people_without_names_cannot_be_told_from_others(model: str) -> None:
    method, table, roles, options = METHODS[model]
    nameless = replace(roles, respondent=None, drop="rest")
    rows = table()
    if model == "patterns":
        rows, nameless = pa.table({"has": [["a", "b"]] * 9}), tv.Roles(item="has")
    with pytest.raises(tv.ParameterError, match="do not both name their people"):
        method(rows, nameless, **options, **OTHERS, after=[releases.made(model)[1]])


def test_a_stream_that_begins_after_the_last_one_ended_goes_on() -> None:
    cases = daily_cases(days=20)
    days = pc.cast(cases["day"], pa.string())
    until = sorted(set(days.to_pylist()))[9]
    first, rest = cases.filter(pc.less_equal(days, until)), cases.filter(pc.greater(days, until))
    _, _, roles, options = METHODS["stream"]
    _, ledger = tv.publish_stream(first, roles, **options, **OTHERS)
    assert tv.publish_stream(rest, roles, **options, **OTHERS, after=[ledger])
    publisher = tv.StreamPublisher(roles, **options, **OTHERS, after=[ledger])
    assert publisher.push(rest) is not None
    overlapping = cases.filter(pc.greater_equal(days, until))
    for again in (
        lambda: tv.publish_stream(overlapping, roles, **options, **OTHERS, after=[ledger]),
        lambda: tv.publish_stream(rest, roles, **options, slot="week", **OTHERS, after=[ledger]),
        lambda: tv.StreamPublisher(roles, **options, **OTHERS, after=[ledger]).push(overlapping),
    ):
        with pytest.raises(tv.ParameterError, match="of this table, and nothing is promised"):
            again()
    jittered = tv.publish_stream(first, roles, **options, jitter=2, **OTHERS)[1]
    with pytest.raises(tv.ParameterError, match="nothing is promised"):
        tv.publish_stream(rest, roles, **options, **OTHERS, after=[jittered])


def test_a_path_is_not_a_ledger() -> None:
    with pytest.raises(tv.ParameterError, match="`after` has a str, not a ledger"):
        tv.anonymize_series(releases.loads(), releases.LOADS, k=4, p=2, after=["march.ledger"])  # type: ignore[list-item]
