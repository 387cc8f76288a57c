"""Many records through NATS JetStream: CPU and memory of the service, beside `push` alone on the same slots.

`python -m tests.service.broker_load --records 1000000 --slot 1000`; what is published is that of
`publish_stream` on the same records.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.service.brokers import Nats, binary

import timeveil as tv

ILL = ("flu", "cold", "mumps", "asthma", "measles", "gout")
WEIGHTS = (30, 25, 15, 12, 10, 8)
ROLES = tv.Roles(time="at", quasi=["age"], sensitive=["ill"])
OPTIONS: dict[str, Any] = {"l": 3, "window": 7, "slot": "minute", "seed": 7}
WORDS = "--time at --quasi age --sensitive ill --l 3 --window 7 --slot minute --seed 7"
START = 1_704_067_200


def records(count: int, slot: int) -> Iterator[tuple[int, int, str]]:
    """Second, age and illness, so many in each minute."""
    rng = random.Random(1)  # noqa: S311
    for number in range(count):
        second = START + number // slot * 60 + number % slot * 60 // slot
        yield second, rng.randint(0, 99), rng.choices(ILL, WEIGHTS)[0]


def put(place: Any, count: int, slot: int) -> None:
    """Messages in JetStream, each waited for by the thousand."""
    lines = (
        json.dumps(
            {"at": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)), "age": age, "ill": ill}
        ).encode()
        for at, age, ill in records(count, slot)
    )
    while part := list(islice(lines, 50_000)):
        place.put(*part)


def table(rows: list[tuple[int, int, str]]) -> pa.Table:
    at, age, ill = map(list, zip(*rows, strict=True))
    columns = {"at": pa.array(at, pa.timestamp("s")), "age": pa.array(map(str, age)), "ill": pa.array(ill)}
    return pa.table(columns)


def pushed(count: int, slot: int) -> tuple[float, float]:
    """CPU seconds of `push` alone, and the peak of memory so far in MiB."""
    rows, spent = records(count, slot), 0.0
    publisher = tv.StreamPublisher(ROLES, **OPTIONS)
    while part := list(islice(rows, slot)):
        arrived = table(part)
        begun = time.process_time()
        publisher.push(arrived)
        spent += time.process_time() - begun
    begun = time.process_time()
    publisher.close()
    return spent + time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def served(source: str, sink: str, root: Path) -> tuple[float, float, float]:
    """CPU seconds, peak of memory in MiB and seconds by the clock of the service, as a process of its own."""
    line = [binary("timeveil"), "publish-stream", source, "--state", f"{root}/s.db", "--out", sink]
    begun = time.monotonic()
    child = subprocess.Popen([*line, *WORDS.split(), "--close"], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise RuntimeError("the service failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, time.monotonic() - begun


def digest(tables: dict[str, list[dict[str, Any]]]) -> str:
    return hashlib.sha256(json.dumps(tables, sort_keys=True, default=str).encode()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--slot", type=int, default=1_000)
    parser.add_argument("--sink", choices=("nats", "folder"), default="nats")
    options = parser.parse_args()
    count, slot = options.records, options.slot
    write = sys.stdout.write
    seconds, _ = pushed(count, slot)
    write(f"push alone: {seconds:.1f} CPU s, {count / seconds:,.0f} records per CPU s\n")
    nats, load = Nats(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        place = nats.new()
        put(place, count, slot)
        write(f"{count:,} messages are there\n")
        sink = place.sink if options.sink == "nats" else f"{folder}/out"
        used, peak, clock = served(place.source, sink, Path(folder))
        write(
            f"service: {used:.1f} CPU s, {used / seconds:.1f} times push, {count / used:,.0f} a CPU second, "
            f"peak {peak:.0f} MiB, {clock:.0f} s, load {load:.1f}\n"
        )
        expected = tv.publish_stream(table(list(records(count, slot))), ROLES, **OPTIONS)[0].tables
        if options.sink == "nats":
            found: dict[str, list[dict[str, Any]]] = {name: [] for name in expected}
            for message in place.slots():
                for name, rows in message["tables"].items():
                    found[name] += rows
        else:
            found = {name: got.to_pylist() for name, got in tv.open_release(sink).tables.items()}
        same = digest(found) == digest({name: right.to_pylist() for name, right in expected.items()})
        write("published as by publish_stream\n" if same else "DIFFERS from publish_stream\n")
    nats.server.stop()
    sys.exit(not same)


if __name__ == "__main__":
    main()
