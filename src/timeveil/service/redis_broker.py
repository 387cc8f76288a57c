"""Redis Streams as source and sink: `redis://user@host:6379/0/key`. REDIS_PASSWORD lets the user in.

Entries are read by their number. A slot is an entry of `key`, or `key:<stream>`; one script checks the last
entry and adds the next, so that nothing comes between.
"""

import json
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import SplitResult

import redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError
from redis.retry import Retry

from timeveil.errors import TimeveilError, raising
from timeveil.service.parameters import SINGLE
from timeveil.service.ports import BATCH, MOST_BYTES, PART, Batch, Sent, absent, away, refused, words_of

_TIMEOUT = 5.0
_FIELD = b"record"
_ADD = """
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local at = last[1] and last[1][1] or ''
if at ~= ARGV[1] then return '' end
return redis.call('XADD', KEYS[1], '*', 'slot', ARGV[2], 'digest', ARGV[3], 'release', ARGV[4])
"""


class _Connection:
    def __init__(self, _address: str, parts: SplitResult) -> None:
        number, self.key = words_of(parts, 2)
        self._client = redis.Redis(
            host=str(parts.hostname),
            port=parts.port or 6379,
            db=int(number),
            username=parts.username,
            password=os.environ.get("REDIS_PASSWORD"),
            ssl=parts.scheme == "rediss",
            socket_connect_timeout=_TIMEOUT,
            socket_timeout=2 * _TIMEOUT,
            retry=Retry(NoBackoff(), 0),
        )

    def call(self, name: str, *arguments: Any, **options: Any) -> Any:
        with raising(_failure, on=Exception):
            return getattr(self._client, name)(*arguments, **options)

    def close(self) -> None:
        self._client.close()


def _failure(cause: Exception) -> TimeveilError:
    if isinstance(cause, AuthenticationError | NoPermissionError):
        return refused()
    return absent("stream") if isinstance(cause, redis.ResponseError) else away(cause)


class Records(_Connection):
    """The entries of a stream; the record is in the field `record`, or each field is a column."""

    def fetch(self, position: Any, wait: float) -> Batch:
        position, names, payloads, size = position or "0-0", list[str](), list[bytes](), 0
        while len(names) < BATCH and size < MOST_BYTES:
            pause = {} if names else {"block": max(int(wait * 1000), 1)}
            answer = self.call("xread", {self.key: position}, count=PART, **pause)
            entries = answer[0][1] if answer else []
            names += [name.decode() for name, _ in entries]
            payloads += [_record(fields or {}) for _, fields in entries]
            size += sum(map(len, payloads[len(payloads) - len(entries) :]))
            position = names[-1] if names else position
            if len(entries) < PART:
                return Batch(payloads, names, position, 0)
        return Batch(payloads, names, position, max(self.call("xlen", self.key) - len(names), 0))


def _record(fields: dict[bytes, bytes]) -> bytes:
    if _FIELD in fields:
        return fields[_FIELD]
    decoded = {name.decode("utf-8", "replace"): value for name, value in fields.items()}
    try:
        return json.dumps({name: value.decode() for name, value in decoded.items()}).encode()
    except UnicodeDecodeError:
        return b"\xff"  # no text, and no record


class Slots(_Connection):
    """Slots as entries with the fields `slot`, `digest` and `release`."""

    def last(self, stream: str) -> Sent | None:
        entries = self.call("xrevrange", self._key(stream), count=1)
        if not entries:
            return None
        name, fields = entries[0]
        slot, digest = (fields.get(field, b"").decode("utf-8", "replace") for field in (b"slot", b"digest"))
        return Sent(slot, digest, name.decode())

    def send(self, stream: str, slots: Sequence[tuple[Sent, bytes]], after: Sent | None) -> list[str]:
        places = ["" if after is None else after.at]
        for sent, payload in slots:
            values = (self._key(stream), places[-1], sent.slot, sent.digest, payload)
            place = self.call("eval", _ADD, 1, *values)
            if not place:
                raise away()  # another entry came first: look again
            places.append(place.decode())
        return places[1:]

    def _key(self, stream: str) -> str:
        return self.key if stream == SINGLE else f"{self.key}:{stream}"
