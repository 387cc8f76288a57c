"""Wrong parameters are refused before anything is read, and the message says what to do."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

import timeveil as tv
from timeveil.models.stream.method.settings import Costs
from timeveil.models.stream.parameters import StreamParameters, costs_from_text

ROLES = tv.Roles(time="day", sensitive=["value"])


@pytest.mark.parametrize("make", [tv.StreamPublisher, lambda *a, **o: tv.publish_stream(None, *a, **o)])
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"l": 1}, "`l` must be a whole number of at least 2, got 1"),
        ({"l": 2.5}, "`l` must be a whole number of at least 2, got float"),
        ({"window": 0}, "`window` must be a whole number from 1 to 10,000, got 0"),
        ({"window": 1.5}, "`window` must be a whole number from 1 to 10,000, got float"),
        ({"jitter": -1}, "`jitter` must be a whole number from 0 to 10,000"),
        ({"window": 10**8}, "`window` must be a whole number from 1 to 10,000, got 100000000"),
        ({"jitter": 10**8}, "`jitter` must be a whole number from 0 to 10,000"),
        ({"slot": 5}, "`slot` must be a granularity or the name of one, got int"),
        ({"filler": ["never"]}, "`filler` must be one of never"),
        ({"move_cost": lambda d: min(d, 16), "jitter": 9}, "condition C2 at distance 17"),
        ({"first_window": "solve"}, "`first_window` must be one of grow, exact"),
        ({"filler": "sometimes"}, "`filler` must be one of never, last_chance, always"),
        ({"buckets": "generalise"}, "`buckets` must be one of anatomy, none"),
        ({"late": "drop"}, "`late` must be one of refuse, move"),
        ({"nulls": "ignore"}, "`nulls` must be one of error, withhold"),
        ({"seed": -1}, "`seed` must be a whole number from 0 to"),
        ({"seed": 2**128}, "`seed` must be a whole number from 0 to"),
        ({"withhold_cost": -1}, "withhold_cost is negative"),
        ({"withhold_cost": {"a": -0.5}}, "withhold_cost is negative"),
        ({"withhold_cost": float("inf")}, "not a finite number"),
        ({"withhold_cost": "much"}, "not a finite number"),
        ({"move_cost": "cubic"}, "neither `linear` nor `quadratic`"),
        ({"move_cost": 3}, "not a name, a list of numbers or a function"),
        ({"move_cost": [0, 1, 2]}, "lists 3 numbers; a window of 7 slots needs 8"),
        ({"move_cost": [1, 2, 3, 4, 5, 6, 7, 8]}, "condition C1"),
        ({"move_cost": [0, 1, 1, 4, 5, 6, 7, 8]}, "condition C2 at distance 2"),
        ({"move_cost": [0, 5, 6, 7, 8, 9, 10, 11]}, "condition C3 at distance 2"),
        ({"move_cost": [0, -1, 2, 4, 6, 8, 10, 12]}, "`move_cost` is negative"),
        ({"move_cost": lambda d: d**0.5}, "condition C3"),
        ({"move_cost": lambda d: 1 / (3 - d)}, "failed at distance 3"),
        ({"move_cost": lambda d: float("nan")}, "not a finite number"),
    ],
)
def test_a_parameter_out_of_its_range_is_refused(
    make: Callable[..., Any], options: dict[str, Any], says: str
) -> None:
    with pytest.raises(tv.ParameterError) as caught:
        make(ROLES, **options)
    assert says in caught.value.message
    assert caught.value.hint
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("roles", "code"),
    [
        (tv.Roles(time="day"), "role-missing"),
        (tv.Roles(time="day", sensitive=["a", "b"]), "role-missing"),
        (tv.Roles(time="day", sensitive=["count"]), "column-clash"),
        (tv.Roles(time="day", sensitive=["a"], quasi=["bucket"]), "column-clash"),
        (tv.Roles(time="day", sensitive=["a"], keep=["slot"]), "column-clash"),
        (tv.Roles(time="day", sensitive=["a"], quasi=[tv.weekday]), "bad-parameter"),
    ],
)
def test_roles_that_no_stream_can_have_are_refused(roles: tv.Roles, code: str) -> None:
    with pytest.raises(tv.RolesError) as caught:
        tv.StreamPublisher(roles)
    assert caught.value.code == code


def test_a_stream_needs_a_time() -> None:
    with pytest.raises(tv.RolesError) as caught:
        tv.publish_stream(pa.table({"value": ["a"]}), tv.Roles(sensitive=["value"]), l=2)
    assert caught.value.code == "role-missing"


def test_the_time_column_may_be_called_slot() -> None:
    table = pa.table({"slot": [1, 1], "value": ["a", "b"]})
    release, _ = tv.publish_stream(table, tv.Roles(time="slot", sensitive=["value"]), l=2)
    assert release.table["slot"].to_pylist() == [1, 1]


def test_l_above_the_number_of_values_is_refused() -> None:
    table = pa.table({"day": [1, 1, 2], "value": ["a", "b", "b"]})
    with pytest.raises(tv.ParameterError) as caught:
        tv.publish_stream(table, ROLES, l=3)
    assert caught.value.facts == {"l": 3, "values": 2}


@pytest.mark.parametrize("kind", [pa.string(), pa.float64()])
def test_null_values_are_refused_or_withheld(kind: pa.DataType) -> None:
    values = [1.0, None, 2.0, 3.0] if kind == pa.float64() else ["a", None, "b", "c"]
    table = pa.table({"day": [1, 1, 1, 1], "value": pa.array(values, kind)})
    with pytest.raises(tv.InputError) as caught:
        tv.publish_stream(table, ROLES, l=2)
    assert caught.value.code == "nulls"
    assert caught.value.facts == {"column": "value", "count": 1, "row": 2}
    release, ledger = tv.publish_stream(table, ROLES, l=2, nulls="withhold", allow_loss=True)
    assert release.table.num_rows == 3
    assert ledger.table["slot"].to_pylist() == [1, None, 1, 1]
    assert ledger.table["origin"].to_pylist() == [1, None, 1, 1]
    publisher = tv.StreamPublisher(ROLES, l=2, nulls="withhold")
    publisher.push(table)
    assert publisher.close()[0].data.num_rows == 3
    assert publisher.facts["incomplete"] == publisher.facts["withheld"] == 1
    assert ledger.facts["incomplete"] == ledger.facts["withheld"] == 1
    assert ledger.facts["rows"] == publisher.facts["rows_read"] == 4
    assert tv.measure(release, ledger).suppressed == 1


def test_a_sensitive_nan_is_a_null() -> None:
    table = pa.table({"day": [1, 1, 1], "value": [1.0, float("nan"), 2.0]})
    with pytest.raises(tv.InputError) as caught:
        tv.publish_stream(table, ROLES, l=2)
    assert caught.value.code == "nulls"


def test_times_a_million_slots_apart_are_refused() -> None:
    """Seconds since 1970 taken for days would make a billion empty slots."""
    table = pa.table({"day": [0, 1_700_000_000], "value": ["a", "b"]})
    for publish in (
        lambda: tv.publish_stream(table, ROLES, l=2),
        lambda: tv.StreamPublisher(ROLES).push(table),
    ):
        with pytest.raises(tv.InputError) as caught:
            publish()
        assert caught.value.code == "gap"


def test_costs_are_exact() -> None:
    costs = Costs(StreamParameters(l=2, window=3, move_cost=[0, 0.1, 0.3, 0.6], withhold_cost={"a": 0.7}))
    assert costs.unit == Fraction(1, 10)
    assert costs.move[:4] == (0, 1, 3, 6)
    assert (costs.of_value("a"), costs.of_value("b")) == (7, 6)
    assert costs.amount(7) == pytest.approx(0.7)


def test_a_table_of_costs_goes_on_with_its_last_step() -> None:
    costs = Costs(StreamParameters(l=2, window=2, jitter=3, move_cost=[0, 1, 3]))
    assert costs.move == (0, 1, 3, 5, 7, 9, 11, 13)
    assert costs.of_distance(9) == 17


def test_costs_that_are_no_fractions_keep_the_conditions() -> None:
    costs = Costs(StreamParameters(l=2, window=7, move_cost=lambda d: d**1.5))
    steps = [b - a for a, b in zip(costs.move, costs.move[1:], strict=False)]
    assert steps == sorted(steps)
    assert min(steps) > 0
    assert costs.withhold == costs.move[7]
    assert costs.amount(costs.move[4]) == pytest.approx(8)


def test_the_costs_of_withholding_may_differ_by_value() -> None:
    """A value that costs nothing to withhold is not moved."""
    table = pa.table({"day": [1, 1, 2, 2, 2, 2], "value": ["a", "a", "b", "c", "d", "e"]})
    _, moved = tv.publish_stream(table, ROLES, l=2, seed=1, allow_loss=True)
    _, withheld = tv.publish_stream(table, ROLES, l=2, seed=1, withhold_cost={"a": 0}, allow_loss=True)
    assert (moved.facts["moved"], withheld.facts["moved"]) == (2, 0)
    assert withheld.facts["withheld"] == 2
    assert withheld.facts["information_loss"] == 0


@pytest.mark.parametrize("step", [0.1, 0.3, 0.7, 1.1, 2.5])
def test_what_rounding_leaves_breaks_no_condition(step):
    costs = Costs(StreamParameters(l=2, window=7, move_cost=lambda d: step * d))
    steps = [after - before for before, after in pairwise(costs.move)]
    assert steps == sorted(steps)
    assert steps[-1] <= 1.000001 * steps[0]


@pytest.mark.parametrize(("text", "costs"), [("linear", "linear"), ("0,1,2.5", (0.0, 1.0, 2.5))])
def test_a_cost_is_typed_as_a_name_or_as_numbers(text: str, costs: Any) -> None:
    assert costs_from_text(text) == costs


def test_a_ledger_names_the_values_that_have_a_cost_of_their_own() -> None:
    costs = Costs(StreamParameters(l=2, window=3, withhold_cost={"flu": 9}))
    assert costs.as_facts(["flu", "cold"]) == {"withhold_cost": {"flu": 9.0}}
