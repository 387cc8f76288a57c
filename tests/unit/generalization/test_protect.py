"""Which values count as one, what is refused, and what a promise says."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import timeveil as tv

ROLES = tv.Roles(respondent="who", time="when", sensitive=["value"])


def published(values, promise, **options):
    table = pa.table(
        {"who": [f"p{n}" for n in range(len(values))], "when": ["2024-01-01"] * len(values), "value": values}
    )
    return tv.generalize_time(table, ROLES, k=2, protect={"value": promise}, **options)


@pytest.mark.parametrize(
    "values",
    [["7", "7.0"], ["7", "7.00", "x"], [1.0, float("nan"), None], pa.array([0.0, -0.0])],
    ids=["text", "mixed", "missing", "signed"],
)
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_one_value_in_two_spellings_is_one(values, engine) -> None:
    number = len(values)
    with pytest.raises(tv.ParameterError, match=f"{number - 1} different value"):
        published(values, tv.Distinct(number), engine=engine)
    if number > 2:
        assert tv.verify(*published(values, tv.Distinct(number - 1), engine=engine))


@pytest.mark.parametrize(
    ("values", "promise"),
    [
        (["1", "10", "9", "2"], tv.Closeness(0.1)),
        (["a", "b"], tv.Closeness(0.1, order=["b", "a"])),
        (["a", None, "b"], tv.Closeness(0.1, order=["b", "a"])),
        (["a", "b"], tv.Closeness(0.1, order="none")),
        ([3, 1, 2], tv.Closeness(0.1)),
        ([True, False], tv.Closeness(0.1)),
        ([True, False], tv.Closeness(0.1, order=["true", "false"])),
        (["n", "n", "n", "p"], tv.AtMost(1 / 4, of=["p"])),
        ([0, 0, 0, 1], "at-most:1/4:1"),
        ([0.0, 0.5, 0.0, 1.0], "at-most:1/4:0.5"),
        ([1, 2, None], tv.AtMost(1 / 3)),
        (pa.array(["a", "b"]).dictionary_encode(), tv.Distinct(2)),
    ],
)
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_columns_of_every_kind(values, promise, engine) -> None:
    verdict = tv.verify(*published(values, promise, engine=engine))
    assert verdict, verdict.violations


@pytest.mark.parametrize(
    ("values", "promise", "message"),
    [
        (["a", "b"], tv.Closeness(0.1), "is text, which has no order"),
        (
            ["a", "b"],
            tv.Closeness(0.1, order=["a", "c"]),
            "the order of the promise lacks 1 value of `value`",
        ),
        (["a", "b"], tv.Distinct(3), "has 2 different values, and the promise distinct needs 3"),
        (["a", "b"], tv.AtMost(1 / 3), "has 2 different values, and the promise at-most needs 3"),
        (["a", "b"], tv.Entropy(2.1), "has 2 different values, and the promise entropy needs 3"),
        (["a", "b"], "at-most:3", "must be a number above 0"),
        (["a", "b"], "at-most", "cannot be read"),
        (["a", "b"], "most:1/3", "cannot be read"),
        (["a", "b"], "distinct:3:none", "cannot be read"),
        (["a", "b"], "closeness:0.1:a<a", "not a list of different values"),
        (["a", "b"], "at-most:1/2:a|c", "the table lacks 1 named value of `value`"),
        (["a", "b"], "at-most:1/2:a|a", "not a list of different values"),
    ],
)
def test_what_is_refused(values, promise, message) -> None:
    with pytest.raises(tv.ParameterError, match=message) as caught:
        published(values, promise)
    assert caught.value.hint


def test_a_promise_needs_a_sensitive_column() -> None:
    table = pa.table({"who": ["a", "b"], "when": ["2024-01-01"] * 2, "value": ["x", "y"]})
    for column in ("who", "other"):
        with pytest.raises(tv.ParameterError, match="which is not a sensitive column"):
            tv.generalize_time(table, ROLES, k=2, protect={column: tv.Distinct(2)})


def test_an_infeasible_promise_says_what_would_help() -> None:
    with pytest.raises(tv.InfeasibleError) as caught:
        published(["a", "a", "a", "b"], tv.AtMost(1 / 2))
    assert "keeps what else is promised" in caught.value.message
    assert "all people of the table together do not keep it either" in str(caught.value.hint)


def test_no_rows_keep_any_promise() -> None:
    table = pa.table({"who": pa.array([], pa.string()), "when": pa.array([], pa.date32()), "value": []})
    release, ledger = tv.generalize_time(
        table, ROLES, k=2, protect={"value": tv.Distinct(2)}, dominance=0.5, granularities=["day"]
    )
    verdict = tv.verify(release, ledger)
    assert verdict, verdict.violations


def test_the_promise_in_words() -> None:
    release, _ = published(["a", "b", "c"], tv.AtMost(0.5), dominance=0.4)
    assert release.guarantee.sentence.split("; ")[1:] == [
        "in every group, no value of `value` is held by more than 1/2 of the people",
        "in every group, nobody has more than 0.4 of the rows",
    ]
    assert release.manifest["guarantee"]["protect"] == {"value": "at-most:1/2"}


def test_a_granularity_that_keeps_a_promise_at_coarser_levels_alone() -> None:
    """Months keep it, quarters do not unless the sexes are merged: then the quarter can still be chosen."""
    rows = [(1, 1, "f", "a"), (5, 1, "f", "b"), (2, 2, "f", "a"), (5, 2, "f", "b")]
    rows += [(6, 1, "m", "b"), (7, 1, "m", "c")]
    who, month, sex, value = map(list, zip(*rows, strict=True))
    when = [dt.date(2006, number, 5) for number in month]
    table = pa.table({"who": who, "when": when, "sex": sex, "value": value})
    roles = tv.Roles(respondent="who", time="when", quasi=["sex"], sensitive=["value"])
    options = {"hierarchies": {"sex": "suppression"}, "protect": {"value": "at-most:1/2"}}
    release, _ = tv.generalize_time(
        table, roles, 2, granularities=["month", "quarter"], choose="quarter", **options
    )
    assert release.manifest["granularity"] == "quarter"
    assert release.manifest["levels"]["sex"]["level"] == 1


@pytest.mark.parametrize("promise", [tv.Distinct(2), tv.AtMost(1 / 2), tv.Entropy(1.9), tv.Distinct(3)])
@pytest.mark.parametrize("number", ["0.0000001", "1e-7", "1E-07", "0.00000010", "100000000000000", "1e14"])
def test_a_number_among_words_is_the_same_however_it_is_spelt(number: str, promise: tv.Distinct) -> None:
    """The method and the judge count one value for it, and none for a word that is spelt like a float."""
    same = {"0.0000001": "1e-07", "100000000000000": "1e+14"}.get(number, number)
    values = ["word", number, same, "\N{SNOWMAN}", number, "word"]
    try:
        release, ledger = published(values, promise)
    except tv.InfeasibleError:
        values[2] = "another"
        release, ledger = published(values, promise)
    verdict = tv.verify(release, ledger)
    assert verdict, verdict.violations


def test_spellings_of_a_number_among_words_are_one_value() -> None:
    with pytest.raises(tv.ParameterError, match="2 different values"):
        published(["word", "0.0000001", "1e-7", "1E-07"], tv.Distinct(3))
