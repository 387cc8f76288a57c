"""`timeveil explore` on all four models: the page, the picture, limits, saved jobs, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pytest
from tests.cli.conftest import Cli, names

from timeveil.datasets import baskets, daily_cases, load_curves

VISITS = "explore visits.csv --respondent who --time day --quasi zip --sensitive result"
CASES = "explore cases.csv --time day --quasi age_band --sensitive diagnosis --drop-rest"
LOADS = "explore loads.csv --respondent household --series h00..h05 --drop-rest"
BASKETS = "explore baskets.csv --respondent basket --item item"
SWEEPS = {
    "time": (f"{VISITS} --k 2..4", "k", [2, 3, 4]),
    "stream": (f"{CASES} --l 3 --window 1,3,7", "window", [1, 3, 7]),
    "protect-slot": (f"{CASES} --l 4 --window 5 --allow-loss --protect-slot 2..4", "protect_slot", [2, 3, 4]),
    "series": (f"{LOADS} --k 6 --p 2..4", "p", [2, 3, 4]),
    "kapra": (f"{LOADS} --k 2,4,6 --p 2 --method kapra", "k", [2, 4, 6]),
    "shape-weight": (f"{LOADS} --k 4 --p 2 --shape-weight 2,10,50", "shape_weight", [2, 10, 50]),
    "patterns": (f"{BASKETS} --k 3 --min-support 0.1,0.2,0.3", "min_support", [0.1, 0.2, 0.3]),
}
FILES = ["baskets.csv", "cases.csv", "loads.csv", "visits.csv"]
MARK, YEAR = "Zk9canary", "1873"


@pytest.fixture(autouse=True)
def tables(here: Path) -> None:
    bought = baskets(transactions=120, seed=3)
    pyarrow.csv.write_csv(bought.group_by(bought.column_names).aggregate([]), "baskets.csv")
    pyarrow.csv.write_csv(daily_cases(days=25), "cases.csv")
    pyarrow.csv.write_csv(load_curves(people=60, instants=6, seed=1), "loads.csv")


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep(cli: Cli, name: str) -> None:
    line, parameter, values = SWEEPS[name]
    said = cli(f"{line} --picture explored.svg")
    assert (said.code, said.err) == (0, "")
    option = parameter.replace("_", "-")
    first = said.out.splitlines()[0]
    assert first == f"{line.split()[1]} -> what {option} costs, and what it gives"
    assert ("The knee is" in said.out) or ("No knee:" in said.out)
    assert names() == sorted([*FILES, "explored.svg"])
    assert Path("explored.svg").read_text().startswith("<svg ")
    found = json.loads(cli(f"{line} --json --workers 1").out)
    assert found["parameter"] == parameter
    assert [one["value"] for one in found["settings"]] == values


def test_the_page(cli: Cli) -> None:
    said = cli(f"{VISITS} --k 2..4 --max-risk 0.4")
    wrapped, *table = said.out.split("\n\n")[1].splitlines()
    assert wrapped.split() == ["window"]  # "window error" has no room on one line
    assert table[0].split()[:3] == ["k", "granularity", "groups"]
    assert [line.split()[0] for line in table[1:]] == ["2", "3"]
    assert table[2].endswith("<- best within limits")
    assert "k 4 not possible: no granularity up to `all` gives 4-anonymity" in said.out
    assert "Only k 3 stays within a risk of at most 40 %" in said.out
    assert said.code == 0


def test_no_setting_within_the_limits_and_none_possible_exit_with_3(cli: Cli) -> None:
    said = cli(f"{VISITS} --k 2..3 --max-risk 0.01")
    assert said.code == 3
    assert "No setting stays within a risk of at most 1 %. The least risk is 33.3 %." in said.out
    said = cli(f"{VISITS} --k 7..9 --picture none.svg")
    assert said.code == 3
    assert "No knee: 0 settings gave a release" in said.out
    assert Path("none.svg").exists()
    assert json.loads(cli(f"{VISITS} --k 7..9 --json").out)["settings"][0]["refused"]


def test_quiet_says_nothing(cli: Cli) -> None:
    said = cli(f"{VISITS} --k 2..3 --quiet")
    assert (said.code, said.out, said.err) == (0, "", "")


def test_another_loss_risk_and_outsider(cli: Cli) -> None:
    line = f"{CASES} --l 3 --window 1,3,7 --loss withheld --risk mean --knows true-slot --json"
    found = json.loads(cli(line).out)
    assert (found["loss"], found["risk"], found["adversary"]) == ("withheld", "mean", {"knows": "true-slot"})
    assert all(one["loss"] == one["losses"]["withheld"] for one in found["settings"])


JOBS = {
    "time": ('k = 2\nrespondent = "who"\ntime = "day"\nquasi = ["zip"]\nsensitive = ["result"]', "--k 2..3"),
    "stream": (
        'command = "publish-stream"\nl = 3\nwindow = 3\ntime = "day"\nsensitive = "diagnosis"\ndrop = "rest"',
        "--window 1,2",
    ),
    "series": (
        'command = "anonymize-series"\nk = 4\np = 2\nseries = ["h00..h05"]\ndrop = "rest"\neffort = 0',
        "--k 3,4",
    ),
    "patterns": (
        'command = "sanitize-patterns"\nk = 3\nmin_support = 0.2\nrespondent = "basket"\nitem = "item"',
        "--k 2,3",
    ),
}
TABLES = {"time": "visits.csv", "stream": "cases.csv", "series": "loads.csv", "patterns": "baskets.csv"}


@pytest.mark.parametrize("model", JOBS)
def test_a_saved_job_with_other_numbers(cli: Cli, model: str) -> None:
    keys, swept = JOBS[model]
    Path("job.toml").write_text(f'in = "{TABLES[model]}"\nout = "out"\n{keys}\n')
    said = cli(f"explore job.toml {swept} --json")
    assert (said.code, said.err) == (0, "")
    assert json.loads(said.out)["model"] == model
    assert names() == sorted([*FILES, "job.toml"])


def test_a_series_release_folder(cli: Cli) -> None:
    assert cli(f"anonymize-series {LOADS[8:]} --k 5 --p 2 --out curves --quiet").code == 0
    said = cli("explore curves --k 2,5 --min-support 0.3 --json")
    assert (said.code, said.err) == (0, "")
    assert json.loads(said.out)["model"] == "patterns"


WRONG = {
    "nothing to try": (f"{VISITS} --k 2", "no parameter has several settings", "--k 2..50"),
    "two": (f"{VISITS} --k 2,3 --suppress 0,0.1", "have several settings", "a single setting"),
    "no number": (
        f"{VISITS} --k few",
        "`k` is neither a number, a list of numbers nor a range",
        "--k 2,5,10",
    ),
    "backward": (f"{VISITS} --k 9..2", "ends below its start", "--k 2..9"),
    "no k": (VISITS, "`k` is missing, which `generalize-time` needs", "generalize-time --help"),
    "no window": (f"{CASES} --l 2..4", "`window` is missing, which `publish-stream` needs", "--help"),
    "another model's": (f"{VISITS} --k 2,3 --suppress 0.1 --slot day", "`slot` does not apply to", "leave"),
    "no shape": (f"{LOADS} --k 4 --p 1 --shape-weight 2,50", "so no shape is published", "raise --p"),
    "two sensitive": (
        f"{CASES} --sensitive sex --l 2,3 --window 3",
        "a stream needs exactly one sensitive column; 2 are named",
        "name one --sensitive column and --drop the others: buckets that hide one may show another",
    ),
    "knows": (f"{VISITS} --k 2,3 --knows true-slot", "applies to streams only", "leave --knows out"),
    "loss": (f"{VISITS} --k 2,3 --loss moved", "`loss` is not a known measure", "window_error, withheld"),
    "limit": (f"{VISITS} --k 2,3 --max-loss=-1", "`max_loss` must be", "--max-loss 0.2"),
    "limit word": (f"{VISITS} --k 2,3 --max-loss few", "`--max-loss` is not a number", "--max-loss 0.2"),
    "workers": (f"{VISITS} --k 2,3 --workers 0", "`workers` must be", "workers"),
    "column": (f"{VISITS} --k 2,3 --keep nil", "no column `nil`", ""),
    "list": (f"{VISITS},zip --k 2,3", "no column `result,zip`", "--sensitive result --sensitive zip"),
    "file": (f"{VISITS} --k 2,3".replace("visits", "nil"), "there is no file", "spelling"),
    "job": ("explore nil.toml --k 2,3", "there is no file", "spelling"),
    "picture": (f"{VISITS} --k 2,3 --picture visits.csv", "", ""),
    "empty": (f"{VISITS} --k 2,3".replace("visits", "empty"), "`empty.csv` has no rows", "right file"),
    "all wrong": (f"{VISITS} --k 0,1", "`k` must be a whole number of at least 2", "--k 5"),
    "beside a job": ("explore job.toml --k 2,3 --quasi zip", "`quasi` is stated by the saved job", "job"),
    "of another job": ("explore job.toml --l 2,3", "`l` does not apply to `generalize-time`", "leave"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(cli: Cli, name: str) -> None:
    Path("empty.csv").write_text("who,day,zip,result\n")
    Path("job.toml").write_text(f'in = "visits.csv"\nout = "out"\n{JOBS["time"][0]}\n')
    line, message, hint = WRONG[name]
    before = names()
    said = cli(line)
    assert (said.code, said.out) == (2, ""), said
    error, _, told = said.err.partition("\n\nhint: ")
    assert error.startswith("error: ")
    assert message in error
    assert hint in told
    assert names() == before


@pytest.mark.parametrize("form", ["", " --json"])
@pytest.mark.parametrize("line", ["--k 2..9", "--k 2..4 --max-loss 0 --picture explored.svg", "--k 50,60"])
def test_no_value_is_told(cli: Cli, line: str, form: str) -> None:
    rows = [
        f"{MARK}-{row % 8},{YEAR}-05-{row % 20 + 1:02}T04:03,{MARK}-where-{row % 2},{MARK}-what-{row}"
        for row in range(40)
    ]
    Path("in.csv").write_text("\n".join(["who,when,where,what", *rows]) + "\n")
    said = cli(f"explore in.csv --respondent who --time when --quasi where --sensitive what {line}{form}")
    assert said.code in (0, 3)
    drawn = Path("explored.svg").read_text() if "picture" in line else ""
    for canary in (MARK, YEAR, "Traceback"):
        assert canary not in said.out + said.err + drawn


def test_a_method_without_a_shape_weight_is_not_explored_by_it(cli: Cli) -> None:
    said = cli(f"{LOADS} --k 4 --p 2 --method kapra --shape-weight 2,10,50")
    assert said.code == 2
    assert "has no `shape_weight`" in said.err
