"""One command opens every file, links every release with its original and judges it once.

Python's audit hook sees every file that Python opens; what pyarrow opens is counted where it is called.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import Cli
from tests.conformance import releases

import timeveil as tv
from timeveil.datasets import clinic_visits, daily_cases
from timeveil.models import part
from timeveil.models.events.judges import verify as events

VISITS = "patient,taken_at,zip\n" + "".join(f"{n},2024-01-{1 + n % 3:02},x\n" for n in range(12))
RUN = "generalize-time visits.csv --out out --respondent patient --time taken_at --quasi zip --k 2"
INPUTS: dict[str, tuple[Callable[[], pa.Table], str]] = {
    "time": (
        lambda: clinic_visits(rows=400, seed=1),
        "generalize-time --respondent patient --time taken_at --quasi sex --drop-rest --suppress 0.05 --k 3",
    ),
    "stream": (
        lambda: daily_cases(days=15),
        "publish-stream --respondent person --time day --quasi age_band --sensitive diagnosis --drop-rest "
        "--window 5 --seed 1 --l 3",
    ),
    "series": (
        releases.loads,
        "anonymize-series --respondent household --series h00..h05 --drop-rest --p 2 --effort 0 --k 4",
    ),
    "patterns": (
        releases.bought,
        "sanitize-patterns --respondent basket --item item --min-support 0.2 --k 3",
    ),
}
LINKS = {"time": "people_of", "stream": "journeys", "series": "Series", "patterns": "read_original"}
"""What links a release of each model with its original."""

Opened = Callable[[], AbstractContextManager[dict[str, int]]]
_OPENED: list[Counter[str]] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook stays for the life of the process; it counts while there is a counter."""
    if event == "open" and not (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR):
        _count(arguments[0])


def _count(path: Any) -> None:
    if _OPENED and isinstance(path, str | os.PathLike):
        _OPENED[-1][os.fspath(path)] += 1


sys.addaudithook(_watch)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """Counts how often each file below the working folder is opened for reading."""

    def counting(function: Any) -> Any:
        def counted(source: Any, *arguments: Any, **options: Any) -> Any:
            _count(source)
            return function(source, *arguments, **options)

        return counted

    for module, name in (
        (pa, "OSFile"),
        (pa, "memory_map"),
        (pcsv, "open_csv"),
        (pcsv, "read_csv"),
        (pq, "read_table"),
    ):
        monkeypatch.setattr(module, name, counting(getattr(module, name)))

    class Counted(pq.ParquetFile):
        def __init__(self, source: Any, **options: Any) -> None:
            _count(source)
            super().__init__(source, **options)

    monkeypatch.setattr(pq, "ParquetFile", Counted)

    @contextmanager
    def watching() -> Iterator[dict[str, int]]:
        counts: dict[str, int] = {}
        _OPENED.append(Counter())
        try:
            yield counts
        finally:
            folder = Path.cwd()
            for path, count in _OPENED.pop().items():
                absolute = folder / path
                if absolute.is_file() or ".out.partial" in path:
                    parts = absolute.relative_to(folder).parts if absolute.is_relative_to(folder) else ()
                    name = "/".join(part for part in parts if not part.startswith("."))
                    counts[name] = counts.get(name, 0) + count
            counts.pop("", None)

    return watching


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that grows by the model whenever a release is linked with its original."""
    made: list[str] = []

    def counting(model: str, link: Any) -> Any:
        def counted(*arguments: Any) -> Any:
            made.append(model)
            return link(*arguments)

        return counted

    for model, name in LINKS.items():
        owner = part(model, "evidence.counting" if model == "patterns" else "evidence")
        if model == "stream":
            owner = vars(owner.Evidence)[name]
        attribute = "func" if model == "stream" else name
        monkeypatch.setattr(owner, attribute, counting(model, getattr(owner, attribute)))
    return made


QUESTIONS = (
    "verify {kind}",
    "verify {kind} --ledger {kind}.ledger",
    "measure {kind} --ledger {kind}.ledger",
    "attack {kind} --ledger {kind}.ledger",
    "query {kind} {asked}",
    "report {kind} --out public.html",
    "report {kind} --ledger {kind}.ledger --out private.html",
    "compare {kind} stricter",
    "compare {kind} stricter --ledger {kind}.ledger --ledger stricter.ledger",
)
DIGESTED = {"data.parquet", "data.csv", "sensitive.parquet", "sensitive.csv"}


@pytest.mark.parametrize(
    ("kind", "form"), [*((model, "parquet") for model in INPUTS), ("stream", "csv"), ("packets", "parquet")]
)
def test_a_release_and_its_ledger_are_opened_and_linked_once(
    cli: Cli, opened: Opened, links: list[str], kind: str, form: Any
) -> None:
    """A table once for its cells and once for its digest; a report states that of `release.json`, too."""
    for name, (release, ledger) in {kind: releases.made(kind), "stricter": releases.stricter(kind)}.items():
        tv.write(release, name, format=form)
        tv.write(ledger, f"{name}.ledger")
    drawn = ("plot {kind} --out plot.svg",) if kind in ("series", "patterns") else ()
    full = kind in INPUTS and form == "parquet"
    for question in (*QUESTIONS, *drawn) if full else QUESTIONS[1::5]:
        line = question.format(kind=kind, asked=releases.ASKED[kind])
        links.clear()
        with opened() as counts:
            assert cli(line).code == 0
        stated = DIGESTED | ({"release.json"} if line.startswith("report") else set())
        most = {path: 2 if path.rpartition("/")[2] in stated else 1 for path in counts}
        assert {path: count for path, count in counts.items() if count > most[path]} == {}, line
        assert f"{kind}/release.json" in counts, line
        assert len(links) == line.count("--ledger"), line


@pytest.mark.parametrize(("model", "form"), [*((model, "parquet") for model in INPUTS), ("series", "csv")])
def test_a_table_is_read_once_and_what_is_written_is_read_back_once(
    cli: Cli, opened: Opened, links: list[str], model: str, form: str
) -> None:
    """An input is opened to see whether it can be, a CSV file for its first line, then for all its rows.

    Where columns are named as a range, the names are looked up before that.
    """
    make, line = INPUTS[model]
    table, source = make(), f"in.{form}"
    if form == "csv":
        pcsv.write_csv(table, source)
    else:
        pq.write_table(table, source)
    command, _, options = line.partition(" ")
    looks = 2 if form == "csv" else 1
    most = looks + 1 + (2 if model == "series" else 0)
    with opened() as counts:
        assert cli(f"{command} {source} --out out --ledger ledger --format {form} {options}").code == 0
    assert 0 < counts.pop(source) <= most
    # The folder is read back before it is renamed.
    written = {path: count for path, count in counts.items() if path.startswith("release/")}
    assert written == {path: 2 if "." in path and "json" not in path else 1 for path in written}
    assert f"release/data.{form}" in written
    assert links == [model]

    links.clear()
    several = options.rpartition(" ")[0].replace("--seed 1 ", "")
    with opened() as counts:
        assert cli(f"explore {source} {several} 2,3").code == 0
    assert 0 < counts[source] <= most
    assert links == [model] * 2


def test_one_run_verifies_once_and_what_it_wrote(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("visits.csv").write_text(VISITS)
    verdicts = []
    check = events.check

    def counted(evidence: Any) -> Any:
        verdict = check(evidence)
        verdicts.append((verdict.scope, len(list(Path().glob(".out.partial-*/release/data.parquet")))))
        return verdict

    monkeypatch.setattr(events, "check", counted)
    assert cli(f"{RUN} --ledger ledger").code == 0
    assert cli("verify out --ledger ledger").code == 0
    assert verdicts == [("with ledger", 1), ("with ledger", 0)]


def test_neighbours_of_a_ledger_are_not_all_looked_into(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """One folder that is not published shows that the one around it is not."""
    Path("visits.csv").write_text(VISITS)
    for number in range(300):
        Path(f"neighbour {number}").mkdir()
    looked, glob = [], Path.glob

    def counted(folder: Path, pattern: str) -> Any:
        looked.append(folder)
        return glob(folder, pattern)

    monkeypatch.setattr(Path, "glob", counted)
    assert cli(f"{RUN} --ledger ledger").code == 0
    assert 0 < len([folder for folder in looked if folder.name.startswith("neighbour")]) < 10
