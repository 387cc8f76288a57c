"""Real processes that run the command line and can be killed, without paying for their start each time.

One process imports timeveil and then forks a child for every command. A child is a process of its own: it
has its own locks, and SIGKILL ends it as it ends any other.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MANIFEST = Path(__file__).parents[1] / "fixtures" / "version_0_1" / "stream" / "release.json"
NURSERY = """
import contextlib, io, itertools, json, os, resource, signal, sys, time
import pandas, pyarrow.csv, pyarrow.parquet, timeveil.service.running, timeveil.folder
import timeveil.calendar.definitions, timeveil.evidence.published, timeveil.models.stream.judges.verify
import timeveil.service.feed, timeveil.service.nats_broker, timeveil.service.redis_broker
import timeveil.service.kafka_broker, timeveil.service.growing_table, adbc_driver_postgresql.dbapi
from timeveil.cli import main, run
from timeveil.domain.guarantee import guarantee_from
from timeveil.folder.writing import letter, words

with contextlib.redirect_stderr(io.StringIO()):
    run(["stream-status", "--state", "none"])
manifest = json.load(open(sys.argv[1], encoding="utf-8"))
letter(words("stream"), guarantee_from(manifest["guarantee"]), manifest)  # its templates are compiled once

timeveil.service.feed.IDLE = 0.2

def crash_at(number):
    steps = itertools.count(1)
    def boundary():
        if next(steps) == number:
            os.kill(os.getpid(), signal.SIGKILL)
    timeveil.service.running.boundary = boundary

for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if child == 0:
        crash_at(asked["crash_at"])
        said = os.open(asked["said"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for stream in (1, 2):
            os.dup2(said, stream)
        if asked["largest_file"]:
            resource.setrlimit(resource.RLIMIT_FSIZE, (asked["largest_file"],) * 2)
        main(asked["arguments"])
    begun = time.monotonic()
    while asked["kill_once"] and not os.path.exists(asked["kill_once"]) and time.monotonic() - begun < 60:
        time.sleep(0.05)
    if asked["kill_after"] is not None:
        time.sleep(asked["kill_after"])
        os.kill(child, asked["signal"])
    _, status, used = os.wait4(child, 0)
    code, seconds = os.waitstatus_to_exitcode(status), time.monotonic() - begun
    print(json.dumps({"code": code, "seconds": seconds, "peak": used.ru_maxrss * 1024}), flush=True)
"""


class Nursery:
    """Runs commands in children; says how many seconds and how many bytes of memory the last one took."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.seconds, self.peak = 0.0, 0

    def __call__(
        self,
        line: str,
        said: Path,
        *,
        crash_at: int | None = None,
        kill_after: float | None = None,
        kill_once: Path | None = None,
        signal: int = 9,
        largest_file: int = 0,
    ) -> int:
        """The exit code; minus the number of the signal if one ended it.

        The signal comes `kill_after` seconds after the start, or after the path `kill_once` is there.
        """
        asked: dict[str, Any] = {
            "arguments": line.split(),
            "crash_at": crash_at,
            "said": str(said),
            "kill_after": kill_after,
            "kill_once": kill_once and str(kill_once),
            "signal": signal,
            "largest_file": largest_file,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        self.seconds, self.peak = answer["seconds"], answer["peak"]
        return int(answer["code"])


@contextmanager
def nursery() -> Iterator[Nursery]:
    process = subprocess.Popen(
        [sys.executable, "-c", NURSERY, str(MANIFEST)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Nursery(process)
    finally:
        process.communicate()
