"""A stream in service is killed at any moment and started again: nothing is lost, and nothing comes twice."""

from __future__ import annotations

import datetime as dt
import random
import signal
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import timeveil as tv
from tests.redteam.recounts import rows_of
from tests.redteam.trial import Counted, Trial, must
from tests.service.inboxes import Row, day, text, tree
from timeveil.service import status

MOST_KILLS = 12
L = 2


def attack(trial: Trial) -> Counted:
    """One stream, killed up to some number of times, and the same stream undisturbed."""
    chance, run = trial.chance, trial.run
    rows, window = _rows(chance), chance.randint(1, 3)
    by = "--stream-by site" if chance.random() < 0.5 else "--drop site"
    options = f"--time day --quasi age --sensitive ill --l {L} --window {window} --seed 7 {by} --close"
    lines = {}
    for name in ("undisturbed", "killed"):
        root = trial.folder / name
        (root / "in").mkdir(parents=True)
        for at in sorted({row[0] for row in rows}):
            (root / "in" / f"{at}.csv").write_text(text([row for row in rows if row[0] == at]))
        lines[name] = f"publish-stream {root}/in --state {root}/s.db --out {root}/out {options}"
    must(run(lines["undisturbed"], trial.folder / "said") == 0, "an undisturbed stream does not end well")
    seconds, kills, code = run.seconds, 0, -signal.SIGKILL
    for _ in range(chance.randint(1, MOST_KILLS)):
        moment: dict[str, Any] = {"crash_at": chance.randint(1, 30)}
        if chance.random() < 0.5:
            moment = {"kill_after": chance.uniform(0, seconds)}
        code = run(lines["killed"], trial.folder / "said", **moment)
        kills += code == -signal.SIGKILL
        must(code in (0, -signal.SIGKILL), f"a stream that was killed starts again with exit code {code}")
    if code:
        must(run(lines["killed"], trial.folder / "said") == 0, "a stream that was killed does not end well")
    root = trial.folder / "killed"
    _recount(root, rows, window)
    must(tree(root / "out") == tree(trial.folder / "undisturbed" / "out"), "other slots than undisturbed")
    return {"kills": kills}


def _rows(chance: random.Random) -> list[Row]:
    """Records of a few days, each known by its number in the column of ages."""
    days = [number for number in range(chance.randint(2, 5)) for _ in range(chance.randint(3, 9))]
    ages = chance.sample(range(1000), len(days))
    return [
        (day(number), str(age), chance.choice("aabcde"), chance.choice(["north", "south/2"]))
        for number, age in zip(days, ages, strict=True)
    ]


def _recount(root: Path, rows: list[Row], window: int) -> None:
    """Every record is published once, in its slot or a later one of its window, or said to be withheld."""
    known = {age: (dt.date.fromisoformat(at), ill) for at, age, ill, _ in rows}
    seen: Counter[str] = Counter()
    for folder in sorted(path.parent for path in (root / "out").rglob("release.json")):
        must(tv.verify(folder), "a slot does not verify")
        true: dict[int, Counter[str]] = defaultdict(Counter)
        for row in rows_of(folder):
            origin, ill = known[row["age"]]
            moved = (dt.date.fromisoformat(row["slot"]) - origin).days
            must(0 <= moved < window, f"a record was moved by {moved} slots in a window of {window}")
            seen[row["age"]] += 1
            true[row["bucket"]][ill] += 1
        shown: dict[int, Counter[str]] = defaultdict(Counter)
        for row in rows_of(folder, "sensitive"):
            shown[row["bucket"]][row["ill"]] += row["count"]
        must(shown == true, "the values of a bucket are not those of its people")
        diverse = all(max(values.values()) * L <= values.total() for values in shown.values())
        must(diverse, f"a bucket has more than 1 in {L} of a value")
    must(max(seen.values(), default=1) == 1, "a record was published twice")
    told = status(root / "s.db").as_dict()["streams"]
    read, withheld = (sum(one[name] for one in told) for name in ("rows_read", "withheld"))
    must((read, seen.total()) == (len(rows), len(rows) - withheld), "records are lost or counted twice")
