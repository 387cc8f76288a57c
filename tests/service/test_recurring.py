"""People who come back to a stream in service: killed and started again, it publishes what one call gives."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
from tests.service.inboxes import day
from tests.service.processes import Nursery, nursery

import timeveil as tv

OPTIONS = "--time day --respondent who --quasi age --sensitive ill --l 2 --window 2 --seed 7 --allow-loss"
ROLES = tv.Roles(time="day", respondent="who", quasi=["age"], sensitive=["ill"])


@pytest.fixture(scope="module")
def run() -> Iterator[Nursery]:
    with nursery() as children:
        yield children


def inbox(root: Path) -> pa.Table:
    """Eight days of some of thirty people, most of whom keep their value."""
    (root / "in").mkdir(parents=True)
    rng, rows = random.Random(3), []  # noqa: S311
    for number in range(8):
        for who in rng.sample(range(30), 12):
            ill = rng.choice("abcde") if rng.random() < 0.2 else "abcde"[who % 5]
            rows.append({"day": day(number), "who": f"person {who}", "age": f"{20 + who}", "ill": ill})
    table = pa.Table.from_pylist(rows)
    for number in range(8):
        part = table.filter(pa.compute.equal(table["day"], day(number)))
        pyarrow.csv.write_csv(part, root / "in" / f"{day(number)}.csv")
    return table.set_column(0, "day", table["day"].cast(pa.date32()))


@pytest.mark.parametrize("recurring", ["withhold", "invariant"])
def test_killed_again_and_again(run: Nursery, tmp_path: Path, recurring: str) -> None:
    table = inbox(tmp_path)
    line = f"publish-stream {tmp_path}/in --state {tmp_path}/s.db --out {tmp_path}/out {OPTIONS}"
    line += f" --recurring {recurring} --close"
    rng, kills = random.Random(1), 0  # noqa: S311
    for _ in range(200):
        code = run(line, tmp_path / "said", crash_at=rng.randint(2, 9))
        if code != -signal.SIGKILL:
            break
        kills += 1
    assert code == 0, (tmp_path / "said").read_text()
    assert kills > 5
    release, ledger = tv.publish_stream(
        table, ROLES, l=2, window=2, seed=7, allow_loss=True, recurring=recurring
    )
    assert ledger.facts["returned" if recurring == "invariant" else "repeats"] > 20
    folders = sorted((tmp_path / "out" / "slots").iterdir())
    slots = [tv.open_release(folder) for folder in folders]
    assert all(map(tv.verify, slots))
    together = tv.open_release(tmp_path / "out")
    assert tv.verify(together, ledger)
    assert together.manifest["counts"] == release.manifest["counts"]
    for name in ("data", "sensitive"):
        parts = [slot.tables[name] for slot in slots]
        assert pa.concat_tables(parts).to_pylist() == release.tables[name].to_pylist()
