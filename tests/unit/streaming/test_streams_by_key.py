"""A stream for every value of a column: each is that of its records alone, here and in Spark."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.spark import frame, needs_spark

import timeveil as tv
from timeveil.service.parameters import Parameters

CANARY = "canary7391"
ROLES = tv.Roles(respondent="who", time="day", quasi=["age"], sensitive=["disease"], drop="rest")
OPTIONS: dict[str, Any] = {"l": 3, "window": 4, "seed": 11}


def cases(rows: int = 900, sites: int = 3) -> pa.Table:
    rng = np.random.default_rng(5)
    first = dt.date(2024, 3, 1)
    return pa.table({
        "who": [f"p{number}" for number in range(rows)],
        "day": pa.array([first + dt.timedelta(days=int(day)) for day in rng.integers(0, 30, rows)]),
        "age": rng.integers(20, 90, rows),
        "site": [f"site {number}" for number in rng.integers(0, sites, rows)],
        "ward": rng.integers(0, 9, rows),
        "disease": rng.choice([*"abcde"], rows, p=[0.3, 0.25, 0.2, 0.15, 0.1]),
    })  # fmt: skip


def of_site(table: pa.Table, site: Any) -> pa.Table:
    return table.filter(pa.compute.equal(table["site"], site))


def shown(release: tv.Release, ledger: tv.Ledger) -> tuple[Any, ...]:
    """What a release and its ledger say; a folder has no dictionaries and describes its files."""
    manifest = {name: value for name, value in release.manifest.items() if name != "tables"}
    tables = {name: table.to_pylist() for name, table in release.tables.items()}
    original = ledger.original
    rows = original.table.to_pylist()
    facts = {**ledger.facts, "parameters": dict(ledger.facts["parameters"])}
    return manifest, tables, ledger.table.to_pylist(), rows, original.roles, original.dropped, facts


@pytest.mark.parametrize("more", [{}, {"protect_slot": 2}, {"groups": "generalize"}])
def test_each_is_the_stream_of_its_records_and_that_of_a_service(more: dict[str, Any]) -> None:
    table, options = cases(), {**OPTIONS, "allow_loss": True, **more}
    streams = tv.publish_streams(table, ROLES, "site", **options)
    assert sorted(streams) == ["site 0", "site 1", "site 2"]
    for site, (release, ledger) in streams.items():
        assert tv.verify(release, ledger)
        in_service = Parameters(ROLES, {name: value for name, value in options.items() if name != "seed"})
        publisher = in_service.publisher(site, OPTIONS["seed"])
        own = tv.publish_stream(of_site(table, site), ROLES, **options | {"seed": publisher.facts["seed"]})
        assert shown(release, ledger)[:3] == shown(*own)[:3]
    assert len({ledger.facts["seed"] for _, ledger in streams.values()}) == 3


@needs_spark
@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.int64()])
def test_spark_has_the_same_streams(kind: pa.DataType) -> None:
    table = cases()
    roles, options = ROLES, {**OPTIONS, "allow_loss": True}
    if pa.types.is_integer(kind):
        table = table.set_column(1, "day", table["day"].cast(pa.int32()).cast(kind))
    else:
        table = table.set_column(1, "day", table["day"].cast(pa.timestamp("us")).cast(kind))
    if getattr(kind, "tz", None):
        options["zone"] = "UTC"
    expected = tv.publish_streams(table, roles, "site", **options)
    streams = tv.publish_streams(frame(table), roles, "site", engine="spark", **options)
    assert list(streams) == sorted(expected)
    assert len(streams) == 3
    for site, pair in expected.items():
        assert shown(*streams[site]) == shown(*pair)
        assert tv.verify(*streams[site])


@needs_spark
def test_what_an_executor_refuses_is_refused_here() -> None:
    table = cases(60)
    odd = table.set_column(5, "disease", pa.array([CANARY, "x"] * 30))
    unnamed = table.set_column(3, "site", pa.array([None, CANARY] * 30))
    texts = table.set_column(1, "day", table["day"].cast(pa.string()))
    for rows, code in ((odd, "bad-parameter"), (unnamed, "nulls"), (texts, "bad-time")):
        with pytest.raises(tv.TimeveilError) as caught:
            tv.publish_streams(frame(rows), ROLES, "site", engine="spark", **OPTIONS)
        assert caught.value.code == code
        assert CANARY not in str(caught.value)
        assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("by", "changes", "code"),
    [
        ("disease", {}, "bad-parameter"),
        ("nowhere", {}, "column-missing"),
        ("site", {"engine": "duckdb"}, "bad-parameter"),
        ("site", {"engine": "spark", "time_format": "%d"}, "bad-parameter"),
        ("site", {"l": 1}, "bad-parameter"),
    ],
)
def test_what_does_not_fit_is_refused(by: str, changes: dict[str, Any], code: str) -> None:
    with pytest.raises(tv.TimeveilError) as caught:
        tv.publish_streams(cases(60), ROLES, by, **OPTIONS | changes)
    assert caught.value.code == code
