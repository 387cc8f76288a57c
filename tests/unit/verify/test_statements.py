"""What a manifest may state together: a table of changes, and what a recipient then reads of each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.sabotage.valid import made

import timeveil as tv
from timeveil.domain.guarantee import guarantee_from
from timeveil.evidence.checks import COUNT, TEXT, faults, in_order, one_of

FINE = ""
RULES = ("groups", "generality", "loss", "precision", "function")
CLOCK, SLOTS = "do not fit the published columns", "the kind, zone, unit and slot of the time do not fit"
IMPOSSIBLE, UNKNOWN = "with impossible numbers", "names a granularity that is not among the candidates"
NO_PACKETS = "the manifest has parameters of packets, but not the promise that packets keep"
COST, EXCLUDED = "is not a cost of moving records", "parameters that packets exclude: "
RECURRING = "the parameters exclude what is promised to people who come back"
PART, PUBLISHED = "is not a part of its instants, in order", "is not what `publish_"
METHOD, TWICE, KIND = "unlike its method", "twice, and not the same", "or leaves it out, unlike its kind"

EVENTS = [
    ({"time.zone": "UTC"}, CLOCK),
    ({"time.unit": "day"}, CLOCK),
    ({"distinct_labels": ["zip"]}, "to have distinct labels is not generalised"),
    ({"levels": {"zip": {"level": 1, "name": "z"}}, "distinct_labels": ["zip"]}, FINE),
    ({"durations": {"ward": "day"}}, "a stated duration is not a quasi-identifier"),
    ({"durations": {"sex": "day"}}, FINE),
    ({"durations": {"zip": "day", "sex": "day"}}, FINE),
    ({"levels": {"zip": {"level": 1, "name": "z"}, "sex": {"level": 1, "name": "s"}}}, FINE),
    ({"parameters.granularities": ["day", "week", "eon"]}, UNKNOWN),
    ({"parameters.granularities": ["day", "week", "eon"], "parameters.gaps": "skip"}, FINE),
    ({"parameters.granularities": ["week", "day"]}, "the candidates are not in the order of the calendar"),
    ({"candidates.day.aliases": ["eon"]}, UNKNOWN),
    ({"candidates.day.aliases": ["week"]}, FINE),
    ({"parameters.choose": "week-sunday"}, "neither a rule nor the chosen granularity"),
    ({"parameters.choose": "week-sunday", "candidates.week.aliases": ["week-sunday"]}, FINE),
    *(({"parameters.choose": rule}, FINE) for rule in (*RULES, "week")),
    ({"parameters.recode": "local"}, "steps and `parameters.recode` do not fit together"),
    ({"frontier": ["day"]}, "the frontier names a granularity that does not work"),
    ({"nodes": []}, "the frontier is not that of the nodes"),
]  # fmt: skip
PACKETS = [
    ({"parameters.spread": 0}, "is not from 1 to below the window"),
    ({"parameters.spread": 4}, FINE),
    ({"parameters.spread": 5}, "is not from 1 to below the window"),
    ({"parameters.fillers": ...}, "the parameters of packets are incomplete: fillers"),
    ({"parameters.spread": ..., "parameters.protect_slot": ...}, "incomplete: protect_slot, spread"),
    ({"parameters.protect_slot": 2}, "is not the promise's `true_slot`"),
    ({"guarantee.true_slot": ...}, NO_PACKETS),
    ({"guarantee.true_slot": ..., "parameters.protect_slot": ...}, NO_PACKETS),
    ({"parameters.filler": "always"}, f"{EXCLUDED}filler"),
    ({"parameters.jitter": 1}, f"{EXCLUDED}jitter"),
    ({"parameters.first_window": "exact"}, f"{EXCLUDED}first_window"),
    ({"parameters.late": "move"}, f"{EXCLUDED}late"),
    ({"parameters.buckets": "none"}, "describes buckets that its parameters exclude"),
]  # fmt: skip
BUCKETS = [
    ({"parameters.l": 2}, "`parameters.l` of the manifest is not the l of the promise"),
    ({"parameters.k": 3}, "`parameters.k` of the manifest is not the k of the promise"),
    ({"parameters.move_cost": [0, 1, 2, 3]}, COST),
    ({"parameters.move_cost": [0, 1, 2, 3, 4]}, FINE),
    ({"parameters.move_cost": [0, 1, 2, 3, 4, 5]}, COST),
    ({"parameters.move_cost": [0, 1, 2, 3, 4], "parameters.jitter": 2}, COST),
    ({"parameters.move_cost": [0, 1, 2, 3, 4, 5], "parameters.jitter": 2}, FINE),
    ({"parameters.move_cost": [-1, 1, 2, 3, 4]}, COST),
    ({"parameters.move_cost": [0, 1, 1, 2, 3]}, COST),
    ({"parameters.move_cost": [0, 2, 3, 5, 7]}, COST),
    ({"parameters.protect_slot": 3, "parameters.spread": 1, "parameters.fillers": 0}, NO_PACKETS),
    ({"counts.counterfeits": 0}, "is missing, or out of place"),
    ({"counts.buckets": ...}, "`counts.buckets` of the manifest is missing"),
    ({"counts.groups": 0}, "describes groups that its parameters exclude"),
    ({"levels": {}}, "describes groups that its parameters exclude"),
    ({"guarantee.recurring": "withhold"}, "are not the same in parameters and promise"),
    ({"parameters.recurring": "withhold"}, "are not the same in parameters and promise"),
]  # fmt: skip
RETURNING = [
    ({"guarantee.forget_after": 8, "parameters.forget_after": 8}, FINE),
    ({"guarantee.forget_after": 7, "parameters.forget_after": 7}, RECURRING),
    ({"guarantee.forget_after": 8, "parameters.forget_after": 9}, "not the same in parameters and promise"),
    ({"counts.counterfeits": ...}, "is missing, or out of place"),
    ({"parameters.protect_slot": 3}, RECURRING),
]  # fmt: skip
SERIES = [
    ({"parameters.k": 2}, "`parameters.k` of the manifest is not the k of the promise"),
    ({"parameters.p": 2}, "`parameters.p` of the manifest is not the p of the promise"),
    ({"parameters.l": 2}, "`parameters.l` of the manifest is not the l of the promise"),
    ({"series.pattern": ["h1", "h2"]}, PUBLISHED),
    ({"series.pattern": ["h2", "h1"], "parameters.publish_pattern": ["h2", "h1"]}, PART),
    ({"series.values": ["h2", "h1", "h3", "h4"]}, "columns"),
    ({"parameters.publish_values": ["h1", "h2"]}, PUBLISHED),
    ({"parameters.publish_values": ["h1", "h2", "h3", "h4"]}, FINE),
    ({"series.center": "median"}, "the manifest states two centres"),
    ({"series.own_patterns": False}, METHOD),
    ({"parameters.method": "naive"}, METHOD),
    ({"parameters.shape_weight": None}, METHOD),
    ({"parameters.effort": None}, METHOD),
    ({"series.perturbed": ["income"]}, "what l changed of columns for which no l is promised"),
    ({"series.grouped": ["income"]}, "what l changed of columns for which no l is promised"),
    ({"series.grouped": []}, FINE),
    ({"levels": {"zip": {}}}, "lists levels of labels for columns that are not quasi-identifiers"),
    ({"parameters.segment": 2}, "segments without a length, or a length without them"),
    ({"parameters.representation": "paa"}, "segments without a length, or a length without them"),
    ({"parameters.epsilon": 1}, "perturbed numbers without an epsilon, or one without them"),
    ({"parameters.l_method": "perturb"}, "perturbed numbers without an epsilon, or one without them"),
    ({"series.several": True, "guarantee.rows": True}, "several series of a person, and"),
    ({"series.several": True}, FINE),
    ({"counts.suppressed": 2}, FINE),
    ({"counts.suppressed": 3}, "states 3 withheld series, and p is 3"),
    ({"counts.suppressed": 3, "series.several": True}, FINE),
    ({"parameters.max_level": 1}, "above 1, the highest stated"),
]  # fmt: skip
PATTERNS = [
    ({"parameters.k": 2}, "`parameters.k` of the manifest is not the k of the promise"),
    ({"parameters.min_support": 2, "parameters.k": 3}, "patterns of 2 people are published where k is 3"),
    ({"parameters.min_support": 3}, FINE),
    ({"parameters.symbols": 4}, f"`symbols` {TWICE}"),
    ({"parameters.center": "median"}, f"`center` {TWICE}"),
    ({"parameters.structural": False}, f"`structural` {TWICE}"),
    ({"parameters.published": "closed"}, f"`published` {TWICE}"),
    ({"patterns.symbols": None, "parameters.symbols": None}, f"`symbols`, {KIND}"),
    ({"patterns.center": None, "parameters.center": None}, f"`center`, {KIND}"),
    ({"patterns.instants": None}, f"`instants`, {KIND}"),
    ({"patterns.instants": ["h1", "h2", "h2"]}, "names no instant, an empty one, or one twice"),
    ({"patterns.instants": ["h1", "h2", ""]}, "names no instant, an empty one, or one twice"),
    ({"patterns.instants": []}, "names no instant, an empty one, or one twice"),
    ({"parameters.nulls": "drop"}, f"`nulls`, {KIND}"),
    ({"parameters.repeats": "once"}, f"`repeats`, {KIND}"),
    ({"parameters.method": "suppressive"}, "virtual people, which its method does not add"),
    ({"parameters.method": "suppressive", "counts.virtual": 0}, FINE),
    ({"guarantee.counts_alone": True}, "differ on what readers know"),
    ({"parameters.fill": "linear"}, FINE),
]  # fmt: skip
BASKETS = [
    ({"patterns.structural": True, "parameters.structural": True}, "of baskets what only series have"),
    ({"parameters.fill": "linear"}, "of baskets what only series have"),
    ({"patterns.origin": "table"}, "of baskets what only series have"),
    ({"patterns.symbols": 3, "parameters.symbols": 3}, f"`symbols`, {KIND}"),
    ({"patterns.instants": ["h1"]}, f"`instants`, {KIND}"),
    ({"parameters.nulls": "drop", "parameters.repeats": "once"}, FINE),
]
TOGETHER = {
    "time, some withheld": EVENTS,
    "time, zoned": [({"time.zone": zone}, CLOCK) for zone in (None, "Europe/Berlin")]
    + [({"time.unit": "day"}, CLOCK), ({"time.kind": "civil", "time.zone": None}, CLOCK)],
    "time, numbers": [({"time.zone": "UTC"}, CLOCK)]
    + [({"time.unit": unit}, CLOCK) for unit in (None, "moon")],
    "stream, buckets": [
        *BUCKETS,
        ({"time.zone": "UTC"}, SLOTS),
        ({"time.unit": "day"}, SLOTS),
        ({"time.slot": "day"}, SLOTS),
    ],
    "stream, buckets, days": [
        ({"time.zone": "UTC"}, SLOTS),
        ({"time.unit": "day"}, SLOTS),
        ({"time.slot": None, "parameters.slot": None}, SLOTS),
        ({"parameters.slot": None}, "`parameters.slot` and `time.slot` of the manifest are not the same"),
    ],
    "stream, whole, days": [
        ({"counts.first_slot": "never"}, "the stated first or last slot is not of the stated granularity"),
        ({"counts.last_slot": None}, "the stated first or last slot is not of the stated granularity"),
        ({"counts.slots": 1}, "the manifest states 1 slot; from the first to the last there are "),
    ],
    "stream, buckets, hours": [
        ({"time.zone": None}, SLOTS),
        ({"time.zone": "Europe/Atlantis"}, SLOTS),
        ({"time.unit": "day"}, SLOTS),
        ({"time.slot": None}, SLOTS),
    ],
    "stream, buckets, packets": PACKETS,
    "stream, again, invariant": RETURNING,
    "series, adaptive": SERIES,
    "patterns, series, additive, frequent": PATTERNS,
    "patterns, baskets, additive, closed": BASKETS,
}  # fmt: skip


def told(manifest: Any, path: list[str], value: Any) -> Any:
    """The manifest with something else in one place; `...` leaves it out."""
    first, *rest = path
    inner = told(manifest[first], rest, value) if rest else value
    return {name: part for name, part in {**manifest, first: inner}.items() if part is not ...}


def said_of(shape: str, changes: dict[str, Any]) -> list[str]:
    release, _ = made(shape, 0)
    manifest = release.manifest
    for path, value in changes.items():
        manifest = told(manifest, path.split("."), value)
    promise = guarantee_from(manifest["guarantee"])
    changed = replace(release, manifest=manifest, guarantee=promise)
    return [violation.message for violation in tv.verify(changed).violations]


@pytest.mark.parametrize(
    ("shape", "changes", "words"),
    [(shape, *case) for shape, cases in TOGETHER.items() for case in cases],
    ids=lambda part: part if isinstance(part, str) else " ".join(part),
)
def test_what_is_stated_fits_together(shape, changes, words):
    messages = said_of(shape, changes)
    assert any(words in message for message in messages) if words else messages == []


NUMBERS = ("smallest_group", "groups", "group_total", "groups_below_k", "rows_below_k", "rows_in_gaps")
SHORT = ("groups_short", "rows_short")
POSSIBLE = [  # of 92 rows, where k is 3
    *((0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 92), (3, 4, 12, 0, 0, 0), (3, 4, 92, 0, 0, 92)),
    *((3, 4, 12, 0, 80, 0), (2, 4, 12, 1, 1, 0), (2, 4, 12, 1, 83, 0), (1, 4, 4, 4, 4, 0)),
    *((1, 4, 4, 4, 92, 0), (3, 4, 12, 0, 0, 0, 1, 3), (3, 4, 12, 0, 0, 0, 4, 12), (2, 4, 12, 1, 9, 0, 2, 83)),
    (2, 4, 12, 1, 1, 0, 3, 9),
]
IMPOSSIBLE_NUMBERS = [
    *((0, 0, 0, 0, 0, 93), (3, 4, 11, 0, 0, 0), (3, 4, 93, 0, 0, 0), (3, 4, 12, 0, 81, 0)),
    *((2, 4, 12, 1, 0, 0), (2, 4, 12, 1, 84, 0), (2, 4, 12, 0, 0, 0), (3, 4, 12, 1, 1, 0)),
    *((0, 4, 4, 4, 4, 0), (0, 4, 4, 0, 0, 0), (2, 4, 12, 5, 5, 0), (1, 4, 4, 4, 93, 0)),
    *((3, 0, 0, 0, 0, 0), (1, 0, 0, 0, 0, 0)),
    *((3, 4, 12, 0, 0, 0, 1, 2), (3, 4, 12, 0, 0, 0, 0, 1), (3, 4, 12, 0, 0, 0, 1, 0)),
    *((3, 4, 12, 0, 0, 0, 5, 15), (3, 4, 12, 0, 0, 0, 1, 93)),
    *((2, 4, 12, 1, 9, 0, 2, 84), (2, 4, 12, 1, 1, 0, 4, 12)),
]  # fmt: skip


def stated_of_a_day(numbers: tuple[int, ...], **more: bool) -> dict[str, Any]:
    """A candidate that was not chosen with other numbers: two more where more is promised than people."""
    changes: dict[str, Any] = dict(zip((f"candidates.day.{name}" for name in NUMBERS), numbers, strict=False))
    if len(numbers) > len(NUMBERS):
        changes |= {f"{part}.protect": {"result": "distinct:2"} for part in ("guarantee", "parameters")}
        names = made("time, some withheld", 0)[0].manifest["candidates"]
        changes |= {f"candidates.{name}.{number}": 0 for name in names for number in SHORT}
        changes |= {f"candidates.day.{name}": n for name, n in zip(SHORT, numbers[6:], strict=True)}
    return changes | {f"candidates.day.{name}": flag for name, flag in more.items()}


@pytest.mark.parametrize("numbers", [*POSSIBLE, *IMPOSSIBLE_NUMBERS], ids=str)
def test_numbers_of_a_candidate_are_those_of_some_table(numbers):
    said = said_of("time, some withheld", stated_of_a_day(numbers))
    assert any(IMPOSSIBLE in one for one in said) is (numbers in IMPOSSIBLE_NUMBERS)


@pytest.mark.parametrize(
    ("numbers", "allowed", "feasible"),
    [
        *(((1, 2, 30, 1, 18, 0), True, True), ((1, 2, 30, 1, 19, 0), True, False)),
        *(((1, 1, 1, 1, 1, 0), True, False), ((0, 0, 0, 0, 0, 92), True, False)),
        *(((3, 2, 6, 0, 0, 0, 1, 3), True, True), ((3, 1, 3, 0, 0, 0, 1, 3), True, False)),
        *(((2, 3, 30, 1, 9, 0, 1, 9), True, True), ((2, 3, 30, 1, 10, 0, 1, 9), True, False)),
        *(((3, 1, 3, 0, 0, 0), False, True), ((2, 2, 30, 1, 1, 0), False, False)),
        ((3, 2, 6, 0, 0, 0, 1, 3), False, False),
    ],
)
def test_a_candidate_is_as_feasible_as_its_numbers_say(numbers, allowed, feasible):
    """A fifth of the rows may be withheld where the user allowed it, and something must be left."""
    for stated in (True, False):
        said = said_of("time, some withheld", stated_of_a_day(numbers, allowed=allowed, feasible=stated))
        wrong = any(one.startswith("1 of ") and "are not as feasible as their" in one for one in said)
        assert wrong is (stated is not feasible)


@pytest.mark.parametrize(
    ("waiting", "appended", "possible"),
    [(0, True, True), (83, True, True), (84, True, False), (0, False, False)],
)
def test_rows_that_wait_are_below_k_and_stated_only_where_rows_are_appended(waiting, appended, possible):
    changes = {f"candidates.{name}.rows_waiting": 0 for name in made("time", 0)[0].manifest["candidates"]}
    changes |= {"candidates.day.rows_waiting": waiting, "parameters.append": appended}
    said = said_of("time, some withheld", changes)
    assert any(IMPOSSIBLE in one for one in said) is not possible


def test_a_shape_lists_what_is_admitted_and_in_which_order():
    assert list(faults("c", one_of("a", "b"), "letter")) == ["`letter` of the manifest is not one of a, b"]
    written = in_order(
        {"b": [{"d": 1, "c": 2}], "x": 0, "a": 3}, {"a": COUNT, "b": [{"c": COUNT, "d": COUNT}]}
    )
    assert [*written] == ["a", "b", "x"]
    assert [*written["b"][0]] == ["c", "d"]


def test_a_fault_is_described_by_its_path_alone():
    shape = {"k": COUNT, "name": TEXT, "l?": COUNT}
    assert list(faults({"k": True, "ids": [1]}, shape, "guarantee")) == [
        "`guarantee.k` of the manifest is not a number from 0 to 2^53",
        "`guarantee.name` of the manifest is missing",
        "`guarantee` of the manifest has 1 unknown key",
    ]
