"""Inboxes for the tests: small snapshots whose values are uneven."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path
from typing import Any

from timeveil.domain.roles import Roles
from timeveil.service import Parameters, Service, Tally

HEAD = "day,age,ill,site\n"
ROLES = Roles(time="day", quasi=["age"], sensitive=["ill"], drop=["site"])
OPTIONS = "--time day --quasi age --sensitive ill --drop site --l 2 --window 3 --seed 7"
BY_SITE = "--time day --quasi age --sensitive ill --l 2 --window 3 --seed 7 --stream-by site"

Row = tuple[str, str, str, str]


def day(number: int) -> str:
    return (dt.date(2024, 1, 1) + dt.timedelta(number)).isoformat()


def rows_of(number: int, rng: random.Random) -> list[Row]:
    """A snapshot in which one value is too common, another one each day."""
    common = "abc"[number % 3]
    return [
        (day(number), str(rng.randint(20, 80)), common if rng.random() < 0.5 else rng.choice("abcde"), site)
        for site in rng.choices(("north", "south/2"), k=rng.randint(3, 9))
    ]


def text(rows: list[Row]) -> str:
    return HEAD + "".join(",".join(row) + "\n" for row in rows)


def fill(inbox: Path, days: int, seed: int = 0) -> list[Row]:
    """One file a day; all rows."""
    rng, everything = random.Random(seed), []  # noqa: S311
    inbox.mkdir(exist_ok=True)
    for number in range(days):
        rows = rows_of(number, rng)
        (inbox / f"{day(number)}.csv").write_text(text(rows))
        everything += rows
    return everything


def parameters(**options: Any) -> Parameters:
    by = options.pop("stream_by", None)
    form = options.pop("format", "parquet")
    roles = options.pop("roles", ROLES if by is None else Roles(time="day", quasi=["age"], sensitive=["ill"]))
    return Parameters(roles, {"l": 2, "window": 3, **options}, by, form)


class Place:
    """A folder with an inbox, a state file and a folder to publish in."""

    def __init__(self, root: Path, **options: Any) -> None:
        root.mkdir(exist_ok=True)
        self.root, self.inbox, self.out, self.state = root, root / "in", root / "out", root / "s.db"
        self.inbox.mkdir(exist_ok=True)
        self.parameters = parameters(**options)
        self.said: list[str] = []

    def service(self, seed: int | None = 7) -> Service:
        self.said = []
        return Service(self.inbox, self.out, self.state, self.parameters, seed=seed, say=self.said.append)

    def run(self, *, close: bool = False) -> Tally:
        with self.service() as service:
            service.run()
            return service.close_streams() if close else service.tally

    def slots(self) -> list[str]:
        return sorted(path.name for path in (self.out / "slots").iterdir())


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too, and every empty folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
        if path.is_file() or not any(path.iterdir())
    }
