"""Publishing a stream, at once and in service, and asking how it is doing."""

from __future__ import annotations

import json
import shlex
import stat
from pathlib import Path

import pytest
from tests.cli.conftest import Cli, Said, names
from tests.service.inboxes import HEAD, day, fill, text

from timeveil.folder import open_ledger, open_release
from timeveil.judging import verify

ROLES = "--time day --quasi age --sensitive ill --drop site"
RUN = f"publish-stream cases.csv --out out {ROLES} --seed 3"
SERVE = f"publish-stream in --state s.db --out out {ROLES} --l 2 --window 3 --seed 3"
MARK = "Zk9canary"


@pytest.fixture
def cases(here: Path) -> None:
    Path("cases.csv").write_text(text(fill(here / "in", 14)))


pytestmark = pytest.mark.usefixtures("cases")


def test_a_run_explains_itself(cli: Cli) -> None:
    said = cli(f"{RUN} --l 2 --window 3 --ledger ledger")
    assert said.code == 0, said.err
    warning, ledger = said.err.splitlines()
    assert warning.startswith(
        "warning: 4 records (4.3 %) had to be withheld although no value is above 1 in 2"
    )
    assert ledger == "The ledger `ledger` identifies people: keep it private."
    command = "cases.csv --out out --time day --quasi age --sensitive ill --drop site --l 2 --window 3"
    told = said.out.splitlines()
    assert told[0] == "cases.csv -> no value in more than 1 in 2 records, in `out`"
    assert told[1].startswith(
        "1. Read 93 records in 14 slots of one `day`, with 5 values of `ill`; the commonest "
    )
    assert f"  $ timeveil publish-stream {command} --ledger ledger" in told
    assert '  release, ledger = tv.publish_stream("cases.csv", roles, l=2, window=3)' in told
    assert "What it does not protect:" in told
    assert "To repeat this run in a new folder (add the --seed you used, to move the same records):" in told
    assert "seed 3" not in said.out
    fresh = cli(
        f"{RUN} --l 2 --window 3 --ledger other".replace("--seed 3", "").replace("out out", "out new")
    )
    assert "To repeat this run in a new folder (a new seed is drawn, so other records may move):" in fresh.out
    numbered = [line for line in told if line[:1].isdigit() and ". " in line[:4]]
    assert [line.partition(".")[0] for line in numbered] == [str(n + 1) for n in range(len(numbered))]


def test_the_folder_and_the_ledger_hold(cli: Cli) -> None:
    assert cli(f"{RUN} --l 2 --window 3 --ledger ledger --quiet") == Said(0, "", "")
    assert names("out") == ["README.txt", "data.parquet", "release.json", "sensitive.parquet"]
    assert stat.S_IMODE(Path("ledger").stat().st_mode) == 0o600
    verdict = verify(open_release("out"), open_ledger("ledger"))
    assert verdict
    assert verdict.scope == "with ledger"
    manifest = Path("out/release.json").read_text()
    assert "seed" not in manifest
    assert "withheld" not in manifest


def test_json_is_the_same_as_data(cli: Cli) -> None:
    told = json.loads(cli(f"{RUN} --l 2 --window 3 --json").out)
    release = open_release("out")
    assert told["counts"] == release.manifest["counts"]
    assert told["rows"] == 93 == told["published"] + told["withheld"]
    assert told["slots_with_records"] == 14
    assert told["verified"]["holds"] is True
    assert told["true_slot_known"]["adversary"] == {"knows": "true-slot"}
    assert "seed" not in told


OTHERS = {
    "quadratic": "--l 3 --window 4 --move-cost quadratic",
    "table": "--l 3 --window 4 --move-cost 0,1,2.5,5,9 --withhold-cost 20",
    "exact": "--l 2 --window 3 --first-window exact",
    "filler": "--l 3 --window 4 --filler always --keep-empty",
    "jitter": "--l 2 --window 3 --jitter 2 --slot week",
    "no buckets": "--l 2 --window 3 --buckets none --format csv",
    "late": "--l 2 --window 3 --late move --nulls withhold",
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_command_and_the_python_call_do_it_again(cli: Cli, name: str) -> None:
    said = cli(f"{RUN} {OTHERS[name]} --json --ledger ledger")
    assert said.code == 0, said.err
    again = json.loads(said.out)["reproduce"]
    first = open_release("out").manifest
    for way in ("command", "python"):
        Path("out").rename(f"before {way}")
        Path("ledger").rename(f"ledger before {way}")
        if way == "command":
            assert cli(shlex.join(shlex.split(again["command"])[1:])).code == 0
        else:
            exec(compile(again["python"], "again", "exec"), {})  # noqa: S102
        second = open_release("out").manifest
        for section in ("parameters", "time", "columns", "guarantee"):
            assert second[section] == first[section]


WARNED = {
    "a value is too common": (["a"] * 8 + ["b", "c"], "more than 1 in 3. No window helps"),
    "a window is too small": ([*"aaabbb", *"bbbccc", *"cccaaa"] * 3, "too unevenly for a window of 1"),
}


@pytest.mark.parametrize("name", WARNED)
def test_warnings_are_told_and_explained(cli: Cli, name: str) -> None:
    values, warning = WARNED[name]
    rows = [(day(number // 6), "30", value, "x") for number, value in enumerate(values)]
    Path("cases.csv").write_text(text(rows))
    said = cli(f"{RUN} --l 3 --window 1 --allow-loss")
    assert said.code == 0, said.err
    assert said.err.startswith("warning: ")
    assert warning in said.err
    assert warning.split()[0] in " ".join(said.out.split())
    assert "Warning: " in said.out
    quiet = cli(f"{RUN.replace('--out out', '--out other')} --l 3 --window 1 --allow-loss --json")
    assert any(warning in one for one in json.loads(quiet.out)["warnings"])


REFUSED = {
    "l of 1": ("--l 1 --window 3", "`l` must be a whole number of at least 2, got 1"),
    "l of 2.5": ("--l 2.5 --window 3", "`--l` is not a whole number"),
    "window of 0": ("--l 2 --window 0", "`window` must be a whole number from 1 to 10,000, got 0"),
    "l above the values": ("--l 6 --window 3", "l is 6 but the sensitive column has 5 different values"),
    "C1": ("--l 2 --window 2 --move-cost 1,2,3", "condition C1"),
    "C2": ("--l 2 --window 2 --move-cost 0,1,1", "condition C2"),
    "C3": ("--l 2 --window 2 --move-cost 0,2,3", "condition C3"),
    "negative": ("--l 2 --window 3 --withhold-cost -1", "withhold_cost is negative"),
    "no cost": ("--l 2 --window 3 --move-cost 0,x", "`move_cost` is neither"),
    "unknown cost": ("--l 2 --window 3 --move-cost cubic", "neither `linear` nor `quadratic`"),
    "slot": ("--l 2 --window 3 --slot dya", "`dya` is not a granularity"),
    "filler": ("--l 2 --window 3 --filler sometimes", "`filler` must be one of never"),
    "format": ("--l 2 --window 3 --format xml", "`format` must be one of parquet, csv"),
    "state for a file": ("--l 2 --window 3 --state s.db", "`state` applies to an inbox folder"),
    "follow a file": ("--l 2 --window 3 --follow", "`follow` applies to an inbox folder"),
    "close a file": ("--l 2 --window 3 --close", "`close` applies to an inbox folder"),
    "streams of a file": ("--l 2 --window 3 --stream-by site", "`stream_by` applies to an inbox folder"),
    "ledger inside": ("--l 2 --window 3 --ledger out/ledger", "which is published"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_publishes_nothing(cli: Cli, name: str) -> None:
    options, message = REFUSED[name]
    said = cli(f"{RUN} {options}")
    assert said.code == 2
    assert said.out == ""
    assert message in said.err
    assert "\n\nhint: " in said.err
    assert names() == ["cases.csv", "in", "visits.csv"]


REFUSED_ROWS = {
    "null value": (f"{day(0)},30,,x\n", "`ill` has 1 nulls"),
    "no time": (f"{MARK},30,a,x\n", "row"),
    "no rows": ("", "`cases.csv` has no rows"),
}


@pytest.mark.parametrize("name", REFUSED_ROWS)
def test_bad_rows_publish_nothing(cli: Cli, name: str) -> None:
    rows, message = REFUSED_ROWS[name]
    Path("cases.csv").write_text(HEAD + rows)
    said = cli(f"{RUN} --l 2 --window 3")
    assert said.code == 2
    assert message in said.err
    assert MARK not in said.err
    assert "out" not in names()


def test_a_release_that_breaks_its_promise_is_not_written(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from timeveil.domain.judgement import Verdict, Violation

    broken = Verdict("with ledger", ("a check",), (Violation("bucket-size", "1 bucket is too small"),))
    monkeypatch.setattr("timeveil.jobs.publish.verify", lambda *_: broken)
    said = cli(f"{RUN} --l 2 --window 3 --ledger ledger")
    assert said.code == 1
    assert "1 bucket is too small" in said.out
    assert names() == ["cases.csv", "in", "visits.csv"]


def test_in_service(cli: Cli) -> None:
    said = cli(SERVE)
    assert said == Said(0, "14 files taken, 12 slots published.\n", "")
    assert names("out/slots") == [day(number) for number in range(12)]
    told = json.loads(cli(f"{SERVE} --close --json").out)
    assert (told["taken"], told["already_taken"], told["published"], told["closed"]) == (0, 14, 2, True)
    assert cli(f"verify out/slots/{day(13)}").code == 0
    assert names() == ["cases.csv", "in", "out", "s.db", "s.db.lock", "visits.csv"]


def test_in_service_with_trouble(cli: Cli) -> None:
    Path("in/bad.csv").write_text(HEAD + f"{MARK}\n")
    said = cli(SERVE)
    assert said.code == 2
    assert "1 file moved to quarantine.\n" in said.out
    assert said.err.startswith("`bad.csv` was moved to `quarantine`: ")
    Path(f"in/{day(3)}.csv").write_text(HEAD)
    said = cli(SERVE)
    assert said.code == 2
    assert "was changed after it was taken" in said.err
    said = cli("stream-status --state s.db")
    assert "files: 14 taken, 1 of these changed since, 1 in quarantine\n" in said.out
    assert MARK not in said.out


def test_status(cli: Cli) -> None:
    cli(SERVE)
    said = cli("stream-status --state s.db")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("s.db -> 1 stream\nfiles: 14 taken\n\nstream ")
    told = json.loads(cli("stream-status --state s.db --json").out)
    (stream,) = told["streams"]
    assert (stream["slots_published"], stream["slots_in_window"], stream["lag"]) == (12, 2, 2)
    assert stream["last_slot"] == day(13)
    assert stream["last_published"] == day(11)
    assert stream["rows_read"] == 93 == sum(stream[n] for n in ("rows_published", "rows_waiting", "withheld"))
    assert told["last_error"] is None
    assert "seed" not in json.dumps(told)


def test_status_tells_the_last_error(cli: Cli) -> None:
    Path("out/slots").mkdir(parents=True)
    Path(f"out/slots/{day(1)}").touch()
    assert cli(SERVE).code == 2
    said = cli("stream-status --state s.db")
    assert "1 slot final, not yet in place\n" in said.out
    assert f"the folder `slots/{day(1)}` exists already and holds something else" in said.out
    Path(f"out/slots/{day(1)}").unlink()
    assert cli(SERVE).code == 0
    assert "last error" not in cli("stream-status --state s.db").out


SERVICE_REFUSED = {
    "no state": (SERVE.replace("--state s.db", ""), "IN is a folder or a broker, and `state` is missing"),
    "ledger": (f"{SERVE} --ledger ledger", "a stream in service has no ledger"),
    "follow and close": (f"{SERVE} --follow --close", "`follow` and `close` exclude"),
    "poll alone": (f"{SERVE} --poll 9", "`poll` applies with `follow` only"),
    "gap": (f"{SERVE} --max-gap -1", "`max_gap` must be a whole number of at least 0"),
    "window": (
        SERVE.replace("--window 3", "--window 100000000"),
        "`window` must be a whole number from 1 to 10,000",
    ),
    "jitter": (f"{SERVE} --jitter 100000000", "`jitter` must be a whole number from 0 to 10,000"),
    "poll": (f"{SERVE} --follow --poll 0", "`poll` must be a number above 0"),
    "l": (SERVE.replace("--l 2", "--l 1"), "at least 2, got 1"),
    "state in out": (SERVE.replace("s.db", "out/s.db"), "the state file would be inside the folder"),
    "no folder": (SERVE.replace("s.db", "no/s.db"), "the folder for `s.db` does not exist"),
    "format": (f"{SERVE} --format xml", "`format` must be one of parquet, csv"),
}


@pytest.mark.parametrize("name", SERVICE_REFUSED)
def test_a_wrong_command_makes_no_state(cli: Cli, name: str) -> None:
    line, message = SERVICE_REFUSED[name]
    said = cli(line)
    assert said.code == 2
    assert message in said.err
    assert names() == ["cases.csv", "in", "visits.csv"]


def test_no_value_is_told_in_service(cli: Cli, here: Path) -> None:
    for file in (here / "in").iterdir():
        file.unlink()
    for number in range(6):
        rows = [
            (f"1873-05-{number + 1:02}", f"{MARK}-{n}", f"{MARK}-{n % 3}", f"{MARK}-site") for n in range(4)
        ]
        (here / "in" / f"{number}.csv").write_text(text(rows))
    (here / "in" / "6.csv").write_text(HEAD + f"1873-05-01,{MARK},{MARK},{MARK}\n")
    (here / "in" / "7.csv").write_text(HEAD + f"{MARK},{MARK},{MARK},{MARK}\n")
    said = cli(SERVE)
    assert said.code == 2
    reasons = "".join(path.read_text() for path in (here / "in" / "quarantine").glob("*.reason.txt"))
    assert reasons.count("hint:") == 2
    for told in (said.out, said.err, reasons):
        assert MARK not in told
        assert "1873" not in told


def test_the_judges_take_a_stream(cli: Cli) -> None:
    cli(f"{RUN} --l 2 --window 3 --ledger ledger")
    assert cli("verify out").out.startswith("holds: `out`, as far as a recipient can see\n")
    assert cli("verify out --ledger ledger").out.startswith("holds: `out`, by following every record, ")
    assert "withheld" in cli("measure out --ledger ledger").out
    assert json.loads(cli("measure out --ledger ledger --json").out)["rows"] > 0
    said = cli("attack out --ledger ledger --knows true-slot --picture a.svg")
    assert said.code == 0
    assert said.out.startswith("An outsider knows `age` and the true slot of a record -> ")
    assert "  missing" in said.out
    assert Path("a.svg").read_text().startswith("<svg")
    assert "Nobody's value is known with a chance above 1 in 2." in cli("attack out --ledger ledger").out
    assert cli("attack out --ledger ledger --knows nothing").code == 2
    assert "rows" in cli(f"query out --between {day(2)} {day(5)} --where ill=a").out
    assert cli("query out --where ill=a..b").err.startswith("`ill` holds text")


def test_help_names_both_ways(cli: Cli) -> None:
    said = cli("publish-stream --help")
    assert said.code == 0
    assert "In service: private state file" in " ".join(said.out.split())
