"""What a stream in service needs of a broker: a source to read records from, a sink to publish slots to.

Exactly once rests on the state file: a source is asked for what follows a position that is stored there, and
a sink knows a slot by its name, so that one sent again is recognised. A password comes from the environment.
Messages of brokers and their drivers may quote data and are replaced.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from itertools import pairwise
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from timeveil.domain.release import Release, decode_dictionaries
from timeveil.errors import BundleError, EngineError, ParameterError, TimeveilError, raising
from timeveil.folder.opening import folder_name, joined, stream_folder
from timeveil.judging import verify
from timeveil.reading.columns import is_text
from timeveil.service.parameters import SINGLE
from timeveil.service.state_file import Pending, StreamRecord

BATCH = 65_536  # messages that are asked for at a time
MOST_BYTES = 1 << 24  # of these messages, after which none is asked for
PART = 256  # messages that are asked for at a time where the broker counts no bytes
AWAY: Final = "broker-failed"
_KINDS = {
    "nats": ("nats_broker", "nats://host:4222/STREAM/subject"),
    "tls": ("nats_broker", "tls://host:4222/STREAM/subject"),
    "redis": ("redis_broker", "redis://host:6379/0/key"),
    "rediss": ("redis_broker", "rediss://host:6379/0/key"),
    "kafka": ("kafka_broker", "kafka://host:9092/topic"),
    "postgresql": ("growing_table", "postgresql://host/database#table"),
    "postgres": ("growing_table", "postgresql://host/database#table"),
}
"""The module of each kind of address, and how one is written."""
_VARIABLES = "NATS_PASSWORD, REDIS_PASSWORD, KAFKA_PASSWORD or PGPASSWORD"
_SECRET = re.compile(r"pass|secret|token|key", re.IGNORECASE)


class Batch(NamedTuple):
    """Messages in their order, each with an identity of its own, and the position after the last.

    `behind` is how many messages are left, None where that is not known.
    """

    payloads: list[bytes]
    names: list[str]
    position: Any
    behind: int | None = None

    def lines(self) -> tuple[list[str], list[bytes]]:
        """The lines of the messages, each with a name: that of its message, and a number after the first."""
        if b"\n" not in b"".join(self.payloads):
            return self.names, self.payloads
        names, lines = list[str](), list[bytes]()
        for name, payload in zip(self.names, self.payloads, strict=True):
            parts = [line for line in payload.splitlines() if line.strip()] if b"\n" in payload else [payload]
            lines += parts or [b""]
            names += [name, *(f"{name}.{number}" for number in range(1, len(parts)))]
        return names, lines


class Source(Protocol):
    """Where records come from. After an error it is closed, and connects again when it is next asked."""

    def fetch(self, position: Any, wait: float) -> Batch:
        """What follows a position, None for the beginning; nothing if nothing comes within `wait` seconds."""

    def close(self) -> None: ...


class Sent(NamedTuple):
    """The last slot of a stream that a sink has: its name, its digest, and where it is."""

    slot: str
    digest: str
    at: Any = None


class Outlet(Protocol):
    """Where messages with slots go to, one after another for each stream."""

    def last(self, stream: str) -> Sent | None: ...
    def send(self, stream: str, slots: Sequence[tuple[Sent, bytes]], after: Sent | None) -> list[Any]:
        """Add slots, each whole or not at all, and the first only if `after` is still the last.

        Where they are then: of the first slots, at least one, or an error.
        """

    def close(self) -> None: ...


def is_broker(address: str) -> bool:
    """Whether an address is that of a broker or of a database."""
    return urlsplit(address).scheme.lower() in _KINDS if "://" in address else False


def open_port(address: str, role: str) -> Any:
    """The `Source` or the `Outlet` of an address."""
    scheme = address.partition("://")[0].lower()
    module, example = _KINDS[scheme]
    error = ParameterError("the address of a broker cannot be read", hint=f"write it as {example}")
    with raising(error, on=ValueError):
        parts = urlsplit(address)
        hosts = [parts.hostname, *([] if scheme == "kafka" else [parts.port])]
        hidden = parts.password or any(_SECRET.search(name) for name, _ in parse_qsl(parts.query))
    if hidden:
        message = "the address of a broker contains a password, which status and jobs would show"
        raise ParameterError(message, hint=f"remove it, and set a variable: {_VARIABLES}")
    if not hosts[0] and module != "growing_table":
        raise error
    extra = "postgres" if module == "growing_table" else module.partition("_")[0]
    missing = EngineError(f"the driver for {scheme}:// is missing", hint=f"pip install timeveil[{extra}]")
    with raising(missing, on=ImportError):
        port = getattr(import_module(f"timeveil.service.{module}"), role)
    with raising(error, on=ValueError):
        return port(address, parts)


def words_of(parts: SplitResult, number: int) -> list[str]:
    """The words of an address's path, of which there must be this many."""
    words = [unquote(word) for word in parts.path.strip("/").split("/")]
    if len(words) != number or not all(words):
        raise ValueError("another number of words")
    return words


def shown(address: str) -> str:
    """An address as status and messages show it: without a user, and without what is for the driver."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))


def away(cause: object = None) -> TimeveilError:
    """The broker cannot be reached, which is tried again."""
    if isinstance(cause, TimeveilError):
        return cause
    message = "the broker cannot be reached, or ended the connection"
    return EngineError(message, hint="check that it is running, and its address", code=AWAY)


def refused() -> TimeveilError:
    """The broker does not let us in, which waiting does not change."""
    hint = f"check the user, and the password in its variable: {_VARIABLES}"
    return EngineError("the broker does not let the user in", hint=hint, code="no-permission")


def absent(what: str) -> TimeveilError:
    """The broker has nothing of the name in the address."""
    hint = "create it first, or check the address"
    return EngineError(f"the broker has no {what} of the name in the address", hint=hint, code="file-missing")


def expired() -> TimeveilError:
    """Messages that were not read are gone."""
    message = "the broker removed messages that were not read yet"
    hint = "let it keep messages longer; to go on without them, start a new stream with a new {state} file"
    return EngineError(message, hint=hint, code="records-lost")


class MessageSink:
    """Publishes each slot as one message: JSON with its stream, its name, its manifest and its tables."""

    most = 256  # slots that are verified together, and marked once all are sent

    def __init__(self, address: str, *, several: bool) -> None:
        self._address, self._several = address, several
        self._last: dict[str, Sent] = {}  # what was sent by this process, which need not be asked for

    @cached_property
    def outlet(self) -> Outlet:
        """The connection, made when it is first needed."""
        outlet: Outlet = open_port(self._address, "Slots")
        return outlet

    def close(self) -> None:
        if "outlet" in vars(self):
            vars(self).pop("outlet").close()

    def tidy(self) -> None:
        """Nothing unfinished is ever left in a broker."""

    def refuse_any(self) -> None:
        """Refuse a sink with slots in it, before a state file is made for it."""
        if not self._several and self.outlet.last(SINGLE) is not None:
            raise self._foreign()

    def refuse_foreign(self, record: StreamRecord, pending: list[Pending]) -> None:
        """Refuse slots of another state file: the last is of this one, or among the next, not yet marked."""
        last = self.outlet.last(self._named(record.name))
        if last is None or last.slot in (folder_name(slot.label) for slot in pending):
            return
        if record.last_published is None or last[:2] != (folder_name(record.last_published), record.digest):
            raise self._foreign()

    def publish(
        self, pending: list[Pending], releases: list[Release], step: Callable[[], None]
    ) -> tuple[int, str]:
        """Send slots that are not there; how many are new, and the digest of the last message."""
        stream = self._named(pending[0].name)
        names = [folder_name(slot.label) for slot in pending]
        # Nothing is published before it is verified; slots together cost a fraction of one after another.
        whole = joined(stream, releases)
        tables = {name: decode_dictionaries(table.combine_chunks()) for name, table in whole.tables.items()}
        if not verify(replace(whole, parts=tables)):
            hint = "please report it; nothing was published"
            raise BundleError("a slot does not keep its promise", hint=hint, code="not-verified")
        payloads = self._messages(stream, pending, releases, tables)
        digests = [hashlib.sha256(payload).hexdigest() for payload in payloads]
        slots = list(zip(map(Sent, names, digests), payloads, strict=True))
        last = self._last.pop(stream, None) or self.outlet.last(stream)
        found = names.index(last.slot) + 1 if last is not None and last.slot in names else 0
        if found and last is not None and last.digest != digests[found - 1]:
            raise self._foreign()
        number, many = found, 1
        while number < len(pending):
            part = slots[number : number + many]
            places = self.outlet.send(stream, part, last)
            for (sent, _), place in zip(part, places, strict=False):
                last, number = sent._replace(at=place), number + 1
                step()
            # As long as nothing comes between, ever more are on their way at a time.
            many = 4 * many if len(places) == len(part) else 1
        if last is not None:
            self._last[stream] = last
        return len(pending) - found, digests[-1]

    def _messages(
        self, stream: str, pending: list[Pending], releases: list[Release], tables: Mapping[str, pa.Table]
    ) -> list[bytes]:
        """Slots as messages, each the same bytes for the same slot; `tables` has the rows of all."""
        parts = []
        for name in sorted(tables):
            rows = rows_as_json(tables[name], [release.tables[name].num_rows for release in releases])
            parts.append([b'"%s": %s' % (name.encode(), text) for text in rows])
        messages = list[bytes]()
        for slot, release, *texts in zip(pending, releases, *parts, strict=True):
            content = {"stream": stream, "slot": slot.label, "release": dict(release.manifest)}
            head = json.dumps(content, default=str, ensure_ascii=False, sort_keys=True).encode()
            messages.append(b'%s, "tables": {%s}}' % (head[:-1], b", ".join(texts)))
        return messages

    def _named(self, stream: str) -> str:
        return stream_folder(stream) if self._several else SINGLE

    def _foreign(self) -> BundleError:
        message = "the last slot that the broker has was not published with this state file"
        hint = "name the {state} file of those slots, or another {out}"
        return BundleError(message, hint=hint, code="slot-differs")


def rows_as_json(table: pa.Table, counts: Sequence[int]) -> list[bytes]:
    """Rows, so many at a time, as the text of a JSON array of objects with sorted keys."""
    if not table.num_rows:
        return [b"[]"] * len(counts)
    pieces, names = list[pa.Array](), sorted(table.column_names)
    for name in names:
        column = table.column(name).combine_chunks()
        is_coded = is_text(column.type) or pa.types.is_integer(column.type)  # each value is written once
        values = (column := column.dictionary_encode()).dictionary if is_coded else column
        begin = f"{', ' if pieces else '{'}{json.dumps(name, ensure_ascii=False)}: "
        end = "}, " if name == names[-1] else ""
        cells = [json.dumps(value, default=str, ensure_ascii=False) for value in values.to_pylist()]
        texts = pa.array([f"{begin}{cell}{end}" for cell in (*cells, "null")], pa.string())
        pieces.append(texts.take(column.indices.fill_null(len(values))) if is_coded else texts[:-1])
    _, ends, letters = pc.binary_join_element_wise(*pieces, "").buffers()
    bounds = np.frombuffer(ends, np.int32)[np.cumsum([0, *counts])].tolist()
    # Without what parts the last row from the next.
    return [b"[%s]" % letters[begin : max(end - 2, begin)].to_pybytes() for begin, end in pairwise(bounds)]
