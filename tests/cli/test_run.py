"""Saved jobs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Cli, names

from timeveil.folder import open_ledger, open_release

JOB = """\
in = "../visits.csv"
out = "out"
respondent = "who"
time = "day"
quasi = ["zip"]
sensitive = ["result"]
k = 2
"""


@pytest.fixture
def job(here: Path) -> Path:
    (here / "jobs").mkdir()
    (here / "jobs" / "job.toml").write_text(JOB)
    return here / "jobs" / "job.toml"


def test_a_job_runs_with_paths_beside_it(cli: Cli, job: Path) -> None:
    said = cli("run jobs/job.toml")
    assert said.code == 0, said.err
    assert "  $ timeveil run jobs/job.toml\n" in said.out
    assert open_release("jobs/out").manifest["granularity"] == "week"
    assert names() == ["jobs", "visits.csv"]


def test_a_question_can_be_saved(cli: Cli, job: Path) -> None:
    """With paths beside it, and the answer of `query`."""
    assert cli("run jobs/job.toml").code == 0
    question = job.with_name("question.toml")
    question.write_text('command = "query"\nin = "out"\nwhere = ["zip=1"]\nbetween = ["..", ".."]\n')
    saved = cli("run jobs/question.toml --json")
    assert saved.code == 0, saved.err
    assert saved.out == cli("query jobs/out --where zip=1 --json").out
    assert cli("run jobs/question.toml --set any=true").code == 0
    wrong = {"k = 2": "unknown key `k`", "top = 3": "--top", "where = [1]": "`where` must be a list of texts",
             'between = ["2024-01-01"]': "`between` must be a list of two texts"}  # fmt: skip
    for line, message in wrong.items():
        question.write_text(f'command = "query"\nin = "out"\n{line}\n')
        said = cli("run jobs/question.toml")
        assert (said.code, message in said.err) == (2, True), said.err
    question.write_text('command = "query"\n')
    assert "`in`" in cli("run jobs/question.toml").err


def test_a_job_has_the_fields_of_the_options(cli: Cli, job: Path) -> None:
    job.write_text(
        JOB.replace("k = 2", "k = 3")
        + 'ledger = "ledger"\nformat = "csv"\nsuppress = 0.5\ngaps = "skip"\nnulls = "withhold"\n'
        'choose = "fortnight"\nengine = "duckdb"\nmemory-limit = "200MB"\ncyclic = ["month-of-year"]\n'
        'granularities = ["week", "fortnight"]\n'
        '[hierarchies]\nzip = "zip.csv"\n[levels]\nzip = 1\n'
        '[granularity.fortnight]\nkind = "groups"\nof = "week"\nn = 2\nanchor = "2024-01-01"\n'
    )
    Path("jobs/zip.csv").write_text("10;*\n20;*\n")
    said = cli("run jobs/job.toml")
    assert said.code == 0, said.err
    assert names("jobs") == ["job.toml", "ledger", "out", "zip.csv"]
    assert names("jobs/out") == ["README.txt", "data.csv", "release.json"]
    assert open_release("jobs/out").manifest["granularity"] == "fortnight"
    assert open_release("jobs/out").manifest["levels"]["zip"]["level"] == 1
    Path("jobs/out").rename("first")
    Path("jobs/ledger").unlink()
    program = said.out.partition("or in Python:\n")[2].replace("\n  ", "\n").strip()
    exec(compile(program, "again", "exec"), {})  # noqa: S102
    assert open_release("jobs/out").table.equals(open_release("first").table)


def test_a_calendar_file_of_its_own(cli: Cli, job: Path) -> None:
    job.write_text(JOB + 'calendar = "clinic.toml"\ngranularities = ["fortnight"]\n')
    Path("jobs/clinic.toml").write_text('[granularity.fortnight]\nkind = "groups"\nof = "week"\nn = 2\n')
    assert cli("run jobs/job.toml").code == 0


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        (("quasi", "quazi"), "`job.toml` has an unknown key `quazi`", "did you mean `quasi`?"),
        (("respondent", "respondant"), "unknown key `respondant`", "did you mean `respondent`?"),
        (("k = 2", ""), "`job.toml` lacks the key `k`", "add a line k = ..."),
        (("k = 2", 'k = "2"'), "`k` must be a whole number of at least 2, got str", "k = 5"),
        (("k = 2", "k = 1"), "`k` must be a whole number of at least 2", "people"),
        (('["zip"]', "3"), "`quasi` must be a list of at least one name, got int", "zip"),
        (("k = 2", 'k = 2\ngranularity = ["week"]'), "not a table of definitions", "granularities = [...]"),
        (("k = 2", 'k = 2\ncommand = "serve"'), "`command` in `job.toml`", ""),
        (("k = 2", "k = "), "`job.toml` is not TOML: invalid value (at line 7", "text in quotes"),
        (
            ("k = 2", 'k = 2\n[granularity.x]\nkind = "groups"\nof = "week"\nm = 2'),
            "`granularity.x` has an unknown key `m`",
            "",
        ),
        (
            ("k = 2", 'k = 2\n[granularity.x]\nkind = "groups"\nof = "weekk"\nn = 2'),
            "`x` builds on `weekk`, which is not a granularity",
            "did you mean `week`?",
        ),
        (
            ("k = 2", 'k = 2\n[granularity.x]\nkind = "groups"\nof = "week"\nn = "2"'),
            "`x` has `n`, which is not a whole number",
            "without quotes",
        ),
        (
            ("k = 2", 'k = 2\ncalendar = "c.toml"\n[granularity.x]\nkind = "groups"'),
            "both names a calendar file and defines granularities",
            "one place",
        ),
    ],
)
def test_a_job_that_makes_no_sense(
    cli: Cli, job: Path, change: tuple[str, str], message: str, hint: str
) -> None:
    job.write_text(JOB.replace(*change, 1))
    said = cli("run jobs/job.toml")
    assert said.code == 2
    told, _, advice = said.err.partition("\n\nhint: ")
    assert message in told
    assert hint in advice
    assert names("jobs") == ["job.toml"]


def test_files_that_are_no_jobs(cli: Cli, here: Path) -> None:
    Path("junk.toml").write_bytes(b"\xff\xfe")
    assert cli("run nothing.toml").err.startswith("error: there is no file `nothing.toml`")
    assert cli("run .").code == 2
    assert cli("run junk.toml").err.startswith("error: `junk.toml` is not UTF-8 text")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "`clinic.toml` defines no granularity"),
        ("k = 3", "`clinic.toml` has an unknown key `k`"),
        (
            "[granularity.week]\nkind = 'groups'\nof = 'day'\nn = 7",
            "`week` is a granularity of the catalogue",
        ),
    ],
)
def test_calendars_that_make_no_sense(cli: Cli, here: Path, content: str, message: str) -> None:
    Path("clinic.toml").write_text(content)
    for line in (
        "generalize-time visits.csv --out out --respondent who --time day --drop-rest --k 2",
        "profile visits.csv --respondent who --time day --k 2",
        "granularities",
    ):
        said = cli(f"{line} --calendar clinic.toml")
        assert said.code == 2
        assert message in said.err
    assert names() == ["clinic.toml", "visits.csv"]


STREAM = """\
command = "publish-stream"
in = "../cases.csv"
out = "out"
time = "day"
sensitive = "ill"
quasi = ["age"]
l = 2
window = 3
"""


@pytest.fixture
def stream_job(here: Path) -> Path:
    days = [(day, 20 + n, "aabcd"[n]) for day in range(1, 7) for n in range(5)]
    rows = "".join(f"2024-01-0{day},{age},{ill}\n" for day, age, ill in days)
    (here / "cases.csv").write_text("day,age,ill\n" + rows)
    (here / "jobs").mkdir()
    (here / "jobs" / "job.toml").write_text(STREAM)
    return here / "jobs" / "job.toml"


def test_a_stream_is_published_by_a_job(cli: Cli, stream_job: Path) -> None:
    stream_job.write_text(
        STREAM + 'ledger = "ledger"\nformat = "csv"\nmove-cost = [0, 1, 2.5, 4]\njitter = 1\nseed = 5\n'
        'filler = "always"\nfill_empty = false\n[withhold_cost]\na = 9\n'
    )
    said = cli("run jobs/job.toml")
    assert said.code == 0, said.err
    assert "  $ timeveil run jobs/job.toml\n" in said.out
    assert names("jobs") == ["job.toml", "ledger", "out"]
    told = open_release("jobs/out").manifest["parameters"]
    assert (told["move_cost"], told["jitter"], told["fill_empty"]) == ([0, 1, 2.5, 4], 1, False)
    assert open_ledger("jobs/ledger").facts["withhold_cost"] == {"a": 9.0}
    Path("jobs/out").rename("first")
    Path("jobs/ledger").unlink()
    program = said.out.partition("or in Python:\n")[2].replace("\n  ", "\n").strip()
    exec(compile(program, "again", "exec"), {})  # noqa: S102
    assert open_release("jobs/out").manifest["parameters"] == told


def test_a_folder_is_worked_on_by_a_job(cli: Cli, stream_job: Path) -> None:
    Path("jobs/inbox").mkdir()
    Path("cases.csv").rename("jobs/inbox/1.csv")
    stream_job.write_text(STREAM.replace("../cases.csv", "inbox") + 'state = "stream.db"\n')
    assert cli("run jobs/job.toml").out == "1 file taken, 4 slots published.\n"
    stream_job.write_text(stream_job.read_text() + "close = true\n")
    assert cli("run jobs/job.toml").out.startswith("0 files taken, 2 slots published, the stream is closed.")
    assert len(names("jobs/out/slots")) == 6


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        (("window", "windo"), "`job.toml` has an unknown key `windo`", "did you mean `window`?"),
        (("l = 2\n", ""), "`job.toml` lacks the key `l`", "add a line l = ..."),
        (("l = 2", "l = 2.5"), "`l` must be a whole number of at least 2, got float", ""),
        (("l = 2", "l = 1"), "`l` must be a whole number of at least 2", ""),
        (('"ill"', '["ill", "age"]'), "column `age` has more than one role", "one role"),
        (("l = 2", "l = 2\nmove_cost = true"), "`move_cost` is not a name, a list of numbers", ""),
        (("l = 2", "l = 2\nmove_cost = [0, 'a']"), "`move_cost", ""),
        (("l = 2", "l = 2\nmove_cost = [0, 3, 4, 5]"), "breaks condition C3", "never shrink"),
        (("l = 2", "l = 2\nstream_by = 4"), "`stream_by` must be text, got int", ""),
        (("l = 2", "l = 2\nwithhold_cost = -1"), "withhold_cost is negative", ""),
        (("l = 2", "l = 2\nfollow = true"), "`follow` applies to an inbox folder", ""),
        (
            ('"publish-stream"', '"publish"'),
            "`command` in `job.toml` is not one that publishes",
            "publish-stream",
        ),
        (("l = 2", "l = 2\np = 2"), "`job.toml` has an unknown key `p`", ""),
    ],
)
def test_a_stream_job_that_makes_no_sense(
    cli: Cli, stream_job: Path, change: tuple[str, str], message: str, hint: str
) -> None:
    stream_job.write_text(STREAM.replace(*change, 1))
    said = cli("run jobs/job.toml")
    assert said.code == 2
    told, _, advice = said.err.partition("\n\nhint: ")
    assert message in told
    assert hint in advice
    assert names("jobs") == ["job.toml"]
