"""`generalize-time --after` and `--append`: what a run says, saved jobs, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pytest
from tests.cli.conftest import Cli

import timeveil as tv
from timeveil.datasets import clinic_visits, daily_cases, load_curves

ROLES = "--respondent patient --time taken_at --event case --quasi zip --sensitive result --drop-rest --k 4"
RUN = f"generalize-time later.csv {ROLES}"
VISITS = clinic_visits(rows=900, seed=4).append_column("case", pa.array(range(900)))


def save(path: str, table: pa.Table, without: Sequence[int] = ()) -> None:
    pcsv.write_csv(
        table.filter(pc.invert(pc.is_in(table["case"], value_set=pa.array(without, pa.int64())))), path
    )


@pytest.fixture
def first(cli: Cli, here: Path) -> None:
    """A first release of half a year, and the table half a year later, without two of its rows."""
    half = VISITS.filter(
        pc.less(VISITS["taken_at"], pa.scalar(1719792000, pa.int64()).cast(pa.timestamp("s")))
    )
    save("first.csv", half)
    save("later.csv", VISITS, half["case"].to_pylist()[:2])
    assert (
        cli(f"generalize-time first.csv {ROLES} --suppress 0.05 --out first --ledger first.ledger").code == 0
    )


def test_a_run_is_explained_verified_and_read_back(cli: Cli, first: None) -> None:
    said = cli(f"{RUN} --suppress 0.1 --after first.ledger --out out --ledger ledger")
    assert said.code == 0, said.err
    words = " ".join(said.out.split())
    assert "2 events that were published before are not in the table any more" in words
    assert "because of what was published before" in words
    assert "--after first.ledger" in said.out
    assert 'after=[tv.open_ledger("first.ledger")]' in said.out
    manifest = json.loads(Path("out/release.json").read_text())
    assert manifest["guarantee"] == {"name": "k-anonymity", "k": 4, "after": 1}
    assert "case" not in json.dumps(manifest["columns"])
    assert "in this release and the one before it" in Path("out/README.txt").read_text().replace("\n", " ")
    assert cli("verify out").code == 0
    alone = cli("verify out --ledger ledger")
    assert (alone.code, "1 earlier release" in alone.err, "--after" in alone.err) == (2, True, True)
    assert cli("verify out --ledger ledger --after first.ledger").code == 0
    assert cli("verify out --ledger ledger --after ledger").code == 1
    assert cli("report out --ledger ledger --after first.ledger --out private.html").code == 0
    assert cli("report out --out public.html").code == 0
    found = json.loads(cli("attack out --ledger ledger --after first.ledger --json").out)
    assert (found["releases"], found["after"]["worst"] <= 1 / 4) == (2, True)


def test_a_saved_job_continues_a_release(cli: Cli, first: None) -> None:
    """Paths are relative to the job, and the periods are those of before."""
    Path("jobs").mkdir()
    Path("jobs/job.toml").write_text(
        'in = "../later.csv"\nout = "../out"\nledger = "../ledger"\nrespondent = "patient"\n'
        'time = "taken_at"\nevent = "case"\nquasi = ["zip"]\nsensitive = ["result"]\ndrop = "rest"\n'
        'k = 4\nsuppress = 0.1\nafter = ["../first.ledger"]\nappend = true\n'
    )
    said = cli("run jobs/job.toml")
    assert said.code == 0, said.err
    before, now = (tv.open_release(folder) for folder in ("first", "out"))
    assert before.manifest["granularity"] == now.manifest["granularity"]
    assert now.manifest["parameters"]["append"] is True
    assert cli("verify out --ledger ledger --after first.ledger").code == 0
    # A third release needs the ledgers of both.
    lacking = cli(f"{RUN} --suppress 0.2 --after ledger --out third")
    assert (lacking.code, "1 release that `after` lacks" in lacking.err) == (2, True)
    third = cli(f"{RUN} --suppress 0.2 --after first.ledger --after ledger --out third --ledger third.ledger")
    assert third.code == 0, third.err
    assert cli("verify third --ledger third.ledger --after first.ledger --after ledger").code == 0


def test_rows_that_come_late_wait_until_k_people_share_their_group(cli: Cli, here: Path) -> None:
    """One person more, and they are published."""
    march = [f"p{n},2024-03-{n + 1:02},x" for n in range(8)]
    april = [f"p{n},2024-04-{n + 1:02},x" for n in range(8)]
    late = [f"q{n},2024-03-20,x" for n in range(4)]
    head, options = "who,when,zip", "--respondent who --time when --quasi zip --k 4 --granularity month"
    again = options.removesuffix("--granularity month")
    for name, rows in {"a": march, "b": march + april + late[:3], "c": march + april + late}.items():
        Path(f"{name}.csv").write_text("\n".join([head, *rows]) + "\n")
    assert cli(f"generalize-time a.csv {options} --out a --ledger a.ledger").code == 0
    said = cli(f"generalize-time b.csv {again} --out b --ledger b.ledger --after a.ledger --append")
    assert "3 rows of published periods came late and wait until 4 people" in " ".join(said.out.split())
    assert tv.open_release("b").manifest["counts"]["withheld"] == 3
    last = (
        f"generalize-time c.csv {again} --out c --ledger c.ledger --after a.ledger --after b.ledger --append"
    )
    assert cli(last).code == 0
    assert tv.open_release("c").manifest["counts"]["withheld"] == 0
    assert cli("verify c --ledger c.ledger --after a.ledger --after b.ledger").code == 0


def refused(cli: Cli, command: str, fault: str) -> None:
    said = cli(f"{command} --out out --ledger ledger")
    assert (said.code, fault in " ".join(said.err.split())) == (2, True), said.err
    assert "hint: " in said.err
    assert not Path("out").exists()
    assert not Path("ledger").exists()


def test_what_cannot_be_continued_is_refused(cli: Cli, first: None) -> None:
    """Nothing is written."""
    cases = daily_cases(days=9, seed=1)
    roles = tv.Roles(time="day", respondent="person", sensitive=["diagnosis"], drop="rest")
    tv.write(tv.publish_stream(cases, roles, l=2, window=2, seed=1, allow_loss=True)[1], "stream.ledger")
    strangers = VISITS.set_column(0, "patient", pa.array([f"s{n}" for n in range(900)]))
    other = VISITS.set_column(VISITS.num_columns - 1, "case", pa.array(range(5000, 5900)))
    for name, table in {"strangers": strangers, "other": other, "nameless": VISITS}.items():
        save(f"{name}.csv", table)
        event = ROLES.replace("--event case ", "") if name == "nameless" else ROLES
        written = cli(
            f"generalize-time {name}.csv {event} --suppress 0.1 --out {name} --ledger {name}.ledger"
        )
        assert written.code == 0, written.err
    coarse = "--granularity all --suppress 0.1 --out all --ledger all.ledger"
    assert cli(f"generalize-time first.csv {ROLES} {coarse}").code == 0
    loose = f"{RUN} --suppress 0.2"
    refused(cli, f"{loose} --after stream.ledger", "of another model")
    refused(cli, f"{loose} --after strangers.ledger", "it is about other people")
    refused(cli, f"{loose} --after other.ledger", "0 of its")
    refused(cli, f"{loose} --after nameless.ledger", "not both have `case`")
    refused(cli, f"{loose} --after first.csv", "is not a ledger")
    refused(cli, f"{loose} --after first.ledger --after all.ledger --append", "periods overlap")
    refused(cli, f"{loose} --append", "`append` applies with `after` only")
    for option in ("--granularity week", "--choose loss"):
        refused(cli, f"{loose} --after first.ledger --append {option}", "cannot be set with `append`")
    refused(cli, f"{loose} --after first.ledger --append --recode local", "cannot be set with `append`")
    for option in ("--engine duckdb", "--origin first", "--visits 2"):
        refused(cli, f"{loose} --after first.ledger {option}", "cannot be combined with `after`")
    twice = VISITS.set_column(VISITS.num_columns - 1, "case", pa.array([7] * 900))
    save("later.csv", twice, [900])
    refused(cli, f"{loose} --after first.ledger", "have the person and the `case` of another row")


def test_other_models_promise_nothing_over_releases(cli: Cli, first: None) -> None:
    """An option that would be ignored is refused."""
    roles = tv.Roles(time="day", respondent="person", sensitive=["diagnosis"], drop="rest")
    release, ledger = tv.publish_stream(
        daily_cases(days=9, seed=1), roles, l=2, window=2, seed=1, allow_loss=True
    )
    tv.write(release, "stream")
    tv.write(ledger, "stream.ledger")
    for command in ("verify", "report", "measure", "attack"):
        said = cli(f"{command} stream --ledger stream.ledger --after stream.ledger")
        assert (said.code, "hint: " in said.err) == (2, True), said.err
    said = cli("verify first --after first.ledger")
    assert (said.code, "`after` applies with `ledger` only" in said.err) == (2, True)
    assert cli("verify first --ledger first.ledger --after first.ledger").code == 2
    assert cli("attack first --ledger first.ledger --after stream.ledger").code == 2
    assert cli(f"{RUN} --suppress 0.1 --after first.ledger --out out --ledger ledger").code == 0
    assert cli("verify out --ledger ledger --after stream.ledger").code == 2


def test_events_are_recognised_by_all_their_columns_from_a_file(cli: Cli, here: Path) -> None:
    """A file stores times more precisely than a table that was just read. Levels stay as they were."""
    roles = ROLES.replace("--event case ", "") + " --hierarchy zip=prefixes:3 --suppress 0.1"
    save("visits.csv", VISITS)
    assert cli(f"generalize-time visits.csv {roles} --out a --ledger a.ledger").code == 0
    for more in ("--append", ""):
        said = cli(
            f"generalize-time visits.csv {roles} --after a.ledger {more} --out b{more} --ledger l{more}"
        )
        assert said.code == 0, said.err
        assert "were published before" in said.out
        assert cli(f"verify b{more} --ledger l{more} --after a.ledger").code == 0
    first, second = (tv.open_release(folder) for folder in ("a", "b--append"))
    assert first.table.equals(second.table)
    assert first.manifest["levels"] == second.manifest["levels"]
    report = " ".join(cli("report b--append --ledger l--append --after a.ledger").out.split())
    assert "--after LEDGER --append" in report


def test_a_release_in_the_way_is_named(cli: Cli, first: None) -> None:
    """With nothing to withhold, a deletion cannot be hidden."""
    said = cli(f"{RUN} --after first.ledger --out out --json")
    assert said.code == 3
    assert "because of earlier release 1" in " ".join(said.err.split())
    assert not Path("out").exists()


def test_a_promise_about_values_is_not_blamed_on_an_earlier_release(cli: Cli, here: Path) -> None:
    """The table is the same as before, so that whatever is withheld now is withheld for the values."""
    save("visits.csv", VISITS)
    run = f"generalize-time visits.csv {ROLES} --granularity all"
    assert cli(f"{run} --suppress 0.01 --out first --ledger first.ledger").code == 0
    run = f"{run} --protect result=at-most:0.8 --after first.ledger"
    said = cli(f"{run} --suppress 0.01 --out none")
    assert (said.code, "earlier release" in said.err) == (3, False), said.err
    assert "keeps what else is promised" in " ".join(said.err.split())
    said = cli(f"{run} --suppress 0.9 --allow-loss --out out --ledger ledger")
    words = " ".join(said.out.split())
    assert (said.code, "because of what was published before or in groups that break" in words) == (0, True)


def test_what_was_shown_already_cannot_be_mended(cli: Cli, first: None) -> None:
    """A larger k than that of an earlier release."""
    said = cli(f"{RUN.replace('--k 4', '--k 9')} --suppress 0.5 --after first.ledger --out out")
    assert (said.code, "groups of earlier release 1 have fewer than 9 people" in said.err) == (3, True)


def test_a_ledger_counts_once(cli: Cli, first: None) -> None:
    """The promise states a number of releases."""
    said = cli(f"{RUN} --suppress 0.05 --after first.ledger --after first.ledger --out out")
    assert said.code == 2
    assert "ledger 2 of `after` is named twice" in said.err
    assert not Path("out").exists()


def test_a_corrected_table_with_the_same_groups_is_another_release() -> None:
    """Results are corrected and no time is: all rows stay in their groups, and both ledgers are needed."""
    table = VISITS.select(["patient", "taken_at", "case", "result"])
    roles = tv.Roles(respondent="patient", time="taken_at", event="case", sensitive=["result"])
    _, one = tv.generalize_time(table, roles, 4)
    other = table.set_column(3, "result", pa.array(["normal"] * len(table)))
    _, two = tv.generalize_time(other, roles, 4, after=[one])
    assert one.table["group"].equals(two.table["group"])
    with pytest.raises(tv.ParameterError, match="made after 1 release that `after` lacks"):
        tv.generalize_time(table, roles, 4, after=[two])
    release, ledger = tv.generalize_time(table, roles, 4, after=[one, two])
    assert release.guarantee.after == 2
    assert tv.verify(release, ledger)


def test_series_of_the_same_people_are_refused_unless_forced(cli: Cli, here: Path) -> None:
    pcsv.write_csv(load_curves(people=40, instants=6, seed=1), "loads.csv")
    run = "anonymize-series loads.csv --respondent household --series h00..h05 --drop-rest --k 4 --p 2"
    assert cli(f"{run} --out first --ledger first.ledger").code == 0
    said = cli(f"{run} --out second --after first.ledger")
    assert (said.code, "shows 40 people of this table" in " ".join(said.err.split())) == (2, True)
    assert "--force" in said.err
    assert not Path("second").exists()
    forced = cli(f"{run} --out second --ledger second.ledger --after first.ledger --force")
    assert (forced.code, "--after first.ledger --force" in forced.out) == (0, True)
    judged = cli("verify second --ledger second.ledger --after first.ledger")
    assert (judged.code, "nothing is promised over several releases" in " ".join(judged.err.split())) == (
        2,
        True,
    )


def test_a_stream_in_service_takes_no_ledgers(cli: Cli, here: Path) -> None:
    Path("inbox").mkdir()
    roles = "--respondent person --time day --sensitive diagnosis --drop-rest --l 3 --window 5"
    said = cli(f"publish-stream inbox --out out --state stream.db {roles} --after first.ledger")
    assert (said.code, "not to a stream in service" in said.err) == (2, True)
    assert not Path("stream.db").exists()
