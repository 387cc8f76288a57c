"""Kafka as source and sink: `kafka://user@host:9092,host:9092/topic`.

Partitions are read by offsets that the state file holds, not a consumer group. Slots go to partition 0, in
order, by an idempotent producer, and the last one there says what was sent before a crash. KAFKA_PASSWORD
lets the user in (SASL over TLS); KAFKA_CONFIG names a private file of settings, one `name=value` a line.
"""

import hashlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from timeveil.errors import TimeveilError, raising
from timeveil.service.parameters import SINGLE
from timeveil.service.ports import (
    BATCH,
    MOST_BYTES,
    PART,
    Batch,
    Sent,
    absent,
    away,
    expired,
    refused,
    words_of,
)

_TIMEOUT = 5.0
_DENIED = (KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError.TOPIC_AUTHORIZATION_FAILED)
_REFUSED = (KafkaError._AUTHENTICATION, *_DENIED)
_ABSENT = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION)
_EXPIRED = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)


class _Connection:
    def __init__(self, _address: str, parts: SplitResult) -> None:
        (self.topic,) = words_of(parts, 1)
        user, _, hosts = parts.netloc.rpartition("@")
        self._refusal = False
        self.settings: dict[str, Any] = {"bootstrap.servers": hosts, "error_cb": self._note, "log_level": 0}
        if user:
            password = os.environ.get("KAFKA_PASSWORD", "")
            self.settings |= {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
            self.settings |= {"sasl.username": user, "sasl.password": password}
        if path := os.environ.get("KAFKA_CONFIG"):
            lines = Path(path).read_text("utf-8").splitlines()
            pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
            self.settings |= {name.strip(): value.strip() for name, _, value in pairs}
        self._consumer: Any = None

    def _note(self, error: KafkaError) -> None:
        self._refusal |= error.code() in _REFUSED

    @contextmanager
    def explained(self) -> Iterator[None]:
        """A block in which what goes wrong is one of our errors, and closes the connection."""
        try:
            with raising(lambda cause: self.failure(cause.args[0]), on=KafkaException):
                yield
        except TimeveilError:
            self.close()
            raise

    def failure(self, error: KafkaError) -> TimeveilError:
        code = error.code()
        if self._refusal or code in _REFUSED:
            return refused()
        if code in _ABSENT:
            return absent("topic")
        return expired() if code in _EXPIRED else away()

    def consumer(self) -> Any:
        if self._consumer is None:
            reading = {"group.id": "timeveil", "enable.auto.commit": False, "auto.offset.reset": "error"}
            self._consumer = Consumer({**self.settings, **reading, "allow.auto.create.topics": False})
        return self._consumer

    def ends(self, topic: str, partition: int) -> tuple[int, int]:
        """The first offset of a partition, and the one after the last."""
        at = TopicPartition(topic, partition)
        first, end = self.consumer().get_watermark_offsets(at, timeout=_TIMEOUT)
        return first, end

    def close(self) -> None:
        if self._consumer is not None:
            with suppress(Exception):
                self._consumer.close()
            self._consumer = None


class Records(_Connection):
    """The messages of all partitions; the position has the next offset of each."""

    def __init__(self, address: str, parts: SplitResult) -> None:
        super().__init__(address, parts)
        self._at: dict[str, int] | None = None
        self._next: Any = None  # the position of the next call, unless it goes back

    def fetch(self, position: Any, wait: float) -> Batch:
        with self.explained():
            if self._consumer is None or self._next != position:
                self._start(position or {})
            offsets = dict(self._at or {})
            payloads, names, size, deadline = list[bytes](), list[str](), 0, time.monotonic() + wait
            while len(payloads) < BATCH and size < MOST_BYTES:
                left = 0.0 if payloads else max(deadline - time.monotonic(), 0.0)
                messages = self._consumer.consume(PART, timeout=min(left, 0.1))
                for message in messages:
                    error = message.error()
                    if error is not None:
                        raise self.failure(error)
                    payloads.append(message.value() or b"")
                    names.append(f"{message.partition()}-{message.offset()}")
                    offsets[str(message.partition())] = message.offset() + 1
                    size += len(payloads[-1])
                if not messages and not left:
                    break
            self._at, self._next = offsets, offsets if payloads else position
            behind = None
            if not payloads:
                behind = sum(self.ends(self.topic, int(p))[1] - offset for p, offset in offsets.items())
                if self._refusal:
                    raise refused()
            return Batch(payloads, names, offsets, behind)

    def _start(self, position: dict[str, int]) -> None:
        offsets = {}
        topic = self.consumer().list_topics(self.topic, timeout=_TIMEOUT).topics[self.topic]
        if topic.error is not None:
            raise self.failure(topic.error)
        for partition in sorted(topic.partitions):
            first, _ = self.ends(self.topic, partition)
            offsets[str(partition)] = position.get(str(partition), first)
            if offsets[str(partition)] < first:
                raise expired()
        self._at = offsets
        self._consumer.assign([TopicPartition(self.topic, int(p), offset) for p, offset in offsets.items()])


class Slots(_Connection):
    """Slots as messages of partition 0, or of the topic `topic.<stream>`; the key is the slot's name."""

    def last(self, stream: str) -> Sent | None:
        topic = self._topic(stream)
        with self.explained():
            consumer = self.consumer()
            if topic not in consumer.list_topics(timeout=_TIMEOUT).topics:
                return None
            first, end = self.ends(topic, 0)
            if end <= first:
                return None
            consumer.assign([TopicPartition(topic, 0, end - 1)])
            deadline = time.monotonic() + _TIMEOUT
            while time.monotonic() < deadline:
                message = consumer.poll(0.2)
                if message is not None and message.error() is None:
                    digest = dict(message.headers() or []).get("digest", b"")
                    return Sent((message.key() or b"").decode("utf-8", "replace"), digest.decode(), end)
            raise away()

    def send(self, stream: str, slots: Sequence[tuple[Sent, bytes]], after: Sent | None) -> list[None]:  # noqa: ARG002 (checked by the caller)
        topic = self._topic(stream)
        errors: list[KafkaError | None] = []
        with self.explained():
            limits = {"enable.idempotence": True, "message.timeout.ms": int(1000 * _TIMEOUT)}
            producer = Producer({**self.settings, **limits})
            for sent, payload in slots:
                noted = {"on_delivery": lambda error, _message: errors.append(error)}
                producer.produce(
                    topic, payload, sent.slot, 0, **noted, headers=[("digest", sent.digest.encode())]
                )
            producer.flush(2 * _TIMEOUT)
            if errors != [None] * len(slots):  # not all were delivered: look again which
                failed = next(filter(None, errors), None)
                raise self.failure(failed) if failed is not None else away()
        return errors

    def _topic(self, stream: str) -> str:
        """Where the slots of a stream go to; a name that Kafka does not take is told apart by its digest."""
        word = re.sub(r"[^A-Za-z0-9._-]", "_", stream)
        word += "" if word == stream else f"-{hashlib.sha256(stream.encode()).hexdigest()[:8]}"
        return self.topic if stream == SINGLE else f"{self.topic}.{word}"
