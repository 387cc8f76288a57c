"""What `verify` notices where rows are published at steps of their own."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import timeveil as tv
from tests.sabotage.tampering import counts, in_order, lines, original, section, with_lines
from timeveil.datasets import clinic_visits

K = 4
ROLES = tv.Roles(
    respondent="patient", time="taken_at", quasi=["zip", "sex"], sensitive=["result"], drop="rest"
)


@pytest.fixture(scope="module", params=["refined", "local", "tiling"])
def pair(request: pytest.FixtureRequest) -> tuple[tv.Release, tv.Ledger]:
    visits = clinic_visits(rows=1500, seed=3)
    # Many visits in spring, few later, so that periods of different lengths are needed.
    early = pc.less(visits["taken_at"], pa.scalar(dt.datetime(2024, 4, 1), visits["taken_at"].type))
    return tv.generalize_time(
        visits.filter(pc.or_(early, pa.array(np.arange(visits.num_rows) % 8 == 0))),
        ROLES,
        K,
        recode=request.param,
        hierarchies={"zip": "prefixes:4,3", "sex": "suppression"},
        granularities=["day", "week", "month", "quarter", "all"],
    )


def codes(release: tv.Release, ledger: tv.Ledger | None = None) -> set[str]:
    return {violation.code for violation in tv.verify(release, ledger).violations}


def key(line: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(line[name] for name in ("zip", "sex", "taken_at", "taken_at_step"))


def test_a_release_holds(pair) -> None:
    assert codes(*pair) == set()
    assert len(pair[0].manifest["steps"]) > 1


def test_one_person_short(pair) -> None:
    """Two people of the smallest group become one: the recipient sees nothing, the custodian does."""
    release, ledger = pair
    people = defaultdict(lambda: defaultdict(list))
    ids = ledger.original.table["patient"].to_pylist()
    for row, group in enumerate(ledger.table["group"].to_pylist()):
        people[group][ids[row]].append(row)
    smallest = min(people.values(), key=len)
    assert len(smallest) == release.manifest["counts"]["smallest_group"]
    first, second, *_ = smallest
    forged = original(ledger, patient=dict.fromkeys(smallest[second], first))
    assert codes(release) == set()
    assert "people-below-k" in codes(release, forged) or len(smallest) > K
    assert codes(release, forged)


def test_one_row_short(pair) -> None:
    release, _ = pair
    rows = lines(release)
    often = Counter(map(key, rows))
    group, _ = min(often.items(), key=lambda entry: entry[1])
    dropped = [n for n, line in enumerate(rows) if key(line) == group][K - 1 :]
    left = with_lines(release, [line for n, line in enumerate(rows) if n not in dropped])
    left = counts(left, rows=-len(dropped), withheld=len(dropped))
    assert "rows-below-k" in codes(left)


def test_a_row_at_another_step(pair) -> None:
    release, ledger = pair
    rows = lines(release)
    step = rows[0]["taken_at_step"]
    rows[0]["taken_at_step"] = next(n for n in range(1, len(release.manifest["steps"]) + 1) if n != step)
    assert codes(in_order(with_lines(release, rows)), ledger)


def test_steps_in_another_order(pair) -> None:
    """A reader would look for labels in the wrong order."""
    release, ledger = pair
    turned = list(reversed(release.manifest["steps"]))
    assert codes(replace(release, manifest={**release.manifest, "steps": turned}), ledger)


@pytest.mark.parametrize("number", ["rows", "groups", "smallest_group"])
def test_false_numbers(pair, number: str) -> None:
    release, ledger = pair
    steps = [dict(step) for step in release.manifest["steps"]]
    steps[-1][number] += 1
    # A ledger that repeats the lie does not hide it.
    repeating = replace(ledger, facts={**ledger.facts, "steps": steps})
    assert codes(replace(release, manifest={**release.manifest, "steps": steps}), repeating) & {"steps"}


def test_a_finer_label_than_its_step(pair) -> None:
    """A label that names a granule of another granularity says more than its step."""
    release, _ = pair
    steps = release.manifest["steps"]
    names = [step["granularity"] for step in steps]
    other = next(n for n, name in enumerate(names) if name != names[0])
    forged = [dict(step) for step in steps]
    forged[0]["granularity"], forged[other]["granularity"] = names[other], names[0]
    assert codes(replace(release, manifest={**release.manifest, "steps": forged}))


def test_what_belongs_together(pair) -> None:
    release, _ = pair
    without = {name: part for name, part in release.manifest.items() if name != "steps"}
    assert codes(replace(release, manifest=without))
    first, *others = release.manifest["definitions"]
    for definitions in ([], [*others, first], [{**first, "title": "of one's own"}, *others]):
        stated = replace(release, manifest={**release.manifest, "definitions": definitions})
        said = [violation.message for violation in tv.verify(stated).violations]
        assert "the granularities of the steps are not those defined" in said
    assert codes(section(release, "parameters", recode=...))
    assert codes(section(release, "parameters", recode="global"))
    table = release.table.drop(["taken_at_step"])
    assert codes(replace(release, parts={"data": table}))
    shifted = release.table["taken_at_step"].to_numpy() + 1
    place = release.table.column_names.index("taken_at_step")
    moved = release.table.set_column(place, "taken_at_step", pa.array(shifted, pa.int32()))
    assert codes(replace(release, parts={"data": moved}))


def test_a_group_told_to_be_at_two_steps():
    """At both its label is the same; each half has enough rows, but only the whole has enough people."""
    zips = ["x"] * 8 + ["a", "a", "b", "b"]
    who = [*"abcdabcd", *"efgh"]
    visits = pa.table({"who": who, "at": [dt.date(2024, 3, 4)] * 12, "zip": zips})
    release, ledger = tv.generalize_time(
        visits,
        tv.Roles(respondent="who", time="at", quasi=["zip"]),
        K,
        recode="refined",
        hierarchies={"zip": pa.table({"value": ["x", "a", "b"], "1": ["x", "ab", "ab"]})},
        granularities=["day"],
    )
    rows, steps = lines(release), [dict(step) for step in release.manifest["steps"]]
    assert [(step["rows"], step["groups"]) for step in steps] == [(8, 1), (4, 1)]
    for line in [line for line in rows if line["zip"] == "x"][:4]:
        line["at_step"] = 2
    steps[0]["rows"], steps[1]["rows"], steps[1]["groups"] = 4, 8, 2
    forged = replace(release, manifest={**release.manifest, "steps": steps})
    forged = counts(in_order(with_lines(forged, rows)), groups=1)
    assert codes(forged) == set()
    assert codes(forged, replace(ledger, facts={**ledger.facts, "steps": steps})) >= {"class-rows"}


@pytest.mark.parametrize("recode", ["refined", "local", "tiling"])
def test_of_no_rows_there_are_no_steps(recode):
    nobody = pa.table({name: pa.array([], kind) for name, kind in (("who", "string"), ("at", "date32"))})
    release, ledger = tv.generalize_time(nobody, tv.Roles(respondent="who", time="at"), K, recode=recode)
    assert release.manifest["steps"] == []
    assert codes(release) == codes(release, ledger) == set()
