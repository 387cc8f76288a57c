"""Value hierarchies."""

from __future__ import annotations

import datetime as dt
import math
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timeveil as tv
from timeveil.recoding import Hierarchy, hierarchy_from


def published(hierarchy, number, values):
    return hierarchy.level(number, pa.array(values))["published"].to_pylist()


def test_intervals_are_half_open_and_text_columns_are_read_as_numbers():
    """A CSV's cells are text; intervals understand them."""
    ages = Hierarchy.intervals([10, 20], origin=5)
    assert published(ages, 1, ["5", "14", "15", "-6"]) == ["[5, 15)", "[5, 15)", "[15, 25)", "[-15, -5)"]
    assert published(ages, 2, [5, 24, 25]) == ["[5, 25)", "[5, 25)", "[25, 45)"]


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30, unique=True),
    st.sampled_from([[0.1, 0.5], [5, 10, 30], [1, 7, 14, 28]]),
)
def test_interval_levels_nest(values, widths):
    """Values alike at one level are alike at every level above: feasibility stays monotone."""
    hierarchy = Hierarchy.intervals(widths)
    levels = [published(hierarchy, n, values) for n in range(1, hierarchy.top + 1)]
    for fine, coarse in pairwise(levels):
        assert len(set(zip(fine, coarse, strict=True))) == len(set(fine))


def test_large_and_decimal_numbers_keep_their_digits():
    """Interval bounds are exact, whatever the size of the numbers."""
    wide = Hierarchy.intervals([5, 10])
    assert published(wide, 1, [10**13, 10**13 + 7]) == [
        "[10000000000000, 10000000000005)",
        "[10000000000005, 10000000000010)",
    ]
    assert published(wide, 2, [2**62 + 1]) == ["[4611686018427387900, 4611686018427387910)"]
    tenths = Hierarchy.intervals([0.1, 0.5])
    assert published(tenths, 1, [0.3, 0.29]) == ["[0.3, 0.4)", "[0.2, 0.3)"]
    assert published(tenths, 2, ["0.75"]) == ["[0.5, 1)"]
    assert published(tenths, 1, [f"{10**30}.15"]) == [f"[{10**30}.1, {10**30}.2)"]


def test_prefixes_hide_the_rest():
    """Shorter values stay as they are."""
    codes = hierarchy_from("prefixes:3,1")
    assert codes.names == ("first 3", "first 1", "*")
    assert published(codes, 1, ["20133", "20", "çédille"]) == ["201**", "20", "çéd****"]
    assert published(codes, 2, ["20133"]) == ["2****"]
    assert published(codes, 3, ["20133", None]) == ["*", "*"]


def test_null_is_its_own_class_below_the_star():
    """Only the level that says nothing at all takes nulls in."""
    ages = Hierarchy.intervals([10])
    assert published(ages, 1, [3, None]) == ["[0, 10)", None]
    assert published(ages, 2, [3, None]) == ["*", "*"]


@pytest.mark.parametrize("separator", [";", ","])
def test_a_hierarchy_file_has_a_row_per_value_and_a_column_per_level(tmp_path, separator):
    """No header; values from fine to coarse."""
    rows = [("DE", "west", "all"), ("FR", "west", "all"), ("PL", "east", "all")]
    path = tmp_path / "countries.csv"
    path.write_text("".join(separator.join(row) + "\n" for row in rows), encoding="utf-8")
    countries = hierarchy_from(path)
    assert countries.names == ("level 1", "*")
    assert published(countries, 1, ["PL", "DE"]) == ["east", "west"]
    assert published(countries, 2, ["PL", None]) == ["all", "all"]


BAD = {
    "a level that splits the one below": pa.table({"v": ["a", "b"], "one": ["x", "x"], "two": ["p", "q"]}),
    "a value twice": pa.table({"v": ["a", "a"], "one": ["x", "x"]}),
    "no level": pa.table({"v": ["a"]}),
}


@pytest.mark.parametrize("table", BAD.values(), ids=BAD.keys())
def test_a_table_that_is_no_hierarchy_is_refused(table):
    """Each level must coarsen the last."""
    with pytest.raises(tv.ParameterError) as caught:
        Hierarchy.from_table(table)
    assert caught.value.code == "bad-hierarchy"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Hierarchy.intervals([]),
        lambda: Hierarchy.intervals([10, 5]),
        lambda: Hierarchy.intervals([0]),
        lambda: Hierarchy.intervals([10, 15]),
        lambda: Hierarchy.prefixes([2, 3]),
        lambda: hierarchy_from("intervals:wide"),
        lambda: hierarchy_from("prefixes:"),
        lambda: hierarchy_from("bogus:3"),
    ],
)
def test_rules_with_bad_numbers_are_refused(make):
    """From fine to coarse, each a multiple of the one before."""
    with pytest.raises(tv.ParameterError) as caught:
        make()
    assert caught.value.code == "bad-hierarchy"


def test_values_missing_from_a_table_are_counted_not_shown():
    """The message has numbers, no value."""
    hierarchy = Hierarchy.from_table(pa.table({"v": ["a"], "one": ["x"]}))
    with pytest.raises(tv.InputError, match="lacks 2 of the 3 values") as caught:
        hierarchy.level(1, pa.array(["a", "canary-1", "canary-2"]))
    assert "canary" not in str(caught.value)


def test_intervals_for_words_are_refused():
    """A column that is not all numbers has no intervals."""
    with pytest.raises(tv.InputError, match="not all numbers") as caught:
        Hierarchy.intervals([5]).level(1, pa.array(["5", "canary"]))
    assert "canary" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_missing_hierarchy_file_is_named(tmp_path):
    """By its name, with something to do."""
    with pytest.raises(tv.InputError, match=r"ages\.csv"):
        hierarchy_from(tmp_path / "ages.csv")


def test_a_hierarchy_for_another_column_is_refused():
    """Only quasi-identifiers are generalised."""
    table = pa.table({"who": ["a"], "when": ["2006-01-01"], "age": [1]})
    with pytest.raises(tv.ParameterError, match="not a quasi-identifier"):
        tv.generalize_time(
            table,
            tv.Roles(respondent="who", time="when", keep=["age"]),
            2,
            hierarchies={"age": "intervals:5"},
        )


AGES = pa.table(
    {
        "who": list("abcdefgh"),
        "when": ["2024-01-01"] * 8,
        "age": [21, 22, 23, 24, 31, 32, 33, 34],
        "zip": ["1"] * 8,
    }
)
AGE_ROLES = tv.Roles(respondent="who", time="when", quasi=["age", "zip"])


@pytest.mark.parametrize(("level", "groups"), [(1, 2), (2, 1)])
def test_a_level_can_be_pinned(level, groups):
    """The search then uses that level alone."""
    release, ledger = tv.generalize_time(
        AGES, AGE_ROLES, 4, hierarchies={"age": "intervals:10,40"}, levels={"age": level}
    )
    assert release.manifest["levels"]["age"]["level"] == level
    assert release.manifest["counts"]["groups"] == groups
    assert {node["levels"]["age"]["level"] for node in release.manifest["nodes"]} == {level}
    assert tv.verify(release, ledger)


def test_a_pinned_level_may_be_infeasible():
    """Level 0 is the value itself, and nobody shares an age here."""
    with pytest.raises(tv.InfeasibleError):
        tv.generalize_time(AGES, AGE_ROLES, 4, hierarchies={"age": "intervals:10"}, levels={"age": 0})


@pytest.mark.parametrize("levels", [{"age": 4}, {"age": -1}, {"zip": 1}, {"nobody": 0}])
def test_levels_that_are_not_there_are_refused(levels):
    """With what there is."""
    with pytest.raises(tv.ParameterError) as caught:
        tv.generalize_time(AGES, AGE_ROLES, 4, hierarchies={"age": "intervals:10,40"}, levels=levels)
    assert caught.value.code == "bad-hierarchy"


BIRTHS = ["1958-03-31", "1958-04-01", "1919-07-02", "2016-02-29", "1960-12-31"]


@pytest.mark.parametrize("way", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "date", "clock"])
def test_birth_dates_are_generalised_however_they_are_written(way):
    """Text in every way that the reader knows, dates, and readings of a clock."""
    days = [dt.date.fromisoformat(text) for text in BIRTHS]
    values = {"date": days, "clock": [dt.datetime.combine(day, dt.time(23, 59)) for day in days]}
    born = hierarchy_from("calendar:month,quarter,year,5-years,decade")
    assert born.names == ("month", "quarter", "year", "5-years", "decade", "*")
    written = [*values.get(way, [day.strftime(way) for day in days]), None]
    levels = [published(born, number, written)[:2] for number in range(1, 7)]
    assert levels == [
        ["1958-03", "1958-04"],
        ["1958-Q1", "1958-Q2"],
        ["1958", "1958"],
        ["1955 to 1959"] * 2,
        ["1950s"] * 2,
        ["*", "*"],
    ]
    assert published(born, 3, written)[-1] is None


@given(
    st.lists(st.dates(dt.date(1800, 1, 1), dt.date(2100, 1, 1)), min_size=1, max_size=30, unique=True),
    st.sampled_from(
        ["calendar:day,week,iso-year", "calendar:month,half-year,5-years,decade:1901-02-03..2001-01-01"]
    ),
)
def test_periods_of_dates_nest(values, rule):
    hierarchy = hierarchy_from(rule)
    levels = [published(hierarchy, n, values) for n in range(1, hierarchy.top + 1)]
    for fine, coarse in pairwise(levels):
        assert len(set(zip(fine, coarse, strict=True))) == len(set(fine))


@given(
    st.lists(st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6)), min_size=1, max_size=30),
    st.sampled_from(["log:2,4,16", "log:3,9", "log:2,8:-5..1000", "intervals:5,10:18..87"]),
)
def test_intervals_of_growing_and_of_coded_numbers_nest_and_contain_them(values, rule):
    hierarchy, texts = hierarchy_from(rule), [str(value) for value in values]
    levels = [published(hierarchy, n, texts) for n in range(1, hierarchy.top + 1)]
    for fine, coarse in pairwise(levels):
        assert len(set(zip(fine, coarse, strict=True))) == len(set(fine))
    for label, value in zip(levels[0] + levels[1], values * 2, strict=True):
        low, high = bounds(label)
        assert low <= value < high


def bounds(label):
    """The numbers that a label contains, as documented."""
    if label.startswith("below "):
        return -math.inf, float(label[6:])
    if label.endswith(" or more"):
        return float(label[:-8]), math.inf
    low, high = label[1:-1].split(", ")
    return float(low), float(high)


def test_powers_begin_an_interval_and_small_numbers_share_one():
    stays = hierarchy_from("log:2,4")
    assert published(stays, 1, [0, 0.5, 1, 2, 4, 7]) == [
        "[0, 1)",
        "[0, 1)",
        "[1, 2)",
        "[2, 4)",
        "[4, 8)",
        "[4, 8)",
    ]
    assert published(stays, 2, [4, 15, 16]) == ["[4, 16)", "[4, 16)", "[16, 64)"]
    assert published(stays, 1, [-0.5, -1, -1.5, -2, -4]) == [
        "[-1, 0)",
        "[-1, 0)",
        "[-2, -1)",
        "[-2, -1)",
        "[-4, -2)",
    ]


def test_outliers_are_coded_at_every_level_and_their_values_are_never_published():
    """The oldest are singled out by their age alone; coding them is worth nothing if level 0 shows them."""
    ages = hierarchy_from("intervals:5,10:18..87")
    assert published(ages, 1, [3, 18, 86, 87, 104]) == [
        *("below 18", "[18, 20)", "[85, 87)"),
        *("87 or more", "87 or more"),
    ]
    table = pa.table({"who": range(4), "when": ["2024-04-01"] * 4, "age": [99, 99, 99, 99]})
    roles = tv.Roles(respondent="who", time="when", quasi=["age"])
    release, _ = tv.generalize_time(table, roles, 4, hierarchies={"age": "intervals:5,10:..90"})
    assert set(release.table["age"].to_pylist()) == {"90 or more"}
    with pytest.raises(tv.ParameterError, match="go from 1 to 3"):
        tv.generalize_time(table, roles, 4, hierarchies={"age": "intervals:5,10:..90"}, levels={"age": 0})


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("calendar:week,month", "each inside the next"),
        ("calendar:year,month", "each inside the next"),
        ("calendar:", "is not a granularity"),
        ("calendar:hour", "cannot be generalised to `hour`"),
        ("calendar:business-day", "cannot be generalised to `business-day`"),
        ("calendar:year:1930..", "not a date"),
        ("calendar:year:2000-01-01..1999-01-01", "not above the lower"),
        ("log:2,6", "a power of the one before"),
        ("log:1", "a power of the one before"),
        ("log:two", "needs numbers"),
        ("intervals:5:90", "LOW..HIGH"),
        ("intervals:5:..", "LOW..HIGH"),
        ("intervals:5:90..18", "not above the lower"),
        ("intervals:5:old..90", "needs numbers"),
    ],
)
def test_a_rule_that_makes_no_hierarchy_is_refused(rule, message):
    with pytest.raises(tv.ParameterError, match=message) as caught:
        hierarchy_from(rule)
    assert caught.value.hint


@pytest.mark.parametrize(
    "values", [["1958-03-31", "canary"], ["03/04/1958"], [1958, 1960], ["1958-03-31", ""]]
)
def test_periods_of_what_is_not_dates_are_refused(values):
    """Also where day and month could change places, and years alone."""
    with pytest.raises(tv.InputError, match="not all dates") as caught:
        hierarchy_from("calendar:year").level(1, pa.array(values))
    assert "canary" not in str(caught.value)
