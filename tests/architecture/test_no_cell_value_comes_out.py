"""Whatever goes wrong, no cell value is in what a user, a log or a ticket gets to see.

Every cell of the table is a mark that occurs nowhere else. Each failure is provoked, and the marks are looked
for in the message, the hint, the facts, the whole printed traceback, warnings, logs and what the command line
prints.
"""

from __future__ import annotations

import datetime as dt
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import timeveil as tv
from timeveil.cli import run

MARK = "Xq7canary"
ROLES = tv.Roles(respondent="who", time="when", quasi=["where"], sensitive=["what"])
DAYS = [dt.datetime(1987, 6, 5 + day, 4, 3, 2) for day in range(8)]
MARKED_TIMES = ("1987", "05 04:03", "06-1")


def table(**columns: list[Any]) -> pa.Table:
    plain: dict[str, list[Any]] = {
        "who": [f"{MARK}-who-{row}" for row in range(8)],
        "when": DAYS,
        "where": [f"{MARK}-where-{row % 2}" for row in range(8)],
        "what": [f"{MARK}-what-{row}" for row in range(8)],
    }
    return pa.table({**plain, **columns})


def texts(first: str, *others: str) -> list[str]:
    return [first, *others, *(f"1987-06-{row + 10}" for row in range(7 - len(others)))]


def written(path: Path) -> tuple[tv.Release, tv.Ledger]:
    release, ledger = tv.generalize_time(table(), ROLES, k=2)
    tv.write(release, path)
    return release, ledger


def refuse_ledger_in_release(here: Path) -> None:
    _, ledger = written(here / "out")
    tv.write(ledger, here / "out" / "ledger")


def refuse_second_write(here: Path) -> None:
    release, _ = written(here / "out")
    tv.write(release, here / "out")


def open_damaged(here: Path) -> None:
    written(here / "out")
    data = here / "out" / "data.parquet"
    data.write_bytes(data.read_bytes()[:-9] + MARK.encode())
    tv.open_release(here / "out")


def read_truncated(here: Path) -> None:
    pq.write_table(table(), here / "in.parquet", compression="none", use_dictionary=False)
    content = (here / "in.parquet").read_bytes()
    (here / "in.parquet").write_bytes(content[: len(content) // 2])
    tv.read(here / "in.parquet", ROLES)


def read_ragged(here: Path) -> None:
    (here / "in.csv").write_text(f"who,when,where,what\n{MARK},1987-06-05,{MARK},{MARK},{MARK}\n")
    tv.read(here / "in.csv", ROLES)


def read_not_text(here: Path) -> None:
    (here / "in.csv").write_bytes(f"who,when,where,what\n{MARK},1987-06-05,{MARK},".encode() + b"\x81\n")
    tv.read(here / "in.csv", ROLES)


def measure_with_fewer_columns(here: Path) -> None:
    release, _ = tv.generalize_time(table(), ROLES, k=2)
    fewer = tv.Roles(respondent="who", time="when", sensitive=["what"], drop=["where"])
    _, ledger = tv.generalize_time(table(), fewer, k=2)
    tv.measure(release, ledger)


def attack_with_fewer_rows(here: Path) -> None:
    release, _ = tv.generalize_time(table(), ROLES, k=2)
    _, ledger = tv.generalize_time(table().slice(0, 6), ROLES, k=2)
    tv.attack(release, ledger)


def write_to_a_full_disk(here: Path) -> None:
    release, _ = tv.generalize_time(table(), ROLES, k=2)

    def full(_: Path) -> Any:
        raise OSError(28, f"no room for {MARK}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("timeveil.folder.writing.new_file", full)
        tv.write(release, here / "out")


def read_a_cell_of_the_wrong_type(here: Path) -> None:
    numbers = table(what=list(range(8)))
    release, _ = tv.generalize_time(numbers, ROLES, k=2)
    tv.write(release, here / "out", format="csv")
    data = here / "out" / "data.csv"
    data.write_text(data.read_text().replace(",0,", f",{MARK},"))
    from timeveil.folder import open_release

    _ = open_release(here / "out", check=False).table


def read_mixed_objects(here: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"who": [f"{MARK}{row}" for row in range(2)], "when": DAYS[:2]})
    frame["what"] = pd.Series([f"{MARK}-what", 5], dtype=object)
    tv.read(frame, tv.Roles(respondent="who", time="when", sensitive=["what"]))


def read_an_open_quote(here: Path) -> None:
    (here / "in.csv").write_text(f'who,when,where,what\n{MARK},1987-06-05,"{MARK},{MARK}\n')
    tv.read(here / "in.csv", ROLES)


def store_on_a_full_disk(here: Path) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, f"no room for {MARK}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
        tv.read(table(), ROLES, stored=True)


def ask_for_a_value_of_another_type(here: Path) -> None:
    release, _ = tv.generalize_time(table(what=list(range(8))), ROLES, k=2)
    tv.answer(release, tv.WindowCount(where={"what": MARK}))


def ask_for_a_time_that_is_none(here: Path) -> None:
    release, _ = tv.generalize_time(table(), ROLES, k=2)
    tv.answer(release, tv.WindowCount(between=(MARK, None)))


def open_a_ledger_that_is_none(here: Path) -> None:
    (here / "ledger").write_text(MARK)
    tv.open_ledger(here / "ledger")


WIDE = tv.Roles(respondent="who", series=["t0", "t1"], sensitive=["what"])
LONG = tv.Roles(respondent="who", time="when", value="load", keep=["where"])


def anonymize(roles: tv.Roles = WIDE, k: int = 2, l: int | None = None, **columns: list[Any]) -> None:
    """Series whose values are marks, too."""
    values = {"t0": [1987.6 + row for row in range(8)], "t1": [1987.5 - row for row in range(8)]}
    given = table(**({**values, **columns} if roles is WIDE else {"load": values["t0"], **columns}))
    needed = given.select([name for name in given.column_names if name in roles.columns])
    tv.anonymize_series(needed, roles, k=k, p=2, l=l)


BASKETS = tv.Roles(respondent="who", item="what")


def sanitize(roles: tv.Roles = BASKETS, k: int = 2, min_support: float = 2, **columns: list[Any]) -> None:
    """Baskets whose people and items are marks."""
    given = table(**{"what": [f"{MARK}-what-{row % 2}" for row in range(8)], **columns})
    tv.sanitize_patterns(
        given.select([name for name in given.column_names if name in roles.columns]),
        roles,
        k=k,
        min_support=min_support,
    )


def shopping(here: Path) -> tuple[tv.Release, tv.Ledger]:
    rows = table(what=[f"{MARK}-what-{row % 2}" for row in range(8)]).select(["who", "what"])
    return tv.sanitize_patterns(rows, BASKETS, k=2, min_support=2)


def open_damaged_patterns(here: Path) -> None:
    tv.write(shopping(here)[0], here / "out", format="csv")
    data = here / "out" / "data.csv"
    data.write_text(data.read_text("utf-8").replace(",4", f",{MARK}"), "utf-8")
    _ = tv.folder.open_release(here / "out", check=False).table


def measure_patterns_with_fewer_people(here: Path) -> None:
    rows = table(what=[f"{MARK}-what-{row % 2}" for row in range(8)]).select(["who", "what"]).slice(0, 6)
    tv.measure(shopping(here)[0], tv.sanitize_patterns(rows, BASKETS, k=2, min_support=2)[1])


FAILURES: dict[str, Callable[[Path], Any]] = {
    "a series of text": lambda _: anonymize(t0=[MARK] * 8),
    "a series of text among numbers": lambda _: anonymize(t0=["1987", *[f"{MARK}{row}" for row in range(7)]]),
    "not finite": lambda _: anonymize(t1=[float("nan"), *[1987.0] * 7]),
    "missing values": lambda _: anonymize(t1=[None, *[1987.0] * 7]),
    "a person twice": lambda _: anonymize(who=[MARK] * 8),
    "a person without a name": lambda _: anonymize(who=[None, *[f"{MARK}{row}" for row in range(7)]]),
    "fewer series than k": lambda _: anonymize(k=9),
    "categories and l": lambda _: anonymize(l=2, what=[MARK] * 8),
    "sensitive nulls and l": lambda _: anonymize(l=2, what=[None, *[1987] * 7]),
    "unequal lengths": lambda _: anonymize(LONG),
    "two values at one time": lambda _: anonymize(LONG, who=[MARK] * 8, when=[DAYS[0]] * 8),
    "an attribute that varies": lambda _: anonymize(LONG, who=[MARK] * 8),
    "an item twice": lambda _: sanitize(who=[MARK] * 8),
    "an item without a name": lambda _: sanitize(what=[None, *[f"{MARK}{row}" for row in range(7)]]),
    "items that look alike": lambda _: sanitize(what=[f"{MARK} ", *[MARK] * 7]),
    "no frequent item": lambda _: sanitize(min_support=5),
    "fewer people than k": lambda _: sanitize(k=9, min_support=9),
    "support below k": lambda _: sanitize(k=3),
    "patterns of text": lambda _: sanitize(
        tv.Roles(respondent="who", series=["where", "what"]), where=[MARK] * 8
    ),
    "damaged patterns": open_damaged_patterns,
    "ledger with fewer people": measure_patterns_with_fewer_people,
    "unparseable time": lambda _: tv.read(table(when=texts(f"{MARK}-when")), ROLES),
    "mixed naive and aware": lambda _: tv.read(
        table(when=texts("1987-06-05 04:03:02", "1987-06-05T04:03:02+02:00")), ROLES
    ),
    "aware without a zone": lambda _: tv.read(table(when=["1987-06-05T04:03:02+02:00"] * 8), ROLES),
    "numbers without a unit": lambda _: tv.read(table(when=[1987_06] * 8), ROLES),
    "null time": lambda _: tv.read(table(when=[None, *DAYS[1:]]), ROLES),
    "null respondent": lambda _: tv.read(table(who=[None, *(f"{MARK}{row}" for row in range(7))]), ROLES),
    "column without a role": lambda _: tv.read(table(more=[MARK] * 8), ROLES),
    "column missing": lambda _: tv.read(table().drop_columns(["where"]), ROLES),
    "unsupported type": lambda _: tv.read(table(where=[[MARK]] * 8), ROLES),
    "infeasible": lambda _: tv.generalize_time(table(), ROLES, k=5),
    "infeasible by the day": lambda _: tv.generalize_time(table(), ROLES, k=2, granularities=["day"]),
    "more than there are people": lambda _: tv.generalize_time(table(), ROLES, k=9),
    "in a gap": lambda _: tv.generalize_time(table(), ROLES, k=2, granularities=["business-day"]),
    "infeasible in DuckDB": lambda _: tv.generalize_time(table(), ROLES, k=5, engine="duckdb"),
    "value not in the hierarchy": lambda _: tv.generalize_time(
        table(), ROLES, k=5, hierarchies={"where": pa.table({"value": ["other"], "level": ["any"]})}
    ),
    "intervals of text": lambda _: tv.generalize_time(
        table(), ROLES, k=5, hierarchies={"where": tv.Hierarchy.intervals([5])}
    ),
    "ledger into release": refuse_ledger_in_release,
    "folder exists": refuse_second_write,
    "damaged folder": open_damaged,
    "truncated Parquet": read_truncated,
    "ragged CSV": read_ragged,
    "not UTF-8": read_not_text,
    "full disk": write_to_a_full_disk,
    "full disk for temporary files": store_on_a_full_disk,
    "cell of the wrong type": read_a_cell_of_the_wrong_type,
    "objects of several types": read_mixed_objects,
    "quote that does not close": read_an_open_quote,
    "value of another type": ask_for_a_value_of_another_type,
    "no time": ask_for_a_time_that_is_none,
    "no ledger": open_a_ledger_that_is_none,
    "ledger with fewer columns": measure_with_fewer_columns,
    "ledger with fewer rows": attack_with_fewer_rows,
}


def assert_clean(said: str, *, times: bool = True) -> None:
    assert MARK not in said
    if times:
        for part in MARKED_TIMES:
            assert part not in said


def assert_nothing_behind(error: BaseException) -> None:
    """No foreign exception is reachable from ours: a debugger or a ticket system would show its text."""
    pending, seen = [error.__context__, error.__cause__], 0
    while pending:
        behind = pending.pop()
        if behind is not None:
            seen += 1
            assert isinstance(behind, tv.TimeveilError), type(behind)
            assert_clean(f"{behind!r} {behind}")
            pending += [behind.__context__, behind.__cause__]
    assert seen < 5


@pytest.mark.parametrize("name", FAILURES)
def test_an_error_is_silent_about_values(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(tv.TimeveilError) as caught:
        FAILURES[name](tmp_path)
    error = caught.value
    frames = (line for line in traceback.format_exception(error) if not line.startswith("  File "))
    assert_clean("".join(frames))
    assert_clean(f"{error!r} {error.message} {error.hint} {error.facts}")
    assert_nothing_behind(error)
    assert_clean(caplog.text)


def test_nothing_printed_of_an_object_holds_a_value() -> None:
    relation = tv.read(table(), ROLES)
    release, ledger = tv.generalize_time(table(), ROLES, k=2)
    judged = (tv.verify(release, ledger), tv.profile(relation, k=2), tv.measure(release, ledger))
    for thing in (relation, release, ledger, tv.attack(release, ledger), *judged):
        assert_clean(f"{thing!r} {thing}")


def test_nothing_printed_of_patterns_holds_a_value(tmp_path: Path) -> None:
    release, ledger = shopping(tmp_path)
    judged = (tv.verify(release, ledger), tv.measure(release, ledger), tv.attack(release, ledger))
    for thing in (release, ledger, *judged):
        assert_clean(f"{thing!r} {thing}")
    spoilt = tv.Release(release.guarantee, release.manifest, {"data": release.table.slice(0, 2)})
    for verdict in (tv.verify(spoilt), tv.verify(spoilt, ledger)):
        assert not verdict
        assert_clean(str(verdict.as_dict()))


def test_a_violation_is_silent_about_values() -> None:
    release, ledger = tv.generalize_time(table(), ROLES, k=2)
    fewer = {"data": release.table.slice(0, 3)}
    spoilt = tv.Release(release.guarantee, release.manifest, fewer)
    verdict = tv.verify(spoilt, ledger)
    assert not verdict
    assert_clean(str(verdict.as_dict()))


COMMON = ["--respondent", "who", "--time", "when", "--quasi", "where", "--sensitive", "what"]
COMMANDS: dict[str, tuple[list[Any], list[str]]] = {
    "infeasible": (DAYS, ["--k", "5"]),
    "too few people": (DAYS, ["--k", "9"]),
    "unparseable": (texts(f"{MARK}-when"), ["--k", "2"]),
    "mixed zones": (texts("1987-06-05 04:03:02", "1987-06-05T04:03:02+02:00"), ["--k", "2"]),
    "unknown granularity": (DAYS, ["--k", "2", "--granularity", "fortnite"]),
    "no zone": (["1987-06-05T04:03:02+02:00"] * 8, ["--k", "2"]),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_line_is_silent_about_values(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    when, arguments = COMMANDS[name]
    pyarrow.csv.write_csv(table(when=when), tmp_path / "in.csv")
    monkeypatch.chdir(tmp_path)
    code = run(["generalize-time", "in.csv", "--out", "out", *COMMON, *arguments])
    said = capfd.readouterr()
    assert code in (2, 3), said.err
    assert said.err
    assert "Traceback" not in said.err
    assert_clean(said.out + said.err)
    assert not (tmp_path / "out").exists()
