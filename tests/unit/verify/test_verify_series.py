"""What `verify` says of a series release, and of Table 3 of Shou et al. 2013; never a value."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import judges_series as oracle
from tests.sabotage.valid import made

from timeveil.domain.guarantee import KAnonymity, KPAnonymity
from timeveil.domain.relation import Relation
from timeveil.domain.release import Ledger, Release
from timeveil.domain.roles import Roles
from timeveil.judging import is_well_formed, verify
from timeveil.models.series.method import anonymize_series

YEARS = ["2005", "2006", "2007", "2008", "2009", "2010"]
TABLE_1 = {
    "Alice": ([170, 175, 188, 197, 213, 221], 200),
    "Bob": ([145, 157, 165, 177, 204, 196], 180),
    "Cathy": ([176, 181, 147, 134, 125, 112], 160),
    "David": ([98, 120, 125, 132, 151, 161], 110),
    "Jane": ([117, 107, 87, 74, 51, 56], 85),
    "Lily": ([32, 54, 59, 67, 96, 101], 90),
    "Mary": ([88, 93, 56, 43, 20, 25], 55),
    "Steve": ([71, 63, 47, 38, 43, 20], 46),
}
HIGH = [(117, 176), (107, 181), (87, 188), (74, 197), (51, 213), (56, 221)]
LOW = [(32, 98), (54, 120), (47, 125), (38, 132), (20, 151), (20, 161)]
# The print leaves the level out: at 3 only bbbaaa would not be the own pattern of its two, at 2 it is.
TABLE_3 = [
    ("Alice", HIGH, "aabbcc", 3), ("Bob", HIGH, "aabbcc", 3), ("Cathy", HIGH, "ccbbaa", 3),
    ("Jane", HIGH, "ccbbaa", 3), ("David", LOW, "abbbcc", 3), ("Lily", LOW, "abbbcc", 3),
    ("Mary", LOW, "bbbaaa", 2), ("Steve", LOW, "bbbaaa", 2),
]  # fmt: skip


def table_3(left_out: str | None = None) -> tuple[Release, Ledger]:
    """The published table of the paper with k = 4 and P = 2, in our columns and order."""
    lines = []
    for name, envelope, pattern, level in TABLE_3:
        bounds = {f"{y}_{end}": float(b) for y, both in zip(YEARS, envelope, strict=True)
                  for end, b in zip(("lo", "hi"), both, strict=True)}  # fmt: skip
        group = 1 if envelope is LOW else 2
        lines.append((name, {"group": group, **bounds, "pattern": pattern, "level": level,
                             "2011": TABLE_1[name][1]}))  # fmt: skip
    lines = sorted((line for line in lines if line[0] != left_out), key=lambda line: list(line[1].values()))
    schema = pa.schema(
        {"group": pa.int32(), **{n: pa.float64() for n in lines[0][1] if n.endswith(("_lo", "_hi"))},
         "pattern": pa.string(), "level": pa.int16(), "2011": pa.int64()}
    )  # fmt: skip
    roles = {"group": "group", "pattern": "pattern", "level": "level", "2011": "sensitive"}
    ends = {"_lo": "low", "_hi": "high"}
    columns = [
        {"name": f.name, "role": roles.get(f.name) or ends[f.name[-3:]], "type": str(f.type)} for f in schema
    ]
    promise = KPAnonymity(4, 2)
    manifest = {
        "format": 1, "model": "series", "tool": "timeveil 0.1.0", "guarantee": promise.as_dict(),
        "series": {"instants": YEARS, "values": YEARS, "pattern": YEARS, "center": "median", "levels": "one",
                   "own_patterns": True, "perturbed": []},
        "columns": columns,
        "parameters": {"k": 4, "p": 2, "l": None, "method": "kapra", "shape_weight": None, "effort": None,
                       "max_level": 3, "center": "median", "round_outward": None, "adoption": False,
                       "exact": True, "fill": None, "publish_values": None, "publish_pattern": None},
        "counts": {"rows": len(lines), "groups": 2, "cells": 4, "suppressed": 0},
    }  # fmt: skip
    table = pa.Table.from_pylist([line for _, line in lines], schema=schema)
    years = {y: [float(v[t]) for v, _ in TABLE_1.values()] for t, y in enumerate(YEARS)}
    original = pa.table(
        {"name": list(TABLE_1), **years,
         "2011": [income for _, income in TABLE_1.values()]}
    )  # fmt: skip
    keys = list(dict.fromkeys((line["group"], line["pattern"]) for _, line in lines))
    placed = {name: (line["group"], keys.index((line["group"], line["pattern"])) + 1) for name, line in lines}
    where = [placed.get(name, (None, None)) for name in TABLE_1]
    entries = pa.table({"row": range(8), "group": [g for g, _ in where], "subgroup": [c for _, c in where]})
    relation = Relation(Roles(respondent="name", series=YEARS, sensitive=["2011"]), original)
    return Release(promise, manifest, {"data": table}), Ledger("series", entries, relation)


def found(release, ledger=None) -> dict[str, str]:
    verdict = verify(release, ledger)
    assert not verdict
    return {v.code: v.message for v in verdict.violations}


def test_table_3_of_the_paper_holds():
    release, ledger = table_3()
    outside, inside = verify(release), verify(release, ledger)
    assert outside.violations == inside.violations == ()
    assert (outside.scope, inside.scope) == ("recipient", "with ledger")
    assert set(outside.checks) < set(inside.checks)
    assert "every envelope is shared by at least 4 rows" in outside.checks
    assert "every pattern of a group is shared by at least 2 of its rows" in outside.checks
    assert is_well_formed(release)


@pytest.mark.parametrize("name", list(TABLE_1))
def test_table_3_one_person_short_is_refused(name):
    release, ledger = table_3(left_out=name)
    said = found(release)
    assert said == {
        "group-below-k": "1 group with fewer than 4 rows; the smallest has 3",
        "cell-below-p": "1 cell with fewer than 2 rows; the smallest has 1",
    }
    assert "suppressed" in found(release, ledger)


def test_table_3_is_not_its_own_at_the_mean():
    """The text centres on the mean, the worked table on the median."""
    release, ledger = table_3()
    manifest = {**release.manifest, "series": {**release.manifest["series"], "center": "mean"},
                "parameters": {**release.manifest["parameters"], "center": "mean"}}  # fmt: skip
    said = found(replace(release, manifest=manifest), ledger)
    assert set(said) == {"pattern-not-own"}


def test_no_violation_quotes_a_value():
    """Everything is wrong at once, and nothing of it is told."""
    release, ledger = table_3()
    lines = release.table.to_pylist()
    for n, line in enumerate(lines):
        line["2011"] += 777_000
        line["2005_lo"] -= 777.25 * n
    wrong = replace(release, parts={"data": pa.Table.from_pylist(lines, schema=release.table.schema)})
    verdict = verify(wrong, ledger)
    assert {"envelope-differs", "row-values"} <= {v.code for v in verdict.violations}
    assert "777" not in repr(verdict)


def test_tables_columns_and_types_are_those_that_are_stated():
    release, _ = table_3()
    given = release.table

    def tables(**parts):
        return found(replace(release, parts=parts))

    assert "does not list: age" in tables(data=given.append_column("age", pa.array([1] * 8)))["columns"]
    assert "lacks columns" in tables(data=given.drop(["level"]))["columns"]
    assert "stated order" in tables(data=given.select(given.column_names[::-1]))["columns"]
    place = given.schema.get_field_index("2005_lo")
    text = given.set_column(place, "2005_lo", given["2005_lo"].cast(pa.string()))
    assert "does not hold numbers" in tables(data=text)["columns"]
    wide = given.set_column(0, "group", given["group"].cast(pa.int64()))
    assert tables(data=wide)["columns"] == "column `group` is not of the stated type"
    assert "2 tables" in tables(data=given, more=given)["tables"]
    assert tables(more=given) == {"tables": "the release has 1 table, not `data` alone"}


def test_roles_follow_from_the_instants():
    release, _ = table_3()
    columns = [dict(column) for column in release.manifest["columns"]]
    columns[1]["role"], columns[2]["role"] = "high", "low"
    assert "columns" in found(replace(release, manifest={**release.manifest, "columns": columns}))


def test_a_level_per_instant_is_a_list_and_one_level_is_none():
    case = oracle.Case(oracle.people(random.Random(1), 12, 4))  # noqa: S311
    release, _ = oracle.build(case)
    place = release.table.schema.get_field_index("level")
    ones = release.table.set_column(place, "level", pa.array([1] * release.table.num_rows, pa.int16()))
    assert "columns" in found(replace(release, parts={"data": ones}))


def test_another_promise_is_another_check():
    release, _ = table_3()
    assert "manifest" in found(Release(KAnonymity(2), release.manifest, release.parts))


def test_another_ledger_is_refused():
    release, ledger = table_3()
    original = ledger.original
    renamed = Relation(replace(original.roles, sensitive=(), drop=("2011",)), original.data.drop(["2011"]))
    assert "columns" in found(release, replace(ledger, original=renamed))
    texts = original.data.set_column(1, "2005", pa.array(["x"] * 8))
    assert found(release, replace(ledger, original=Relation(original.roles, texts))) == {
        "ledger": "a column of the original does not hold numbers"
    }
    twice = original.data.set_column(0, "name", pa.array(["a"] * 8))
    said = found(release, replace(ledger, original=Relation(original.roles, twice)))
    assert said["person-twice"] == "7 series of a person who has one already"


def test_huge_and_tiny_values_are_judged_without_a_warning():
    rows = oracle.people(random.Random(2), 12, 4)  # noqa: S311
    for row in rows:
        row["values"] = [v * 1e300 for v in row["values"]]
    case = oracle.Case(rows, k=3, p=2, method="representative")
    with np.errstate(all="raise"):
        release, ledger = oracle.build(
            replace(case, rows=[{**r, "values": [v / 1e300 for v in r["values"]]} for r in rows])
        )
    large = {f"t{t}": [row["values"][t] for row in rows] for t in range(4)}
    assert max(map(max, large.values())) > 1e300
    table = ledger.original.data
    for name, values in large.items():
        table = table.set_column(table.schema.get_field_index(name), name, pa.array(values))
    assert "outside-envelope" in found(
        release, replace(ledger, original=Relation(ledger.original.roles, table))
    )


@pytest.mark.parametrize("method", ["adaptive", "kapra"])
@pytest.mark.parametrize(("offset", "step"), [(1e15, 1.0), (1e9, 1e-6), (1e6, 1e-9)])
def test_patterns_of_a_small_spread_far_from_0_are_own_and_a_false_one_is_noticed(method, offset, step):
    matrix = offset + (np.arange(12) + np.random.default_rng(5).integers(0, 3, (60, 12))) * step
    names = [f"t{n}" for n in range(12)]
    table = pa.table(dict(zip(names, matrix.T, strict=True)))
    release, ledger = anonymize_series(
        table, Roles(series=names), k=6, p=3, effort=0, method=method, round_outward=None
    )
    assert verify(release, ledger).violations == ()
    lines, one = release.table.to_pylist(), release.manifest["series"]["levels"] == "one"
    shown = [(n["group"], n["pattern"], tuple([n["level"]] * 12 if one else n["level"])) for n in lines]
    cells = list(dict.fromkeys(shown))
    for row, cell in zip(matrix.tolist(), ledger.table["subgroup"].to_pylist(), strict=True):
        _, pattern, levels = cells[cell - 1]
        z = oracle.z_of([float((Fraction(v) - Fraction(min(row))) / Fraction(step)) for v in row], "mean")
        for letter, level, at in zip(pattern, levels, z, strict=True):
            borders = [-np.inf, *oracle.borders(level), np.inf]
            symbol = oracle.LETTERS.index(letter)
            assert borders[symbol] - 1e-9 <= at < borders[symbol + 1] + 1e-9
    turned = [
        "".join(oracle.LETTERS[v - 1 - oracle.LETTERS.index(c)] for c, v in zip(text, levels, strict=True))
        for _, text, levels in shown
    ]
    place = release.table.schema.get_field_index("pattern")
    false = replace(release, parts={"data": release.table.set_column(place, "pattern", pa.array(turned))})
    assert "pattern-not-own" in found(false, ledger)


def test_an_original_of_whole_numbers_that_no_float_holds_is_not_judged_by_other_numbers():
    """The envelope would hold the rounded value and not the true one."""
    release, ledger = table_3()
    original = ledger.original
    income = pa.array([2**53 + 1, 1, 2, 3, 4, 5, 6, 7])
    data = original.data.set_column(1, "2005", income)
    assert found(release, replace(ledger, original=Relation(original.roles, data))) == {
        "ledger": "a column of the original has whole numbers that no float can hold exactly"
    }


@pytest.mark.parametrize(
    ("bound", "sound"),
    [
        *((np.nextafter(1e-300, 0), False), (5e-324, False), (1e-300, True), (0.0, True), (-0.0, False)),
        *((-1e300, True), (np.nextafter(-1e300, -np.inf), False), (-np.inf, False), (np.nan, False)),
        *((98.0, True), (np.nextafter(98.0, 99.0), False)),  # the least high
    ],
)
def test_a_bound_is_a_number_with_digits_and_no_low_is_above_its_high(bound, sound):
    release, _ = table_3()
    lines = [{**line, "2005_lo": float(bound)} for line in release.table.to_pylist()]
    parts = {"data": pa.Table.from_pylist(lines, schema=release.table.schema)}
    codes = {violation.code for violation in verify(replace(release, parts=parts)).violations}
    assert ("envelope" in codes) is not sound


@pytest.mark.parametrize(
    ("code", "changed"),
    [
        ("pattern", {"max_level": 2}),
        ("statements", {"shape_weight": 50}),
        ("statements", {"effort": 0}),
        ("statements", {"adoption": None}),
        ("statements", {"exact": None}),
        (
            "statements",
            {"method": "adaptive", "adoption": None, "exact": None, "shape_weight": 1, "effort": 1},
        ),
        ("statements", {"publish_values": [*YEARS[1:], YEARS[0]]}),
        ("statements", {"publish_pattern": [*YEARS, YEARS[0]]}),
        ("manifest", {"effort": 10**30}),
        ("manifest", {"shape_weight": 1e300}),
        ("manifest", {"round_outward": 0}),
        ("manifest", {"round_outward": 16}),
    ],
)
def test_parameters_are_those_that_the_method_has_and_within_bounds(code, changed):
    release, _ = table_3()
    parameters = {**release.manifest["parameters"], **changed}
    assert code in found(replace(release, manifest={**release.manifest, "parameters": parameters}))


@pytest.mark.parametrize(
    ("name", "kind"), [("group", pa.int64()), ("level", pa.int32()), ("level", pa.uint8())]
)
def test_whole_numbers_are_of_one_type(name, kind):
    release, _ = table_3()
    place = release.table.schema.get_field_index(name)
    table = release.table.set_column(place, name, release.table[name].cast(kind))
    columns = [dict(c, type=str(kind)) if c["name"] == name else c for c in release.manifest["columns"]]
    manifest = {**release.manifest, "columns": columns}
    assert "columns" in found(replace(release, manifest=manifest, parts={"data": table}))


def test_instants_asked_for_in_another_order_or_twice_are_stated_in_theirs():
    table = pa.table({f"t{n}": [float(n), 1.0, 2.0, 3.0] for n in range(3)})
    release, ledger = anonymize_series(
        table, Roles(series=["t0", "t1", "t2"]), k=2, p=2, effort=0, publish_values=["t2", "t0", "t2"]
    )
    assert release.manifest["parameters"]["publish_values"] == ["t0", "t2"]
    assert verify(release, ledger).violations == ()


@pytest.mark.parametrize("rounded", [None, 3])
@pytest.mark.parametrize("kind", ["blanks", "decimal", "wide", "large"])
def test_numbers_are_read_as_the_method_reads_them(kind, rounded):
    """Blanks around a number of a CSV file, and decimals, whose nearest float Arrow may miss."""
    values = [f"{value / 100:.2f}" for value in range(1000, 1060)]
    made = {
        "blanks": pa.array([f" {value}\t" for value in values[:-1]] + [" +9.5 "]),
        "decimal": pa.array([Decimal(value) for value in values], pa.decimal128(10, 2)),
        "wide": pa.array([Decimal(value) for value in values], pa.decimal256(45, 2)),
        "large": pa.array([f" {value}" for value in values], pa.large_string()),
    }[kind]
    roles = Roles(series=["a", "b"])
    pair = anonymize_series(
        pa.table({"a": made, "b": made.take(pa.array(range(59, -1, -1)))}), roles, k=4, p=2, method="naive",
        round_outward=rounded,
    )  # fmt: skip
    assert verify(*pair).violations == ()


def test_a_cell_of_blanks_is_a_gap():
    """The method fills it; so does the verifier."""
    column = pa.array([" 1", "2 ", "  ", "4", "5", "6"])
    table = pa.table({"a": column, "b": column.take(pa.array([5, 4, 3, 1, 0, 0]))})
    pair = anonymize_series(table, Roles(series=["a", "b"]), k=2, p=1, method="naive", fill="forward")
    assert verify(*pair).violations == ()


def test_values_that_cannot_be_compared_with_the_originals_are_a_violation():
    release, ledger = table_3()
    incomes = pa.array([[income] for income in ledger.original.data["2011"].to_pylist()])
    data = ledger.original.data.set_column(ledger.original.data.column_names.index("2011"), "2011", incomes)
    said = found(release, replace(ledger, original=Relation(ledger.original.roles, data)))
    assert said == {"row-values": "column `2011` cannot be compared with the original's"}


@pytest.mark.parametrize("instants", [[], [*YEARS, YEARS[0]]])
def test_instants_are_stated_and_none_twice(instants):
    release, _ = table_3()
    manifest = {**release.manifest, "series": {**release.manifest["series"], "instants": instants}}
    messages = [violation.message for violation in verify(replace(release, manifest=manifest)).violations]
    assert "the manifest has no instants, or one of them twice" in messages


def test_values_that_are_no_numbers_cannot_be_promised_l():
    release, _ = made("series, naive, l", 0)
    income = release.table.schema.get_field_index("income")
    table = release.table.set_column(income, "income", pa.array(["x"] * release.table.num_rows))
    columns = [{**c, "type": "string"} if c["name"] == "income" else c for c in release.manifest["columns"]]
    lie = replace(release, manifest={**release.manifest, "columns": columns}, parts={"data": table})
    assert found(lie)["values-below-l"] == (
        "column `income` does not hold numbers, and only numbers are changed for l"
    )


def test_the_last_letter_of_the_highest_level_has_no_upper_border():
    names = list("abcdefgh")
    table = pa.table({name: [9.0 * (name == "h")] * 6 for name in names})
    release, ledger = anonymize_series(table, Roles(series=names), k=3, p=2, max_level=52, method="kapra")
    assert set(release.table["pattern"].to_pylist()) == {"sssssssZ"}
    assert verify(release, ledger).violations == ()


def test_a_row_of_the_original_without_a_time_is_a_value_of_nobody():
    release, ledger = made("series, kapra, long", 0)
    rows = ledger.original.table
    more = pa.Table.from_pylist([{**rows.to_pylist()[4], "at": None}], schema=rows.schema)
    entry = pa.Table.from_pylist([{"row": rows.num_rows}], schema=ledger.table.schema)
    original = replace(ledger.original, data=pa.concat_tables([rows, more]))
    entries = pa.concat_tables([ledger.table, entry])
    assert verify(release, replace(ledger, original=original, entries=entries)).violations == ()


@pytest.mark.parametrize("role", ["respondent", "time", "value"])
def test_a_ledger_without_series_is_not_that_of_the_release(role):
    release, ledger = made("series, kapra, long", 0)
    roles = replace(ledger.original.roles, **{role: None})
    other = replace(ledger, original=replace(ledger.original, roles=roles))
    assert found(release, other) == {"ledger": "the ledger is not that of this release"}


@pytest.mark.parametrize(
    ("groups", "turned"),
    [
        (["1 000", "1 0000", "5 000000"], False),
        (["1 0000", "1 000", "5 000000"], True),
        (["1 999", "5 122", "5 133"], False),
        (["1 999", "5 133", "5 122"], True),
        (["1 999", "5 122", "5 1224"], False),
        (["1 999", "5 1224", "5 122"], True),
        (["1 000", "1 0000", "5 1333", "5 122"], True),
        (["1 0000", "1 000", "5 133", "5 122"], True),
        (["1 111", "3 000", "3 000", "5 444", "5 444", "5 555"], False),
    ],
)
def test_of_groups_that_show_the_same_the_smaller_or_that_of_lesser_rows_comes_first(groups, turned):
    """Each is the value of all its instants, and what its rows keep."""
    parts = [group.split() for group in groups]
    values = [float(value) for value, kept in parts for _ in kept]
    wards = [int(ward) for _, kept in parts for ward in kept]
    table = pa.table({"a": values, "b": values, "ward": wards})
    release, _ = anonymize_series(table, Roles(series=["a", "b"], keep=["ward"]), k=3, p=3)
    numbers = [number for number, (_, kept) in enumerate(parts, 1) for _ in kept]
    data = release.table.set_column(0, "group", pa.array(numbers, pa.int32()))
    data = data.set_column(data.column_names.index("ward"), "ward", pa.array(wards))
    counts = {**release.manifest["counts"], "groups": len(groups), "cells": len(groups)}
    renumbered = replace(release, manifest={**release.manifest, "counts": counts}, parts={"data": data})
    assert [violation.code for violation in verify(renumbered).violations] == ["group"] * turned
