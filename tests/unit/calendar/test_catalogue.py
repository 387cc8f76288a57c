"""Names: what they mean, on which axis, and what is said when there is no such name."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from timeveil.calendar.catalogue import CATALOGUE, FIXED, available, canonical, fit, granularity, resolve
from timeveil.calendar.definitions import boundaries, day_parts, groups_of
from timeveil.domain.relation import TimeAxis
from timeveil.errors import ParameterError

CIVIL = TimeAxis("civil", pa.timestamp("ms"))
DATES = TimeAxis("civil", pa.date32())
DAYS = TimeAxis("relative", pa.int64(), unit="day")
MINUTES = TimeAxis("relative", pa.int64(), unit="minute")
YEARS = TimeAxis("relative", pa.int64(), unit="year")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("ISO week", "week"),
        ("iso_week", "week"),
        ("Sunday-week", "week-sunday"),
        ("weeks", "week"),
        ("half years", "half-year"),
        ("HOUR", "hour"),
        ("1 hour", "hour"),
        ("15 minutes", "15-minutes"),
        ("15-minute", "15-minutes"),
        ("5_minutes", "5-minutes"),
        ("business days", "business-day"),
        ("hospital shift", "shift"),
        ("everything", "all"),
    ],
)
def test_names_are_understood_as_people_write_them(written: str, name: str) -> None:
    assert canonical(written) == name
    assert granularity(written) is CATALOGUE[name]


def test_every_canonical_name_means_itself() -> None:
    assert [canonical(name) for name in CATALOGUE] == list(CATALOGUE)


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(ParameterError, match="did you mean `month`") as caught:
        resolve(["mnth"], CIVIL)
    assert caught.value.code == "unknown-granularity"
    assert caught.value.facts["nearest"][0] == "month"


def test_a_name_like_no_other_lists_them_all() -> None:
    with pytest.raises(ParameterError, match="use one of second, minute"):
        granularity("zzz")


def test_the_default_set_has_no_gaps_and_no_choices_in_it() -> None:
    names = [g.name for g in resolve(None, CIVIL)]
    assert {"second", "hour", "day", "week", "month", "year"} <= FIXED == set(names)
    assert names[0] == "second"
    assert names[-1] == "all"
    assert not {"business-day", "day-part", "shift", "academic-term"} & set(names)
    assert not any(CATALOGUE[name].has_gaps for name in names)


def test_the_reference_lists_the_whole_catalogue() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "granularities.md"
    first_cells = [
        line.split("|")[1] for line in page.read_text("utf-8").splitlines() if line.startswith("|")
    ]
    assert set(CATALOGUE) <= {name for cell in first_cells for name in re.findall("`([^`]+)`", cell)}


def test_definitions_join_the_default_set() -> None:
    fortnight = groups_of("fortnight", "week", 2)
    assert fortnight in resolve(None, CIVIL, [fortnight])
    assert resolve("Fortnight", CIVIL, [fortnight]) == (fortnight,)
    assert resolve([fortnight, "fortnight", "day"], CIVIL, [fortnight]) == (fortnight, CATALOGUE["day"])


def test_an_empty_list_is_not_the_default_set() -> None:
    with pytest.raises(ParameterError, match="no granularity was named"):
        resolve([], CIVIL)


@pytest.mark.parametrize(
    ("axis", "names"),
    [
        (DAYS, ["day", "week", "4-weeks", "all"]),
        (YEARS, ["year", "decade", "all"]),
        (
            TimeAxis("relative", pa.int64(), unit="month"),
            ["month", "quarter", "half-year", "year", "decade", "all"],
        ),
        (TimeAxis("relative", pa.int64(), unit="week"), ["week", "4-weeks", "all"]),
    ],
)
def test_a_relative_axis_has_granularities_from_its_unit_up(axis: TimeAxis, names: list[str]) -> None:
    assert [g.name for g in resolve(None, axis)] == names


def test_relative_labels_count_from_the_start() -> None:
    day, week = resolve(["day", "week"], DAYS)
    assert day.label(day.index([12 * 86_400])) == ["day 12"]
    assert week.label(week.index([-86_400])) == ["week -1"]
    quarter = resolve(["15-minutes"], MINUTES)[0]
    assert quarter.label(quarter.index([44 * 60])) == ["minutes 30 to 45"]
    decade = resolve(["decade"], YEARS)[0]
    assert decade.label(decade.index([12 * 12])) == ["years 10 to 20"]


@pytest.mark.parametrize("name", ["month", "week-sunday", "business-day", "day-part"])
def test_a_calendar_granularity_has_no_meaning_on_relative_time(name: str) -> None:
    with pytest.raises(ParameterError, match="needs calendar dates; the time column counts days"):
        resolve([name], DAYS)


@pytest.mark.parametrize("name", ["hour", "second"])
def test_nothing_is_finer_than_the_unit(name: str) -> None:
    with pytest.raises(ParameterError, match="finer than the time column, which counts in days"):
        resolve([name], DAYS)


def test_four_weeks_is_relative_only() -> None:
    with pytest.raises(ParameterError, match="`4-weeks` is not a granularity"):
        resolve(["4-weeks"], CIVIL)


def test_offsets_have_no_meaning_on_dates() -> None:
    phases = boundaries("phase", [0, 5, 28], unit="day")
    with pytest.raises(ParameterError, match="counts from a start"):
        resolve([phases], CIVIL)
    assert resolve(["phase"], DAYS, [phases]) == (phases,)
    assert phases.label([0, 1]) == ["days 0 to 5", "days 5 to 28"]


def test_groupings_read_on_relative_time_too() -> None:
    ten = fit(groups_of("10-days", "day", 10), DAYS)
    assert ten.label(ten.index([25 * 86_400])) == ["days 20 to 30"]
    five = fit(groups_of("5-years", "year", 5), YEARS)
    assert five.label(five.index([12 * 7])) == ["years 5 to 10"]
    with pytest.raises(ParameterError, match="needs calendar dates"):
        fit(groups_of("anchored", "day", 10, anchor="2006-01-03"), DAYS)


def test_relative_time_needs_a_unit_that_exists() -> None:
    with pytest.raises(ParameterError) as caught:
        resolve(None, TimeAxis("relative", pa.int64()))
    assert caught.value.code == "unit-missing"
    with pytest.raises(ParameterError, match="is not a unit of time"):
        resolve(None, TimeAxis("relative", pa.int64(), unit="moon"))


def test_available_lists_the_catalogue_and_the_users_own() -> None:
    fortnight = groups_of("fortnight", "week", 2)
    assert list(available(CIVIL)) == list(CATALOGUE)
    assert resolve("fortnight", CIVIL, [fortnight]) == (fortnight,)
    assert "month" not in available(DAYS)


@pytest.mark.parametrize(
    "wanted",
    [
        "second",
        "hour",
        "6-hours",
        "shift",
        "day-part",
        day_parts("half", {"first": "00:00", "second": "12:00"}),
        boundaries("wave", ["2020-03-01 12:00", "2020-07-01"]),
        groups_of("shifts", "shift", 2),
    ],
)
def test_dates_have_no_hours_to_cut(wanted: object) -> None:
    with pytest.raises(ParameterError, match="cuts days into parts, and the time column has dates"):
        resolve([wanted], DATES)  # type: ignore[list-item]
    assert resolve([wanted], CIVIL)  # type: ignore[list-item]


def test_on_dates_the_default_begins_with_the_day() -> None:
    assert [g.name for g in resolve(None, DATES)][:2] == ["day", "week"]
    assert resolve(["day", "week", "all", "business-day", "academic-term"], DATES)


@pytest.mark.parametrize("wanted", [[None], [1], 5, [["week"]]])
def test_what_is_no_granularity_is_refused(wanted: object) -> None:
    for arguments in ((wanted, CIVIL), (None, CIVIL, wanted), (["week"], CIVIL, wanted)):
        with pytest.raises(ParameterError, match="is not a list of granularities"):
            resolve(*arguments)  # type: ignore[arg-type]
