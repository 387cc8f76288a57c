"""Transactions come in long or as lists, and everybody counts once."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from timeveil.domain.roles import Roles
from timeveil.errors import TimeveilError
from timeveil.reading.collection import gather, read_baskets

LONG = Roles(respondent="who", item="what")
LISTS = Roles(item="what")


def found(table: pa.Table, roles: Roles) -> list[set[str]]:
    read = gather(read_baskets(table, roles))
    return [
        {read.names[x] for x in read.items[a:b]} for a, b in zip(read.starts, read.starts[1:], strict=False)
    ]


def test_long_and_lists_give_the_same() -> None:
    long = pa.table({"who": [2, 1, 2, 3], "what": ["tea", "milk", "milk", "tea"]})
    lists = pa.table({"what": [["tea", "milk"], ["milk"], ["tea"]]})
    assert found(long, LONG) == found(lists, LISTS) == [{"tea", "milk"}, {"milk"}, {"tea"}]
    assert gather(read_baskets(long, LONG)).basket_of_row.tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize(
    "kind", [pa.large_list(pa.string()), pa.list_(pa.large_string()), pa.list_(pa.string(), 2)]
)
def test_lists_of_any_layout(kind: pa.DataType) -> None:
    lists = pa.array([["b", "a"], ["a", "c"]], kind)
    assert found(pa.table({"what": lists}), LISTS) == [{"a", "b"}, {"a", "c"}]


def test_numbers_dates_and_categories_are_items_by_their_text() -> None:
    assert found(pa.table({"what": [[10, 9], [9]]}), LISTS) == [{"9", "10"}, {"9"}]
    named = pa.table({"who": [1, 1], "what": pa.array(["x", "y"]).dictionary_encode()})
    assert found(named, LONG) == [{"x", "y"}]


def test_an_empty_basket_is_somebody() -> None:
    assert found(pa.table({"what": [["a"], []]}), LISTS) == [{"a"}, set()]


def test_a_slice_of_lists() -> None:
    table = pa.table({"what": [["a"], ["b", "c"], ["d"]]}).slice(1, 1)
    assert found(table, LISTS) == [{"b", "c"}]


def test_rows_left_out_and_items_counted_once() -> None:
    long = pa.table({"who": [2, None, 1, 2, 3, 2], "what": ["tea", "milk", "milk", "tea", None, "milk"]})
    read = gather(read_baskets(long, LONG), "drop", "once")
    assert (read.names, read.starts.tolist(), read.items.tolist()) == (("milk", "tea"), [0, 2, 3], [0, 1, 0])
    assert (read.basket_of_row.tolist(), read.repeated) == ([0, -1, 1, 0, -1, 0], 1)
    lists = pa.table({"who": [2, None, 1, 3], "what": [["tea", "milk", "tea"], ["milk"], ["milk"], None]})
    again = gather(read_baskets(lists, LONG), "drop", "once")
    assert (again.starts.tolist(), again.items.tolist()) == ([0, 2, 3], [0, 1, 0])
    assert (again.basket_of_row.tolist(), again.repeated) == ([0, -1, 1, -1], 1)


@pytest.mark.parametrize("name", ["no item in a list", "no name", "somebody twice", "names that look alike"])
def test_what_no_policy_is_about_stays_refused(name: str) -> None:
    columns, roles, code = WRONG[name]
    with pytest.raises(TimeveilError) as caught:
        gather(read_baskets(pa.table(columns), roles), "drop", "once")
    assert caught.value.code == code


WRONG: dict[str, tuple[dict[str, Any], Roles, str]] = {
    "an item twice for a person": ({"who": [1, 1], "what": ["a", "a"]}, LONG, "item-twice"),
    "an item twice in a list": ({"what": [["a", "a"]]}, LISTS, "item-twice"),
    "names that look alike": ({"what": [["a"], ["a "]]}, LISTS, "item-clash"),
    "letters composed in two ways": ({"what": [["\u00e9"], ["e\u0301"]]}, LISTS, "item-clash"),
    "no item": ({"who": [1, 2], "what": ["a", None]}, LONG, "nulls"),
    "no name": ({"who": [1, 2], "what": ["a", " "]}, LONG, "nulls"),
    "nobody": ({"who": [1, None], "what": ["a", "b"]}, LONG, "nulls"),
    "no list": ({"what": [["a"], None]}, LISTS, "nulls"),
    "no item in a list": ({"what": [["a", None]]}, LISTS, "nulls"),
    "somebody twice": (
        {"who": [1, 1], "what": [["a"], ["b"]]},
        Roles(respondent="who", item="what"),
        "person-twice",
    ),
    "no respondent": ({"what": ["a"]}, LISTS, "role-missing"),
    "no such column": ({"who": [1], "what": ["a"]}, Roles(respondent="who", item="that"), "column-missing"),
    "a column without a role": ({"who": [1], "what": ["a"], "more": [1]}, LONG, "column-without-role"),
    "a sensitive column": (
        {"who": [1], "what": ["a"], "ill": ["x"]},
        Roles(respondent="who", item="what", sensitive=["ill"]),
        "bad-parameter",
    ),
    "lists in views": ({"what": pa.array([["a"]], pa.list_view(pa.string()))}, LISTS, "unsupported-input"),
    "lists of lists": ({"what": [[["a"]]]}, LISTS, "unsupported-input"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(name: str) -> None:
    columns, roles, code = WRONG[name]
    with pytest.raises(TimeveilError) as caught:
        found(pa.table(columns), roles)
    assert caught.value.code == code
    assert caught.value.exit_code == 2
