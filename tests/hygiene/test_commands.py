"""When all goes well, no command shows what is private, in any format, in anything it says or leaves.

A new command takes one line in `COMMANDS`, where `N` stands for a name that is free.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from tests.architecture.commands import command_names
from tests.hygiene.canaries import PRIVATE, SEED, TOLD, leaks, visits
from tests.hygiene.running import CURVES, MAKERS, SERVE, VISITS, Command, House, Said

import timeveil as tv

LEDGER = "--ledger private/{0} {0}"

COMMANDS = {
    "suggest": "suggest in/visits.csv --out private/N",
    "profile stream": "profile in/cases.csv --time when --sensitive ill --quasi zip --l 2",
    "profile": "profile in/visits.csv --respondent who --time when --quasi zip --nulls withhold --k 3",
    "hierarchy": "hierarchy in/visits.csv --column zip --prefixes 5 --out private/N",
    "shift-dates": "shift-dates in/visits.csv --respondent who --time when --nulls withhold --drop-rest "
    "--out private/N",
    "granularities": "granularities --graph N",
    "schema": "schema",
    "explore time": f"explore in/visits.csv {VISITS} --granularity week --suppress 0.05 --k 2,3 --picture N",
    "explore job": "explore private/stream.toml --window 2,3 --picture N",
    "run time": "run private/time.toml",
    "run stream": "run private/stream.toml",
    "stream-status": "stream-status --state private/s.db",
    "serve again": SERVE,
    "verify time": "verify time",
    "verify stream": "verify served",
    "verify series": "verify series",
    "verify patterns": "verify patterns",
    "verify with ledger": f"verify {LEDGER.format('stream')}",
    "measure time": f"measure {LEDGER.format('time')}",
    "measure stream": f"measure {LEDGER.format('packets')}",
    "measure series": f"measure {LEDGER.format('series')}",
    "measure patterns": f"measure {LEDGER.format('patterns')}",
    "attack time": f"attack {LEDGER.format('time')} --picture N",
    "attack stream": f"attack {LEDGER.format('stream')} --knows true-slot --picture N",
    "attack series": f"attack {LEDGER.format('series')} --values 2 --pattern --picture N",
    "attack patterns": f"attack {LEDGER.format('patterns')} --explain",
    "query time": "query time --between 2024-03-04 2024-03-11",
    "query stream": "query served --between 2024-03-04 2024-03-11",
    "query series": "query series --range t1=30:50 --like 1,2,3,4,3,2 --tolerance 0.5",
    "query patterns": "query patterns --top 9",
    **{f"report {model}": f"report {model} --out N" for model in ("time", "packets", "series", "patterns")},
    **{
        f"private report {model}": f"report {LEDGER.format(model)} --out private/N"
        for model in ("time", "stream", "series", "patterns")
    },
    "compare": "compare stream packets --out N",
    "compare with ledgers": "compare stream packets --ledger private/stream --ledger private/packets",
    "plot series": "plot series --out N",
    "plot patterns": "plot patterns --out N",
}
EXTRA = {
    "time in DuckDB": MAKERS["time"] + " --engine duckdb",
    "time with a hierarchy": MAKERS["time"] + " --hierarchy zip=prefixes:5",
    "stream without buckets": MAKERS["stream"] + " --buckets none",
    "series by kapra": MAKERS["series"] + " --method kapra",
    "series of some instants": MAKERS["series"] + " --publish-values t0,t1 --publish-pattern t1..t5",
    "patterns explained": MAKERS["patterns"] + " --explain",
    "patterns of series": f"sanitize-patterns in/curves.FORM {CURVES} --drop tariff --symbols 3 --k 3 "
    "--min-support 9 --force",
}


@pytest.fixture(autouse=True)
def jobs(house: House) -> None:
    """A saved job of each kind; it holds the seed, so it is private."""
    columns = 'respondent = "who"\ntime = "when"\nquasi = ["zip"]\ndrop = ["name"]\n'
    kinds = {
        "time": 'in = "../in/visits.csv"\nk = 3\nsuppress = 0.05\ngranularities = ["week"]\n'
        'sensitive = ["ill"]\n',
        "stream": f'command = "publish-stream"\nin = "../in/cases.csv"\nl = 2\nwindow = 3\nseed = {SEED}\n'
        'sensitive = "ill"\n',
    }
    for name, text in kinds.items():
        path = house.root / "private" / f"{name}.toml"
        path.write_text(
            f'{text}out = "../job{len(list(house.root.iterdir()))}"\nnulls = "withhold"\n{columns}'
        )
        path.chmod(0o600)


def test_every_command_is_watched() -> None:
    lines = (*COMMANDS.values(), *MAKERS.values(), "demo", "serve")  # tests/web watches pages
    assert set(command_names()) <= {line.split()[0] for line in lines}


@pytest.mark.parametrize("option", ["", "--json"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_tells_nothing(house: House, command: Command, name: str, option: str) -> None:
    said = command(f"{COMMANDS[name].replace('N', f'{name}{option}'.replace(' ', '-'))} {option}")
    assert said.code in (0, 1), said.err
    assert said.shows() == []
    assert house.trouble() == []


@pytest.mark.parametrize("name", ["run stream", "measure series", "explore time", "stream-status"])
def test_a_quiet_command_tells_nothing_at_all(house: House, command: Command, name: str) -> None:
    assert command(f"{COMMANDS[name].replace('N', f'quiet-{name[:3]}')} --quiet") == Said(0, "", "")
    assert house.trouble() == []


@pytest.mark.parametrize(("form", "option"), [("csv", ""), ("parquet", "--json")])
@pytest.mark.parametrize("name", MAKERS | EXTRA)
def test_a_method_tells_and_publishes_nothing(
    house: House, command: Command, name: str, form: str, option: str
) -> None:
    place = f"{name}-{form}".replace(" ", "-")
    line = (MAKERS | EXTRA)[name].replace("FORM", form)
    said = command(f"{line} --format {form} --out {place} --ledger private/{place} {option}")
    assert said.code == 0, said.err
    assert said.shows() == []
    assert house.trouble() == []
    assert {path.suffix for path in Path(place).iterdir()} == {".json", ".txt", f".{form}"}


@pytest.mark.parametrize("name", ["stream", "packets"])
def test_records_that_were_withheld_are_nowhere(house: House, name: str) -> None:
    """Every record has a mark of its own, so that each can be looked for."""
    ledger = tv.open_ledger(house.root / "private" / name)
    gone = ledger.table["slot"].is_null().to_pylist()
    marks = ledger.original.table["zip"].to_pylist()
    withheld = {mark.encode(): mark for mark, is_gone in zip(marks, gone, strict=True) if is_gone}
    assert len(withheld) > 1
    assert leaks(house.root / name, withheld) == []
    published = {mark.encode(): mark for mark, is_gone in zip(marks, gone, strict=True) if not is_gone}
    assert len(leaks(house.root / name, published)) == len(published)


def test_the_demo_tells_nothing_private(
    house: House, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shows rows of its release, and leaves its made-up table and ledger where it says."""
    clinic = pa.concat_tables([visits().slice(0, 168), visits().slice(0, 170)])
    clinic = clinic.rename_columns(["patient", "name", "taken_at", "zip", "result"])
    clinic = clinic.append_column("exam", pa.array(["x-ray"] * clinic.num_rows))
    monkeypatch.setattr("timeveil.datasets.clinic_visits", lambda **_: clinic)
    said = command("demo --out private-demo")
    assert said.code == 0, said.err
    assert said.shows(PRIVATE) == []
    made = house.root / "private-demo"
    assert leaks(made / "release") == []
    assert leaks(made / "attack.svg", TOLD) == []
    shutil.rmtree(made)
    assert house.trouble() == []
