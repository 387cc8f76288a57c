"""Trouble outside the content of a file: it stops a run or is cleared away, and costs no record."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.service.inboxes import HEAD, OPTIONS, Place, day, fill, text, tree
from tests.service.processes import Nursery, nursery

import timeveil as tv
from timeveil.cli import run as command
from timeveil.domain.roles import Roles
from timeveil.errors import BundleError, InputError, ParameterError
from timeveil.folder import writing
from timeveil.page.wording import share
from timeveil.service import Service, folders, running, status


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "stream")


@pytest.fixture(scope="module")
def run() -> Iterator[Nursery]:
    with nursery() as children:
        yield children


def undisturbed(place: Place, days: int) -> dict[str, bytes]:
    other = Place(place.root / "undisturbed")
    fill(other.inbox, days)
    other.run(close=True)
    return tree(other.out)


def failing(function: Callable[..., Any], number: int, at: int, name: str) -> Callable[..., Any]:
    """A function that fails with an error of the system at its n-th call about a file."""
    calls = 0

    def fails(path: Any, *arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += name in str(path)
        if calls == at and name in str(path):
            raise OSError(number, "canary", str(path))
        return function(path, *arguments, **options)

    return fails


@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE, errno.ENOMEM, errno.EACCES])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_passing_error_of_the_system_costs_no_record(
    place: Place, monkeypatch: pytest.MonkeyPatch, number: int, at: int
) -> None:
    """Whichever opening of the file fails, of those for its digest, for its header and for its rows."""
    fill(place.inbox, 5)
    wanted = undisturbed(place, 5)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", failing(Path.open, number, at, f"stream/in/{day(2)}"))
        patch.setattr(pa, "input_stream", failing(pa.input_stream, number, at, f"stream/in/{day(2)}"))
        with pytest.raises(InputError) as refused:
            place.run()
    assert refused.value.exit_code == 2
    assert f"`{day(2)}.csv`" in refused.value.message
    assert refused.value.facts == {"errno": number}
    assert "canary" not in str(refused.value)
    assert not (place.inbox / "quarantine").exists()
    assert status(place.state).files_taken == 2
    place.run(close=True)
    assert tree(place.out) == wanted


@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE])
def test_a_passing_error_on_a_parquet_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    place = Place(tmp_path / "stream", roles=Roles(time="n", sensitive=["v"]))
    for slot in range(4):
        pq.write_table(pa.table({"n": [slot] * 4, "v": list("aabc")}), place.inbox / f"{slot}.parquet")
    with monkeypatch.context() as patch:
        patch.setattr(pa, "OSFile", failing(pa.OSFile, number, 1, "in/2.parquet"))
        with pytest.raises(InputError, match=r"2\.parquet"):
            place.run()
    assert place.run().taken == 2


def test_a_publisher_is_not_ahead_of_what_was_stored(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction fails, and the same service goes on."""
    fill(place.inbox, 5)
    wanted = undisturbed(place, 5)
    with place.service() as service:
        with monkeypatch.context() as patch:
            patch.setattr(running.StateFile, "put_file", failing_to_store)
            with pytest.raises(BundleError):
                service.run()
        service.run()
        assert service.close_streams().clean
    assert tree(place.out) == wanted


def failing_to_store(*_: Any) -> None:
    raise BundleError("full", hint="make room", code="disk-full")


def test_a_file_that_can_never_be_read_stops_the_run(place: Place) -> None:
    fill(place.inbox, 4)
    (place.inbox / f"{day(1)}.csv").unlink()
    (place.inbox / f"{day(1)}.csv").symlink_to("/proc/self/mem")
    with pytest.raises(InputError, match=f"`{day(1)}.csv` could not be read"):
        place.run()
    assert status(place.state).files_taken == 1
    assert (place.inbox / f"{day(1)}.csv").is_symlink()


def test_a_link_to_a_disk_that_is_not_mounted_stops_the_run(place: Place) -> None:
    """Nothing after it is taken, which would make its records late."""
    fill(place.inbox, 4)
    link, disk = place.inbox / f"{day(1)}.csv", place.root / "disk"
    disk.mkdir()
    link.rename(disk / link.name)
    link.symlink_to(disk / link.name)
    disk.rename(place.root / "away")
    with pytest.raises(InputError) as refused:
        place.run()
    assert refused.value.facts == {"errno": errno.ENOENT}
    (place.root / "away").rename(disk)
    assert place.run().taken == 3


def test_a_failure_to_look_at_a_known_file_does_not_mark_it_as_changed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(place.inbox, 3)
    place.run()
    os.utime(place.inbox / f"{day(1)}.csv", (1, 1))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", failing(Path.open, errno.EIO, 1, f"in/{day(1)}"))
        with pytest.raises(InputError):
            place.run()
    assert status(place.state).files_changed == 0
    assert place.run().clean


def test_a_file_that_is_taken_away_under_way_is_not_missed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(place.inbox, 4)
    gone, digest = place.inbox / f"{day(1)}.csv", folders.digest

    def removed(path: Path) -> str:
        if path == gone:
            gone.unlink()
        return digest(path)

    monkeypatch.setattr(folders, "digest", removed)
    assert place.run().taken == 3


def test_a_bad_file_that_is_still_written_is_not_put_aside(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(place.inbox, 2)
    half, complete = place.inbox / f"{day(2)}.csv", text([(day(2), "30", value, "x") for value in "abc"])
    half.write_text(HEAD + f"{day(2)},\n")
    read = folders.snapshots_of

    def fails(path: Path, parameters: Any) -> Any:
        if path != half:
            return read(path, parameters)
        relations = list(read(path, parameters)) if half.read_text() == complete else []
        half.write_text(complete)
        return relations or read(place.root / "none.csv", parameters)

    (place.root / "none.csv").write_text(HEAD + "1,2\n")
    monkeypatch.setattr(folders, "snapshots_of", fails)
    tally = place.run()
    assert (tally.taken, tally.left, tally.quarantined) == (2, 1, 0)
    monkeypatch.setattr(folders, "snapshots_of", read)
    assert place.run().taken == 1


@pytest.mark.parametrize("broken", ["1,", "", HEAD.strip(), HEAD + f"{day(1)},3"])
def test_a_file_whose_last_line_does_not_end_settles_first(
    place: Place, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """The clock stands still, so that it does not matter how long a run takes."""
    now = float(int(time.time()))
    monkeypatch.setattr(time, "time", lambda: now)
    fill(place.inbox, 3)
    half = place.inbox / f"{day(1)}.csv"
    complete = half.read_text()
    half.write_text(broken)
    os.utime(half, (now - 1, now - 1))
    tally = place.run()
    assert (tally.taken, tally.left, tally.quarantined) == (1, 1, 0)
    assert place.said == [
        f"`{day(1)}.csv` changed less than 2 s ago and its last line does not end: "
        "it waits for the next look."
    ]
    with pytest.raises(ParameterError, match="1 file may still be written"):
        place.run(close=True)
    half.write_text(complete.rstrip("\n"))
    os.utime(half, (now - 2, now - 2))
    assert place.run(close=True).taken == 2
    assert tree(place.out) == undisturbed(place, 3)


def test_how_long_a_file_settles_is_an_option(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    (place.inbox / "a.csv").write_text(HEAD + f"{day(0)},30,a,x\n{day(0)},31,b,x")
    os.utime(place.inbox / "a.csv", (time.time() - 60, time.time() - 60))
    line = f"publish-stream {place.inbox} --state {place.state} --out {place.out} {OPTIONS}"
    assert command([*line.split(), "--settle", "100"]) == 0
    assert "1 file left for the next run" in capsys.readouterr().out
    assert command([*line.split(), "--settle", "-1"]) == 2
    assert command(line.split()) == 0
    assert "1 file taken" in capsys.readouterr().out


def test_a_quiet_service_says_why_it_fails(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    (place.inbox / "a.csv").write_text(HEAD + "canary\n")
    line = f"publish-stream {place.inbox} --state {place.state} --out {place.out} {OPTIONS} --quiet"
    assert command(line.split()) == 2
    assert "1 file moved to quarantine" in capsys.readouterr().err
    assert command(line.split()) == 0
    assert capsys.readouterr().err == ""


def test_text_that_becomes_nan_is_put_aside(tmp_path: Path) -> None:
    place = Place(tmp_path / "stream", roles=Roles(time="n", sensitive=["v"]), window=1)
    pq.write_table(pa.table({"n": [0] * 3, "v": [1.0, 2.0, 3.0]}), place.inbox / "0.parquet")
    (place.inbox / "1.csv").write_text("n,v\n1,1\n1,2\n1,nan\n")
    (place.inbox / "2.csv").write_text("n,v\n2,0.0\n2,-0.0\n2,1\n2,2\n")
    (place.inbox / "3.csv").write_text("n,v\n3,1\n3,2\n")
    for _ in range(2):
        tally = place.run()
    reason = (place.inbox / "quarantine" / "1.csv.reason.txt").read_text()
    assert "column `v` has 1 cell without a number" in reason
    assert status(place.state).streams[0].values == 4
    assert place.run(close=True).clean
    assert tv.verify(tv.open_release(place.out))
    assert tally.already_taken == 3


def test_two_states_in_one_folder(place: Place, tmp_path: Path) -> None:
    fill(place.inbox, 4)
    place.run()
    other = Place(tmp_path / "other")
    other.out = place.out
    fill(other.inbox, 8, seed=1)
    before = tree(place.root)
    for _ in range(2):
        with pytest.raises(BundleError) as refused:
            other.run()
        assert refused.value.code == "slot-differs"
    assert tree(place.root) == before
    assert not other.state.exists()
    fill(place.inbox, 5)
    assert place.run(close=True).published == 3


def test_two_states_that_start_in_an_empty_folder(place: Place, tmp_path: Path) -> None:
    other = Place(tmp_path / "other")
    other.out = place.out
    fill(place.inbox, 4)
    for number in (6, 7, 8, 9):
        (other.inbox / f"{number}.csv").write_text(text([(day(number), "3", v, "x") for v in "ab"]))
    with place.service() as first, other.service() as second:
        first.run()
        with pytest.raises(BundleError, match="not published with this state file"):
            second.run()
    assert place.slots() == [day(0), day(1)]
    other.out = other.root / "out"
    assert other.run(close=True).published == 4
    shutil.rmtree(place.out)
    assert place.run(close=True).published == 2


@pytest.mark.parametrize("by", [None, "site"])
def test_a_state_that_was_deleted_is_not_made_anew(tmp_path: Path, by: str | None) -> None:
    place = Place(tmp_path / "stream", stream_by=by)
    fill(place.inbox, 5)
    place.run()
    before = tree(place.out)
    place.state.unlink()
    with pytest.raises(BundleError) as refused:
        place.run()
    assert "`Recover` in `Run a stream in service`" in refused.value.hint
    assert tree(place.out) == before
    assert not place.state.exists()


def test_an_empty_state_file_does_not_cost_its_log(place: Place) -> None:
    """As after a loss of power: all that was committed may be in the write-ahead log."""
    fill(place.inbox, 3)
    service = place.service()
    service.run()
    copies = {file.name: file.read_bytes() for file in place.root.glob("s.db-*")}
    service.__exit__(None, None, None)
    for name, content in copies.items():
        (place.root / name).write_bytes(content)
    place.state.write_bytes(b"")
    for start in (place.run, lambda: status(place.state)):
        with pytest.raises(BundleError) as refused:
            start()
        assert refused.value.code == "state-damaged"
    assert (place.root / "s.db-wal").read_bytes() == copies["s.db-wal"] != b""


def test_an_inbox_that_cannot_be_written_blocks_no_other_file(place: Place) -> None:
    """A file in the place of the folder; permissions do not bind a test that runs as root."""
    fill(place.inbox, 4)
    (place.inbox / "quarantine").touch()
    bad = place.inbox / f"{day(1)}x.csv"
    bad.write_text(HEAD + "canary\n")
    for _ in range(2):
        tally = place.run()
        assert (tally.taken + tally.already_taken, tally.quarantined, tally.unmoved) == (4, 0, 1)
        assert not tally.clean
        assert place.said[0].startswith(f"`{bad.name}` cannot be taken: ")
        assert "It stays in the inbox: `quarantine` exists already" in place.said[0]
        assert "canary" not in place.said[0]
    with place.service() as service:
        service.run()
        service.run()
    assert len(place.said) == 1
    (place.inbox / "quarantine").unlink()
    assert place.run().quarantined == 1


def test_a_full_inbox_leaves_nothing_in_quarantine(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(place.inbox, 4)
    (place.inbox / f"{day(1)}x.csv").write_text(HEAD + "nonsense\n")
    opened = os.fdopen

    def full(handle: int, mode: str, **options: Any) -> Any:
        if mode == "w":
            os.write(handle, b"half a rea")
            raise OSError(errno.ENOSPC, "full")
        return opened(handle, mode, **options)

    with monkeypatch.context() as patch:
        patch.setattr(folders.os, "fdopen", full)
        tally = place.run()
    assert (tally.taken, tally.unmoved) == (4, 1)
    assert list((place.inbox / "quarantine").iterdir()) == []
    (place.inbox / "quarantine" / ".x.csv.partial").write_text("left by an earlier version")
    assert place.run().quarantined == 1
    assert not [path for path in (place.inbox / "quarantine").iterdir() if path.name.startswith(".")]


def test_a_ledger_keeps_no_second_name_after_a_kill(tmp_path: Path) -> None:
    """Killed between the step that names the ledger and the one that removes its hidden name."""
    fill(tmp_path / "in", 1)
    files = f"{tmp_path}/in/{day(0)}.csv --ledger {tmp_path}/x.ledger --out {tmp_path}/out"
    line = f"publish-stream {files} {OPTIONS}"
    program = (
        "import os, signal\nfrom timeveil.cli import main\nlink = os.link\n"
        "os.link = lambda *names: (link(*names), os.kill(os.getpid(), signal.SIGKILL))\n"
        f"main({line.split()!r})"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == -signal.SIGKILL
    hidden = [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert {path.name.partition(".partial-")[0] for path in hidden} == {".x.ledger", ".out"}
    content = (tmp_path / "x.ledger").read_bytes()
    assert command(line.split()) == 2  # the ledger exists
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert (tmp_path / "x.ledger").read_bytes() == content
    assert tv.open_ledger(tmp_path / "x.ledger").original.rows > 0


def test_hidden_folders_go_with_the_next_run_and_do_not_block_verify(place: Place) -> None:
    fill(place.inbox, 5)
    place.run()
    empty, half = (place.out / "slots" / f".{day(9)}.partial-{tail}" for tail in ("abcdefgh", "0_x4y5z6"))
    empty.mkdir(mode=0o700)
    (half / "release").mkdir(parents=True)
    (half / "release" / "data.parquet").write_bytes(b"half")
    verdict = tv.verify(place.out)
    assert verdict
    assert any("still being written" in check for check in verdict.checks)
    assert place.run().published == 0
    assert len(place.slots()) == 3
    assert not any("still being written" in check for check in tv.verify(place.out).checks)


def test_what_only_looks_unfinished_is_judged(place: Place) -> None:
    fill(place.inbox, 4)
    place.run()
    for make in (lambda path: path.write_text("x"), lambda path: path.symlink_to(place.inbox)):
        path = place.out / "slots" / ".x.partial-abcdefgh"
        make(path)
        assert [violation.code for violation in tv.verify(place.out).violations] == ["file-extra"]
        path.unlink()


def test_verify_during_publishing_finds_nothing_wrong(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every moment of writing a slot, and between the looks that `verify` takes at the folder."""
    fill(place.inbox, 8)
    verdicts, check = [], writing._check

    def verifying(*arguments: Any) -> None:
        check(*arguments)
        if place.slots()[0] == f".{day(3)}.partial-{place.slots()[0][-8:]}":
            verdicts.append(tv.verify(place.out))

    monkeypatch.setattr(writing, "_check", verifying)
    place.run()
    assert len(verdicts) == 1
    assert all(verdicts)
    iterdir, listed = Path.iterdir, list[Path]()

    def late(folder: Path) -> Iterator[Path]:
        """A listing that misses a slot and has a later one, once."""
        entries = sorted(iterdir(folder))
        if folder.name == "slots" and not listed:
            listed.append(folder)
            entries = [entry for entry in entries if entry.name != day(3)]
        yield from entries

    monkeypatch.setattr(Path, "iterdir", late)
    assert tv.verify(place.out)
    assert listed


def test_interrupted_after_slots_were_written(run: Nursery, tmp_path: Path) -> None:
    fill(tmp_path / "in", 7)
    said = tmp_path / "said"
    program = (
        "import itertools, os, signal\nfrom timeveil.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # shells ignore it in the background
        "import timeveil.service.running as r\n"
        "steps = itertools.count(1)\nmark = r.StateFile.mark_published\n"
        "def marked(*a):\n    mark(*a)\n    if next(steps) == 4: os.kill(os.getpid(), signal.SIGINT)\n"
        "r.StateFile.mark_published = marked\n"
    )
    line = f"publish-stream {tmp_path}/in --state {tmp_path}/s.db --out {tmp_path}/out {OPTIONS}"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}main({line.split()!r})"], capture_output=True, text=True
    )
    assert done.returncode == 130
    assert f"interrupted; `{tmp_path}/out/slots/{day(0)}` and 3 more were written" in done.stderr
    assert run(line, said) == 0
    assert len(list((tmp_path / "out" / "slots").iterdir())) == 5


def test_a_signal_while_a_file_is_read_lets_it_be_finished(tmp_path: Path) -> None:
    """The signal comes while pyarrow reads rows and has set a handler of its own."""
    inbox = tmp_path / "in"
    fill(inbox, 4)
    program = (
        "import os, signal\nimport pyarrow as pa\nfrom timeveil.cli import main\n"
        "import timeveil.reading.text_file as c\nopen_csv = c.pcsv.open_csv\n"
        "class File:\n"
        "    closed = False\n"
        "    def __init__(self, content): self.content = content\n"
        "    def close(self): pass\n"
        "    def read(self, size):\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        block, self.content = self.content[:size], self.content[size:]\n"
        "        return block\n"
        "def signalled(stream, *options):\n"
        "    return open_csv(pa.PythonFile(File(stream.read()), 'r'), *options)\n"
        "c.pcsv.open_csv = signalled\n"
    )
    line = f"publish-stream {inbox} --state {tmp_path}/s.db --out {tmp_path}/out {OPTIONS} --follow --poll 60"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}main({line.split()!r})"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "1 file taken" in done.stdout


def test_the_state_file_shrinks_after_a_large_slot(place: Place) -> None:
    fill(place.inbox, 3)
    place.run()
    usual = place.state.stat().st_size
    rows = [(day(3), f"{k:040}", "abcd"[k % 4], "x") for k in range(20_000)]
    (place.inbox / f"{day(3)}.csv").write_text(text(rows))
    with place.service() as service:
        service.run()
        large = sum(path.stat().st_size for path in place.root.glob("s.db*"))
        fill_after(place, 4, 9)
        service.run()
        small = sum(path.stat().st_size for path in place.root.glob("s.db*"))
    assert large > 20 * usual
    assert small < large / 10
    assert place.state.stat().st_size < 2 * usual + 65_536
    assert place.run(close=True).clean


def fill_after(place: Place, first: int, last: int) -> None:
    for number in range(first, last):
        rows = [(day(number), "30", value, "x") for value in "abcd"]
        (place.inbox / f"{day(number)}.csv").write_text(text(rows))


def test_known_files_cost_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in questions to the state file, which do not depend on the machine."""
    questions, rows = dict[int, int](), running.StateFile._rows
    for known in (10, 200):
        place = Place(tmp_path / str(known), window=1)
        for number in range(known):
            (place.inbox / f"0{number:05}.csv").write_text(HEAD)
        place.run()
        count = 0

        def counting(file: Any, question: str, *values: Any) -> Any:
            nonlocal count
            count += 1
            return rows(file, question, *values)

        with monkeypatch.context() as patch, place.service() as service:
            patch.setattr(running.StateFile, "_rows", counting)
            for number in range(3):
                fill_after(place, number, number + 1)
                service._pass(running.Stop())
            assert service.tally.already_taken == known + 2
        questions[known] = count
    assert questions[200] == questions[10]


def test_the_share_withheld_of_the_last_30_slots_is_shown(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sixty good days, then ten of which most records have one value."""
    rows = [(day(n), "30", "abcd"[k], "x") for n in range(60) for k in range(4)]
    (place.inbox / "1.csv").write_text(text(rows))
    place.run()
    assert not place.said
    rows = [(day(n), "30", "aaaaaaab"[k], "x") for n in range(60, 70) for k in range(8)]
    (place.inbox / "2.csv").write_text(text(rows))
    place.run()
    (stream,) = status(place.state).streams
    assert stream.recent_slots == 30
    withheld = stream.withheld / (22 * 4 + 8 * 8)  # of the last 30 final slots, eight were bad
    assert stream.recent_withheld_share == pytest.approx(withheld, abs=0.05)
    assert stream.recent_withheld_share > 2 * stream.withheld_share * 0.9
    shown = share(stream.recent_withheld_share)
    assert place.said[0].startswith(
        f"warning: 1 stream withheld up to {shown} of the records of the last 30 slots. Final slots cannot"
    )
    command(["stream-status", "--state", str(place.state)])
    head, row = capsys.readouterr().out.splitlines()[3:5]
    assert head.endswith("withheld  last 30 slots")
    assert row.endswith(shown)


def test_several_records_of_a_person_in_a_slot_are_told_before_any_is_withheld(tmp_path: Path) -> None:
    roles = Roles(respondent="age", time="day", sensitive=["ill"], drop=["site"])
    place = Place(tmp_path / "stream", roles=roles)
    for number in range(6):
        rows = [(day(number), str(k // 8), "abcd"[k % 4], "x") for k in range(32)]
        (place.inbox / f"{number}.csv").write_text(text(rows))
    published = list[int]()

    def say(words: str) -> None:
        place.said.append(words)
        published.append(len(place.slots()) if place.out.exists() else 0)

    with Service(place.inbox, place.out, place.state, place.parameters, seed=7, say=say) as service:
        service.run()
    assert published[0] == 0
    assert place.said[0].startswith("warning: up to 87.5 % of the records of 1 stream are of people who have")
    assert status(place.state).streams[0].withheld_share > 0.8
    assert len([said for said in place.said if "another one in the same slot" in said]) == 1
