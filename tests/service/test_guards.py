"""What a state file is guarded against, and how a run that watches is stopped."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from tests.service.inboxes import HEAD, OPTIONS, Place, day, fill, parameters, text, tree
from tests.service.processes import Nursery, nursery

import timeveil as tv
from timeveil.domain.roles import Roles
from timeveil.errors import BundleError, ParameterError
from timeveil.folder import writing
from timeveil.folder.opening import folder_name
from timeveil.service import running, status
from timeveil.service.running import Stop


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "stream")


@pytest.fixture(scope="module")
def run() -> Iterator[Nursery]:
    with nursery() as children:
        yield children


def test_two_publishers_on_one_state_file(place: Place) -> None:
    fill(place.inbox, 3)
    with place.service() as first:
        with pytest.raises(BundleError) as refused:
            place.service()
        assert refused.value.code == "state-locked"
        assert first.run().taken == 3
    assert place.run().already_taken == 3


def test_a_symbolic_link_is_no_second_state_file(place: Place) -> None:
    fill(place.inbox, 3)
    other = Place(place.root / "other")
    fill(other.inbox, 3)
    other.state.symlink_to(place.state)
    with place.service():
        with pytest.raises(BundleError) as refused:
            other.service()
        assert refused.value.code == "state-locked"
    assert place.run().taken == 3
    assert other.run().already_taken == 3


def test_a_state_file_with_two_names_is_refused(place: Place) -> None:
    fill(place.inbox, 3)
    place.run()
    other = Place(place.root / "other")
    os.link(place.state, other.state)
    for one in (place, other):
        with pytest.raises(BundleError) as refused:
            one.run()
        assert refused.value.code == "state-locked"
        assert "2 names" in refused.value.message
    other.state.unlink()
    assert place.run().already_taken == 3


def test_a_second_name_made_under_way_stops_both(place: Place) -> None:
    fill(place.inbox, 3)
    with pytest.raises(BundleError, match="2 names"), place.service() as service:  # noqa: PT012
        os.link(place.state, place.root / "second.db")
        service.run()
    assert not place.out.exists()


def test_what_is_in_memory_is_what_was_stored(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody gets past the lock: nothing that they stored is written over."""
    fill(place.inbox, 2)
    with pytest.raises(BundleError) as refused, place.service() as first:  # noqa: PT012
        first.run()
        monkeypatch.setattr(running, "locked", lambda _: nullcontext())
        with place.service() as second:
            fill(place.inbox, 4)
            second.run()
            before = tree(place.out)
        fill(place.inbox, 5)
        first.run()
    assert refused.value.code == "state-locked"
    assert tree(place.out) == before


def test_a_state_file_that_was_replaced_under_way_is_refused(place: Place) -> None:
    fill(place.inbox, 3)
    place.run()
    backup = place.state.read_bytes()
    fill(place.inbox, 4)
    with pytest.raises(BundleError) as refused, place.service() as service:  # noqa: PT012
        place.state.unlink()
        place.state.write_bytes(backup)
        service.run()
    assert refused.value.code == "state-locked"


def test_the_lock_is_that_of_a_process_that_lives(place: Place) -> None:
    place.run()
    lock = place.state.with_name("s.db.lock")
    code = "; ".join(
        (
            "import fcntl, os, sys, time",
            "fcntl.flock(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX)",
            "print(1, flush=True)",
            "time.sleep(60)",
        )
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(lock)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    with pytest.raises(BundleError):
        place.service()
    holder.kill()
    holder.communicate()
    place.run()
    with lock.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize(
    ("options", "differ"),
    [
        ({"l": 4, "window": 5}, ["l", "window"]),
        ({"move_cost": "quadratic"}, ["move_cost"]),
        ({"jitter": 1, "format": "csv"}, ["jitter", "format"]),
        ({"stream_by": "site"}, ["stream_by"]),
    ],
)
def test_other_parameters_are_refused_by_name(
    place: Place, options: dict[str, Any], differ: list[str]
) -> None:
    fill(place.inbox, 3)
    place.run()
    before = tree(place.root)
    place.parameters = parameters(**options)
    with pytest.raises(ParameterError) as refused:
        place.run()
    assert refused.value.code == "state-mismatch"
    assert refused.value.facts == {"differ": differ}
    assert all(f"`{name}`" in refused.value.message for name in differ)
    after = tree(place.root)
    assert {name: after[name] for name in before if name != "s.db"} == {
        name: before[name] for name in before if name != "s.db"
    }


def test_another_seed_is_refused_and_none_is_fine(place: Place) -> None:
    place.run()
    with pytest.raises(ParameterError) as refused:
        place.service(seed=8)
    assert refused.value.facts == {"differ": ["seed"]}
    assert "8" not in refused.value.message
    with place.service(seed=None):
        pass


def test_without_a_seed_one_is_drawn_and_kept(place: Place) -> None:
    fill(place.inbox, 8)
    with place.service(seed=None) as service:
        service.run()
    base = sqlite3.connect(place.state)
    assert int(base.execute("select value from meta where key = 'seed'").fetchone()[0].strip('"')) > 2**64
    base.close()
    with place.service(seed=None) as service:
        service.close_streams()
    assert len(place.slots()) == 8


def corrupt_head(path: Path) -> None:
    path.write_bytes(b"not a database, canary" * 400)


def corrupt_middle(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096 : len(content) - 100] = b"\xa5" * (len(content) - 4196)
    path.write_bytes(bytes(content))


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def of_another_program(path: Path) -> None:
    path.unlink()
    base = sqlite3.connect(path)
    base.execute("create table t (x)")
    base.commit()
    base.close()


def changed_state(path: Path) -> None:
    base = sqlite3.connect(path)
    base.execute("update streams set state = substr(state, 1, length(state) - 3) || x'00'")
    base.commit()
    base.close()


@pytest.mark.parametrize(
    "damage", [corrupt_head, corrupt_middle, truncated, emptied, of_another_program, changed_state]
)
def test_a_corrupt_state_file_is_refused(place: Place, damage: Any) -> None:
    fill(place.inbox, 4)
    place.run()
    damage(place.state)
    before, content = tree(place.out), place.state.read_bytes()
    fill(place.inbox, 5)
    with pytest.raises(BundleError) as refused:
        place.run()
    assert refused.value.code == "state-damaged"
    assert "`Recover` in `Run a stream in service`" in refused.value.hint
    assert "canary" not in str(refused.value)
    assert tree(place.out) == before
    if damage in (corrupt_head, truncated, emptied):
        assert place.state.read_bytes() == content


@pytest.mark.parametrize(
    "command",
    [
        "update outbox set manifest = '{'",
        "update outbox set label = '{'",
        "update outbox set tables = substr(tables, 1, 100)",
        "update streams set facts = '{'",
        "update streams set state = x'00'",
        "delete from meta where key = 'seed'",
        "delete from meta where key = 'parameters'",
        "update meta set value = '{' where key = 'closed'",
    ],
)
def test_a_row_that_cannot_be_read_is_noticed(tmp_path: Path, command: str) -> None:
    """Nine values never come, so final slots wait in the state file, where they can be damaged."""
    place = Place(tmp_path / "stream", l=9)
    fill(place.inbox, 6)
    place.run()
    base = sqlite3.connect(place.state, isolation_level=None)
    assert base.execute("select count(*) from outbox").fetchone()[0] > 1
    assert base.execute(command).rowcount
    base.execute("update streams set facts = json_set(facts, '$.values', 9) where json_valid(facts)")
    base.close()
    (place.inbox / f"{day(6)}.csv").write_text(text([(day(6), "30", "a", "x")]))
    with pytest.raises(BundleError) as refused:
        place.run()
    assert refused.value.code == "state-damaged"
    assert place.out.exists() == ("set state" in command)


def test_what_is_left_of_a_state_file_is_not_taken_for_a_new_one(place: Place) -> None:
    place.state.with_name("s.db-wal").write_bytes(b"left over")
    with pytest.raises(BundleError) as refused:
        place.run()
    assert refused.value.code == "state-damaged"
    assert not place.state.exists()


def test_a_full_disk_while_a_slot_is_written(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(place.inbox, 5)
    undisturbed = Place(place.root / "undisturbed")
    fill(undisturbed.inbox, 5)
    undisturbed.run(close=True)
    opened = 0

    def full(path: Path) -> Any:
        nonlocal opened
        opened += 1
        if opened == 3:
            raise OSError(errno.ENOSPC, "canary")
        return new_file(path)

    new_file = writing.new_file
    monkeypatch.setattr(writing, "new_file", full)
    with pytest.raises(BundleError) as refused:
        place.run()
    assert refused.value.code == "disk-full"
    assert "canary" not in str(refused.value)
    assert [name for name in tree(place.out) if ".partial" in name] == []
    told = status(place.state)
    assert told.last_error is not None
    assert told.last_error["code"] == "disk-full"
    assert told.slots_to_write == 1
    place.run(close=True)
    assert tree(place.out) == tree(undisturbed.out)
    assert status(place.state).last_error is None


def test_a_full_disk_while_the_state_is_written(run: Nursery, tmp_path: Path) -> None:
    inbox, said = tmp_path / "in", tmp_path / "said"
    inbox.mkdir()
    rows = [(day(n), str(n) * 40, "abcd"[k % 4], "x") for n in range(5) for k in range(400)]
    (inbox / "a.csv").write_text(text(rows))
    line = f"publish-stream {inbox} --state {tmp_path}/s.db --out {tmp_path}/out {OPTIONS}"
    assert run(line, said, largest_file=60_000) == 2
    assert "`s.db`" in said.read_text()
    assert "Traceback" not in said.read_text()
    assert not (tmp_path / "out").exists()
    assert run(line, said) == 0
    assert len(list((tmp_path / "out" / "slots").iterdir())) == 3


def test_following_takes_what_comes_and_stops_when_asked(place: Place) -> None:
    fill(place.inbox, 2)
    stop = Stop()
    with place.service() as service:

        def operator() -> None:
            deadline = time.monotonic() + 20
            while service.tally.taken < 2 and time.monotonic() < deadline:
                time.sleep(0.01)
            hidden = place.inbox / ".later.csv"
            hidden.write_text(text([(day(2), "30", value, "x") for value in "abc"]))
            hidden.rename(place.inbox / "later.csv")
            while service.tally.taken < 3 and time.monotonic() < deadline:
                time.sleep(0.01)
            stop.request()

        thread = threading.Thread(target=operator)
        thread.start()
        service.follow(stop, poll=0.05)
        thread.join()
    assert service.tally.taken == 3
    assert place.slots() == [day(0)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_one_that_follows_cleanly(run: Nursery, tmp_path: Path, number: int) -> None:
    fill(tmp_path / "in", 4)
    line = f"publish-stream {tmp_path}/in --state {tmp_path}/s.db --out {tmp_path}/out {OPTIONS}"
    begun = time.monotonic()
    second = tmp_path / "out" / "slots" / day(1)
    follow = f"{line} --follow --poll 300"
    code = run(follow, tmp_path / "said", kill_once=second, kill_after=1, signal=number)
    assert code == 0, (tmp_path / "said").read_text()
    assert time.monotonic() - begun < 60
    assert "4 files taken, 2 slots published" in (tmp_path / "said").read_text()
    assert not (tmp_path / "s.db-wal").exists()
    assert run(f"{line} --close", tmp_path / "said") == 0


def test_a_changed_file_is_told_once_while_following(place: Place) -> None:
    fill(place.inbox, 2)
    place.run()
    (place.inbox / f"{day(0)}.csv").write_text(HEAD)
    stop = Stop()
    with place.service() as service:
        for _ in range(3):
            service._pass(stop)
    assert len(place.said) == 1
    assert service.tally.changed == 1


@pytest.mark.parametrize(
    "text", ["a b", "a/b", "..", ".", "", "%", "%25", "Ä", "x" * 400, "x" * 401, "a\n", "-"]
)
def test_folder_names_are_safe(text: str) -> None:
    name = folder_name(text)
    assert name
    assert not name.startswith(".")
    assert "/" not in name
    assert "\n" not in name
    assert len(os.fsencode(name)) < 200


def test_a_stream_called_slots_is_no_folder_of_slots(tmp_path: Path) -> None:
    place = Place(tmp_path / "stream", stream_by="site")
    place.inbox.joinpath("1.csv").write_text(
        HEAD + "".join(f"{day(n)},30,{ill},slots\n" for n in range(4) for ill in "ab")
    )
    place.run(close=True)
    assert [path.name for path in place.out.iterdir()] == ["%73lots"]
    assert tv.verify(tv.open_release(place.out / "%73lots"))
    assert [stream.folder for stream in status(place.state).streams] == ["%73lots"]


def test_streams_are_not_told_apart_by_what_is_private() -> None:
    roles = Roles(respondent="who", time="day", sensitive=["ill"])
    for column in ("who", "day", "ill"):
        with pytest.raises(ParameterError, match="is published"):
            parameters(roles=roles, stream_by=column).check()


def test_folder_names_are_readable() -> None:
    names = [folder_name(text) for text in ("2024-01-31", "2024-01-31 14:00", -3)]
    assert names == ["2024-01-31", "2024-01-31%2014%3A00", "-3"]
    names = [folder_name(text) for text in ("../St. Anna", "", "Zürich")]
    assert names == ["%2E.%2FSt.%20Anna", "%", "Z%C3%BCrich"]


def test_folder_names_differ() -> None:
    names = ["a b", "a%20b", "", "%", "%25", ".", "%2E", "..", "x" * 400, "x" * 401, "A", "a"]
    assert len({folder_name(name) for name in names}) == len(names)


def test_no_state_file_no_status(tmp_path: Path) -> None:
    with pytest.raises(BundleError) as refused:
        status(tmp_path / "s.db")
    assert refused.value.code == "file-missing"


def test_an_older_backup_makes_the_same_slots_again(place: Place, tmp_path: Path) -> None:
    undisturbed = Place(tmp_path / "undisturbed")
    fill(undisturbed.inbox, 8)
    undisturbed.run(close=True)
    fill(place.inbox, 3)
    place.run()
    backup = place.state.read_bytes()
    fill(place.inbox, 6)
    place.run()
    place.state.write_bytes(backup)
    fill(place.inbox, 8)
    tally = place.run(close=True)
    assert (tally.published, tally.found_published) == (4, 3)
    assert tree(place.out) == tree(undisturbed.out)
