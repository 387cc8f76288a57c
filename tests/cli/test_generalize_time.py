"""The main command, from a table to a folder."""

from __future__ import annotations

import json
import shlex
import stat
from pathlib import Path
from textwrap import dedent

import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import ROLES, Cli, names

from timeveil.folder import open_ledger, open_release
from timeveil.judging import verify

RUN = f"generalize-time visits.csv --out out {ROLES}"


def test_a_run_explains_itself(cli: Cli) -> None:
    said = cli(f"{RUN} --k 3 --granularity week --granularity month --ledger ledger")
    assert said.code == 0
    assert said.err == "The ledger `ledger` identifies people: keep it private.\n"
    checks = f"{len(verify(open_release('out'), open_ledger('ledger')).checks)} checks passed,"
    command = "visits.csv --out out --respondent who --time day --quasi zip --sensitive result --k 3"
    assert said.out == dedent(
        f"""\
        visits.csv -> 3-anonymous by time, in `out`
        1. Read 12 rows about 6 people, with times to the `day`.
        2. Considered 2 granularities and tried 2.
        3. Chose `month`: 2 groups, the smallest with 3 people. It is the only allowed granularity that
           keeps the promise.
        4. `week` would leave 3 rows in 1 group below 3 people (`--suppress 0.25` would allow it).
        5. Quasi-identifiers besides the time: `zip` is published unchanged.
        6. Removed `who`, which identifies people. No row was withheld.
        7. A row loses 2.1 bits of information, and would lose 1.1 with `--recode tiling`, 1.1 with
           `--recode refined` and 1.1 with `--recode local`. Two or three known visits would never leave a
           single candidate.
        8. The times have no time zone and are used as written.
        9. Verified with the ledger, by separate code: {checks} and one on the files as written.

        What it does not protect:
        One person has up to 50 % of the rows of a group. The promise counts people: a row picked at random
        from that group belongs to that person with a chance above 1 in 3.
        In the worst group, 83.3 % of the rows have the same `result`.
        Nor does it cover: several visits, other columns, missing combinations, more than one release,
        membership and other kinds of privacy. README.txt explains each.

        To repeat this run in a new folder:
          $ timeveil generalize-time {command} --granularity week --granularity month --ledger ledger
        or in Python:
          import timeveil as tv

          roles = tv.Roles(respondent="who", time="day", quasi=["zip"], sensitive=["result"])
          release, ledger = tv.generalize_time("visits.csv", roles, k=3, granularities=["week", "month"])
          assert tv.verify(release, ledger)
          tv.write(release, "out")
          tv.write(ledger, "ledger")
        """
    )


def test_the_folder_and_the_ledger_are_there(cli: Cli, here: Path) -> None:
    assert cli(f"{RUN} -k 2 --ledger ledger").code == 0
    assert names("out") == ["README.txt", "data.parquet", "release.json"]
    assert names() == ["ledger", "out", "visits.csv"]
    assert stat.S_IMODE(Path("ledger").stat().st_mode) == 0o600
    assert open_release("out").manifest["granularity"] == "week"
    assert open_ledger("ledger").original.rows == 12


def test_no_ledger_unless_asked_for(cli: Cli, here: Path) -> None:
    assert cli(f"{RUN} --k 2").code == 0
    assert names() == ["out", "visits.csv"]


def test_json_is_the_same_as_data(cli: Cli) -> None:
    text = cli(f"{RUN} --k 2")
    said = cli(f"{RUN.replace('--out out', '--out again')} --k 2 --json")
    told = json.loads(said.out)
    assert said.code == 0
    assert said.err == ""
    assert told["granularity"] == "week"
    assert told["people"] == 6
    assert told["counts"] == {"rows": 12, "groups": 4, "smallest_group": 2, "withheld": 0, "rows_read": 12}
    assert told["verified"]["holds"] is True
    assert told["exposure"]["commonest_sensitive"] == {"result": 1.0}
    assert all(" ".join(sentence.split()) in " ".join(text.out.split()) for sentence in told["sentences"])
    assert told["reproduce"]["command"].startswith("timeveil generalize-time visits.csv --out again ")


def test_quiet_says_nothing(cli: Cli) -> None:
    said = cli(f"{RUN} --k 2 --quiet")
    assert (said.code, said.out, said.err) == (0, "", "")


def test_csv(cli: Cli) -> None:
    assert cli(f"{RUN} --k 2 --format csv").code == 0
    head = Path("out/data.csv").read_text().splitlines()[:2]
    assert head == [
        '"zip","result","day","day_start","day_end"',
        '"10","bad","2024-W01",2024-01-01,2024-01-08',
    ]


OTHERS = {
    "suppress": "--k 3 --suppress 0.3",
    "choose": "--k 2 --choose month",
    "hierarchies": "--k 4 --hierarchy zip=prefixes:1 --choose generality",
    "levels": "--k 4 --hierarchy zip=prefixes:1 --level zip=2 --choose month",
    "cyclic": "--k 2 --cyclic month-of-year",
    "gaps": "--k 2 --granularity business-month --gaps suppress",
    "format": "--k 2 --format csv",
    "calendar": "--k 2 --calendar clinic.toml --granularity fortnight",
    "duckdb": "--k 2 --engine duckdb --memory-limit 100MB",
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_command_and_the_python_call_do_it_again(cli: Cli, here: Path, name: str) -> None:
    Path("clinic.toml").write_text('[granularity.fortnight]\nkind = "groups"\nof = "week"\nn = 2\n')
    said = cli(f"{RUN} {OTHERS[name]} --json --ledger ledger")
    assert said.code == 0, said.err
    again = json.loads(said.out)["reproduce"]
    first = open_release("out").table
    assert first.num_rows
    Path("out").rename("first")
    Path("ledger").unlink()
    assert cli(again["command"].removeprefix("timeveil ")).code == 0
    assert open_release("out").table.equals(first)
    Path("out").rename("second")
    Path("ledger").unlink()
    exec(compile(again["python"], "again", "exec"), {})  # noqa: S102
    assert open_release("out").table.equals(first)


def test_only_what_differs_from_the_defaults_is_in_the_command(cli: Cli) -> None:
    said = cli(
        f"{RUN} --k 2 --suppress 0 --engine memory --gaps error --choose groups --format parquet --json"
    )
    command = json.loads(said.out)["reproduce"]["command"]
    assert shlex.split(command) == ["timeveil", *shlex.split(RUN), "--k", "2"]


def test_withheld_rows_are_told_by_reason(cli: Cli, here: Path) -> None:
    with Path("visits.csv").open("a") as file:
        file.write("gerd,2024-01-15,10,ok\n,2024-01-15,10,ok\ngerd,,10,ok\nhans,2024-01-20,10,ok\n")
    options = "--granularity business-month --gaps suppress --nulls withhold --suppress 0.4 --allow-loss"
    said = cli(f"{RUN} --k 4 {options}")
    assert said.code == 0, said.err
    assert (
        "Withheld 9 rows (56.2 %): 5 in groups of fewer than 4 people, 2 in gaps of the calendar, "
        "2 without a person or a time." in " ".join(said.out.split())
    )


def test_times_on_the_clocks_of_a_zone(cli: Cli, here: Path) -> None:
    rows = ["who,at", *(f"p{n},2024-03-31T0{n}:30:00Z" for n in range(6))]
    Path("aware.csv").write_text("\n".join(rows) + "\n")
    said = cli("generalize-time aware.csv --out out --respondent who --time at --k 2 --zone Europe/Berlin")
    assert said.code == 0
    assert "Times were read in the time zone Europe/Berlin." in said.out
    assert "--zone Europe/Berlin" in said.out


def test_relative_times(cli: Cli, here: Path) -> None:
    Path("offsets.csv").write_text("who,after\n" + "".join(f"p{n},{n * 30}\n" for n in range(10)))
    said = cli("generalize-time offsets.csv --out out --respondent who --time after --k 2 --unit minute")
    assert said.code == 0
    assert (
        "Times are whole numbers of the unit minute, counted from a start that is not published." in said.out
    )


def test_nothing_of_the_person_is_in_the_folder(cli: Cli) -> None:
    assert cli(f"{RUN} --k 2").code == 0
    written = b"".join(path.read_bytes() for path in Path("out").iterdir())
    assert b"anna" not in written
    assert "who" not in pq.read_schema("out/data.parquet").names


def test_a_release_that_fails_verification_is_not_written(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from timeveil.domain.judgement import Verdict, Violation

    broken = Verdict("with ledger", ("people",), (Violation("people-below-k", "1 group below 2 people"),))
    monkeypatch.setattr("timeveil.jobs.publish.verify", lambda *_: broken)
    said = cli(f"{RUN} --k 2 --ledger ledger")
    assert said.code == 1
    assert said.out == (
        "violated: the release does not keep its promise, so nothing was written\n  1 group below 2 people\n"
    )
    assert names() == ["visits.csv"]
    assert json.loads(cli(f"{RUN} --k 2 --json").out)["verified"]["holds"] is False


def test_least_general_combinations_are_told_and_can_be_pinned(cli: Cli, here: Path) -> None:
    roles = "--respondent who --time day --quasi zip --quasi result --hierarchy zip=prefixes:1"
    line = f"generalize-time visits.csv {roles} --hierarchy result=suppression --suppress 0.2 --k 3"
    said = cli(f"{line} --out out")
    assert said.code == 0, said.err
    words = " ".join(said.out.split())
    told = words.partition("while nothing finer does: ")[2].partition(". Select")[0].split("; ")
    nodes = open_release("out").manifest["nodes"]
    assert len(told) == len(nodes) <= 8
    assert all("`result` as one value" in node or "`result` unchanged" in node for node in told)
    pin = words.partition("with options such as `")[2].partition("`.")[0]
    again = cli(f"{line} --out again {pin}")
    assert again.code == 0, again.err
    granularity, levels = pin.split()[1], dict(part.split("=") for part in pin.split()[3::2])
    assert open_release("again").manifest["granularity"] == granularity
    found = open_release("again").manifest["levels"]
    assert {name: str(found.get(name, {"level": 0})["level"]) for name in levels} == levels
    assert (granularity, found) != tuple(open_release("out").manifest[n] for n in ("granularity", "levels"))


@pytest.mark.parametrize("level", ["zip", "zip=one", "=1", "zip=7", "who=1"])
def test_a_level_that_makes_no_sense(cli: Cli, level: str) -> None:
    said = cli(f"{RUN} --k 2 --hierarchy zip=prefixes:1 --level {level}")
    assert said.code == 2
    assert "level" in said.err
    assert names() == ["visits.csv"]


def test_the_ledger_goes_if_the_release_cannot_be_written(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    import timeveil.folder.writing
    from timeveil.errors import BundleError

    def refuse(*_: object) -> None:
        raise BundleError("the disk is full", hint="make room", code="disk-full")

    monkeypatch.setattr(timeveil.folder.writing, "_check", refuse)
    assert cli(f"{RUN} --k 2 --ledger ledger").code == 2
    assert names() == ["visits.csv"]


def test_a_second_time_is_named_on_the_command_line_and_in_a_job(cli: Cli, here: Path) -> None:
    """The run is repeated by the command that it prints, by the saved job, and by what a report states."""
    rows = [f"p{n % 9},2024-04-0{1 + n % 7},2024-05-{10 + n % 3},{50 + n % 9}" for n in range(63)]
    Path("stays.csv").write_text("\n".join(["who,admitted,discharged,age", *rows]) + "\n")
    roles = "--respondent who --time admitted --until discharged --quasi age"
    rules = "--hierarchy age=intervals:5:..55 --hierarchy admitted_to_discharged=log:2,4:..64"
    said = cli(f"generalize-time stays.csv --out out {roles} --k 3 {rules} --json --ledger ledger")
    assert said.code == 0, said.err
    first = open_release("out").table
    assert first.column_names[:2] == ["age", "admitted_to_discharged"]
    assert "discharged" not in first.column_names
    assert set(first["age"].to_pylist()) <= {"[50, 55)", "55 or more", "*"}
    assert "--until discharged" in json.loads(said.out)["reproduce"]["command"]
    report = cli("report out --ledger ledger --out report.html")
    assert report.code == 0
    assert "--until discharged" in Path("report.html").read_text()
    Path("out").rename("first")
    Path("ledger").unlink()
    job = """
        in = "stays.csv"
        out = "out"
        respondent = "who"
        time = "admitted"
        until = ["discharged"]
        quasi = ["age"]
        k = 3
        [hierarchies]
        age = "intervals:5:..55"
        admitted_to_discharged = "log:2,4:..64"
        """
    Path("job.toml").write_text(dedent(job))
    assert cli("run job.toml").code == 0
    assert open_release("out").table.equals(first)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--until day", "more than one role"),
        ("--until departed", "no column `departed`"),
        ("--until zip", "no unit is set"),
        ("--hierarchy zip=calendar:month", "not all dates"),
        ("--hierarchy zip=log:2,3", "a power of the one before"),
        ("--hierarchy zip=intervals:5:9", "LOW..HIGH"),
    ],
)
def test_what_is_no_second_time_or_hierarchy_is_refused(cli: Cli, options: str, message: str) -> None:
    roles = ROLES.replace("--quasi zip", "") if "until zip" in options else ROLES
    said = cli(f"generalize-time visits.csv --out out {roles} --k 4 {options}")
    assert said.code == 2
    assert message in said.err
    assert "hint:" in said.err
    assert names() == ["visits.csv"]
