"""Small files with large claims: a process that reads one stays small, and ends in an error of ours."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import timeveil as tv
from tests.redteam.trial import Counted, Trial, must
from tests.sabotage.folders import restated
from tests.sabotage.valid import made

MOST_MEMORY = 500_000_000
MOST_BYTES = 10_000_000
ENDS = (1, 2)
"""Exit codes of a promise that does not hold, and of a file that cannot be read."""
MODELS = ("time", "stream, buckets", "series, adaptive", "patterns, baskets, additive, closed")


def attack(trial: Trial) -> Counted:
    """One file of an honest folder becomes a bomb."""
    chance = trial.chance
    folder = tv.write(made(chance.choice(MODELS), 0)[0], trial.folder / "out")
    kind = chance.choice([*BOMBS])
    BOMBS[kind](folder, chance)
    used = sum(file.stat().st_blocks * 512 for file in folder.iterdir())
    must(used < MOST_BYTES, f"{kind}: the bomb itself is not small")
    commands = [f"verify {folder}", f"verify {folder} --rewrite {trial.folder}/clean",
                f"report {folder} --out {trial.folder}/page.html"]  # fmt: skip
    line = chance.choice(commands)
    code, command = trial.run(line, trial.folder / "said"), line.split()[0]
    must(trial.run.peak < MOST_MEMORY, f"{kind}: `{command}` takes {trial.run.peak / 1e6:,.0f} MB")
    must(code in ENDS or (code == 0 and kind == "letter"), f"{kind}: `{command}` ends with {code}")
    return {kind: 1}


def _repeated(folder: Path, chance: random.Random) -> None:
    """A table that packs well: few values in very many rows, of the right hash."""
    path = chance.choice(sorted(folder.glob("*.parquet")))
    rows = chance.choice([300_000, 1_000_000, 3_000_000])
    zeros = np.zeros(rows, np.int32)
    columns: dict[str, Any] = {}
    for field in pq.read_schema(path):
        column: Any = pa.array(zeros)
        if pa.types.is_string(field.type):
            text = "x" * chance.choice([1, 100, 1000])
            column = pa.DictionaryArray.from_arrays(zeros, pa.array([text]))
        elif pa.types.is_list(field.type):
            column = pa.nulls(rows, field.type)
        else:
            column = column.cast(field.type)
        columns[field.name] = column
    pq.write_table(pa.table(columns), path, compression="zstd", store_schema=False)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    restated(folder, lambda told: told["tables"][path.stem].update(sha256=digest, rows=rows))


def _claimed_rows(folder: Path, chance: random.Random) -> None:
    """The manifest claims what the table does not have."""
    rows = chance.choice([2**31, 2**63, 10**400])

    def claim(told: dict[str, Any]) -> None:
        told["tables"]["data"]["rows"] = rows
        for name in told["counts"]:
            told["counts"][name] = rows

    restated(folder, claim)


def _sparse_letter(folder: Path, chance: random.Random) -> None:
    """README.txt of 2 GB or more, none of it on the disk."""
    with (folder / "README.txt").open("ab") as file:
        file.truncate(chance.choice([2**31, 2**33]))


def _sparse_manifest(folder: Path, chance: random.Random) -> None:
    with (folder / "release.json").open("ab") as file:
        file.truncate(chance.choice([2**31, 2**33]))


def _sparse_table(folder: Path, chance: random.Random) -> None:
    """A hole before the footer, or after it."""
    path = folder / "data.parquet"
    content = path.read_bytes()
    with path.open("wb") as file:
        file.truncate(2**30)
        if chance.random() < 0.5:
            file.seek(0, 2)
            file.write(content)


def _nested(folder: Path, chance: random.Random) -> None:
    """Lists in lists in lists, or very many of something, in the manifest."""
    told = json.loads((folder / "release.json").read_bytes())
    if chance.random() < 0.5:
        depth = chance.choice([60, 100_000])
        text = json.dumps(told).replace('"format": 1', f'"format": {"[" * depth}1{"]" * depth}')
    else:
        told["columns"] = told["columns"] * chance.choice([1000, 30_000])
        text = json.dumps(told, indent=2)
    (folder / "release.json").write_text(text[: MOST_BYTES // 2])


BOMBS: dict[str, Callable[[Path, random.Random], None]] = {
    "repeated cells": _repeated,
    "claimed rows": _claimed_rows,
    "letter": _sparse_letter,
    "manifest": _sparse_manifest,
    "table": _sparse_table,
    "nested": _nested,
}
