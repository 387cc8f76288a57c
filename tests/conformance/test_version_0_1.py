"""Folders and ledgers that version 0.1 wrote still open, verify, answer and measure as they did then."""

from __future__ import annotations

from pathlib import Path

import pytest

import timeveil as tv
from timeveil.cli import run
from timeveil.folder import damage, open_ledger

FIXTURES = Path(__file__).parent.parent / "fixtures" / "version_0_1"

QUERIES = {
    "time": tv.WindowCount(between=("2024-01-03", "2024-02-10"), where={"result": "normal"}),
    "stream": tv.WindowCount(between=("2025-02-05", "2025-02-12"), where={"diagnosis": "measles"}),
    "series": tv.RangeCount(ranges={"h01": (0.1, 0.5)}),
    "patterns": tv.PatternSupport(items=["milk"]),
}

# What version 0.1 gave: (value, low, high) of the answer, some fields of the loss, the worst attack
EXPECTED = {
    "events": ((307.142857, 230, 395), {"rows": 541, "groups": 58, "suppressed": 59}, 1 / 3),
    "events_csv": ((328, 328, 338), {"rows": 590, "groups": 42, "suppressed": 10}, 1 / 3),
    "stream": ((4, 4, 4), {"rows": 116, "information_loss": 44.0, "moved": 10}, 1 / 2),
    "stream_packets": ((2, 2, 2), {"rows": 90, "information_loss": 265.0, "moved": 18}, 1 / 3),
    "stream_jitter": ((5, 5, 5), {"rows": 119, "information_loss": 85.0, "moved": 62}, 1.0),
    "series": ((37.127727, 6, 60), {"groups": 10, "value_loss": 0.534687, "pattern_loss": 0.076398}, 1 / 3),
    "series_kapra": (
        (32.709694, 7, 54),
        {"groups": 9, "value_loss": 0.52728, "pattern_loss": 0.849072},
        1 / 3,
    ),
    "series_parts": (
        (37.127727, 6, 60),
        {"groups": 10, "value_loss": 0.447289, "pattern_loss": 0.08582},
        1 / 3,
    ),
    "patterns": ((120, 65, 120), {"patterns": 137, "changed": 81, "mean_error": 0.329794}, 0.0),
    "patterns_series": (None, {"patterns": 42, "changed": 28, "mean_error": 0.513232}, 0.0),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_folder_of_version_0_1_still_serves(name, capfd):
    answer, losses, worst = EXPECTED[name]
    folder, path = FIXTURES / name, FIXTURES / f"{name}.ledger"
    path.chmod(0o600)
    assert damage(folder) == ()
    release, ledger = tv.open_release(folder), open_ledger(path)
    assert tv.verify(release)
    assert tv.verify(release, ledger)
    if answer is not None:
        estimate = tv.answer(release, QUERIES[release.manifest["model"]])
        assert (estimate.value, estimate.low, estimate.high) == pytest.approx(answer)
    loss = tv.measure(release, ledger)
    assert {field: getattr(loss, field) for field in losses} == pytest.approx(losses, rel=1e-5)
    assert tv.attack(release, ledger).worst == pytest.approx(worst)
    assert run(["verify", str(folder), "--ledger", str(path)]) == 0, capfd.readouterr()
