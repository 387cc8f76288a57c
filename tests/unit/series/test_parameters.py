"""Wrong parameters are named before anything is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.series.making import table_of

from timeveil.domain.roles import Roles
from timeveil.errors import InfeasibleError, InputError, ParameterError, RolesError, TimeveilError
from timeveil.models.series.method import anonymize_series

NAN, INFINITY = float("nan"), float("inf")


def refused(
    words: str, error: type[TimeveilError] = ParameterError, code: str = "bad-parameter", **given: Any
) -> None:
    table, roles = table_of()
    call: dict[str, Any] = {"table": table, "roles": roles, "k": 4, "p": 2, **given}
    with pytest.raises(error, match=words) as caught:
        anonymize_series(call.pop("table"), call.pop("roles"), **call)
    assert caught.value.code == code
    assert caught.value.hint
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"k": 4, "p": 5}, "p is 5 and k is 4; p cannot be above k"),
        ({"p": 0}, "`p` must be a whole number of at least 1"),
        ({"k": 1, "p": 1}, "`k` must be a whole number of at least 2"),
        ({"p": 2, "l": 3}, "l is 3 and p is 2"),
        ({"l": 1}, "`l` must be"),
        ({"max_level": 1}, "`max_level` must be a whole number from 2 to 52, got 1"),
        ({"max_level": 53}, "from 2 to 52, got 53"),
        ({"max_level": 3.0}, "got float"),
        ({"shape_weight": -1}, "`shape_weight`"),
        ({"shape_weight": NAN}, "`shape_weight`"),
        ({"shape_weight": INFINITY}, "`shape_weight`"),
        ({"shape_weight": "2"}, "`shape_weight`"),
        ({"effort": -1}, "`effort`"),
        ({"effort": True}, "`effort` .* got bool"),
        ({"round_outward": -1}, "`round_outward`"),
        ({"round_outward": 0}, "`round_outward` must be a whole number .*got 0"),
        ({"round_outward": 2.5}, "`round_outward`"),
        ({"method": "best"}, "`method` must be one of adaptive, kapra, naive, representative"),
        ({"method": "representative"}, "needs p of at least 3, got 2"),
        ({"center": "mode"}, "`center` must be one of mean, median"),
        ({"fill": "zero"}, "`fill` must be one of"),
        ({"publish_values": []}, "`publish_values` must be a list of at least one name"),
        ({"publish_pattern": "t1"}, "`publish_pattern` must be a list"),
        ({"publish_values": ["t0"], "publish_pattern": ["t1", "t2"]}, "no instant in common"),
    ],
)
def test_a_parameter_out_of_its_range(given: dict[str, Any], words: str) -> None:
    refused(words, **given)


@pytest.mark.parametrize("name", ["adoption", "exact"])
def test_a_parameter_that_was_removed(name: str) -> None:
    refused(f"`{name}` was removed from `anonymize-series`", **{name: True})
    with pytest.raises(TypeError, match="unexpected keyword argument 'addoption'"):
        anonymize_series(*table_of(), k=4, p=2, addoption=True)


def test_an_instant_that_is_none() -> None:
    refused(
        "`publish_values` names `t9`, which is not an instant", code="column-missing", publish_values=["t9"]
    )


def test_more_to_share_than_there_are() -> None:
    refused("40 series, so no envelope can be shared by 41", InfeasibleError, "too-few-people", k=41)


@pytest.mark.parametrize("rows", [0, 1])
def test_hardly_any_series(rows: int) -> None:
    table, roles = table_of(rows)
    refused("series, so no envelope", InfeasibleError, "too-few-people", table=table, roles=roles)


def test_l_needs_a_sensitive_column_without_gaps() -> None:
    table, roles = table_of()
    series = tuple(roles.series)
    refused("l is 2, and no column is sensitive", RolesError, "role-missing",
            roles=Roles(series=series, drop="rest"), l=2)  # fmt: skip
    gone = table.set_column(4, "ill", pa.array([None, 1] * 20))
    refused("20 values missing", InputError, "nulls", table=gone, roles=roles, l=2)


def test_an_instant_of_hardly_anybody() -> None:
    """One late clock of one person would be published as an instant of all, made up for all others."""
    rows = [(who, when, float(who + when)) for who in range(20) for when in (0, 60, 120)]
    table = pa.Table.from_pylist(
        [dict(zip(("who", "when", "x"), row, strict=True)) for row in (*rows, (7, 77, 1.5))]
    )
    roles = Roles(respondent="who", time="when", value="x")
    for fill in ("forward", "linear", "drop"):
        refused("1 of 4 instants have values of fewer than 4 people", InputError, "rare-instant",
                table=table, roles=roles, fill=fill)  # fmt: skip
    wide, names = table_of()
    gone = wide.set_column(0, "t0", pa.array([1.0] * 3 + [None] * 37))
    refused("1 of 4 instants", InputError, "rare-instant", table=gone, roles=names, fill="linear")
    enough = wide.set_column(0, "t0", pa.array([1.0] * 4 + [None] * 36))
    anonymize_series(enough, names, k=4, p=2, fill="linear", method="kapra")


@pytest.mark.parametrize("name", ["group", "pattern", "level", "t0_lo", "t1_hi"])
def test_names_of_the_release_must_be_free(name: str) -> None:
    table, roles = table_of()
    table = table.rename_columns([name if old == "town" else old for old in table.column_names])
    refused(f"the name `{name}`", RolesError, "column-clash", table=table,
            roles=Roles(series=roles.series, sensitive=["ill"], keep=[name]))  # fmt: skip


def test_not_finite_values_and_unknown_columns() -> None:
    table, roles = table_of()
    values = np.where(np.arange(40) < 3, NAN, 1.0)
    refused("3 values that are not finite .*, in `t1`", InputError, "bad-number",
            table=table.set_column(1, "t1", pa.array(values)), roles=roles)  # fmt: skip
    refused("no column `t7`", RolesError, "column-missing", roles=Roles(series=["t1", "t7"], drop="rest"))


@pytest.mark.parametrize("given", [{"round_outward": 16}, {"effort": 1001}, {"shape_weight": 1e7}])
def test_no_parameter_is_beyond_what_verify_takes(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(given))):
        anonymize_series(*table_of(), **{"k": 6, "p": 3, **given})
