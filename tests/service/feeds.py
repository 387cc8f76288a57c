"""Feeds for the tests: the records of `inboxes` one by one, from memory or from a broker."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.service.inboxes import ROLES, Row, parameters, rows_of

import timeveil as tv
from timeveil.service.feed import FeedService
from timeveil.service.ports import Batch
from timeveil.service.status import Tally

OPTIONS = "--time day --quasi age --sensitive ill --drop-rest --l 2 --window 3 --seed 7"
NAMES = ("day", "age", "ill", "site")


def rows_for(days: int, seed: int = 0) -> list[Row]:
    rng = random.Random(seed)  # noqa: S311
    return [row for number in range(days) for row in rows_of(number, rng)]


def line(row: Row) -> bytes:
    return json.dumps(dict(zip(NAMES, row, strict=True))).encode()


class Memory:
    """A source of payloads in memory; a position is how many were read. `cuts` are where batches end."""

    def __init__(self, payloads: list[bytes], cuts: set[int] | None = None) -> None:
        self.payloads, self._cuts = payloads, cuts or set()
        self.failures: list[Exception] = []

    def fetch(self, position: Any, wait: float) -> Batch:
        if self.failures:
            raise self.failures.pop()
        start = position or 0
        end = min((cut for cut in self._cuts if cut > start), default=len(self.payloads))
        return Batch(
            self.payloads[start:end], [str(n) for n in range(start, end)], end, len(self.payloads) - end
        )

    def close(self) -> None: ...


class Feed:
    """A folder with a state file and a folder to publish in, and a source."""

    def __init__(self, root: Path, source: Any, **options: Any) -> None:
        root.mkdir(exist_ok=True)
        self.root, self.source, self.state, self.out = root, source, root / "s.db", root / "out"
        self.close_after, self.max_gap = options.pop("close_after", 0), options.pop("max_gap", None)
        self.parameters = parameters(**options)
        self.said: list[str] = []

    def service(self) -> FeedService:
        return FeedService(
            *(self.source, "nats://host/s/t", self.out, self.state, self.parameters),
            seed=7,
            say=self.said.append,
            close_after=self.close_after,
            max_gap=self.max_gap,
        )

    def run(self, *, close: bool = False) -> Tally:
        with self.service() as service:
            service.run()
            return service.close_streams() if close else service.tally

    def tables(self) -> dict[str, pa.Table]:
        return tv.open_release(self.out).tables

    def quarantine(self) -> dict[str, str]:
        """The code of each record that was put aside."""
        folder = self.root / "s.db.quarantine"
        reasons = folder.glob("*.reason.txt") if folder.is_dir() else ()
        return {
            path.name.removesuffix(".reason.txt"): path.read_text().split("code: ")[1].strip()
            for path in reasons
        }


def published(rows: list[Row], **options: Any) -> dict[str, pa.Table]:
    """What `publish_stream` makes of the same records."""
    columns = dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))
    return tv.publish_stream(pa.table(columns), ROLES, l=2, window=3, seed=7, **options)[0].tables
