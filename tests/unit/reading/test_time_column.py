"""What a time column may hold, and what it becomes."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import some

from timeveil.domain.relation import TimeAxis
from timeveil.domain.roles import Roles
from timeveil.errors import InputError, ParameterError, TimeveilError
from timeveil.reading import read
from timeveil.reading.times import parse

ROLES = Roles(respondent="who", time="t")
BERLIN = "Europe/Berlin"
MS = pa.timestamp("ms")


def taken(times, **named):
    column = times if isinstance(times, pa.Array | pa.ChunkedArray) else pa.array(times)
    relation = read(pa.table({"who": list(range(len(column))), "t": column}), ROLES, **named)
    return relation.axis, relation.table["t"]


def refused(kind: type[TimeveilError], code: str, times, **named) -> TimeveilError:
    with pytest.raises(kind) as caught:
        taken(times, **named)
    assert caught.value.code == code
    return caught.value


CIVIL = {
    "2024-02-29": dt.datetime(2024, 2, 29),
    "0001-01-01": dt.datetime(1, 1, 1),
    "9999-12-31": dt.datetime(9999, 12, 31),
    "2024-03-31 14:05": dt.datetime(2024, 3, 31, 14, 5),
    "2024-03-31T14:05": dt.datetime(2024, 3, 31, 14, 5),
    "2024-03-31 14:05:09": dt.datetime(2024, 3, 31, 14, 5, 9),
    "2024-03-31T23:59:59.5": dt.datetime(2024, 3, 31, 23, 59, 59, 500_000),
    "2024-03-31 14:05:09,25": dt.datetime(2024, 3, 31, 14, 5, 9, 250_000),
    "2024-03-31 14:05:09.123999999": dt.datetime(2024, 3, 31, 14, 5, 9, 123_000),
    " 2024-03-31 14:05 ": dt.datetime(2024, 3, 31, 14, 5),
    "2024-3-1": dt.datetime(2024, 3, 1),
    "2024/03/31 2:05:09.25 p.m.": dt.datetime(2024, 3, 31, 14, 5, 9, 250_000),
    "2024-03-31 12:05 AM": dt.datetime(2024, 3, 31, 0, 5),
}
ZONED = {
    "1970-01-01T00:00:00Z": 0,
    "1970-01-01 01:00+01:00": 0,
    "1970-01-01 01:00:00 +0100": 0,
    "1969-12-31 13:30:00.5-10:30": 500,
    "1970-01-01 00:00:00.5+11": 500 - 11 * 3_600_000,
    "1970-01-01T00:00:00.25Z": 250,
}
BAD = [
    "soon",
    "2024-02-30",
    "2023-02-29",
    "2024-13-01",
    "2024-00-10",
    "2024-01-00",
    "0000-01-01",
    "10000-01-01",
    "2024-01-01 24:00",
    "2024-01-01 12:60",
    "2024-01-01 12:00:60",
    "2024-01-01 12",
    "31.04.2024",
    "31/04/2024",
    "03/31/24",
    "31 Mai 2024",
    "03/31/2024 13:05 PM",
    "2024-01-01 12:00:00.",
    "2024-01-01 12:00.5",
    "2024-01-01T12:00:00+25:00",
    "2024-01-01T12:00:00+01:99",
    "2024-01-01Z",
    "２０２４-01-01",
    "1.5",
    "12345678901234567890",
]


@pytest.mark.parametrize(("text", "expected"), CIVIL.items())
def test_text_is_read_as_a_clock_shows_it(text, expected):
    """Each accepted way of writing a time without an offset."""
    axis, column = taken([text, "2000-01-01 00:00"])
    assert axis == TimeAxis("civil", MS)
    assert column.to_pylist() == [expected, dt.datetime(2000, 1, 1)]


@pytest.mark.parametrize(("text", "expected"), ZONED.items())
def test_text_with_an_offset_is_an_instant(text, expected):
    """Each accepted way of writing an offset."""
    axis, column = taken([text], zone=BERLIN)
    assert axis == TimeAxis("zoned", pa.timestamp("ms", BERLIN), zone=BERLIN)
    assert column.type == axis.type
    assert column.cast(pa.int64()).to_pylist() == [expected]


@pytest.mark.parametrize("text", BAD)
def test_other_text_is_refused_by_row_number(text):
    """Whatever has no single reading, or is no day of the calendar."""
    error = refused(InputError, "bad-time", ["2024-01-01", None, text, text], nulls="withhold")
    assert "`t` has 2 values" in error.message
    assert "row 3" in error.message
    assert text not in str(error)


@settings(max_examples=some(150), deadline=None)
@given(st.lists(st.none() | st.datetimes(), min_size=1, max_size=20), st.sampled_from(["T", " "]))
def test_any_datetime_is_read_as_python_reads_it(times, between):
    """Milliseconds of the text are those of the value, for every year from 1 to 9999."""
    texts = [None if time is None else time.isoformat(between) for time in times]
    values, kinds = parse(pa.array(texts, pa.string()))
    expected = [None if t is None else t.replace(microsecond=t.microsecond // 1000 * 1000) for t in times]
    assert values.cast(MS).to_pylist() == expected
    assert not kinds["bad"].any()


def test_repeated_and_single_texts_are_read_alike():
    """A column is parsed by distinct value where values repeat, and as it is where they do not."""
    texts = [*CIVIL, *ZONED, *BAD, "17", "", None]
    once, few = parse(pa.array(texts))
    many, kinds = parse(pa.array(texts * 50))
    assert many.equals(pa.concat_arrays([once] * 50))
    assert kinds.keys() == few.keys()
    for kind, mask in kinds.items():
        assert np.array_equal(mask, np.tile(few[kind], 50))
    encoded, _ = parse(pa.array(texts).dictionary_encode())
    assert encoded.equals(once)


def test_dates_alone_stay_dates():
    """Text, dictionary text, date32 and date64 give date32."""
    dates = pa.array([dt.date(2024, 2, 29), dt.date(1600, 1, 1)])
    for column in (
        dates,
        dates.cast(pa.date64()),
        dates.cast(pa.string()),
        dates.cast(pa.string()).dictionary_encode(),
    ):
        axis, taken_column = taken(column)
        assert axis == TimeAxis("civil", pa.date32())
        assert taken_column.combine_chunks().equals(dates) or taken_column.to_pylist() == dates.to_pylist()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_any_unit_become_milliseconds(unit):
    """Whole seconds in any unit, with nulls and before 1970."""
    times = [dt.datetime(1969, 12, 31, 23, 59, 59), None, dt.datetime(2024, 2, 29)]
    axis, column = taken(pa.array(times, pa.timestamp(unit)), nulls="withhold")
    assert axis == TimeAxis("civil", MS)
    assert column.to_pylist() == times


@pytest.mark.parametrize(("unit", "per_ms"), [("us", 1000), ("ns", 1_000_000)])
def test_what_is_finer_than_a_millisecond_is_cut_towards_the_past(unit, per_ms):
    """Before 1970, too, where cutting off and rounding down differ."""
    ticks = [-1, 0, 1, per_ms, -per_ms, -per_ms - 1, None]
    _, column = taken(pa.array(ticks, pa.timestamp(unit)), nulls="withhold")
    assert column.cast(pa.int64()).to_pylist() == [-1, 0, 0, 1, -1, -2, None]


def test_instants_are_moved_to_the_clocks_of_the_zone():
    """The zone given is the one that counts, not the one they came with."""
    instants = pa.array([0, 86_400_000], pa.timestamp("ms", "America/New_York"))
    axis, column = taken(instants, zone=BERLIN)
    assert axis.zone == BERLIN
    assert column.type == pa.timestamp("ms", BERLIN)
    assert column.cast(pa.int64()).to_pylist() == [0, 86_400_000]


@pytest.mark.parametrize(
    "numbers",
    [
        pa.array([3, -1, 0]),
        pa.array([3, -1, 0], pa.int8()),
        pa.array([3.0, -1.0, 0.0]),
        pa.array(["3", "-1", "+0"]),
        pa.array([3, -1, 0]).dictionary_encode(),
    ],
)
def test_whole_numbers_are_relative_time(numbers):
    """Integers, floats without a fraction, and text."""
    axis, column = taken(numbers, unit="minute")
    assert axis == TimeAxis("relative", pa.int64(), unit="minute")
    assert column.to_pylist() == [3, -1, 0]


def test_unsigned_numbers_are_relative_time():
    """As long as they fit."""
    assert taken(pa.array([3], pa.uint64()), unit="day")[1].to_pylist() == [3]
    refused(InputError, "bad-time", pa.array([2**64 - 1], pa.uint64()), unit="day")


@pytest.mark.parametrize("number", [1.5, float("inf"), 1e300, 2.0**60])
def test_other_numbers_are_no_time(number):
    """A fraction, infinity, or more than any clock counts."""
    error = refused(InputError, "bad-time", [1.0, number], unit="day")
    assert error.facts == {"column": "t", "count": 1, "row": 2}


def test_numbers_too_far_away_are_no_time():
    """Weeks are counted in seconds later on, which must fit."""
    for column in (pa.array([0, 10**13]), pa.array(["0", str(10**13)])):
        assert refused(InputError, "bad-time", column, unit="week").facts["row"] == 2
        assert taken(column, unit="second")[1].to_pylist() == [0, 10**13]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([0, -800_000], pa.int32()).cast(pa.date32()),
        pa.array([0, 3_000_000], pa.int32()).cast(pa.date32()),
        pa.array([0, 3_000_000 * 86_400_000]).cast(pa.date64()),
        pa.array([0, 2**60], pa.timestamp("s")),
        pa.array([0, 2**60], pa.timestamp("ms")),
        pa.array([0, 2**60], pa.timestamp("us")),
    ],
)
def test_years_before_1_and_after_9999_are_refused(column):
    """In every type that can hold them."""
    error = refused(InputError, "bad-time", column)
    assert error.facts == {"column": "t", "count": 1, "row": 2}


def test_the_last_year_ends_on_the_clocks_of_the_zone():
    """In Tokyo the year 10000 begins nine hours before it does in London."""
    for text, zone, fine in (
        ("9999-12-31T23:00:00Z", "UTC", True),
        ("9999-12-31T23:00:00Z", "Asia/Tokyo", False),
        ("0001-01-01T00:00:00Z", "America/New_York", False),
        ("0001-01-01T00:00:00+09:00", "Asia/Tokyo", True),
    ):
        if fine:
            _, column = taken([text], zone=zone)
            assert taken(column.combine_chunks(), zone=zone)[1].equals(column)
        else:
            refused(InputError, "bad-time", [text], zone=zone)


def test_naive_and_aware_do_not_mix():
    """Text can hold both; dates count as naive."""
    error = refused(
        InputError, "mixed-zones", ["2024-01-01 00:00Z", "2024-01-01", "2024-01-01 10:00"], zone=BERLIN
    )
    assert "1 time with an offset and 2 without" in error.message


def test_zone_and_unit_must_fit_the_column():
    """What is missing and what is too much are both said."""
    aware = pa.array([0], pa.timestamp("ms", "UTC"))
    refused(InputError, "zone-missing", aware)
    refused(InputError, "zone-missing", ["2024-01-01 10:00Z"])
    refused(InputError, "unit-missing", [1, 2])
    refused(InputError, "unit-missing", ["1", "2"])
    for naive in (["2024-01-01"], pa.array([0], MS)):
        assert "remove zone" in refused(ParameterError, "bad-parameter", naive, zone=BERLIN).hint
    for times in (["2024-01-01"], pa.array([0], MS), aware):
        refused(ParameterError, "bad-parameter", times, unit="day")
    refused(ParameterError, "bad-parameter", [1], unit="day", zone=BERLIN)


def test_unknown_zones_and_units_are_refused_with_near_names():
    """The IANA database knows the zones."""
    error = refused(ParameterError, "bad-parameter", ["2024-01-01 10:00Z"], zone="Europe/Berlim")
    assert "Europe/Berlin" in error.hint
    for zone in ("+01:00", "../etc/passwd", "", "\0"):
        refused(ParameterError, "bad-parameter", ["2024-01-01 10:00Z"], zone=zone)
    assert "minute" in refused(ParameterError, "bad-parameter", [1], unit="fortnight").hint


@pytest.mark.parametrize(
    "column",
    [
        pa.array([True]),
        pa.array([1], pa.time32("s")),
        pa.array([1], pa.duration("s")),
        pa.array([[1]]),
        pa.array([b"2024-01-01"]),
    ],
)
def test_other_types_are_no_time(column):
    """The type is named, the value is not."""
    error = refused(InputError, "unsupported-input", column)
    assert "`t`" in error.message


def test_a_column_of_nulls_has_a_type_all_the_same():
    """Nothing was seen, so what was asked for decides."""
    nothing = pa.nulls(2)
    assert taken(nothing, nulls="withhold")[0] == TimeAxis("civil", pa.date32())
    assert taken(nothing, nulls="withhold", unit="day")[0].kind == "relative"
    assert taken(nothing, nulls="withhold", zone=BERLIN)[0].kind == "zoned"


def test_whole_numbers_among_dates_are_bad():
    """They are a time only where all are."""
    error = refused(InputError, "bad-time", ["2024-01-01", "5", "soon", "7"])
    assert error.facts == {"column": "t", "count": 3, "row": 2}


def test_dates_are_written_in_one_way():
    """Someone wrote some of them, and someone else the others: who knows what they meant."""
    error = refused(InputError, "bad-time", ["2024-01-01", "31.03.2024", "31.03.2024"])
    assert "2 as day.month.year and 1 as year-month-day" in error.message
    error = refused(InputError, "bad-time", ["31/03/2024", "03/31/2024", "12/31/2024"])
    assert "1 only as day/month/year and 2 only as month/day/year" in error.message


@settings(max_examples=some(100), deadline=None)
@given(
    st.lists(st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)), min_size=1, max_size=20),
    st.sampled_from(["{d}/{m}/{y}", "{m}/{d}/{y}", "{d}.{m}.{y}", "{y}/{m}/{d}", "{d}-{m}-{y}"]),
)
def test_no_order_is_guessed_that_another_reader_would_not_see(times, form):
    """A column is read as it was written, or refused; it is never read as something else."""
    times = [time.replace(microsecond=time.microsecond // 1000 * 1000) for time in times]
    texts = [
        form.format(d=t.day, m=t.month, y=f"{t.year:04}") + f" {t.time().isoformat('milliseconds')}"
        for t in times
    ]
    if (
        form in ("{d}.{m}.{y}", "{y}/{m}/{d}")
        or any(t.day > 12 for t in times)
        or all(t.day == t.month for t in times)
    ):
        assert taken(texts)[1].to_pylist() == times
    else:
        refused(InputError, "bad-time", texts)


def test_digits_are_dates_only_if_all_are_and_no_unit_is_set():
    """From 1900 to 2100; else they count something."""
    for column in ([20240229, None], ["20240229", ""], [20240229.0, None]):
        axis, dates = taken(column, nulls="withhold")
        assert axis == TimeAxis("civil", pa.date32())
        assert dates.to_pylist() == [dt.date(2024, 2, 29), None]
        assert taken(column, nulls="withhold", unit="day")[0].kind == "relative"
        assert taken(column, nulls="withhold", slot_numbers=True)[0].kind == "civil"
    for other in (20230229, 18991231, 21010101, 7):
        refused(InputError, "unit-missing", [20240229, other])
        assert taken([20240229, other], slot_numbers=True)[0].kind == "relative"


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("%d%m%Y", "31032024", dt.date(2024, 3, 31)),
        ("%y%m%d", "690401", dt.date(1969, 4, 1)),
        ("%d.%m.%y", "1.4.68", dt.date(2068, 4, 1)),
        ("%Y year, %d %B", "2024 year, 3 march", dt.date(2024, 3, 3)),
        ("%d/%m/%Y", "3/4/2024 2:05 PM", dt.datetime(2024, 4, 3, 14, 5)),
        ("%H.%M on %d/%m/%Y", "14.05 on 3/4/2024", dt.datetime(2024, 4, 3, 14, 5)),
        ("%d/%m/%Y %I:%M:%S.%f %p", "3/4/2024 12:05:09.25 am", dt.datetime(2024, 4, 3, 0, 5, 9, 250_000)),
    ],
)
def test_a_format_says_how_dates_are_written(form, text, expected):
    """As in `strftime`; a clock time may follow where the format has none."""
    assert taken([text], time_format=form)[1].to_pylist() == [expected]
    refused(InputError, "bad-time", [text, "2024-01-01"], time_format=form)


def test_a_format_is_for_text():
    """Dates that are typed need none."""
    refused(ParameterError, "bad-parameter", pa.array([0], MS), time_format="%d/%m/%Y")
    assert taken([31032024], time_format="%d%m%Y")[1].to_pylist() == [dt.date(2024, 3, 31)]


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-29",
        "2023-02-29",
        "0000-01-01",
        "0001-01-01",
        "9999-12-31",
        "2024-13-01",
        "2024/01/01",
        "+024-01-01",
        "2024-02-29T23:59:59",
        "2024-02-29t23:59:59",
        "2024-02-29T24:00:00",
        "2024-02-29T23:59:60",
        "2024-02-29T12:00+01",
        "2024-02-29T12:00.55",
        "0000-02-29T12:00:00",
        "2024-02-29T120000.5",
    ],
)
def test_texts_of_one_length_are_read_as_among_others(text: str) -> None:
    """A column of one way of writing is read at once; next to a text of another length it is not."""
    alone, among = parse(pa.array([text])), parse(pa.array([text, "2024-01-01T10:00"]))
    assert alone[0].to_pylist() == among[0].to_pylist()[:1]
    kinds = [{kind for kind, mask in kinds.items() if mask[0]} for _, kinds in (alone, among)]
    assert kinds[0] == kinds[1]
