"""One way to judge: the same shapes, words and exit codes for every kind of release.

Each release is made once and judged as an object, as a folder, and as a folder that was copied elsewhere with
nothing beside it.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.conformance.releases import ASKED, FEW, KINDS, MODELS, QUERIES, made, stricter

import timeveil as tv
from timeveil.cli import run

LOSSES = {
    "time": ("groups", "suppressed"),
    "stream": ("information_loss", "suppressed", "moved", "mean_distance"),
    "packets": ("information_loss", "suppressed", "moved", "mean_distance"),
    "series": ("value_loss", "pattern_loss", "suppressed"),
    "patterns": ("changed", "lost", "mean_error", "worst_error", "virtual"),
}
OTHERS = dict(zip(KINDS, ("series", "time", "series", "patterns", "stream"), strict=True))
"""For each kind one of another model."""
NEEDS_LEDGER = ("measure", "attack")


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Cli = Callable[[str], Said]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All releases with their ledgers, written once, and left as they are."""
    place = tmp_path_factory.mktemp("judged")
    for kind in KINDS:
        release, ledger = made(kind)
        tv.write(release, place / kind)
        tv.write(ledger, place / f"{kind}.ledger")
        tv.write(stricter(kind)[1], place / f"{kind}-stricter.ledger")
    (place / "empty").mkdir()
    return place


@pytest.fixture
def cli(home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    monkeypatch.chdir(home)

    def call(line: str) -> Said:
        capfd.readouterr()
        code = run(shlex.split(line))
        return Said(code, *capfd.readouterr())

    return call


@cache
def loss_of(kind: str) -> Any:
    return tv.measure(*made(kind), **FEW[kind])


@cache
def breach_of(kind: str) -> Any:
    return tv.attack(*made(kind), tv.PatternAdversary(bounds=False) if kind == "patterns" else None)


def lone(home: Path, kind: str, tmp_path: Path) -> Path:
    """The folder alone, elsewhere, under another name."""
    return Path(shutil.copytree(home / kind, tmp_path / "sent to me"))


def cells(table: pa.Table) -> set[str]:
    """Texts of a table that are long enough not to stand in a sentence by chance."""
    found: set[str] = set()
    for column in table.columns:
        values = column.to_pylist()
        flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
        found |= {str(value) for value in flat if len(str(value)) > 4}
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_verify_from_an_object_and_from_a_lone_folder(kind: str, home: Path, tmp_path: Path) -> None:
    release, ledger = made(kind)
    opened = tv.open_release(lone(home, kind, tmp_path))
    verdicts = [tv.verify(release), tv.verify(opened), tv.verify(release, ledger), tv.verify(opened, ledger)]
    assert [bool(verdict) for verdict in verdicts] == [True] * 4
    assert [verdict.scope for verdict in verdicts] == ["recipient"] * 2 + ["with ledger"] * 2
    assert [verdict.violations for verdict in verdicts] == [()] * 4
    assert verdicts[0] == verdicts[1]
    assert verdicts[2] == verdicts[3]
    assert set(verdicts[0].checks) < set(verdicts[2].checks)


@pytest.mark.parametrize("kind", KINDS)
def test_measure_has_the_attributes_of_the_design(kind: str, home: Path) -> None:
    loss = loss_of(kind)
    assert all(isinstance(getattr(loss, name), int | float) for name in LOSSES[kind])
    assert set(LOSSES[kind]) <= set(loss.as_dict())
    opened, ledger = tv.open_release(home / kind), tv.open_ledger(home / f"{kind}.ledger")
    assert tv.measure(opened, ledger, **FEW[kind]) == loss
    json.dumps(loss.as_dict(), allow_nan=False)


@pytest.mark.parametrize("kind", KINDS)
def test_attack_has_the_attributes_of_the_design(kind: str) -> None:
    breach = breach_of(kind)
    assert 0 <= breach.mean <= breach.worst <= 1
    assert breach.share_above(1.0) == 0
    assert breach.share_above(breach.worst / 2) > 0 or breach.worst == 0
    assert breach.share_above(breach.worst) == 0
    told = breach.as_dict()
    assert {"adversary", "people", "before", "after"} <= set(told)
    assert (told["after"]["worst"], told["after"]["mean"]) == (breach.worst, breach.mean)
    json.dumps(told, allow_nan=False)


@pytest.mark.parametrize("kind", KINDS)
def test_answer_is_an_estimate_wherever_the_release_comes_from(kind: str, home: Path, tmp_path: Path) -> None:
    found = tv.answer(made(kind)[0], QUERIES[kind])
    assert isinstance(found, tv.Estimate)
    assert found.low <= found.value <= found.high
    assert tv.answer(tv.open_release(lone(home, kind, tmp_path)), QUERIES[kind]) == found


@pytest.mark.parametrize("kind", KINDS)
def test_every_verdict_as_data_has_the_same_keys(kind: str, cli: Cli) -> None:
    for ledger, scope in (("", "recipient"), (f"--ledger {kind}.ledger", "with ledger")):
        said = cli(f"verify {kind} {ledger} --json")
        assert (said.code, said.err) == (0, "")
        assert list(said.data) == ["model", "holds", "scope", "checks", "violations"]
        assert (said.data["model"], said.data["holds"], said.data["scope"]) == (MODELS[kind], True, scope)


@pytest.mark.parametrize("kind", KINDS)
def test_every_judge_names_the_model_and_the_same_things(kind: str, cli: Cli) -> None:
    breach = breach_of(kind)
    said = cli(f"attack {kind} --ledger {kind}.ledger --json")
    assert said.code == 0
    assert {name: said.data[name] for name in ("model", "worst", "mean")} == {
        "model": MODELS[kind],
        "worst": breach.worst,
        "mean": breach.mean,
    }
    said = cli(f"measure {kind} --ledger {kind}.ledger --json")
    assert said.code == 0
    assert said.data["model"] == MODELS[kind]
    assert {name: said.data[name] for name in LOSSES[kind]} == {
        name: getattr(loss_of(kind), name) for name in LOSSES[kind]
    }
    estimate = tv.answer(made(kind)[0], QUERIES[kind])
    said = cli(f"query {kind} {ASKED[kind]} --json")
    of = "published" if MODELS[kind] == "stream" else "original"
    assert said.data == {"value": estimate.value, "low": estimate.low, "high": estimate.high, "of": of}


@pytest.mark.parametrize("kind", KINDS)
def test_the_ledger_of_another_model_is_wrong_usage(kind: str, cli: Cli, home: Path) -> None:
    for command in ("verify", *NEEDS_LEDGER):
        said = cli(f"{command} {kind} --ledger {OTHERS[kind]}.ledger --json")
        assert said.code == 2
        assert said.data["error"]["code"] == "ledger-mismatch"
        assert said.err == (
            "error: the ledger belongs to a release of another model\n\n"
            "hint: use the ledger that was written with this release\n"
        )
    assert not tv.verify(made(kind)[0], made(OTHERS[kind])[1])


@pytest.mark.parametrize("kind", KINDS)
def test_the_ledger_of_another_release_does_not_pass(kind: str, cli: Cli) -> None:
    said = cli(f"verify {kind} --ledger {kind}-stricter.ledger --json")
    assert said.code == 1
    assert said.data["violations"]
    assert "check that the ledger is the one" in said.err
    for command in NEEDS_LEDGER:
        said = cli(f"{command} {kind} --ledger {kind}-stricter.ledger --json")
        assert (said.code, said.data["error"]["code"]) == (2, "ledger-mismatch")


@pytest.mark.parametrize("folder", ["nothing", "empty", "time.ledger"])
@pytest.mark.parametrize("command", ["verify", "query", *NEEDS_LEDGER])
def test_what_is_no_release_is_wrong_usage(command: str, folder: str, cli: Cli) -> None:
    said = cli(f"{command} {folder}{' --ledger time.ledger' if command in NEEDS_LEDGER else ''}")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"error: `{folder}` is not a release folder: ")
    assert said.err.endswith("\n\nhint: name the folder that `write` or `--out` made\n")


@pytest.mark.parametrize("command", ["verify", *NEEDS_LEDGER])
def test_what_is_no_ledger_is_wrong_usage(command: str, cli: Cli) -> None:
    for path in ("time", "nothing", "time/data.parquet"):
        said = cli(f"{command} time --ledger {path}")
        assert (said.code, said.out) == (2, "")
        assert said.err.endswith("\n\nhint: name what --ledger made\n")


@pytest.mark.parametrize("kind", KINDS)
def test_a_broken_promise_is_told_in_numbers(kind: str, tmp_path: Path, cli: Cli) -> None:
    release, ledger = made(kind)
    table = release.table
    rows = [row for row in range(table.num_rows) if row % 3 != 1]
    spoilt = tv.Release(release.guarantee, release.manifest, {**release.tables, "data": table.take(rows)})
    values = cells(table) | cells(ledger.original.table)
    for given in (None, ledger):
        verdict = tv.verify(spoilt, given)
        assert not verdict
        assert verdict.scope == ("recipient" if given is None else "with ledger")
        for violation in verdict.violations:
            assert any(mark.isdigit() for mark in violation.message) or "manifest" in violation.message
            assert not [value for value in values if value in violation.message]


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_folder_is_violated(kind: str, home: Path, tmp_path: Path, cli: Cli) -> None:
    folder = lone(home, kind, tmp_path)
    (folder / "Thumbs.db").write_bytes(b"seen")
    (folder / "README.txt").unlink()
    said = cli(f"verify '{folder}' --json")
    assert said.code == 1
    assert (said.data["model"], said.data["holds"]) == (MODELS[kind], False)
    assert [violation["code"] for violation in said.data["violations"]] == ["file-missing", "file-extra"]
    assert said.data["violations"][1]["message"] == (
        "`Thumbs.db` does not belong to the release: Windows leaves it in folders; delete it"
    )
    assert cli(f"verify '{folder}'").out.startswith("violated: `sent to me`, ")
    ledger = home / f"{kind}.ledger"
    assert cli(f"query '{folder}' {ASKED[kind]}").code == 2
    for command in NEEDS_LEDGER:
        assert cli(f"{command} '{folder}' --ledger {ledger}").code == 2


def test_a_folder_or_a_path_is_not_a_release() -> None:
    """Only `verify` takes a folder."""
    release, ledger = made("time")
    calls: list[Callable[[], Any]] = [
        lambda: tv.measure("published", ledger),  # type: ignore[arg-type]
        lambda: tv.attack(Path("published"), ledger),  # type: ignore[call-overload]
        lambda: tv.answer("published", QUERIES["time"]),  # type: ignore[call-overload]
        lambda: tv.verify(release, "ledger"),  # type: ignore[arg-type]
        lambda: tv.measure(release, Path("ledger")),  # type: ignore[arg-type]
        lambda: tv.attack(release, None),  # type: ignore[call-overload]
    ]
    for call in calls:
        with pytest.raises(tv.ParameterError, match=r"first: open_(release|ledger)") as caught:
            call()
        assert caught.value.code == "bad-parameter"


@pytest.mark.parametrize("kind", KINDS)
def test_the_tables_of_a_ledger_are_those_of_the_design(kind: str) -> None:
    columns = {
        "time": ["row", "group"],
        "stream": ["row", "origin", "slot", "bucket"],
        "packets": ["row", "origin", "slot", "bucket", "packet"],
        "series": ["row", "group", "subgroup"],
        "patterns": ["row", "transaction"],
    }
    ledger = made(kind)[1]
    assert ledger.table.column_names == columns[kind]
    virtual = ledger.virtual
    assert virtual is None if kind != "patterns" else virtual.column_names == ["pattern", "copies"]
