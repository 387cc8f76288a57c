"""Sign-offs are about one release, beside the ledger, and nobody else's to read."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

import timeveil as tv
from timeveil.datasets import baskets
from timeveil.folder.signoff import sign_off, sign_offs


def test_a_decision_is_about_one_release(tmp_path: Path) -> None:
    ledger = tmp_path / "a.ledger"
    sign_off(ledger, "Officer", "rejected", "k is too small", "hash-1")
    sign_off(ledger, "Officer", "approved", "now it is 10", "hash-2")
    assert [(each.decision, each.reason) for each in sign_offs(ledger, "hash-2")] == [
        ("approved", "now it is 10")
    ]
    assert sign_offs(ledger, "hash-3") == sign_offs(tmp_path / "none", "hash-1") == []
    assert stat.S_IMODE(Path(f"{ledger}.signoff.jsonl").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("name", "decision", "reason"),
    [
        ("", "approved", "why"),
        ("Officer", "maybe", "why"),
        ("Officer", "approved", " "),
        ("O\nfficer", "approved", "x"),
    ],
)
def test_a_decision_has_a_name_and_a_reason(tmp_path: Path, name: str, decision: str, reason: str) -> None:
    with pytest.raises(tv.ParameterError, match="not complete"):
        sign_off(tmp_path / "a.ledger", name, decision, reason, "hash")
    assert list(tmp_path.iterdir()) == []


def test_lines_that_are_none_are_ignored(tmp_path: Path) -> None:
    ledger = tmp_path / "a.ledger"
    sign_off(ledger, "Officer", "approved", "fine", "hash")
    with Path(f"{ledger}.signoff.jsonl").open("a", encoding="utf-8") as file:
        file.write(
            'nonsense\n{"name": "x"}\n{"name": 1, "decision": [], "reason": "", "at": "", "release": "h"}\n'
        )
    assert len(sign_offs(ledger, "hash")) == 1


def test_no_decision_is_put_into_a_release(tmp_path: Path) -> None:
    roles = tv.Roles(respondent="basket", item="item")
    release, _ = tv.sanitize_patterns(baskets(200), roles, k=3, min_support=20, repeats="once")
    tv.write(release, tmp_path / "out")
    with pytest.raises(tv.PrivateArtifactError):
        sign_off(tmp_path / "out" / "a.ledger", "Officer", "approved", "fine", "hash")
    assert tv.verify(tmp_path / "out")
