"""Rows in a gap move to the next granule, and where there is none nothing is lost silently."""

from __future__ import annotations

import pyarrow as pa
import pytest

import timeveil as tv
from timeveil.calendar.definitions import boundaries

ROLES = tv.Roles(respondent="who", time="at")
WAVES = boundaries("wave", ["2024-01-01", "2024-02-01", "2024-03-01"], ["first", "second"])


def visits(*days: str) -> pa.Table:
    return pa.table({"who": [f"p{number}" for number in range(len(days))], "at": days})


LATE = visits("2024-01-05", "2024-01-09", "2024-02-02", "2024-02-05", "2024-03-05", "2024-03-09")


@pytest.mark.parametrize("how", [{"choose": "wave"}, {"granularities": ["wave"]}])
@pytest.mark.parametrize("nulls", ["error", "withhold"])
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_rows_after_the_last_granule_are_refused(how, nulls, engine):
    with pytest.raises(tv.InputError) as caught:
        tv.generalize_time(
            LATE, ROLES, k=2, gaps="next", nulls=nulls, engine=engine, definitions=[WAVES], **how
        )
    assert caught.value.code == "gap"
    assert "2 of the 6 times that occur" in caught.value.message
    assert "after the last granule of `wave`, so that there is no next one" in caught.value.message
    assert caught.value.facts["granules"] == 2


def test_a_granularity_that_ends_too_early_is_skipped_where_others_do_not():
    options = {"granularities": ["wave", "month"], "definitions": [WAVES], "gaps": "next"}
    release, ledger = tv.generalize_time(LATE, ROLES, k=2, **options)
    assert (release.manifest["granularity"], release.manifest["counts"]["withheld"]) == ("month", 0)
    assert ledger.facts["skipped"] == {"wave": "rows are after its last granule"}
    assert tv.verify(release, ledger)


def test_rows_before_the_first_granule_move_into_it():
    early = visits("2023-12-30", "2023-12-31", "2024-01-05", "2024-02-02", "2024-02-05")
    release, ledger = tv.generalize_time(early, ROLES, k=2, gaps="next", choose="wave", definitions=[WAVES])
    assert release.table["at"].to_pylist() == ["first"] * 3 + ["second"] * 2
    assert release.manifest["counts"]["withheld"] == 0
    assert tv.verify(release, ledger)
