"""A stream of packets in service: killed and started again, it publishes what it would have published."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from tests.effort import THOROUGH
from tests.service.inboxes import HEAD, Row, day, rows_of, text, tree
from tests.service.processes import Nursery, nursery

import timeveil as tv
from timeveil.service import status

DAYS = 6
PACKETS = "--time day --quasi age --sensitive ill --l 3 --window 4 --seed 7 --protect-slot 2 --spread 2"
ONE, SEVERAL = f"{PACKETS} --drop site", f"{PACKETS} --stream-by site"


@pytest.fixture(scope="module")
def run() -> Iterator[Nursery]:
    with nursery() as children:
        yield children


class Stream:
    """An inbox with a bad file in the middle, to be published to the end."""

    def __init__(self, root: Path, options: str) -> None:
        (root / "in").mkdir(parents=True)
        self.root, self.said = root, root / "said"
        self.rows: list[Row] = []
        rng = random.Random(3)  # noqa: S311
        for number in range(DAYS):
            rows = [row for _ in range(3) for row in rows_of(number, rng)]
            (root / "in" / f"{day(number)}.csv").write_text(text(rows))
            self.rows += rows
        (root / "in" / f"{day(2)}-bad.csv").write_text(HEAD + "nonsense\n")
        self.line = f"publish-stream {root}/in --state {root}/s.db --out {root}/out {options} --close"

    def outcome(self) -> tuple[dict[str, bytes], dict[str, bytes], object]:
        told = status(self.root / "s.db").as_dict()
        return tree(self.root / "out"), tree(self.root / "in"), told


@pytest.mark.parametrize("options", [ONE, SEVERAL])
def test_killed_again_and_again(run: Nursery, tmp_path: Path, options: str) -> None:
    """Packets that wait, and what was drawn for them, come through every kill."""
    calm, stream = Stream(tmp_path / "calm", options), Stream(tmp_path / "killed", options)
    assert run(calm.line, calm.said) == 2, calm.said.read_text()
    streams = status(calm.root / "s.db").as_dict()["streams"]
    assert sum(one["moved"] for one in streams) > 10
    rng, kills = random.Random(1), 0  # noqa: S311
    for _ in range(200):
        code = run(stream.line, stream.said, crash_at=rng.randint(2, 9))
        if code != -signal.SIGKILL:
            break
        kills += 1
    assert code in (0, 2), stream.said.read_text()
    assert kills > 5
    assert stream.outcome() == calm.outcome()


def test_killed_at_step_boundaries(run: Nursery, tmp_path: Path) -> None:
    """Boundaries at even distances, once each."""
    calm = Stream(tmp_path / "calm", ONE)
    assert run(calm.line, calm.said) == 2
    wanted = calm.outcome()
    for boundary in range(1, 100, 7 if THOROUGH else 12):
        stream = Stream(tmp_path / str(boundary), ONE)
        code = run(stream.line, stream.said, crash_at=boundary)
        if code == 2:
            break
        assert code == -signal.SIGKILL, stream.said.read_text()
        assert run(stream.line, stream.said) in (0, 2), stream.said.read_text()
        assert stream.outcome() == wanted, f"killed at boundary {boundary}"
    assert boundary > 20


def test_the_folders_are_the_release_of_the_whole(run: Nursery, tmp_path: Path) -> None:
    """What service publishes file by file is what one call gives for all of it, and it verifies."""
    stream = Stream(tmp_path / "stream", ONE)
    assert run(stream.line, stream.said) == 2
    days, age, ill, _ = zip(*stream.rows, strict=True)
    table = pa.table({"day": pa.array(days).cast(pa.date32()), "age": age, "ill": ill})
    roles = tv.Roles(time="day", quasi=["age"], sensitive=["ill"])
    whole, ledger = tv.publish_stream(table, roles, l=3, window=4, protect_slot=2, spread=2, seed=7)
    opened = tv.open_release(tmp_path / "stream" / "out")
    assert tv.verify(opened)
    assert tv.verify(whole, ledger)
    assert opened.guarantee == tv.LDiversity(3, true_slot=2)
    for name in ("data", "sensitive"):
        assert opened.tables[name].equals(whole.tables[name])


def test_a_state_goes_on_with_its_packets_only(run: Nursery, tmp_path: Path) -> None:
    """Another `protect_slot`, or none, is refused by name."""
    stream = Stream(tmp_path / "stream", ONE)
    assert run(stream.line.removesuffix(" --close"), stream.said) == 2
    assert run(stream.line.replace("--spread 2", "--spread 3"), stream.said) == 2
    assert "made with other parameters: `spread`" in stream.said.read_text()
