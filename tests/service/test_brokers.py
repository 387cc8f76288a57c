"""Streams behind real brokers, killed, away or refused: every slot once, and the same as a table's."""

from __future__ import annotations

import asyncio
import json
import random
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.docs.pages import ROOT
from tests.postgres import database
from tests.service.broker_kills import Killed
from tests.service.brokers import KINDS, Nats, Redis, broker
from tests.service.feeds import OPTIONS, line, published, rows_for
from tests.service.inboxes import parameters
from tests.service.processes import Nursery, nursery

import timeveil as tv
from timeveil.service import feed, running, status
from timeveil.service.feed import FeedService
from timeveil.service.ports import MessageSink, Sent, open_port

PASSWORD = "CANARY-password"  # noqa: S105 (not a real one)
STEPS = (3, 9)
"""Steps that a start is killed at, one start after the other."""


@pytest.fixture(scope="module")
def children() -> Iterator[Nursery]:
    with nursery() as processes:
        yield processes


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "FIRST_DELAY", 0.05)
    monkeypatch.setattr(feed, "IDLE", 0.2)


def opened(place: Any, root: Path, out: Any = None, state: str = "s.db", **options: Any) -> FeedService:
    sink = MessageSink(place.sink, several=False) if out is None else out
    source = open_port(place.source, "Records")
    options = {"seed": 7, **options}
    return FeedService(source, place.source, sink, root / state, parameters(roles=ROLES), **options)


ROLES = tv.Roles(time="day", quasi=["age"], sensitive=["ill"], drop="rest")


@pytest.mark.parametrize("kind", KINDS)
def test_killed_and_started_again(kind: str, tmp_path: Path, children: Nursery) -> None:
    """More kills of each kind: `python -m tests.service.broker_kills`."""
    stream = Killed(kind, tmp_path / kind, rows_for(4))
    for step in STEPS:
        assert stream.run(children, crash_at=step)
    assert not stream.run(children)
    stream.check()
    # Nothing is taken twice, and a stream that ended stays as it is.
    assert not stream.run(children)
    stream.check()


@pytest.mark.parametrize("kind", KINDS)
def test_records_that_come_later_and_slots_of_another_stream(kind: str, tmp_path: Path) -> None:
    rows, place = rows_for(4), broker(kind).new()
    half = len(rows) // 2
    place.put(*map(line, rows[:half]))
    with opened(place, tmp_path, tmp_path / "out") as service:
        assert service.run().records == half
    place.put(*map(line, rows[half:]))
    with opened(place, tmp_path, tmp_path / "out") as service:
        assert service.run().records == len(rows) - half
        service.close_streams()
    assert tv.open_release(tmp_path / "out").tables == published(rows)
    with opened(place, tmp_path, state="t.db") as service:
        service.run()
        service.close_streams()
    with pytest.raises(tv.BundleError, match="not published with this state file"):
        opened(place, tmp_path, state="u.db")


def test_headers_of_a_message_change_nothing(tmp_path: Path) -> None:
    """Not even those that the server itself sends when nothing more is there."""
    rows, place = rows_for(4), broker("nats").new()

    async def put(client: Any, _js: Any) -> None:
        for number, row in enumerate(rows):
            headers = [None, {"Status": "404"}, {"Nats-Msg-Id": str(number)}][number % 3]
            await client.publish(f"{place.name}.in", line(row), headers=headers)
        await client.flush()

    place.broker._run(put)
    with opened(place, tmp_path, tmp_path / "out") as service:
        assert service.run().records == len(rows)
        service.close_streams()
    assert tv.open_release(tmp_path / "out").tables == published(rows)


def without_number(subscribe: Any) -> Any:
    """As `subscribe` of the client of NATS, but what it gives has no private number."""

    async def renamed(client: Any, subject: str, *arguments: Any, **options: Any) -> Any:
        subscription = await subscribe(client, subject, *arguments, **options)
        del subscription._id
        return subscription

    return renamed


def test_a_client_of_nats_that_is_made_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages come by what its documentation names then, which takes longer."""
    import nats

    monkeypatch.setattr(nats.NATS, "subscribe", without_number(nats.NATS.subscribe))
    rows, place = rows_for(4), broker("nats").new()
    place.put(*map(line, rows))
    with opened(place, tmp_path, tmp_path / "out") as service:
        assert service.run().records == len(rows)
        service.close_streams()
    assert tv.open_release(tmp_path / "out").tables == published(rows)


@pytest.mark.parametrize("is_made_otherwise", [False, True])
def test_a_consumer_that_the_server_has_forgotten(
    is_made_otherwise: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That it is not there any more is no answer that nothing is there."""
    import nats

    if is_made_otherwise:
        monkeypatch.setattr(nats.NATS, "subscribe", without_number(nats.NATS.subscribe))
    monkeypatch.setattr("timeveil.service.nats_broker._FORGOTTEN_AFTER", 0.5)
    rows, place = rows_for(4), broker("nats").new()
    source = open_port(place.source, "Records")
    with closing(source):
        assert not source.fetch(None, 0.2).payloads
        place.put(line(rows[0]))
        time.sleep(2)
        with pytest.raises(tv.TimeveilError, match="cannot be reached"):
            source.fetch(0, 0.2)
        assert source.fetch(0, 0.2).payloads == [line(rows[0])]


@pytest.mark.parametrize("kind", [Nats, Redis])
def test_a_server_that_goes_away_and_comes_back(kind: Any, tmp_path: Path) -> None:
    server = kind()
    try:
        rows, place = rows_for(6), server.new()
        half = len(rows) // 2
        place.put(*map(line, rows[:half]))
        said: list[str] = []
        with opened(place, tmp_path, say=said.append) as service:
            service.run()
            place.put(*map(line, rows[half:]))
            server.server.stop()
            back = threading.Timer(0.4, server.server.start)
            back.start()
            service.run()
            service.close_streams()
            back.join()
        assert any("trying again" in text for text in said)
        slots = place.slots()
        for name, table in published(rows).items():
            assert [row for slot in slots for row in slot["tables"][name]] == table.to_pylist()
        assert status(tmp_path / "s.db").last_error is None
    finally:
        server.server.stop()


def test_who_is_not_let_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong credentials are not tried again, and are in no message."""
    users = f'authorization {{ users = [{{user: "clinic", password: "{PASSWORD}"}}] }}'
    guarded = (Nats(users), Redis("--requirepass", PASSWORD))
    place = broker("postgres").new()
    database().run("DROP ROLE IF EXISTS nobody_here", "CREATE ROLE nobody_here LOGIN")
    ports = [server.server.port for server in guarded]
    addresses = [
        f"nats://clinic@127.0.0.1:{ports[0]}/S/s.in",
        f"redis://127.0.0.1:{ports[1]}/0/in",
        place.source.replace("postgres@", "nobody_here@"),
    ]
    try:
        for variable in ("NATS_PASSWORD", "REDIS_PASSWORD"):
            monkeypatch.setenv(variable, f"{PASSWORD}-wrong")
        for address in addresses:
            with closing(open_port(address, "Records")) as source, pytest.raises(tv.EngineError) as refused:
                source.fetch(None, 0.1)
            assert refused.value.code == "no-permission", address
            assert PASSWORD not in str(refused.value)
        monkeypatch.setenv("REDIS_PASSWORD", PASSWORD)
        with closing(open_port(addresses[1], "Records")) as source:
            assert source.fetch(None, 0.1).payloads == []
    finally:
        for server in guarded:
            server.server.stop()


def test_an_address_with_a_password_is_refused(tmp_path: Path) -> None:
    addresses = [
        f"nats://clinic:{PASSWORD}@host/S/s",
        f"redis://:{PASSWORD}@host/0/s",
        f"kafka://clinic:{PASSWORD}@host/s",
        f"postgresql://clinic:{PASSWORD}@host/db#s",
        f"nats://host/S/s?token={PASSWORD}",
    ]
    for address in addresses:
        with pytest.raises(tv.ParameterError, match="contains a password") as refused:
            open_port(address, "Records")
        assert PASSWORD not in str(refused.value)
    for address in ("nats://host/S", "redis://host/x/s", "kafka://host/", "nats:///S/s"):
        with pytest.raises(tv.ParameterError, match="cannot be read"):
            open_port(address, "Records")


def test_a_key_that_shows_after_a_larger_one(tmp_path: Path) -> None:
    """Two writers: the one that began first commits last, and its row is not passed over."""
    place = broker("postgres").new()
    row = "VALUES ('2024-01-01', '1', 'a', 's')"
    insert = f"INSERT INTO {place.name}_in (day, age, ill, site) {row}"
    with closing(open_port(place.source, "Records")) as source, database().connect() as slow:
        with slow.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(insert)
            database().run(insert)  # another connection; commits at once
            assert source.fetch(None, 0.1).payloads == []
            cursor.execute("COMMIT")
        assert source.fetch(None, 1.0).names == ["1", "2"]


def test_messages_that_the_broker_removed(tmp_path: Path) -> None:
    """They are lost, which is said; the service does not go on as if they had not been."""
    import nats

    place = broker("nats").new()
    place.put(*map(line, rows_for(2)))
    with closing(open_port(place.source, "Records")) as source:
        position = source.fetch(None, 0.2).position
        assert source.fetch(position, 0.1).payloads == []

    async def purge() -> None:
        client = await nats.connect(place.source.rsplit("/", 2)[0])
        await client.jetstream().purge_stream(place.name)
        await client.close()
        await asyncio.sleep(0.01)

    place.put(*map(line, rows_for(2)))
    asyncio.run(purge())
    with closing(open_port(place.source, "Records")) as source, pytest.raises(tv.EngineError) as lost:
        source.fetch(position, 0.1)
    assert lost.value.code == "records-lost"


def test_a_service_that_follows_stops_when_asked(tmp_path: Path, children: Nursery) -> None:
    place, said = broker("nats").new(), tmp_path / "said"
    place.put(*map(line, rows_for(6)))
    numbers = tmp_path / "stream.prom"
    command = f"publish-stream {place.source} --state {tmp_path}/s.db --out {tmp_path}/out {OPTIONS} --follow"
    moment = {
        "kill_once": tmp_path / "out" / "slots" / "2024-01-03",
        "kill_after": 0.1,
        "signal": signal.SIGTERM,
    }
    assert children(f"{command} --log-json --metrics {numbers}", said, **moment) == 0
    assert "timeveil_slots_published_total 3" in numbers.read_text()
    logged = [json.loads(text) for text in said.read_text().splitlines() if text.startswith("{")]
    assert all(entry["level"] == "warning" for entry in logged)
    assert status(tmp_path / "s.db").last_error is None


def test_a_broker_that_is_not_there(
    tmp_path: Path, children: Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "ATTEMPTS", 2)
    begun = time.monotonic()
    places = ("nats://{}/S/s", "redis://{}/0/s", "postgresql://{}/db#s", "kafka://{}/s")
    for address in (place.format("127.0.0.1:9") for place in places):
        source = open_port(address, "Records")
        service = FeedService(source, address, tmp_path / "out", tmp_path / "s.db", parameters(roles=ROLES))
        with pytest.raises(tv.EngineError, match="cannot be reached"), service:
            service.run()
        assert (status(tmp_path / "s.db").last_error or {})["code"] == "broker-failed"
    assert time.monotonic() - begun < 60


def test_the_units_in_the_documentation_run(tmp_path: Path, children: Nursery) -> None:
    """Their command lines, with another address and other paths, and an end."""
    page = (ROOT / "docs" / "how-to" / "run-a-stream-behind-a-broker.md").read_text("utf-8")
    unit = re.search(r"^ExecStart=\S+ (.*)$", page, re.MULTILINE)
    image = re.search(r"^ENTRYPOINT (.*)$", page, re.MULTILINE)
    assert unit
    assert image
    for number, words in enumerate((unit[1].split(), json.loads(image[1])[1:])):
        place, root = broker("nats").new(), tmp_path / str(number)
        root.mkdir()
        rows = [{"day": row[0], "diagnosis": row[2]} for row in rows_for(12)]
        place.put(*(json.dumps(row).encode() for row in rows))
        paths = {"--state": f"{root}/s.db", "--out": f"{root}/out", "--metrics": f"{root}/n.prom"}
        for option in paths.keys() & {*words}:
            words[words.index(option) + 1] = paths[option]
        words[1], words[words.index("--follow")] = place.source, "--close"
        assert children(" ".join(words), root / "said") == 0, (root / "said").read_text()
        assert len(list((root / "out" / "slots").iterdir())) == 12


@pytest.mark.parametrize("kind", ["nats", "redis", "postgres"])
def test_killed_between_slots_that_are_marked_together(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were sent are found again, the rest follow, also when the broker ended the connection."""
    rows, place, left = rows_for(9), broker(kind).new(), 4
    place.put(*map(line, rows))

    def last_step() -> None:
        nonlocal left
        left -= bool(place.slots())
        if not left:
            raise KeyboardInterrupt

    monkeypatch.setattr(running, "boundary", last_step)
    with pytest.raises(KeyboardInterrupt), opened(place, tmp_path) as service:
        service.run()
    sent = len(place.slots())
    assert sent >= 2
    assert status(tmp_path / "s.db").slots_to_write > sent
    monkeypatch.undo()
    with opened(place, tmp_path) as service:
        service.run()
        assert service.tally.found_published == sent
        service.close_streams()
    slots = place.slots()
    for name, table in published(rows).items():
        assert [row for slot in slots for row in slot["tables"][name]] == table.to_pylist()


def test_a_table_whose_columns_change(tmp_path: Path) -> None:
    """Rows that lack a column go to quarantine, and a table that is gone ends the service."""
    place, rows = broker("postgres").new(), rows_for(2)
    place.put(*map(line, rows))
    with opened(place, tmp_path, tmp_path / "out") as service:
        service.run()
    table = f"{place.name}_in"
    database().run(f"ALTER TABLE {table} ADD COLUMN more text DEFAULT 'CANARY'")
    place.put(line(rows[-1]))
    database().run(f"ALTER TABLE {table} RENAME COLUMN ill TO other")
    database().run(f"INSERT INTO {table} (day, age, other) VALUES ('2024-01-02', '7', 'CANARY')")
    said: list[str] = []
    with opened(place, tmp_path, tmp_path / "out", say=said.append) as service:
        assert service.run().rejected == 2  # renamed before either was read
    reasons = [path.read_text() for path in (tmp_path / "s.db.quarantine").glob("*.reason.txt")]
    assert len(reasons) == 2
    assert all("column-missing" in reason and "CANARY" not in reason for reason in reasons)
    assert not any("CANARY" in text for text in said)
    database().run(f"DROP TABLE {table}")
    with pytest.raises(tv.EngineError) as gone, opened(place, tmp_path, tmp_path / "out") as service:
        service.run()
    assert gone.value.code == "file-missing"
    assert (status(tmp_path / "s.db").last_error or {})["code"] == "file-missing"


def test_what_kafka_refuses(tmp_path: Path) -> None:
    """The mock lets anybody in, so librdkafka's own error is given to what listens for it."""
    from confluent_kafka import KafkaError

    place = broker("kafka").new()
    with closing(open_port(place.source, "Records")) as source:
        assert source.failure(KafkaError(KafkaError._TRANSPORT)).code == "broker-failed"
        assert source.failure(KafkaError(KafkaError.OFFSET_OUT_OF_RANGE)).code == "records-lost"
        assert source.failure(KafkaError(KafkaError._UNKNOWN_TOPIC)).code == "file-missing"
        source.settings["error_cb"](KafkaError(KafkaError._AUTHENTICATION))
        assert source.failure(KafkaError(KafkaError._TRANSPORT)).code == "no-permission"


MODULES = {
    "nats": "nats_broker",
    "redis": "redis_broker",
    "postgres": "growing_table",
    "kafka": "kafka_broker",
}


def in_order(name: str) -> list[int]:
    """The numbers of a name, such as 1795132447231-10: Redis counts within a millisecond."""
    return [int(number) for number in re.findall(r"\d+", name)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_bounded_in_bytes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many messages as fit, one at least, and all of them in their order."""
    monkeypatch.setattr(f"timeveil.service.{MODULES[kind]}.MOST_BYTES", 4_000)
    monkeypatch.setattr(f"timeveil.service.{MODULES[kind]}.PART", 2, raising=False)
    place, rng = broker(kind).new(), random.Random(2)  # noqa: S311
    ages = ["7" * rng.choice((1, 10, 300)) for _ in range(90)] + ["8" * 9_000, "9", "8" * 9_000]
    place.put(*(line(("2024-01-01", age, "a", "s")) for age in ages))
    with closing(open_port(place.source, "Records")) as source:
        position, read, batches = None, list[str](), 0
        while len(read) < len(ages) and (batch := source.fetch(position, 5.0)).payloads:
            sizes = [len(payload) for payload in batch.payloads]
            assert sum(sizes[:-2]) < 4_000  # nothing is asked for beyond the bound, which a part may cross
            assert batch.names == sorted(set(batch.names), key=in_order)
            read += [json.loads(payload)["age"] for payload in batch.payloads]
            position, batches = batch.position, batches + 1
            assert batches <= len(ages)
        assert read == ages
        assert batches > 3


def test_another_writer_between_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else comes into the stream of NATS, slots come once, in their order."""
    import nats

    publish, calls = nats.NATS.publish, 0

    async def followed_by_another(client: Any, subject: str, *arguments: Any, **options: Any) -> None:
        nonlocal calls
        await publish(client, subject, *arguments, **options)
        if subject.endswith(".out"):
            calls += 1
            if calls % 3 == 0:
                await publish(client, subject.replace(".out", ".other"), b"of another")

    monkeypatch.setattr(nats.NATS, "publish", followed_by_another)
    rows, place = rows_for(30), broker("nats").new()
    place.put(*map(line, rows))
    with opened(place, tmp_path) as service:
        service.run()
        service.close_streams()
        assert service.tally.published == 30
    slots = place.slots()
    assert calls > 30  # some were refused and sent again
    assert [slot["slot"] for slot in slots] == sorted({row[0] for row in rows})
    for name, table in published(rows).items():
        assert [row for slot in slots for row in slot["tables"][name]] == table.to_pylist()


def test_a_slot_that_another_sent_first() -> None:
    place = broker("nats").new()
    first, second, third = ((Sent(f"2024-01-0{n}", f"d{n}"), b"{}") for n in (1, 2, 3))
    with closing(open_port(place.sink, "Slots")) as slots:
        (number,) = slots.send("", [first], None)
        with pytest.raises(tv.EngineError, match="cannot be reached"):
            slots.send("", [second, third], None)  # as if nothing were there
        last = slots.last("")
        assert last == first[0]._replace(at=number)
        assert slots.send("", [second, third], last) == [number + 1, number + 2]
        assert slots.last("").slot == "2024-01-03"
