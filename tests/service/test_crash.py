"""Killed at step boundaries and at random moments: nothing is lost, repeated or rearranged."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.effort import THOROUGH
from tests.service.inboxes import BY_SITE, HEAD, OPTIONS, day, fill, tree
from tests.service.processes import Nursery, nursery

from timeveil.service import status

MOST_BOUNDARIES = 200
STRIDE = 1 if THOROUGH else 5
"""Of the boundaries, which are killed at."""
FURTHEST = 6 if THOROUGH else 12
"""Boundaries that a start comes past, at most, where every start is killed."""
RANDOM_KILLS = 15 if THOROUGH else 5
DAYS = 4


@pytest.fixture(scope="module")
def run() -> Iterator[Nursery]:
    with nursery() as children:
        yield children


class Stream:
    """An inbox with a bad file in the middle, to be published to the end."""

    def __init__(self, root: Path, options: str = OPTIONS) -> None:
        root.mkdir(parents=True)
        self.root, self.said = root, root / "said"
        fill(root / "in", DAYS)
        (root / "in" / f"{day(2)}-bad.csv").write_text(HEAD + "nonsense\n")
        self.line = f"publish-stream {root}/in --state {root}/s.db --out {root}/out {options} --close"

    def outcome(self) -> tuple[dict[str, bytes], dict[str, bytes], object]:
        """What is published, what is left in the inbox, and what the state file says."""
        told = status(self.root / "s.db").as_dict()
        return tree(self.root / "out"), tree(self.root / "in"), told


@pytest.fixture(scope="module")
def undisturbed(run: Nursery, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[object, float]]:
    found = {}
    for options in (OPTIONS, BY_SITE):
        stream = Stream(tmp_path_factory.mktemp("undisturbed") / "stream", options)
        assert run(stream.line, stream.said) == 2, stream.said.read_text()
        found[options] = stream.outcome(), run.seconds
    return found


def finish(run: Nursery, stream: Stream) -> None:
    code = run(stream.line, stream.said)
    assert code in (0, 2), stream.said.read_text()


def test_killed_at_step_boundaries(run: Nursery, tmp_path: Path, undisturbed: dict[str, object]) -> None:
    wanted = undisturbed[OPTIONS][0]  # type: ignore[index]
    for boundary in range(1, MOST_BOUNDARIES, STRIDE):
        stream = Stream(tmp_path / str(boundary))
        code = run(stream.line, stream.said, crash_at=boundary)
        if code == 2:
            break
        assert code == -signal.SIGKILL, stream.said.read_text()
        finish(run, stream)
        assert stream.outcome() == wanted, f"killed at boundary {boundary}"
    assert 20 < boundary < MOST_BOUNDARIES


def test_killed_again_and_again(run: Nursery, tmp_path: Path, undisturbed: dict[str, object]) -> None:
    """Every start is killed a few boundaries further on, so that starting again is interrupted too."""
    for seed, options in enumerate((OPTIONS, BY_SITE)):
        rng, stream = random.Random(seed), Stream(tmp_path / str(seed), options)  # noqa: S311
        for _ in range(MOST_BOUNDARIES):
            code = run(stream.line, stream.said, crash_at=rng.randint(2, FURTHEST))
            if code != -signal.SIGKILL:
                break
        assert code in (0, 2), stream.said.read_text()
        assert stream.outcome() == undisturbed[options][0]  # type: ignore[index]


def test_killed_at_random_moments(run: Nursery, tmp_path: Path, undisturbed: dict[str, object]) -> None:
    rng = random.Random(11)  # noqa: S311
    wanted, seconds = undisturbed[BY_SITE]  # type: ignore[misc]
    stream, kills, number = Stream(tmp_path / "0", BY_SITE), 0, 0
    while kills < RANDOM_KILLS and number < 3 * RANDOM_KILLS:
        code = run(stream.line, stream.said, kill_after=rng.uniform(0.01, 0.6 * seconds))
        kills += code == -signal.SIGKILL
        seconds *= 1 if code == -signal.SIGKILL else 0.8  # the machine has become faster
        if code != -signal.SIGKILL or rng.random() < 0.3:
            finish(run, stream)
            assert stream.outcome() == wanted
            number += 1
            stream = Stream(tmp_path / str(number), BY_SITE)
    finish(run, stream)
    assert stream.outcome() == wanted
    assert kills > RANDOM_KILLS / 2


def test_a_process_started_by_hand_and_killed_from_outside(
    tmp_path: Path, undisturbed: dict[str, object], run: Nursery
) -> None:
    stream = Stream(tmp_path / "stream")
    command = [sys.executable, "-m", "timeveil", *stream.line.split()]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not (stream.root / "out" / "slots" / day(0)).exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    process.kill()
    process.wait()
    assert (stream.root / "out" / "slots" / day(0)).exists()
    finish(run, stream)
    assert stream.outcome() == undisturbed[OPTIONS][0]  # type: ignore[index]
