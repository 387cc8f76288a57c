"""A release is replaced in one step: whatever happens, the old one or the new one is there, complete."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import ROLES, Cli, names
from tests.service.inboxes import tree

import timeveil as tv
from timeveil.cli import output
from timeveil.folder import placing

RUN = f"generalize-time visits.csv --out out {ROLES}"
KILLED = """
import itertools, json, os, pathlib, signal, sys
import timeveil as tv
from timeveil.domain import stored
from timeveil.folder import placing

roles = tv.Roles("who", "day", quasi=["zip"], sensitive=["result"])
release, _ = tv.generalize_time("visits.csv", roles, k=3)
tv.write(release, "warm")
EVENTS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.chmod", "swap")

def crash_at(number):
    steps = itertools.count(1)
    def step(event, arguments):
        if event == "open" and "partial" not in str(arguments[0]):
            return
        if event in EVENTS and next(steps) == number:
            os.kill(os.getpid(), signal.SIGKILL)
    swap = placing._swap
    def swapped(*paths):
        step("swap", None)
        swap(*paths)
        step("swap", None)
    placing._swap = swapped
    sys.addaudithook(step)

for number in itertools.count(1):
    child = os.fork()
    if child == 0:
        crash_at(number)
        tv.write(release, "out", overwrite=True)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps([number, code]), flush=True)
    if code != -signal.SIGKILL:
        break
    stored.sweep(pathlib.Path("."))  # as the next run does; it would be killed at a step of this
    sys.stdin.readline()
"""


def test_a_kill_at_any_step_leaves_the_old_or_the_new(cli: Cli) -> None:
    assert cli(f"{RUN} --k 2 --quiet").code == 0
    roles = tv.Roles("who", "day", quasi=["zip"], sensitive=["result"])
    tv.write(tv.generalize_time("visits.csv", roles, k=3)[0], "expected")
    old, new = tree(Path("out")), tree(Path("expected"))
    assert old != new
    seen = []
    with subprocess.Popen([sys.executable, "-c", KILLED], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdin
        assert process.stdout
        for line in process.stdout:
            step, code = json.loads(line)
            content = tree(Path("out"))
            assert content in (old, new), f"a mixture after step {step}"
            seen.append(content == new)
            if code:
                process.stdin.write("\n")
                process.stdin.flush()
    assert process.returncode == code == 0
    assert len(seen) > 20
    assert seen == sorted(seen)
    assert seen.count(False) > 10
    assert sum(seen) > 2, "no kill came after the folders changed places"
    assert names() == ["expected", "out", "visits.csv", "warm"], "what the kills left was not removed"


def test_a_run_replaces_a_release_when_asked(cli: Cli) -> None:
    assert cli(f"{RUN} --k 2").code == 0
    assert cli(f"{RUN} --k 3").code == 2
    said = cli(f"{RUN} --k 3 --overwrite --ledger ledger")
    assert said.code == 0, said.err
    assert "To repeat this run:\n" in said.out
    assert " --overwrite" in said.out
    assert ", overwrite=True)" in said.out
    release = tv.open_release("out")
    assert release.guarantee.as_dict()["k"] == 3
    assert tv.verify("out", tv.open_ledger("ledger"))
    assert names() == ["ledger", "out", "visits.csv"]
    assert cli(f"{RUN.replace('out out', 'out new')} --k 3 --overwrite").code == 0
    assert "new" in names()


def test_a_job_says_so_by_a_key(cli: Cli) -> None:
    job = (
        'in = "visits.csv"\nout = "out"\nrespondent = "who"\ntime = "day"\ndrop = "rest"\noverwrite = true\n'
    )
    for k in (2, 3):
        Path("job.toml").write_text(f"{job}k = {k}\n")
        assert cli("run job.toml --quiet").code == 0
        assert tv.open_release("out").guarantee.as_dict()["k"] == k


def foreign(folder: Path) -> None:
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")


def shared(folder: Path) -> None:
    tv.write(tv.open_release("first"), folder)
    (folder / "mine.txt").write_text("mine")


def linked(folder: Path) -> None:
    folder.symlink_to("first")


@pytest.mark.parametrize("made", [foreign, shared, linked, Path.mkdir, Path.touch])
def test_nothing_but_a_release_is_replaced(cli: Cli, made: object) -> None:
    assert cli(f"{RUN.replace('out out', 'out first')} --k 2 --quiet").code == 0
    made(Path("out"))  # type: ignore[operator]
    before = names(), names("out") if Path("out").is_dir() else None
    said = cli(f"{RUN} --k 2 --overwrite")
    assert (said.code, said.out) == (2, "")
    assert "`out` is not a folder with one release and nothing else, so it is not replaced" in said.err
    assert "hint: choose another name" in said.err
    assert (names(), names("out") if Path("out").is_dir() else None) == before


def test_a_ledger_is_never_replaced(cli: Cli) -> None:
    assert cli(f"{RUN} --k 2 --ledger ledger --quiet").code == 0
    before, ledger = tree(Path("out")), Path("ledger").read_bytes()
    said = cli(f"{RUN} --k 3 --ledger ledger --overwrite")
    assert (said.code, said.out) == (2, "")
    assert "`ledger` exists already" in said.err
    assert (tree(Path("out")), Path("ledger").read_bytes()) == (before, ledger)


def test_an_infeasible_run_leaves_the_old_release(cli: Cli) -> None:
    assert cli(f"{RUN} --k 2 --quiet").code == 0
    before = tree(Path("out"))
    assert cli(f"{RUN} --k 9 --overwrite").code == 3
    assert tree(Path("out")) == before


def test_a_system_without_such_a_step_replaces_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli(f"{RUN} --k 2 --quiet").code == 0
    before = tree(Path("out"))

    def cannot(*_: object) -> None:
        raise OSError(errno.EINVAL, "no")

    monkeypatch.setattr(placing, "_swap", cannot)
    said = cli(f"{RUN} --k 3 --overwrite")
    assert (said.code, said.out) == (2, "")
    assert "cannot make two folders change places" in said.err
    assert tree(Path("out")) == before
    assert names() == ["out", "visits.csv"]


def test_an_interrupted_run_does_not_claim_the_old_release(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli(f"{RUN} --k 2 --quiet").code == 0

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("timeveil.jobs.publish.write_pair", interrupted)
    said = cli(f"{RUN} --k 3 --overwrite")
    assert (said.code, said.err) == (output.INTERRUPTED, "interrupted; nothing was written\n")
