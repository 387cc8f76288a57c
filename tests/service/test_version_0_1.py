"""State files that version 0.1 wrote resume, and what they held is published once."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest

import timeveil as tv
from timeveil.cli import run
from timeveil.domain.parameter import parameter
from timeveil.folder import damage
from timeveil.models.stream.parameters import StreamParameters

FIXTURE = Path(__file__).parent.parent / "fixtures" / "version_0_1" / "stream_service.tar.gz"
COLUMNS = "--respondent person --time day --quasi district --quasi sex --sensitive diagnosis --drop age_band"
STREAMS = {"plain": ("--l 2", 4), "packets": ("--l 3 --protect-slot 2", 7)}
"""Options of each stream, and how many of its slots version 0.1 had published after 7 of 14 files."""


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_of_version_0_1_resumes(tmp_path: Path, name: str) -> None:
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(tmp_path, filter="data")
    inbox, out, (options, published) = tmp_path / f"in_{name}", tmp_path / f"slots_{name}", STREAMS[name]
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert len(list((out / "slots").iterdir())) == published
    shutil.copytree(tmp_path / "inbox", inbox, dirs_exist_ok=True)
    line = f"publish-stream {inbox} --state {tmp_path / name}.db --out {out} {COLUMNS} {options}"
    assert run([*line.split(), "--window", "4", "--seed", "5", "--close"]) == 0
    assert len(list((out / "slots").iterdir())) == 14
    assert all(path.read_bytes() == content for path, content in before.items())
    assert damage(out) == ()
    release = tv.open_release(out)
    assert tv.verify(release).violations == ()
    records = [
        line.rsplit(",", 1)[-1]
        for file in (tmp_path / "inbox").iterdir()
        for line in file.read_text().splitlines()[1:]
    ]
    assert 0.6 * len(records) < release.table.num_rows <= len(records)
    for slot in (out / "slots").iterdir():
        assert tv.verify(tv.open_release(slot)).violations == ()


class WithNovelty(StreamParameters):
    novelty: int = parameter("Number of novelties.", default=3, at_least=0)


def test_a_parameter_added_later_has_its_default_in_a_state_of_version_0_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("models.stream.method.publisher", "service.parameters"):
        monkeypatch.setattr(f"timeveil.{module}.StreamParameters", WithNovelty)
    monkeypatch.setattr("timeveil.models.stream.parameters.PARAMETERS", WithNovelty)
    test_a_stream_of_version_0_1_resumes(tmp_path, "plain")
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(tmp_path / "again", filter="data")
    line = f"publish-stream {tmp_path}/again/in_plain --state {tmp_path}/again/plain.db --seed 5 --window 4"
    other = f"{line} --out {tmp_path}/again/slots_plain {COLUMNS} --l 2 --novelty 4"
    assert run(other.split()) == 2
