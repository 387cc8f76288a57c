"""A second time or a nearly unique column is refused unless it is accepted by name."""

from __future__ import annotations

import datetime as dt
import math
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timeveil as tv
from timeveil.cli import run
from timeveil.errors import InputError
from timeveil.reading.columns import plain
from timeveil.reading.risks import FEWEST_ROWS, occurrences, reads_as_time
from timeveil.report import explain

ROWS = 240
RNG = np.random.default_rng(3)
PEOPLE = np.arange(ROWS) % 80
DAYS = (np.datetime64("2024-01-01") + RNG.integers(0, 40, ROWS)).astype("datetime64[D]")
MINUTES = (np.datetime64("2024-01-01") + RNG.permutation(60_000)[:ROWS].astype("timedelta64[m]")).astype(
    "datetime64[s]"
)
COLUMNS: dict[str, Any] = {
    "discharged": MINUTES,
    "discharged as text": [f"{minute}".replace("T", " ") for minute in MINUTES],
    "case": [f"case {person * 7919 % 1000}" for person in PEOPLE],
    "row": [f"row {number}" for number in RNG.permutation(ROWS)],
}
TIMES = ("discharged", "discharged as text")


def timed(column: str, role: str) -> tuple[pa.Table, tv.Roles]:
    values = np.where(RNG.random(ROWS) < 0.5, "flu", "cold")
    table = pa.table({"who": PEOPLE, "day": DAYS, "ill": values, "more": COLUMNS[column]})
    sensitive = ["more"] if role == "sensitive" else ["ill"]
    keep = ["ill"] if role == "sensitive" else ["more"]
    return table, tv.Roles(respondent="who", time="day", sensitive=sensitive, keep=keep)


def calls(column: str, role: str, path: Any, **options: Any) -> dict[str, Any]:
    table, roles = timed(column, role)
    pq.write_table(table, path / "in.parquet")
    wide = pa.table({"x": RNG.random(ROWS), "y": RNG.random(ROWS), "more": COLUMNS[column]})
    wide_roles = tv.Roles(series=["x", "y"], **{role: ["more"]})
    return {
        "memory": lambda: tv.generalize_time(table, roles, k=2, **options),
        "duckdb": lambda: tv.generalize_time(path / "in.parquet", roles, k=2, engine="duckdb", **options),
        "stream": lambda: tv.publish_stream(table, roles, l=2, window=3, seed=1, **options),
        "push": lambda: tv.StreamPublisher(roles, l=2, window=3, seed=1, **options).push(table),
        "series": lambda: tv.anonymize_series(wide, wide_roles, k=2, p=2, effort=0, **options),
    }


MODELS = ("memory", "duckdb", "stream", "push", "series")


# These series have no respondent, and a case number is not unique by row.
@pytest.mark.parametrize(("model", "column"), sorted({*product(MODELS, COLUMNS)} - {("series", "case")}))
def test_a_kept_column_is_refused(model: str, column: str, tmp_path: Any) -> None:
    with pytest.raises(InputError) as caught:
        calls(column, "keep", tmp_path)[model]()
    assert caught.value.code == "risky-column"
    reason = (
        "column `more` reads as a time"
        if column in TIMES
        else f"of {ROWS} rows have a value in column `more`"
    )
    assert reason in caught.value.message
    assert "accept_risk" in caught.value.hint


@pytest.mark.parametrize("model", MODELS)
def test_a_sensitive_time_is_refused_and_a_sensitive_number_is_not(model: str, tmp_path: Any) -> None:
    with pytest.raises(InputError, match="column `more` reads as a time"):
        calls("discharged", "sensitive", tmp_path)[model]()
    calls("row", "sensitive", tmp_path)[model]()


@pytest.mark.parametrize("model", ["memory", "duckdb", "stream", "series"])
def test_an_accepted_column_is_stated_everywhere(model: str, tmp_path: Any) -> None:
    release, ledger = calls("discharged", "keep", tmp_path, accept_risk=["more"])[model]()
    assert release.manifest["parameters"]["accept_risk"] == ["more"]
    verdict = tv.verify(release, ledger)
    assert verdict
    *_, warned, warned_too = [
        s for s in explain(release, ledger, verdict=verdict).sentences if "Warning" in s
    ]
    assert "`more` reads as a time" in warned
    assert "100 % of the rows have a value in `more`" in warned_too
    for report in (tv.report(release), tv.report(release, ledger)):
        assert "The publisher accepted the risk of `more`" in report.text()
        assert "Accepted columns" in report.text()
    risk = tv.attack(release, ledger).columns["more"]
    assert (risk.is_time, risk.sole) == (True, 1.0)
    tv.write(release, tmp_path / "out")
    assert "accepted that `more` may read as a time" in " ".join(
        (tmp_path / "out/README.txt").read_text().split()
    )


@pytest.mark.parametrize("model", ["memory", "stream", "series"])
def test_a_nearly_unique_sensitive_column_is_warned_about(model: str, tmp_path: Any) -> None:
    release, ledger = calls("row", "sensitive", tmp_path)[model]()
    assert any("Warning: 100 % of the rows" in sentence for sentence in explain(release, ledger).sentences)
    assert "accept_risk" not in release.manifest["parameters"]
    assert tv.attack(release, ledger).columns["more"].sole == 1.0


def test_what_is_not_a_risk_is_not_mentioned() -> None:
    table, roles = timed("row", "keep")
    table = table.set_column(3, "more", pa.array(RNG.integers(0, 30, ROWS)))
    release, ledger = tv.generalize_time(table, roles, k=2)
    assert "risks" not in ledger.facts
    assert not tv.attack(release, ledger).columns["more"].stands_out


def test_few_values_are_not_judged() -> None:
    table, roles = timed("row", "keep")
    tv.generalize_time(table.slice(0, FEWEST_ROWS - 1), roles, k=2)
    with pytest.raises(InputError):
        tv.generalize_time(table.slice(0, FEWEST_ROWS), roles, k=2)


def test_a_column_that_is_not_published_cannot_be_accepted() -> None:
    table, roles = timed("row", "keep")
    for name in ("day", "who", "nobody", 5):
        with pytest.raises(tv.RolesError, match="neither kept nor sensitive"):
            tv.generalize_time(table, roles, k=2, accept_risk=["more", name])


WRITTEN_AS_TIMES = {
    "typed": pa.array([dt.date(2024, 3, 31)]),
    "time of day": pa.array([dt.time(14, 5)]),
    "iso": pa.array(["2024-03-31", "2024-04-01T08:00:00Z", "2024-04-01 08:00:00.123+02:00"]),
    "month": pa.array(["2024-03", "2024-04"]),
    "local": pa.array(["31.03.2024", "1/4/24", "31-03-2024 14:05"]),
    "named": pa.array(["31 Mar 2024", "March 31, 2024", "1-APR-24"]),
    "clock": pa.array(["14:05", "08:00:59"]),
    "compact": pa.array(["20240331", "202403311405", None]),
    "whole numbers": pa.array([20240331, 19991231]),
    "some unknown": pa.array(["2024-03-31", "2024-04-01", "unknown"]),
}
NOT_TIMES = {
    "years": pa.array([1999, 2024]),
    "years as text": pa.array(["1999", "2024"]),
    "amounts": pa.array(["1234.50", "2024.12", "12.5"]),
    "dilutions": pa.array(["1:10", "1:40", "1:160"]),
    "codes": pa.array(["J45.0", "12345678", "10-20-30-40"]),
    "numbers": pa.array([5, 20240331]),
    "days out of range": pa.array([20241331, 20240399]),
    "one among many": pa.array(["2024-03-31", "seen again", "none"]),
    "floats": pa.array([20240331.0]),
    "nothing": pa.array([], pa.string()),
}


@pytest.mark.parametrize("name", WRITTEN_AS_TIMES)
def test_times_are_recognised(name: str) -> None:
    assert reads_as_time(WRITTEN_AS_TIMES[name])


@pytest.mark.parametrize("name", NOT_TIMES)
def test_what_is_not_a_time(name: str) -> None:
    assert not reads_as_time(NOT_TIMES[name])


def test_a_risk_may_be_accepted_while_a_stream_goes_on(tmp_path: Any) -> None:
    """A service that met a second time goes on once the column is accepted; its slots are one stream."""
    (tmp_path / "inbox").mkdir()
    for day, more in enumerate((["a", "b"], ["c", "d"], ["2024-03-31", "2024-04-01"]), start=1):
        rows = "".join(f"{day},{ill},{value}\n" for ill, value in zip(("flu", "cold"), more, strict=True))
        (tmp_path / "inbox" / f"{day}.csv").write_text(f"day,ill,more\n{rows}")
    line = (
        "publish-stream {0}/inbox --state {0}/state.db --out {0}/out --time day --sensitive ill --keep more"
    )
    words = f"{line.format(tmp_path)} --l 2 --window 1 --settle 0".split()
    assert run(words) == 2  # a file went to quarantine
    (bad,) = (tmp_path / "inbox" / "quarantine").glob("3.csv")
    bad.rename(tmp_path / "inbox" / bad.name)
    assert run([*words, "--accept-risk", "more", "--close"]) == 0
    release = tv.open_release(tmp_path / "out")
    assert (release.table.num_rows, release.manifest["parameters"]["accept_risk"]) == (6, ["more"])
    assert tv.verify(release)


@given(
    st.lists(st.tuples(st.none() | st.sampled_from([0.0, 1.5, math.nan]) | st.floats(), st.integers(0, 3)))
)
def test_rows_whose_value_only_one_person_has_are_counted(rows):
    """Values of measurements are sorted where most occur once, and hashed elsewhere."""
    column = plain("load", pa.chunked_array([pa.array([value for value, _ in rows], pa.float64())]))
    seen = occurrences(column, np.array([person for _, person in rows], np.int32))
    owners: dict[str, set[int]] = {}
    present = [(str(value + 0.0), person) for value, person in rows if value is not None]
    for value, person in present:
        owners.setdefault(value, set()).add(person)
    assert (seen.rows, seen.sole) == (len(present), sum(len(owners[value]) == 1 for value, _ in present))
