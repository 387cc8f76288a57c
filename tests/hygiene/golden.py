"""The same input, parameters and seed give the same bytes: what they are is kept in `golden.json`.

If a method changes on purpose, `python -m tests.hygiene.golden` writes the hashes anew. Files of text are the
same everywhere; Parquet files also depend on the version of pyarrow that wrote them, kept beside them.
The tables are worked out from row numbers, so that no generator of random numbers has a say in them.
"""

from __future__ import annotations

import datetime as dt
import json
import tempfile
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa

import timeveil as tv

PLACE = Path(__file__).with_name("golden.json")
Method = Callable[[], tuple[tv.Release, tv.Ledger]]


def mixed(number: int, salt: int, size: int) -> int:
    """A number below `size` that looks like chance and is the same on every machine."""
    return int.from_bytes(sha256(f"{salt}:{number}".encode()).digest()[:6], "big") % size


def visits() -> pa.Table:
    start = dt.datetime(2024, 1, 1)
    return pa.table(
        {
            "who": [f"p{mixed(row, 1, 60)}" for row in range(400)],
            "when": [start + dt.timedelta(minutes=mixed(row, 2, 60 * 24 * 60)) for row in range(400)],
            "zip": [f"0{mixed(row, 3, 4)}" for row in range(400)],
            "result": ["high" if mixed(row, 4, 3) == 0 else "=low" for row in range(400)],
        }
    )


def cases() -> pa.Table:
    return pa.table(
        {
            "day": [dt.date(2024, 1, 1) + dt.timedelta(days=row // 15) for row in range(450)],
            "age": [20 + mixed(row, 5, 60) for row in range(450)],
            "ill": [f"v{mixed(row, 6, 6) if mixed(row, 7, 2) else row // 150}" for row in range(450)],
        }
    )


def curves() -> pa.Table:
    columns = {f"t{at}": [mixed(row, 10 + at, 100_000) / 7 for row in range(90)] for at in range(6)}
    return pa.table({**columns, "tariff": [f"t{mixed(row, 8, 3)}" for row in range(90)]})


def baskets() -> pa.Table:
    bought = [(who, item) for who in range(120) for item in "abcdef" if mixed(who * 7 + ord(item), 9, 5) < 2]
    return pa.table({"who": [who for who, _ in bought], "item": [item for _, item in bought]})


EVENTS = tv.Roles(respondent="who", time="when", quasi=["zip"], sensitive=["result"])
DAILY = tv.Roles(time="day", quasi=["age"], sensitive=["ill"])
WIDE = tv.Roles(series=[f"t{at}" for at in range(6)], keep=["tariff"])
BOUGHT = tv.Roles(respondent="who", item="item")


def stream(seed: int, **options: Any) -> Method:
    return lambda: tv.publish_stream(cases(), DAILY, l=3, window=4, seed=seed, allow_loss=True, **options)


RELEASES: Mapping[str, Method] = {
    "time": lambda: tv.generalize_time(visits(), EVENTS, k=3, suppress=0.05),
    "time in DuckDB": lambda: tv.generalize_time(visits(), EVENTS, k=3, suppress=0.05, engine="duckdb"),
    "stream": stream(1),
    "stream of another seed": stream(2),
    "stream with jitter": stream(1, jitter=1),
    "stream in closed packets": stream(1, protect_slot=2),
    "series": lambda: tv.anonymize_series(curves(), WIDE, k=5, p=3),
    "series by kapra": lambda: tv.anonymize_series(curves(), WIDE, k=5, p=3, method="kapra"),
    "patterns": lambda: tv.sanitize_patterns(baskets(), BOUGHT, k=4, min_support=8),
    "patterns, tight": lambda: tv.sanitize_patterns(baskets(), BOUGHT, k=4, min_support=8, method="tight"),
}


def hashes(name: str, folder: Path) -> dict[str, dict[str, str]]:
    """Of a release, the digests of its tables in both formats."""
    release, _ = RELEASES[name]()
    written = {form: tv.write(release, folder / f"{name}.{form}", format=form) for form in ("csv", "parquet")}
    return {
        form: {
            path.stem: sha256(path.read_bytes()).hexdigest()
            for path in sorted(written[form].glob(f"*.{form}"))
        }
        for form in written
    }


def regenerate() -> None:
    """Keep the bytes of today."""
    with tempfile.TemporaryDirectory() as folder:
        found = {name: hashes(name, Path(folder)) for name in RELEASES}
    PLACE.write_text(json.dumps({"pyarrow": pa.__version__, "releases": found}, indent=1) + "\n")


if __name__ == "__main__":
    regenerate()
