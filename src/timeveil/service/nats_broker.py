"""NATS JetStream as source and sink: `nats://user@host:4222/STREAM/subject`.

Messages are read by their number in the stream, with a consumer that the server forgets. A slot is sent to
`subject`, or `subject.<stream>`, on condition that the message before it is still the last of its subject.
NATS_PASSWORD, NATS_TOKEN or NATS_CREDS (a file) let the user in.
"""

import asyncio
import json
import os
import re
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any, TypeVar
from urllib.parse import SplitResult

import nats
from nats.errors import AuthorizationError
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError

from timeveil.errors import TimeveilError, raising
from timeveil.service.parameters import SINGLE
from timeveil.service.ports import BATCH, MOST_BYTES, Batch, Sent, absent, away, expired, refused, words_of

T = TypeVar("T")
_DIGEST = "Timeveil-Digest"
_TIMEOUT = 5.0
_FORGOTTEN_AFTER = 60  # seconds without a request after which the server forgets a consumer
_TOO_LARGE = "409 Message Size"
_NOTHING_MORE = ("404", "408", "409 Batch Completed", _TOO_LARGE)
"""What the server says when nothing more comes; if it says nothing, there is no such consumer."""


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


class _Arrivals:
    """What has come for one request: messages by their reply addresses, and the server's last word."""

    def __init__(self, address: str = "", most: int = 0) -> None:
        self.address, self._most, self.status = address.encode(), most, _NOTHING_MORE[0]
        self.replies, self.payloads, self.complete = list[bytes](), list[bytes](), asyncio.Event()

    def end_if_all(self) -> None:
        if len(self.replies) >= self._most:
            self.complete.set()

    def end(self, address: bytes, status: bytes) -> None:
        """The server's word why no more come for now, unless it is about an earlier request."""
        if address == self.address:
            self.status = status.decode()
            self.complete.set()


class Records(_Connection):
    """The messages of a subject, by their number in the stream."""

    def __init__(self, address: str, parts: SplitResult) -> None:
        super().__init__(address, parts)
        self._next, self._inbox, self._at, self._asked = "", "", -1, 0
        self._arrivals = _Arrivals()

    def fetch(self, position: Any, wait: float) -> Batch:
        return self.run(self._fetch(int(position or 0), wait))

    async def _fetch(self, position: int, wait: float) -> Batch:
        connected = self.client is not None
        client = await self.connected()
        if not connected or self._at != position:
            await self._start(client, position)
        arrivals = await self._ask(client, wait, {"batch": BATCH, "max_bytes": MOST_BYTES})
        if arrivals.status.startswith(_TOO_LARGE) and not arrivals.payloads:
            arrivals = await self._ask(client, wait, {"batch": 1})
        is_answered = arrivals.status.startswith(_NOTHING_MORE)
        if not (client.is_connected and is_answered and (arrivals.payloads or arrivals.complete.is_set())):
            raise away()  # an answer that nothing is there would be an answer
        # The reply address of a message: ...<stream>.<consumer>.<delivered>.<number>.<...>.<time>.<left>
        names = [reply.rsplit(b".", 4)[1].decode() for reply in arrivals.replies]
        self._at = int(names[-1]) if names else position
        behind = int(arrivals.replies[-1].rpartition(b".")[2]) if names else 0
        return Batch(arrivals.payloads, names, self._at, behind)

    async def _ask(self, client: Any, wait: float, request: dict[str, int]) -> _Arrivals:
        """What comes when it is asked for, until it is complete, or the server says that no more does."""
        self._asked += 1
        arrivals = self._arrivals = _Arrivals(f"{self._inbox}.{self._asked}", request["batch"])
        asked = json.dumps({**request, "expires": int(wait * 1e9)}).encode()
        await client.publish(self._next, asked, reply=arrivals.address.decode())
        await client.flush(_TIMEOUT)
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(arrivals.complete.wait(), wait + _TIMEOUT)
        return arrivals

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
            if inbox != self._inbox:
                return
            if message.reply:
                self._arrivals.replies.append(message.reply.encode())
                self._arrivals.payloads.append(message.data)
                self._arrivals.end_if_all()
            else:  # as it is written: NATS/1.0 408 Request Timeout
                headers = message.headers or {}
                status = f"{headers.get('Status', '')} {headers.get('Description', '')}"
                self._arrivals.end(message.subject.encode(), status.encode())

        subscription = await client.subscribe(f"{inbox}.*", cb=take, pending_bytes_limit=0)
        self._take_at_once(client, getattr(subscription, "_id", None))

    def _take_at_once(self, client: Any, number: int | None) -> None:
        """Take messages of a subscription where the client has read them; where it cannot, they come later.

        A task, a queue and an object for each message would take ten times as long.
        """
        process = getattr(type(client), "_process_msg", None)
        if number is None or process is None:
            return

        async def take(subscription: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
            if subscription != number:
                await process(client, subscription, subject, reply, data, headers)
            elif reply:
                # Of a request that took too long, the rest comes before what the next asks for.
                self._arrivals.replies.append(reply)
                self._arrivals.payloads.append(data)
                self._arrivals.end_if_all()
            else:  # NATS/1.0 408 Request Timeout
                self._arrivals.end(subject, (headers or b"")[9:])

        client._process_msg = take


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

    def send(self, stream: str, slots: Sequence[tuple[Sent, bytes]], after: Sent | None) -> list[int]:
        return self.run(self._send(self._subject(stream), slots, 0 if after is None else after.at))

    async def _send(self, subject: str, slots: Sequence[tuple[Sent, bytes]], after: int) -> list[int]:
        """Each only if the one before is the last: of its subject, by number; then of the stream, by name.

        So what was taken are the first of them, whatever others write in between.
        """
        client, complete = await self.connected(), asyncio.Event()
        inbox, answers = client.new_inbox(), dict[str, dict[str, Any]]()

        async def note(message: Any) -> None:
            answers[message.subject] = json.loads(message.data or b"{}")
            if len(answers) == len(slots):
                complete.set()

        subscription = await client.subscribe(f"{inbox}.*", cb=note)
        condition = {"Nats-Expected-Last-Subject-Sequence": str(after)}
        for number, (sent, payload) in enumerate(slots):
            name = f"{subject}/{sent.slot}"
            headers = {"Nats-Msg-Id": name, "Nats-Expected-Stream": self.stream, _DIGEST: sent.digest}
            await client.publish(subject, payload, reply=f"{inbox}.{number}", headers=headers | condition)
            condition = {"Nats-Expected-Last-Msg-Id": name}
        await asyncio.wait_for(complete.wait(), _TIMEOUT)
        await subscription.unsubscribe()
        places = [answers[f"{inbox}.{number}"].get("seq", 0) for number in range(len(slots))]  # 0 is none
        if not places[0]:
            raise away()  # another message came first: look again
        return list(takewhile(bool, places))

    def _subject(self, stream: str) -> str:
        """Where the slots of a stream go to: a word of a subject has no dots."""
        word = re.sub(r"[.%*> ]", lambda letter: f"%{ord(letter[0]):02X}", stream)
        return self.subject if stream == SINGLE else f"{self.subject}.{word}"
