"""Groups that are held back at random, so that a missing group need not have broken a promise."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import timeveil as tv
from timeveil.report import explain

ROLES = tv.Roles(respondent="who", time="day", quasi=["zip"], sensitive=["ill"])
HOW: dict[str, Any] = {"k": 3, "protect": {"ill": "at-most:1/2"}, "hierarchies": {"zip": "prefixes:2,1"}}
SHARE = 0.5


def table(number: int) -> pa.Table:
    """Visits whose result depends on the zip code, so that many fine groups break the promise."""
    draw = np.random.default_rng(number)
    rows, people = 900, 150
    zips = draw.integers(0, 30, people)
    who = draw.integers(0, people, rows)
    flu = draw.random(people) < np.where(zips % 3 == 0, 0.8, 0.2)
    days = np.datetime64("2024-01-01") + draw.integers(0, 60, rows)
    return pa.table(
        {
            "who": who,
            "day": pa.array(days.astype("M8[D]")),
            "zip": [f"{zips[n]:03}" for n in who],
            "ill": ["flu" if flu[n] else f"other {n % 9}" for n in who],
        }
    )


def made(number: int, **more: Any) -> tuple[tv.Release, tv.Ledger]:
    return tv.generalize_time(table(number), ROLES, **{**HOW, "recode": "local", **more})


def worst_pool(rows: list[dict[str, Any]], release: tv.Release, ledger: tv.Ledger) -> float:
    """The largest share of one value among the people of the groups that are missing at a step."""
    steps = release.manifest["steps"]
    defined = {d["name"]: d for d in release.manifest["definitions"]}
    shown = {(r["zip"], r["day"], r["day_step"]) for r in release.table.to_pylist()}
    labels = []
    for step in steps:
        granularity = tv.Granularity.from_dict(defined[step["granularity"]])
        digits = {"first 2": 2, "first 1": 1}.get(step["levels"].get("zip", {}).get("name", ""), 3)
        days = {row["day"] for row in rows}
        seconds = {day: np.array([np.datetime64(day, "s").astype(int)]) for day in days}
        names = {day: granularity.label(granularity.index(seconds[day]))[0] for day in days}
        labels.append([(r["zip"][:digits].ljust(3, "*"), names[r["day"]]) for r in rows])
    read = [
        next((n for n in range(len(steps)) if (*labels[n][row], n + 1) in shown), None)
        for row in range(len(rows))
    ]
    worst = 0.0
    for number in range(len(steps)):
        missing = defaultdict(list)
        for row, step in enumerate(read):
            if step is not None and step > number:
                missing[labels[number][row]].append(rows[row])
        large = [m for m in missing.values() if len({r["who"] for r in m}) >= HOW["k"]]
        pool = {(r["who"], r["ill"]) for members in large for r in members}
        people = len({who for who, _ in pool})
        if people:
            worst = max(worst, max(Counter(ill for _, ill in pool).values()) / people)
    return worst


@pytest.mark.parametrize("seed", range(4))
def test_the_groups_that_are_missing_keep_the_promise_together(seed: int) -> None:
    rows = table(seed).to_pylist()
    plain, hiding = made(seed), made(seed, decoys=True, seed=seed)
    assert worst_pool(rows, *plain) > SHARE  # without decoys, missing groups say who is likelier to be ill
    assert worst_pool(rows, *hiding) <= SHARE + 1e-9
    for pair in (plain, hiding):
        assert tv.verify(*pair)
        assert tv.verify(pair[0])
    assert hiding[1].facts["decoys"]["held"] > 0
    bits = [tv.measure(*pair, windows=0).bits_per_row for pair in (plain, hiding)]
    assert bits[0] < bits[1]


def test_the_seed_is_in_the_ledger_alone(tmp_path: Any) -> None:
    seed = 271828182845904523
    first, second = made(1, decoys=True, seed=seed), made(1, decoys=True, seed=seed)
    assert first[0].table.equals(second[0].table)
    assert not made(1, decoys=True, seed=3)[0].table.equals(first[0].table)
    assert first[1].facts["decoys"]["seed"] == seed
    assert made(1, decoys=True)[1].facts["decoys"]["seed"] != made(1, decoys=True)[1].facts["decoys"]["seed"]
    assert first[0].manifest["parameters"]["decoys"] is True
    folder = tv.write(first[0], tmp_path / "out", format="csv")
    texts = [path.read_text() for path in folder.iterdir()]
    assert not any(str(seed) in text for text in texts)
    assert any("held back at" in text for text in texts)
    tv.write(first[1], tmp_path / "ledger")
    assert tv.verify(tv.open_release(folder), tv.open_ledger(tmp_path / "ledger"))
    assert "held back at random" in " ".join(explain(*first).text().split())


def test_decoys_that_are_only_stated_are_refused() -> None:
    """Sabotage: the manifest claims decoys, and every good group was published."""
    release, ledger = made(2)
    stated = {**release.manifest, "parameters": {**release.manifest["parameters"], "decoys": True}}
    forged = tv.Release(release.guarantee, stated, release.parts)
    noted = replace(
        ledger, facts={**ledger.facts, "parameters": stated["parameters"], "decoys": {"seed": 1, "held": 9}}
    )
    assert tv.verify(forged)  # a recipient cannot see it
    verdict = tv.verify(forged, noted)
    assert [violation.code for violation in verdict.violations] == ["decoys"]
    assert "break the promise together" in verdict.violations[0].message
    assert "notes no seed" in " ".join(v.message for v in tv.verify(forged, ledger).violations)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protect": None}, "`decoys` applies with `protect` only"),
        ({"recode": "global"}, "formed from fine to coarse only"),
        ({"recode": "tiling"}, "formed from fine to coarse only"),
        ({"seed": -1}, "`seed` must be a whole number"),
    ],
)
def test_where_nothing_is_held_back_they_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(tv.ParameterError, match=message):
        made(1, decoys=True, **options)


def test_a_table_of_which_nothing_is_published() -> None:
    table = pa.table({"who": pa.array([None], pa.string()), "at": [dt.date(2024, 1, 1)], "ill": ["a"]})
    roles = tv.Roles(respondent="who", time="at", sensitive=["ill"])
    options = {"recode": "local", "protect": {"ill": "distinct:2"}, "decoys": True, "nulls": "withhold"}
    release, ledger = tv.generalize_time(table, roles, 2, suppress=0.5, allow_loss=True, **options)
    assert release.manifest["counts"]["rows"] == 0
    assert tv.verify(release, ledger)
