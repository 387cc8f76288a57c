"""Window counts from a release alone."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.oracles import judges as oracle

import timeveil as tv
from timeveil.domain.judgement import Estimate
from timeveil.errors import ParameterError, RolesError
from timeveil.evidence.published import WindowCount, instant_of
from timeveil.judging import answer
from timeveil.recoding import Hierarchy


def rows(*spots, zip_code="11"):
    people = ["ann", "bob"]
    return [
        {"person": p, "at": at, "zip": zip_code, "sex": "f", "ward": 1, "result": "good"}
        for at in spots
        for p in people
    ]


def release_of(case):
    return oracle.build(case)[0]


@pytest.fixture
def two_weeks():
    """Two people on a Monday and on the Wednesday of the week after, by week."""
    return release_of(oracle.Case(rows(dt.date(2024, 4, 1), dt.date(2024, 4, 10)), 2, oracle.DATES))


def test_whole_granules_count_in_full(two_weeks):
    assert answer(two_weeks, WindowCount(between=("2024-04-01", "2024-04-08"))) == Estimate(
        2.0, low=2, high=2
    )
    assert answer(two_weeks, WindowCount()) == Estimate(4.0, low=4, high=4)


def test_a_part_of_a_granule_counts_by_its_share(two_weeks):
    """The last day of the window is not in it: one of seven days."""
    found = answer(two_weeks, WindowCount(between=(dt.date(2024, 4, 1), dt.date(2024, 4, 2))))
    assert (found.value, found.low, found.high) == (pytest.approx(2 / 7), 0, 2)


def test_rows_that_were_withheld_may_lie_in_any_window():
    """So the truth about the original is not above `high`; the guess is about the published rows."""
    alone = [{**rows(dt.date(2024, 4, 20))[0], "zip": "99"}]
    case = oracle.Case(rows(dt.date(2024, 4, 1)) + alone, 2, oracle.DATES)
    release = release_of(case)
    for window, published in ((("2024-04-01", "2024-04-08"), 2), (("2024-04-15", "2024-04-22"), 0)):
        truth = oracle.true_count(case, *map(dt.date.fromisoformat, window), {}, published=False)
        found = answer(release, WindowCount(between=window))
        assert found == Estimate(float(published), low=published, high=published + 1)
        assert found.low <= truth <= found.high
    assert answer(release, WindowCount(between=("2024-04-20", "2024-04-20"))).high == 0


def test_an_empty_window_has_nothing_in_it(two_weeks):
    assert answer(two_weeks, WindowCount(between=("2024-04-03", "2024-04-03"))) == Estimate(
        0.0, low=0, high=0
    )


def test_all_of_time_has_no_width_so_half_is_the_guess():
    release = release_of(oracle.Case(rows(dt.date(2024, 4, 1)), 2, oracle.DATES, "all"))
    assert answer(release, WindowCount(between=("2024-04-01", "2024-04-02"))) == Estimate(1.0, low=0, high=2)
    assert answer(release, WindowCount(between=("2024-04-01", None))) == Estimate(1.0, low=0, high=2)
    assert answer(release, WindowCount()) == Estimate(2.0, low=2, high=2)


def test_rows_moved_out_of_a_gap_stay_within_the_bounds():
    """A Saturday published as Monday may lie in a window that ends on Sunday."""
    case = oracle.Case(
        rows(dt.date(2024, 4, 5), dt.date(2024, 4, 6)), 2, oracle.DATES, "business-day", "next"
    )
    found = answer(release_of(case), WindowCount(between=("2024-04-06", "2024-04-07")))
    assert (found.low, found.high) == (0, 2)


def test_relative_time_takes_whole_numbers_of_its_unit():
    release = release_of(oracle.Case(rows(3, 8), 2, oracle.DAYS))
    assert answer(release, WindowCount(between=(0, 7))) == Estimate(2.0, low=2, high=2)
    with pytest.raises(ParameterError, match="is not a time of this release"):
        answer(release, WindowCount(between=("2024-01-01", None)))


def test_times_without_a_zone_are_read_on_the_clocks_of_the_release():
    at = dt.datetime(2024, 7, 1, 0, 30, tzinfo=oracle.ROME)
    release = release_of(oracle.Case(rows(at), 2, oracle.ZONED, "day"))
    local = WindowCount(between=("2024-07-01", "2024-07-02"))
    as_utc = WindowCount(between=("2024-06-30T22:00+00:00", dt.datetime(2024, 7, 1, 22, tzinfo=dt.UTC)))
    assert answer(release, local) == answer(release, as_utc) == Estimate(2.0, low=2, high=2)


@pytest.mark.parametrize(
    ("where", "high"),
    [
        ({"zip": "11"}, 2),
        ({"zip": "12"}, 0),
        ({"zip": None}, 2),
        ({"zip": ("10", "11")}, 2),
        ({"ward": (0, 1.5)}, 4),
        ({"ward": (2, None)}, 0),
        ({"ward": 1, "result": "bad"}, 0),
    ],
)
def test_where_takes_values_missing_values_and_closed_ranges(where, high):
    at = dt.date(2024, 4, 1)
    release = release_of(oracle.Case(rows(at) + rows(at, zip_code=None), 2, oracle.DATES))
    assert answer(release, WindowCount(where=where)).high == high


def test_dictionary_columns_are_compared_by_value(two_weeks):
    table = two_weeks.table
    coded = table.set_column(0, "zip", table["zip"].dictionary_encode())
    assert answer(replace(two_weeks, parts={"data": coded}), WindowCount(where={"zip": "11"})).value == 4


def test_a_generalised_column_is_asked_for_by_its_label():
    release = release_of(oracle.Case(rows(dt.date(2024, 4, 1)), 2, oracle.DATES, general_zip=True))
    assert answer(release, WindowCount(where={"zip": "1*"})).value == 2
    with pytest.raises(ParameterError, match="only intervals of numbers"):
        answer(release, WindowCount(where={"zip": ("1", "2")}))


@pytest.mark.parametrize(
    ("query", "error", "code"),
    [
        (WindowCount(where={"age": 3}), RolesError, "column-missing"),
        (WindowCount(where={"at": "2024-W14"}), RolesError, "column-missing"),
        (WindowCount(where={"ward": "canary"}), ParameterError, "bad-parameter"),
        (WindowCount(where={"ward": (1, 2, 3)}), ParameterError, "bad-parameter"),
        (WindowCount(between=("canary", None)), ParameterError, "bad-time"),
        (WindowCount(between=(7, None)), ParameterError, "bad-time"),
        (WindowCount(between=("2024-04-02T00:00Z", None)), ParameterError, "bad-time"),
        (WindowCount(between=("2024-04-02", "2024-04-01")), ParameterError, "bad-parameter"),
        (WindowCount(between="2024-04-02"), ParameterError, "bad-parameter"),
        (WindowCount(between="ab"), ParameterError, "bad-parameter"),
        (WindowCount(between=("2024-04-01",)), ParameterError, "bad-parameter"),
        (WindowCount(between=("2024-04-01", "2024-04-02", None)), ParameterError, "bad-parameter"),
        ("canary", ParameterError, "bad-parameter"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_without_a_value(two_weeks, query, error, code):
    with pytest.raises(error) as caught:
        answer(two_weeks, query)
    assert caught.value.code == code
    assert "canary" not in str(caught.value)


def test_a_window_is_instants():
    bounds = (dt.datetime(1970, 1, 1, 0, 1), dt.date(1970, 1, 2))
    assert [instant_of(oracle.CIVIL, bound) for bound in bounds] == [60, 86_400]
    assert [instant_of(oracle.DAYS, bound) for bound in (1, 2)] == [86_400, 172_800]
    assert instant_of(oracle.DATES, "1970-01-02") == 86_400
    assert pa.types.is_date32(oracle.DATES.type)


def test_a_window_may_end_within_a_second():
    """Rows at 0.2 seconds, published to the second: half a second of window holds all of them, or none."""
    at = dt.datetime(2024, 4, 1, 0, 0, 0, 200_000)
    table = pa.table({"who": ["ann", "bob"], "at": pa.array([at, at], pa.timestamp("ms"))})
    release, _ = tv.generalize_time(table, tv.Roles(respondent="who", time="at"), 2, granularities=["second"])
    start = dt.datetime(2024, 4, 1)

    def window(low: float, high: float) -> Estimate:
        step = dt.timedelta(seconds=1)
        return answer(release, WindowCount(between=(start + low * step, start + high * step)))

    assert window(0, 0.5) == Estimate(1.0, low=0, high=2)
    assert window(0.25, 0.5) == Estimate(0.5, low=0, high=2)
    assert window(0.75, 9) == Estimate(0.5, low=0, high=2)
    assert window(-0.5, 1.5) == window(0, 1) == Estimate(2.0, low=2, high=2)
    assert window(1, 1.5) == window(-0.5, 0) == Estimate(0.0, low=0, high=0)


def test_withheld_rows_may_lie_in_any_window(two_weeks):
    """One more person came alone; nobody outside knows when."""
    case = oracle.Case(rows(dt.date(2024, 4, 1), dt.date(2024, 4, 10)), 2, oracle.DATES)
    alone = {**case.rows[0], "person": "cy", "zip": "99"}
    release = release_of(replace(case, rows=[*case.rows, alone]))
    assert release.manifest["counts"]["withheld"] == 1
    week = ("2024-04-01", "2024-04-08")
    assert answer(release, WindowCount(between=week)) == Estimate(2.0, low=2, high=3)
    assert answer(release, WindowCount(where={"zip": "99"})) == Estimate(0.0, low=0, high=1)
    nothing = ("2024-04-03", "2024-04-03")
    assert answer(release, WindowCount(between=nothing)) == Estimate(0.0, low=0, high=0)


SEXES = {"f": 3, "m": 5}


@pytest.fixture(scope="module")
def coarse():
    """Eight people of one day: the sex wiped, the age by tens, the zip by its beginning, wards by a table."""
    sexes = [sex for sex, number in SEXES.items() for _ in range(number)]
    table = pa.table(
        {
            "who": list("abcdefgh"),
            "at": [dt.date(2024, 4, 1)] * 8,
            "sex": sexes,
            "age": [31, 32, 39, 40, 41, 42, 43, 49],
            "zip": ["20133", "20134", "20135", "2014", "2014", "2014", "2014", "2014"],
            "ward": ["1", "2", "2", "3", "3", "4", "4", "4"],
        }
    )
    wards = pa.table({"ward": ["1", "2", "3", "4"], "site": ["1", "1", "2", "2"]})
    rules = {"sex": "suppression", "age": "intervals:10", "zip": "prefixes:3", "ward": wards}
    roles = tv.Roles(respondent="who", time="at", quasi=list(rules))
    return tv.generalize_time(table, roles, 3, hierarchies=rules, levels=dict.fromkeys(rules, 1))


@pytest.mark.parametrize(
    ("where", "low", "high", "unknown"),
    [
        ({"sex": "m"}, 0, 8, ("sex",)),  # five of them, and the star says nothing
        ({"sex": "*"}, 8, 8, ()),
        ({"sex": None}, 0, 8, ("sex",)),
        ({"age": 41}, 0, 5, ()),
        ({"age": "[40, 50)"}, 5, 5, ()),
        ({"age": (30, 45)}, 3, 8, ()),
        ({"age": (None, 39.5)}, 0, 3, ()),
        ({"age": (30, 40)}, 3, 8, ()),
        ({"age": 60}, 0, 0, ("age",)),
        ({"age": "old"}, 0, 0, ("age",)),
        ({"age": [31, "[40, 50)"]}, 5, 8, ()),
        ({"zip": "20133"}, 0, 3, ()),
        ({"zip": "201**"}, 3, 3, ()),
        ({"zip": "2014"}, 0, 5, ()),
        ({"zip": ["20133", "2014"]}, 0, 8, ()),
        ({"zip": "02014"}, 0, 5, ()),  # in a column of numbers this is 2014
        ({"zip": "30133"}, 0, 0, ("zip",)),
        ({"ward": "1"}, 0, 8, ()),  # a label, and a ward of its own
        ({"ward": "4"}, 0, 8, ("ward",)),
        ({"age": (30, 45), "zip": "2014"}, 0, 5, ()),
    ],
)
def test_a_label_that_may_contain_the_value_counts_as_possible(coarse, where, low, high, unknown):
    count = answer(coarse[0], WindowCount(where=where))
    assert (count.low, count.high, count.unknown) == (low, high, unknown)
    assert low <= count.value <= high


BORN = [dt.date(1958, 3, 31), dt.date(1958, 7, 1), dt.date(1961, 5, 5)] * 2 + [dt.date(1919, 1, 1)] * 3


@pytest.fixture(scope="module", params=["dates", "text"])
def born(request):
    """Nine people of one day: birth dates by year, those before 1920 coded, and ages coded from 90 on."""
    dates = BORN if request.param == "dates" else [day.strftime("%d.%m.%Y") for day in BORN]
    columns = {"who": list("abcdefghi"), "at": [dt.date(2024, 4, 1)] * 9, "born": dates}
    table = pa.table({**columns, "age": [66, 66, 62] * 2 + [105, 106, 107]})
    rules = {"born": "calendar:year,5-years:1920-01-01..", "age": "intervals:10:..90"}
    roles = tv.Roles(respondent="who", time="at", quasi=list(rules))
    options = {"hierarchies": rules, "levels": {"born": 1, "age": 1}}
    return tv.generalize_time(table, roles, 2, **options)


@pytest.mark.parametrize(
    ("where", "low", "high", "unknown"),
    [
        ({"born": "1958-03-31"}, 0, 4, ()),
        ({"born": dt.date(1958, 3, 31)}, 0, 4, ()),
        ({"born": dt.datetime(1958, 3, 31, 12)}, 0, 4, ()),
        ({"born": "1958"}, 4, 4, ()),
        ({"born": "before 1920-01-01"}, 3, 3, ()),
        ({"born": "1919-12-31"}, 0, 3, ()),
        ({"born": "1920-01-01"}, 0, 0, ("born",)),
        ({"born": ("1958-01-01", "1958-12-31")}, 4, 4, ()),
        ({"born": ("1958-01-01", "1961-05-05")}, 4, 6, ()),
        ({"born": (None, "1919-12-31")}, 3, 3, ()),
        ({"born": (None, "1919-06-01")}, 0, 3, ()),
        ({"born": ("1900-01-01", None)}, 6, 9, ()),
        ({"born": "31.03.1958"}, 0, 9, ()),  # written in a way of the table's own
        ({"born": None}, 0, 0, ("born",)),
        ({"age": 105}, 0, 3, ()),
        ({"age": 89}, 0, 0, ("age",)),
        ({"age": (90, None)}, 3, 3, ()),
        ({"age": (None, 100)}, 6, 9, ()),
        ({"age": "90 or more"}, 3, 3, ()),
    ],
)
def test_periods_and_coded_labels_contain_what_they_say(born, where, low, high, unknown):
    count = answer(born[0], WindowCount(where=where))
    assert (count.low, count.high, count.unknown) == (low, high, unknown)
    assert low <= count.value <= high


@pytest.mark.parametrize(
    ("column", "labels"), [("born", ("1958", "1961")), ("age", ("[60, 70)", "90 or more"))]
)
def test_labels_that_change_places_everywhere_are_found(born, column, labels):
    """In the table and in the ledger, so that every count stays as it was."""
    release, ledger = born
    assert tv.verify(release, ledger)
    swap = dict(zip(labels, reversed(labels), strict=True))

    def swapped(table, name):
        texts = pa.array([swap.get(text, text) for text in table[name].to_pylist()])
        return table.set_column(table.schema.get_field_index(name), name, texts)

    mappings = {**ledger.mappings, column: swapped(ledger.mappings[column], "published")}
    data = swapped(release.table, column)
    data = data.sort_by([(name, "ascending") for name in ("born", "age")])
    verdict = tv.verify(replace(release, parts={"data": data}), replace(ledger, mappings=mappings))
    assert "labels" in {violation.code for violation in verdict.violations}
    assert any("under a label that does not contain it" in v.message for v in verdict.violations)


def test_labels_that_no_value_is_spelt_like_are_stated(coarse):
    release, ledger = coarse
    assert release.manifest["distinct_labels"] == ["sex", "age", "zip"]
    assert tv.verify(release, ledger)
    stated = {**release.manifest, "distinct_labels": ["sex", "age", "zip", "ward"]}
    verdict = tv.verify(replace(release, manifest=stated), ledger)
    assert {violation.code for violation in verdict.violations} == {"labels"}
    assert "2 values of `ward` spelt like a label" in verdict.violations[0].message


def test_a_label_without_its_value_is_found(coarse):
    """The level is called an interval, but was made by a rule of one's own: answers would be wrong."""
    table = pa.table({"who": ["a", "b"], "at": [dt.date(2024, 4, 1)] * 2, "age": [31, 95]})
    rule = Hierarchy(("10 wide",), lambda _, values: pa.array(["[30, 40)"] * len(values)))
    roles = tv.Roles(respondent="who", time="at", quasi=["age"])
    verdict = tv.verify(*tv.generalize_time(table, roles, 2, hierarchies={"age": rule}, levels={"age": 1}))
    assert [violation.message for violation in verdict.violations] == [
        "1 value of `age` published under a label that does not contain it"
    ]


def test_a_list_means_any_of_its_values_and_a_reversed_range_is_refused(two_weeks):
    both = WindowCount(where={"zip": ["11", "12"]})
    assert answer(two_weeks, both) == Estimate(4.0, low=4, high=4)
    assert answer(two_weeks, both).unknown == ("zip",)
    assert answer(two_weeks, WindowCount(where={"ward": [(0, 0), (1, 2)]})).low == 4
    for where in ({"ward": (2, 1)}, {"zip": ("b", "a")}, {"zip": []}):
        with pytest.raises(ParameterError):
            answer(two_weeks, WindowCount(where=where))


def test_a_value_that_nothing_published_shows_is_said_to_be_unknown(two_weeks):
    assert answer(two_weeks, WindowCount(where={"zip": "77", "sex": "f"})).unknown == ("zip",)
    assert repr(answer(two_weeks, WindowCount(where={"zip": "77"}))).endswith("unknown=('zip',))")
    assert answer(two_weeks, WindowCount(where={"ward": (7, 9)})).unknown == ()
