"""Questions and numbers that make no sense end in an error of ours, in Python and on the command line."""

from __future__ import annotations

import datetime as dt
import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
from tests.conformance.releases import ASKED, KINDS, LOADS, loads, made

import timeveil as tv
from timeveil.cli import run

HUGE = 10**400
SERIES = {
    "ranges of nothing": lambda: tv.RangeCount(None),
    "ranges as a list": lambda: tv.RangeCount(["h00"]),
    "a range beyond all numbers": lambda: tv.RangeCount({"h00": (HUGE, None)}),
    "differences of nothing": lambda: tv.PatternRange(None),
    "features that are no name": lambda: tv.PatternRange({("h00", "h01"): (0, 1)}, features=[]),
    "a shape of nothing": lambda: tv.PatternSimilarity(like=None, tolerance=0.1),
    "a shape of one number": lambda: tv.PatternSimilarity(like=5, tolerance=0.1),
    "no tolerance": lambda: tv.PatternSimilarity(like=[1, 2, 3, 4, 5, 6], tolerance=None),
}
PATTERNS = {"items": lambda: tv.PatternSupport(5), "rule": lambda: tv.RuleConfidence(5, ["milk"])}
WINDOWS = {
    "where of nothing": lambda: tv.WindowCount(where=None),
    "where as a list": lambda: tv.WindowCount(where=["sex"]),
    "not text": lambda: tv.WindowCount(between=("\udcff", None)),
    "bytes": lambda: tv.WindowCount(between=(b"2024", None)),
}


@pytest.mark.parametrize(
    ("kind", "question"),
    [
        *(("series", question) for question in SERIES.values()),
        *(("patterns", question) for question in PATTERNS.values()),
        *((kind, question) for kind in ("time", "stream") for question in WINDOWS.values()),
    ],
)
def test_an_odd_question_is_refused(kind, question):
    with pytest.raises((tv.ParameterError, tv.RolesError)):
        tv.answer(made(kind)[0], question())


def one_day(at, **more):
    table = pa.table({"who": ["a", "b"], "at": at})
    return tv.generalize_time(table, tv.Roles(respondent="who", time="at"), 2, **more)[0]


@pytest.mark.parametrize("start", ["0001-01-01", "0001-01-01T00:00+14:00"])
def test_the_first_day_of_the_calendar_is_before_all_rows(start):
    at = pa.array([dt.datetime(2024, 1, 1, tzinfo=dt.UTC)] * 2, pa.timestamp("s", "Asia/Tokyo"))
    release = one_day(at, zone="Asia/Tokyo")
    assert tv.answer(release, tv.WindowCount(between=(start, None))).low == 2
    assert tv.answer(release, tv.WindowCount(between=("9999-12-31T23:59:59-14:00", None))).high == 0


@pytest.mark.parametrize("number", [2**62, 2**63 - 1, 2**63, HUGE], ids=["62", "63", "64", "1300"])
def test_no_number_is_too_large_for_relative_time(number):
    days = one_day([1, 1], unit="day", granularities=["day"])
    table = pa.table({"t": [1, 1, 2, 2], "s": ["a", "b", "a", "b"]})
    slots, _ = tv.publish_stream(table, tv.Roles(time="t", sensitive=["s"]), l=2, window=2)
    for release, rows in ((days, 2), (slots, 4)):
        assert tv.answer(release, tv.WindowCount(between=(number, None))).high == 0
        assert tv.answer(release, tv.WindowCount(between=(-number, number))).low == rows


@pytest.mark.parametrize("number", [2**63, HUGE, 10**5000], ids=["64 bits", "400 digits", "5000 digits"])
def test_a_number_that_no_file_can_store_is_refused(number):
    with pytest.raises(tv.ParameterError, match="got one beyond 9,223,372,036,854,775,807"):
        tv.anonymize_series(loads(), LOADS, k=number, p=2)
    with pytest.raises(tv.ParameterError, match="got one beyond"):
        tv.StreamPublisher(tv.Roles(time="t", sensitive=["s"]), l=number, window=2)
    with pytest.raises(tv.ParameterError, match="got one beyond"):
        tv.StreamPublisher(tv.Roles(time="t", sensitive=["s"]), l=2, window=number)


@pytest.mark.parametrize("names", [5, "h00", [5], object()])
def test_instants_to_publish_are_names(names):
    for option in ("publish_values", "publish_pattern"):
        with pytest.raises(tv.ParameterError, match="must be a list of at least one name"):
            tv.anonymize_series(loads(), LOADS, k=4, p=2, **{option: names})


@pytest.mark.parametrize("seed", [-1, 1.5, "x"])
def test_the_seed_of_exchanged_numbers_is_checked(seed):
    with pytest.raises(tv.ParameterError, match="`seed` must be a whole number from 0"):
        tv.anonymize_series(loads(), LOADS, k=4, p=2, seed=seed)


def test_the_seed_of_shifts_is_checked():
    table = pa.table({"who": ["a"], "at": ["2024-01-01"]})
    with pytest.raises(tv.ParameterError, match="`seed` must be a whole number of at least 0"):
        tv.shift_dates(table, tv.Roles(respondent="who", time="at"), seed=-1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("numbers", [{"seed": -1}, {"seed": 1.5}, {"windows": -1}, {"queries": "x"}])
def test_numbers_of_a_measurement_are_checked(kind, numbers):
    with pytest.raises(tv.ParameterError, match=f"`{next(iter(numbers))}` must be a whole number"):
        tv.measure(*made(kind), **numbers)


def test_a_seed_below_zero_is_refused():
    table = pa.table({"t": [1, 1], "s": ["a", "b"]})
    with pytest.raises(tv.ParameterError, match="`seed` must be a whole number"):
        tv.publish_stream(table, tv.Roles(time="t", sensitive=["s"]), l=2, window=2, seed=-1)


CHANGES = {
    "time": ["time.column", "guarantee.k", "counts.withheld", "candidates.month.rows_below_k"],
    "stream": ["time.slot_definition", "guarantee.l", "parameters.move_cost", "counts.rows"],
    "series": ["guarantee.k", "counts.suppressed", "parameters.p"],
    "patterns": ["guarantee.k", "counts.virtual", "parameters.min_support"],
}


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind in CHANGES for path in CHANGES[kind]])
def test_a_changed_manifest_is_found_and_never_a_bug(kind, path, tmp_path, capfd):
    """Whatever stands there: another name, nothing, a list, or a number of 400 digits."""
    folder, ledger = tv.write(made(kind)[0], tmp_path / "out"), tv.write(made(kind)[1], tmp_path / "ledger")
    file, *ways = folder / "release.json", *path.split(".")
    written = file.read_text()
    for odd in ("other", None, [], HUGE):
        manifest = json.loads(written)
        inner = manifest
        for key in ways[:-1]:
            inner = inner[key]
        inner[ways[-1]] = odd
        file.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
        assert run(["verify", str(folder)]) in (1, 2)
        assert run(["query", str(folder), *ASKED[kind].split()]) == 2
        assert run(["measure", str(folder), "--ledger", str(ledger)]) == 2
        assert "internal error" not in capfd.readouterr().err


@pytest.mark.parametrize("kind", ["time", "stream"])
def test_bytes_that_are_no_text_are_no_bound(kind, tmp_path, capfd):
    folder = tv.write(made(kind)[0], tmp_path / "out")
    assert run(["query", str(folder), "--between", os.fsdecode(b"\xff"), ".."]) == 2
    assert "is not a" in capfd.readouterr().err


def test_a_service_refuses_what_its_state_cannot_store(tmp_path: Path, capfd):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "a.csv").write_text("t,s\n2024-01-01,a\n2024-01-01,b\n")
    options = ["--time", "t", "--sensitive", "s", "--l", str(2**63), "--window", "2", "--close"]
    places = ["--state", str(tmp_path / "state.db"), "--out", str(tmp_path / "out")]
    assert run(["publish-stream", str(inbox), *places, *options]) == 2
    assert "got one beyond" in capfd.readouterr().err
