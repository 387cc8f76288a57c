"""The judges of streams agree with the slow twin, and no minimal corruption gets past `verify`."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracles import judges_stream as oracle

from timeveil.attack import StreamAdversary, attack
from timeveil.measure import measure
from timeveil.model.guarantee import LDiversity
from timeveil.model.release import Release
from timeveil.query import WindowCount, answer
from timeveil.query.stream import share_of_bucket
from timeveil.verify import verify

FEW = settings(max_examples=40, deadline=None)
SLOTS = st.sampled_from(
    [
        (oracle.DATES, "day"),
        (oracle.DATES, "week"),
        (oracle.ZONED, "day"),
        (oracle.ZONED, "hour"),
        (oracle.DAYS, "day"),
        (oracle.DAYS, "week"),
        (oracle.NUMBERS, "day"),
    ]
)
ILL = ["flu", "flu", "flu", "tbc", "hiv", "nor"]


@st.composite
def cases(draw, buckets=("anatomy", "none"), complete=False, crowds=0):
    """Some records anywhere, and `crowds` slots with one record of each of l values or more."""
    axis, slot = draw(SLOTS)
    promise, window = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    chance = draw(st.randoms(use_true_random=False))
    steps = draw(st.lists(st.integers(0, 7), max_size=25))
    rows = [{"person": f"p{chance.randrange(12)}", "step": s, "ill": chance.choice(ILL)} for s in steps]
    rows += [
        {"person": f"c{crowd}{n}", "step": 2 * crowd, "ill": value}
        for crowd in range(crowds)
        for n, value in enumerate(["flu", "tbc", "hiv", "nor"])
    ]
    if not complete:
        rows += [{"person": "x", "step": None, "ill": "flu"}, {"person": "y", "step": 1, "ill": None}]
    for row in rows:
        row.update(
            zip=chance.choice(["1", "2", None]), sex=chance.choice("fm"), ward=chance.choice([1, None])
        )
    chance.shuffle(rows)
    return oracle.Case(
        rows, promise, window, axis, slot, draw(st.sampled_from(buckets)), draw(st.integers(0, 99))
    )


@st.composite
def releases(draw, **named):
    """A case that has something to publish, and its release."""
    case = draw(cases(crowds=2, **named))
    return case, *oracle.build(case)


def nulls_last(row: dict) -> list:
    shown = [value for name, value in row.items() if name not in ("slot", "bucket")]
    return [(value is None, 0 if value is None else value) for value in shown]


def codes(release, ledger=None) -> set[str]:
    return {violation.code for violation in verify(release, ledger).violations}


def with_tables(release: Release, **tables) -> Release:
    return replace(release, parts={**release.parts, **tables})


def with_column(table: pa.Table, name: str, values) -> pa.Table:
    place = table.schema.get_field_index(name)
    return table.set_column(place, name, pa.array(values, table.schema.field(name).type))


def with_entries(ledger, **columns):
    table = ledger.table
    for name, values in columns.items():
        table = with_column(table, name, values)
    return replace(ledger, entries=table)


def with_counts(release: Release, **counts) -> Release:
    return replace(release, manifest={**release.manifest, "counts": {**release.manifest["counts"], **counts}})


@FEW
@given(cases())
def test_a_release_built_by_the_definition_passes(case):
    """Both scopes accept what the definition itself produces, whatever the slots, buckets and nulls."""
    release, ledger = oracle.build(case)
    assert verify(release).violations == ()
    assert verify(release, ledger).violations == ()


@FEW
@given(releases(buckets=("anatomy",)), st.data())
def test_one_value_too_frequent_is_noticed(found, data):
    """Two records of one value in the place of two values: the bucket keeps its size, not its promise."""
    case, release, _ = found
    lines = release.tables["sensitive"].to_pylist()
    keys = [(line["slot"], line["bucket"]) for line in lines]
    sizes = Counter(keys)
    for line, key in zip(lines, keys, strict=True):
        sizes[key] += line["count"] - 1
    key = data.draw(st.sampled_from(sorted(sizes, key=repr)))
    first, second = [n for n, other in enumerate(keys) if other == key][:2]
    lines[first]["count"] += lines[second]["count"]
    assume(lines[first]["count"] * case.l > sizes[key])
    del lines[second]
    table = pa.Table.from_pylist(lines, schema=release.tables["sensitive"].schema)
    assert codes(with_tables(release, sensitive=table)) == {"value-too-frequent"}


@FEW
@given(releases(buckets=("none",)), st.data())
def test_a_slot_with_a_value_too_frequent_is_noticed(found, data):
    _, release, ledger = found
    slots, ill = release.table["slot"].to_pylist(), release.table["ill"].to_pylist()
    victim = data.draw(st.sampled_from(slots))
    wrong = ["flu" if slot == victim else value for slot, value in zip(slots, ill, strict=True)]
    said = codes(with_tables(release, data=with_column(release.table, "ill", wrong)), ledger)
    assert said >= {"value-too-frequent", "row-values", "conservation"}


@FEW
@given(releases(buckets=("anatomy",)), st.data())
def test_a_bucket_one_record_short_is_noticed(found, data):
    """Left out of both tables, so that they still agree, and counted out of the manifest, too."""
    case, release, ledger = found
    lines, entries = release.table.to_pylist(), release.tables["sensitive"].to_pylist()
    sizes = Counter((line["slot"], line["bucket"]) for line in lines)
    exact = sorted((key for key, size in sizes.items() if size == case.l), key=repr)
    assume(exact)
    key = data.draw(st.sampled_from(exact))
    lines.remove(next(line for line in lines if (line["slot"], line["bucket"]) == key))
    entries.remove(next(line for line in entries if (line["slot"], line["bucket"]) == key))
    short = with_counts(
        with_tables(
            release,
            data=pa.Table.from_pylist(lines, schema=release.table.schema),
            sensitive=pa.Table.from_pylist(entries, schema=release.tables["sensitive"].schema),
        ),
        rows=len(lines),
    )
    assert "bucket-size" in codes(short)
    assert codes(short, ledger) >= {"slot-records", "conservation", "bucket-values", "row-values"}


@FEW
@given(releases(), st.data())
def test_a_dropped_or_doubled_record_is_noticed(found, data):
    _, release, ledger = found
    table = release.table
    row = data.draw(st.integers(0, len(table) - 1))
    less = pa.concat_tables([table.slice(0, row), table.slice(row + 1)])
    more = pa.concat_tables([table.slice(0, row + 1), table.slice(row)])
    for changed in (less, more):
        assert "row-count" in codes(with_tables(release, data=changed))
        quiet = with_counts(with_tables(release, data=changed), rows=len(changed))
        assert codes(quiet, ledger) >= {"slot-records", "row-values"}
        if "sensitive" in release.parts:
            assert "tables-disagree" in codes(quiet)


@FEW
@given(releases(), st.data())
def test_a_record_moved_backwards_or_too_far_is_noticed(found, data):
    """The ledger says where a record came from; its time and where it stands say otherwise."""
    case, release, ledger = found
    slots = oracle.places(case)
    n = data.draw(st.sampled_from([n for n, slot in enumerate(slots) if slot is not None]))
    for step, code in ((slots[n] + 1, "moved-back"), (slots[n] - case.window, "moved-too-far")):
        rows = [{**row, "step": step} if m == n else row for m, row in enumerate(case.rows)]
        original = replace(ledger, original=oracle.relation(replace(case, rows=rows)))
        assert codes(release, original) >= {code, "origin"}
        noted = [oracle.label_of(case, row["step"]) for row in rows]
        assert codes(release, with_entries(original, origin=noted)) == {code}


@FEW
@given(releases(), st.data())
def test_another_story_in_the_ledger_is_noticed(found, data):
    """A record noted in another slot or bucket, as withheld, or from another origin."""
    case, release, ledger = found
    slots = ledger.table["slot"].to_pylist()
    n = data.draw(st.sampled_from([n for n, slot in enumerate(slots) if slot is not None]))

    def told(**changed):
        columns = {
            name: [value if m == n else old for m, old in enumerate(ledger.table[name].to_pylist())]
            for name, value in changed.items()
        }
        return codes(release, with_entries(ledger, **columns))

    assert told(slot=None) >= {"slot-records", "row-values", "conservation"}
    assert told(origin=oracle.label_of(case, 70)) == {"origin"}
    elsewhere = next(s for s in slots if s is not None and s != slots[n])
    assert told(slot=elsewhere) >= {"slot-records", "row-values"}
    if case.buckets == "anatomy":
        assert told(bucket=99) >= {"row-values", "bucket-values"}


@FEW
@given(releases(buckets=("anatomy",)), st.data())
def test_edited_counts_are_noticed(found, data):
    """From outside where the tables then disagree, and with the ledger where a pair of edits hides it."""
    _, release, ledger = found
    table = release.tables["sensitive"]
    often = table["count"].to_pylist()
    row = data.draw(st.integers(0, len(often) - 1))
    for change in (1, -1):
        edited = [c + change if n == row else c for n, c in enumerate(often)]
        assert "tables-disagree" in codes(with_tables(release, sensitive=with_column(table, "count", edited)))
    values = table["ill"].to_pylist()
    values[row] = "new"
    said = codes(with_tables(release, sensitive=with_column(table, "ill", values)), ledger)
    assert said >= {"bucket-values", "conservation"}


@FEW
@given(releases(), st.data())
def test_swapped_slots_are_noticed(found, data):
    """Relabelled where they stand, the order is wrong; put in order again, the ledger knows better."""
    case, release, ledger = found
    labels = sorted(set(release.table["slot"].to_pylist()), key=lambda s: _step(case, s))
    first, second = sorted(data.draw(st.permutations(range(len(labels))))[:2])
    other = {labels[first]: labels[second], labels[second]: labels[first]}

    def relabelled(table):
        return with_column(table, "slot", [other.get(s, s) for s in table["slot"].to_pylist()])

    swapped = {name: relabelled(table) for name, table in release.tables.items()}
    assert "slot-order" in codes(with_tables(release, **swapped))
    ordered = {
        name: table.take(
            pa.array(sorted(range(len(table)), key=lambda n, t=table: _step(case, t["slot"][n].as_py())))
        )
        for name, table in swapped.items()
    }
    fixed = with_tables(release, **ordered)
    assert codes(fixed) == set()
    assume(_contents(release) != _contents(fixed))
    assert codes(fixed, ledger) >= {"row-values"} or codes(fixed, ledger) >= {"bucket-values"}


def _step(case, label):
    return next(step for step in range(20) if oracle.label_of(case, step) == label)


def _contents(release):
    return {name: Counter(map(repr, table.to_pylist())) for name, table in release.tables.items()}


@FEW
@given(releases(), st.data())
def test_a_foreign_slot_is_noticed(found, data):
    """A label of no slot, one before the first stated, and a first slot that is none."""
    case, release, _ = found
    slots = release.table["slot"].to_pylist()
    wrong = [oracle.label_of(case, -3) if slot == slots[0] else slot for slot in slots]
    tables = {"data": with_column(release.table, "slot", wrong)}
    assert "slot" in codes(with_tables(release, **tables))
    if case.axis is not oracle.NUMBERS:
        lost = data.draw(st.sampled_from(["soon", "", "2024-13-77", "9999999", "day x", None]))
        tables = {"data": with_column(release.table, "slot", [lost, *slots[1:]])}
        assert "slot" in codes(with_tables(release, **tables))
    assert "slot" in codes(with_counts(release, first_slot="never"))


@FEW
@given(
    releases(),
    st.sampled_from(["rows", "slots", "buckets", "first_slot", "last_slot"]),
    st.sampled_from([-1, 1]),
)
def test_an_edited_manifest_is_noticed(found, name, change):
    case, release, _ = found
    assume(name != "buckets" or case.buckets == "anatomy")
    stated = release.manifest["counts"][name]
    slot = name.endswith("slot")
    edited = oracle.label_of(case, _step(case, stated) + change) if slot else stated + change
    assert codes(with_counts(release, **{name: edited}))
    for section in ("guarantee", "parameters"):
        lower = {**release.manifest, section: {**release.manifest[section], "l": case.l + 1}}
        assert "guarantee" in codes(replace(release, manifest=lower))
    bold = {
        **release.manifest,
        "guarantee": {"name": "l-diversity", "l": 50},
        "parameters": {**release.manifest["parameters"], "l": 50},
    }
    assert "value-too-frequent" in codes(Release(LDiversity(50), bold, release.parts))


@FEW
@given(releases(), st.data())
def test_an_altered_quasi_identifier_is_noticed(found, data):
    _, release, ledger = found
    column, changed = data.draw(st.sampled_from([("zip", "9"), ("ward", 9)]))
    rows = release.table.to_pylist()
    rows[data.draw(st.integers(0, len(rows) - 1))][column] = changed
    slots = list(dict.fromkeys(row["slot"] for row in rows))
    rows.sort(key=lambda row: (slots.index(row["slot"]), row.get("bucket", 0), *nulls_last(row)))
    edited = with_tables(release, data=pa.Table.from_pylist(rows, schema=release.table.schema))
    assert codes(edited) == set()
    [violation] = verify(edited, ledger).violations
    assert violation.code == "row-values"
    assert violation.message == "1 published row not in the original, 1 original record not in the release"


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.data())
def test_the_bounds_of_a_bucket_are_met_by_some_assignment_and_by_none_exceeded(values, data):
    """Over every way to hand the values of a bucket to its records."""
    fit = data.draw(st.integers(0, len(values)))
    holders = values.count("a")
    expected, low, high = share_of_bucket(np.array([fit]), np.array([holders]), np.array([len(values)]))
    found = [sum(v == "a" for v in order[:fit]) for order in permutations(values)]
    assert (min(found), max(found)) == (low, high)
    assert sum(found) / len(found) == pytest.approx(expected)


@FEW
@given(releases(complete=True), st.data())
def test_window_counts_bracket_the_truth_about_the_published_slots(found, data):
    case, release, _ = found
    low, high = sorted(data.draw(st.tuples(st.integers(0, 8), st.integers(0, 8))))
    where = data.draw(
        st.dictionaries(
            st.sampled_from(["zip", "sex", "ward", "ill"]), st.sampled_from(["1", "f", None]), max_size=3
        ).map(lambda w: {c: {"ill": "flu", "ward": 1}.get(c, v) if v else None for c, v in w.items()})
    )
    slots = oracle.places(case)
    truth = sum(
        slot is not None and low <= slot < high and all(row[c] == v for c, v in where.items())
        for row, slot in zip(case.rows, slots, strict=True)
    )
    between = (oracle.label_of(case, low), oracle.label_of(case, high))
    estimate = answer(release, WindowCount(between=between, where=where))
    assert estimate.low <= truth <= estimate.high
    assert estimate.low - 1e-9 <= estimate.value <= estimate.high + 1e-9
    if case.buckets == "none" or "ill" not in where:
        assert estimate.low == truth == estimate.high


@FEW
@given(cases(buckets=("anatomy",), complete=True))
def test_nobody_who_knows_the_published_slot_exceeds_one_in_l(case):
    """The chance of every true value is that of the twin, and the promise bounds it."""
    release, ledger = oracle.build(case)
    breach = attack(release, ledger, StreamAdversary("published-slot"))
    chances = oracle.bucket_chances(case)
    assert breach.worst <= 1 / case.l + 1e-9
    assert breach.share_above(1 / case.l) == 0
    assert breach.worst == pytest.approx(float(max(chances.values(), default=0)))
    people = defaultdict(list)
    for n, chance in chances.items():
        people[case.rows[n]["person"]].append(chance)
    means = [sum(c) / len(c) for c in people.values()]
    assert breach.mean == pytest.approx(float(sum(means) / len(means)) if means else 0.0)
    assert breach.people == len(people)


@FEW
@given(cases(complete=True))
def test_whoever_knows_the_true_slot_sees_what_the_twin_sees(case):
    release, ledger = oracle.build(case)
    breach = attack(release, ledger, StreamAdversary("true-slot"))
    chances = oracle.outcome_chances(case)
    for name, fates in {
        "stayed": lambda d: d == 0,
        "moved": lambda d: d is not None and d > 0,
        "missing": lambda d: d is None,
    }.items():
        found = [float(chance) for fate, chance in chances.values() if fates(fate)]
        assert sorted(breach.parts[name].chance.tolist()) == pytest.approx(sorted(found))
    assert breach.people == breach.everyone == len({row["person"] for row in case.rows})


@FEW
@given(cases(buckets=("anatomy",), complete=True))
def test_following_a_person_gives_the_candidates_of_the_twin(case):
    """Somebody is pinned if and only if one value is left; a value that is not left has no chance."""
    release, ledger = oracle.build(case)
    breach = attack(release, ledger, StreamAdversary("several-slots"))
    found = oracle.candidates(case)
    constant = [left for left, true in found.values() if len(true) == 1]
    assert breach.people == len(found)
    assert len(breach.parts["constant"].chance) == len(constant)
    assert sum(len(left) == 1 for left in constant) == sum(breach.parts["constant"].chance > 1 - 1e-9)
    assert all(0 < chance <= 1 for chance in breach.parts["constant"].chance)
    assert not breach.parts["changing"].chance.any()


@FEW
@given(cases(complete=True))
def test_losses_agree_with_the_twin(case):
    release, ledger = oracle.build(case)
    loss = measure(release, ledger, windows=5)
    slots = oracle.places(case)
    moves = [s - row["step"] for row, s in zip(case.rows, slots, strict=True) if s is not None]
    withheld = slots.count(None)
    assert (loss.rows, loss.suppressed) == (len(moves), withheld)
    assert loss.moved == sum(d > 0 for d in moves)
    assert loss.largest_distance == max(moves, default=0)
    assert loss.mean_distance == pytest.approx(sum(moves) / loss.moved if loss.moved else 0.0)
    assert loss.information_loss == sum(moves) + case.window * withheld
    again = len(case.rows) - len({(row["person"], row["step"]) for row in case.rows})
    assert loss.suppress_only >= again
    assert again or loss.suppress_only == oracle.minimum_suppression(case)
    assert all(math.isfinite(error.release) for error in loss.window_errors)
