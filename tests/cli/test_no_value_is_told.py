"""When all goes well, too, no command tells a cell value."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Cli, copied, made

MARK, YEAR = "Zk9canary", "1873"
KNOWN = "--respondent who --time when --quasi where"
ROLES = f"{KNOWN} --sensitive what"
COMMANDS = {
    "profile": f"profile in.csv {KNOWN} --k 2",
    "run": f"generalize-time in.csv --out other {ROLES} --k 2",
    "run with hierarchy": f"generalize-time in.csv --out other {ROLES} --k 5 --hierarchy where=where.csv",
    "verify": "verify out --ledger ledger",
    "measure": "measure out --ledger ledger",
    "attack": "attack out --ledger ledger --visits 2",
    "query": "query out",
    "hierarchy": "hierarchy in.csv --column where --prefixes 2 --out new.csv",
}


@pytest.fixture(scope="module")
def made_of_marks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("marks")
    rows = [
        f"{MARK}-{row % 8},{YEAR}-05-{row % 20 + 1:02}T04:03,{MARK}-where-{row % 2},{MARK}-what-{row}"
        for row in range(40)
    ]
    (folder / "in.csv").write_text("\n".join(["who,when,where,what", *rows]) + "\n")
    (folder / "where.csv").write_text(f"{MARK}-where-0;{MARK}\n{MARK}-where-1;{MARK}\n")
    return made(folder, f"generalize-time in.csv --out out --ledger ledger {ROLES} --k 2 --quiet")


@pytest.fixture
def marked(here: Path, made_of_marks: Path) -> None:
    copied(made_of_marks)


@pytest.mark.parametrize("form", ["", " --json"])
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("marked")
def test_no_value_is_told(cli: Cli, name: str, form: str) -> None:
    said = cli(COMMANDS[name] + form)
    assert said.code in (0, 1), said.err
    assert MARK not in said.out + said.err
    assert YEAR not in said.out + said.err
