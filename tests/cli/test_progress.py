"""Whatever can take long shows what it is doing and how far it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.csv as pcsv
import pytest
from tests.cli.conftest import Cli
from tests.cli.test_work_is_done_once import INPUTS
from tests.service import inboxes

from timeveil.cli.output import Output
from timeveil.domain.wording import Progress

Steps = list[tuple[str, float]]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    """What a command reports, as a bar would show it."""
    shown: Steps = []

    @contextmanager
    def progress(_: Output) -> Iterator[Progress]:
        yield lambda doing, share: shown.append((doing, share))

    monkeypatch.setattr(Output, "progress", progress)
    return shown


def check(cli: Cli, steps: Steps, line: str, at_least: int = 3) -> None:
    steps.clear()
    said = cli(line)
    assert said.code == 0, said.err
    shares = [share for _, share in steps]
    assert len(shares) >= at_least, (line, steps)
    assert shares == sorted(shares), (line, steps)
    assert 0 <= shares[0] <= shares[-1] <= 1
    assert all(doing and len(doing) <= 60 for doing, _ in steps)


@pytest.mark.parametrize("model", INPUTS)
def test_every_step_of_a_release(model: str, cli: Cli, steps: Steps, here: Path) -> None:
    table, options = INPUTS[model]
    pcsv.write_csv(table(), here / "in.csv")
    command, _, roles = options.partition(" ")
    check(cli, steps, f"{command} in.csv --out out --ledger out.ledger {roles}", at_least=5)
    check(cli, steps, "verify out --ledger out.ledger")
    check(cli, steps, "measure out --ledger out.ledger", at_least=2)
    check(cli, steps, "attack out --ledger out.ledger", at_least=2)
    check(cli, steps, "report out --ledger out.ledger --out report.html")


def test_a_stream_in_service_counts_files(cli: Cli, steps: Steps, here: Path) -> None:
    inboxes.fill(here / "inbox", days=6)
    check(cli, steps, f"publish-stream inbox --state s.db --out out {inboxes.OPTIONS} --allow-loss")
    assert steps[1][0] == "taking files: 1 of 6"
