"""What the issuer states in a report, by options or by the job, and the limit that comes first."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Cli, names
from tests.cli.test_run import JOB

import timeveil as tv

MARK = "Zk9canary"
STATED = {
    "dataset": "Visits <2024>",
    "date": "2026-03-31",
    "issuer": "City & clinic",
    "recipient": "Institute",
    "purpose": "Waiting times",
}
OPTIONS = " ".join(f"--{name} '{text}'" for name, text in STATED.items())


def test_a_report_carries_what_is_stated(cli: Cli, published: str) -> None:
    signed = "--sign 'Head of clinic' --sign 'Data protection officer'"
    said = cli(f"report out {OPTIONS} {signed}")
    assert said.code == 0, said.err
    head = said.out.partition("What was released")[0]
    assert "follows from the release itself, except what its issuer states.\n" in head
    stated = [f"{label}: {text}" for label, text in zip(
        ("Data set", "Date", "Issued by", "Issued to", "Purpose"), STATED.values(), strict=True
    )]  # fmt: skip
    assert "\n".join(["Stated by the issuer, not checked:", *stated]) in head
    assert re.search(r"_{30,}\nHead of clinic, date\n\n\n_{30,}\nData protection officer, date\n", said.out)
    assert cli(f"report out {OPTIONS} {signed} --out r.html").code == 0
    page = Path("r.html").read_text()
    assert "<dt>Data set</dt><dd>Visits &lt;2024&gt;</dd>" in page
    assert "<dt>Issued by</dt><dd>City &amp; clinic</dd>" in page
    assert '<p class="signature">Head of clinic, date</p>' in page
    assert "counter(page)" in page
    data = json.loads(cli(f"report out {OPTIONS} {signed} --json").out)
    assert list(data["stated"].values()) == list(STATED.values())
    assert data["signatures"] == ["Head of clinic", "Data protection officer"]
    again = re.search(r"timeveil report DIR --out report.html (.*)", said.out)
    assert again
    assert cli(f"report out {again[1]}").out == said.out


def test_without_particulars_nothing_is_stated(cli: Cli, published: str) -> None:
    said = cli("report out")
    assert "Stated by the issuer" not in said.out
    assert "everything in this report follows from the release itself.\n" in said.out
    assert "____" not in said.out


def test_the_job_states_what_no_option_does(cli: Cli) -> None:
    job = JOB.replace("../visits.csv", "visits.csv")
    Path("job.toml").write_text(
        f'{job}[report]\ndataset = "From the job"\nissuer = "Clinic"\nsign = ["Head"]\n'
    )
    assert cli("run job.toml --quiet").code == 0
    data = json.loads(cli("report out --job job.toml --issuer Other --json").out)
    assert data["stated"] == {"Data set": "From the job", "Issued by": "Other"}
    assert data["signatures"] == ["Head"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (f'[report]\ntitel = "{MARK}"\n', "`job.toml` has an unknown key `titel`"),
        (f'[report]\ndate = "{MARK}"\n', "`date` is not a day written YYYY-MM-DD"),
        ("[report]\nissuer = 3\n", "`issuer` must be text, got int"),
        (f'report = "{MARK}"\n', "`report` in `job.toml` is not a table"),
    ],
)
def test_a_wrong_table_is_refused_before_any_work(cli: Cli, table: str, message: str) -> None:
    Path("job.toml").write_text(JOB.replace("../visits.csv", "visits.csv") + table)
    for line in ("run job.toml", "report out --job job.toml"):
        said = cli(line)
        assert (said.code, said.out) == (2, "")
        assert message in said.err
        assert "\n\nhint: " in said.err
        assert MARK not in said.err
    assert names() == ["job.toml", "visits.csv"]


@pytest.mark.parametrize(
    "option",
    [
        f"--date {MARK}",
        "--date 2026-02-30",
        "--date 20260331",
        f"--issuer '{MARK}\n{MARK}'",
        "--dataset ''",
        f"--purpose {'x' * 201}",
        "--sign ''",
        f"--recipient '{MARK}\x1b[31m'",
        "--job none.toml",
    ],
)
def test_a_wrong_text_is_refused(cli: Cli, published: str, option: str) -> None:
    before = names()
    said = cli(f"report out --out r.html {option}")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: ")
    assert "\n\nhint: " in said.err
    assert MARK not in said.err
    assert names() == before


def test_the_gravest_limit_is_next_to_the_verdict(cli: Cli, published: str) -> None:
    public, private = tv.report("out"), tv.report("out", "ledger")
    assert public.caveat.startswith("Its gravest limit: The chance of 1 in 2 is for a guess among people.")
    # In a week of one zip code, everyone has the same result: graver than who has most rows.
    assert "100 % of the rows have the same `result`, so it is known" in private.caveat
    for report in (public, private):
        lines = " ".join(str(report).split())
        assert lines.index(report.summary[0]) < lines.index(report.caveat) < lines.index("What was released")
        assert report.html.index(report.summary[0]) < report.html.index('<p class="caveat">')
    data = json.loads(cli("report out --json").out)
    assert data["caveat"] == public.caveat


def test_a_broken_promise_has_no_other_caveat(cli: Cli, published: str) -> None:
    data = Path("out/data.parquet").read_bytes()
    Path("out/data.parquet").write_bytes(data[:-1] + b"x")
    assert json.loads(cli("report out --json").out)["caveat"] == ""
