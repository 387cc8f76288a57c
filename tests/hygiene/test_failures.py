"""When something goes wrong, too, nothing private is told, left or published."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from tests.hygiene.canaries import MARK, SEED, baskets, cases, curves, store, visits
from tests.hygiene.running import MAKERS, SERVE, VISITS, Command, House


def made(name: str, *more: str) -> str:
    return " ".join([MAKERS[name].replace("FORM", "csv"), "--out new --ledger private/new", *more])


def texts_for(table: pa.Table, column: str) -> pa.Table:
    """The table with private texts where times or numbers should be."""
    place = table.column_names.index(column)
    texts = table[column].cast(pa.string()).to_pylist()
    texts[7] = texts[40] = f"{MARK}-text"
    return table.set_column(place, column, pa.array(texts))


BAD = {
    "time": texts_for(visits(), "when"),
    "stream": texts_for(cases(), "when"),
    "series": texts_for(curves(), "t2"),
    "patterns": baskets().set_column(0, "who", pa.array([None, *baskets()["who"].to_pylist()[1:]])),
}

WRONG: dict[str, tuple[str, int]] = {
    **{f"bad values, {name}": (made(name).replace("in/", "private/bad-"), 2) for name in BAD},
    **{f"missing column, {name}": (made(name, "--drop nowhere"), 2) for name in MAKERS},
    **{f"no role, {name}": (made(name).replace("--drop name", ""), 2) for name in MAKERS},
    **{f"no file, {name}": (made(name).replace("in/", "in/no-"), 2) for name in MAKERS},
    **{f"name taken, {name}": (made(name).replace("--out new", f"--out {name}"), 2) for name in MAKERS},
    **{
        f"ledger in the release, {name}": (made(name).replace("private/new", f"{name}/ledger"), 2)
        for name in MAKERS
    },
    "too few people": (made("time").replace("--k 3", "--k 50"), 3),
    "no granularity": (made("time").replace("week", "minute").replace("--suppress 0.05", ""), 3),
    "too few values": (made("stream").replace("--l 2", "--l 40"), 2),
    "too few series": (made("series").replace("--k 4", "--k 90"), 2),
    "no frequent pattern": (made("patterns").replace("--min-support 9", "--min-support 61"), 2),
    "nulls": (made("time").replace("--nulls withhold", ""), 2),
    "a seed that is none": (made("stream").replace(str(SEED), f"{SEED}x"), 2),
    "a seed too large": (made("stream").replace(str(SEED), f"{SEED}{SEED}"), 2),
    "a seed that is no option": (made("stream").replace("--seed", "--sed"), 2),
    "job with a seed that is none": ("run private/seed.toml", 2),
    "job that is none": ("run private/none.toml", 2),
    "state of another seed": (SERVE.replace(f"--seed {SEED}", f"--seed {SEED - 1}"), 2),
    "state of other parameters": (SERVE.replace("--l 2", "--l 3"), 2),
    "state that is none": ("stream-status --state private/time", 2),
    "snapshot out of order": (SERVE.replace("publish-stream inbox", "publish-stream in/late"), 2),
    "explore what nobody can": (f"explore in/visits.csv {VISITS} --k 80,90 --json", 3),
    "verify another's ledger": ("verify time --ledger private/stream", 2),
    "verify with a table": ("verify time --ledger in/visits.parquet", 2),
    "measure with another's ledger": ("measure series --ledger private/time", 2),
    "attack with another's ledger": ("attack stream --ledger private/series --json", 2),
    "attack with other rows": ("attack time --ledger private/other --json", 2),
    "verify a table": ("verify in", 2),
    "verify a changed table": ("verify changed", 1),
    "query a cut table": ("query cut --between 2024-03-04 2024-03-11", 2),
    "verify a changed manifest": ("verify told", 1),
    "open a manifest that is none": ("measure garbled --ledger private/time", 2),
    "plot what cannot be drawn": ("plot time --out picture.svg", 2),
    "ask for a column that is not there": ("query time --where name=x --json", 2),
    "hierarchy of text": ("hierarchy in/visits.csv --column zip --intervals 5 --out private/h", 2),
}


def full(*_: Any, **__: Any) -> None:
    raise OSError(28, f"no room for {MARK}")


def broken(*_: Any, **__: Any) -> None:
    raise ValueError(f"{MARK} is not good")


def interrupted(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt(MARK)


def out_of_memory(*_: Any, **__: Any) -> None:
    raise MemoryError(MARK)


METHODS = {
    "time": "timeveil.models.events.method.generalize_time",
    "stream": "timeveil.models.stream.method.publish_stream",
    "series": "timeveil.models.series.method.anonymize_series",
    "patterns": "timeveil.models.patterns.method.sanitize_patterns",
}
ACCIDENTS: dict[str, tuple[str, Callable[..., None], int]] = {
    "the disk is full when tables are written": ("timeveil.folder.writing.write_table", full, 2),
    "the disk is full when names are given": ("timeveil.folder.writing.sync_folder", full, 2),
    "the disk is full for the ledger": ("timeveil.folder.ledger_file._write", full, 2),
    "interrupted while writing": ("timeveil.folder.writing.write_table", interrupted, 130),
    "interrupted while checking": ("timeveil.folder.writing._check", interrupted, 130),
    "broken while writing": ("timeveil.folder.writing.digest", broken, 70),
    "broken while checking": ("timeveil.folder.writing.have_same_rows", broken, 70),
}
INSIDE = {"broken": (broken, 70), "interrupted": (interrupted, 130), "out of memory": (out_of_memory, 2)}


@pytest.fixture(scope="module", autouse=True)
def wreckage(furnished: House) -> None:
    """Files to fail with: bad tables, jobs, a ledger of other rows, releases that were damaged."""
    root, private = furnished.root, furnished.root / "private"
    for name, table in BAD.items():
        file = MAKERS[name].split()[1].replace("in/", "bad-").replace("FORM", "csv")
        store(table, private / file)
    (root / "in" / "late").mkdir()
    store(cases().slice(0, 12), root / "in" / "late" / "day-99.csv")
    store(texts_for(cases().slice(0, 60), "when"), root / "in" / "late" / "day-98.csv")
    shutil.copy(private / "packets", private / "other")
    job = f'command = "publish-stream"\nin = "x.csv"\nout = "new"\nseed = "{SEED}x"\ntime = "{MARK}\n'
    (private / "none.toml").write_text(job)
    (private / "seed.toml").write_text(
        job.replace(f'"{MARK}', '"when"\nl = 2\nwindow = 3\nsensitive = "ill"')
    )
    for name in ("changed", "cut", "told", "garbled"):
        shutil.copytree(root / "time", root / name)
    data = root / "time" / "data.parquet"
    (root / "changed" / "data.parquet").write_bytes(data.read_bytes()[:-20] + data.read_bytes()[-21:-1])
    (root / "cut" / "data.parquet").write_bytes(data.read_bytes()[:200])
    told = root / "told" / "release.json"
    told.write_text(told.read_text().replace('"k": 3', '"k": 3000'))
    (root / "garbled" / "release.json").write_text("{" * 9)
    for path in private.iterdir():
        if path.is_file():
            path.chmod(0o600)


def assert_nothing_new(house: House) -> None:
    assert not (house.root / "new").exists()
    assert not (house.root / "private" / "new").exists()
    assert house.trouble() == []


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_tells_nothing(house: House, command: Command, name: str) -> None:
    line, code = WRONG[name]
    said = command(line)
    assert said.code == code, said.err
    assert said.shows() == []
    assert "Traceback" not in said.err
    assert_nothing_new(house)


@pytest.mark.parametrize("option", ["", "--json"])
@pytest.mark.parametrize("accident", INSIDE)
@pytest.mark.parametrize("name", METHODS)
def test_an_accident_in_a_method_tells_nothing(
    house: House, command: Command, monkeypatch: pytest.MonkeyPatch, name: str, accident: str, option: str
) -> None:
    happens, code = INSIDE[accident]
    monkeypatch.setattr(METHODS[name], happens)
    said = command(f"{made(name)} {option}")
    assert (said.code, said.shows()) == (code, []), said.err
    assert_nothing_new(house)


@pytest.mark.parametrize("accident", ACCIDENTS)
@pytest.mark.parametrize("name", METHODS)
def test_an_accident_while_writing_tells_nothing(
    house: House, command: Command, monkeypatch: pytest.MonkeyPatch, name: str, accident: str
) -> None:
    place, happens, code = ACCIDENTS[accident]
    monkeypatch.setattr(place, happens)
    said = command(made(name))
    assert (said.code, said.shows()) == (code, []), said.err
    assert_nothing_new(house)


@pytest.mark.parametrize("accident", [a for a in ACCIDENTS if "ledger" not in a])
def test_an_accident_in_service_tells_nothing(
    house: House, command: Command, monkeypatch: pytest.MonkeyPatch, accident: str
) -> None:
    """The state file keeps what is final; the folder of no slot appears."""
    place, happens, code = ACCIDENTS[accident]
    state = f"private/{accident.replace(' ', '-')}"
    line = SERVE.replace("private/s.db", state).replace("served", "new")
    with monkeypatch.context() as patch:
        patch.setattr(place, happens)
        said = command(line)
    assert (said.code, said.shows()) == (code, []), said.err
    assert list((house.root / "new").rglob("release.json")) == []
    told = command(f"stream-status --state {state}")
    assert (told.code, told.shows()) == (0, []), told.err
    shutil.rmtree(house.root / "new")
    assert_nothing_new(house)
