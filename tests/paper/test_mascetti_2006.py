"""Every table, example and testable theorem of Mascetti et al. 2006, and each erratum."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise

import pyarrow as pa
import pytest
from tests.oracles import generalization as oracle
from tests.postgres import database

import timeveil as tv
from timeveil.engines import ENGINES
from timeveil.models.events.method.search import generality

TABLE_3 = pa.table(
    {
        "UID": ["u1", "u2", "u1", "u4", "u5", "u6"],
        "Q": ["q1", "q1", "q1", "q1", "q2", "q2"],
        "T": ["2006-01-03", "2006-01-03", "2006-01-11", "2006-01-12", "2006-02-07", "2006-02-10"],
        "data": ["d0", "d1", "d2", "d3", "d4", "d5"],
    }
)
ROLES = tv.Roles(respondent="UID", time="T", quasi=["Q"], keep=["data"])
ROWS = [(row["UID"], (row["Q"],), dt.date.fromisoformat(row["T"])) for row in TABLE_3.to_pylist()]
CALENDAR = ["day", "week", "month"]
QUICK = [engine for engine in ENGINES if engine != "spark"]  # tests/conformance has Spark


def table_for(engine: str) -> pa.Table | str:
    """Table 3, or its address where an engine counts in a database, with its days as dates."""
    at = TABLE_3.schema.get_field_index("T")
    return (
        database().load(TABLE_3.set_column(at, "T", TABLE_3["T"].cast(pa.date32())))
        if engine == "postgres"
        else TABLE_3
    )


@pytest.fixture(params=QUICK)
def release(request):
    table, options = table_for(request.param), {"granularities": CALENDAR, "engine": request.param}
    return tv.generalize_time(table, ROLES, k=2, **options)[0]


def test_example_1_table_3_is_not_2_anonymous_by_day(release):
    """The third tuple is alone with its quasi-identifier and day."""
    day = release.manifest["candidates"]["day"]
    assert (day["smallest_group"], day["feasible"]) == (1, False)


def test_example_2_table_4_is_table_3_by_week(release):
    """Weeks 1, 2 and 6 of 2006 hide Table 3."""
    assert release.manifest["granularity"] == "week"
    assert {(r["Q"], r["data"], r["T"]) for r in release.table.to_pylist()} == {
        ("q1", "d0", "2006-W01"),
        ("q1", "d1", "2006-W01"),
        ("q1", "d2", "2006-W02"),
        ("q1", "d3", "2006-W02"),
        ("q2", "d4", "2006-W06"),
        ("q2", "d5", "2006-W06"),
    }
    assert "UID" not in release.table.column_names


@pytest.mark.parametrize("engine", QUICK)
def test_table_5_is_table_3_by_month(engine):
    """Asked for by name, months give Table 5."""
    release, _ = tv.generalize_time(table_for(engine), ROLES, k=2, choose="month", engine=engine)
    assert [(r["data"], r["T"]) for r in sorted(release.table.to_pylist(), key=lambda r: r["data"])] == [
        *((f"d{i}", "2006-01") for i in range(4)),
        *((f"d{i}", "2006-02") for i in range(4, 6)),
    ]


def test_example_3_metrics_of_week_and_month(release):
    """gen_m is 2 for both; gen_s is 2 + 2 + 2 by week and 3 + 2 by month."""
    week, month = (release.manifest["candidates"][name] for name in ("week", "month"))
    assert (week["smallest_group"], week["group_total"], week["groups"]) == (2, 6, 3)
    assert (month["smallest_group"], month["group_total"], month["groups"]) == (2, 5, 2)


@pytest.mark.parametrize("choose", ["groups", "generality"])
def test_example_3_week_is_least_general(choose):
    """gen_c puts week before month."""
    release, _ = tv.generalize_time(TABLE_3, ROLES, k=2, granularities=CALENDAR, choose=choose)
    assert release.manifest["granularity"] == "week"
    assert release.manifest["frontier"] == ["week"] or set(release.manifest["frontier"]) == {"week", "month"}


def test_week_and_month_are_not_ordered():
    """Neither refines the other on dates where a week spans two months, so both are minimal."""
    table = pa.table({
        "UID": ["a", "b", "a", "b", "a", "b"],
        "T": ["2006-01-30", "2006-01-31", "2006-02-02", "2006-02-03", "2006-02-20", "2006-02-21"],
    })  # fmt: skip
    release, _ = tv.generalize_time(table, tv.Roles(respondent="UID", time="T"), k=2, granularities=CALENDAR)
    assert set(release.manifest["frontier"]) == {"week", "month"}


def test_theorem_1_no_total_order_keeps_the_generalization_property():
    """One relation is 2-anonymous by week and not by month, another the other way round."""
    by_week = [("a", (), dt.date(2006, 1, 31)), ("b", (), dt.date(2006, 2, 1))]
    by_month = [("a", (), dt.date(2006, 2, 1)), ("b", (), dt.date(2006, 2, 27))]
    for rows, works, fails in ((by_week, "week", "month"), (by_month, "month", "week")):
        table = pa.table({"UID": [r[0] for r in rows], "T": [r[2] for r in rows]})
        release, _ = tv.generalize_time(
            table, tv.Roles(respondent="UID", time="T"), k=2, granularities=CALENDAR
        )
        found = release.manifest["candidates"]
        assert (found[works]["feasible"], found[fails]["feasible"]) == (True, False)


class TestErrata:
    """Where the print is wrong, shown on the paper's own table."""

    def test_definition_6_summed_over_tuples_contradicts_theorem_3(self):
        """Over tuples, day has 8 and the coarser week 12; Theorem 3 says that the sum does not grow."""

        def over_tuples(name: str) -> int:
            found = oracle.groups(ROWS, oracle.CALENDAR[name])
            return sum(len(set(who)) * len(who) for who in found.values())

        assert (over_tuples("day"), over_tuples("week")) == (8, 12)
        totals = [oracle.count(ROWS, name, 2).group_total for name in ("day", "week", "month")]
        assert totals == [6, 6, 5]

    def test_procedure_2_as_printed_loses_the_first_respondent(self):
        """With U = ∅ at the start, the first week of Table 4 counts one person and week is refused."""
        assert _procedure_2(ROWS, "week", 2, start_empty=True) is None
        assert _procedure_2(ROWS, "week", 2, start_empty=False) == (2, 6)

    def test_procedure_1_line_3_as_printed_never_finds_a_minimum(self):
        """`minimum ≠ null` is false at the first success and nothing is ≤ null: the answer stays null."""
        assert _algorithm_1(ROWS, 2, takes_first=False) is None
        assert _algorithm_1(ROWS, 2, takes_first=True) == "week"

    def test_counts_do_not_roll_up(self, release):
        """Weeks with 2 and 2 people make a month with 3: distinct counts cannot be added up."""
        by_week = oracle.groups(ROWS, oracle.CALENDAR["week"])
        january = [who for (quasi, _), who in by_week.items() if quasi == ("q1",)]
        assert [len(set(who)) for who in january] == [2, 2]
        assert len(set().union(*january)) == 3
        assert release.manifest["candidates"]["month"]["group_total"] == 3 + 2

    def test_ties_keep_the_finer_granularity(self):
        """Week and month cut these dates alike and tie in gen_c; the finer one is the answer."""
        table = pa.table({"UID": ["a", "b"], "T": ["2006-01-03", "2006-01-04"]})
        for order in (["week", "month", "year"], ["year", "month", "week"]):
            release, _ = tv.generalize_time(
                table, tv.Roles(respondent="UID", time="T"), k=2, granularities=order, choose="generality"
            )
            assert release.manifest["granularity"] == "week"
            assert set(release.manifest["candidates"]["week"]["aliases"]) == {"month", "year"}

    def test_the_base_is_always_a_node(self):
        """Day is counted and shown even where only week and month are allowed."""
        release, _ = tv.generalize_time(TABLE_3, ROLES, k=2, granularities=["week", "month"])
        day = release.manifest["candidates"]["day"]
        assert (day["allowed"], day["smallest_group"]) == (False, 1)

    def test_generalising_time_alone_may_not_be_enough(self):
        """A rare quasi value stays rare without any time at all; the error says so."""
        table = TABLE_3.append_column("who", TABLE_3["UID"]).drop_columns("Q")
        roles = tv.Roles(respondent="UID", time="T", quasi=["who"], keep=["data"])
        with pytest.raises(tv.InfeasibleError, match="even with no time at all") as caught:
            tv.generalize_time(table, roles, k=2)
        assert caught.value.facts["best_k"] == 1

    def test_year_end_belongs_to_the_iso_year_in_iso_weeks(self):
        """2006-01-01 is a Sunday: 2005-W52 by ISO, week 1 of 2006 in weeks from Sunday."""
        table = pa.table({"UID": ["a", "b"], "T": ["2006-01-01", "2006-01-01"]})
        roles = tv.Roles(respondent="UID", time="T")
        iso = tv.generalize_time(table, roles, k=2, choose="week")[0].table["T"].to_pylist()
        sunday = tv.generalize_time(table, roles, k=2, choose="week-sunday")[0].table["T"].to_pylist()
        assert set(iso) == {"2005-W52"}
        assert all("2006" in label for label in sunday)


def _algorithm_1(rows, k, *, takes_first):
    """Algorithm 1 over day, week and month with line 3 of Procedure 1 as printed, or with `= null`."""
    coarser = {"day": ["week", "month"], "week": [], "month": []}
    best: dict[str, object] = {"minimum": None, "name": None}

    def explore(name):
        n = _procedure_2(rows, name, k, start_empty=False)
        if n is None:
            for above in coarser[name]:
                explore(above)
            return
        minimum = best["minimum"]
        less = minimum is not None and (n[0], -n[1]) <= (minimum[0], -minimum[1])
        if less or (takes_first and minimum is None):
            best.update(minimum=n, name=name)

    explore("day")
    return best["name"]


def _procedure_2(rows, name, k, *, start_empty):
    """Procedure 2 line by line, with its printed or its corrected line 3."""
    ordered = sorted(rows, key=lambda r: (r[1], r[2]))
    granule = oracle.CALENDAR[name]
    total, smallest = 0, len({r[0] for r in rows})
    here = set() if start_empty else {ordered[0][0]}
    for t, following in pairwise(ordered):
        if (t[1], granule(t[2])) == (following[1], granule(following[2])):
            here = here | {following[0]}
        elif len(here) >= k:
            smallest, total, here = min(smallest, len(here)), total + len(here), {following[0]}
        else:
            return None
    if len(here) < k:
        return None
    return min(smallest, len(here)), total + len(here)


def test_generality_sorts_as_the_order_of_definition_7():
    """(a, b) ≤_c (a', b') if a < a', or a = a' and b ≥ b'."""
    from timeveil.engines import Tally

    pairs = [(a, b) for a in range(1, 4) for b in range(1, 4)]
    for a, b in pairs:
        for c, d in pairs:
            less = a < c or (a == c and b >= d)
            one = Tally(a, 1, b, 0, 0, 0, a, b)
            other = Tally(c, 1, d, 0, 0, 0, c, d)
            assert (generality(one) <= generality(other)) == less
