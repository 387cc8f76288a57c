"""The seeds of the fuzzer, and every input that once broke something, keep their contract."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fuzz.targets import CORPUS, RELEASES, TARGETS, check

from timeveil.folder.opening import judged


@pytest.mark.parametrize("target", TARGETS)
def test_the_corpus_keeps_its_contract(target: str, tmp_path: Path) -> None:
    inputs = sorted((CORPUS / target).iterdir())
    assert inputs
    for path in inputs:
        check(target, path.read_bytes(), tmp_path / "place")


SOUND = (
    *("csv/plain", "parquet/plain", "manifest/time", "manifest/series", "release/stream.csv", "ledger/time"),
    *("release/series.csv", "job/series", "calendar/terms", "hierarchy/prefixes", "state/plain"),
)


@pytest.mark.parametrize("name", SOUND)
def test_sound_seeds_are_read(name: str, tmp_path: Path) -> None:
    """A corpus whose seeds are all refused would prove nothing."""
    target = name.split("/", maxsplit=1)[0]
    assert check(target, (CORPUS / name).read_bytes(), tmp_path / "place") == ""


@pytest.mark.parametrize("folder", sorted(RELEASES.iterdir()), ids=lambda folder: folder.name)
def test_the_small_releases_are_as_releases_are_written_now(folder: Path) -> None:
    """Else `python -m tests.fuzz.seeds` makes them anew."""
    assert judged(folder)[1].violations == ()


def test_a_state_file_whose_tables_are_named_in_no_text(tmp_path: Path) -> None:
    sound = (CORPUS / "state" / "plain").read_bytes()
    broken = sound.replace(b"CREATE TABLE streams", b"CREATE \xac\xbe\xbd\xb9E streams")
    assert broken != sound
    assert check("state", broken, tmp_path / "place") == "state-damaged"
