"""Work in processes of its own: started, watched, cancelled. A crash takes nothing along.

A task is one process that is given one request as JSON and answers with lines of JSON: how far it is, what it
has so far, and at its end the result or the error. Its input stays open as long as the server lives; when
that ends, by a kill as well, the process stops itself the way that leaves nothing behind.
"""

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from timeveil.domain.stored import sweep
from timeveil.errors import EngineError

State = Literal["running", "done", "failed", "cancelled"]
PATIENCE = 5.0  # seconds that a process has to stop by itself
LONGEST_LINE = 64 * 1024 * 1024
REMEMBERED = 200  # tasks whose results are kept


class Task:
    """One process: its state, its progress and what came of it."""

    def __init__(self, kind: str, request: Mapping[str, Any], root: Path, folder: Path) -> None:
        self.id, self.kind, self.request = secrets.token_urlsafe(9), kind, dict(request)
        self.key, self.written = "", False  # what it is found by, and whether its release is in its place
        self.state: State = "running"
        self.step, self.share = "starting", 0.0
        self.svg = ""  # what it drew so far
        self.result: dict[str, Any] = {}
        self.error: dict[str, Any] = {}
        self._changed, self._root = threading.Condition(), root
        self._folder = Path(tempfile.mkdtemp(dir=folder))
        environment = {**os.environ, "TMPDIR": str(self._folder), "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "timeveil.web.working"],
            cwd=root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a traceback could carry data
            start_new_session=True,
        )
        assert self.process.stdin is not None  # noqa: S101 (a pipe was asked for)
        with contextlib.suppress(OSError):  # it may have died already, which its end shows
            self.process.stdin.write(json.dumps({"kind": kind, **request}).encode() + b"\n")
            self.process.stdin.flush()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def _watch(self) -> None:
        out = self.process.stdout
        assert out is not None  # noqa: S101 (a pipe was asked for)
        while line := out.readline(LONGEST_LINE):
            with contextlib.suppress(ValueError), self._changed:
                message = json.loads(line)
                self.written |= "written" in message
                if self.state == "running":
                    self._note(message)
                    self._changed.notify_all()
        self.process.wait()
        for pipe in (self.process.stdin, out):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]  # both were asked for
        message = "the process that did this ended unexpectedly"
        hint = "try again; if it is a large table, use the engine duckdb"
        with self._changed:
            if self.state == "running":
                error = {"message": message, "hint": hint, "code": "engine-failed", "parameters": []}
                self._note({"error": error})
            self._changed.notify_all()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _note(self, message: Mapping[str, Any]) -> None:
        if "step" in message:
            self.step, self.share = str(message["step"]), float(message["share"])
        elif "svg" in message:
            self.svg = message["svg"]
        elif "result" in message:
            self.state, self.result, self.share = "done", message["result"], 1.0
        elif "error" in message:
            self.state, self.error = "failed", message["error"]

    def wait(self, seconds: float, seen: object = None) -> object:
        """Wait until it is over, or until something differs from what was `seen`; what there is now."""
        until = time.monotonic() + seconds
        with self._changed:
            while (self.state == "running" and seen in (None, self.now)) and time.monotonic() < until:
                self._changed.wait(max(until - time.monotonic(), 0.0))
            return self.now

    @property
    def now(self) -> tuple[State, str, float, str]:
        return self.state, self.step, self.share, self.svg

    def cancel(self) -> None:
        """Stop it, kindly first; what it had not finished is gone when this returns."""
        with self._changed:
            if self.state == "running":
                self.state = "cancelled"
                self._changed.notify_all()
        for stop in (self.process.terminate, self.process.kill):
            with contextlib.suppress(OSError):
                stop()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(PATIENCE)
                break
        self._watcher.join(PATIENCE)  # it may have written its release just before
        if out := self.request.get("out"):
            sweep((self._root / str(out)).parent)  # hidden folders of processes that are gone
        shutil.rmtree(self._folder, ignore_errors=True)

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("id", "kind", "state", "step", "share")}


class Workshop:
    """All tasks of a server, a few of them at a time; results are kept in memory only."""

    def __init__(self, root: Path, most: int) -> None:
        self._root, self._most, self._lock = root, most, threading.RLock()
        self._tasks = dict[str, Task]()
        self._folder = Path(tempfile.mkdtemp(prefix="timeveil-serve-"))

    def start(self, kind: str, request: Mapping[str, Any]) -> Task:
        """A new task, refused if too many are running."""
        with self._lock:
            running = sum(task.state == "running" for task in self._tasks.values())
            if running >= self._most:
                message = f"{running} tasks are running, and no more are started at a time"
                raise EngineError(message, hint="wait until one is done, or cancel one, and try again")
            task = Task(kind, request, self._root, self._folder)
            self._tasks[task.id] = task
            for old in [t for t in self._tasks.values() if t.state != "running"][:-REMEMBERED]:
                del self._tasks[old.id]
            return task

    def ensure(self, kind: str, request: Mapping[str, Any], version: str) -> Task:
        """The task that does this on this version of the data; one that failed before is tried again."""
        key = json.dumps([kind, request, version], sort_keys=True)
        with self._lock:
            same = (t for t in self._tasks.values() if t.key == key and t.state != "cancelled")
            task = next(same, None) or self.start(kind, request)
            task.key = key
        if task.wait(1.0) and task.state == "failed":
            task.key = ""
        return task

    def find(self, name: str) -> Task | None:
        return self._tasks.get(name)

    def busy(self) -> bool:
        return any(task.state == "running" for task in self._tasks.values())

    def close(self) -> None:
        """Stop everything."""
        for task in list(self._tasks.values()):
            if task.state == "running":
                task.cancel()
        shutil.rmtree(self._folder, ignore_errors=True)


def events(task: Task) -> Iterator[str]:
    """What changes of a task, as server-sent events, until it is over."""
    seen: object = None
    while True:
        yield f"data: {json.dumps({**task.as_dict(), 'svg': task.svg})}\n\n"
        if task.state != "running":
            return
        seen = task.wait(10.0, seen or task.now)
