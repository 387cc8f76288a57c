"""No minimal corruption of a series release gets past `verify`, and attacks agree with the slow twin."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.effort import some
from tests.oracles import judges_series as oracle

from timeveil.domain.release import Release
from timeveil.domain.roles import Roles
from timeveil.judging import attack, verify
from timeveil.models.series.judges.attack import known_instants
from timeveil.models.series.method import anonymize_series
from timeveil.models.series.parameters import SeriesAdversary

FEW = settings(max_examples=15, deadline=None)
SOME = settings(max_examples=some(500), deadline=None)


@st.composite
def cases(draw, **fixed):
    """Some people, and what to publish of them."""
    chance = random.Random(draw(st.integers(0, 2**32)))  # noqa: S311
    k = draw(st.integers(2, 6))
    p = draw(st.integers(min(fixed.get("least_p", 1), k), k))
    width = draw(st.integers(fixed.get("least_width", 1), 6))
    kind = draw(st.sampled_from(["walk", "coarse", "flat"]))
    rows = oracle.people(chance, draw(st.integers(2 * k, 24)) + p, width, kind)
    parts = [None, None]
    if draw(st.booleans()) and not fixed.get("whole"):
        parts = [tuple(sorted(draw(st.sets(st.integers(0, width - 1), min_size=1)))) for _ in parts]
    return oracle.Case(
        rows, k, p, fixed.get("l", draw(st.sampled_from([None, 2])) if p > 1 else None),
        draw(st.sampled_from(fixed.get("methods", tuple(oracle.OWN)))),
        draw(st.sampled_from(["mean", "median"])),
        fixed.get("digits", draw(st.sampled_from([None, 1, 3]))), draw(st.booleans()),
        draw(st.integers(0, p - 1)), *parts,
    )  # fmt: skip


@st.composite
def releases(draw, **fixed):
    case = draw(cases(**fixed))
    return case, *oracle.build(case)


def codes(release, ledger=None) -> set[str]:
    return {violation.code for violation in verify(release, ledger).violations}


def with_table(release, table) -> Release:
    return replace(release, parts={"data": table})


def with_column(table, name, values):
    place = table.schema.get_field_index(name)
    return table.set_column(
        place, table.schema.field(place), pa.array(values, table.schema.field(place).type)
    )


def with_some(release, name, change, rows):
    """The release with the values of a column changed in some rows."""
    values = release.table[name].to_pylist()
    return with_table(
        release,
        with_column(release.table, name, [change(v) if n in rows else v for n, v in enumerate(values)]),
    )


def with_section(release, section, **changed):
    return replace(release, manifest={**release.manifest, section: {**release.manifest[section], **changed}})


def cell_rows(release) -> list[list[int]]:
    """Rows by cell."""
    found: dict = {}
    for n, line in enumerate(release.table.to_pylist()):
        found.setdefault((line["group"], line["pattern"], str(line["level"])), []).append(n)
    return list(found.values())


def group_rows(release) -> dict[int, list[int]]:
    found: dict = {}
    for n, number in enumerate(release.table["group"].to_pylist()):
        found.setdefault(number, []).append(n)
    return found


@SOME
@given(releases())
def test_what_is_built_by_the_book_holds(found):
    _, release, ledger = found
    assert codes(release) == set()
    assert codes(release, ledger) == set()


@FEW
@given(releases(digits=2), st.data())
def test_rounding_is_checked_both_ways(found, data):
    """A bound with more digits than stated; and a stated rounding that does not explain the width."""
    _, release, ledger = found
    rows = data.draw(st.sampled_from(list(group_rows(release).values())))
    name = data.draw(st.sampled_from([c["name"] for c in release.manifest["columns"] if c["role"] == "low"]))
    assert "rounding" in codes(with_some(release, name, lambda v: v - 0.12345678, rows))
    wide = with_some(release, name, lambda v: -9900.0, rows)
    assert "rounding" not in codes(wide)
    assert "envelope-wide" in codes(wide, ledger)
    raw = with_section(release, "parameters", round_outward=None)
    moved = [
        line
        for line in release.table.to_pylist()
        if any(v != round(v, 9) for k, v in line.items() if k == name)
    ]
    assert not moved or "envelope-wide" in codes(raw, ledger)


@FEW
@given(releases(digits=3), st.data(), st.integers(1, 1000))
def test_no_bit_of_a_rounded_bound_is_free(found, data, ulps):
    """What lies between two decimals could carry a message; so could the sign of a zero."""
    _, release, ledger = found
    rows = data.draw(st.sampled_from(list(group_rows(release).values())))
    names = [c["name"] for c in release.manifest["columns"] if c["role"] in ("low", "high")]
    name = data.draw(st.sampled_from(names))
    outward = -1 if name.endswith("_lo") else 1
    bound = release.table[name][rows[0]].as_py()
    assume(bound)
    assert "rounding" in codes(
        with_some(release, name, lambda v: v + outward * ulps * np.spacing(abs(v)), rows)
    )
    step = 10.0 ** (math.floor(math.log10(abs(bound))) - 2)
    further = float(f"{bound + outward * step:.2e}")
    assert "envelope-wide" in codes(with_some(release, name, lambda _: further, rows), ledger)
    zero = with_some(release, names[0], lambda _: 0.0, range(release.table.num_rows))
    assert "envelope" not in codes(with_some(zero, names[1], lambda _: 0.0, range(zero.table.num_rows)))
    assert "envelope" in codes(with_some(zero, names[1], lambda _: -0.0, range(zero.table.num_rows)))


@FEW
@given(releases(), st.data(), st.sampled_from([None, math.nan, math.inf, -math.inf, "turned"]))
def test_a_bound_that_is_none_is_refused(found, data, strange):
    _, release, ledger = found
    row = data.draw(st.integers(0, release.table.num_rows - 1))
    low, high = (c["name"] for c in release.manifest["columns"][1:3])
    if strange == "turned":
        strange = release.table[high][row].as_py() + 1
    assert "envelope" in codes(with_some(release, low, lambda _: strange, [row]), ledger)


@FEW
@given(releases(), st.data())
def test_letters_and_levels_that_are_none_are_refused(found, data):
    _, release, ledger = found
    row = data.draw(st.integers(0, release.table.num_rows - 1))

    def first(level, number):
        return [number, *level[1:]] if isinstance(level, list) else number

    for change in (
        lambda v: v + "a",
        lambda v: v[1:],
        lambda v: "é" + v[1:],
        lambda v: "Z" + v[1:],
        lambda v: None,
    ):
        assert "pattern" in codes(with_some(release, "pattern", change, [row]), ledger)
    for number in (0, -1, 53):
        assert "pattern" in codes(with_some(release, "level", lambda v, n=number: first(v, n), [row]), ledger)
    assert "pattern" in codes(with_some(release, "level", lambda v: None, [row]), ledger)
    if isinstance(release.table["level"][0].as_py(), list):
        assert "pattern" in codes(with_some(release, "level", lambda v: [*v, 2], [row]), ledger)
        assert "pattern" in codes(with_some(release, "level", lambda v: [None, *v[1:]], [row]), ledger)


@FEW
@given(releases(l=2, least_p=2), st.data())
def test_values_changed_for_l_are_stated_and_no_more_than_needed(found, data):
    _, release, ledger = found
    if release.manifest["series"]["perturbed"]:
        silent = with_section(release, "series", perturbed=[])
        assert codes(silent) == set()
        assert codes(silent, ledger) == {"row-values"}
    stated = with_section(release, "series", perturbed=["income"])
    assert codes(stated, ledger) == set()
    table = [{**line, "income": 1000.0 + n} for n, line in enumerate(stated.table.to_pylist())]
    made_up = with_table(stated, pa.Table.from_pylist(table, schema=stated.table.schema))
    assert "changed-values" in codes(made_up, ledger)
    rows = data.draw(st.sampled_from(cell_rows(release)))
    assert "values-below-l" in codes(with_some(release, "income", lambda _: 1.0, rows))


@FEW
@given(releases())
def test_the_manifest_agrees_with_itself(found):
    case, release, _ = found
    for name in ("k", "p"):
        assert "guarantee" in codes(with_section(release, "parameters", **{name: getattr(case, name) + 1}))
        assert "guarantee" in codes(with_section(release, "guarantee", **{name: getattr(case, name) + 1}))
    own = release.manifest["series"]["own_patterns"]
    other = {"mean": "median", "median": "mean"}[case.center]
    for edited in (
        with_section(release, "series", own_patterns=not own),
        with_section(release, "series", center=other),
        with_section(release, "series", pattern=["nobody"]),
        with_section(release, "series", instants=[*case.instants, case.instants[0]]),
        with_section(release, "series", perturbed=["ward"]),
        with_section(release, "parameters", publish_pattern=["nobody"]),
    ):
        assert "statements" in codes(edited)
    assert "columns" in codes(with_section(release, "series", pattern=[]))
    assert "suppressed" in codes(with_section(release, "counts", suppressed=case.p))
    for section in ("series", "parameters", "counts", "guarantee"):
        assert codes(with_section(release, section, secret=1)) == {"manifest"}
        for key in set(release.manifest[section]) - {"adoption", "exact"}:  # of version 0.1 only
            inside = {n: v for n, v in release.manifest[section].items() if n != key}
            assert codes(replace(release, manifest={**release.manifest, section: inside})) == {"manifest"}


@pytest.mark.parametrize("fill", ["forward", "linear", "drop"])
@pytest.mark.parametrize("long", [False, True])
def test_gaps_are_filled_as_stated(fill, long):
    """The verifier's own filling against values filled by hand."""
    gaps = {"forward": [2.0, 2.0, 4.0, 4.0], "linear": [2.0, 3.0, 4.0, 4.0]}
    rows = [
        {"person": f"p{n}", "values": [2.0 + n, 3.0, 4.0 - n, 4.0], "income": n, "ward": n} for n in range(5)
    ]
    lacking = {"person": "x", "values": [2.0, None, 4.0, None], "income": 9, "ward": 9}
    whole = [*rows, *([] if fill == "drop" else [{**lacking, "values": gaps[fill]}])]
    case = oracle.Case([*rows, lacking], k=2, p=2, long=long, fill=fill)
    release, ledger = oracle.build(replace(case, rows=whole))
    if fill == "drop":
        release, ledger = oracle.build(case)
    ledger = replace(ledger, original=oracle.relation(case))
    if fill != "drop" and long:
        _, ledger = oracle.build(replace(case, rows=whole))
        ledger = replace(ledger, original=oracle.relation(case))
    assert verify(release, ledger)
    others = {"forward", "linear", "drop"} - {fill}
    for other in others:
        assert not verify(with_section(release, "parameters", fill=other), ledger)
    assert codes(with_section(release, "parameters", fill=None), ledger) == {"ledger"}


@st.composite
def adversaries(draw, case):
    """Somebody who knows some values, the pattern, or both."""
    names = draw(st.sets(st.sampled_from(case.instants), min_size=1))
    values = draw(st.sampled_from([None, "all", 1, 2, 99, tuple(sorted(names))]))
    tolerance = draw(st.sampled_from([0.0, 0.0, 3.0]))
    return SeriesAdversary(values, tolerance, values is None or draw(st.booleans()), draw(st.integers(0, 9)))


def _all_known(case, adversary):
    number = {"all": len(case.instants)}.get(adversary.values, adversary.values) if isinstance(
        adversary.values, str | int) else len(adversary.values or ())  # fmt: skip
    return adversary.tolerance == 0 and number >= len(case.instants)


def _nearest(case, release, value):
    """As whoever rounds reads it."""
    if not release.manifest["series"]["perturbed"]:
        return value
    return min(sorted({float(row["income"]) for row in case.rows}), key=lambda known: abs(known - value))


@SOME
@given(releases(methods=("adaptive", "kapra")), st.data())
def test_attacks_on_own_patterns_find_what_the_twin_finds(found, data):
    """Row by row: how many fit, who is told, and who cannot hide among different values."""
    case, release, ledger = found
    adversary = data.draw(adversaries(case))
    breach = attack(release, ledger, adversary)
    rng = np.random.default_rng(adversary.seed)
    order = _people_as_read(case)
    known = known_instants(adversary, case.instants, len(order), rng)
    placed = {p for p, g in zip(_people_of_rows(case), ledger.table["group"].to_pylist(), strict=True) if g}
    rows, told, one, alone = [], [], [], []
    for place, n in enumerate(order):
        instants = np.flatnonzero(known[place]).tolist()
        pattern = adversary.pattern or _all_known(case, adversary)
        fit = oracle.candidates(case, release, n, instants, adversary.tolerance, pattern)
        fit = [{**line, "income": _nearest(case, release, line["income"])} for line in fit]
        rows.append(len(fit) if n in placed else 0)
        true = [line["income"] for line in fit if line["income"] == float(case.rows[n]["income"])]
        told.append(len(true) / len(fit) if fit else 0.0)
        one.append(len({line["income"] for line in fit}) == 1)
        alone.append(oracle.alike(case, n, instants, adversary.tolerance, pattern))
    assert breach.after.candidates.tolist() == rows
    assert breach.before.candidates.tolist() == alone
    assert breach.told["income"].chance.tolist() == pytest.approx(told)
    assert breach.homogeneous["income"] == pytest.approx(sum(one) / len(one))
    assert breach.people == breach.everyone == len(order)
    assert breach.worst <= 1 / case.p + 1e-12
    assert breach.share_above(1 / case.p) == 0
    assert breach.mean == pytest.approx(sum(1 / r for r in rows if r) / len(rows))


def _people_of_rows(case):
    if not case.long:
        return list(range(len(case.rows)))
    names = [row["person"] for row in case.rows]
    return [names.index(row["person"]) for _, row in oracle._long_order(case)]


def _people_as_read(case):
    return list(dict.fromkeys(_people_of_rows(case)))


@FEW
@given(releases(methods=("naive", "representative")), st.data())
def test_a_bet_on_the_nearest_pattern_is_never_better_than_one_in_p(found, data):
    """Patterns that are not one's own rule nobody out: values alone give the sets, shapes only a bet."""
    case, release, ledger = found
    adversary = data.draw(adversaries(case))
    breach = attack(release, ledger, adversary)
    assert breach.worst <= 1 / case.p + 1e-12
    if adversary.values is not None and not _all_known(case, adversary):
        plain = attack(release, ledger, replace(adversary, pattern=False))
        assert (breach.after.candidates <= plain.after.candidates).all()
        rows = plain.after.candidates
        assert (rows[rows > 0] >= case.k).all()


def test_who_is_alone_in_the_original_hides_in_the_release():
    rows = oracle.people(random.Random(3), 40, 5)  # noqa: S311
    case = oracle.Case(rows, k=5, p=3, method="kapra")
    breach = attack(*oracle.build(case))
    assert breach.adversary == SeriesAdversary("all", pattern=True)
    assert breach.unique_before == 1.0
    assert breach.unique_after == 0.0
    assert breach.distribution["0"] >= 3
    assert breach.as_dict()["share_above_one_in_p"] == 0


@pytest.mark.parametrize("method", ["adaptive", "kapra", "naive", "representative"])
def test_what_the_methods_publish_holds_and_keeps_everyone_below_one_in_p(method):
    """Walks, ties and constants; with and without l, rounding, a part of the instants, and long rows."""
    for seed in range(6):
        rng = random.Random(seed)  # noqa: S311
        rows = oracle.people(rng, 60, 5, ("walk", "coarse", "flat")[seed % 3])
        rows = [{**row, "income": n if n < 20 else row["income"]} for n, row in enumerate(rows)]
        case = oracle.Case(rows, long=seed % 2 == 1)
        original = oracle.relation(case)
        part = None if seed < 4 else case.instants[1:4]
        release, ledger = anonymize_series(
            original, original.roles, k=6, p=3, l=(None, 2)[seed % 2], method=method, seed=seed,
            round_outward=(3, None)[seed // 2 % 2], publish_values=part, effort=0,
        )  # fmt: skip
        assert verify(release).violations == ()
        assert verify(release, ledger).violations == ()
        for adversary in (None, SeriesAdversary(2, 0.5), SeriesAdversary(None, pattern=True)):
            assert attack(release, ledger, adversary).worst <= 1 / 3 + 1e-12


@FEW
@given(releases(l=2, least_p=2), st.data())
def test_l_is_about_how_often_a_value_stands_in_a_cell(found, data):
    """Two different values are not enough where all rows but one have the same."""
    _, release, _ = found
    large = [rows for rows in cell_rows(release) if len(rows) > 3]
    assume(large)
    rows = data.draw(st.sampled_from(large))
    often = with_some(release, "income", lambda _: 1.0, rows)
    assert "values-below-l" in codes(with_some(often, "income", lambda _: 2.0, rows[-1:]))


def test_groups_of_one_envelope_stand_in_the_order_of_their_rows():
    """Else their order is free, and can tell something."""
    rows = [{"person": f"p{n}", "values": [v, 1.0], "income": n, "ward": 1}
            for n, v in enumerate([1.0, 2.0] * 8)]  # fmt: skip
    matrix = pa.table({"t0": [r["values"][0] for r in rows], "t1": [1.0] * 16, "income": range(16)})
    for method in ("kapra", "adaptive"):
        release, ledger = anonymize_series(
            matrix, Roles(series=["t0", "t1"], sensitive=["income"]), k=4, p=2, method=method, effort=0
        )
        assert codes(release, ledger) == set()
        groups = group_rows(release)
        bounds = [c["name"] for c in release.manifest["columns"] if c["role"] in ("low", "high")]
        shown = release.table.select(bounds).to_pylist()
        tied = [n for n in groups if n + 1 in groups and shown[groups[n][0]] == shown[groups[n + 1][0]]]
        assert len(tied) > 1
        for one in tied:
            other = {one: one + 1, one + 1: one}
            numbers = [other.get(n, n) for n in release.table["group"].to_pylist()]
            order = sorted(range(len(numbers)), key=lambda n: numbers[n])
            turned = with_column(release.table, "group", numbers).take(pa.array(order))
            [violation] = verify(with_table(release, turned)).violations
            assert violation.code == "group"
            assert violation.message == "1 group with the envelope of another not in the order of rows"
