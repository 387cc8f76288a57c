"""A person, sensitive value or item in two spellings is refused, and folded where that is asked for."""

from __future__ import annotations

import datetime as dt
import random
import unicodedata
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa

import timeveil as tv
from tests.redteam.trial import Counted, Trial, must

Rows = list[dict[str, Any]]
Run = Callable[..., Any]
NAMES = ["josé b", "zoë c", "ana d", "ola é f", "kim 7"]
UNSEEN = "\u200b\u200d\ufe0f\u034f\u3164\u115f\u180b\U000e0100\u2800\u00ad\u2060\ufeff\u202e"
"""Letters that nobody sees; the blank of Braille is one too."""
BLANKS = " \t\u00a0\u2003\u3000"
REFUSALS = ("person-twice", "value-clash", "item-clash")


def attack(trial: Trial) -> Counted:
    """Some cells of one value are spelt otherwise."""
    model = trial.chance.choice([*MODELS])
    rows, columns, run = MODELS[model](trial.chance)
    column = trial.chance.choice(columns)
    often = [value for value, count in Counter(row[column] for row in rows).items() if count > 1]
    if not often:
        return {}
    value = trial.chance.choice(often)
    places = [number for number, row in enumerate(rows) if row[column] == value]
    other = _spelt(value, trial.chance)
    spelt = [dict(row) for row in rows]
    for place in trial.chance.sample(places, trial.chance.randint(1, len(places) - 1)):
        spelt[place][column] = other
    try:
        run(spelt, fold=False)
    except tv.TimeveilError as error:
        must(error.code in REFUSALS, f"{model}: two spellings in {column} end in `{error.code}`")
        must(value not in str(error) and other not in str(error), f"{model}: a value is in a message")
    else:
        must(False, f"{model}: two spellings in {column} count as two")
    must(run(spelt, fold=True) == run(rows, fold=True), f"{model}: folded, {column} gives another release")
    return {f"{model} {column}": 1}


def _spelt(text: str, chance: random.Random) -> str:
    """The same to read: blanks, letters nobody sees, composed or wide letters."""
    place = chance.randint(0, len(text))
    ways = [
        lambda: text[:place] + chance.choice(UNSEEN) + text[place:],
        lambda: text + chance.choice(BLANKS),
        lambda: chance.choice(BLANKS) + text,
        lambda: text.replace(" ", " " + chance.choice(BLANKS)),
        lambda: unicodedata.normalize("NFD", text),
        lambda: chr(ord(text[0]) + 0xFEE0) + text[1:],
    ]
    spelt = chance.choice(ways)()
    return spelt if spelt != text else text + " "


def _shown(release: tv.Release) -> dict[str, Any]:
    return {name: table.to_pylist() for name, table in release.tables.items()}


def _rows(chance: random.Random, number: int) -> Rows:
    people = [f"{name} {n}" for name in NAMES for n in range(4)]
    return [
        {
            "who": chance.choice(people),
            "at": dt.date(2024, 1, 1) + dt.timedelta(chance.randrange(3)),
            "ill": chance.choice(NAMES),
            "zip": chance.choice("12"),
        }
        for _ in range(number)
    ]


def _events(chance: random.Random) -> tuple[Rows, list[str], Run]:
    roles = tv.Roles(respondent="who", time="at", quasi=["zip"], sensitive=["ill"])

    def run(rows: Rows, *, fold: bool) -> Any:
        table = pa.Table.from_pylist(rows)
        return _shown(tv.generalize_time(table, roles, k=2, suppress=0.9, fold_spellings=fold)[0])

    return _rows(chance, 60), ["who", "ill"], run


def _stream(chance: random.Random) -> tuple[Rows, list[str], Run]:
    """In one table, or in a snapshot for each day: spellings collide across snapshots too."""
    roles = tv.Roles(respondent="who", time="at", quasi=["zip"], sensitive=["ill"])
    how: dict[str, Any] = {"l": 2, "window": 3, "seed": 7}
    pushed = chance.random() < 0.5

    def run(rows: Rows, *, fold: bool) -> Any:
        how["fold_spellings"] = fold
        if not pushed:
            return _shown(tv.publish_stream(pa.Table.from_pylist(rows), roles, allow_loss=True, **how)[0])
        publisher, slots = tv.StreamPublisher(roles, **how), []
        for day in sorted({row["at"] for row in rows}):
            slots += publisher.push(pa.Table.from_pylist([row for row in rows if row["at"] == day]))
        return [_shown(slot.release) for slot in (*slots, *publisher.close())]

    return _rows(chance, 40), ["who", "ill"], run


def _series(chance: random.Random) -> tuple[Rows, list[str], Run]:
    roles = tv.Roles(respondent="who", time="at", value="load", sensitive=["ill"])
    rows = []
    for n in range(15):
        who, ill = f"{chance.choice(NAMES)} {n}", chance.choice(NAMES)
        rows += [{"who": who, "at": at, "load": chance.gauss(0, 1), "ill": ill} for at in range(3)]

    def run(rows: Rows, *, fold: bool) -> Any:
        how: dict[str, Any] = {"k": 3, "p": 2, "effort": 0, "allow_loss": True, "fold_spellings": fold}
        return _shown(tv.anonymize_series(pa.Table.from_pylist(rows), roles, **how)[0])

    return rows, ["who", "ill"], run


def _patterns(chance: random.Random) -> tuple[Rows, list[str], Run]:
    roles = tv.Roles(respondent="who", item="ill")
    rows = [
        {"who": f"{NAMES[n % 5]} {n}", "ill": item}
        for n in range(20)
        for item in chance.sample(NAMES, chance.randint(2, 4))
    ]

    def run(rows: Rows, *, fold: bool) -> Any:
        how: dict[str, Any] = {"k": 2, "min_support": 3, "allow_loss": True, "fold_spellings": fold}
        return _shown(tv.sanitize_patterns(pa.Table.from_pylist(rows), roles, **how)[0])

    return rows, ["who", "ill"], run


MODELS: dict[str, Callable[[random.Random], tuple[Rows, list[str], Run]]] = {
    "events": _events, "stream": _stream, "series": _series, "patterns": _patterns,
}  # fmt: skip
