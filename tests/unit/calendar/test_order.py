"""Which granularity is finer than which."""

from __future__ import annotations

import pyarrow as pa
import pytest

from timeveil.calendar.catalogue import CATALOGUE, resolve
from timeveil.calendar.civil import civil_second
from timeveil.calendar.definitions import (
    boundaries,
    business_days,
    business_periods,
    day_parts,
    groups_of,
    terms,
)
from timeveil.calendar.granularity import Granularity
from timeveil.calendar.order import Order, is_finer_than, up
from timeveil.domain.relation import TimeAxis

c = CATALOGUE


@pytest.mark.parametrize(
    ("g", "h"),
    [
        ("day", "week"),
        ("day", "month"),
        ("week", "iso-year"),
        ("business-day", "day"),
        ("business-day", "week"),
        ("business-day", "month"),
        ("business-day", "business-month"),
        ("business-month", "month"),
        ("hour", "day-part"),
        ("hour", "shift"),
        ("month", "academic-term"),
        ("second", "decade"),
        ("day-part", "all"),
        ("year", "year"),
    ],
)
def test_finer(g: str, h: str) -> None:
    assert is_finer_than(c[g], c[h])


@pytest.mark.parametrize(
    ("g", "h"),
    [
        ("week", "month"),
        ("week", "year"),
        ("month", "week"),
        ("week", "week-sunday"),
        ("iso-year", "year"),
        ("year", "iso-year"),
        ("iso-year", "decade"),
        ("week", "decade"),
        ("day", "business-day"),
        ("month", "business-month"),
        ("week", "business-month"),
        ("business-month", "business-day"),
        ("day-part", "day"),
        ("6-hours", "day-part"),
        ("6-hours", "shift"),
        ("day", "day-part"),
        ("quarter", "academic-term"),
        ("academic-term", "year"),
        ("all", "decade"),
        ("hour", "business-day"),
        ("day", "hour"),
    ],
)
def test_not_finer(g: str, h: str) -> None:
    assert not is_finer_than(c[g], c[h])


def test_the_graph_of_the_catalogue() -> None:
    order = Order(CATALOGUE.values())
    graph = {g.name: [h.name for h in order.directly_coarser(g)] for g in order.granularities}
    assert graph["hour"] == ["6-hours", "day-part", "shift"]
    assert graph["day"] == ["week", "week-sunday", "month"]
    assert graph["week"] == ["iso-year"]
    assert graph["month"] == ["quarter", "academic-term"]
    assert graph["business-day"] == ["day", "business-month"]
    assert graph["all"] == []


def test_a_boundary_that_differs_once_in_400_years_is_noticed() -> None:
    """Groups of 100 years and of 400 weeks; a week straddles the turn of 2400 but not that of 2000."""
    assert not is_finer_than(c["week"], groups_of("cycle", "year", 400))
    assert is_finer_than(c["decade"], groups_of("century", "year", 100))
    assert not is_finer_than(c["decade"], groups_of("odd-century", "year", 100, anchor="1905-01-01"))


def test_groups_of_clock_time_are_compared_exactly() -> None:
    seven, fourteen = groups_of("7-minutes", "minute", 7), groups_of("14-minutes", "minute", 14)
    assert is_finer_than(seven, fourteen)
    assert not is_finer_than(seven, c["hour"])
    assert not is_finer_than(seven, c["month"])
    assert is_finer_than(c["minute"], seven)
    assert is_finer_than(groups_of("12-hours", "hour", 12), c["day"])
    assert not is_finer_than(groups_of("36-hours", "hour", 36), c["week"])
    assert is_finer_than(groups_of("28-hours", "hour", 28, anchor="2006-01-02"), c["week"])


def test_day_parts_with_a_cut_at_midnight_lie_in_days() -> None:
    halves = day_parts("half-day", {"am": "00:00", "pm": "12:00"})
    quarters = day_parts("quarter-day", {"a": "00:00", "b": "06:00", "c": "12:00", "d": "18:00"})
    assert is_finer_than(halves, c["day"])
    assert is_finer_than(halves, c["month"])
    assert is_finer_than(quarters, halves)
    assert is_finer_than(quarters, c["6-hours"])
    assert is_finer_than(c["6-hours"], quarters)
    assert not is_finer_than(halves, c["business-day"])
    assert not is_finer_than(halves, c["hour"])
    assert is_finer_than(halves, groups_of("two", halves, 2))


def test_lists_of_boundaries_are_compared_over_their_range() -> None:
    years = boundaries("two-years", ["2005-01-01", "2006-01-01", "2007-01-01"])
    wave = boundaries("wave", ["2005-03-01", "2005-04-01", "2005-04-15"])
    assert is_finer_than(years, c["year"])
    assert not is_finer_than(c["year"], years)
    assert is_finer_than(wave, years)
    assert not is_finer_than(years, wave)
    assert is_finer_than(wave, c["month"])
    assert not is_finer_than(wave, c["week"])
    assert is_finer_than(boundaries("talk", ["2006-01-01 10:00", "2006-01-01 10:20"]), c["hour"])


def test_holidays_far_away_count() -> None:
    ours = business_days("ours", holidays=["1850-03-05", "2450-03-02"])
    assert is_finer_than(ours, c["business-day"])
    assert not is_finer_than(c["business-day"], ours)
    months = business_periods("our-month", "month", holidays=["2450-03-02"])
    assert not is_finer_than(c["business-day"], months)
    assert is_finer_than(business_days("b", holidays=["2450-03-02"]), months)
    assert not is_finer_than(c["business-month"], groups_of("g", ours, 5))


def test_terms_with_gaps() -> None:
    term = terms("term", {"autumn": "09-01", "spring": "02-01", "break": "07-01"}, gaps=["break"])
    assert not is_finer_than(c["month"], term)
    assert is_finer_than(term, c["academic-term"])
    assert not is_finer_than(c["academic-term"], term)


def test_of_two_equal_cuts_the_first_counts_as_finer() -> None:
    twin = groups_of("7-days", "day", 7, anchor="2006-01-02")
    order = Order([c["week"], twin, c["all"]])
    assert [g.name for g in order.directly_coarser(c["week"])] == ["7-days"]
    assert [g.name for g in order.directly_coarser(twin)] == ["all"]


def test_relative_granularities_have_an_order_of_their_own() -> None:
    day, week = resolve(["day", "week"], TimeAxis("relative", pa.int64(), unit="day"))
    assert is_finer_than(day, week)
    assert not is_finer_than(day, c["week"])
    assert not is_finer_than(week, c["month"])
    phase = boundaries("phase", [0, 7, 14], unit="day")
    assert is_finer_than(phase, week)
    assert not is_finer_than(boundaries("odd", [0, 6, 14], unit="day"), week)


def _z(g: Granularity, text: str) -> int:
    return int(g.index([civil_second(text, of="test")])[0])


def test_a_list_of_terms_that_is_the_year_is_as_fine_as_the_year() -> None:
    single = terms("single", {"a": "01-01"})
    assert is_finer_than(single, c["year"])
    assert is_finer_than(c["year"], single)


def test_up_is_undefined_where_nothing_holds_the_granule() -> None:
    assert up(_z(c["week"], "2006-01-10"), c["week"], c["month"]) == _z(c["month"], "2006-01-10")
    assert up(_z(c["week"], "2006-01-31"), c["week"], c["month"]) is None
    assert up(_z(c["day"], "2006-01-07"), c["day"], c["business-day"]) is None
    assert up(_z(c["month"], "2006-05-01"), c["month"], c["business-month"]) is None
    assert up(0, c["all"], c["year"]) is None
    assert up(0, c["all"], c["all"]) == 0
    assert up(2006, c["year"], c["all"]) == 0


def test_up_ignores_the_gaps_of_the_finer_one() -> None:
    quarter = business_periods("business-quarter", "quarter")
    z = _z(c["business-month"], "2006-02-01")
    assert up(z, c["business-month"], quarter) == _z(quarter, "2006-02-01")


def test_up_knows_which_granules_exist() -> None:
    wave = boundaries("wave", ["2005-03-01", "2005-04-01"])
    assert [up(z, wave, c["year"]) for z in (-1, 0, 1)] == [None, 2005, None]
    day = resolve(["day"], TimeAxis("relative", pa.int64(), unit="day"))[0]
    assert up(0, wave, day) is None
