"""What `verify` notices where more is promised than a number of people."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import pytest

import timeveil as tv
from tests.sabotage.tampering import in_order, lines, original, promised, section, with_lines
from timeveil.datasets import clinic_visits

K = 3
ROLES = tv.Roles(
    respondent="patient",
    time="taken_at",
    quasi=["zip", "sex"],
    sensitive=["exam", "age", "result"],
    drop="rest",
)
PROTECT = {"exam": tv.AtMost(1 / 2), "age": tv.Closeness(0.4), "result": tv.Entropy(1.1)}


@pytest.fixture(scope="module", params=["global", "refined", "local", "tiling"])
def pair(request: pytest.FixtureRequest) -> tuple[tv.Release, tv.Ledger]:
    return tv.generalize_time(
        clinic_visits(rows=1200, seed=3),
        ROLES,
        K,
        recode=request.param,
        protect=PROTECT,
        dominance=0.5,
        suppress=0.05,
        hierarchies={"zip": "prefixes:3", "sex": "suppression"},
        granularities=["day", "week", "month", "quarter", "all"],
    )


def codes(release: tv.Release, ledger: tv.Ledger | None = None) -> set[str]:
    return {violation.code for violation in tv.verify(release, ledger).violations}


def groups_of(ledger: tv.Ledger) -> list[list[int]]:
    """The published rows of the original by group."""
    rows = defaultdict(list)
    for row, group in enumerate(ledger.table["group"].to_pylist()):
        if group is not None:
            rows[group].append(row)
    return list(rows.values())


def commonest(ledger: tv.Ledger, rows: list[int], column: str = "exam") -> tuple[str, int, int]:
    """The value that most people of a group hold, how many do, and how many people there are."""
    ids, values = (ledger.original.table[name].to_pylist() for name in ("patient", column))
    holdings = {(ids[row], values[row]) for row in rows}
    value, holders = Counter(value for _, value in holdings).most_common(1)[0]
    return value, holders, len({who for who, _ in holdings})


def changed(release: tv.Release, ledger: tv.Ledger, row: int, **values: Any) -> tuple[tv.Release, tv.Ledger]:
    """Another value of one row, in the original and in the release."""
    table = ledger.original.table
    old = {name: table[name][row].as_py() for name in ("exam", "age", "result")}
    rows = lines(release)
    group = ledger.table["group"][row].as_py()
    # A published row of the same group with the same values.
    other = [r for r, g in enumerate(ledger.table["group"].to_pylist()) if g == group]
    starts = {table["taken_at"][r].as_py() for r in other}
    line = next(
        line
        for line in rows
        if all(line[name] == value for name, value in old.items())
        and all(line["taken_at_start"] is None or line["taken_at_start"] <= start for start in starts)
        and all(line["taken_at_end"] is None or start < line["taken_at_end"] for start in starts)
        and line["sex"] in ("*", table["sex"][row].as_py())
        and (line["zip"] == "*" or table["zip"][row].as_py().startswith(line["zip"].rstrip("*")))
    )
    line.update(values)
    forged = original(ledger, **{name: {row: value} for name, value in values.items()})
    return in_order(with_lines(release, rows)), forged


def test_a_release_holds(pair) -> None:
    assert codes(*pair) == codes(pair[0]) == set()


def test_one_person_short(pair) -> None:
    """One more person holds the commonest exam of the tightest group: only the custodian can tell."""
    release, ledger = pair
    ids, exams = (ledger.original.table[name].to_pylist() for name in ("patient", "exam"))
    for rows in groups_of(ledger):
        value, holders, people = commonest(ledger, rows)
        holding = {ids[row] for row in rows if exams[row] == value}
        spare = [row for row in rows if ids[row] not in holding]
        if holders <= people / 2 < holders + 1 and len(rows) > people:
            forged = changed(release, ledger, spare[0], exam=value)
            assert codes(forged[0]) == set() or "protect" in codes(forged[0])
            assert "protect" in codes(*forged)
            return
    pytest.fail("no group is tight")


def test_a_stronger_promise_than_was_kept(pair) -> None:
    """Stated so that the worst group misses it by one person."""
    release, ledger = pair
    shares = [commonest(ledger, rows)[1:] for rows in groups_of(ledger)]
    holders, people = max(shares, key=lambda share: share[0] / share[1])
    share = tv.AtMost((holders - 0.5) / people)
    stated = {**release.manifest["guarantee"]["protect"], "exam": str(share)}
    assert "protect" in codes(promised(release, protect=stated), ledger)


@pytest.mark.parametrize(
    ("column", "promise"),
    [
        ("result", "at-most:1/9:normal"),
        ("age", "closeness:0.001"),
        ("result", "entropy:2.9"),
        ("exam", "distinct:8"),
        ("exam", "entropy:7.9"),
    ],
)
def test_other_promises_than_were_kept(pair, column: str, promise: str) -> None:
    stated = {**pair[0].manifest["guarantee"]["protect"], column: promise}
    assert "protect" in codes(promised(pair[0], protect=stated), pair[1])


def test_one_person_owns_a_group(pair) -> None:
    """All rows of a group but those of K - 1 others become one person's."""
    release, ledger = pair
    ids = ledger.original.table["patient"].to_pylist()
    rows = max(groups_of(ledger), key=len)
    first, *others = dict.fromkeys(ids[row] for row in rows)
    forged = original(ledger, patient={row: first for row in rows if ids[row] not in others[: K - 1]})
    messages = [violation.message for violation in tv.verify(release, forged).violations]
    assert any("one person has more than 0.5 of the rows" in message for message in messages)


def test_a_group_of_one_value(pair) -> None:
    """A recipient sees a group in which everyone has the same exam."""
    release, _ = pair
    rows = lines(release)
    keys = [name for name in rows[0] if name in ("zip", "sex") or name.startswith("taken_at")]
    group = [rows[0][name] for name in keys]
    for line in rows:
        if [line[name] for name in keys] == group:
            line["exam"] = rows[0]["exam"]
    assert "protect" in codes(in_order(with_lines(release, rows)))


def test_a_recipient_counts_rows_of_other_values(pair) -> None:
    """With half of at least K people, two rows of a group have another exam than the commonest."""
    release, _ = pair
    rows = lines(release)
    keys = [name for name in rows[0] if name in ("zip", "sex") or name.startswith("taken_at")]
    group = [line for line in rows if all(line[name] == rows[0][name] for name in keys)]
    exams = dict.fromkeys(line["exam"] for line in rows)
    for line in group[1:]:
        line["exam"] = next(iter(exams))
    group[0]["exam"] = list(exams)[1]
    assert "protect" in codes(in_order(with_lines(release, rows)))


def test_what_is_stated_fits_together(pair) -> None:
    release, ledger = pair
    assert "guarantee" in codes(section(release, "guarantee", protect=...))
    assert "protect" in codes(section(release, "parameters", protect=...))
    assert "protect" in codes(section(release, "parameters", dominance=0.6))
    assert codes(promised(release, protect=..., dominance=...), ledger)
    assert "protect" in codes(promised(release, protect={"zip": "distinct:2"}), ledger)
    assert "protect" in codes(promised(release, protect={"result": "closeness:0.5"}), ledger)
    unordered = {**release.manifest["guarantee"]["protect"], "exam": "closeness:0.5:a<b"}
    assert "protect" in codes(promised(release, protect=unordered), ledger)
    with pytest.raises(tv.BundleError):
        promised(release, protect={"exam": "at-most:2"})


@pytest.mark.parametrize("number", ["groups_short", "rows_short"])
def test_false_numbers_of_candidates(pair, number: str) -> None:
    release, ledger = pair
    for name, candidate in release.manifest["candidates"].items():
        for wrong in ({**candidate, number: candidate[number] + 1}, {**candidate, number: ...}):
            stated = {key: value for key, value in wrong.items() if value is not ...}
            candidates = {**release.manifest["candidates"], name: stated}
            assert codes(replace(release, manifest={**release.manifest, "candidates": candidates}), ledger)
