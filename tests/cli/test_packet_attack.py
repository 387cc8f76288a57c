"""`timeveil attack` on closed packets, beside the paper's method on the same records."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv as pc
from tests.cli.conftest import Cli

from timeveil.datasets import daily_cases

ROLES = "--respondent person --time day --quasi district --sensitive diagnosis --drop age_band --drop sex"


def test_the_papers_method_is_shown_beside_packets(cli: Cli) -> None:
    pc.write_csv(daily_cases(days=40, seed=7), "cases.csv")
    given = f"publish-stream cases.csv {ROLES} --l 3 --window 5"
    assert cli(f"{given} --protect-slot 2 --seed 1 --out out --ledger ledger").code == 0
    attack = "attack out --ledger ledger --knows true-slot"
    assert "paper" not in cli(attack).out
    said = cli(f"{attack} --beside-plain --picture a.svg")
    assert said.code == 0
    assert "with the paper's method" in said.out
    assert "above 1 in 3  above 1 in 2" in said.out
    assert "closed packets" in Path("a.svg").read_text()
    told = json.loads(cli(f"{attack} --beside-plain --json").out)
    assert told["parts"]["moved"]["mean"] < told["plain"]["parts"]["moved"]["mean"]
    assert told["people"] == told["plain"]["people"]
    assert cli(f"{given} --seed 1 --out plain --ledger plain.ledger").code == 0
    for wrong in ("attack out --ledger ledger", "attack plain --ledger plain.ledger --knows true-slot"):
        refused = cli(f"{wrong} --beside-plain")
        assert refused.code == 2
        assert "--protect-slot" in refused.err
