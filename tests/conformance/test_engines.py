"""One suite for every engine: an engine is supported when it gives these answers."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance.engines import DOUBLE, assert_agree
from tests.postgres import database
from tests.spark import ALL, MARKS, frame, needs_spark

import timeveil as tv
from timeveil import datasets
from timeveil.domain.release import decode_dictionaries
from timeveil.engines import ENGINES

OTHERS = [engine for engine in ENGINES if engine not in ("memory", "spark")]
AND_SPARK = [*OTHERS, pytest.param("spark", marks=MARKS)]  # a run takes seconds there: few tests have it
VISITS = datasets.clinic_visits(rows=800, seed=3)
CLINIC = tv.Roles(
    respondent="patient", time="taken_at", quasi=["zip", "sex"], sensitive=["result"], drop="rest"
)


@pytest.fixture(scope="module", autouse=True)
def small_parts():
    """Tables of this file are cut into many parts where an engine works on one part at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("timeveil.engines.duckdb.PART_ROWS", 40)
        yield


@pytest.mark.parametrize("engine", [*OTHERS, DOUBLE])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"suppress": 0.05},
        {"suppress": 0.3, "choose": "generality"},
        {"granularities": ["day", "week", "month", "quarter"], "suppress": 0.2},
        {"granularities": ["business-day", "business-month"], "gaps": "suppress", "suppress": 0.5},
        {"granularities": ["business-day", "business-month"], "gaps": "next", "suppress": 0.5},
        {"granularities": ["shift", "day-part", "hour"], "suppress": 0.9},
        {"hierarchies": {"zip": "prefixes:4,3,2", "sex": "suppression"}},
        {"hierarchies": {"zip": "prefixes:3"}, "suppress": 0.02, "choose": "month"},
        {"recode": "local", "hierarchies": {"zip": "prefixes:3"}, "suppress": 0.1},
        {"recode": "tiling", "suppress": 0.1},
        {"recode": "refined", "suppress": 0.1},
        {"protect": {"result": "distinct:2"}, "dominance": 0.9, "suppress": 0.3},
        {"visits": 2, "suppress": 0.5},
    ],
    ids=lambda options: ",".join(options) or "default",
)
def test_clinic_visits(engine, options):
    """Believable data, every option."""
    assert_agree(VISITS, CLINIC, 4, engine, **options)


STEPS = {"recode": "local", "hierarchies": {"zip": "prefixes:3"}, "suppress": 0.1}  # the most statements
IN_CI = [{"granularities": ["business-day", "business-month"], "gaps": "next", "suppress": 0.5}]


@needs_spark
@pytest.mark.parametrize("options", [STEPS, *(IN_CI if ALL else [])], ids=",".join)
def test_clinic_visits_in_spark(options):
    """A run takes seconds there, so few options are tried, and most of them in CI."""
    assert_agree(VISITS, CLINIC, 4, "spark", **options)


@pytest.mark.parametrize("engine", OTHERS)
def test_no_quasi_identifier(engine):
    """Time alone."""
    assert_agree(VISITS, tv.Roles(respondent="patient", time="taken_at", drop="rest"), 5, engine)


@pytest.mark.parametrize("engine", AND_SPARK)
def test_zoned_instants_across_a_change_of_the_clocks(engine):
    """Aware timestamps in Rome over the autumn of 2021, by the hour and coarser."""
    start = dt.datetime(2021, 10, 30, 22, tzinfo=dt.UTC)
    when = [start + dt.timedelta(minutes=20 * i) for i in range(99)]
    table = pa.table({"who": [i % 7 for i in range(99)], "when": pa.array(when, pa.timestamp("s", "UTC"))})
    roles = tv.Roles(respondent="who", time="when")
    assert_agree(table, roles, 3, engine, zone="Europe/Rome")
    manifest, rows, *_ = assert_agree(table, roles, 3, engine, zone="Europe/Rome", choose="hour")
    assert manifest["time"]["zone"] == "Europe/Rome"
    repeated = {r["when"] for r in rows if "2021-10-31 02" in r["when"]}
    assert len(repeated) == 2


@pytest.mark.parametrize("engine", OTHERS)
def test_relative_time(engine):
    """Minutes since admission, some before it."""
    rng = np.random.default_rng(5)
    table = pa.table(
        {
            "who": rng.integers(0, 9, 200),
            "minute": rng.integers(-300, 4000, 200),
            "sex": rng.integers(0, 2, 200),
        }
    )
    roles = tv.Roles(respondent="who", time="minute", quasi=["sex"])
    manifest, rows, *_ = assert_agree(table, roles, 4, engine, unit="minute")
    assert manifest["granularity"] in ("6-hours", "day", "week")
    assert all(isinstance(row["minute_start"], int) for row in rows)


@pytest.mark.parametrize("engine", AND_SPARK)
def test_nulls_and_odd_columns(engine):
    """Null quasi values are a class; null times and people are withheld; names may be anything."""
    table = pa.table({
        'per"son': ["a", "b", None, "c", "a", "b", "c", "d"],
        "t'ime": pa.array([1, 1, 2, None, 90_000, 90_001, 90_002, 90_003], pa.timestamp("s")),
        "q;1": pa.array([None, None, None, 1.5, 2.5, 2.5, 2.5, 2.5]),
        "select": ["s"] * 8,
    })  # fmt: skip
    roles = tv.Roles(respondent='per"son', time="t'ime", quasi=["q;1"], sensitive=["select"])
    manifest, *_ = assert_agree(table, roles, 2, engine, nulls="withhold")
    assert manifest["counts"]["withheld"] == 2


@pytest.mark.parametrize("engine", AND_SPARK)
def test_names_that_differ_in_case_only(engine):
    """An engine that does not tell `ID` from `id` would publish the respondent."""
    table = pa.table({
        "ID": ["p1", "p2", "p3", "p4"] * 2,
        "t": [dt.date(2024, 1, 1)] * 4 + [dt.date(2024, 1, 2)] * 4,
        "id": [f"k{i}" for i in range(8)],
        "Zip": ["a"] * 8,
        "zip": ["x", "x", "y", "y"] * 2,
        "file_row_number": [7] * 8,
    })  # fmt: skip
    roles = tv.Roles(respondent="ID", time="t", quasi=["Zip", "zip"], keep=["id", "file_row_number"])
    _, rows, *_ = assert_agree(table, roles, 2, engine)
    assert {row["id"] for row in rows} == set(table["id"].to_pylist())


@pytest.mark.parametrize("engine", ["memory", *AND_SPARK])
def test_nothing_of_a_withheld_row_is_in_a_release(engine):
    """No value, no label, in no dictionary: what a release holds in memory may leave the building too."""
    table = pa.table({
        "who": ["p1", "p2", "p3", "p4", "q", "q"],
        "when": [dt.date(2024, 1, 1)] * 4 + [dt.date(2025, 5, 5)] * 2,
        "zip": pa.array(["a"] * 4 + ["SECRET"] * 2).dictionary_encode(),
        "result": pa.array(["neg"] * 4 + ["SECRET"] * 2).dictionary_encode(),
    })  # fmt: skip
    roles = tv.Roles(respondent="who", time="when", quasi=["zip"], sensitive=["result"])
    if engine == "postgres":
        table = database().load(decode_dictionaries(table))
    if engine == "spark":
        table = frame(table)
    release, _ = tv.generalize_time(table, roles, 2, suppress=0.5, engine=engine)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, release.table.schema) as stream:
        stream.write_table(release.table)
    written = sink.getvalue().to_pybytes()
    assert release.table.num_rows == 4
    assert b"neg" in written
    assert b"SECRET" not in written
    assert b"2025" not in written


@pytest.mark.parametrize("engine", ["duckdb"])
def test_an_engine_that_fails_tells_no_value(engine):
    """A time too large for the engine's files, if it is for that engine, is refused without being shown."""
    huge = pa.array([2**60 + 12345] * 4, pa.int64()).view(pa.timestamp("s"))
    table = pa.table({"who": ["a", "b"] * 2, "when": ["2024-01-01"] * 4, "far": huge})
    roles = tv.Roles(respondent="who", time="when", keep=["far"])
    try:
        expected, _ = tv.generalize_time(table, roles, 2, accept_risk=["far"])
        release, _ = tv.generalize_time(table, roles, 2, accept_risk=["far"], engine=engine)
        assert release.table.equals(expected.table)
    except tv.TimeveilError as refusal:
        error: BaseException | None = refusal
        while error is not None:
            assert "1152921504606859321" not in str(error)
            error = error.__cause__ or error.__context__


@pytest.mark.parametrize("engine", OTHERS)
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_tiny_tables(engine, rows):
    """None, one, two rows."""
    table = pa.table({
        "who": pa.array(["a", "b"][:rows], pa.string()),
        "when": pa.array([dt.date(2006, 1, 3)] * rows, pa.date32()),
    })  # fmt: skip
    assert_agree(table, tv.Roles(respondent="who", time="when"), 2, engine)


@pytest.mark.parametrize("engine", OTHERS)
@settings(max_examples=10)
@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 6),
            st.sampled_from(["x", None]),
            st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 1, 1)),
        ),
        max_size=25,
    ),
    k=st.integers(2, 4),
    suppress=st.sampled_from([0.0, 0.4]),
)
def test_random_tables_over_all_of_time(engine, rows, k, suppress):
    """Any year from 1 to 9999, to the microsecond."""
    table = pa.table({
        "who": pa.array([r[0] for r in rows], pa.int64()),
        "when": pa.array([r[2] for r in rows], pa.timestamp("us")),
        "place": pa.array([r[1] for r in rows], pa.string()),
    })  # fmt: skip
    assert_agree(
        table, tv.Roles(respondent="who", time="when", quasi=["place"]), k, engine, suppress=suppress
    )


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("engine", ["duckdb"])
def test_files_give_what_tables_give(engine, suffix, tmp_path: Path):
    """A path is read in batches by engines that need not hold it, with the same result."""
    path = tmp_path / f"visits{suffix}"
    if suffix == ".csv":
        pyarrow.csv.write_csv(VISITS, path)
    else:
        pq.write_table(VISITS, path)
    assert_agree(path, CLINIC, 4, engine, suppress=0.05)


def test_an_unknown_engine_is_refused():
    """With the names of those there are."""
    with pytest.raises(tv.ParameterError, match=f"must be one of {', '.join(ENGINES)}"):
        tv.generalize_time(VISITS, CLINIC, 4, engine="abacus")


UNUSUAL = {
    "date64 with a time of day": pa.array([0, 3_600_000, -1, -86_400_000], pa.int64()).cast(pa.date64()),
    "decimal32": pa.array([Decimal("1.50"), Decimal("1.50"), None, None], pa.decimal32(5, 2)),
    "decimal64": pa.array([Decimal("1.50"), Decimal("1.50"), None, None], pa.decimal64(12, 2)),
    "float16": pa.array([1.5, 1.5, None, None], pa.float16()),
    "time32 in seconds": pa.array([dt.time(1), dt.time(1), None, None], pa.time32("s")),
}


@pytest.mark.parametrize("engine", ["duckdb"])
@pytest.mark.parametrize("role", ["quasi", "keep"])
@pytest.mark.parametrize("kind", UNUSUAL)
def test_columns_of_unusual_types(kind, role, engine, tmp_path):
    """Two people share each value, and all agree on what the same value is."""
    day = [dt.date(2024, 1, 1)] * 4
    table = pa.table({"who": list("abcd"), "when": day, "what": UNUSUAL[kind]})
    roles = tv.Roles(respondent="who", time="when", **{role: ["what"]})
    accepted = {"accept_risk": roles.keep}
    manifest, *_ = assert_agree(table, roles, 2, engine, **accepted)
    assert manifest["counts"]["groups"] == (2 if role == "quasi" else 1)
    release, _ = tv.generalize_time(table, roles, 2, engine=engine, **accepted)
    for form in ("csv", "parquet"):
        assert tv.verify(tv.open_release(tv.write(release, tmp_path / form, format=form)))
