"""NATS JetStream as source and sink: `nats://user@host:4222/STREAM/subject`.

Messages are read by their number in the stream, with a consumer that the server forgets. A slot is sent to
`subject`, or `subject.<stream>`, on condition that the message before it is still the last of its subject.
NATS_PASSWORD, NATS_TOKEN or NATS_CREDS (a file) let the user in.
"""

import asyncio
import json
import os
import re
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import SplitResult

import nats
from nats.errors import AuthorizationError
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import BadRequestError, NotFoundError

from timeveil.errors import TimeveilError, raising
from timeveil.service.parameters import SINGLE
from timeveil.service.ports import BATCH, Batch, Sent, absent, away, expired, refused, words_of

T = TypeVar("T")
_DIGEST = "Timeveil-Digest"
_TIMEOUT = 5.0
_FORGOTTEN_AFTER = 60  # seconds without a request after which the server forgets a consumer
_NOTHING_MORE = ("404", "408")  # what it says then; anything else is that there is no such consumer


class _Connection:
    """A connection that is made when it is first used, and again after an error."""

    def __init__(self, _address: str, parts: SplitResult) -> None:
        self.stream, self.subject = words_of(parts, 2)
        host = f"{parts.hostname}:{parts.port or 4222}"
        self._url, self._user = f"{parts.scheme}://{host}", parts.username
        self._loop = asyncio.new_event_loop()
        self.client: Any = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something with the connection; what goes wrong is one of our errors, and closes it."""
        try:
            with raising(_failure, on=Exception):
                return self._loop.run_until_complete(work)
        except TimeveilError:
            self.disconnect()
            raise

    async def connected(self) -> Any:
        if self.client is None:
            errors: list[Exception] = []

            async def note(error: Exception) -> None:
                errors.append(error)

            options: dict[str, Any] = {"user": self._user, "password": os.environ.get("NATS_PASSWORD")}
            options["token"] = os.environ.get("NATS_TOKEN")
            options["user_credentials"] = os.environ.get("NATS_CREDS")
            # When to try again is decided by the service alone.
            options |= {"allow_reconnect": False, "max_reconnect_attempts": 1, "reconnect_time_wait": 0.05}
            self.client = nats.NATS()
            try:
                await self.client.connect(self._url, connect_timeout=_TIMEOUT, error_cb=note, **options)
            except Exception:
                if any("authorization" in str(error).lower() for error in errors):
                    raise refused() from None
                raise
        if not self.client.is_connected:
            raise away()
        return self.client

    def disconnect(self) -> None:
        if not self._loop.is_closed():
            self._loop.run_until_complete(self._disconnect())

    async def _disconnect(self) -> None:
        if self.client is not None:
            with suppress(Exception):
                await asyncio.wait_for(self.client.close(), _TIMEOUT)
            self.client = None
        # What the client leaves running; and its sockets are closed a step later.
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, asyncio.sleep(0.01), return_exceptions=True)

    def close(self) -> None:
        self.disconnect()
        self._loop.close()


def _failure(cause: Exception) -> TimeveilError:
    if isinstance(cause, NotFoundError):
        return absent("stream")
    return refused() if isinstance(cause, AuthorizationError) else away(cause)


class Records(_Connection):
    """The messages of a subject, by their number in the stream."""

    def __init__(self, address: str, parts: SplitResult) -> None:
        super().__init__(address, parts)
        self._next, self._consumer, self._at = "", "", -1
        self._arrived: list[tuple[str, bytes]] = []
        self._status = ""

    def fetch(self, position: Any, wait: float) -> Batch:
        return self.run(self._fetch(int(position or 0), wait))

    async def _fetch(self, position: int, wait: float) -> Batch:
        connected = self.client is not None
        client = await self.connected()
        if not connected or self._at != position:
            await self._start(client, position)
        arrived = self._arrived = list[tuple[str, bytes]]()
        self._complete, self._status = asyncio.Event(), _NOTHING_MORE[0]
        request = {"batch": BATCH, "expires": int(wait * 1e9)}
        await client.publish(self._next, json.dumps(request).encode(), reply=self._inbox)
        await client.flush(_TIMEOUT)
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._complete.wait(), wait + _TIMEOUT)
        is_answered = self._status in _NOTHING_MORE and (arrived or self._complete.is_set())
        if not (client.is_connected and is_answered):
            raise away()  # an answer that nothing is there would be an answer
        # The reply address of a message: ...<stream>.<consumer>.<delivered>.<number>.<...>.<time>.<left>
        names = [reply.rsplit(".", 4)[1] for reply, _ in arrived]
        self._at = int(names[-1]) if names else position
        behind = int(arrived[-1][0].rpartition(".")[2]) if arrived else 0
        return Batch([data for _, data in arrived], names, self._at, behind)

    async def _start(self, client: Any, position: int) -> None:
        """A consumer that begins after the position."""
        manager = client.jsm(timeout=_TIMEOUT)
        state = (await manager.stream_info(self.stream)).state
        if position and state.first_seq > position + 1:
            raise expired()
        config = ConsumerConfig(
            filter_subject=self.subject,
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=position + 1,
            ack_policy=AckPolicy.NONE,
            inactive_threshold=_FORGOTTEN_AFTER,
        )
        consumer = await manager.add_consumer(self.stream, config)
        self._next = f"$JS.API.CONSUMER.MSG.NEXT.{self.stream}.{consumer.name}"
        self._inbox, self._at = client.new_inbox(), position
        inbox = self._inbox

        async def take(message: Any) -> None:
            if inbox == self._inbox:
                self._take(message.reply, message.data, (message.headers or {}).get("Status", ""))

        subscription = await client.subscribe(inbox, cb=take, pending_bytes_limit=0)
        own, others = getattr(subscription, "_id", None), getattr(type(client), "_process_msg", None)
        if own is None or others is None:
            return  # a client that is made otherwise: messages come by `take`

        async def process(sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
            if sid == own:  # as they are read: a queue and a task between would take twice as long
                self._take(reply.decode(), data, bytes(headers or b"")[9:12].decode())  # NATS/1.0 408
            else:
                await others(client, sid, subject, reply, data, headers)

        client._process_msg = process

    def _take(self, reply: str, data: bytes, status: str) -> None:
        """A message, or the server's word why no more come for now, which asks for no reply."""
        if reply:
            self._arrived.append((reply, data))
        else:
            self._status = status
        if not reply or len(self._arrived) == BATCH:
            self._complete.set()


class Slots(_Connection):
    """Slots as messages of a subject, or of one below it for each stream."""

    def last(self, stream: str) -> Sent | None:
        return self.run(self._last(self._subject(stream)))

    async def _last(self, subject: str) -> Sent | None:
        manager = (await self.connected()).jsm(timeout=_TIMEOUT)
        await manager.stream_info(self.stream)
        try:
            message = await manager.get_last_msg(self.stream, subject)
        except NotFoundError:
            return None
        headers = message.headers or {}
        slot = headers.get("Nats-Msg-Id", "").rpartition("/")[2]
        return Sent(slot, headers.get(_DIGEST, ""), message.seq)

    def send(self, stream: str, sent: Sent, payload: bytes, after: Sent | None) -> int:
        return self.run(self._send(self._subject(stream), sent, payload, 0 if after is None else after.at))

    async def _send(self, subject: str, sent: Sent, payload: bytes, after: int) -> int:
        headers = {"Nats-Msg-Id": f"{subject}/{sent.slot}", _DIGEST: sent.digest}
        headers["Nats-Expected-Last-Subject-Sequence"] = str(after)
        with raising(away(), on=BadRequestError):  # another message came first: look again
            jetstream = (await self.connected()).jetstream(timeout=_TIMEOUT)
            return int((await jetstream.publish(subject, payload, stream=self.stream, headers=headers)).seq)
        raise away()

    def _subject(self, stream: str) -> str:
        """Where the slots of a stream go to: a word of a subject has no dots."""
        word = re.sub(r"[.%*> ]", lambda letter: f"%{ord(letter[0]):02X}", stream)
        return self.subject if stream == SINGLE else f"{self.subject}.{word}"
