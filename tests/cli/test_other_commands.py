"""Help, the lists and files that commands make, and the demo."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.architecture.commands import command_names, command_tree
from tests.cli.conftest import Cli, names

from timeveil.domain.version import __version__
from timeveil.folder import open_ledger, open_release
from timeveil.judging import verify


def test_version(cli: Cli) -> None:
    assert cli("--version").out == f"timeveil {__version__}\n"


@pytest.mark.parametrize("line", ["", "--help", "-h"])
def test_help_lists_the_commands(cli: Cli, line: str) -> None:
    said = cli(line)
    assert said.code == 0
    assert all(f"\n  {name} " in said.out for name in command_names())
    assert "Exit codes: 0 done, 1 promise violated" in said.out


@pytest.mark.parametrize("name", command_names())
def test_help_of_a_command_has_an_example_for_each_option_that_takes_a_value(cli: Cli, name: str) -> None:
    said = cli(f"{name} --help")
    assert said.code == 0
    assert f"Example: timeveil {name}" in said.out
    for parameter in command_tree()[name].params:
        if parameter.param_type_name == "argument":
            assert "such as" in parameter.help
        elif not parameter.is_flag:
            assert any(option in parameter.help for option in parameter.opts), parameter.opts


def test_granularities(cli: Cli) -> None:
    said = cli("granularities")
    assert said.code == 0
    assert re.search(r"^day +day, midnight to midnight +week, week-sunday, month$", said.out, re.M)
    assert re.search(r"^business-day +business day, Monday to Friday +yes ", said.out, re.M)
    told = json.loads(cli("granularities --json").out)["granularities"]
    month = next(g for g in told if g["name"] == "month")
    assert month["directly_coarser"] == ["quarter", "academic-term"]


def test_own_granularities_are_listed(cli: Cli, here: Path) -> None:
    Path("clinic.toml").write_text('[granularity.fortnight]\nkind = "groups"\nof = "week"\nn = 2\n')
    assert re.search(r"^fortnight +2 at a time of", cli("granularities --calendar clinic.toml").out, re.M)


def test_the_graph_is_drawn_once(cli: Cli, here: Path) -> None:
    assert cli("granularities --graph order.svg --quiet").code == 0
    assert ET.parse("order.svg").getroot().tag.endswith("svg")  # noqa: S314
    said = cli("granularities --graph order.svg")
    assert said.code == 2
    assert "`order.svg` exists already" in said.err


def test_hierarchy_of_codes(cli: Cli, here: Path) -> None:
    said = cli("hierarchy visits.csv --column zip --prefixes 1 --out zip.csv")
    assert said.code == 0
    assert said.out == "zip.csv: 2 values of `zip`, 3 levels: the value itself, first 1, one value for all\n"
    assert Path("zip.csv").read_text() == "10;1*;*\n20;2*;*\n"


def test_hierarchy_of_numbers_can_be_edited_and_used(cli: Cli, here: Path) -> None:
    assert cli("hierarchy visits.csv --column zip --intervals 15,30 --out zip.csv --quiet").code == 0
    assert Path("zip.csv").read_text() == "10;[0, 15);[0, 30);*\n20;[15, 30);[0, 30);*\n"
    roles = "--respondent who --time day --quasi zip --drop-rest"
    said = cli(f"generalize-time visits.csv --out out {roles} --k 5 --hierarchy zip=zip.csv")
    assert said.code == 0, said.err
    assert "`zip` is generalised to" in said.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--column zip --out zip.csv", "either --intervals or --prefixes"),
        ("--column zip --prefixes 1 --intervals 5 --out zip.csv", "either --intervals or --prefixes"),
        ("--column zap --prefixes 1 --out zip.csv", "none is called `zap`"),
        ("--column who --intervals 5 --out who.csv", "not all numbers"),
        ("--column zip --intervals 5,7 --out zip.csv", "multiple"),
        ("--column zip --intervals five --out zip.csv", "needs numbers"),
        ("--column zip --prefixes 1 --out visits.csv", "`visits.csv` exists already"),
    ],
)
def test_hierarchies_that_make_no_sense(cli: Cli, here: Path, options: str, message: str) -> None:
    said = cli(f"hierarchy visits.csv {options}")
    assert said.code == 2
    assert message in said.err
    assert "anna" not in said.err
    assert names() == ["visits.csv"]


def test_the_demo_shows_and_leaves_a_release(cli: Cli, here: Path) -> None:
    said = cli("demo --out demo")
    assert (said.code, said.err) == (0, "")
    assert 40 <= len(said.out.splitlines()) <= 66
    assert max(map(len, said.out.splitlines())) <= 110
    assert "Chose `month`: 139 groups, the smallest with 5 people." in said.out
    assert "Look around in demo, or in the browser with `timeveil serve --root demo`:" in said.out
    assert names("demo") == ["attack.svg", "release", "visits.csv", "visits.ledger"]
    assert verify(open_release("demo/release"), open_ledger("demo/visits.ledger"))


def test_the_demo_writes_over_nothing(cli: Cli, here: Path) -> None:
    Path("demo").mkdir()
    said = cli("demo --out demo")
    assert said.code == 2
    assert names("demo") == []
