"""Parameters of generalize_time, and what happens at their edges."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import timeveil as tv

TABLE = pa.table(
    {"who": ["a", "b", "c", "d"], "when": ["2024-05-31", "2024-06-01", "2024-06-01", "2024-06-02"]}
)
ROLES = tv.Roles(respondent="who", time="when")


@pytest.mark.parametrize("k", [0, 1, -3, True, "a", 2.0, None])
def test_k_is_a_whole_number_of_at_least_two(k):
    """Anything else is refused with what k means."""
    with pytest.raises(tv.ParameterError, match="at least 2"):
        tv.generalize_time(TABLE, ROLES, k)


def test_a_numpy_integer_is_a_whole_number():
    """And is published as a plain one."""
    release, _ = tv.generalize_time(TABLE, ROLES, np.int64(2))
    assert type(release.manifest["guarantee"]["k"]) is int


def test_k_may_be_all_people_but_not_more():
    """Four people share `all`; five cannot."""
    release, _ = tv.generalize_time(TABLE, ROLES, 4)
    assert release.manifest["counts"]["smallest_group"] == 4
    with pytest.raises(tv.InfeasibleError, match="4 different people") as caught:
        tv.generalize_time(TABLE, ROLES, 5)
    assert (caught.value.code, caught.value.exit_code) == ("too-few-people", 3)


@pytest.mark.parametrize(
    "options",
    [
        {"suppress": -0.1},
        {"suppress": 1},
        {"suppress": True},
        {"suppress": "some"},
        {"suppress": float("nan")},
        {"gaps": "ignore"},
        {"nulls": "drop"},
        {"choose": None},
        {"choose": "weekk"},
        {"engine": "abacus"},
        {"granularities": []},
        {"granularities": ["weekk"]},
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused(options):
    """Each with a hint."""
    with pytest.raises(tv.ParameterError) as caught:
        tv.generalize_time(TABLE, ROLES, 2, **options)
    assert caught.value.hint


@pytest.mark.parametrize("gaps", ["error", "skip"])
def test_a_named_granularity_whose_gaps_hold_rows_is_refused(gaps):
    """Skipping the one that was asked for leaves nothing to publish."""
    with pytest.raises(tv.InputError, match="2 of the 3 times that occur") as caught:
        tv.generalize_time(TABLE, ROLES, 2, choose="business-day", gaps=gaps)
    assert caught.value.code == "gap"


def test_a_skipped_granularity_is_told():
    """The others go on."""
    release, ledger = tv.generalize_time(TABLE, ROLES, 2, granularities=["business-day", "year"], gaps="skip")
    assert release.manifest["granularity"] == "year"
    assert set(ledger.facts["skipped"]) == {"business-day"}


def test_progress_is_told_in_order():
    """From nothing to all."""
    seen = []
    tv.generalize_time(TABLE, ROLES, 2, progress=lambda doing, share: seen.append((doing, share)))
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)


@pytest.mark.parametrize("suppress", [0.0, 0.3])
def test_the_chosen_one_has_the_most_groups_of_all_that_keep_the_promise(suppress):
    """With suppression a coarser granularity may keep more groups than a minimal one."""
    rng = np.random.default_rng(4)
    table = pa.table(
        {
            "who": rng.integers(0, 40, 300),
            "when": pa.array(rng.integers(19_000, 19_120, 300), pa.int32()).cast(pa.date32()),
        }
    )
    release, _ = tv.generalize_time(table, ROLES, 4, suppress=suppress)
    candidates = release.manifest["candidates"]
    kept = {n: c["groups"] - c["groups_below_k"] for n, c in candidates.items() if c["feasible"]}
    assert release.manifest["counts"]["groups"] == max(kept.values())


HIERARCHY = {"hierarchies": {"place": "prefixes:2,1"}}


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"choose": "lost"}, "`lost` is not a granularity, and no rule", 'did you mean choose="loss"'),
        ({"choose": "moth"}, "`moth` is not a granularity", "did you mean `month`"),
        ({**HIERARCHY, "max_levels": {"place": 9}}, "go from 0 to 3", "choose one of them"),
        ({**HIERARCHY, "max_levels": {"place": True}}, "go from 0 to 3", "choose one of them"),
        ({**HIERARCHY, "levels": {"place": False}}, "go from 0 to 3", "choose one of them"),
        ({"levels": {"place": 1}}, "`place` has no hierarchy", "columns with a hierarchy"),
        ({"hierarchies": {"place": "log:2"}}, "a hierarchy for numbers", "hierarchy table"),
        ({"choose": lambda candidate: candidate.missing}, "failed with AttributeError", "return a number"),
    ],
)
def test_a_slip_is_recognised(options, message, hint):
    table = TABLE.append_column("place", pa.array(["aa", "ab", "aa", "ab"]))
    roles = tv.Roles(respondent="who", time="when", quasi=["place"])
    with pytest.raises(tv.TimeveilError, match=message) as refused:
        tv.generalize_time(table, roles, 2, **options)
    assert hint in str(refused.value)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_an_event_that_recurs_is_refused_in_the_first_release(engine, tmp_path):
    table = pa.concat_tables([TABLE, TABLE]).append_column("case", pa.array([1, 1, 1, 1, 1, 2, 2, 2]))
    roles = tv.Roles(respondent="who", time="when", event="case")
    pq.write_table(table, tmp_path / "visits.parquet")
    with pytest.raises(tv.InputError, match="1 rows have the person and the `case` of another row"):
        tv.generalize_time(str(tmp_path / "visits.parquet"), roles, 2, engine=engine)
    assert tv.generalize_time(table.slice(1), roles, 2)
