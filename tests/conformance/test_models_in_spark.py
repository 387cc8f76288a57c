"""Patterns and series in Spark: patterns exactly as on one machine, series in parts with the same promise."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.spark import frame, needs_spark, session

import timeveil as tv
from timeveil import datasets
from timeveil.models.patterns.method import in_spark as patterns_in_spark

CANARY = "CANARY"
LOADS = datasets.load_curves(400, seed=5)
HOURS = [name for name in LOADS.column_names if name[1:].isdigit()][::3]


def baskets(rng: np.random.Generator) -> pa.Table:
    """People with some of twelve items, a few without any."""
    chances = rng.uniform(0.05, 0.6, 12)
    items = [[f"i{j}" for j in np.flatnonzero(rng.random(12) < chances)] for _ in range(300)]
    return pa.table(
        {"who": [f"p{number}" for number in range(300)], "has": pa.array(items, pa.list_(pa.string()))}
    )


@needs_spark
def test_patterns_are_those_of_one_machine(monkeypatch):
    monkeypatch.setattr(patterns_in_spark, "LEAST_ROWS", 5)  # several parts, with thresholds of their own
    monkeypatch.setattr(patterns_in_spark, "BLOCK_BYTES", 1 << 10)
    session().conf.set("spark.sql.shuffle.partitions", "3")
    rng = np.random.default_rng(3)
    table = baskets(rng)
    long = pa.table({
        "who": np.repeat(table["who"].to_numpy(), [len(cell) for cell in table["has"].to_pylist()]),
        "has": table["has"].combine_chunks().flatten(),
    })  # fmt: skip
    series = tv.Roles(series=HOURS, drop="rest")
    cases = [
        (long, tv.Roles(respondent="who", item="has"), {"k": 3, "min_support": 20, "method": "tight"}),
        (LOADS, series, {"k": 5, "min_support": 0.1, "symbols": 3, "max_len": 4, "instants": HOURS[1:]}),
    ]
    for source, roles, options in cases:
        expected, _ = tv.sanitize_patterns(source, roles, **options)
        release, ledger = tv.sanitize_patterns(frame(source), roles, engine="spark", **options)
        assert release.table.equals(expected.table)
        assert release.manifest == expected.manifest
        verdict = tv.verify(release, ledger)
        assert verdict
        assert verdict.scope == "with ledger"
    session().conf.set("spark.sql.shuffle.partitions", "2")


@needs_spark
def test_series_in_spark_are_those_of_the_same_parts():
    table = LOADS.append_column("id", pa.array([f"p{number}" for number in range(400)]))
    roles = tv.Roles(respondent="id", series=HOURS, sensitive=["tariff"], drop="rest")
    options = {"k": 5, "p": 3, "effort": 0, "parts": 3}
    expected, _ = tv.anonymize_series(table, roles, **options)
    release, ledger = tv.anonymize_series(frame(table), roles, engine="spark", **options)
    assert ledger.facts["parts"] == 3
    assert release.table.equals(expected.table)
    assert release.manifest == expected.manifest
    assert tv.verify(release, ledger)


@needs_spark
@pytest.mark.parametrize(
    ("cells", "code"),
    [
        ({"who": ["a", "a", "b"], "has": [["x"], ["y"], ["x"]]}, "person-twice"),
        ({"who": ["a", "b", "c"], "has": [["x", "x"], ["y"], ["x"]]}, "item-twice"),
        ({"who": [f"{CANARY}\u200b", CANARY, "c"], "has": [["x"], ["y"], ["x"]]}, "person-twice"),
        ({"who": ["a", "b", "c"], "has": [[CANARY], [f"{CANARY} "], ["x"]]}, "item-clash"),
    ],
)
def test_what_is_refused_on_one_machine_is_refused_in_spark(cells, code):
    table = pa.table(cells)
    roles = tv.Roles(respondent="who", item="has")
    for source, engine in ((table, "memory"), (frame(table), "spark")):
        with pytest.raises(tv.InputError) as caught:
            tv.sanitize_patterns(source, roles, k=2, min_support=2, engine=engine)
        assert caught.value.code == code
        assert CANARY not in str(caught.value)


@needs_spark
def test_gaps_in_series_are_refused_in_spark():
    table = pa.table({"a": [1.0, None, 3.0], "b": [1.0, float("nan"), 2.0]})
    with pytest.raises(tv.InputError) as caught:
        tv.anonymize_series(frame(table), tv.Roles(series=["a", "b"]), k=2, p=1, engine="spark")
    assert caught.value.code == "series-gap"


@pytest.mark.parametrize("option", [{"method": "clone"}, {"nulls": "drop"}, {"fold_spellings": True}])
def test_what_needs_rows_is_refused(option):
    with pytest.raises(tv.ParameterError) as caught:
        tv.sanitize_patterns("nowhere", tv.Roles(item="x"), k=2, min_support=2, engine="spark", **option)
    assert "stay in the cluster" in caught.value.message
