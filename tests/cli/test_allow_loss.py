"""A release that withholds more than a quarter is refused unless the loss is allowed."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import timeveil as tv

from .conftest import Cli, names

WEEK = [f"2024-01-{day:02}" for day in range(1, 8)]
VISITS = [
    "who,day,sex,result",
    *(f"p{n},{day},{'f' if n < 4 else 'm'},ok" for day in WEEK for n in range(12)),
]
HALF = [
    "who,day,sex,result",
    *(f"p{n},{'' if n % 2 else '2024-01-02'},{'f' if n % 2 else 'm'},ok" for n in range(40)),
]
CASES = ["day,zip,ill", *(f"{1 + n // 20},{n % 3},{'flu' if n % 5 else n % 4}" for n in range(200))]
DAILY = ["who,day,ill", *(f"p{n % 4},{1 + n // 20},{'abcdefgh'[n % 8]}" for n in range(200))]
LOADS = ["a,b,c,tariff", *(f"{n % 7},{n * n % 11},{n * 5 % 13},{n % 2}" for n in range(60))]
GAPPED = ["a,b,tariff", *(f"{n % 7},{'' if n % 3 == 0 else n % 11},x" for n in range(60))]
BASKETS = [
    "who,item",
    *(f"p{n},{item}" for n, items in enumerate(["ab", "abcd", "ad", "ad", "bcd"]) for item in items),
]

EVENTS = "--respondent who --time day --quasi sex --sensitive result --k 2"
STREAM = "--time day --sensitive ill --l 3 --window 3"
SUPPRESSIVE = (
    "sanitize-patterns in.csv --respondent who --item item --k 2 --min-support 2 --method suppressive"
)
LOST = [
    (
        VISITS,
        f"generalize-time in.csv {EVENTS} --choose business-day --gaps suppress",
        "24 of 84 rows (29 %)",
    ),
    (HALF, f"generalize-time in.csv {EVENTS} --nulls withhold", "20 of 40 rows (50 %)"),
    (HALF, f"generalize-time in.csv {EVENTS} --nulls withhold --suppress 0.4", "more than 40 % is refused"),
    (
        CASES,
        f"publish-stream in.csv {STREAM} --quasi zip",
        "no window helps, because a value is too common: name another",
    ),
    (DAILY, f"publish-stream in.csv {STREAM} --respondent who", "one record of a person's records"),
    (GAPPED, "anonymize-series in.csv --series a,b --keep tariff --k 4 --p 2 --fill drop", "20 of 60 series"),
    (BASKETS, SUPPRESSIVE, "2 of 5 people (40 %)"),
]


@pytest.mark.parametrize(("table", "command", "words"), LOST)
def test_a_destructive_release_needs_permission(
    cli: Cli, here: Path, table: list[str], command: str, words: str
) -> None:
    (here / "in.csv").write_text("\n".join(table) + "\n")
    refused = cli(f"{command} --out out --ledger ledger")
    assert refused.code == 3, refused.err
    assert words in " ".join(refused.err.split())
    assert "or accept the loss with --allow-loss" in " ".join(refused.err.split())
    assert names() == ["in.csv", "visits.csv"]
    allowed = cli(f"{command} --out out --ledger ledger --allow-loss")
    assert allowed.code == 0, allowed.err
    assert cli("verify out --ledger ledger").code == 0
    assert json.loads((here / "out" / "release.json").read_text())["parameters"]["allow_loss"] is True
    assert "--allow-loss" in allowed.err + allowed.out


def test_a_share_that_was_asked_for_is_allowed() -> None:
    days = ["2024-01-02"] * 6 + [f"2024-0{month}-15" for month in range(3, 7)]
    table = pa.table({"who": [f"p{number}" for number in range(10)], "day": days})
    roles = tv.Roles(respondent="who", time="day")
    options = {"k": 2, "choose": "month"}
    release, _ = tv.generalize_time(table, roles, suppress=0.4, **options)
    assert release.manifest["counts"]["withheld"] == 4
    assert "allow_loss" not in release.manifest["parameters"]


def test_a_quarter_is_not_too_much() -> None:
    table = pa.table({"who": [f"p{n}" for n in range(8)], "day": ["2024-01-02"] * 6 + [None, None]})
    roles = tv.Roles(respondent="who", time="day")
    assert tv.generalize_time(table, roles, k=2, nulls="withhold")[0].manifest["counts"]["withheld"] == 2


def test_a_publisher_cannot_take_slots_back() -> None:
    publisher = tv.StreamPublisher(tv.Roles(time="day", sensitive=["ill"]), l=2, window=1, seed=1)
    assert publisher.push(pa.table({"day": [1] * 6, "ill": list("aaaabc")}))
    assert publisher.facts["withheld"] == 2


def test_what_was_withheld_is_reported_by_value(cli: Cli, here: Path) -> None:
    (here / "in.csv").write_text("\n".join(HALF) + "\n")
    command = f"generalize-time in.csv {EVENTS} --nulls withhold --allow-loss --out out --ledger ledger"
    said = "Of a single value, up to 100 % of the rows were withheld (`sex`), and 50 % (`result`)."
    assert said in " ".join(cli(command).out.split())
    loss = json.loads(cli("measure out --ledger ledger --json").out)
    assert loss["withheld_by"] == {"sex": 1.0, "result": 0.5}
    assert "up to 100 % of the rows were withheld" in " ".join(cli("measure out --ledger ledger").out.split())
    private = cli("report out --ledger ledger --out private.html")
    assert private.code == 0
    assert "up to 100 % of the rows were withheld" in " ".join((here / "private.html").read_text().split())
    assert cli("report out --out public.html").code == 0
    assert "of the rows were withheld" not in (here / "public.html").read_text()
