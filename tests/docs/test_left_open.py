"""What the paper leaves open and the errata page says is done: zones, nulls, degenerate tables."""

from __future__ import annotations

import pyarrow as pa
import pytest

import timeveil as tv

ROLES = tv.Roles(respondent="who", time="when", quasi=["where"])


def visits(when: list[str | None], **columns: list[str | None]) -> pa.Table:
    plain: dict[str, list[str | None]] = {
        "who": [f"u{row}" for row in range(len(when))],
        "when": when,
        "where": ["here"] * len(when),
    }
    return pa.table({**plain, **columns}, schema=pa.schema(dict.fromkeys(plain, pa.string())))


def labels(release: tv.Release) -> list[str]:
    return sorted(release.table["when"].to_pylist())


def test_days_follow_the_clocks_of_the_zone() -> None:
    """The same instants lie on one day in Berlin and on another in New York."""
    midnight = visits(["2024-07-01T00:30:00+02:00", "2024-07-01T00:40:00+02:00"])
    berlin, _ = tv.generalize_time(midnight, ROLES, k=2, granularities=["day"], zone="Europe/Berlin")
    new_york, _ = tv.generalize_time(midnight, ROLES, k=2, granularities=["day"], zone="America/New_York")
    assert labels(berlin) == ["2024-07-01"] * 2
    assert labels(new_york) == ["2024-06-30"] * 2


def test_the_hour_that_comes_twice_is_two_hours() -> None:
    """Below a day granules are instants: 2:10 before and after the clocks went back do not mix."""
    autumn = visits(
        [
            "2024-10-27T02:10:00+02:00",
            "2024-10-27T02:20:00+02:00",
            "2024-10-27T02:10:00+01:00",
            "2024-10-27T02:20:00+01:00",
        ]
    )
    release, _ = tv.generalize_time(autumn, ROLES, k=2, granularities=["hour"], zone="Europe/Berlin")
    assert release.manifest["counts"]["groups"] == 2


def test_naive_and_aware_times_do_not_mix() -> None:
    with pytest.raises(tv.InputError) as caught:
        tv.read(visits(["2024-07-01 00:30", "2024-07-01T00:30:00+02:00"]), ROLES, zone="Europe/Berlin")
    assert caught.value.code == "mixed-zones"


@pytest.mark.parametrize("column", ["when", "who"])
def test_a_null_time_or_respondent_is_an_error_or_withheld(column: str) -> None:
    whole = visits(["2024-07-01"] * 3)
    lacking = [None, *whole[column].to_pylist()[1:]]
    table = whole.set_column(whole.column_names.index(column), column, pa.array(lacking, pa.string()))
    with pytest.raises(tv.InputError) as caught:
        tv.generalize_time(table, ROLES, k=2)
    assert caught.value.code == "nulls"
    release, ledger = tv.generalize_time(table, ROLES, k=2, nulls="withhold", allow_loss=True)
    assert release.table.num_rows == 2
    assert ledger.table["group"].null_count == 1


def test_a_null_quasi_identifier_is_a_class_of_its_own() -> None:
    table = visits(["2024-07-01"] * 4, where=["here", "here", None, None])
    release, _ = tv.generalize_time(table, ROLES, k=2)
    assert release.manifest["counts"]["groups"] == 2


def test_an_empty_table_gives_an_empty_release() -> None:
    release, ledger = tv.generalize_time(visits([]), ROLES, k=2)
    assert release.table.num_rows == 0
    assert tv.verify(release, ledger)


@pytest.mark.parametrize("k", [1, 0, -3])
def test_k_below_two_is_refused(k: int) -> None:
    with pytest.raises(tv.ParameterError) as caught:
        tv.generalize_time(visits(["2024-07-01"] * 3), ROLES, k=k)
    assert caught.value.code == "bad-parameter"


def test_k_above_the_number_of_people_is_infeasible_at_once() -> None:
    with pytest.raises(tv.InfeasibleError) as caught:
        tv.generalize_time(visits(["2024-07-01"] * 3), ROLES, k=4)
    assert caught.value.code == "too-few-people"
