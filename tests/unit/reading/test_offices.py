"""One table as offices write it, in many ways: all of them give the same release."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from tests.workbooks import workbook

import timeveil as tv
from timeveil.errors import InputError, ParameterError, TimeveilError

ROLES = tv.Roles(respondent="who", time="seen", quasi=["town"], sensitive=["cost"], drop="rest")
NAMES = ("who", "seen", "town", "cost", "note")
Row = tuple[str, dt.datetime, str, float, str]


def generated(times: bool) -> list[Row]:
    rng = random.Random(5)  # noqa: S311
    first = dt.datetime(2024, 1, 1)
    rows = []
    for number in range(240):
        seen = first + dt.timedelta(days=rng.randrange(90), minutes=rng.randrange(1440) if times else 0)
        town = rng.choice(["Köln", "Zürich", "Orléans"])
        note = rng.choice(['said "no"', "two\nlines", "plain"])
        rows.append((f"p{number % 60:03}", seen, town, rng.randrange(4, 4000) / 4, note))
    return rows


DATES, TIMES = generated(times=False), generated(times=True)
Ways = dict[str, tuple[str, bytes, dict[str, str]]]


def text(
    rows: list[Row], form: str, mark: str = ",", cost: Callable[[float], str] = lambda cost: f"{cost:.2f}"
) -> str:
    def quoted(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"' if set(cell) & {mark, '"', "\n"} else cell

    def seen(moment: dt.datetime) -> str:
        return moment.strftime(form).replace("%-d", str(moment.day)).replace("%-m", str(moment.month))

    lines = [(who, seen(at), town, cost(c), note) for who, at, town, c, note in rows]
    return "".join(mark.join(map(quoted, line)) + "\r\n" for line in [NAMES, *lines])


def german(cost: float) -> str:
    return f"{cost:,.2f}".translate(str.maketrans(",.", ".,"))


def json_lines(rows: list[Row]) -> str:
    cells = [(who, str(at.date()), town, f"{c:.2f}", note) for who, at, town, c, note in rows]
    return "".join(json.dumps(dict(zip(NAMES, row, strict=True))) + "\n" for row in cells)


def feather(rows: list[Row]) -> bytes:
    target = io.BytesIO()
    pyarrow.feather.write_feather(arrow(rows), target, compression="zstd")
    return target.getvalue()


def parquet(rows: list[Row]) -> bytes:
    target = io.BytesIO()
    pq.write_table(arrow(rows), target)
    return target.getvalue()


def arrow(rows: list[Row]) -> pa.Table:
    cells = [(who, at.date(), town, f"{c:.2f}", note) for who, at, town, c, note in rows]
    return pa.table(list(map(list, zip(*cells, strict=True))), list(NAMES))


ISO = text(DATES, "%Y-%m-%d")
GERMAN = text(DATES, "%d.%m.%Y", ";", german)
DAYS: Ways = {
    "ISO": ("a.csv", ISO.encode(), {}),
    "with a byte order mark": ("a.csv", ISO.encode("utf-8-sig"), {}),
    "US": ("a.csv", text(DATES, "%m/%d/%Y").encode(), {"dates": "month/day/year"}),
    "US from Excel": ("a.csv", text(DATES, "%-m/%-d/%Y").encode(), {"dates": "month/day/year"}),
    "British": ("a.csv", text(DATES, "%d/%m/%Y").encode(), {"dates": "day/month/year"}),
    "Dutch": ("a.csv", text(DATES, "%d-%m-%Y", ";").encode(), {"dates": "day/month/year"}),
    "Japanese": ("a.csv", text(DATES, "%Y/%m/%d").encode(), {}),
    "month names": ("a.csv", text(DATES, "%d %b %Y").encode(), {"dates": "day month year"}),
    "American month names": ("a.csv", text(DATES, "%B %d, %Y").encode(), {"dates": "day month year"}),
    "digits": ("a.csv", text(DATES, "%Y%m%d").encode(), {"dates": "YYYYMMDD"}),
    "German": ("a.csv", GERMAN.encode(), {"dates": "day.month.year", "decimal": "comma"}),
    "German, Windows": (
        "a.csv",
        GERMAN.encode("cp1252"),
        {"dates": "day.month.year", "decimal": "comma", "encoding": "Windows-1252"},
    ),
    "German Excel, UTF-16": (
        "a.txt",
        text(DATES, "%d.%m.%Y", "\t", german).encode("utf-16"),
        {"dates": "day.month.year", "decimal": "comma", "encoding": "UTF-16"},
    ),
    "Excel's own mark": (
        "a.csv",
        f"sep=;\r\n{GERMAN}".encode(),
        {"dates": "day.month.year", "decimal": "comma"},
    ),
    "bars": ("a.csv", text(DATES, "%Y-%m-%d", "|").encode(), {}),
    "tabs": ("a.tsv", text(DATES, "%Y-%m-%d", "\t").encode(), {}),
    "gzip": ("a.csv.gz", gzip.compress(ISO.encode()), {}),
    "zstd": ("a.csv.zst", pa.compress(ISO.encode(), codec="zstd", asbytes=True), {}),
    "JSON lines": ("a.jsonl", json_lines(DATES).encode(), {}),
    "packed JSON lines": ("a.ndjson.gz", gzip.compress(json_lines(DATES).encode()), {}),
    "Parquet": ("a.parquet", parquet(DATES), {}),
    "Arrow": ("a.feather", feather(DATES), {}),
}
CLOCKS: Ways = {
    "ISO": ("a.csv", text(TIMES, "%Y-%m-%dT%H:%M").encode(), {}),
    "German": ("a.csv", text(TIMES, "%d.%m.%Y %H:%M:%S").encode(), {"dates": "day.month.year"}),
    "US, 12 hours": ("a.csv", text(TIMES, "%m/%d/%Y %I:%M %p").encode(), {"dates": "month/day/year"}),
    "British, 12 hours": (
        "a.csv",
        text(TIMES, "%d/%m/%Y, %I:%M:%S %p").encode(),
        {"dates": "day/month/year"},
    ),
    "ISO, 12 hours": ("a.csv", text(TIMES, "%Y-%m-%d %I:%M %p").encode(), {}),
}


def published(source: Any, **options: Any) -> tuple[pa.Table, dict[str, str]]:
    release, ledger = tv.generalize_time(source, ROLES, k=3, granularities=["month"], **options)
    assert tv.verify(release, ledger)
    return release.table, dict(ledger.facts.get("decided", {}))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pa.Table]:
    folder = tmp_path_factory.mktemp("plain")
    for name, way in {"days": DAYS["ISO"], "clocks": CLOCKS["ISO"]}.items():
        (folder / f"{name}.csv").write_bytes(way[1])
    return {name: published(folder / f"{name}.csv")[0] for name in ("days", "clocks")}


@pytest.mark.parametrize("way", DAYS)
def test_every_way_to_write_days_gives_the_same_release(
    tmp_path: Path, plain: dict[str, pa.Table], way: str
) -> None:
    name, content, decided = DAYS[way]
    (tmp_path / name).write_bytes(content)
    assert published(tmp_path / name) == (plain["days"], decided)


@pytest.mark.parametrize("way", ["German, Windows", "US", "JSON lines", "digits"])
def test_in_batches_too(tmp_path: Path, plain: dict[str, pa.Table], way: str) -> None:
    name, content, decided = DAYS[way]
    (tmp_path / name).write_bytes(content)
    assert published(tmp_path / name, engine="duckdb") == (plain["days"], decided)


@pytest.mark.parametrize("way", CLOCKS)
def test_every_way_to_write_times_gives_the_same_release(
    tmp_path: Path, plain: dict[str, pa.Table], way: str
) -> None:
    name, content, decided = CLOCKS[way]
    (tmp_path / name).write_bytes(content)
    assert published(tmp_path / name) == (plain["clocks"], decided)


def test_a_workbook_gives_the_same_release(tmp_path: Path, plain: dict[str, pa.Table]) -> None:
    pytest.importorskip("python_calamine", reason="the extra `excel`")
    days = [(who, at.date(), town, f"{c:.2f}", note) for who, at, town, c, note in DATES]
    (tmp_path / "a.xlsx").write_bytes(workbook({"empty": [], "visits": [NAMES, *days], "more": [["x"]]}))
    assert published(tmp_path / "a.xlsx") == (plain["days"], {"sheet": "visits"})
    assert published(tmp_path / "a.xlsx", sheet="visits") == (plain["days"], {})
    (tmp_path / "a.xlsx").write_bytes(workbook({"notes": [["x"]], "visits": [NAMES, *days]}))
    with pytest.raises(tv.RolesError) as refused:
        published(tmp_path / "a.xlsx")
    assert refused.value.hint == "name the sheet with sheet: `notes` was read, the first of several"
    clocks = [(who, at, town, f"{c:.2f}", note) for who, at, town, c, note in TIMES]
    (tmp_path / "b.xlsx").write_bytes(workbook({"visits": [(), (), NAMES, *clocks]}))
    assert published(tmp_path / "b.xlsx") == (plain["clocks"], {})


def test_cells_of_a_workbook_are_text_as_in_csv(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine", reason="the extra `excel`")
    rows = [["who", "at", "x"], [1001, dt.date(2024, 3, 31), "04103"], [1002, dt.date(2024, 4, 1), 99999]]
    rows += [[1003, dt.date(2024, 4, 1), 2.5], [None, None, None], [1004, dt.date(2024, 4, 1), True]]
    (tmp_path / "a.xlsx").write_bytes(workbook({"s": rows}))
    relation = tv.read(tmp_path / "a.xlsx", tv.Roles(respondent="who", time="at", keep=["x"]))
    assert relation.table["who"].to_pylist() == ["1001", "1002", "1003", "1004"]
    assert relation.table["x"].to_pylist() == ["04103", "99999", "2.5", "TRUE"]
    assert relation.axis.type == pa.date32()
    with pytest.raises(ParameterError, match="has no sheet `t`") as refused:
        tv.read(tmp_path / "a.xlsx", ROLES, sheet="t")
    assert "`s`" in refused.value.hint


def test_without_the_extra_a_workbook_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.xlsx").write_bytes(workbook({"s": [["who"]]}))
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(InputError, match=r"pip install timeveil\[excel\]"):
        tv.read(tmp_path / "a.xlsx", ROLES)


@pytest.mark.parametrize("source", ["many", "many/*.csv", "m*/a?.csv"])
def test_files_of_a_folder_are_one_table(tmp_path: Path, plain: dict[str, pa.Table], source: str) -> None:
    (tmp_path / "many").mkdir()
    for number in range(4):
        part = text(DATES[number::4], "%Y-%m-%d", ",;"[number % 2])
        (tmp_path / "many" / f"a{number}.csv").write_text(part, newline="")
    (tmp_path / "many" / ".hidden.csv").write_text("other\n")
    assert published(tmp_path / source) == (plain["days"], {})


def test_the_file_that_differs_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(ISO)
    (tmp_path / "b.csv").write_text(ISO.replace("town", "city", 1))
    with pytest.raises(InputError, match=r"`b.csv` has other columns than `a.csv`: `city`, `town`"):
        tv.read(tmp_path, ROLES)
    pq.write_table(arrow(DATES), tmp_path / "b.csv")
    (tmp_path / "b.csv").rename(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"`b.parquet` has other types than `a.csv` in `seen`"):
        tv.read(tmp_path, ROLES)


def test_days_and_months_that_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("who,seen,town,cost\n1,03/04/2024,x,1\n2,05/05/2024,x,1\n")
    with pytest.raises(InputError, match="day/month/year and as month/day/year") as refused:
        tv.read(path, ROLES)
    assert refused.value.code == "bad-time"
    for form, day in {"%d/%m/%Y": dt.date(2024, 4, 3), "%m/%d/%Y": dt.date(2024, 3, 4)}.items():
        assert f'time_format="{form}"' in refused.value.hint
        assert tv.read(path, ROLES, time_format=form).table["seen"][0].as_py() == day


def test_what_is_stated_is_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("who|seen|town|cost\n1|31.3.24 10:05|Köln|1,500\n".encode("cp850"))
    stated = {"time_format": "%d.%m.%y", "decimal": "comma", "delimiter": "pipe", "encoding": "cp850"}
    row = tv.read(path, ROLES, **stated).table.to_pylist()[0]
    assert row == {"who": "1", "seen": dt.datetime(2024, 3, 31, 10, 5), "town": "Köln", "cost": "1.500"}
    for name, value in {"delimiter": "comma", "encoding": "utf-8"}.items():
        with pytest.raises(TimeveilError):
            tv.read(path, ROLES, **{**stated, name: value})
    (tmp_path / "b.csv").write_text("who;seen;town;cost\n1;2024-03-31;x;1,5\n")
    assert tv.read(tmp_path / "b.csv", ROLES, decimal="point").table["cost"].to_pylist() == ["1,5"]


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("time_format", "%d/%m", "`time_format` does not say where day, month and year are"),
        ("time_format", "%Q", "`time_format` does not say"),
        ("delimiter", ";", "`delimiter` must be one of comma, semicolon, tab, pipe"),
        ("decimal", "dot", "`decimal` must be one of point, comma"),
        ("encoding", "klingon", "`encoding` is not an encoding of text"),
        ("encoding", "base64", "`encoding` is not an encoding of text"),
        ("sheet", "x", "`sheet` is set, but `a.csv` has none"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, option: str, value: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(ISO)
    with pytest.raises(ParameterError, match=message):
        tv.read(tmp_path / "a.csv", ROLES, **{option: value})


def test_options_about_files_do_not_fit_tables_in_memory() -> None:
    with pytest.raises(ParameterError, match="`encoding` is set, but a table in memory has none"):
        tv.read(arrow(DATES), ROLES, encoding="cp1252")


def test_a_name_twice_is_refused_only_with_a_role(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("who,seen,town,cost,x,x\n1,2024-01-01,a,2,3,4\n")
    assert tv.read(tmp_path / "a.csv", ROLES).dropped == ("x",)
    with pytest.raises(TimeveilError) as refused:
        tv.read(tmp_path / "a.csv", tv.Roles(respondent="who", time="seen", keep=["x"], drop="rest"))
    assert refused.value.code == "column-twice"


def test_series_read_thousands_and_decimal_commas(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("h0;h1;h2\n1,5;1.234;1\n2,25;12.345;2\n")
    roles = tv.Roles(series=["h0", "h1", "h2"])
    relation = tv.read(tmp_path / "a.csv", roles, needs=())
    assert relation.table.to_pylist()[0] == {"h0": "1.5", "h1": "1234", "h2": "1"}
    assert relation.decided == {"decimal": "comma"}


def test_decimal_commas_may_have_a_power_of_ten(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("h0;h1\n1,9e-05;7e-06\n0,25;1,5E+3\n")
    relation = tv.read(tmp_path / "a.csv", tv.Roles(series=["h0", "h1"]), needs=())
    assert relation.table.to_pylist() == [{"h0": "1.9e-05", "h1": "7e-06"}, {"h0": "0.25", "h1": "1.5E+3"}]


def test_a_column_with_other_text_keeps_its_commas(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("who;seen;town;cost\n1;2024-01-01;1,5;1,5\n2;2024-01-01;a;2,5\n")
    row = tv.read(tmp_path / "a.csv", ROLES).table.to_pylist()[0]
    assert (row["town"], row["cost"]) == ("1,5", "1.5")


def test_a_comma_that_may_group_thousands_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("who|seen|town|cost\n1|2024-01-01|x|1,500\n2|2024-01-01|x|12,000\n")
    assert tv.read(tmp_path / "a.csv", ROLES).table["cost"].to_pylist() == ["1,500", "12,000"]


def test_the_run_says_what_was_decided(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(GERMAN.encode("cp1252"))
    release, ledger = tv.generalize_time(tmp_path / "a.csv", ROLES, k=3, granularities=["month"])
    from timeveil.report import explain

    line = "Dates read as day.month.year; decimal comma; text read as Windows-1252."
    assert line in explain(release, ledger).sentences
    tv.write(ledger, tmp_path / "ledger")
    again = tv.open_ledger(tmp_path / "ledger")
    assert again.facts["decided"] == ledger.facts["decided"]
    assert line in explain(release, again).sentences


def test_explore_reads_the_same_table(tmp_path: Path, plain: dict[str, pa.Table]) -> None:
    (tmp_path / "a.csv").write_bytes(GERMAN.encode("cp1252"))
    options = {"granularities": ["month"], "encoding": "cp1252", "delimiter": "semicolon"}
    explored = tv.explore(tv.generalize_time, tmp_path / "a.csv", ROLES, k=[2, 3], **options)
    assert all(setting.refused is None for setting in explored.settings)
