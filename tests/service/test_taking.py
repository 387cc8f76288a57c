"""What is taken, what is not, and what comes out."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.service.inboxes import HEAD, Place, day, fill, text, tree

import timeveil as tv
from timeveil.domain.roles import Roles
from timeveil.errors import BundleError, InputError, ParameterError, PrivateArtifactError, RolesError
from timeveil.folder import damage
from timeveil.models.stream.method import publish_stream
from timeveil.service import Service, folders, status
from timeveil.service.state_file import StateFile


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "stream")


def published(folder: Path) -> pa.Table:
    return pa.concat_tables([tv.open_release(slot).table for slot in sorted((folder / "slots").iterdir())])


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_the_folders_are_the_release_of_the_whole(tmp_path: Path, form: str) -> None:
    place = Place(tmp_path / "stream", format=form)
    everything = fill(place.inbox, 12)
    tally = place.run()
    assert (tally.taken, tally.published) == (12, 10)
    assert place.run(close=True).published == 2
    assert place.slots() == [day(number) for number in range(12)]
    (tmp_path / "all.csv").write_text(text(everything))
    whole, ledger = publish_stream(str(tmp_path / "all.csv"), place.parameters.roles, l=2, window=3, seed=7)
    found = published(place.out)
    assert found.equals(whole.table.cast(found.schema))
    assert ledger.facts["moved"] > 0
    for slot in (place.out / "slots").iterdir():
        release = tv.open_release(slot)
        assert tv.verify(release)
        assert (
            release.manifest["counts"]["first_slot"] == slot.name == release.manifest["counts"]["last_slot"]
        )
        assert set(release.manifest["parameters"]) == set(whole.manifest["parameters"])


def test_a_slot_from_python_is_written_as_in_service(tmp_path: Path) -> None:
    place = Place(tmp_path / "stream")
    fill(place.inbox, 8)
    place.run(close=True)
    (tmp_path / "alone" / "slots").mkdir(parents=True)
    publisher = tv.StreamPublisher(place.parameters.roles, l=2, window=3, seed=7)
    slots = [slot for file in sorted(place.inbox.iterdir()) for slot in publisher.push(str(file))]
    for slot in slots + publisher.close():
        tv.write(slot.release, tmp_path / "alone" / "slots" / str(slot.slot))
    assert tree(tmp_path / "alone") == tree(place.out)


def test_a_stream_of_one_slot_is_described_as_its_slot() -> None:
    roles = tv.Roles(time="day", quasi=["age"], sensitive=["ill"])
    table = pa.table({"day": [4, 4, 4], "age": [1, 2, 3], "ill": ["a", "b", "c"]})
    publisher = tv.StreamPublisher(roles, l=2, window=3, seed=7)
    publisher.push(table)
    (slot,) = publisher.close()
    whole, _ = publish_stream(table, roles, l=2, window=3, seed=7)
    assert slot.release.manifest == whole.manifest
    assert slot.release.tables == whole.tables
    assert tv.verify(slot.release)


def test_one_file_at_a_time_gives_the_same_as_all_at_once(tmp_path: Path) -> None:
    once, often = Place(tmp_path / "once"), Place(tmp_path / "often")
    fill(once.inbox, 6)
    once.run(close=True)
    for file in sorted(once.inbox.iterdir()):
        shutil.copy(file, often.inbox / file.name)
        often.run()
    often.run(close=True)
    assert tree(often.out) == tree(once.out)


def test_parquet_snapshots_and_integer_slots(tmp_path: Path) -> None:
    place = Place(tmp_path / "stream", roles=Roles(time="n", sensitive=["v"]))
    for slot in range(-2, 4):
        pq.write_table(pa.table({"n": [slot] * 4, "v": list("aabc")}), place.inbox / f"{slot + 2}.parquet")
    place.run(close=True)
    assert place.slots() == ["-1", "-2", "0", "1", "2", "3"]
    assert tv.open_release(place.out / "slots" / "-2").table["slot"].to_pylist() == [-2] * 4


def test_a_file_with_several_slots_and_a_day_without_records(place: Place) -> None:
    rows = [(day(n), "30", value, "x") for n in (0, 1, 4) for value in "abc"]
    (place.inbox / "a.csv").write_text(text(rows))
    (place.inbox / "b.csv").write_text(HEAD)
    (place.inbox / "c.csv").write_text(HEAD)
    tally = place.run(close=True)
    assert (tally.taken, tally.copies) == (3, 0)
    assert place.slots() == [day(number) for number in range(5)]
    assert tv.open_release(place.out / "slots" / day(2)).table.num_rows == 0


def test_files_that_are_not_there_yet_are_left_alone(place: Place) -> None:
    fill(place.inbox, 2)
    for name in (".hidden.csv", "later.csv.tmp", "later.csv.part", "later.CSV.PART"):
        (place.inbox / name).write_text("half a lin")
    (place.inbox / "notes.txt").write_text("not a snapshot")
    (place.inbox / "folder.csv").mkdir()
    tally = place.run()
    assert (tally.taken, tally.quarantined, tally.not_snapshots) == (2, 0, 1)
    assert (place.inbox / "later.csv.tmp").exists()


def test_a_file_seen_twice_is_skipped(place: Place) -> None:
    fill(place.inbox, 4)
    place.run()
    before = tree(place.out)
    os.utime(place.inbox / f"{day(1)}.csv", (1, 1))
    shutil.copy(place.inbox / f"{day(2)}.csv", place.inbox / "again.csv")
    tally = place.run()
    assert (tally.taken, tally.already_taken, tally.copies, tally.changed) == (0, 4, 1, 0)
    assert tally.clean
    assert place.said == [f"`again.csv` is identical to `{day(2)}.csv`, already processed; skipped."]
    assert tree(place.out) == before
    assert place.run().already_taken == 5


def test_a_file_that_changed_after_it_was_taken_is_told_and_not_taken(place: Place) -> None:
    fill(place.inbox, 4)
    place.run()
    before, changed = tree(place.out), place.inbox / f"{day(1)}.csv"
    original = changed.read_text()
    changed.write_text(original + f"{day(1)},99,z,x\n")
    for _ in range(2):
        tally = place.run()
        assert (tally.taken, tally.changed, tally.clean) == (0, 1, False)
        assert place.said[0].startswith(f"`{day(1)}.csv` was changed after it was taken")
    assert status(place.state).files_changed == 1
    assert status(place.state).files_taken == 4
    assert tree(place.out) == before
    changed.write_text(original)
    assert place.run().clean
    assert status(place.state).files_changed == 0


def test_a_bad_file_is_put_aside_and_the_rest_goes_on(place: Place, tmp_path: Path) -> None:
    fill(place.inbox, 5)
    good = Place(tmp_path / "good")
    fill(good.inbox, 5)
    (good.inbox / f"{day(2)}.csv").unlink()
    good.run(close=True)
    (place.inbox / f"{day(2)}.csv").write_text(HEAD + f"{day(2)},30,canary,x,one too many\n")
    tally = place.run(close=True)
    assert (tally.taken, tally.quarantined, tally.clean) == (4, 1, False)
    assert tree(place.out) == tree(good.out)
    aside = place.inbox / "quarantine"
    assert sorted(path.name for path in aside.iterdir()) == [f"{day(2)}.csv", f"{day(2)}.csv.reason.txt"]
    reason = (aside / f"{day(2)}.csv.reason.txt").read_text()
    assert "hint: " in reason
    assert "canary" not in reason + " ".join(place.said)
    assert status(place.state).files_quarantined == 1


def test_a_file_that_was_mended_is_taken(place: Place) -> None:
    fill(place.inbox, 2)
    bad = place.inbox / f"{day(2)}.csv"
    for content in ("", f"{day(2)},\n"):
        bad.write_text(HEAD.replace("ill", "sick") + content)
        assert place.run().quarantined == 1
    assert len(list((place.inbox / "quarantine").iterdir())) == 4
    bad.write_text(text([(day(2), "30", value, "x") for value in "ab"]))
    assert place.run().taken == 1
    assert status(place.state).files_quarantined == 0


def test_late_records_are_put_aside_or_moved_on(tmp_path: Path) -> None:
    for late, quarantined in (("refuse", 1), ("move", 0)):
        place = Place(tmp_path / late, late=late)
        fill(place.inbox, 4)
        place.run()
        (place.inbox / "z.csv").write_text(text([(day(0), "30", "a", "x")]))
        assert place.run().quarantined == quarantined
        assert status(place.state).streams[0].late == 1 - quarantined


def test_a_wrong_command_puts_no_file_aside(tmp_path: Path) -> None:
    place = Place(tmp_path / "stream", roles=Roles(time="dya", sensitive=["ill"], drop="rest"))
    fill(place.inbox, 3)
    with pytest.raises(RolesError, match=r"`2024-01-01.csv`: the table has no column `dya`"):
        place.run()
    assert not (place.inbox / "quarantine").exists()
    assert status(place.state).last_error is not None


def test_a_file_that_changes_while_it_is_read_waits(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(place.inbox, 3)
    with place.service() as service:
        push, growing = tv.StreamPublisher.push, place.inbox / f"{day(1)}.csv"

        def push_slowly(publisher: tv.StreamPublisher, relation: tv.Relation, **bounds: int) -> object:
            if relation.source == growing.name and not place.said:
                growing.write_text(growing.read_text() + f"{day(1)},44,e,north\n")
            return push(publisher, relation, **bounds)

        monkeypatch.setattr(tv.StreamPublisher, "push", push_slowly)
        tally = service.run()
        assert (tally.taken, tally.left) == (1, 1)
        assert place.said == [f"`{day(1)}.csv` changed while it was read: it waits for the next look."]
        assert service.run().taken == 3
    rows = sum(len(file.read_text().splitlines()) - 1 for file in place.inbox.iterdir())
    assert status(place.state).streams[0].rows_read == rows


def test_a_closed_stream_takes_nothing_more(place: Place) -> None:
    fill(place.inbox, 3)
    place.run(close=True)
    before = tree(place.out)
    assert place.run(close=True).published == 0
    fill(place.inbox, 4)
    with pytest.raises(ParameterError) as refused:
        place.run()
    assert refused.value.code == "stream-closed"
    assert tree(place.out) == before


def test_another_content_in_the_place_of_a_slot_is_refused(place: Place) -> None:
    fill(place.inbox, 3)
    place.run()
    fill(place.inbox, 4)
    (place.out / "slots" / day(1)).mkdir(parents=True)
    (place.out / "slots" / day(1) / "release.json").write_text("{}")
    for _ in range(2):
        with pytest.raises(BundleError) as refused:
            place.run()
        assert refused.value.code == "slot-differs"
    assert place.slots() == [day(0), day(1)]
    shutil.rmtree(place.out / "slots" / day(1))
    place.run(close=True)
    assert place.slots() == [day(number) for number in range(4)]


def test_private_files_do_not_lie_among_the_published(place: Place) -> None:
    place.state = place.out / "s.db"
    with pytest.raises(PrivateArtifactError):
        place.run()
    place.state, place.inbox = place.root / "s.db", place.out / "in"
    with pytest.raises(PrivateArtifactError):
        place.run()
    assert not place.out.exists()


def test_an_inbox_that_is_not_there(place: Place) -> None:
    place.inbox.rmdir()
    with pytest.raises(BundleError, match="inbox"):
        place.run()
    assert not place.state.exists()


def test_only_the_owner_may_read_the_state(place: Place) -> None:
    fill(place.inbox, 3)
    with place.service() as service:
        service.run()
        for file in place.root.glob("s.db*"):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
    assert "s.db-wal" not in {path.name for path in place.root.iterdir()}


def test_the_state_is_in_wal_mode_and_synchronous(place: Place) -> None:
    place.run()
    store = StateFile(place.state)
    assert store._base.execute("pragma journal_mode").fetchone() == ("wal",)
    assert store._base.execute("pragma synchronous").fetchone() == (2,)
    store.close()


def test_published_records_do_not_stay_in_the_state(place: Place) -> None:
    rows = [(day(number), f"canary{number}", value, "x") for number in range(8) for value in "abc"]
    (place.inbox / "a.csv").write_text(text(rows))
    place.run()
    assert b"canary7" in place.state.read_bytes()
    assert b"canary0" not in place.state.read_bytes()


def test_the_state_does_not_grow_with_the_stream(place: Place) -> None:
    sizes = []
    for part in range(4):
        rows = [
            (day(40 * part + n), str(n % 9), "abcd"[(n + k) % 4], "x") for n in range(40) for k in range(3)
        ]
        (place.inbox / f"{part}.csv").write_text(text(rows))
        place.run()
        base = sqlite3.connect(place.state)
        sizes.append(
            (
                base.execute("select sum(length(state)) from streams").fetchone()[0],
                base.execute("select count(*) from outbox").fetchone()[0],
                base.execute("select count(*) from streams").fetchone()[0],
                place.state.stat().st_size // 65_536,
            )
        )
        base.close()
    first, last = sizes[0], sizes[-1]
    assert abs(last[0] - first[0]) < 200
    assert last[1:] == first[1:]
    assert len(place.slots()) == 158


def test_nothing_of_an_abandoned_file_stays(tmp_path: Path) -> None:
    """A file of which one stream takes its part and another refuses is put aside whole."""
    place = Place(tmp_path / "stream", stream_by="site")
    (place.inbox / "1.csv").write_text(text([(day(3), "30", v, s) for s in ("a", "b") for v in "xy"]))
    place.run()
    before = status(place.state)
    rows = [(day(4), "30", v, "a") for v in "xy"] + [(day(2), "30", "x", "b")]
    (place.inbox / "2.csv").write_text(text(rows))
    assert place.run().quarantined == 1
    assert status(place.state).streams == before.streams


def test_streams_have_a_window_each_and_folders_of_their_own(tmp_path: Path) -> None:
    place = Place(tmp_path / "stream", stream_by="site")
    everything = fill(place.inbox, 8)
    place.run(close=True)
    assert sorted(path.name for path in place.out.iterdir()) == ["north", "south%2F2"]
    for site, folder in (("north", "north"), ("south/2", "south%2F2")):
        found = published(place.out / folder)
        assert found.column_names == ["slot", "age", "bucket"]
        ages = {row[1] for row in everything if row[3] == site}
        assert set(found["age"].to_pylist()) <= ages
        alone = Place(tmp_path / folder)
        own = [row for row in everything if row[3] == site]
        (alone.inbox / "all.csv").write_text(text(own))
        alone.run(close=True)
        assert alone.slots() == sorted(path.name for path in (place.out / folder / "slots").iterdir())
    told = status(place.state)
    assert [stream.folder for stream in told.streams] == ["north", "south%2F2"]
    assert sum(stream.rows_read for stream in told.streams) == len(everything)


def test_streams_draw_each_with_a_seed_of_their_own(tmp_path: Path) -> None:
    place = Place(tmp_path / "stream", stream_by="site")
    rows = [
        (day(n), str(10 * n + k), "aab"[k % 3], site) for n in range(9) for site in "AB" for k in range(9)
    ]
    (place.inbox / "all.csv").write_text(text(rows))
    place.run(close=True)
    a, b = (published(place.out / site) for site in "AB")
    assert a.num_rows == b.num_rows
    assert not a.equals(b)


def test_a_stream_column_may_be_published_too(tmp_path: Path) -> None:
    roles = Roles(time="day", quasi=["site", "age"], sensitive=["ill"])
    place = Place(tmp_path / "stream", stream_by="site", roles=roles)
    fill(place.inbox, 5)
    place.run(close=True)
    assert set(published(place.out / "north")["site"].to_pylist()) == {"north"}


def test_a_record_without_a_stream_is_bad(tmp_path: Path) -> None:
    place = Place(tmp_path / "stream", stream_by="site")
    (place.inbox / "a.csv").write_text(HEAD + f"{day(0)},30,a,\n")
    assert place.run().quarantined == 1
    assert "separates streams" in place.said[0]


@pytest.mark.parametrize("by", ["day", "ill"])
def test_time_and_sensitive_tell_no_streams_apart(tmp_path: Path, by: str) -> None:
    place = Place(tmp_path / "stream", stream_by=by)
    with pytest.raises(ParameterError):
        place.run()


def test_a_dropped_column_tells_no_streams_apart(tmp_path: Path) -> None:
    place = Place(
        tmp_path / "stream", stream_by="site", roles=Roles(time="d", sensitive=["i"], drop=["site"])
    )
    with pytest.raises(InputError) as refused:
        place.run()
    assert refused.value.code == "column-twice"


def write_day(place: Place, number: int, values: str = "abc", name: str | None = None) -> Path:
    """A snapshot of one day with one record of each value."""
    path = place.inbox / (name or f"{day(number)}.csv")
    path.write_text(text([(day(number), "30", value, "x") for value in values]))
    return path


def test_one_wrong_date_does_not_end_the_stream(place: Place) -> None:
    fill(place.inbox, 4)
    write_day(place, 400, name="2024-01-04x.csv")
    tally = place.run()
    assert (tally.taken, tally.quarantined, tally.clean) == (4, 1, False)
    reason = (place.inbox / "quarantine" / "2024-01-04x.csv.reason.txt").read_text()
    assert "gap of 396 empty slots before a record; at most 31 are allowed" in reason
    assert "--max-gap" in reason
    write_day(place, 4)
    assert place.run().taken == 1
    assert place.slots() == [day(number) for number in range(3)]


def test_a_gap_that_is_real_can_be_allowed(place: Place) -> None:
    fill(place.inbox, 3)
    place.run()
    write_day(place, 60)
    with Service(place.inbox, place.out, place.state, place.parameters, max_gap=60) as service:
        assert service.run().taken == 1
    assert place.slots()[-1] == day(58)


def test_a_long_window_allows_as_long_a_gap(tmp_path: Path) -> None:
    place = Place(tmp_path / "stream", window=50)
    write_day(place, 0)
    write_day(place, 51)
    assert place.run().taken == 2
    write_day(place, 103)
    assert place.run().quarantined == 1


def test_a_stream_that_is_seldom_heard_of_is_no_wrong_date(tmp_path: Path) -> None:
    """With several streams a gap is counted from the latest slot of all, for those that are new, too."""
    place = Place(tmp_path / "stream", stream_by="site")
    for number in range(0, 90, 30):
        write_day(place, number)
    seldom = [(day(number), "30", value, "y") for number in (0, 89) for value in "abc"]
    (place.inbox / f"{day(0)}y.csv").write_text(text(seldom[:3]))
    (place.inbox / f"{day(60)}y.csv").write_text(text(seldom[3:]))
    (place.inbox / f"{day(60)}z.csv").write_text(text([(day(900), "30", value, "z") for value in "abc"]))
    tally = place.run()
    assert (tally.taken, tally.quarantined) == (5, 1)


def test_a_name_that_is_not_unicode_is_put_aside(place: Place) -> None:
    fill(place.inbox, 2)
    odd = os.fsencode(place.inbox) + b"/2024-01-01\xff.csv"
    with open(odd, "w") as file:  # noqa: PTH123
        file.write(HEAD)
    tally = place.run()
    assert (tally.taken, tally.quarantined) == (2, 1)
    assert (place.inbox / "quarantine" / "2024-01-01?.csv").exists()
    assert place.said[0].startswith("`2024-01-01?.csv` was moved to `quarantine`: the name of the file")
    assert status(place.state).files_quarantined == 1


@pytest.mark.parametrize("letter", ["y", "ü"])
def test_a_long_name_does_not_stop_what_comes_after(place: Place, letter: str) -> None:
    fill(place.inbox, 1)
    place.run()
    room = 251 // len(letter.encode())
    for suffix in ("a.csv", "b.csv"):
        name = "0" + letter * room
        while len((name + suffix).encode()) > 255:
            name = name[:-1]
        (place.inbox / (name + suffix)).write_text("no,table,of,ours\n1,2\n")
    fill(place.inbox, 3)
    tally = place.run()
    assert (tally.taken, tally.already_taken, tally.quarantined) == (2, 1, 2)
    kept = [path.name for path in (place.inbox / "quarantine").iterdir()]
    assert len(kept) == 4
    assert sum(name.endswith(".reason.txt") for name in kept) == 2


def test_an_error_that_should_not_happen_is_told_by_the_status(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(place.inbox, 2)

    def fails(*_: object) -> None:
        raise KeyError("canary")

    monkeypatch.setattr(folders, "snapshots_of", fails)
    with pytest.raises(KeyError):
        place.run()
    told = status(place.state).last_error
    assert told is not None
    assert told["code"] == "internal"
    assert "KeyError" in told["message"]
    assert "canary" not in str(told)


def test_reasons_are_for_the_owner(place: Place) -> None:
    fill(place.inbox, 1)
    place.run()
    (place.inbox / "x.csv").write_text("no,table\n1,2\n")
    place.run()
    reason = place.inbox / "quarantine" / "x.csv.reason.txt"
    assert stat.S_IMODE(reason.stat().st_mode) == 0o600


def test_slots_are_held_back_until_l_values_have_come(tmp_path: Path) -> None:
    place = Place(tmp_path / "stream", l=4)
    for number in range(5):
        write_day(place, number)
    tally = place.run()
    assert (tally.taken, tally.published, tally.held, tally.clean) == (5, 0, 3, False)
    assert place.said == [
        "warning: 3 slots held back: fewer than 4 different values have arrived (3 at most), so none could "
        "have a record. If no others exist, l is too large.",
        "warning: 1 stream withheld up to 100 % of the records of the last 3 slots. Final slots cannot be "
        "taken back. A value is held by more than 1 in 4, fewer than 4 values occur, people have several "
        "records in a slot, or the window is too small for how unevenly values arrive.",
    ]
    assert not place.out.exists()
    with pytest.raises(ParameterError) as refused:
        place.run(close=True)
    assert "l is 4 but the sensitive column has 3 different values" in refused.value.message
    assert not place.out.exists()
    assert status(place.state).slots_held == 3
    write_day(place, 5, "abcd")
    tally = place.run(close=True)
    assert (tally.published, tally.held) == (6, 0)
    assert place.slots() == [day(number) for number in range(6)]
    assert tv.open_release(place.out / "slots" / day(5)).table.num_rows > 0


def test_a_file_of_the_same_size_and_time_but_other_content_is_left(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(place.inbox, 1)
    write_day(place, 1, "abc")
    path = place.inbox / f"{day(1)}.csv"
    before = path.stat()

    def swapped(found: Path, parameters: object) -> object:
        relations = list(snapshots_of(found, parameters))
        if found == path:
            path.write_text(path.read_text().replace("30", "31"))
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return relations

    snapshots_of = folders.snapshots_of
    monkeypatch.setattr(folders, "snapshots_of", swapped)
    tally = place.run()
    assert (tally.taken, tally.left) == (1, 1)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_all_that_was_published_opens_as_one_release(tmp_path: Path, form: str) -> None:
    place = Place(tmp_path / "stream", format=form)
    fill(place.inbox, 12)
    place.run(close=True)
    release = tv.open_release(place.out)
    assert release.table.equals(published(place.out))
    assert release.manifest["counts"]["slots"] == 12
    assert tv.verify(release).violations == ()
    whole = tv.answer(release, tv.WindowCount(between=(day(2), day(7)))).value
    parts = [tv.open_release(place.out / "slots" / day(number)) for number in range(2, 7)]
    assert whole == sum(part.table.num_rows for part in parts)
    assert damage(place.out) == ()


def test_a_slot_that_is_missing_or_changed_shows_in_the_whole(place: Place) -> None:
    fill(place.inbox, 8)
    place.run(close=True)
    (place.out / "slots" / ".hidden.partial").mkdir()
    (place.out / "slots" / "notes.txt").write_text("")
    changed = place.out / "slots" / day(1) / "data.parquet"
    pq.write_table(pq.read_table(changed), changed)
    assert [violation.message for violation in damage(place.out)] == [
        "slot `2024-01-02`: the file `data.parquet` has changed since it was written",
        "`.hidden.partial` is not the folder of a slot",
        "`notes.txt` is not the folder of a slot",
    ]
    shutil.rmtree(place.out / "slots" / day(3))
    found = tv.verify(tv.open_release(place.out, check=False)).violations
    assert [violation.code for violation in found] == ["counts"]


def test_nothing_lies_beside_the_slots(place: Place) -> None:
    fill(place.inbox, 8)
    place.run(close=True)
    assert damage(place.out) == ()
    (place.out / "ledger.csv").write_text("")
    assert [violation.code for violation in damage(place.out)] == ["file-extra"]
    (place.out / "ledger.csv").unlink()
    (place.out / "slots" / ".secret").mkdir()
    assert [violation.code for violation in damage(place.out)] == ["file-extra"]


def test_a_folder_holds_the_slot_that_it_is_named_after(place: Place) -> None:
    """An empty release of another slot in its place keeps all sums as they are."""
    fill(place.inbox, 8)
    place.run(close=True)
    lost, twin = place.out / "slots" / day(4), place.out / "slots" / day(3)
    release = tv.open_release(twin)
    counts = {**release.manifest["counts"], "rows": 0, "buckets": 0}
    told = {key: value for key, value in release.manifest.items() if key != "tables"} | {"counts": counts}
    shutil.rmtree(lost)
    empty = {name: table.slice(0, 0) for name, table in release.tables.items()}
    tv.write(tv.Release(release.guarantee, told, empty), lost)
    assert [violation.code for violation in damage(place.out)] == ["slot"]


def test_a_copy_that_is_given_content_of_its_own_is_taken(place: Place) -> None:
    fill(place.inbox, 3)
    twin = place.inbox / "z.csv"
    twin.write_bytes((place.inbox / f"{day(2)}.csv").read_bytes())
    assert place.run().copies == 1
    twin.write_text(HEAD + f"{day(3)},40,a,north\n{day(3)},41,b,north\n")
    tally = place.run()
    assert (tally.taken, tally.changed, tally.copies) == (1, 0, 0)


def test_slots_of_two_streams_are_not_one(tmp_path: Path) -> None:
    one, other = Place(tmp_path / "one"), Place(tmp_path / "other", window=4)
    for place in (one, other):
        fill(place.inbox, 4)
        place.run(close=True)
    shutil.copytree(other.out / "slots" / day(3), one.out / "slots" / "x")
    with pytest.raises(BundleError, match="slots of different streams"):
        tv.open_release(one.out)
    with pytest.raises(BundleError) as refused:
        tv.open_release(tmp_path / "one")
    assert refused.value.hint == "it contains 1 stream: name the folder of one of them"


def test_numbered_slots_open_in_the_order_of_time(tmp_path: Path) -> None:
    slots = tmp_path / "out" / "slots"
    slots.mkdir(parents=True)
    publisher = tv.StreamPublisher(Roles(time="step", sensitive=["ill"]), l=2, window=1, seed=1)
    for number in range(-2, 12):
        for slot in publisher.push(pa.table({"step": [number] * 2, "ill": ["a", "b"]})):
            tv.write(slot.release, slots / str(slot.slot))
    release = tv.open_release(tmp_path / "out")
    assert tv.verify(release).violations == ()
    assert release.manifest["counts"]["first_slot"] == -2
