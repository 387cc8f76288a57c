"""Types and arguments that nobody expects end in an error of ours, without a value."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import timeveil as tv

MARK = "CANARY7"
ROWS = 12
TABLE = {
    "who": pa.array([f"p{row % 4}" for row in range(ROWS)]),
    "when": pa.array([dt.date(2024, 1, 1 + row // 4) for row in range(ROWS)]),
    "zip": pa.array(["x"] * ROWS),
    "ill": pa.array([f"v{row % 3}" for row in range(ROWS)]),
    "note": pa.array(["n"] * ROWS),
}
ROLES = tv.Roles(respondent="who", time="when", quasi=["zip"], sensitive=["ill"], keep=["note"])
WHOLE = pa.array([row % 4 for row in range(ROWS)])
FAR = pa.array([2**31 - 1 - row % 4 for row in range(ROWS)], pa.int32())
UNUSUAL = {
    "unknown zone": (WHOLE.cast(pa.timestamp("us", "Mars/Base")), "unknown time zone"),
    "offset as zone": (WHOLE.cast(pa.timestamp("us", "+05:30")), None),
    "far dates": (FAR.view(pa.date32()), "outside the years 1 to 9999"),
    "far times": (pa.array([2**62] * ROWS).cast(pa.timestamp("us")), "outside the years 1 to 9999"),
    "last day": (pa.array([dt.date(9999, 12, 31)] * ROWS), None),
    "negative scale": (pa.array([Decimal(3000)] * ROWS, pa.decimal128(9, -3)), None),
    "no room": (pa.array([Decimal(3000)] * ROWS, pa.decimal256(76, -3)), "cannot be published"),
}


def calls(table: pa.Table) -> list[Any]:
    accepted = {"accept_risk": ["ill", "note"], "nulls": "withhold"}

    def push() -> None:
        publisher = tv.StreamPublisher(ROLES, l=2, window=2, **accepted)
        publisher.push(table)
        tv.StreamPublisher.restore(publisher.state(), ROLES, l=2, window=2, **accepted).close()

    def judged(pair: Any) -> None:
        tv.verify(*pair)
        tv.attack(*pair)

    few = {"k": 2, "suppress": 0.9, **accepted}
    return [
        lambda: judged(tv.generalize_time(table, ROLES, **few)),
        *(
            lambda rule=rule: tv.generalize_time(table, ROLES, **few, hierarchies={"zip": rule})
            for rule in RULES
        ),
        lambda: judged(tv.publish_stream(table, ROLES, l=2, window=2, **accepted)),
        push,
    ]


RULES = ("intervals:5", "prefixes:1", "suppression")


@pytest.mark.parametrize("column", ["who", "zip", "ill", "note"])
@pytest.mark.parametrize("kind", UNUSUAL)
def test_unusual_columns(kind: str, column: str) -> None:
    """Refused with a reason, or published, or too few alike: never a failure of Arrow or Python."""
    values, message = UNUSUAL[kind]
    for call in calls(pa.table({**TABLE, column: values})):
        if message is not None:
            with pytest.raises(tv.InputError, match=message):
                call()
        else:
            with suppress(tv.InfeasibleError, tv.ParameterError, tv.InputError):
                call()


def test_items_of_an_unknown_zone() -> None:
    table = pa.table({"who": TABLE["who"], "has": UNUSUAL["unknown zone"][0]})
    with pytest.raises(tv.InputError, match="unknown time zone"):
        tv.sanitize_patterns(table, tv.Roles(respondent="who", item="has"), k=2, min_support=2)


@pytest.mark.parametrize("values", [pa.array([b"CANARY7\xff"]), pa.array([[MARK]])])
def test_a_hierarchy_does_not_fit_every_type(values: pa.Array) -> None:
    with pytest.raises(tv.InputError, match="does not fit") as caught:
        tv.Hierarchy.prefixes([1]).level(1, values)
    assert MARK not in str(caught.value)


class Never:
    """Nothing that any parameter takes."""


ODD: list[Any] = [None, 5, b"x", [5], {"a": 1}, Never(), np.array([1, 2]), 10**400]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_odd_arguments(odd: Any) -> None:
    table = pa.table(TABLE)
    release, ledger = tv.generalize_time(table, ROLES, k=2, suppress=0.9)
    attempts = {
        "respondent": lambda: tv.read(table, tv.Roles(respondent=odd)),
        "quasi": lambda: tv.read(table, tv.Roles(quasi=odd)),
        "drop": lambda: tv.read(table, tv.Roles(drop=odd)),
        "read": lambda: tv.read(table, odd),
        "zone": lambda: tv.read(table, ROLES, zone=odd),
        "unit": lambda: tv.read(table, ROLES, unit=odd),
        "events": lambda: tv.generalize_time(table, odd, k=2),
        "stream": lambda: tv.publish_stream(table, odd),
        "cost": lambda: tv.publish_stream(table, ROLES, l=2, withhold_cost=odd),
        "series": lambda: tv.anonymize_series(table, odd, k=2, p=2),
        "patterns": lambda: tv.sanitize_patterns(table, odd, k=2, min_support=2),
        "release": lambda: tv.write(release, odd),
        "ledger": lambda: tv.write(ledger, odd),
        "open": lambda: tv.open_release(odd),
        "open ledger": lambda: tv.open_ledger(odd),
        "compare": lambda: tv.compare(odd),
        "profile": lambda: tv.profile(odd, 2),
        "ranges": lambda: tv.estimate_ranges(odd),
        "explore": lambda: tv.explore(odd, table, ROLES, k=[2, 3]),
    }
    fits = {"None": ("zone", "unit", "cost"), "5": ("cost",), "{'a': 1}": ("cost",)}
    for name, attempt in attempts.items():
        if name not in fits.get(str(odd), ()):
            with pytest.raises(tv.TimeveilError) as caught:
                attempt()
            assert caught.value.exit_code == 2, name
