"""The calendar against its slow twin, over years 10 to 9989 and the zones that are hard."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import some
from tests.oracles import calendar as oracle

from timeveil.calendar.catalogue import CATALOGUE, resolve
from timeveil.calendar.definitions import boundaries, business_days, day_parts, groups_of, terms
from timeveil.calendar.granularity import GAP, Granularity
from timeveil.calendar.order import Order, is_finer_than, up
from timeveil.calendar.timeline import Ticks, Timeline, base_for
from timeveil.domain.relation import TimeAxis

ZONES = (
    "Europe/Rome",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "America/St_Johns",
    "Pacific/Apia",
    "America/Sao_Paulo",
)
names = st.sampled_from(sorted(oracle.MAKERS))
moments = st.datetimes(dt.datetime(10, 9, 2), dt.datetime(9989, 12, 28)).map(
    lambda at: at.replace(microsecond=0)
)
near_moments = st.datetimes(dt.datetime(1995, 1, 1), dt.datetime(2030, 1, 1))

OWN = (
    boundaries("wave", ["2003-01-07 06:30", "2007-05-01", "2007-05-02", "2015-12-31 23:59:59"]),
    groups_of("fortnight", "week", 2, anchor="2006-01-09"),
    groups_of("fiscal-year", "month", 12, anchor="2006-04-01"),
    groups_of("7-minutes", "minute", 7),
    groups_of("36-hours", "hour", 36, anchor="2000-01-01 05:00"),
    groups_of("three-parts", "day-part", 3),
    groups_of("business-week", "business-day", 5, anchor="2006-01-02"),
    groups_of("two-waves", boundaries("w", ["2001-01-01", "2002-01-01", "2003-01-01", "2004-01-01"]), 2),
    day_parts("clinic", {"open": "08:15", "closed": "17:45"}),
    terms("school", {"autumn": "09-10", "spring": "02-20", "break": "06-30"}, gaps=["break"]),
    business_days("our-day", days=["sunday", "monday", "thursday"], holidays=["2006-12-25", "2007-01-01"]),
)
everything = st.sampled_from((*CATALOGUE.values(), *OWN))


@given(names, moments)
@settings(max_examples=some(600))
def test_start_end_and_label_agree_with_the_definition(name: str, at: dt.datetime) -> None:
    granularity, expected = CATALOGUE[name], oracle.granule(name, at)
    index = granularity.index([oracle.seconds(at)])
    if expected is None:
        assert index[0] == GAP
        return
    start, end, label = expected
    assert granularity.start(index)[0] == oracle.seconds(start)
    assert granularity.end(index)[0] == oracle.seconds(end)
    assert granularity.label(index) == [label]


@given(everything, st.lists(near_moments, min_size=2, max_size=40))
@settings(max_examples=some(300))
def test_index_rises_with_time_and_granules_hold_their_instants(
    g: Granularity, ats: list[dt.datetime]
) -> None:
    instants = np.array(sorted(oracle.seconds(at) for at in ats), dtype=np.int64)
    index = g.index(instants)
    inside = index != GAP
    index, instants = index[inside], instants[inside]
    assert np.all(np.diff(index) >= 0)
    assert np.all(g.start(index) <= instants)
    assert np.all(instants < g.end(index))
    distinct = np.unique(index)
    assert len(set(g.label(distinct))) == len(distinct)
    assert np.array_equal(g.index(g.start(distinct)) if g.name != "all" else distinct, distinct)
    later = np.minimum(g.end(distinct)[:-1], g.start(distinct)[1:])
    assert np.array_equal(later, g.end(distinct)[:-1]), "granules overlap"


@given(st.sampled_from([g for g in (*CATALOGUE.values(), *OWN) if g.has_gaps]), near_moments)
@settings(max_examples=some(60), deadline=None)
def test_after_a_gap_comes_the_next_granule(g: Granularity, at: dt.datetime) -> None:
    instant = np.array([oracle.seconds(at)], dtype=np.int64)
    quarters = (instant // 900 + 1) * 900 + np.arange(0, 10 * 366 * 86_400, 900)
    coming = g.index(np.append(instant, quarters))
    coming = coming[coming != GAP]
    expected = coming[0] if len(coming) else GAP
    assert g.rule.following(instant)[0] == expected


@given(everything)
def test_a_definition_survives_the_manifest(g: Granularity) -> None:
    assert Granularity.from_dict(g.as_dict()) == g


@given(names, names, st.lists(near_moments, min_size=1, max_size=3))
@settings(max_examples=some(250), deadline=None)
def test_up_finds_the_granule_that_holds_all_of_it(g: str, h: str, ats: list[dt.datetime]) -> None:
    for at in ats:
        if oracle.granule(g, at) is None:
            continue
        z = int(CATALOGUE[g].index([oracle.seconds(at)])[0])
        expected = oracle.up(g, h, at)
        holder = up(z, CATALOGUE[g], CATALOGUE[h])
        assert (holder is None) == (expected is None)
        if holder is not None and expected is not None:
            assert CATALOGUE[h].label([holder]) == [expected[2]]


@pytest.mark.parametrize("g", sorted(oracle.MAKERS))
def test_finer_than_agrees_with_looking_at_many_granules(g: str) -> None:
    """The last day of every year, the eves of terms and 49 other days of 12 years, at several hours."""
    days = [dt.datetime(2000 + n, *eve) for n in range(12) for eve in ((12, 31), (1, 31), (6, 30), (8, 31))]
    days += [dt.datetime(2000, 1, 1) + dt.timedelta(days=89 * n) for n in range(49)]
    probes = [day + dt.timedelta(hours=hour) for day in days for hour in (0, 5, 14, 23)]
    for h in sorted(oracle.MAKERS):
        assert is_finer_than(CATALOGUE[g], CATALOGUE[h]) == oracle.finer(g, h, iter(probes)), (g, h)


@given(everything, everything)
@settings(max_examples=some(150), deadline=None)
def test_finer_than_means_that_every_granule_goes_up(g: Granularity, h: Granularity) -> None:
    low, high = oracle.seconds(dt.datetime(2006, 12, 1)), oracle.seconds(dt.datetime(2007, 6, 1))
    z = np.unique(g.index(np.arange(low, high, 9_973)))
    if is_finer_than(g, h):
        assert all(up(granule, g, h) is not None for granule in z[z != GAP][:200].tolist())


@given(st.lists(everything, min_size=3, max_size=3))
@settings(max_examples=some(100), deadline=None)
def test_finer_than_is_reflexive_and_transitive(three: list[Granularity]) -> None:
    a, b, c = three
    assert is_finer_than(a, a)
    if is_finer_than(a, b) and is_finer_than(b, c):
        assert is_finer_than(a, c)


def test_the_graph_is_the_transitive_reduction() -> None:
    """What is reached by edges is what is coarser, and no edge leads where a longer way leads."""
    order = Order([*CATALOGUE.values(), *OWN])
    direct = {g.name: {h.name for h in order.directly_coarser(g)} for g in order.granularities}

    def reached(names: set[str]) -> set[str]:
        return names.union(*(reached(direct[name]) for name in names))

    for number, g in enumerate(order.granularities):
        above = reached(direct[g.name])
        for other, h in enumerate(order.granularities):
            is_equal = is_finer_than(g, h) and is_finer_than(h, g)
            is_above = number < other if is_equal else is_finer_than(g, h)
            assert (h.name in above) == is_above
        assert not any(direct[g.name] & reached(direct[name]) for name in direct[g.name])


def _changes(zone: str) -> list[int]:
    """A minute near every change of the clocks from 1995 to 2030, seen twice a day."""
    from zoneinfo import ZoneInfo

    tz, first = ZoneInfo(zone), oracle.seconds(dt.datetime(1995, 1, 1))
    halves = range(first, oracle.seconds(dt.datetime(2030, 1, 1)), 43_200)
    offsets = [dt.datetime.fromtimestamp(half, tz).utcoffset() for half in halves]
    pairs = zip(halves, offsets, offsets[1:], strict=False)
    return [half for half, a, b in pairs if a != b] or [first]


@pytest.mark.parametrize("zone", ZONES)
@given(data=st.data())
@settings(max_examples=6, deadline=None)
def test_zoned_granules_agree_with_walking_the_clock(zone: str, data: st.DataObject) -> None:
    change = data.draw(st.sampled_from(_changes(zone)))
    steps = data.draw(st.lists(st.integers(-1_000, 2_400), min_size=5, max_size=60, unique=True))
    instants = np.array(sorted(change + 60 * step for step in steps), dtype=np.int64)
    axis = TimeAxis("zoned", pa.timestamp("ms", tz=zone), zone=zone)
    named = sorted(set(oracle.MAKERS) - {"second"})
    base = base_for(axis, [CATALOGUE[name] for name in named], int(instants[0]), int(instants[-1]), 60)
    line = Timeline(axis, Ticks(1, 0, "second"), instants)
    ticked = Timeline(axis, base, base.granule(instants))
    readings = oracle.walk(zone, instants.tolist())
    for name in named:
        keys = [oracle.zoned_key(name, reading) for reading in readings]
        seen: dict[object, int] = {}
        expected = [-1 if key is None else seen.setdefault(key, n) for n, key in enumerate(keys)]
        assert line.firsts(CATALOGUE[name]).tolist() == expected, name
        assert ticked.firsts(CATALOGUE[name]).tolist() == expected, name
        _check_bounds(line, CATALOGUE[name], instants)


def _check_bounds(line: Timeline, granularity: Granularity, instants: np.ndarray) -> None:
    """Published bounds hold their instants, follow each other, and labels tell granules apart."""
    granules = line.granules_of(granularity)
    start, end = (a.cast(pa.int64()).to_numpy() // 1_000 for a in (granules.start, granules.end))
    inside = granules.code >= 0
    assert np.all(start[granules.code[inside]] <= instants[inside])
    assert np.all(instants[inside] < end[granules.code[inside]])
    assert np.all(end[:-1] <= start[1:])
    assert len(set(granules.label)) == len(granules.label)
    assert np.all(np.diff(granules.index) > 0)


@given(
    st.lists(st.integers(0, 40_000_000), min_size=1, max_size=60, unique=True),
    st.sampled_from(["error", "next"]),
    st.sampled_from([1, 60, 3_600, 86_400]),
)
@settings(max_examples=some(80), deadline=None)
def test_the_base_granules_lose_nothing(seconds: list[int], gaps: str, resolution: int) -> None:
    """Counting by the coarsest allowed base granules gives the same groups as counting by seconds."""
    axis = TimeAxis("civil", pa.timestamp("ms"))
    instants = np.unique(np.array(seconds, dtype=np.int64) * resolution)
    for allowed in (resolve(None, axis), resolve(["6-hours", "day-part", "business-month"], axis, OWN)):
        base = base_for(axis, allowed, int(instants[0]), int(instants[-1]), resolution)
        ticks = base.granule(instants)
        observed, position = np.unique(ticks, return_inverse=True)
        line = Timeline(axis, base, observed, gaps)
        exact = Timeline(axis, Ticks(1, 0, "second"), instants, gaps)
        for g in allowed:
            assert np.array_equal(line.granules_of(g).code[position], exact.granules_of(g).code)
            assert line.granules_of(g).label == exact.granules_of(g).label


@given(st.lists(near_moments, min_size=1, max_size=30), everything, everything)
@settings(max_examples=some(200), deadline=None)
def test_what_is_finer_by_calendar_is_finer_on_any_table(
    ats: list[dt.datetime], g: Granularity, h: Granularity
) -> None:
    axis = TimeAxis("civil", pa.timestamp("ms"))
    line = Timeline(axis, Ticks(1, 0, "second"), np.unique([oracle.seconds(at) for at in ats]))
    if is_finer_than(g, h):
        assert _refines(line, g, h)


def _refines(line: Timeline, g: Granularity, h: Granularity) -> bool:
    """Whether every observed granule of g is inside one of h; gaps of g do not count."""
    of_g, of_h = line.firsts(g), line.firsts(h)
    inside = of_g >= 0
    return bool(np.all(of_h[inside] >= 0)) and np.array_equal(of_h[inside], of_h[of_g[inside]])
