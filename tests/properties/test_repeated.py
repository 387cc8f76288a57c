"""Tables that are published again and again, against the oracle, on random tables."""

from __future__ import annotations

import datetime as dt
import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import some
from tests.oracles import generalization, repeated

import timeveil as tv

ROLES = tv.Roles(respondent="who", time="when", quasi=["place"], sensitive=["what"])
NAMES = ["week", "month", "quarter", "all"]


def row_of(chance: random.Random):
    day = dt.date(2006, 1, 1) + dt.timedelta(days=chance.randrange(80))
    return chance.choice("abcdefgh"), day, chance.choice("xxy"), chance.choice("st")


def versions(chance: random.Random, number: int):
    """Versions of one table: rows are added and deleted, and some come twice."""
    rows = [row_of(chance) for _ in range(chance.randrange(10, 40))]
    for _ in range(number):
        yield chance.sample(rows, len(rows))
        lost = chance.choice([0, 0, 0.1])
        rows = [row for row in rows if chance.random() >= lost]
        rows += [row_of(chance) for _ in range(chance.choice([0, 1, 12]))] + chance.sample(rows, 1)


def table_of(rows) -> pa.Table:
    return pa.table(
        dict(zip(("who", "when", "place", "what"), map(list, zip(*rows, strict=True)), strict=True))
    )


def groups_of(ledger):
    return ledger.table["group"].to_pylist()


@settings(max_examples=some(150), deadline=None)
@given(st.integers(0, 10**9), st.integers(2, 3), st.sampled_from([0.0, 0.2, 0.6]))
def test_k_people_share_every_joint_label(seed, k, suppress):
    """Whatever is published, by the oracle and by the independent verifier."""
    chance = random.Random(seed)  # noqa: S311 a test
    tables, ledgers = [], []
    for rows in versions(chance, 3):
        append = len(ledgers) > 0 and chance.random() < 0.4
        choice = {} if append else {"granularities": NAMES}
        try:
            release, ledger = tv.generalize_time(
                table_of(rows),
                ROLES,
                k,
                suppress=suppress,
                allow_loss=True,
                after=ledgers,
                append=append,
                **choice,
            )
        except (tv.InfeasibleError, tv.ParameterError):
            return  # nothing is feasible, or releases of several granularities cannot be continued
        assert tv.verify(release, ledger), tv.verify(release, ledger).violations
        tables, ledgers = [*tables, rows], [*ledgers, ledger]
        people = repeated.joint(tables, list(map(groups_of, ledgers)))
        assert all(len(who) >= k for who in people.values())
        assert release.guarantee.after == (len(ledgers) - 1 or None)
        withheld = release.manifest["counts"]["withheld"]
        waiting = release.manifest["candidates"][release.manifest["granularity"]].get("rows_waiting", 0)
        assert withheld - waiting <= suppress * len(rows) + 1e-9


def published_again(chance, k, **options):
    """Versions of one table with what was published of each; ends where nothing is feasible."""
    tables, ledgers = [], []
    for version in versions(chance, 3):
        rows = [(*row, "fm"[ord(row[0]) % 2]) for row in version]
        table = table_of([row[:4] for row in rows]).append_column("sex", pa.array([row[4] for row in rows]))
        roles = tv.Roles(respondent="who", time="when", quasi=["place", "sex"], sensitive=["what"])
        try:
            release, ledger = tv.generalize_time(
                table,
                roles,
                k,
                granularities=NAMES,
                hierarchies=dict.fromkeys(["place", "sex"], "suppression"),
                allow_loss=True,
                after=ledgers,
                **options,
            )
        except tv.InfeasibleError:
            return
        tables, ledgers = [*tables, rows], [*ledgers, ledger]
        yield tables, ledgers, release


def label_at(row, step):
    levels = step["levels"]
    shown = tuple("*" if name in levels else value for name, value in (("place", row[2]), ("sex", row[4])))
    return shown, generalization.CALENDAR[step["granularity"]](row[1])


@settings(max_examples=some(150), deadline=None)
@given(
    st.integers(0, 10**9),
    st.integers(2, 3),
    st.sampled_from(["local", "refined", "tiling"]),
    st.sampled_from([0.0, 0.2, 0.6]),
    st.sampled_from([None, {"what": "at-most:2/3"}]),
)
def test_rows_at_steps_of_their_own_share_every_joint_label(seed, k, recode, suppress, protect):
    """A row is read at the first step that publishes its label, whatever it was published as before."""
    chance = random.Random(seed)  # noqa: S311 a test
    options = {"recode": recode, "suppress": suppress, "protect": protect}
    for tables, ledgers, release in published_again(chance, k, **options):
        rows, groups = tables[-1], groups_of(ledgers[-1])
        assert tv.verify(release, ledgers[-1]), tv.verify(release, ledgers[-1]).violations
        assert tv.attack(release, ledgers[-1]).after.worst <= 1 / k + 1e-9
        people = repeated.joint(tables, list(map(groups_of, ledgers)))
        assert all(len(who) >= k for who in people.values())
        steps, by_label = release.manifest["steps"], {}
        lines = set()
        for line in release.table.to_pylist():
            start = line["when_start"] or dt.date(2006, 1, 1)
            granule = generalization.CALENDAR[steps[line["when_step"] - 1]["granularity"]](start)
            lines.add((line["when_step"] - 1, ((line["place"], line["sex"]), granule)))
        for row, group in zip(rows, groups, strict=True):
            readings = [(n, label_at(row, step)) for n, step in enumerate(steps)]
            reading = next((label for label in readings if label in lines), None)
            if group is not None:
                by_label.setdefault(reading, set()).add(group)
        assert all(len(groups) == 1 for groups in by_label.values())
        assert len(by_label) == release.manifest["counts"]["groups"]


@settings(max_examples=some(100), deadline=None)
@given(
    st.integers(0, 10**9),
    st.sampled_from(
        [{"protect": {"what": "at-most:2/3"}}, {"protect": {"what": "distinct:2"}}, {"dominance": 0.4}]
    ),
    st.sampled_from([0.2, 0.6]),
)
def test_promises_about_groups_hold_in_each_release(seed, promise, suppress):
    """Also after rows were withheld because of what was published before."""
    chance = random.Random(seed)  # noqa: S311 a test
    for tables, ledgers, release in published_again(chance, 2, suppress=suppress, **promise):
        assert tv.verify(release, ledgers[-1]), tv.verify(release, ledgers[-1]).violations
        members = {}
        for row, group in zip(tables[-1], groups_of(ledgers[-1]), strict=True):
            members.setdefault(group, []).append(row)
        members.pop(None, None)
        for rows in members.values():
            people = {row[0] for row in rows}
            holders = [len({row[0] for row in rows if row[3] == value}) for value in "st"]
            most = max(sum(row[0] == who for row in rows) for who in people)
            assert "dominance" not in promise or most <= 0.4 * len(rows) + 1e-9
            assert (
                promise.get("protect") != {"what": "at-most:2/3"}
                or max(holders) <= 2 / 3 * len(people) + 1e-9
            )
            assert promise.get("protect") != {"what": "distinct:2"} or all(holders)
        people = repeated.joint(tables, list(map(groups_of, ledgers)))
        assert all(len(who) >= 2 for who in people.values())


@settings(max_examples=some(150), deadline=None)
@given(st.integers(0, 10**9), st.integers(2, 3))
def test_what_is_feasible_is_what_the_oracle_says(seed, k):
    """With nothing withheld: every granularity, and whether any is left."""
    tables, ledgers = [], []
    for rows in versions(random.Random(seed), 3):  # noqa: S311 a test
        labels, tables = list(map(groups_of, ledgers)), [*tables, rows]
        calendar = {name: generalization.CALENDAR[name] for name in NAMES}
        works = {
            name: repeated.feasible(tables, labels, lambda row, g=granule: (row[2], g(row[1])), k)
            for name, granule in calendar.items()
        }
        try:
            release, ledger = tv.generalize_time(table_of(rows), ROLES, k, granularities=NAMES, after=ledgers)
        except tv.InfeasibleError:
            assert not any(works.values())
            return
        stated = {name: release.manifest["candidates"][name]["feasible"] for name in NAMES}
        assert stated == works
        ledgers.append(ledger)


def corrected(chance: random.Random, cases):
    """The next version of cases: some are gone, some corrected, some new, and cells may be empty."""
    later = {}
    for case, row in cases.items():
        fate = chance.random()
        if fate >= 0.08:
            later[case] = (row[0], *row_of(chance)[1:]) if fate < 0.2 else row
    first = max(cases) + 1
    for case in range(first, first + chance.randrange(15)):
        who, day, *rest = row_of(chance)
        empty = chance.random()
        later[case] = (None if empty < 0.05 else who, None if empty > 0.95 else day, *rest)
    return later


@settings(max_examples=some(30), deadline=None)
@given(st.integers(0, 10**9), st.integers(2, 3))
def test_corrected_events_are_recognised_by_their_number(seed, k):
    """Whatever happens to rows in gaps and without a person; an attack on all releases finds k people."""
    chance = random.Random(seed)  # noqa: S311 a test
    roles = tv.Roles(respondent="who", time="when", quasi=["place"], sensitive=["what"], event="case")
    cases, ledgers, published = {case: row_of(chance) for case in range(30)}, [], []
    for _ in range(3):
        rows = chance.sample(sorted(cases.items()), len(cases))
        names = chance.choice([["business-month", "month"], ["business-day", "week"], ["week", "all"]])
        try:
            release, ledger = tv.generalize_time(
                table_of([row for _, row in rows]).append_column(
                    "case", pa.array([case for case, _ in rows])
                ),
                roles,
                k,
                suppress=0.8,
                allow_loss=True,
                nulls="withhold",
                gaps=chance.choice(["suppress", "next", "skip"]),
                granularities=names,
                after=ledgers,
            )
        except tv.InfeasibleError:
            return
        assert tv.verify(release, ledger), tv.verify(release, ledger).violations
        assert tv.attack(release, ledger).after.worst <= 1 / k + 1e-9
        ledgers.append(ledger)
        events = [(row[0], case) for case, row in rows]
        published.append(dict(zip(events, groups_of(ledger), strict=True)))
        people: dict[tuple[object, ...], set[str]] = {}
        for event in set().union(*published):
            label = tuple(groups.get(event) for groups in published)
            people.setdefault(label, set()).add(event[0])
        people.pop((None,) * len(published), None)
        assert all(len(who) >= k for who in people.values())
        cases = corrected(chance, cases)


@settings(max_examples=some(40), deadline=None)
@given(st.integers(0, 10**9))
def test_the_order_of_rows_does_not_matter(seed):
    """Neither for what is published nor for what is withheld."""
    first, second = versions(random.Random(seed), 2)  # noqa: S311 a test
    releases = []
    for turn in range(2):
        chance = random.Random(turn)  # noqa: S311 a test
        ledgers, release = [], None
        for rows in (first, second):
            try:
                release, ledger = tv.generalize_time(
                    table_of(chance.sample(rows, len(rows))), ROLES, 2, suppress=0.5, after=ledgers
                )
            except tv.InfeasibleError:
                return
            ledgers.append(ledger)
        releases.append(release)
    assert releases[0].table.equals(releases[1].table)
    assert dict(releases[0].manifest) == dict(releases[1].manifest)


def test_a_joint_label_is_counted_in_people_not_in_rows():
    """Five late rows of one person in one month are one person."""
    days = [dt.date(2024, 3, day) for day in range(1, 11)]
    march = [(f"p{n}", day, "x", "s") for n, day in enumerate(days)]
    late = [("p0", dt.date(2024, 3, day), "x", "t") for day in range(20, 25)]
    first = tv.generalize_time(table_of(march), ROLES, 5, granularities=["month"])[1]
    with pytest.raises(tv.InfeasibleError) as caught:
        tv.generalize_time(table_of(march + late), ROLES, 5, granularities=["month"], after=[first])
    assert caught.value.facts["earlier_release"] == 1
    release, _ = tv.generalize_time(
        table_of(march + late),
        ROLES,
        5,
        granularities=["month"],
        after=[first],
        suppress=0.4,
        allow_loss=True,
    )
    assert release.manifest["counts"]["withheld"] == 5


def test_nothing_can_be_published_beside_a_promise_about_numbers():
    """Of a group of three, one row is left, so that no group has a distance."""
    table = pa.table({"who": ["a", "b", "c"], "when": [dt.date(2006, 1, 1)] * 3, "number": [0, 1, 0]})
    roles = tv.Roles(respondent="who", time="when", sensitive=["number"])
    _, first = tv.generalize_time(table, roles, 2)
    options = {"suppress": 0.9, "allow_loss": True, "protect": {"number": tv.Closeness(0.9)}}
    with pytest.raises(tv.InfeasibleError, match="earlier release 1"):
        tv.generalize_time(table.slice(1), roles, 2, after=[first], append=True, **options)


def test_local_after_a_correction_is_not_held_up_by_one_block_of_everything():
    """Few people of a group are corrected; where they may be withheld, the others stay as fine as before."""
    rng, rows = np.random.default_rng(1), 600
    age = rng.integers(3, size=rows)
    days = np.sort(rng.integers(60, size=rows)).tolist()
    when = pa.array([dt.date(2020, 1, 1) + dt.timedelta(day) for day in days])
    cases = pa.table({"who": np.arange(rows), "case": np.arange(rows), "when": when, "age": age})
    cases = cases.append_column("sex", pa.array(rng.integers(2, size=rows)))
    corrected_age = np.where(rng.random(rows) < 0.05, (age + 1) % 3, age)
    roles = tv.Roles(respondent="who", time="when", quasi=["age", "sex"], event="case")
    options = {
        "granularities": ["day", "week", "month", "all"],
        "hierarchies": dict.fromkeys(["age", "sex"], "suppression"),
        "allow_loss": True,
    }
    _, first = tv.generalize_time(cases.slice(0, 420), roles, 3, recode="local", suppress=0.03, **options)
    later = cases.set_column(3, "age", pa.array(corrected_age))
    options |= {"after": [first], "suppress": 0.3}
    release, ledger = tv.generalize_time(later, roles, 3, recode="local", **options)
    assert tv.verify(release, ledger)
    # One block of everything withholds nobody, and then a row loses 1.72 bits.
    assert release.manifest["granularity"] == "day"
    assert tv.measure(release, ledger, windows=0).bits_per_row < 1.2
