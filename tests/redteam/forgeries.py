"""One small change of a release: it is refused, or as true as before, or undone by `--rewrite`."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import timeveil as tv
from tests.redteam.tables import MODELS, Published
from tests.redteam.trial import Counted, Trial, must
from tests.sabotage import patterns, series, stream_groups, streams, time_tables  # noqa: F401
from tests.sabotage.folders import forged, restated
from tests.sabotage.tampering import CATALOGUE, counts, in_order, lines, with_lines
from tests.sabotage.test_hidden_channels import BYTES, SECRET, contents, resealed
from tests.sabotage.valid import SEEDS, SHAPES, shapes

Keys = tuple[Any, ...]
MOST_DRAWS = 10
"""How often a change is drawn that leaves the rows as they are."""


def attack(trial: Trial) -> Counted:
    """One forgery of one release; none where the release has no room for it."""
    kind = trial.chance.choice([*FORGERIES])
    return {kind: 1} if FORGERIES[kind](trial) else {}


def _catalogue(trial: Trial) -> bool:
    """An entry of the catalogue done to a release that nobody has seen before."""
    chance = trial.chance
    one = chance.choice(CATALOGUE)
    try:
        made = SHAPES[chance.choice(shapes(one.on))](chance, chance.choice(SEEDS))
    except (tv.InfeasibleError, tv.InputError, tv.ParameterError):
        return False
    spoilt = one.do(*made, chance)
    if spoilt is None:
        return False
    what = f"{one.on}: {one.what}"
    outside, inside = _accepts(spoilt.release, None), _accepts(spoilt.release, spoilt.ledger)
    if one.notices == "nobody":
        must(outside and inside, f"what nobody can notice is refused ({what})")
    else:
        must(not inside, f"the custodian does not notice it ({what})")
        must(not outside or one.notices == "custodian", f"the recipient does not notice it ({what})")
    return True


def _cells(trial: Trial) -> bool:
    """A row moved, copied or left out, or a cell changed, in a folder that has all hashes right."""
    chance, made = trial.chance, _published(trial.chance)
    if made is None:
        return False
    table = chance.choice([*made.release.tables])
    rows = lines(made.release, table)
    if not rows:
        return False
    change = chance.choice([_moved, _exchanged, _twice, _left_out])
    before, number = sorted(map(repr, rows)), len(rows)
    for _ in range(MOST_DRAWS):
        change(rows, chance)
        if sorted(map(repr, rows)) != before:
            break
    else:
        return False
    release = with_lines(made.release, rows, table)
    if table == "data" and chance.random() < 0.5 and "rows" in release.manifest["counts"]:
        release = counts(release, rows=len(rows) - number)
    if release.manifest["model"] != "patterns":
        release = in_order(release, table)
    folder = forged(release, trial.folder / "forged")
    if _accepts(folder, made.ledger):
        made.recount(folder)  # it may be another release of the same people that is as true
    return True


def _moved(rows: list[Any], chance: random.Random) -> None:
    row, column = chance.randrange(len(rows)), chance.choice([*rows[0]])
    value = chance.choice(rows)[column]
    if isinstance(value, int | float) and chance.random() < 0.5:
        value += chance.choice([1, -1])
    rows[row] = {**rows[row], column: value}


def _exchanged(rows: list[Any], chance: random.Random) -> None:
    (one, other), column = (chance.randrange(len(rows)) for _ in range(2)), chance.choice([*rows[0]])
    values = rows[one][column], rows[other][column]
    rows[one], rows[other] = {**rows[one], column: values[1]}, {**rows[other], column: values[0]}


def _twice(rows: list[Any], chance: random.Random) -> None:
    rows.append(dict(chance.choice(rows)))


def _left_out(rows: list[Any], chance: random.Random) -> None:
    rows.pop(chance.randrange(len(rows)))


def _manifest(trial: Trial) -> bool:
    """A number of the manifest, or the name of a column in manifest and table, told otherwise."""
    chance, made = trial.chance, _published(trial.chance)
    if made is None:
        return False
    folder = tv.write(made.release, trial.folder / "out")
    told = json.loads((folder / "release.json").read_bytes())
    numbers = [path for path in _leaves(told) if path[0] != "tables"]
    path = chance.choice(numbers)

    def change(manifest: dict[str, Any]) -> None:
        inner: Any = manifest
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] += chance.choice([1, -1, 7])

    restated(folder, change)
    where = ".".join(map(str, path))
    must(not _accepts(folder, made.ledger), f"another number passes at {where} of the manifest")
    return True


def _leaves(value: Any, path: Keys = ()) -> list[Keys]:
    """Where a manifest has a number."""
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        return [below for key, item in inner for below in _leaves(item, (*path, key))]
    return [path] if isinstance(value, int | float) and not isinstance(value, bool) else []


def _renamed(trial: Trial) -> bool:
    """A column has another name, in table and manifest alike."""
    chance, made = trial.chance, _published(trial.chance)
    if made is None:
        return False
    release = made.release
    old = chance.choice(release.table.column_names)
    new = chance.choice([old + "2", old.upper() + "_", old + "\u200b"])
    named = [new if name == old else name for name in release.table.column_names]
    told = [{**one, "name": new} if one["name"] == old else one for one in release.manifest["columns"]]
    manifest = {**release.manifest, "columns": told}
    tables = {**release.tables, "data": release.table.rename_columns(named)}
    folder = forged(tv.Release(release.guarantee, manifest, tables), trial.folder / "forged")
    must(not _accepts(folder, made.ledger), "a renamed column passes")
    return True


def _hidden(trial: Trial) -> bool:
    """Bytes that no cell shows: a clean copy is without them."""
    chance, made = trial.chance, _published(trial.chance)
    if made is None:
        return False
    honest = tv.write(made.release, trial.folder / "out")
    folder = shutil.copytree(honest, trial.folder / "forged")
    channel = chance.choice(["README.txt", *BYTES])
    if channel == "README.txt":
        (folder / channel).write_bytes(SECRET)
    else:
        BYTES[channel](folder / f"{chance.choice([*made.release.tables])}.parquet")
    resealed(folder)
    try:
        verdict = tv.verify(folder, rewrite=trial.folder / "clean")
    except tv.TimeveilError:
        return True
    if verdict:
        must(contents(trial.folder / "clean") == contents(honest), f"a clean copy has {channel}")
    return True


def _published(chance: random.Random) -> Published | None:
    try:
        return MODELS[chance.choice([*MODELS])](chance)
    except (tv.InfeasibleError, tv.InputError, tv.ParameterError):
        return None


def _accepts(release: tv.Release | Path, ledger: tv.Ledger | None) -> bool:
    try:
        return bool(tv.verify(release, ledger))
    except tv.TimeveilError:
        return False


FORGERIES: dict[str, Callable[[Trial], bool]] = {
    "catalogue": _catalogue, "cells": _cells, "manifest": _manifest, "names": _renamed, "hidden": _hidden,
}  # fmt: skip
