"""One run verifies the release in memory and the folder before it appears, and reads its manifest once."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli

from timeveil.models.events.judges import verify as events

VISITS = "patient,taken_at,zip\n" + "".join(f"{n},2024-01-{1 + n % 3:02},x\n" for n in range(12))
RUN = "generalize-time visits.csv --out out --respondent patient --time taken_at --quasi zip --k 2"

_READ: list[str] = []
_IS_WATCHING = [False]


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook stays for the life of the process, so it can be switched off."""
    if not _IS_WATCHING[0] or event != "open":
        return
    path, _, flags = arguments
    if str(path).endswith("release.json") and not flags & (os.O_WRONLY | os.O_RDWR):
        _READ.append(str(path))


def test_one_run_reads_and_verifies_once(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("visits.csv").write_text(VISITS)
    scopes = []
    check = events.check

    def counted(evidence: Any) -> Any:
        verdict = check(evidence)
        scopes.append(verdict.scope)
        return verdict

    monkeypatch.setattr(events, "check", counted)
    sys.addaudithook(_watch)
    _READ.clear()
    _IS_WATCHING[0] = True
    try:
        assert cli(RUN).code == 0
    finally:
        _IS_WATCHING[0] = False
    assert len(_READ) == 1
    assert scopes == ["with ledger", "recipient"]


def test_a_folder_is_verified_once(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("visits.csv").write_text(VISITS)
    assert cli(f"{RUN} --ledger ledger").code == 0
    calls = []
    check = events.check
    monkeypatch.setattr(events, "check", lambda evidence: (calls.append(1), check(evidence))[1])
    assert cli("verify out --ledger ledger").code == 0
    assert len(calls) == 1
