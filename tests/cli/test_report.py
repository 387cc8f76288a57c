"""`timeveil report`: where it goes, who may read it, and what it exits with."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from tests.cli.conftest import Cli, names

import timeveil as tv

PEOPLE = ("anna", "bert", "cleo", "dora", "emil", "fred")


def test_a_public_report_is_a_page(cli: Cli, published: str) -> None:
    said = cli("report out --out report.html")
    assert (said.code, said.err) == (0, "")
    assert (
        said.out == "report.html: public report written. The promise holds, as far as a recipient can see.\n"
    )
    page = Path("report.html").read_text("utf-8")
    assert page == tv.report("out").html
    assert "Public: everything in this report" in page
    assert "`who`" not in cli("report out").out
    assert names() == ["ledger", "out", "report.html", "visits.csv"]


def test_a_private_report_is_for_its_owner(cli: Cli, published: str) -> None:
    before = os.umask(0)
    try:
        said = cli(f"report {published} --out report.html")
    finally:
        os.umask(before)
    assert said.code == 0
    assert said.out == "report.html: private report written. The promise holds.\n"
    assert said.err == "`report.html` shows what the release hides: keep it to yourself.\n"
    assert stat.S_IMODE(Path("report.html").stat().st_mode) == 0o600
    page = Path("report.html").read_text("utf-8")
    assert "<title>PRIVATE: " in page
    assert not [name for name in PEOPLE if name in page]


def test_without_a_file_the_text_is_printed(cli: Cli, published: str) -> None:
    said = cli("report out")
    assert (said.code, said.err) == (0, "")
    assert said.out == str(tv.report("out"))


def test_as_data(cli: Cli, published: str) -> None:
    said = cli(f"report {published} --out report.html --json --quiet")
    assert (said.code, said.err) == (0, "")
    assert json.loads(said.out) == tv.report("out", "ledger").as_dict()
    assert Path("report.html").exists()
    said = cli("report out --out public.html --quiet")
    assert (said.code, said.out, said.err) == (0, "", "")


@pytest.mark.parametrize("ledger", ["", " --ledger ledger"])
def test_a_violated_release_is_reported_and_told_by_the_exit_code(
    cli: Cli, published: str, ledger: str
) -> None:
    Path("out/notes.txt").touch()
    said = cli(f"report out{ledger} --out report.html --quiet")
    assert said.code == 1
    page = Path("report.html").read_text("utf-8")
    assert "The promise is VIOLATED." in page
    assert "notes.txt" in page
    assert cli("report out --json").out.count('"holds": false') == 1


REFUSED = {
    "out --out out/report.html": "bad-parameter",
    "out --out link/report.html": "bad-parameter",
    "out --out visits.csv": "folder-exists",
    "out --ledger ledger --out ledger": "folder-exists",
    "out --ledger ledger --out other/report.html": "ledger-in-release",
    "out --out nowhere/report.html": "folder-missing",
    "nowhere --out report.html": "folder-missing",
    "out --ledger nowhere --out report.html": "folder-missing",
    "out --ledger visits.csv --out report.html": "folder-damaged",
    "ledger --out report.html": "folder-missing",
}


def test_what_is_refused(cli: Cli, published: str) -> None:
    Path("other").mkdir()
    Path("other/release.json").write_text("{}")
    Path("link").symlink_to("out")
    before = names(), names("out"), names("other")
    for line, code in REFUSED.items():
        said = cli(f"report {line} --json")
        assert (said.code, json.loads(said.out)["error"]["code"]) == (2, code), line
    assert (names(), names("out"), names("other")) == before


def test_the_command_in_the_report_makes_the_same_release(cli: Cli, published: str) -> None:
    command = tv.report("out", "ledger").as_dict()["sections"][-1]["blocks"][-2]["lines"][0]
    again = command.removeprefix("timeveil ").replace(" IN ", " visits.csv ").replace(" DIR ", " again ")
    assert cli(f"{again} --quiet").code == 0
    assert Path("again/release.json").read_bytes() == Path("out/release.json").read_bytes()


def test_a_ledger_of_another_release_does_not_pass(cli: Cli, published: str) -> None:
    roles = "--respondent who --time day --drop-rest --k 2 --quiet"
    assert cli(f"generalize-time visits.csv --out other --ledger theirs {roles}").code == 0
    said = cli("report out --ledger theirs --out report.html --quiet")
    assert said.code == 1
    assert "VIOLATED" in Path("report.html").read_text()
    assert "Check that the ledger is the one" in Path("report.html").read_text()


def test_a_ledger_of_another_model_is_refused(cli: Cli, published: str) -> None:
    roles = "--time day --sensitive result --drop-rest --l 2 --window 20 --allow-loss --quiet"
    assert cli(f"publish-stream visits.csv --out other --ledger theirs {roles}").code == 0
    said = cli("report out --ledger theirs --json")
    assert said.code == 2
    assert json.loads(said.out)["error"]["code"] == "ledger-mismatch"


def test_a_stream_in_service_is_one_report(cli: Cli) -> None:
    Path("inbox").mkdir()
    for day in range(1, 7):
        rows = "".join(f"2024-01-{day:02},{age},{ill}\n" for age, ill in ((30, "a"), (40, "b"), (50, "c")))
        Path(f"inbox/2024-01-{day:02}.csv").write_text(f"day,age,ill\n{rows}")
    options = "--time day --quasi age --sensitive ill --l 2 --window 2 --state stream.db --close --quiet"
    assert cli(f"publish-stream inbox --out service {options}").code == 0
    said = cli("report service --out report.html")
    assert (said.code, said.err) == (0, "")
    page = Path("report.html").read_text("utf-8")
    assert "One hash for 24 files" in page
    assert "slots/2024-01-01/data.parquet" in page
