from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from timeveil.datasets import clinic_visits


@pytest.fixture(scope="module")
def visits() -> pa.Table:
    return clinic_visits(20_000, seed=3)


def test_columns_and_types(visits: pa.Table) -> None:
    assert visits.num_rows == 20_000
    assert visits.schema.equals(
        pa.schema(
            {
                "patient": pa.string(),
                "taken_at": pa.timestamp("s"),
                "zip": pa.string(),
                "sex": pa.string(),
                "age": pa.int64(),
                "exam": pa.string(),
                "result": pa.string(),
            }
        )
    )


def test_ids_and_zip_codes_are_text_of_equal_length(visits: pa.Table) -> None:
    assert pc.all(pc.match_substring_regex(visits["patient"], r"^P\d{6}$")).as_py()
    assert pc.all(pc.match_substring_regex(visits["zip"], r"^0\d{4}$")).as_py()


def test_a_person_keeps_zip_sex_and_age(visits: pa.Table) -> None:
    people = visits.group_by(["patient", "zip", "sex", "age"]).aggregate([])
    assert people.num_rows == pc.count_distinct(visits["patient"]).as_py()


def test_visits_per_person_are_heavy_tailed(visits: pa.Table) -> None:
    counts = np.sort(visits["patient"].value_counts().field("counts").to_numpy())
    assert counts[counts.size // 2] <= 4
    assert counts[-1] >= 40
    tenth = counts[-counts.size // 10 :].sum() / counts.sum()
    assert 0.25 < tenth < 0.5


def test_most_visits_fall_into_opening_hours_and_some_into_the_night(visits: pa.Table) -> None:
    hour = pc.hour(visits["taken_at"])
    outside = pc.or_(pc.less(hour, 8), pc.greater_equal(hour, 18))
    assert 0.06 < pc.mean(outside.cast(pa.int8())).as_py() < 0.11


def test_weekends_are_quiet_and_working_days_even(visits: pa.Table) -> None:
    days = visits.append_column("weekday", pc.day_of_week(visits["taken_at"]))
    shares = [pc.sum(pc.equal(days["weekday"], day)).as_py() / visits.num_rows for day in range(7)]
    assert min(shares[:5]) > 0.16
    assert shares[5] < 0.06
    assert shares[6] < 0.03


def test_half_of_the_visits_of_a_person_follow_within_two_weeks(visits: pa.Table) -> None:
    ordered = visits.sort_by([("patient", "ascending"), ("taken_at", "ascending")])
    patient, when = ordered["patient"], ordered["taken_at"]
    same = pc.equal(patient[1:], patient[:-1])
    days = pc.days_between(when[:-1], when[1:]).filter(same)
    assert 0.4 < pc.mean(pc.less_equal(days, 14).cast(pa.int8())).as_py() < 0.8


def test_exams_and_zip_codes_are_skewed(visits: pa.Table) -> None:
    for column, kinds in (("exam", 8), ("zip", 12)):
        counts = visits[column].value_counts().field("counts").to_pylist()
        assert len(counts) == kinds
        assert max(counts) > 8 * min(counts)


def test_a_few_rows_are_exact_duplicates(visits: pa.Table) -> None:
    distinct = visits.group_by(visits.column_names).aggregate([]).num_rows
    assert 0.001 < 1 - distinct / visits.num_rows < 0.01


def test_rows_come_in_time_order_within_one_year(visits: pa.Table) -> None:
    when = visits["taken_at"].to_numpy()
    assert (when[1:] >= when[:-1]).all()
    assert str(when[0])[:4] == str(when[-1])[:4] == "2024"


def test_no_more_people_than_asked_for() -> None:
    assert pc.count_distinct(clinic_visits(500, people=7)["patient"]).as_py() == 7


def test_with_a_zone_the_clock_on_the_wall_is_the_same() -> None:
    plain, zoned = clinic_visits(3_000), clinic_visits(3_000, zone="America/New_York")
    assert zoned.schema.field("taken_at").type == pa.timestamp("s", "America/New_York")
    wall = pc.local_timestamp(zoned["taken_at"])
    assert pc.mean(pc.equal(wall, plain["taken_at"]).cast(pa.int8())).as_py() > 0.999
