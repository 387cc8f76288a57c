"""Records one by one: each is published once, in the slot of its own time, whatever comes between."""

from __future__ import annotations

import json
import random
import re
import sqlite3
import urllib.request
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from tests.service.brokers import free_port
from tests.service.feeds import Feed, Memory, line, published, rows_for
from tests.service.inboxes import Place, day, fill

import timeveil as tv
from timeveil.service import running, status
from timeveil.service.feed import FeedService
from timeveil.service.ports import absent, away
from timeveil.service.status import as_lines, metrics_text, observed

DAYS = 6


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "FIRST_DELAY", 0.001)


def test_the_same_as_a_whole_table_however_it_is_cut(tmp_path: Path) -> None:
    rows = rows_for(DAYS)
    for seed in range(4):
        rng = random.Random(seed)  # noqa: S311
        cuts = set(rng.sample(range(len(rows)), 5 * seed))
        feed = Feed(tmp_path / str(seed), Memory([line(row) for row in rows], cuts))
        if seed == 3:
            feed.run()  # and in two runs
        feed.run(close=True)
        assert feed.tables() == published(rows)
        assert status(feed.state).as_dict()["feed"]["records"] == len(rows)


def test_several_records_in_a_message(tmp_path: Path) -> None:
    rows = rows_for(DAYS)
    feed = Feed(tmp_path, Memory([b"\n".join(line(row) for row in rows)]))
    assert feed.run(close=True).records == len(rows)
    assert feed.tables() == published(rows)


def test_records_wait_for_those_that_come_late(tmp_path: Path) -> None:
    """With a grace of a day, records may come a day late, in any order of arrival and any cut."""
    rows = rows_for(DAYS)
    rng = random.Random(1)  # noqa: S311
    late = sorted(rows, key=lambda row: int(row[0][-2:]) + rng.random() * 1.9)
    assert [row[0] for row in late] != [row[0] for row in rows]
    expected = None
    for seed in range(3):
        cuts = set(rng.sample(range(len(rows)), 4 * seed))
        feed = Feed(tmp_path / str(seed), Memory([line(row) for row in late], cuts), close_after=86_400)
        assert feed.run(close=True).rejected == 0
        expected = expected or feed.tables()
        assert feed.tables() == expected == published(late)


def test_a_slot_is_complete_by_the_records_own_times(tmp_path: Path) -> None:
    source = Memory([line(row) for row in rows_for(3)])
    feed = Feed(tmp_path, source, close_after=86_400)
    feed.run()
    assert status(feed.state).streams[0].last_slot == day(0)  # day 1 and 2 are open
    source.payloads.append(json.dumps({"day": day(5)}).encode())  # a heartbeat
    feed.run()
    facts = status(feed.state)
    assert facts.streams[0].last_slot == day(2)
    assert facts.feed is not None
    assert (facts.feed["held"], facts.feed["records"]) == (0, len(source.payloads) - 1)


def test_late_records_are_moved_on_if_the_stream_says_so(tmp_path: Path) -> None:
    rows = rows_for(DAYS)
    rows.append((day(0), "33", "a", "north"))
    refused = Feed(tmp_path / "refused", Memory([line(row) for row in rows]))
    assert refused.run(close=True).rejected == 1
    assert refused.quarantine() == {str(len(rows) - 1): "late"}
    moved = Feed(tmp_path / "moved", Memory([line(row) for row in rows]), late="move")
    assert moved.run(close=True).rejected == 0
    assert status(moved.state).streams[0].late == 1
    assert status(moved.state).streams[0].rows_read == len(rows)


POISON = {
    b"\xff\xfe": "bad-record",
    b"not json CANARY": "bad-record",
    b"[1, 2]": "bad-record",
    b"": "bad-record",
    json.dumps({"day": day(1), "age": "1", "ill": "\ud800", "site": "s"}).encode(): "bad-record",
    json.dumps({"day": "\ud800", "age": "1", "ill": "a", "site": "s"}).encode(): "bad-record",
    json.dumps({"\ud800": "1", "day": day(1), "age": "1", "ill": "a", "site": "s"}).encode(): "bad-record",
    json.dumps({"day": day(1), "age": {"CANARY": 1}, "ill": "a", "site": "s"}).encode(): "bad-record",
    json.dumps({"day": day(1), "ill": "CANARY", "site": "s"}).encode(): "column-missing",
    json.dumps(
        {"day": day(1), "age": "1", "ill": "a", "site": "s", "CANARY": 1}
    ).encode(): "column-without-role",
    json.dumps({"day": "CANARY", "age": "1", "ill": "a", "site": "s"}).encode(): "bad-time",
    json.dumps({"day": "2024-02-31", "age": "1", "ill": "a", "site": "s"}).encode(): "bad-time",
    json.dumps({"day": "03/04/2024", "age": "1", "ill": "a", "site": "s"}).encode(): "bad-time",
    json.dumps({"day": "13/01/2024", "age": "1", "ill": "a", "site": "s"}).encode(): "bad-time",
    json.dumps({"day": "2024-01-02T10:00:00", "age": "1", "ill": "a", "site": "s"}).encode(): "bad-time",
    json.dumps({"day": None, "age": "1", "ill": "a", "site": "s"}).encode(): "nulls",
    json.dumps({"day": day(1), "age": "1", "ill": None, "site": "s"}).encode(): "nulls",
    json.dumps({"day": day(1), "age": "1", "ill": "a\u200b", "site": "s"}).encode(): "value-clash",
    json.dumps({"day": "2031-01-01", "age": "1", "ill": "a", "site": "s"}).encode(): "gap",
}


def test_poison_goes_to_quarantine_and_the_rest_is_published(tmp_path: Path) -> None:
    rows = rows_for(DAYS)
    first = len([row for row in rows if row[0] <= day(1)])
    payloads = [line(row) for row in rows]
    payloads[first:first] = list(POISON)
    for seed, cuts in enumerate((set(), {first + 3, first + 9}, set(range(len(payloads))))):
        feed = Feed(tmp_path / str(seed), Memory(payloads, cuts), roles=tv.Roles(**ROLES))
        assert feed.run(close=True).rejected == len(POISON)
        codes = feed.quarantine()
        assert [codes[str(first + n)] for n in range(len(POISON))] == list(POISON.values())
        for number, payload in enumerate(POISON):
            assert (feed.root / "s.db.quarantine" / f"{first + number}.json").read_bytes() == payload
        assert feed.tables() == published(rows)
        reasons = [path.read_text() for path in (feed.root / "s.db.quarantine").glob("*.txt")]
        assert "CANARY" not in " ".join([*feed.said, *reasons, json.dumps(status(feed.state).as_dict())])
        assert (feed.root / "s.db.quarantine").stat().st_mode & 0o77 == 0


ROLES = {"time": "day", "quasi": ["age"], "sensitive": ["ill"], "drop": ["site"]}


def test_a_first_batch_without_a_column_is_a_mistake_in_the_command(tmp_path: Path) -> None:
    feed = Feed(tmp_path, Memory([b'{"day": "2024-01-01", "age": 1}'] * 3))
    with pytest.raises(tv.RolesError, match="no column `ill`"):
        feed.run()
    assert feed.quarantine() == {}


def test_a_schema_that_changes_loses_nothing(tmp_path: Path) -> None:
    """Records of the new form are put aside, and can be sent again under the old one."""
    rows, source = rows_for(DAYS), Memory([])
    half = len([row for row in rows if row[0] <= day(2)])
    source.payloads = [line(row) for row in rows[:half]]
    source.payloads += [line(row).replace(b'"ill"', b'"disease"') for row in rows[half:]]
    feed = Feed(tmp_path, source)
    assert feed.run().rejected == len(rows) - half
    assert set(feed.quarantine().values()) == {"column-missing"}
    aside = sorted((tmp_path / "s.db.quarantine").glob("*.json"), key=lambda path: int(path.stem))
    source.payloads += [path.read_bytes().replace(b'"disease"', b'"ill"') for path in aside]
    feed.run(close=True)
    assert feed.tables() == published(rows)


def test_streams_are_separated_by_a_column(tmp_path: Path) -> None:
    rows = rows_for(DAYS)
    feed = Feed(tmp_path, Memory([line(row) for row in rows]), stream_by="site")
    feed.run(close=True)
    read = {stream.folder: stream.rows_read for stream in status(feed.state).streams}
    assert read == {
        "north": sum(r[3] == "north" for r in rows),
        "south%2F2": sum(r[3] != "north" for r in rows),
    }
    assert all(tv.verify(tv.open_release(feed.out / name)) for name in read)


def test_a_broker_that_is_away_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Memory([line(row) for row in rows_for(DAYS)])
    feed, source.failures = Feed(tmp_path, source), [away()] * 3
    feed.run(close=True)
    assert next(text for text in feed.said if "trying again" in text).endswith("0.001 s")
    assert feed.tables() == published(rows_for(DAYS))
    assert status(feed.state).last_error is None
    source.failures = [away()] * running.ATTEMPTS
    with pytest.raises(tv.EngineError, match="cannot be reached"):
        feed.run()
    assert (status(feed.state).last_error or {})["code"] == "broker-failed"
    source.failures = [absent("stream")]  # not what waiting changes
    with pytest.raises(tv.EngineError, match="no stream"):
        feed.run()
    assert source.failures == []


def test_a_state_file_has_one_source(tmp_path: Path) -> None:
    feed = Feed(tmp_path, Memory([line(row) for row in rows_for(2)]))
    feed.run()
    place = Place(tmp_path)
    with pytest.raises(tv.ParameterError, match="made with a broker"):
        place.run()
    with pytest.raises(tv.ParameterError, match="another source"):
        FeedService(feed.source, "nats://host/s/other", feed.out, feed.state, feed.parameters)
    inbox = Place(tmp_path / "inbox")
    fill(inbox.inbox, 2)
    inbox.run()
    with pytest.raises(tv.ParameterError, match="made with an inbox"):
        FeedService(feed.source, "nats://host/s/t", inbox.out, inbox.state, inbox.parameters)


def test_a_state_file_of_the_version_before_is_upgraded(tmp_path: Path) -> None:
    place, whole = Place(tmp_path / "upgraded"), Place(tmp_path / "whole")
    for each in (place, whole):
        fill(each.inbox, DAYS)
    later = sorted(place.inbox.iterdir())[3:]
    kept = {path: path.read_bytes() for path in later}
    for path in later:
        path.unlink()
    place.run()
    with closing(sqlite3.connect(place.state)) as base:
        base.executescript("drop table held; drop table rejected; pragma user_version = 3;")
    assert status(place.state).files_taken == 3  # a status changes nothing
    for path, content in kept.items():
        path.write_bytes(content)
    place.run(close=True)
    whole.run(close=True)
    with closing(sqlite3.connect(place.state)) as base:
        assert base.execute("pragma user_version").fetchone() == (4,)
    assert tv.open_release(place.out).tables == tv.open_release(whole.out).tables


def test_numbers_for_prometheus(tmp_path: Path) -> None:
    feed = Feed(tmp_path, Memory([line(row) for row in rows_for(DAYS)]))
    feed.run()
    text, port = metrics_text(status(feed.state)), free_port()
    numbers = dict(re.findall(r"^timeveil_(\w+) (\S+)$", text, re.MULTILINE))
    assert numbers["records_total"] == str(len(rows_for(DAYS)))
    assert (numbers["slots_published_total"], numbers["failing"]) == ("3", "0")
    assert not re.search("withheld|moved", text)  # private
    with (
        observed(feed.state, str(port)),
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer,
    ):
        assert answer.read().decode() == text
    with observed(feed.state, str(tmp_path / "stream.prom")):
        pass
    assert (tmp_path / "stream.prom").read_text() == text
    with pytest.raises(tv.ParameterError, match="metrics"), observed(feed.state, "CANARY"):
        pass


def test_log_lines_are_json_on_request() -> None:
    said: list[str] = []
    log = as_lines(said.append)
    log("warning: much withheld")
    log("1 record put aside")
    levels = [(entry["level"], entry["message"]) for entry in map(json.loads, said)]
    assert levels == [("warning", "much withheld"), ("info", "1 record put aside")]


def test_a_record_after_a_heartbeat_is_late(tmp_path: Path) -> None:
    """In one batch, and like the record before the heartbeat."""
    first, second = rows_for(2)[0], json.dumps({"day": day(3)}).encode()
    feed = Feed(tmp_path, Memory([line(first), line(first), second, line(first)]))
    assert feed.run().rejected == 1
    assert feed.quarantine() == {"3": "late"}


def test_slots_are_judged_one_by_one(tmp_path: Path) -> None:
    """Values that read as times in one slot are refused there, whatever slots come with it."""
    rows = [row for row in rows_for(DAYS) if row[0] != day(2)]
    dates = [(day(2), "30", value, "north") for value in ("2024-01-31", "2024-02-01", "2024-03-01", "a")]
    payloads = [line(row) for row in sorted([*rows, *dates])]
    codes, tables = list[dict[str, str]](), list[dict[str, pa.Table]]()
    for seed, cuts in enumerate((set[int](), {9}, set(range(len(payloads))))):
        feed = Feed(tmp_path / str(seed), Memory(payloads, cuts))
        assert feed.run(close=True).rejected
        codes.append(feed.quarantine())
        tables.append(feed.tables())
    assert codes[0] == codes[1] == codes[2]
    assert {*codes[0].values()} == {"risky-column"}
    assert tables[0] == tables[1] == tables[2]


def test_other_spellings_in_slots_that_come_together(tmp_path: Path) -> None:
    """The later spelling is refused, as if its slot had come by itself."""
    rows = rows_for(DAYS)
    rows.append((day(4), "30", "a\u200b", "north"))
    payloads = [line(row) for row in sorted(rows, key=lambda row: row[0])]
    for seed, cuts in enumerate((set[int](), {7}, set(range(len(payloads))))):
        feed = Feed(tmp_path / str(seed), Memory(payloads, cuts))
        assert feed.run(close=True).rejected == 1
        assert {*feed.quarantine().values()} == {"value-clash"}
        assert feed.tables() == published(rows[:-1])
