"""A stream behind a broker is killed and started again: a consumer sees every slot once, and none changed.

`make test` kills a few times, `python -m tests.service.broker_kills nats --kills 100` as often as asked.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.service.brokers import KINDS, broker
from tests.service.feeds import OPTIONS, line, published, rows_for
from tests.service.inboxes import Row
from tests.service.processes import Nursery, nursery

from timeveil.service import status

DAYS = 4
POISON = b'{"day": "2024-01-02"'


class Killed:
    """A stream from a broker to the same broker, with a bad record in the middle."""

    def __init__(self, kind: str, root: Path, rows: list[Row]) -> None:
        root.mkdir(parents=True)
        self.root, self.rows, self.said = root, rows, root / "said"
        self.place = broker(kind).new()
        payloads = [line(row) for row in rows]
        if kind != "postgres":  # a row is always a record
            payloads.insert(len(payloads) // 2, POISON)
        self.bad = len(payloads) - len(rows)
        self.place.put(*payloads)
        out = f"--state {root}/s.db --out {self.place.sink}"
        self.command = f"publish-stream {self.place.source} {out} {OPTIONS} --close"

    def run(self, children: Nursery, **moment: Any) -> bool:
        """Start it; whether it was killed. It exits with 2 where a record was bad."""
        code = children(self.command, self.said, **moment)
        assert code in (0, 2, -signal.SIGKILL), self.said.read_text()
        return code == -signal.SIGKILL

    def check(self) -> None:
        """Every slot once, none changed, the bad record in quarantine once, and nothing left over."""
        expected = published(self.rows, allow_loss=True)
        slots = self.place.slots()
        names = [slot["slot"] for slot in slots]
        assert names == sorted(set(names)), names
        for name, table in expected.items():
            rows = [row for slot in slots for row in slot["tables"][name]]
            assert rows == table.to_pylist(), name
        facts = status(self.root / "s.db")
        assert facts.feed is not None
        assert (facts.closed, facts.slots_to_write, facts.feed["held"]) == (True, 0, 0)
        assert facts.feed["records"] == len(self.rows) + self.bad
        folder = self.root / "s.db.quarantine"
        assert (
            len(list(folder.glob("*.json")) if folder.is_dir() else []) == self.bad == facts.feed["rejected"]
        )


def campaign(kind: str, kills: int, seed: int, root: Path, children: Nursery, *, report: bool = False) -> int:
    """Kill at steps and at random moments until there were so many kills; how many streams that took."""
    rng, done, streams = random.Random(seed), 0, 0  # noqa: S311
    undisturbed = Killed(kind, root / "undisturbed", rows_for(DAYS))
    assert not undisturbed.run(children)
    undisturbed.check()
    seconds = children.seconds
    while done < kills and streams < 4 * kills:
        streams += 1
        stream = Killed(kind, root / str(streams), rows_for(DAYS, seed=rng.randrange(1000)))
        for _ in range(min(rng.randint(1, 8), kills - done)):
            at_step = rng.random() < 0.7
            moment = {"crash_at": rng.randint(1, 25)} if at_step else {"kill_after": rng.uniform(0, seconds)}
            if not stream.run(children, **moment):
                break
            done += 1
        assert not stream.run(children)
        stream.check()
        if report:
            sys.stdout.write(f"{kind}: {done} kills in {streams} streams, nothing lost, nothing twice\n")
            sys.stdout.flush()
    return done


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, nursery() as children:
        done = campaign(options.kind, options.kills, options.seed, Path(folder), children, report=True)
    sys.stdout.write(f"{options.kind}: done, {done} kills\n")


if __name__ == "__main__":
    main()
