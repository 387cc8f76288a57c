"""Tables of series come in wide or long, whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from timeveil.domain.roles import Roles
from timeveil.errors import InputError, RolesError
from timeveil.reading.collection import Collection, collect, read_series

LONG = Roles(respondent="who", time="when", value="load")


def wide(columns: dict[str, object], fill: str | None = None, **roles: object) -> Collection:
    named = {"series": [name for name in columns if name.startswith("t")], **roles}
    return collect(read_series(pa.table(columns), Roles(**named)), fill)  # type: ignore[arg-type]


def long(rows: Sequence[tuple[object, ...]], fill: str | None = None, roles: Roles = LONG) -> Collection:
    names = [*roles.columns]
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})
    return collect(read_series(table, roles), fill)  # type: ignore[arg-type]


def test_wide_is_a_matrix_in_the_order_of_the_roles() -> None:
    found = wide({"t1": [1, 2], "t2": [3.5, 4.5]}, series=["t2", "t1"])
    assert found.instants == ("t2", "t1")
    assert found.matrix.tolist() == [[3.5, 1.0], [4.5, 2.0]]
    assert found.matrix.flags.c_contiguous
    assert found.series_of_row.tolist() == [0, 1]


def test_text_that_says_numbers_is_numbers() -> None:
    found = wide({"t1": [" 1.5", "+2"], "t2": ["1e3", "-.5"]})
    assert found.matrix.tolist() == [[1.5, 1000.0], [2.0, -0.5]]


def test_a_decimal_is_the_nearest_float() -> None:
    said = [Decimal(cents) / 1000 for cents in range(-2000, 2000)]
    table = pa.table({"a": pa.array(said, pa.decimal128(10, 3))})
    found = collect(read_series(table, Roles(series=["a"])))
    assert found.matrix[:, 0].tolist() == [float(value) for value in said]


def test_attributes_are_one_row_per_series() -> None:
    found = wide({"who": ["a", "b"], "t1": [1, 2], "s": [7, 8], "c": ["x", None]},
                 respondent="who", sensitive=["s"], keep=["c"])  # fmt: skip
    assert found.attributes.to_pydict() == {"s": [7, 8], "c": ["x", None]}


@pytest.mark.parametrize(
    ("times", "names"),
    [
        ([date(2024, 2, 1), date(2024, 1, 31)], ("2024-01-31", "2024-02-01")),
        (["2024-02-01", "2024-01-31"], ("2024-01-31", "2024-02-01")),
        ([10, 9], ("9", "10")),
        ([datetime(2024, 1, 1, 14, 5), datetime(2024, 1, 1, 3)],
         ("2024-01-01 03:00:00", "2024-01-01 14:05:00")),
    ],
)  # fmt: skip
def test_long_is_pivoted_and_instants_stand_in_time_order(times: list[object], names: object) -> None:
    rows = [(who, when, value) for who, value in (("b", 1.0), ("a", 5.0)) for when in times]
    found = long([(who, when, value + place % 2) for place, (who, when, value) in enumerate(rows)])
    assert found.instants == names
    assert found.matrix.tolist() == [[2.0, 1.0], [6.0, 5.0]]
    assert found.series_of_row.tolist() == [0, 0, 1, 1]


def test_long_and_wide_give_the_same() -> None:
    matrix = np.random.default_rng(0).normal(size=(40, 7))
    rows = [(who, when, matrix[who, when]) for who in range(40) for when in range(7)]
    shuffled = [rows[place] for place in np.random.default_rng(1).permutation(len(rows))]
    found = long(shuffled)
    people = list(dict.fromkeys(who for who, _, _ in shuffled))
    assert (found.matrix == matrix[people]).all()


def test_an_attribute_of_a_person_is_the_same_in_all_rows() -> None:
    roles = Roles(respondent="who", time="when", value="load", keep=["c"])
    found = long([("a", 1, 0.0, "x"), ("b", 1, 0.0, None), ("a", 2, 1.0, "x"), ("b", 2, 1.0, None)],
                 roles=roles)  # fmt: skip
    assert found.attributes.to_pydict() == {"c": ["x", None]}
    with pytest.raises(InputError, match="1 person of 2") as caught:
        long([("a", 1, 0.0, "x"), ("b", 1, 0.0, "y"), ("a", 2, 1.0, "z"), ("b", 2, 1.0, "y")], roles=roles)
    assert caught.value.code == "attribute-varies"


@pytest.mark.parametrize(
    ("fill", "expected"),
    [
        ("forward", [[4.0, 4.0, 4.0, 1.0, 1.0], [0.0, 1.0, 2.0, 3.0, 4.0]]),
        ("linear", [[4.0, 4.0, 2.5, 1.0, 1.0], [0.0, 1.0, 2.0, 3.0, 4.0]]),
        ("drop", [[0.0, 1.0, 2.0, 3.0, 4.0]]),
    ],
)
def test_fill(fill: str, expected: list[list[float]]) -> None:
    columns: dict[str, object] = {f"t{i}": [None, float(i)] for i in range(5)}
    columns |= {"t1": [4.0, 1.0], "t3": [1.0, 3.0]}
    found = wide(columns, fill)
    assert found.matrix.tolist() == expected
    assert found.series_of_row.tolist() == ([-1, 0] if fill == "drop" else [0, 1])
    assert (found.filled, found.dropped) == ((0, 1) if fill == "drop" else (3, 0))


@pytest.mark.parametrize("fill", ["forward", "linear", "drop"])
def test_a_missing_row_and_a_null_are_filled_alike(fill: str) -> None:
    rows = [("a", 1, 1.0), ("a", 2, 2.0), ("a", 3, 3.0), ("b", 1, 5.0), ("b", 3, 9.0)]
    without, null = long(rows, fill), long([*rows, ("b", 2, None)], fill)
    assert without.matrix.tolist() == null.matrix.tolist()


@pytest.mark.parametrize("fill", ["forward", "linear"])
def test_linear_and_forward_agree_with_a_walk_along_each_row(fill: str) -> None:
    chance = np.random.default_rng(4)
    matrix, known = chance.normal(size=(200, 6)), chance.random((200, 6)) < 0.5
    known[:, 2] |= ~known.any(axis=1)
    columns = {f"t{i}": pa.array(matrix[:, i], mask=~known[:, i]) for i in range(6)}
    found = wide(columns, fill).matrix
    for row, mask, got in zip(matrix, known, found, strict=True):
        places = np.flatnonzero(mask)
        if fill == "linear":
            expected = np.interp(np.arange(6), places, row[places])
        else:
            expected = row[[max([p for p in places if p <= i], default=places[0]) for i in range(6)]]
        assert np.allclose(got, expected)


def refused(
    code: str, words: str, columns: dict[str, object], fill: str | None = None, **roles: object
) -> InputError:
    with pytest.raises(InputError, match=words) as caught:
        wide(columns, fill, **roles)
    assert caught.value.code == code
    assert caught.value.__context__ is None
    return caught.value


def test_missing_values_are_counted() -> None:
    columns = {"t1": [1, None, 2], "t2": [1, 1, None]}
    error = refused("series-gap", "missing", columns)
    assert error.message.startswith("2 of 6 values are missing, in 2 of 3 series")


def test_nothing_cannot_be_filled() -> None:
    error = refused("series-gap", "without", {"t1": [None, 1], "t2": [None, 2]}, "linear")
    assert "1 series without a single value" in error.message


def test_unequal_lengths_are_refused_before_room_is_made_for_them() -> None:
    with pytest.raises(InputError, match="2 people have values at 3 different times") as caught:
        long([("a", 1, 1.0), ("a", 2, 1.0), ("b", 3, 1.0)])
    assert caught.value.code == "series-gap"
    with pytest.raises(InputError, match="values exist"):
        long([(who, who, 1.0) for who in range(100_000)], "linear")


def test_not_finite_values_are_counted_by_column() -> None:
    columns = {"t1": [float("nan"), 1.0], "t2": [0.0, 1.0], "t3": [float("inf"), float("-inf")]}
    error = refused("bad-number", "3 values that are not finite .*`t1`, `t3`", columns)
    assert error.facts == {"columns": {"t1": 1, "t3": 2}, "count": 3}


def test_text_that_is_no_number_is_counted() -> None:
    error = refused("bad-number", "1 value that is not a number", {"t1": ["1", "1,5"]})
    assert "the first in data row 2" in error.message
    error = refused("bad-number", "the type bool", {"t1": [True, False]})
    assert error.facts == {"column": "t1"}


def test_a_person_has_one_series() -> None:
    refused("person-twice", "in 1 row", {"who": ["a", "a"], "t1": [1, 2]}, respondent="who")
    refused("nulls", "1 null, the first in data row 2", {"who": ["a", None], "t1": [1, 2]}, respondent="who")
    with pytest.raises(InputError, match="1 row too many"):
        long([("a", 1, 1.0), ("a", 1, 2.0), ("b", 1, 2.0)])


def test_roles_must_make_sense() -> None:
    with pytest.raises(RolesError, match="cannot be quasi-identifiers of patterns"):
        wide({"t1": [1], "zip": ["0"]}, quasi=["zip"])
    with pytest.raises(RolesError, match="does not fit"):
        wide({"t1": [1], "v": [0]}, value="v")
    with pytest.raises(RolesError, match="no column has the role `value`"):
        read_series(pa.table({"a": [1], "b": [1]}), Roles(respondent="a", time="b"))


def test_no_rows_are_no_series() -> None:
    assert wide({"t1": pa.array([], pa.float64())}).matrix.shape == (0, 1)
    table = pa.table({"who": pa.array([], pa.string()), "when": pa.array([], pa.int64()),
                      "load": pa.array([], pa.float64())})  # fmt: skip
    assert collect(read_series(table, LONG)).matrix.shape == (0, 0)


@pytest.mark.parametrize("kind", ["int64", "uint64", "text", "point", "power", "decimal", "long"])
def test_numbers_that_no_float_holds_are_refused_without_being_told(kind: str) -> None:
    big = 2**64 - 1 if kind == "uint64" else 2**53 + 1
    types = {"uint64": pa.uint64(), "decimal": pa.decimal128(20, 0)}
    column = pa.array([1, 2, big], types.get(kind, pa.int64()))
    written = {"text": str(big), "point": f"{big}.0", "power": "9.007199254740993e15"}
    if kind in written:
        column = pa.array(["1.5", "2", written[kind]])
    table = pa.table({"t0": [1.0, 2.0, 3.0], "t1": column})
    roles = Roles(series=["t0", "t1"])
    if kind == "long":
        table = pa.table({"a": [1, 2, 3], "b": [1, 1, 1], "c": column})
        roles = Roles(respondent="a", time="b", value="c")
    with pytest.raises(InputError, match="1 number of more than 15 digits") as caught:
        collect(read_series(table, roles))
    assert caught.value.code == "bad-number"
    assert str(big)[-6:] not in str(caught.value)


def test_whole_numbers_that_floats_hold_are_read() -> None:
    table = pa.table({"t0": [2**53 - 1, -(2**53) + 1], "t1": [1e20, 1e300], "t2": ["9e18", "1e23"]})
    found = collect(read_series(table, Roles(series=["t0", "t1", "t2"])))
    assert found.matrix.tolist() == [[2**53 - 1, 1e20, 9e18], [-(2**53) + 1, 1e300, 1e23]]


@pytest.mark.parametrize("value", [1e-310, -5e-324, 1.7e308, -1.1e300])
def test_values_beyond_what_can_be_rounded_are_refused(value: float) -> None:
    wide = read_series(pa.table({"t0": [0.0, value], "t1": [1e300, -1e-300]}), Roles(series=["t0", "t1"]))
    with pytest.raises(InputError, match="1 value smaller than 1e-300 or larger than 1e300 in size, in `t0`"):
        collect(wide)
    table = pa.table({"a": [1, 2], "b": [1, 1], "c": [0.0, value]})
    with pytest.raises(InputError, match="in `c`"):
        collect(read_series(table, Roles(respondent="a", time="b", value="c")))
