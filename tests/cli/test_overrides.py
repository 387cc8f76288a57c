"""What a run changes in a saved job: keys that are set on the command line, and dates in paths."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.cli.conftest import ROLES, Cli, names
from tests.cli.test_run import JOB

from timeveil.folder import open_release
from timeveil.jobs import request

MARK = "Zk9canary"


@pytest.fixture(autouse=True)
def job(here: Path) -> Path:
    path = here / "job.toml"
    path.write_text(JOB.replace("../visits.csv", "visits.csv"))
    return path


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fixed(datetime):
        @classmethod
        def now(cls, _zone: object = None) -> datetime:  # type: ignore[override]
            return datetime(2026, 3, 5, 17, 4, 9, tzinfo=UTC)

    monkeypatch.setattr(request, "datetime", Fixed)


def test_a_key_is_set_for_one_run(cli: Cli) -> None:
    said = cli("run job.toml --set k=3 --set out=next --set format=csv --set 'quasi=[\"zip\"]'")
    assert said.code == 0, said.err
    assert (
        "  $ timeveil run job.toml --set k=3 --set out=next --set format=csv --set 'quasi=[\"zip\"]'\n"
        in said.out
    )
    assert names("next") == ["README.txt", "data.csv", "release.json"]
    assert open_release("next").guarantee.as_dict()["k"] == 3
    assert names() == ["job.toml", "next", "visits.csv"]


def test_a_key_of_a_table_is_set(cli: Cli, job: Path) -> None:
    job.write_text(job.read_text() + '[hierarchies]\nzip = "prefixes:1"\n[levels]\nzip = 0\n')
    assert cli("run job.toml --set levels.zip=1 --quiet").code == 0
    assert open_release("out").manifest["levels"]["zip"]["level"] == 1


def test_a_date_and_a_number_may_be_text(cli: Cli) -> None:
    assert cli("run job.toml --set out=2026-03-05 --quiet").code == 0
    assert cli("run job.toml --set 'out=\"5\"' --quiet").code == 0
    assert names() == ["2026-03-05", "5", "job.toml", "visits.csv"]


def test_a_secret_that_is_set_is_in_no_text(cli: Cli, job: Path) -> None:
    job.write_text(
        'command = "publish-stream"\nin = "visits.csv"\nout = "out"\nrespondent = "who"\ntime = "day"\n'
        'quasi = "zip"\nsensitive = "result"\nl = 2\nwindow = 9\nallow_loss = true\n'
    )
    said = cli("run job.toml --set seed=918273645 --set l=2")
    assert said.code == 0, said.err
    assert "918273645" not in said.out + said.err
    assert "timeveil run job.toml --set l=2\n" in said.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--set k", "--set needs KEY=VALUE"),
        ("--set =3", "--set needs KEY=VALUE"),
        (f"--set 'k=1\n{MARK}=2'", "--set needs KEY=VALUE"),
        (f"--set '{MARK} x=2'", "--set needs KEY=VALUE"),
        ("--set k=2 --set k=3", "`k` is set twice by --set"),
        (f"--set k={MARK}", "`k` must be a whole number of at least 2, got str"),
        (f"--set quazi={MARK}", "`job.toml` has an unknown key `quazi`"),
        (f"--set k.x={MARK}", "`k` must be a whole number of at least 2, got dict"),
        (f"--set command={MARK}", "`command` in `job.toml` is not one that publishes"),
        ("--set in=3", "`in` in `job.toml` must be text"),
        ("--set out={date:%D}", "a date in a path has a form that is not allowed"),
        ("--set out={date:../%Y}", "a date in a path has a form that is not allowed"),
        ("--set out={date:..}", "a date in a path has a form that is not allowed"),
        ("--set out={date:%}", "a date in a path has a form that is not allowed"),
        ("--set ledger={date:%Y/%m}", "a date in a path has a form that is not allowed"),
        ("--set out=a/{date}", "there is no folder `a` to write `2026-03-05` into"),
    ],
)
def test_a_wrong_setting_is_refused(cli: Cli, options: str, message: str) -> None:
    said = cli(f"run job.toml {options}")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: ")
    assert message in said.err
    assert "\n\nhint: " in said.err
    assert MARK not in said.err
    assert names() == ["job.toml", "visits.csv"]


def test_paths_have_dates(cli: Cli, job: Path) -> None:
    job.write_text(job.read_text().replace('"out"', '"{date:%Y-%m}"') + 'ledger = "{date}.ledger"\n')
    said = cli("run job.toml")
    assert said.code == 0, said.err
    assert "in `2026-03`" in said.out
    assert names() == ["2026-03", "2026-03-05.ledger", "job.toml", "visits.csv"]
    assert cli(f"generalize-time visits.csv --out v{{date:%G-W%V.%H%M}} {ROLES} --k 2 --quiet").code == 0
    assert "v2026-W10.1704" in names()


def test_a_stream_in_service_has_no_date(cli: Cli) -> None:
    Path("in").mkdir()
    line = "publish-stream in --state s.db --time day --quasi zip --sensitive result --l 2 --window 2"
    said = cli(f"{line} --out {{date}}")
    assert (said.code, said.out) == (2, "")
    assert "a stream in service always writes to the same folder" in said.err
    assert names() == ["in", "job.toml", "visits.csv"]
